package cli

import (
	"errors"
	"slices"

	"sim/scenarios"
)

// loadAll loads scenarios, one for each file and nil where it cannot be, and returns the faults of all: one that they
// have in common, such as a mistaken --set, only once. It warns of deprecated names.
func (c *command) loadAll(files, overrides []string) ([]*scenarios.Scenario, error) {
	list := make([]*scenarios.Scenario, len(files))
	var all scenarios.Diagnostics
	for i, file := range files {
		s, err := scenarios.Load(file, overrides)
		var faults scenarios.Diagnostics
		switch {
		case errors.As(err, &faults):
			for _, f := range faults {
				if !slices.Contains(all, f) {
					all = append(all, f)
				}
			}
		case err != nil:
			return list, err
		default:
			list[i] = s
			c.warnDeprecated(s)
		}
	}
	if len(all) > 0 {
		return list, all
	}
	return list, nil
}

// warnDeprecated tells which names of a scenario's file are deprecated.
func (c *command) warnDeprecated(s *scenarios.Scenario) {
	for _, d := range s.Deprecated {
		c.say("%s", d)
	}
}
