// This file writes the timelines of a run as a Chrome trace, for viewers such as
// Perfetto.

package result

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"

	"sim/internal/text"
)

// WriteTrace writes the timelines of d as Chrome trace-event JSON, for Perfetto and
// chrome://tracing. There is one process for the ideal fabric, if it has timelines, and
// one per policy. A process has one thread per stage, one for the stage's transfers, and
// one per direction of a circuit bundle. Rates are counters. Events are sorted by time,
// process and thread, and written one by one: a large trace needs no more memory than d.
//
// The trace has the spans and changes of rates in the window. Spans that cross its border are
// complete. Timelines must have been created for the same window. WriteTrace returns the number of
// spans.
func WriteTrace(w io.Writer, doc *Document, d *Detail, window Window) (spans int, err error) {
	b := bufio.NewWriterSize(w, 1<<16)
	t := &traceWriter{w: b, window: window}
	t.printf(`{"displayTimeUnit":"ms","otherData":{"scenario":%s,"version":%s,"digest":%s},"traceEvents":[`,
		quoteJSON(doc.Scenario), quoteJSON(doc.Version), quoteJSON(doc.Digest))

	// The ideal fabric is process 0, policies are processes 1 and up, in the order of rows.
	ref := d.Reference
	if ref.Policy == "" {
		ref.Policy = "ideal fabric"
	}
	if t.pid = 1; len(ref.Tracks)+len(ref.Circuits) > 0 {
		t.pid = 0
		t.simulation(&ref)
	}
	for i := range d.Policies {
		t.simulation(&d.Policies[i])
	}
	slices.SortStableFunc(t.events, func(a, b queuedEvent) int { return cmp.Compare(a.ps, b.ps) }) // stable: events of one time stay sorted by process and thread
	for _, e := range t.events {
		t.writeEvent("%s", e.format(e.index))
	}
	t.printf("\n]}\n")
	return t.spans, b.Flush() // reports the first failed write
}

// traceWriter assigns numbers to processes and threads and collects their events. The member
// "ph" of an event is its kind: "X" is an activity, "C" the value of a counter, and "M" the
// name of a process or thread. "s" and "f" are the start and the end of an arrow.
type traceWriter struct {
	w          *bufio.Writer
	pid        int
	tid        int
	wroteEvent bool // an event was written, so the next one needs a comma
	window     Window
	spans      int // number of activities
	events     []queuedEvent
}

// queuedEvent is an event that is formatted when it is written, by format(index).
type queuedEvent struct {
	ps     int64 // time in picoseconds
	format func(i int32) string
	index  int32
}

// printf writes text.
func (t *traceWriter) printf(format string, args ...any) { fmt.Fprintf(t.w, format, args...) }

// writeEvent writes one event after a comma and a line break.
func (t *traceWriter) writeEvent(format string, args ...any) {
	if t.wroteEvent {
		t.w.WriteByte(',')
	}
	t.wroteEvent = true
	t.w.WriteByte('\n')
	t.printf(format, args...)
}

// simulation adds a process with its threads and counters.
func (t *traceWriter) simulation(p *Simulation) {
	t.pid++
	t.tid = 0
	t.writeEvent(`{"ph":"M","pid":%d,"tid":0,"name":"process_name","args":{"name":%s}}`, t.pid, quoteJSON(p.Policy))
	t.writeEvent(`{"ph":"M","pid":%d,"tid":0,"name":"process_sort_index","args":{"sort_index":%d}}`, t.pid, t.pid)
	for i := range p.Tracks {
		t.track(&p.Tracks[i])
	}
	for i := range p.Circuits {
		s := &p.Circuits[i]
		t.thread("circuit " + s.Name)
		pid, tid := t.pid, t.tid
		busy := func(i int32) string {
			return sliceJSON(pid, tid, picoseconds(s.TimeS[i]), picoseconds(s.TimeS[i+1]), "circuit", fmt.Sprintf("%.4g Gb/s", s.Value[i]/1e9),
				fmt.Sprintf(`,"args":{"rate_bits_per_s":%s}`, text.Exact(s.Value[i])))
		}
		for i := range max(len(s.TimeS)-1, 0) {
			from, to := picoseconds(s.TimeS[i]), picoseconds(s.TimeS[i+1])
			if s.Value[i] > 0 && to > from && t.window.Includes(from, to) {
				t.enqueue(from, busy, i)
				t.spans++
			}
		}
	}
	if p.Timeline != nil {
		t.timeline(p.Timeline)
	}
	t.counters("circuit", p.Circuits)
	t.counters("demand", p.Demand)
	t.counters("rate", p.Rates)
}

