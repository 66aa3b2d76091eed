package collective

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"sim/engine"
)

// checkTraffic checks the invariants of Traffic.
func checkTraffic(t rapid.TB, x *Traffic) {
	t.Helper()
	if !slices.IsSortedFunc(x.Flows, comparePairs) || x.Bytes != nil && len(x.Bytes) != len(x.Flows) {
		t.Fatalf("%s: %d flows out of order, or with %d sizes", x.Name, len(x.Flows), len(x.Bytes))
	}
	total := int64(0)
	for f, w := range x.Flows {
		if w.Src == w.Dst || w.Src < 0 || w.Dst < 0 || int(max(w.Src, w.Dst)) >= x.Nodes || f > 0 && x.Flows[f-1] == w {
			t.Fatalf("%s: flow %d is %v of %d nodes", x.Name, f, w, x.Nodes)
		}
		if b := x.Size(f); b < 1 || b > x.Message {
			t.Fatalf("%s: flow %d is of %d B, messages of %d", x.Name, f, b, x.Message)
		}
		if total += x.Size(f); x.Bytes != nil && x.Demand()[f]*float64(x.Message) != float64(x.Size(f)) && math.Abs(x.Demand()[f]*float64(x.Message)/float64(x.Size(f))-1) > 1e-12 {
			t.Fatalf("%s: the demand of flow %d is %g", x.Name, f, x.Demand()[f])
		}
	}
	if total != x.Total() {
		t.Fatalf("%s: %d B in all, not %d", x.Name, x.Total(), total)
	}
}

// someDown draws nodes that are down; at least two nodes are up.
func someDown(t *rapid.T, nodes int) []bool {
	down := rapid.SliceOfN(rapid.Bool(), nodes, nodes).Draw(t, "down")
	down[rapid.IntRange(0, nodes/2-1).Draw(t, "one up")] = false
	down[rapid.IntRange(nodes/2, nodes-1).Draw(t, "another up")] = false
	return down
}

// wantPairs checks that the flows are exactly the pairs of live nodes for which has is
// true.
func wantPairs(t rapid.TB, x *Traffic, down []bool, has func(s, d int32) bool) {
	t.Helper()
	checkTraffic(t, x)
	var want []engine.Flow
	for s := range int32(x.Nodes) {
		for d := range int32(x.Nodes) {
			if s != d && (down == nil || !down[s] && !down[d]) && has(s, d) {
				want = append(want, engine.Flow{Src: s, Dst: d})
			}
		}
	}
	if !slices.Equal(x.Flows, want) {
		t.Fatalf("%s: flows %v, want %v", x.Name, x.Flows, want)
	}
}

// TestPatterns compares every pattern with its definition, pair by pair.
func TestPatterns(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		o := newTorus(t, "", rapid.SliceOfN(rapid.IntRange(2, 4), 1, 3).Draw(t, "dims")...)
		if rapid.Bool().Draw(t, "open") {
			if err := o.Mesh(0); err != nil {
				t.Fatal(err)
			}
		}
		n := o.Nodes()
		var down []bool
		if rapid.Bool().Draw(t, "diagnostics") {
			down = someDown(t, n)
		}
		every := func(s, d int32) bool { return true }
		wantPairs(t, must(AllToAll(n, 7, down))(t), down, every)
		u := must(UniformRandom(n, 7, down))(t)
		if wantPairs(t, u, down, every); !u.RandomDestinations {
			t.Fatal("uniform-random is not random")
		}
		near := func(s, d int32) bool {
			differing := 0
			for k, size := range o.Dims {
				c := (o.Coord(d, k) - o.Coord(s, k) + size) % size
				c = min(c, size-c)
				if o.Open[k] {
					c = o.Coord(d, k) - o.Coord(s, k)
					c = max(c, -c)
				}
				differing += c
			}
			return differing == 1
		}
		if x, err := NearestNeighbour(o, 7, down); err == nil {
			wantPairs(t, x, down, near)
			net := o.Network(nil, engine.Link{Rate: rate})
			wantPairs(t, must(Neighbours(net, 7, down))(t), down, near)
		} else if down == nil || !errors.Is(err, ErrTraffic) {
			t.Fatal(err)
		}
		dim := rapid.IntRange(0, len(o.Dims)-1).Draw(t, "dim")
		if x, err := SliceAllToAll(o, []int{dim}, 7, down); err == nil {
			wantPairs(t, x, down, func(s, d int32) bool {
				a, b := o.At(s), o.At(d)
				a[dim], b[dim] = 0, 0
				return slices.Equal(a, b)
			})
		} else if down == nil || !errors.Is(err, ErrTraffic) {
			t.Fatal(err)
		}
	})
}

