package fleets

import (
	"testing"

	"sim/workloads/fleet"
)

// machineLog returns failures of machines from a log with one server per machine
// of a pod, each read from its start.
func machineLog(outages func(machine int) []fleet.Outage, span fleet.Time) fleet.Process {
	const n = podCubes * cubeHosts
	// A log in which each server has a different time shows which server each
	// machine reads.
	probe := &fleet.FaultLog{Servers: make([][]fleet.Outage, n), Span: fleet.Day}
	for s := range n {
		probe.Servers[s] = []fleet.Outage{{Start: fleet.Time(s), Duration: 1}}
	}
	p, log := probe.Process(), &fleet.FaultLog{Servers: make([][]fleet.Outage, n), Span: span}
	for machine := range n {
		server, _, _ := fleet.NewFailures(&p, 1, fleet.PartID{Kind: fleet.Machine, Number: machine}, 1, n).Next(0)
		log.Servers[server] = outages(machine)
	}
	return log.Process()
}

// TestLostCheckpoint checks failures while a preempted job writes its checkpoint,
// or while a job moves to a hot standby. The job loses the work since its last
// complete checkpoint, and the time of the write or move.
func TestLostCheckpoint(t *testing.T) {
	const interval, writing = 40 * fleet.Minute, 10 * fleet.Minute
	half := parseShape(t, "8x16x16")
	allFailAt := func(from fleet.Time) func(int) []fleet.Outage {
		return func(int) []fleet.Outage { return []fleet.Outage{{Start: from, Duration: fleet.Minute}} }
	}
	for _, tt := range []struct {
		name     string
		machine  string
		interval fleet.Time
		outages  func(machine int) []fleet.Outage
		saved    fleet.Time // saved work of the first job at the end of its first attempt
		rework   fleet.Time
		end      string
	}{
		{"no failure", ReactionReschedule, fleet.Day, allFailAt(20 * fleet.Hour), fleet.Hour,
			0, "evicted"},
		// The other job, on twice as many chips, loses a millisecond.
		{"after it", ReactionReschedule, fleet.Day, allFailAt(70*fleet.Minute + 1),
			fleet.Hour, 2, "evicted"},
		{"during it", ReactionReschedule, fleet.Day, allFailAt(65 * fleet.Minute), 0,
			65 * fleet.Minute,
			"interrupted"},
		{"during it, after another", ReactionReschedule, interval,
			allFailAt(65 * fleet.Minute), interval,
			15 * fleet.Minute, "interrupted"},
		{"during a move to a standby", ReactionStandby, fleet.Day, func(machine int) []fleet.Outage {
			if machine == 0 {
				return []fleet.Outage{{Start: 30 * fleet.Minute, Duration: fleet.Hour}}
			}
			return []fleet.Outage{{Start: 35 * fleet.Minute, Duration: fleet.Minute}}
		}, 0, 30 * fleet.Minute, "interrupted"},
	} {
		c := quietFleet(sourceOf(
			fleet.Job{Shape: half, Work: 10 * fleet.Hour, Estimate: 10 * fleet.Hour,
				Band: fleet.Batch},
			fleet.Job{Submit: fleet.Hour, Shape: parseShape(t, "16x16x16"), Work: fleet.Hour,
				Estimate: fleet.Hour, Band: fleet.Prod},
		), 19*fleet.Hour)

		c.Rates[fleet.Machine] = machineLog(tt.outages, 100*fleet.Day)
		c.Machine, c.SilentShare, c.Preemption, c.Record = tt.machine, 0, true, true
		c.Times = Times{Checkpoint: writing, Interval: tt.interval, Notice: fleet.Hour,
			Standby: 10 * fleet.Minute}
		o := simulate(t, c, "reconfigurable")
		first := o.recorder.attempts[0]
		if first.number != 0 || first.doneWork != tt.saved || first.end != tt.end {
			t.Errorf("%s: got job %d %s with %v of saved work, want job 0 %s with %v", tt.name,
				first.number, first.end, first.doneWork, tt.end, tt.saved)
		}
		if want := int64(tt.rework) * int64(half.Chips()); o.TimeByUse[Rework] != want {
			t.Errorf("%s: got %d chip-ms of rework, want %d", tt.name, o.TimeByUse[Rework], want)
		}
		if o.Ended != 2 {
			t.Errorf("%s: got %d completed jobs, want 2", tt.name, o.Ended)
		}
	}
}

// TestLoggedOutages checks an outage in a log that started before the simulation.
// Its machine is down from time 0, before jobs that are submitted then, until the
// end in the log, and does not count as a failure. Repair crews do not lengthen
// outages of a log.
func TestLoggedOutages(t *testing.T) {
	for _, crews := range []int{0, 1} {
		c := quietFleet(sourceOf(fleet.Job{Shape: parseShape(t, "16x16x16"), Work: fleet.Hour,
			Estimate: fleet.Hour}), fleet.Day)
		c.Rates[fleet.Machine] = machineLog(func(machine int) []fleet.Outage {
			if machine%2 == 0 {
				return []fleet.Outage{{Start: 0, Duration: 2 * fleet.Hour},
					{Start: 20 * fleet.Hour, Duration: 10 * fleet.Hour}}
			}
			return nil
		}, 100*fleet.Day)

		c.Times.Detect, c.Record, c.Crews, c.SilentShare = fleet.Minute, true, crews, 0
		o := simulate(t, c, "reconfigurable")
		if got, want := o.TimeByUse[Down], int64(2048)*int64(6*fleet.Hour); got != want {
			t.Errorf("got %d chip-ms down, want %d", got, want)
		}
		if a := o.recorder.attempts[0]; a.placedAt != 2*fleet.Hour || o.Ended != 1 {
			t.Errorf("the job starts at %v, want 2h; got %d completed jobs, want 1",
				a.placedAt, o.Ended)
		}
		if o.Failures[fleet.Machine] != 512 || o.Repairs[fleet.Machine] != 512 {
			t.Errorf("got %d failures and %d repairs, want 512 of each",
				o.Failures[fleet.Machine],
				o.Repairs[fleet.Machine])
		}
	}
}
