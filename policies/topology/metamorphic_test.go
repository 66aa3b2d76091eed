package topology_test

import (
	"flag"
	"math"
	"math/rand/v2"
	"testing"

	"sim/engine"
	"sim/engine/flow"
	"sim/engine/units"
	"sim/fabric"
	"sim/fabric/electrical"
	"sim/policies/topology"
	"sim/workloads/training"
)

var moreCases = flag.Bool("more", false, "try many more random cases")

// numCases returns the number of random cases of a test: few, or 50 times as many with
// -more.
func numCases(few int) int {
	if *moreCases {
		return 50 * few
	}
	return few
}

// problemParts is a problem before it is assembled, so that tests can change it.
type problemParts struct {
	graph *engine.Graph
	pods  *fabric.Pods
}

// shortWorkload returns a workload of the paper with fewer micro-batches, on hardware
// whose rates are multiplied by speed.
func shortWorkload(t testing.TB, model string, microbatches int, speed float64) problemParts {
	t.Helper()
	s, perPod := trainingSpec(t, model, 4096)
	s.Microbatches = microbatches
	s.Choices.EffectiveTFLOPS *= speed
	it, err := training.Build(s, training.BuildOptions{})
	if err != nil {
		t.Fatal(err)
	}
	rate := units.Rate(400e9 * speed)
	pods, err := it.Place(training.Layout{
		GPUsPerPod: perPod, Replicas: []training.ReplicaLayout{{Pod: fabric.Pod{Ports: perPod, Rate: rate}, NIC: rate}},
	})
	if err != nil {
		t.Fatal(err)
	}
	g, _, err := pods.Reduce(it.Graph, nil)
	if err != nil {
		t.Fatal(err)
	}
	return problemParts{g, pods}
}

// problem assembles the problem.
func (p problemParts) problem(t testing.TB) *topology.Problem {
	t.Helper()
	o, err := p.pods.Connect(p.graph)
	if err != nil {
		t.Fatal(err)
	}
	problem, err := topology.NewProblem(p.graph, o)
	if err != nil {
		t.Fatal(err)
	}
	return problem
}

// ideal returns the makespan on the ideal fabric.
func (p problemParts) ideal(t testing.TB) engine.Time {
	t.Helper()
	n, r, err := electrical.Connect(p.pods, p.graph)
	if err != nil {
		t.Fatal(err)
	}
	tr, err := flow.Run(t.Context(), p.graph, n, r, flow.Options{Service: flow.LevelPriority})
	if err != nil {
		t.Fatal(err)
	}
	return tr.Makespan
}

// randomTopology returns a random topology that fits the ports. Each bundle has one
// circuit, and further circuits go to random bundles.
func randomTopology(p *topology.Problem, rng *rand.Rand) []int {
	x := make([]int, len(p.Fabric.Bundles))
	for e := range x {
		x[e] = 1
	}
	left := rng.IntN(p.PortsTotal() / p.Fabric.Copies)
	for _, e := range rng.Perm(8 * p.PortsTotal() / p.Fabric.Copies) {
		if e %= len(x); left > 0 {
			x[e]++
			if left--; !p.Feasible(x) {
				x[e]--
			}
		}
	}
	return x
}

// topologySimulator simulates topologies of a problem. They may exceed the ports.
type topologySimulator struct {
	*flow.Evaluator
	p *topology.Problem
}

func newTopologySimulator(t testing.TB, p *topology.Problem) *topologySimulator {
	t.Helper()
	e, err := flow.NewEvaluator(p.Graph, p.Fabric.Network, p.Fabric.Routes, flow.MaxMin)
	if err != nil {
		t.Fatal(err)
	}
	return &topologySimulator{e, p}
}

func (l *topologySimulator) simulate(t testing.TB, x []int, s flow.Service) engine.Time {
	t.Helper()
	for e, b := range l.p.Fabric.Bundles {
		for _, link := range b.Links {
			l.SetRate(link, float64(x[e])*l.p.Fabric.Rate(e))
		}
	}
	l.SetService(s)
	c, ok := l.Makespan(engine.Never)
	if !ok {
		t.Fatalf("%v cannot be simulated to its end", x)
	}
	return c
}

