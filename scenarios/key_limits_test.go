package scenarios

import (
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"sim/engine"
	"sim/engine/units"
	"sim/scenarios/schema"
)

// limitScenarios are scenarios, in addition to effectScenarios, whose checks limit numeric
// keys.
var limitScenarios = []string{
	`[fabric]
kind="torus"
dims=[2,3]
[workload]
kind="all-to-all"
source="on-off"
rate="1Gbps"
duration="20us"
[engine]
level="packet"
`,
	`[fabric]
kind="torus"
dims=[4,3]
link_latency="100ns"
[workload]
kind="hotspot"
message="10KB"
pace=0.5
[engine]
level="packet"
sample_every="1us"
until="1ms"
`,
	`[fabric]
kind="torus"
dims=[4,3]
queue="credit"
buffer="8KB"
failed_links=["0 x+"]
failure_time="1us"
reroute_delay="1us"
bit_errors=1e-9
[workload]
kind="permutation"
message="10KB"
source="window"
window=4
[policy]
routers=["wild-first"]
[engine]
level="packet"
`,
	`[fabric]
kind="torus"
dims=[4,3]
[workload]
kind="ring-all-reduce"
message="10KB"
[engine]
level="static"
`,
	`[fabric]
kind="graph"
generator="fat-tree"
switch_ports=4
[workload]
kind="all-to-all"
message="10KB"
[engine]
level="flow"
`,
	`[fabric]
kind="scaleup"
gpus=8
switches=2
link_rate="400Gbps"
reconfiguration_delay="5us"
[workload]
kind="all-to-all"
message="1MB"
`,
	`[fabric]
kind="scaleup"
gpus=8
switches=2
link_rate="400Gbps"
reconfiguration_delay="5us"
[workload]
kind="all-reduce"
message="1MB"
`,
	`[fabric]
kind="scaleup"
gpus=4
switches=2
[workload]
kind="training"
sequence=256
microbatches=3
pp=4
tp=1
ep=4
gpus=32
[workload.architecture]
layers=8
hidden=256
heads=4
ffn=512
vocab=1024
effective_tflops=10
experts=8
top_k=2
`,
	`[fabric]
kind="ocs-pods"
pods=4
gpus_per_pod=2
ports_per_pod=4
port_bandwidth="100Gbps"
[workload]
kind="uniform-random"
load=0.3
duration="20us"
warmup="2us"
[engine]
level="packet"
`,
	`[fabric]
kind="ocs-pods"
pods=4
gpus_per_pod=2
ports_per_pod=4
port_bandwidth="100Gbps"
[workload]
kind="all-to-all"
message="10KB"
`,
	`[fabric]
kind="ocs-pods"
gpus_per_pod_per_replica=8
port_bandwidth="100Gbps"
ports_per_pod=9
[workload]
kind="training"
model="mixtral-8x22b"
sequence=4096
microbatches=4
tp=2
pp=2
ep=8
gpus=32
collectives="graph"
[engine]
level="packet"
`,
	`[fabric]
kind="torus"
dims=[3,4]
[workload]
kind="recommendation"
gpus=12
samples=256
tables=16
width=64
dense_parameters=1000000
effective_tflops=200
[engine]
level="packet"
`,
	`[fabric]
kind="torus"
dims=[3,4]
[workload]
kind="training"
model="gpt-7b"
microbatches=3
sequence=4096
tp=2
pp=3
gpus=12
collectives="graph"
schedule="interleaved-1f1b"
virtual_stages=2
sharding="parameters"
[policy]
collective="ring"
[engine]
level="packet"
`,
	`[fabric]
kind="tiers"
[[fabric.tier]]
kind="electrical"
gpus=4
[[fabric.tier]]
kind="torus"
dims=[2,4]
link_rate="50Gbps"
[workload]
kind="all-reduce"
message="600KB"
[engine]
level="packet"
[policy]
collective="ring"
`,
	`[fabric]
kind="pods-of-cubes"
[workload]
kind="fleet"
days=12
warm_up=1
load=1.3
[workload.faults]
machine="0.002/day"
`,
}

// numberFormat returns a function that writes a whole number as a value of k, in the smallest
// unit of its type. It returns nil if the values of k are not whole numbers of a unit.
func numberFormat(k *schema.Key) func(n int64) string {
	unit := ""
	switch reflect.New(k.Type).Interface().(type) {
	case *int, *int64:
		return func(n int64) string { return fmt.Sprint(n) }
	case *units.Rate:
		unit = "bps"
	case *units.Bytes:
		unit = "B"
	case *engine.Time:
		unit = "ps"
	default:
		return nil
	}
	return func(n int64) string { return fmt.Sprintf("\"%d%s\"", n, unit) }
}

