package result

import "fmt"

// sample returns a run with all parts.
func sample() *Run {
	r := &Run{
		Manifest: Manifest{Schema: ManifestSchema, Version: Version, Revision: "unknown", Scenario: "tiny", Digest: "abc", Seed: 1,
			Arguments: []string{"run", "tiny.toml"}, Start: "2026-01-02T03:04:05Z", End: "2026-01-02T03:04:06Z"},
		Scenario: []byte("name = \"tiny\"\n"),
		Document: Document{
			Schema: Schema, Scenario: "tiny", Digest: "abc", Seed: 1, Version: Version,
			Reference: map[string]float64{"makespan_s": 3, "compute_makespan_s": 2.5},
			Rows: []Row{
				{Policy: "prop-alloc", Metrics: map[string]float64{"nct": 2, "makespan_s": 3.5, "ports": 8, "all_to_all_bytes_per_s": 1e9}},
				{Policy: "delta joint", Metrics: map[string]float64{"nct": 1.5, "makespan_s": 3.25, "ports": 6, "bound_makespan_s": 3.25},
					Labels: map[string]string{"topology": "a < b & c\n"}},
				{Policy: "none", Labels: map[string]string{"makespan_s": "unreachable"}},
			},
		},
		Timings: Timings{WallS: 1, Policies: map[string]PolicyTimings{"prop-alloc": {SolveS: 0.5, SimulateS: 0.25}}},
		Detail:  Detail{Title: "a tiny run", Reference: sampleSimulation("", 3)},
	}
	for _, row := range r.Document.Rows {
		r.Detail.Policies = append(r.Detail.Policies, sampleSimulation(row.Policy, 3.25))
	}
	r.Detail.Windows = Windows{Task: []string{"a"}, EarliestS: []float64{0}, LatestS: []float64{1}, StartS: []float64{0}, EndS: []float64{1},
		Intervals: 1, FirstK: []int{1}, LastK: []int{1}, TopoMin: []int{1}, TopoMax: []int{1}, MinK: []int{1}, MaxK: []int{1}}
	return r
}

func sampleSimulation(policy string, makespan float64) Simulation {
	p := Simulation{Policy: policy, Service: "max-min", MakespanS: makespan,
		Demand:   []Series{{Name: "pod 0", TimeS: []float64{0, 1}, Value: []float64{4e11, 0}}},
		Rates:    []Series{{Name: "stage 0", Group: "pod 0 to DP peer", TimeS: []float64{0, 1}, Value: []float64{2e11, 0}}},
		Circuits: []Series{{Name: "pod 0 to pod 1", TimeS: []float64{0, 0.5, 1, 1.5}, Value: []float64{4e11, 0, 2e11, 0}}},
		Topology: &Topology{Pods: []PodPorts{{Name: "pod 0", Used: 2, Total: 4}, {Name: "pod 1", Used: 2, Total: 4}},
			Pairs: []Pair{{A: 0, B: 1, Circuits: 2}}},
		Path: []PathStep{
			{Name: "pp 1", Kind: "pp-forward", Link: "pod 0 to pod 1", LagS: 1, StartS: 1, EndS: 2, IdealS: 0.5, CircuitS: 0.25, SharingS: 0.25},
			{Name: "dp 0", Kind: "dp", Link: "pod 1 to DP peer", LagS: 1, StartS: 3, EndS: makespan, IdealS: makespan - 3},
		},
	}
	for stage := range 2 {
		l := Track{Name: fmt.Sprintf("stage %d", stage), Group: fmt.Sprintf("pod %d", stage)}
		for i := range 3 {
			at := float64(i)
			l.Spans = append(l.Spans, Span{Kind: "forward", Label: fmt.Sprint(i + 1), StartS: at, EndS: at + 0.5},
				Span{Kind: "pp-forward", Label: fmt.Sprint(i + 1), StartS: at + 0.5, EndS: at + 1.75})
		}
		p.Tracks = append(p.Tracks, l)
	}
	return p
}
