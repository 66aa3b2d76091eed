package packet

import (
	"fmt"

	"sim/engine"
)

// reaction is the state of Options.React.
type reaction struct {
	ended   []int32     // tasks that have ended since it was called last
	at      engine.Time // when they have
	changes []engine.Change
	wake    engine.Time // 0 if it has not been called
}

// next returns the time of the next change, or at which Options.React is to be called next.
func (r *reaction) next() engine.Time {
	at := engine.Never
	if r.wake > 0 {
		at = r.wake
	}
	if len(r.changes) > 0 {
		at = min(at, r.changes[0].At)
	}
	return at
}

// react makes the changes of links that are due, and calls Options.React if it is to be called now, whose changes it
// makes too.
func (z *sim) react(now engine.Time) error {
	r := &z.reaction
	if z.o.React == nil {
		return nil
	}
	z.due(now)
	if len(r.ended) == 0 && r.wake > now {
		return nil
	}
	changes, wake := z.o.React(now, r.ended, func(link int32) engine.Time {
		if l := &z.servers[link]; l.state&sending != 0 {
			return l.end
		}
		return now
	})
	r.ended, r.wake = r.ended[:0], wake
	if wake <= now {
		return fmt.Errorf("%w: a reaction at %v asks to be called at %v; want a later time", ErrWork, now, wake)
	}
	if changes == nil {
		return nil
	}
	before := now
	for _, c := range changes {
		if c.Link < 0 || int(c.Link) >= len(z.servers) || !c.Planned || c.At < before || c.Rate != 0 && !(c.Rate >= slowest) {
			return fmt.Errorf("%w: a reaction at %v changes link %d to %g b/s at %v; want planned changes in order", ErrWork, now, c.Link, c.Rate, c.At)
		}
		before = c.At
	}
	r.changes = changes
	z.due(now)
	return nil
}

// due makes the changes that reactions have asked for up to a time.
func (z *sim) due(now engine.Time) {
	r := &z.reaction
	for ; len(r.changes) > 0 && r.changes[0].At <= now; r.changes = r.changes[1:] {
		z.change(r.changes[0])
	}
}
