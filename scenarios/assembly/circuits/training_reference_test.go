package circuits

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"sim/engine"
	"sim/engine/flow"
	"sim/engine/units"
	"sim/policies/topology"
	"sim/scenarios/assembly/composition"
	"sim/scenarios/assembly/input"
	"sim/workloads/training"
)

// drawJob draws a small training job on one to four pods.
func drawJob(t *rapid.T) *Scenario {
	arch := training.Architecture{Hidden: 64 * rapid.IntRange(1, 32).Draw(t, "hidden"), Heads: 8,
		Vocab: 1000, FFN: 2048}
	spec := training.Spec{
		Arch: arch, Sequence: 128 << rapid.IntRange(0, 5).Draw(t, "sequence"), Microbatch: 1, EP: 1,
		ETP: 1, Chunks: 1, Collectives: "none",
		Schedule: training.Schedules[rapid.IntRange(0, len(training.Schedules)-1).Draw(t, "schedule")].Name,
		TP:       1 << rapid.IntRange(0, 2).Draw(t, "tp"), PP: rapid.IntRange(1, 4).Draw(t, "pp"),
		Microbatches: rapid.IntRange(1, 4).Draw(t, "micro-batches"),
		Flows:        rapid.SampledFrom([]string{"aggregated", "per-gpu"}).Draw(t, "flows"),
		Sharding:     rapid.SampledFrom([]string{"none", "optimizer"}).Draw(t, "sharding"),
	}

	perPod := 1 // stages per pod
	switch spec.Schedule {
	case training.DualPipe:
		spec.PP, spec.Chunks = 2+spec.PP/3*2, 2
		spec.Microbatches = 2 * spec.PP
	case training.Interleaved:
		spec.Chunks, spec.Microbatches = 2, spec.PP*(1+spec.Microbatches/3)
	}

	if spec.PP%2 == 0 && rapid.Bool().Draw(t, "two stages in a pod") {
		perPod = 2
	}
	if rapid.IntRange(0, 3).Draw(t, "experts") == 0 {
		spec.Arch.Experts, spec.Arch.TopK, spec.Arch.ExpertFFN, spec.EP, spec.ETP = 8, 2, 512, 4,
			min(2, spec.TP)
	}
	spec.Arch.Layers = spec.PP * spec.Chunks * rapid.IntRange(1, 2).Draw(t, "layers")
	minReplicas := 1
	if spec.PP == perPod { // only gradient synchronisation crosses pods
		minReplicas = 2
	}
	gpus := spec.StageGPUs()
	spec.GPUs = gpus * spec.PP * rapid.IntRange(minReplicas, 4).Draw(t, "replicas")
	spec.ReplicaMode = rapid.SampledFrom([]string{"auto", "auto", "all"}).Draw(t, "mode")
	spec.Choices = spec.Defaults().Choices
	spec.Choices.EffectiveTFLOPS = rapid.SampledFrom([]float64{1, 50, 400}).Draw(t, "TFLOPS")
	spec.Buckets = units.Bytes(rapid.SampledFrom([]int{0, 0, 1 << 20}).Draw(t, "buckets"))
	spec.OptimizerTime = engine.Time(rapid.IntRange(0, 1).Draw(t, "optimizer")) * engine.Millisecond
	spec.Choices.BackwardRatio = rapid.SampledFrom([]float64{1, 1.7, 2}).Draw(t, "backward")
	spec.Choices.Ring = rapid.SampledFrom([]string{"bidirectional", "unidirectional"}).Draw(t, "ring")
	search := topology.SearchOptions{MaxEvaluations: 300}
	rate := func(name string) units.Rate {
		return units.Rate(1e9 * rapid.SampledFrom([]float64{50, 100, 150, 400}).Draw(t, name))
	}
	packet := units.Bytes(1 << rapid.IntRange(14, 20).Draw(t, "packet"))
	s := &Scenario{
		Name: "drawn.toml", Seed: rapid.Uint64Range(1, 5).Draw(t, "seed"),
		Engine:   input.Engine{Level: "flow"},
		Workload: input.Workload{WorkloadKeys: input.WorkloadKeys{Spec: spec}},
		Fabric: input.Fabric{OCSPods: input.OCSPods{
			GPUsPerPodPerReplica: gpus * perPod, PortsPerPod: rapid.IntRange(1, 6).Draw(t, "ports"),
			PortBandwidth: rate("port"), NICBandwidth: rate("NIC"),
			Delay: rapid.SampledFrom([]engine.Time{0, engine.Microsecond,
				100 * engine.Microsecond, engine.Millisecond}).Draw(t, "delay"),
			Switching: rapid.SampledFrom([]string{"per-circuit", "per-circuit",
				"per-switch"}).Draw(t, "switching"),
		}},
		Policy: input.Policy{Allocation: topology.Allocation{
			Allocators: []string{"delta-during"}, // allows circuits to move
			Settings: topology.Settings{
				PortEvaluations: 100, Topo: search, Joint: search,
				Service: rapid.SampledFrom([]string{"", "", "max-min"}).Draw(t, "service"),
				Fast: topology.FastOptions{Population: 8, Elites: 2, Tournament: 2,
					Crossover: 0.9, Mutation: 0.3, StallGenerations: 5, MaxGenerations: 20},
				Moving: topology.DuringOptions{MaxEvaluations: 100,
					Service: rapid.SampledFrom([]string{"level-priority", "max-min"}).Draw(t,
						"service of delta-during")},
				Rotor: topology.RotorOptions{Switches: 4},
			},
		}},
	}

	s.Workload.Packet = packet
	if spec.ReplicaMode == "auto" && rapid.IntRange(0, 3).Draw(t, "one replica differs") == 0 {
		replica := s.replica(0)
		replica.ComputeScale, replica.PodMap = 1.3, rapid.Permutation(s.PodMap()).Draw(t, "pods")
		s.Replicas = []input.Replica{replica}
	}

	return s
}

