package scenarios

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"sim/scenarios/result"
)

// fastAllocators are allocators that decide quickly. delta-joint transfers by priority, the
// others by fair sharing.
const fastAllocators = `policy.allocators=["prop-alloc", "iter-halve", "delta-joint"]`

// TestUnperturbedReplay checks trials that perturb nothing. They have the makespan and NCT of
// the nominal simulation, bit-identical, for every allocator and every mode of simulating
// replicas. This includes trials of all replicas if the nominal simulation has one
// representative replica.
func TestUnperturbedReplay(t *testing.T) {
	identical := []string{fastAllocators, "trials.count=2", "trials.sequence=4096"}
	// The square of this jitter underflows to 0.
	different := []string{fastAllocators, "trials.count=2", "trials.compute_jitter=1e-200"}
	all := `policy.allocators=["uniform", "fixed", "prop-alloc", "sqrt-alloc", "iter-halve", "delta-fast", "delta-topo", "delta-joint"]`
	for _, tt := range []struct {
		name string
		sets string // separated by spaces
		all  bool   // with all allocators
	}{
		{"gpt7b", "policy.fixed.circuits=[[2,2],[2,2]]", true},
		{"gpt7b", "policy.fixed.circuits=[[2,2],[2,2]] workload.replicas=all", true},
		{"gpt7b", "policy.fixed.circuits=[[2,2],[2,2]] workload.replicas=decomposed", true},
		{"gpt7b", "policy.fixed.circuits=[[2,2],[2,2]] policy.service=level-priority", true},
		{"gpt7b", "trials.priorities=clairvoyant", false},
		{"gpt7b", "workload.flows=per-gpu", false},
		{"gpt7b", "workload.schedule=interleaved-1f1b workload.virtual_stages=2", false},
		{"gpt7b", "replica.1.compute_scale=1.1", false},
		{"gpt7b", "replica.1.compute_scale=1.1 workload.replicas=decomposed", false},
		{"mixtral8x22b", "fabric.reverse=true", false},
		{"megatron177b", "", false},
		{"megatron177b", "workload.ring=unidirectional workload.replicas=single", false},
		{"deepseek671b", "", false},
	} {
		for _, perturb := range [][]string{identical, different} {
			sets := append(slices.Clone(perturb), strings.Fields(tt.sets)...)
			if tt.all {
				sets = append(sets, all)
			}
			o := runScenario(t, tt.name, 2, sets...)
			for _, r := range o.Document.Rows {
				want := map[string]float64{"makespan_s": r.Metrics["makespan_s"], "nct": r.Metrics["nct"]}
				for name, v := range want {
					if got := r.Samples[name]; !slices.Equal(got, []float64{v, v}) {
						t.Errorf("%s %v, %s: trials have %s %v, want %v as the nominal simulation",
							tt.name, sets, r.Policy, name, got, v)
					}
				}
				for _, m := range []string{"mean", "p50", "p95", "p99", "max"} {
					if got := r.Metrics["trial_nct_"+m]; got != r.Metrics["nct"] {
						t.Errorf("%s %v, %s: got trial_nct_%s %v, want the nominal %v",
							tt.name, sets, r.Policy, m, got, r.Metrics["nct"])
					}
				}
			}

			if ref := o.Document.Reference; ref["trial_makespan_mean_s"] != ref["makespan_s"] ||
				ref["trial_compute_makespan_mean_s"] != ref["compute_makespan_s"] {
				t.Errorf("%s %v: got references %v, want the nominal ones in trials",
					tt.name, sets, ref)
			}
		}
	}
}

// TestReplayOfReferenceOnCircuits checks a scenario whose reference is faster on some circuits
// than on the ideal fabric with priority rules. Trials use the same kind of reference.
func TestReplayOfReferenceOnCircuits(t *testing.T) {
	s := mustParse(t, priorityCounterexample, "trials.count=3", "trials.compute_jitter=1e-200")
	p, err := Prepare(context.Background(), s)
	if err != nil {
		t.Fatal(err)
	}
	o := runParsed(t, s, 2)
	ref := o.Document.Reference
	for name, v := range map[string]float64{
		"trial_makespan_mean_s":         p.Reference()["makespan_s"],
		"trial_compute_makespan_mean_s": p.Reference()["compute_makespan_s"],
	} {
		if ref[name] != v {
			t.Errorf("got %s %g, want the nominal %g", name, ref[name], v)
		}
	}
}

