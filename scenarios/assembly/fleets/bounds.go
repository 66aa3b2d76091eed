package fleets

import (
	"context"

	"sim/engine"
	"sim/policies/placement"
	"sim/workloads/fleet"
)

// boundGoodput returns what share of chip-time can be work that is kept, whatever the placement: of each job no more
// than its work, nor than there is time for from when it is submitted and set up, with its checkpoints.
func boundGoodput(ctx context.Context, c *Config) (float64, error) {
	jobs, sum := c.Jobs(), 0.0
	s := &state{c: c.unswitched()} // where checkpoints are farthest apart
	for n := 0; ; n++ {
		if n&(1<<12-1) == 0 && ctx.Err() != nil {
			return 0, ctx.Err()
		}
		x, ok := jobs.Next()
		if !ok || x.Submit >= c.Until {
			break
		}
		j := &job{Job: x, slow: 1}
		j.interval = s.interval(j)
		left := c.Until - max(c.From, x.Submit+c.Times.Preflight+c.Times.Session)
		if left > 0 {
			// Of a span that is measured at most one checkpoint more may lie before it.
			work, _ := j.run(&c.Times).split(left)
			sum += float64(x.Shape.Chips()) * float64(min(x.Work, work+c.Times.Checkpoint, left))
		}
	}
	return min(1, sum/(float64(c.chips())*float64(c.Until-c.From))), nil
}

// ideal is what the jobs that are submitted in the time that is measured, and that the placement has room for, would
// come to without others in their way.
type ideal struct {
	turnaround float64 // lower bound on the mean time from submission to the end, s
	efficiency float64 // work over the time that jobs have chips, as failures and checkpoints are expected to have it
}

// ideals computes it. The bound on turnaround is the greater of two: that each job runs at once, and that of all
// together as one server with all chips, which takes the job of least remaining chip-time first (Schrage, "A proof of
// the optimality of the shortest remaining processing time discipline", 1968): so there are never fewer left, and the
// sum of times in the system up to any moment is least.
func (s *state) ideals() ideal {
	c, source := s.c, s.c.Jobs()
	server := relaxed{chips: float64(c.chips()), left: engine.NewQueue(0)}
	var alone, work, taken float64
	for {
		x, ok := source.Next()
		if !ok || x.Submit >= c.Until || s.ctx.Err() != nil {
			break
		}
		if x.Submit < c.From {
			continue
		}
		j := &job{Job: x, slow: 1, gain: 1}
		if s.reshape(j); !s.tally.empty[j.Shape] {
			continue
		}
		size, set := float64(j.Shape.Chips()), s.setup(j)
		server.add(float64(j.Submit), size*float64(j.Work))
		alone += float64(min(j.Work+c.Times.Preflight+c.Times.Session, c.Until-j.Submit))
		j.interval = s.interval(j)
		work += size * j.Work.Seconds()
		lasts := fleet.ExpectedDuration(j.Work, j.interval, c.Times.Checkpoint, c.Times.Detect+set, s.interruption(j))
		leaves := s.maintenance(j) * lasts.Days() * (c.Times.Checkpoint + set).Seconds()
		taken += size * (set.Seconds() + lasts.Seconds() + leaves)
	}
	n := float64(len(server.from))
	if n == 0 {
		return ideal{}
	}
	return ideal{max(server.end(float64(c.Until)), alone) / n / 1000, work / taken}
}

// relaxed is a server of all chips that takes the job of least remaining chip-time first. Its times are milliseconds.
type relaxed struct {
	chips, now, sum float64
	left            *engine.Queue // jobs by chip-milliseconds
	from            []float64     // when each came
}

// add serves until a job comes.
func (r *relaxed) add(at, work float64) {
	r.serve(at)
	id := len(r.from)
	r.from = append(r.from, at)
	r.left.Grow(2*id + 2)
	r.left.Set(int32(id), engine.Time(work))
}

// serve serves up to a moment.
func (r *relaxed) serve(until float64) {
	for r.left.Len() > 0 {
		id, left := r.left.Pop()
		end := r.now + float64(left)/r.chips
		if end > until {
			r.left.Set(id, left-engine.Time((until-r.now)*r.chips))
			break
		}
		r.sum += end - r.from[id]
		r.now = end
	}
	r.now = until
}

// end serves up to a moment and returns the sum of the times that jobs were there.
func (r *relaxed) end(until float64) float64 {
	r.serve(until)
	for r.left.Len() > 0 {
		id, _ := r.left.Pop()
		r.sum += until - r.from[id]
	}
	return r.sum
}

// newsvendor returns how many cubes of a pod are best held as spares, where cubes are down as machines are available
// and a job of whole cubes that is one short leaves all of its idle.
func newsvendor(c *Config) int {
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

// sample counts, once a day while there are jobs, how many more slices of 8 cubes the placement finds room for, and how
// many any placement without optical switches would.
func (s *state) sample() {
	for ; s.tally.day*fleet.Day <= s.now; s.tally.day++ {
		if s.tally.day*fleet.Day < s.c.From || s.acc.used == 0 {
			continue
		}
		s.tally.samples++
		for p := range s.pods {
			trial := *s.pods[p].Pod
			s.tally.room += placement.MaxBoxes(trial.Free(), [3]int{2, 2, 2})
			for {
				at, ok := s.policy.Place(&trial, eight)
				if !ok {
					break
				}
				s.mark(&trial, &at, true)
				s.tally.fits++
			}
		}
	}
}

// eight is a slice of 8 cubes.
var eight = fleet.Shape{Dims: [3]int{2 * fleet.Side, 2 * fleet.Side, 2 * fleet.Side}}
