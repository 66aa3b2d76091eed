package rounds

import (
	"cmp"
	"slices"
)

// unit returns the unit of the flow from i to j, in the scheme's labels.
func (s *scheme) unit(i, j int) int {
	if s.circulant() {
		return (j-i+s.n)%s.n - 1
	}
	if j > i {
		j--
	}
	return i*(s.n-1) + j
}

// groups are the flows of equal round and hops: all that the cost of the rounds depends on.
type groups struct {
	// of[i*n+j] is the group of the flow i->j, in the scheme's labels; -1 on the diagonal.
	of []int32
	// hops of every group. Groups are in the order of rounds, those of more hops first; last[g] ends a round.
	hops []int32
	last []bool
}

func (s *scheme) groups() *groups {
	g := &groups{of: make([]int32, s.n*s.n)}
	most := slices.Max(s.hops)
	number := make([]int32, len(s.rounds)*int(most))
	for u, r := range s.round {
		number[r*most+most-s.hops[u]] = 1
	}
	for i, there := range number {
		if there == 0 {
			continue
		}
		number[i] = int32(len(g.hops))
		if int32(i)%most == most-s.rounds[int32(i)/most].hops && len(g.last) > 0 {
			g.last[len(g.last)-1] = true
		}
		g.hops, g.last = append(g.hops, most-int32(i)%most), append(g.last, false)
	}
	g.last[len(g.last)-1] = true
	for i := range s.n {
		for j := range s.n {
			if i == j {
				g.of[i*s.n+j] = -1
				continue
			}
			u := s.unit(i, j)
			g.of[i*s.n+j] = number[s.round[u]*most+most-s.hops[u]]
		}
	}
	return g
}

// cost is the slots of all rounds, chunk by chunk: chunk c of a round takes the most hops of its flows that have more
// than c chunks. top is the largest count of chunks, by group.
func (g *groups) cost(top []int64) int64 {
	var sum, above int64
	for i, h := range g.hops {
		if t := top[i]; t > above {
			sum += int64(h) * (t - above)
			above = t
		}
		if g.last[i] {
			above = 0
		}
	}
	return sum
}

// slots is the cost of chunks[label[i]*n+label[j]] for every flow i->j.
func (g *groups) slots(n int, chunks, label []int32) int64 {
	top := make([]int64, len(g.hops))
	for i := range n {
		row := chunks[int(label[i])*n:][:n]
		for j, at := range g.of[i*n : (i+1)*n] {
			if at >= 0 {
				top[at] = max(top[at], int64(row[label[j]]))
			}
		}
	}
	return g.cost(top)
}

// flows are those of one phase that have chunks, in the order of their numbers by GPU.
type flow struct {
	unit     int32
	src      int32 // in the scheme's labels
	gpu, to  int32 // as GPUs
	chunks   int32
	from, at int32 // for the caller
}

// byPhase sorts out the flows with chunks: those of phase i at list[i].
func (s *scheme) byPhase(chunks, label []int32) [][]flow {
	n := s.n
	node := make([]int32, n)
	for i, l := range label {
		node[l] = int32(i)
	}
	// Counted first, so that the lists lie in one piece.
	start := make([]int32, s.phases()+1)
	for i := range n {
		for j := range n {
			if i != j && chunks[int(label[i])*n+int(label[j])] > 0 {
				start[s.rounds[s.round[s.unit(i, j)]].phase+1]++
			}
		}
	}
	for i := range s.phases() {
		start[i+1] += start[i]
	}
	flows := make([]flow, start[s.phases()])
	list := make([][]flow, s.phases())
	for i := range list {
		list[i] = flows[start[i]:start[i]:start[i+1]]
	}
	for a := range n {
		for b := range n {
			if c := chunks[a*n+b]; c > 0 {
				u := s.unit(int(node[a]), int(node[b]))
				phase := s.rounds[s.round[u]].phase
				list[phase] = append(list[phase], flow{int32(u), node[a], int32(a), int32(b), c, 0, 0})
			}
		}
	}
	return list
}

// loads returns the crossings of links by all chunks, and the sum over phases of the most on one link, which no
// schedule of the chunks undercuts. each is the chunks of every flow, 0 if they differ.
func (s *scheme) loads(chunks, label []int32, each int32) (crossings, bound int64) {
	first := make([]int, s.phases()+1)
	for i := range s.phases() {
		first[i+1] = first[i] + s.links(i)
	}
	load := make([]int64, first[s.phases()])
	sources := s.n
	if each > 0 && s.circulant() {
		// All sources take the same paths rotated, so every link of an offset carries what one source sends by that
		// offset.
		sources = 1
	}
	var links []int32
	for i := range sources {
		for j := range s.n {
			if i == j {
				continue
			}
			c := int64(each)
			if each == 0 {
				c = int64(chunks[int(label[i])*s.n+int(label[j])])
			}
			u := s.unit(i, j)
			phase := int(s.rounds[s.round[u]].phase)
			links = s.walk(links[:0], u, int32(i))
			crossings += c * int64(len(links))
			for _, l := range links {
				if sources == 1 {
					l %= int32(len(s.offsets[phase]))
				}
				load[first[phase]+int(l)] += c
			}
		}
	}
	for i := range s.phases() {
		bound += slices.Max(load[first[i]:first[i+1]])
	}
	if sources == 1 {
		crossings *= int64(s.n)
	}
	return crossings, bound
}

// byRound compares flows by round, and within one keeps their order if the sort is stable.
func (s *scheme) byRound(a, b flow) int { return cmp.Compare(s.round[a.unit], s.round[b.unit]) }
