package collective

import (
	"fmt"
	"slices"
)

// Check verifies a schedule independently of how it was made. It fails if a rank ends without a
// contribution or has one twice, or if a rank sends data that it does not have. It also fails if
// the outcome depends on the order of two transfers without a dependency.
func (s *Schedule) Check() error {
	if s.IsPipelined {
		return s.checkPipelined()
	}
	z := &scheduleVerifier{s: s, reads: map[rankCell][]int32{}, writes: map[rankCell][]int32{}}
	for i, t := range s.Transfers {
		if t.Src < 0 || t.Dst < 0 || int(max(t.Src, t.Dst)) >= len(s.Group) || t.Src == t.Dst || t.Bytes != data(s.Spans(i)).bytes() {
			return fmt.Errorf("collective: transfer %d of %d B goes from rank %d to %d", i, t.Bytes, t.Src, t.Dst)
		}
		for _, w := range append(slices.Clone(s.After(i)), t.Previous) {
			if int(w) >= i {
				return fmt.Errorf("collective: transfer %d waits for transfer %d", i, w)
			}
		}
		z.cut(s.Spans(i))
	}
	first := s.teams()
	for t := range len(first) - 1 {
		for _, b := range s.promisedBlocks(first[t+1] - first[t]) {
			z.cut(b.data)
		}
	}
	slices.Sort(z.cuts)
	z.cuts = slices.Compact(z.cuts)
	z.holdings = NewHoldings(len(s.Group), len(z.cuts))
	for t := range len(first) - 1 {
		for _, b := range s.promisedBlocks(first[t+1] - first[t]) {
			for _, k := range z.cells(b.data) {
				z.holdings.Begin(s.Kind, first[t], first[t+1], k, first[t]+b.from, first[t]+b.to)
			}
		}
	}
	for i := range s.Transfers {
		if err := z.move(i); err != nil {
			return err
		}
	}
	if rank, at, has, want := z.holdings.Violation(); rank >= 0 {
		return fmt.Errorf("collective: %s leaves rank %d with %d of %d contributions to byte %d", s.Kind, rank, has, want, z.cuts[at])
	}
	return z.checkOrder()
}

// checkPipelined fails if a rank sends or receives less than the call needs, or if no transfers lead
// from a rank to another that needs its data. Switches may add the data that a rank receives.
func (s *Schedule) checkPipelined() error {
	n := len(s.Group)
	reaches := make([][]bool, n)
	in, out, needs, gives := make([]int64, n), make([]int64, n), make([]int64, n), make([]int64, n)
	for r := range reaches {
		reaches[r] = make([]bool, n)
		reaches[r][r] = true
	}
	for i, t := range s.Transfers {
		if t.Src == t.Dst || t.Bytes < 1 || len(s.After(i)) > 0 || t.Previous >= 0 {
			return fmt.Errorf("collective: flow %d of %d B goes from rank %d to %d, or waits for others", i, t.Bytes, t.Src, t.Dst)
		}
		reaches[t.Src][t.Dst] = true
		in[t.Dst], out[t.Src] = in[t.Dst]+t.Bytes, out[t.Src]+t.Bytes
	}
	for via := range n {
		for a := range n {
			for b := range n {
				reaches[a][b] = reaches[a][b] || reaches[a][via] && reaches[via][b]
			}
		}
	}
	first := s.teams()
	for t := range len(first) - 1 {
		for _, b := range s.promisedBlocks(first[t+1] - first[t]) {
			from, to := []int{first[t] + b.from}, []int{first[t] + b.to}
			var all []int
			for r := first[t]; r < first[t+1]; r++ {
				all = append(all, r)
			}
			switch s.Kind {
			case AllReduce:
				from, to = all, all
			case ReduceScatter, Reduce:
				from = all
			case AllGather, Broadcast:
				to = all
			}
			if s.Kind == Reduce {
				to = []int{first[t] + s.Root}
			}
			size := b.data.bytes()
			for _, a := range from {
				if len(to) > 1 || to[0] != a {
					gives[a] += size
				}
				for _, c := range to {
					if size > 0 && !reaches[a][c] {
						return fmt.Errorf("collective: no flows lead from rank %d to %d", a, c)
					}
				}
			}
			for _, c := range to {
				if len(from) > 1 || from[0] != c {
					needs[c] += size
				}
			}
		}
	}
	for r := range n {
		if in[r] < needs[r] || out[r] < gives[r] {
			return fmt.Errorf("collective: rank %d sends %d B and receives %d B; want at least %d and %d", r, out[r], in[r], gives[r], needs[r])
		}
	}
	return nil
}

// promisedBlock is the data that moves from one rank of a call to another. In calls with one
// block per rank, both are that rank.
type promisedBlock struct {
	data     data
	from, to int
}

