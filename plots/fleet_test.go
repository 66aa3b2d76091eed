package plots

import (
	"strings"
	"testing"

	"sim/scenarios/result"
)

// fleetRun returns one day of a fleet of two cubes under two policies.
func fleetRun() (*result.Document, *result.Detail) {
	doc := &result.Document{Scenario: "fleet", Rows: []result.Row{
		{Policy: "one", Metrics: map[string]float64{"goodput": 0.5, "share_idle": 0.3, "share_down": 0.2}},
		{Policy: "two", Metrics: map[string]float64{"goodput": 0.7, "share_idle": 0.3, "share_down": 0}},
	}}
	cubes := &result.Fleet{FromS: 0, UntilS: 86400, Cubes: []result.Track{
		{Name: "cube 0", Spans: []result.Span{{Kind: "one cube", StartS: 0, EndS: 3600}, {Kind: "down", StartS: 4000, EndS: 86400}}}, {Name: "cube 1"},
	}}
	return doc, &result.Detail{Title: "a day", Policies: []result.Simulation{{Policy: "one", Fleet: cubes}, {Policy: "two", Fleet: cubes}}}
}

// fragmentedRun returns a fleetRun in which most free cubes are outside the largest slice that
// fits.
func fragmentedRun() (*result.Document, *result.Detail) {
	doc, d := fleetRun()
	d.Policies[0].Fleet.FreeSamples = []result.FreeSample{{AtS: 0, Free: 2, Largest: 2}, {AtS: 3000, Free: 9, Largest: 4}, {AtS: 5000, Free: 5, Largest: 1}}
	return doc, d
}

// TestFleetFigures: the run of a fleet has a figure of chip-time, a figure of the cubes for
// each policy, and one of the time with the most fragmented free cubes. Other runs have none
// of them.
func TestFleetFigures(t *testing.T) {
	doc, d := fleetRun()
	cubes := d.Policies[0].Fleet
	figures, err := every(doc, d)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, f := range figures {
		names = append(names, f.Name)
	}
	if got := strings.Join(names, " "); got != "fleet chip-time cubes-one cubes-two" {
		t.Errorf("figures %s", got)
	}
	cubes.FreeSamples = []result.FreeSample{{AtS: 0, Free: 2, Largest: 2}, {AtS: 3000, Free: 9, Largest: 4}, {AtS: 5000, Free: 5, Largest: 1}}
	still := figureFunc(podStateFigure).draw(doc, d)
	if len(still) != 1 || still[0].Name != "fragmentation" {
		t.Fatalf("%d figures of a moment", len(still))
	}
	if on := cubes.CubesAt(3000); len(on) != 2 || len(on[0].Spans) != 1 || on[0].Spans[0].Kind != "one cube" || len(on[1].Spans) > 0 {
		t.Errorf("at that moment there are %v", on)
	}
	doc.Rows = []result.Row{{Policy: "one", Metrics: map[string]float64{"nct": 1}}}
	if len(figureFunc(chipTimeFigure).draw(doc, d)) > 0 || len(figureFunc(cubesFigure).draw(doc, &result.Detail{})) > 0 {
		t.Error("figures of fleets of what is none")
	}
}
