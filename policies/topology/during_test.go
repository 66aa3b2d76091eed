package topology_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"sim/engine"
	"sim/engine/flow"
	"sim/engine/units"
	"sim/fabric"
	"sim/policies/topology"
)

// duringOptions returns the default options with an evaluation limit for delta-during.
func duringOptions(evaluations int64) topology.Options {
	o := defaultOptions()
	o.Moving.MaxEvaluations = evaluations
	return o
}

// allTopologies returns all topologies that fit the ports. Bundles may have no circuit.
func allTopologies(p *topology.Problem) (all [][]int) {
	x := make([]int, len(p.Fabric.Bundles))
	fits := func() bool {
		for i, used := range p.Fabric.Ports(x) {
			if used > p.Fabric.Pods[i].Ports {
				return false
			}
		}
		return true
	}

	var add func(e int)
	add = func(e int) {
		if e == len(x) {
			all = append(all, slices.Clone(x))
			return
		}
		for x[e] = 0; fits(); x[e]++ {
			add(e + 1)
		}
		x[e] = 0
	}

	add(0)
	return all
}

// maximalTopologies returns the topologies of all to which no circuit can be added.
func maximalTopologies(p *topology.Problem, all [][]int) [][]int {
	return slices.DeleteFunc(slices.Clone(all), func(x []int) bool {
		return slices.ContainsFunc(all, func(y []int) bool {
			more := false
			for e := range x {
				if y[e] < x[e] {
					return false
				}
				more = more || y[e] > x[e]
			}
			return more
		})
	})
}

// drawSequence draws a random sequence of the given topologies.
func drawSequence(p *topology.Problem, all [][]int, rng *rand.Rand) *topology.Sequence {
	q := &topology.Sequence{First: all[rng.IntN(len(all))]}
	for range 1 + rng.IntN(4) {
		s := topology.Step{Bundle: rng.IntN(len(q.First)), Circuits: all[rng.IntN(len(all))]}
		s.Count = 1 + rng.IntN(max(1, p.Transfers()[s.Bundle]))
		if rng.IntN(4) == 0 {
			// The odd offset separates the step from other events; otherwise the
			// transfers that it interrupts would depend on rounding.
			s.Bundle, s.Count, s.Time = topology.AtTime, 0, engine.Time(rng.IntN(40))*millisecond/2+123456789
		}
		q.Steps = append(q.Steps, s)
	}
	q.Steps = append(q.Steps, topology.Step{Bundle: topology.AtEnd, Circuits: q.First})
	return q
}

// TestSequencesAsSimulated compares iterations whose steps are made during the simulation
// with one complete simulation of the network that Problem.Network returns. It also
// checks that no pod uses more ports than it has, counting the circuits that are being
// set up. Both checks use the changes of links alone: an added circuit occupies its ports
// for the delay before it carries data.
func TestSequencesAsSimulated(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 7))
	services := []flow.Service{flow.LevelPriority, flow.MaxMin, flow.TailPriority}
	tried, several := 0, 0
	for range numCases(400) {
		d := drawSmallProblem(rng, 6)
		g := d.graph(t)
		o, err := g.pods.Connect(g.graph)
		if err != nil {
			t.Fatal(err)
		}
		p, err := topology.NewProblem(g.graph, o)
		if err != nil {
			continue
		}
		all := allTopologies(p)
		for range 10 {
			p.Switching = topology.SwitchTiming{Delay: engine.Time(rng.IntN(5)*rng.IntN(5)) * millisecond / 2, StopsAll: rng.IntN(3) == 0}
			q := drawSequence(p, all, rng)
			service := services[rng.IntN(len(services))]
			runs, _, _, ok := p.Steady(q, service)
			if !ok {
				continue
			}
			tried++
			if len(runs) > 2 {
				several++
			}
			checkFullRun(t, p, g.graph, q, runs, service)
		}
	}

	t.Logf("%d sequences, %d of them with more than two iterations that differ", tried, several)
	if tried < 500 {
		t.Errorf("only %d sequences", tried)
	}
}

