package mapping

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"sim/engine"
	"sim/fabric/torus"
)

// onTorus returns a problem of ranks on a torus without faults.
func onTorus(t *testing.T, dims []Dim, demand []Flow, sizes ...int) *Problem {
	t.Helper()
	z, err := torus.New(sizes...)
	if err != nil {
		t.Fatal(err)
	}
	p := &Problem{Dims: dims, Network: z.Network(nil, engine.Link{Rate: 1}), Torus: z, VertexTransitive: true, Demand: demand}
	for n := range int32(z.Nodes()) {
		p.Slots = append(p.Slots, n)
	}
	return p
}

// drawFlows returns flows between random ranks.
func drawFlows(r *rand.Rand, ranks, flows int) (all []Flow) {
	for range flows {
		f := Flow{Src: int32(r.IntN(ranks)), Dst: int32(r.IntN(ranks)), Bytes: 1 + r.Int64N(100)}
		if f.Src != f.Dst && !slices.ContainsFunc(all, func(g Flow) bool { return g.Src == f.Src && g.Dst == f.Dst }) {
			all = append(all, f)
		}
	}
	return all
}

// cost returns bytes x hops with distances by the algorithm of Floyd and Warshall, independently
// of Cost.
func cost(p *Problem, at []int32) int64 {
	n := int(p.Network.Nodes)
	d := make([][]int64, n)
	for i := range d {
		d[i] = slices.Repeat([]int64{1 << 40}, n)
		d[i][i] = 0
	}
	for _, l := range p.Network.Links {
		if l.Rate > 0 && l.From != l.To {
			d[l.From][l.To] = 1
		}
	}
	for k := range n {
		for i := range n {
			for j := range n {
				d[i][j] = min(d[i][j], d[i][k]+d[k][j])
			}
		}
	}
	sum := int64(0)
	for _, f := range p.Demand {
		sum += f.Bytes * d[at[f.Src]][at[f.Dst]]
	}
	return sum
}

// TestOptimal compares proved results on small problems with the minimum cost of all mappings.
// Problems are tori and directed graphs, also with more nodes than ranks. The bound is at most
// the optimum.
func TestOptimal(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for trial := range 60 {
		ranks := 2 + r.IntN(5)
		p := onTorus(t, []Dim{{"pp", ranks}}, drawFlows(r, ranks, 3*ranks), []int{2, 3}...)
		if trial%2 == 1 { // a directed ring with random chords
			n := int32(6)
			p.Torus, p.VertexTransitive = nil, false
			p.Network = &engine.Network{Nodes: n}
			for i := range n {
				p.Network.Links = append(p.Network.Links, engine.Link{From: i, To: (i + 1) % n, Rate: 1}, engine.Link{From: i, To: int32(r.IntN(int(n))), Rate: float64(r.IntN(2))})
			}
		}
		minCost := int64(1) << 60
		slots := slices.Clone(p.Slots)
		permute(slots, 0, func(at []int32) bool {
			minCost = min(minCost, cost(p, at[:ranks]))
			return true
		})
		got, err := Place(t.Context(), "optimised", p, Options{Evaluations: 1_000_000, Seed: 1})
		if err != nil {
			t.Fatal(err)
		}
		c, err := NewCost(t.Context(), p)
		if err != nil {
			t.Fatal(err)
		}
		if found := cost(p, got.At); found != minCost || got.Bound != minCost || c.Total(got.At) != minCost || c.Bound() > minCost {
			t.Errorf("trial %d, %d ranks: cost %d (%d), bound %d, simple bound %d; the least is %d", trial, ranks, found, c.Total(got.At), got.Bound, c.Bound(), minCost)
		}
	}
}

// TestBound verifies on larger problems that bound <= result <= cost of every order of
// dimensions.
func TestBound(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for _, sizes := range [][]int{{4, 4}, {3, 4, 5}, {4, 4, 8}} {
		n := 1
		for _, s := range sizes {
			n *= s
		}
		p := onTorus(t, []Dim{{"tp", 2}, {"dp", n / 2}}, drawFlows(r, n, 4*n), sizes...)
		got, err := Place(t.Context(), "optimised", p, Options{Evaluations: 300_000, Seed: 1})
		if err != nil {
			t.Fatal(err)
		}
		found := cost(p, got.At)
		if got.Bound <= 0 || got.Bound > found {
			t.Errorf("%v: bound %d on a cost of %d", sizes, got.Bound, found)
		}
		for _, text := range []string{Default, "dp-tp", "dp=xyz,tp="} {
			if one, err := Place(t.Context(), text, p, Options{}); err == nil && cost(p, one.At) < found {
				t.Errorf("%v: %s costs %d, what was searched for %d", sizes, text, cost(p, one.At), found)
			}
		}
		again, _ := Place(t.Context(), "optimised", p, Options{Evaluations: 300_000, Seed: 1})
		if !slices.Equal(again.At, got.At) {
			t.Errorf("%v: a second search found another mapping", sizes)
		}
	}
}

