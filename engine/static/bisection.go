package static

import (
	"math/rand/v2"
	"slices"

	"sim/engine"
	"sim/internal/csr"
)

// Cut returns how many links that are up, counted in each direction, lead from one side to the other; side is by node.
func Cut(n *engine.Network, side []bool) int64 {
	cut := int64(0)
	for _, l := range n.Links {
		if l.Rate > 0 && side[l.From] != side[l.To] {
			cut++
		}
	}
	return cut
}

// BoxHalves returns the halves of a box of nodes, numbered with the last dimension fastest, between two planes across a
// dimension: of every even size, the half of its coordinates from each of 0..size/2-1 on. The cuts of these are upper
// bounds on the bisection of a torus, twisted or not.
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

// bisectionStarts is how many random halves Bisection begins from.
const bisectionStarts = 16

// bisectionStream names the random numbers of Bisection, beside the seed.
const bisectionStream = 0x6269736563740000 // "bisect"

// Bisection returns the smallest cut that it finds between halves of the nodes (sizes that differ by one at most), and
// its sides: Fiduccia and Mattheyses, A Linear-Time Heuristic for Improving Network Partitions, DAC 1982, from the
// halves given (sides that are no halves are left out), from nodes in their order, and from random ones. It is an upper
// bound on the bisection.
func Bisection(n *engine.Network, seed uint64, initial ...[]bool) (int64, []bool) {
	p := newPartition(n)
	half := make([]bool, n.Nodes)
	for a := range half[:len(half)/2] {
		half[a] = true
	}
	starts := slices.DeleteFunc(slices.Clone(initial), func(side []bool) bool {
		more := 0
		for _, s := range side {
			if s {
				more++
			}
		}
		return len(side) != len(half) || 2*more < len(side)-1 || 2*more > len(side)+1
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

// partition is the state of a search for a small cut.
type partition struct {
	start, neighbours []int32 // nodes next to each, once a link in either direction
	side              []bool
	gain              []int32 // by how much the cut shrinks if the node changes sides
	locked            []bool
	maxGain           int32        // gains are within -most..most
	bucket            [2][][]int32 // by side and gain+most: nodes that had it, the last first
	top               [2]int32     // no bucket above has an entry
	moves             []int32
}

func newPartition(n *engine.Network) *partition {
	p := &partition{side: make([]bool, n.Nodes), gain: make([]int32, n.Nodes), locked: make([]bool, n.Nodes)}
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

// improve takes passes of moves from a half until none shrinks the cut, which it returns; p.side then has the sides.
func (p *partition) improve(n *engine.Network, from []bool) int64 {
	copy(p.side, from)
	cut := Cut(n, p.side)
	for {
		by := p.pass()
		if by == 0 {
			return cut
		}
		cut -= by
	}
}

// pass moves every node once, always from the larger side the one that shrinks the cut most, and keeps the moves up to
// the best balanced point. It returns by how much the cut has shrunk.
func (p *partition) pass() int64 {
	larger := 0 // nodes of side true beyond those of side false
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
			larger++
		} else {
			larger--
		}
	}
	p.moves = p.moves[:0]
	sum, best, keep := int64(0), int64(0), 0
	for {
		s := 0
		if larger > 0 || larger == 0 && p.bestBucket(1) > p.bestBucket(0) {
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
		if larger += 2; s == 1 {
			larger -= 4
		}
		if sum > best && larger >= -1 && larger <= 1 {
			best, keep = sum, len(p.moves)
		}
	}
	for _, a := range p.moves[keep:] {
		p.side[a] = !p.side[a]
	}
	return best
}

// bestBucket drops outdated entries of a side and returns the bucket of its best node, -1 where none may move.
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

func (p *partition) push(a int32) {
	s := 0
	if p.side[a] {
		s = 1
	}
	g := p.gain[a] + p.maxGain
	p.bucket[s][g] = append(p.bucket[s][g], a)
	p.top[s] = max(p.top[s], g)
}

// move changes the side of a node for good in this pass.
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
