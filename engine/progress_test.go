package engine

import (
	"context"
	"slices"
	"testing"
)

// TestSplitProgress: the reports of parts add up to the whole, and never decrease.
func TestSplitProgress(t *testing.T) {
	var got []float64
	ctx := WithProgress(t.Context(), func(share float64) { got = append(got, share) })
	parts := SplitProgress(ctx, 2)
	for _, r := range []struct {
		part  int
		share float64
	}{{0, 0.5}, {1, 0.25}, {0, 0.25}, {0, 1}, {1, 1}} {
		Progress(parts[r.part])(r.share)
	}
	if want := []float64{0.25, 0.375, 0.625, 1}; !slices.Equal(got, want) {
		t.Errorf("reports %v, want %v", got, want)
	}
	if parts := SplitProgress(t.Context(), 2); Progress(parts[1]) != nil || Progress(WithProgress(context.Background(), nil)) != nil {
		t.Error("a context without a function reports")
	}
}
