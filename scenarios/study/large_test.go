package study

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"sim/scenarios"
)

// TestFaultOfLargeStudy: an error in one of 60,000 variants is found in seconds, wherever
// it is: an invalid value, or a value that conflicts with other keys.
func TestFaultOfLargeStudy(t *testing.T) {
	if testing.Short() {
		t.Skip("checks 60,000 variants")
	}
	const n = 60_000
	for _, c := range []struct {
		key  string
		good func(i int) string // value i
		bad  string
		at   int // index of the invalid value
		want string
	}{
		{"workload.microbatches", func(i int) string { return fmt.Sprint(i + 1) }, "0", n - 1, "0 is out of bounds"},
		{"workload.microbatches", func(i int) string { return fmt.Sprint(i + 1) }, "0", n / 2, "0 is out of bounds"},
		{"policy.port_tolerance", func(i int) string { return fmt.Sprintf("0.%06d", i) }, `"x"`, n / 3, `the text "x"`},
		{"workload.gpus", func(i int) string { return fmt.Sprint(256 * (i + 1)) }, "100", n - 1, "100"}, // not a multiple of a replica's GPUs
	} {
		values := make([]string, n)
		for i := range values {
			values[i] = c.good(i)
		}
		values[c.at] = c.bad
		text := fmt.Sprintf("base = \"gpt7b\"\n[policy]\nallocators = [\"uniform\"]\n[sweep]\n%q = [%s]\n", c.key, strings.Join(values, ","))
		st, err := scenarios.ParseStudy("x.toml", []byte(text), nil)
		if err != nil {
			t.Fatal(err)
		}
		begun := time.Now()
		_, err = NewPlan(context.Background(), st)
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.HasPrefix(err.Error(), "x.toml:5: sweep."+c.key) {
			t.Errorf("value %d of %s is %s: error %v, want one with %q", c.at, c.key, c.bad, err, c.want)
		}
		if elapsed := time.Since(begun); elapsed > 10*time.Second {
			t.Errorf("value %d of %s is %s: took %v, want at most 10 s", c.at, c.key, c.bad, elapsed)
		}
	}
}
