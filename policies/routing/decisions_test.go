package routing

import (
	"cmp"
	"errors"
	"fmt"
	"hash/fnv"
	"maps"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"

	"sim/engine"
	"sim/fabric/torus"
)

// ringsGraph gives a problem transfers in rounds. In a round every node sends to the node at a
// fixed offset, after it has received the transfer of the previous round. Flows and demands
// follow from the transfers.
func ringsGraph(t *testing.T, p *Problem, rounds ...int32) *Problem {
	t.Helper()
	g := &engine.Graph{}
	n := p.Network.Nodes
	demand := map[engine.Flow]float64{}
	for k, step := range rounds {
		for a := range n {
			bytes := int64(1+(int(a)+k)%3) * 100_000
			to := (a + step) % n
			id := g.AddTask(engine.Task{Kind: engine.Transfer, Src: a, Dst: to, Flows: 1, Bytes: bytes})
			demand[engine.Flow{Src: a, Dst: to}] += float64(bytes)
			if k > 0 {
				g.AddEdge(int32(k-1)*n+(a-rounds[k-1]+n)%n, id, 0)
			}
		}
	}
	if err := g.Freeze(); err != nil {
		t.Fatal(err)
	}
	q := *p
	q.Graph, q.Flows = g, slices.SortedFunc(maps.Keys(demand), func(a, b engine.Flow) int {
		return cmp.Or(cmp.Compare(a.Src, b.Src), cmp.Compare(a.Dst, b.Dst))
	})
	q.Demand = nil
	for _, f := range q.Flows {
		q.Demand = append(q.Demand, demand[f])
	}
	return &q
}

// halfUnitDemands sets demands of 1 to 4 half units.
func halfUnitDemands(p *Problem) *Problem {
	q := *p
	q.Demand = nil
	for i := range p.Flows {
		q.Demand = append(q.Demand, float64(1+i*7%4)/2)
	}
	return &q
}

// twoRates halves the rate of every third link.
func twoRates(p *Problem) *Problem {
	q, n := *p, *p.Network
	n.Links = slices.Clone(n.Links)
	for i := range n.Links {
		if i%3 == 0 {
			n.Links[i].Rate /= 2
		}
	}
	q.Network = &n
	return &q
}

// sparse returns all-to-all traffic on a random connected graph with links in both directions.
func sparse(nodes int32, more int) *Problem {
	rng := rand.New(rand.NewPCG(uint64(nodes), uint64(more)))
	n := &engine.Network{Nodes: nodes}
	join := func(a, b int32) {
		n.Links = append(n.Links, engine.Link{From: a, To: b, Rate: 1e9, Channels: 2}, engine.Link{From: b, To: a, Rate: 1e9, Channels: 2})
	}
	for a := int32(1); a < nodes; a++ {
		join(a, rng.Int32N(a))
	}
	for range more {
		if a, b := rng.Int32N(nodes), rng.Int32N(nodes); a != b {
			join(a, b)
		}
	}
	return &Problem{Network: n, Flows: everyPair(int(nodes))}
}

// decisionText formats a decision on one line. Paths are represented by a digest of their steps
// in the order of flows.
func decisionText(p *Problem, d *Decision) string {
	digest := fnv.New64a()
	if s := d.Paths.Spread; s != nil {
		fmt.Fprintf(digest, "%v %v %v %.6g", s.Link, s.To, s.Hops, s.Weight)
	} else {
		for i := range p.Flows {
			class := d.Paths.ClassOf(int32(i))
			a, b := d.Paths.Of(class)
			for k := a; k < b; k++ {
				fmt.Fprintf(digest, "%d: %v %.6g\n", i, d.Paths.Steps(k), d.Paths.ShareOf(class, k))
			}
		}
	}
	line := fmt.Sprintf("%x bound %.6g %q split %.6g least %d %d", digest.Sum64(), d.Bound, d.BoundModel, d.BoundSplit, d.MakespanBound, d.MakespanBoundSplit)
	for _, k := range slices.Sorted(maps.Keys(d.Metrics)) {
		line += fmt.Sprintf(" %s %.6g", k, d.Metrics[k])
	}
	for _, k := range slices.Sorted(maps.Keys(d.Labels)) {
		line += fmt.Sprintf(" %s %q", k, d.Labels[k])
	}
	return line
}

