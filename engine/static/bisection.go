package static

// This file bounds the bisection of a network from above, by local search.

import (
	"math/rand/v2"
	"slices"

	"sim/engine"
	"sim/internal/csr"
)

// Cut returns the number of directed links that are up and connect the two sides. side is
// indexed by node.
func Cut(n *engine.Network, side []bool) int64 {
	cut := int64(0)
	for _, l := range n.Links {
		if l.Rate > 0 && side[l.From] != side[l.To] {
			cut++
		}
	}
	return cut
}

// BoxHalves returns halves of a box of nodes that lie between two parallel planes. Nodes are
// numbered with the last dimension fastest. For every dimension of even size, there is one half
// starting at each coordinate 0..size/2-1. The cuts of these halves are upper bounds on the
// bisection of a torus, twisted or not.
func BoxHalves(dims ...int) [][]bool {
	nodes := 1
	for _, size := range dims {
		nodes *= size
	}

	var all [][]bool
	stride := nodes
	for _, size := range dims {
		stride /= size
		for from := 0; size%2 == 0 && from < size/2; from++ {
			side := make([]bool, nodes)
			for a := range side {
				c := a / stride % size
				side[a] = c >= from && c < from+size/2
			}
			all = append(all, side)
		}
	}
	return all
}

// bisectionStarts is the number of random halves from which Bisection starts. Each one can
// lead to another local minimum, and takes a time proportional to the number of links.
const bisectionStarts = 16

// bisectionStream selects the random stream of Bisection, in addition to the seed. It is the
// text "bisect" in ASCII.
const bisectionStream = 0x6269736563740000

// Bisection searches for the minimum cut between two halves of the nodes, whose sizes differ by at
// most one. It returns the smallest cut found and its sides, an upper bound on the bisection.
//
// The search is the heuristic of Fiduccia and Mattheyses ("A Linear-Time Heuristic for Improving
// Network Partitions", DAC 1982). It starts from the given halves, from the nodes in their
// order, and from random halves. Given sides that are not halves are ignored.
func Bisection(n *engine.Network, seed uint64, initial ...[]bool) (int64, []bool) {
	p := newPartition(n)
	half := make([]bool, n.Nodes)
	for a := range half[:len(half)/2] {
		half[a] = true
	}

	// Start from the given halves, from the order of the nodes, and from random halves.
	starts := slices.DeleteFunc(slices.Clone(initial), func(side []bool) bool {
		numTrue := 0
		for _, s := range side {
			if s {
				numTrue++
			}
		}
		return len(side) != len(half) || 2*numTrue < len(side)-1 || 2*numTrue > len(side)+1
	})
	starts = append(starts, slices.Clone(half))
	random := rand.New(rand.NewPCG(seed, bisectionStream))
	for range bisectionStarts {
		random.Shuffle(len(half), func(i, j int) { half[i], half[j] = half[j], half[i] })
		starts = append(starts, slices.Clone(half))
	}

	minCut, bestSide := int64(-1), []bool(nil)
	for _, side := range starts {
		if cut := p.improve(n, side); minCut < 0 || cut < minCut {
			minCut, bestSide = cut, slices.Clone(p.side)
		}
	}
	return minCut, bestSide
}

// partition is the state of a local search for a small cut.
type partition struct {
	// The neighbours of node a are neighbours[start[a]:start[a+1]], one entry per directed
	// link.
	start, neighbours []int32
	side              []bool  // the side of each node
	gain              []int32 // reduction of the cut if a node changes sides, indexed by node
	locked            []bool  // the node was moved in this pass
	maxGain           int32   // largest possible gain: the maximum degree
	// bucket holds nodes that had a gain, indexed by side and gain+maxGain, newest last.
	bucket [2][][]int32
	top    [2]int32 // no higher bucket has an entry, indexed by side
	moves  []int32  // nodes in the order in which they were moved in this pass
}

