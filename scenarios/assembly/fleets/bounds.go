package fleets

import (
	"context"

	"sim/engine"
	"sim/policies/placement"
	"sim/workloads/fleet"
)

// goodputBound returns what share of chip-time can be work that is kept, whatever the placement: of each job no more
// than its work, nor than there is time for from when it is submitted and set up, with its checkpoints.
func goodputBound(ctx context.Context, c *Config) (float64, error) {
	jobs, sum := c.Jobs(), 0.0
	s := &simulation{config: c.withoutSwitches()} // where checkpoints are farthest apart
	for n := 0; ; n++ {
		if n&(1<<12-1) == 0 && ctx.Err() != nil {
			return 0, ctx.Err()
		}
		x, ok := jobs.Next()
		if !ok || x.Submit >= c.End {
			break
		}
		j := &fleetJob{Job: x, slowdown: 1}
		j.interval = s.checkpointInterval(j)
		left := c.End - max(c.Start, x.Submit+c.Times.Preflight+c.Times.Session)
		if left > 0 {
			// Of a span that is measured at most one checkpoint more may lie before it.
			work, _ := j.remainingRun(&c.Times).split(left)
			sum += float64(x.Shape.Chips()) * float64(min(x.Work,
				work+c.Times.Checkpoint, left))
		}
	}

	return min(1, sum/(float64(c.chips())*float64(c.End-c.Start))), nil
}

// uncontended is what the jobs that are submitted in the time that is measured, and that the placement has room for, would
// come to without others in their way.
type uncontended struct {
	turnaround float64 // lower bound on the mean time from submission to the end, s
	efficiency float64 // work over the time that jobs have chips, as failures and checkpoints are expected to have it
}

// uncontendedBounds computes it. The bound on turnaround is the greater of two: that each job runs at once, and that of all
// together as one server with all chips, which takes the job of least remaining chip-time first (Schrage, "A proof of
// the optimality of the shortest remaining processing time discipline", 1968): so there are never fewer left, and the
// sum of times in the system up to any moment is least.
func (s *simulation) uncontendedBounds() uncontended {
	c, source := s.config, s.config.Jobs()
	server := srptServer{chips: float64(c.chips()), remaining: engine.NewQueue(0)}
	var alone, work, taken float64
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
		size, set := float64(j.Shape.Chips()), s.setupTime(j)
		server.arrive(float64(j.Submit), size*float64(j.Work))
		alone += float64(min(j.Work+c.Times.Preflight+c.Times.Session, c.End-j.Submit))
		j.interval = s.checkpointInterval(j)
		work += size * j.Work.Seconds()
		lasts := fleet.ExpectedDuration(j.Work, j.interval, c.Times.Checkpoint,
			c.Times.Detect+set,
			s.meanTimeToInterruption(j))
		leaves := s.departuresPerDay(j) * lasts.Days() * (c.Times.Checkpoint + set).Seconds()
		taken += size * (set.Seconds() + lasts.Seconds() + leaves)
	}

	n := float64(len(server.arrivals))
	if n == 0 {
		return uncontended{}
	}
	return uncontended{max(server.finish(float64(c.End)), alone) / n / 1000, work / taken}
}

// srptServer is a server of all chips that takes the job of least remaining chip-time first. Its times are milliseconds.
type srptServer struct {
	chips, now, sum float64
	remaining       *engine.Queue // jobs by chip-milliseconds
	arrivals        []float64     // when each came
}

// arrive serves until a job comes.
func (r *srptServer) arrive(at, work float64) {
	r.serve(at)
	id := len(r.arrivals)
	r.arrivals = append(r.arrivals, at)
	r.remaining.Grow(2*id + 2)
	r.remaining.Set(int32(id), engine.Time(work))
}

// serve serves up to a moment.
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

// finish serves up to a moment and returns the sum of the times that jobs were there.
func (r *srptServer) finish(until float64) float64 {
	r.serve(until)
	for r.remaining.Len() > 0 {
		id, _ := r.remaining.Pop()
		r.sum += until - r.arrivals[id]
	}
	return r.sum
}

// newsvendorSpares returns how many cubes of a pod are best held as spares, where cubes are down as machines are available
// and a job of whole cubes that is one short leaves all of its idle.
func newsvendorSpares(c *Config) int {
	up := c.Rates.CubeAvailability()
	cubes, time := 0.0, 0.0
	source := c.Jobs()
	for n := 0; n < 10_000; n++ {
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
	return fleet.Newsvendor(fleet.PodCubes, up, cubes/time)
}

// sampleFreeSlices counts, once a day while there are jobs, how many more slices of 8 cubes the placement finds room for, and how
// many any placement without optical switches would.
func (s *simulation) sampleFreeSlices() {
	for ; s.counters.nextSample*fleet.Day <= s.now; s.counters.nextSample++ {
		if s.counters.nextSample*fleet.Day < s.config.Start || s.account.occupiedChips == 0 {
			continue
		}
		s.counters.samples++
		for p := range s.pods {
			trial := *s.pods[p].Pod
			s.counters.maxSlicesFit += placement.MaxBoxes(trial.Free(), [3]int{2, 2, 2})
			for {
				at, ok := s.policy.Place(&trial, eightCubes)
				if !ok {
					break
				}
				s.setUsed(&trial, &at, true)
				s.counters.slicesFit++
			}
		}
	}
}

// eightCubes is a slice of 8 cubes.
var eightCubes = fleet.Shape{Dims: [3]int{2 * fleet.Side, 2 * fleet.Side, 2 * fleet.Side}}
