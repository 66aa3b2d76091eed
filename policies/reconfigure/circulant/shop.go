package circulant

import (
	"slices"

	"sim/policies/graph"
)

// shop schedules the hops of one phase, slot by slot, as an open shop of unit tasks: in a slot a generator carries one
// chunk and a chunk takes one hop. It needs no more slots than the most of its generators' loads and its chunks' hops,
// because every slot serves all that have as many hops left as slots remain (decrementing sets, as in Gonzalez and
// Sahni's preemptive open shop). Among the chunks that it may serve it takes those first that leave transit, or do not
// enter it.
type shop struct {
	k       int
	need    []int32 // hops left of chunk i on generator j at i*k+j
	left    []int32 // hops left by chunk, in this phase
	load    []int32 // hops left by generator
	after   []int32 // hops by chunk in later phases
	started []bool  // whether a chunk is under way
	backlog []int32 // hops left by generator of chunks under way

	// active are the chunks with hops left that this phase has moved, and of those alike that it has not, k: no slot
	// takes more, and no more chunks have as many hops left as slots remain.
	active []int32
	group  []int32 // by chunk: the last of those alike, which come one after the other
	next   []int32 // by last chunk of those alike: the first one that is not active
	fresh  []bool  // by chunk: the phase has not moved it

	mate   []int32 // by generator: its chunk in this slot, -1 for none
	match  graph.Assignment
	weight []int64 // by generator and active chunk, and then k times none
}

// newShop takes the hops of the phase, as need has them; it changes need and started. Chunks of one way are identical.
func newShop(k int, need, after, way []int32, started []bool) *shop {
	jobs := len(after)
	s := &shop{k: k, need: need, left: make([]int32, jobs), load: make([]int32, k), after: after, started: started,
		backlog: make([]int32, k), mate: make([]int32, k), group: make([]int32, jobs), next: make([]int32, jobs), fresh: make([]bool, jobs)}
	for i := jobs - 1; i >= 0; i-- {
		s.fresh[i] = true
		if s.group[i] = int32(i); i+1 < jobs && way[i+1] == way[i] {
			s.group[i] = s.group[i+1]
		}
		s.next[s.group[i]] = int32(i)
	}
	for i, last := range s.group {
		if i == 0 || s.group[i-1] != last {
			for range k {
				s.activate(last)
			}
		}
	}
	for i := range jobs {
		for j := range k {
			x := need[i*k+j]
			s.left[i] += x
			s.load[j] += x
			if started[i] {
				s.backlog[j] += x
			}
		}
	}
	return s
}

// activate makes one more of the identical chunks that end at last active, if there is one.
func (s *shop) activate(last int32) {
	if i := s.next[last]; i <= last {
		s.next[last]++
		s.active = append(s.active, i)
	}
}

// Weights of a generator with a chunk: each of them that must not idle counts most, then that there is a pair at all,
// less the rank of the chunk.
const (
	must   = 1 << 52
	pair   = 1 << 44
	no     = -1 << 58
	ranked = 40 // bits below a rank
)

// slot matches generators with chunks for the slot after which remain-1 are left, into mate. Where neither must be
// served, no chunk starts that stays in transit.
func (s *shop) slot(remain int32) {
	columns := len(s.active) + s.k
	s.weight = append(s.weight[:0], make([]int64, s.k*columns)...)
	for c, i := range s.active {
		rank := s.rank(int(i))
		for j := range s.k {
			w := pair - rank
			if s.load[j] == remain {
				w += must
			}
			if s.left[i] == remain {
				w += must
			}
			if s.need[int(i)*s.k+j] == 0 || w < must && !s.started[i] && s.left[i]+s.after[i] > 1 {
				w = no
			}
			s.weight[j*columns+c] = w
		}
	}
	s.match.Solve(s.k, columns, s.weight, s.mate, nil)
	for j, c := range s.mate {
		if s.mate[j] = -1; int(c) < len(s.active) {
			s.mate[j] = s.active[c]
		}
	}
}

// Ranks, the first served first: chunks that leave transit in this phase, chunks that pass through in one hop or come
// and go within the phase, chunks that stay in transit, and chunks that enter transit to stay.
const (
	leaving = iota
	direct
	within
	staying
	entering
)

func (s *shop) rank(i int) int64 {
	ends, rank := s.after[i] == 0, int64(within)
	switch {
	case s.started[i] && ends:
		return int64(leaving)<<ranked + int64(s.left[i])
	case s.started[i]:
		return int64(staying)<<ranked + int64(s.left[i])
	case ends && s.left[i] == 1:
		return int64(direct) << ranked
	case !ends:
		rank = entering
	}
	// Of fresh chunks, one that keeps the work under way even among the generators, so that none has to start others.
	low, high := int32(1<<30), int32(0)
	for j, b := range s.backlog {
		x := b + s.need[i*s.k+j]
		low, high = min(low, x), max(high, x)
	}
	return rank<<ranked + int64(high-low)
}

// take carries the slot out and returns by how much the chunks in transit grow in number.
func (s *shop) take() (growth int32) {
	for j, i := range s.mate {
		if i < 0 {
			continue
		}
		if s.fresh[i] {
			s.fresh[i] = false
			s.activate(s.group[i])
		}
		if !s.started[i] {
			s.started[i] = true
			growth++
			for g := range s.k {
				s.backlog[g] += s.need[int(i)*s.k+g]
			}
		}
		s.need[int(i)*s.k+j]--
		s.left[i]--
		s.load[j]--
		s.backlog[j]--
		if s.left[i]+s.after[i] == 0 {
			growth--
		}
	}
	s.active = slices.DeleteFunc(s.active, func(i int32) bool { return s.left[i] == 0 })
	return growth
}
