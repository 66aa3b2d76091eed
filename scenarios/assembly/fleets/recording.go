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
	attempts    []attempt
	open        map[*fleetJob]int  // attempts that have not ended
	lastLeft    map[int]fleet.Time // by job, when it last left a place
	events      []recordedEvent
	outages     []cubeOutage
	freeSamples []result.FreeSample
	downSince   [fleet.PodCubes]fleet.Time // when a cube of the first pod went out of use, below 0 of one that is in use
}

// attempt is one time that a job is placed.
type attempt struct {
	number, attempt  int
	shape            fleet.Shape
	band             fleet.Band
	pod              int
	cubes            []int8
	queued, placedAt fleet.Time
	runStart, leftAt fleet.Time // when it began to run, below 0 if it never did, and when it left
	keptWork         fleet.Time // work of the job that is done and kept, by then
	work             fleet.Time
	rerouted         bool
	end              string
}

// recordedEvent is something that happens to hardware, or that hardware does to a job.
type recordedEvent struct {
	time        fleet.Time
	pod, number int
	part, what  string
}

// cubeOutage is when a cube of the first pod was not in use for slices of whole cubes.
type cubeOutage struct {
	cube          int
	from, until   fleet.Time
	isMaintenance bool // for maintenance
}

func newRecorder(on bool) *recorder {
	if !on {
		return nil
	}
	r := &recorder{open: map[*fleetJob]int{}, lastLeft: map[int]fleet.Time{}}
	for i := range r.downSince {
		r.downSince[i] = -1
	}
	return r
}

// startAttempt begins an attempt.
func (r *recorder) startAttempt(s *simulation, j *fleetJob) {
	if r == nil {
		return
	}
	queued, again := r.lastLeft[j.Number]
	if !again {
		queued = j.Submit
	}
	r.open[j] = len(r.attempts)
	r.attempts = append(r.attempts, attempt{
		number: j.Number, attempt: j.attempts, shape: j.Shape, band: j.Band, pod: j.pod,
		cubes:  slices.Clone(j.place.Cubes),
		queued: queued, placedAt: s.now, runStart: -1, work: j.Work,
	})
}

// startRun notes that a job begins to run, or goes on.
func (r *recorder) startRun(s *simulation, j *fleetJob) {
	if r == nil {
		return
	}
	if a := &r.attempts[r.open[j]]; a.runStart < 0 {
		a.runStart = s.now
	}
}

// endAttempt ends an attempt.
func (r *recorder) endAttempt(s *simulation, j *fleetJob, why string) {
	if r == nil {
		return
	}
	a := &r.attempts[r.open[j]]
	a.leftAt, a.keptWork, a.rerouted, a.end = s.now, j.doneWork, a.rerouted || j.rerouted, why
	delete(r.open, j)
	r.lastLeft[j.Number] = s.now
}

// departureReason says how a job leaves its place, by the phase that it is in.
func (j *fleetJob) departureReason() string {
	switch {
	case j.phase == phaseInterrupted:
		return "interrupted"
	case j.phase == phaseSetup && j.failsPreflight:
		return "preflight"
	}
	return "evicted"
}

// recordPart notes what happens to a part.
func (r *recorder) recordPart(s *simulation, kind fleet.Part, pod, number int, what string) {
	if r != nil {
		r.events = append(r.events, recordedEvent{s.now, pod, number, partName(kind), what})
	}
}

