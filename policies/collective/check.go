package collective

import (
	"fmt"
	"math/rand/v2"
	"slices"
)

// Check replays a schedule and fails where it is not its call: where a byte is left at a rank that lacks the
// contribution of one, or has it twice, where a rank sends what it does not have, or where the outcome depends on which
// of two transfers that do not wait for each other comes first. It knows nothing of how schedules are made.
func (s *Schedule) Check() error {
	z := &replay{s: s, cuts: []int64{0}}
	for i, t := range s.Transfers {
		if t.Src < 0 || t.Dst < 0 || int(max(t.Src, t.Dst)) >= len(s.Group) || t.Src == t.Dst || t.Bytes != data(s.Spans(i)).bytes() {
			return fmt.Errorf("collective: transfer %d of %d B goes from rank %d to %d", i, t.Bytes, t.Src, t.Dst)
		}
		for _, w := range append(slices.Clone(s.After(i)), t.Behind) {
			if int(w) >= i {
				return fmt.Errorf("collective: transfer %d waits for transfer %d", i, w)
			}
		}
		for _, x := range s.Spans(i) {
			z.cuts = append(z.cuts, x.From, x.To)
		}
	}
	first := s.teams()
	for t := range len(first) - 1 {
		size := first[t+1] - first[t]
		pair, of := s.blocks(size)
		z.cuts = append(z.cuts, s.vector(size).bytes())
		for a := range size {
			if pair == nil {
				x := of(a)
				z.cuts = append(z.cuts, x[:min(1, len(x))].first(), x.end())
				continue
			}
			for b := range size {
				z.cuts = append(z.cuts, pair(a, b).first(), pair(a, b).end())
			}
		}
	}
	slices.Sort(z.cuts)
	z.cuts = slices.Compact(z.cuts)
	z.has, z.want, z.reads, z.writes = map[cell]uint64{}, map[cell]uint64{}, map[cell][]int32{}, map[cell][]int32{}
	random := rand.New(rand.NewPCG(1, 2))
	for t := range len(first) - 1 {
		z.start(first[t], first[t+1], random)
	}
	for i := range s.Transfers {
		if err := z.move(i); err != nil {
			return err
		}
	}
	for k, want := range z.want {
		if want != 0 && z.has[k] != want {
			return fmt.Errorf("collective: %s leaves rank %d with other than the sum of byte %d", s.Kind, k.rank, z.cuts[k.at])
		}
	}
	return z.ordered()
}

func (d data) first() int64 {
	if len(d) == 0 {
		return 0
	}
	return d[0].From
}

func (d data) end() int64 {
	if len(d) == 0 {
		return 0
	}
	return d[len(d)-1].To
}

// cell is a range of bytes that no transfer cuts, at a rank.
type cell struct{ rank, at int32 }

// replay is the state of a check. Each rank's contribution has a random weight, and what a cell holds is the sum of the
// weights of all that is in it.
type replay struct {
	s      *Schedule
	cuts   []int64
	has    map[cell]uint64
	want   map[cell]uint64
	reads  map[cell][]int32
	writes map[cell][]int32
	before [][2]int32 // pairs of transfers of which the second must wait for the first
}

// cells returns the cells of some bytes at a rank.
func (z *replay) cells(rank int, d data) []cell {
	var all []cell
	for _, x := range d {
		k, _ := slices.BinarySearch(z.cuts, x.From)
		for ; z.cuts[k] < x.To; k++ {
			all = append(all, cell{int32(rank), int32(k)})
		}
	}
	return all
}

// start notes what the ranks of a team, from the first up to a limit, have and are to have.
func (z *replay) start(first, limit int, random *rand.Rand) {
	s, n, sum := z.s, limit-first, uint64(0)
	all := s.vector(n)
	pair, of := s.blocks(n)
	weight := make([]uint64, n)
	for r := range weight {
		weight[r] = random.Uint64()
		sum += weight[r]
	}
	set := func(of map[cell]uint64, place int, d data, to uint64) {
		for _, c := range z.cells(first+place, d) {
			of[c] = to
		}
	}
	for r := range n {
		switch s.Kind {
		case AllReduce:
			set(z.has, r, all, weight[r])
			set(z.want, r, all, sum)
		case ReduceScatter:
			set(z.has, r, all, weight[r])
			set(z.want, r, of(r), sum)
		case AllGather:
			set(z.has, r, of(r), weight[r])
			for k := range n {
				set(z.want, k, of(r), weight[r])
			}
		case AllToAll:
			for k := range n {
				set(z.has, r, pair(r, k), weight[r])
				set(z.want, k, pair(r, k), weight[r])
			}
		case Broadcast:
			set(z.want, r, all, weight[s.Root])
		case Reduce:
			set(z.has, r, all, weight[r])
		}
	}
	switch s.Kind {
	case Broadcast:
		set(z.has, s.Root, all, weight[s.Root])
	case Reduce:
		set(z.want, s.Root, all, sum)
	case SendReceive:
		set(z.has, s.Root, all, weight[s.Root])
		set(z.want, s.Peer, all, weight[s.Root])
	}
}

// move replays a transfer.
func (z *replay) move(i int) error {
	t, id := &z.s.Transfers[i], int32(i)
	from, to := z.cells(int(t.Src), z.s.Spans(i)), z.cells(int(t.Dst), z.s.Spans(i))
	for k, c := range from {
		if z.has[c] == 0 {
			return fmt.Errorf("collective: transfer %d sends byte %d, which rank %d does not have", i, z.cuts[c.at], t.Src)
		}
		z.waits(z.writes[c], id)
		z.reads[c] = append(z.reads[c], id)
		d := to[k]
		z.waits(z.reads[d], id)
		if t.Reduce {
			z.has[d] += z.has[c]
		} else {
			z.has[d] = z.has[c]
		}
		for _, w := range z.writes[d] { // sums may come in any order
			if !t.Reduce || !z.s.Transfers[w].Reduce {
				z.waits([]int32{w}, id)
			}
		}
		z.writes[d] = append(z.writes[d], id)
	}
	return nil
}

func (z *replay) waits(first []int32, then int32) {
	for _, w := range first {
		z.before = append(z.before, [2]int32{w, then})
	}
}

// ordered fails where of two transfers one of which must wait for the other it does not, directly or through others.
// It goes through the transfers with a bit for each of some that may come before, a block of them at a time.
func (z *replay) ordered() error {
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
			if b := z.s.Transfers[i].Behind; b >= 0 {
				after = append(slices.Clone(after), b)
			}
			for _, w := range after {
				if int(w) < base { // -1 is none
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
				return fmt.Errorf("collective: transfer %d does not wait for transfer %d, which has the same bytes at the same rank", p[1], p[0])
			}
		}
	}
	return nil
}
