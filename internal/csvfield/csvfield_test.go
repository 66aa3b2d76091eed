package csvfield

import (
	"slices"
	"testing"
)

// TestSafe: numbers and ordinary text are unchanged; text that a spreadsheet would evaluate as
// a formula gets a leading apostrophe.
func TestSafe(t *testing.T) {
	same := []string{"", "a", "a=b", "400Gbps", "-1", "+2.5", "-1e-9", "1e9", " =1"}
	if got := Safe(same...); !slices.Equal(got, same) {
		t.Errorf("got %q, want %q", got, same)
	}
	for _, f := range []string{"=1+1", `=cmd|' /C calc'!A0`, "+1+1", "-1-1", "-inf", "+NaN", "@SUM(1)", "\t=1", "\r=1", "-", "-5ms"} {
		if got := Safe(f)[0]; got != "'"+f {
			t.Errorf("got %q, want an apostrophe and %q", got, f)
		}
	}
}
