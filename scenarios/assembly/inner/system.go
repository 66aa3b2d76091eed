package inner

import (
	"context"
	"fmt"
	"strings"

	"sim/engine/units"
	"sim/scenarios/assembly"
	"sim/scenarios/assembly/composition"
	"sim/workloads/trace"
	"sim/workloads/training"
)

// tieredSystem is a step on a machine: its outermost tier is a system of its own, whose passes are longer by the calls that
// inner tiers carry.
type tieredSystem struct {
	assembly.System
	machine    *Machine
	outer      string // what the outermost tier is
	innerTiers []composition.InnerTier
}

// NewSystem makes the system of a step on tiers, the outermost of which on is the system. Data inside is sent in
// packets of a size, 0 as fluid.
func NewSystem(
	ctx context.Context, spec training.Spec, of []Tier, seed uint64, packet units.Bytes,
	outer string, on func(composition.PassExtension) (assembly.System, error),
) (assembly.System, error) {
	m, err := New(spec, of, seed, packet, -1)
	if err != nil {
		return nil, err
	}
	s := &tieredSystem{machine: m, outer: outer}
	bytes, busy, err := m.TierLoads(ctx)
	if err != nil {
		return nil, err
	}
	for i := range of {
		fast, err := New(spec, of, seed, packet, i)
		if err != nil {
			return nil, err
		}
		s.innerTiers = append(s.innerTiers,
			composition.InnerTier{Kind: of[i].Kind, Bytes: bytes[i], Busy: busy[i],
				WithoutTier: m.PassDelayWithout(i), DoubledRate: fast.PassDelay})
	}

	s.System, err = on(m.PassDelay)
	return s, err
}

// Decide has the policy decide on the outermost tier, and measures all tiers.
func (s *tieredSystem) Decide(
	ctx context.Context, policy string, workers int, limit float64,
) (*assembly.PolicyResult, error) {
	a, err := s.System.Decide(ctx, policy, workers, limit)
	if a == nil || err != nil {
		return nil, err
	}
	a.AddMeasure(func(ctx context.Context) error {
		if _, done := a.Row.Metrics["makespan_s"]; a.Run == nil || !done {
			return nil
		}
		if err := composition.MeasureInnerTiers(ctx, a.Run, &a.Row, s.innerTiers,
			s.machine.PassDelay, s.outer); err != nil {
			return err
		}
		if _, done := a.Row.Metrics["tier1_bytes"]; done {
			a.Row.Labels["tier_calls"] = s.machine.callMethods(ctx)
		}
		return nil
	})

	return a, nil
}

// Work is that of the outermost tier, whose passes are longer by the calls inside.
func (s *tieredSystem) Work(ctx context.Context, policy string) (*trace.RankGraph, error) {
	return assembly.WorkOf(ctx, s.System, s.outer, policy)
}

// callMethods says which algorithm or planner carries which calls.
func (m *Machine) callMethods(ctx context.Context) string {
	var all []string
	for _, dim := range training.Dims {
		for _, kind := range []training.CallKind{training.AllReduce, training.ReduceScatter, training.AllGather, training.AllToAll} {
			by := map[string]bool{}
			for v := range m.spec.VirtualStages() {
				for _, pass := range m.spec.ContractedPasses() {
					for _, c := range m.spec.Calls(v, pass) {
						if z, err := m.callResult(ctx, v, pass, c); c.Dim == dim &&
							c.Kind == kind && err == nil && !by[z.method] {
							by[z.method] = true
							all = append(all, fmt.Sprintf("%v %v by %s", dim, kind, z.method))
						}
					}
				}
			}
		}
	}

	return strings.Join(all, ", ")
}
