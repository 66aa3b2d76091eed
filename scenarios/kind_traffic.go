package scenarios

import (
	"sim/scenarios/assembly/paths"
	"sim/scenarios/schema"
	"sim/workloads/collective"
)

// trafficKinds describes the workloads that any fabric of nodes and links simulates.
func trafficKinds() []*kind {
	rows := [][2]string{
		{paths.AllToAll, "Every node sends a message to every other."},
		{paths.NearestNeighbour, "Every node sends a message over each of its links."},
		{paths.UniformRandom, "Every packet goes to a node drawn at random."},
		{paths.Permutation, "Every node sends to one other."},
	}
	for _, p := range collective.Patterns {
		rows = append(rows, [2]string{p.Name, p.Doc})
	}
	rows = append(rows, [][2]string{
		{paths.MatrixTraffic, "Bytes from each node to each, from a file or list."},
		{paths.DataTensor, "Tensor parallelism, all to all in slices, and data parallelism, rings across them, in turns (Gottipati, Sec. II-B.2)."},
	}...)
	var all []*kind
	for _, k := range rows {
		needs := ""
		switch {
		case k[0] == paths.DataTensor:
			needs = "dimensions"
		case k[0] == paths.NearestNeighbour:
			needs = "links that are there before circuits are decided"
		}
		all = append(all, &kind{section: "workload", name: k[0], doc: k[1], needs: needs, parts: trafficParts, prepare: prepareTraffic})
	}
	return all
}

func trafficParts(s *Scenario) []schema.Part {
	w := &s.Workload
	return []schema.Part{{
		Path: "workload", Doc: "Who sends how much to whom, and how packets are injected.",
		Specs: append([]any{&w.WorkloadKind, &w.Traffic}, patternSpecs(s)...), Defaults: func(int) []any { return []any{s.links().TrafficDefaults()} },
	}}
}

// patternSpecs are the options of collective.Patterns.
func patternSpecs(s *Scenario) (specs []any) {
	w := &s.Workload
	for i, p := range collective.Patterns {
		if i == len(w.Patterns) {
			w.Patterns = append(w.Patterns, p.New())
		}
		specs = append(specs, schema.Used{Spec: w.Patterns[i], When: "workload.kind=" + p.Name})
	}
	return specs
}
