package circulant

// scheme is a plan for the chunks of one source, which all others follow by rotation.
type scheme struct {
	n, k   int
	chunks int32 // a pair
	relay  bool
	phases [][]int // offsets; those of phase p are generators p*k .. p*k+k-1 of ways
	ways   *ways
	taken  []int32 // chunks by way
	slots  []int64 // by phase
	spread int64   // unevenness of its loads, which breaks ties of slots
}

// total is the slots of all phases.
func (s *scheme) total() (sum int64) {
	for _, x := range s.slots {
		sum += x
	}
	return sum
}

// count sets the slots of every phase to what an open shop of unit tasks needs, the most of its generators' loads and
// of the hops of a chunk in it: the chunks and the generators are the sides of a bipartite graph whose edges, the hops,
// can be coloured with as many colours, the slots (König).
func (s *scheme) count() {
	s.slots = make([]int64, len(s.phases))
	hops := make([]int64, len(s.phases))
	for q, c := range s.taken {
		if c == 0 {
			continue
		}
		from, to := s.ways.first[q], s.ways.first[q+1]
		for i := from; i < to; i++ {
			hops[int(s.ways.gen[i])/s.k] += int64(s.ways.count[i])
		}
		for i := from; i < to; i++ {
			p := int(s.ways.gen[i]) / s.k
			s.slots[p] = max(s.slots[p], hops[p])
			hops[p] = 0
		}
	}
	for g, l := range s.loads() {
		s.slots[g/s.k] = max(s.slots[g/s.k], l)
	}
}

// used is how many phases carry anything.
func (s *scheme) used() (count int) {
	for _, x := range s.slots {
		if x > 0 {
			count++
		}
	}
	return count
}

// words returns the phases that carry anything, and a word to each offset that chunks take.
func (s *scheme) words() (phases [][]int, words []word) {
	place := make([]int, len(s.phases))
	for p, x := range s.slots {
		if place[p] = len(phases); x > 0 {
			phases = append(phases, s.phases[p])
		}
	}
	for o := 1; o < s.n; o++ {
		for q := s.ways.start[o]; q < s.ways.start[o+1]; q++ {
			if s.taken[q] == 0 {
				continue
			}
			w := word{to: int32(o), hops: s.ways.hops[q]}
			for i := s.ways.first[q]; i < s.ways.first[q+1]; i++ {
				g := int(s.ways.gen[i])
				w.gen, w.count = append(w.gen, int32(place[g/s.k]*s.k+g%s.k)), append(w.count, s.ways.count[i])
			}
			words = append(words, w)
			break
		}
	}
	return phases, words
}

// job is a chunk of the source: chunk number chunk to offset dest, by a way.
type job struct{ dest, chunk, way int32 }

// jobs lists the chunks in the order of their offsets.
func (s *scheme) jobs() []job {
	var list []job
	for o := 1; o < s.n; o++ {
		number := int32(0)
		for q := s.ways.start[o]; q < s.ways.start[o+1]; q++ {
			for range s.taken[q] {
				list = append(list, job{int32(o), number, q})
				number++
			}
		}
	}
	return list
}
