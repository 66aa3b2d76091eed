package assembly

import (
	"cmp"
	"fmt"
	"slices"

	"sim/engine"
	"sim/scenarios/result"
)

// DefaultTimelineTasks is the default number of tasks of a timeline, without its critical path: about 30 MB of text.
const DefaultTimelineTasks = 100_000

// maxCounters is the number of links whose loads a timeline shows: those that carry most.
const maxCounters = 16

// TimelineInput is a graph that was simulated, for its timeline.
type TimelineInput struct {
	Graph *engine.Graph
	Trace *engine.Trace
	Nodes []string // tracks
	// ComputeNode is the track of a compute; nil is its Src.
	ComputeNode func(id int32) int32
	// VisitLinks visits the links of a transfer with its share of each; nil is that they are not known, for what Unknown says.
	VisitLinks func(id int32, visit func(link int32, share float64))
	WhyNoLinks string
	Links      []engine.Link
	Omitted    string // what is not in the graph
	// Kind is of a task as result.Span has it; nil is that all are transfers.
	Kind         func(id int32) string
	MarkCritical bool // tasks on the critical path are told
}

// Timeline returns what nodes did: computes, transfers, what each waited for last, and loads of links. If there are more
// than limit tasks, it is a sample: see result.Sample.
func (a *TimelineInput) Timeline(limit int) *result.Timeline {
	g, t := a.Graph, a.Trace
	l := &result.Timeline{Nodes: a.Nodes, Omitted: a.Omitted}
	var shown []int32
	for i := range g.Tasks {
		if k := &g.Tasks[i]; k.Kind == engine.Transfer && k.Bytes > 0 || k.Kind == engine.Compute && k.Duration > 0 {
			shown = append(shown, int32(i))
		}
	}
	critical := make([]bool, len(g.Tasks))
	if a.MarkCritical {
		for _, id := range t.CriticalPath(g) {
			critical[id] = true
		}
	}
	withDuration := shown
	if len(shown) > limit {
		sample := result.Sample(len(shown), limit, func(i int) result.TaskInterval {
			id := shown[i]
			return result.TaskInterval{Start: float64(t.Start[id]), End: float64(t.End[id]), Critical: critical[id]}
		})
		end := engine.Time(0)
		selected := shown[:0:0]
		for i, id := range shown {
			end = max(end, t.End[id])
			if sample.Selected[i] {
				selected = append(selected, id)
			}
		}
		addOmission(l, "%s", sample.Describe(end.Seconds()))
		shown = selected
	}
	timelineIndex := slices.Repeat([]int32{-1}, len(g.Tasks))
	for index, id := range shown {
		k := &g.Tasks[id]
		task := result.TimelineTask{
			Name: g.Name(id), Node: k.Src, Dst: k.Dst, Start: int64(t.Start[id]), End: int64(t.End[id]),
			Transfer: k.Kind == engine.Transfer, Bytes: k.Bytes, WaitedFor: -1, Kind: "transfer", Critical: critical[id],
		}
		if a.Kind != nil {
			task.Kind = a.Kind(id)
		}
		if !task.Transfer && a.ComputeNode != nil {
			task.Node = a.ComputeNode(id)
		}
		timelineIndex[id] = int32(index)
		l.Tasks = append(l.Tasks, task)
	}
	lastPredecessor := slices.Repeat([]int32{-1}, len(g.Tasks)) // that bound each
	for _, id := range g.Order() {
		for _, e := range g.In(id) {
			if lastPredecessor[id] < 0 || t.End[e.From]+e.Lag > t.End[lastPredecessor[id]] {
				lastPredecessor[id] = e.From
			}
		}
		if from := lastPredecessor[id]; from >= 0 && timelineIndex[from] < 0 { // a milestone stands for what bound it
			lastPredecessor[id] = lastPredecessor[from]
		}
		if timelineIndex[id] >= 0 && lastPredecessor[id] >= 0 {
			l.Tasks[timelineIndex[id]].WaitedFor = timelineIndex[lastPredecessor[id]]
		}
	}
	a.addCounters(l, withDuration)
	return l
}

// addOmission says what is left out.
func addOmission(l *result.Timeline, format string, args ...any) {
	if l.Omitted != "" {
		l.Omitted += "; "
	}
	l.Omitted += fmt.Sprintf(format, args...)
}

// addCounters adds what the most loaded links carry: a transfer at its average rate, shared by its routes as packets are.
func (a *TimelineInput) addCounters(l *result.Timeline, tasks []int32) {
	if a.VisitLinks == nil {
		addOmission(l, "%s", a.WhyNoLinks)
		return
	}
	bytes := map[int32]float64{}
	each := func(visit func(id, link int32, share float64)) {
		for _, id := range tasks {
			if a.Graph.Tasks[id].Kind == engine.Transfer {
				a.VisitLinks(id, func(link int32, share float64) { visit(id, link, share) })
			}
		}
	}
	each(func(id, link int32, share float64) { bytes[link] += share * float64(a.Graph.Tasks[id].Bytes) })
	var links []int32
	for link := range bytes {
		links = append(links, link)
	}
	slices.SortFunc(links, func(x, y int32) int { return cmp.Or(cmp.Compare(bytes[y], bytes[x]), cmp.Compare(x, y)) })
	if len(links) > maxCounters {
		addOmission(l, "counters of %d of %d links, those that carry least", len(links)-maxCounters, len(links))
		links = links[:maxCounters]
	}
	type change struct {
		at   engine.Time
		rate float64
	}
	changes := map[int32][]change{}
	each(func(id, link int32, share float64) {
		start, end := a.Trace.Start[id], a.Trace.End[id]
		if !slices.Contains(links, link) || end <= start {
			return
		}
		rate := 8 * share * float64(a.Graph.Tasks[id].Bytes) / (end - start).Seconds()
		changes[link] = append(changes[link], change{start, rate}, change{end, -rate})
	})
	for _, link := range links {
		list := changes[link]
		slices.SortStableFunc(list, func(x, y change) int { return cmp.Compare(x.at, y.at) })
		s := result.Series{Name: fmt.Sprintf("%d to %d", a.Links[link].From, a.Links[link].To)}
		sum, active := 0.0, 0
		for i, c := range list {
			if sum += c.rate; c.rate > 0 {
				active++
			} else if active--; active == 0 {
				sum = 0 // exactly
			}
			if i+1 == len(list) || list[i+1].at > c.at {
				s.TimeS, s.Value = append(s.TimeS, c.at.Seconds()), append(s.Value, sum)
			}
		}
		l.Links = append(l.Links, s)
	}
}
