// This file lists the names that scenarios can use: policies, workloads, fabrics, models
// and presets. The policies of each decision come from the tables of the packages below
// policies.

package scenarios

import (
	"slices"

	"sim/fabric/torus"
	"sim/policies/collective"
	"sim/policies/mapping"
	"sim/policies/placement"
	"sim/policies/reconfigure"
	"sim/policies/routing"
	"sim/policies/topology"
	"sim/workloads/training"
)

// PolicyInfo is a line of sim list: a name that a scenario can use.
type PolicyInfo struct {
	Kind string // the list that contains it, in the plural: "allocators", "models" ...
	Name string
	Doc  string // one line
}

// Policies returns all names that scenarios can use, grouped by kind.
func Policies() []PolicyInfo {
	var all []PolicyInfo

	// Policies of each decision, followed by kinds and by values of other keys.
	for _, d := range decisions() {
		for _, p := range d.rows {
			all = append(all, PolicyInfo{d.policyKey, p.name, p.doc})
		}
	}

	// Workloads and fabrics.
	for _, section := range sections {
		for _, k := range kinds() {
			if k.section == section {
				all = append(all, PolicyInfo{section + "s", k.name, k.forms[0].doc})
			}
		}
	}

	// Values of keys of the workload "training".
	for _, name := range training.ModelNames() {
		a, _ := training.Model(name)
		all = append(all, PolicyInfo{"models", name, a.Words()})
	}

	for _, p := range training.Presets {
		all = append(all, PolicyInfo{"presets", p.Name, p.Doc})
	}
	for _, p := range torus.Presets() {
		all = append(all, PolicyInfo{"pods", p.Name, p.Doc()})
	}
	for _, p := range builtInMachines() {
		all = append(all, PolicyInfo{"machines", p.Name, p.Title})
	}
	for _, z := range training.Schedules {
		all = append(all, PolicyInfo{"schedules", z.Name, z.Doc})
	}
	return all
}

// IsPolicyKind reports whether a kind of names, such as "routers", is one of policies.
func IsPolicyKind(kind string) bool {
	return slices.ContainsFunc(decisions(), func(d decision) bool { return d.policyKey == kind })
}

// policyRow is a policy as the checks see it: its row in the table of its package, without
// the function that decides.
type policyRow struct {
	name, doc    string
	reads        []string // options of [policy], or "OPTION if CONDITION"
	forSingleJob bool     // the policy can decide for a single job among several
}

// policyRows converts the rows of a table of policies.
func policyRows[R any](table []R, row func(r *R) policyRow) []policyRow {
	rows := make([]policyRow, len(table))
	for i := range table {
		rows[i] = row(&table[i])
	}
	return rows
}

// The policies of each decision, from the tables of packages policies/...
var (
	// allocators choose the circuits between pods.
	allocators = policyRows(
		topology.Table,
		func(r *topology.Row) policyRow {
			return policyRow{name: r.Name, doc: r.Doc, reads: r.Reads, forSingleJob: r.Single}
		},
	)
	// multiJobAllocators divide the ports of shared pods among several jobs.
	multiJobAllocators = policyRows(
		topology.JobsTable,
		func(r *topology.JobsRow) policyRow { return policyRow{name: r.Name, doc: r.Doc} },
	)
	// routers choose paths over links.
	routers = policyRows(
		routing.Table,
		func(r *routing.Row) policyRow { return policyRow{name: r.Name, doc: r.Doc, reads: r.Reads} },
	)
	// algorithms expand collective calls into transfers. The last row stands for the
	// algorithm with the shortest simulated time.
	algorithms = append(
		policyRows(
			collective.Table,
			func(r *collective.Row) policyRow {
				return policyRow{name: r.Name, doc: r.Doc, reads: r.Reads}
			},
		),
		policyRow{
			name:  collective.BestName,
			doc:   "the one of all that ends first",
			reads: []string{"hierarchical", "chunk"},
		},
	)
	// placements choose the cubes of a fleet's jobs.
	placements = policyRows(
		placement.Table(),
		func(r *placement.Row) policyRow { return policyRow{name: r.Name, doc: r.Doc} },
	)
	// planners choose the topologies of a scale-up domain during a collective.
	planners = policyRows(
		reconfigure.Table,
		func(r *reconfigure.Planner) policyRow {
			return policyRow{name: r.Name, doc: r.Doc, reads: r.OptionTables}
		},
	)
	// mappings place ranks on nodes.
	mappings = policyRows(
		mapping.Table,
		func(r *mapping.Row) policyRow { return policyRow{name: r.Name, doc: r.Doc, reads: r.Reads} },
	)
)
