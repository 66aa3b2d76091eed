package circulant

// sourceSchedule is a plan for the chunks of one source, which all others follow by rotation.
type sourceSchedule struct {
	n, k       int
	chunks     int32 // a pair
	relay      bool
	phases     [][]int // offsets; those of phase p are generators p*k .. p*k+k-1 of ways
	paths      *pathTable
	pathChunks []int32 // chunks by way
	slots      []int64 // by phase
	imbalance  int64   // unevenness of its loads, which breaks ties of slots
}

// total is the slots of all phases.
func (s *sourceSchedule) total() (sum int64) {
	for _, x := range s.slots {
		sum += x
	}
	return sum
}

// setSlots sets the slots of every phase to what an open shop of unit tasks needs, the most of its generators' loads and
// of the hops of a chunk in it: the chunks and the generators are the sides of a bipartite graph whose edges, the hops,
// can be coloured with as many colours, the slots (König).
func (s *sourceSchedule) setSlots() {
	s.slots = make([]int64, len(s.phases))
	hops := make([]int64, len(s.phases))
	for q, c := range s.pathChunks {
		if c == 0 {
			continue
		}
		from, to := s.paths.pathStart[q], s.paths.pathStart[q+1]
		for i := from; i < to; i++ {
			hops[int(s.paths.gen[i])/s.k] += int64(s.paths.count[i])
		}
		for i := from; i < to; i++ {
			p := int(s.paths.gen[i]) / s.k
			s.slots[p] = max(s.slots[p], hops[p])
			hops[p] = 0
		}
	}
	for g, l := range s.loads() {
		s.slots[g/s.k] = max(s.slots[g/s.k], l)
	}
}

// usedPhases is how many phases carry anything.
func (s *sourceSchedule) usedPhases() (count int) {
	for _, x := range s.slots {
		if x > 0 {
			count++
		}
	}
	return count
}

// usedPaths returns the phases that carry anything, and a word to each offset that chunks take.
func (s *sourceSchedule) usedPaths() (phases [][]int, paths []offsetPath) {
	newIndex := make([]int, len(s.phases))
	for p, x := range s.slots {
		if newIndex[p] = len(phases); x > 0 {
			phases = append(phases, s.phases[p])
		}
	}
	for o := 1; o < s.n; o++ {
		for q := s.paths.start[o]; q < s.paths.start[o+1]; q++ {
			if s.pathChunks[q] == 0 {
				continue
			}
			w := offsetPath{to: int32(o), hops: s.paths.hops[q]}
			for i := s.paths.pathStart[q]; i < s.paths.pathStart[q+1]; i++ {
				g := int(s.paths.gen[i])
				w.gen, w.count = append(w.gen, int32(newIndex[g/s.k]*s.k+g%s.k)), append(w.count, s.paths.count[i])
			}
			paths = append(paths, w)
			break
		}
	}
	return phases, paths
}

// sourceChunk is a chunk of the source: chunk number chunk to offset dest, by a way.
type sourceChunk struct{ offset, number, path int32 }

// sourceChunks lists the chunks in the order of their offsets.
func (s *sourceSchedule) sourceChunks() []sourceChunk {
	var list []sourceChunk
	for o := 1; o < s.n; o++ {
		number := int32(0)
		for q := s.paths.start[o]; q < s.paths.start[o+1]; q++ {
			for range s.pathChunks[q] {
				list = append(list, sourceChunk{int32(o), number, q})
				number++
			}
		}
	}
	return list
}
