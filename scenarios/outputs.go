package scenarios

import (
	"sim/scenarios/schema"
)

// OutputDir is a directory that policies write to while they decide.
type OutputDir struct {
	Key  string // that names it
	Path string
}

// OutputDirs returns the directories that the policies of s write to.
func (s *Scenario) OutputDirs() []OutputDir {
	var list []OutputDir
	s.schema().Outputs(func(key, dir string) { list = append(list, OutputDir{key, dir}) })
	return list
}

// Fault says that the directory cannot serve a scenario or study of that name.
func (d OutputDir) Fault(name, why string) error {
	return Diagnostics{{File: name, Key: d.Key, Problem: schema.Quote(d.Path) + " " + why, Remedy: "name a directory that can be written"}}
}

// Inputs returns the files that the scenario at path is read from: its own, those it is based on, and those that its
// keys name.
func Inputs(path string, overrides []string) []string {
	name, data, fault := open(path)
	if fault != nil {
		return nil
	}
	c, faults := parse(name, data, overrides)
	if faults != nil {
		return []string{name}
	}
	_, _ = c.finish() // whoever runs it is told of faults
	for _, l := range c.Layers {
		c.inputs = append(c.inputs, l.File)
	}
	return c.inputs
}
