package topology

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"sim/engine"
	"sim/engine/flow"
)

// ErrIteration means that an iteration whose circuits move cannot end.
var ErrIteration = errors.New("topology: an iteration whose circuits move does not end")

// IterationPlan holds the planned iterations of a sequence of topologies, simulated on the
// problem for which it was decided. Its method Controller moves the circuits in other
// simulations of these iterations.
type IterationPlan struct {
	problem  *Problem
	sequence *Sequence
	starts   []pendingSetup // state of the circuits at the start of each iteration
	quotas   [][][]quota    // indexed by iteration and step
}

// quota is the number of transfers of a bundle that must have ended before a step may
// interrupt the bundle.
type quota struct{ bundle, count int32 }

// PlanIterations simulates the iterations of a decision whose circuits move.
func (p *Problem) PlanIterations(ctx context.Context, d *Decision) (*IterationPlan, error) {
	w := p.acquire(ctx, d.Service)
	defer p.release(w)
	plan := &IterationPlan{problem: p, sequence: d.Moves.Sequence}
	r := w.newSequenceSimulator()
	state := pendingSetup{} // circuits that are being set up when the iteration starts: none at first
	for k := range d.Moves.Runs {
		// Before each step, record the transfers that have ended on the bundles that it interrupts.
		quotas := make([][]quota, len(plan.sequence.Steps))
		r.observe = func(step int) {
			r.eachInterrupted(r.target, plan.sequence.Steps[step].Circuits, func(e int) {
				n, _ := w.Ended(int32(e))
				quotas[step] = append(quotas[step], quota{bundle: int32(e), count: n})
			})
		}
		next, ok := r.run(plan.sequence, &state, never)
		if err := ctx.Err(); err != nil {
			return nil, err
		} else if !ok {
			return nil, fmt.Errorf("%w: iteration %d as planned", ErrIteration, k+1)
		}
		plan.starts, plan.quotas, state = append(plan.starts, state), append(plan.quotas, quotas), next
	}

	return plan, nil
}

// eachInterrupted calls do for each bundle that a change of circuits interrupts; see
// Controller.
func (s *SwitchTiming) eachInterrupted(from, to []int, do func(e int)) {
	holds := s.StopsAll && s.Delay > 0 && !slices.Equal(from, to)
	for e, n := range to {
		if from[e] > 0 && (n == 0 || holds) {
			do(e)
		}
	}
}

// Controller moves circuits as in a planned iteration, but in a simulation whose tasks
// can take other times: trials, packet level, or a simulation of all replicas where the
// plan has one for all. Live returns it for the packet level, Run for the flow level.
//
// It makes a step when two conditions hold. First, the transfers that the step counts
// have ended. Second, all transfers have ended that the plan had completed on the bundles
// that the step interrupts. A step interrupts a bundle if it leaves the bundle without
// circuits, or if the switch stops all circuits during the change.
//
// No transfer can be stranded. Of the tasks that have not ended, consider the one that
// ends first in the plan. Everything it waits for has ended. If it is a transfer, its
// bundle had circuits when it ended in the plan. No step made since then has removed the
// last of them, because such a step would have waited for this transfer. The task can
// therefore continue.
type Controller struct {
	problem        *Problem
	sequence       *Sequence
	planBundle     []int32 // bundle of the plan that represents each task's bundle; -1 if it has none
	numPlanBundles int
	start          pendingSetup  // state of the circuits at the start of the iteration
	drains         [][]int32     // transfers to wait for besides the counted ones, indexed by step
	planRun        Run           // the iteration on problem with the task times of the plan
	trace          *engine.Trace // of planRun
	earlier        []Run         // planned iterations before this one
}

