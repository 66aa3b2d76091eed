package scenarios

import (
	"slices"
	"strings"

	"sim/internal/text"
	"sim/scenarios/assembly/input"
	"sim/scenarios/assembly/paths"
	"sim/scenarios/schema"
	"sim/workloads/collective"
)

// trafficKinds describes the kinds of traffic of package paths. Each has a form for links.
// Some have forms for pods and for scale-up domains too.
func trafficKinds() (all []*kind) {
	for _, t := range paths.Kinds() {
		k := &kind{
			name: t.Name, keyGroups: t.Groups,
			usesDimensions: func(s *Scenario) bool {
				return s.isCall() && len(s.Workload.Call.Along) > 0 ||
					t.UsesDimensions != nil &&
						(t.NodeTraffic == nil || s.usesRouters()) &&
						t.UsesDimensions(&s.Workload.Traffic)
			},
			forms: []*form{
				{
					doc:              t.Doc,
					acceptedCarriers: []carrier{linkCarrier},
					canBeCall:        t.IsUniform,
					parts:            trafficParts,
					prepare:          prepareTraffic,
				},
			},
		}
		if t.NodeTraffic != nil {
			k.forms = append(k.forms, podTrafficForm(t))
		}
		const whom = "Who sends how much to whom."
		switch {
		case t.IsUniform:
			f := planForm(
				"Every GPU of a scale-up domain sends a message to every other.",
				whom,
				func(s *Scenario) []any { return []any{&s.Workload.Exchange} },
			)
			f.prepare = prepareExchange
			k.forms = append(k.forms, f)
		case t.IsListed:
			k.forms = append(
				k.forms,
				planForm(
					"An all-to-all of bytes from each GPU to each, from a file or list.",
					whom,
					func(*Scenario) []any { return []any{new(matrixKeys)} },
				),
			)
		}

		all = append(all, k)
	}

	return all
}

// traffic returns the kind of the traffic of s. It returns an empty kind for other work and
// for traffic that is a collective call.
func (s *Scenario) traffic() *paths.Kind {
	if s.isCall() {
		return &paths.Kind{}
	}
	return paths.KindByName(s.Workload.Kind)
}

// trafficParts are the tables of traffic on links.
func trafficParts(s *Scenario) []schema.Part {
	w := &s.Workload
	return []schema.Part{{
		Path:     "workload",
		Doc:      "The traffic and the injection of packets.",
		Specs:    append([]any{&w.Traffic}, patternSpecs(s)...),
		Defaults: func(int) []any { return []any{s.pathsView().TrafficDefaults()} },
	}}
}

// patternSpecs returns the options of collective.Patterns, each used for the kind of its
// pattern.
func patternSpecs(s *Scenario) (specs []any) {
	w := &s.Workload
	for i, p := range collective.Patterns {
		if i == len(w.Patterns) {
			w.Patterns = append(w.Patterns, p.New())
		}
		specs = append(specs, schema.ConditionalSpec{Spec: w.Patterns[i], When: "workload.kind=" + p.Name})
	}
	return specs
}

// applyMatrixAlias lets every fabric take a matrix of bytes in two forms: kind = "matrix" with
// matrix or matrix_file, and kind = "all-to-all" with sizes = "matrix" or a file. It
// replaces the form in the file by the form that the fabric reads: the all-to-all on
// scale-up domains that reconfigure, and the matrix elsewhere. aliases makes diagnostics
// name the keys in the file.
func (c *checker) applyMatrixAlias() {
	const kindAt, sizesAt, fileAt = "workload.kind", "workload.sizes", "workload.matrix_file"
	w := schema.Child(c.Root, "workload")
	reconfigures := fileReconfigures(c.Root)
	switch {
	case w["kind"] == paths.Matrix.Name && reconfigures:
		if _, given := w["sizes"]; given {
			return // Read rejects matrix_file
		}

		file, given := w["matrix_file"]
		if !given {
			file = input.ListedSizes
		}
		delete(w, "matrix_file")
		w["kind"], w["sizes"] = paths.AllToAll.Name, file
		c.aliases = map[string]string{sizesAt: fileAt}
		if !given {
			c.aliases[sizesAt] = kindAt
		}
	case w["kind"] == paths.AllToAll.Name && !reconfigures:
		sizes, ok := w["sizes"].(string)
		unknown := !strings.ContainsAny(sizes, "./") && text.Nearest(sizes, sizeNames) != ""
		if _, given := w["matrix_file"]; !ok ||
			given ||
			sizes != input.ListedSizes && (unknown || slices.Contains(sizeNames, sizes)) {
			return
		}
		delete(w, "sizes")
		c.aliases = map[string]string{kindAt: sizesAt}
		if w["kind"] = paths.Matrix.Name; sizes != input.ListedSizes {
			w["matrix_file"] = sizes
			c.aliases[fileAt] = sizesAt
		}
	}
}
