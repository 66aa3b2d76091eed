package fleets

import (
	"fmt"
	"math/bits"

	"sim/policies/placement"
	"sim/workloads/fleet"
)

// Use is what chip-time goes to. Every chip-millisecond of every pod is one of them.
type Use int

// Uses.
const (
	Work       Use = iota // that is kept, at full speed
	Routing               // that work takes longer on routes round a fault
	Checkpoint            // writing them
	Rework                // lost since the last checkpoint
	Detection             // from a failure until the job leaves, and while a standby takes over
	Connecting            // waiting for the pod manager, mirrors and links
	Preflight
	Session
	Holding     // kept for a job whose place others are leaving
	Idle        // could be given to a job
	Down        // machines that are broken, with no job on them
	Maintaining // planned, from when nothing more is placed there
	Uses
)

// String names a use, as metrics do.
func (u Use) String() string {
	return [...]string{"work", "routing", "checkpoint", "rework", "detection", "connecting", "preflight", "session", "holding", "idle", "down", "maintenance"}[u]
}

// account adds up chip-time between From and Until.
type account struct {
	from, until fleet.Time
	of          [Uses]int64 // chip-milliseconds
	asked       float64     // chip-milliseconds that the work which is kept would take on the slices that were asked for
	busy        int64       // of chips that a job has; what jobs are charged must be as much
	now         fleet.Time
	chips       [Uses]int64 // of chips without a job, at now
	used        int64       // chips that a job has, at now
}

// clip returns the part of a span that is measured.
func (a *account) clip(from, to fleet.Time) int64 {
	return int64(max(0, min(to, a.until)-max(from, a.from)))
}

// advance charges the time up to a moment.
func (a *account) advance(to fleet.Time) {
	if span := a.clip(a.now, to); span > 0 {
		for u := Holding; u < Uses; u++ {
			a.of[u] += a.chips[u] * span
		}
		a.busy += a.used * span
	}
	a.now = to
}

// charge charges a span of a job's chips to a use.
func (a *account) charge(u Use, chips int, from, to fleet.Time) {
	a.of[u] += int64(chips) * a.clip(from, to)
}

// count adds, times sign, what a cube has of chips by use.
func (a *account) count(c *placement.Cube, sign int64) {
	used := int64(bits.OnesCount64(c.Used))
	left := int64(fleet.CubeChips) - used
	a.used += sign * used
	if c.Closed > 0 {
		a.chips[Maintaining] += sign * left
		return
	}
	down := int64(bits.OnesCount64(c.Down &^ c.Used))
	a.chips[Down] += sign * down
	held := int64(bits.OnesCount64(c.Held &^ (c.Used | c.Down)))
	a.chips[Holding] += sign * held
	a.chips[Idle] += sign * (left - down - held)
}

// check fails where chip-time is not conserved.
func (a *account) check(chips int) error {
	sum, jobs := int64(0), int64(0)
	for u, n := range a.of {
		sum += n
		if Use(u) < Holding {
			jobs += n
		}
	}
	if want := int64(chips) * int64(a.until-a.from); sum != want || jobs != a.busy {
		return fmt.Errorf("fleet: chip-time is not conserved: %d chip-ms of %d are accounted for, %d of the %d that jobs had", sum, want, jobs, a.busy)
	}
	return nil
}
