package collective

import (
	"errors"
	"fmt"
	"math/bits"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"sim/engine"
	"sim/engine/flow"
	"sim/fabric/torus"
)

// sample draws streams of any kind on a small torus.
func sample(t *rapid.T) (nodes int, streams []Stream) {
	shapes := []*torus.Torus{
		shape(t, "", 4), shape(t, "", 2, 2), shape(t, "", 3, 2), shape(t, "", 4, 3), shape(t, "", 2, 2, 3), shape(t, "", 3, 3, 3),
		shape(t, "000010", 4, 2, 2), shape(t, torus.TPUv4, 2, 2, 4),
	}
	o := rapid.SampledFrom(shapes).Draw(t, "shape")
	both := rapid.Bool().Draw(t, "both ways")
	form := Form(rapid.IntRange(0, 2).Draw(t, "form"))
	switch rapid.IntRange(0, 2).Draw(t, "kind") {
	case 0:
		return o.Nodes(), OneRing(must(HamiltonianRing(o, nil))(t), both)
	case 1:
		d := rapid.IntRange(0, len(o.Dims)-1).Draw(t, "dim")
		return o.Nodes(), OneRing(must(RingsAlong(o, []int{d}, form, nil))(t), both)
	}
	if o.Shift != nil {
		form = Folded
	}
	dims := rapid.Permutation([]int{0, 1, 2}[:len(o.Dims)]).Draw(t, "dims")
	return o.Nodes(), must(MultiRing(o, dims, form, both))(t)
}

// TestOwnership simulates task graphs in random orders that dependencies allow, with what every rank holds of every
// byte as the set of ranks that are in its sum: a transfer takes what its source holds when it starts, and its
// destination adds it (no rank twice) or, gathering, keeps it, which must be the whole sum. After all-reduce each rank
// has the sum of its whole group of every byte, after reduce-scatter one rank of the group has each, and after
// all-gather all have all.
func TestOwnership(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		nodes, streams := sample(t)
		c := Collective{Op: Op(rapid.IntRange(0, 2).Draw(t, "op")), Nodes: nodes, Streams: streams}
		c.Bytes = int64(nodes*len(streams) + rapid.IntRange(0, 50).Draw(t, "more"))
		g := must(c.Graph())(t)
		group := groupsOf(c)
		held := make([][]uint64, nodes) // by rank and byte
		for r := range held {
			held[r] = slices.Repeat([]uint64{1 << r}, int(c.Bytes))
		}
		type move struct {
			span   span
			gather bool
		}
		moves := make([]move, 0, len(g.Tasks))
		for k := range streams {
			for _, r := range c.runs(k) {
				for at, ring := range r.stage {
					for s := range len(ring) - 1 {
						for i, src := range ring {
							if task := g.Tasks[len(moves)]; task.Src != src || task.Dst != ring[(i+1)%len(ring)] {
								t.Fatalf("task %d is from %d to %d", len(moves), task.Src, task.Dst)
							}
							moves = append(moves, move{r.data[at].cut(r.chunk(i, s, len(ring)), len(ring)), r.gather})
						}
					}
				}
			}
			if c.Op == AllGather { // ranks begin with their parts of the sum, and nothing else
				first := c.runs(k)[0]
				for at, ring := range first.stage {
					for i, r := range ring {
						own := first.data[at].cut(i, len(ring))
						for b := first.data[at].from; b < first.data[at].to; b++ {
							held[r][b] = 0
						}
						for b := own.from; b < own.to; b++ {
							held[r][b] = group[r]
						}
					}
				}
			}
		}
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "order"), 0))
		inAnyOrder(g, rng, func(id int32) func() {
			if int(id) == len(moves) {
				return func() {}
			}
			m, task := moves[id], g.Tasks[id]
			if task.Bytes != m.span.bytes() {
				t.Fatalf("task %d moves %d B, not %d", id, task.Bytes, m.span.bytes())
			}
			carried := slices.Clone(held[task.Src][m.span.from:m.span.to])
			return func() {
				for k, set := range carried {
					at := &held[task.Dst][int(m.span.from)+k]
					switch {
					case m.gather && set != group[task.Dst]:
						t.Fatalf("task %d gathers byte %d with %b, not the whole sum", id, int(m.span.from)+k, set)
					case !m.gather && *at&set != 0:
						t.Fatalf("task %d adds ranks %b to %b", id, set, *at)
					case m.gather:
						*at = set
					default:
						*at |= set
					}
				}
			}
		})
		for b := range c.Bytes {
			whole := make(map[uint64]int)
			for r := range held {
				if held[r][b] == group[r] {
					whole[group[r]]++
				}
			}
			for _, set := range group {
				want := bits.OnesCount64(set)
				if c.Op == ReduceScatter {
					want = 1
				}
				if whole[set] != want {
					t.Fatalf("%s: %d ranks of the group %b have the whole sum of byte %d; want %d", c.Op, whole[set], set, b, want)
				}
			}
		}
	})
}

