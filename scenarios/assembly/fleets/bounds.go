// This file computes what every placement could achieve at best: upper bounds on goodput,
// lower bounds on turnaround, and the number of additional slices that fit.

package fleets

import (
	"context"

	"sim/engine"
	"sim/workloads/fleet"
)

// goodputBound returns an upper bound on the goodput of every placement. Each job
// contributes at most its work, and at most the work for which there is time after
// its submission and setup, with its checkpoints.
func goodputBound(ctx context.Context, c *Config) (float64, error) {
	jobs, sum := c.Jobs(), 0.0
	s := &simulation{config: c.withoutSwitches()} // without switches, failures are rarer and checkpoint intervals longer
	for n := 0; ; n++ {
		const checkEvery = 4096 // jobs between checks of ctx
		if n%checkEvery == 0 && ctx.Err() != nil {
			return 0, ctx.Err()
		}
		x, ok := jobs.Next()
		if !ok || x.Submit >= c.End {
			break
		}
		j := &fleetJob{Job: x, slowdown: 1}
		j.interval = s.checkpointInterval(j)
		remaining := c.End - max(c.Start, x.Submit+c.Times.Preflight+c.Times.Session)
		if remaining > 0 {
			// One of the checkpoints may have been written before the measured time, and
			// leaves its duration to work.
			work, _ := j.remainingRun(&c.Times).split(remaining)
			work = min(x.Work, work+c.Times.Checkpoint, remaining)
			sum += float64(x.Shape.Chips()) * float64(work)
		}
	}

	return min(1, sum/(float64(c.chips())*float64(c.End-c.Start))), nil
}

// uncontendedReference describes an ideal in which jobs do not compete for cubes. It covers
// the jobs that are submitted in the measured time and fit an empty pod.
type uncontendedReference struct {
	turnaround float64 // lower bound on the mean time from submission to the end, in seconds
	efficiency float64 // expected work relative to the time for which jobs have chips
}

// uncontendedBounds computes the reference for the jobs of the simulation.
//
// The bound on the turnaround is the larger of two bounds. In the first, each job
// starts when it is submitted. In the second, one server with all chips serves the
// job with the shortest remaining chip-time first. This discipline minimises the
// number of jobs in the system at any time, and therefore the sum of their times
// in the system (Schrage, "A proof of the optimality of the shortest remaining
// processing time discipline", 1968).
func (s *simulation) uncontendedBounds() uncontendedReference {
	c, source := s.config, s.config.Jobs()
	server := srptServer{chips: float64(c.chips()), remaining: engine.NewQueue(0)}
	var alone float64          // sum of turnarounds if each job starts at once, in milliseconds
	var work, occupied float64 // sums of work, and of the time for which jobs have chips, in chip-seconds
	for {
		x, ok := source.Next()
		if !ok || x.Submit >= c.End || s.ctx.Err() != nil {
			break
		}
		if x.Submit < c.Start {
			continue
		}
		j := &fleetJob{Job: x, slowdown: 1, requestedRatio: 1}
		if s.reshape(j); !s.counters.fitsEmptyPod[j.Shape] {
			continue
		}
		size, setup := float64(j.Shape.Chips()), s.setupTime(j)
		server.arrive(float64(j.Submit), size*float64(j.Work))
		alone += float64(min(j.Work+c.Times.Preflight+c.Times.Session, c.End-j.Submit))

		// Failures and checkpoints prolong a run. Planned maintenance interrupts
		// it after a checkpoint.
		j.interval = s.checkpointInterval(j)
		work += size * j.Work.Seconds()
		duration := fleet.ExpectedDuration(j.Work, j.interval, c.Times.Checkpoint,
			c.Times.Detect+setup, s.meanTimeToInterruption(j))
		departures := s.departuresPerDay(j) * duration.Days()
		departureTime := departures * (c.Times.Checkpoint + setup).Seconds()
		occupied += size * (setup.Seconds() + duration.Seconds() + departureTime)
	}

	n := float64(len(server.arrivals))
	if n == 0 {
		return uncontendedReference{}
	}
	turnaround := max(server.finish(float64(c.End)), alone) / n / 1000 // in seconds
	return uncontendedReference{turnaround, work / occupied}
}

// srptServer is a server with all chips of the fleet that serves the job with the
// shortest remaining processing time (SRPT) first. Times are in milliseconds.
type srptServer struct {
	chips, now float64
	sum        float64       // times in the system of the jobs that ended
	remaining  *engine.Queue // jobs, ordered by remaining chip-milliseconds
	arrivals   []float64     // arrival time, by job
}

// arrive serves until time at, and adds a job with the given chip-milliseconds.
func (r *srptServer) arrive(at, work float64) {
	r.serve(at)
	id := len(r.arrivals)
	r.arrivals = append(r.arrivals, at)
	r.remaining.Grow(2 * (id + 1)) // twice the jobs, so that few calls of arrive allocate
	r.remaining.Set(int32(id), engine.Time(work))
}

// serve serves jobs up to a time.
func (r *srptServer) serve(until float64) {
	for r.remaining.Len() > 0 {
		id, left := r.remaining.Pop()
		end := r.now + float64(left)/r.chips
		if end > until {
			r.remaining.Set(id, left-engine.Time((until-r.now)*r.chips))
			break
		}
		r.sum += end - r.arrivals[id]
		r.now = end
	}
	r.now = until
}

// finish serves jobs up to a time. It returns the sum of the times that jobs were
// in the system.
func (r *srptServer) finish(until float64) float64 {
	r.serve(until)
	for r.remaining.Len() > 0 {
		id, _ := r.remaining.Pop()
		r.sum += until - r.arrivals[id]
	}
	return r.sum
}

// newsvendorSpares returns the number of spare cubes per pod by the newsvendor
// model. Cubes fail independently, and a job that lacks one cube leaves all its
// others idle. The mean size of jobs is weighted by cube-time.
func newsvendorSpares(c *Config) int {
	const maxJobs = 10_000 // first jobs of the source; enough for a stable mean
	up := c.Rates.CubeAvailability(&c.Pod)
	cubes, time := 0.0, 0.0 // sums of the cubes of jobs, and of 1, both weighted by cube-time
	source := c.Jobs()

	for range maxJobs {
		j, ok := source.Next()
		if !ok {
			break
		}
		if k := float64(j.Shape.Cubes()); k > 0 {
			cubes += k * k * j.Work.Seconds()
			time += k * j.Work.Seconds()
		}
	}

	if time == 0 {
		return 0
	}
	return fleet.Newsvendor(c.Pod.Cubes, up, cubes/time)
}

// sampleFreeSlices counts how many more slices of 8 cubes fit, once per day while
// there are jobs. It counts the slices that the placement finds, and the maximum number of
// disjoint boxes of 2x2x2 free cubes in the grid.
func (s *simulation) sampleFreeSlices() {
	c, cube := &s.counters, s.config.Pod.Cube
	eightCubes := fleet.NewShape(cube, [3]int{2 * cube[0], 2 * cube[1], 2 * cube[2]})
	for ; c.nextSample*fleet.Day <= s.now; c.nextSample++ {
		if c.nextSample*fleet.Day < s.config.Start || s.account.occupiedChips == 0 {
			continue
		}
		c.samples++
		for p := range s.pods {
			c.maxSlicesFit += s.pods[p].MaxBoxes(eightCubes)
			trial := s.podWithout(p, noJobs)
			for {
				place, ok := s.policy.Place(trial, eightCubes)
				if !ok {
					break
				}
				markUsed(trial, &place)
				c.slicesFit++
			}
		}
	}
}
