package plan

import (
	"math"

	"sim/engine"
)

// IndependentModel: switches reconfigure on their own, and chunks rest anywhere.
const IndependentModel = "independent"

// Rules are what all plans that are compared keep to.
type Rules struct {
	Relay       bool // chunks may rest at intermediate GPUs across reconfigurations
	Independent bool // switches may reconfigure on their own
	Topologies  int  // at most so many; 0 is any number
	Standing    bool // a plan of one topology finds it set up, so that it takes no delay
}

// Model names the model in which Completion holds: RelayModel, ForwardModel, or IndependentModel.
func (r Rules) Model() string {
	switch {
	case r.Independent:
		return IndependentModel
	case r.Relay:
		return RelayModel
	}
	return ForwardModel
}

// Completion returns a lower bound on the completion time of every plan within the rules, of whichever number of
// topologies: the least over these numbers of their delays and of the slots that they take at least. fluid says that
// rates are shared as fluid, so that slots need not be whole.
//
// Switches on their own that have m topologies in all are down for m delays in all, and a chunk has m choices at most
// for each hop; the last switch ends no sooner than all do on average.
func (b *Bounder) Completion(r Rules, delay, slot engine.Time, fluid bool) engine.Time {
	best := math.Inf(1)
	maxTopologies := max(1, b.n-1) // which reach everything in one hop
	if r.Topologies > 0 && !r.Independent {
		maxTopologies = min(maxTopologies, int64(r.Topologies))
	}
	for d := int64(1); d <= maxTopologies; d++ {
		delays, levels := float64(d), pathCount{d, 1, b.k}
		switch {
		case r.Independent:
			delays, levels = float64(d)/float64(b.k), pathCount{1, 1, d}
		case r.Relay:
			levels = pathCount{1, d, b.k}
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
	return engine.Time(best) // rounded down, as a bound may be
}
