package text

import (
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite the stored numbers")

// TestNumbers compares the number formats with a stored file, for numbers of all magnitudes:
// just below, at and just above the values at which units and digits change.
func TestNumbers(t *testing.T) {
	values := []float64{0, 1.0 / 3, 59.9999, 60, 3600, 7199.99, 7200, 86399, 86400, 172799, 172800, 1e7, 123456789}
	for k := -10; k <= 10; k++ {
		for _, m := range []float64{0.9949, 0.995, 0.99995, 1, 1.005, 1.95, 5} {
			values = append(values, m*math.Pow10(k))
		}
	}
	var lines strings.Builder
	for _, v := range values {
		fmt.Fprintf(&lines, "%.6g: %s|%s|%s|%s|%s|%s|%s|%s|%s|%s|%s\n", v, Seconds(v), UnitFor(v).Signed(v), UnitFor(v).Signed(-v), UnitFor(10*v).Signed(-v/1e6),
			Class(v), Roughly(v), BytesPerSecond(v), Amount(v), Thousands(-v), Percent(v), Change(-v))
	}
	file := filepath.Join("testdata", "numbers.txt")
	if *update {
		if err := os.WriteFile(file, []byte(lines.String()), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(lines.String(), "\n")); diff != "" {
		t.Errorf("%s (-want +got):\n%s", file, diff)
	}
}