// buildDrawn builds a drawn job, with the minimum number of ports that connects all pods.
func buildDrawn(t *rapid.T, s *Scenario) *circuitSystem {
	for ; ; s.Fabric.PortsPerPod++ {
		for i := range s.Replicas {
			s.Replicas[i].PortsPerPod = s.Fabric.PortsPerPod
		}
		sys, err := New(context.Background(), s, 1)
		if err == nil {
			return sys.(*circuitSystem)
		}
		if !errors.Is(err, topology.ErrPorts) {
			t.Fatal(err)
		}
	}
}

// flowReference simulates the complete task graph of a job under max-min fair sharing. It is a
// simple reference for flow.Run. At each event it recomputes all rates over all transfers. The
// resources of a transfer follow from its endpoints. Circuits move after the transfers that the
// reference counts itself.
type flowReference struct {
	in            *circuitSystem
	delay         engine.Time
	perSwitch     bool
	resourceIndex map[string]int  // index of each direction of a bundle and each network interface, by name
	capacity      []float64       // bits per tick, indexed by resource
	uses          [][]resourceUse // resources of transfers, indexed by task
	bundle        []int           // indexed by task; -1 if the task does not cross pods
	directions    [][]int         // resources of the directions, indexed by bundle
	// history holds all topologies so far, with times relative to the start of the iteration.
	history []refTopology
}

// resourceUse is the use of a resource by a transfer: weight times the rate of the transfer.
type resourceUse struct {
	resource int
	weight   float64
}

// refTopology holds the commanded circuits, indexed by bundle, from a start time on.
type refTopology struct {
	start    engine.Time
	circuits []int
}

// newFlowReference returns a reference for the task graph and the pods of an instance.
func newFlowReference(sys *circuitSystem) *flowReference {
	r := &flowReference{in: sys, delay: sys.scenario.Fabric.Delay,
		perSwitch: sys.scenario.Fabric.Switching == "per-switch", resourceIndex: map[string]int{}}
	index := func(name string, rate float64) int {
		k, ok := r.resourceIndex[name]
		if !ok {
			k = len(r.capacity)
			r.resourceIndex[name] = k
			r.capacity = append(r.capacity, rate/float64(engine.Second))
		}

		return k
	}

	pods, bundles := sys.pods, map[[2]int32]int{}
	for e, b := range sys.optical.Bundles {
		bundles[[2]int32{b.A, b.B}] = e
	}
	r.directions = make([][]int, len(bundles))
	for i := range sys.graph.Tasks {
		task := &sys.graph.Tasks[i]
		r.uses, r.bundle = append(r.uses, nil), append(r.bundle, -1)
		if task.Kind != engine.Transfer {
			continue
		}
		from, to := &pods.Nodes[task.Src], &pods.Nodes[task.Dst]
		if from.Pod == to.Pod && task.Src != task.Dst {
			continue
		}
		e := bundles[[2]int32{min(from.Pod, to.Pod), max(from.Pod, to.Pod)}]
		k := index(fmt.Sprint("circuits ", from.Pod, " ", to.Pod), 0)
		if !slices.Contains(r.directions[e], k) {
			r.directions[e] = append(r.directions[e], k)
		}
		r.bundle[i] = e
		r.uses[i] = append(r.uses[i], resourceUse{k, 1})
		for _, c := range from.NICs {
			r.uses[i] = append(r.uses[i],
				resourceUse{index(fmt.Sprint("out ", c), float64(pods.NICs[c].Rate)),
					1 / float64(from.GPUs)})
		}

		for _, c := range to.NICs {
			r.uses[i] = append(r.uses[i],
				resourceUse{index(fmt.Sprint("in ", c), float64(pods.NICs[c].Rate)),
					1 / float64(to.GPUs)})
		}
	}

	return r
}