// checkFullRun compares the iterations of a sequence with complete simulations, and
// checks the ports.
func checkFullRun(t *testing.T, p *topology.Problem, g *engine.Graph, q *topology.Sequence, runs []topology.Run, service flow.Service) {
	t.Helper()
	o := p.Fabric
	lines := make([]circuitTimeline, len(q.First))
	at := engine.Time(0)
	for n, run := range runs {
		network, err := p.Network(o, q, runs, n)
		if err != nil {
			t.Fatal(err)
		}
		tr, err := flow.Run(t.Context(), g, network, o.Routes, flow.Options{Service: service})
		if err != nil {
			t.Fatal(err)
		}
		if off := tr.Makespan - run.Makespan; max(off, -off) > engine.Time(len(g.Tasks)) {
			t.Fatalf("%v %v: %+v under %v with %v: iteration %d takes %v, simulated at once %v",
				network.Changes, run, q, service, p.Switching, n, run.Makespan, tr.Makespan)
		}
		for e := range lines {
			lines[e].add(at, int(network.Links[o.Bundles[e].Links[0]].Rate/o.Rate(e)+0.5))
		}
		for _, c := range network.Changes {
			if c.At >= run.Makespan {
				break
			}
			e := slices.IndexFunc(o.Bundles, func(b fabric.Bundle) bool { return b.Links[0] == c.Link })
			if e >= 0 {
				lines[e].add(at+c.At, int(c.Rate/o.Rate(e)+0.5))
			}
		}
		at += run.Makespan
	}

	if !p.Switching.StopsAll { // stopped circuits keep their ports
		checkPorts(t, p, lines)
	}
}

// TestMovesByRule checks the rule policies on random jobs: makespans agree with complete
// simulations, no pod uses too many ports, and no makespan is below its bound.
func TestMovesByRule(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 9))
	moved := map[string]int{}
	for range numCases(120) {
		g := drawSmallProblem(rng, 6).graph(t)
		o, err := g.pods.Connect(g.graph)
		if err != nil {
			t.Fatal(err)
		}
		p, err := topology.NewProblem(g.graph, o)
		if err != nil {
			continue
		}
		p.Switching = topology.SwitchTiming{Delay: engine.Time(rng.IntN(5)) * millisecond / 2,
			StopsAll: rng.IntN(4) == 0}
		options := duringOptions(100)
		options.Rotor = topology.RotorOptions{Period: engine.Time(3+rng.IntN(9)) * millisecond,
			Switches: 1 + rng.IntN(4)}
		for _, name := range []string{"demand-matched", "mixnet-during", "rotor"} {
			policy, err := topology.ByName(name)
			if err != nil {
				t.Fatal(err)
			}
			if name == "rotor" && !options.Rotor.Carries(p.Switching) {
				continue
			}
			d, err := policy.Choose(t.Context(), p, options)
			if err != nil {
				t.Fatalf("%s with %v: %v", name, p.Switching, err)
			}
			if d.Bound > d.Makespan || d.Bound <= 0 {
				t.Errorf("%s: %v, bound %v", name, d.Makespan, d.Bound)
			}
			if d.Moves.Moving() {
				moved[name]++
				checkFullRun(t, p, g.graph, d.Moves.Sequence, d.Moves.Runs, d.Service)
			}
		}
	}

	t.Log(moved)
	for name, n := range moved {
		if n < 10 {
			t.Errorf("%s moves circuits in %d jobs", name, n)
		}
	}
}

// circuitTimeline is the number of circuits of a bundle that carry data over time.
type circuitTimeline struct {
	at []engine.Time
	n  []int
}

func (l *circuitTimeline) add(at engine.Time, n int) {
	if k := len(l.at) - 1; k >= 0 && l.at[k] == at {
		l.n[k] = n
		return
	}
	l.at, l.n = append(l.at, at), append(l.n, n)
}

// holds returns the circuits that occupy ports at a time. These are the circuits that
// carry data and the circuits that will carry data within the delay.
func (l *circuitTimeline) holds(now, delay engine.Time) int {
	n := 0
	for k, at := range l.at {
		switch {
		case at <= now:
			n = l.n[k]
		case at <= now+delay-1 && k > 0:
			n += max(0, l.n[k]-l.n[k-1])
		}
	}
	return n
}

// checkPorts fails if circuits ever occupy more ports of a pod than it has.
func checkPorts(t *testing.T, p *topology.Problem, lines []circuitTimeline) {
	t.Helper()
	for _, l := range lines {
		for _, change := range l.at {
			for _, now := range []engine.Time{change, change - p.Switching.Delay} {
				if now < 0 {
					continue
				}
				x := make([]int, len(lines))
				for e := range x {
					x[e] = lines[e].holds(now, p.Switching.Delay)
				}
				for i, used := range p.Fabric.Ports(x) {
					if used > p.Fabric.Pods[i].Ports {
						t.Fatalf("%v hold %d ports of %d at %v: %+v", x, used, p.Fabric.Pods[i].Ports,
							now, lines)
					}
				}
			}
		}
	}
}

