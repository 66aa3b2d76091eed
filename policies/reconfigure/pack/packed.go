package pack

// packed is an n x n matrix of hops, four to a word, so that one instruction works on four: row v has the hops of the
// ways that end at v, by where they begin. Hops stay below 1<<15.
type packed struct {
	n, words int
	rows     []uint64
	seen     []bool
}

const (
	lanes = 0x0001_0001_0001_0001
	high  = lanes << 15
	// noWay stands for no way, and mostPacked is the largest n whose hops are less.
	noWay      = 1 << 14
	mostPacked = noWay
)

// reset sets hops to 0 from each GPU to itself and to noWay to all others.
func (m *packed) reset(n int) {
	m.n, m.words = n, (n+3)/4
	m.rows, m.seen = sized(m.rows, n*m.words), sized(m.seen, n)
	for i := range m.rows {
		m.rows[i] = noWay * lanes
	}
	for u := range n {
		m.rows[u*m.words+u/4] &^= 0xffff << (u % 4 * 16)
	}
}

// extend appends any number of hops of the permutations, in any order, to all ways.
func (m *packed) extend(list [][]int32) {
	if len(list) == 1 {
		m.follow(list[0])
		return
	}
	for changed := len(list) > 0; changed; {
		changed = false
		for _, to := range list {
			changed = m.follow(to) || changed
		}
	}
}

// follow appends any number of hops of one permutation, and says whether that made any way shorter.
func (m *packed) follow(to []int32) (changed bool) {
	clear(m.seen)
	all := uint64(0)
	for u := range to {
		if m.seen[u] {
			continue
		}
		// Twice round the cycle: the second round carries on what the first ended with.
		for v, round := u, 0; round < 2; {
			w := int(to[v])
			m.seen[v] = true
			all |= m.step(m.rows[v*m.words:(v+1)*m.words], m.rows[w*m.words:(w+1)*m.words])
			if v = w; v == u {
				round++
			}
		}
	}
	return all != 0
}

// step sets b to the smaller of b and a+1, hops by hops, and returns the bits that change.
func (m *packed) step(a, b []uint64) (changed uint64) {
	b = b[:len(a)]
	for i, x := range a {
		x += lanes
		y := b[i]
		// The high bit of a lane of (y | high) - x stays where y >= x.
		mask := ((y | high) - x) & high >> 15 * 0xffff
		z := (x ^ y) & mask
		b[i] = y ^ z
		changed |= z
	}
	return changed
}

func (m *packed) unpack(hops []uint16) {
	for v := range m.n {
		row := m.rows[v*m.words : (v+1)*m.words]
		for s := range m.n {
			hops[v*m.n+s] = uint16(row[s/4] >> (s % 4 * 16))
		}
	}
}
