package collective

import (
	"sim/engine"
	"sim/policies/collective"
)

// cost returns the cost at the delay of the problem.
func (pl *Plan) cost() engine.Time { return pl.costAt(pl.Problem.Delay) }

// costAt returns the cost at a reconfiguration delay.
func (pl *Plan) costAt(delay engine.Time) engine.Time {
	return engine.Time(pl.Reconfigurations())*delay + pl.Time()
}

// cheapest returns the plan with the lowest cost at a delay; of equal plans the first.
func cheapest(plans []*Plan, delay engine.Time) *Plan {
	var best *Plan
	for _, pl := range plans {
		if best == nil || pl.costAt(delay) < best.costAt(delay) {
			best = pl
		}
	}
	return best
}

func best(p *Problem) (*Plan, error) {
	list, err := frontierPlans(p)
	return cheapest(list, p.Delay), err
}

func staticRing(p *Problem) (*Plan, error) {
	list, err := staticRingPlans(p)
	return cheapest(list, p.Delay), err
}

func problem(n, k int, op collective.Kind, bytes int64, rate float64, latency, delay engine.Time) *Problem {
	return &Problem{GPUs: n, Degree: k, Op: op, Bytes: bytes, Rate: rate, Latency: latency, Delay: delay}
}
