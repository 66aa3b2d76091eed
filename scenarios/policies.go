package scenarios

import (
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
	for _, r := range topology.Table {
		all = append(all, PolicyInfo{"allocators", r.Name, r.Doc})
	}
	for _, r := range topology.Arbiters {
		all = append(all, PolicyInfo{"arbiters", r.Name, r.Doc})
	}
	for _, r := range routing.Table {
		all = append(all, PolicyInfo{"routers", r.Name, r.Doc})
	}
	for _, r := range reconfigure.Table {
		all = append(all, PolicyInfo{"planners", r.Name, r.Doc})
	}
	for _, section := range sections {
		for _, k := range kinds() {
			if k.section == section && (k.on == "" || findKind(section, k.name) == k) {
				all = append(all, PolicyInfo{section + "s", k.name, k.doc})
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
	return all
}
