package fleets

import (
	"fmt"
	"math/bits"

	"sim/policies/placement"
	"sim/workloads/fleet"
)

// TimeUse is a use of chip-time. Every chip-millisecond of every pod belongs to
// exactly one use.
type TimeUse int

// Uses of chip-time. Chips have a job in all uses before Reservation.
const (
	Work        TimeUse = iota // at full speed, not lost later
	Routing                    // additional time of work on paths around a failed switch
	Checkpoint                 // writing checkpoints
	Rework                     // work lost since the last checkpoint
	Detection                  // from a failure until the job leaves, or while a standby cube takes over
	Connection                 // waiting for the pod manager, mirrors and link training
	Preflight                  // check of the machines before a run
	Session                    // setting up a session and restoring a checkpoint
	Reservation                // free, but claimed for a job
	Idle                       // available to any job
	Down                       // failed, without a job
	Maintenance                // planned, from the time when no job may be placed there
	NumUses                    // number of uses
)

// String returns the name of a use in metrics.
func (u TimeUse) String() string {
	return [...]string{
		"work", "routing", "checkpoint", "rework", "detection", "connecting",
		"preflight", "session", "holding", "idle", "down", "maintenance",
	}[u]
}

// chipAccount adds up chip-time by use in the measured time. Chips without a job
// are charged at each event; chips of jobs are charged when a phase of a job ends.
type chipAccount struct {
	from, until fleet.Time     // measured time
	byUse       [NumUses]int64 // in chip-milliseconds
	// requestedWork is the time, in chip-milliseconds, that the work would take on
	// the slices that the jobs requested.
	requestedWork float64
	// occupiedTime is the time of chips with a job, in chip-milliseconds. It must
	// equal the sum of the uses before Reservation.
	occupiedTime  int64
	now           fleet.Time
	unoccupied    [NumUses]int64 // chips without a job at time now, by use
	occupiedChips int64          // chips with a job at time now
}

// measuredPart returns the part of a span of time that is measured.
func (a *chipAccount) measuredPart(from, to fleet.Time) int64 {
	return int64(max(0, min(to, a.until)-max(from, a.from)))
}

// advance charges the chips without a job up to time to.
func (a *chipAccount) advance(to fleet.Time) {
	if span := a.measuredPart(a.now, to); span > 0 {
		for u := Reservation; u < NumUses; u++ {
			a.byUse[u] += a.unoccupied[u] * span
		}
		a.occupiedTime += a.occupiedChips * span
	}
	a.now = to
}

// charge charges a span of time of a job's chips to a use.
func (a *chipAccount) charge(u TimeUse, chips int, from, to fleet.Time) {
	a.byUse[u] += int64(chips) * a.measuredPart(from, to)
}

// addCube adds the chips of a cube to the counts by use. sign is 1, or -1 to
// remove them.
func (a *chipAccount) addCube(c *placement.Cube, sign int64) {
	used := int64(bits.OnesCount64(c.Used))
	free := int64(fleet.CubeChips) - used
	a.occupiedChips += sign * used

	// Every other chip of a cube in maintenance is unavailable. In other cubes it
	// is down, reserved or idle.
	if c.Closed > 0 {
		a.unoccupied[Maintenance] += sign * free
		return
	}

	// Chips of jobs count as occupied even if their machine is down.
	down := int64(bits.OnesCount64(c.Down &^ c.Used))
	a.unoccupied[Down] += sign * down
	held := int64(bits.OnesCount64(c.Held &^ (c.Used | c.Down)))
	a.unoccupied[Reservation] += sign * held
	a.unoccupied[Idle] += sign * (free - down - held)
}

// check fails if chip-time is not conserved. The uses must add up to the time of
// all chips, and the uses of jobs to the time of occupied chips.
func (a *chipAccount) check(chips int) error {
	sum, jobTime := int64(0), int64(0)

	for u, n := range a.byUse {
		sum += n
		if TimeUse(u) < Reservation {
			jobTime += n
		}
	}
	want := int64(chips) * int64(a.until-a.from)
	if sum != want || jobTime != a.occupiedTime {
		return fmt.Errorf("fleet: chip-time is not conserved: uses add up to %d chip-ms, want %d; uses of jobs to %d chip-ms, want %d",
			sum, want, jobTime, a.occupiedTime)
	}
	return nil
}
