package rounds

import "math"

// BaseOffsets returns the offsets m, m+1, .., m+k-1 of the circulant base for degree k >= 2: the smallest m such that
// the points of Z^k whose coordinates sum to at most m in absolute value are n or more (the paper's 2m^2+2m+1 >= n at k
// = 2, after its reference [53]). Degree 1 has the ring, offset 1. For 1 <= k < n the offsets lie within 1..n-1, and as
// two of them differ by one they generate Z_n.
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

// points counts the points of Z^k within distance m of 0 in the 1-norm: the sum over i of 2^i C(k,i) C(m,i). It is at
// most math.MaxInt32, which stands for anything larger.
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

// ShiftOrder returns the shifts of degree 1 in the order in which topologies are added: 1, n-1, then the odd and then
// the even ones, each ascending (Sec. 4.3: cycles of all GPUs first, n-1 early).
func ShiftOrder(n int) []int {
	order := []int{1}
	if n > 2 {
		order = append(order, n-1)
	}
	for first := 3; first >= 2; first-- {
		for s := first; s < n-1; s += 2 {
			order = append(order, s)
		}
	}
	return order
}

// shiftSequence is the sequence of degree 1: hops[D] of the fewest hops to offset D, in phase phase[D].
type shiftSequence struct {
	n, d  int
	order []int
	hops  []int32
	phase []int32
}

func newShiftSequence(n int) *shiftSequence {
	s := &shiftSequence{n: n, order: ShiftOrder(n), hops: make([]int32, n), phase: make([]int32, n)}
	for i := 1; i < n; i++ {
		s.hops[i] = math.MaxInt32
	}
	s.addShift()
	return s
}

// addShift sets the next topology up and gives it the destinations that it reaches in fewer hops than those before it: whole
// rounds, as all sources see the same (Fig. 7).
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

// ShiftSlots returns the slots of the degree-1 construction for one chunk a pair, at d = 1, 2, .. n-1 topologies: item
// d-1 is the sum over destinations of the fewest hops in any of them. It takes O(n^2) steps for all d together.
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

// schedule writes the sequence so far as rounds.
func (s *shiftSequence) schedule() *roundSchedule {
	c := &roundSchedule{n: s.n, k: 1, origin: "shifts", offsets: make([][]int32, s.d)}
	for i := range c.offsets {
		c.offsets[i] = []int32{int32(s.order[i])}
	}
	for d := 1; d < s.n; d++ {
		c.src, c.dst = append(c.src, 0), append(c.dst, int32(d))
		c.hops = append(c.hops, s.hops[d])
		c.round = append(c.round, int32(d-1))
		c.rounds = append(c.rounds, roundInfo{s.phase[d], s.hops[d]})
	}
	c.normaliseRounds()
	return c
}
