package baselines

import (
	"cmp"
	"math/rand/v2"
	"slices"

	"sim/fabric/scaleup"
	"sim/policies/reconfigure/plan"
)

// MixNet uses a topology built greedily for the demand (Liao et al., SIGCOMM 2025; paper Sec.
// 5.1). Circuits are set up by falling demand as long as both ends are free. On the first switch,
// an edge that would close a cycle without all GPUs is rejected. The switch then has a
// Hamiltonian cycle, which reaches all GPUs.
//
// The paper leaves the other switches open. Of two candidates, one has such a cycle on every
// switch, one after the other. The other has the largest flows on the other switches. In both, a
// pair receives a second circuit only if no other pair fits: chunks are forwarded, so a circuit
// to another GPU is more useful. Ties are broken at random with the problem's seed, because an
// order by index would make the rings similar. In the uniform demand, which the paper does not
// show for MixNet, all flows are tied. Errors: plan.ErrProblem, ErrOptions, and from
// graph.MinCongestion.
func MixNet(p *plan.Problem, o Options) ([]plan.Candidate, error) {
	if err := p.Check(); err != nil {
		return nil, err
	}
	networks := []staticNetwork{{origin: "greedy cycles", topology: greedyCycles(p, p.Degree)}}
	if p.Degree > 1 {
		networks = append(networks, staticNetwork{origin: "greedy cycle and circuits", topology: greedyCircuits(p)})
	}
	return staticCandidates(p, o, networks...)
}

// circuitRequest is a pair of GPUs (From * n + To) with the criteria for its next circuit.
type circuitRequest struct{ pair, chunks, circuits, tie int32 }

// sortRequests sorts by circuits that the pair already has, then by falling chunks, then by the
// random number tie.
func sortRequests(list []circuitRequest) {
	slices.SortFunc(list, func(a, b circuitRequest) int {
		return cmp.Or(cmp.Compare(a.circuits, b.circuits), cmp.Compare(b.chunks, a.chunks),
			cmp.Compare(a.tie, b.tie))
	})
}

// mixnetStream separates these random numbers from others with the same seed: "mixnet" in ASCII.
const mixnetStream = 0x6d69786e6574

// drawTies returns a random permutation of all pairs, the order among equal ones.
func drawTies(p *plan.Problem) []int {
	return rand.New(rand.NewPCG(p.Seed, mixnetStream)).Perm(p.GPUs * p.GPUs)
}

// pairRequests returns all pairs, each with the number of its circuits in t.
func pairRequests(p *plan.Problem, t scaleup.Topology) []circuitRequest {
	n := p.GPUs
	circuits := make([]int32, n*n)
	for _, e := range t {
		circuits[int(e.From)*n+int(e.To)]++
	}
	list := make([]circuitRequest, 0, n*(n-1))

	tie := drawTies(p)
	for f, c := range p.Chunks {
		if f/n != f%n {
			list = append(list, circuitRequest{pair: int32(f), chunks: c, circuits: circuits[f], tie: int32(tie[f])})
		}
	}
	return list
}

// greedyCircuits has a greedy cycle on the first switch and fills the ports of the others.
func greedyCircuits(p *plan.Problem) scaleup.Topology {
	n, k := int32(p.GPUs), int32(p.Degree)
	t := greedyCycles(p, 1)
	list := pairRequests(p, t)

	// A pair may have up to k circuits. Add a request for each of its further circuits.
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

// greedyCycles has a greedy Hamiltonian cycle on each of k switches.
func greedyCycles(p *plan.Problem, k int) scaleup.Topology {
	n := p.GPUs
	t := make(scaleup.Topology, 0, n*k)
	to := make([]int32, n)
	from := make([]int32, n)
	end := make([]int32, n)
	for range k {
		list := pairRequests(p, t)
		sortRequests(list)
		for u := range n {
			to[u], from[u], end[u] = -1, -1, int32(u)
		}

		// The circuits so far form disjoint paths. end[u] is the other end of the path that starts or
		// ends at u. An edge to the start of its own path would close a cycle.
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
			u := c.pair / int32(n)
			v := c.pair % int32(n)
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
