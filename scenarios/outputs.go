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

// dropEmptyOutputKeys leaves out the keys of earlier versions that named output directories where they name none, as in
// resolved scenarios that were kept.
func (c *checker) dropEmptyOutputKeys() {
	for path := range outputKeys {
		above, name := schema.CutLast(path)
		first, last := schema.CutLast(above)
		if table := schema.Child(schema.Child(c.Root, first), last); table[name] == "" {
			delete(table, name)
		}
	}
}

// SetOutputDirs has the policies of s write to directories. It fails where none of them writes there.
func (s *Scenario) SetOutputDirs(d OutputDirs) error {
	missing := func(flag, what, list string) error {
		return Diagnostics{{File: s.Name, Problem: flag + ": no policy of the scenario " + what, Remedy: "add one that does, of sim list " + list}}
	}
	switch tables := s.schema(); {
	case d.Models != "" && !tables.IsUsed("policy.milp"):
		return missing("--milp-export", "has a MILP solver decide", "allocators")
	case d.Routes != "" && !tables.IsUsed("policy.route-optimised"):
		return missing("--route-cache", "searches for routes", "routers")
	}
	s.applyOutputDirs(d)
	return nil
}

func (s *Scenario) applyOutputDirs(d OutputDirs) {
	s.Policy.MILP.Export, s.Policy.Optimised.Cache = d.Models, d.Routes
}

// SetOutputDirs has the policies of all variants write to directories. It fails where none of the first variant writes there.
func (st *Study) SetOutputDirs(d OutputDirs) error {
	first, err := st.Variant(0)
	if err == nil {
		err = first.SetOutputDirs(d)
	}
	st.outputDirs = d
	return err
}

// InputFiles returns the files that the scenario at path is read from: its own, those it is based on, and those that its
// keys name.
func InputFiles(path string, overrides []string) []string {
	name, data, fault := openFile(path)
	if fault != nil {
		return nil
	}
	c, faults := parse(name, data, overrides, &fileSet{})
	if faults != nil {
		return []string{name}
	}
	_, _ = c.finish() // whoever runs it is told of faults
	for _, l := range c.Layers {
		c.inputFiles = append(c.inputFiles, l.File)
	}
	return c.inputFiles
}
