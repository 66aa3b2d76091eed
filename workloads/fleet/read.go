package fleet

import (
	"bytes"
	"cmp"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Format is a form of logs of jobs.
type Format struct {
	Name, Doc string
	read      func(l *logReader) error
}

// Formats lists the forms of logs of jobs that ReadJobs reads.
func Formats() []Format {
	return []Format{
		{"rfold", "CSV rows of number, submission (s), topology, shape or chips, chips, duration (s), as RFold has them; in order", readRFold},
		{"helios", "CSV of Helios and Acme: columns gpu_num, submit_time and duration, or start_time and end_time, by the names in the first row", readHelios},
		{"philly", "JSON list of jobs with attempts, as Philly's", readPhilly},
		{"swf", "standard workload format: lines of 18 numbers; in order", readSWF},
	}
}

// JobLog is what a log holds.
type JobLog struct {
	Jobs        []Job // in the order of submission; where a log tells moments, its first is time 0
	NumUntimed  int   // left out: when they were submitted or how long they ran is not told, or they never ran
	NumPartial  int   // of the jobs, those with attempts whose times are not told, which count for nothing
	NumChipless int   // left out: they ask for no accelerators
}

// Words says what was left out of a log, "" where nothing was.
func (l *JobLog) Words() string {
	var parts []string
	for _, x := range []struct {
		n    int
		what string
	}{{l.NumUntimed, "without times left out"}, {l.NumPartial, "with times of some attempts alone"}, {l.NumChipless, "without accelerators left out"}} {
		if x.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", x.n, x.what))
		}
	}
	return strings.Join(parts, ", ")
}

// ReadJobs reads a log of jobs. A job that asks for chips gets the least slice of the mix that has them; bands and opting
// in are drawn as of other jobs, and so are estimates where none are told. It fails on the first line that cannot be
// used, and where the times of a job, or of a log that is in order the jobs', go backwards.
func (d *Demand) ReadJobs(format, name string, data []byte) (*JobLog, error) {
	i := slices.IndexFunc(Formats(), func(f Format) bool { return f.Name == format })
	if i < 0 {
		return nil, fmt.Errorf("fleet: no form of logs %q", format)
	}
	l := &logReader{demand: d, name: name, data: data}
	if err := Formats()[i].read(l); err != nil {
		return nil, err
	}
	jobs := l.log.Jobs
	if len(jobs) == 0 {
		why := ""
		if words := l.log.Words(); words != "" {
			why = ": " + words
		}
		return nil, fmt.Errorf("%s: holds no job that could be simulated%s", name, why)
	}
	slices.SortStableFunc(jobs, func(a, b Job) int { return cmp.Compare(a.Submit, b.Submit) })
	draws := d.Jobs().(*jobGenerator)
	for i := range jobs {
		estimate := jobs[i].Estimate
		jobs[i].Number = i
		if draws.drawRest(&jobs[i]); estimate > 0 {
			jobs[i].Estimate = estimate
		}
	}
	l.log.Jobs = slices.Clip(jobs)
	return &l.log, nil
}

// logReader is a log that is being read.
type logReader struct {
	demand *Demand
	name   string
	data   []byte
	log    JobLog
	line   int       // that is read, from 1
	begin  time.Time // time 0, of logs that tell moments
}

// errorf is an error at the line.
func (l *logReader) errorf(format string, args ...any) error {
	return fmt.Errorf("%s:%d: %s", l.name, l.line, fmt.Sprintf(format, args...))
}

// addJob adds a job that was submitted and ran for so many seconds.
func (l *logReader) addJob(submit, work float64, shape Shape) error {
	if longest := MaxTime.Seconds(); !(submit >= 0 && submit <= longest) ||
		!(work >= 0 && work <= longest) {
		return l.errorf("submitted at %g s for %g s; want seconds from 0, at most %g", submit,
			work, longest)
	}
	l.log.Jobs = append(l.log.Jobs,
		Job{Submit: FromSeconds(submit), Work: max(Millisecond, FromSeconds(work)), Shape: shape})
	return nil
}

// checkOrder fails where the last job was submitted before the one above it.
func (l *logReader) checkOrder() error {
	if n := len(l.log.Jobs); n > 1 && l.log.Jobs[n-2].Submit > l.log.Jobs[n-1].Submit {
		return l.errorf("submitted at %g s, before the job above it; sort the jobs by submission",
			l.log.Jobs[n-1].Submit.Seconds())
	}
	return nil
}

// sliceForChips returns the slice for so many accelerators.
func (l *logReader) sliceForChips(text string) (Shape, error) {
	chips, err := strconv.ParseFloat(text, 64) // of data frames, that write 8.0
	if err != nil || chips < 1 || chips != math.Trunc(chips) {
		return Shape{}, l.errorf("holds no whole number of accelerators where one belongs")
	}
	shape, ok := l.demand.Mix.SmallestFit(int(min(chips, 1<<30)))
	if !ok {
		return Shape{}, l.errorf("%g accelerators are more than any slice of the mix has", chips)
	}
	return shape, nil
}

// rows calls what is to be done with each row of a CSV file.
func (l *logReader) rows(fields int, visit func(row []string) error) error {
	r := csv.NewReader(bytes.NewReader(l.data))
	r.Comment, r.FieldsPerRecord, r.ReuseRecord, r.TrimLeadingSpace = '#', fields, true, true
	for {
		row, err := r.Read()
		var parseErr *csv.ParseError
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case errors.As(err, &parseErr) && errors.Is(err, csv.ErrFieldCount):
			l.line = parseErr.Line
			return l.errorf("has %d fields; want %d, as other rows; the line may be cut off",
				len(row), r.FieldsPerRecord)
		case errors.As(err, &parseErr):
			l.line = parseErr.Line
			return l.errorf("%v", parseErr.Err)
		case err != nil:
			return fmt.Errorf("%s: %w", l.name, err)
		}
		l.line, _ = r.FieldPos(0)
		if err := visit(row); err != nil {
			return err
		}
	}
}

// timeLayouts are how logs write moments.
var timeLayouts = []string{time.DateTime, "2006-01-02 15:04:05-07:00", "2006-01-02 15:04:05 MST",
	"2006-01-02T15:04:05", time.RFC3339}

// parseTime reads a moment; it is zero where none is told.
func (l *logReader) parseTime(text string) (time.Time, error) {
	switch text = strings.TrimSpace(text); text {
	case "", "None", "NaT", "nan", "null", "Unknown":
		return time.Time{}, nil
	}
	for _, clock := range timeLayouts {
		if t, err := time.Parse(clock, text); err == nil {
			return t, nil
		}
	}
	return time.Time{}, l.errorf("holds no moment such as 2023-03-01 00:18:22 where one belongs")
}

// secondsSinceBegin returns seconds from time 0, which the first moment sets.
func (l *logReader) secondsSinceBegin(t time.Time) float64 {
	if l.begin.IsZero() {
		l.begin = t
	}
	return t.Sub(l.begin).Seconds()
}

// addDated adds a job by its moments, of a log whose jobs are in any order.
func (l *logReader) addDated(submit time.Time, work float64, shape Shape) error {
	seconds := l.secondsSinceBegin(submit)
	if seconds < 0 { // the first so far: time 0 is earlier than was thought
		for i := range l.log.Jobs {
			l.log.Jobs[i].Submit += FromSeconds(-seconds)
		}
		l.begin, seconds = submit, 0
	}
	return l.addJob(seconds, work, shape)
}
