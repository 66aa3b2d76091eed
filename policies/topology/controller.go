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
	problem  *Problem
	sequence *Sequence
	starts   []pendingSetup // by iteration: in which it begins
	quotas   [][][]quota    // by iteration and step
}

// quota is the number of transfers of a bundle that must have ended before a step interrupts the bundle.
type quota struct{ bundle, count int32 }

// Iterations simulates the iterations of a decision whose circuits move.
func (p *Problem) Iterations(ctx context.Context, d *Decision) (*Iterations, error) {
	w := p.acquire(ctx, d.Service)
	defer p.release(w)
	it, r, at := &Iterations{problem: p, sequence: d.Moves.Sequence}, w.newSequenceSimulator(), pendingSetup{}
	for k := range d.Moves.Runs {
		quotas := make([][]quota, len(it.sequence.Steps))
		r.observe = func(step int) {
			r.eachInterrupted(r.target, it.sequence.Steps[step].Circuits, func(e int) {
				n, _ := w.Ended(int32(e))
				quotas[step] = append(quotas[step], quota{int32(e), n})
			})
		}
		next, ok := r.run(it.sequence, &at, never)
		if err := ctx.Err(); err != nil {
			return nil, err
		} else if !ok {
			return nil, fmt.Errorf("%w: iteration %d as planned", ErrIteration, k+1)
		}
		it.starts, it.quotas, at = append(it.starts, at), append(it.quotas, quotas), next
	}
	return it, nil
}

// eachInterrupted calls do for each bundle that a change of circuits interrupts, see Controller.
func (s *Switching) eachInterrupted(from, to []int, do func(e int)) {
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
	problem        *Problem
	sequence       *Sequence
	planBundle     []int32      // by task: the bundle of the plan that it goes over, or which stands for its bundle; -1 if none does
	numPlanBundles int          // bundles of the plan
	start          pendingSetup // in which the iteration begins
	drains         [][]int32    // by step: transfers that must have ended before it is made, but for those that it counts
	planned        Run          // the iteration on the graph of p with the times of the plan
	trace          *engine.Trace
	earlier        []Run // iterations before it, as planned
}

// Controller returns the controller of the k-th iteration of d, the decision that it is of, on the graph of p. Of is the
// bundle of the plan that stands for each bundle of p: those that one bundle stands for have as many circuits each,
// and all their transfers count.
func (it *Iterations) Controller(ctx context.Context, p *Problem, d *Decision, planBundle []int, k int) (*Controller, error) {
	planned := it.problem.Transfers()
	c := &Controller{problem: p, planBundle: p.bundleOfTask(), numPlanBundles: len(planned), earlier: d.Moves.Runs[:k]}
	transfers := make([]int, len(planned))
	for i, e := range c.planBundle {
		if e >= 0 {
			c.planBundle[i] = int32(planBundle[e])
			transfers[planBundle[e]]++
		}
	}
	scaleCount := func(bundle, count int) int { // transfers of p that count transfers of the plan stand for
		if planned[bundle] == 0 {
			return 0
		}
		return (count*transfers[bundle] + planned[bundle] - 1) / planned[bundle]
	}
	spread := func(x []int) []int {
		out := make([]int, len(planBundle))
		for e, b := range planBundle {
			out[e] = x[b]
		}
		return out
	}
	c.sequence = &Sequence{First: spread(it.sequence.First)}
	spreadOf := map[*int][]int{} // rotations have the same topologies again and again
	for _, s := range it.sequence.Steps {
		x := &s.Circuits[0]
		if spreadOf[x] == nil {
			spreadOf[x] = spread(s.Circuits)
		}
		s.Circuits = spreadOf[x]
		if s.Bundle >= 0 {
			s.Count = scaleCount(s.Bundle, s.Count)
		}
		c.sequence.Steps = append(c.sequence.Steps, s)
	}
	c.start = pendingSetup{stoppedFor: it.starts[k].stoppedFor}
	for _, b := range planBundle {
		c.start.setups = append(c.start.setups, it.starts[k].setupsOf(b))
	}

	w := p.acquire(ctx, d.Service)
	defer p.release(w)
	recorded := &circuitEvaluator{w.Clone(), p} // those that others use keep no traces
	recorded.Record()
	r := c.newSimulator(recorded)
	r.drain = func(step int, now engine.Time) (_ engine.Time, ok bool) {
		ok = true
		for _, q := range it.quotas[k][step] {
			if now, ok = r.evaluator.Await(q.bundle, int32(scaleCount(int(q.bundle), int(q.count)))); !ok {
				break
			}
		}
		return now, ok
	}
	if _, ok := r.run(c.sequence, &c.start, never); !ok {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		return nil, fmt.Errorf("%w: iteration %d on the complete graph", ErrIteration, k+1)
	}
	c.planned, c.trace = r.current, recorded.Trace()
	c.findDrains(p.bundleOfTask())
	return c, nil
}

