package result

import (
	"cmp"
	"fmt"
	"slices"
)

// Timeline is what nodes of a network do, for WriteTrace: runs keep the tracks of short ones alone. Times are in picoseconds.
type Timeline struct {
	Nodes []string // tracks
	Tasks []TimelineTask
	Links []Series // average rates over the transfers that are under way, of the most loaded links
	// Omitted says what is not there, for size or since it is not known; "" is nothing.
	Omitted string
}

// TimelineTask is a compute, or a transfer on the track of its source.
type TimelineTask struct {
	Name       string
	Kind       string // as Span.Kind
	Node       int32
	Start, End int64
	Transfer   bool
	Dst        int32 // of a transfer
	Bytes      int64
	WaitedFor  int32 // the task that it waited for last, by index; -1 of none
	Critical   bool  // on the critical path
}

// Tracks are the tasks of each node that has some, as runs keep them.
func (l *Timeline) Tracks() []Track {
	spans := make([][]Span, len(l.Nodes))
	for i := range l.Tasks {
		k := &l.Tasks[i]
		s := Span{Kind: k.Kind, Label: k.Name, StartS: seconds(k.Start), EndS: seconds(k.End), Critical: k.Critical}
		if k.Transfer {
			s.Bytes, s.Label = k.Bytes, fmt.Sprintf("%s to %s", k.Name, l.Nodes[k.Dst])
		}
		spans[k.Node] = append(spans[k.Node], s)
	}
	var out []Track
	for node, name := range l.Nodes {
		if list := spans[node]; list != nil {
			slices.SortStableFunc(list, func(a, b Span) int { return cmp.Compare(a.StartS, b.StartS) })
			out = append(out, Track{Name: name, Spans: list})
		}
	}
	return out
}

func seconds(ps int64) float64 { return float64(ps) / 1e12 }

// timeline adds the tracks of a timeline: for each node its computes and its transfers, on as many threads as overlap,
// an arrow to each task from the one that it waited for last, and counters.
func (t *traceWriter) timeline(l *Timeline) {
	if l.Omitted != "" {
		t.writeEvent(`{"ph":"M","pid":%d,"tid":0,"name":"process_labels","args":{"labels":%s}}`, t.pid, quoteJSON("left out: "+l.Omitted))
	}
	thread := make([]int, len(l.Tasks))
	interval := func(i int32) (from, to int64) { return l.Tasks[i].Start, l.Tasks[i].End }
	of := make([][2][]int32, len(l.Nodes)) // computes and transfers, indexed by node
	for i, k := range l.Tasks {
		list := &of[k.Node][0]
		if k.Transfer {
			list = &of[k.Node][1]
		}
		*list = append(*list, int32(i))
	}
	for node, name := range l.Nodes {
		for k, label := range []string{name, name + ", sends"} {
			list := of[node][k]
			slices.SortStableFunc(list, func(a, b int32) int { return cmp.Compare(l.Tasks[a].Start, l.Tasks[b].Start) })
			assignRows(t, label, list, interval, func(row []int32) {
				for _, i := range row {
					thread[i] = t.tid
				}
			})
		}
	}
	pid := t.pid // events are written when all processes are there
	task := func(i int32) string {
		k := &l.Tasks[i]
		if k.Transfer {
			return sliceJSON(pid, thread[i], k.Start, k.End, "transfer", k.Name, fmt.Sprintf(`,"args":{"bytes":%d,"to":%s}`, k.Bytes, quoteJSON(l.Nodes[k.Dst])))
		}
		return sliceJSON(pid, thread[i], k.Start, k.End, "compute", k.Name, "")
	}
	arrow := func(phase string, tid int, at int64, i int32) string {
		return fmt.Sprintf(`{%s,"pid":%d,"tid":%d,"ts":%s,"id":%d,"cat":"waits","name":"waits"}`, phase, pid, tid, formatMicros(at), int64(pid)<<32|int64(i))
	}
	leaves := func(i int32) int64 { // the last moment of what the task waited for
		w := &l.Tasks[l.Tasks[i].WaitedFor]
		return max(w.Start, w.End-1)
	}
	begin := func(i int32) string { return arrow(`"ph":"s"`, thread[l.Tasks[i].WaitedFor], leaves(i), i) }
	end := func(i int32) string { return arrow(`"ph":"f","bp":"e"`, thread[i], l.Tasks[i].Start, i) }
	for i := range l.Tasks {
		k := &l.Tasks[i]
		t.enqueue(k.Start, task, i)
		if k.WaitedFor >= 0 {
			t.enqueue(leaves(int32(i)), begin, i)
			t.enqueue(k.Start, end, i)
		}
	}
	t.counters("link", l.Links)
}
