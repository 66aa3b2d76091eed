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
	"[fabric]\nkind=\"torus\"\ndims=[2,3]\n[workload]\nkind=\"all-to-all\"\nsource=\"on-off\"\nrate=\"1Gbps\"\nduration=\"20us\"\n[engine]\nlevel=\"packet\"\n",
	"[fabric]\nkind=\"torus\"\ndims=[4,3]\nlink_latency=\"100ns\"\n[workload]\nkind=\"hotspot\"\nmessage=\"10KB\"\npace=0.5\n[engine]\nlevel=\"packet\"\nsample_every=\"1us\"\nuntil=\"1ms\"\n",
	"[fabric]\nkind=\"torus\"\ndims=[4,3]\nqueue=\"credit\"\nbuffer=\"8KB\"\nfailed_links=[\"0 x+\"]\nfail_at=\"1us\"\nreroute_after=\"1us\"\nbit_errors=1e-9\n[workload]\nkind=\"permutation\"\nmessage=\"10KB\"\nsource=\"window\"\nwindow=4\n[policy]\nrouters=[\"wild-first\"]\n[engine]\nlevel=\"packet\"\n",
	"[fabric]\nkind=\"torus\"\ndims=[4,3]\n[workload]\nkind=\"ring-all-reduce\"\nmessage=\"10KB\"\n[engine]\nlevel=\"static\"\n",
	"[fabric]\nkind=\"graph\"\ngenerator=\"fat-tree\"\nswitch_ports=4\n[workload]\nkind=\"all-to-all\"\nmessage=\"10KB\"\n[engine]\nlevel=\"flow\"\n",
	"[fabric]\nkind=\"scaleup\"\ngpus=8\nswitches=2\nlink_rate=\"400Gbps\"\nreconfiguration_delay=\"5us\"\n[workload]\nkind=\"all-to-all\"\nmessage=\"1MB\"\n",
	"[fabric]\nkind=\"scaleup\"\ngpus=8\nswitches=2\nlink_rate=\"400Gbps\"\nreconfiguration_delay=\"5us\"\n[workload]\nkind=\"all-reduce\"\nmessage=\"1MB\"\n",
	"[fabric]\nkind=\"scaleup\"\ngpus=4\nswitches=2\n[workload]\nkind=\"training\"\nsequence=256\nmicrobatches=3\npp=4\ntp=1\nep=4\ngpus=32\n[workload.architecture]\nlayers=8\nhidden=256\nheads=4\nffn=512\nvocab=1024\neffective_tflops=10\nexperts=8\ntop_k=2\n",
	"[fabric]\nkind=\"ocs-pods\"\npods=4\ngpus_per_pod=2\nports_per_pod=4\nport_bandwidth=\"100Gbps\"\n[workload]\nkind=\"uniform-random\"\nload=0.3\nduration=\"20us\"\nwarmup=\"2us\"\n[engine]\nlevel=\"packet\"\n",
	"[fabric]\nkind=\"ocs-pods\"\npods=4\ngpus_per_pod=2\nports_per_pod=4\nport_bandwidth=\"100Gbps\"\n[workload]\nkind=\"all-to-all\"\nmessage=\"10KB\"\n",
	"[fabric]\nkind=\"ocs-pods\"\ngpus_per_pod_per_replica=8\nport_bandwidth=\"100Gbps\"\nports_per_pod=9\n[workload]\nkind=\"training\"\nmodel=\"mixtral-8x22b\"\nsequence=4096\nmicrobatches=4\ntp=2\npp=2\nep=8\ngpus=32\ncollectives=\"graph\"\n[engine]\nlevel=\"packet\"\n",
	"[fabric]\nkind=\"torus\"\ndims=[3,4]\n[workload]\nkind=\"recommendation\"\ngpus=12\nsamples=256\ntables=16\nwidth=64\ndense_parameters=1000000\neffective_tflops=200\n[engine]\nlevel=\"packet\"\n",
	"[fabric]\nkind=\"torus\"\ndims=[3,4]\n[workload]\nkind=\"training\"\nmodel=\"gpt-7b\"\nmicrobatches=3\nsequence=4096\ntp=2\npp=3\ngpus=12\ncollectives=\"graph\"\nschedule=\"interleaved-1f1b\"\nvirtual_stages=2\nsharding=\"parameters\"\n[policy]\ncollective=\"ring\"\n[engine]\nlevel=\"packet\"\n",
	"[fabric]\nkind=\"tiers\"\n[[fabric.tier]]\nkind=\"electrical\"\ngpus=4\n[[fabric.tier]]\nkind=\"torus\"\ndims=[2,4]\nlink_rate=\"50Gbps\"\n[workload]\nkind=\"all-reduce\"\nmessage=\"600KB\"\n[policy]\ncollective=\"ring\"\n",
	"[fabric]\nkind=\"pods-of-cubes\"\n[workload]\nkind=\"fleet\"\ndays=12\nwarm_up=1\nload=1.3\n[workload.faults]\nmachine=\"0.002/day\"\n",
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
				if table.IsArray() || write == nil || strings.HasPrefix(key, "policy.") || slices.Contains(slowLimitKeys, key) {
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
				minValue, maxValue := int64(k.Min), int64(maxUnitValue)
				if k.ExclusiveMin {
					minValue++
				}
				if k.Max > 0 {
					maxValue = int64(min(k.Max, maxUnitValue))
				}
				candidates := []int64{1, 2, 3, 4, 8, 16, 1000, 1e6, 1e9, 1e11}
				if f := reflect.Indirect(k.Field(0)); f.CanInt() {
					candidates = append([]int64{f.Int()}, candidates...)
				} else if f.CanFloat() {
					candidates = append([]int64{int64(f.Float())}, candidates...)
				}
				i := slices.IndexFunc(candidates, func(n int64) bool { return n >= minValue && n <= maxValue && accepts(n) })
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
