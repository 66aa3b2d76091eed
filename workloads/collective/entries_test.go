package collective_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"sim/workloads/collective"
)

// TestEntries checks that a matrix written as rows, and as entries in any order, is the
// same traffic.
func TestEntries(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(2, 6).Draw(t, "nodes")
		sizes := make([]int64, n*n)
		var rows strings.Builder
		var lines []string
		for i := range sizes {
			if i/n != i%n && rapid.Bool().Draw(t, "sends") {
				sizes[i] = rapid.Int64Range(1, 1000).Draw(t, "bytes")
				part := rapid.Int64Range(0, sizes[i]).Draw(t, "part") // entries of the same pair are added
				lines = append(lines, fmt.Sprintf("%d, %d, %d", i/n, i%n, part), fmt.Sprintf("%d,%d,%dB", i/n, i%n, sizes[i]-part))
			}
			fmt.Fprintf(&rows, "%d", sizes[i])
			end := ","
			if i%n == n-1 {
				end = "\n"
			}
			rows.WriteString(end)
		}
		want, failed := collective.FromSizes("m", n, sizes, nil)
		if got, err := collective.ReadSizes(strings.NewReader(rows.String()), "m.csv", n); err != nil || !cmp.Equal(got, sizes) {
			t.Fatalf("%s%v %v, want %v", rows.String(), got, err, sizes)
		}
		file := "From, to,BYTES\n# none\n" + strings.Join(rapid.Permutation(lines).Draw(t, "order"), "\n")
		if !collective.IsEntryList([]byte(file)) || collective.IsEntryList([]byte(rows.String())) {
			t.Fatalf("rows and entries are not told apart: %q and %q", rows.String(), file)
		}
		entries, err := collective.ReadEntries([]byte(file), "m.csv")
		if err != nil {
			t.Fatal(err)
		}
		got, err := collective.FromEntries("m", n, entries, nil)
		if (err == nil) != (failed == nil) || !cmp.Equal(got, want) {
			t.Fatalf("%v %v, want %v %v", got, err, want, failed)
		}
	})
}

// TestBadEntries checks that errors in a file of entries have a line.
func TestBadEntries(t *testing.T) {
	for line, want := range map[string]string{
		"0,1":            "m.csv:3: 2 cells; want 3: from,to,bytes",
		"0,1,2,3":        "m.csv:3: 4 cells",
		"x,1,2":          `m.csv:3: "x" is no node`,
		"0,-1,2":         `m.csv:3: "-1" is no node`,
		"0,1,many":       "m.csv:3: ",
		"0,1,-2":         "m.csv:3: -2 B is negative",
		"1,1,2":          "m.csv:3: node 1 sends 2 B to itself",
		"0,4294967296,2": "m.csv:3: ",
	} {
		if _, err := collective.ReadEntries([]byte("from,to,bytes\n0,1,5\n"+line+"\n"), "m.csv"); !errors.Is(err, collective.ErrTraffic) || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", line, err, want)
		}
	}
	if _, err := collective.FromEntries("m", 2, []collective.Entry{{Src: 0, Dst: 2, Bytes: 1}}, nil); err == nil {
		t.Error("a message to node 2 of 2 is accepted")
	}
}