// groupsOf returns the set of ranks that each rank is joined to by rings.
func groupsOf(c Collective) []uint64 {
	of := make([]uint64, c.Nodes)
	for r := range of {
		of[r] = 1 << r
	}
	for range c.Nodes {
		for _, stage := range c.Streams[0] {
			for _, ring := range stage {
				all := uint64(0)
				for _, r := range ring {
					all |= of[r]
				}
				for _, r := range ring {
					of[r] = all
				}
			}
		}
	}
	return of
}

// inAnyOrder starts and ends tasks in a random order: start returns what is to be done at the end.
func inAnyOrder(g *engine.Graph, rng *rand.Rand, start func(id int32) func()) {
	left := make([]int, len(g.Tasks))
	var ready []int32
	for id := range left {
		if left[id] = len(g.In(int32(id))); left[id] == 0 {
			ready = append(ready, int32(id))
		}
	}
	ends := make(map[int32]func())
	var running []int32
	for len(ready)+len(running) > 0 {
		if k := rng.IntN(len(ready) + len(running)); k < len(ready) {
			ends[ready[k]] = start(ready[k])
			running = append(running, ready[k])
			ready = slices.Delete(ready, k, k+1)
		} else {
			k -= len(ready)
			id := running[k]
			running = slices.Delete(running, k, k+1)
			ends[id]()
			for _, e := range g.Out(id) {
				if left[e.To]--; left[e.To] == 0 {
					ready = append(ready, e.To)
				}
			}
		}
	}
}

// TestRingBytes: what all ranks of a group of n send is 2(n-1) times the data (all-reduce), else n-1 times, in Traffic
// as in Graph; pair by pair they agree.
func TestRingBytes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		nodes, streams := sample(t)
		c := Collective{Op: Op(rapid.IntRange(0, 2).Draw(t, "op")), Nodes: nodes, Streams: streams}
		c.Bytes = int64(nodes*len(streams) + rapid.IntRange(0, 50).Draw(t, "more"))
		times := int64(1)
		if c.Op == AllReduce {
			times = 2
		}
		seen, want := map[uint64]bool{}, int64(0)
		for _, set := range groupsOf(c) {
			if !seen[set] {
				seen[set] = true
				want += times * int64(bits.OnesCount64(set)-1) * c.Bytes
			}
		}
		x := must(c.Traffic())(t)
		if x.Total() != want {
			t.Fatalf("%s moves %d B, want %d", c.Op, x.Total(), want)
		}
		checkTraffic(t, x)
		sum := map[engine.Flow]int64{}
		g := must(c.Graph())(t)
		for _, task := range g.Tasks {
			if task.Kind == engine.Transfer {
				sum[engine.Flow{Src: task.Src, Dst: task.Dst}] += task.Bytes
			}
		}
		for f, w := range x.Flows {
			if sum[w] != x.Size(f) {
				t.Fatalf("%v sends %d B in the graph and %d in all", w, sum[w], x.Size(f))
			}
		}
		if len(sum) != len(x.Flows) || int64(len(g.Tasks)) != c.Tasks() {
			t.Fatalf("%d pairs of %d, %d tasks of %d", len(sum), len(x.Flows), len(g.Tasks), c.Tasks())
		}
	})
}

// playRing returns the makespan of a collective in fluid on a torus, its transfers led by shortest paths.
func playRing(t *testing.T, o *torus.Torus, c Collective) engine.Time {
	t.Helper()
	x := must(c.Traffic())(t)
	n := o.Network(nil, engine.Link{Rate: rate})
	w, _ := paths(t, o, x.Flows, 1, func(int32, int) int { return 0 })
	if err := w.Check(t.Context(), n, x.Flows); err != nil {
		t.Fatal(err)
	}
	g := must(c.Graph())(t)
	return must(flow.Run(t.Context(), g, n, must(engine.RoutesOf(g, n, w, x.Flows))(t), flow.Options{}))(t).Makespan
}

