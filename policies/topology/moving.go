package topology

import (
	"context"
	"fmt"
	"math"

	"sim/engine"
	"sim/engine/flow"
)

// moving is a policy whose circuits move in an iteration by a rule, without a search for when that pays: a rival of
// delta-during, simulated as it is.
type moving struct {
	rule func(m *movement) (*Sequence, error)
}

// movement is what a rule decides on, at the delay of play.
type movement struct {
	ctx    context.Context
	p      *Problem
	o      *Options
	static *Decision // the best topology that stays
	high   []int     // by bundle: circuits beyond which none is of use
	w      *evaluator
	play   *rehearsal
	spent  int64 // iterations simulated
}

func (v moving) Choose(ctx context.Context, p *Problem, o Options) (*Decision, error) {
	best, err := p.shared(ctx)
	if err != nil {
		return nil, err
	}
	if best.circuits == nil {
		return nil, errNoEnd
	}
	service := o.service(flow.MaxMin)
	w := p.evaluator(ctx, service)
	defer p.done(w)
	m := &movement{ctx: ctx, p: p, o: &o, static: best.decision(), high: p.alone(), w: w, play: w.rehearse()}
	q, it, err := m.follow(v.rule)
	if err != nil {
		return nil, err
	}
	h, err := newHeld(ctx, p, m.high)
	if err != nil {
		return nil, err
	}
	d := &Decision{Circuits: q.First, Service: service, Makespan: it.mean(), BoundModel: AnySequence}
	fastest, delay := min(d.Makespan, m.static.Makespan), p.Switching.Delay
	d.Bound = min(fastest, h.sharp(h.quick(m.static, delay), fastest, delay))
	d.Moves = &Moves{Static: m.static}
	if d.Moves.Runs, d.Moves.Repeated = it.all, it.from; len(q.Steps) > 0 {
		d.Moves.Sequence = q
	} else {
		d.Moves.Why = "none: one topology serves all"
	}
	if d.Moves.BreakEven, err = m.breakEven(v.rule); err != nil {
		return nil, err
	}
	d.Moves.Sought = true
	d.Evaluations = m.spent
	return d, ctx.Err()
}

// follow returns the sequence of a rule, and its iterations. Where these do not come to repeat themselves, as many as
// are tried count but for the first.
func (m *movement) follow(rule func(m *movement) (*Sequence, error)) (*Sequence, orbit, error) {
	q, err := rule(m)
	if err != nil {
		return nil, orbit{}, err
	}
	it, ok := m.simulate(q)
	if !ok {
		if err := m.ctx.Err(); err != nil {
			return nil, orbit{}, err
		}
		return nil, orbit{}, fmt.Errorf("topology: a sequence of %d changes leaves traffic without a circuit", len(q.Steps))
	}
	return q, it, nil
}

// simulate returns the iterations of a sequence; false where one does not end.
func (m *movement) simulate(q *Sequence) (orbit, bool) {
	it, ok := m.play.steady(q)
	m.spent += int64(len(it.all))
	if !ok && len(it.all) == mostRuns {
		it.from, ok = 1, true
	}
	return it, ok
}

// breakEven returns the longest delay found at which the rule is faster than the best topology that stays; 0 if it is
// at none.
func (m *movement) breakEven(rule func(m *movement) (*Sequence, error)) (engine.Time, error) {
	defer func(d engine.Time) { m.play.Delay = d }(m.play.Delay)
	at := func(d engine.Time) (bool, error) {
		m.play.Delay = d
		_, it, err := m.follow(rule)
		// a rule that leaves traffic without a circuit at this delay does not pay at it
		return err == nil && faster(it.mean(), m.static.Makespan), m.ctx.Err()
	}
	d, err := longest(m.static.Makespan, ruleLeast, at)
	return max(0, d), err
}

// faster reports whether an iteration is shorter than on the topology that stays, by more than rounding.
func faster(c, static engine.Time) bool { return float64(c) < float64(static)*(1-rounding/10) }

// ruleLeast is the shortest delay at which rules are tried: rotations become long at short ones.
const ruleLeast = engine.Microsecond

// longest returns the longest delay at which a condition holds, to a ratio of evenWithin, for a job that takes static
// without changes. It looks at that time, beyond which no change pays, at half of each delay after that down to least, and
// then bisects. It returns -1 if the condition holds at none of these.
func longest(static, least engine.Time, at func(engine.Time) (bool, error)) (engine.Time, error) {
	top := max(least, static)
	low, high := top, top
	for {
		ok, err := at(low)
		if err != nil {
			return 0, err
		}
		if ok {
			break
		}
		if low == least {
			return -1, nil
		}
		low, high = max(least, low/2), low
	}
	for float64(high) > float64(low)*evenWithin {
		middle := engine.Time(math.Sqrt(float64(low)) * math.Sqrt(float64(high)))
		ok, err := at(middle)
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

// loads returns by bundle the bytes of its link that has most to carry.
func (m *movement) loads(bytes []float64) []float64 {
	v := make([]float64, len(m.high))
	for e, b := range m.p.Fabric.Bundles {
		for _, l := range b.Links {
			v[e] = max(v[e], bytes[l])
		}
	}
	return v
}

// greedy returns a topology of at least some circuits of each bundle, and circuit after circuit to the bundle that has
// most to carry for each of its own.
func (m *movement) greedy(least []int, load []float64) []int {
	x := append([]int(nil), least...)
	m.p.grow(x, func(e int) float64 {
		if x[e] >= m.high[e] || load[e] == 0 {
			return -1
		}
		return load[e] / (max(0.5, float64(x[e])) * m.p.Fabric.Rate(e))
	})
	return x
}
