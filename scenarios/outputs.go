package scenarios

import (
	"sim/scenarios/schema"
)

// OutputDirs are directories that policies write to while they decide; "" for none. The command's flags name them, and no
// key of a scenario does: whoever runs a scenario of others decides what it writes.
type OutputDirs struct {
	Models string // of MILP solvers, as MPS and LP
	Routes string // of route-optimised, kept for the next run
}

// outputKeys are keys of earlier versions that named output directories, with the flags in their place.
var outputKeys = map[string]string{
	"policy.milp.export":           "--milp-export DIR",
	"policy.route-optimised.cache": "--route-cache DIR",
}

// dropUnsetOutputs leaves out the keys of earlier versions that named output directories where they name none, as in
// resolved scenarios that were kept.
func (c *checker) dropUnsetOutputs() {
	for path := range outputKeys {
		above, name := schema.CutLast(path)
		first, last := schema.CutLast(above)
		if table := schema.Child(schema.Child(c.Root, first), last); table[name] == "" {
			delete(table, name)
		}
	}
}

// WriteTo has the policies of s write to directories. It fails where none of them writes there.
func (s *Scenario) WriteTo(d OutputDirs) error {
	missing := func(flag, what, list string) error {
		return Diagnostics{{File: s.Name, Problem: flag + ": no policy of the scenario " + what, Remedy: "add one that does, of sim list " + list}}
	}
	switch tables := s.schema(); {
	case d.Models != "" && !tables.IsUsed("policy.milp"):
		return missing("--milp-export", "has a MILP solver decide", "allocators")
	case d.Routes != "" && !tables.IsUsed("policy.route-optimised"):
		return missing("--route-cache", "searches for routes", "routers")
	}
	s.outputs(d)
	return nil
}

func (s *Scenario) outputs(d OutputDirs) {
	s.Policy.MILP.Export, s.Policy.Optimised.Cache = d.Models, d.Routes
}

// WriteTo has the policies of all variants write to directories. It fails where none of the first variant writes there.
func (st *Study) WriteTo(d OutputDirs) error {
	first, err := st.Variant(0)
	if err == nil {
		err = first.WriteTo(d)
	}
	st.dirs = d
	return err
}

// Inputs returns the files that the scenario at path is read from: its own, those it is based on, and those that its
// keys name.
func Inputs(path string, overrides []string) []string {
	name, data, fault := open(path)
	if fault != nil {
		return nil
	}
	c, faults := parse(name, data, overrides, &files{})
	if faults != nil {
		return []string{name}
	}
	_, _ = c.finish() // whoever runs it is told of faults
	for _, l := range c.Layers {
		c.inputs = append(c.inputs, l.File)
	}
	return c.inputs
}
