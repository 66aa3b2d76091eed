package collective

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	_ "sim/internal/testseed"

	"sim/engine"
)

// TestMatrix checks that a written matrix is read back without zeros and without nodes
// that are down.
func TestMatrix(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(2, 6).Draw(t, "nodes")
		down := someDown(t, n)
		var text strings.Builder
		text.WriteString("# bytes from row to column\n\n")
		want := map[engine.Flow]int64{}
		for s := range n {
			row := make([]string, n)
			for d := range row {
				b := int64(0)
				if s != d {
					b = rapid.Int64Range(0, 3).Draw(t, "KB") * 1000
				}
				if row[d] = fmt.Sprint(b); b > 0 && rapid.Bool().Draw(t, "unit") {
					row[d] = fmt.Sprintf("%dKB", b/1000)
				}
				if b > 0 && !down[s] && !down[d] {
					want[engine.Flow{Src: int32(s), Dst: int32(d)}] = b
				}
			}
			text.WriteString(strings.Join(row, " , ") + " # node\n")
		}
		x, err := readTraffic(text.String(), n, down)
		if len(want) == 0 {
			if !errors.Is(err, ErrTraffic) {
				t.Fatalf("no flow, and %v", err)
			}
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		checkTraffic(t, x)
		if len(x.Flows) != len(want) || x.Message != slices.Max(x.Bytes) {
			t.Fatalf("%d flows of %d, messages of %d B", len(x.Flows), len(want), x.Message)
		}
		for f, w := range x.Flows {
			if x.Size(f) != want[w] {
				t.Fatalf("%v is %d B, want %d", w, x.Size(f), want[w])
			}
		}
	})
}

// readTraffic reads the traffic of a matrix file.
func readTraffic(text string, n int, down []bool) (*Traffic, error) {
	sizes, err := ReadSizes(strings.NewReader(text), "demand.csv", n)
	if err != nil {
		return nil, err
	}
	return FromSizes("demand.csv", n, sizes, down)
}

// TestMatrixRefused checks that every error has a position and that all errors are
// reported.
func TestMatrixRefused(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"0,1\n1,0,3\n", "demand.csv:2:3: a row of 3 entries; want 2, one per node"},
		{"0,1\n", "demand.csv:1:1: the matrix has 1 rows; want 2, one per node"},
		{"0,1\n1,0\n0,0\n", "demand.csv:3:1: the matrix has 3 rows; want 2"},
		{"# x\n0,-4\n1,0\n", "demand.csv:2:2: -4 B is negative"},
		{"0,4\n1,7\n", "demand.csv:2:2: node 1 sends 7 B to itself; want 0"},
		{"0,4\nmany,0\n", "demand.csv:2:1: the entry is no size"},
		{"0,4\n,0\n", "demand.csv:2:1: "},
		{"0,1.5\n1,0\n", "demand.csv:1:2: "},
		{"0,0\n0,0\n", "demand.csv moves nothing"},
		{"0,1152921504606846975\n1,0\n", "more bytes than can be counted"},
		{"", "the matrix has 0 rows"},
		{"# x\na, b,c\n0,1\n1,0\n", `demand.csv:2: the line is a header`},
		{"0,-1\n-2,0\n", "demand.csv:2:1: -2 B is negative"},
	} {
		_, err := readTraffic(c.text, 2, nil)
		if err == nil || !errors.Is(err, ErrTraffic) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %v; want %q", c.text, err, c.want)
		}
	}
	_, err := readTraffic("0,-1\n-2,0\n", 2, nil)
	if err == nil || strings.Count(err.Error(), "\n") != 1 {
		t.Errorf("two diagnostics are told as %v", err)
	}
}