// testServices are the services with which tests simulate topologies.
var testServices = []flow.Service{flow.MaxMin, flow.LevelPriority, flow.TailPriority}

// TestScaling checks that c times the bandwidth and compute rate gives 1/c of all times,
// up to one tick per task.
func TestScaling(t *testing.T) {
	for _, model := range models {
		base := shortWorkload(t, model, 24, 1)
		p := base.problem(t)
		rng := rand.New(rand.NewPCG(1, 1))
		joint := choose(t, &job{problem: p}, "delta-joint", defaultOptions())
		for _, c := range []float64{2, 0.5, 3, 0.37} {
			faster := shortWorkload(t, model, 24, c)
			q := faster.problem(t)
			ticks := float64(len(p.Graph.Tasks))
			check := func(what string, before, after engine.Time) {
				t.Helper()
				if math.Abs(float64(after)*c-float64(before)) > ticks*max(1, c) {
					t.Errorf("%s, %g times as fast: %s %v, was %v", model, c, what, after, before)
				}
			}
			check("ideal", base.ideal(t), faster.ideal(t))
			d := choose(t, &job{problem: q}, "delta-joint", defaultOptions())
			check("joint optimum", joint.Makespan, d.Makespan)
			l, m := newTopologySimulator(t, p), newTopologySimulator(t, q)
			for range 4 {
				x := randomTopology(p, rng)
				for _, s := range testServices {
					check(s.String(), l.simulate(t, x, s), m.simulate(t, x, s))
				}
				check("bound", l.Bound(), m.Bound())
			}
		}
	}
}

// relabel permutes the ids of pods, NICs, nodes and tasks. pod maps old pods to new ones.
func (p problemParts) relabel(t testing.TB, rng *rand.Rand) (q problemParts, pod []int) {
	t.Helper()
	pod = rng.Perm(len(p.pods.Pods))
	nic, node, task := rng.Perm(len(p.pods.NICs)), rng.Perm(len(p.pods.Nodes)), rng.Perm(len(p.graph.Tasks))
	q.pods = &fabric.Pods{
		Pods: make([]fabric.Pod, len(pod)), NICs: make([]fabric.NIC, len(nic)),
		Nodes:    make([]fabric.Node, len(node)),
		PeerEnds: p.pods.PeerEnds, PeerDirections: p.pods.PeerDirections, Copies: p.pods.Copies,
	}

	for i, k := range p.pods.Pods {
		q.pods.Pods[pod[i]] = k
	}
	for i, k := range p.pods.NICs {
		q.pods.NICs[nic[i]] = k
	}
	for i, k := range p.pods.Nodes {
		moved := fabric.Node{Pod: int32(pod[k.Pod]), GPUs: k.GPUs}
		for _, c := range k.NICs {
			moved.NICs = append([]int32{int32(nic[c])}, moved.NICs...)
		}
		q.pods.Nodes[node[i]] = moved
	}

	q.graph = &engine.Graph{Tasks: make([]engine.Task, len(task))}
	for i, k := range p.graph.Tasks {
		if k.Kind == engine.Transfer {
			k.Src, k.Dst = int32(node[k.Src]), int32(node[k.Dst])
		}
		q.graph.Tasks[task[i]] = k
		for _, e := range p.graph.Out(int32(i)) {
			q.graph.AddEdge(int32(task[e.From]), int32(task[e.To]), e.Lag)
		}
	}

	if err := q.graph.Freeze(); err != nil {
		t.Fatal(err)
	}
	return q, pod
}

