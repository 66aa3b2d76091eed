package topology

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"sim/engine"
	"sim/engine/flow"
)

// ErrIteration is wrapped where an iteration whose circuits move cannot end.
var ErrIteration = errors.New("topology: an iteration whose circuits move does not end")

// Iterations are the planned iterations of a sequence on the problem that it was decided on.
type Iterations struct {
	p      *Problem
	q      *Sequence
	starts []history   // by iteration: in which it begins
	quotas [][][]quota // by iteration and step
}

// quota is the number of transfers of a bundle that must have ended before a step interrupts the bundle.
type quota struct{ bundle, count int32 }

// Iterations simulates the iterations of a decision whose circuits move.
func (p *Problem) Iterations(ctx context.Context, d *Decision) (*Iterations, error) {
	w := p.evaluator(ctx, d.Service)
	defer p.done(w)
	it, r, at := &Iterations{p: p, q: d.Moves.Sequence}, w.rehearse(), history{}
	for k := range d.Moves.Runs {
		quotas := make([][]quota, len(it.q.Steps))
		r.observe = func(step int) {
			r.interrupted(r.target, it.q.Steps[step].Circuits, func(e int) {
				n, _ := w.Ended(int32(e))
				quotas[step] = append(quotas[step], quota{int32(e), n})
			})
		}
		next, ok := r.run(it.q, &at, never)
		if err := ctx.Err(); err != nil {
			return nil, err
		} else if !ok {
			return nil, fmt.Errorf("%w: iteration %d as planned", ErrIteration, k+1)
		}
		it.starts, it.quotas, at = append(it.starts, at), append(it.quotas, quotas), next
	}
	return it, nil
}

// interrupted calls do for each bundle that a change of circuits interrupts, see Controller.
func (s *Switching) interrupted(from, to []int, do func(e int)) {
	holds := s.Whole && s.Delay > 0 && !slices.Equal(from, to)
	for e, n := range to {
		if from[e] > 0 && (n == 0 || holds) {
			do(e)
		}
	}
}

// Controller moves circuits by a planned iteration, in runs in which tasks may take other times than planned, at level
// packet too, or in which all replicas are simulated where one stands for all in the plan.
//
// It makes a step when the transfers that the step waits for have ended, counted as they end, and when every transfer
// has ended that the plan had carried before over a bundle that the step interrupts. A step interrupts a bundle if it
// leaves the bundle without a circuit, or if the switch holds all circuits meanwhile. So no transfer is stranded:
// consider, of the tasks that have not ended, the one that ends first in the plan. All that it waits for has ended. If
// it is a transfer, its bundle had circuits when it ended in the plan, and no step that was made since then has taken
// the last of them, as that step would have waited for it. So it goes on.
type Controller struct {
	p      *Problem
	q      *Sequence
	class  []int32   // by task: the bundle of the plan that it goes over, or which stands for its bundle; -1 if none does
	plan   int       // bundles of the plan
	from   history   // in which the iteration begins
	drains [][]int32 // by step: transfers that must have ended before it is made, but for those that it counts
	run    Run       // the iteration on the graph of p with the times of the plan
	trace  *engine.Trace
	before []Run // iterations before it, as planned
}

