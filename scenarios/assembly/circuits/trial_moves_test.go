package circuits

import (
	"slices"
	"testing"

	"sim/engine"
	"sim/engine/flow"
	"sim/policies/topology"
	"sim/scenarios/assembly/input"
)

// TestTrialsOfMoves checks trials of circuits that move. A trial takes as long as flow.Run on
// links that change at the times of the trial, within one tick per task. Building these links
// verifies the ports. With nominal durations a trial takes as long as the nominal simulation.
// The times of moves follow the transfers on which they depend.
func TestTrialsOfMoves(t *testing.T) {
	for _, mode := range []string{"single", "all"} {
		s := gpt7b(t, input.Trials{Count: 8, ComputeJitter: 0.3, StageJitter: 0.2, Priorities: "clairvoyant"})
		s.Workload.GPUs, s.Workload.ReplicaMode = 3*8, mode
		s.Fabric.PortBandwidth, s.Fabric.NICBandwidth, s.Fabric.PortsPerPod = 100e9, 400e9, 8
		s.Fabric.Delay = 5 * engine.Millisecond
		s.Policy.Moving = topology.DuringOptions{MaxEvaluations: 300}
		s.Policy.Allocators = []string{"delta-during"}
		sys := buildInstance(t, s)
		r, d := sys.trials, sys.mustDecide(t, "delta-during")
		if !d.Moves.Moving() {
			t.Fatalf("no circuit moves: %v", d.Circuits)
		}
		ends, err := r.simulateMoves(t.Context(), d.Decision, 2)
		if err != nil {
			t.Fatal(err)
		}
		base := r.circuitEvaluator.Clone()
		base.SetService(d.Service)
		p, trial, err := r.controller(t.Context(), d.Decision)
		if err != nil {
			t.Fatal(err)
		}
		if run, ok := trial.Run(base); !ok ||
			max(run.Makespan-d.Makespan,
				d.Makespan-run.Makespan) > engine.Time(len(r.graph.Tasks)) {
			t.Errorf("%s: with nominal durations got %v, want %v", mode, run.Makespan, d.Makespan)
		}

		changed := 0
		for i, seed := range r.seeds {
			durations := make([]engine.Time, len(r.graph.Tasks))
			if err := r.iteration.Durations(r.perturbation, seed, durations); err != nil {
				t.Fatal(err)
			}
			e := base.Clone()
			if err := e.SetDurations(durations); err != nil {
				t.Fatal(err)
			}
			run, ok := trial.Run(e)
			if !ok || run.Makespan != ends[i] {
				t.Fatalf("%s, trial %d: got %v if simulated separately, want %v",
					mode, i, run.Makespan, ends[i])
			}
			last := d.Moves.Last()
			for k, at := range run.Fired {
				if at != d.Moves.Runs[last].Fired[k] {
					changed++
				}
			}

			n, err := p.Network(r.optical, trial.Sequence(),
				append(slices.Clone(d.Moves.Runs[:last]), run), last)
			if err != nil {
				t.Fatal(err)
			}
			g := *r.graph
			g.Tasks = slices.Clone(g.Tasks)
			for k := range g.Tasks {
				if g.Tasks[k].Kind != engine.Transfer {
					g.Tasks[k].Duration = durations[k]
				}
			}

			trace, err := flow.Run(t.Context(), &g, n, r.optical.Routes, flow.Options{Service: d.Service})
			if err != nil {
				t.Fatal(err)
			}
			if difference := trace.Makespan - run.Makespan; max(difference,
				-difference) > engine.Time(len(g.Tasks)) {
				t.Errorf("%[1]s, trial %[2]d: got %[3]v, want %[4]v as flow.Run on changing links",
					mode, i, run.Makespan, trace.Makespan)
			}
		}

		if changed == 0 {
			t.Errorf("%s: circuits move at the nominal times in all trials, want other times", mode)
		}
	}
}
