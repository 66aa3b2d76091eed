package pack

import (
	"math"
	"math/bits"
)

// hopMatrix is an n x n matrix of hop counts. Row v has the hops of the paths that end at
// GPU v, indexed by their first GPU.
//
// Entries are packed into lanes of a machine word, so that one instruction works on all
// lanes: eight lanes of 8 bits for up to 126 GPUs, else four lanes of 16 bits. The highest
// bit of each lane is 0.
type hopMatrix struct {
	n, wordsPerRow    int      // n is the number of GPUs
	logLaneBits       uint     // a lane has 1<<logLaneBits bits
	noPath            int64    // value of a lane if there is no path
	lowBits, highBits uint64   // the lowest and the highest bit of each lane
	rows              []uint64 // n rows of wordsPerRow words
}

const (
	// noPathHops is the hop count if there is no path, in lanes of 16 bits. Hop counts are
	// below maxMatrixGPUs, so they never reach it.
	noPathHops    = 1 << 14
	maxMatrixGPUs = noPathHops
	// noPathHops8 is the hop count if there is no path, in lanes of 8 bits.
	noPathHops8 = 126
)

// Values of hopMatrix.logLaneBits.
const (
	log8Bits  = 3
	log16Bits = 4
)

// reset sets the hops to 0 from each GPU to itself and to "no path" between different GPUs.
func (m *hopMatrix) reset(n int) {
	m.n = n
	m.logLaneBits = log16Bits
	m.noPath = noPathHops
	m.lowBits = 0x0001_0001_0001_0001
	m.highBits = 0x8000_8000_8000_8000
	if n <= noPathHops8 {
		m.logLaneBits = log8Bits
		m.noPath = noPathHops8
		m.lowBits = 0x0101_0101_0101_0101
		m.highBits = 0x8080_8080_8080_8080
	}

	m.wordsPerRow = (n<<m.logLaneBits + 63) / 64
	m.rows = resize(m.rows, n*m.wordsPerRow)
	for i := range m.rows {
		m.rows[i] = uint64(m.noPath) * m.lowBits
	}
	for u := range n {
		word, shift := m.lane(u)
		m.rows[u*m.wordsPerRow+word] &^= m.laneMask() << shift
	}
}

// copyFrom copies source to m, in the memory of m if it suffices.
func (m *hopMatrix) copyFrom(source *hopMatrix) {
	rows := resize(m.rows, len(source.rows))
	copy(rows, source.rows)
	*m = *source
	m.rows = rows
}

// lane returns the position of GPU u in a row: the index of the word and the lowest bit of
// the lane.
func (m *hopMatrix) lane(u int) (word int, shift uint) {
	return u << m.logLaneBits >> 6, uint(u) << m.logLaneBits & 63
}

// laneMask has the bits of the lowest lane set.
func (m *hopMatrix) laneMask() uint64 { return 1<<(1<<m.logLaneBits) - 1 }

// row returns the hops of the paths that end at v.
func (m *hopMatrix) row(v int) []uint64 {
	return m.rows[v*m.wordsPerRow : (v+1)*m.wordsPerRow]
}

// pathExtender appends hops to all paths of a matrix. Its memory is reused.
type pathExtender struct {
	isQueued []bool
	queue    []int32
}

// extend appends to all paths any number of hops over the given permutations, in any order.
// It is the label-correcting algorithm for shortest paths, on all sources at the same time.
func (x *pathExtender) extend(m *hopMatrix, list [][]int32) {
	if len(list) == 0 {
		return
	}

	// The initial order follows the cycles of the first permutation, so that a path grows
	// by many hops in one pass.
	x.isQueued = resize(x.isQueued, m.n)
	x.queue = x.queue[:0]
	for u := range x.isQueued {
		x.isQueued[u] = false
	}
	for u := range list[0] {
		for v := int32(u); !x.isQueued[v]; v = list[0][v] {
			x.isQueued[v] = true
			x.queue = append(x.queue, v)
		}
	}

	for i := 0; i < len(x.queue); i++ {
		v := x.queue[i]
		x.isQueued[v] = false
		a := m.row(int(v))
		for _, to := range list {
			w := to[v]
			if m.relaxRow(a, m.row(int(w))) && !x.isQueued[w] {
				x.isQueued[w] = true
				x.queue = append(x.queue, w)
			}
		}
	}
}