// TestRelabelled verifies that the minimum cost is invariant under a shift of the mapping along
// an axis and under a new numbering of the ranks.
func TestRelabelled(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	p := onTorus(t, []Dim{{"dp", 8}}, drawFlows(r, 8, 20), 2, 4)
	one, err := Place(t.Context(), "optimised", p, Options{Evaluations: 1_000_000})
	if err != nil {
		t.Fatal(err)
	}
	moved := slices.Clone(one.At)
	for i, n := range moved {
		moved[i], _ = p.Torus.Next(n, 1, true)
	}
	if cost(p, moved) != cost(p, one.At) {
		t.Errorf("moved along the torus the mapping costs %d, not %d", cost(p, moved), cost(p, one.At))
	}
	other := *p
	other.Demand = nil
	for _, f := range p.Demand {
		other.Demand = append(other.Demand, Flow{Src: (f.Src + 3) % 8, Dst: (f.Dst + 3) % 8, Bytes: f.Bytes})
	}
	two, err := Place(t.Context(), "optimised", &other, Options{Evaluations: 1_000_000})
	if err != nil {
		t.Fatal(err)
	}
	if cost(&other, two.At) != cost(p, one.At) || two.Bound != one.Bound {
		t.Errorf("renumbered ranks cost %d, not %d", cost(&other, two.At), cost(p, one.At))
	}
}

// TestPlaces compares orders and axes with coordinates that are computed independently.
func TestPlaces(t *testing.T) {
	p := onTorus(t, []Dim{{"tp", 2}, {"pp", 3}, {"dp", 4}}, nil, 2, 3, 4)
	rank := func(tp, pp, dp int) int { return tp + 2*(pp+3*dp) }
	for text, node := range map[string]func(tp, pp, dp int) int32{
		Default:          func(tp, pp, dp int) int32 { return int32(tp + 2*(pp+3*dp)) },
		"tp-cp-ep-dp-pp": func(tp, pp, dp int) int32 { return int32(tp + 2*(dp+4*pp)) },
		"pp-dp-tp":       func(tp, pp, dp int) int32 { return int32(pp + 3*(dp+4*tp)) },
		"tp=x,dp=z,pp=y": func(tp, pp, dp int) int32 { return int32((tp*3+pp)*4 + dp) },
	} {
		got, err := Place(t.Context(), text, p, Options{})
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		for tp := range 2 {
			for pp := range 3 {
				for dp := range 4 {
					if got.At[rank(tp, pp, dp)] != node(tp, pp, dp) {
						t.Errorf("%s: rank %d is on node %d, not %d", text, rank(tp, pp, dp), got.At[rank(tp, pp, dp)], node(tp, pp, dp))
					}
				}
			}
		}
	}
	flat := onTorus(t, []Dim{{"dp", 12}}, nil, 2, 3, 4)
	got, err := Place(t.Context(), "dp=zy", flat, Options{})
	if err != nil {
		t.Fatal(err)
	}
	for i, node := range got.At {
		if want := int32(i/4*4 + i%4); node != want {
			t.Errorf("dp=zy: rank %d is on node %d, not %d", i, node, want)
		}
	}
}

// TestFaults verifies the errors of mappings that do not fit.
func TestFaults(t *testing.T) {
	p := onTorus(t, []Dim{{"tp", 2}, {"pp", 3}, {"dp", 4}}, nil, 2, 3, 4)
	p.Files = map[string][]int32{"short": {1, 2}, "double": slices.Repeat([]int32{5}, 24), "far": append(make([]int32, 23), 99)}
	for i := range p.Files["far"][:23] {
		p.Files["far"][i] = int32(i)
	}
	for text, want := range map[string]string{
		"tp-dp":               "it leaves out pp, of 3 ranks",
		"tp-tp-pp-dp":         "names tp twice",
		"tp=x,dp=z":           "pp, of 3 ranks, is on no axis",
		"tp=x,dp=y,pp=z":      "dp has 4 ranks, and its axes y are 3 nodes",
		"tp=x,dp=z,pp=x":      "tp",
		"tp=x,dp=w,pp=y":      "axis w",
		"tp=x,dp=z,pp=y,zz=x": `no dimension "zz"`,
		"tp=x,tp=y":           "assigns no axes",
		"short":               "lists 2 endpoints for 24 ranks",
		"double":              "ranks 0 and 1 are both on endpoint 5",
		"far":                 "rank 23 is on endpoint 99, which does not exist",
		"other":               "is no file that was read",
	} {
		if _, err := Place(context.Background(), text, p, Options{}); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "; want ") {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
	p.Slots = p.Slots[:20]
	if _, err := Place(context.Background(), Default, p, Options{}); err == nil || !strings.Contains(err.Error(), "24 ranks on 20 endpoints leave 4") {
		t.Error(err)
	}
}

// TestReadFile verifies endpoints by number and by name.
func TestReadFile(t *testing.T) {
	name := func(s string) (int, bool) { return 7, s == "seven" }
	got, err := ReadFile([]byte("3 # first\n\n  seven\n0\n"), name)
	if err != nil || fmt.Sprint(got) != "[3 7 0]" {
		t.Errorf("%v, %v", got, err)
	}
	if _, err := ReadFile([]byte("3\n-1\n"), name); err == nil || !strings.Contains(err.Error(), "line 2") {
		t.Error(err)
	}
}