// maxUnitValue is the largest number that TestKeyLimits sets. Every type of package units can
// hold it.
const maxUnitValue = 1 << 61

// findLimit returns the last accepted value between an accepted value and end. It
// returns false if end is accepted.
//
// The search moves towards end in steps that double, followed by bisection. It does not start
// with a bisection of the whole range, because the rejection of a value far beyond the limit
// may take long. The last call of accepts is for the first rejected value.
func findLimit(accepted, end int64, accepts func(int64) bool) (int64, bool) {
	beyond := accepted
	if end == maxUnitValue && accepts(end) {
		return end, false
	}
	for step := int64(1); accepts(beyond); step *= 2 {
		if accepted = beyond; accepted == end {
			return end, false
		}
		if end > accepted {
			beyond = accepted + min(step, end-accepted)
		} else {
			beyond = accepted - min(step, accepted-end)
		}
	}

	for max(accepted, beyond)-min(accepted, beyond) > 1 {
		if mid := accepted + (beyond-accepted)/2; accepts(mid) {
			accepted = mid
		} else {
			beyond = mid
		}
	}

	accepts(beyond)
	return accepted, true
}

// TestKeyLimits finds the smallest and the largest value of each numeric key that the checks of
// a scenario accept, within the bounds of the key itself. Reference: testdata/key_limits.txt,
// which -update writes. It also stores the numbers in the rejection of the first value beyond
// each limit.
func TestKeyLimits(t *testing.T) {
	t.Parallel()
	var lines strings.Builder
	texts := limitScenarios
	for _, c := range effectScenarios {
		texts = append(texts, c.text)
	}
	for _, text := range texts {
		s, err := Parse("border.toml", []byte(text), nil)
		if err != nil {
			t.Errorf("got %v, want an accepted scenario:\n%s", err, text)
			continue
		}
		fmt.Fprintf(&lines, "%q\n", text)
		for _, table := range s.schema().Tables[1:] {
			for _, k := range table.Keys {
				key := strings.ReplaceAll(schema.JoinPath(table.Path, k.Name), `"`, "")
				write := numberFormat(k)
				if table.IsArray() || write == nil || strings.HasPrefix(key, "policy.") ||
					slices.Contains(slowLimitKeys, key) {
					continue
				}
				rejection := ""
				accepts := func(n int64) bool {
					_, err := Parse("border.toml", []byte(text), []string{key + "=" + write(n)})
					if err != nil {
						rejection = err.Error()
					}
					return err == nil
				}

				// The bounds of the key itself.
				minValue, maxValue := int64(k.Min), int64(maxUnitValue)
				if k.ExclusiveMin {
					minValue++
				}
				if k.Max > 0 {
					maxValue = int64(min(k.Max, maxUnitValue))
				}

				// Start from the current value, or from another accepted one.
				candidates := []int64{1, 2, 3, 4, 8, 16, 1000, 1e6, 1e9, 1e11}
				if f := reflect.Indirect(k.Field(0)); f.CanInt() {
					candidates = append([]int64{f.Int()}, candidates...)
				} else if f.CanFloat() {
					candidates = append([]int64{int64(f.Float())}, candidates...)
				}
				i := slices.IndexFunc(candidates,
					func(n int64) bool { return n >= minValue && n <= maxValue && accepts(n) })
				if i < 0 {
					continue
				}

				for _, end := range []int64{minValue, maxValue} {
					if n, ok := findLimit(candidates[i], end, accepts); ok {
						fmt.Fprintf(&lines, "\t%s=%s: %s\n", key, write(n), keepNumbers(rejection))
					}
				}
			}
		}
	}

	compareText(t, filepath.Join("testdata", "key_limits.txt"), lines.String())
}

// keepNumbers reduces an error message to the key at its start and the words that contain
// digits.
func keepNumbers(text string) string {
	var words []string
	for i, word := range strings.Fields(strings.TrimPrefix(text, "--set: ")) {
		if i == 0 || strings.ContainsAny(word, "0123456789") {
			words = append(words, strings.Trim(word, ",;:()"))
		}
	}
	return strings.Join(words, " ")
}

// slowLimitKeys are keys that TestKeyLimits leaves out, because checks of values near their
// limits take seconds.
var slowLimitKeys = []string{"fabric.pods", "fabric.gpus_per_pod"}
