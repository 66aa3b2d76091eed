package flow

import (
	"fmt"
	"slices"

	"sim/engine"
)

// ownModel gives e a model of its own the first time that something is to be changed in it which others share.
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

// SetDurations gives compute tasks other durations from the next run on, for this evaluator alone. d is by task; the
// entries of transfers are not read. It fails on a duration that is negative and where there is not one a task, and
// then changes nothing.
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

// SetChanges gives links other changes of rate in mid-run, from the next run on, for this evaluator alone. It fails
// where a Network with these changes would not be valid, and then changes nothing. The changes must stay as they are
// while they are in use. A state that Fork kept is dropped.
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

// SetTails makes the priority services go by tails that are known in advance, in ticks by task as Spans has them,
// instead of those of the graph as it is simulated: what a controller does that knows the plan but not what will come
// of it. nil goes back to the graph's own. tail must not change while it is in use. It fails where there is not one a
// task.
func (e *Evaluator) SetTails(tail []float64) error {
	tail, err := e.sim.extendTails(tail)
	if err != nil {
		return err
	}
	e.sim.givenTails = tail
	return nil
}
