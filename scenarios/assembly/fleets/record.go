package fleets

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"

	"sim/policies/placement"
	"sim/scenarios/result"
	"sim/workloads/fleet"
)

// recorder keeps what happens, for the files and the pictures of a run. One that is nil keeps nothing.
type recorder struct {
	attempts []attempt
	open     map[*job]int       // attempts that have not ended
	gone     map[int]fleet.Time // by job, when it last left a place
	events   []event
	out      []outage
	looks    []result.FreeSample
	since    [fleet.PodCubes]fleet.Time // when a cube of the first pod went out of use, below 0 of one that is in use
}

// attempt is one time that a job is placed.
type attempt struct {
	number, try  int
	shape        fleet.Shape
	band         fleet.Band
	pod          int
	cubes        []int8
	queued, from fleet.Time
	run, until   fleet.Time // when it began to run, below 0 if it never did, and when it left
	kept         fleet.Time // work of the job that is done and kept, by then
	work         fleet.Time
	rerouted     bool
	end          string
}

// event is something that happens to hardware, or that hardware does to a job.
type event struct {
	at          fleet.Time
	pod, number int
	part, what  string
}

// outage is when a cube of the first pod was not in use for slices of whole cubes.
type outage struct {
	cube        int
	from, until fleet.Time
	closed      bool // for maintenance
}

func newRecorder(on bool) *recorder {
	if !on {
		return nil
	}
	r := &recorder{open: map[*job]int{}, gone: map[int]fleet.Time{}}
	for i := range r.since {
		r.since[i] = -1
	}
	return r
}

// placed begins an attempt.
func (r *recorder) placed(s *state, j *job) {
	if r == nil {
		return
	}
	queued, again := r.gone[j.Number]
	if !again {
		queued = j.Submit
	}
	r.open[j] = len(r.attempts)
	r.attempts = append(r.attempts, attempt{
		number: j.Number, try: j.tries, shape: j.Shape, band: j.Band, pod: j.pod, cubes: slices.Clone(j.at.Cubes),
		queued: queued, from: s.now, run: -1, work: j.Work,
	})
}

// runs notes that a job begins to run, or goes on.
func (r *recorder) runs(s *state, j *job) {
	if r == nil {
		return
	}
	if a := &r.attempts[r.open[j]]; a.run < 0 {
		a.run = s.now
	}
}

// left ends an attempt.
func (r *recorder) left(s *state, j *job, why string) {
	if r == nil {
		return
	}
	a := &r.attempts[r.open[j]]
	a.until, a.kept, a.rerouted, a.end = s.now, j.done, a.rerouted || j.rerouted, why
	delete(r.open, j)
	r.gone[j.Number] = s.now
}

// why says how a job leaves its place, by the phase that it is in.
func (j *job) why() string {
	switch {
	case j.phase == struck:
		return "interrupted"
	case j.phase == settingUp && j.unfit:
		return "preflight"
	}
	return "evicted"
}

// event notes what happens to a part.
func (r *recorder) event(s *state, kind fleet.Part, pod, number int, what string) {
	if r != nil {
		r.events = append(r.events, event{s.now, pod, number, partName(kind), what})
	}
}

// job notes what is done to a job.
func (r *recorder) job(s *state, j *job, what string) {
	if r != nil {
		r.events = append(r.events, event{s.now, j.pod, j.Number, "job", what})
	}
}

func partName(kind fleet.Part) string {
	if name := partNames[kind]; name != "" {
		return name
	}
	switch kind {
	case fleet.Cube:
		return "maintenance"
	case fleet.SwitchWork:
		return "ocs-maintenance"
	}
	return fmt.Sprintf("part %d", kind)
}

// cube notes whether a cube of the first pod is in use.
func (r *recorder) cube(s *state, pod, number int, was, now *placement.Cube) {
	if r == nil || pod != 0 {
		return
	}
	up := func(c *placement.Cube) bool { return c.Down == 0 && c.Unlinked == 0 && c.Closed == 0 }
	switch {
	case up(was) && !up(now):
		r.since[number] = s.now
	case !up(was) && up(now):
		r.out = append(r.out, outage{number, r.since[number], s.now, was.Closed > 0})
		r.since[number] = -1
	}
}

// look notes what is free of the first pod, in the days that are shown.
func (r *recorder) look(s *state, at fleet.Time, pod, free, largest int) {
	if r != nil && pod == 0 && at < s.c.From+shownDays*fleet.Day {
		r.looks = append(r.looks, result.FreeSample{AtS: at.Seconds(), Free: free, Largest: largest})
	}
}

