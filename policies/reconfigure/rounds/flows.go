package rounds

import (
	"cmp"
	"slices"
)

// This file computes the slots of a schedule of rounds for flows of different sizes. A flow is the
// chunks from one GPU to another. A schedule numbers its nodes; label[i] is the GPU at node i, so
// that relabelling moves GPUs without a change of the schedule.

// classOf returns the class of the flow from node i to node j: the index of its round and path in
// the schedule. In a circulant, all flows with the same offset j-i have one class. Otherwise each
// flow has its own class.
func (s *roundSchedule) classOf(i, j int) int {
	if s.isCirculant() {
		offset := (j - i + s.n) % s.n
		return offset - 1 // no flow has offset 0
	}
	if j > i {
		j-- // no flow leads from i to i
	}
	return i*(s.n-1) + j
}

// flowGroups groups the flows by round and hops. For given numbers of chunks, the slots of the
// rounds depend only on the maximum number of chunks in each group.
type flowGroups struct {
	// groupOf[i*n+j] is the group of the flow from node i to node j; -1 if i = j.
	groupOf []int32
	// Indexed by group. Groups are sorted by round, and within a round by decreasing hops.
	hops      []int32
	endsRound []bool // whether the group is the last one of its round
}

// groupFlows returns the groups of a schedule.
func (s *roundSchedule) groupFlows() *flowGroups {
	// A slot of the table for each round and number of hops, in the order of groups.
	maxHops := slices.Max(s.hops)
	slot := func(class int) int32 {
		return s.round[class]*maxHops + maxHops - s.hops[class]
	}
	exists := make([]bool, len(s.rounds)*int(maxHops)) // indexed by slot
	for class := range s.round {
		exists[slot(class)] = true
	}

	// Number the slots with flows.
	g := &flowGroups{groupOf: make([]int32, s.n*s.n)}
	groupAt := make([]int32, len(exists)) // indexed by slot
	for round := range s.rounds {
		isEmpty := true
		for hops := maxHops; hops > 0; hops-- {
			i := int32(round)*maxHops + maxHops - hops
			if exists[i] {
				groupAt[i] = int32(len(g.hops))
				g.hops = append(g.hops, hops)
				g.endsRound = append(g.endsRound, false)
				isEmpty = false
			}
		}
		if !isEmpty {
			g.endsRound[len(g.endsRound)-1] = true
		}
	}

	for i := range s.n {
		for j := range s.n {
			if i == j {
				g.groupOf[i*s.n+j] = -1
				continue
			}
			g.groupOf[i*s.n+j] = groupAt[slot(s.classOf(i, j))]
		}
	}
	return g
}

// slotsOf returns the slots of all rounds if each group has at most maxChunks chunks per flow,
// indexed by group. A round sends chunk 0 of all its flows, then chunk 1 of the flows that have
// one, and so on. It takes for chunk c the maximum hops of all flows with more than c chunks.
//
// Groups of a round come in the order of decreasing hops. A group therefore determines the slots
// of the chunks that no earlier group of the round has.
func (g *flowGroups) slotsOf(maxChunks []int64) int64 {
	var sum, counted int64 // counted is the number of chunks of the round whose slots are in sum
	for i, hops := range g.hops {
		if chunks := maxChunks[i]; chunks > counted {
			sum += int64(hops) * (chunks - counted)
			counted = chunks
		}
		if g.endsRound[i] {
			counted = 0
		}
	}

	return sum
}

// slots returns the slots of all rounds if the flow from node i to node j has
// chunks[label[i]*n+label[j]] chunks.
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

// chunkFlow is a flow with at least one chunk.
type chunkFlow struct {
	class    int32 // roundSchedule.classOf
	node     int32 // source node in the schedule
	src, dst int32 // source and destination GPU
	chunks   int32 // number of chunks
	// pathStart and pathEnd are scratch of roundSchedule.listPaths: the position of the flow's
	// path in its list of links.
	pathStart, pathEnd int32
}

// flowsByPhase returns the flows with chunks, indexed by phase. The flows of a phase are ordered by
// source GPU and then by destination GPU. chunks[a*n+b] is the number of chunks from GPU a to GPU b.
func (s *roundSchedule) flowsByPhase(chunks, label []int32) [][]chunkFlow {
	n := s.n
	node := make([]int32, n) // indexed by GPU
	for i, gpu := range label {
		node[gpu] = int32(i)
	}

	// Count the flows first, so that the lists of all phases share one array.
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
				list[phase] = append(list[phase], chunkFlow{
					class: int32(u), node: node[a], src: int32(a), dst: int32(b), chunks: c,
				})
			}
		}
	}

	return list
}

// loads returns two counts over all chunks: the number of times that a chunk crosses a link, and a
// lower bound on the slots. The bound is the sum over phases of the maximum number of chunks on a
// link. All flows have chunksPerFlow chunks; if this is 0, they differ and are in chunks.
func (s *roundSchedule) loads(chunks, label []int32, chunksPerFlow int32) (crossings, bound int64) {
	firstLink := make([]int, s.numPhases()+1) // first link of each phase in load
	for i := range s.numPhases() {
		firstLink[i+1] = firstLink[i] + s.links(i)
	}
	load := make([]int64, firstLink[s.numPhases()])

	// With equal flows in a circulant, all sources take the same paths rotated. Each link of an
	// offset therefore carries as many chunks as one source sends over this offset, and one source
	// is enough.
	sources, oneSource := s.n, chunksPerFlow > 0 && s.isCirculant()
	if oneSource {
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

			for _, link := range links {
				if oneSource {
					// Links are numbered by node and then by offset. Count all links of an
					// offset as the one of node 0.
					link %= int32(len(s.offsets[phase]))
				}
				load[firstLink[phase]+int(link)] += c
			}
		}
	}

	for i := range s.numPhases() {
		bound += slices.Max(load[firstLink[i]:firstLink[i+1]])
	}
	if oneSource {
		crossings *= int64(s.n)
	}
	return crossings, bound
}

// compareRounds compares flows by round, for a stable sort.
func (s *roundSchedule) compareRounds(a, b chunkFlow) int {
	return cmp.Compare(s.round[a.class], s.round[b.class])
}
