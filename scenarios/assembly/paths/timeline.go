// This file derives timelines of nodes and links from the trace of a simulation.

package paths

import (
	"context"
	"fmt"

	"sim/scenarios/assembly"
	"sim/scenarios/result"
)

// maxStoredTasks limits the tasks of a simulation whose timeline every run stores.
// A figure cannot distinguish more tasks. A longer timeline is stored only if a run
// requests it.
const maxStoredTasks = 2000

// addTimeline adds the timeline of the simulation to p. If o.Tasks is 0, it adds only
// the tracks of nodes and links, and only for at most maxStoredTasks tasks.
func (a *routingResult) addTimeline(
	ctx context.Context, p *result.Simulation, o assembly.TimelineOptions,
) {
	isRequested := o.Tasks > 0
	if c := a.system.load.call; c != nil && c.HasClasses() {
		if isRequested {
			a.addFullTimeline(ctx, p, o)
		}
		return
	}
	if a.Trace == nil || len(a.Trace.End) != len(a.Graph.Tasks) {
		if isRequested {
			p.Timeline = &result.Timeline{
				Omitted: "all, as the simulation was cut off or sends in groups at one rate",
			}
		}
		return
	}
	if isRequested {
		p.Timeline = a.timeline(o)
	}

	if len(a.Graph.Tasks) <= maxStoredTasks {
		t := a.timeline(assembly.TimelineOptions{Tasks: maxStoredTasks})
		p.Nodes, p.Links = t.Tracks(), t.Links
	}
}

// addFullTimeline adds the timeline of a call that was simulated by classes of
// identical transfers. It simulates each transfer. The timeline is missing if ctx is
// cancelled.
func (a *routingResult) addFullTimeline(
	ctx context.Context, p *result.Simulation, o assembly.TimelineOptions,
) {
	r, err := a.system.listTransfers(ctx)
	if err == nil {
		full := &routingResult{
			system: r, paths: a.paths, routerNetwork: a.routerNetwork, workers: a.workers,
		}
		full.Row.Metrics = map[string]float64{}
		if err = full.simulate(ctx, nil); err == nil {
			full.addTimeline(ctx, p, o)
		}
	}
	if err != nil {
		p.Timeline = &result.Timeline{Omitted: "all: " + err.Error()}
	}
}

// timeline returns the timeline of the nodes and links in the simulation.
func (a *routingResult) timeline(o assembly.TimelineOptions) *result.Timeline {
	nodeWord := "node"
	if a.system.Torus != nil {
		nodeWord = "chip"
	}
	t := &assembly.TimelineInput{
		Graph: a.Graph, Trace: a.Trace, Links: a.system.Whole.Links, MarkCritical: true,
		WhyNoLinks: "counters of links, which packets draw",
	}

	for node := range a.system.Whole.Nodes {
		t.Nodes = append(t.Nodes, fmt.Sprintf("%s %d", nodeWord, node))
	}

	// Links between nodes with names are named as in explanations.
	if a.system.Tiers != nil || len(a.system.s.Fabric.Names) > 0 {
		t.LinkName = a.system.linkName
	}

	// Tasks of a training step have a phase and a rank.
	if it := a.system.iteration; it != nil {
		t.Kind = func(id int32) string { return it.Meta[id].Phase.String() }
		if a.system.nodeOfRank != nil {
			t.ComputeNode = func(id int32) int32 { return a.system.nodeOfRank[it.RankOf(id)] }
		}
	}

	// Transfers use the links of all paths of their flow, in proportion to the
	// shares. Packets that draw their links use unknown ones.
	if flows := a.taskFlows(a.Graph); a.paths.Spread == nil {
		t.VisitLinks = func(id int32, visit func(link int32, share float64)) {
			paths := a.flowPaths(flows[id])
			first, _ := a.paths.Of(a.paths.ClassOf(flows[id]))
			for k, path := range paths {
				share := 1 / float64(len(paths))
				if a.paths.Share != nil {
					share = a.paths.Share[int(first)+k]
				}
				for _, link := range path {
					visit(link, share)
				}
			}
		}
	}

	return t.Timeline(o)
}
