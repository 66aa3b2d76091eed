package collective

import (
	"cmp"
	"fmt"
	"slices"

	"sim/engine"
)

// AppendOptions says how a schedule is added to a graph.
type AppendOptions struct {
	// Ready is by rank the task with whose end its data is there, -1 where that is from the start; nil is so for all.
	Ready []int32
	// Latencies is by transfer what passes from when its last bit is sent to when it arrives: the latency of links, for engines
	// that know none. nil is nothing.
	Latencies []engine.Time
	// LinksKeepOrder is for engines whose links are told the order of transfers (Schedule.Ranks): these then do not wait for the
	// ones that their links or sources send before them to end, which they do when their last packets have arrived, so
	// that the link would be idle until then. Nor do those that gather wait for those that scatter, which such links send
	// first.
	LinksKeepOrder bool
}

// Append adds the transfers of a schedule to a graph, in order, so that transfer i is task i of what it adds. It returns
// by rank a milestone that ends when the rank has all that the call leaves it with and has sent what others need of it.
// A schedule may be added more than once.
func (s *Schedule) Append(g *engine.Graph, a AppendOptions) (done []int32) {
	first := int32(len(g.Tasks))
	g.Grow(len(s.Transfers)+len(s.Group), len(s.after)+4*len(s.Group))
	late := func(i int32) engine.Time {
		if a.Latencies == nil {
			return 0
		}
		return a.Latencies[i]
	}
	last := slices.Repeat([]bool{true}, len(s.Transfers)) // of those that wait for one another
	for i, t := range s.Transfers {
		id := g.AddTask(engine.Task{Kind: engine.Transfer, Src: s.Group[t.Src], Dst: s.Group[t.Dst], Flows: 1, Bytes: t.Bytes})
		for _, w := range s.After(i) {
			g.AddEdge(first+w, id, late(w))
		}
		if !a.LinksKeepOrder {
			for _, w := range s.gatherWaits[int32(i)] {
				g.AddEdge(first+w, id, late(w))
			}
		}
		if t.Previous >= 0 && !a.LinksKeepOrder {
			last[t.Previous] = false
			g.AddEdge(first+t.Previous, id, 0)
		} else if a.Ready != nil && a.Ready[t.Src] >= 0 {
			g.AddEdge(a.Ready[t.Src], id, 0)
		}
	}
	for r := range s.Group {
		m := g.AddTask(engine.ComputeAt(s.Group[r], 0))
		if done = append(done, m); a.Ready != nil && a.Ready[r] >= 0 {
			g.AddEdge(a.Ready[r], m, 0)
		}
	}
	for i, t := range s.Transfers {
		if last[i] {
			g.AddEdge(first+int32(i), done[t.Src], 0)
			g.AddEdge(first+int32(i), done[t.Dst], late(int32(i)))
		}
	}
	return done
}

// IsChain reports whether every rank sends to one other alone and receives from one, a transfer at a time: where each has
// a link out and one in, no two transfers ever share one, whenever ranks are ready.
func (s *Schedule) IsChain() bool {
	to, from := map[int32]int32{}, map[int32]int32{}
	last := map[int32]int32{}
	for i, t := range s.Transfers {
		d, sent := to[t.Src]
		o, received := from[t.Dst]
		if sent && (d != t.Dst || t.Previous != last[t.Src]) || received && o != t.Src {
			return false
		}
		to[t.Src], from[t.Dst], last[t.Src] = t.Dst, t.Src, int32(i)
	}
	return true
}

// Links returns by transfer the link that it takes, -1 where it goes as it is routed: what Append's tasks give Pin.
func (s *Schedule) Links() []int32 {
	links := make([]int32, len(s.Transfers))
	for i, t := range s.Transfers {
		links[i] = t.Link
	}
	return links
}

