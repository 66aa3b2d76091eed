package packet

import (
	"fmt"

	"sim/engine"
)

// reactionState is the state of Options.React, a function of the caller that changes links
// when tasks end. sim.simulate calls it between two calls of the event loop.
type reactionState struct {
	ended   []int32         // tasks that have ended since the last call, in order
	endTime engine.Time     // when they ended
	changes []engine.Change // returned by the last calls and not applied yet
	wake    engine.Time     // time of the next call; 0 before the first call
}

// nextTime returns the time of the next change or call.
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

// callReaction applies the changes of earlier calls up to now. Then it calls
// Options.React, if tasks have ended or its wake time has come, and applies the returned
// changes for the current time.
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
		return fmt.Errorf("%w: the reaction at %v returned the wake time %v; want a later time", ErrWork, now, wake)
	}

	if changes == nil {
		return nil
	}
	earliest := now
	for _, c := range changes {
		if c.Link < 0 || int(c.Link) >= len(z.queued) || !c.Planned || c.At < earliest || c.Rate != 0 && !(c.Rate >= minRate) {
			return fmt.Errorf("%w: the reaction at %v changes link %d to %g b/s at %v; want planned changes in order of time", ErrWork, now, c.Link, c.Rate, c.At)
		}
		earliest = c.At
	}
	r.changes = changes
	z.applyChanges(now)
	return nil
}

// applyChanges applies the changes returned by reactions up to time now.
func (z *sim) applyChanges(now engine.Time) {
	r := &z.reaction
	for ; len(r.changes) > 0 && r.changes[0].At <= now; r.changes = r.changes[1:] {
		z.applyChange(r.changes[0])
	}
}
