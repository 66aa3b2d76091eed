package routing_test

import (
	"context"
	"math"
	"testing"

	"sim/engine"
	"sim/engine/packet"
	"sim/engine/static"
	"sim/fabric/torus"
	"sim/policies/routing"
)

// equalCost returns the routes of ns-3's global routing, computed only from the list of links:
// for each node and destination the links that start a path of minimum cost. Ipv4GlobalRouting
// stores one host route for each. The algorithm is Floyd and Warshall's.
func equalCost(n *engine.Network) [][][]int32 {
	const infinite = 1 << 20
	nodes := int(n.Nodes)
	cost := make([][]int, nodes)
	for a := range cost {
		cost[a] = make([]int, nodes)
		for b := range cost[a] {
			if a != b {
				cost[a][b] = infinite
			}
		}
	}
	for _, l := range n.Links {
		if l.Rate > 0 && l.From != l.To {
			cost[l.From][l.To] = 1
		}
	}
	for k := range nodes {
		for a := range nodes {
			for b := range nodes {
				cost[a][b] = min(cost[a][b], cost[a][k]+cost[k][b])
			}
		}
	}
	routes := make([][][]int32, nodes)
	for a := range routes {
		routes[a] = make([][]int32, nodes)
		for dst := range nodes {
			for i, l := range n.Links {
				if l.Rate > 0 && int(l.From) == a && a != dst && 1+cost[l.To][dst] == cost[a][dst] {
					routes[a][dst] = append(routes[a][dst], int32(i))
				}
			}
		}
	}
	return routes
}

// drawNetworks returns a torus with parallel links and a failed link, a twisted torus, and the
// network of ns-3's example ecmp-global-routing with three equal paths.
func drawNetworks(t *testing.T) []*engine.Network {
	t.Helper()
	link := engine.Link{Rate: 1e9}
	plain, err := torus.New(4, 3, 2)
	if err != nil {
		t.Fatal(err)
	}
	twisted, err := torus.New(4, 4)
	if err != nil {
		t.Fatal(err)
	}
	if err := twisted.SetShift([][]int{{0, 2}, {0, 0}}); err != nil {
		t.Fatal(err)
	}
	torn := plain.Network(nil, link)
	torn.Links[5].Rate = 0
	ecmp := &engine.Network{Nodes: 7}
	for _, e := range [][2]int32{{0, 1}, {1, 2}, {1, 3}, {1, 4}, {2, 5}, {3, 5}, {4, 5}, {5, 6}} {
		ecmp.Links = append(ecmp.Links, engine.Link{From: e[0], To: e[1], Rate: 1e9}, engine.Link{From: e[1], To: e[0], Rate: 1e9})
	}
	return []*engine.Network{torn, twisted.Network(nil, link), ecmp}
}

func allPairs(nodes int32) (flows []engine.Flow) {
	for s := range nodes {
		for d := range nodes {
			if s != d {
				flows = append(flows, engine.Flow{Src: s, Dst: d})
			}
		}
	}
	return flows
}

// TestDrawNode verifies that all traffic to a destination leaves a node over one of the equal
// links, as with a table indexed by node and destination (ns-3's global routing uses nothing
// else). Over many seeds each link is drawn equally often; for random paths, in proportion to the
// number of paths over it.
func TestDrawNode(t *testing.T) {
	for k, n := range drawNetworks(t) {
		routes, flows := equalCost(n), allPairs(n.Nodes)
		for _, byRoutes := range []bool{false, true} {
			const seeds = 300
			type place struct{ at, dst, link int32 }
			taken := map[place]int{}
			for seed := range uint64(seeds) {
				p := &routing.Problem{Network: n, Flows: flows}
				d, err := drawnBy(byRoutes, routing.DrawNode, p, seed)
				if err != nil {
					t.Fatal(err)
				}
				next := map[[2]int32]int32{}
				for i, f := range flows {
					at, hops := f.Src, 0
					for _, s := range d.Paths.Steps(d.Paths.ClassOf(int32(i))) {
						l := d.Paths.Out(at, s)
						if had, ok := next[[2]int32{at, f.Dst}]; ok && had != l {
							t.Fatalf("network %d: for %d node %d takes links %d and %d", k, f.Dst, at, had, l)
						} else if !ok {
							next[[2]int32{at, f.Dst}] = l
							taken[place{at, f.Dst, l}]++
						}
						at = n.Links[l].To
						hops++
					}
					if at != f.Dst {
						t.Fatalf("network %d: flow %v ends at %d", k, f, at)
					}
				}
			}
			for a := range n.Nodes {
				for dst := range n.Nodes {
					equal, sum := routes[a][dst], 0
					for _, l := range equal {
						share := 1 / float64(len(equal))
						if byRoutes {
							share = pathsOf(n, routes, n.Links[l].To, dst) / pathsOf(n, routes, a, dst)
						}
						got := taken[place{a, dst, l}]
						sum += got
						if off := math.Abs(float64(got) - seeds*share); off > 5.5*math.Sqrt(seeds*share*(1-share)) {
							t.Errorf("network %d, by routes %t: link %d of node %d to %d is taken %d times of %d, want a share of %g", k, byRoutes, l, a, dst, got, seeds, share)
						}
					}
					if a != dst && sum != seeds {
						t.Errorf("network %d: node %d leads to %d over other links %d times", k, a, dst, seeds-sum)
					}
				}
			}
		}
	}
}

