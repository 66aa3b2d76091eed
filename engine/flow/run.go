package flow

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"sim/engine"
	"sim/internal/csr"
)

// ErrStalled is wrapped by Run if transfers remain that can never finish.
var ErrStalled = errors.New("flow: nothing can proceed")

// Options selects how a graph is simulated.
type Options struct {
	Service Service // how transfers share capacity
	// Rates records the rate steps of every transfer in the trace.
	Rates bool
	// Tails replaces the longest paths to the end of the graph in LevelPriority and
	// TailPriority, in ticks, indexed by task. nil uses the graph's own; see
	// Evaluator.SetTails.
	Tails []float64
	// Tolerance is the minimum time between two computations of shares under MaxMin, in which
	// events are bundled; see engine.Perturbation. 0 means an exact run.
	Tolerance engine.Time
	// Workers is the maximum number of goroutines that simulate parts of the graph. Tasks of
	// different parts are connected by no dependency, and by no resource. 0 simulates all parts
	// together. All other numbers give the same trace. It differs from the trace of 0 by rounding at most,
	// unless there is a Tolerance: then each part bundles its own events.
	Workers int
	// Progress receives the share of tasks that have ended, from 0 to 1, from one goroutine at a
	// time. It may be nil.
	Progress func(share float64)
}

// Run simulates g on n with routes r to its end. g must be frozen. It returns an
// error if the three do not belong together. It returns ErrStalled, with the names of
// the blocked tasks, if transfers remain on links without capacity. If ctx is
// cancelled first, it returns the error of ctx.
func Run(ctx context.Context, g *engine.Graph, n *engine.Network, r *engine.Routes, opt Options) (*engine.Trace, error) {
	m, err := newModel(g, n, r)
	if err != nil {
		return nil, err
	}
	tails, err := m.extendTails(opt.Tails)
	if err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}

	z := newSim(m, opt.Service)
	z.ctx = ctx
	z.givenTails, z.tolerance, z.workers = tails, opt.Tolerance, opt.Workers
	if opt.Progress != nil {
		z.progress = &progress{report: opt.Progress, total: z.tasks}
	}
	z.record(opt.Rates)
	if !z.run(engine.Never) {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		return nil, z.stallError()
	}
	return z.trace(), nil
}

// record makes the following runs record the ends of tasks and, if rates is set, the
// rates of transfers.
func (z *sim) record(rates bool) {
	z.ends = make([]engine.Time, z.tasks)
	if rates {
		z.log = &rateLog{}
	}
}

// trace returns the recorded trace of the last run. It shares memory with z.
func (z *sim) trace() *engine.Trace {
	t := &engine.Trace{Start: z.ready, End: z.ends, Makespan: z.makespan, Events: z.events,
		Perturbation: z.perturbation()}
	if z.contention != nil {
		t.Cause = z.contention.Causes()
	}
	if z.log != nil {
		t.StepStart, t.Steps = z.log.byTask(z.tasks)
	}
	if z.starts != nil {
		t = z.starts.Trace(t)
	}
	return t
}

// stallError describes a stalled run: the running transfers and the competing tasks,
// the reason why each of them waits, and the number of tasks that wait behind them.
func (z *sim) stallError() error {
	const maxNames = 3 // tasks named in the message
	var names []string
	stuck, behind := 0, 0
	for i := range int32(z.tasks) {
		switch z.phase[i] {
		case phaseWaiting:
			behind++
		case phaseRunning, phaseCompeting:
			stuck++
			if len(names) < maxNames {
				names = append(names, z.graph.Name(i)+" waits for "+z.blocker(i))
			}
		}
	}

	more := ""
	if stuck > maxNames {
		more = fmt.Sprintf(" and %d more", stuck-maxNames)
	}
	return fmt.Errorf("%w at %v: %s%s; %d tasks wait behind them",
		ErrStalled, z.now, strings.Join(names, ", "), more, behind)
}

// blocker names the reason why task id waits: its resources without capacity, all its
// resources if each has capacity, or the grant that it competes for.
func (z *sim) blocker(id int32) string {
	if z.fixedDuration[id] >= 0 {
		return z.contention.WaitReason(id)
	}
	var down, all []string
	for u := z.useStart[id]; u < z.useStart[id+1]; u++ {
		name := z.net.ResourceName(z.useRes[u])
		all = append(all, name)
		if z.capacity[z.useRes[u]] == 0 {
			down = append(down, name+" (down)")
		}
	}
	if len(down) > 0 {
		return strings.Join(down, " and ")
	}
	return strings.Join(all, " and ")
}

// rateLog records rate steps in order of time.
type rateLog struct {
	task  []int32 // the task of each step
	steps []engine.RateStep
}

// reset removes all steps.
func (l *rateLog) reset() { l.task, l.steps = l.task[:0], l.steps[:0] }

// add appends a step: task id has the rate, in bits per second, from time t on.
func (l *rateLog) add(id int32, t engine.Time, rate float64) {
	l.task = append(l.task, id)
	l.steps = append(l.steps, engine.RateStep{At: t, Rate: rate})
}

// byTask groups the steps by task, each group in order of time. The steps of task i
// are steps[start[i]:start[i+1]].
func (l *rateLog) byTask(tasks int) ([]int32, []engine.RateStep) {
	start, index := csr.Index(l.task, tasks)
	steps := make([]engine.RateStep, len(index))
	for k, i := range index {
		steps[k] = l.steps[i]
	}
	return start, steps
}
