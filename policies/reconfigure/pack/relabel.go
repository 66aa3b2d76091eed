package pack

import (
	"math/rand/v2"

	"sim/fabric/scaleup"
	"sim/policies/reconfigure/cancellation"
	"sim/policies/reconfigure/plan"
)

// relabel renames the GPUs of a sequence so that large demands have few hops, and returns
// the hops of all chunks. The paper (Sec. 4.4) relabels by rounds. This is the quadratic
// assignment problem; see quadraticAssignment.
//
// With relay, hops are counted through all topologies in turn, else within the best
// topology. The error is ErrUnreachable if some GPUs cannot reach others.
func (s Sequence) relabel(p *plan.Problem, relay bool, stop cancellation.Condition) (r Sequence, sum int64, err error) {
	hops, err := s.hops(p.GPUs, relay, stop)
	if err != nil {
		return Sequence{}, 0, err
	}
	perturbations := 0
	if n := p.GPUs; len(s.Topologies)*p.Degree <= maxPerturbedPermutations {
		perturbations = min(maxPerturbations, maxPerturbationWork/(n*n*n))
	}
	gpus, sum := assignGPUs(p.GPUs, p.Chunks, hops, s.cycle(p.GPUs), perturbations, p.Seed, stop)
	r = Sequence{Origin: s.Origin + ", relabelled"}
	for _, t := range s.Topologies {
		r.Topologies = append(r.Topologies, t.Relabel(gpus))
	}
	return r, sum, nil
}

// hops returns the hops from a to b, at index a*n+b.
func (s Sequence) hops(n int, relay bool, stop cancellation.Condition) ([]int32, error) {
	net := newTimeNetwork(s.Topologies, n)
	price := make([]float64, len(net.to))
	for i := range price {
		price[i] = 1
	}
	hops := make([]int32, n*n)
	var t pathTree
	t.setPrices(net, price)

	for a := range n {
		stop.Check()
		t.grow(net, int32(a), relay)
		for b, c := range t.cost {
			if c >= infinite {
				return nil, unreachable(a, b)
			}
			hops[a*n+b] = int32(c)
		}
	}

	return hops, nil
}

// cycle returns the GPUs in the order of the links if these form one cycle through all
// GPUs, else nil.
func (s Sequence) cycle(n int) []int32 {
	if len(s.Topologies) != 1 || len(s.Topologies[0]) != n {
		return nil
	}
	to := make([]int32, n)
	for _, e := range s.Topologies[0] {
		to[e.From] = e.To
	}
	list := []int32{0}
	for u := to[0]; u != 0 && len(list) < n; u = to[u] {
		list = append(list, u)
	}
	if len(list) < n || to[list[n-1]] != 0 {
		return nil
	}
	return list
}

// assignGPUs returns the GPU of each place, and the sum of demand x hops. If the topology
// is a ring, cycle lists its places in order, and the largest load is lowered too; else
// cycle is nil. Local optima are perturbed the given number of times (iterated local
// search).
func assignGPUs(
	n int,
	demand, hops, cycle []int32,
	perturbations int,
	seed uint64,
	stop cancellation.Condition,
) (gpus []int32, sum int64) {
	q := newQuadraticAssignment(n, demand, hops, cycle, stop)
	q.descend()
	lowest := q.score()
	random := rand.New(rand.NewPCG(seed, relabelStream))
	best := q.clone()
	for range perturbations {
		for range 1 + n/8 {
			q.exchange(random.IntN(n), random.IntN(n))
		}
		q.descend()
		if score := q.score(); score < lowest {
			lowest = score
			best.copyFrom(q)
		} else {
			q.copyFrom(best)
		}
	}

	return best.gpus, best.sum()
}

const (
	// Sequences of up to maxPerturbedPermutations permutations are perturbed, at most
	// maxPerturbations times. With more permutations, other changes save more. A perturbation
	// takes about n^3 operations, and all together at most maxPerturbationWork: 20 perturbations
	// for up to 118 GPUs, none for more than 322.
	maxPerturbedPermutations = 8
	maxPerturbations         = 20
	maxPerturbationWork      = 1 << 25
)

// relabelStream separates the random numbers of assignGPUs from others with the same seed:
// "relabel" in ASCII.
const relabelStream = 0x72656c6162656c

// joinPermutations returns the topologies of phases. list[i][j][u] is the GPU to which
// permutation j of phase i connects GPU u.
func joinPermutations(list [][][]int32) []scaleup.Topology {
	sequence := make([]scaleup.Topology, len(list))
	for i, phase := range list {
		t := make(scaleup.Topology, 0, len(phase[0])*len(phase))
		for u := range phase[0] {
			for _, to := range phase {
				t = append(t, scaleup.Edge{From: int32(u), To: to[u]})
			}
		}
		sequence[i] = t
	}

	return sequence
}

// splitPermutations decomposes topologies into k permutations each, indexed as in
// joinPermutations. ok is false if a GPU lacks a link.
func splitPermutations(topologies []scaleup.Topology, n, k int) (list [][][]int32, ok bool) {
	for _, t := range topologies {
		if len(t) != n*k {
			return nil, false
		}
		colour, err := t.AssignSwitches(n, k)
		if err != nil {
			return nil, false
		}
		phase := make([][]int32, k)
		for j := range phase {
			phase[j] = make([]int32, n)
		}
		for i, e := range t {
			phase[colour[i]][e.From] = e.To
		}
		list = append(list, phase)
	}

	return list, true
}