// newPartition returns a partition of the nodes of n, all on one side.
func newPartition(n *engine.Network) *partition {
	p := &partition{
		side: make([]bool, n.Nodes), gain: make([]int32, n.Nodes), locked: make([]bool, n.Nodes)}

	// Each link makes its two nodes neighbours of each other.
	var ends [][2]int32
	for _, l := range n.Links {
		if l.Rate > 0 && l.From != l.To {
			ends = append(ends, [2]int32{l.From, l.To}, [2]int32{l.To, l.From})
		}
	}

	p.start, ends = csr.Sort(ends, int(n.Nodes), func(e [2]int32) int32 { return e[0] })
	for a := range n.Nodes {
		p.maxGain = max(p.maxGain, p.start[a+1]-p.start[a])
	}

	for _, e := range ends {
		p.neighbours = append(p.neighbours, e[1])
	}

	for s := range p.bucket {
		p.bucket[s] = make([][]int32, 2*p.maxGain+1)
	}
	return p
}

// improve runs passes from a given half until a pass does not reduce the cut. It returns the
// cut, and leaves the sides in p.side.
func (p *partition) improve(n *engine.Network, from []bool) int64 {
	copy(p.side, from)
	cut := Cut(n, p.side)
	for {
		reduction := p.pass()
		if reduction == 0 {
			return cut
		}
		cut -= reduction
	}
}

// pass moves every node once. Each move takes the node with the largest gain from the larger
// side. The pass then undoes the moves after the best balanced point. It returns the reduction
// of the cut.
func (p *partition) pass() int64 {
	// Compute the gains and fill the buckets.
	surplus := 0 // number of nodes on side true minus number on side false
	for s := range p.bucket {
		for g := range p.bucket[s] {
			p.bucket[s][g] = p.bucket[s][g][:0]
		}
		p.top[s] = 2 * p.maxGain
	}

	for a := range p.side {
		p.gain[a], p.locked[a] = 0, false
		for _, b := range p.neighbours[p.start[a]:p.start[a+1]] {
			if p.side[a] != p.side[b] {
				p.gain[a]++
			} else {
				p.gain[a]--
			}
		}
		p.push(int32(a))
		if p.side[a] {
			surplus++
		} else {
			surplus--
		}
	}
	p.moves = p.moves[:0]

	// Move the best node of the larger side until no node can move. Side false has index 0 in
	// bucket and top, and side true index 1. sum is the total gain, and best is its maximum at a
	// balanced point, after the first keep moves.
	sum, best, keep := int64(0), int64(0), 0
	for {
		s := 0
		if surplus > 0 || surplus == 0 && p.bestBucket(1) > p.bestBucket(0) {
			s = 1
		}
		if p.bestBucket(s) < 0 {
			break
		}
		bucket := &p.bucket[s][p.top[s]]
		a := (*bucket)[len(*bucket)-1]
		*bucket = (*bucket)[:len(*bucket)-1]
		sum += int64(p.gain[a])
		p.move(a)
		p.moves = append(p.moves, a)
		if s == 1 { // from side true to side false
			surplus -= 2
		} else {
			surplus += 2
		}
		if sum > best && surplus >= -1 && surplus <= 1 {
			best, keep = sum, len(p.moves)
		}
	}

	for _, a := range p.moves[keep:] {
		p.side[a] = !p.side[a]
	}
	return best
}

// bestBucket removes outdated entries of a side and returns the bucket of its node with the
// largest gain, -1 if no node can move.
func (p *partition) bestBucket(s int) int32 {
	for ; p.top[s] >= 0; p.top[s]-- {
		bucket := p.bucket[s][p.top[s]]
		for len(bucket) > 0 {
			a := bucket[len(bucket)-1]
			if !p.locked[a] && p.gain[a]+p.maxGain == p.top[s] {
				break
			}
			bucket = bucket[:len(bucket)-1]
		}
		if p.bucket[s][p.top[s]] = bucket; len(bucket) > 0 {
			return p.top[s]
		}
	}
	return -1
}

// push adds a node to the bucket of its gain.
func (p *partition) push(a int32) {
	s := 0
	if p.side[a] {
		s = 1
	}
	g := p.gain[a] + p.maxGain
	p.bucket[s][g] = append(p.bucket[s][g], a)
	p.top[s] = max(p.top[s], g)
}

// move changes the side of a node and updates the gains of its neighbours.
func (p *partition) move(a int32) {
	p.locked[a], p.side[a] = true, !p.side[a]
	for _, b := range p.neighbours[p.start[a]:p.start[a+1]] {
		if p.side[a] == p.side[b] {
			p.gain[b] -= 2
		} else {
			p.gain[b] += 2
		}
		if !p.locked[b] {
			p.push(b)
		}
	}
}
