package pack

import (
	"math"
	"math/bits"
)

// packed is an n x n matrix of hops, eight to a word, or four of more than 126 GPUs, so that one instruction works on
// all of them: row v has the hops of the paths that end at v, by where they begin. The highest bit of every lane is 0.
type packed struct {
	n, words  int
	log       uint   // a lane has 1<<log bits
	none      int64  // the lane of no way
	one, high uint64 // the lowest and the highest bit of every lane
	rows      []uint64
}

const (
	// noWay stands for no way, and mostPacked is the largest n whose hops are less.
	noWay      = 1 << 14
	mostPacked = noWay
	// shortWay is noWay in lanes of eight bits.
	shortWay = 126
)

// reset sets hops to 0 from each GPU to itself and to noWay to all others.
func (m *packed) reset(n int) {
	m.n, m.log, m.none, m.one, m.high = n, 4, noWay, 0x0001_0001_0001_0001, 0x8000_8000_8000_8000
	if n <= shortWay {
		m.log, m.none, m.one, m.high = 3, shortWay, 0x0101_0101_0101_0101, 0x8080_8080_8080_8080
	}
	m.words = (n<<m.log + 63) / 64
	m.rows = sized(m.rows, n*m.words)
	for i := range m.rows {
		m.rows[i] = uint64(m.none) * m.one
	}
	for u := range n {
		word, shift := m.lane(u)
		m.rows[u*m.words+word] &^= m.mask() << shift
	}
}

// set makes m what o is.
func (m *packed) set(o *packed) {
	rows := sized(m.rows, len(o.rows))
	copy(rows, o.rows)
	*m = *o
	m.rows = rows
}

// lane says in which word of a row, and from which of its bits on, the hops from GPU u are.
func (m *packed) lane(u int) (word int, shift uint) { return u << m.log >> 6, uint(u) << m.log & 63 }

// mask has the bits of the lowest lane.
func (m *packed) mask() uint64 { return 1<<(1<<m.log) - 1 }

func (m *packed) row(v int) []uint64 { return m.rows[v*m.words : (v+1)*m.words] }

// extender appends hops to paths. Its memory is reused.
type extender struct {
	waiting []bool
	queue   []int32
}

// extend appends any number of hops of the permutations, in any order, to all ways.
func (x *extender) extend(m *packed, list [][]int32) {
	if len(list) == 0 {
		return
	}
	// Along the cycles of the first, so that paths grow by many hops at once.
	x.waiting, x.queue = sized(x.waiting, m.n), x.queue[:0]
	for u := range x.waiting {
		x.waiting[u] = false
	}
	for u := range list[0] {
		for v := int32(u); !x.waiting[v]; v = list[0][v] {
			x.waiting[v] = true
			x.queue = append(x.queue, v)
		}
	}
	for i := 0; i < len(x.queue); i++ {
		v := x.queue[i]
		x.waiting[v] = false
		a := m.row(int(v))
		for _, to := range list {
			w := to[v]
			if m.step(a, m.row(int(w))) && !x.waiting[w] {
				x.waiting[w] = true
				x.queue = append(x.queue, w)
			}
		}
	}
}

// step sets b to the smaller of b and a+1, hops by hops, and says whether any changes.
func (m *packed) step(a, b []uint64) bool {
	one, high, below := m.one, m.high, (uint(1)<<m.log-1)&63
	changed := uint64(0)
	b = b[:len(a)]
	for i, x := range a {
		x += one
		y := b[i]
		// The high bit of a lane of (y | high) - x stays where y >= x; less itself shifted down, it is all bits below.
		top := ((y | high) - x) & high
		z := (x ^ y) & (top - top>>below)
		b[i] = y ^ z
		changed |= z
	}
	return changed != 0
}

// hops returns those from u to v.
func (m *packed) hops(v, u int) int64 {
	word, shift := m.lane(u)
	if x := int64(m.rows[v*m.words+word] >> shift & m.mask()); x < m.none {
		return x
	}
	return noWay
}

// transpose sets m to o with rows and columns exchanged.
func (m *packed) transpose(o *packed) {
	m.set(o)
	clear(m.rows)
	per, mask := 64>>m.log, m.mask()
	for v := range m.n {
		word, shift := m.lane(v)
		row := o.row(v)
		for u := range m.n {
			m.rows[u*m.words+word] |= row[u/per] >> (u % per << m.log) & mask << shift
		}
	}
}

// sum adds up demand x hops, demand[v*n+u] from u to v; it is math.MaxInt64 where a demand has no way.
func (m *packed) sum(demand []int32) (sum int64) {
	for v := range m.n {
		for u, x := range demand[v*m.n : (v+1)*m.n] {
			if x > 0 {
				h := m.hops(v, u)
				if h == noWay {
					return math.MaxInt64
				}
				sum += int64(x) * h
			}
		}
	}
	return sum
}

