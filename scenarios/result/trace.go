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
		t.event("%s", e.line(e.i))
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

// event is an event at a time in picoseconds, written by line(i).
type event struct {
	at   int64
	line func(i int32) string
	i    int32
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
		pid, tid := t.pid, t.tid
		busy := func(i int32) string {
			return slice(pid, tid, ticks(s.TimeS[i]), ticks(s.TimeS[i+1]), "circuit", fmt.Sprintf("%.4g Gb/s", s.Value[i]/1e9),
				fmt.Sprintf(`,"args":{"rate_bits_per_s":%s}`, text.Exact(s.Value[i])))
		}
		for i := range max(len(s.TimeS)-1, 0) {
			if s.Value[i] > 0 && ticks(s.TimeS[i+1]) > ticks(s.TimeS[i]) {
				t.add(ticks(s.TimeS[i]), busy, i)
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
		pid, name := t.pid, quote(what+" "+s.Name+" (Gb/s)")
		counter := func(i int32) string {
			return fmt.Sprintf(`{"ph":"C","pid":%d,"ts":%s,"name":%s,"args":{"Gb/s":%s}}`, pid, micros(ticks(s.TimeS[i])), name, text.Exact(s.Value[i]/1e9))
		}
		for i, at := range s.TimeS {
			t.add(ticks(at), counter, i)
		}
	}
}

// track adds a stage: threads for its work and for its transfers.
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
	interval := func(s Span) (from, to int64) { return ticks(s.StartS), ticks(s.EndS) }
	add := func(row []Span) {
		pid, tid := t.pid, t.tid
		span := func(i int32) string {
			from, to := interval(row[i])
			return slice(pid, tid, from, to, row[i].Kind, row[i].Kind+" "+row[i].Label, "")
		}
		for i := range row {
			t.add(ticks(row[i].StartS), span, i)
		}
	}
	rows(t, name, work, interval, add)
	rows(t, name+", transfers", moves, interval, add)
}

// rows deals what is on a track, in order of start, to rows in which nothing overlaps what is before it. Each row is a
// thread of its own, whose content goes to add.
func rows[T any](t *tracer, label string, list []T, interval func(T) (from, to int64), add func(row []T)) {
	var all [][]T
	for _, x := range list {
		from, _ := interval(x)
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

func (t *tracer) thread(name string) {
	t.tid++
	t.event(`{"ph":"M","pid":%d,"tid":%d,"name":"thread_name","args":{"name":%s}}`, t.pid, t.tid, quote(name))
	t.event(`{"ph":"M","pid":%d,"tid":%d,"name":"thread_sort_index","args":{"sort_index":%d}}`, t.pid, t.tid, t.tid)
}

func (t *tracer) add(at int64, line func(i int32) string, i int) {
	t.events = append(t.events, event{at, line, int32(i)})
}

// slice is what a thread does from one time to another, in picoseconds, as JSON; more is what follows its name.
func slice(pid, tid int, from, to int64, category, name, more string) string {
	return fmt.Sprintf(`{"ph":"X","pid":%d,"tid":%d,"ts":%s,"dur":%s,"cat":%s,"name":%s%s}`,
		pid, tid, micros(from), micros(to-from), quote(category), quote(name), more)
}

func ticks(s float64) int64 { return int64(math.Round(s * 1e12)) }

// micros writes picoseconds as microseconds, exactly.
func micros(ps int64) string { return fmt.Sprintf("%d.%06d", ps/1e6, ps%1e6) }

func quote(s string) string {
	b, _ := json.Marshal(s) // a string always can be
	return string(b)
}
