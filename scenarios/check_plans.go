package scenarios

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"strings"

	"sim/policies/reconfigure"
)

// checkPlans holds that a planner of those listed has a plan. Where some may have
// none they plan, as they will in a run, which finds their plans made. Not so of a
// cell. All keys must be sound.
func checkPlans(c *checker) {
	s := c.s
	sure := func(name string) bool {
		if slices.Contains(reconfigure.OneTopology, name) || name == "reconfigure-during+" {
			return true
		}
		return name != "imported" && s.Policy.Reconfigurations == 0
	}
	if c.cell || slices.ContainsFunc(s.Policy.Planners, sure) {
		return
	}
	built, err := buildDomain(context.Background(), s, runtime.GOMAXPROCS(0))
	if err != nil {
		c.Add("workload.kind", faultText(err), "choose other traffic")
		return
	}
	d, ok := built.(*scaled)
	if step, training := built.(*stepped); training {
		d, ok = step.scaled, true
	}
	if !ok {
		return
	}
	var none Diagnostics
	for _, name := range s.Policy.Planners {
		list, err := d.planning.Candidates(context.Background(), name)
		if err == nil {
			_, err = d.choose(list)
		}
		if !errors.Is(err, reconfigure.ErrUnserved) {
			return // it has one, or a run will say what else is wrong
		}
		none = append(none, d.unserving(name, err))
	}
	c.refuse(none)
}

// unserving is the fault of the input that a planner has no plan, for some reason,
// and no other has.
func (d *scaled) unserving(name string, why error) Diagnostic {
	key, want := "policy.planners", "choose another planner, or add others, which then go on"
	switch {
	case name == "imported":
		key, want = "policy.imported.file", "name a file with a plan of it"
	case d.s.Policy.Reconfigurations > 0:
		key, want = "policy.reconfigurations", "allow more, or choose a planner of one topology, such as \"static-ring\""
	}
	what := strings.TrimPrefix(why.Error(), reconfigure.ErrUnserved.Error()+": ")
	return Diagnostic{File: d.s.Name, Key: key, Problem: name + " has no plan: " + what, Remedy: want}
}
