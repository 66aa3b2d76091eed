package packet

import (
	"fmt"

	"sim/engine"
)

// reactionState is the state of Options.React.
type reactionState struct {
	ended   []int32     // tasks that have ended since it was called last
	endTime engine.Time // when they have
	changes []engine.Change
	wake    engine.Time // 0 if it has not been called
}

// nextTime returns the time of the next change, or at which Options.React is to be called next.
func (r *reactionState) nextTime() engine.Time {
	next := engine.Never
	if r.wake > 0 {
		next = r.wake
	}
	if len(r.changes) > 0 {
		next = min(next, r.changes[0].At)
	}
	return next
}

// callReaction makes the changes of links that are due, and calls Options.React if it is to be called now, whose changes it
// makes too.
func (z *sim) callReaction(now engine.Time) error {
	r := &z.reaction
	if z.options.React == nil {
		return nil
	}
	z.applyChanges(now)
	if len(r.ended) == 0 && r.wake > now {
		return nil
	}
	changes, wake := z.options.React(now, r.ended, func(link int32) engine.Time {
		if l := &z.queued[link]; l.state&stateSending != 0 {
			return l.sendEnd
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
	earliest := now
	for _, c := range changes {
		if c.Link < 0 || int(c.Link) >= len(z.queued) || !c.Planned || c.At < earliest || c.Rate != 0 && !(c.Rate >= minRate) {
			return fmt.Errorf("%w: a reaction at %v changes link %d to %g b/s at %v; want planned changes in order", ErrWork, now, c.Link, c.Rate, c.At)
		}
		earliest = c.At
	}
	r.changes = changes
	z.applyChanges(now)
	return nil
}

// applyChanges makes the changes that reactions have asked for up to a time.
func (z *sim) applyChanges(now engine.Time) {
	r := &z.reaction
	for ; len(r.changes) > 0 && r.changes[0].At <= now; r.changes = r.changes[1:] {
		z.applyChange(r.changes[0])
	}
}
