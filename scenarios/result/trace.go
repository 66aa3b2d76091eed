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

// WriteTrace writes the timelines of d as Chrome trace-event JSON, which Perfetto and chrome://tracing open: a process
// for the ideal fabric, where that has timelines, and one for each policy, a thread for each stage (and one for its
// transfers) and for each direction of a circuit bundle, and the rates as counters. Events come in order of time, then
// of process and thread, and are written one by one, so that a large trace takes no more memory than d.
func WriteTrace(w io.Writer, doc *Document, d *Detail) error {
	b := bufio.NewWriterSize(w, 1<<16)
	t := &tracer{w: b}
	t.line(`{"displayTimeUnit":"ms","otherData":{"scenario":%s,"version":%s,"digest":%s},"traceEvents":[`,
		quote(doc.Scenario), quote(doc.Version), quote(doc.Digest))
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
	slices.SortStableFunc(t.events, func(a, b event) int { return cmp.Compare(a.at, b.at) }) // threads are in order
	for _, e := range t.events {
		t.event("%s", e.of.line(e))
	}
	t.line("\n]}\n")
	return b.Flush() // reports the first failed write
}

// tracer numbers processes and threads and lists their events.
type tracer struct {
	w      *bufio.Writer
	pid    int
	tid    int
	any    bool // event was written
	events []event
}

// event is the i-th of a track, at a time in picoseconds.
type event struct {
	at int64
	of *track
	i  int32
}

func (t *tracer) line(format string, args ...any) { fmt.Fprintf(t.w, format, args...) }

func (t *tracer) event(format string, args ...any) {
	if t.any {
		t.w.WriteByte(',')
	}
	t.any = true
	t.w.WriteByte('\n')
	t.line(format, args...)
}

// simulation adds a process with its threads and counters.
func (t *tracer) simulation(p *Simulation) {
	t.pid++
	t.tid = 0
	t.event(`{"ph":"M","pid":%d,"tid":0,"name":"process_name","args":{"name":%s}}`, t.pid, quote(p.Policy))
	t.event(`{"ph":"M","pid":%d,"tid":0,"name":"process_sort_index","args":{"sort_index":%d}}`, t.pid, t.pid)
	for i := range p.Tracks {
		t.track(&p.Tracks[i])
	}
	for i := range p.Circuits {
		s := &p.Circuits[i]
		t.thread("circuit " + s.Name)
		busy := &track{pid: t.pid, tid: t.tid, series: s}
		for i := range max(len(s.TimeS)-1, 0) {
			if s.Value[i] > 0 && ticks(s.TimeS[i+1]) > ticks(s.TimeS[i]) {
				t.add(busy, s.TimeS[i], i)
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

// counters adds rates.
func (t *tracer) counters(what string, series []Series) {
	for i := range series {
		s := &series[i]
		t.tid++ // a counter is no thread; the number orders it
		counter := &track{pid: t.pid, tid: t.tid, series: s, counter: what + " " + s.Name + " (Gb/s)"}
		for i, at := range s.TimeS {
			t.add(counter, at, i)
		}
	}
}

// track adds a stage: a thread for its work and one for its transfers. Spans of one thread must not overlap, so more
// threads follow where they do.
func (t *tracer) track(l *Track) {
	name := l.Name
	if l.Group != "" {
		name += ", " + l.Group
	}
	var work, moves []Span
	for _, s := range l.Spans {
		if (&PathStep{Kind: s.Kind}).Transfer() {
			moves = append(moves, s)
		} else {
			work = append(work, s)
		}
	}
	for _, g := range []struct {
		name  string
		spans []Span
	}{{name, work}, {name + ", transfers", moves}} {
		for i, row := range disjoint(g.spans) {
			label := g.name
			if i > 0 {
				label = fmt.Sprintf("%s (%d)", g.name, i+1)
			}
			t.thread(label)
			thread := &track{pid: t.pid, tid: t.tid, spans: row}
			for i := range row {
				t.add(thread, row[i].StartS, i)
			}
		}
	}
}

// disjoint deals spans, ordered by start, into rows in which none overlaps the one before it.
func disjoint(spans []Span) [][]Span {
	var rows [][]Span
	for _, s := range spans {
		at := slices.IndexFunc(rows, func(r []Span) bool { return ticks(r[len(r)-1].EndS) <= ticks(s.StartS) })
		if at < 0 {
			at = len(rows)
			rows = append(rows, nil)
		}
		rows[at] = append(rows[at], s)
	}
	return rows
}

func (t *tracer) thread(name string) {
	t.tid++
	t.event(`{"ph":"M","pid":%d,"tid":%d,"name":"thread_name","args":{"name":%s}}`, t.pid, t.tid, quote(name))
	t.event(`{"ph":"M","pid":%d,"tid":%d,"name":"thread_sort_index","args":{"sort_index":%d}}`, t.pid, t.tid, t.tid)
}

// add adds the i-th event of a track.
func (t *tracer) add(of *track, atS float64, i int) {
	t.events = append(t.events, event{ticks(atS), of, int32(i)})
}

// track is a source of events in order of time: the spans of a thread, the busy steps of a circuit, or a counter.
type track struct {
	pid, tid int
	spans    []Span
	series   *Series
	counter  string // its name
	task     func(i int32, ts string) string
}

// line is an event of the track as JSON.
func (t *track) line(e event) string {
	ts := micros(e.at)
	switch {
	case t.task != nil:
		return t.task(e.i, ts)
	case t.spans != nil:
		s := &t.spans[e.i]
		return fmt.Sprintf(`{"ph":"X","pid":%d,"tid":%d,"ts":%s,"dur":%s,"cat":%s,"name":%s}`,
			t.pid, t.tid, ts, micros(ticks(s.EndS)-e.at), quote(s.Kind), quote(s.Kind+" "+s.Label))
	case t.counter != "":
		return fmt.Sprintf(`{"ph":"C","pid":%d,"ts":%s,"name":%s,"args":{"Gb/s":%s}}`,
			t.pid, ts, quote(t.counter), text.Exact(t.series.Value[e.i]/1e9))
	}
	return fmt.Sprintf(`{"ph":"X","pid":%d,"tid":%d,"ts":%s,"dur":%s,"cat":"circuit","name":"%.4g Gb/s","args":{"rate_bits_per_s":%s}}`,
		t.pid, t.tid, ts, micros(ticks(t.series.TimeS[e.i+1])-e.at), t.series.Value[e.i]/1e9, text.Exact(t.series.Value[e.i]))
}

func ticks(s float64) int64 { return int64(math.Round(s * 1e12)) }

// micros writes picoseconds as microseconds, exactly.
func micros(ps int64) string { return fmt.Sprintf("%d.%06d", ps/1e6, ps%1e6) }

func quote(s string) string {
	b, _ := json.Marshal(s) // a string always can be
	return string(b)
}
