package fleets

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"sim/workloads/fleet"
)

// easyReference is a scheduler of EASY backfilling that considers the number of
// free cubes only. Each job is placed in the first pod with enough free cubes. It
// returns the start times of jobs, indexed by job, -1 if a job does not start.
// setup is the time from a start until a job works. See Mu'alem and Feitelson,
// "Utilization, predictability, workloads, and user runtime estimates in
// scheduling the IBM SP2 with backfilling", 2001, Sec. 3.
func easyReference(jobs []fleet.Job, pods int, setup, until fleet.Time) []fleet.Time {
	type runningJob struct {
		end, expected fleet.Time
		pod, cubes    int
	}

	var runs []runningJob
	var waiting []int
	starts, free := make([]fleet.Time, len(jobs)), make([]int, pods)
	for i := range starts {
		starts[i] = -1
	}
	for p := range free {
		free[p] = podCubes
	}

	next := 0
	for {
		// The next event is the end of a job, or the arrival of one.
		now := until
		finished := -1
		for i, r := range runs {
			if r.end < now {
				now, finished = r.end, i
			}
		}

		arrives := next < len(jobs) && jobs[next].Submit <= now && jobs[next].Submit < until
		switch {
		case arrives:
			now = jobs[next].Submit
			waiting = append(waiting, next)
			next++
			slices.SortFunc(waiting,
				func(a, b int) int { return cmp.Or(cmp.Compare(jobs[a].Band, jobs[b].Band), cmp.Compare(a, b)) })
		case finished >= 0:
			free[runs[finished].pod] += runs[finished].cubes
			runs = slices.Delete(runs, finished, finished+1)
		default:
			return starts
		}

		start := func(j, pod int) {
			x := &jobs[j]
			starts[j] = now
			free[pod] -= x.Shape.Cubes()
			runs = append(runs, runningJob{now + setup + x.Work, now + setup + x.Estimate, pod,
				x.Shape.Cubes()})
		}

		// Start jobs in order until one does not fit.
		for len(waiting) > 0 {
			p := slices.IndexFunc(free,
				func(f int) bool { return f >= jobs[waiting[0]].Shape.Cubes() })
			if p < 0 {
				break
			}
			start(waiting[0], p)
			waiting = waiting[1:]
		}

		if len(waiting) == 0 {
			continue
		}

		// The shadow time is the earliest time at which the first waiting job can
		// start. extra is the number of cubes that remain free in its pod then.
		required := jobs[waiting[0]].Shape.Cubes()
		shadow, shadowPod, extra := until*1000, -1, 0
		for p := range free {
			var ends []runningJob
			for _, r := range runs {
				if r.pod == p {
					r.expected = max(r.expected, now)
					ends = append(ends, r)
				}
			}

			slices.SortFunc(ends, func(a, b runningJob) int { return cmp.Compare(a.expected, b.expected) })
			sum := free[p]
			for i, r := range ends {
				sum += r.cubes
				last := i+1 == len(ends) ||
					ends[i+1].expected > r.expected
				if last && sum >= required && r.expected < shadow {
					shadow, shadowPod, extra = r.expected, p, sum-required
				}
				if sum >= required && shadowPod == p &&
					(i+1 == len(ends) || ends[i+1].expected > r.expected) {
					break
				}
			}
		}

		// Start other jobs that do not delay the first one: in other pods, until
		// the shadow time, or on the extra cubes.
		stillWaiting := []int{waiting[0]}
		for _, j := range waiting[1:] {
			n, long := jobs[j].Shape.Cubes(), now+setup+jobs[j].Estimate > shadow
			p := -1
			for q := range free {
				if free[q] >= n && (q != shadowPod || !long || n <= extra) {
					p = q
					break
				}
			}

			if p < 0 {
				stillWaiting = append(stillWaiting, j)
				continue
			}
			if p == shadowPod && long {
				extra -= n
			}
			start(j, p)
		}

		waiting = stillWaiting
	}
}

