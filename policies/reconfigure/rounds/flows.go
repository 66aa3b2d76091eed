package rounds

import (
	"cmp"
	"slices"
)

// classOf returns the unit of the flow from i to j, in the node numbers of the schedule.
func (s *roundSchedule) classOf(i, j int) int {
	if s.isCirculant() {
		return (j-i+s.n)%s.n - 1
	}
	if j > i {
		j--
	}
	return i*(s.n-1) + j
}

// flowGroups groups the flows by round and hops, because the slots of the rounds depend on
// nothing else.
type flowGroups struct {
	// groupOf[i*n+j] is the group of the flow from i to j, in the node numbers of the
	// schedule; -1 if i = j.
	groupOf []int32
	// hops of each group. Groups are sorted by round and then by decreasing hops. endsRound
	// marks the last group of each round.
	hops      []int32
	endsRound []bool
}

// groupFlows returns the groups of a schedule.
func (s *roundSchedule) groupFlows() *flowGroups {
	g := &flowGroups{groupOf: make([]int32, s.n*s.n)}
	maxHops := slices.Max(s.hops)
	number := make([]int32, len(s.rounds)*int(maxHops))
	for u, r := range s.round {
		number[r*maxHops+maxHops-s.hops[u]] = 1
	}
	for i, exists := range number {
		if exists == 0 {
			continue
		}
		number[i] = int32(len(g.hops))
		if int32(i)%maxHops == maxHops-s.rounds[int32(i)/maxHops].hops && len(g.endsRound) > 0 {
			g.endsRound[len(g.endsRound)-1] = true
		}
		g.hops = append(g.hops, maxHops-int32(i)%maxHops)
		g.endsRound = append(g.endsRound, false)
	}

	g.endsRound[len(g.endsRound)-1] = true
	for i := range s.n {
		for j := range s.n {
			if i == j {
				g.groupOf[i*s.n+j] = -1
				continue
			}
			u := s.classOf(i, j)
			g.groupOf[i*s.n+j] = number[s.round[u]*maxHops+maxHops-s.hops[u]]
		}
	}

	return g
}

// slotsOf returns the slots of all rounds, chunk by chunk. Chunk c of a round takes the
// largest number of hops of its flows with more than c chunks. maxChunks is the largest
// number of chunks in each group.
func (g *flowGroups) slotsOf(maxChunks []int64) int64 {
	var sum, above int64
	for i, h := range g.hops {
		if t := maxChunks[i]; t > above {
			sum += int64(h) * (t - above)
			above = t
		}
		if g.endsRound[i] {
			above = 0
		}
	}

	return sum
}

// slots returns slotsOf for labelled flows: flow i->j has chunks[label[i]*n+label[j]]
// chunks.
func (g *flowGroups) slots(n int, chunks, label []int32) int64 {
	maxChunks := make([]int64, len(g.hops))
	for i := range n {
		row := chunks[int(label[i])*n:][:n]
		for j, group := range g.groupOf[i*n : (i+1)*n] {
			if group >= 0 {
				maxChunks[group] = max(maxChunks[group], int64(row[label[j]]))
			}
		}
	}

	return g.slotsOf(maxChunks)
}

// chunkFlow is a flow that consists of chunks. The flows of a phase are ordered by source and
// destination GPU.
type chunkFlow struct {
	class              int32
	node               int32 // source, in the node numbers of the schedule
	src, dst           int32 // source and destination, as GPUs
	chunks             int32
	pathStart, pathEnd int32 // for roundSchedule.listPaths
}

// flowsByPhase returns the flows with chunks, indexed by phase.
func (s *roundSchedule) flowsByPhase(chunks, label []int32) [][]chunkFlow {
	n := s.n
	node := make([]int32, n)
	for i, l := range label {
		node[l] = int32(i)
	}

	// Count the flows first, so that all lists share one array.
	start := make([]int32, s.numPhases()+1)
	for i := range n {
		for j := range n {
			if i != j && chunks[int(label[i])*n+int(label[j])] > 0 {
				start[s.rounds[s.round[s.classOf(i, j)]].phase+1]++
			}
		}
	}

	for i := range s.numPhases() {
		start[i+1] += start[i]
	}
	flows := make([]chunkFlow, start[s.numPhases()])
	list := make([][]chunkFlow, s.numPhases())
	for i := range list {
		list[i] = flows[start[i]:start[i]:start[i+1]]
	}

	for a := range n {
		for b := range n {
			if c := chunks[a*n+b]; c > 0 {
				u := s.classOf(int(node[a]), int(node[b]))
				phase := s.rounds[s.round[u]].phase
				list[phase] = append(list[phase],
					chunkFlow{int32(u), node[a], int32(a), int32(b), c, 0, 0})
			}
		}
	}

	return list
}

// loads returns the number of link crossings of all chunks, and a lower bound on the slots:
// the sum over phases of the largest number of crossings of a link. chunksPerFlow is 0 if
// flows are unequal.
func (s *roundSchedule) loads(chunks, label []int32, chunksPerFlow int32) (crossings, bound int64) {
	first := make([]int, s.numPhases()+1)
	for i := range s.numPhases() {
		first[i+1] = first[i] + s.links(i)
	}
	load := make([]int64, first[s.numPhases()])
	sources := s.n
	if chunksPerFlow > 0 && s.isCirculant() {
		// All sources take the same paths rotated. Each link of an offset therefore carries
		// what one source sends over this offset.
		sources = 1
	}

	var links []int32
	for i := range sources {
		for j := range s.n {
			if i == j {
				continue
			}
			c := int64(chunksPerFlow)
			if chunksPerFlow == 0 {
				c = int64(chunks[int(label[i])*s.n+int(label[j])])
			}
			u := s.classOf(i, j)
			phase := int(s.rounds[s.round[u]].phase)
			links = s.appendLinks(links[:0], u, int32(i))
			crossings += c * int64(len(links))

			for _, l := range links {
				if sources == 1 {
					l %= int32(len(s.offsets[phase]))
				}
				load[first[phase]+int(l)] += c
			}
		}
	}

	for i := range s.numPhases() {
		bound += slices.Max(load[first[i]:first[i+1]])
	}
	if sources == 1 {
		crossings *= int64(s.n)
	}
	return crossings, bound
}

// compareRounds compares flows by round, for a stable sort.
func (s *roundSchedule) compareRounds(a, b chunkFlow) int {
	return cmp.Compare(s.round[a.class], s.round[b.class])
}
