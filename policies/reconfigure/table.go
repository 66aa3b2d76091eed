package reconfigure

import (
	"context"
	"fmt"
	"slices"

	"sim/policies/reconfigure/baselines"
	"sim/policies/reconfigure/halt"
	"sim/policies/reconfigure/plan"
	"sim/policies/reconfigure/rounds"
)

// Table is the planners by name, in the order in which they are listed.
var Table = []Row{
	{"reconfigure-during", "the paper's construction: shifted, circulant and Kautz topologies, contracted round by round", during},
	{"reconfigure-during+", "better circulants, longest paths first, waiting and relaying, several paths per message, and the plan of another planner where that is better", plus},
	{"fast", "permutations one after another, as many as the demand splits into (FAST)", baseline(baselines.Fast)},
	{"mixnet", "one topology, chosen greedily by traffic (MixNet)", baseline(baselines.MixNet)},
	{"topoopt", "one topology, of shifted rings, on shortest paths (TopoOpt)", baseline(baselines.TopoOpt)},
	{"directconnect-kautz", "one topology, a generalised Kautz graph, by the optimum of its flow problem (DirectConnect)", baseline(baselines.Kautz)},
	{"directconnect-circulant", "one topology, a circulant graph, by the optimum of its flow problem (DirectConnect)", baseline(baselines.Circulant)},
	{"static-ring", "one topology, a ring on each switch", baseline(baselines.StaticRing)},
	{"bruck", "Bruck's index algorithm: few topologies, chunks stored at GPUs between them", baseline(baselines.Bruck)},
	{"spreadout", "one shift after another, all chunks sent directly", baseline(baselines.SpreadOut)},
	{"imported", "plans from a file", imported},
}

// ended asks whether ctx has.
func ended(ctx context.Context) halt.When { return func() bool { return ctx.Err() != nil } }

// baseline plans as other methods do.
func baseline(f func(*plan.Problem, baselines.Options) ([]plan.Candidate, error)) func(context.Context, *Planning) ([]plan.Candidate, error) {
	return func(ctx context.Context, s *Planning) ([]plan.Candidate, error) {
		return f(s.Problem, baselines.Options{Schedule: s.Options.Static, Model: s.Options.FastModel, Stop: ended(ctx)})
	}
}

// during is the paper's construction.
func during(ctx context.Context, s *Planning) ([]plan.Candidate, error) {
	o := s.Options.During
	o.Stop = ended(ctx)
	return rounds.Candidates(s.Problem, o)
}

// imported offers the plans of a file that are of this problem.
func imported(_ context.Context, s *Planning) ([]plan.Candidate, error) {
	var list []plan.Candidate
	early := 0
	for _, p := range s.Options.Imported {
		if p.GPUs != s.Problem.GPUs || p.Degree != s.Problem.Degree || !slices.Equal(p.Chunks, s.Problem.Chunks) {
			continue
		}
		c := plan.Candidate{
			Origin: "imported: " + p.Name, Reconfigurations: len(p.Topologies), Slots: p.TotalSlots(), Waits: true, Relay: p.Relay,
			Build: func(int64, halt.When) (*plan.Plan, error) { return p, nil },
		}
		if p.Switches != nil {
			if !s.Options.Independent || int64(p.DelaySlots) < s.Options.DelaySlots {
				early++
				continue
			}
			c.Switches, c.DelaySlots = loads(p), int64(p.DelaySlots)
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
	case early > 0:
		return nil, fmt.Errorf("%w: those imported need switches that reconfigure on their own, and a delay of no more slots than they were made for", ErrUnserved)
	}
	return nil, fmt.Errorf("%w: none of the %d imported is of this all-to-all: %d GPUs of degree %d and its chunks",
		ErrUnserved, len(s.Options.Imported), s.Problem.GPUs, s.Problem.Degree)
}

// loads returns how often each switch of a plan comes up with new links, and in how many slots it is up.
func loads(p *plan.Plan) []plan.SwitchLoad {
	list := make([]plan.SwitchLoad, p.Degree)
	for _, l := range p.Lightings() {
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
