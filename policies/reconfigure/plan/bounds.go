package plan

import (
	"fmt"
	"math"
	"slices"

	"sim/policies/reconfigure/cancellation"
)

// Models to which a lower bound applies. Each allows more plans than the one before it, so
// its bound is not higher.
const (
	// RoundModel: chunks move in rounds. All chunks of a round start with it and none
	// waits. A round takes as many slots as its longest path, and no chunk crosses a
	// reconfiguration (Sec. 3.1 of the paper, Theorem 1).
	RoundModel = "round"
	// ForwardModel: chunks are stored and forwarded, and may wait. No chunk crosses a
	// reconfiguration.
	ForwardModel = "forward"
	// FluidModel: as ForwardModel, but links carry parts of several chunks simultaneously,
	// so slots need not be whole.
	FluidModel = "fluid"
	// RelayModel: chunks may also rest at intermediate GPUs across reconfigurations.
	RelayModel = "relay"
)

// Bounds are lower bounds on the slots of all plans with a given number of topologies.
type Bounds struct {
	// Bounds in the RoundModel, the ForwardModel and the RelayModel. Round applies to
	// uniform demand; it is 0 for other demand.
	Round, Forward, Relay int64
	// Circulant and CirculantRelay are Forward and Relay for plans whose topologies are all
	// circulants.
	Circulant, CirculantRelay int64
}

// Bounder computes Bounds of one problem for any number of topologies.
//
// All bounds except Round count hops. Suppose that at most size(h) destinations of a source
// can be h hops away. Its chunks take the minimum hops if its size(1) largest demands are 1 hop
// away, the next size(2) demands 2 hops, and so on. The same holds for the sources of a
// destination. A slot has n k links, so the slots are at least this sum of hops / (n k). In
// addition, all chunks that a GPU sends, or receives, cross its k links.
type Bounder struct {
	n, k    int64 // GPUs; links out of and into each
	uniform int64 // chunks per pair, 0 if they differ
	// outSums[i] is the sum over sources of their i largest demands. inSums is the same for
	// destinations.
	outSums, inSums []int64
	volume          int64 // maximum number of chunks out of or into a GPU
}

// NewBounder prepares the bounds of p. The error is ErrProblem if there are too many chunks
// to count, cancellation.ErrCancelled, or an error of p.Check.
func NewBounder(p *Problem, stop cancellation.Condition) (_ *Bounder, err error) {
	defer cancellation.Recover(&err)
	if err := p.Check(); err != nil {
		return nil, err
	}
	n := p.GPUs
	b := &Bounder{
		n:       int64(n),
		k:       int64(p.Degree),
		outSums: make([]int64, n),
		inSums:  make([]int64, n),
	}

	if c, ok := p.Uniform(); ok {
		b.uniform = int64(c)
	}
	row := make([]int32, n)
	column := make([]int32, n)
	for u := range n {
		stop.Check()
		for v := range n {
			row[v], column[v] = p.Chunks[u*n+v], p.Chunks[v*n+u]
		}
		b.volume = max(b.volume, addSorted(b.outSums, row), addSorted(b.inSums, column))
	}

	for i := range n - 1 {
		b.outSums[i+1] += b.outSums[i]
		b.inSums[i+1] += b.inSums[i]
	}
	if total := b.outSums[n-1]; total > math.MaxInt64/8/b.n {
		return nil, fmt.Errorf("%w: %d chunks among %d GPUs are too many to count", ErrProblem,
			total, n)
	}
	return b, nil
}

// Volume returns a lower bound on the slots: the chunks that a GPU sends, or receives,
// divided by its links.
func (b *Bounder) Volume() int64 { return (b.volume + b.k - 1) / b.k }

// addSorted adds the i-th largest entry of list to into[i], for i >= 1, and returns the sum
// of the list. It sorts list. list is a row or column of the demand matrix, whose diagonal is
// 0. So the smallest entry is 0, and is skipped.
func addSorted(into []int64, list []int32) (sum int64) {
	slices.Sort(list)
	for i := 1; i < len(list); i++ {
		x := int64(list[len(list)-i])
		into[i] += x
		sum += x
	}
	return sum
}

