// This file describes the workloads of traffic: who sends how many bytes to whom, without
// collective calls or computes. Package paths holds the table of their kinds.
//
// A kind (kinds.go) is a value of workload.kind or fabric.kind. Each of its forms has the
// keys for certain fabrics (parts), and functions that prepare and check them.

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
			usesDimensions: func(s *Scenario) bool { return trafficUsesDimensions(t, s) },
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

		// Forms for pods and for scale-up domains.
		if t.NodeTraffic != nil {
			k.forms = append(k.forms, podTrafficForm(t))
		}
		const keysDoc = "Who sends how much to whom."
		switch {
		case t.IsUniform:
			f := planForm("Every GPU of a scale-up domain sends a message to every other.", keysDoc,
				func(s *Scenario) []any { return []any{&s.Workload.Exchange} })
			f.prepare = prepareExchange
			k.forms = append(k.forms, f)
		case t.IsListed:
			f := planForm("An all-to-all of bytes from each GPU to each, from a file or list.", keysDoc,
				func(*Scenario) []any { return []any{new(matrixKeys)} })
			k.forms = append(k.forms, f)
		}
		all = append(all, k)
	}
	return all
}

// trafficUsesDimensions reports whether s, whose traffic is of kind t, refers to dimensions of
// a torus. A collective call does if it names the dimensions it runs along. Other traffic does
// if its kind or its options do and it runs on links. On pods and on scale-up domains there are
// no dimensions.
func trafficUsesDimensions(t *paths.Kind, s *Scenario) bool {
	if s.isCall() && len(s.Workload.Call.Along) > 0 {
		return true
	}
	if t.UsesDimensions == nil {
		return false
	}
	// A kind without NodeTraffic has only the form for links.
	isOnLinks := t.NodeTraffic == nil || s.usesRouters()
	return isOnLinks && t.UsesDimensions(&s.Workload.Traffic)
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
		// The options of a pattern are created on first use.
		if i == len(w.Patterns) {
			w.Patterns = append(w.Patterns, p.New())
		}
		specs = append(specs, schema.ConditionalSpec{Spec: w.Patterns[i], When: "workload.kind=" + p.Name})
	}
	return specs
}

// applyMatrixAlias lets every fabric take a matrix of bytes in two forms:
//
//   - kind = "matrix", with the key matrix or matrix_file;
//   - kind = "all-to-all", with sizes = "matrix" and the key matrix, or with sizes = "FILE".
//
// Scale-up domains that reconfigure read the second form, all other fabrics the first. If
// the file has the form that its fabric does not read, applyMatrixAlias rewrites the
// decoded keys. checker.aliases then maps each key that it sets to the key in the file,
// which diagnostics name.
func (c *checker) applyMatrixAlias() {
	workload := schema.Child(c.Root, "workload")
	readsAllToAll := fileReconfigures(c.Root)
	switch kind := workload["kind"]; {
	case kind == paths.Matrix.Name && readsAllToAll:
		c.matrixToAllToAll(workload)
	case kind == paths.AllToAll.Name && !readsAllToAll:
		c.allToAllToMatrix(workload)
	}
}

// Keys of the two forms of a matrix.
const kindKey, sizesKey, matrixFileKey = "workload.kind", "workload.sizes", "workload.matrix_file"

// matrixToAllToAll rewrites a matrix as an all-to-all with sizes. If the scenario has sizes
// too, the kind stays a matrix, and reading the scenario reports that a matrix does not use
// sizes.
func (c *checker) matrixToAllToAll(workload map[string]any) {
	if _, hasSizes := workload["sizes"]; hasSizes {
		return
	}
	sizes, hasFile := workload["matrix_file"]
	c.aliases = map[string]string{sizesKey: matrixFileKey}
	if !hasFile {
		sizes, c.aliases[sizesKey] = input.ListedSizes, kindKey
	}
	delete(workload, "matrix_file")
	workload["kind"], workload["sizes"] = paths.AllToAll.Name, sizes
}

// allToAllToMatrix rewrites an all-to-all as a matrix if its sizes are listed or are in a
// file. An all-to-all with other sizes, such as "uniform", stays as it is.
func (c *checker) allToAllToMatrix(workload map[string]any) {
	sizes, isText := workload["sizes"].(string)
	if _, hasFile := workload["matrix_file"]; !isText || hasFile {
		return
	}
	isListed := sizes == input.ListedSizes
	if !isListed && !isFileName(sizes) {
		return
	}
	delete(workload, "sizes")
	workload["kind"] = paths.Matrix.Name
	c.aliases = map[string]string{kindKey: sizesKey}
	if !isListed {
		workload["matrix_file"] = sizes
		c.aliases[matrixFileKey] = sizesKey
	}
}

// isFileName reports whether the value of the key sizes is the name of a file. Any text is,
// except the names of distributions (sizeNames, such as "uniform") and their misspellings. A
// misspelling resembles one of these names and has no dot or slash.
func isFileName(sizes string) bool {
	if slices.Contains(sizeNames, sizes) {
		return false
	}
	return strings.ContainsAny(sizes, "./") || text.Nearest(sizes, sizeNames) == ""
}
