// This file sets the directories that policies write to while they decide, and lists the
// files that a scenario reads.

package scenarios

import (
	"sim/scenarios/schema"
)

// OutputDirs are directories that policies write to while they decide; "" stands for no
// directory. Flags of the command set them. No key of a scenario does, so that a scenario
// of somebody else cannot choose the files that it overwrites.
type OutputDirs struct {
	Models string // models of MILP solvers, as MPS and LP files
	Routes string // routes of route-optimised, cached for later runs
}

// outputKeys maps deprecated keys that named output directories to the flags that replace
// them.
var outputKeys = map[string]string{
	"policy.milp.export":           "--milp-export DIR",
	"policy.route-optimised.cache": "--route-cache DIR",
}

// dropEmptyOutputKeys removes deprecated keys of output directories if they are empty.
// Stored resolved scenarios contain such keys.
func (c *checker) dropEmptyOutputKeys() {
	for path := range outputKeys {
		// The keys lie in tables of tables of [policy].
		above, name := schema.CutLast(path)
		first, last := schema.CutLast(above)
		if table := schema.Child(schema.Child(c.Root, first), last); table[name] == "" {
			delete(table, name)
		}
	}
}

// SetOutputDirs makes the policies of s write to directories. It fails if no policy of s
// writes to one of them.
func (s *Scenario) SetOutputDirs(d OutputDirs) error {
	// missing returns the error for a flag without a policy that uses it.
	missing := func(flag, what, list string) error {
		return Diagnostics{
			{
				File:    s.Name,
				Problem: flag + ": no policy of the scenario " + what,
				Remedy:  "add one that does, of sim list " + list,
			},
		}
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

// applyOutputDirs is SetOutputDirs without the check.
func (s *Scenario) applyOutputDirs(d OutputDirs) {
	s.Policy.MILP.Export, s.Policy.Optimised.Cache = d.Models, d.Routes
}

// SetOutputDirs makes the policies of all variants write to directories. It fails if no
// policy of the first variant writes to one of them.
func (st *Study) SetOutputDirs(d OutputDirs) error {
	first, err := st.Variant(0)
	if err == nil {
		err = first.SetOutputDirs(d)
	}
	st.outputDirs = d
	return err
}

// InputFiles returns the files from which the scenario at path is read: the file itself,
// the files that it is based on, and the files that keys name.
func InputFiles(path string, overrides []string) []string {
	name, data, fault := openFile(path)
	if fault != nil {
		return nil
	}
	c, faults := parse(name, data, overrides, &fileSet{})
	if faults != nil {
		return []string{name}
	}
	_, _ = c.finish() // faults are reported when the scenario is run

	// The layers are the file and its bases.
	for _, l := range c.Layers {
		c.inputFiles = append(c.inputFiles, l.File)
	}
	return c.inputFiles
}