// randomJobs returns jobs of complete cubes that exceed the capacity of the pods.
func randomJobs(r *rand.Rand, pods int, exact bool) []fleet.Job {
	var list []fleet.Job
	submit := fleet.Time(0)
	sizes := []int{1, 1, 2, 3, 4, 8, 16, 24, 32, 48, 64}
	for i := range 150 + r.IntN(150) {
		submit += fleet.Time(r.ExpFloat64() * float64(1000*fleet.Second) / float64(pods))
		j := fleet.Job{Number: i, Submit: submit,
			Shape: fleet.Shape{Dims: [3]int{4, 4,
				4 * sizes[r.IntN(len(sizes))]}}}
		j.Work = 1 + fleet.Time(r.ExpFloat64()*float64(2*fleet.Hour))
		j.Estimate = j.Work
		if !exact {
			j.Estimate = max(1, fleet.Time(float64(j.Work)*(0.3+3*r.Float64())))
		}
		j.Band = fleet.Band(r.IntN(int(fleet.NumBands)))
		list = append(list, j)
	}

	return list
}

// TestEASY compares 100 random fleets without failures with easyReference. All
// jobs start at the same times, with exact and with wrong estimates, in one or
// several pods, with and without setup time.
func TestEASY(t *testing.T) {
	backfilled := 0
	for seed := range uint64(100) {
		r := rand.New(rand.NewPCG(seed, 5))
		pods, exact, setup := 1+r.IntN(3), seed%2 == 0, fleet.Time(r.IntN(2))*7*fleet.Minute
		list := randomJobs(r, pods, exact)
		c := quietFleet(sourceOf(list...), 100*fleet.Day)
		c.Discipline, c.Pods, c.Record, c.Times.Session = EASY, pods, true, setup

		o := simulate(t, c, "reconfigurable")
		want := easyReference(list, pods, setup, c.End)

		// got holds the start times of the simulation, by job.
		got := make([]fleet.Time, len(list))
		for i := range got {
			got[i] = -1
		}
		for i := range o.recorder.attempts {
			got[o.recorder.attempts[i].number] = o.recorder.attempts[i].placedAt
		}

		for i := range list {
			if got[i] != want[i] {
				t.Fatalf("seed %d, %d pods: job %d of %d cubes starts at %v, want %v",
					seed, pods,
					i, list[i].Shape.Cubes(), got[i], want[i])
			}

			if i > 0 && list[i].Band == list[i-1].Band && got[i] < got[i-1] {
				backfilled++
			}
		}
	}

	if backfilled < 100 {
		t.Errorf("got %d jobs that start before an earlier one of their band, want at least 100",
			backfilled)
	}
}

// TestEASYTries checks two waiting jobs with the same slice behind a large job.
// The second one starts first if only it does not delay the large job. The
// expected end of a job includes its checkpoints.
func TestEASYTries(t *testing.T) {
	whole := parseShape(t, "16x16x16")
	list := []fleet.Job{
		{Shape: parseShape(t, "12x16x16"), Work: fleet.Hour, Estimate: fleet.Hour},
		{Submit: 1, Shape: whole, Work: fleet.Hour, Estimate: fleet.Hour},
		{Submit: 2, Shape: parseShape(t, "4x4x4"), Work: 2 * fleet.Hour, Estimate: 2 * fleet.Hour},
		{Submit: 3, Shape: parseShape(t, "4x4x4"), Work: fleet.Minute, Estimate: fleet.Minute},
		{Submit: 4, Shape: parseShape(t, "4x4x4"), Work: 64 * fleet.Minute,
			Estimate: 64 * fleet.Minute},
	}

	for _, tt := range []struct {
		checkpoint fleet.Time
		want       string
	}{
		{0, "[0s 1h0m0s 2h0m0s 3ms 2h0m0s]"},
		// The first job takes 5 checkpoints of a minute, the last 6: 65 and 70
		// minutes.
		{fleet.Minute, "[0s 1h5m0s 2h10m0s 3ms 2h10m0s]"},
		// With checkpoints of 10 minutes they take 110 and 114 minutes.
		{10 * fleet.Minute, "[0s 1h50m0s 3h40m0s 3ms 3h40m0s]"},
	} {
		c := quietFleet(sourceOf(list...), fleet.Day)
		c.Discipline, c.Record, c.Times.Checkpoint, c.Times.Interval = EASY, true,
			tt.checkpoint,
			10*fleet.Minute
		o := simulate(t, c, "reconfigurable")
		got := make([]fleet.Time, len(list))
		for i := range o.recorder.attempts {
			got[o.recorder.attempts[i].number] = o.recorder.attempts[i].placedAt
		}
		if fmt.Sprint(got) != tt.want {
			t.Errorf("checkpoints of %v: got starts at %v, want %v", tt.checkpoint, got, tt.want)
		}
	}
}
