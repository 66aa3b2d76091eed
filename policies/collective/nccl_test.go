package collective

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"sim/engine"
	"sim/fabric/machine"
	"sim/internal/numbers"
)

// drawMachine draws a machine with a library of collective calls.
func drawMachine(t *rapid.T) *machine.Profile {
	m := &machine.Profile{}
	m.GPUsPerNode = rapid.IntRange(1, 8).Draw(t, "GPUs per node")
	m.ScaleUp = machine.Link{Rate: 3.6e12, Efficiency: 0.8, Mesh: rapid.Bool().Draw(t, "mesh")}
	if !m.ScaleUp.Mesh && rapid.Bool().Draw(t, "NVLS") {
		m.ScaleUp.Reduction = 0.7
	}
	m.ScaleOut = machine.Network{Rate: 400e9, Efficiency: 0.9, NICs: m.GPUsPerNode}
	us := engine.Microsecond
	m.Collectives = machine.Collectives{
		Library: machine.NCCL, Launch: 5 * us, MessageLaunch: 5 * us, HopFactor: 1, RingFill: us, SwitchFill: us,
		DirectFill: us, NetworkFill: 16 * us, LLRate: 1e12, LL128Efficiency: 0.6, NetworkLLShare: 0.03,
		NetworkLL128Share: 0.4,
	}
	return m
}

// TestPipelinesCarryData: rings, trees and direct messages of a library move the same bytes between
// each two ranks as schedules of single transfers, whose data Schedule.Check follows.
func TestPipelinesCarryData(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := &Problem{Network: &engine.Network{Nodes: rapid.Int32Range(2, 12).Draw(t, "GPUs")}}
		m := drawMachine(t)
		p.Group = numbers.Below(p.Network.Nodes)
		p.Kind = Kind(rapid.IntRange(0, len(kindNames)-1).Draw(t, "kind"))
		n := len(p.Group)
		p.Bytes = 1e6
		p.Root = rapid.IntRange(0, n-1).Draw(t, "root")
		p.Peer = (p.Root + 1) % n
		method := rapid.SampledFrom([]string{ringMethod, treeMethod, directMethod}).Draw(t, "method")

		// The flows of the library.
		b := newBuilder(t.Context(), p, Options{Machine: m, Method: method})
		j := b.teamCall(0, n)
		nodes := b.machineNodes(j)
		if err := expandNCCL(b, j); err != nil {
			t.Fatal(err)
		}
		isServed := func(c libraryMethod) bool { return c.algorithm == method }
		perNode := len(slices.MaxFunc(nodes, func(a, c []int32) int { return len(a) - len(c) }))
		if c := (libraryCall{m, p.Kind, n, len(nodes), perNode, 1e6}); !slices.ContainsFunc(c.methods(), isServed) {
			t.Skip("the library uses no " + method)
		}

		// Single transfers.
		single := newBuilder(t.Context(), p, Options{Chunk: 1e5})
		var err error
		switch method {
		case ringMethod:
			rings := nodeRings(nodes, perNode)
			if p.Kind == Reduce { // sendRings goes against the ring
				for _, ring := range rings {
					slices.Reverse(ring)
				}
			}
			err = single.sendRings(j, rings)
		case treeMethod:
			sendNodeTrees(single, j, nodes, perNode)
		case directMethod:
			err = expandDirect(single, j)
		}
		if err != nil {
			t.Fatal(err)
		}
		if err := single.Check(); err != nil {
			t.Fatal(err)
		}

		want, got := map[[2]int32]float64{}, map[[2]int32]float64{}
		for _, x := range single.Transfers {
			want[[2]int32{x.Src, x.Dst}] += float64(x.Bytes)
		}
		for _, x := range b.Transfers {
			got[[2]int32{x.Src, x.Dst}] += float64(x.Bytes)
		}
		for pair := range want {
			if math.Abs(got[pair]-want[pair]) > 4*float64(n) { // blocks differ by a byte
				t.Fatalf("ranks %v: got %g B, want %g", pair, got[pair], want[pair])
			}
		}
		if len(got) != len(want) {
			t.Fatalf("got flows between %d pairs, want %d", len(got), len(want))
		}
	})
}

// sendNodeTrees sends the transfers of an all-reduce by trees: each rank of a node has a part of the
// data, which goes along a chain to it, up a tree of nodes, and back.
func sendNodeTrees(b *builder, j *subCall, nodes [][]int32, perNode int) {
	for channel, part := range j.data.pieces(perNode) {
		for tree, half := range part.pieces(2) {
			place := func(node int) int {
				if tree == 1 {
					return secondTree(node, len(nodes))
				}
				return node
			}
			var edges [][2]int32 // from a member to its parent, leaves first
			for _, node := range nodes {
				for i := len(node) - 1; i > 0; i-- {
					edges = append(edges, [2]int32{node[(channel+i)%len(node)], node[(channel+i-1)%len(node)]})
				}
			}
			var between [][2]int // a node and its parent in the first tree
			for node := 1; node < len(nodes); node++ {
				between = append(between, [2]int{node, binaryTreeParent(node, len(nodes))})
			}
			depth := func(node int) (d int) {
				for ; node > 0; d++ {
					node = binaryTreeParent(node, len(nodes))
				}
				return d
			}
			slices.SortFunc(between, func(a, c [2]int) int { return depth(c[0]) - depth(a[0]) })
			for _, e := range between {
				head := func(node int) int32 {
					members := nodes[place(node)]
					return members[channel%len(members)]
				}
				edges = append(edges, [2]int32{head(e[0]), head(e[1])})
			}
			for _, e := range edges {
				b.send(j.ranks[e[0]], j.ranks[e[1]], half, true)
			}
			for _, e := range slices.Backward(edges) {
				b.send(j.ranks[e[1]], j.ranks[e[0]], half, false)
			}
			b.stream++
		}
	}
}