// TestDuringIsExact compares delta-during on small random jobs with all sequences of two
// full topologies and with random longer sequences. delta-during must be as fast as the
// best sequence of two topologies, and no sequence may be faster than its bound.
func TestDuringIsExact(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 8))
	jobs, same, better, worse, closed, sequences := 0, 0, 0, 0, 0, 0
	for n := 0; jobs < numCases(200); n++ {
		d := drawSmallProblem(rng, 4)
		g := d.graph(t)
		o, err := g.pods.Connect(g.graph)
		if err != nil {
			t.Fatal(err)
		}
		p, err := topology.NewProblem(g.graph, o)
		if err != nil || len(o.Bundles) < 2 {
			continue
		}
		all := maximalTopologies(p, allTopologies(p))
		if len(all) > 12 {
			continue
		}
		jobs++
		static := choose(t, &job{problem: p}, "delta-joint", defaultOptions())
		p.Switching.Delay = []engine.Time{0, millisecond / 2, millisecond, 3 * millisecond,
			static.Makespan / 4, static.Makespan / 2, static.Makespan * 3 / 4}[rng.IntN(7)]
		c, err := chooseDuring(p, duringOptions(1000))
		if err != nil {
			t.Fatal(err)
		}
		if c.Makespan > static.Makespan {
			t.Fatalf("%+v: delta-during %v, delta-joint %v", d, c.Makespan, static.Makespan)
		}
		best := static.Makespan
		var at *topology.Sequence
		var fastest []topology.Run
		visit := func(q *topology.Sequence) {
			sequences++
			runs, _, mean, ok := p.Steady(q, flow.LevelPriority)
			if ok && mean < best {
				best, at, fastest = mean, q, runs
			}
		}
		moments := []topology.Step{{Bundle: topology.AtEnd}}
		for e := range o.Bundles {
			for k := range p.Transfers()[e] {
				moments = append(moments, topology.Step{Bundle: e, Count: k + 1})
			}
		}
		for _, x := range all {
			for _, y := range all {
				for _, there := range moments[1:] {
					for _, back := range moments {
						there.Circuits, back.Circuits = y, x
						visit(&topology.Sequence{First: x, Steps: []topology.Step{there, back}})
					}
				}
			}
		}
		for range 200 {
			visit(drawSequence(p, all, rng))
		}
		for _, run := range fastest {
			for k := range engine.Time(16) {
				if no, err := p.Refuted(t.Context(), run.Makespan, run.Makespan*k/16); no || err != nil {
					t.Fatalf("case %d %+v, delay %v: %+v takes %v, which a window refutes %v", n, d,
						p.Switching.Delay, at, run.Makespan, err)
				}
			}
		}
		gap, _ := c.Gap()
		const near = 16 // in ticks
		switch {
		case best < c.Bound-near:
			t.Fatalf("case %d %+v, delay %v: %+v takes %v, below the bound %v", n, d, p.Switching.Delay,
				at, best, c.Bound)
		case c.Makespan > best+near && gap < 1e-9:
			t.Fatalf("case %d %+v, delay %v: %+v takes %v, and delta-during claims %v to be optimal", n,
				d, p.Switching.Delay, at, best, c.Makespan)
		case c.Makespan > best+near:
			worse++
			t.Logf("case %d, delay %v: %v, delta-during %v, bound %v", n, p.Switching.Delay, best,
				c.Makespan, c.Bound)
		case c.Makespan < best-near:
			better++
		default:
			same++
		}
		if gap < 1e-9 {
			closed++
		}
	}

	t.Logf("%d jobs, %d sequences: the best of them found in %d, a better one in %d, a worse one in %d; %d proved optimal", jobs, sequences, same, better, worse, closed)
	if worse > 0 {
		t.Errorf("delta-during misses the best sequence in %d of %d jobs", worse, jobs)
	}
}

