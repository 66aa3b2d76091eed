package scenarios

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Twists need a metric alone, a scatter two.
func TestPlotKindKeys(t *testing.T) {
	for table, want := range map[string]string{
		"kind = \"twists\"\nz = \"mean_delay_s\"":                        "",
		"kind = \"twists\"":                                              "plot.0.z: is missing",
		"kind = \"scatter\"\nx = \"average_hops\"\ny = \"mean_delay_s\"": "",
		"kind = \"scatter\"\ny = \"mean_delay_s\"":                       "plot.0.x: is missing",
		"kind = \"scatter\"\nx = \"average_hops\"":                       "plot.0.y: is missing",
		"kind = \"twist\"":                                               "twists",
	} {
		file := filepath.Join(t.TempDir(), "plot.toml")
		if err := os.WriteFile(file, []byte("[[plot]]\nname = \"p\"\n"+table+"\n"), 0o666); err != nil {
			t.Fatal(err)
		}
		got, err := Plots(file)
		switch {
		case want == "" && (err != nil || len(got) != 1):
			t.Errorf("%q: %d plots, error %v", table, len(got), err)
		case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("%q: error %v, want %s", table, err, want)
		}
	}
}
