// This file records the events of a simulation for the files and figures of a run.

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

// recorder stores the events of a simulation for the files and figures of a run. A
// nil recorder stores nothing. Attempts and events include all pods, while outages
// and samples describe the first pod only.
type recorder struct {
	attempts    []attempt
	open        map[*fleetJob]int  // index of the current attempt, by job
	lastLeft    map[int]fleet.Time // when a job last left a place, by job number
	events      []recordedEvent
	outages     []cubeOutage        // of the first pod
	freeSamples []result.FreeSample // of the first pod
	downSince   []fleet.Time        // start of a cube's current outage; -1 if it is in use
}

// attempt is the time from one placement of a job to its departure.
type attempt struct {
	number           int // number of the job
	attempt          int // number of the attempt of this job, from 0
	shape            fleet.Shape
	band             fleet.Band
	pod              int
	cubes            []int16
	queued, placedAt fleet.Time
	runStart, leftAt fleet.Time // runStart is -1 if the job did not run
	doneWork         fleet.Time // the job's completed work at the end of the attempt
	work             fleet.Time // the job's total work
	rerouted         bool       // used paths around a failed switch
	end              string     // reason of the departure
}

// recordedEvent is an event of a part, or of a job because of a part.
type recordedEvent struct {
	time        fleet.Time
	pod, number int    // number of the part in its pod, or of the job
	part, what  string // kind of part, and what happened
}

// cubeOutage is a time in which a cube of the first pod was not available to
// slices of whole cubes.
type cubeOutage struct {
	cube          int
	from, until   fleet.Time
	isMaintenance bool // planned, not a failure
}

// newRecorder returns a recorder, or nil if events are not recorded.
func newRecorder(c *Config) *recorder {
	if !c.Record {
		return nil
	}
	return &recorder{
		open: map[*fleetJob]int{}, lastLeft: map[int]fleet.Time{},
		downSince: slices.Repeat([]fleet.Time{-1}, c.Pod.Cubes),
	}
}

// startAttempt records the placement of a job.
func (r *recorder) startAttempt(s *simulation, j *fleetJob) {
	if r == nil {
		return
	}

	// A job that ran before was queued again when it left.
	queued, hasRun := r.lastLeft[j.Number]
	if !hasRun {
		queued = j.Submit
	}

	r.open[j] = len(r.attempts)
	r.attempts = append(r.attempts, attempt{
		number: j.Number, attempt: j.attempts, shape: j.Shape, band: j.Band, pod: j.pod,
		cubes: slices.Clone(j.place.Cubes), queued: queued, placedAt: s.now,
		runStart: -1, work: j.Work,
	})
}

// startRun records that a job starts to run, or continues.
func (r *recorder) startRun(s *simulation, j *fleetJob) {
	if r == nil {
		return
	}
	if a := &r.attempts[r.open[j]]; a.runStart < 0 {
		a.runStart = s.now
	}
}

// endAttempt records that a job leaves its place.
func (r *recorder) endAttempt(s *simulation, j *fleetJob, reason string) {
	if r == nil {
		return
	}
	a := &r.attempts[r.open[j]]
	a.leftAt, a.doneWork, a.end = s.now, j.doneWork, reason
	a.rerouted = a.rerouted || j.rerouted
	delete(r.open, j)
	r.lastLeft[j.Number] = s.now
}

// departureReason returns why a job leaves its place, which follows from its
// phase.
func (j *fleetJob) departureReason() string {
	switch {
	case j.phase == phaseInterrupted:
		return "interrupted"
	case j.phase == phaseSetup && j.failsPreflight:
		return "preflight"
	}
	return "evicted"
}

// recordPart records an event of a part.
func (r *recorder) recordPart(s *simulation, kind fleet.Part, pod, number int, what string) {
	if r != nil {
		r.events = append(r.events, recordedEvent{s.now, pod, number, partName(kind), what})
	}
}

// recordJob records an event of a job.
func (r *recorder) recordJob(s *simulation, j *fleetJob, what string) {
	if r != nil {
		r.events = append(r.events, recordedEvent{s.now, j.pod, j.Number, "job", what})
	}
}

// partName returns the name of a kind of part in events.csv.
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

// recordCube records the outages of a cube of the first pod. before and after are
// the cube's states around a change.
func (r *recorder) recordCube(s *simulation, pod, number int, before, after *placement.Cube) {
	if r == nil || pod != 0 {
		return
	}
	isUp := func(c *placement.Cube) bool { return c.Down == 0 && c.Unlinked == 0 && c.Closed == 0 }
	switch {
	case isUp(before) && !isUp(after):
		r.downSince[number] = s.now
	case !isUp(before) && isUp(after):
		outage := cubeOutage{number, r.downSince[number], s.now, before.Closed > 0}
		r.outages = append(r.outages, outage)
		r.downSince[number] = -1
	}
}

