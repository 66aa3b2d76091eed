package collective

import (
	"math/bits"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"sim/engine"
	"sim/fabric/scaleup"
	"sim/policies/collective"
	"sim/policies/reconfigure/plan"
)

// TestDivision: the maximum load of a link equals Hall's bound, the maximum over all sets of
// links of the parts that only these can carry, divided by their number. All parts are assigned
// to possible links.
func TestDivision(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		k := rapid.IntRange(1, 6).Draw(t, "k")
		d := newSemiMatching(k)
		sets := rapid.SliceOfN(rapid.IntRange(1, 1<<k-1), 1, 20).Draw(t, "links")
		for _, m := range sets {
			d.parts = append(d.parts, rapid.Int64Range(0, 40).Draw(t, "parts"))
			for i := range k {
				d.share = append(d.share, int64(m>>i&1)-1)
			}
		}
		d.sortRows()
		d.solve()
		want := int64(0)
		for set := 1; set < 1<<k; set++ {
			parts, links := int64(0), int64(bits.OnesCount(uint(set)))
			for r, m := range sets {
				if m&^set == 0 {
					parts += d.parts[r]
				}
			}
			want = max(want, (parts+links-1)/links)
		}
		load := make([]int64, k)
		for r, m := range sets {
			sum := int64(0)
			for i, c := range d.row(int32(r)) {
				if c < 0 != (m>>i&1 == 0) {
					t.Fatalf("set %b has link %d bring %d", m, i, c)
				}
				sum += max(0, c)
				load[i] += max(0, c)
			}
			if sum != d.parts[r] {
				t.Fatalf("set %b has %d of %d parts brought", m, sum, d.parts[r])
			}
		}
		if !slices.Equal(load, d.load) || slices.Max(load) != want {
			t.Fatalf("loads %v, counted %v; the fullest should carry %d", d.load, load, want)
		}
	})
}

// anyGraph draws a graph as one permutation per link, so that loops and parallel links occur.
func anyGraph(t *rapid.T, n, k int) *graph {
	g := &graph{n, k, make([]int32, n*k)}
	for i := range k {
		list := make([]int32, n)
		for u := range list {
			list[u] = int32(u)
		}
		for u, v := range rapid.Permutation(list).Draw(t, "links") {
			g.to[u*k+i] = v
		}
	}
	return g
}

// TestTrees: on any topologies, plans along trees pass Check, compute correct sums and have the
// bytes that they claim. Every shard reaches each GPU in the first possible step.
func TestTrees(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(3, 12).Draw(t, "n")
		k := rapid.IntRange(2, min(4, n-1)).Draw(t, "k")
		on := &broadcastTrees{name: "any"}
		z := newTreeBuilder(n, k, 1)
		for range rapid.IntRange(0, 2).Draw(t, "legs") {
			on.phases = append(on.phases, treePhase{anyGraph(t, n, k).joinLoops(), rapid.IntRange(1, 2).Draw(t, "steps")})
		}

		// A ring reaches all other GPUs.
		on.phases = append(on.phases, treePhase{affine(n, 1, slices.Repeat([]int32{1}, k)), n - 1})

		// Remove useless steps.
		for i := len(on.phases) - 1; i >= 0; i-- {
			for on.phases[i].steps > 1 && !on.spans(z) {
				on.phases[i].steps--
			}
		}
		if !on.spans(z) {
			t.Skip("a topology of no use")
		}
		distance := firstArrivals(on)
		p := &Problem{GPUs: n, Degree: k, Op: collective.AllReduce, Rate: 8e11, Latency: us / 2, Delay: us}
		p.Bytes = rapid.Int64Range(int64(n), 5000).Draw(t, "bytes")
		gather := *p
		gather.Op = collective.AllGather
		scatter := *p
		scatter.Op = collective.ReduceScatter
		for _, pl := range []*Plan{
			treePlan(&gather, nil, plan.Gather, on), treePlan(&scatter, on.mapGraphs((*graph).mirror), plan.Scatter, nil), treePlan(p, on.mapGraphs((*graph).mirror), plan.Gather, on), treePlan(p, nil, plan.Exchange, on),
		} {
			if err := pl.toPlan().Check(); err != nil {
				t.Fatalf("%s: %v", pl.Name, err)
			}
			checkLongest(t, pl)
			simulateNumbers(t, pl)
		}
		step := int32(0)
		pl := treePlan(&gather, nil, plan.Gather, on)
		for i := range pl.Phases {
			for _, x := range pl.messages(i) {
				for _, e := range x.Pieces {
					if got := step + x.Step + 1; int(got) != distance[e.Shard][x.To] {
						t.Fatalf("shard %d reaches GPU %d in step %d, could in %d", e.Shard, x.To, got, distance[e.Shard][x.To])
					}
				}
			}
			step += int32(len(pl.Phases[i].MaxMessageBytes))
		}
	})
}

// firstArrivals returns, by source and GPU, the first step in which a shard can arrive, by propagating
// sets.
func firstArrivals(t *broadcastTrees) [][]int {
	n := t.phases[0].n
	first := make([][]int, n)
	for u := range n {
		first[u] = make([]int, n)
		has, step := map[int32]bool{int32(u): true}, 0
		for _, l := range t.phases {
			for range l.steps {
				step++
				for _, e := range l.topology(false) {
					if has[e.From] && !has[e.To] && first[u][e.To] == 0 {
						first[u][e.To] = step
					}
				}
				for v, s := range first[u] {
					if s > 0 {
						has[int32(v)] = true
					}
				}
			}
		}
	}
	return first
}