// TestRingTimes holds times against closed forms: 2(n-1) steps of a chunk and the latency on one ring; both ways half
// the chunk; along all of d dimensions at once 2(N-1)/N of the data over d links, or 2d both ways, and 2 sum(size-1)
// latencies.
func TestRingTimes(t *testing.T) {
	const latency = 700 * engine.Nanosecond
	const data = 4 * 4 * 4 * 6 * 1000
	cube := shape(t, "", 4, 4, 4)
	twisted := shape(t, "000010", 8, 4, 4) // z wraps half-way along x
	ring := must(HamiltonianRing(cube, nil))(t)
	along := func(o *torus.Torus, f Form) Stage { return must(RingsAlong(o, []int{2}, f, nil))(t) }
	for _, c := range []struct {
		name    string
		o       *torus.Torus
		op      Op
		streams []Stream
		bytes   int64 // one after the other on the busiest way
		steps   int64
	}{
		{"one ring", cube, AllReduce, OneRing(ring, false), 2 * 63 * data / 64, 2 * 63},
		{"one ring, scatter", cube, ReduceScatter, OneRing(ring, false), 63 * data / 64, 63},
		{"one ring, gather", cube, AllGather, OneRing(ring, false), 63 * data / 64, 63},
		{"one ring both ways", cube, AllReduce, OneRing(ring, true), 63 * data / 64, 2 * 63},
		{"z rings", cube, AllReduce, OneRing(along(cube, Links), false), 2 * 3 * data / 4, 2 * 3},
		{"z lines are z rings", cube, AllReduce, OneRing(along(cube, Line), false), 2 * 3 * data / 4, 2 * 3},
		{"three rings", cube, AllReduce, must(MultiRing(cube, []int{0, 1, 2}, Links, false))(t), 2 * 63 * data / 64 / 3, 2 * 9},
		{"three rings both ways", cube, AllReduce, must(MultiRing(cube, []int{0, 1, 2}, Links, true))(t), 2 * 63 * data / 64 / 6, 2 * 9},
		{"two rings both ways", cube, AllReduce, must(MultiRing(cube, []int{2, 0}, Links, true))(t), 2 * 15 * data / 16 / 4, 2 * 6},
		// A twisted z: its rings are of 8; a line of 4 is folded, without contention.
		{"twisted z rings", twisted, AllReduce, OneRing(along(twisted, Links), false), 2 * 7 * data / 8, 2 * 7},
		{"twisted z lines", twisted, AllReduce, OneRing(along(twisted, Folded), false), 2 * 3 * data / 4, 2 * 3},
	} {
		z := Collective{Op: c.op, Nodes: c.o.Nodes(), Bytes: data, Streams: c.streams, Latency: latency}
		got := playRing(t, c.o, z)
		if want := engine.Time(c.bytes)*engine.Nanosecond + engine.Time(c.steps)*latency; got != want {
			t.Errorf("%s: %v, want %v", c.name, got, want)
		}
	}
}

