package flow

import (
	"fmt"
	"slices"

	"sim/engine"
)

// ownModel returns the model of e for modification. The first call replaces the shared model by
// a copy.
func (e *Evaluator) ownModel() *model {
	if !e.ownsModel {
		m := *e.sim.model
		m.fixedDuration = slices.Clone(m.fixedDuration)
		net := *m.net
		m.net = &net
		e.sim.model, e.ownsModel = &m, true
	}
	return e.sim.model
}

// SetDurations replaces the durations of compute tasks from the next run on, for this evaluator
// alone. d is indexed by task; the entries of transfers are ignored. It returns an error, and
// changes nothing, if a duration is negative or if the number of durations differs from the
// number of tasks.
func (e *Evaluator) SetDurations(d []engine.Time) error {
	g := e.sim.graph
	if len(d) != len(g.Tasks) {
		return fmt.Errorf("flow: %d durations for a graph of %d tasks", len(d), len(g.Tasks))
	}

	for i := range d {
		if g.Tasks[i].Kind == engine.Compute && d[i] < 0 {
			return fmt.Errorf("flow: %s has a negative duration", g.Name(int32(i)))
		}
	}

	m := e.ownModel()
	for i := range d {
		if g.Tasks[i].Kind == engine.Compute {
			m.fixedDuration[i] = d[i]
		}
	}
	return nil
}

// SetChanges replaces the rate changes of links from the next run on, for this evaluator alone.
// The slice must not be modified while it is in use. A state saved by Fork is dropped. It
// returns an error, and changes nothing, if a Network with these changes would be invalid.
func (e *Evaluator) SetChanges(changes []engine.Change) error {
	net := *e.sim.net
	net.Changes = changes
	if err := net.Validate(); err != nil {
		return err
	}
	m := e.ownModel()
	if n := 2*m.tasks + len(changes); n > e.queueCapacity {
		e.sim.queue, e.queueCapacity = engine.NewQueue(n), n
	}
	m.net.Changes = changes
	e.fork = nil
	return nil
}

// SetTails makes LevelPriority and TailPriority use the given tails instead of the tails of the
// simulated graph, in ticks and indexed by task, as in Spans. This models a controller that has
// the planned durations but not the actual ones. nil restores the graph's own tails. tail must
// not change while it is in use. It returns an error if the number of tails differs from the
// number of tasks.
func (e *Evaluator) SetTails(tail []float64) error {
	tail, err := e.sim.extendTails(tail)
	if err != nil {
		return err
	}
	e.sim.givenTails = tail
	return nil
}