// TestDecisions compares the decisions of routers with their options on small networks with
// stored digests: paths, bounds, metrics and labels. It detects changes of the order of a search,
// of its budget, and of bounds.
func TestDecisions(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Skip("digests are of amd64; other processors may round otherwise")
	}
	link := torus.Faults{Links: []torus.Hop{{Node: 1, Dim: 1, Up: true}}}
	twisted := torus.Faults{Links: []torus.Hop{{Node: 0, Dim: 0, Up: true}}}
	problems := []*Problem{
		torusProblem(t, torus.Faults{}, "", 5),
		torusProblem(t, torus.Faults{}, "", 2, 3),
		torusProblem(t, torus.Faults{}, "", 4, 2, 2),
		torusProblem(t, link, "", 4, 4),
		torusProblem(t, torus.Faults{Links: []torus.Hop{{Node: 5, Dim: 1}}, Drained: []torus.Hop{{Node: 2, Up: true}}}, "", 3, 4),
		torusProblem(t, torus.Faults{}, "tpuv4", 2, 2, 4),
		torusProblem(t, twisted, "tpuv4", 2, 2, 4),
		halfUnitDemands(torusProblem(t, link, "", 3, 4)),
		twoRates(torusProblem(t, torus.Faults{}, "", 3, 3)),
		sparse(7, 4), halfUnitDemands(sparse(9, 8)), twoRates(sparse(8, 6)),
		ringsGraph(t, torusProblem(t, torus.Faults{}, "", 3, 3), 1, 4, 2),
		ringsGraph(t, torusProblem(t, link, "", 4, 2), 3, 3),
		ringsGraph(t, sparse(7, 5), 2, 1, 3),
	}
	small := OptimisedRouter{Budget: 3000, Rounds: 60}
	for _, c := range []struct {
		name   string
		router string
		set    func(o *Options)
		want   uint64
	}{
		{"dor", "dor", func(*Options) {}, 0x38db0df3ebbcb967},
		{"dor, x first", "dor", func(o *Options) { o.Order = []string{"x", "y"} }, 0xda0f4b7905b82430},
		{"wild-first", "wild-first", func(*Options) {}, 0xb8e41c9c24e529ba},
		{"wild-first where needed", "wild-first", func(o *Options) { o.WildFirst.Use = UseNeeded }, 0x397d0785c673563b},
		{"wild-first for all", "wild-first", func(o *Options) { o.WildFirst = WildFirst{Use: UseAll, Wild: []string{"x"}} }, 0xfcc362db519b9626},
		{"shortest", "shortest", func(*Options) {}, 0xd8418cf51d697783},
		{"ecmp", "ecmp", func(*Options) {}, 0x5c0142b7733eae1e},
		{"ecmp by node", "ecmp", func(o *Options) { o.ECMP.Draw = DrawNode }, 0x230b8d7ede55871e},
		{"ecmp by packet", "ecmp", func(o *Options) { o.ECMP.Draw = DrawPacket }, 0x8c8626b3883ab8e2},
		{"random-shortest", "random-shortest", func(*Options) {}, 0x69954b02a22977f5},
		{"random-shortest by node", "random-shortest", func(o *Options) { o.RandomShortest.Draw = DrawNode }, 0xfe3f6ec0be46e811},
		{"multipath", "multipath", func(o *Options) { o.Multipath = Multipath{Routes: 3, Over: OverShortest} }, 0x3237dd04f32ac9e1},
		{"multipath by hop", "multipath", func(o *Options) { o.Multipath = Multipath{Routes: 3, Over: OverShortest, Split: PerHop} }, 0x6d480d3a09469d7a},
		{"multipath, wild-first", "multipath", func(o *Options) { o.Multipath = Multipath{Routes: 4, Over: OverWildFirst, Extra: 2} }, 0x7705af7ddc17a262},
		{"optimised", "route-optimised", func(o *Options) { o.Optimised = small }, 0x7b254facaee0c280},
		{"optimised, no cap", "route-optimised", func(o *Options) {
			o.Seed, o.Optimised = 6, OptimisedRouter{Budget: 40_000, Rounds: 300, NeighbourCap: -1}
		}, 0x6348e0ce53be391a},
		{"optimised, cap 1", "route-optimised", func(o *Options) { o.Optimised = small; o.Optimised.NeighbourCap = 1 }, 0xbfc7c077eca46098},
		{"optimised for all", "route-optimised", func(o *Options) { o.Optimised = small; o.Optimised.Pattern = PatternAllToAll }, 0x9eb4ad47aba129ed},
		{"optimised by few", "route-optimised", func(o *Options) { o.Optimised = OptimisedRouter{Budget: 1, Rounds: 1} }, 0xc013597f492df67a},
	} {
		k := slices.IndexFunc(Table, func(r Row) bool { return r.Name == c.router })
		if k < 0 {
			t.Fatalf("no router %s", c.router)
		}
		o := Options{Seed: 5}
		c.set(&o)
		digest := fnv.New64a()
		var lines strings.Builder
		for i, p := range problems {
			line := ""
			switch d, err := Table[k].Router.Route(t.Context(), p, o); {
			case errors.Is(err, ErrUnserved):
				line = "not served"
			case err != nil:
				t.Fatalf("%s of problem %d: %v", c.name, i, err)
			default:
				line = decisionText(p, d)
			}
			fmt.Fprintf(&lines, "problem %d: %s\n", i, line)
		}
		digest.Write([]byte(lines.String()))
		if got := digest.Sum64(); got != c.want {
			t.Errorf("%s: digest %#x, want %#x, of\n%s", c.name, got, c.want, lines.String())
		}
	}
}
