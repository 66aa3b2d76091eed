package baselines

import (
	"cmp"
	"math/rand/v2"
	"slices"

	"sim/fabric/scaleup"
	"sim/policies/reconfigure/plan"
)

// MixNet keeps a topology that is greedy on the demand (Liao et al., SIGCOMM 2025; paper Sec. 5.1): circuits are set up
// in the order of falling demand as long as both ends are free. On the first switch an edge that would close a cycle
// short of all GPUs is refused, so that it holds a Hamiltonian cycle and all GPUs are reached. What the other switches
// do is open: of one network all hold such cycles, one switch after another; of the other they hold whatever is
// heaviest. For both, a pair gets a second circuit where no other pair fits: chunks are forwarded, so one that leads
// elsewhere serves it better. Ties are drawn by the problem's seed; by index they would make rings near to each other.
// The uniform demand, which the paper does not show for it, is all ties. Errors: plan.ErrProblem, ErrOptions, those of
// graph.MinCongestion.
func MixNet(p *plan.Problem, o Options) ([]plan.Candidate, error) {
	if err := p.Check(); err != nil {
		return nil, err
	}
	networks := []staticNetwork{{"greedy cycles", greedyCycles(p, p.Degree)}}
	if p.Degree > 1 {
		networks = append(networks, staticNetwork{"greedy cycle and circuits", greedyCircuits(p)})
	}
	return staticCandidates(p, o, networks...)
}

// circuitRequest is a pair (From * n + To) with what decides when it comes up for another circuit.
type circuitRequest struct{ pair, chunks, circuits, tie int32 }

// sortRequests sorts by circuits, then by falling chunks, then by what was drawn.
func sortRequests(list []circuitRequest) {
	slices.SortFunc(list, func(a, b circuitRequest) int {
		return cmp.Or(cmp.Compare(a.circuits, b.circuits), cmp.Compare(b.chunks, a.chunks), cmp.Compare(a.tie, b.tie))
	})
}

// mixnetStream keeps the draws apart from those of others with the same seed: "mixnet" in ASCII.
const mixnetStream = 0x6d69786e6574

// drawTies is the place of each pair among its equals.
func drawTies(p *plan.Problem) []int {
	return rand.New(rand.NewPCG(p.Seed, mixnetStream)).Perm(p.GPUs * p.GPUs)
}

// pairRequests are all pairs, each with its circuits in t.
func pairRequests(p *plan.Problem, t scaleup.Topology) []circuitRequest {
	n := p.GPUs
	circuits := make([]int32, n*n)
	for _, e := range t {
		circuits[int(e.From)*n+int(e.To)]++
	}
	list, tie := make([]circuitRequest, 0, n*(n-1)), drawTies(p)
	for f, c := range p.Chunks {
		if f/n != f%n {
			list = append(list, circuitRequest{int32(f), c, circuits[f], int32(tie[f])})
		}
	}
	return list
}

// greedyCircuits puts one greedy cycle on the first switch and fills up the ports of the others.
func greedyCircuits(p *plan.Problem) scaleup.Topology {
	n, k := int32(p.GPUs), int32(p.Degree)
	t := greedyCycles(p, 1)
	list := pairRequests(p, t)
	for _, c := range list[:len(list):len(list)] {
		for c.circuits++; c.circuits < k; c.circuits++ {
			list = append(list, c)
		}
	}
	sortRequests(list)
	out, in := make([]int32, n), make([]int32, n)
	for _, c := range list {
		if u, v := c.pair/n, c.pair%n; out[u] < k-1 && in[v] < k-1 {
			out[u]++
			in[v]++
			t = append(t, scaleup.Edge{From: u, To: v})
		}
	}
	return t
}

// greedyCycles puts a greedy Hamiltonian cycle on each of k switches.
func greedyCycles(p *plan.Problem, k int) scaleup.Topology {
	n := p.GPUs
	t := make(scaleup.Topology, 0, n*k)
	to, from, end := make([]int32, n), make([]int32, n), make([]int32, n)
	for range k {
		list := pairRequests(p, t)
		sortRequests(list)
		for u := range n {
			to[u], from[u], end[u] = -1, -1, int32(u)
		}
		// end[u] is the other end of the path that begins or ends at u.
		join := func(u, v int32) {
			to[u], from[v] = v, u
			first, last := end[u], end[v]
			end[first], end[last] = last, first
		}
		paths := n
		for _, c := range list {
			if paths == 1 {
				break
			}
			u, v := c.pair/int32(n), c.pair%int32(n)
			if to[u] < 0 && from[v] < 0 && end[u] != v {
				join(u, v)
				paths--
			}
		}
		last := int32(slices.Index(to, -1))
		join(last, end[last])
		for u := range n {
			t = append(t, scaleup.Edge{From: int32(u), To: to[u]})
		}
	}
	return t
}