// TestHotspot checks that every node sends exactly as many bytes as in an all-to-all,
// that a fraction of 0 is an all-to-all, and that hot nodes get the redirected fraction
// in addition.
func TestHotspot(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(2, 20).Draw(t, "nodes")
		down := someDown(t, n)
		up := len(liveNodes(n, down))
		hot := must(HotNodes(rapid.IntRange(1, up).Draw(t, "k"), n, rapid.Uint64().Draw(t, "seed"), down))(t)
		fraction := rapid.SampledFrom([]float64{0, 0.1, 0.5, 1}).Draw(t, "fraction")
		message := rapid.OneOf(rapid.Int64Range(1, 1e5), rapid.Int64Range(1e14, 1e15)).Draw(t, "message")
		x := must(Hotspot(n, message, fraction, hot, down))(t)
		checkTraffic(t, x)
		sent := make([]int64, n)
		for f, w := range x.Flows {
			sent[w.Src] += x.Size(f)
			if down[w.Src] || down[w.Dst] {
				t.Fatalf("node %v is down", w)
			}
			targets := len(hot)
			if slices.Contains(hot, w.Src) {
				targets--
			}
			want := float64(message)
			if targets > 0 {
				want *= 1 - fraction
				if slices.Contains(hot, w.Dst) {
					want += float64(message) * fraction * float64(up-1) / float64(targets)
				}
			}
			if math.Abs(float64(x.Size(f))-want) > max(1.001, 1e-13*float64(message)) { // rounding to a byte, and floating-point errors
				t.Fatalf("flow %v of %d B, want %g", w, x.Size(f), want)
			}
		}
		for s, b := range sent {
			if want := message * int64(up-1); !down[s] && b != want || down[s] && b != 0 {
				t.Fatalf("node %d sends %d B, want %d", s, b, want)
			}
		}
	})
}

// TestPermutations checks that each destination occurs once, and compares the named
// permutations with hand-written ones.
func TestPermutations(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		o := newTorus(t, "", rapid.SampledFrom([][]int{{4, 4}, {4, 8, 4}, {2, 2, 2}, {8}, {3, 3}}).Draw(t, "dims")...)
		kind := rapid.SampledFrom(Permutations).Draw(t, "kind")
		down := someDown(t, o.Nodes())
		x, err := Permutation(o, kind, 9, rapid.Uint64().Draw(t, "seed"), down)
		if err != nil {
			if !errors.Is(err, ErrTraffic) || kind == "random" {
				t.Fatal(err)
			}
			return
		}
		checkTraffic(t, x)
		src, dst := map[int32]bool{}, map[int32]bool{}
		for _, w := range x.Flows {
			if src[w.Src] || dst[w.Dst] || down[w.Src] || down[w.Dst] {
				t.Fatalf("%s: %v is twice there, or down", kind, w)
			}
			src[w.Src], dst[w.Dst] = true, true
		}
		if up := len(liveNodes(o.Nodes(), down)); kind == "random" && len(x.Flows) != up {
			t.Fatalf("random: %d of %d nodes send", len(x.Flows), up)
		}
	})
	for _, c := range []struct {
		kind string
		dims []int
		src  []int
		dst  []int
	}{
		{"transpose", []int{4, 8, 4}, []int{1, 5, 3}, []int{3, 5, 1}},
		{"bit-complement", []int{4, 8, 4}, []int{1, 5, 3}, []int{2, 2, 0}},
		{"tornado", []int{4, 8, 5}, []int{1, 5, 3}, []int{2, 0, 0}},
		{"bit-reverse", []int{16}, []int{0b0010}, []int{0b0100}},
		{"bit-reverse", []int{16}, []int{0b1011}, []int{0b1101}},
		{"shuffle", []int{16}, []int{0b1011}, []int{0b0111}},
		{"shuffle", []int{16}, []int{0b0110}, []int{0b1100}},
	} {
		o := newTorus(t, "", c.dims...)
		x := must(Permutation(o, c.kind, 9, 0, nil))(t)
		f := engine.Flow{Src: o.Node(c.src...), Dst: o.Node(c.dst...)}
		if !slices.Contains(x.Flows, f) {
			t.Errorf("%s of %s: no %v", c.kind, o, f)
		}
	}
	a, b := must(Permutation(newTorus(t, "", 64), "random", 1, 1, nil))(t), must(Permutation(newTorus(t, "", 64), "random", 1, 2, nil))(t)
	if slices.Equal(a.Flows, b.Flows) {
		t.Error("two seeds give one permutation")
	}
}