// TestForests: for every number of GPUs and links, all trees span the GPUs on valid topologies.
// One of them has one topology and at most ceil(log_k n) steps, the diameter of generalised Kautz
// graphs. Trees with more topologies take fewer steps.
func TestForests(t *testing.T) {
	maxGPUs := 28
	if *long {
		maxGPUs = 200
	}
	for k := 2; k <= 5; k++ {
		for n := k + 2; n <= maxGPUs; n++ {
			steps := 0
			for power(k, steps) < n {
				steps++
			}
			for _, f := range findTrees(n, k, nil) {
				if !f.spans(newTreeBuilder(n, k, 1)) || !f.reversed().spans(newTreeBuilder(n, k, 1)) {
					t.Fatalf("n=%d k=%d: %s does not span all", n, k, f.name)
				}
				if len(f.phases) == 1 && f.steps() <= steps {
					steps = 0
				}
				if len(f.phases) > 1 && steps > 0 {
					t.Errorf("n=%d k=%d: no trees on one topology in %d steps", n, k, steps)
				}
				for _, l := range f.phases {
					if err := l.topology(false).Check(n, k); err != nil || len(l.to) != n*k {
						t.Errorf("n=%d k=%d %s: %v", n, k, f.name, err)
					}
				}
			}
			if steps > 0 {
				t.Errorf("n=%d k=%d: no trees on one topology in %d steps", n, k, steps)
			}
		}
	}
}

// TestMinimumDepth: on few GPUs, no topology of degree 2 has a smaller diameter than the best
// trees, by trying all topologies.
func TestMinimumDepth(t *testing.T) {
	for n := 4; n <= 6; n++ {
		var pairs []uint8
		for a := range n {
			for b := range a {
				pairs = append(pairs, 1<<a|1<<b)
			}
		}
		minimum := n
		to := make([]uint8, n)
		var try func(u int)
		try = func(u int) {
			if u < n {
				for _, p := range pairs {
					if p>>u&1 == 0 {
						to[u] = p
						try(u + 1)
					}
				}
				return
			}
			worst := 0
			for s := range n {
				has, steps := uint8(1)<<s, 0
				for ; has != 1<<n-1 && steps < minimum; steps++ {
					for v, next := 0, has; v < n; v++ {
						if next>>v&1 > 0 {
							has |= to[v]
						}
					}
				}
				if worst = max(worst, steps); worst >= minimum {
					return
				}
			}
			minimum = worst
		}
		try(0)
		best := n
		for _, f := range findTrees(n, 2, nil) {
			if len(f.phases) == 1 {
				best = min(best, f.steps())
			}
		}
		if best != minimum {
			t.Errorf("n=%d: %d steps, %d do", n, best, minimum)
		}
	}
}

// TestLineGraphs: a line digraph has a diameter larger by one. From the complete graph on 3 GPUs
// these are Kautz graphs.
func TestLineGraphs(t *testing.T) {
	complete := affine(3, 1, []int32{1, 2})
	line := complete.lineGraph()
	for steps, g := range map[int]*graph{1: complete, 2: line, 3: line.lineGraph(), 4: line.lineGraph().lineGraph()} {
		if d, _ := newTreeBuilder(g.n, g.k, 1).diameter(g); d != steps || g.n != 3<<(steps-1) {
			t.Errorf("%d GPUs: diameter %d, want %d", g.n, d, steps)
		}
	}
}

// TestTreesByHand: costs computed by hand for 6 GPUs with two links, 6000 B, 1 ns per byte,
// latency 100 ns and delay 1 us. On a Kautz graph every GPU first receives the 2 shards of its
// neighbours, one per link, and then the other 3. One neighbour has a link from the GPU itself,
// so it sends 1 shard and the other 2.
func TestTreesByHand(t *testing.T) {
	p := problem(6, 2, collective.AllGather, 6000, 8e9, us/10, us)
	g := graphOf(6, 2, scaleup.GeneralizedKautz(6, 2))
	pl := treePlan(p, nil, plan.Gather, &broadcastTrees{name: "kautz", phases: []treePhase{{g, 2}}})
	if want := us + (100+1000+100+2000)*engine.Nanosecond; pl.cost() != want {
		t.Errorf("%v, want %v: %v", pl.cost(), want, pl.Phases[0].MaxMessageBytes)
	}

	// 200 ns, 10 and 20 B, compared with 300 ns and 25 B on rings in both directions.
	p.Bytes = 60
	if best := must(best(p))(t); best.cost() > us+(200+30)*engine.Nanosecond || best.Steps() != 2 {
		t.Errorf("%s is best, at %v", best.Name, best.cost())
	}
	p.Op = collective.AllReduce
	if best := must(best(p))(t); best.cost() != us+2*160*engine.Nanosecond || best.Name != "fold kautz 2^2+2^1" {
		t.Errorf("%s is best, at %v", best.Name, best.cost())
	}
}
