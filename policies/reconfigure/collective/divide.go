package collective

import (
	"cmp"
	"slices"
)

// division divides what comes to a GPU in a step among its k links so that the fullest link carries least: an optimal
// semi-matching (Harvey et al., "Semi-matchings for bipartite graphs and load balancing", J. Algorithms 2006), by
// shifting parts along paths of links from the fullest to one that has room.
type division struct {
	k     int
	parts []int64 // by row: what there is to bring
	share []int64 // by row and link: what of it the link brings, -1 where it cannot
	order []int32 // rows, those of fewest links first
	load  []int64 // by link
	sorts []int32 // of a row: its links, the emptiest first
	queue []int32
	prev  []int32 // by link: the one before on a path, and the row whose parts move
	moves []int32
}

func newDivision(k int) division {
	return division{k: k, load: make([]int64, k), prev: make([]int32, k), moves: make([]int32, k)}
}

// rank puts all rows in order.
func (d *division) rank() {
	d.order = d.order[:0]
	links := make([]int, len(d.parts))
	for r := range d.parts {
		d.order = append(d.order, int32(r))
		for _, s := range d.row(int32(r)) {
			links[r] += int(min(1, s+1))
		}
	}
	slices.SortStableFunc(d.order, func(a, b int32) int { return cmp.Compare(links[a], links[b]) })
}

func (d *division) row(r int32) []int64 { return d.share[int(r)*d.k : (int(r)+1)*d.k] }

// divide fills share and load from parts.
func (d *division) divide() {
	for i, s := range d.share {
		d.share[i] = min(0, s)
	}
	clear(d.load)
	for _, r := range d.order {
		if d.parts[r] > 0 {
			d.pour(r)
		}
	}
	for d.shift() {
	}
}

// pour gives the parts of a row to its links so that the fullest of these is as empty as can be.
func (d *division) pour(r int32) {
	row := d.row(r)
	d.sorts = d.sorts[:0]
	for i, s := range row {
		if s < 0 {
			continue
		}
		at := len(d.sorts)
		for d.sorts = append(d.sorts, 0); at > 0 && d.load[d.sorts[at-1]] > d.load[i]; at-- {
			d.sorts[at] = d.sorts[at-1]
		}
		d.sorts[at] = int32(i)
	}
	left := d.parts[r]
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
			row[i] += more
			d.load[i] += more
		}
	}
}

// shift moves parts along a path from the fullest link to one of at least two parts less; it reports false where there
// is none: then all links that could take over from the fullest are within a part of it, so no division is better.
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
		for _, r := range d.order {
			row := d.row(r)
			if row[i] <= 0 {
				continue
			}
			for j := range int32(d.k) {
				if row[j] < 0 || d.prev[j] >= 0 {
					continue
				}
				d.prev[j], d.moves[j] = i, r
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
		amount = min(amount, d.row(d.moves[to])[d.prev[to]])
	}
	for to := end; to != full; to = d.prev[to] {
		row := d.row(d.moves[to])
		row[to] += amount
		row[d.prev[to]] -= amount
	}
	d.load[end] += amount
	d.load[full] -= amount
}