// TestDerangements checks that the 9 derangements of 4 nodes are equally likely.
func TestDerangements(t *testing.T) {
	const runs = 9000
	count := map[[4]int32]int{}
	for seed := range uint64(runs) {
		count[[4]int32(derange(4, seed, nil))]++
	}
	chi := 0.0
	for _, c := range count {
		chi += float64((c-runs/9)*(c-runs/9)) / (runs / 9)
	}
	const limit = 26.1 // chi-square with 8 degrees of freedom, at 0.1 %
	if len(count) != 9 || chi > limit {
		t.Errorf("%d derangements, chi-square %.1f: %v", len(count), chi, count)
	}
}

// TestPatternsRefused checks that invalid traffic is rejected with a one-line error.
func TestPatternsRefused(t *testing.T) {
	o := newTorus(t, "", 2, 4)
	all := slices.Repeat([]bool{true}, 8)
	for _, c := range []struct {
		name string
		err  error
		want string
	}{
		{"zero", errOf(AllToAll(8, 0, nil)), "messages of 0 B; want at least 1 B"},
		{"negative", errOf(NearestNeighbour(o, -5, nil)), "messages of -5 B"},
		{"one node", errOf(UniformRandom(1, 8, nil)), "at least 2 nodes that are up, of 1 there are 1"},
		{"all down", errOf(Permutation(o, "random", 8, 1, all)), "of 8 there are 0"},
		{"states", errOf(AllToAll(7, 8, all)), "down has 8 entries"},
		{"too many bytes", errOf(AllToAll(1<<10, 1<<50, nil)), "more bytes than can be counted"},
		{"kind", errOf(Permutation(o, "tornado!", 8, 1, nil)), `no permutation "tornado!"; there are random, transpose`},
		{"transpose", errOf(Permutation(o, "transpose", 8, 1, nil)), "the same backwards"},
		{"bits", errOf(Permutation(newTorus(t, "", 3, 3), "shuffle", 8, 1, nil)), "want a power of 2"},
		{"still", errOf(Permutation(newTorus(t, "", 2, 2), "tornado", 8, 1, nil)), "moves nothing"},
		{"fraction", errOf(Hotspot(8, 8, 1.5, []int32{1}, nil)), "a fraction of 1.5; want one between 0 and 1"},
		{"no hot", errOf(Hotspot(8, 8, 0.5, nil, nil)), "no hot node"},
		{"hot twice", errOf(Hotspot(8, 8, 0.5, []int32{1, 1}, nil)), "hot node 1"},
		{"hot out", errOf(Hotspot(8, 8, 0.5, []int32{9}, nil)), "not one of 0 to 7"},
		{"hot many", errOf(HotNodes(9, 8, 0, nil)), "9 hot nodes of 8"},
		{"no links", errOf(Neighbours(o.Network(nil, engine.Link{}), 8, nil)), "moves nothing"},
		{"dims", errOf(SliceAllToAll(o, []int{0, 0}, 8, nil)), "dimensions x,x of 2x4"},
		{"slice dims", errOf(SliceAllToAll(o, []int{2}, 8, nil)), "dimension"},
		{"many bytes in slices", errOf(SliceAllToAll(o, []int{0}, math.MaxInt64/16, nil)), "more bytes than can be counted"},
		{"zero bytes in slices", errOf(SliceAllToAll(o, []int{0}, 0, nil)), "messages of 0 B"},
		{"states of rings", errOf(RingsAlong(o, []int{0}, LineRing, all[:7])), "rings among 8 nodes, but down has 7 entries"},
		{"form", errOf(RingsAlong(o, []int{0}, "knotted", nil)), `rings of form "knotted"`},
		{"rings all down", errOf(RingsAlong(o, []int{0}, LineRing, all)), "no ring of at least 2 nodes along x of 2x4"},
		{"uniform sizes", errOf(UniformSizes(1, 1)), "at least 2 nodes"},
		{"random sizes", errOf(RandomSizes(4, 0, 1)), "messages of 0 B"},
		{"large sizes", errOf(UniformSizes(1<<14+1, 1)), "want at most 16384"},
		{"entries of one node", errOf(FromEntries("m", 1, nil, nil)), "m needs at least 2 nodes"},
		{"entry to itself", errOf(FromEntries("m", 2, []Entry{{1, 1, 3}}, nil)), "m: entry 1 of row 1"},
		{"negative entry", errOf(FromEntries("m", 2, []Entry{{0, 1, -3}}, nil)), "m: entry 1 of row 0"},
		{"no entry", errOf(FromEntries("m", 2, []Entry{{0, 1, 0}}, nil)), "moves nothing"},
		{"few sizes", errOf(FromSizes("m", 2, make([]int64, 3), nil)), "m has 3 entries; want 4"},
		{"sizes of one node", errOf(FromSizes("m", 1, make([]int64, 1), nil)), "m needs at least 2 nodes"},
		{"hot spots", errOf((&HotSpots{Nodes: 9, Share: 0.5}).Traffic(PatternInput{Nodes: 8}, 1)), "9 hot nodes of 8"},
		{"no transfers", errOf(FromGraph("g", 2, &engine.Graph{})), "g moves nothing"},
		{"many flows", errOf((&Traffic{Name: "t", Flows: make([]engine.Flow, MaxTasks+1)}).Graph()), "t makes 16777217 tasks"},
		{"no dims", errOf(RingSteps(o, nil, LinkRing, false, 8, nil)), "no dimension"},
	} {
		if c.err == nil || !errors.Is(c.err, ErrTraffic) || !strings.Contains(c.err.Error(), c.want) || strings.Contains(c.err.Error(), "\n") {
			t.Errorf("%s: %v; want %q", c.name, c.err, c.want)
		}
	}
}