// Controller returns the controller of the k-th iteration of d, the decision that it is of, on the graph of p. Of is the
// bundle of the plan that stands for each bundle of p: those that one bundle stands for have as many circuits each,
// and all their transfers count.
func (it *Iterations) Controller(ctx context.Context, p *Problem, d *Decision, of []int, k int) (*Controller, error) {
	planned := it.p.Transfers()
	c := &Controller{p: p, class: p.classes(), plan: len(planned), before: d.Moves.Runs[:k]}
	transfers := make([]int, len(planned))
	for i, e := range c.class {
		if e >= 0 {
			c.class[i] = int32(of[e])
			transfers[of[e]]++
		}
	}
	all := func(bundle, count int) int { // transfers of p that count transfers of the plan stand for
		if planned[bundle] == 0 {
			return 0
		}
		return (count*transfers[bundle] + planned[bundle] - 1) / planned[bundle]
	}
	spread := func(x []int) []int {
		out := make([]int, len(of))
		for e, b := range of {
			out[e] = x[b]
		}
		return out
	}
	c.q = &Sequence{First: spread(it.q.First)}
	same := map[*int][]int{} // rotations have the same topologies again and again
	for _, s := range it.q.Steps {
		x := &s.Circuits[0]
		if same[x] == nil {
			same[x] = spread(s.Circuits)
		}
		s.Circuits = same[x]
		if s.Bundle >= 0 {
			s.Count = all(s.Bundle, s.Count)
		}
		c.q.Steps = append(c.q.Steps, s)
	}
	c.from = history{down: it.starts[k].down}
	for _, b := range of {
		c.from.coming = append(c.from.coming, it.starts[k].of(b))
	}

	w := p.evaluator(ctx, d.Service)
	defer p.done(w)
	recorded := &evaluator{w.Clone(), p} // those that others use keep no traces
	recorded.Record()
	r := c.rehearse(recorded)
	r.drain = func(step int, now engine.Time) (_ engine.Time, ok bool) {
		ok = true
		for _, q := range it.quotas[k][step] {
			if now, ok = r.w.Await(q.bundle, int32(all(int(q.bundle), int(q.count)))); !ok {
				break
			}
		}
		return now, ok
	}
	if _, ok := r.run(c.q, &c.from, never); !ok {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		return nil, fmt.Errorf("%w: iteration %d on the complete graph", ErrIteration, k+1)
	}
	c.run, c.trace = r.made, recorded.Trace()
	c.drain(p.classes())
	return c, nil
}

// drain finds the transfers that each step waits for beside those that it counts. The bundles are indexed by task.
func (c *Controller) drain(bundle []int32) {
	ends := make([][]int32, len(c.q.First)) // by bundle: its transfers, in the order in which they end
	for id, e := range bundle {
		if e >= 0 {
			ends[e] = append(ends[e], int32(id))
		}
	}
	for _, list := range ends {
		slices.SortStableFunc(list, func(a, b int32) int { return int(min(1, max(-1, c.trace.End[a]-c.trace.End[b]))) })
	}
	c.drains = make([][]int32, len(c.q.Steps)) // each in that order, for Live
	was := c.q.First
	for i, s := range c.q.Steps {
		if s.Bundle == AtEnd {
			continue
		} else if c.run.Fired[i] == engine.Never { // all has been carried before
			c.drains[i] = slices.Concat(ends...)
			break
		}
		c.p.Switching.interrupted(was, s.Circuits, func(e int) {
			k := 0
			for k < len(ends[e]) && c.trace.End[ends[e][k]] <= c.run.Fired[i] {
				k++
			}
			c.drains[i], ends[e] = append(c.drains[i], ends[e][:k]...), ends[e][k:]
		})
		was = s.Circuits
	}
}

// Sequence returns the sequence of the graph that is simulated.
func (c *Controller) Sequence() *Sequence { return c.q }

// Planned returns the iteration with the times of the plan, and its trace.
func (c *Controller) Planned() (Run, *engine.Trace) { return c.run, c.trace }

func (c *Controller) rehearse(w *evaluator) *rehearsal {
	r := w.rehearse()
	r.w.PrepareControl(c.class, c.plan)
	return r
}

// Run simulates an iteration as fluid with the times of e, an evaluator of the graph; false where it does not end.
func (c *Controller) Run(e *flow.Evaluator) (Run, bool) { return c.follow(&evaluator{e, c.p}) }

// Again simulates an iteration as fluid on p, which has the same tasks and bundles as the graph but may have other
// times and rates, and returns its trace.
func (c *Controller) Again(ctx context.Context, p *Problem, s flow.Service) (*engine.Trace, error) {
	w := p.evaluator(ctx, s)
	defer p.done(w)
	recorded := &evaluator{w.Clone(), p}
	recorded.Record()
	if _, ok := c.follow(recorded); !ok {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		return nil, fmt.Errorf("%w: at other times or rates", ErrIteration)
	}
	return recorded.Trace(), nil
}

func (c *Controller) follow(w *evaluator) (Run, bool) {
	r := c.rehearse(w)
	r.drain = func(step int, now engine.Time) (_ engine.Time, ok bool) {
		ok = true
		for _, id := range c.drains[step] {
			if now, ok = r.w.AwaitTask(id); !ok {
				break
			}
		}
		return now, ok
	}
	_, ok := r.run(c.q, &c.from, never)
	return r.made, ok
}