// findDrains finds the transfers that each step waits for beside those that it counts. The bundles are indexed by task.
func (c *Controller) findDrains(bundle []int32) {
	ends := make([][]int32, len(c.sequence.First)) // by bundle: its transfers, in the order in which they end
	for id, e := range bundle {
		if e >= 0 {
			ends[e] = append(ends[e], int32(id))
		}
	}
	for _, list := range ends {
		slices.SortStableFunc(list, func(a, b int32) int { return int(min(1, max(-1, c.trace.End[a]-c.trace.End[b]))) })
	}
	c.drains = make([][]int32, len(c.sequence.Steps)) // each in that order, for Live
	was := c.sequence.First
	for i, s := range c.sequence.Steps {
		if s.Bundle == AtEnd {
			continue
		} else if c.planned.Fired[i] == engine.Never { // all has been carried before
			c.drains[i] = slices.Concat(ends...)
			break
		}
		c.problem.Switching.eachInterrupted(was, s.Circuits, func(e int) {
			k := 0
			for k < len(ends[e]) && c.trace.End[ends[e][k]] <= c.planned.Fired[i] {
				k++
			}
			c.drains[i], ends[e] = append(c.drains[i], ends[e][:k]...), ends[e][k:]
		})
		was = s.Circuits
	}
}

// Sequence returns the sequence of the graph that is simulated.
func (c *Controller) Sequence() *Sequence { return c.sequence }

// Planned returns the iteration with the times of the plan, and its trace.
func (c *Controller) Planned() (Run, *engine.Trace) { return c.planned, c.trace }

func (c *Controller) newSimulator(w *circuitEvaluator) *sequenceSimulator {
	r := w.newSequenceSimulator()
	r.evaluator.Stage(c.planBundle, c.numPlanBundles)
	return r
}

// Run simulates an iteration as fluid with the times of e, an evaluator of the graph; false where it does not end.
func (c *Controller) Run(e *flow.Evaluator) (Run, bool) {
	return c.simulate(&circuitEvaluator{e, c.problem})
}

// Again simulates an iteration as fluid on p, which has the same tasks and bundles as the graph but may have other
// times and rates, and returns its trace.
func (c *Controller) Again(ctx context.Context, p *Problem, s flow.Service) (*engine.Trace, error) {
	w := p.acquire(ctx, s)
	defer p.release(w)
	recorded := &circuitEvaluator{w.Clone(), p}
	recorded.Record()
	if _, ok := c.simulate(recorded); !ok {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		return nil, fmt.Errorf("%w: at other times or rates", ErrIteration)
	}
	return recorded.Trace(), nil
}

func (c *Controller) simulate(w *circuitEvaluator) (Run, bool) {
	r := c.newSimulator(w)
	r.drain = func(step int, now engine.Time) (_ engine.Time, ok bool) {
		ok = true
		for _, id := range c.drains[step] {
			if now, ok = r.evaluator.AwaitTask(id); !ok {
				break
			}
		}
		return now, ok
	}
	_, ok := r.run(c.sequence, &c.start, never)
	return r.current, ok
}

// Live moves the circuits of one run that is simulated packet by packet.
type Live struct {
	*Controller
	changes        []topologyChange // of which all but the first are less than a delay ago
	endedTransfers []int            // by bundle of the plan
	hasEnded       []bool           // by task
	nextStep       int              // that is to be made next
	numDrained     int              // so many of the transfers that it waits for have ended, in their order
	portsFreeAt    engine.Time
	fired          []engine.Time
	started        bool
}

