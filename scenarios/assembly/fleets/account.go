// This file accounts for the chip-time of a fleet: one chip for one millisecond is one
// chip-millisecond, and each is charged to exactly one TimeUse.

package fleets

import (
	"fmt"
	"math/bits"

	"sim/policies/placement"
	"sim/workloads/fleet"
)

// TimeUse is a use of chip-time.
type TimeUse int

// Uses of chip-time. Chips have a job in the uses before Reservation, and no job from
// Reservation on.
const (
	Work        TimeUse = iota // work at full speed that is not lost later
	Routing                    // additional time of work on paths around a failed switch
	Checkpoint                 // writing checkpoints
	Rework                     // work lost since the last checkpoint
	Detection                  // a job stands still: its failure is not yet detected, or a standby cube takes over
	Connection                 // waiting for the pod manager, mirrors and link training
	Preflight                  // check of the machines before a run
	Session                    // setting up a session and restoring a checkpoint
	Reservation                // reserved for a job that waits until other jobs have left (placement.Cube.Held)
	Idle                       // available to any job
	Down                       // machine down, without a job
	Maintenance                // cube in planned maintenance, or closed to new jobs before it
	NumUses                    // number of uses
)

// String returns the name of a use in metrics. The names of Connection and Reservation are
// "connecting" and "holding", because results are compared by these names.
func (u TimeUse) String() string {
	return [...]string{
		"work", "routing", "checkpoint", "rework", "detection", "connecting",
		"preflight", "session", "holding", "idle", "down", "maintenance",
	}[u]
}

// chipAccount adds up chip-time by use in the measured time. Chips without a job are
// charged at each event of the simulation. Chips of a job are charged when one of its
// phases ends, such as its setup or its run (jobPhase).
type chipAccount struct {
	cubeChips   int64          // chips of a cube
	from, until fleet.Time     // measured time: from <= t < until
	byUse       [NumUses]int64 // in chip-milliseconds, indexed by TimeUse
	// requestedWork is the time, in chip-milliseconds, that the work would take on
	// the slices that the jobs requested.
	requestedWork float64
	// batchWork is requestedWork by equal parts of the measured time.
	batchWork [numBatches]float64
	// occupiedTime is the time of chips with a job, in chip-milliseconds. It must
	// equal the sum of the uses before Reservation.
	occupiedTime  int64
	now           fleet.Time     // chips without a job are charged up to this time
	unoccupied    [NumUses]int64 // chips without a job at time now, indexed by TimeUse
	occupiedChips int64          // chips with a job at time now
}

// numBatches is the number of equal parts of the measured time whose means estimate the
// standard error of a mean over a single run (method of batch means; Law, "Simulation
// Modeling and Analysis", 2015, section 9.5.3). 10 to 30 are usual. Few long batches
// depend less on each other.
const numBatches = 10

// batchStart returns the time at which part k of the measured time starts.
func (a *chipAccount) batchStart(k int) fleet.Time {
	return a.from + (a.until-a.from)*fleet.Time(k)/numBatches
}

// measuredPart returns the measured part of the time between from and to, in milliseconds.
func (a *chipAccount) measuredPart(from, to fleet.Time) int64 {
	return int64(max(0, min(to, a.until)-max(from, a.from)))
}

// advance charges the chips without a job for the time from a.now to time to.
func (a *chipAccount) advance(to fleet.Time) {
	if span := a.measuredPart(a.now, to); span > 0 {
		for u := Reservation; u < NumUses; u++ {
			a.byUse[u] += a.unoccupied[u] * span
		}
		a.occupiedTime += a.occupiedChips * span
	}
	a.now = to
}

// charge charges the time between from and to on a job's chips to a use.
func (a *chipAccount) charge(u TimeUse, chips int, from, to fleet.Time) {
	a.byUse[u] += int64(chips) * a.measuredPart(from, to)
}

// Signs for addCube.
const (
	toAdd    = 1
	toRemove = -1
)

// addCube adds the chips of a cube to the counts by use, or removes them. sign is toAdd or
// toRemove.
func (a *chipAccount) addCube(c *placement.Cube, sign int64) {
	used := int64(bits.OnesCount64(c.Used))
	free := a.cubeChips - used
	a.occupiedChips += sign * used

	// In a closed cube, all chips without a job count as maintenance. In other cubes
	// they are down, reserved or idle.
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