// Live moves the circuits of one run that is simulated packet by packet.
type Live struct {
	*Controller
	moments  []moment // of which all but the first are less than a delay ago
	ended    []int    // by bundle of the plan
	gone     []bool   // by task
	step     int      // that is to be made next
	drained  int      // so many of the transfers that it waits for have ended, in their order
	released engine.Time
	fired    []engine.Time
	began    bool
}

// Live returns the controller of a run.
func (c *Controller) Live() *Live {
	return &Live{
		Controller: c, ended: make([]int, c.plan), gone: make([]bool, len(c.class)),
		moments: moments(c.q, append(slices.Clone(c.before), Run{}), len(c.before)),
	}
}

// React returns how links change, from now on and in place of what it returned before, when tasks have ended; nil where
// that stays as it is. Wake is when it is to be asked even if no task ends before. Free says when a link will have sent
// the packet that it sends: a circuit leaves when its last packet has left, and those that take its ports are
// set up from then on.
func (l *Live) React(now engine.Time, ended []int32, free func(link int32) engine.Time) (changes []engine.Change, wake engine.Time) {
	for _, id := range ended {
		l.gone[id] = true
		if e := l.class[id]; e >= 0 {
			l.ended[e]++
		}
	}
	moved, wake := !l.began, engine.Never
	l.began = true
	for ; l.step < len(l.q.Steps); l.step, l.drained = l.step+1, 0 {
		s, drain := &l.q.Steps[l.step], l.drains[l.step]
		if l.run.Fired[l.step] == engine.Never || s.Bundle == AtEnd { // nothing is left to be carried then
			break
		}
		for l.drained < len(drain) && l.gone[drain[l.drained]] {
			l.drained++
		}
		if l.drained < len(drain) || s.Bundle >= 0 && l.ended[s.Bundle] < s.Count {
			break
		}
		earliest := l.released
		if s.Bundle == AtTime {
			earliest = max(earliest, s.Time)
		}
		if now < earliest {
			wake = earliest
			break
		}
		l.move(now, s.Circuits, free)
		moved = true
	}
	if !moved {
		return nil, wake
	}
	for len(l.moments) > 1 && l.moments[1].at <= now-l.p.Switching.Delay {
		l.moments = l.moments[1:]
	}
	initial, changes := l.p.carrying(l.moments, now)
	var all []engine.Change
	for e, b := range l.p.Fabric.Bundles {
		for _, link := range b.Links {
			all = append(all, engine.Change{At: now, Link: link, Rate: float64(initial[e]) * l.p.Fabric.Rate(e), Planned: true})
		}
	}
	return append(all, changes...), wake
}

// move makes a step: circuits that leave carry nothing more, and those that come are set up when all packets that
// are being sent over those have left.
func (l *Live) move(now engine.Time, to []int, free func(link int32) engine.Time) {
	l.fired = append(l.fired, now)
	from := l.moments[len(l.moments)-1].circuits
	if slices.Equal(from, to) {
		return
	}
	stay := make([]int, len(to))
	l.released = now
	for e, b := range l.p.Fabric.Bundles {
		if stay[e] = min(from[e], to[e]); stay[e] < from[e] || l.p.Switching.Whole {
			for _, link := range b.Links {
				l.released = max(l.released, free(link))
			}
		}
	}
	if l.released > now {
		l.moments = append(l.moments, moment{now, stay})
	}
	l.moments = append(l.moments, moment{l.released, to})
}

// Run returns the iteration that ended at a time.
func (l *Live) Run(end engine.Time) Run {
	run := Run{Makespan: end, Fired: l.fired}
	for i := len(l.fired); i < len(l.q.Steps); i++ {
		at := engine.Never
		if l.q.Steps[i].Bundle == AtEnd {
			at = end
		}
		run.Fired = append(run.Fired, at)
	}
	return run
}

// Most returns by bundle the most circuits that it ever has.
func (q *Sequence) Most() []int {
	most := slices.Clone(q.First)
	for _, s := range q.Steps {
		for e, n := range s.Circuits {
			most[e] = max(most[e], n)
		}
	}
	return most
}
