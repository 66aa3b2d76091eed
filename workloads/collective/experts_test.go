package collective

import (
	"math"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"
)

// chosenExperts returns the experts of a token that prefers experts in the given order: the TopK
// best experts on the nodes with the best experts.
func chosenExperts(r ExpertRouting, order []int) (chosen []int) {
	perNode := r.Experts / r.Nodes
	allowed := map[int]bool{}
	for _, expert := range order {
		if len(allowed) < r.maxNodes() {
			allowed[expert/perNode] = true
		}
	}
	for _, expert := range order {
		if len(chosen) < r.TopK && allowed[expert/perNode] {
			chosen = append(chosen, expert)
		}
	}
	return chosen
}

// holders returns the numbers of ranks and of nodes that hold some of the experts.
func holders(r ExpertRouting, chosen []int) (ranks, nodes int) {
	rankSet, nodeSet := map[int]bool{}, map[int]bool{}
	for _, expert := range chosen {
		rankSet[expert/(r.Experts/r.Ranks)], nodeSet[expert/(r.Experts/r.Nodes)] = true, true
	}
	return len(rankSet), len(nodeSet)
}

// permutations calls do with every order of the numbers from 0 to n-1.
func permutations(n int, do func(order []int)) {
	order := make([]int, n)
	for i := range order {
		order[i] = i
	}
	var permute func(k int)
	permute = func(k int) {
		if k == n {
			do(order)
			return
		}
		for i := k; i < n; i++ {
			order[k], order[i] = order[i], order[k]
			permute(k + 1)
			order[k], order[i] = order[i], order[k]
		}
	}
	permute(0)
}

// TestExpectedCopies compares the expected numbers of ranks and nodes of a token with their
// averages over all orders in which tokens can prefer experts.
func TestExpectedCopies(t *testing.T) {
	for _, r := range []ExpertRouting{
		{Experts: 8, TopK: 3, Ranks: 4, Nodes: 2},
		{Experts: 8, TopK: 3, Ranks: 4, Nodes: 2, MaxNodes: 1},
		{Experts: 8, TopK: 4, Ranks: 8, Nodes: 4, MaxNodes: 2},
		{Experts: 8, TopK: 2, Ranks: 4, Nodes: 4, MaxNodes: 3},
		{Experts: 6, TopK: 3, Ranks: 6, Nodes: 3, MaxNodes: 2},
		{Experts: 6, TopK: 6, Ranks: 3, Nodes: 1},
		{Experts: 8, TopK: 1, Ranks: 1, Nodes: 1},
	} {
		sumRanks, sumNodes, count := 0, 0, 0
		permutations(r.Experts, func(order []int) {
			ranks, nodes := holders(r, chosenExperts(r, order))
			sumRanks, sumNodes, count = sumRanks+ranks, sumNodes+nodes, count+1
		})
		ranks, nodes := r.Expected()
		wantRanks, wantNodes := float64(sumRanks)/float64(count), float64(sumNodes)/float64(count)
		if math.Abs(ranks-wantRanks) > 1e-12 || math.Abs(nodes-wantNodes) > 1e-12 {
			t.Errorf("%+v: got %v ranks and %v nodes, want %v and %v", r, ranks, nodes, wantRanks, wantNodes)
		}
	}
}

// TestExchangeBytes compares the bytes that a GPU sends inside its node and to other nodes with
// random tokens, whose copies are sent one by one.
func TestExchangeBytes(t *testing.T) {
	const tokens, nodeGPUs = 40000, 4
	for _, maxNodes := range []int{0, 2} {
		r := ExpertRouting{Experts: 64, TopK: 6, Ranks: 16, Nodes: 4, MaxNodes: maxNodes}
		for _, copies := range []string{CopyPerExpert, CopyPerGPU, CopyPerNode} {
			if copies == CopyPerExpert && maxNodes > 0 {
				continue // the limit does not change the number of experts
			}
			random := rand.New(rand.NewPCG(1, 2))
			var between, inside float64 // copies that leave a node, and copies to another GPU of the node
			send := func(from, to int) {
				switch {
				case from/nodeGPUs != to/nodeGPUs:
					between++
				case from != to:
					inside++
				}
			}
			for i := range tokens {
				src := i % r.Ranks
				sent, passed := map[int]bool{}, map[int]bool{}
				for _, expert := range chosenExperts(r, random.Perm(r.Experts)) {
					dst := expert / (r.Experts / r.Ranks)
					via := dst/nodeGPUs*nodeGPUs + src%nodeGPUs
					switch {
					case copies == CopyPerExpert, copies == CopyPerGPU && !sent[dst]:
						send(src, dst)
					case copies == CopyPerNode && !sent[dst]:
						if !passed[via] && via != src {
							send(src, via)
						}
						passed[via] = true
						send(via, dst)
					}
					sent[dst] = true
				}
			}

			x := r.Exchange(copies, 1e6)
			gotBetween, gotInside := 0.0, 0.0 // bytes that GPU 0 sends
			for to := range r.Ranks {
				if to/nodeGPUs == 0 {
					gotInside += float64(x.Size(0, to)) / 1e6
				} else {
					gotBetween += float64(x.Size(0, to)) / 1e6
				}
			}
			if math.Abs(gotBetween*tokens/between-1) > 0.01 || math.Abs(gotInside*tokens/inside-1) > 0.015 {
				t.Errorf("copies per %s, at most %d nodes: got %.3f copies to other nodes and %.3f inside, want about %.3f and %.3f",
					copies, maxNodes, gotBetween, gotInside, between/tokens, inside/tokens)
			}
		}
	}
}

// TestFewerCopies checks on random routings that fewer kinds of copies never send more bytes to
// other nodes, that a limit of nodes never raises them, and that a limit of all nodes changes
// nothing.
func TestFewerCopies(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		nodes, nodeGPUs := rapid.IntRange(1, 6).Draw(t, "nodes"), rapid.IntRange(1, 8).Draw(t, "GPUs of a node")
		perGPU := rapid.IntRange(1, 5).Draw(t, "experts of a GPU")
		r := ExpertRouting{Ranks: nodes * nodeGPUs, Nodes: nodes, Experts: nodes * nodeGPUs * perGPU}
		limit := rapid.IntRange(1, nodes).Draw(t, "limit")
		r.TopK = rapid.IntRange(1, limit*nodeGPUs*perGPU).Draw(t, "top k")
		sent := func(r ExpertRouting, copies string) (between int64) {
			x := r.Exchange(copies, 1e9)
			for to := nodeGPUs; to < r.Ranks; to++ {
				between += x.Size(0, to)
			}
			return between
		}

		const rounding = 64 // each message is rounded up
		perExpert, perRank, perNode := sent(r, CopyPerExpert), sent(r, CopyPerGPU), sent(r, CopyPerNode)
		if perRank > perExpert+rounding || perNode > perRank+rounding {
			t.Fatalf("%+v: got %d bytes per expert, %d per GPU and %d per node, want no increase", r, perExpert, perRank, perNode)
		}
		all, limited := r, r
		all.MaxNodes, limited.MaxNodes = nodes, limit
		if got := sent(all, CopyPerNode); got != perNode {
			t.Fatalf("%+v: got %d bytes with a limit of all nodes, want %d", r, got, perNode)
		}
		if got := sent(limited, CopyPerNode); got > perNode+rounding {
			t.Fatalf("%+v: got %d bytes with a limit of %d nodes, want at most %d", r, got, limit, perNode)
		}
	})
}
