package rounds

import "math"

// BaseOffsets returns the offsets m, m+1, .., m+k-1 of the circulant base for degree k >=
// 2. m is the smallest number such that at least n points of Z^k have coordinates whose
// absolute values sum to at most m. This is the paper's 2m^2+2m+1 >= n at k = 2, after its
// reference [53]. Degree 1 has the ring, offset 1. For 1 <= k < n the offsets are within
// 1..n-1. Two of them differ by one, so they generate Z_n.
func BaseOffsets(n, k int) []int {
	m := 1
	for k > 1 && points(k, m) < n {
		m++
	}
	o := make([]int, k)
	for i := range o {
		o[i] = m + i
	}
	return o
}

// points returns the number of points of Z^k within distance m of 0 in the 1-norm: the sum
// over i of 2^i C(k,i) C(m,i). Numbers above math.MaxInt32 are returned as math.MaxInt32.
func points(k, m int) int {
	sum, term := 0, 1
	for i := 0; ; i++ {
		if sum += term; sum > math.MaxInt32 {
			return math.MaxInt32
		}
		if i == k || i == m {
			return sum
		}

		// The division is exact: 2^(i+1) C(k,i+1) C(m,i+1).
		term = 2 * term * (k - i) / (i + 1) * (m - i) / (i + 1)
		if term > math.MaxInt32 {
			return math.MaxInt32
		}
	}
}

// ShiftOrder returns the shifts of degree 1 in the order in which topologies are added: 1,
// n-1, then the odd shifts and then the even shifts in ascending order. Sec. 4.3 prefers
// cycles of all GPUs, and n-1 early.
func ShiftOrder(n int) []int {
	order := []int{1}
	if n > 2 {
		order = append(order, n-1)
	}
	for first := 3; first >= 2; first-- { // 3, 5, .. and then 2, 4, ..
		for s := first; s < n-1; s += 2 {
			order = append(order, s)
		}
	}
	return order
}

// shiftSequence is the paper's construction for degree 1: a sequence of topologies, each a
// shift u -> u+s mod n.
type shiftSequence struct {
	n, d  int     // GPUs; topologies so far
	order []int   // shifts in the order in which they are added (ShiftOrder)
	hops  []int32 // minimum hops over the topologies so far, indexed by offset
	phase []int32 // the topology with these hops, indexed by offset
}

// newShiftSequence returns the sequence with the first shift of ShiftOrder.
func newShiftSequence(n int) *shiftSequence {
	s := &shiftSequence{n: n, order: ShiftOrder(n), hops: make([]int32, n), phase: make([]int32, n)}
	for i := 1; i < n; i++ {
		s.hops[i] = math.MaxInt32
	}
	s.addShift()
	return s
}

// addShift adds the next topology. It serves the destinations that it reaches in fewer hops
// than all topologies before it. These are whole rounds, because all sources use the same
// paths (Fig. 7). It returns false if there is no further shift.
func (s *shiftSequence) addShift() bool {
	if s.d == len(s.order) {
		return false
	}
	step := s.order[s.d]
	for offset, h := step, int32(1); offset != 0; h++ {
		if h < s.hops[offset] {
			s.hops[offset], s.phase[offset] = h, int32(s.d)
		}
		if offset += step; offset >= s.n {
			offset -= s.n
		}
	}

	s.d++
	return true
}

// ShiftSlots returns the slots of the construction of degree 1 for one chunk per pair. Item
// d-1 is for d topologies: the sum over destinations of the minimum number of hops in any
// topology. It takes O(n^2) steps for all d = 1..n-1 together.
func ShiftSlots(n int) []int64 {
	s := newShiftSequence(n)
	slots := make([]int64, 0, n-1)
	for {
		var sum int64
		for _, h := range s.hops {
			sum += int64(h)
		}
		if slots = append(slots, sum); !s.addShift() {
			return slots
		}
	}
}

// schedule returns the sequence as rounds.
func (s *shiftSequence) schedule() *roundSchedule {
	c := &roundSchedule{n: s.n, k: 1, origin: "shifts", offsets: make([][]int32, s.d)}
	for i := range c.offsets {
		c.offsets[i] = []int32{int32(s.order[i])}
	}
	for d := 1; d < s.n; d++ {
		c.src = append(c.src, 0)
		c.dst = append(c.dst, int32(d))
		c.hops = append(c.hops, s.hops[d])
		c.round = append(c.round, int32(d-1))
		c.rounds = append(c.rounds, roundInfo{phase: s.phase[d], hops: s.hops[d]})
	}

	c.normaliseRounds()
	return c
}
