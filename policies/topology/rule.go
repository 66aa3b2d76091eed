package topology

import (
	"context"
	"fmt"
	"math"

	"sim/engine"
	"sim/engine/flow"
)

// ruleAllocator is a policy that moves circuits within an iteration by a rule, without a
// search. Its sequences are simulated and bounded like delta-during's.
type ruleAllocator struct {
	rule func(m *ruleInput) (*Sequence, error)
}

// ruleInput is the input of a rule. The reconfiguration delay is simulator.Delay.
type ruleInput struct {
	ctx          context.Context
	p            *Problem
	o            *Options
	static       *Decision // best decision without changes
	maxCircuits  []int     // maximum useful circuits, indexed by bundle
	evaluator    *circuitEvaluator
	simulator    *sequenceSimulator
	numSimulated int64 // number of simulated iterations
}

func (v ruleAllocator) Choose(ctx context.Context, p *Problem, o Options) (*Decision, error) {
	best, err := p.sharedResult(ctx)
	if err != nil {
		return nil, err
	}
	if best.circuits == nil {
		return nil, errNoEnd
	}
	service := o.serviceOr(flow.MaxMin)
	w := p.acquire(ctx, service)
	defer p.release(w)
	m := &ruleInput{ctx: ctx, p: p, o: &o, static: best.decision(), maxCircuits: p.maxCircuitsAlone(),
		evaluator: w, simulator: w.newSequenceSimulator()}
	q, cycle, err := m.simulateRule(v.rule)
	if err != nil {
		return nil, err
	}
	h, err := newWindowBound(ctx, p, m.maxCircuits)
	if err != nil {
		return nil, err
	}
	d := &Decision{Circuits: q.First, Service: service, Makespan: cycle.meanMakespan(), BoundModel: AnySequence}
	fastest, delay := min(d.Makespan, m.static.Makespan), p.Switching.Delay
	d.Bound = min(fastest, h.tightBound(h.quickBound(m.static, delay), fastest, delay))
	d.Moves = &Moves{Static: m.static}
	if d.Moves.Runs, d.Moves.Repeated = cycle.runs, cycle.start; len(q.Steps) > 0 {
		d.Moves.Sequence = q
	} else {
		d.Moves.Reason = "none: one topology serves all"
	}

	if d.Moves.BreakEven, err = m.breakEven(v.rule); err != nil {
		return nil, err
	}
	d.Moves.BreakEvenComputed = true
	d.Evaluations = m.numSimulated
	return d, ctx.Err()
}

// simulateRule returns the sequence of a rule and its iterations. It fails if the rule
// leaves traffic without a circuit.
func (m *ruleInput) simulateRule(rule func(m *ruleInput) (*Sequence, error)) (*Sequence, iterationCycle, error) {
	q, err := rule(m)
	if err != nil {
		return nil, iterationCycle{}, err
	}
	cycle, ok := m.simulate(q)
	if !ok {
		if err := m.ctx.Err(); err != nil {
			return nil, iterationCycle{}, err
		}
		return nil, iterationCycle{}, fmt.Errorf("topology: a sequence of %d changes leaves traffic without a circuit", len(q.Steps))
	}
	return q, cycle, nil
}

// simulate returns the iterations of a sequence, or false if an iteration does not end.
// If the iterations do not repeat within maxIterations, the cycle consists of all except
// the first.
func (m *ruleInput) simulate(q *Sequence) (iterationCycle, bool) {
	cycle, ok := m.simulator.simulateCycle(q)
	m.numSimulated += int64(len(cycle.runs))
	if !ok && len(cycle.runs) == maxIterations {
		cycle.start, ok = 1, true // iteration 1 is the second one
	}
	return cycle, ok
}

// breakEven returns the longest delay found at which the rule is faster than the static
// decision, or 0 if it never is.
func (m *ruleInput) breakEven(rule func(m *ruleInput) (*Sequence, error)) (engine.Time, error) {
	defer func(d engine.Time) { m.simulator.Delay = d }(m.simulator.Delay)
	isFasterAt := func(d engine.Time) (bool, error) {
		m.simulator.Delay = d
		_, cycle, err := m.simulateRule(rule)
		// A rule that leaves traffic without a circuit is not faster.
		return err == nil && isFaster(cycle.meanMakespan(), m.static.Makespan), m.ctx.Err()
	}
	d, err := longestDelay(m.static.Makespan, minRuleDelay, isFasterAt)
	return max(0, d), err
}

// minRuleDelay is the shortest delay at which rules are tried. Rotations have very many
// steps at shorter delays.
const minRuleDelay = engine.Microsecond

// longestDelay returns the longest delay at which a condition holds, within the ratio
// breakEvenRatio. It first tries static, the makespan without changes, beyond which no
// change can help. It then halves the delay down to minDelay until the condition holds,
// and bisects. It returns -1 if the condition holds at none of these delays.
func longestDelay(static, minDelay engine.Time, holds func(engine.Time) (bool, error)) (engine.Time, error) {
	top := max(minDelay, static)
	low, high := top, top
	for {
		ok, err := holds(low)
		if err != nil {
			return 0, err
		}
		if ok {
			break
		}
		if low == minDelay {
			return -1, nil
		}
		low, high = max(minDelay, low/2), low
	}

	for float64(high) > float64(low)*breakEvenRatio {
		middle := engine.Time(math.Sqrt(float64(low)) * math.Sqrt(float64(high)))
		ok, err := holds(middle)
		switch {
		case err != nil:
			return low, err
		case ok:
			low = middle
		default:
			high = middle
		}
	}

	return low, nil
}

// bundleLoads returns the bytes of the most loaded link of each bundle. bytes is indexed
// by link.
func (m *ruleInput) bundleLoads(bytes []float64) []float64 {
	v := make([]float64, len(m.maxCircuits))
	for e, b := range m.p.Fabric.Bundles {
		for _, l := range b.Links {
			v[e] = max(v[e], bytes[l])
		}
	}
	return v
}

// allocateGreedily returns a topology with at least minimums[e] circuits of bundle e.
// Further circuits go one at a time to the bundle with the largest load per circuit.
func (m *ruleInput) allocateGreedily(minimums []int, load []float64) []int {
	x := append([]int(nil), minimums...)
	m.p.addByWeight(x, func(e int) float64 {
		if x[e] >= m.maxCircuits[e] || load[e] == 0 {
			return -1
		}
		return load[e] / (max(0.5, float64(x[e])) * m.p.Fabric.Rate(e))
	})
	return x
}