// relaxRow sets b to the minimum of b and a+1 in each lane, and reports whether any lane
// changed.
func (m *hopMatrix) relaxRow(a, b []uint64) bool {
	one := m.lowBits
	high := m.highBits
	signShift := (uint(1)<<m.logLaneBits - 1) & 63
	changed := uint64(0)
	b = b[:len(a)]
	for i, x := range a {
		x += one
		y := b[i]

		// The high bit of a lane of (y | high) - x is set if y >= x. Subtracting it,
		// shifted down, from itself sets all lower bits of the lane.
		isGreaterOrEqual := ((y | high) - x) & high
		z := (x ^ y) & (isGreaterOrEqual - isGreaterOrEqual>>signShift)
		b[i] = y ^ z
		changed |= z
	}

	return changed != 0
}

// hops returns the hops from u to v, noPathHops if there is no path.
func (m *hopMatrix) hops(v, u int) int64 {
	word, shift := m.lane(u)
	if x := int64(m.rows[v*m.wordsPerRow+word] >> shift & m.laneMask()); x < m.noPath {
		return x
	}
	return noPathHops
}

// transpose sets m to the transpose of source.
func (m *hopMatrix) transpose(source *hopMatrix) {
	m.copyFrom(source)
	clear(m.rows)
	perWord := 64 >> m.logLaneBits
	mask := m.laneMask()
	for v := range m.n {
		word, shift := m.lane(v)
		row := source.row(v)
		for u := range m.n {
			m.rows[u*m.wordsPerRow+word] |= row[u/perWord] >> (u % perWord << m.logLaneBits) & mask << shift
		}
	}
}

// weightedHops returns the sum of demand x hops, where demand[v*n+u] is from u to v. It
// returns math.MaxInt64 if a demand has no path.
func (m *hopMatrix) weightedHops(demand []int32) (sum int64) {
	for v := range m.n {
		for u, x := range demand[v*m.n : (v+1)*m.n] {
			if x > 0 {
				h := m.hops(v, u)
				if h == noPathHops {
					return math.MaxInt64
				}
				sum += int64(x) * h
			}
		}
	}

	return sum
}

// updateWeightedHops returns weightedHops of m, given the sum of the matrix previous, which
// must not be math.MaxInt64. It visits only lanes in which the two differ.
func (m *hopMatrix) updateWeightedHops(previous *hopMatrix, sum int64, demand []int32) int64 {
	log := m.logLaneBits & 63
	mask := m.laneMask()
	none := uint64(m.noPath)
	for v := range m.n {
		row := demand[v*m.n : (v+1)*m.n]
		old := previous.row(v)
		for i, x := range m.row(v) {
			y := old[i]
			for z := x ^ y; z != 0; {
				lane := bits.TrailingZeros64(z) >> log
				shift := lane << log & 63
				z &^= mask << shift
				hops := x >> shift & mask
				c := row[i<<(6-log)+lane]
				if hops == none && c > 0 {
					return math.MaxInt64
				}
				sum += int64(c) * (int64(hops) - int64(y>>shift&mask))
			}
		}
	}

	return sum
}

// savedHops returns the sum of demand x (hops - 1 - rest) over the lanes in which this is
// positive. hops and rest are rows.
func (m *hopMatrix) savedHops(hops, rest []uint64, demand []int32) (sum int64) {
	one := m.lowBits
	high := m.highBits
	log := m.logLaneBits & 63
	mask := m.laneMask()
	none := uint64(m.noPath)
	signShift := (uint(1)<<log - 1) & 63
	rest = rest[:len(hops)]

	for i, x := range hops {
		// z has hops - (rest + 1) in each lane in which this is at least 0, and 0 in the others. In
		// these lanes, the high bit of isGreaterOrEqual and all lower bits of low are set. The high bit
		// that is added to x prevents borrows between lanes; the XOR removes it.
		y := rest[i] + one
		isGreaterOrEqual := ((x | high) - y) & high
		low := isGreaterOrEqual - isGreaterOrEqual>>signShift
		z := (x&low | high) - y&low ^ high
		if log == log16Bits && z != 0 && 4*i+4 <= len(demand) { // all four lanes in one step
			d := demand[4*i : 4*i+4]
			sum += int64(z&mask)*int64(d[0]) + int64(z>>16&mask)*int64(d[1]) +
				int64(z>>32&mask)*int64(d[2]) + int64(z>>48)*int64(d[3])
			continue
		}

		for z != 0 {
			lane := bits.TrailingZeros64(z) >> log
			shift := lane << log & 63
			c := int64(z >> shift & mask)
			z &^= mask << shift
			if x>>shift&mask == none {
				c += int64(noPathHops - none) // without a path, hops counts as noPathHops
			}
			sum += c * int64(demand[i<<(6-log)+lane])
		}
	}

	return sum
}

