package static_test

import (
	"testing"

	"pgregory.net/rapid"

	"sim/engine"
	"sim/engine/static"
)

// TestLoads: on a random connected graph, the ways of a table and the same as
// paths have the same loads and hops, and these add up.
func TestLoads(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		nodes := rapid.IntRange(2, 7).Draw(t, "nodes")
		n := &engine.Network{Nodes: int32(nodes)}
		const degree = 4
		table := &engine.Table{Degree: degree, Port: make([]uint8, nodes*nodes)}
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
				table.Link = append(table.Link, l)
			}
		}
		// towards each destination along some shortest way
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
							hops[a], table.Port[a*nodes+dst] = hops[to]+1, uint8(k)
						}
					}
				}
			}
		}
		var flows []engine.Flow
		for range rapid.IntRange(0, 12).Draw(t, "flows") {
			flows = append(flows, engine.Flow{Src: int32(rapid.IntRange(0, nodes-1).Draw(t, "src")), Dst: int32(rapid.IntRange(0, nodes-1).Draw(t, "dst"))})
		}
		if err := table.Check(n, flows); err != nil {
			t.Fatal(err)
		}
		paths := &engine.Paths{Start: []int64{0}}
		for _, f := range flows {
			for at := f.Src; at != f.Dst; {
				l := table.Next(nodes, at, f.Dst)
				paths.Links = append(paths.Links, l)
				at = n.Links[l].To
			}
			paths.Start = append(paths.Start, int64(len(paths.Links)))
		}
		if err := paths.Check(n, flows); err != nil {
			t.Fatal(err)
		}
		a, b := static.OfTable(n, flows, table), static.OfPaths(n, len(flows), paths)
		if a.SumHops != b.SumHops || a.Max != b.Max || a.MaxLink != b.MaxLink || a.MaxHops != b.MaxHops || a.Flows != b.Flows {
			t.Fatalf("table %+v, paths %+v", a, b)
		}
		sum, most := int64(0), int64(0)
		for l, load := range a.Link {
			if load != b.Link[l] {
				t.Fatalf("link %d carries %d and %d", l, load, b.Link[l])
			}
			sum += load
			most = max(most, load)
		}
		if sum != a.SumHops || sum != int64(len(paths.Links)) || most != a.Max || a.Max > 0 && a.Link[a.MaxLink] != a.Max {
			t.Fatalf("%+v adds up to %d hops, at most %d", a, sum, most)
		}
		if least := static.LeastMax(a.SumHops, len(n.Links)); a.Max < least {
			t.Fatalf("%d is below the bound %d", a.Max, least)
		}
	})
}