// Controller returns the controller of iteration k of decision d on the task graph of p.
// planBundle maps the bundles of p to the bundles of the plan that represent them.
// Bundles with the same representative get the same number of circuits, and the transfers
// of all of them are counted.
func (it *IterationPlan) Controller(ctx context.Context, p *Problem, d *Decision, planBundle []int, k int) (*Controller, error) {
	planTransfers := it.problem.Transfers()
	c := &Controller{problem: p, planBundle: p.bundleOfTask(), numPlanBundles: len(planTransfers),
		earlier: d.Moves.Runs[:k]}
	transfers := make([]int, len(planTransfers)) // transfers of p, indexed by bundle of the plan
	for i, e := range c.planBundle {
		if e >= 0 {
			c.planBundle[i] = int32(planBundle[e])
			transfers[planBundle[e]]++
		}
	}

	// scaleCount returns the number of transfers of p that correspond to count transfers
	// of the plan.
	scaleCount := func(bundle, count int) int {
		if planTransfers[bundle] == 0 {
			return 0
		}
		return (count*transfers[bundle] + planTransfers[bundle] - 1) / planTransfers[bundle]
	}

	// spread returns a topology of p, given the topology of the plan.
	spread := func(x []int) []int {
		out := make([]int, len(planBundle))
		for e, b := range planBundle {
			out[e] = x[b]
		}
		return out
	}

	// Expand the sequence from bundles of the plan to bundles of p.
	c.sequence = &Sequence{First: spread(it.sequence.First)}
	spreadOf := map[*int][]int{} // expanded topologies by first element, because rotations repeat topologies
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

	// Expand the state of the circuits at the start.
	c.start = pendingSetup{stoppedFor: it.starts[k].stoppedFor}
	for _, b := range planBundle {
		c.start.setups = append(c.start.setups, it.starts[k].setupsOf(b))
	}

	// Simulate the iteration on p with the task times of the plan, and record its trace.
	w := p.acquire(ctx, d.Service)
	defer p.release(w)
	recorded := &circuitEvaluator{Evaluator: w.Clone(), problem: p} // pooled evaluators must not record traces
	recorded.Record(withRates)
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

	// The trace determines the transfers that each step waits for.
	c.planRun, c.trace = r.current, recorded.Trace()
	c.findDrains(p.bundleOfTask())
	return c, nil
}

// findDrains sets drains. bundle is indexed by task.
func (c *Controller) findDrains(bundle []int32) {
	ends := make([][]int32, len(c.sequence.First)) // transfers of each bundle in the order of their ends
	for id, e := range bundle {
		if e >= 0 {
			ends[e] = append(ends[e], int32(id))
		}
	}

	for _, list := range ends {
		slices.SortStableFunc(list, func(a, b int32) int { return int(min(1, max(-1, c.trace.End[a]-c.trace.End[b]))) })
	}

	// Each step drains what ended before it on the bundles that it interrupts. AtEnd stands for a
	// step at the end of the iteration, when everything has ended.
	c.drains = make([][]int32, len(c.sequence.Steps)) // each in the order of ends, as LiveController needs
	previous := c.sequence.First
	for i, s := range c.sequence.Steps {
		if s.Bundle == AtEnd {
			continue
		} else if c.planRun.Fired[i] == engine.Never { // everything was carried before this step
			c.drains[i] = slices.Concat(ends...)
			break
		}
		c.problem.Switching.eachInterrupted(previous, s.Circuits, func(e int) {
			k := 0
			for k < len(ends[e]) && c.trace.End[ends[e][k]] <= c.planRun.Fired[i] {
				k++
			}
			c.drains[i], ends[e] = append(c.drains[i], ends[e][:k]...), ends[e][k:]
		})
		previous = s.Circuits
	}
}

// Sequence returns the sequence, expanded to the bundles of the simulated graph.
func (c *Controller) Sequence() *Sequence { return c.sequence }

// PlanRun returns the iteration with the task times of the plan, and its trace.
func (c *Controller) PlanRun() (Run, *engine.Trace) { return c.planRun, c.trace }

// newSimulator returns a simulator that counts transfers per bundle of the plan.
func (c *Controller) newSimulator(w *circuitEvaluator) *sequenceSimulator {
	r := w.newSequenceSimulator()
	r.evaluator.PrepareControl(c.planBundle, c.numPlanBundles)
	return r
}

// Run simulates an iteration at flow level with the task times of evaluator e. It returns
// false if the iteration does not end.
func (c *Controller) Run(e *flow.Evaluator) (Run, bool) {
	return c.simulate(&circuitEvaluator{Evaluator: e, problem: c.problem})
}

// withRates is the argument of flow.Evaluator.Record for a trace with the rates of transfers.
const withRates = true

// Resimulate simulates an iteration at flow level on p and returns its trace. p has the tasks
// and bundles of the controller's problem, but may have other times and rates.
func (c *Controller) Resimulate(ctx context.Context, p *Problem, s flow.Service) (*engine.Trace, error) {
	w := p.acquire(ctx, s)
	defer p.release(w)
	recorded := &circuitEvaluator{Evaluator: w.Clone(), problem: p}
	recorded.Record(withRates)
	if _, ok := c.simulate(recorded); !ok {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		return nil, fmt.Errorf("%w: at other times or rates", ErrIteration)
	}
	return recorded.Trace(), nil
}

// simulate runs an iteration in which each step waits for its drains.
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

// LiveController moves the circuits during one packet-level simulation, which calls React
// whenever tasks end.
type LiveController struct {
	*Controller                     // the sequence, and for each step the transfers that it waits for (drains)
	changes        []topologyChange // topologies requested so far; the older ones are dropped after a delay
	endedTransfers []int            // number of ended transfers, indexed by bundle of the plan
	hasEnded       []bool           // indexed by task
	nextStep       int              // index of the next step to make
	numDrained     int              // prefix of drains[nextStep] that has ended
	portsFreeAt    engine.Time      // time at which the ports of removed circuits are free
	fired          []engine.Time    // times of the steps made so far
	started        bool             // React has been called
}

