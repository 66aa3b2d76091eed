package collective

import (
	"cmp"
	"math/bits"
	"slices"
)

// division divides what comes to a GPU in a step among its links: classes of shards, by the set of links that can bring
// them, so that the fullest link carries least. It is balance on classes in the place of residues, as a GPU may get
// hundreds of shards at once.
type division struct {
	k     int
	order []int32 // sets of links, the smallest first
	parts []int64 // by set: what there is to bring
	share []int64 // by set and link: what of it the link brings
	load  []int64 // by link
	sorts []int32 // of a set: its links, the emptiest first
	queue []int32
	prev  []int32 // by link: the one before on a path, and the set whose parts move
	moves []int32
}

func newDivision(k int) division {
	d := division{k: k, parts: make([]int64, 1<<k), share: make([]int64, k<<k), load: make([]int64, k), prev: make([]int32, k), moves: make([]int32, k)}
	for m := int32(1); m < 1<<k; m++ {
		d.order = append(d.order, m)
	}
	slices.SortStableFunc(d.order, func(a, b int32) int { return cmp.Compare(bits.OnesCount32(uint32(a)), bits.OnesCount32(uint32(b))) })
	return d
}

// divide fills share and load from parts.
func (d *division) divide() {
	clear(d.share)
	clear(d.load)
	for _, m := range d.order {
		if d.parts[m] > 0 {
			d.pour(m)
		}
	}
	for d.shift() {
	}
}

// pour gives the parts of a set to its links so that the fullest of these is as empty as can be.
func (d *division) pour(m int32) {
	d.sorts = d.sorts[:0]
	for i := range int32(d.k) {
		if m>>i&1 == 0 {
			continue
		}
		at := len(d.sorts)
		for d.sorts = append(d.sorts, i); at > 0 && d.load[d.sorts[at-1]] > d.load[i]; at-- {
			d.sorts[at] = d.sorts[at-1]
		}
		d.sorts[at] = i
	}
	left := d.parts[m]
	for wide := 1; left > 0; wide++ { // the emptiest links are level; raise them to the next one
		level := d.load[d.sorts[wide-1]]
		room := left
		if wide < len(d.sorts) {
			room = min(left, (d.load[d.sorts[wide]]-level)*int64(wide))
		}
		left -= room
		for j, i := range d.sorts[:wide] {
			more := room / int64(wide)
			if int64(j) < room%int64(wide) {
				more++
			}
			d.share[int(m)*d.k+int(i)] += more
			d.load[i] += more
		}
	}
}

// shift moves parts along a path from the fullest link to one of at least two parts less; it reports false where there
// is none, and so no division is better.
func (d *division) shift() bool {
	full := int32(0)
	for i, l := range d.load {
		if l > d.load[full] {
			full = int32(i)
		}
	}
	for i := range d.prev {
		d.prev[i] = -1
	}
	d.prev[full] = full
	d.queue = append(d.queue[:0], full)
	for at := 0; at < len(d.queue); at++ {
		i := d.queue[at]
		for _, m := range d.order {
			if m>>i&1 == 0 || d.share[int(m)*d.k+int(i)] == 0 {
				continue
			}
			for j := range int32(d.k) {
				if m>>j&1 == 0 || d.prev[j] >= 0 {
					continue
				}
				d.prev[j], d.moves[j] = i, m
				d.queue = append(d.queue, j)
				if d.load[j] > d.load[full]-2 {
					continue
				}
				d.move(full, j)
				return true
			}
		}
	}
	return false
}

// move levels the ends of a path as far as the shares on it allow.
func (d *division) move(full, end int32) {
	amount := (d.load[full] - d.load[end]) / 2
	for to := end; to != full; to = d.prev[to] {
		amount = min(amount, d.share[int(d.moves[to])*d.k+int(d.prev[to])])
	}
	for to := end; to != full; to = d.prev[to] {
		d.share[int(d.moves[to])*d.k+int(to)] += amount
		d.share[int(d.moves[to])*d.k+int(d.prev[to])] -= amount
	}
	d.load[end] += amount
	d.load[full] -= amount
}
