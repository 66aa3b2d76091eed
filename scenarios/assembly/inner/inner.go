// Package inner computes the times of collective calls inside the inner tiers of a
// machine, under a training step. These times lengthen the passes of the step and
// the synchronisation of gradients between the copies in a stage. The step is then
// simulated on the outermost tier alone.
//
// In a tier of links, collective algorithms carry out the calls of a stage
// (policies/collective), for all groups of the stage in one domain at the same
// time. A tier that reconfigures takes the time of a planner's plan. Messages
// between two GPUs use the innermost tier that joins them. Calls of different
// stages are assumed not to contend, as behind a non-blocking switch.
//
// Start reading with Machine and Machine.PassDelay. A Machine computes callResult
// once for each callKey: exchange.go for all-to-alls, collective.go for other
// calls. NewSystem combines a Machine with the system of the outermost tier.
package inner

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"sim/engine"
	"sim/engine/units"
	"sim/fabric/links"
	"sim/internal/once"
	"sim/policies/reconfigure"
	"sim/scenarios/assembly/composition"
	"sim/scenarios/assembly/plans"
	"sim/workloads/training"
)

// Keys are the keys of an inner tier in addition to the keys of its fabric.
type Keys struct {
	Kind       string `key:"kind" doc:"fabric of the tier, whose other keys are those of that fabric" required:"" choices:"@tier-kinds" called:"tier"`
	Collective string `key:"collective" doc:"for an inner tier of links: the algorithm of its collective calls; 'best' selects the fastest by simulation" default:"best" choices:"@tier-collectives"`
	reconfigure.InnerTierKeys
	Chunk          units.Bytes `key:"chunk" doc:"for an inner tier 'scaleup': chunk size of messages" default:"4MB"`
	KnownInAdvance string      `key:"predicted_calls" doc:"for an inner tier 'scaleup': all-to-alls for which switches reconfigure during the preceding compute: 'none'; 'returns', the returns and those of backward passes; or 'all'" default:"none" choices:"none|returns|all" implicit:""`
}

// Tier is an inner tier with its keys.
type Tier struct {
	Keys
	Links *links.Links    // nil for a tier that reconfigures
	Plans *plans.Scenario // the tier as a scale-up domain; nil for a tier of links
	// MessageOverhead is the time for which a sender is busy with starting a
	// message, in a tier of links.
	MessageOverhead engine.Time
}

// GPUs returns the number of GPUs of a domain.
func (t Tier) GPUs() int {
	if t.Plans != nil {
		return t.Plans.Fabric.ScaleUp.GPUs
	}
	return t.Links.GPUs()
}

// Machine computes the times of calls in the inner tiers, ordered from the
// innermost. It is safe for concurrent use.
type Machine struct {
	spec     training.Spec // the training step
	tiers    []Tier
	networks *links.Tiers // the tiers of links; empty places for tiers that reconfigure
	seed     uint64
	packet   units.Bytes // packet size; 0 simulates rates

	results once.Map[callKey, *callResult] // by the properties that affect the time
}

// callKey identifies calls with the same times.
type callKey struct {
	training.Call
	// exchangeIndex is the index of an all-to-all among the four of a layer.
	// layers is the number of layers of the compute before it. Both are 0 if
	// switches never reconfigure before an all-to-all starts.
	exchangeIndex int
	layers        float64
}

// callResult describes how the tiers carry a call.
type callResult struct {
	times  []engine.Time // by tier; tiers carry their parts at the same time
	bytes  []float64     // sent by the GPUs of a stage, by tier
	method string        // name of the algorithm or planner
}

// noTier is an index of no tier.
const noTier = -1

// New returns the machine of a step. Data is sent in packets of the given size, or
// at rates if packet is 0.
func New(
	spec training.Spec, tiers []Tier, seed uint64, packet units.Bytes,
) (*Machine, error) {
	return newMachine(spec, tiers, seed, packet, noTier)
}

// newMachine is like New, but the tier with index faster has links of twice the rate.
func newMachine(
	spec training.Spec, tiers []Tier, seed uint64, packet units.Bytes, faster int,
) (*Machine, error) {
	m := &Machine{spec: spec, seed: seed, packet: packet}
	var tierLinks []*links.Links
	var gpus []int // per domain, by tier
	for i, t := range tiers {
		if t.Plans != nil {
			p := *t.Plans
			if i == faster {
				p.Fabric.ScaleUp.LinkRate *= 2
			}
			t.Plans = &p
		} else if i == faster {
			t.Links = t.Links.Faster(2)
		}

		m.tiers = append(m.tiers, t)
		tierLinks = append(tierLinks, t.Links)
		gpus = append(gpus, t.GPUs())
	}

	var err error
	m.networks, err = links.NewTiers(tierLinks, gpus)
	return m, err
}

// PassDelay returns the time by which collective calls lengthen a pass of virtual
// stage v. It is a composition.PassExtension.
func (m *Machine) PassDelay(ctx context.Context, v int, pass training.Phase) (engine.Time, error) {
	return m.PassDelayWithout(noTier)(ctx, v, pass)
}

// PassDelayWithout returns PassDelay for a machine in which one tier takes no
// time.
func (m *Machine) PassDelayWithout(tier int) composition.PassExtension {
	return func(ctx context.Context, v int, pass training.Phase) (engine.Time, error) {
		return m.spec.CallTime(v, pass, func(c training.Call) (engine.Time, error) {
			z, err := m.callResult(ctx, v, pass, c)
			if err != nil {
				return 0, err
			}

			// The tiers carry their parts of a call at the same time.
			longest := engine.Time(0)
			for i, t := range z.times {
				if i != tier {
					longest = max(longest, t)
				}
			}
			return longest, nil
		})
	}
}

