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

// tieredSystem is a training step on a machine with tiers. The embedded system is
// the step on the outermost tier, whose passes include the calls inside inner
// tiers.
type tieredSystem struct {
	assembly.System
	machine    *Machine // the inner tiers
	outer      string   // kind of the outermost tier
	innerTiers []composition.InnerTier
}

// NewSystem returns the system of a step on a machine with tiers. newOuter returns
// the system of the outermost tier, given the extension of passes. outer is the
// kind of this tier. Data inside is sent in packets of the given size, or at rates
// if packet is 0.
func NewSystem(
	ctx context.Context, spec training.Spec, tiers []Tier, seed uint64, packet units.Bytes,
	outer string, newOuter func(composition.PassExtension) (assembly.System, error),
) (assembly.System, error) {
	m, err := New(spec, tiers, seed, packet, -1)
	if err != nil {
		return nil, err
	}
	s := &tieredSystem{machine: m, outer: outer}

	bytes, busy, err := m.TierLoads(ctx)
	if err != nil {
		return nil, err
	}

	// A second machine with a faster tier shows the effect of doubling its rate.
	for i := range tiers {
		fast, err := New(spec, tiers, seed, packet, i)
		if err != nil {
			return nil, err
		}
		s.innerTiers = append(s.innerTiers, composition.InnerTier{
			Kind: tiers[i].Kind, Bytes: bytes[i], Busy: busy[i],
			WithoutTier: m.PassDelayWithout(i), DoubledRate: fast.PassDelay,
		})
	}

	s.System, err = newOuter(m.PassDelay)
	return s, err
}

// Decide calls the policy for the outermost tier, and measures all tiers. It
// implements assembly.System.
func (s *tieredSystem) Decide(
	ctx context.Context, policy string, workers int, limit float64,
) (*assembly.PolicyResult, error) {
	a, err := s.System.Decide(ctx, policy, workers, limit)
	if a == nil || err != nil {
		return nil, err
	}
	a.AddMeasure(func(ctx context.Context) error {
		// The metrics need a completed simulation of the outermost tier.
		if _, done := a.Row.Metrics["makespan_s"]; a.Run == nil || !done {
			return nil
		}
		err := composition.MeasureInnerTiers(ctx, a.Run, &a.Row, s.innerTiers, s.machine.PassDelay, s.outer)
		if err != nil {
			return err
		}
		if _, done := a.Row.Metrics["tier1_bytes"]; done {
			a.Row.Labels["tier_calls"] = s.machine.callMethods(ctx)
		}
		return nil
	})

	return a, nil
}

// Work returns the task graph of the outermost tier for export. Its passes include
// the calls inside.
func (s *tieredSystem) Work(ctx context.Context, policy string) (*trace.RankGraph, error) {
	return assembly.WorkOf(ctx, s.System, s.outer, policy)
}

// callMethods returns a description of the algorithms or planners that carry each
// kind of call.
func (m *Machine) callMethods(ctx context.Context) string {
	kinds := []training.CallKind{
		training.AllReduce, training.ReduceScatter, training.AllGather, training.AllToAll,
	}
	var all []string
	for _, dim := range training.Dims {
		for _, kind := range kinds {
			listed := map[string]bool{} // methods of this kind of call
			for v := range m.spec.VirtualStages() {
				for _, pass := range m.spec.ContractedPasses() {
					for _, c := range m.spec.Calls(v, pass) {
						z, err := m.callResult(ctx, v, pass, c)
						if c.Dim != dim || c.Kind != kind || err != nil || listed[z.method] {
							continue
						}
						listed[z.method] = true
						all = append(all, fmt.Sprintf("%v %v by %s", dim, kind, z.method))
					}
				}
			}
		}
	}
	return strings.Join(all, ", ")
}
