package reconfigure

import (
	"context"
	"fmt"
	"slices"

	"sim/policies/reconfigure/baselines"
	"sim/policies/reconfigure/cancellation"
	"sim/policies/reconfigure/collective"
	"sim/policies/reconfigure/plan"
	"sim/policies/reconfigure/rounds"
)

// Table lists the planners in the order in which results show them.
var Table = []Planner{
	{
		Name: "reconfigure-during", Doc: "the paper's construction: shifted, circulant and Kautz topologies, contracted round by round",
		plan: planDuring, OptionTables: []string{"reconfigure-during"}, IsDefault: true,
	},
	{
		Name: "reconfigure-during+", Doc: "better circulants, longest paths first, waiting and relaying, several paths per message, and better plans of other planners",
		plan: planPlus, searchBest: (*PlannerSet).bestOfPlus, OptionTables: []string{"reconfigure-during", "reconfigure-during+", "static", "fast"}, IsDefault: true,
		AlwaysHasPlan: true, ListsHopsIfUnequal: true, Collective: collective.Candidates,
	},
	{
		Name: "fast", Doc: "permutations one after another, from a decomposition of the demand (FAST)",
		plan: planBaseline(baselines.Fast), OptionTables: []string{"fast"}, IsDefault: true, IsDirect: true,
	},
	{
		Name: "mixnet", Doc: "one topology, chosen greedily by traffic (MixNet)",
		plan: planBaseline(baselines.MixNet), OptionTables: []string{"static"}, HasOneTopology: true, IsDefault: true,
	},
	{
		Name: "topoopt", Doc: "one topology of shifted rings, with shortest paths (TopoOpt)",
		plan: planBaseline(baselines.TopoOpt), FixedTopology: baselines.ShiftedRings, OptionTables: []string{"static"}, HasOneTopology: true, IsDefault: true,
	},
	{
		Name: "directconnect-kautz", Doc: "one topology, a generalised Kautz graph, by the optimum of its flow problem (DirectConnect)",
		plan: planBaseline(baselines.Kautz), FixedTopology: baselines.KautzGraph, OptionTables: []string{"static"}, HasOneTopology: true, IsDefault: true,
	},
	{
		Name: "directconnect-circulant", Doc: "one topology, a circulant graph, by the optimum of its flow problem (DirectConnect)",
		plan: planBaseline(baselines.Circulant), FixedTopology: baselines.CirculantGraph, OptionTables: []string{"static"}, HasOneTopology: true, IsDefault: true,
	},
	{
		Name: "static-ring", Doc: "one topology, a ring on each switch",
		plan: planBaseline(baselines.StaticRing), FixedTopology: baselines.Rings, OptionTables: []string{"static"}, HasOneTopology: true, IsDefault: true, Collective: collective.StaticRings,
	},
	{
		Name: "bruck", Doc: "Bruck's index algorithm: few topologies, chunks stored at GPUs between them",
		plan: planBaseline(baselines.Bruck),
	},
	{
		Name: "spreadout", Doc: "one shift after another, all chunks sent directly",
		plan: planBaseline(baselines.SpreadOut), IsDirect: true,
	},
	{
		Name: "imported", Doc: "plans from a file",
		plan: planImported, OptionTables: []string{"imported"}, IsImported: true,
	},
}

// stopWhenDone returns a function that reports whether ctx has ended.
func stopWhenDone(ctx context.Context) cancellation.Condition {
	return func() bool { return ctx.Err() != nil }
}

// planBaseline adapts a planner of package baselines.
func planBaseline(f func(*plan.Problem, baselines.Options) ([]plan.Candidate, error)) func(context.Context, *PlannerSet) ([]plan.Candidate, error) {
	return func(ctx context.Context, s *PlannerSet) ([]plan.Candidate, error) {
		return f(s.Problem, baselines.Options{Schedule: baselines.Schedule(s.Options.Static), Model: baselines.Model(s.Options.FastModel), Stop: stopWhenDone(ctx)})
	}
}

// planDuring is the paper's construction.
func planDuring(ctx context.Context, s *PlannerSet) ([]plan.Candidate, error) {
	return planDuringBelow(ctx, s, nil)
}

// planDuringBelow is planDuring without plans that take below[d] or more slots with d topologies.
// If below is nil, there are no limits.
func planDuringBelow(ctx context.Context, s *PlannerSet, below []int64) ([]plan.Candidate, error) {
	o := s.paperOptions()
	o.Below, o.Stop = below, stopWhenDone(ctx)
	return rounds.Candidates(s.Problem, o)
}

// paperOptions returns the options of the paper's construction.
func (s *PlannerSet) paperOptions() rounds.Options {
	o := &s.Options.During
	// Package rounds selects the best variant if the option is "".
	unlessBest := func(v string) string {
		if v == "best" {
			return ""
		}
		return v
	}
	return rounds.Options{Schedule: unlessBest(o.Schedule), Base: unlessBest(o.Base), NoRelabelling: !o.Relabel}
}

// planImported returns the imported plans that are for this problem.
func planImported(_ context.Context, s *PlannerSet) ([]plan.Candidate, error) {
	var list []plan.Candidate
	excluded := 0 // plans whose switches or delay do not match
	for _, p := range s.Options.Plans {
		if p.GPUs != s.Problem.GPUs || p.Degree != s.Problem.Degree || !slices.Equal(p.Chunks, s.Problem.Chunks) {
			continue
		}

		// An imported plan is complete: Build returns it for any delay.
		c := plan.Candidate{
			Origin: "imported: " + p.Name, Reconfigurations: len(p.Topologies), Slots: p.TotalSlots(), Waits: true, Relay: p.Relay,
			Build: func(int64, cancellation.Condition) (*plan.Plan, error) { return p, nil },
		}

		// A plan with independent switches needs switches that may reconfigure independently,
		// and a delay that is not longer than the plan assumes.
		if p.Switches != nil {
			if !s.Options.Independent || int64(p.DelaySlots) < s.Options.DelaySlots {
				excluded++
				continue
			}
			c.Switches, c.DelaySlots = switchLoads(p), int64(p.DelaySlots)
			c.Reconfigurations = 0
			for _, l := range c.Switches {
				c.Reconfigurations = max(c.Reconfigurations, l.Reconfigurations)
			}
		}
		list = append(list, c)
	}

	switch {
	case len(list) > 0:
		return list, nil
	case excluded > 0:
		return nil, fmt.Errorf("%w: the imported plans require independent switches and a delay of at most the slots for which they were made", ErrUnserved)
	}

	return nil, fmt.Errorf("%w: none of the %d imported is of this all-to-all: %d GPUs of degree %d and its chunks",
		ErrUnserved, len(s.Options.Plans), s.Problem.GPUs, s.Problem.Degree)
}

// switchLoads returns the work of each switch of a plan: how often it comes up with new
// links, and the slots in which it is up.
func switchLoads(p *plan.Plan) []plan.SwitchLoad {
	list := make([]plan.SwitchLoad, p.Degree)
	for _, l := range p.SwitchSetups() {
		list[l.Switch].Reconfigurations++
	}
	for i := range p.Topologies {
		for j := range list {
			if len(p.SwitchEdges(i, int32(j))) > 0 {
				list[j].Slots += int64(p.Slots[i])
			}
		}
	}
	return list
}
