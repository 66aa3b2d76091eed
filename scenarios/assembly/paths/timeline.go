package paths

import (
	"fmt"

	"sim/scenarios/assembly"
	"sim/scenarios/result"
)

// maxStoredTasks is how many tasks the timeline of a simulation has at most that every run keeps, not only one that is asked for it.
const maxStoredTasks = 2000

// addTimeline adds the timeline of the simulation to p: one of about limit tasks if limit is positive, and tracks if
// there are at most mostKept tasks.
func (a *routingResult) addTimeline(p *result.Simulation, limit int) {
	asked := limit > 0
	if a.Trace == nil || len(a.Trace.End) != len(a.Graph.Tasks) {
		if asked {
			p.Timeline = &result.Timeline{Omitted: "all, as the simulation was cut off or sends in groups at one rate"}
		}
		return
	}
	if asked {
		p.Timeline = a.timeline(limit)
	}
	if len(a.Graph.Tasks) <= maxStoredTasks {
		l := a.timeline(maxStoredTasks)
		p.Nodes, p.Links = l.Tracks(), l.Links
	}
}

// timeline returns what nodes did in the simulation, with about limit tasks.
func (a *routingResult) timeline(limit int) *result.Timeline {
	word := "node"
	if a.system.Torus != nil {
		word = "chip"
	}
	t := &assembly.TimelineInput{Graph: a.Graph, Trace: a.Trace, Links: a.system.Whole.Links,
		WhyNoLinks: "counters of links, which packets draw", MarkCritical: true}
	for node := range a.system.Whole.Nodes {
		t.Nodes = append(t.Nodes, fmt.Sprintf("%s %d", word, node))
	}
	if it := a.system.iteration; it != nil {
		t.Kind = func(id int32) string { return it.Meta[id].Phase.String() }
		if a.system.nodeOfRank != nil {
			t.ComputeNode = func(id int32) int32 { return a.system.nodeOfRank[it.RankOf(id)] }
		}
	}

	if flows := a.taskFlows(a.Graph); a.paths.Spread == nil {
		t.VisitLinks = func(id int32, visit func(link int32, share float64)) {
			routes := a.flowPaths(flows[id])
			first, _ := a.paths.Of(a.paths.ClassOf(flows[id]))
			for w, route := range routes {
				share := 1 / float64(len(routes))
				if a.paths.Share != nil {
					share = a.paths.Share[int(first)+w]
				}
				for _, link := range route {
					visit(link, share)
				}
			}
		}
	}

	return t.Timeline(limit)
}
