package plan

import (
	"math"

	"sim/engine"
)

// IndependentModel: switches reconfigure independently, and chunks may rest at any GPU.
const IndependentModel = "independent"

// Rules are restrictions of the plans to which a bound applies.
type Rules struct {
	Relay       bool // chunks may rest at intermediate GPUs across reconfigurations
	Independent bool // switches may reconfigure on their own
	Topologies  int  // maximum number of topologies; 0 is no limit
	Standing    bool // a plan of one topology finds it set up and takes no delay
}

// Model returns the name of the model of the bound: RelayModel, ForwardModel, or
// IndependentModel.
func (r Rules) Model() string {
	switch {
	case r.Independent:
		return IndependentModel
	case r.Relay:
		return RelayModel
	}
	return ForwardModel
}

// Completion returns a lower bound on the completion time of every plan within the rules.
// For each number of topologies, the bound is their delays plus the minimum slots; the result
// is the smallest of these. With fluid, links carry parts of chunks, so slots need not be
// whole.
//
// Consider independent switches with m topologies in total. They are down for m delays in
// total, and a chunk has at most m choices for each hop. The last switch finishes no
// earlier than the mean of all switches.
func (b *Bounder) Completion(r Rules, delay, slot engine.Time, fluid bool) engine.Time {
	best := math.Inf(1)
	maxTopologies := max(1, b.n-1) // with this number, all pairs can be one hop apart
	if r.Topologies > 0 && !r.Independent {
		maxTopologies = min(maxTopologies, int64(r.Topologies))
	}
	for d := int64(1); d <= maxTopologies; d++ {
		delays := float64(d)
		levels := pathCount{times: d, kinds: 1, choices: b.k}
		switch {
		case r.Independent: // d topologies on all switches in total
			delays = float64(d) / float64(b.k)
			levels = pathCount{times: 1, kinds: 1, choices: d}
		case r.Relay:
			levels = pathCount{times: 1, kinds: d, choices: b.k}
		}

		if r.Standing && (d == 1 || r.Independent && d <= b.k) {
			delays = 0
		}
		hops := b.minHops(levels.levels(b.n))
		slots := float64(b.slotsForHops(hops))
		if fluid || r.Independent {
			slots = b.fluidSlots(hops)
		}
		best = min(best, delays*float64(delay)+slots*float64(slot))
	}

	return engine.Time(best) // rounding down keeps it a lower bound
}
