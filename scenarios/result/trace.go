package result

import (
	"bufio"
	"cmp"
	"container/heap"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
)

// WriteTrace writes the timelines of d as Chrome trace-event JSON, which Perfetto and chrome://tracing open: a process
// for the ideal fabric and one for each policy, a thread for each stage (and one for its transfers) and for each
// direction of a circuit bundle, and the rates as counters. Events come in order of time, then of process and thread,
// and are written as they are made, so that a large trace takes no more memory than d.
func WriteTrace(w io.Writer, doc *Document, d *Detail) error {
	b := bufio.NewWriterSize(w, 1<<16)
	t := &tracer{w: b}
	t.line(`{"displayTimeUnit":"ms","otherData":{"scenario":%s,"version":%s,"digest":%s},"traceEvents":[`,
		quote(doc.Scenario), quote(doc.Version), quote(doc.Digest))
	ref := d.Reference
	if ref.Policy == "" {
		ref.Policy = "ideal fabric"
	}
	t.play(&ref)
	for i := range d.Policies {
		t.play(&d.Policies[i])
	}
	heap.Init(&t.tracks)
	for len(t.tracks) > 0 {
		tr := t.tracks[0]
		t.event("%s", tr.line())
		if tr.next++; tr.next == tr.size {
			heap.Pop(&t.tracks)
		} else {
			heap.Fix(&t.tracks, 0)
		}
	}
	t.line("\n]}\n")
	return b.Flush() // reports the first failed write
}

// tracer numbers processes and threads and merges their tracks.
type tracer struct {
	w      *bufio.Writer
	pid    int
	tid    int
	events int
	tracks trackHeap
}

func (t *tracer) line(format string, args ...any) { fmt.Fprintf(t.w, format, args...) }

func (t *tracer) event(format string, args ...any) {
	if t.events++; t.events > 1 {
		t.w.WriteByte(',')
	}
	t.w.WriteByte('\n')
	t.line(format, args...)
}

// play adds a process with its threads and counters.
func (t *tracer) play(p *Play) {
	t.pid++
	t.tid = 0
	t.event(`{"ph":"M","pid":%d,"tid":0,"name":"process_name","args":{"name":%s}}`, t.pid, quote(p.Policy))
	t.event(`{"ph":"M","pid":%d,"tid":0,"name":"process_sort_index","args":{"sort_index":%d}}`, t.pid, t.pid)
	for i := range p.Lanes {
		t.lane(&p.Lanes[i])
	}
	for i := range p.Circuits {
		s := &p.Circuits[i]
		t.thread("circuit " + s.Name)
		t.add(&track{pid: t.pid, tid: t.tid, series: s, size: len(s.TimeS) - 1, name: s.Name})
	}
	for _, g := range []struct {
		what   string
		series []Series
	}{{"circuit", p.Circuits}, {"demand", p.Demand}, {"rate", p.Rates}} {
		for i := range g.series {
			s := &g.series[i]
			t.tid++ // a counter is no thread; the number orders it
			t.add(&track{pid: t.pid, tid: t.tid, series: s, size: len(s.TimeS), counter: true, name: g.what + " " + s.Name + " (Gb/s)"})
		}
	}
}

// lane adds a stage: a thread for its work and one for its transfers. Spans of one thread must not overlap, so more
// threads follow where they do.
func (t *tracer) lane(l *Lane) {
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
			t.add(&track{pid: t.pid, tid: t.tid, spans: row, size: len(row)})
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

// add takes a track into the merge. Of a series as spans only the steps that carry something count.
func (t *tracer) add(tr *track) {
	if tr.series != nil && !tr.counter {
		for i := range max(tr.size, 0) {
			if tr.series.Value[i] > 0 && ticks(tr.series.TimeS[i+1]) > ticks(tr.series.TimeS[i]) {
				tr.steps = append(tr.steps, int32(i))
			}
		}
		tr.size = len(tr.steps)
	}
	if tr.size > 0 {
		t.tracks = append(t.tracks, tr)
	}
}

// track is a source of events in order of time: the spans of a thread, the busy steps of a circuit, or a counter.
type track struct {
	pid, tid   int
	name       string
	spans      []Span
	series     *Series
	steps      []int32 // of series, where it is shown as spans
	counter    bool
	next, size int
}

// at is the time of the next event in picoseconds.
func (t *track) at() int64 {
	switch {
	case t.spans != nil:
		return ticks(t.spans[t.next].StartS)
	case t.counter:
		return ticks(t.series.TimeS[t.next])
	}
	return ticks(t.series.TimeS[t.steps[t.next]])
}

// line is the next event as JSON.
func (t *track) line() string {
	ts := micros(t.at())
	switch {
	case t.spans != nil:
		s := &t.spans[t.next]
		return fmt.Sprintf(`{"ph":"X","pid":%d,"tid":%d,"ts":%s,"dur":%s,"cat":%s,"name":%s}`,
			t.pid, t.tid, ts, micros(ticks(s.EndS)-t.at()), quote(s.Kind), quote(s.Kind+" "+s.Label))
	case t.counter:
		return fmt.Sprintf(`{"ph":"C","pid":%d,"ts":%s,"name":%s,"args":{"Gb/s":%s}}`,
			t.pid, ts, quote(t.name), number(t.series.Value[t.next]/1e9))
	}
	i := t.steps[t.next]
	return fmt.Sprintf(`{"ph":"X","pid":%d,"tid":%d,"ts":%s,"dur":%s,"cat":"circuit","name":"%.4g Gb/s","args":{"rate_bits_per_s":%s}}`,
		t.pid, t.tid, ts, micros(ticks(t.series.TimeS[i+1])-t.at()), t.series.Value[i]/1e9, number(t.series.Value[i]))
}

func ticks(s float64) int64 { return int64(math.Round(s * 1e12)) }

// micros writes picoseconds as microseconds, exactly.
func micros(ps int64) string { return fmt.Sprintf("%d.%06d", ps/1e6, ps%1e6) }

func quote(s string) string {
	b, _ := json.Marshal(s) // a string always can be
	return string(b)
}

// trackHeap orders tracks by their next event, then by process and thread.
type trackHeap []*track

func (h trackHeap) Len() int      { return len(h) }
func (h trackHeap) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h trackHeap) Less(i, j int) bool {
	a, b := h[i], h[j]
	return cmp.Or(cmp.Compare(a.at(), b.at()), cmp.Compare(a.pid, b.pid), cmp.Compare(a.tid, b.tid)) < 0
}
func (h *trackHeap) Push(x any) { *h = append(*h, x.(*track)) }
func (h *trackHeap) Pop() any {
	old := *h
	x := old[len(old)-1]
	*h = old[:len(old)-1]
	return x
}
