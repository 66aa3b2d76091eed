package report

import (
	"strings"
	"testing"

	"sim/internal/text"
	"sim/scenarios/result"
)

// TestCircuitsSayWhatIsNotModelled: the notes below a table and explanations say that the matching of
// ports on optical switches is not modelled if, and only if, they show circuits between pods.
func TestCircuitsSayWhatIsNotModelled(t *testing.T) {
	topology := &result.Topology{Pods: []result.PodPorts{{Name: "pod 0"}, {Name: "pod 1"}}}
	for name, c := range map[string]struct {
		labels map[string]string
		sim    result.Simulation
		want   int
	}{
		"one job":      {map[string]string{"topology": "circuits"}, result.Simulation{Topology: topology}, 1},
		"several jobs": {map[string]string{"topology": "circuits"}, result.Simulation{Jobs: []result.Simulation{{Topology: topology}}}, 1},
		"a torus":      {nil, result.Simulation{}, 0},
	} {
		run := &result.Run{}
		c.sim.Policy = "p"
		run.Document.Rows = []result.Row{{Policy: "p", Metrics: map[string]float64{"nct": 1}, Labels: c.labels}}
		run.Detail.Policies = []result.Simulation{c.sim}
		notes, explained := Notes(run), Explain(run, &c.sim, text.Style{})
		for what, s := range map[string]string{"notes": notes, "explanation": explained} {
			if got := strings.Count(strings.Join(strings.Fields(s), " "), matchingNote); got != c.want {
				t.Errorf("%s: the %s say it %d times, want %d:\n%s", name, what, got, c.want, s)
			}
		}
	}
}