// errOf returns the error of a call.
func errOf[T any](_ T, err error) error { return err }

// TestTwoNodes checks that patterns that need two nodes accept two that are up.
func TestTwoNodes(t *testing.T) {
	down := slices.Repeat([]bool{true}, 8)
	down[2], down[3] = false, false
	if x, err := AllToAll(8, 5, down); err != nil || !slices.Equal(x.Flows, []engine.Flow{{Src: 2, Dst: 3}, {Src: 3, Dst: 2}}) {
		t.Errorf("two nodes send %+v, %v", x, err)
	}
	if x, err := (&HotSpots{Nodes: 1, Share: 0.5}).Traffic(PatternInput{Nodes: 8, Down: down}, 4); err != nil || len(x.Flows) != 2 || x.Size(0) != 4 || x.Size(1) != 4 {
		t.Errorf("of two nodes one is hot: %+v, %v", x, err)
	}
}

// TestOfGraph checks that the traffic of a graph is the sum of its transfers by pair, and
// that the graph of a traffic has one transfer per flow.
func TestOfGraph(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.Int32Range(2, 5).Draw(t, "nodes")
		g, want, sum := &engine.Graph{}, map[engine.Flow]int64{}, int64(0)
		for range rapid.IntRange(1, 20).Draw(t, "tasks") {
			task := engine.Task{Flows: 1, Src: rapid.Int32Range(0, n-1).Draw(t, "src"), Dst: rapid.Int32Range(0, n-1).Draw(t, "dst"), Bytes: rapid.Int64Range(0, 9).Draw(t, "bytes")}
			if rapid.IntRange(0, 3).Draw(t, "transfer") > 0 {
				if task.Kind = engine.Transfer; task.Src != task.Dst && task.Bytes > 0 {
					want[engine.Flow{Src: task.Src, Dst: task.Dst}] += task.Bytes
					sum += task.Bytes
				}
			}
			g.AddTask(task)
		}
		x, err := FromGraph("job", int(n), g)
		if sum == 0 {
			if err == nil {
				t.Fatalf("no bytes are %+v", x)
			}
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		checkTraffic(t, x)
		back, err := x.Graph()
		if err != nil || len(back.Tasks) != len(want) || len(x.Flows) != len(want) {
			t.Fatalf("%d flows, %v, want %d", len(x.Flows), err, len(want))
		}
		for f, flow := range x.Flows {
			task := back.Tasks[f]
			if x.Size(f) != want[flow] || task.Kind != engine.Transfer || task.Src != flow.Src || task.Dst != flow.Dst || task.Bytes != want[flow] {
				t.Fatalf("flow %d is %+v of %d B, task %+v, want %d B", f, flow, x.Size(f), task, want[flow])
			}
		}
	})
}
