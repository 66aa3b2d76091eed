package static_test

import (
	"context"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"sim/engine"
	"sim/engine/static"
)

// TestLoads: on random connected graphs, next ports and equivalent paths have the same loads and
// path lengths, and the loads sum to the path lengths.
func TestLoads(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		nodes := rapid.IntRange(2, 7).Draw(t, "nodes")
		n := &engine.Network{Nodes: int32(nodes)}
		const degree = 4
		table := ports{degree: degree, nodes: nodes, port: make([]int, nodes*nodes)}
		out := make([][]int32, nodes)
		link := func(a, b int) {
			if len(out[a]) < degree {
				out[a] = append(out[a], int32(len(n.Links)))
				n.Links = append(n.Links, engine.Link{From: int32(a), To: int32(b), Rate: 1e9})
			}
		}
		for a := range nodes {
			link(a, (a+1)%nodes)
		}
		for range rapid.IntRange(0, 9).Draw(t, "more") {
			link(rapid.IntRange(0, nodes-1).Draw(t, "from"), rapid.IntRange(0, nodes-1).Draw(t, "to"))
		}
		for a := range nodes {
			for k := range degree {
				l := int32(-1)
				if k < len(out[a]) {
					l = out[a][k]
				}
				table.link = append(table.link, l)
			}
		}
		// next ports along some shortest path to each destination
		for dst := range nodes {
			hops := make([]int, nodes)
			for range nodes {
				for a := range nodes {
					if a == dst {
						continue
					}
					for k, l := range out[a] {
						to := int(n.Links[l].To)
						if (to == dst || hops[to] > 0) && (hops[a] == 0 || hops[to]+1 < hops[a]) {
							hops[a], table.port[a*nodes+dst] = hops[to]+1, k
						}
					}
				}
			}
		}
		var flows []engine.Flow
		for range rapid.IntRange(0, 12).Draw(t, "flows") {
			flows = append(flows, engine.Flow{Src: int32(rapid.IntRange(0, nodes-1).Draw(t, "src")), Dst: int32(rapid.IntRange(0, nodes-1).Draw(t, "dst"))})
		}
		paths := &engine.Paths{Degree: degree, Link: table.link}
		steps := 0
		for _, f := range flows {
			var path []engine.Step
			for node := f.Src; node != f.Dst; node = n.Links[table.next(node, f.Dst)].To {
				path = append(path, engine.MakeStep(table.port[int(node)*nodes+int(f.Dst)], 0))
			}
			paths.Add(path...)
			steps += len(path)
		}
		if err := paths.Check(t.Context(), n, flows); err != nil {
			t.Fatal(err)
		}
		a, b := portLoads(n, flows, &table), pathLoads(n, flows, nil, paths)
		if a.SumHops != b.SumHops || a.Max != b.Max || a.MaxLink != b.MaxLink || a.MaxHops != b.MaxHops || a.Flows != b.Flows {
			t.Fatalf("next ports %+v, paths %+v", a, b)
		}
		units := slices.Repeat([]float64{1}, len(flows))
		c := pathLoads(n, flows, units, paths)
		sum, maxLoad := int64(0), int64(0)
		for l, load := range a.Link {
			if load != b.Link[l] || load != c.Link[l] || math.Abs(c.Weighted[l]-float64(load)) > 1e-9 {
				t.Fatalf("link %d carries %d, %d and %g", l, load, b.Link[l], c.Weighted[l])
			}
			sum += load
			maxLoad = max(maxLoad, load)
		}
		if sum != a.SumHops || sum != int64(steps) || maxLoad != a.Max || a.Max > 0 && a.Link[a.MaxLink] != a.Max {
			t.Fatalf("%+v adds up to %d hops, at most %d", a, sum, maxLoad)
		}
	})
}

// ports holds next ports, indexed by node and destination.
type ports struct {
	degree, nodes int
	link          []int32 // indexed by node and port
	port          []int
}

func (p *ports) next(node, dst int32) int32 {
	return p.link[int(node)*p.degree+p.port[int(node)*p.nodes+int(dst)]]
}

// portLoads measures the routes of flows that follow next ports.
func portLoads(n *engine.Network, flows []engine.Flow, p *ports) *static.Loads {
	z := &static.Loads{Flows: int64(len(flows)), Link: make([]int64, len(n.Links)), MaxLink: -1}
	for _, f := range flows {
		hops := int32(0)
		for node := f.Src; node != f.Dst; hops++ {
			l := p.next(node, f.Dst)
			z.Link[l]++
			node = n.Links[l].To
		}
		z.SumHops += int64(hops)
		z.MaxHops = max(z.MaxHops, hops)
	}
	for l, load := range z.Link {
		if load > z.Max {
			z.Max, z.MaxLink = load, int32(l)
		}
	}
	return z
}

func pathLoads(n *engine.Network, flows []engine.Flow, demand []float64, w *engine.Paths) *static.Loads {
	z, _ := static.PathLoads(context.Background(), n, flows, demand, w) // the context is never cancelled
	return z
}

// TestShares: a flow of 3 units on two paths with shares 1/4 and 3/4, and a flow of half a unit.
// The loads equal values computed by hand.
func TestShares(t *testing.T) {
	n := &engine.Network{Nodes: 3, Links: []engine.Link{{From: 0, To: 2, Rate: 1}, {From: 0, To: 1, Rate: 1}, {From: 1, To: 2, Rate: 1}}}
	w := &engine.Paths{Degree: 2, Link: []int32{0, 1, 2, -1, -1, -1}, First: []int32{0, 2, 3}, Share: []float64{0.25, 0.75, 1}}
	w.Add(engine.MakeStep(0, 0))
	w.Add(engine.MakeStep(1, 0), engine.MakeStep(0, 0))
	w.Add(engine.MakeStep(0, 0))
	flows := []engine.Flow{{Src: 0, Dst: 2}, {Src: 1, Dst: 2}}
	if err := w.Check(t.Context(), n, flows); err != nil {
		t.Fatal(err)
	}
	z := pathLoads(n, flows, []float64{3, 0.5}, w)
	if !slices.Equal(z.Weighted, []float64{0.75, 2.25, 2.75}) || !slices.Equal(z.Link, []int64{1, 3, 3}) || z.Max != 3 || z.MaxWeighted != 2.75 || z.WeightedHops != 5.75 || z.MaxHops != 2 || z.SumHops != 6 {
		t.Errorf("%+v", z)
	}
}
