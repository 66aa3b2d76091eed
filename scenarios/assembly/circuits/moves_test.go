package circuits

import (
	"testing"

	"sim/engine"
	"sim/engine/flow"
	"sim/policies/topology"
	"sim/scenarios/assembly/input"
)

// TestMovesOfAllReplicas checks a sequence of topologies that is decided for one representative
// replica of 24. The sequence of the same circuits for each replica takes as long if all
// replicas are simulated, within one tick per task, and fits their ports.
func TestMovesOfAllReplicas(t *testing.T) {
	build := func(mode string) *circuitSystem {
		s := gpt7b(t, input.Trials{})
		s.Workload.GPUs, s.Workload.ReplicaMode = 24*8, mode
		s.Fabric.PortBandwidth, s.Fabric.NICBandwidth, s.Fabric.PortsPerPod = 100e9, 400e9, 8
		s.Fabric.Delay = 5 * engine.Millisecond
		s.Policy.Moving = topology.DuringOptions{MaxEvaluations: 300}
		return buildInstance(t, s)
	}

	single, all := build("single"), build("all")
	d := single.mustDecide(t, "delta-during")
	m := d.Moves
	if !m.Moving() {
		t.Fatalf("got topology %v without moves, want circuits that move", d.Circuits)
	}
	pods := int32(len(single.optical.Pods))
	replicate := func(x []int) []int {
		circuitsOf := map[[2]int32]int{}
		for e, b := range single.optical.Bundles {
			circuitsOf[[2]int32{b.A, b.B}] = x[e]
		}
		out := make([]int, len(all.optical.Bundles))
		for e, b := range all.optical.Bundles {
			out[e] = circuitsOf[[2]int32{b.A % pods, b.B % pods}]
		}
		return out
	}

	q := &topology.Sequence{First: replicate(m.First)}
	for _, s := range m.Steps {
		s.Circuits = replicate(s.Circuits)
		q.Steps = append(q.Steps, s)
	}
	if len(all.optical.Pods) != 24*len(single.optical.Pods) {
		t.Fatalf("got %d pods, want those of 24 replicas", len(all.optical.Pods))
	}
	for k, run := range m.Runs {
		n, err := all.problem.Network(all.optical, q, m.Runs, k)
		if err != nil {
			t.Fatal(err)
		}
		trace, err := flow.Run(t.Context(), all.graph, n, all.optical.Routes,
			flow.Options{Service: d.Service})
		if err != nil {
			t.Fatal(err)
		}
		if difference := trace.Makespan - run.Makespan; max(difference,
			-difference) > engine.Time(len(all.graph.Tasks)) {
			t.Errorf("iteration %d takes %v with all replicas, want %v as with one",
				k+1, trace.Makespan, run.Makespan)
		}
	}
}