// provision sets the capacity of all bundles at a time. A circuit carries data if it was
// commanded throughout the preceding reconfiguration delay. The number of circuits of a bundle
// is therefore the minimum over that time, or 0 while a complete switch reconfigures.
func (r *flowReference) provision(now engine.Time) {
	for e, dirs := range r.directions {
		n := math.MaxInt
		for i, x := range r.history {
			if i+1 < len(r.history) && r.history[i+1].start <= now-r.delay {
				continue
			}
			if n = min(n, x.circuits[e]); r.perSwitch && i > 0 && x.start > now-r.delay {
				n = 0
			}
		}
		for _, k := range dirs {
			b := &r.in.optical.Bundles[e]
			rate := min(r.in.pods.Pods[b.A].Rate, r.in.pods.Pods[b.B].Rate)
			r.capacity[k] = float64(n) * float64(rate) / float64(engine.Second)
		}
	}
}

// move commands circuits from a start time on.
func (r *flowReference) move(at engine.Time, circuits []int) {
	if !slices.Equal(circuits, r.history[len(r.history)-1].circuits) {
		r.history = append(r.history, refTopology{at, circuits})
	}
}

// rates returns the max-min fair rates of transfers in bits per tick. All flows of a transfer
// have equal rates. It is progressive filling: all rates rise together until a resource is
// saturated, which fixes the rates of its transfers.
func (r *flowReference) rates(active []int32) []float64 {
	out, free, fixed := make([]float64, len(active)), slices.Clone(r.capacity), make([]bool, len(active))
	for remaining := len(active); remaining > 0; {
		load := make([]float64, len(free))
		for i, id := range active {
			for _, u := range r.uses[id] {
				if !fixed[i] {
					load[u.resource] += u.weight * float64(r.in.graph.Tasks[id].Flows)
				}
			}
		}

		step := math.Inf(1)
		for k, v := range load {
			if v > 0 {
				step = min(step, max(0, free[k])/v)
			}
		}

		for k, v := range load {
			free[k] -= step * v
		}
		for i, id := range active {
			if fixed[i] {
				continue
			}
			out[i] += step * float64(r.in.graph.Tasks[id].Flows)
			if fixed[i] = slices.ContainsFunc(r.uses[id], func(u resourceUse) bool { return free[u.resource] <= 1e-9*r.capacity[u.resource] }); fixed[i] {
				remaining--
			}
		}
	}

	return out
}