// TierLoads returns two values for each tier. bytes are the bytes that it carries
// in an iteration, for all replicas. busy is the time for which it is busy with
// the calls of one stage, for the stage with the longest time.
func (m *Machine) TierLoads(ctx context.Context) (bytes []float64, busy []engine.Time, err error) {
	s := &m.spec
	bytes, busy = make([]float64, len(m.tiers)), make([]engine.Time, len(m.tiers))
	for stage := range s.PP {
		stageBusy := make([]engine.Time, len(m.tiers))
		for chunk := range s.Chunks {
			v := chunk*s.PP + stage
			for _, pass := range s.ContractedPasses() {
				repeats := s.Repeats(v, pass)
				for _, c := range s.Calls(v, pass) {
					z, err := m.callResult(ctx, v, pass, c)
					if err != nil {
						return nil, nil, err
					}

					for i := range m.tiers {
						bytes[i] += z.bytes[i] * float64(repeats) * float64(s.Replicas())
						stageBusy[i] += z.times[i] * engine.Time(repeats)
					}
				}
			}
		}
		for i := range m.tiers {
			busy[i] = max(busy[i], stageBusy[i])
		}
	}

	return bytes, busy, nil
}

// callKey returns the key of a call in a pass of virtual stage v. Drawn sizes of
// messages are the same for all micro-batches and pieces of a virtual stage.
func (m *Machine) callKey(v int, pass training.Phase, c training.Call) callKey {
	c.Position = training.LayerStart // does not affect the time
	k := callKey{Call: c}
	if c.Kind != training.AllToAll {
		return k
	}

	// The position in a layer matters only if some switch reconfigures before an
	// all-to-all starts.
	reconfiguresInAdvance := func(t Tier) bool {
		return t.Plans != nil && cmp.Or(t.KnownInAdvance, "none") != "none"
	}
	if slices.ContainsFunc(m.tiers, reconfiguresInAdvance) {
		k.exchangeIndex = 2 * int(pass-training.Forward)
		if c.Transposed {
			k.exchangeIndex++
		}
		k.layers = m.spec.PieceLayers(v)
	}

	// The direction matters only if sizes differ.
	if m.spec.ExpertSizes == "zipf" {
		k.Draw = 1 + uint64(v)
	} else {
		k.Transposed = false
	}

	return k
}

// callResult returns how the tiers carry a call in a pass of virtual stage v.
func (m *Machine) callResult(
	ctx context.Context, v int, pass training.Phase, c training.Call,
) (*callResult, error) {
	k := m.callKey(v, pass, c)
	return m.results.Get(ctx, k, func() (*callResult, error) {
		z := &callResult{
			times: make([]engine.Time, len(m.tiers)), bytes: make([]float64, len(m.tiers)),
		}
		groups := m.firstStageGroups(c)
		var err error
		switch t := m.JoiningTier(c); {
		case c.Kind == training.AllToAll:
			var sizes func(a, b int) int64
			if sizes, err = m.tokenSizes(len(groups[0]), k); err == nil {
				err = m.simulateExchange(ctx, len(groups[0]), sizes, k, z)
			}
		case t >= 0 && m.tiers[t].Plans != nil:
			// A tier that reconfigures sends one share between each pair of ranks.
			share, ranks := k, int64(len(groups[0]))
			share.Bytes = (c.Bytes + ranks - 1) / ranks
			sizes := groupSizes(groups, share.Bytes)
			err = m.simulateExchange(ctx, m.spec.StageGPUs(), sizes, share, z)
		default:
			err = m.simulateCollective(ctx, groups, c, z)
		}
		if err != nil {
			err = fmt.Errorf("%v %v: %w", c.Dim, c.Kind, err)
		}
		return z, err
	})
}

// firstStageGroups returns the groups that make a call in the first stage of the first
// replica. They stand for the groups of all stages.
func (m *Machine) firstStageGroups(c training.Call) [][]int32 {
	const stage, replica = 0, 0
	return m.spec.Groups(c, stage, replica)
}

// JoiningTier returns the tier that carries a call of a stage, or -1 if no inner
// tier does. An all-to-all uses all tiers that join some of its ranks; the
// outermost of them is returned. Another call is carried by the innermost tier of
// links that joins each group. Without such a tier, a tier that reconfigures
// carries synchronisation between the copies in a stage, as an all-to-all.
func (m *Machine) JoiningTier(c training.Call) int {
	// outermost returns the outermost of the tiers that join the groups. Tiers that
	// reconfigure have no fixed links.
	outermost := func(joiningTier func(gpus ...int32) int) (t int) {
		for _, g := range m.firstStageGroups(c) {
			t = max(t, joiningTier(g...))
		}
		return t
	}

	joiningTier := m.networks.JoiningTierWithLinks
	if c.Kind == training.AllToAll {
		joiningTier = m.networks.JoiningTier
	}
	t := outermost(joiningTier)
	if t == len(m.tiers) && c.WithinStage {
		t = outermost(m.networks.JoiningTier)
	}
	if t == len(m.tiers) {
		return -1 // the outermost tier, which is not part of the machine
	}
	return t
}