// TestRelabelling checks that the numbering of pods, NICs, nodes and tasks changes no
// certified value and no makespan of a given topology, up to rounding.
func TestRelabelling(t *testing.T) {
	for _, model := range models {
		base := shortWorkload(t, model, 24, 1)
		p := base.problem(t)
		rng := rand.New(rand.NewPCG(2, 2))
		joint := choose(t, &job{problem: p}, "delta-joint", defaultOptions())
		for range numCases(3) {
			other, pod := base.relabel(t, rng)
			q := other.problem(t)
			near := func(what string, before, after engine.Time) {
				t.Helper()
				if d := after - before; d > roundingSlack(&job{problem: p}) ||
					-d > roundingSlack(&job{problem: p}) {
					t.Errorf("%s, relabelled %v: %s %v, was %v", model, pod, what, after, before)
				}
			}
			d := choose(t, &job{problem: q}, "delta-joint", defaultOptions())
			near("joint optimum", joint.Makespan, d.Makespan)
			near("joint bound", joint.Bound, d.Bound)
			l, m := newTopologySimulator(t, p), newTopologySimulator(t, q)
			for range 4 {
				x := randomTopology(p, rng)
				y := carry(p.Fabric, q.Fabric, pod, x)
				for _, s := range testServices {
					near(s.String(), l.simulate(t, x, s), m.simulate(t, y, s))
				}
				near("bound", l.Bound(), m.Bound())
			}
		}
	}
}

// carry converts circuits x of o to circuits of to. The pods of to are the pods of o
// renumbered by pod.
func carry(o, to *fabric.Optical, pod, x []int) []int {
	y := make([]int, len(x))
	for e, b := range o.Bundles {
		i, j := int32(pod[b.A]), int32(pod[b.B])
		for k, c := range to.Bundles {
			if c.A == min(i, j) && c.B == max(i, j) {
				y[k] = x[e]
			}
		}
	}
	return y
}

// TestPodMap checks that the assignment of stages to pods does not change the optimum
// (DELTA, Model^T).
func TestPodMap(t *testing.T) {
	s, perPod := trainingSpec(t, "megatron-462b", 4096)
	s.Microbatches = 24
	var want *topology.Decision
	for _, pods := range [][]int{nil, {3, 2, 1, 0}, {1, 3, 0, 2}} {
		it, err := training.Build(s, training.BuildOptions{})
		if err != nil {
			t.Fatal(err)
		}
		placed, err := it.Place(training.Layout{
			GPUsPerPod: perPod, Replicas: []training.ReplicaLayout{{Pod: fabric.Pod{Ports: perPod, Rate: 400e9}, NIC: 400e9, PodMap: pods}},
		})
		if err != nil {
			t.Fatal(err)
		}
		g, _, err := placed.Reduce(it.Graph, nil)
		if err != nil {
			t.Fatal(err)
		}
		d := choose(t, &job{problem: problemParts{g, placed}.problem(t)}, "delta-joint", defaultOptions())
		if want == nil {
			want = d
		}
		if difference := d.Makespan - want.Makespan; max(difference, -difference) > engine.Time(len(g.Tasks)) {
			t.Errorf("pod map %v: optimum %v, want %v", pods, d.Makespan, want.Makespan)
		}
	}
}

// TestAddedCircuit checks that an additional circuit increases neither the makespan under
// level priority nor the bound. The makespan under fair sharing may increase.
func TestAddedCircuit(t *testing.T) {
	for _, model := range models {
		t.Run(model, func(t *testing.T) {
			j := setting{model, 400e9, 4096}.job(t)
			p := j.problem
			l := newTopologySimulator(t, p)
			rng := rand.New(rand.NewPCG(3, 3))
			trials, fairRises, worstFair, worst := 0, 0, 0.0, 0.0
			for range numCases(20) {
				x := randomTopology(p, rng)
				level, fair := l.simulate(t, x, flow.LevelPriority), l.simulate(t, x, flow.MaxMin)
				bound := l.Bound()
				for e := range x {
					x[e]++
					trials++
					rise := float64(l.simulate(t, x, flow.LevelPriority)-level) / float64(level)
					if worst = max(worst, rise); rise > 1e-9 {
						t.Errorf("one more circuit in bundle %d of %v increases the makespan by a fraction of %g", e, x, rise)
					}
					if b := l.Bound(); b > bound {
						t.Errorf("one more circuit in bundle %d of %v increases the bound from %v to %v", e, x, bound, b)
					}
					if rise := float64(l.simulate(t, x, flow.MaxMin)-fair) / float64(fair); rise > 1e-9 {
						fairRises++
						worstFair = max(worstFair, rise)
					}
					x[e]--
				}
			}
			t.Logf("%d trials: joint rises by %.1e at most, fair in %d by up to %.1e", trials, worst,
				fairRises, worstFair)
		})
	}
}

