// This file finds out which single change of a fleet would improve its goodput, by
// simulating each change with the same seeds as the unchanged fleet (common random
// numbers).

package scenarios

import (
	"context"
	"fmt"
	"math"
	"runtime"

	"sim/engine"
	"sim/internal/parallel"
	"sim/scenarios/result"
)

// fleetChange is a single change of a scenario that may improve it.
type fleetChange struct {
	description string   // for people, such as "queue: easy"
	overrides   []string // overrides that make the change, as for Parse
}

// fleetChanges lists changes of a fleet under a placement: spare cubes, repair times,
// reactions to faults, checkpoints, queues and other placements.
func (s *Scenario) fleetChanges(policy string) []fleetChange {
	p, f := &s.Policy.Fleet, &s.Workload.Faults
	var list []fleetChange
	add := func(description string, overrides ...string) {
		list = append(list, fleetChange{description, overrides})
	}

	// half returns an override that halves a time. toggle returns one that inverts a flag.
	// other adds a change per value of a key other than the current value.
	half := func(key string, t engine.Time) string { return fmt.Sprintf("%s=%gs", key, t.Seconds()/2) }
	toggle := func(name, key string, value bool) {
		add(fmt.Sprintf("%s: %t", name, !value), fmt.Sprintf("%s=%t", key, !value))
	}
	other := func(description, key, current string, values ...string) {
		for _, v := range values {
			if v != current {
				add(fmt.Sprintf(description, v), key+"="+v)
			}
		}
	}

	// Repairs and maintenance of the hardware.
	if s.Workload.FaultLog.File == "" {
		add("machines are repaired in half the time",
			half("workload.faults.machine_repair", f.MachineRepair),
			half("workload.faults.machine_repair_median", f.MachineMedian))
	}
	add("cables are replaced in half the time", half("workload.faults.link_repair", f.LinkRepair))
	add("switches are repaired in half the time", half("workload.faults.ocs_repair", f.OCSRepair))
	if f.Availability < 1 {
		add("maintenance takes half the time", half("workload.faults.maintenance", f.MaintenanceTime),
			fmt.Sprintf("workload.faults.host_availability=%g", 1-(1-f.Availability)/2))
	}

	// Reactions to faults.
	other("a switch that is down: %s", "policy.fault.ocs", p.Fault.OCS,
		"wait", "route", "in-place", "cheapest")
	other("a machine or link that is down: %s", "policy.fault.machine", p.Fault.Machine,
		"reschedule", "hot-standby", "cheapest")
	other("maintenance begins: %s", "policy.fault.maintenance", p.Fault.Maintenance, "drain", "at-job-end")

	// The queue of jobs.
	if p.Queue.Reserve > 0 {
		add("no cube is held back", "policy.queue.reserve=0")
	} else {
		add("two cubes are held back", "policy.queue.reserve=2")
	}

	other("queue: %s", "policy.queue.discipline", p.Queue.Discipline, "fcfs", "backfill", "easy")
	toggle("preemption", "policy.queue.preemption", p.Queue.Preemption)
	toggle("defragmentation", "policy.queue.defragmentation", p.Queue.Defragment)

	// Times that jobs lose to operations.
	if p.Times.Interval > 0 {
		add("checkpoints at Daly's interval", "policy.times.checkpoint_interval=0s")
	} else {
		add("a checkpoint every hour", "policy.times.checkpoint_interval=1h")
	}

	add("checkpoints are written in half the time", half("policy.times.checkpoint", p.Times.Checkpoint))
	add("sessions are set up in half the time", half("policy.times.session", p.Times.Session))
	if p.Times.Preflight > 0 {
		add("no preflight", "policy.times.preflight=0s")
	}

	// Other placements.
	for i := range placements {
		if name := placements[i].name; name != policy {
			add("placement: "+name, `policy.placements=["`+name+`"]`)
		}
	}
	return list
}

// Effort of Gains.
const (
	// maxGainSeeds is the number of seeds per change for small fleets that have one seed.
	// The differences give a standard error.
	maxGainSeeds = 5
	// maxGainPodDays limits seeds times days times pods, to maxGainSeeds seeds of one pod
	// in the default 60 days. Larger fleets use fewer seeds, at least one.
	maxGainPodDays = 300
)

// Gains simulates single changes of a fleet under a placement, with the seeds of the fleet or,
// if it has one seed, with more. It returns the number of seeds. Each gain compares a change with the unchanged scenario for the same seeds. With
// one seed, the standard error follows from the differences in equal parts of the simulated
// time (batch means).
// Gains returns nothing for scenarios that are not fleets.
func (s *Scenario) Gains(ctx context.Context, policy string) (gains []result.Gain, seeds int, err error) {
	if s.decision().policyKey != "placements" {
		return nil, 0, nil
	}

	if seeds = s.Workload.Fleet.Seeds; seeds == 1 {
		seeds = max(1, min(maxGainSeeds, maxGainPodDays/(s.Workload.Fleet.Days*s.Fabric.Cubes.Pods)))
	}

	// Element 0 is the unchanged scenario.
	text := s.WithPolicy(policy).TOML()
	changes := append([]fleetChange{{}}, s.fleetChanges(policy)...)
	values := make([][]float64, len(changes)) // by seed, or by part of the time for one seed
	failed := make([]error, len(changes))

	// Simulate all changes in parallel, on all processors.
	if err := parallel.Do(ctx, runtime.GOMAXPROCS(0), len(changes), func(i int) {
		for k := range seeds {
			row, err := simulateChange(
				ctx, text,
				append(changes[i].overrides, "workload.seeds=1", fmt.Sprintf("seed=%d", s.Seed+uint64(k))),
			)
			if failed[i] = err; err != nil {
				return
			}
			if seeds == 1 {
				values[i] = row.BatchMeans
			} else {
				values[i] = append(values[i], row.Metrics["work_done"])
			}
		}
	}); err != nil {
		return nil, 0, err
	}
	if failed[0] != nil {
		return nil, 0, failed[0]
	}

	// A change that cannot be simulated is reported with its error.
	for i, c := range changes[1:] {
		g := result.Gain{Change: c.description}
		if err := failed[i+1]; err != nil {
			g.Failed = err.Error()
		} else {
			g.Mean, g.SE = pairedDifference(values[i+1], values[0])
		}

		gains = append(gains, g)
	}
	return gains, seeds, nil
}

// simulateChange returns the row of a fleet with one placement.
func simulateChange(ctx context.Context, text []byte, set []string) (result.Row, error) {
	s, err := Parse("scenario.toml", text, set)
	if err != nil {
		return result.Row{}, err
	}
	return s.firstRow(ctx)
}

// pairedDifference returns the mean of a[i] - b[i] and its standard error. The error is 0
// for a single pair.
func pairedDifference(a, b []float64) (mean, se float64) {
	n := float64(len(a))
	squares := 0.0
	for i := range a {
		mean += (a[i] - b[i]) / n
	}
	for i := range a {
		d := a[i] - b[i] - mean
		squares += d * d
	}
	if n < 2 {
		return mean, 0
	}
	return mean, math.Sqrt(squares / (n - 1) / n)
}