// finish ends what is under way at the end.
func (r *recorder) finish(s *state) {
	if r == nil {
		return
	}
	for _, j := range s.slots {
		if j != nil {
			r.left(s, j, "end")
		}
	}
	for i, at := range r.since {
		if at >= 0 {
			r.out = append(r.out, outage{i, at, s.now, s.pods[0].Cubes[i].Closed > 0})
		}
	}
}

// files returns jobs.csv, a row an attempt, and events.csv.
func (r *recorder) files(policy string) []result.File {
	var jobs, events bytes.Buffer // which do not fail
	jobs.WriteString("job,try,shape,chips,band,pod,cubes,queued_s,placed_s,run_s,left_s,end,work_s,kept_s,rerouted\n")
	for i := range r.attempts {
		a := &r.attempts[i]
		run := ""
		if a.run >= 0 {
			run = seconds(a.run)
		}
		fmt.Fprintf(&jobs, "%d,%d,%s,%d,%s,%d,", a.number, a.try, a.shape, a.shape.Chips(), a.band, a.pod)
		for k, c := range a.cubes {
			if k > 0 {
				jobs.WriteByte(' ')
			}
			fmt.Fprint(&jobs, c)
		}
		fmt.Fprintf(&jobs, ",%s,%s,%s,%s,%s,%s,%s,%t\n", seconds(a.queued), seconds(a.from), run, seconds(a.until), a.end, seconds(a.work), seconds(a.kept), a.rerouted)
	}
	events.WriteString("at_s,pod,part,number,event\n")
	for _, e := range r.events {
		fmt.Fprintf(&events, "%s,%d,%s,%d,%s\n", seconds(e.at), e.pod, e.part, e.number, e.what)
	}
	return []result.File{{Name: "jobs-" + policy + ".csv", Data: jobs.Bytes()}, {Name: "events-" + policy + ".csv", Data: events.Bytes()}}
}

// seconds writes a time in seconds, to the millisecond.
func seconds(t fleet.Time) string { return fmt.Sprintf("%d.%03d", t/fleet.Second, t%fleet.Second) }

// shownDays is how much of a run the picture of its cubes shows: more could not be told apart.
const shownDays = 7

// cubes returns who had the cubes of the first pod in the first days that are measured.
func (r *recorder) cubes(c *Config) []result.Track {
	from, until := c.From, min(c.Until, c.From+shownDays*fleet.Day)
	tracks := make([]result.Track, fleet.PodCubes)
	add := func(cube int, kind, label string, begin, end fleet.Time) {
		if begin, end = max(begin, from), min(end, until); begin < end {
			tracks[cube].Spans = append(tracks[cube].Spans, result.Span{Kind: kind, Label: label, StartS: begin.Seconds(), EndS: end.Seconds()})
		}
	}
	for i := range r.attempts {
		a := &r.attempts[i]
		if a.pod != 0 {
			continue
		}
		kind := "part of a cube"
		switch n := a.shape.Cubes(); {
		case n > 16:
			kind = "more than 16 cubes"
		case n > 4:
			kind = "5 to 16 cubes"
		case n > 1:
			kind = "2 to 4 cubes"
		case n == 1:
			kind = "one cube"
		}
		label := fmt.Sprintf("%d %v %s", a.number, a.shape, a.end)
		for _, cube := range a.cubes {
			add(int(cube), kind, label, a.from, a.until)
		}
	}
	for _, o := range r.out {
		kind := "down"
		if o.closed {
			kind = "maintenance"
		}
		add(o.cube, kind, "", o.from, o.until)
	}
	for i := range tracks {
		tracks[i].Name = fmt.Sprintf("cube %d", i)
		slices.SortStableFunc(tracks[i].Spans, func(a, b result.Span) int { return cmp.Compare(a.StartS, b.StartS) })
	}
	return tracks
}

// shown returns what happened to the first pod in the days that are shown.
func (r *recorder) shown(c *Config) (list []result.FleetEvent) {
	for _, e := range r.events {
		if e.pod == 0 && e.at >= c.From && e.at < min(c.Until, c.From+shownDays*fleet.Day) {
			list = append(list, result.FleetEvent{AtS: e.at.Seconds(), Part: e.part, Number: e.number, What: e.what})
		}
	}
	return list
}