// maxHops returns the largest hop count, noPathHops if a pair has no path.
func (m *hopMatrix) maxHops() (longest int64) {
	for v := range m.n {
		for u := range m.n {
			longest = max(longest, m.hops(v, u))
		}
	}
	return longest
}

// demandWeights has rows of demands for savedHopsFast, which sums products of four lanes by
// one multiplication.
//
// The demands of a word of four 16-bit lanes are stored in reverse order. Then the highest
// lane of the product of two words, modulo 2^64, is the sum of the products of their lanes.
// A word of eight lanes has two words here, for its even and its odd lanes. This is correct
// while the sums fit 16 bits; see fits.
type demandWeights struct {
	wordsPerRow int      // words per row
	maxDemand   int32    // largest demand
	rows        []uint64 // one row per GPU
}

// newWeights returns the weights of an n x n demand. Row v is demand[v*n:(v+1)*n].
func newWeights(n int, demand []int32) *demandWeights {
	var m hopMatrix
	m.reset(n)
	w := &demandWeights{wordsPerRow: m.wordsPerRow << (log16Bits - m.logLaneBits)}
	w.rows = make([]uint64, n*w.wordsPerRow)

	// Store each demand in its word, in reverse order within the word (see demandWeights).
	for i, x := range demand {
		w.maxDemand = max(w.maxDemand, x)
		row, u := w.row(i/n), i%n
		word, shift := m.lane(u)
		if m.logLaneBits == log8Bits {
			word, shift = 2*word+u%2, shift&^15
		}
		row[word] |= uint64(x&0xffff) << (48 - shift)
	}

	return w
}

// row returns the weights of row v.
func (w *demandWeights) row(v int) []uint64 {
	return w.rows[v*w.wordsPerRow : (v+1)*w.wordsPerRow]
}

// fits reports whether the sums of products fit 16 bits for hop counts up to longest. If
// they do not fit, halved reports whether they fit for half of the bits of each hop count.
func (w *demandWeights) fits(maxHops int64) (whole, halved bool) {
	productsFit := func(longest int64) bool { return 4*longest*int64(w.maxDemand) < 1<<16 }
	return productsFit(maxHops), productsFit(1<<halfBits - 1)
}

// halfBits is half the number of bits of a hop count in a 16-bit lane.
const halfBits = 7

// savedHopsFast is savedHops for demands that fit, by one multiplication per word. With
// halved, which requires 16-bit lanes, it multiplies the two halves of each hop count
// separately. need is the row of demandWeights.
//
// z is computed as in savedHops. This is repeated in each loop: as a function of its own, even
// inlined, it makes the loops 10 % slower.
func (m *hopMatrix) savedHopsFast(hops, rest, need []uint64, halved bool) (sum int64) {
	const even, low7 = 0x00ff_00ff_00ff_00ff, 0x007f_007f_007f_007f
	one := m.lowBits
	high := m.highBits
	signShift := (uint(1)<<m.logLaneBits - 1) & 63
	rest = rest[:len(hops)]
	if halved {
		need = need[:len(hops)]
		for i, x := range hops {
			y := rest[i] + one
			isGreaterOrEqual := ((x | high) - y) & high
			low := isGreaterOrEqual - isGreaterOrEqual>>signShift
			z := (x&low | high) - y&low ^ high
			sum += int64(z&low7*need[i]>>48) + int64(z>>halfBits&low7*need[i]>>48)<<halfBits
		}

		return sum
	}

	if m.logLaneBits == log16Bits {
		need = need[:len(hops)]
		for i, x := range hops {
			y := rest[i] + one
			isGreaterOrEqual := ((x | high) - y) & high
			low := isGreaterOrEqual - isGreaterOrEqual>>signShift
			sum += int64(((x&low | high) - y&low ^ high) * need[i] >> 48)
		}

		return sum
	}

	need = need[:2*len(hops)]
	for i, x := range hops {
		y := rest[i] + one
		isGreaterOrEqual := ((x | high) - y) & high
		low := isGreaterOrEqual - isGreaterOrEqual>>signShift
		z := (x&low | high) - y&low ^ high
		sum += int64(z&even*need[2*i]>>48) + int64(z>>8&even*need[2*i+1]>>48)
	}

	return sum
}
