// This file reads and checks the keys that place ranks on endpoints, the nodes of a fabric
// that send and receive: policy.mapping, policy.mappings and policy.endpoints.
//
// A mapping is one of four texts: an order of the dimensions of parallelism, an assignment
// of these dimensions to axes of the fabric, the name of a search, or the name of a file
// with one endpoint per rank. The key mapping chooses one mapping, and the key mappings
// lists several that a run compares. The key endpoints holds the content of files.

package scenarios

import (
	"path/filepath"
	"slices"

	"sim/policies/mapping"
	"sim/scenarios/schema"
)

// The keys for the positions of ranks.
const mappingKey, mappingsKey, endpointsKey = "policy.mapping", "policy.mappings", "policy.endpoints"

// normaliseMappings replaces mappings that are written as tables of axes by texts, before
// the keys are read.
//
// It also stores the compared mappings in the scenario, earlier than other keys. A scenario
// compares the policies of one decision, and Scenario.decision needs the mappings to find
// out which: if several are listed, it is the decision on mappings.
func (c *checker) normaliseMappings() {
	policy := schema.Child(c.Root, "policy")
	if v, given := policy["mapping"]; given {
		policy["mapping"] = axesText(v)
	}

	// The TOML decoder returns a list that holds only tables as []map[string]any.
	var list []any
	switch v := policy["mappings"].(type) {
	case []any:
		list = slices.Clone(v)
	case []map[string]any:
		for _, table := range v {
			list = append(list, table)
		}
	default:
		return
	}

	var names []string
	for i, v := range list {
		list[i] = axesText(v)
		if name, ok := list[i].(string); ok {
			names = append(names, name)
		}
	}
	policy["mappings"] = list

	// Other workloads have no ranks to place. The key is then not read, and must not change
	// the decision. Jobs of a scenario with several jobs always have ranks.
	if k := c.s.workload(); k != nil && k.hasMappings || c.describesJobs() {
		c.s.Policy.Mapping.Mappings = names
	}
}

// axesText returns the text of a mapping that is written as a table from dimensions to
// axes. It returns other values unchanged.
func axesText(v any) any {
	table, _ := v.(map[string]any)
	if len(table) == 0 {
		return v
	}

	axes := map[string]string{} // axis of each dimension
	for dim, axis := range table {
		text, ok := axis.(string)
		if !ok {
			return v // schema.Reader.Read reports the invalid value
		}
		axes[dim] = text
	}
	return mapping.AxesText(axes)
}

// readMappings reads the mappings that are files into policy.endpoints. Results name such a
// mapping by its file name without the directory.
//
// A resolved scenario already has policy.endpoints, with one row for each file. No file is
// read then.
func (c *checker) readMappings() {
	k := &c.s.Policy.Mapping
	if !c.s.canMapRanks() || !c.OK(mappingKey, mappingsKey, endpointsKey) {
		return
	}

	files := k.FileNames()
	if c.Given(endpointsKey) {
		if len(k.Endpoints) != len(files) {
			c.rejectf(endpointsKey,
				"%d rows for %d mappings that are files; write a row of endpoints for each",
				len(k.Endpoints), len(files))
		}
		return
	}

	key := mappingKey
	if len(k.Mappings) > 0 {
		key = mappingsKey
	}

	// Read the endpoints, which a file names by number or by the name of a node.
	for _, name := range files {
		data, fileName, err := c.readRelative(key, name)
		if err != nil {
			c.rejectf(key,
				"%s is neither an order of dimensions, nor an assignment of axes, nor a file: %s; write an order such as %s",
				schema.Quote(name), err.Error(), schema.Quote(mapping.Default))
			continue
		}

		list, err := mapping.ReadFile(data, func(node string) (int, bool) {
			i := slices.Index(c.s.Fabric.Names, node)
			return i, i >= 0
		})
		if err != nil {
			c.rejectf(key,
				"%s: %s; write the endpoint of each rank on a line of its own",
				fileName, err.Error())
			continue
		}

		k.Endpoints = append(k.Endpoints, list)
	}

	// policy.endpoints now holds the content of the files, so mappings keep only the file
	// names.
	c.MarkGiven(endpointsKey)
	shorten := func(name string) string {
		if slices.Contains(files, name) {
			return filepath.Base(name)
		}
		return name
	}
	if k.Mapping != "" {
		k.Mapping = shorten(k.Mapping)
	}
	for i, name := range k.Mappings {
		k.Mappings[i] = shorten(name)
	}

	// Files in different directories may have the same name.
	for i, name := range k.Mappings {
		if slices.Contains(k.Mappings[:i], name) {
			c.rejectf(mappingsKey, "two files are called %s; name them differently", schema.Quote(name))
		}
	}
}

// checkMappings rejects scenarios that would compare several mappings and several policies
// of the decision after the mapping, such as routers, at once. A decision is a key of
// [policy] that lists alternatives; a run compares the alternatives of one decision.
func (c *checker) checkMappings() {
	k := &c.s.Policy.Mapping
	if c.Given(mappingKey) && len(k.Mappings) > 0 {
		c.conflictf(mappingsKey, "conflicts with policy.mapping; keep one of the two")
	}
	if !c.s.canMapRanks() || len(k.Mappings) == 0 {
		return
	}

	compared, later := c.s.decision(), c.s.decisionAfterMapping()
	comparedNames, laterNames := *compared.list(&c.s.Policy), *later.list(&c.s.Policy)
	comparedKey, laterKey := "policy."+compared.policyKey, "policy."+later.policyKey
	if len(laterNames) > 1 && c.OK(laterKey) {
		bothKeys := laterKey + " " + comparedKey // conflictf separates the keys by a space
		c.conflictf(bothKeys,
			"%d %s and %d %s would be compared; list one of the %s, or give one of the %s",
			len(laterNames), later.policyKey, len(comparedNames), compared.policyKey,
			later.policyKey, compared.policyKey)
	}
}
