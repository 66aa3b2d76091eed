package flow

import "sim/engine"

// Evaluator simulates one graph repeatedly under different capacities, for policies that
// search. It records no trace unless Record is called, and it allocates nothing between runs.
// It is not safe for concurrent use: use one Clone per worker.
type Evaluator struct {
	sim        *sim
	bounds     bounds
	fork       *fork          // set by Fork
	queueBound *queueBound    // set by QueueBound
	deadlines  *deadlineCheck // set by MissesDeadline

	fair *fairShareBound // set by PrepareFairBound

	// ownsModel is set if sim.model is a copy, made by SetDurations or SetChanges, and not shared with
	// other evaluators.
	ownsModel     bool
	queueCapacity int // number of event ids of sim.queue after SetChanges; 0 before
}

// NewEvaluator prepares g on n with routes r for the given service. None of the three may
// change afterwards. It returns an error if Run would.
func NewEvaluator(g *engine.Graph, n *engine.Network, r *engine.Routes, s Service) (*Evaluator, error) {
	m, err := newModel(g, n, r)
	if err != nil {
		return nil, err
	}
	return newEvaluator(m, s), nil
}

// newEvaluator returns an evaluator that shares the model m.
func newEvaluator(m *model, s Service) *Evaluator {
	e := &Evaluator{sim: newSim(m, s)}
	e.bounds.init(m)
	return e
}

// Clone returns an evaluator with the same capacities, durations, changes, tails and context. It
// shares the immutable data of e. Durations and changes are part of the model.
func (e *Evaluator) Clone() *Evaluator {
	c := newEvaluator(e.sim.model, e.sim.service)
	copy(c.sim.initialCapacity, e.sim.initialCapacity)
	c.sim.givenTails, c.sim.ctx, c.sim.tolerance = e.sim.givenTails, e.sim.ctx, e.sim.tolerance
	if e.ownsModel {
		c.ownModel()
	}
	return c
}

// SetRate sets the capacity of a resource from the start of the next run, in bits per second.
func (e *Evaluator) SetRate(resource int32, bitsPerSecond float64) {
	e.sim.initialCapacity[resource] = bitsPerSecond * perTick
}

// SetService sets how capacity is shared.
func (e *Evaluator) SetService(s Service) { e.sim.service = s }

// SetTolerance makes the following runs under MaxMin bundle events; see Options.Tolerance. It does not
// support Fork.
func (e *Evaluator) SetTolerance(t engine.Time) { e.sim.tolerance = t }

// SetWorkers makes the following runs of Makespan simulate parts of the graph; see Options.Workers.
func (e *Evaluator) SetWorkers(workers int) { e.sim.workers = workers }

// Makespan simulates the graph. It returns false, without a makespan, in three cases: the
// makespan is proved to be at least cutoff, the graph cannot be simulated to its end, or the
// context was cancelled. A cutoff of engine.Never disables the cut-off.
func (e *Evaluator) Makespan(cutoff engine.Time) (engine.Time, bool) {
	ok := e.sim.run(cutoff)
	return e.sim.makespan, ok
}

// Events returns the number of starts and ends of transfers in the last run.
func (e *Evaluator) Events() int64 { return e.sim.events }

// Bound returns a lower bound on the makespan at the current capacities. It holds for every
// service; see bounds.
func (e *Evaluator) Bound() engine.Time { return e.bounds.makespan(e.sim) }