// TestRingRefused: every kind of collective that is none, in one line.
func TestRingRefused(t *testing.T) {
	twisted := shape(t, "000010", 8, 4, 4)
	ring := Stage{{0, 1, 2, 3}}
	for _, c := range []struct {
		c    Collective
		want string
	}{
		{Collective{Nodes: 4, Bytes: 3, Streams: OneRing(ring, false)}, "at least a byte a chunk, 4 B"},
		{Collective{Nodes: 4, Bytes: 7, Streams: OneRing(ring, true)}, "8 B"},
		{Collective{Nodes: 4, Bytes: -1, Streams: OneRing(ring, false)}, "-1 B"},
		{Collective{Nodes: 4, Bytes: 100}, "no rings"},
		{Collective{Nodes: 4, Bytes: 100, Streams: []Stream{{}}}, "no rings"},
		{Collective{Nodes: 4, Bytes: 100, Streams: OneRing(Stage{{1}}, false)}, "at least 2 ranks"},
		{Collective{Nodes: 3, Bytes: 100, Streams: OneRing(ring, false)}, "rank 3 in two rings of a stage, or it is out of 0 to 2"},
		{Collective{Nodes: 4, Bytes: 100, Streams: OneRing(Stage{{0, 1}, {1, 2}}, false)}, "rank 1 in two rings"},
		{Collective{Nodes: 4, Bytes: 100, Streams: []Stream{{{{0, 1}}, {{2, 3}}}}}, "not the 2 of the one before"},
		{Collective{Nodes: 4, Bytes: 100, Streams: []Stream{{{{0, 1}}}, {{{2, 3}}}}}, "2 others in another"},
		{Collective{Nodes: 4, Bytes: 100, Streams: []Stream{{{{0, 1}, {2, 3}}, {{0, 3}, {1, 2}}}}}, "different parts"},
		{Collective{Nodes: 5, Bytes: 100, Streams: []Stream{{{{0, 1}, {2, 3, 4}}, {{0, 2}, {1, 3}}}}}, "want one length"},
		{Collective{Nodes: 4, Bytes: 1 << 60, Streams: OneRing(ring, false)}, "more bytes than can be counted"},
		{Collective{Nodes: 4, Bytes: 100, Streams: OneRing(ring, false), Latency: -1}, "latency"},
		{Collective{Nodes: 4, Bytes: 100, Streams: OneRing(ring, false), Down: []bool{false, false, true, false}}, "rank 2 of ring-all-reduce is down"},
		{Collective{Nodes: 4, Bytes: 100, Streams: OneRing(ring, false), Down: []bool{false}}, "the state of 1"},
		{Collective{Op: 7, Nodes: 4, Bytes: 100, Streams: OneRing(ring, false)}, "op 7"},
		{Collective{Nodes: 128, Bytes: 1e6, Streams: must(MultiRing(twisted, []int{2, 0}, Links, false))(t)}, "different parts"},
	} {
		_, err := c.c.Graph()
		if err == nil || !errors.Is(err, ErrTraffic) || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%v: want %q", err, c.want)
		}
	}
	var huge []int32
	for r := range int32(5000) {
		huge = append(huge, r)
	}
	_, err := (&Collective{Nodes: 5000, Bytes: 1e9, Streams: OneRing(Stage{huge}, false)}).Graph()
	if err == nil || !strings.Contains(err.Error(), "49990001 tasks, which take about") {
		t.Errorf("a graph too large: %v", err)
	}
	for _, op := range []Op{AllReduce, ReduceScatter, AllGather} {
		if got, err := ParseOp(fmt.Sprint(op)); got != op || err != nil {
			t.Errorf("%v is read as %v, %v", op, got, err)
		}
	}
}

// TestRanks: the ranks that share a vector are the nodes with the same coordinates along the dimensions without rings; all
// nodes where every dimension has rings, or one ring joins all.
func TestRanks(t *testing.T) {
	cube := shape(t, "", 2, 3, 4)
	for _, dims := range [][]int{{0}, {1}, {2}, {0, 2}, {2, 1}, {0, 1, 2}} {
		c := Collective{Nodes: cube.Nodes(), Streams: must(MultiRing(cube, dims, Links, true))(t)}
		want := map[string][]int32{}
		for n := range int32(cube.Nodes()) {
			at := slices.Clone(cube.At(n))
			for _, d := range dims {
				at[d] = 0
			}
			want[fmt.Sprint(at)] = append(want[fmt.Sprint(at)], n)
		}
		sets := c.Ranks()
		if len(sets) != len(want) {
			t.Errorf("rings along %v: %d sets of ranks, want %d", dims, len(sets), len(want))
		}
		for _, set := range sets {
			at := slices.Clone(cube.At(set[0]))
			for _, d := range dims {
				at[d] = 0
			}
			if !slices.Equal(set, want[fmt.Sprint(at)]) {
				t.Errorf("rings along %v: ranks %v share a vector, want %v", dims, set, want[fmt.Sprint(at)])
			}
		}
	}
	one := Collective{Nodes: 4, Streams: OneRing(Stage{{2, 0, 3}}, false)}
	if sets := one.Ranks(); len(sets) != 1 || !slices.Equal(sets[0], []int32{0, 2, 3}) {
		t.Errorf("one ring of nodes 2, 0 and 3 has ranks %v", sets)
	}
}
