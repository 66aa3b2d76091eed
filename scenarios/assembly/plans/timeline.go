package plans

import (
	"context"
	"fmt"

	"sim/engine"
	"sim/fabric/scaleup"
	"sim/policies/reconfigure/plan"
	"sim/scenarios/assembly"
	"sim/scenarios/assembly/simulate"
	"sim/scenarios/result"
)

// trackNames are those of so many GPUs, and of switches that reconfigure: each on its own, or all at once.
func trackNames(gpus, switches int) (names []string) {
	for g := range gpus {
		names = append(names, fmt.Sprintf("GPU %d", g))
	}
	if switches < 2 {
		return append(names, "switches")
	}
	for s := range switches {
		names = append(names, fmt.Sprintf("switch %d", s))
	}
	return names
}

// slotTimeline is the timeline of a plan of chunks: every transmission in its slot, after the one that brought the chunk, and
// reconfigurations.
func slotTimeline(
	p *plan.Plan, d *scaleup.Domain, slot engine.Time, chunk int64, limit int,
) *result.Timeline {
	g, trace := &engine.Graph{}, &engine.Trace{}
	t := &assembly.TimelineInput{Graph: g, Trace: trace, Nodes: trackNames(p.GPUs, 1)}
	if p.Switches != nil {
		t.Nodes = trackNames(p.GPUs, p.Degree)
	}
	add := func(k engine.Task, start, end engine.Time) int32 {
		trace.Start, trace.End = append(trace.Start, start), append(trace.End, end)
		return g.AddTask(k)
	}

	begin, at := make([]engine.Time, len(p.Topologies)+1), engine.Time(0)
	up := make([]int32, len(p.Topologies)) // the reconfiguration that a phase waits for
	var node, phase []int32
	reconfigure := func(of, to int32, start, end engine.Time) {
		up[to] = add(engine.Task{Duration: end - start}, start, end)
		node, phase = append(node, int32(p.GPUs)+of), append(phase, to)
	}

	for i := range p.Topologies {
		if up[i] = -1; p.Switches == nil {
			if d.Delay > 0 {
				reconfigure(0, int32(i), at, at+d.Delay)
			}
			at += d.Delay
		}
		begin[i] = at
		at += engine.Time(p.Slots[i]) * slot
	}

	begin[len(p.Topologies)] = at
	if p.Switches != nil {
		for _, l := range p.SwitchSetups() {
			if start, end := begin[l.DownFrom], begin[l.Phase]; end > start {
				reconfigure(l.Switch, l.Phase, start, end)
			}
		}
	}

	type link struct{ from, to int32 }
	known, uses := map[link]int32{}, map[int32]int32{}
	brought := map[[3]int32]int32{} // by chunk the transmission before
	first := int32(len(g.Tasks))
	for _, x := range p.Tx {
		start := begin[x.Phase] + engine.Time(x.Slot)*slot
		id := add(engine.Task{Kind: engine.Transfer, Src: x.From, Dst: x.To, Flows: 1,
			Bytes: chunk}, start, start+slot)
		c := [3]int32{x.Src, x.Dst, x.Chunk}
		if before, ok := brought[c]; ok {
			g.AddEdge(before, id, 0)
		}
		if u := up[x.Phase]; u >= 0 {
			g.AddEdge(u, id, 0)
		}
		brought[c] = id
		at, ok := known[link{x.From, x.To}]
		if !ok {
			at = int32(len(t.Links))
			known[link{x.From, x.To}], t.Links = at,
				append(t.Links, engine.Link{From: x.From, To: x.To})
		}
		uses[id] = at
	}

	g.Namer = func(id int32) string {
		if id < first {
			return fmt.Sprintf("reconfiguration for topology %d", phase[id]+1)
		}
		x := &p.Tx[id-first]
		return fmt.Sprintf("chunk %d of %d to %d (slot %d of topology %d)", x.Chunk,
			x.Src, x.Dst,
			x.Slot+1, x.Phase+1)
	}

	if err := g.Freeze(); err != nil {
		return &result.Timeline{Omitted: "all: " + err.Error()}
	}
	t.ComputeNode = func(id int32) int32 { return node[id] }
	t.VisitLinks = func(id int32, visit func(int32, float64)) { visit(uses[id], 1) }
	return t.Timeline(limit)
}

// stepTimeline is the timeline of a plan in steps, simulated synchronised.
func stepTimeline(ctx context.Context, p *plan.Plan, fluid bool, limit int) *result.Timeline {
	m, err := simulate.SimulateMessages(ctx, p, fluid)
	if err != nil {
		return &result.Timeline{Omitted: "all: " + err.Error()}
	}
	t := &assembly.TimelineInput{
		Graph: m.Graph, Trace: m.Trace, Nodes: trackNames(p.GPUs, 1), Links: m.Links,
		ComputeNode: func(int32) int32 { return int32(p.GPUs) },
		VisitLinks:  func(id int32, visit func(int32, float64)) { visit(m.Link[id], 1) },
	}
	return t.Timeline(limit)
}
