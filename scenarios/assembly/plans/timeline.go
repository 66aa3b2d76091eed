// This file derives timelines of GPUs and switches from plans.

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

// together is the number of switch tracks if all switches reconfigure together.
const together = 1

// trackNames returns the names of the tracks of a timeline: one per GPU, and one
// per switch. Switches that reconfigure together share a track.
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

// slotTimeline returns the timeline of a plan in slots: each transmission in its
// slot, and the reconfigurations. A transmission depends on the preceding
// transmission of its chunk, and on the reconfiguration before its phase.
func slotTimeline(
	p *plan.Plan, d *scaleup.Domain, slot engine.Time, chunk int64, o assembly.TimelineOptions,
) *result.Timeline {
	g, trace := &engine.Graph{}, &engine.Trace{}
	t := &assembly.TimelineInput{Graph: g, Trace: trace, Nodes: trackNames(p.GPUs, together)}
	if p.Switches != nil {
		t.Nodes = trackNames(p.GPUs, p.Degree)
	}
	addTask := func(k engine.Task, start, end engine.Time) int32 {
		trace.Start, trace.End = append(trace.Start, start), append(trace.End, end)
		return g.AddTask(k)
	}

	// Add the reconfigurations. The tasks before firstTx have a track and a phase.
	begin, now := make([]engine.Time, len(p.Topologies)+1), engine.Time(0) // of each phase
	reconfigurationOf := make([]int32, len(p.Topologies))                  // task, by phase; -1 if no task
	var node, phase []int32                                                // by task
	reconfigure := func(track, to int32, start, end engine.Time) {
		reconfigurationOf[to] = addTask(engine.Task{Duration: end - start}, start, end)
		node, phase = append(node, int32(p.GPUs)+track), append(phase, to)
	}

	// If the switches reconfigure together, they do so before each phase.
	for i := range p.Topologies {
		reconfigurationOf[i] = -1
		if p.Switches == nil {
			if d.Delay > 0 {
				const track = 0 // the track of all switches
				reconfigure(track, int32(i), now, now+d.Delay)
			}
			now += d.Delay
		}
		begin[i] = now
		now += engine.Time(p.Slots[i]) * slot
	}
	begin[len(p.Topologies)] = now

	// An independent switch reconfigures from the end of the last phase that used
	// its circuits to the start of the phase with the next ones.
	if p.Switches != nil {
		for _, l := range p.SwitchSetups() {
			if start, end := begin[l.DownFrom], begin[l.Phase]; end > start {
				reconfigure(l.Switch, l.Phase, start, end)
			}
		}
	}

	// Add the transmissions.
	type link struct{ from, to int32 }
	indexOfLink := map[link]int32{}    // in t.Links
	linkOfTask := map[int32]int32{}    // index in t.Links
	previousOf := map[[3]int32]int32{} // the last transmission, by chunk
	firstTx := int32(len(g.Tasks))
	for _, x := range p.Tx {
		start := begin[x.Phase] + engine.Time(x.Slot)*slot
		transfer := engine.Task{Kind: engine.Transfer, Src: x.From, Dst: x.To, Flows: 1, Bytes: chunk}

		id := addTask(transfer, start, start+slot)
		c := [3]int32{x.Src, x.Dst, x.Chunk}
		if previous, ok := previousOf[c]; ok {
			g.AddDependency(previous, id)
		}

		if r := reconfigurationOf[x.Phase]; r >= 0 {
			g.AddDependency(r, id)
		}
		previousOf[c] = id

		ends := link{x.From, x.To}
		index, ok := indexOfLink[ends]
		if !ok {
			index = int32(len(t.Links))
			indexOfLink[ends] = index
			t.Links = append(t.Links, engine.Link{From: x.From, To: x.To})
		}
		linkOfTask[id] = index
	}

	// The tasks after the reconfigurations are the transmissions, in the order of
	// the plan.
	g.Namer = func(id int32) string {
		if id < firstTx {
			return fmt.Sprintf("reconfiguration for topology %d", phase[id]+1)
		}
		x := &p.Tx[id-firstTx]
		return fmt.Sprintf("chunk %d of %d to %d (slot %d of topology %d)",
			x.Chunk, x.Src, x.Dst, x.Slot+1, x.Phase+1)
	}

	if err := g.Freeze(); err != nil {
		return &result.Timeline{Omitted: "all: " + err.Error()}
	}

	t.ComputeNode = func(id int32) int32 { return node[id] }
	t.VisitLinks = func(id int32, visit func(int32, float64)) { visit(linkOfTask[id], wholeTransfer) }
	return t.Timeline(o)
}

// wholeTransfer is the share of a transfer on its link: each transfer of a plan uses one link.
const wholeTransfer = 1

// stepTimeline returns the timeline of a plan in steps, simulated with
// synchronised steps.
func stepTimeline(
	ctx context.Context, p *plan.Plan, fluid bool, o assembly.TimelineOptions,
) *result.Timeline {
	m, err := simulate.SimulateMessages(ctx, p, fluid)
	if err != nil {
		return &result.Timeline{Omitted: "all: " + err.Error()}
	}
	t := &assembly.TimelineInput{
		Graph: m.Graph, Trace: m.Trace, Nodes: trackNames(p.GPUs, together), Links: m.Links,
		ComputeNode: func(int32) int32 { return int32(p.GPUs) },
		VisitLinks:  func(id int32, visit func(int32, float64)) { visit(m.Link[id], wholeTransfer) },
	}
	return t.Timeline(o)
}