func drawnBy(byRoutes bool, draw string, p *routing.Problem, seed uint64) (*routing.Decision, error) {
	o := routing.Options{Seed: seed}
	if byRoutes {
		return routing.RandomShortest{Draw: draw}.Route(context.Background(), p, o)
	}
	return routing.ECMP{Draw: draw}.Route(context.Background(), p, o)
}

// pathsOf counts the paths of minimum cost.
func pathsOf(n *engine.Network, routes [][][]int32, node, dst int32) float64 {
	if node == dst {
		return 1
	}
	sum := 0.0
	for _, l := range routes[node][dst] {
		sum += pathsOf(n, routes, n.Links[l].To, dst)
	}
	return sum
}

// TestDrawPacket verifies the shares with which packets draw links. The equal links of a node are
// drawn equally often, as in ns-3 with RandomEcmpRouting, which draws an index for every packet
// at every node. For random paths each path is drawn equally often. Loads are the means.
func TestDrawPacket(t *testing.T) {
	for k, n := range drawNetworks(t) {
		routes, flows := equalCost(n), allPairs(n.Nodes)
		for _, byRoutes := range []bool{false, true} {
			d, err := drawnBy(byRoutes, routing.DrawPacket, &routing.Problem{Network: n, Flows: flows}, 1)
			if err != nil {
				t.Fatal(err)
			}
			if err := d.Paths.Check(t.Context(), n, flows); err != nil {
				t.Fatal(err)
			}
			want, square := make([]float64, len(n.Links)), make([]float64, len(n.Links))
			for _, f := range flows {
				one := make([]float64, len(n.Links))
				var follow func(at int32, share float64)
				follow = func(at int32, share float64) {
					for _, l := range routes[at][f.Dst] {
						of := share / float64(len(routes[at][f.Dst]))
						if byRoutes {
							of = share * pathsOf(n, routes, n.Links[l].To, f.Dst) / pathsOf(n, routes, at, f.Dst)
						}
						one[l] += of
						follow(n.Links[l].To, of)
					}
				}
				follow(f.Src, 1)
				for l, share := range one {
					want[l] += share
					square[l] += share * (1 - share)
				}
			}
			loads, _ := static.PathLoads(t.Context(), n, flows, nil, d.Paths)
			const packets = 400
			w := &packet.Work{Flows: flows, Paths: d.Paths, Sources: []packet.Source{{End: int32(len(flows)), Bytes: 1000, Count: packets, Process: packet.Greedy, Order: packet.Random, Seed: 3}}}
			s, err := packet.Run(n, w, packet.Options{Seed: 7})
			if err != nil {
				t.Fatal(err)
			}
			for l := range n.Links {
				if math.Abs(loads.Weighted[l]-want[l]) > 1e-5 {
					t.Errorf("network %d, by routes %t: link %d has load %g, want %g", k, byRoutes, l, loads.Weighted[l], want[l])
				}
				off := float64(s.Links[l].Packets) - packets*want[l]
				if math.Abs(off) > 5*math.Sqrt(packets*square[l])+1e-6 {
					t.Errorf("network %d, by routes %t: %d packets on link %d, want %g", k, byRoutes, s.Links[l].Packets, l, packets*want[l])
				}
			}
		}
	}
}
