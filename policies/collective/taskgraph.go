package collective

import (
	"cmp"
	"fmt"
	"slices"

	"sim/engine"
)

// AppendOptions describe how Append adds a schedule to a task graph.
type AppendOptions struct {
	// Ready is, by rank, the task after which its data is available, or -1 if it is available
	// from the start. nil means -1 for all ranks.
	Ready []int32
	// Latencies are, by transfer, the time from sending the last bit to its arrival, for engines
	// that do not model link latencies. nil means 0.
	Latencies []engine.Time
	// LinksKeepOrder is for engines whose links serve transfers in the order of Schedule.Ranks.
	// It omits two kinds of dependencies, which such links enforce by their order: on the
	// previous transfer of a link or source, and of gathering on scattering transfers. A
	// dependency ends when the last packet has arrived, so these would leave the link idle for
	// the latency.
	LinksKeepOrder bool
}

// Append adds the transfers of a schedule to a graph, in order, so that transfer i is task i of
// those added. It returns a milestone per rank. It ends when the rank has all data that the call
// delivers to it, and has sent all data that others need. A schedule may be added more than once.
//
// If transfers stand for classes (ExpandClasses), task i is class i, and a single milestone ends
// with the call. Ready must then be nil.
func (s *Schedule) Append(g *engine.Graph, a AppendOptions) (done []int32) {
	first := int32(len(g.Tasks))
	g.Grow(len(s.Transfers)+len(s.Group), len(s.after)+4*len(s.Group))
	latency := func(i int32) engine.Time {
		if a.Latencies == nil {
			return 0
		}
		return a.Latencies[i]
	}

	if s.IsPipelined {
		return s.appendPipelined(g, a.Ready, latency)
	}

	// A milestone waits only for the last of several transfers in order.
	last := slices.Repeat([]bool{true}, len(s.Transfers)) // by transfer: none has it as Previous
	for i, t := range s.Transfers {
		// The task waits for its dependencies, and for the transfer before it or else for its data.
		id := g.AddTask(s.task(t))
		for _, w := range s.After(i) {
			g.AddEdge(first+w, id, latency(w))
		}
		if !a.LinksKeepOrder {
			for _, w := range s.gatherWaits[int32(i)] {
				g.AddEdge(first+w, id, latency(w))
			}
		}

		if t.Previous >= 0 && !a.LinksKeepOrder {
			last[t.Previous] = false
			g.AddEdge(first+t.Previous, id, 0)
		} else if a.Ready != nil && a.Ready[t.Src] >= 0 {
			g.AddEdge(a.Ready[t.Src], id, 0)
		}
	}

	// With classes, a single milestone ends with the last transfers.
	if s.classes != nil {
		m := g.AddTask(engine.ComputeAt(s.Group[0], 0))
		for i := range s.Transfers {
			if last[i] {
				g.AddEdge(first+int32(i), m, latency(int32(i)))
			}
		}
		return []int32{m}
	}

	// A milestone per rank.
	for r := range s.Group {
		m := g.AddTask(engine.ComputeAt(s.Group[r], 0))
		if done = append(done, m); a.Ready != nil && a.Ready[r] >= 0 {
			g.AddEdge(a.Ready[r], m, 0)
		}
	}

	// A milestone waits for the last transfers from and to its rank.
	for i, t := range s.Transfers {
		if last[i] {
			g.AddEdge(first+int32(i), done[t.Src], 0)
			g.AddEdge(first+int32(i), done[t.Dst], latency(int32(i)))
		}
	}

	return done
}

// task returns the task of a transfer.
func (s *Schedule) task(t Transfer) engine.Task {
	return engine.Task{Kind: engine.Transfer, Src: s.Group[t.Src], Dst: s.Group[t.Dst], Flows: 1, Bytes: t.Bytes}
}

// appendPipelined is Append for a pipelined schedule. All transfers begin after all ranks are ready,
// and the milestones of all ranks are one task that ends with the call.
func (s *Schedule) appendPipelined(
	g *engine.Graph, ready []int32, latency func(i int32) engine.Time,
) (done []int32) {
	// Neither task has a node, so both wait until data have arrived.
	first := int32(len(g.Tasks))
	for _, t := range s.Transfers {
		g.AddTask(s.task(t))
	}
	start, end := g.AddTask(engine.Task{Duration: s.Delay}), g.AddTask(engine.Task{})
	for _, r := range ready {
		if r >= 0 {
			g.AddDependency(r, start)
		}
	}
	for i := range s.Transfers {
		g.AddDependency(start, first+int32(i))
		g.AddEdge(first+int32(i), end, latency(int32(i)))
	}
	return slices.Repeat([]int32{end}, len(s.Group))
}

