package scenarios

import (
	"sim/scenarios/assembly/paths"
	"sim/scenarios/schema"
	"sim/workloads/collective"
)

// trafficKinds describes the kinds of traffic of package paths.
func trafficKinds() (all []*kind) {
	for _, t := range paths.Kinds() {
		k := &kind{
			name: t.Name, groups: t.Groups,
			dimensions: func(s *Scenario) bool {
				return s.calls() && len(s.Workload.Call.Along) > 0 || t.Dimensions != nil && (t.Among == nil || s.routes()) && t.Dimensions(&s.Workload.Traffic)
			},
			forms: []*form{{doc: t.Doc, needs: []offer{onLinks}, callable: t.Alike, parts: trafficParts, prepare: prepareTraffic}},
		}
		if t.Among != nil {
			k.forms = append(k.forms, podTrafficForm(t))
		}
		const whom = "Who sends how much to whom."
		switch {
		case t.Alike:
			f := planForm("Every GPU of a scale-up domain sends a message to every other.", whom, func(s *Scenario) []any { return []any{&s.Workload.Exchange} })
			f.prepare = prepareExchange
			k.forms = append(k.forms, f)
		case t.Listed:
			k.forms = append(k.forms, planForm("An all-to-all of bytes from each GPU to each, from a file or list.", whom, func(*Scenario) []any { return []any{new(listed)} }))
		}
		all = append(all, k)
	}
	return all
}

// traffic returns the kind of the traffic of s, an empty one of other work.
func (s *Scenario) traffic() *paths.Kind {
	if s.calls() {
		return &paths.Kind{}
	}
	return paths.KindOf(s.Workload.Kind)
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