// recordJob notes what is done to a job.
func (r *recorder) recordJob(s *simulation, j *fleetJob, what string) {
	if r != nil {
		r.events = append(r.events, recordedEvent{s.now, j.pod, j.Number, "job", what})
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

// recordCube notes whether a cube of the first pod is in use.
func (r *recorder) recordCube(s *simulation, pod, number int, was, now *placement.Cube) {
	if r == nil || pod != 0 {
		return
	}
	up := func(c *placement.Cube) bool { return c.Down == 0 && c.Unlinked == 0 && c.Closed == 0 }
	switch {
	case up(was) && !up(now):
		r.downSince[number] = s.now
	case !up(was) && up(now):
		r.outages = append(r.outages,
			cubeOutage{number, r.downSince[number], s.now, was.Closed > 0})
		r.downSince[number] = -1
	}
}

// recordFree notes what is free of the first pod, in the days that are shown.
func (r *recorder) recordFree(s *simulation, at fleet.Time, pod, free, largest int) {
	if r != nil && pod == 0 && at < s.config.Start+shownDays*fleet.Day {
		r.freeSamples = append(r.freeSamples,
			result.FreeSample{AtS: at.Seconds(), Free: free, Largest: largest})
	}
}

// finish ends what is under way at the end.
func (r *recorder) finish(s *simulation) {
	if r == nil {
		return
	}
	for _, j := range s.slots {
		if j != nil {
			r.endAttempt(s, j, "end")
		}
	}
	for i, at := range r.downSince {
		if at >= 0 {
			r.outages = append(r.outages,
				cubeOutage{i, at, s.now, s.pods[0].Cubes[i].Closed > 0})
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
		if a.runStart >= 0 {
			run = formatSeconds(a.runStart)
		}
		fmt.Fprintf(&jobs, "%d,%d,%s,%d,%s,%d,", a.number, a.attempt, a.shape,
			a.shape.Chips(),
			a.band, a.pod)
		for k, c := range a.cubes {
			if k > 0 {
				jobs.WriteByte(' ')
			}
			fmt.Fprint(&jobs, c)
		}
		fmt.Fprintf(&jobs, ",%s,%s,%s,%s,%s,%s,%s,%t\n", formatSeconds(a.queued),
			formatSeconds(a.placedAt), run, formatSeconds(a.leftAt), a.end,
			formatSeconds(a.work),
			formatSeconds(a.keptWork), a.rerouted)
	}

	events.WriteString("at_s,pod,part,number,event\n")
	for _, e := range r.events {
		fmt.Fprintf(&events, "%s,%d,%s,%d,%s\n", formatSeconds(e.time), e.pod, e.part,
			e.number, e.what)
	}
	return []result.File{{Name: "jobs-" + policy + ".csv", Data: jobs.Bytes()},
		{Name: "events-" + policy + ".csv", Data: events.Bytes()}}
}

// formatSeconds writes a time in seconds, to the millisecond.
func formatSeconds(t fleet.Time) string {
	return fmt.Sprintf("%d.%03d", t/fleet.Second, t%fleet.Second)
}

// shownDays is how much of a run the picture of its cubes shows: more could not be told apart.
const shownDays = 7

// cubeTracks returns who had the cubes of the first pod in the first days that are measured.
func (r *recorder) cubeTracks(c *Config) []result.Track {
	from, until := c.Start, min(c.End, c.Start+shownDays*fleet.Day)
	tracks := make([]result.Track, fleet.PodCubes)
	add := func(cube int, kind, label string, begin, end fleet.Time) {
		if begin, end = max(begin, from), min(end, until); begin < end {
			tracks[cube].Spans = append(tracks[cube].Spans,
				result.Span{Kind: kind, Label: label, StartS: begin.Seconds(),
					EndS: end.Seconds()})
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
			add(int(cube), kind, label, a.placedAt, a.leftAt)
		}
	}

	for _, o := range r.outages {
		kind := "down"
		if o.isMaintenance {
			kind = "maintenance"
		}
		add(o.cube, kind, "", o.from, o.until)
	}

	for i := range tracks {
		tracks[i].Name = fmt.Sprintf("cube %d", i)
		slices.SortStableFunc(tracks[i].Spans,
			func(a, b result.Span) int { return cmp.Compare(a.StartS, b.StartS) })
	}

	return tracks
}

// shownEvents returns what happened to the first pod in the days that are shown.
func (r *recorder) shownEvents(c *Config) (list []result.FleetEvent) {
	for _, e := range r.events {
		if e.pod == 0 && e.time >= c.Start &&
			e.time < min(c.End, c.Start+shownDays*fleet.Day) {
			list = append(list, result.FleetEvent{AtS: e.time.Seconds(), Part: e.part,
				Number: e.number, What: e.what})
		}
	}
	return list
}