// promisedBlocks returns the blocks of a call among n ranks.
func (c *Call) promisedBlocks(n int) (all []promisedBlock) {
	pair, of := c.blocks(n)
	switch {
	case c.Kind >= Broadcast:
		to := c.Peer
		if c.Kind == Reduce {
			to = c.Root
		}
		return []promisedBlock{{c.vector(n), c.Root, to}}
	case pair == nil:
		for r := range n {
			all = append(all, promisedBlock{of(r), r, r})
		}
		return all
	}
	for a := range n {
		for b := range n {
			all = append(all, promisedBlock{pair(a, b), a, b})
		}
	}
	return all
}

// rankCell is a range of bytes between two cuts, by index, at a rank.
type rankCell struct{ rank, at int32 }

// scheduleVerifier applies the transfers of a schedule to Holdings and collects the required
// dependencies.
type scheduleVerifier struct {
	s        *Schedule
	cuts     []int64
	holdings *Holdings // cells are the ranges between cuts
	reads    map[rankCell][]int32
	writes   map[rankCell][]int32
	// Pairs of transfers: the second must wait for the first.
	before [][2]int32
}

// cut adds the ends of spans to the cuts.
func (z *scheduleVerifier) cut(d data) {
	for _, x := range d {
		z.cuts = append(z.cuts, x.From, x.To)
	}
}

// cells returns the indices of the ranges that some data covers.
func (z *scheduleVerifier) cells(d data) (all []int) {
	for _, x := range d {
		k, _ := slices.BinarySearch(z.cuts, x.From)
		for ; z.cuts[k] < x.To; k++ {
			all = append(all, k)
		}
	}
	return all
}

// move applies a transfer.
func (z *scheduleVerifier) move(i int) error {
	t, id := &z.s.Transfers[i], int32(i)
	for _, k := range z.cells(z.s.Spans(i)) {
		c, d := rankCell{t.Src, int32(k)}, rankCell{t.Dst, int32(k)}
		sent, got := z.holdings.Contributions(int(t.Src), k), z.holdings.Contributions(int(t.Dst), k)
		if sent.Count() == 0 {
			return fmt.Errorf("collective: transfer %d sends byte %d, which rank %d does not have", i, z.cuts[k], t.Src)
		}
		z.requireOrder(z.writes[c], id)
		z.reads[c] = append(z.reads[c], id)
		z.requireOrder(z.reads[d], id)
		if !t.Reduce {
			copy(got, sent)
		} else if twice := got.Add(sent); twice >= 0 {
			return fmt.Errorf("collective: transfer %d counts the contribution of rank %d to byte %d twice at rank %d", i, twice, z.cuts[k], t.Dst)
		}
		for _, w := range z.writes[d] { // sums may come in any order
			if !t.Reduce || !z.s.Transfers[w].Reduce {
				z.requireOrder([]int32{w}, id)
			}
		}
		z.writes[d] = append(z.writes[d], id)
	}
	return nil
}

// requireOrder notes that a transfer must wait for others.
func (z *scheduleVerifier) requireOrder(first []int32, then int32) {
	for _, w := range first {
		z.before = append(z.before, [2]int32{w, then})
	}
}

// checkOrder fails if a required dependency is missing, direct or through other transfers. It
// propagates the set of earlier transfers through the schedule as bits, for one block of 4096
// transfers at a time.
func (z *scheduleVerifier) checkOrder() error {
	const words = 64
	n := len(z.s.Transfers)
	slices.SortFunc(z.before, func(a, b [2]int32) int { return int(a[0]) - int(b[0]) })
	z.before = slices.Compact(z.before)
	comes := make([][words]uint64, n)
	for base, next := 0, 0; base < n; base += 64 * words {
		for i := base; i < n; i++ {
			comes[i] = [words]uint64{}
			if k := i - base; k < 64*words {
				comes[i][k/64] = 1 << (k % 64)
			}
			after := z.s.After(i)
			if b := z.s.Transfers[i].Previous; b >= 0 {
				after = append(slices.Clone(after), b)
			}
			for _, w := range after {
				if int(w) < base { // an earlier block, or -1 for no transfer
					continue
				}
				for k := range words {
					comes[i][k] |= comes[w][k]
				}
			}
		}
		for ; next < len(z.before) && int(z.before[next][0]) < base+64*words; next++ {
			p := z.before[next]
			if k := int(p[0]) - base; comes[p[1]][k/64]>>(k%64)&1 == 0 {
				return fmt.Errorf("collective: transfer %d does not wait for transfer %d, which uses the same bytes at the same rank", p[1], p[0])
			}
		}
	}
	return nil
}
