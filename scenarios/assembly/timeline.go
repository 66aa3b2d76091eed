// This file converts simulated graphs to timelines: the tasks of each node over time, and
// the loads of the busiest links.

package assembly

import (
	"cmp"
	"fmt"
	"slices"

	"sim/engine"
	"sim/scenarios/result"
)

// DefaultTimelineTasks is the default number of tasks of a timeline, without its critical
// path. Such a timeline is about 30 MB of text.
const DefaultTimelineTasks = 100_000

// TimelineOptions selects the tasks of timelines.
type TimelineOptions struct {
	// Tasks limits the tasks of a timeline that are not on the critical path. If it is 0,
	// there are no timelines.
	Tasks  int
	Window result.Window // part of simulated time whose tasks are shown
}

// maxCounters is the number of links whose loads a timeline shows, about a screen of
// tracks. They are the links with the most bytes.
const maxCounters = 16

// TimelineInput is a simulated graph with the data of its timeline.
type TimelineInput struct {
	Graph *engine.Graph
	Trace *engine.Trace
	Nodes []string // names of the tracks, indexed by node
	// ComputeNode returns the node whose track shows a compute; nil means Task.Src.
	ComputeNode func(id int32) int32
	// VisitLinks calls visit for each link of a transfer with its share of the bytes. If
	// it is nil, links are unknown, and WhyNoLinks states why.
	VisitLinks func(id int32, visit func(link int32, share float64))
	WhyNoLinks string
	Links      []engine.Link
	// LinkName returns the name of a link's counter; nil names both nodes by number.
	LinkName func(link int32) string
	Omitted  string // description of work that the graph does not contain
	// Kind returns the kind of a task as in result.Span; nil means that all tasks are
	// transfers.
	Kind         func(id int32) string
	MarkCritical bool // whether tasks on the critical path are marked
}

// Timeline returns the computes and transfers in the window, the task that each waited for
// last, and the loads of links. If there are more than o.Tasks tasks, it contains a sample;
// see result.Sample.
func (a *TimelineInput) Timeline(o TimelineOptions) *result.Timeline {
	g, t := a.Graph, a.Trace
	l := &result.Timeline{Nodes: a.Nodes, Omitted: a.Omitted}
	var withWork []int32 // tasks that are not mere milestones
	for i := range g.Tasks {
		k := &g.Tasks[i]
		isTransfer := k.Kind == engine.Transfer && k.Bytes > 0
		if isTransfer || k.Kind == engine.Compute && k.Duration > 0 {
			withWork = append(withWork, int32(i))
		}
	}
	critical := make([]bool, len(g.Tasks))
	if a.MarkCritical {
		for _, id := range t.CriticalPath(g) {
			critical[id] = true
		}
	}

	// Select the tasks in the window.
	var shown []int32
	for _, id := range withWork {
		if o.Window.Includes(int64(t.Start[id]), int64(t.End[id])) {
			shown = append(shown, id)
		}
	}
	if outside := len(withWork) - len(shown); outside > 0 {
		addOmission(l, "%d of %d tasks, outside of %s (the last ends at %.4g s)",
			outside, len(withWork), o.Window, t.Makespan.Seconds())
	}

	if len(shown) > o.Tasks {
		// A task that crosses the border of the window counts from the border on.
		begin := engine.Time(o.Window.From)
		sample := result.Sample(len(shown), o.Tasks, func(i int) result.TaskInterval {
			id := shown[i]
			return result.TaskInterval{
				Start:    float64(max(0, t.Start[id]-begin)),
				End:      float64(t.End[id] - begin),
				Critical: critical[id],
			}
		})
		end := engine.Time(0)
		var selected []int32
		for i, id := range shown {
			end = max(end, t.End[id])
			if sample.Selected[i] {
				selected = append(selected, id)
			}
		}
		addOmission(l, "%s", sample.Describe(begin.Seconds(), end.Seconds()))
		shown = selected
	}

	timelineIndex := slices.Repeat([]int32{-1}, len(g.Tasks)) // -1 if a task is not shown
	for index, id := range shown {
		timelineIndex[id] = int32(index)
		task := a.task(id)
		task.Critical = critical[id]
		l.Tasks = append(l.Tasks, task)
	}

	// The last predecessor of a task determines its start. A predecessor that is not
	// shown, such as a milestone, is replaced by its own last predecessor.
	lastPredecessor := slices.Repeat([]int32{-1}, len(g.Tasks))
	for _, id := range g.Order() {
		for _, e := range g.In(id) {
			last := lastPredecessor[id]
			if last < 0 || t.End[e.From]+e.Lag > t.End[last] {
				lastPredecessor[id] = e.From
			}
		}
		if from := lastPredecessor[id]; from >= 0 && timelineIndex[from] < 0 {
			lastPredecessor[id] = lastPredecessor[from]
		}
		if timelineIndex[id] >= 0 && lastPredecessor[id] >= 0 {
			l.Tasks[timelineIndex[id]].WaitedFor = timelineIndex[lastPredecessor[id]]
		}
	}
	a.addCounters(l, withWork)
	return l
}

