package training_test

import (
	"math"
	"slices"
	"testing"

	"sim/engine"
	"sim/engine/flow"
	"sim/fabric/electrical"
	"sim/workloads/training"
)

// TestDemandOfGPT7B reproduces DELTA's Fig. 1b. On the ideal fabric, the bandwidth that
// leaves a pod of GPT-7B's job peaks at two NICs of 400 Gb/s during pipeline transfers,
// and at four in the DP phase, in which both stages of the pod synchronise.
func TestDemandOfGPT7B(t *testing.T) {
	const nic = 400e9
	s, perPod := table1(t, "gpt-7b")
	it, p := build(t, s, training.BuildOptions{}, perPod, nic)
	n, r, err := electrical.Connect(p, it.Graph)
	if err != nil {
		t.Fatal(err)
	}
	for _, service := range services {
		tr, err := flow.Run(t.Context(), it.Graph, n, r, flow.Options{Service: service, Rates: true})
		if err != nil {
			t.Fatal(err)
		}
		for pod := range int32(len(p.Pods)) {
			leaving := func(phases ...training.Phase) float64 {
				return peak(it.Graph, tr, func(id int32) bool {
					k := &it.Graph.Tasks[id]
					return k.Kind == engine.Transfer && p.Nodes[k.Src].Pod == pod && p.BetweenPods(k.Src, k.Dst) &&
						slices.Contains(phases, it.Meta[id].Phase)
				})
			}
			pipeline := leaving(training.PipelineForward, training.PipelineBackward)
			sync, all := leaving(training.Sync), leaving(training.PipelineForward, training.PipelineBackward, training.Sync)
			for _, c := range []struct{ got, nics float64 }{{pipeline, 2}, {sync, 4}, {all, 4}} {
				if math.Abs(c.got-c.nics*nic) > 1 {
					t.Errorf("%v, pod %d: PP %g, DP %g, together %g b/s; want 2, 4 and 4 x 400e9", service, pod, pipeline, sync, all)
				}
			}
		}
	}
}

// peak returns the maximum over time of the total rate of the tasks selected by include.
func peak(g *engine.Graph, tr *engine.Trace, include func(id int32) bool) float64 {
	type change struct {
		at engine.Time
		by float64
	}
	var changes []change
	for id := range int32(len(g.Tasks)) {
		before := 0.0
		if !include(id) {
			continue
		}
		for _, s := range tr.Rates(id) {
			changes = append(changes, change{s.At, s.Rate - before})
			before = s.Rate
		}
	}
	slices.SortStableFunc(changes, func(a, b change) int { return int(a.at - b.at) })
	sum, maxRate := 0.0, 0.0
	for i, c := range changes {
		sum += c.by
		if i+1 == len(changes) || changes[i+1].at > c.at {
			maxRate = max(maxRate, sum)
		}
	}
	return maxRate
}
