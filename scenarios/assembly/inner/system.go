// This file combines the inner tiers of a machine with the system of its outermost tier.

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

// tieredSystem is a training step on a machine with tiers: GPUs in servers, for example,
// in pods, joined by circuits. Policies decide about the outermost tier only. The system
// measures all tiers.
type tieredSystem struct {
	assembly.System                         // the step on the outermost tier; passes include the calls of inner tiers
	machine         *Machine                // times of the calls in the inner tiers
	outer           string                  // kind of the outermost tier
	innerTiers      []composition.InnerTier // for the metrics of each inner tier
}

// NewSystem returns the system of a step on a machine with the given inner tiers,
// innermost first. In these, data is sent in packets of the given size, or at rates if
// packet is 0. outer is the kind of the outermost tier. newOuter returns the system of
// this tier, given the time by which calls in the inner tiers lengthen passes.
func NewSystem(
	ctx context.Context, spec training.Spec, tiers []Tier, seed uint64, packet units.Bytes,
	outer string, newOuter func(composition.PassExtension) (assembly.System, error),
) (assembly.System, error) {
	m, err := New(spec, tiers, seed, packet)
	if err != nil {
		return nil, err
	}
	s := &tieredSystem{machine: m, outer: outer}

	bytes, busy, err := m.TierLoads(ctx)
	if err != nil {
		return nil, err
	}

	// Each tier has two variants: it takes no time, or its links have twice the rate. A
	// machine of its own computes the second.
	for i := range tiers {
		fast, err := newMachine(spec, tiers, seed, packet, i)
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

// Decide calls the policy for the outermost tier, and adds the measures of all tiers to
// its result. It implements assembly.System.
func (s *tieredSystem) Decide(
	ctx context.Context, policy string, workers int, limit float64,
) (*assembly.PolicyResult, error) {
	a, err := s.System.Decide(ctx, policy, workers, limit)
	if a == nil || err != nil {
		return nil, err
	}
	a.AddMeasure(func(ctx context.Context) error {
		// Tiers can be measured only if the step has ended on the outermost tier.
		if _, hasEnded := a.Row.Metrics["makespan_s"]; a.Run == nil || !hasEnded {
			return nil
		}
		err := composition.MeasureInnerTiers(ctx, a.Run, &a.Row, s.innerTiers, s.machine.PassDelay, s.outer)
		if err != nil {
			return err
		}
		if _, areMeasured := a.Row.Metrics["tier1_bytes"]; areMeasured {
			a.Row.Labels["tier_calls"] = s.machine.callMethods(ctx)
		}
		return nil
	})

	return a, nil
}

// Work returns the task graph of the outermost tier for export. Passes include the calls
// in inner tiers.
func (s *tieredSystem) Work(ctx context.Context, policy string) (*trace.RankGraph, error) {
	return assembly.WorkOf(ctx, s.System, s.outer, policy)
}

// callMethods lists the algorithms or planners that carry each kind of call, such as
// "tp all-reduce by ring, ep all-to-all by direct".
func (m *Machine) callMethods(ctx context.Context) string {
	kinds := []training.CallKind{
		training.AllReduce, training.ReduceScatter, training.AllGather, training.AllToAll,
	}
	var all []string
	for _, dim := range training.Dims {
		for _, kind := range kinds {
			listed := map[string]bool{} // methods of this kind of call
			m.visitCalls(func(v int, pass training.Phase, c training.Call) {
				if c.Dim != dim || c.Kind != kind {
					return
				}
				z, err := m.callResult(ctx, v, pass, c)
				if err == nil && !listed[z.method] {
					listed[z.method] = true
					all = append(all, fmt.Sprintf("%v %v by %s", dim, kind, z.method))
				}
			})
		}
	}
	return strings.Join(all, ", ")
}

// visitCalls calls visit for each call in each pass of each virtual stage.
func (m *Machine) visitCalls(visit func(v int, pass training.Phase, c training.Call)) {
	for v := range m.spec.VirtualStages() {
		for _, pass := range m.spec.ContractedPasses() {
			for _, c := range m.spec.Calls(v, pass) {
				visit(v, pass, c)
			}
		}
	}
}