// Live returns the controller of a run.
func (c *Controller) Live() *Live {
	return &Live{
		Controller: c, endedTransfers: make([]int, c.numPlanBundles), hasEnded: make([]bool, len(c.planBundle)),
		changes: topologyTimeline(c.sequence, append(slices.Clone(c.earlier), Run{}), len(c.earlier)),
	}
}

// React returns how links change, from now on and in place of what it returned before, when tasks have ended; nil where
// that stays as it is. Wake is when it is to be asked even if no task ends before. Free says when a link will have sent
// the packet that it sends: a circuit leaves when its last packet has left, and those that take its ports are
// set up from then on.
func (l *Live) React(now engine.Time, ended []int32, free func(link int32) engine.Time) (changes []engine.Change, wake engine.Time) {
	for _, id := range ended {
		l.hasEnded[id] = true
		if e := l.planBundle[id]; e >= 0 {
			l.endedTransfers[e]++
		}
	}
	moved, wake := !l.started, engine.Never
	l.started = true
	for ; l.nextStep < len(l.sequence.Steps); l.nextStep, l.numDrained = l.nextStep+1, 0 {
		s, drain := &l.sequence.Steps[l.nextStep], l.drains[l.nextStep]
		if l.planned.Fired[l.nextStep] == engine.Never || s.Bundle == AtEnd { // nothing is left to be carried then
			break
		}
		for l.numDrained < len(drain) && l.hasEnded[drain[l.numDrained]] {
			l.numDrained++
		}
		if l.numDrained < len(drain) || s.Bundle >= 0 && l.endedTransfers[s.Bundle] < s.Count {
			break
		}
		earliest := l.portsFreeAt
		if s.Bundle == AtTime {
			earliest = max(earliest, s.Time)
		}
		if now < earliest {
			wake = earliest
			break
		}
		l.changeCircuits(now, s.Circuits, free)
		moved = true
	}
	if !moved {
		return nil, wake
	}
	for len(l.changes) > 1 && l.changes[1].at <= now-l.problem.Switching.Delay {
		l.changes = l.changes[1:]
	}
	initial, changes := l.problem.activeTimeline(l.changes, now)
	var all []engine.Change
	for e, b := range l.problem.Fabric.Bundles {
		for _, link := range b.Links {
			all = append(all, engine.Change{At: now, Link: link, Rate: float64(initial[e]) * l.problem.Fabric.Rate(e), Planned: true})
		}
	}
	return append(all, changes...), wake
}

// changeCircuits makes a step: circuits that leave carry nothing more, and those that come are set up when all packets that
// are being sent over those have left.
func (l *Live) changeCircuits(now engine.Time, to []int, free func(link int32) engine.Time) {
	l.fired = append(l.fired, now)
	from := l.changes[len(l.changes)-1].circuits
	if slices.Equal(from, to) {
		return
	}
	stay := make([]int, len(to))
	l.portsFreeAt = now
	for e, b := range l.problem.Fabric.Bundles {
		if stay[e] = min(from[e], to[e]); stay[e] < from[e] || l.problem.Switching.Whole {
			for _, link := range b.Links {
				l.portsFreeAt = max(l.portsFreeAt, free(link))
			}
		}
	}
	if l.portsFreeAt > now {
		l.changes = append(l.changes, topologyChange{now, stay})
	}
	l.changes = append(l.changes, topologyChange{l.portsFreeAt, to})
}

// Run returns the iteration that ended at a time.
func (l *Live) Run(end engine.Time) Run {
	run := Run{Makespan: end, Fired: l.fired}
	for i := len(l.fired); i < len(l.sequence.Steps); i++ {
		at := engine.Never
		if l.sequence.Steps[i].Bundle == AtEnd {
			at = end
		}
		run.Fired = append(run.Fired, at)
	}
	return run
}

// Most returns by bundle the most circuits that it ever has.
func (q *Sequence) Most() []int {
	maxCircuits := slices.Clone(q.First)
	for _, s := range q.Steps {
		for e, n := range s.Circuits {
			maxCircuits[e] = max(maxCircuits[e], n)
		}
	}
	return maxCircuits
}