// run simulates an iteration of a sequence. It returns the end times of all tasks and the times
// of all steps. The next call of run continues at the end of this iteration.
func (r *flowReference) run(q *topology.Sequence) (ends, fired []engine.Time, err error) {
	g := r.in.graph
	n := len(g.Tasks)
	ends = slices.Repeat([]engine.Time{engine.Never}, n)
	pending, ready, remaining := make([]int, n), make([]engine.Time, n), make([]float64, n)
	var waiting []int32 // enabled transfers that have not ended
	unfinished, total := 0, make([]int, len(r.directions))
	var release func(id int32, end engine.Time)
	enable := func(id int32) {
		if len(r.uses[id]) > 0 && g.Tasks[id].Bytes > 0 {
			waiting = append(waiting, id)
			return
		}
		release(id, ready[id]+g.Tasks[id].Duration)
	}

	release = func(id int32, end engine.Time) {
		ends[id] = end
		for _, e := range g.Out(id) {
			ready[e.To] = max(ready[e.To], end+e.Lag)
			if pending[e.To]--; pending[e.To] == 0 {
				enable(e.To)
			}
		}
	}

	for id := range int32(n) {
		pending[id], remaining[id] = len(g.In(id)), 8*float64(g.Tasks[id].Bytes)
		if len(r.uses[id]) > 0 && g.Tasks[id].Bytes > 0 {
			unfinished++
			total[r.bundle[id]]++
		}
	}

	for id := range int32(n) {
		if len(g.In(id)) == 0 {
			enable(id)
		}
	}

	counted, started := make([]int, len(r.directions)), make([]bool, n)
	finish := func(id int32, now engine.Time) {
		waiting = slices.DeleteFunc(waiting, func(k int32) bool { return k == id })
		counted[r.bundle[id]]++
		unfinished--
		release(id, now)
	}

	now := engine.Time(0)
	for {
		for len(fired) < len(q.Steps) { // pending steps, after all other events of this time
			s := &q.Steps[len(fired)]
			carried := func(e int) bool { return counted[e] == total[e] }
			if !allOf(s.Carried, carried) || s.Bundle >= 0 && counted[s.Bundle] < s.Count ||
				s.Bundle == topology.AtTime && (now < s.Time || unfinished == 0) ||
				s.Bundle == topology.AtEnd {
				break
			}

			fired = append(fired, now)
			r.move(now, s.Circuits)
		}

		r.provision(now)

		// Rates of the active transfers, and the time of the next event.
		var active []int32
		next := engine.Never
		for _, id := range waiting {
			if ready[id] <= now {
				active = append(active, id)
				started[id] = true
			} else {
				next = min(next, ready[id])
			}
		}

		rates := r.rates(active)
		end := make([]engine.Time, len(active))
		for i, id := range active {
			end[i] = engine.Never
			if rates[i] > 0 {
				end[i] = now + engine.Time(math.Ceil(remaining[id]/rates[i]-1e-6))
			} else if remaining[id] < 8*float64(g.Tasks[id].Bytes) && remaining[id] < 1 {
				// The bits left are a rounding residue on a link that went down.
				end[i] = now
			}

			next = min(next, end[i])
		}

		if unfinished == 0 {
			break
		}
		for _, x := range r.history {
			if fireTime := x.start + r.delay; fireTime > now {
				next = min(next, fireTime)
			}
		}

		if len(fired) < len(q.Steps) && q.Steps[len(fired)].Bundle == topology.AtTime {
			next = min(next, max(now+1, q.Steps[len(fired)].Time))
		}
		if next == engine.Never {
			return nil, nil, fmt.Errorf("the reference stalls at %v with %d unfinished transfers",
				now, unfinished)
		}
		for i, id := range active {
			remaining[id] = max(0, remaining[id]-rates[i]*float64(next-now))
		}
		now = next
		for i, id := range active {
			if end[i] == now {
				finish(id, now)
			}
		}
	}

	// Steps after the last transfer, and the time of the next iteration.
	makespan := slices.Max(ends)
	for i := len(fired); i < len(q.Steps); i++ {
		fireTime := engine.Never
		if q.Steps[i].Bundle == topology.AtEnd {
			fireTime = makespan
			r.move(fireTime, q.Steps[i].Circuits)
		}
		fired = append(fired, fireTime)
	}

	for i := range r.history {
		r.history[i].start -= makespan
	}
	return ends, fired, nil
}

// stepCount returns the number of steps of a sequence, 0 if circuits do not move.
func stepCount(m *topology.Moves) int {
	if !m.Moving() {
		return 0
	}
	return len(m.Steps)
}

// allOf reports whether a predicate holds for all bundles of a list.
func allOf(bundles []int, holds func(e int) bool) bool {
	return !slices.ContainsFunc(bundles, func(e int) bool { return !holds(e) })
}

// simulate simulates the iterations that the trace of a decision represents. It returns the end
// times of tasks in the last iteration and the number of iterations.
func (r *flowReference) simulate(d *topology.Decision) (ends []engine.Time, iterations int, err error) {
	q, last := &topology.Sequence{First: d.Circuits}, 0
	if d.Moves.Moving() {
		q, last = d.Moves.Sequence, d.Moves.Last()
	}
	r.history = []refTopology{{-engine.Never / 4, q.First}}
	for range last + 1 {
		if ends, _, err = r.run(q); err != nil {
			return nil, 0, err
		}
	}
	return ends, last + 1, nil
}