// TestNoneBeatsItsBound simulates random topologies under every service. No makespan may
// be below its own bound or below the joint optimum, and the joint optimum not below the
// ideal fabric.
func TestNoneBeatsItsBound(t *testing.T) {
	for _, model := range models {
		t.Run(model, func(t *testing.T) {
			base := shortWorkload(t, model, 32, 1)
			p := base.problem(t)
			l := newTopologySimulator(t, p)
			rng := rand.New(rand.NewPCG(4, 4))
			joint := choose(t, &job{problem: p}, "delta-joint", defaultOptions())
			slack := roundingSlack(&job{problem: p})
			if ideal := base.ideal(t); joint.Makespan < ideal-slack {
				t.Errorf("joint makespan %v is below the ideal fabric's %v", joint.Makespan, ideal)
			}
			for range numCases(60) {
				x := randomTopology(p, rng)
				for _, s := range []flow.Service{flow.MaxMin, flow.LevelPriority, flow.TailPriority, flow.FixedPriority} {
					c := l.simulate(t, x, s)
					if b := l.Bound(); c < b {
						t.Errorf("topology %v, %v: makespan %v is below its bound %v", x, s, c, b)
					}
					if c < joint.Bound || c < joint.Makespan-slack {
						t.Errorf("topology %v, %v: makespan %v is below the joint optimum %v, bound %v", x, s, c,
							joint.Makespan, joint.Bound)
					}
				}
			}
		})
	}
}

// TestRatesOfMegatron462B reproduces DELTA's Fig. 7. Under delta-joint the critical DP
// flow of stage 1 has the 200 GB/s of its 4 NICs from start to end. Under delta-topo,
// with fair sharing, it falls to 150 GB/s while all four stages of the pod synchronise.
func TestRatesOfMegatron462B(t *testing.T) {
	t.Parallel()
	j := setting{"megatron-462b", 400e9, 4096}.job(t)
	for _, c := range []struct {
		policy string
		want   []float64 // GB/s
	}{{"delta-joint", []float64{200}}, {"delta-topo", []float64{150, 200}}} {
		d := choose(t, j, c.policy, defaultOptions())
		n, err := j.problem.Fabric.Provision(d.Circuits)
		if err != nil {
			t.Fatal(err)
		}
		tr, err := flow.Run(t.Context(), j.problem.Graph, n, j.problem.Fabric.Routes,
			flow.Options{Service: d.Service, Rates: true})
		if err != nil {
			t.Fatal(err)
		}
		for id := range int32(len(j.problem.Graph.Tasks)) {
			if j.problem.Graph.Name(id) != "DP of stage 1" {
				continue
			}
			var got []float64
			for _, s := range tr.Rates(id) {
				if r := math.Round(s.Rate/8e9*1e6) / 1e6; r > 0 && (len(got) == 0 || got[len(got)-1] != r) {
					got = append(got, r)
				}
			}
			if len(got) != len(c.want) || got[0] != c.want[0] || got[len(got)-1] != c.want[len(got)-1] {
				t.Errorf("%s %v: stage 1 is served at %v GB/s, want %v", c.policy, d.Circuits, got, c.want)
			}
			if path := tr.CriticalPath(j.problem.Graph); path[len(path)-1] != id {
				t.Errorf("%s: the critical path ends with %s", c.policy,
					j.problem.Graph.Name(path[len(path)-1]))
			}
		}
	}
}