// task returns the entry of a task in a timeline, without its predecessor.
func (a *TimelineInput) task(id int32) result.TimelineTask {
	k := &a.Graph.Tasks[id]
	task := result.TimelineTask{
		Name:      a.Graph.Name(id),
		Node:      k.Src,
		Dst:       k.Dst,
		Start:     int64(a.Trace.Start[id]),
		End:       int64(a.Trace.End[id]),
		Transfer:  k.Kind == engine.Transfer,
		Bytes:     k.Bytes,
		WaitedFor: -1,
		Kind:      "transfer",
	}
	if a.Kind != nil {
		task.Kind = a.Kind(id)
	}
	if !task.Transfer && a.ComputeNode != nil {
		task.Node = a.ComputeNode(id)
	}
	return task
}

// addOmission adds a description of data that the timeline omits.
func addOmission(l *result.Timeline, format string, args ...any) {
	if l.Omitted != "" {
		l.Omitted += "; "
	}
	l.Omitted += fmt.Sprintf(format, args...)
}

// addCounters adds the loads of the links with the most bytes over time. Each transfer
// has its average rate, divided among its paths in the same shares as its packets.
func (a *TimelineInput) addCounters(l *result.Timeline, tasks []int32) {
	if a.VisitLinks == nil {
		addOmission(l, "%s", a.WhyNoLinks)
		return
	}
	visitAll := func(visit func(id, link int32, share float64)) {
		for _, id := range tasks {
			if a.Graph.Tasks[id].Kind == engine.Transfer {
				a.VisitLinks(id, func(link int32, share float64) { visit(id, link, share) })
			}
		}
	}

	// Select the links with the most bytes.
	bytes := map[int32]float64{}
	visitAll(func(id, link int32, share float64) {
		bytes[link] += share * float64(a.Graph.Tasks[id].Bytes)
	})
	var links []int32
	for link := range bytes {
		links = append(links, link)
	}
	slices.SortFunc(links, func(x, y int32) int {
		return cmp.Or(cmp.Compare(bytes[y], bytes[x]), cmp.Compare(x, y))
	})
	if len(links) > maxCounters {
		addOmission(l, "counters of %d of %d links, those that carry least",
			len(links)-maxCounters, len(links))
		links = links[:maxCounters]
	}

	changes := map[int32][]engine.RateStep{} // changes of the rate of each link, in bits per second
	visitAll(func(id, link int32, share float64) {
		start, end := a.Trace.Start[id], a.Trace.End[id]
		if !slices.Contains(links, link) || end <= start {
			return
		}
		bits := 8 * share * float64(a.Graph.Tasks[id].Bytes)
		rate := bits / (end - start).Seconds()
		changes[link] = append(changes[link],
			engine.RateStep{At: start, Rate: rate}, engine.RateStep{At: end, Rate: -rate})
	})
	for _, link := range links {
		name := fmt.Sprintf("%d to %d", a.Links[link].From, a.Links[link].To)
		if a.LinkName != nil {
			name = a.LinkName(link)
		}
		l.Links = append(l.Links, sumChanges(name, changes[link]))
	}
}

// sumChanges returns the step function with the given changes of its value.
func sumChanges(name string, changes []engine.RateStep) result.Series {
	slices.SortStableFunc(changes, func(x, y engine.RateStep) int { return cmp.Compare(x.At, y.At) })
	s := result.Series{Name: name}
	sum, active := 0.0, 0 // active is the number of transfers in progress
	for i, c := range changes {
		if sum += c.Rate; c.Rate > 0 {
			active++
		} else if active--; active == 0 {
			sum = 0 // without rounding errors
		}
		if i+1 == len(changes) || changes[i+1].At > c.At {
			s.TimeS, s.Value = append(s.TimeS, c.At.Seconds()), append(s.Value, sum)
		}
	}
	return s
}