// recordFree records a sample of the free cubes of the first pod, in the days that
// figures show.
func (r *recorder) recordFree(s *simulation, at fleet.Time, pod, free, largest int) {
	if r != nil && pod == 0 && at < s.config.Start+shownDays*fleet.Day {
		r.freeSamples = append(r.freeSamples,
			result.FreeSample{AtS: at.Seconds(), Free: free, Largest: largest})
	}
}

// finish ends the attempts and outages that last until the end of the simulation.
func (r *recorder) finish(s *simulation) {
	if r == nil {
		return
	}
	for _, j := range s.slots {
		if j != nil {
			r.endAttempt(s, j, "end")
		}
	}
	for i, start := range r.downSince {
		if start >= 0 {
			outage := cubeOutage{i, start, s.now, s.pods[0].Cubes[i].Closed > 0}
			r.outages = append(r.outages, outage)
		}
	}
}

// files returns the files of jobs, with one row per attempt, and of events.
func (r *recorder) files(policy string) []result.File {
	var jobs, events bytes.Buffer // writes to buffers do not fail
	jobs.WriteString("job,try,shape,chips,band,pod,cubes,queued_s,placed_s,run_s,left_s,end,work_s,kept_s,rerouted\n")
	for i := range r.attempts {
		a := &r.attempts[i]

		// A job that did not run has no start of its run.
		run := ""
		if a.runStart >= 0 {
			run = formatSeconds(a.runStart)
		}
		fmt.Fprintf(&jobs, "%d,%d,%s,%d,%s,%d,",
			a.number, a.attempt, a.shape, a.shape.Chips(), a.band, a.pod)
		for k, c := range a.cubes {
			if k > 0 {
				jobs.WriteByte(' ')
			}
			fmt.Fprint(&jobs, c)
		}
		fmt.Fprintf(&jobs, ",%s,%s,%s,%s,%s,%s,%s,%t\n",
			formatSeconds(a.queued), formatSeconds(a.placedAt), run, formatSeconds(a.leftAt),
			a.end, formatSeconds(a.work), formatSeconds(a.doneWork), a.rerouted)
	}

	events.WriteString("at_s,pod,part,number,event\n")
	for _, e := range r.events {
		fmt.Fprintf(&events, "%s,%d,%s,%d,%s\n",
			formatSeconds(e.time), e.pod, e.part, e.number, e.what)
	}
	return []result.File{
		{Name: "jobs-" + policy + ".csv", Data: jobs.Bytes()},
		{Name: "events-" + policy + ".csv", Data: events.Bytes()},
	}
}

// formatSeconds formats a time in seconds, with milliseconds.
func formatSeconds(t fleet.Time) string {
	return fmt.Sprintf("%d.%03d", t/fleet.Second, t%fleet.Second)
}

// shownDays is the number of days in the figure of cubes. More days could not be
// distinguished.
const shownDays = 7

// cubeTracks returns the jobs and outages of each cube of the first pod in the
// first measured days.
func (r *recorder) cubeTracks(c *Config) []result.Track {
	from, until := c.Start, min(c.End, c.Start+shownDays*fleet.Day)
	tracks := make([]result.Track, c.Pod.Cubes)
	add := func(cube int, kind, label string, begin, end fleet.Time) {
		if begin, end = max(begin, from), min(end, until); begin < end {
			tracks[cube].Spans = append(tracks[cube].Spans, result.Span{
				Kind: kind, Label: label, StartS: begin.Seconds(), EndS: end.Seconds(),
			})
		}
	}

	// The kind of a span is the size of the job.
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

	// The outages follow, and all spans are sorted by start.
	for _, o := range r.outages {
		kind := "down"
		if o.isMaintenance {
			kind = "maintenance"
		}
		const noLabel = "" // figures take spans with a label for jobs
		add(o.cube, kind, noLabel, o.from, o.until)
	}

	for i := range tracks {
		tracks[i].Name = fmt.Sprintf("cube %d", i)
		slices.SortStableFunc(tracks[i].Spans,
			func(a, b result.Span) int { return cmp.Compare(a.StartS, b.StartS) })
	}

	return tracks
}

// shownEvents returns the events of the first pod in the days that figures show.
func (r *recorder) shownEvents(c *Config) (list []result.FleetEvent) {
	end := min(c.End, c.Start+shownDays*fleet.Day)
	for _, e := range r.events {
		if e.pod == 0 && e.time >= c.Start && e.time < end {
			list = append(list, result.FleetEvent{
				AtS: e.time.Seconds(), Part: e.part, Number: e.number, What: e.what,
			})
		}
	}
	return list
}
