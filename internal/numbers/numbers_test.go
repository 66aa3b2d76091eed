package numbers

import (
	"slices"
	"testing"
)

// TestBelow checks a short slice and the empty one.
func TestBelow(t *testing.T) {
	if got := Below(int32(3)); !slices.Equal(got, []int32{0, 1, 2}) {
		t.Errorf("numbers below 3: got %v, want 0 1 2", got)
	}
	if got := Below(0); len(got) != 0 {
		t.Errorf("numbers below 0: got %v, want none", got)
	}
}
