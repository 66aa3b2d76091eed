package torus

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write golden files")

// TestDistanceSums compares the sums of distances of all 64 patterns on every shape that the
// papers name, and on 4x8x8 and 8x8x8, with stored values. TestDistances checks the algorithm.
func TestDistanceSums(t *testing.T) {
	var b strings.Builder
	for _, dims := range [][]int{
		{1, 1, 2}, {1, 2, 2}, {2, 1, 1}, {2, 2, 1}, {2, 2, 2}, {2, 2, 4}, {2, 4, 4}, {4, 2, 2}, {4, 4, 2}, {4, 4, 4},
		{4, 4, 8}, {8, 4, 4}, {4, 4, 12}, {12, 4, 4}, {4, 8, 8}, {8, 8, 8},
	} {
		fmt.Fprintf(&b, "%s\n", must(t, "", dims...))
		for i, p := range patterns() {
			fmt.Fprintf(&b, " %s %9d", p, must(t, p, dims...).Distances().Sum)
			if i%4 == 3 {
				b.WriteByte('\n')
			}
		}
	}
	const golden = "testdata/sums.golden"
	if *update {
		if err := os.WriteFile(golden, []byte(b.String()), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if b.String() != string(want) {
		t.Errorf("sums differ from %s:\n%s", golden, b.String())
	}
}
