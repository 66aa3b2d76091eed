package circulant

// sourceSchedule is a schedule for the chunks of one source. All other sources follow it by
// rotation.
type sourceSchedule struct {
	n, k   int   // GPUs; links out of each GPU
	chunks int32 // chunks per pair
	relay  bool  // paths may use several phases
	// phases has the k offsets of each phase, its generators. Generator g is offset g%k of phase
	// g/k.
	phases [][]int
	// paths are the paths to each offset, over the generators of all phases.
	paths      *pathTable
	pathChunks []int32 // chunks, indexed by path
	slots      []int64 // indexed by phase
	// imbalance is the imbalance of the loads (loadBalancer.totalImbalance), the tie-break
	// between equal slots.
	imbalance int64
}

// total returns the slots of all phases.
func (s *sourceSchedule) total() (sum int64) {
	for _, x := range s.slots {
		sum += x
	}
	return sum
}

// setSlots sets the slots of each phase to the length of its open shop of unit tasks: the
// maximum of the loads of its generators and of the hops of its chunks. Chunks and
// generators are the two sides of a bipartite multigraph whose edges are the hops. By
// König's theorem its edges can be coloured with as many colours as the largest degree; the
// colours are the slots.
func (s *sourceSchedule) setSlots() {
	s.slots = make([]int64, len(s.phases))

	// The hops of a chunk in a phase need a slot each. hops has the hops of one path, by phase.
	hops := make([]int64, len(s.phases))
	for q, c := range s.pathChunks {
		if c == 0 {
			continue
		}
		from := s.paths.pathStart[q]
		to := s.paths.pathStart[q+1]
		for i := from; i < to; i++ {
			hops[int(s.paths.gen[i])/s.k] += int64(s.paths.count[i])
		}

		for i := from; i < to; i++ {
			p := int(s.paths.gen[i]) / s.k
			s.slots[p] = max(s.slots[p], hops[p])
			hops[p] = 0
		}
	}

	// The load of a generator needs a slot per hop.
	for g, l := range s.loads() {
		s.slots[g/s.k] = max(s.slots[g/s.k], l)
	}
}

// usedPhases returns the number of phases that carry chunks.
func (s *sourceSchedule) usedPhases() (count int) {
	for _, x := range s.slots {
		if x > 0 {
			count++
		}
	}
	return count
}

// usedPaths returns the phases that carry chunks, and one used path per offset, with
// generators renumbered for these phases.
func (s *sourceSchedule) usedPaths() (phases [][]int, paths []offsetPath) {
	newIndex := make([]int, len(s.phases)) // number of a phase among the used ones
	for p, x := range s.slots {
		if newIndex[p] = len(phases); x > 0 {
			phases = append(phases, s.phases[p])
		}
	}

	// Take the first used path q to each offset o. Generator g is offset g%k of phase g/k.
	for o := 1; o < s.n; o++ {
		for q := s.paths.start[o]; q < s.paths.start[o+1]; q++ {
			if s.pathChunks[q] == 0 {
				continue
			}
			w := offsetPath{to: int32(o), hops: s.paths.hops[q]}
			for i := s.paths.pathStart[q]; i < s.paths.pathStart[q+1]; i++ {
				g := int(s.paths.gen[i])
				w.gen = append(w.gen, int32(newIndex[g/s.k]*s.k+g%s.k))
				w.count = append(w.count, s.paths.count[i])
			}
			paths = append(paths, w)
			break
		}
	}

	return phases, paths
}

// sourceChunk is a chunk of the source: its destination as an offset, its number within the
// flow, and its path.
type sourceChunk struct{ offset, number, path int32 }

// sourceChunks returns all chunks of the source, ordered by offset.
func (s *sourceSchedule) sourceChunks() []sourceChunk {
	var list []sourceChunk
	for o := 1; o < s.n; o++ {
		number := int32(0)
		for q := s.paths.start[o]; q < s.paths.start[o+1]; q++ {
			for range s.pathChunks[q] {
				list = append(list, sourceChunk{offset: int32(o), number: number, path: q})
				number++
			}
		}
	}

	return list
}
