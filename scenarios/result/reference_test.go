package result

import (
	"slices"
	"strings"
	"testing"
)

// referenceSweep returns a sweep over an axis with the given keys. Cell i has references[i],
// under two policies.
func referenceSweep(keys []string, references ...map[string]float64) *Sweep {
	s := &Sweep{Name: "s", Axes: []Axis{{Name: keys[0], Keys: keys}}}
	for i, r := range references {
		s.Axes[0].Labels = append(s.Axes[0].Labels, string(rune('a'+i)))
		for _, policy := range []string{"p", "q"} {
			s.Cells = append(s.Cells, Cell{At: []int{i}, Policy: policy, Scenario: "s", Reference: r,
				Metrics: map[string]float64{NCT: 2, IterationTime: 3, PortsUsed: 4}})
		}
	}
	return s
}

// TestReferenceDifference: NCTs of the same work cannot be ranked if iteration times on the ideal
// fabric, or without communication, differ. Axes of the workload change the work; axes of the
// fabric, the policy and the level do not.
func TestReferenceDifference(t *testing.T) {
	reference := func(makespan, compute, rate, free float64) map[string]float64 {
		return map[string]float64{IterationTime: makespan, ComputeTime: compute, InterfaceRate: rate, FreeBytes: free}
	}
	base := reference(2, 1, 4e11, 0)
	jobs := func(makespan float64) map[string]float64 {
		return map[string]float64{"job.x.makespan_s": makespan, "job.x.compute_makespan_s": 1, "job.x.free_bytes": makespan}
	}
	for _, c := range []struct {
		name, metric string
		keys         []string
		references   []map[string]float64
		want         string // part of the sentence; "" if the values can be ranked
	}{
		{"equal", NCT, []string{"fabric"}, []map[string]float64{base, reference(2, 1, 4e11, 7)}, ""},
		{"rounding", NCT, []string{"fabric"}, []map[string]float64{base, reference(2+1e-12, 1, 4e11, 0)}, ""},
		{"free traffic", NCT, []string{"fabric"}, []map[string]float64{base, reference(1.5, 1, 4e11, 3e12)}, `fabric.reference = "interfaces"`},
		{"zipped with a title", NCT, []string{"title", "fabric", "policy", "engine.level"}, []map[string]float64{base, reference(1.5, 1, 4e11, 3e12)}, "3 TB inside pods not over them) for title=b"},
		{"a size of pods", NCT, []string{"fabric.gpus_per_pod_per_replica"}, []map[string]float64{base, reference(1.5, 1, 4e11, 3e12)}, "compare makespan_s"},
		{"interfaces", NCT, []string{"fabric.port_bandwidth"}, []map[string]float64{base, reference(1.5, 1, 8e11, 0)}, "Equal interface rates"},
		{"compute", NCT, []string{"fabric"}, []map[string]float64{base, reference(2, 1.2, 4e11, 0)}, "calls inside tiers count as compute"},
		{"algorithms", NCT, []string{"policy.all_reduce"}, []map[string]float64{base, reference(1.5, 1, 4e11, 0)}, "collective algorithms"},
		{"other work", NCT, []string{"workload.model"}, []map[string]float64{base, reference(1.5, 1, 4e11, 0)}, ""},
		{"other work on other fabrics", NCT, []string{"workload.gpus", "fabric.dims"}, []map[string]float64{base, reference(1.5, 0.5, 4e11, 0)}, ""},
		{"same work on other fabrics", NCT, []string{"workload.trace", "fabric"}, []map[string]float64{base, reference(1.5, 1, 4e11, 0)}, "differ"},
		{"runs of one job", NCT, []string{RunAxis}, []map[string]float64{base, reference(1.5, 1, 4e11, 0)}, "differ"},
		{"runs of two jobs", NCT, []string{RunAxis}, []map[string]float64{base, reference(1.5, 0.5, 4e11, 0)}, ""},
		{"times", IterationTime, []string{"fabric"}, []map[string]float64{base, reference(1.5, 1, 4e11, 0)}, ""},
		{"a metric of the reference", ReferencePrefix + NCT, []string{"fabric"}, []map[string]float64{base, reference(1.5, 1, 4e11, 0)}, ""},
		{"no ideal fabric", NCT, []string{"fabric"}, []map[string]float64{base, {ComputeTime: 7}}, ""},
		{"jobs", NCT, []string{"fabric"}, []map[string]float64{jobs(2), jobs(3)}, "differ"},
		{"equal jobs", NCT, []string{"fabric"}, []map[string]float64{jobs(2), jobs(2)}, ""},
	} {
		s := referenceSweep(c.keys, c.references...)
		d := s.ReferenceDifference(c.metric, nil)
		if d == nil {
			if c.want != "" {
				t.Errorf("%s: %s can be ranked, want a sentence with %q", c.name, c.metric, c.want)
			}
			continue
		}
		if got := d.String(); c.want == "" || !strings.Contains(got, c.want) || !strings.Contains(got, "nothing is ranked by it") {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}

	// The main metric is then the iteration time, unless the selected cells have one reference.
	s := referenceSweep([]string{"fabric"}, base, reference(1.5, 1, 4e11, 3e12))
	if got := s.MainOf(s.MetricNames(), nil); got != IterationTime {
		t.Errorf("the main metric is %s, want %s", got, IterationTime)
	}
	if got := s.MainOf(s.MetricNames(), func(c *Cell) bool { return c.At[0] == 0 }); got != NCT {
		t.Errorf("the main metric of one place is %s, want %s", got, NCT)
	}
}

// TestReferenceRows: metrics.csv has the metrics of the reference once per place.
func TestReferenceRows(t *testing.T) {
	s := referenceSweep([]string{"fabric"}, map[string]float64{IterationTime: 2}, map[string]float64{IterationTime: 3})
	lines := strings.Fields(string(s.CSV()))
	for _, want := range []string{"s,a,reference,makespan_s,2", "s,b,reference,makespan_s,3"} {
		if n := slices.Index(lines, want); n < 0 || slices.Contains(lines[n+1:], want) {
			t.Errorf("%q is not there once:\n%s", want, s.CSV())
		}
	}
}