// sumBeside is sum of hops that differ little from those of o, whose sum, not math.MaxInt64, is given.
func (m *packed) sumBeside(o *packed, sum int64, demand []int32) int64 {
	log, mask, none := m.log&63, m.mask(), uint64(m.none)
	for v := range m.n {
		need := demand[v*m.n : (v+1)*m.n]
		old := o.row(v)
		for i, x := range m.row(v) {
			y := old[i]
			for z := x ^ y; z != 0; {
				lane := bits.TrailingZeros64(z) >> log
				shift := lane << log & 63
				z &^= mask << shift
				now, c := x>>shift&mask, need[i<<(6-log)+lane]
				if now == none && c > 0 {
					return math.MaxInt64
				}
				sum += int64(c) * (int64(now) - int64(y>>shift&mask))
			}
		}
	}
	return sum
}

// saved is the sum of demand x (hops - 1 - rest) where that is above 0, of rows of hops and rest.
func (m *packed) saved(hops, rest []uint64, demand []int32) (sum int64) {
	one, high, log, mask, none := m.one, m.high, m.log&63, m.mask(), uint64(m.none)
	below := (uint(1)<<log - 1) & 63
	rest = rest[:len(hops)]
	for i, x := range hops {
		y := rest[i] + one
		top := ((x | high) - y) & high // where hops are at least rest + 1
		low := top - top>>below
		z := (x&low | high) - y&low ^ high
		if log == 4 && z != 0 && 4*i+4 <= len(demand) { // all four at once
			d := demand[4*i : 4*i+4]
			sum += int64(z&mask)*int64(d[0]) + int64(z>>16&mask)*int64(d[1]) + int64(z>>32&mask)*int64(d[2]) + int64(z>>48)*int64(d[3])
			continue
		}
		for z != 0 {
			lane := bits.TrailingZeros64(z) >> log
			shift := lane << log & 63
			c := int64(z >> shift & mask)
			z &^= mask << shift
			if x>>shift&mask == none {
				c += int64(noWay - none)
			}
			sum += c * int64(demand[i<<(6-log)+lane])
		}
	}
	return sum
}

// longest is the most hops of any lane; noWay where one has none.
func (m *packed) longest() (most int64) {
	for v := range m.n {
		for u := range m.n {
			most = max(most, m.hops(v, u))
		}
	}
	return most
}

// weights are rows of demands for saving, in which a product sums up: the four demands of a word of 16-bit lanes stand
// in reverse, so that the highest lane of the product of the two words, modulo 2^64, is the sum of the products of lanes.
// Words of eight lanes have two words, for the even ones and for the odd ones. It holds while such sums fit 16 bits.
type weights struct {
	words int // of a row
	most  int32
	rows  []uint64
}

func newWeights(n int, demand []int32) *weights {
	var m packed
	m.reset(n)
	w := &weights{words: m.words << (4 - m.log)}
	w.rows = make([]uint64, n*w.words)
	for i, x := range demand {
		w.most = max(w.most, x)
		row, u := w.row(i/n), i%n
		word, shift := m.lane(u)
		if m.log == 3 {
			word, shift = 2*word+u%2, shift&^15
		}
		row[word] |= uint64(x&0xffff) << (48 - shift)
	}
	return w
}

func (w *weights) row(v int) []uint64 { return w.rows[v*w.words : (v+1)*w.words] }

// fit says whether hops that are so many at most can be weighed, and if not, whether halves of seven bits can.
func (w *weights) fit(longest int64) (whole, halved bool) {
	weigh := func(most int64) bool { return 4*most*int64(w.most) < 1<<16 }
	return weigh(longest), weigh(1<<half - 1)
}

// half is half of the bits that hops have.
const half = 7

// saving is saved of demands that fit; halved, in lanes of 16 bits, where only halves of the hops do. What lanes are above
// others stands in each loop: in a function of its own, though inlined, it takes a tenth longer.
func (m *packed) saving(hops, rest, need []uint64, halved bool) (sum int64) {
	const even, low7 = 0x00ff_00ff_00ff_00ff, 0x007f_007f_007f_007f
	one, high, below := m.one, m.high, (uint(1)<<m.log-1)&63
	rest = rest[:len(hops)]
	if halved {
		need = need[:len(hops)]
		for i, x := range hops {
			y := rest[i] + one
			top := ((x | high) - y) & high
			low := top - top>>below
			z := (x&low | high) - y&low ^ high
			sum += int64(z&low7*need[i]>>48) + int64(z>>half&low7*need[i]>>48)<<half
		}
		return sum
	}
	if m.log == 4 {
		need = need[:len(hops)]
		for i, x := range hops {
			y := rest[i] + one
			top := ((x | high) - y) & high
			low := top - top>>below
			sum += int64(((x&low | high) - y&low ^ high) * need[i] >> 48)
		}
		return sum
	}
	need = need[:2*len(hops)]
	for i, x := range hops {
		y := rest[i] + one
		top := ((x | high) - y) & high
		low := top - top>>below
		z := (x&low | high) - y&low ^ high
		sum += int64(z&even*need[2*i]>>48) + int64(z>>8&even*need[2*i+1]>>48)
	}
	return sum
}
