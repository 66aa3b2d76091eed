// Package fleets simulates pods of cubes over months. Jobs wait in a queue, get
// cubes from a placement, are connected and checked, run with checkpoints, are
// interrupted, and end. Machines, links and optical switches fail, are repaired
// and maintained.
//
// The open decision is the placement (policies/placement). The package does not
// depend on the name of any placement.
//
// The simulation is event-driven with a resolution of a millisecond. The network
// inside a slice is not simulated: a job has a fixed amount of work, and failed
// switches or other slices stretch it by a slowdown (package slowdown). Every
// millisecond of every chip is charged to a TimeUse, and the simulation checks
// that none is lost.
//
// Start reading with Config, the input of a simulation, then simulation, its state
// and event loop, and Outcome, its result. Events of jobs and parts are in
// events.go, the scheduling of waiting jobs is in schedule.go, and preemption.go
// makes space for jobs that do not fit. fleetSystem implements assembly.System.
package fleets

import (
	"context"

	"sim/fabric/torus"
	"sim/workloads/fleet"
)

// Values of Queue.Discipline. Under each of them, waiting jobs are ordered by priority band.
// Within a band, jobs that were interrupted come first, and then the order of submission
// counts.
const (
	// FCFS (first come, first served) starts no job before an earlier one that does not fit.
	FCFS = "fcfs"
	// Backfill starts any job that fits.
	Backfill = "backfill"
	// EASY starts any job that fits and, by the users' estimates of durations, does not
	// delay the first job that does not fit (Lifka, "The ANL/IBM SP Scheduling System",
	// JSSPP 95).
	EASY = "easy"
)

// Values of FaultPolicy.OCS and FaultPolicy.Machine: the reactions to a failed switch, or to
// a failed machine or link.
const (
	ReactionWait       = "wait"        // switch: wait until it is repaired
	ReactionRoute      = "route"       // switch: restart on paths around it, if the job accepts them
	ReactionInPlace    = "in-place"    // switch: change the paths without a restart
	ReactionReschedule = "reschedule"  // machine or link: restart on other cubes
	ReactionStandby    = "hot-standby" // machine or link: a free cube takes over; no work is lost
	ReactionCheapest   = "cheapest"    // the reaction with the lowest expected loss of time, except in-place
)

// Values of FaultPolicy.Maintenance: when planned maintenance of a cube starts.
const (
	MaintenanceDrain    = "drain"      // when it is due; jobs write a checkpoint and leave
	MaintenanceAtJobEnd = "at-job-end" // no job is placed; maintenance starts when the last job has ended
)

// Values of FaultPolicy.Order: which part is repaired next.
const (
	RepairSwitchesFirst = "switches" // switches before other parts
	RepairByArrival     = "arrival"  // in the order of failures
)

// Times are the durations of operations. docs/fleet.md gives their sources.
type Times struct {
	Detect       fleet.Time // from a failure to the reaction
	Poll         fleet.Time // interval at which the pod manager connects waiting jobs
	Switch       fleet.Time // the mirrors of switches move; all mirrors of a job move at the same time
	LinkTraining fleet.Time // after that, links are trained and verified
	Preflight    fleet.Time // check of the machines; 0 means none
	Session      fleet.Time // compile, set up, restore a checkpoint
	Checkpoint   fleet.Time // write a checkpoint; the job stops for this time
	Interval     fleet.Time // work between checkpoints; 0 means Daly's optimum for the job's size
	Notice       fleet.Time // before a preemption; a checkpoint that takes longer is not written
	Standby      fleet.Time // move the state to a standby cube
}

// Config is the input of a simulation: the fleet, its jobs and its failures. A
// simulation does not change it.
type Config struct {
	Queue
	FaultPolicy
	Seed uint64    // of all random numbers
	Pods int       // number of pods
	Pod  torus.Pod // each of them
	// Record stores all events, for the files and figures of a run.
	Record bool
	// MeasuredCubes is the number of cubes of a slice whose availability is
	// measured; 0 means none.
	MeasuredCubes int
	// Jobs returns a source of the jobs, which are the same in each call.
	Jobs    func() fleet.Source
	LogNote string // properties that a log of jobs lacks; "" if it is complete

	Rates      fleet.Rates // failures and repairs, by kind of part
	Start, End fleet.Time  // measured time; the simulation begins at 0
	Times      Times

	MinPreemptionGap fleet.Time // minimum time between two preemptions of a job
	CampaignStart    fleet.Time // time when maintenance of all switches is due; 0 means never
	// SilentShare is the share of failures of idle machines that only preflight or
	// a job detects. MissedShare is the share of these that preflight misses. The
	// job then fails after an hour on average.
	SilentShare, MissedShare float64
	// RouteSlowdown returns the factor by which a job's step takes longer on paths
	// around a failed switch of dimension dim. It is at least 1, or 0 if the job
	// must wait for the switch. With two failed switches, jobs always wait.
	RouteSlowdown func(ctx context.Context, j *fleet.Job, dim int) (float64, error)
	// ShapeSlowdown returns the duration of a job's step on another slice with the same
	// number of chips, relative to its own slice.
	ShapeSlowdown func(ctx context.Context, j *fleet.Job, s fleet.Shape) (float64, error)
}

// chips returns the number of chips of the fleet.
func (c *Config) chips() int { return c.Pods * c.Pod.Chips() }

// withoutSwitches returns the same fleet without optical switches.
func (c *Config) withoutSwitches() *Config {
	static := *c
	static.Rates[fleet.Switch].PerDay = 0
	static.Rates[fleet.SwitchWork].PerDay = 0
	static.CampaignStart = 0
	return &static
}