// IsChain reports whether every rank sends to a single rank and receives from a single one, one
// transfer at a time. If each rank has one link out and one in, transfers then never share a
// link, whenever ranks are ready.
func (s *Schedule) IsChain() bool {
	to := map[int32]int32{}
	from := map[int32]int32{}
	last := map[int32]int32{}
	for i, t := range s.Transfers {
		// The partners of the ranks so far.
		d, sent := to[t.Src]
		o, received := from[t.Dst]
		if sent && (d != t.Dst || t.Previous != last[t.Src]) || received && o != t.Src {
			return false
		}
		to[t.Src], from[t.Dst], last[t.Src] = t.Dst, t.Src, int32(i)
	}

	return true
}

// Links returns the link of each transfer, or -1 if it is routed, as the argument of PinPaths.
func (s *Schedule) Links() []int32 {
	links := make([]int32, len(s.Transfers))
	for i, t := range s.Transfers {
		links[i] = t.Link
	}
	return links
}

// Ranks returns the priority of each transfer on its links, lower first, as the argument
// packet.Options.TaskRank. Transfers that keep the order of the schedule are numbered. The
// priority of another is the length of its longest chain of dependencies, including dependencies
// on the previous transfer.
func (s *Schedule) Ranks() []int32 {
	ranks := make([]int32, len(s.Transfers))
	next := int32(0)
	for i, t := range s.Transfers {
		if t.KeepsOrder {
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

// FlowsOnPaths returns the node pairs of routed transfers in order, each once, with their total
// bytes.
func (s *Schedule) FlowsOnPaths() (flows []engine.Flow, bytes []int64) {
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

	slices.SortFunc(flows, func(a, b engine.Flow) int {
		return cmp.Or(cmp.Compare(a.Src, b.Src), cmp.Compare(a.Dst, b.Dst))
	})
	for _, f := range flows {
		bytes = append(bytes, sum[f])
	}
	return flows, bytes
}

// PinPaths returns flows and paths indexed by the tasks of a graph, for engine.RoutesOf and
// packet.RunGraph. link gives the link of each task: its path is this link alone. If it is -1, or
// the task is not in link, the path is the one of the flow with the same ends. PinPaths fails if
// there is no such flow, if a link is not a port of paths, or if paths draw links per packet
// (Paths.Spread).
func PinPaths(
	g *engine.Graph,
	n *engine.Network,
	link []int32,
	flows []engine.Flow,
	paths *engine.Paths,
) ([]engine.Flow, *engine.Paths, error) {
	if paths.Spread != nil {
		return nil, nil, fmt.Errorf("collective: transfers have links, but the router draws a link for each packet; want a router that chooses paths")
	}

	// port is the port of paths that leads over a link, indexed by link. flowClass is the class of
	// the paths of a flow; the first of equal flows counts.
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

	// Copy the paths, and add a class for tasks without a path and one per pinned link.
	w := *paths
	w.Start = slices.Clone(paths.Start)
	w.Step = slices.Clone(paths.Step)
	if w.First = slices.Clone(paths.First); w.First == nil {
		for c := range int32(len(w.Start)) + 1 {
			w.First = append(w.First, c)
		}
	}
	w.Share = slices.Clone(paths.Share)

	// addClass adds a class with one path and returns its number.
	addClass := func(steps ...engine.Step) int32 {
		w.Add(steps...)
		w.First = append(w.First, int32(len(w.Start)))
		if w.Share != nil {
			w.Share = append(w.Share, 1)
		}
		return int32(len(w.First) - 2)
	}

	emptyClass := addClass()
	linkClass := slices.Repeat([]int32{-1}, len(n.Links)) // by link: the class of its path, or -1
	w.Class = slices.Repeat([]int32{emptyClass}, len(g.Tasks))

	// Give each task its class: the class of its flow, or of its link.
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
				return nil, nil, fmt.Errorf("collective: task %s has no path from node %d to %d",
					g.Name(int32(i)), t.Src, t.Dst)
			}
			continue
		}

		// A task with a link. Its path has a single step.
		l := link[i]
		if port[l] < 0 {
			return nil, nil, fmt.Errorf("collective: %s is not a port of the paths",
				n.ResourceName(l))
		}
		if linkClass[l] < 0 {
			linkClass[l] = addClass(engine.MakeStep(int(port[l]), 0))
		}
		w.Class[i] = linkClass[l]
	}

	return ends, &w, nil
}
