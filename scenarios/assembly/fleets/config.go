// Package fleets simulates pods of cubes over months: jobs wait in a queue, get cubes by a placement, are connected and
// checked, run, take checkpoints, are interrupted, and end; machines, links and switches fail and are repaired. It knows
// no placement by name.
package fleets

import (
	"context"

	"sim/workloads/fleet"
)

// Values of Queue.Discipline. Within each, jobs come by band, those that were interrupted first, then by submission.
const (
	FCFS     = "fcfs"     // none before one that waits
	Backfill = "backfill" // any that fits
	EASY     = "easy"     // any that fits and, by the estimates, does not delay the first that does not
)

// Values of Fault.OCS and Fault.Machine.
const (
	ReactionWait       = "wait"        // of a switch: until it is repaired
	ReactionRoute      = "route"       // of a switch: restart on routes round it, if the job has opted in
	ReactionInPlace    = "in-place"    // of a switch: change routes without a restart
	ReactionReschedule = "reschedule"  // of a machine or link: restart on other cubes
	ReactionStandby    = "hot-standby" // of a machine or link: a free cube takes over, and no work is lost
	ReactionCheapest   = "cheapest"    // of both: what is expected to lose least time of those but in-place
)

// Values of Fault.Maintenance.
const (
	MaintenanceDrain    = "drain"      // jobs are told, take a checkpoint and leave
	MaintenanceAtJobEnd = "at-job-end" // nothing new is placed on it, and it begins when the last job has ended
)

// Values of Fault.Order.
const (
	RepairSwitchesFirst = "switches"
	RepairByArrival     = "arrival"
)

// Times are how long things take (FLEET's section 6 in the documents: the paper gives few).
type Times struct {
	Detect       fleet.Time // from a failure until it is acted upon
	Poll         fleet.Time // how often the pod manager looks for jobs to connect
	Switch       fleet.Time // mirrors move, all of a job at once
	LinkTraining fleet.Time // from there until links are up and verified
	Preflight    fleet.Time // 0 is none
	Session      fleet.Time // compile, set up, restore
	Checkpoint   fleet.Time // writing one, in which a job does not run
	Interval     fleet.Time // of work between checkpoints; 0 is Daly's for the job's size
	Notice       fleet.Time // that a job is given before it is preempted; where a checkpoint takes longer it takes none
	Standby      fleet.Time // state moves to a cube that takes over
}

// Config is a fleet, what it is asked to do and what befalls it. It is not changed by a simulation.
type Config struct {
	Queue
	Fault
	Seed             uint64
	Pods             int
	Record           bool                // what happens is kept, for the files and pictures of a run
	WatchedCubes     int                 // cubes of a slice whose availability is measured; 0 is none
	Jobs             func() fleet.Source // the same jobs each time
	LogNote          string              // what a log of them lacks, "" for nothing
	Rates            fleet.Rates
	Start, End       fleet.Time // what is measured
	Times            Times
	MinPreemptionGap fleet.Time // a job is preempted once in such a time at most
	CampaignStart    fleet.Time // when all switches are due for maintenance; 0 is never
	SilentShare      float64    // share of failures of idle machines that only preflight or a job finds
	MissedShare      float64    // share of those that preflight misses; the job then fails, an hour into its run on average
	// RouteSlowdown is how many times longer a job's step takes on routes round a switch of a dimension that is down, at
	// least 1, or 0 where it waits for the switch. With two switches down jobs wait.
	RouteSlowdown func(ctx context.Context, j *fleet.Job, dim int) (float64, error)
	// ShapeSlowdown is how many times as long a job's step takes on another slice of as many chips.
	ShapeSlowdown func(ctx context.Context, j *fleet.Job, s fleet.Shape) (float64, error)
}

// chips returns the chips of the fleet.
func (c *Config) chips() int { return c.Pods * fleet.PodCubes * fleet.CubeChips }

// withoutSwitches returns c for pods without optical switches: none fails or is maintained.
func (c *Config) withoutSwitches() *Config {
	own := *c
	own.Rates[fleet.Switch].PerDay, own.Rates[fleet.SwitchWork].PerDay, own.CampaignStart = 0, 0, 0
	return &own
}
