// Package fleets simulates pods of cubes over months: jobs wait in a queue, get cubes by a placement, are connected and
// checked, run, take checkpoints, are interrupted, and end; machines, links and switches fail and are repaired. It knows
// no placement by name.
package fleets

import (
	"context"

	"sim/workloads/fleet"
)

// Discipline is the order in which jobs that wait are tried.
type Discipline string

// Disciplines. Within each, jobs come by band, those that were interrupted first, then by submission.
const (
	FCFS     Discipline = "fcfs"     // none before one that waits
	Backfill Discipline = "backfill" // any that fits
	EASY     Discipline = "easy"     // any that fits and, by the estimates, does not delay the first that does not
)

// Reaction is what is done about a failure that hits a job.
type Reaction string

// Reactions.
const (
	Wait       Reaction = "wait"        // of a switch: until it is repaired
	Route      Reaction = "route"       // of a switch: restart on routes round it, if the job has opted in
	InPlace    Reaction = "in-place"    // of a switch: change routes without a restart
	Reschedule Reaction = "reschedule"  // of a machine or link: restart on other cubes
	HotStandby Reaction = "hot-standby" // of a machine or link: a free cube takes over, and no work is lost
	Cheapest   Reaction = "cheapest"    // of both: what is expected to lose least time of those but in-place
)

// Maintenance is how planned work on a cube begins.
type Maintenance string

// Maintenances.
const (
	Drain    Maintenance = "drain"      // jobs are told, take a checkpoint and leave
	AtJobEnd Maintenance = "at-job-end" // nothing new is placed on it, and it begins when the last job has ended
)

// Times are how long things take (FLEET's section 6 in the documents: the paper gives few).
type Times struct {
	Detect     fleet.Time // from a failure until it is acted upon
	Poll       fleet.Time // how often the pod manager looks for jobs to connect
	Switch     fleet.Time // mirrors move, all of a job at once
	Train      fleet.Time // from there until links are up and verified
	Preflight  fleet.Time // 0 is none
	Session    fleet.Time // compile, set up, restore
	Checkpoint fleet.Time // writing one, in which a job does not run
	Interval   fleet.Time // of work between checkpoints; 0 is Daly's for the job's size
	Notice     fleet.Time // that a job is given before it is preempted; where a checkpoint takes longer it takes none
	Standby    fleet.Time // state moves to a cube that takes over
}

// Config is a fleet, what it is asked to do and what befalls it. It is not changed by a simulation.
type Config struct {
	Seed         uint64
	Pods         int
	Record       bool                // what happens is kept, for the files and pictures of a run
	Watch        int                 // cubes of a slice whose availability is measured; 0 is none
	Jobs         func() fleet.Source // the same jobs each time
	Told         string              // what a log of them lacks, "" for nothing
	Rates        fleet.Rates
	From, Until  fleet.Time // what is measured
	Times        Times
	Discipline   Discipline
	OCS, Machine Reaction
	Maintenance  Maintenance
	Reserve      int        // cubes of a pod that only jobs which were interrupted may have
	Preempt      bool       // jobs of lower bands make way for those of higher ones
	Spared       fleet.Time // a job is preempted once in such a time at most
	Defragment   bool       // jobs are moved so that others fit
	Rolling      bool       // planned maintenance of switches waits until all others of the pod are up
	Campaign     fleet.Time // when all switches are due for maintenance; 0 is never
	Crews        int        // that repair; 0 is as many as there is work for
	SwitchFirst  bool       // they repair switches before all else
	Silent       float64    // share of failures of idle machines that only preflight or a job finds
	Missed       float64    // share of those that preflight misses; the job then fails, an hour into its run on average
	// Slowdown is how many times longer a job's step takes on routes round a switch of a dimension that is down, at
	// least 1, or 0 where it waits for the switch. With two switches down jobs wait.
	Slowdown func(ctx context.Context, j *fleet.Job, dim int) (float64, error)
	// Reshaped is how many times as long a job's step takes on another slice of as many chips.
	Reshaped func(ctx context.Context, j *fleet.Job, s fleet.Shape) (float64, error)
}

// chips returns the chips of the fleet.
func (c *Config) chips() int { return c.Pods * fleet.PodCubes * fleet.CubeChips }

// unswitched returns c for pods without optical switches: none fails or is maintained.
func (c *Config) unswitched() *Config {
	own := *c
	own.Rates[fleet.Switch].PerDay, own.Rates[fleet.SwitchWork].PerDay, own.Campaign = 0, 0, 0
	return &own
}