// At returns the bounds for d topologies, including the first. The error is ErrProblem if d
// is below 1.
//
// These are the numbers of destinations that a source can have h hops away (h > 0):
//
//   - Forward: k choices per hop on one of d topologies, d k^h.
//   - Relay: the phases of a path's hops do not decrease. So there are C(h+d-1, d-1)
//     distributions of its h hops over d phases, and each hop has k choices: C(h+d-1,
//     d-1) k^h. This holds for all topologies.
//   - Circulants: hops within a phase commute, so only the number of hops over each
//     offset matters: d C(h+k-1, k-1) without relaying. With relaying all d k offsets
//     commute: C(h+dk-1, dk-1).
func (b *Bounder) At(d int) (Bounds, error) {
	if d < 1 {
		return Bounds{}, fmt.Errorf("%w: %d topologies; want at least 1, because the first one counts",
			ErrProblem, d)
	}
	k, m := b.k, min(int64(d), b.n) // with n topologies all pairs can be one hop apart
	minSlots := func(c pathCount) int64 { return b.slotsForHops(b.minHops(c.levels(b.n))) }
	return Bounds{
		Round:          b.roundBound(m),
		Forward:        minSlots(pathCount{times: m, kinds: 1, choices: k}),
		Relay:          minSlots(pathCount{times: 1, kinds: m, choices: k}),
		Circulant:      minSlots(pathCount{times: m, kinds: k, choices: 1}),
		CirculantRelay: minSlots(pathCount{times: 1, kinds: m * k, choices: 1}),
	}, nil
}

// roundBound is the bound of the RoundModel. A round starts at most k chunks at a GPU. Of
// the c(n-1) chunks of a source, at most c d (k + .. + k^h) are within h hops. So at least
// ceil(c(n-1)/k) - c d (k^h-1)/(k-1) rounds are longer than h. A round takes 1 slot for
// each h below its length. For c = k = 1 this is Theorem 1 of the paper, d q(q+1)/2 +
// u(q+1), where n-1 = d q + u with u < d.
func (b *Bounder) roundBound(d int64) (slots int64) {
	rounds := (b.uniform*(b.n-1) + b.k - 1) / b.k
	for power := int64(1); rounds > 0; power *= b.k {
		slots += rounds
		rounds -= b.uniform * min(d*power, b.n) // if d power >= n, no rounds remain in either case
	}
	return slots
}

// pathCount counts the paths of h hops as times * C(h+kinds-1, kinds-1) * choices^h. Each hop
// is of one of several kinds, and only the number of hops of each kind matters, not their
// order. A hop has the given number of choices. There are several such sets of paths (times).
type pathCount struct{ times, kinds, choices int64 }

// levels returns how many destinations can be 1, 2, .. hops away, until all others of n
// GPUs are reached.
func (r pathCount) levels(n int64) []int64 {
	var sizes []int64
	count := 1.0 // exact below n; larger values are cut off
	for left, h := n-1, int64(1); left > 0; h++ {
		count = count * float64(h+r.kinds-1) / float64(h) * float64(r.choices)
		size := left
		if c := float64(r.times) * count; c < float64(left) {
			size = int64(c)
		}
		sizes = append(sizes, size)
		left -= size
	}

	return sizes
}

// minHops returns the minimum hops of all chunks, given how many destinations can be 1, 2,
// .. hops away. It is the larger of the sums over sources and over destinations.
func (b *Bounder) minHops(levels []int64) int64 {
	var out, into int64
	numServed := int64(0) // destinations at fewer hops
	for i, size := range levels {
		h := int64(i + 1)
		out += h * (b.outSums[numServed+size] - b.outSums[numServed])
		into += h * (b.inSums[numServed+size] - b.inSums[numServed])
		numServed += size
	}

	return max(out, into)
}

// slotsForHops returns a lower bound on the slots for the given total of hops.
func (b *Bounder) slotsForHops(hops int64) int64 {
	links := b.n * b.k
	return max((hops+links-1)/links, b.Volume())
}