// TestPortsInTurn shows that moving circuits can help although the delay exceeds half an
// iteration. A pod with five ports sends three consecutive bursts to three pods, each
// with two circuits. Two circuits rotate over the pairs, so that each burst has full
// rate. No static topology achieves this.
func TestPortsInTurn(t *testing.T) {
	d := smallProblem{ports: []int{5, 2, 2, 2}}
	for pod := range d.ports {
		d.nics = append(d.nics, 2)
		d.nodes = append(d.nodes, fabric.Node{Pod: int32(pod), GPUs: 2, NICs: []int32{int32(pod)}})
	}

	for i := range 3 {
		k := transfer{from: 0, to: i + 1, units: 2, tail: 4}
		if i > 0 {
			k.after = map[int]int{i - 1: 4}
		}
		d.transfers = append(d.transfers, k)
	}

	g := d.graph(t)
	o, err := g.pods.Connect(g.graph)
	if err != nil {
		t.Fatal(err)
	}
	p, err := topology.NewProblem(g.graph, o)
	if err != nil {
		t.Fatal(err)
	}
	p.Switching.Delay = 5 * millisecond
	q := &topology.Sequence{First: []int{2, 2, 1}, Steps: []topology.Step{
		{Bundle: 0, Count: 1, Circuits: []int{1, 2, 2}},
		{Bundle: 1, Count: 1, Circuits: []int{2, 1, 2}},
		{Bundle: 2, Count: 1, Circuits: []int{2, 2, 1}},
	}}

	runs, _, mean, ok := p.Steady(q, flow.LevelPriority)
	if !ok {
		t.Fatal("the iteration does not end")
	}
	checkFullRun(t, p, g.graph, q, runs, flow.LevelPriority)
	c, err := chooseDuring(p, duringOptions(1000))
	if err != nil {
		t.Fatal(err)
	}
	if static := c.Moves.Static.Makespan; mean != 9*millisecond || static != 10*millisecond {
		t.Errorf("in turn %v, without changes %v, want 9 and 10 ms", mean, static)
	}
	if c.Bound > mean || c.Makespan > mean {
		t.Errorf("delta-during: makespan %v, bound %v; a sequence takes %v", c.Makespan, c.Bound, mean)
	}
}

// chooseDuring returns the decision of delta-during.
func chooseDuring(p *topology.Problem, o topology.Options) (*topology.Decision, error) {
	policy, err := topology.ByName("delta-during")
	if err != nil {
		return nil, err
	}
	return policy.Choose(context.Background(), p, o)
}

// TestDuringOnTableI checks on workloads of Table I that moving circuits reaches the
// ideal fabric at delays up to 10 ms, which the bound proves. Fewer changes, or a switch
// that stops all circuits, must not be faster.
func TestDuringOnTableI(t *testing.T) {
	for _, m := range []string{"megatron-177b", "mixtral-8x22b"} {
		for _, r := range []units.Rate{200e9, 400e9} {
			j := setting{m, r, 4096}.job(t)
			name := fmt.Sprint(m, " at ", r)
			for _, delay := range []engine.Time{0, 10 * engine.Millisecond} {
				j.problem.Switching = topology.SwitchTiming{Delay: delay}
				d, err := chooseDuring(j.problem, duringOptions(500))
				if err != nil {
					t.Fatal(err)
				}
				if gap, _ := d.Gap(); gap > 1e-9 || j.nct(d.Makespan) > 1+1e-6 ||
					d.Makespan > d.Moves.Static.Makespan {
					t.Errorf("%s, delay %v: NCT %.6f, gap %g", name, delay, j.nct(d.Makespan), gap)
				}
			}
			j.problem.Switching = topology.SwitchTiming{Delay: 10 * engine.Millisecond, StopsAll: true}
			whole, err := chooseDuring(j.problem, duringOptions(300))
			if err != nil {
				t.Fatal(err)
			}
			o := duringOptions(300)
			o.Moving.Changes = 1
			none, err := chooseDuring(j.problem, o)
			if err != nil {
				t.Fatal(err)
			}
			if none.Moves.Moving() || none.Makespan != none.Moves.Static.Makespan {
				t.Errorf("%s: %d changes, where none is allowed", name, len(none.Moves.Steps))
			}
			o.Moving.Changes = 2
			two, err := chooseDuring(j.problem, o)
			if err != nil {
				t.Fatal(err)
			}
			if !two.Moves.Moving() || len(two.Moves.Steps) != 2 || two.Makespan >= none.Makespan ||
				whole.Makespan > none.Makespan {
				t.Errorf("%s: %v without changes, %v with two, %v on a switch that holds all circuits",
					name, none.Makespan, two.Makespan, whole.Makespan)
			}
			t.Logf("%s: static %.4f, two changes %.4f, whole switch %.4f", name, j.nct(none.Makespan),
				j.nct(two.Makespan), j.nct(whole.Makespan))
		}
	}
}
