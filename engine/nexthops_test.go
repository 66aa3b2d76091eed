package engine_test

import (
	"context"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	_ "sim/internal/testseed"

	"sim/engine"
	"sim/engine/static"
)

// drawNextHops draws a network of a few nodes with parallel links and links that are down, and
// next hops to all its nodes.
func drawNextHops(t *rapid.T) (*engine.Network, *engine.NextHops) {
	nodes, degree := rapid.Int32Range(2, 7).Draw(t, "nodes"), rapid.IntRange(1, 4).Draw(t, "degree")
	n := &engine.Network{Nodes: nodes}
	s := &engine.NextHops{Degree: degree}
	for a := range nodes {
		for range degree {
			to := rapid.Int32Range(0, nodes-1).Draw(t, "to")
			link := int32(len(n.Links))
			n.Links = append(n.Links, engine.Link{From: a, To: to, Rate: 1})
			if rapid.IntRange(0, 5).Draw(t, "down") == 0 {
				n.Links[link].Rate, link = 0, -1
			}
			s.Link, s.To = append(s.Link, link), append(s.To, to)
		}
	}
	weighted := rapid.Bool().Draw(t, "weighted")
	for dst := range nodes { // repeat the relaxation until nothing changes
		hops, weight := make([]uint16, nodes), make([]float32, nodes)
		for a := range hops {
			hops[a] = engine.NoPath
			weight[a] = float32(rapid.IntRange(1, 4).Draw(t, "weight"))
		}
		hops[dst] = 0
		for range nodes {
			for i, l := range n.Links {
				if s.Link[i] >= 0 && hops[l.To] != engine.NoPath && int(hops[l.To])+1 < int(hops[l.From]) {
					hops[l.From] = hops[l.To] + 1
				}
			}
		}
		if s.Hops = append(s.Hops, hops); weighted {
			s.Weight = append(s.Weight, weight)
		}
	}
	return n, s
}

// shortestPaths calls visit with each shortest path from a node to dst and the probability that
// a packet takes it.
func shortestPaths(n *engine.Network, s *engine.NextHops, node, dst int32, path []int32, p float64, visit func(path []int32, p float64)) {
	if node == dst {
		visit(path, p)
		return
	}
	var next []int32
	sum := 0.0
	weight := func(l int32) float64 {
		if s.Weight == nil {
			return 1
		}
		return float64(s.Weight[dst][n.Links[l].To])
	}
	for l := range int32(len(n.Links)) {
		if n.Links[l].From == node && n.Links[l].Rate > 0 && s.Hops[dst][n.Links[l].To]+1 == s.Hops[dst][node] {
			next = append(next, l)
			sum += weight(l)
		}
	}
	for _, l := range next {
		shortestPaths(n, s, n.Links[l].To, dst, append(path[:len(path):len(path)], l), p*weight(l)/sum, visit)
	}
}

// TestNextHops compares next hops with an enumeration of all shortest paths: as routes of a
// transfer, as loads of links, as listed paths, and as links drawn one after the other.
func TestNextHops(t *testing.T) {
	const draws = 840 // a multiple of nearly all sums of weights in these networks
	rapid.Check(t, func(t *rapid.T) {
		n, s := drawNextHops(t)
		var flows []engine.Flow
		var demand []float64
		g := &engine.Graph{}
		for src := range n.Nodes {
			for dst := range n.Nodes {
				if src != dst && s.Hops[dst][src] != engine.NoPath {
					flows, demand = append(flows, engine.Flow{Src: src, Dst: dst}), append(demand, float64(1+src))
					g.AddTask(engine.Task{Kind: engine.Transfer, Src: src, Dst: dst, Flows: 1, Bytes: 1})
				} else if link := s.Next(src, dst, 0); link >= 0 {
					t.Fatalf("from %d to %d over link %d, want none", src, dst, link)
				}
			}
		}
		if err := g.Freeze(); err != nil {
			t.Fatal(err)
		}
		w := &engine.Paths{Degree: s.Degree, Link: s.Link, Spread: s}
		if err := w.Check(context.Background(), n, flows); err != nil {
			t.Fatal(err)
		}
		routes, err := engine.RoutesOf(g, n, w, flows)
		if err != nil {
			t.Fatal(err)
		}
		equal := func(what string, got, want float64) {
			if math.Abs(got-want) > 1e-9 {
				t.Fatalf("%s is %v, want %v", what, got, want)
			}
		}
		listed, err := s.Paths(flows)
		if err == nil {
			err = listed.Check(context.Background(), n, flows)
		}
		if err != nil {
			t.Fatal(err)
		}
		plain, weighted := make([]float64, len(n.Links)), make([]float64, len(n.Links))
		plainHops, weightedHops, maxHops := 0.0, 0.0, int32(0)
		for i, f := range flows {
			want := make([]float64, len(n.Links))
			first := make([]float64, len(n.Links))
			class := listed.ClassOf(int32(i))
			nextListed, endListed := listed.Of(class)
			shortestPaths(n, s, f.Src, f.Dst, nil, 1, func(path []int32, p float64) {
				if got := slices.Collect(listed.Links(f.Src, nextListed, n.Links)); !slices.Equal(got, path) {
					t.Fatalf("listed path %v, want %v", got, path)
				}
				equal("the share of a path", listed.ShareOf(class, nextListed), p)
				nextListed++
				first[path[0]] += p
				for _, l := range path {
					want[l] += p
				}
				plainHops += p * float64(len(path))
				weightedHops += demand[i] * p * float64(len(path))
				maxHops = max(maxHops, int32(len(path)))
			})
			if nextListed != endListed {
				t.Fatalf("%d paths are listed too many", endListed-nextListed)
			}
			for _, u := range routes.Of(int32(i)) {
				want[u.Resource] -= u.Weight
				plain[u.Resource] += u.Weight
				weighted[u.Resource] += demand[i] * u.Weight
			}
			for l := range want {
				equal("the rest of a link's share", want[l], 0)
			}
			for k := range draws {
				first[s.Next(f.Src, f.Dst, (float64(k)+0.5)/draws)] -= 1.0 / draws
			}
			for l := range first {
				if math.Abs(first[l]) > 2.0/draws {
					t.Fatalf("link %d is drawn too often by %v", l, -first[l])
				}
			}
		}
		for _, c := range []struct {
			demand, link []float64
			hops         float64
		}{{nil, plain, plainHops}, {demand, weighted, weightedHops}} {
			loads, err := static.PathLoads(context.Background(), n, flows, c.demand, w)
			if err != nil {
				t.Fatal(err)
			}
			top := 0.0
			for l := range c.link {
				equal("a load", loads.Weighted[l], c.link[l])
				top = max(top, c.link[l])
			}
			equal("the highest load", loads.MaxWeighted, top)
			equal("the hops", loads.WeightedHops, c.hops)
			if loads.MaxHops != maxHops {
				t.Fatalf("the longest path has %d links, want %d", loads.MaxHops, maxHops)
			}
		}
		ctx, stop := context.WithCancel(context.Background())
		stop()
		if _, err := static.PathLoads(ctx, n, flows, nil, w); err != context.Canceled {
			t.Fatalf("after the context's end: %v", err)
		}
	})
}