// counters adds series of rates as counters. In a window that begins later than a series, the
// first value is the rate at the beginning of the window.
func (t *traceWriter) counters(what string, series []Series) {
	for i := range series {
		s := &series[i]
		pid, name := t.pid, quoteJSON(what+" "+s.Name+" (Gb/s)")
		timeOf := func(i int) int64 { return max(picoseconds(s.TimeS[i]), t.window.From) }
		counter := func(i int32) string {
			return fmt.Sprintf(`{"ph":"C","pid":%d,"ts":%s,"name":%s,"args":{"Gb/s":%s}}`, pid, formatMicros(timeOf(int(i))), name, text.Exact(s.Value[i]/1e9))
		}
		for i := range s.TimeS {
			at := timeOf(i)
			isReplaced := i+1 < len(s.TimeS) && at == t.window.From && timeOf(i+1) == at && at > 0
			if t.window.Includes(at, at) && !isReplaced {
				t.enqueue(at, counter, i)
			}
		}
	}
}

// track adds a stage: threads for its work and for its transfers.
func (t *traceWriter) track(l *Track) {
	name := l.Name
	if l.Group != "" {
		name += ", " + l.Group
	}

	// Transfers have threads of their own, because they overlap with the stage's computations.
	var work, moves []Span
	for _, s := range l.Spans {
		if !t.window.Includes(picoseconds(s.StartS), picoseconds(s.EndS)) {
			continue
		}
		if (&PathStep{Kind: s.Kind}).Transfer() {
			moves = append(moves, s)
		} else {
			work = append(work, s)
		}
	}
	interval := func(s Span) (from, to int64) { return picoseconds(s.StartS), picoseconds(s.EndS) }
	add := func(row []Span) {
		pid, tid := t.pid, t.tid
		span := func(i int32) string {
			from, to := interval(row[i])
			return sliceJSON(pid, tid, from, to, row[i].Kind, row[i].Kind+" "+row[i].Label, "")
		}
		for i := range row {
			t.enqueue(picoseconds(row[i].StartS), span, i)
		}
		t.spans += len(row)
	}
	assignRows(t, name, work, interval, add)
	assignRows(t, name+", transfers", moves, interval, add)
}

// assignRows distributes intervals, sorted by start, over rows without overlaps, using
// the first row that is free. Each row becomes a thread; add adds its events.
func assignRows[T any](t *traceWriter, label string, list []T, interval func(T) (from, to int64), add func(row []T)) {
	var all [][]T
	for _, x := range list {
		from, _ := interval(x)

		// For intervals sorted by start, the first free row gives the smallest number of rows:
		// the largest number of intervals that overlap at one time.
		at := slices.IndexFunc(all, func(row []T) bool { _, end := interval(row[len(row)-1]); return end <= from })
		if at < 0 {
			at, all = len(all), append(all, nil)
		}
		all[at] = append(all[at], x)
	}
	for i, row := range all {
		name := label
		if i > 0 {
			name = fmt.Sprintf("%s (%d)", label, i+1)
		}
		t.thread(name)
		add(row)
	}
}

// thread begins a thread.
func (t *traceWriter) thread(name string) {
	t.tid++
	t.writeEvent(`{"ph":"M","pid":%d,"tid":%d,"name":"thread_name","args":{"name":%s}}`, t.pid, t.tid, quoteJSON(name))
	t.writeEvent(`{"ph":"M","pid":%d,"tid":%d,"name":"thread_sort_index","args":{"sort_index":%d}}`, t.pid, t.tid, t.tid)
}

// enqueue adds an event.
func (t *traceWriter) enqueue(at int64, line func(i int32) string, i int) {
	t.events = append(t.events, queuedEvent{at, line, int32(i)})
}

// sliceJSON returns an activity of a thread as JSON. Times are in picoseconds; more has further
// members, after a comma, or is "".
func sliceJSON(pid, tid int, from, to int64, category, name, more string) string {
	return fmt.Sprintf(`{"ph":"X","pid":%d,"tid":%d,"ts":%s,"dur":%s,"cat":%s,"name":%s%s}`,
		pid, tid, formatMicros(from), formatMicros(to-from), quoteJSON(category), quoteJSON(name), more)
}

// picoseconds converts seconds to picoseconds.
func picoseconds(s float64) int64 { return int64(math.Round(s * 1e12)) }

// formatMicros formats picoseconds as microseconds without rounding.
func formatMicros(ps int64) string { return fmt.Sprintf("%d.%06d", ps/1e6, ps%1e6) }

// quoteJSON returns s as a JSON string.
func quoteJSON(s string) string {
	b, _ := json.Marshal(s) // never fails for a string
	return string(b)
}