// TestReplayOfSequence checks trials with another sequence length. They equal a run with that
// length on the topology that was decided for the nominal one.
func TestReplayOfSequence(t *testing.T) {
	const circuits = "policy.fixed.circuits=[[1,3],[3,1]]"
	const fixed = `policy.allocators=["fixed"]`
	for _, service := range []string{"max-min", "level-priority"} {
		for _, sequence := range []string{"1024", "8192"} {
			plan := runScenario(t, "gpt7b", 2, fixed, circuits, "policy.service="+service,
				"trials.count=1", "trials.sequence="+sequence).Document
			other := runScenario(t, "gpt7b", 2, fixed, circuits, "policy.service="+service,
				"workload.sequence="+sequence).Document
			for from, to := range map[string]string{
				"trial_nct_mean":        "nct",
				"trial_makespan_mean_s": "makespan_s",
			} {
				if got, want := plan.Rows[0].Metrics[from], other.Rows[0].Metrics[to]; got != want {
					t.Errorf("%s, sequence %s: got %s %v, want %s %v of the run",
						service, sequence, from, got, to, want)
				}
			}

			if plan.Rows[0].Metrics["nct"] == other.Rows[0].Metrics["nct"] {
				t.Errorf("sequence %s: got the NCT of the nominal sequence, want another one", sequence)
			}
		}
	}
}

// TestReplayOfSlowReplica checks that a replica that is slow in trials equals a replica that is
// slow in the scenario, for all modes of simulating replicas.
func TestReplayOfSlowReplica(t *testing.T) {
	fixed := []string{`policy.allocators=["fixed"]`, "policy.fixed.circuits=[[2,2],[2,2]]"}
	for _, index := range []string{"0", "1"} {
		slow := runScenario(t, "gpt7b", 2, append(fixed, "replica."+index+".compute_scale=1.25")...).Document
		for _, mode := range []string{"single", "all", "decomposed"} {
			o := runScenario(t, "gpt7b", 2,
				append(fixed, "workload.replicas="+mode, "trials.count=1",
					"trials.slow_replica=1.25",
					"trials.slow_replica_index="+index)...).Document
			for from, to := range map[string]string{
				"trial_nct_mean":        "nct",
				"trial_makespan_mean_s": "makespan_s",
			} {
				got, want := o.Rows[0].Metrics[from], slow.Rows[0].Metrics[to]
				if math.Abs(got-want) > 1e-9*want { // trials round the duration of a pass to ticks twice
					t.Errorf("%s, replica %s: got %s %v, want %s %v of the slow scenario",
						mode, index, from, got, to, want)
				}
			}
		}
	}
}

// TestReplayModesAgree checks that the mode in which replicas are simulated does not change the
// trials of one topology.
func TestReplayModesAgree(t *testing.T) {
	for _, tt := range []struct {
		name, circuits string
	}{{"gpt7b", "[[2,2],[2,2]]"},
		{"megatron177b", "[[6,4,0],[4,4,4],[0,4,6]]"},
	} {
		var first *result.Row
		for _, mode := range []string{"single", "all", "decomposed"} {
			o := runScenario(t, tt.name, 2, `policy.allocators=["fixed"]`,
				"policy.fixed.circuits="+tt.circuits, "workload.replicas="+mode,
				"trials.count=10", "trials.compute_jitter=0.1", "trials.stage_jitter=0.05",
				"trials.slow_replica=1.1", "trials.lost_circuits=2")
			row := &o.Document.Rows[0]
			if first == nil {
				first = row
			}
			if !slices.Equal(row.Samples["nct"], first.Samples["nct"]) || len(row.Samples["nct"]) == 0 {
				t.Errorf("%s, %s: got %v, want %v as with mode single",
					tt.name, mode, row.Samples["nct"], first.Samples["nct"])
			}
		}
	}
}

