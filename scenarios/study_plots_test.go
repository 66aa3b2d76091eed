package scenarios

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestPlotKindKeys checks which keys each kind of plot requires, and how the table where is
// read.
func TestPlotKindKeys(t *testing.T) {
	file := filepath.Join(t.TempDir(), "where.toml")
	if err := os.WriteFile(file, []byte(`[[plot]]
name = "p"
kind = "bars"
x = "k"
y = "nct"
where = { a = [1, 2.5], b = [true], c = ["x"] }
`), 0o666); err != nil {
		t.Fatal(err)
	}

	got, _, err := Plots(file)
	if err != nil || len(got) != 1 || fmt.Sprint(got[0].Where) != "map[a:[1 2.5] b:[true] c:[x]]" {
		t.Errorf("got plots %v and error %v, want one plot with its where table", got, err)
	}
	for table, want := range map[string]string{
		"kind = \"twists\"\nz = \"mean_delay_s\"":                        "",
		"kind = \"twists\"":                                              "plot.0.z: is missing",
		"kind = \"scatter\"\nx = \"average_hops\"\ny = \"mean_delay_s\"": "",
		"kind = \"scatter\"\ny = \"mean_delay_s\"":                       "plot.0.x: is missing",
		"kind = \"scatter\"\nx = \"average_hops\"":                       "plot.0.y: is missing",
		`kind = "lines"
x = "k"
y = "slots"
extra_y = ["b"]
lower_y = "d"
lower_series = ["p"]
aggregation = "max"`: "",
		"kind = \"gain\"\ny = \"completion_s\"": "plot.0.kind",
		"kind = \"twist\"":                      "twists",
	} {
		file := filepath.Join(t.TempDir(), "plot.toml")
		if err := os.WriteFile(file, []byte("[[plot]]\nname = \"p\"\n"+table+"\n"), 0o666); err != nil {
			t.Fatal(err)
		}
		got, _, err := Plots(file)
		switch {
		case want == "" && (err != nil || len(got) != 1):
			t.Errorf("%q: got %d plots and error %v, want one plot", table, len(got), err)
		case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("%q: got error %v, want %q", table, err, want)
		}
	}
}
