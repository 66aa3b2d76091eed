package topology_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"sim/engine"
	"sim/engine/units"
	"sim/fabric"
	"sim/policies/topology"
)

// drawnMatrix is random one-hop demand between pods with different port counts and rates.
type drawnMatrix struct {
	ports []int
	rates []float64 // bits per second, indexed by pod
	bytes [][]int64 // indexed by source and destination pod
}

func drawMatrix(rng *rand.Rand, pods, maxPorts int) drawnMatrix {
	d := drawnMatrix{bytes: make([][]int64, pods)}
	for i := range pods {
		d.ports = append(d.ports, pods-1+rng.IntN(maxPorts-pods+2))
		d.rates = append(d.rates, []float64{100e9, 100e9, 50e9}[rng.IntN(3)])
		d.bytes[i] = make([]int64, pods)
		for j := range pods {
			if i != j && rng.IntN(4) > 0 {
				d.bytes[i][j] = []int64{1 + rng.Int64N(100_000_000),
					12_500_000 * (1 + rng.Int64N(6))}[rng.IntN(2)]
			}
		}
	}
	return d
}

// problem returns the demand as a problem with one GPU per pod whose NIC limits nothing.
func (d drawnMatrix) problem(t testing.TB) *topology.Problem {
	t.Helper()
	g, p := &engine.Graph{}, &fabric.Pods{Copies: 1}
	for i := range d.ports {
		p.Pods = append(p.Pods, fabric.Pod{Name: fmt.Sprint("pod ", i), Ports: d.ports[i],
			Rate: units.Rate(d.rates[i])})
		p.NICs = append(p.NICs, fabric.NIC{Name: fmt.Sprint("NIC ", i), Rate: 100e12})
		p.Nodes = append(p.Nodes, fabric.Node{Pod: int32(i), GPUs: 1, NICs: []int32{int32(i)}})
	}

	for i := range d.bytes {
		for j, bytes := range d.bytes[i] {
			if bytes > 0 {
				g.AddTask(engine.Task{Kind: engine.Transfer, Src: int32(i), Dst: int32(j), Bytes: bytes,
					Flows: 1})
			}
		}
	}

	return newProblem(t, problemParts{g, p})
}

// newProblem freezes and connects a graph, and returns its problem.
func newProblem(t testing.TB, in problemParts) *topology.Problem {
	t.Helper()
	if err := in.graph.Freeze(); err != nil {
		t.Fatal(err)
	}
	o, err := in.pods.Connect(in.graph)
	if err != nil {
		t.Fatal(err)
	}
	p, err := topology.NewProblem(in.graph, o)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// exhaustive returns the shortest completion time over all topologies in seconds and the
// minimum ports with which it is reached. It uses the matrix only.
func (d drawnMatrix) exhaustive() (seconds float64, ports int) {
	type pair struct {
		i, j int
		need float64 // time on one circuit, in seconds
	}

	var pairs []pair
	for i := range d.bytes {
		for j := range i {
			if larger := max(d.bytes[i][j], d.bytes[j][i]); larger > 0 {
				pairs = append(pairs, pair{i, j, 8 * float64(larger) / min(d.rates[i], d.rates[j])})
			}
		}
	}

	seconds = math.Inf(1)
	free := append([]int(nil), d.ports...)
	var place func(k, used int, slowest float64)
	place = func(k, used int, slowest float64) {
		if slowest > seconds*(1+1e-12) {
			return
		}
		if k == len(pairs) {
			if slowest < seconds*(1-1e-12) || used < ports {
				seconds, ports = min(seconds, slowest), used
			}
			return
		}
		p := pairs[k]
		for n := 1; n <= min(free[p.i], free[p.j]); n++ {
			free[p.i], free[p.j] = free[p.i]-n, free[p.j]-n
			place(k+1, used+2*n, max(slowest, p.need/float64(n)))
			free[p.i], free[p.j] = free[p.i]+n, free[p.j]+n
		}
	}

	place(0, 0, 0)
	return seconds, ports
}

// TestOneHopIsOptimal compares the searches on 1,000 random matrices with an enumeration
// of all topologies: completion time, bound and minimum ports. No search may evaluate
// more than 20 topologies.
func TestOneHopIsOptimal(t *testing.T) {
	rng := rand.New(rand.NewPCG(17, 1))
	policies := []string{"delta-topo", "delta-joint", "delta-fast"}
	for i := range 1000 {
		d := drawMatrix(rng, 2+rng.IntN(3), 7)
		p := d.problem(t)
		if len(p.Fabric.Bundles) == 0 {
			continue
		}
		seconds, ports := d.exhaustive()
		row, err := topology.Find(policies[i%len(policies)])
		if err != nil {
			t.Fatal(err)
		}
		got, err := row.Policy.Choose(context.Background(), p, defaultOptions())
		if err != nil {
			t.Fatal(err)
		}
		const ticks = 4e-12 // effect of rounding, in seconds
		if math.Abs(got.Makespan.Seconds()-seconds) > ticks || got.Makespan-got.Bound > 4 {
			t.Errorf("%+v: %s takes %v with the bound %v, want %g s", d, row.Name, got.Makespan,
				got.Bound, seconds)
		}
		if used := p.PortsUsed(got.Circuits); used != ports || got.PortsBound != ports {
			t.Errorf("%+v: %s uses %d ports with the bound %d, want %d", d, row.Name, used,
				got.PortsBound, ports)
		}
		if got.Evaluations > 20 {
			t.Errorf("%+v: %s looked at %d topologies", d, row.Name, got.Evaluations)
		}
	}
}

// TestOneHopMatchesNICs adds limits by NICs, or different start and end times. The bound
// must not exceed the makespan of the fastest topology, and delta-topo must find that
// topology.
func TestOneHopMatchesNICs(t *testing.T) {
	rng := rand.New(rand.NewPCG(17, 2))
	met := 0
	for range 150 {
		d := drawSmallProblem(rng, 6)
		same := rng.IntN(2) == 0
		for i := range d.transfers {
			if clear(d.transfers[i].after); same {
				d.transfers[i].release, d.transfers[i].tail = 1, 2
			}
		}
		in := d.graph(t)
		o, err := in.pods.Connect(in.graph)
		if err != nil {
			t.Fatal(err)
		}
		p, err := topology.NewProblem(in.graph, o)
		if err != nil {
			continue // too few ports
		}
		row, err := topology.Find("delta-topo")
		if err != nil {
			t.Fatal(err)
		}
		got, err := row.Policy.Choose(context.Background(), p, defaultOptions())
		if err != nil {
			t.Fatal(err)
		}
		fair, free := engine.Never, engine.Never
		for _, x := range allTopologies(p) {
			if !p.Feasible(x) {
				continue
			}
			one, err := p.Evaluate(context.Background(), x, got.Service)
			if err != nil {
				t.Fatal(err)
			}
			rates, _, err := p.ByRules(x)
			if err != nil {
				t.Fatal(err)
			}
			fair, free = min(fair, one.Makespan), min(free, rates)
		}
		bound, err := p.Bound(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		if bound > min(free, fair)+4 {
			t.Errorf("%+v: the bound is %v, a topology takes %v", d, bound, min(free, fair))
		}
		if got.Makespan > fair+4 {
			t.Errorf("%+v: delta-topo takes %v, %v is possible", d, got.Makespan, fair)
		}
		if got.Makespan-bound <= 4 {
			met++
		}
	}

	if met < 100 {
		t.Errorf("the bound is met in %d of 150 problems, want at least 100", met)
	}
}
