package topology_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"sim/engine"
	"sim/fabric"
	"sim/policies/topology"
)

// drawMixed returns a random graph of compute tasks and transfers between and inside
// pods. Transfers inside a pod may have a rate limit; limits is in bits per second,
// indexed by task, and 0 means no limit.
func drawMixed(t *testing.T, rng *rand.Rand) (p problemParts, limits []float64) {
	d := drawSmallProblem(rng, 2)
	p = d.graph(t)
	g := &engine.Graph{}
	for i := range int32(6) {
		switch rng.IntN(3) {
		case 0:
			g.AddTask(engine.Task{Duration: engine.Time(rng.IntN(5)) * millisecond})
		default:
			src, dst := int32(rng.IntN(len(d.nodes))), int32(rng.IntN(len(d.nodes)))
			for src == dst {
				src, dst = int32(rng.IntN(len(d.nodes))), int32(rng.IntN(len(d.nodes)))
			}
			g.AddTask(engine.Task{Kind: engine.Transfer, Src: src, Dst: dst,
				Bytes: int64(1+rng.IntN(5)) * unit, Flows: min(d.nodes[src].GPUs, d.nodes[dst].GPUs)})
		}
		limits = append(limits, 0)
		if t := &g.Tasks[i]; t.Kind == engine.Transfer && d.nodes[t.Src].Pod == d.nodes[t.Dst].Pod {
			limits[i] = []float64{0, circuit, circuit / 4}[rng.IntN(3)]
		}
		for j := range i {
			if rng.IntN(2) == 0 {
				g.AddEdge(j, i, engine.Time(rng.IntN(3))*millisecond)
			}
		}
	}

	if err := g.Freeze(); err != nil {
		t.Fatal(err)
	}
	p.graph = g
	return p, limits
}

// TestMeans checks that no simulation under any service is shorter than a path of the
// graph, and that the cost of a mean is the mean of its paths' costs. Paths include
// transfers that use no circuit.
func TestMeans(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 11))
	inside, tight := 0, 0
	for range numCases(300) {
		p, limits := drawMixed(t, rng)
		o, err := p.pods.Connect(p.graph)
		if err != nil {
			t.Fatal(err)
		}
		o.Routes.FlowCap = limits
		z, err := topology.NewProblem(p.graph, o)
		if err != nil {
			continue // too few ports
		}
		if len(o.Bundles) == 0 {
			continue // nothing leaves a pod
		}
		var paths [][]int32
		for range 3 {
			path := []int32{int32(rng.IntN(3))}
			for at := path[0]; len(p.graph.Out(at)) > 0; path = append(path, at) {
				out := p.graph.Out(at)
				at = out[rng.IntN(len(out))].To
			}
			paths = append(paths, path)
		}
		x := randomTopology(z, rng)
		sum, slowest := 0.0, 0.0
		for _, path := range paths {
			one := topology.MeanCost(z, x, path)
			sum, slowest = sum+one, max(slowest, one)
			for _, i := range path {
				if limits[i] > 0 {
					inside++
				}
			}
		}
		mean := topology.MeanCost(z, x, paths...)
		if want := sum / float64(len(paths)); math.Abs(mean-want) > 1e-9*want {
			t.Fatalf("the mean of %v takes %v, want %v", paths, mean, want)
		}
		l := newTopologySimulator(t, z)
		for _, s := range testServices {
			got := float64(l.simulate(t, x, s))
			if got < slowest*(1-1e-9)-float64(len(limits)) {
				t.Fatalf("topology %v: makespan %v is below the path of %v", x, got, slowest)
			}
			if got < slowest*(1+1e-9)+float64(len(limits)) {
				tight++
			}
		}
	}

	if inside == 0 || tight == 0 {
		t.Errorf("%d transfers without circuits on paths, %d paths that take as long as all", inside, tight)
	}
}

// TestMeanOfChain compares the cost of a path with its parts computed by hand. The parts
// are 8 ms of compute, 12.5 MB inside a pod at 25 Gb/s for each of 2 flows (2 ms), and a
// lag of 3 ms. The last part is 37.5 MB between pods over circuits of 100 Gb/s, at most 2
// by the NICs.
func TestMeanOfChain(t *testing.T) {
	g := &engine.Graph{}
	g.AddTask(engine.Task{Duration: 8 * millisecond})
	g.AddTask(engine.Task{Kind: engine.Transfer, Src: 0, Dst: 1, Bytes: unit, Flows: 2})
	g.AddTask(engine.Task{Kind: engine.Transfer, Src: 1, Dst: 2, Bytes: 3 * unit, Flows: 2})
	g.AddEdge(0, 1, 0)
	g.AddEdge(1, 2, millisecond)
	g.AddEdge(1, 2, 3*millisecond)
	if err := g.Freeze(); err != nil {
		t.Fatal(err)
	}
	pods := &fabric.Pods{Copies: 1}
	for pod := range int32(2) {
		pods.Pods = append(pods.Pods, fabric.Pod{Name: "pod", Ports: 4, Rate: circuit})
		pods.NICs = append(pods.NICs, fabric.NIC{Name: "NIC", Rate: circuit})
		pods.Nodes = append(pods.Nodes, fabric.Node{Pod: pod, GPUs: 2, NICs: []int32{pod}})
	}

	pods.Nodes = append([]fabric.Node{pods.Nodes[0]}, pods.Nodes...)
	o, err := pods.Connect(g)
	if err != nil {
		t.Fatal(err)
	}
	o.Routes.FlowCap = []float64{0, circuit / 4, 0}
	p, err := topology.NewProblem(g, o)
	if err != nil {
		t.Fatal(err)
	}
	l := newTopologySimulator(t, p)
	for circuits, halves := range map[int]engine.Time{1: 2 * (8 + 2 + 3 + 3), 2: 2*(8+2+3) + 3} {
		want := halves * millisecond / 2
		got, simulated := topology.MeanCost(p, []int{circuits}, []int32{0, 1, 2}),
			l.simulate(t, []int{circuits}, testServices[0])
		if math.Abs(got-float64(want)) > 3 || max(simulated-want, want-simulated) > 3 {
			t.Errorf("with %d circuits the path takes %v ticks, simulated %v, want %v", circuits, got,
				simulated, want)
		}
	}
}
