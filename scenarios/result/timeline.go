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
	// LeftOut says what is not there, for size or since it is not known; "" is nothing.
	LeftOut string
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
	Waited     int32 // the task that it waited for last, by index; -1 of none
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
func (t *tracer) timeline(l *Timeline) {
	if l.LeftOut != "" {
		t.event(`{"ph":"M","pid":%d,"tid":0,"name":"process_labels","args":{"labels":%s}}`, t.pid, quote("left out: "+l.LeftOut))
	}
	type rank struct {
		node  int32
		moves bool
	}
	of := map[rank][]int32{}
	for i := range l.Tasks {
		k := rank{l.Tasks[i].Node, l.Tasks[i].Transfer}
		of[k] = append(of[k], int32(i))
	}
	thread := make([]int, len(l.Tasks))
	for node, name := range l.Nodes {
		for _, moves := range []bool{false, true} {
			list := of[rank{int32(node), moves}]
			slices.SortStableFunc(list, func(a, b int32) int { return cmp.Compare(l.Tasks[a].Start, l.Tasks[b].Start) })
			first, ends := t.tid+1, []int64(nil)
			for _, i := range list {
				row := slices.IndexFunc(ends, func(end int64) bool { return end <= l.Tasks[i].Start })
				if row < 0 {
					row, ends = len(ends), append(ends, 0)
					label := name
					if moves {
						label += ", sends"
					}
					if row > 0 {
						label += fmt.Sprintf(" (%d)", row+1)
					}
					t.thread(label)
				}
				ends[row], thread[i] = l.Tasks[i].End, first+row
			}
		}
	}
	pid := t.pid // events are written when all processes are there
	spans, arrows := &track{}, [2]*track{{}, {}}
	spans.task = func(i int32, ts string) string {
		k := &l.Tasks[i]
		out := fmt.Sprintf(`{"ph":"X","pid":%d,"tid":%d,"ts":%s,"dur":%s,"cat":"compute","name":%s}`, pid, thread[i], ts, micros(k.End-k.Start), quote(k.Name))
		if k.Transfer {
			out = fmt.Sprintf(`{"ph":"X","pid":%d,"tid":%d,"ts":%s,"dur":%s,"cat":"transfer","name":%s,"args":{"bytes":%d,"to":%s}}`,
				pid, thread[i], ts, micros(k.End-k.Start), quote(k.Name), k.Bytes, quote(l.Nodes[k.Dst]))
		}
		return out
	}
	for side, phase := range []string{`"ph":"s"`, `"ph":"f","bp":"e"`} {
		arrows[side].task = func(i int32, ts string) string {
			at := thread[i]
			if side == 0 {
				at = thread[l.Tasks[i].Waited]
			}
			return fmt.Sprintf(`{%s,"pid":%d,"tid":%d,"ts":%s,"id":%d,"cat":"waits","name":"waits"}`, phase, pid, at, ts, int64(pid)<<32|int64(i))
		}
	}
	for i := range l.Tasks {
		k := &l.Tasks[i]
		t.events = append(t.events, event{k.Start, spans, int32(i)})
		if k.Waited >= 0 {
			w := &l.Tasks[k.Waited]
			t.events = append(t.events, event{max(w.Start, w.End-1), arrows[0], int32(i)}, event{k.Start, arrows[1], int32(i)})
		}
	}
	t.counters("link", l.Links)
}
