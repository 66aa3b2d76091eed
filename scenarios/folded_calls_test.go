package scenarios

import (
	"fmt"
	"math"
	"testing"
)

// TestFoldedCalls: calls of more than 65,536 transfers are simulated by classes of identical
// transfers. A message overhead of 1 ps makes every transfer stand for itself, and lengthens a call
// by some nanoseconds. With blocks of different sizes it also changes which transfers share a link.
// All metrics apart from the completion time are equal. The calls are on a switch and on tori.
func TestFoldedCalls(t *testing.T) {
	for _, c := range []struct {
		kind, message, fabric, algorithm string
		tolerance                        float64 // of the completion time
	}{
		{"all-reduce", "192MB", "kind = \"electrical\"\ngpus = 192", "ring", 1e-5},
		{"all-reduce", "192MB", "kind = \"electrical\"\ngpus = 192", "direct", 1e-5},
		{"all-reduce", "100MB", "kind = \"electrical\"\ngpus = 192", "bidirectional-ring", 1e-3},
		{"all-to-all", "1MB", "kind = \"torus\"\ndims = [7, 41]", "direct", 1e-5},
		{"all-reduce", "256MiB", "kind = \"torus\"\ndims = [16, 16]", "swing", 1e-5},
		{"all-gather", "256MiB", "kind = \"torus\"\ndims = [16, 16]", "bucket", 1e-5},
	} {
		text := fmt.Sprintf(`[workload]
kind = %q
message = %q
[fabric]
%s
link_rate = "400Gbps"
link_latency = "500ns"
[policy]
collectives = [%q]
[engine]
level = "flow"
`,
			c.kind, c.message, c.fabric, c.algorithm)
		folded := runMetrics(t, text)
		full := runMetrics(t, text, "engine.message_overhead=1ps")
		for name, want := range full {
			tolerance := 1e-9
			switch name {
			case "completion_s", "algorithm_bytes_per_s":
				tolerance = c.tolerance
			case "gap": // follows from the completion time
				continue
			}
			if got := folded[name]; math.Abs(got-want) > tolerance*math.Abs(want) {
				t.Errorf("%s by %s on %s: %s is %v by classes, want %v", c.kind, c.algorithm, c.fabric, name, got, want)
			}
		}
	}
}