// Ranks returns by transfer its place among the planned ones, or, of the others, its round: how many wait for one another
// up to it, or are sent one behind the other. It is what Append's tasks give packet.Options.TaskRank.
func (s *Schedule) Ranks() []int32 {
	ranks, next := make([]int32, len(s.Transfers)), int32(0)
	for i, t := range s.Transfers {
		if t.Planned {
			next++
			ranks[i] = next
			continue
		}
		for _, w := range s.After(i) {
			ranks[i] = max(ranks[i], ranks[w]+1)
		}
		if t.Previous >= 0 {
			ranks[i] = max(ranks[i], ranks[t.Previous]+1)
		}
	}
	return ranks
}

// RoutedFlows returns the pairs of nodes whose transfers go as they are routed, in order, each once, and their bytes.
func (s *Schedule) RoutedFlows() (flows []engine.Flow, bytes []int64) {
	sum := map[engine.Flow]int64{}
	for _, t := range s.Transfers {
		if t.Link < 0 {
			f := engine.Flow{Src: s.Group[t.Src], Dst: s.Group[t.Dst]}
			if _, ok := sum[f]; !ok {
				flows = append(flows, f)
			}
			sum[f] += t.Bytes
		}
	}
	slices.SortFunc(flows, func(a, b engine.Flow) int { return cmp.Or(cmp.Compare(a.Src, b.Src), cmp.Compare(a.Dst, b.Dst)) })
	for _, f := range flows {
		bytes = append(bytes, sum[f])
	}
	return flows, bytes
}

// PinPaths returns flows and paths by task of a graph, for engine.RoutesOf and packet.RunGraph: the transfers that take a
// link, by task, have a path of that link, and those with -1 the paths that flows with their ends have in paths. It
// fails where there are none, where a link is no port of paths, and where packets draw their links (Paths.Spread).
func PinPaths(g *engine.Graph, n *engine.Network, link []int32, flows []engine.Flow, paths *engine.Paths) ([]engine.Flow, *engine.Paths, error) {
	if paths.Spread != nil {
		return nil, nil, fmt.Errorf("collective: transfers that take their links on a network whose packets draw theirs; want routers of whole paths")
	}
	port := slices.Repeat([]int32{-1}, len(n.Links))
	for i, l := range paths.Link {
		if l >= 0 {
			port[l] = int32(i % paths.Degree)
		}
	}
	flowClass := make(map[engine.Flow]int32, len(flows))
	for f, w := range slices.Backward(flows) {
		flowClass[w] = paths.ClassOf(int32(f))
	}
	w := *paths
	w.Start, w.Step = slices.Clone(paths.Start), slices.Clone(paths.Step)
	if w.First = slices.Clone(paths.First); w.First == nil {
		for c := range int32(len(w.Start)) + 1 {
			w.First = append(w.First, c)
		}
	}
	w.Share = slices.Clone(paths.Share)
	addClass := func(steps ...engine.Step) int32 { // a class of one path
		w.Add(steps...)
		w.First = append(w.First, int32(len(w.Start)))
		if w.Share != nil {
			w.Share = append(w.Share, 1)
		}
		return int32(len(w.First) - 2)
	}
	emptyClass := addClass()
	linkClass := slices.Repeat([]int32{-1}, len(n.Links)) // by link: the class of its path
	w.Class = slices.Repeat([]int32{emptyClass}, len(g.Tasks))
	ends := make([]engine.Flow, len(g.Tasks))
	for i, t := range g.Tasks {
		if t.Kind != engine.Transfer {
			continue
		}
		ends[i] = engine.Flow{Src: t.Src, Dst: t.Dst}
		if i >= len(link) || link[i] < 0 {
			if c, ok := flowClass[ends[i]]; ok {
				w.Class[i] = c
			} else if t.Src != t.Dst {
				return nil, nil, fmt.Errorf("collective: no path leads %s from node %d to %d", g.Name(int32(i)), t.Src, t.Dst)
			}
			continue
		}
		l := link[i]
		if port[l] < 0 {
			return nil, nil, fmt.Errorf("collective: %s is no port of the paths", n.ResourceName(l))
		}
		if linkClass[l] < 0 {
			linkClass[l] = addClass(engine.MakeStep(int(port[l]), 0))
		}
		w.Class[i] = linkClass[l]
	}
	return ends, &w, nil
}