// Live returns a controller for one simulation.
func (c *Controller) Live() *LiveController {
	// The timeline has the topologies of the earlier iterations, and the first of this iteration,
	// which has no times yet.
	return &LiveController{
		Controller: c, endedTransfers: make([]int, c.numPlanBundles),
		hasEnded: make([]bool, len(c.planBundle)),
		changes: topologyTimeline(c.sequence, append(slices.Clone(c.earlier), Run{}),
			len(c.earlier)),
	}
}

// React returns the changes of link rates from now on. They replace the changes returned
// by earlier calls. nil means that these remain valid. ended lists the tasks that ended
// since the last call. wake is the time of the next call if no task ends before.
//
// free returns when a link has sent the packet that it is sending. A circuit is removed
// when its last packet has left, and the circuits that use its ports are set up from then
// on.
func (l *LiveController) React(now engine.Time, ended []int32, free func(link int32) engine.Time) (changes []engine.Change, wake engine.Time) {
	// Count the transfers that ended.
	for _, id := range ended {
		l.hasEnded[id] = true
		if e := l.planBundle[id]; e >= 0 {
			l.endedTransfers[e]++
		}
	}

	// The first call returns the rates at the start.
	moved, wake := !l.started, engine.Never
	l.started = true

	// Make all steps whose conditions hold.
	for ; l.nextStep < len(l.sequence.Steps); l.nextStep, l.numDrained = l.nextStep+1, 0 {
		s, drain := &l.sequence.Steps[l.nextStep], l.drains[l.nextStep]
		if l.planRun.Fired[l.nextStep] == engine.Never || s.Bundle == AtEnd { // nothing remains to be carried
			break
		}
		for l.numDrained < len(drain) && l.hasEnded[drain[l.numDrained]] {
			l.numDrained++
		}
		if l.numDrained < len(drain) || s.Bundle >= 0 && l.endedTransfers[s.Bundle] < s.Count {
			break
		}

		// The ports must be free, and a step AtTime also waits for its time.
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

	// Drop topologies that were replaced more than a delay ago, and compute the rates
	// from the others.
	for len(l.changes) > 1 && l.changes[1].at <= now-l.problem.Switching.Delay {
		l.changes = l.changes[1:]
	}
	initial, changes := l.problem.activeTimeline(l.changes, now)
	var all []engine.Change
	for e, b := range l.problem.Fabric.Bundles {
		for _, link := range b.Links {
			all = append(all, engine.Change{At: now, Link: link,
				Rate: float64(initial[e]) * l.problem.Fabric.Rate(e), Planned: true})
		}
	}

	return append(all, changes...), wake
}

// changeCircuits makes a step. Removed circuits carry no further packets. Added circuits
// are set up when the packets on the removed ones have left.
func (l *LiveController) changeCircuits(now engine.Time, to []int, free func(link int32) engine.Time) {
	l.fired = append(l.fired, now)
	from := l.changes[len(l.changes)-1].circuits
	if slices.Equal(from, to) {
		return
	}

	// stay has the circuits that remain. The ports of the others are free when the last packets
	// have left.
	stay := make([]int, len(to))
	l.portsFreeAt = now
	for e, b := range l.problem.Fabric.Bundles {
		if stay[e] = min(from[e], to[e]); stay[e] < from[e] || l.problem.Switching.StopsAll {
			for _, link := range b.Links {
				l.portsFreeAt = max(l.portsFreeAt, free(link))
			}
		}
	}

	if l.portsFreeAt > now {
		l.changes = append(l.changes, topologyChange{at: now, circuits: stay})
	}
	l.changes = append(l.changes, topologyChange{at: l.portsFreeAt, circuits: to})
}

// Run returns the iteration, given the time at which it ended.
func (l *LiveController) Run(end engine.Time) Run {
	run := Run{Makespan: end, Fired: l.fired}
	for i := len(l.fired); i < len(l.sequence.Steps); i++ {
		time := engine.Never
		if l.sequence.Steps[i].Bundle == AtEnd {
			time = end
		}
		run.Fired = append(run.Fired, time)
	}
	return run
}

// MaxCircuits returns the maximum number of circuits of each bundle in the sequence.
func (q *Sequence) MaxCircuits() []int {
	maxCircuits := slices.Clone(q.First)
	for _, s := range q.Steps {
		for e, n := range s.Circuits {
			maxCircuits[e] = max(maxCircuits[e], n)
		}
	}
	return maxCircuits
}
