package scenarios

import (
	"sim/policies/collective"
	"sim/policies/mapping"
	"sim/policies/placement"
	"sim/policies/reconfigure"
	"sim/policies/routing"
	"sim/policies/topology"
	"sim/workloads/training"
)

// PolicyInfo is a line of `sim list`: something that a scenario may name.
type PolicyInfo struct {
	Kind string // what it is chosen for, in the plural: "allocators", "models" ...
	Name string
	Doc  string // one line
}

// Policies returns all that scenarios may name, grouped by kind.
func Policies() []PolicyInfo {
	var all []PolicyInfo
	for _, d := range decisions() {
		for _, p := range d.rows {
			all = append(all, PolicyInfo{d.policyKey, p.name, p.doc})
		}
	}
	for _, section := range sections {
		for _, k := range kinds() {
			if k.section == section {
				all = append(all, PolicyInfo{section + "s", k.name, k.forms[0].doc})
			}
		}
	}
	for _, name := range training.ModelNames() {
		a, _ := training.Model(name)
		all = append(all, PolicyInfo{"models", name, a.Words()})
	}
	for _, p := range training.Presets {
		all = append(all, PolicyInfo{"presets", p.Name, p.Doc})
	}
	for _, z := range training.Schedules {
		all = append(all, PolicyInfo{"schedules", z.Name, z.Doc})
	}
	return all
}

// policyRow is what is known here of a policy: its row, but for what decides.
type policyRow struct {
	name, doc    string
	reads        []string // options of [policy], or "OPTION if CONDITION"
	forSingleJob bool     // it may decide for single jobs among several
}

// policyRows returns what is known of the policies of a table.
func policyRows[R any](table []R, row func(r *R) policyRow) []policyRow {
	rows := make([]policyRow, len(table))
	for i := range table {
		rows[i] = row(&table[i])
	}
	return rows
}

var (
	allocators = policyRows(topology.Table, func(r *topology.Row) policyRow { return policyRow{r.Name, r.Doc, r.Reads, r.Single} })
	arbiters   = policyRows(topology.JobsTable, func(r *topology.JobsRow) policyRow { return policyRow{name: r.Name, doc: r.Doc} })
	routers    = policyRows(routing.Table, func(r *routing.Row) policyRow { return policyRow{name: r.Name, doc: r.Doc, reads: r.Reads} })
	algorithms = append(policyRows(collective.Table, func(r *collective.Row) policyRow { return policyRow{name: r.Name, doc: r.Doc, reads: r.Reads} }),
		policyRow{name: collective.BestName, doc: "the one of all that ends first", reads: []string{"hierarchical", "chunk"}})
	placements = policyRows(placement.Table(), func(r *placement.Row) policyRow { return policyRow{name: r.Name, doc: r.Doc} })
	planners   = policyRows(reconfigure.Table, func(r *reconfigure.Row) policyRow { return policyRow{name: r.Name, doc: r.Doc, reads: r.Reads} })
	mappings   = policyRows(mapping.Table, func(r *mapping.Row) policyRow { return policyRow{name: r.Name, doc: r.Doc, reads: r.Reads} })
)
