package flow

import "sim/engine"

// Evaluator simulates one graph again and again under other capacities, for policies that search. It keeps no trace and
// allocates nothing between runs. It is not safe for concurrent use: make one a worker with Clone.
type Evaluator struct {
	sim        *sim
	bounds     bounds
	fork       *fork          // set by Fork
	queueBound *queueBound    // set by QueueBound
	deadlines  *deadlineCheck // set by Misses

	fair *fairShareBound // set by PrepareFairBound

	ownsModel     bool // z's model is not shared
	queueCapacity int  // events that z's queue has room for, once SetChanges has asked
}

// NewEvaluator prepares g on n under r, which must not change afterwards, for the given service. It fails where Run
// would.
func NewEvaluator(g *engine.Graph, n *engine.Network, r *engine.Routes, s Service) (*Evaluator, error) {
	m, err := newModel(g, n, r)
	if err != nil {
		return nil, err
	}
	return newEvaluator(m, s), nil
}

func newEvaluator(m *model, s Service) *Evaluator {
	e := &Evaluator{sim: newSim(m, s)}
	e.bounds.init(m)
	return e
}

// Clone returns an evaluator that shares what does not change and has the same capacities, durations, changes, tails
// and context.
func (e *Evaluator) Clone() *Evaluator {
	c := newEvaluator(e.sim.model, e.sim.service)
	copy(c.sim.initialCapacity, e.sim.initialCapacity)
	c.sim.givenTails, c.sim.ctx = e.sim.givenTails, e.sim.ctx
	if e.ownsModel {
		c.ownModel()
	}
	return c
}

// SetRate sets the capacity of a resource, in bits per second, from the start of the next run on.
func (e *Evaluator) SetRate(resource int32, bitsPerSecond float64) {
	e.sim.initialCapacity[resource] = bitsPerSecond * perTick
}

// SetService changes how capacity is shared.
func (e *Evaluator) SetService(s Service) { e.sim.service = s }

// Makespan simulates the graph. It returns false, and no makespan, when the makespan is proved to be at least cutoff,
// when the graph cannot be simulated to its end, or when the context has ended. engine.Never is no cut-off.
func (e *Evaluator) Makespan(cutoff engine.Time) (engine.Time, bool) {
	ok := e.sim.run(cutoff)
	return e.sim.makespan, ok
}

// Events returns the number of starts and ends of transfers in the last run.
func (e *Evaluator) Events() int64 { return e.sim.events }

// Bound returns a lower bound on the makespan at the current capacities that holds for every way of sharing them; see
// bounds.
func (e *Evaluator) Bound() engine.Time { return e.bounds.makespan(e.sim) }
