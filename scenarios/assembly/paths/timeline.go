package paths

import (
	"cmp"
	"fmt"
	"slices"

	"sim/engine"
	"sim/scenarios/result"
)

// What a timeline shows at most: the first tasks to begin, and the links that carry most.
const (
	mostTimed    = 100_000
	mostCounters = 16
)

// mostKept is how many tasks the timeline of a simulation has at most that every run keeps, not only one that is asked for it.
const mostKept = 2000

// addTimeline adds what nodes did to what is kept of the simulation.
func (a *routedAnswer) addTimeline(p *result.Simulation, asked bool) {
	if a.trace == nil || len(a.trace.End) != len(a.graph.Tasks) {
		if asked {
			p.Timeline = &result.Timeline{LeftOut: "all, as the simulation was cut off or sends in groups at one rate"}
		}
		return
	}
	short := len(a.graph.Tasks) <= mostKept
	if !asked && !short {
		return
	}
	l := a.timeline()
	if asked {
		p.Timeline = l
	}
	if short {
		p.Nodes, p.Links = l.Tracks(), l.Links
	}
}

// timeline is what nodes did in the simulation.
func (a *routedAnswer) timeline() *result.Timeline {
	g, t := a.graph, a.trace
	l := &result.Timeline{}
	word := "node"
	if a.r.Torus != nil {
		word = "chip"
	}
	for node := range a.r.Whole.Nodes {
		l.Nodes = append(l.Nodes, fmt.Sprintf("%s %d", word, node))
	}
	var shown []int32
	for i := range g.Tasks {
		if k := &g.Tasks[i]; k.Kind == engine.Transfer && k.Bytes > 0 || k.Kind == engine.Compute && k.Duration > 0 {
			shown = append(shown, int32(i))
		}
	}
	if len(shown) > mostTimed {
		slices.SortStableFunc(shown, func(x, y int32) int { return cmp.Compare(t.Start[x], t.Start[y]) })
		l.LeftOut = fmt.Sprintf("%d of %d tasks, the last to begin", len(shown)-mostTimed, len(shown))
		shown = shown[:mostTimed]
		slices.Sort(shown)
	}
	critical := make([]bool, len(g.Tasks))
	for _, id := range t.CriticalPath(g) {
		critical[id] = true
	}
	index := slices.Repeat([]int32{-1}, len(g.Tasks))
	for at, id := range shown {
		k := &g.Tasks[id]
		one := result.TimelineTask{
			Name: g.Name(id), Node: k.Src, Dst: k.Dst, Start: int64(t.Start[id]), End: int64(t.End[id]),
			Transfer: k.Kind == engine.Transfer, Bytes: k.Bytes, Waited: -1, Kind: "transfer", Critical: critical[id],
		}
		if it := a.r.it; it != nil {
			one.Kind = it.Meta[id].Phase.String()
		}
		if it := a.r.it; !one.Transfer && it != nil && a.r.at != nil {
			one.Node = a.r.at[firstRank(&it.Spec, &it.Meta[id])]
		}
		index[id] = int32(at)
		l.Tasks = append(l.Tasks, one)
	}
	last := slices.Repeat([]int32{-1}, len(g.Tasks)) // that bound each
	for _, id := range g.Order() {
		for _, e := range g.In(id) {
			if last[id] < 0 || t.End[e.From]+e.Lag > t.End[last[id]] {
				last[id] = e.From
			}
		}
		if from := last[id]; from >= 0 && index[from] < 0 { // a milestone stands for what bound it
			last[id] = last[from]
		}
		if index[id] >= 0 && last[id] >= 0 {
			l.Tasks[index[id]].Waited = index[last[id]]
		}
	}
	a.counters(l, shown)
	return l
}

// counters adds what the most loaded links carry: a transfer at its average rate, shared by its routes as packets are.
func (a *routedAnswer) counters(l *result.Timeline, shown []int32) {
	leave := func(format string, args ...any) {
		if l.LeftOut != "" {
			l.LeftOut += "; "
		}
		l.LeftOut += fmt.Sprintf(format, args...)
	}
	if a.walks.Spread != nil {
		leave("counters of links, which packets draw")
		return
	}
	flows, bytes := a.flowsOf(), map[int32]float64{}
	each := func(visit func(id, link int32, share float64)) {
		for _, id := range shown {
			if a.graph.Tasks[id].Kind != engine.Transfer {
				continue
			}
			routes := a.routes(flows[id])
			first, _ := a.walks.Of(a.walks.ClassOf(flows[id]))
			for w, route := range routes {
				share := 1 / float64(len(routes))
				if a.walks.Share != nil {
					share = a.walks.Share[int(first)+w]
				}
				for _, link := range route {
					visit(id, link, share)
				}
			}
		}
	}
	each(func(id, link int32, share float64) { bytes[link] += share * float64(a.graph.Tasks[id].Bytes) })
	var links []int32
	for link := range bytes {
		links = append(links, link)
	}
	slices.SortFunc(links, func(x, y int32) int { return cmp.Or(cmp.Compare(bytes[y], bytes[x]), cmp.Compare(x, y)) })
	if len(links) > mostCounters {
		leave("counters of %d of %d links, those that carry least", len(links)-mostCounters, len(links))
		links = links[:mostCounters]
	}
	type change struct {
		at   engine.Time
		rate float64
	}
	changes := map[int32][]change{}
	each(func(id, link int32, share float64) {
		start, end := a.trace.Start[id], a.trace.End[id]
		if !slices.Contains(links, link) || end <= start {
			return
		}
		rate := 8 * share * float64(a.graph.Tasks[id].Bytes) / (end - start).Seconds()
		changes[link] = append(changes[link], change{start, rate}, change{end, -rate})
	})
	for _, link := range links {
		list := changes[link]
		slices.SortStableFunc(list, func(x, y change) int { return cmp.Compare(x.at, y.at) })
		s := result.Series{Name: fmt.Sprintf("%d to %d", a.r.Whole.Links[link].From, a.r.Whole.Links[link].To)}
		sum, under := 0.0, 0
		for i, c := range list {
			if sum += c.rate; c.rate > 0 {
				under++
			} else if under--; under == 0 {
				sum = 0 // exactly
			}
			if i+1 == len(list) || list[i+1].at > c.at {
				s.TimeS, s.Value = append(s.TimeS, c.at.Seconds()), append(s.Value, sum)
			}
		}
		l.Links = append(l.Links, s)
	}
}
