package fleets

import (
	"fmt"
	"math/bits"

	"sim/policies/placement"
	"sim/workloads/fleet"
)

// TimeUse is what chip-time goes to. Every chip-millisecond of every pod is one of them.
type TimeUse int

// Uses.
const (
	Work       TimeUse = iota // that is kept, at full speed
	Routing                   // that work takes longer on routes round a fault
	Checkpoint                // writing them
	Rework                    // lost since the last checkpoint
	Detection                 // from a failure until the job leaves, and while a standby takes over
	Connection                // waiting for the pod manager, mirrors and links
	Preflight
	Session
	Reservation // kept for a job whose place others are leaving
	Idle        // could be given to a job
	Down        // machines that are broken, with no job on them
	Maintenance // planned, from when nothing more is placed there
	NumUses
)

// String names a use, as metrics do.
func (u TimeUse) String() string {
	return [...]string{"work", "routing", "checkpoint", "rework", "detection", "connecting",
		"preflight", "session", "holding", "idle", "down", "maintenance"}[u]
}

// chipAccount adds up chip-time between From and Until.
type chipAccount struct {
	from, until   fleet.Time
	byUse         [NumUses]int64 // chip-milliseconds
	requestedWork float64        // chip-milliseconds that the work which is kept would take on the slices that were asked for
	occupiedTime  int64          // of chips that a job has; what jobs are charged must be as much
	now           fleet.Time
	unoccupied    [NumUses]int64 // of chips without a job, at now
	occupiedChips int64          // chips that a job has, at now
}

// measuredPart returns the part of a span that is measured.
func (a *chipAccount) measuredPart(from, to fleet.Time) int64 {
	return int64(max(0, min(to, a.until)-max(from, a.from)))
}

// advance charges the time up to a moment.
func (a *chipAccount) advance(to fleet.Time) {
	if span := a.measuredPart(a.now, to); span > 0 {
		for u := Reservation; u < NumUses; u++ {
			a.byUse[u] += a.unoccupied[u] * span
		}
		a.occupiedTime += a.occupiedChips * span
	}
	a.now = to
}

// charge charges a span of a job's chips to a use.
func (a *chipAccount) charge(u TimeUse, chips int, from, to fleet.Time) {
	a.byUse[u] += int64(chips) * a.measuredPart(from, to)
}

// addCube adds, times sign, what a cube has of chips by use.
func (a *chipAccount) addCube(c *placement.Cube, sign int64) {
	used := int64(bits.OnesCount64(c.Used))
	free := int64(fleet.CubeChips) - used
	a.occupiedChips += sign * used
	if c.Closed > 0 {
		a.unoccupied[Maintenance] += sign * free
		return
	}
	down := int64(bits.OnesCount64(c.Down &^ c.Used))
	a.unoccupied[Down] += sign * down
	held := int64(bits.OnesCount64(c.Held &^ (c.Used | c.Down)))
	a.unoccupied[Reservation] += sign * held
	a.unoccupied[Idle] += sign * (free - down - held)
}

// check fails where chip-time is not conserved.
func (a *chipAccount) check(chips int) error {
	sum, jobTime := int64(0), int64(0)
	for u, n := range a.byUse {
		sum += n
		if TimeUse(u) < Reservation {
			jobTime += n
		}
	}
	if want := int64(chips) * int64(a.until-a.from); sum != want ||
		jobTime != a.occupiedTime {
		return fmt.Errorf("fleet: chip-time is not conserved: %d chip-ms of %d are accounted for, %d of the %d that jobs had", sum, want, jobTime, a.occupiedTime)
	}
	return nil
}
