package links

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"sim/fabric/graph"
)

// drawCluster draws a cluster of packet switches.
func drawCluster(t *rapid.T) Cluster {
	c := Cluster{
		Hosts: rapid.IntRange(2, 12).Draw(t, "hosts"), GPUsPerHost: rapid.IntRange(1, 4).Draw(t, "GPUs"),
		HostBandwidth: 9e11, NICBandwidth: 1e11, UplinkBandwidth: 2e11,
		Rails: rapid.Bool().Draw(t, "rails"),
	}
	c.HostsPerPod = rapid.IntRange(1, c.Hosts).Draw(t, "hosts per pod")
	c.Oversubscription = rapid.Float64Range(1, float64(c.GPUsPerPod()/c.LeavesPerPod())).Draw(t, "oversubscription")
	return c
}

// TestPacketNetwork: every GPU has one network interface, every leaf switch as many uplinks as
// oversubscription leaves, each to another spine switch, and GPUs of one leaf switch are two hops
// apart, all others four.
func TestPacketNetwork(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := drawCluster(t)
		l := &Links{}
		l.BuildPacketNetwork(&c)
		gpus, perPod := c.GPUs(), c.GPUsPerPod()
		leaves := c.Pods() * c.LeavesPerPod()

		// The neighbours of each node, by outgoing links. Every link has a link back.
		out := make([][]int, l.Nodes)
		for _, e := range l.Edges {
			if !slices.ContainsFunc(l.Edges, func(b []int) bool { return b[0] == e[1] && b[1] == e[0] && b[2] == e[2] }) {
				t.Fatalf("link %v has no link back", e)
			}
			if want := int(c.UplinkBandwidth); e[0] < gpus || e[1] < gpus {
				want = int(c.NICBandwidth)
				if e[2] != want {
					t.Fatalf("interface %v has rate %d, want %d", e, e[2], want)
				}
			} else if e[2] != want {
				t.Fatalf("uplink %v has rate %d, want %d", e, e[2], want)
			}
			out[e[0]] = append(out[e[0]], e[1])
		}
		for g := range gpus {
			if len(out[g]) != 1 {
				t.Fatalf("GPU %d has %d links, want 1", g, len(out[g]))
			}
		}
		hasSpine := leaves > 1
		for leaf := gpus; leaf < gpus+leaves; leaf++ {
			up := slices.DeleteFunc(slices.Clone(out[leaf]), func(n int) bool { return n < gpus })
			slices.Sort(up)
			if n := len(slices.Compact(up)); hasSpine && n != c.Uplinks() || !hasSpine && n != 0 {
				t.Fatalf("leaf %d has %d uplinks, want %d", leaf, n, c.Uplinks())
			}
		}

		hops := l.hops()
		for a := range gpus {
			for b := range gpus {
				sameLeaf := a/perPod == b/perPod && (!c.Rails || a%c.GPUsPerHost == b%c.GPUsPerHost)
				want := int32(4)
				if a == b {
					want = 0
				} else if sameLeaf {
					want = 2
				}
				if got := hops(int32(a))[b]; got != want {
					t.Fatalf("%+v: GPU %d is %d hops from GPU %d, want %d", c, b, got, a, want)
				}
			}
		}
		if inner := len(l.InnerTiers); inner != min(1, c.GPUsPerHost-1) {
			t.Fatalf("%d inner tiers for hosts of %d GPUs", inner, c.GPUsPerHost)
		}
	})
}

// hops returns the distances in the graph of l, without inner tiers.
func (l *Links) hops() func(int32) []int32 {
	alone := *l
	alone.InnerTiers = nil
	z, err := alone.Build()
	if err != nil {
		panic(err)
	}
	return z.Whole.Hops(nil)
}

// TestClusterIsFatTree: hosts of one GPU behind leaf switches of half their ports are the fat tree of
// two levels that package graph generates.
func TestClusterIsFatTree(t *testing.T) {
	for _, ports := range []int{2, 4, 8} {
		tree, err := graph.FatTree{Ports: ports, Levels: 2, Oversubscription: 1}.Shape(0)
		if err != nil {
			t.Fatal(err)
		}
		c := Cluster{
			Hosts: tree.Endpoints, GPUsPerHost: 1, HostsPerPod: ports / 2,
			NICBandwidth: 1, UplinkBandwidth: 1, Oversubscription: 1,
		}
		l := &Links{}
		l.BuildPacketNetwork(&c)
		var want, got [][2]int
		for _, e := range tree.Links {
			want = append(want, [2]int{e.From, e.To})
		}
		for _, e := range l.Edges {
			got = append(got, [2]int{e[0], e[1]})
		}
		if !slices.Equal(got, want) || l.Nodes != tree.Nodes {
			t.Errorf("%d ports: links %v, want %v", ports, got, want)
		}
	}
}

// TestSingleHost: the GPUs of a single host share only the switch inside it.
func TestSingleHost(t *testing.T) {
	c := Cluster{Hosts: 1, GPUsPerHost: 4, HostsPerPod: 1, HostBandwidth: 9e11, NICBandwidth: 1e11, Oversubscription: 1, Rails: true}
	l := &Links{}
	l.BuildPacketNetwork(&c)
	if len(l.InnerTiers) != 0 || l.Nodes != 5 || len(l.Edges) != 8 || l.Edges[0][2] != int(c.HostBandwidth) {
		t.Errorf("%d inner tiers, %d nodes and links %v; want a switch and 4 GPUs at the rate of the host", len(l.InnerTiers), l.Nodes, l.Edges)
	}
}
