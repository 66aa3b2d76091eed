// This file reads and checks the keys that place ranks on nodes: policy.mapping,
// policy.mappings and policy.endpoints. A mapping is an order of dimensions, an
// assignment of dimensions to axes, a search, or a file with one endpoint per rank.

package scenarios

import (
	"path/filepath"
	"slices"

	"sim/policies/mapping"
	"sim/scenarios/schema"
)

// mappingKey, mappingsKey and endpointsKey are the keys for the positions of ranks.
const mappingKey, mappingsKey, endpointsKey = "policy.mapping", "policy.mappings", "policy.endpoints"

// normaliseMappings replaces mappings that are written as tables of axes by texts, before
// the keys are read. It also records the names of compared mappings, since they determine
// the decision that the scenario compares.
func (c *checker) normaliseMappings() {
	policy := schema.Child(c.Root, "policy")
	if v, given := policy["mapping"]; given {
		policy["mapping"] = axesText(v)
	}

	// The decoder returns a list of tables with a type of its own.
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

	axes := map[string]string{}
	for dim, axis := range table {
		text, ok := axis.(string)
		if !ok {
			return v // Read rejects the table
		}
		axes[dim] = text
	}
	return mapping.AxesText(axes)
}

// readMappings reads the mappings that are files. Results name such a mapping by its file
// name without the directory.
//
// A resolved scenario lists the endpoints of these files in policy.endpoints, and then no
// file is read.
func (c *checker) readMappings() {
	k := &c.s.Policy.Mapping
	if !c.s.canMapRanks() || !c.OK(mappingKey, mappingsKey, endpointsKey) {
		return
	}

	// If the endpoints are given, as in a resolved scenario, no file is read.
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

	// policy.endpoints now holds the content of the files, whose directories are no longer
	// needed.
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

	for i, name := range k.Mappings {
		if slices.Contains(k.Mappings[:i], name) {
			c.rejectf(mappingsKey, "two files are called %s; name them differently", schema.Quote(name))
		}
	}
}

// checkMappings rejects scenarios that would compare several mappings and several policies
// of the fabric at once.
func (c *checker) checkMappings() {
	k := &c.s.Policy.Mapping
	if c.Given(mappingKey) && len(k.Mappings) > 0 {
		c.conflictf(mappingsKey, "conflicts with policy.mapping; keep one of the two")
	}
	d, next := c.s.decision(), c.s.decisionAfterMapping()
	if !c.s.canMapRanks() || len(k.Mappings) == 0 {
		return
	}

	key := "policy." + next.policyKey
	if listed := *next.list(&c.s.Policy); len(listed) > 1 && c.OK(key) {
		c.conflictf(key+" policy."+d.policyKey,
			"%d %s and %d %s would be compared; list one of the %s, or give one of the %s",
			len(listed), next.policyKey, len(*d.list(&c.s.Policy)), d.policyKey,
			next.policyKey, d.policyKey)
	}
}
