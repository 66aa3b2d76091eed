// This file derives the timelines of the GPUs of rank work from the trace of a simulation.

package circuits

import (
	"fmt"

	"sim/engine"
	"sim/scenarios/assembly"
	"sim/scenarios/result"
)

// nodeOfTask returns the node of the rank of a compute of rank work.
func (sys *circuitSystem) nodeOfTask(id int32) int32 {
	rank := sys.iteration.RankOf(id)
	if nodes := sys.expander.NodeOfRank; nodes != nil {
		return nodes[rank]
	}
	return rank
}

// rankTimeline returns the timeline of the GPUs of rank work and of the circuits between pods. It
// returns nil for other work.
func (sys *circuitSystem) rankTimeline(
	t *engine.Trace, circuits []int, o assembly.TimelineOptions,
) *result.Timeline {
	network, err := sys.optical.Provision(circuits)
	if sys.scenario.Workload.Work == nil || err != nil {
		return nil
	}
	input := &assembly.TimelineInput{
		Graph: sys.graph, Trace: t, Links: network.Links, MarkCritical: true,
		ComputeNode: sys.nodeOfTask,
		Kind:        func(id int32) string { return sys.iteration.Meta[id].Phase.String() },
		VisitLinks: func(id int32, visit func(link int32, share float64)) {
			if sys.isInterPod(id) {
				const wholeTransfer = 1
				visit(sys.optical.Routes.Of(id)[0].Resource, wholeTransfer)
			}
		},
	}
	for i := range sys.pods.Nodes {
		pod := sys.pods.Pods[sys.pods.Nodes[i].Pod].Name
		input.Nodes = append(input.Nodes, fmt.Sprintf("%s GPU %d", pod, i))
	}
	return input.Timeline(o)
}