// TestReplayScales checks that doubling all rates and all bytes leaves the NCT of each trial
// unchanged, up to the rounding of bytes.
func TestReplayScales(t *testing.T) {
	sets := []string{fastAllocators, "trials.count=20", "trials.compute_jitter=0.1",
		"trials.lost_circuits=1", "trials.slow_replica=1.1"}
	one := runScenario(t, "mixtral8x22b", 2,
		append(sets, "workload.activation_bytes=2", "workload.gradient_bytes=4",
			"workload.parameter_bytes=2")...)
	two := runScenario(t, "mixtral8x22b", 2,
		append(sets, "workload.activation_bytes=4", "workload.gradient_bytes=8",
			"workload.parameter_bytes=4",
			"fabric.port_bandwidth=800Gbps")...)
	for i, r := range one.Document.Rows {
		for k, v := range r.Samples["nct"] {
			if w := two.Document.Rows[i].Samples["nct"][k]; math.Abs(v-w) > 1e-7*v {
				t.Errorf("%s, trial %d: got NCT %v, and %v with twice the rates and bytes; want "+
					"equal values", r.Policy, k, v, w)
			}
		}
	}
}

// TestCommonRandomNumbers checks that the perturbation of a trial depends on its number and the
// seed only. The same circuits have the same trials, regardless of their allocator, of the
// compared allocators, and of the number of trials.
func TestCommonRandomNumbers(t *testing.T) {
	sets := []string{"trials.compute_jitter=0.1", "trials.lost_circuits=1"}
	joint := runScenario(t, "gpt7b", 1,
		append(sets, `policy.allocators=["sqrt-alloc", "delta-topo"]`,
			"trials.count=20")...).Document
	topo := joint.Rows[1]
	// The label has the circuits of pod 0, ". 1 3", and of pod 1, "1 . 2": to each pod, and to the
	// DP peer pod.
	x := strings.Fields(strings.NewReplacer("pod 0", "", "pod 1", "", "twins",
		"").Replace(topo.Labels["topology"]))
	matrix := fmt.Sprintf("policy.fixed.circuits=[[%s,%s],[%s,%s]]", x[2], x[1], x[3], x[5])
	fixed := runScenario(t, "gpt7b", 2,
		append(sets, `policy.allocators=["fixed"]`, matrix, "trials.count=35")...).Document.Rows[0]
	trial := func(r *result.Row, i int) float64 { // makespan in seconds, NaN if the trial stalls
		k := i
		if p := r.Samples["play"]; p != nil {
			if k = slices.Index(p, float64(i)); k < 0 {
				return math.NaN()
			}
		}

		return r.Samples["makespan_s"][k]
	}

	for i := range 20 {
		if a, b := trial(&topo, i), trial(&fixed, i); a != b && !(math.IsNaN(a) && math.IsNaN(b)) {
			t.Errorf("trial %d: got %v s with the circuits of delta-topo, %v s with the same "+
				"fixed circuits, want equal times", i, a, b)
		}
	}

	other := runScenario(t, "gpt7b", 1,
		append(sets, `policy.allocators=["sqrt-alloc"]`, "trials.count=20",
			"seed=2")...).Document.Rows[0]
	if slices.Equal(joint.Rows[0].Samples["nct"], other.Samples["nct"]) {
		t.Error("got the same trials with another seed")
	}
}

// TestReplayWorkers checks that a run with trials returns the same document for any number of
// workers.
func TestReplayWorkers(t *testing.T) {
	var first []byte
	all := []int{1, 2, 7, 0}
	if testing.Short() {
		all = []int{1, 7}
	}
	for _, workers := range all {
		o := runScenario(t, "mixtral8x22b", workers, fastAllocators, "trials.count=25",
			"trials.compute_jitter=0.1", "trials.lost_circuits=2", "trials.loss_time=random")
		b, err := json.Marshal(o.Document)
		if err != nil {
			t.Fatal(err)
		}
		if first == nil {
			first = b
		}
		if string(b) != string(first) {
			t.Errorf("%d workers: got another document, want the one of 1 worker", workers)
		}
	}
}
