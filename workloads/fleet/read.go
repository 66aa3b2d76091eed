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

// Format is a format of job logs.
type Format struct {
	Name, Doc string
	read      func(l *logReader) error
}

// Formats returns the formats of job logs that ReadJobs reads.
func Formats() []Format {
	return []Format{
		{"rfold", "CSV rows of number, submission (s), topology, shape or chips, chips, duration (s), as RFold has them; in order",
			readRFold},
		{"helios", "CSV of Helios and Acme: columns gpu_num, submit_time and duration, or start_time and end_time, by the names in the first row",
			readHelios},
		{"philly", "JSON list of jobs with attempts, as Philly's", readPhilly},
		{"swf", "standard workload format: lines of 18 numbers; in order", readSWF},
	}
}

// JobLog is the content of a job log.
type JobLog struct {
	Jobs        []Job // Jobs are sorted by submission. If the log has dates, the first one is time 0.
	NumUntimed  int   // jobs left out: no time of submission or no duration
	NumPartial  int   // jobs with some attempts without times, which are ignored
	NumChipless int   // jobs left out: they request no accelerators
}

// Words describes the jobs that were left out, or returns "" if all were read.
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

// ReadJobs reads a job log. A job that requests a number of chips gets the smallest slice
// of the mix that has them (Mix.SmallestFit). Bands and fault routing are drawn as for
// random jobs, and so are estimates if the log has none.
//
// It fails on the first invalid line. Times of a job must not decrease, and neither must
// the times of submission in formats that are sorted.
func (d *Demand) ReadJobs(format, name string, data []byte) (*JobLog, error) {
	i := slices.IndexFunc(Formats(), func(f Format) bool { return f.Name == format })
	if i < 0 {
		return nil, fmt.Errorf("fleet: unknown log format %q", format)
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

// logReader is the state of reading a log. The function of each Format adds the jobs of its
// log to it.
type logReader struct {
	demand *Demand
	name   string
	data   []byte
	log    JobLog
	line   int       // current line, from 1
	begin  time.Time // time 0 of logs with dates
}

// errorf returns an error at the current line.
func (l *logReader) errorf(format string, args ...any) error {
	return fmt.Errorf("%s:%d: %s", l.name, l.line, fmt.Sprintf(format, args...))
}

// addJob adds a job with its submission and duration in seconds.
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

// checkOrder fails if the last job was submitted before the previous one.
func (l *logReader) checkOrder() error {
	if n := len(l.log.Jobs); n > 1 && l.log.Jobs[n-2].Submit > l.log.Jobs[n-1].Submit {
		return l.errorf("submitted at %g s, before the job above it; sort the jobs by submission",
			l.log.Jobs[n-1].Submit.Seconds())
	}
	return nil
}

// sliceForChips returns the slice for the given number of accelerators.
func (l *logReader) sliceForChips(text string) (Shape, error) {
	chips, err := strconv.ParseFloat(text, 64) // data frames write 8.0
	if err != nil || chips < 1 || chips != math.Trunc(chips) {
		return Shape{}, l.errorf("holds an invalid number of accelerators; want a whole number from 1")
	}
	const enough = 1 << 30 // more chips than any slice has, and within the range of int
	shape, ok := l.demand.Mix.SmallestFit(int(min(chips, enough)))
	if !ok {
		return Shape{}, l.errorf("%g accelerators are more than any slice of the mix has", chips)
	}
	return shape, nil
}

// fieldsOfFirstRow is the number of fields for logReader.rows if all rows must have as many
// fields as the first one.
const fieldsOfFirstRow = 0

// rows calls visit for each row of a CSV file. Each row must have the given number of
// fields.
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

// timeLayouts are the formats of dates in logs.
var timeLayouts = []string{time.DateTime, "2006-01-02 15:04:05-07:00", "2006-01-02 15:04:05 MST",
	"2006-01-02T15:04:05", time.RFC3339}

// parseTime parses a date. It returns the zero time if the date is missing.
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
	return time.Time{}, l.errorf("holds an invalid date; want one such as 2023-03-01 00:18:22")
}

// secondsSinceBegin returns the seconds since time 0, which the first date defines.
func (l *logReader) secondsSinceBegin(t time.Time) float64 {
	if l.begin.IsZero() {
		l.begin = t
	}
	return t.Sub(l.begin).Seconds()
}

// addDated adds a job with its date of submission, in a log that need not be sorted.
func (l *logReader) addDated(submit time.Time, work float64, shape Shape) error {
	seconds := l.secondsSinceBegin(submit)
	if seconds < 0 { // an earlier date than all before: it becomes time 0
		for i := range l.log.Jobs {
			l.log.Jobs[i].Submit += FromSeconds(-seconds)
		}
		l.begin, seconds = submit, 0
	}
	return l.addJob(seconds, work, shape)
}
