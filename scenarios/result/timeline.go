// This file declares the timeline of a network, and writes it as part of a Chrome
// trace.

package result

import (
	"cmp"
	"fmt"
	"slices"
)

// Timeline is the activity of the nodes of a network, for WriteTrace. Runs store only the
// tracks of short ones. Times are in picoseconds.
type Timeline struct {
	Nodes []string // names of the nodes
	Tasks []TimelineTask
	Links []Series // average rates of the most loaded links over the transfers in progress
	// Omitted describes the missing parts, which are too large or unknown; "" if nothing
	// is missing.
	Omitted string
}

// TimelineTask is a compute task, or a transfer on the track of its source.
type TimelineTask struct {
	Name       string
	Kind       string // like Span.Kind
	Node       int32  // index into Nodes
	Start, End int64
	Transfer   bool
	Dst        int32 // destination node of a transfer
	Bytes      int64 // bytes of a transfer
	WaitedFor  int32 // index of the last predecessor to end; -1 without a predecessor
	Critical   bool  // on the critical path
}

// Tracks returns the tracks of the nodes that have tasks.
func (l *Timeline) Tracks() []Track {
	// Group the tasks by node. The label of a transfer names its destination.
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

	// Tasks are in no particular order; spans of a track are sorted by start.
	for node, name := range l.Nodes {
		if list := spans[node]; list != nil {
			slices.SortStableFunc(list, func(a, b Span) int { return cmp.Compare(a.StartS, b.StartS) })
			out = append(out, Track{Name: name, Spans: list})
		}
	}
	return out
}

// seconds converts picoseconds to seconds.
func seconds(ps int64) float64 { return float64(ps) / 1e12 }

// timeline writes the tracks of a timeline. Each node has threads for computes and for
// transfers, as many as overlap. Each task has an arrow from its last predecessor. Link
// rates are counters. Kinds of events are explained at traceWriter.
func (t *traceWriter) timeline(l *Timeline) {
	if l.Omitted != "" {
		t.writeEvent(`{"ph":"M","pid":%d,"tid":0,"name":"process_labels","args":{"labels":%s}}`, t.pid, quoteJSON("left out: "+l.Omitted))
	}

	// Assign each task to a thread of its node. thread is indexed by task.
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

	// Formatters of the events of a task: the task itself, and both ends of the arrow from its
	// last predecessor. The number of an arrow has the process in the upper 32 bits and the task
	// in the lower ones, so it is unique among all processes.
	pid := t.pid // events are formatted after t.pid has changed
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
	leaves := func(i int32) int64 { // start of the arrow: the last picosecond of the predecessor
		w := &l.Tasks[l.Tasks[i].WaitedFor]
		return max(w.Start, w.End-1)
	}
	begin := func(i int32) string { return arrow(`"ph":"s"`, thread[l.Tasks[i].WaitedFor], leaves(i), i) }
	end := func(i int32) string { return arrow(`"ph":"f","bp":"e"`, thread[i], l.Tasks[i].Start, i) }

	// Queue the events. An arrow begins within the predecessor's slice, because viewers attach
	// its end to the slice at that time.
	for i := range l.Tasks {
		k := &l.Tasks[i]
		t.enqueue(k.Start, task, i)
		if k.WaitedFor >= 0 {
			t.enqueue(leaves(int32(i)), begin, i)
			t.enqueue(k.Start, end, i)
		}
	}
	t.spans += len(l.Tasks)
	t.counters("link", l.Links)
}