// checkTrace checks that a trace is a schedule of the graph. A task starts when all its
// predecessors have ended. Computes take their durations, and transfers have sent all their
// bytes at their end. If circuits do not move, no resource exceeds its capacity.
func (r *flowReference) checkTrace(d *topology.Decision, trace *engine.Trace) error {
	g := r.in.graph
	type change struct {
		at       engine.Time
		resource int
		by       float64 // bits per second
	}

	var changes []change
	for id := range int32(len(g.Tasks)) {
		start := engine.Time(0)
		for _, e := range g.In(id) {
			start = max(start, trace.End[e.From]+e.Lag)
		}
		if trace.Start[id] != start {
			return fmt.Errorf("%s starts at %v, want %v", g.Name(id), trace.Start[id], start)
		}
		if len(r.uses[id]) == 0 || g.Tasks[id].Bytes == 0 {
			if want := start + g.Tasks[id].Duration; trace.End[id] != want {
				return fmt.Errorf("%s ends at %v, want %v", g.Name(id), trace.End[id], want)
			}
			continue
		}

		sent, maxRate := 0.0, 0.0
		steps := trace.Rates(id)
		for k, s := range steps {
			previous := 0.0
			if k > 0 {
				previous = steps[k-1].Rate
				sent += previous * (s.At - steps[k-1].At).Seconds()
			}
			maxRate = max(maxRate, s.Rate)
			for _, u := range r.uses[id] {
				changes = append(changes, change{s.At, u.resource, u.weight * (s.Rate - previous)})
			}
		}

		bits := 8 * float64(g.Tasks[id].Bytes)
		if math.Abs(sent-bits) > 1e-9*bits+maxRate*float64(len(steps)+1)/float64(engine.Second) {
			return fmt.Errorf("%s sends %g bits, want %g bits", g.Name(id), sent, bits)
		}
	}

	// Check the capacity of all resources, if circuits do not move.
	if d.Moves.Moving() {
		return nil
	}
	r.history = []refTopology{{-engine.Never / 4, d.Circuits}}
	r.provision(0)
	slices.SortStableFunc(changes, func(a, b change) int { return cmp.Compare(a.at, b.at) })
	used := make([]float64, len(r.capacity))
	for i, c := range changes {
		used[c.resource] += c.by
		if i+1 < len(changes) && changes[i+1].at == c.at {
			continue
		}
		for k, v := range used {
			if rate := r.capacity[k] * float64(engine.Second); v > rate*(1+1e-6) {
				return fmt.Errorf("at %v a resource carries %g b/s, want at most %g b/s", c.at, v, rate)
			}
		}
	}

	return nil
}

// TestTrialsOfDrawnJobs checks trials of random jobs whose circuits move. No trial stalls,
// however long its passes take. With negligible jitter trials take as long as the nominal
// simulation, with a representative replica or with all replicas.
func TestTrialsOfDrawnJobs(t *testing.T) {
	t.Parallel()
	moving := 0
	rapid.Check(t, func(t *rapid.T) {
		s := drawJob(t)
		s.Trials = input.Trials{Count: 3,
			ComputeJitter: rapid.SampledFrom([]float64{1e-7, 0.2, 1}).Draw(t, "jitter"),
			SlowReplica:   1, SlowReplicaIndex: -1, Priorities: "nominal"}
		s.Trials.Sequence = s.Workload.Sequence * rapid.SampledFrom([]int{1, 1, 1, 4}).Draw(t,
			"sequence of trials")
		sys := buildDrawn(t, s)
		for _, policy := range []string{"delta-during", "demand-matched", "mixnet-during"} {
			d, err := sys.allocate(context.Background(), policy, 1)
			if err != nil {
				t.Fatalf("%s: got error %v", policy, err)
			}
			m := d.Row.Metrics
			if m["trial_stalls"] > 0 {
				t.Errorf("%s: %v of %v trials stall, want none",
					policy, m["trial_stalls"], m["trial_count"])
			}
			if d.Moves.Moving() {
				moving++
			}
			last := d.Makespan
			if d.Moves.Moving() {
				last = d.Moves.Runs[d.Moves.Last()].Makespan
			}
			if got := m["trial_makespan_mean_s"]; s.Trials.Sequence == s.Workload.Sequence &&
				s.Trials.ComputeJitter < 1e-6 &&
				math.Abs(got-last.Seconds()) > 1e-4*last.Seconds() {
				t.Errorf("%s: trials take %v s on average, want %v as the nominal simulation",
					policy, got, last)
			}
		}
	})

	t.Logf("circuits move in %d cases", moving)
}

// TestTrainingAgainstReference compares the topologies of all policies on random jobs with
// flowReference: tasks end at the same times, up to one tick per task. Under priorities, which
// the reference does not support, it checks that the trace is a valid schedule.
//
// No makespan is below its bound. Level packet takes at most the stated slack longer than level
// flow. Moving circuits cause no stall, and all metrics are finite and not negative. To check
// 300 jobs, run it with -rapid.checks=300.
func TestTrainingAgainstReference(t *testing.T) {
	t.Parallel()
	counts := map[string]int{}
	rapid.Check(t, func(t *rapid.T) {
		s := drawJob(t)
		sys := buildDrawn(t, s)
		ref, ticks := newFlowReference(sys), engine.Time(len(sys.graph.Tasks))
		for i := range topology.Table {
			row := &topology.Table[i]
			if row.Given || strings.Contains(row.Name, "milp") {
				continue
			}
			s.Engine.Level = rapid.SampledFrom([]string{"flow", "packet"}).Draw(t, "level")
			d, err := sys.allocate(context.Background(), row.Name, 1)
			if err != nil {
				t.Fatalf("%s: got error %v", row.Name, err)
			}
			counts[s.Engine.Level]++
			if d.Moves.Moving() {
				counts["moving"]++
			}
			for name, v := range d.Row.Metrics {
				if !(v >= 0) || math.IsInf(v, 1) {
					t.Errorf("%s: %s is %v, want a finite number of at least 0", row.Name, name, v)
				}
			}

			if d.Bound > d.Makespan || sys.Bound > d.Makespan ||
				d.Row.Metrics["bound_makespan_s"] > d.Row.Metrics["makespan_s"] {
				t.Errorf("%s: got a makespan of %v, want at least the bound %v and that of the "+
					"ideal fabric, %v; metrics %v",
					row.Name, d.Makespan, d.Bound, sys.Bound, d.Row.Metrics)
			}

			if err := ref.checkTrace(d.Decision, d.fluidTrace); err != nil {
				t.Errorf("%s: invalid trace: %v", row.Name, err)
			}
			if d.Service == flow.MaxMin && d.Moves.Last() < 4 {
				counts["max-min"]++
				ends, iterations, err := ref.simulate(d.Decision)
				if err != nil {
					t.Fatalf("%s: got error %v", row.Name, err)
				}
				for id, want := range ends {
					if difference := d.fluidTrace.End[id] - want; max(difference,
						-difference) > ticks*engine.Time(iterations) {
						t.Fatalf("%s: %s ends at %v, want %v as in the reference; iteration %d",
							row.Name, sys.graph.Name(int32(id)), d.fluidTrace.End[id], want,
							iterations)
					}
				}
			}

			packets := d.Run.Level == "packet"
			if packets && d.Moves.Moving() {
				continue // level packet does not simulate moves again
			}
			makespanAt := func(times float64) engine.Time {
				r, err := composition.Simulate(context.Background(), d.Run.Level, &d.Run.Job,
					d.Run.ScaleRates(times, nil))
				if err != nil {
					t.Fatalf("%s: got error %v", row.Name, err)
				}
				return r.Trace.Makespan
			}

			end := makespanAt(1)
			if max(end-d.Run.End, d.Run.End-end) > ticks {
				t.Fatalf("%s: simulated again, the makespan is %v, want %v", row.Name, end, d.Run.End)
			}
			fast := makespanAt(1e6)
			if !row.Clocked &&
				float64(fast-sys.Times.Compute) > 0.01*float64(end-sys.Times.Compute)+4*float64(sys.scenario.Fabric.Delay)*float64(stepCount(d.Moves)) {
				t.Errorf("%s: on links a million times as fast the makespan is %v, want the "+
					"compute makespan %v and the delays of moves",
					row.Name, fast, sys.Times.Compute)
			}

			if packets && d.packetSlack > 0 && d.Run.End > d.Makespan+d.packetSlack {
				t.Errorf("%s: level packet ends at %v, level flow at %v, want at most the slack "+
					"of %v later", row.Name, d.Run.End, d.Makespan, d.packetSlack)
			}
			if packets && d.packetSlack == 0 {
				t.Errorf("%s: got no slack at level packet", row.Name)
			}
		}
	})

	t.Log(counts)
}
