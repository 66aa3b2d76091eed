package collective

import (
	"cmp"
	"slices"
)

// semiMatching divides what comes to a GPU in a step among its k links so that the fullest link carries least: an optimal
// semi-matching (Harvey et al., "Semi-matchings for bipartite graphs and load balancing", J. Algorithms 2006), by
// shifting parts along paths of links from the fullest to one that has room.
type semiMatching struct {
	k           int
	parts       []int64 // by row: what there is to bring
	share       []int64 // by row and link: what of it the link brings, -1 where it cannot
	order       []int32 // rows, those of fewest links first
	load        []int64 // by link
	sortedLinks []int32 // of a row: its links, the emptiest first
	queue       []int32
	prev        []int32 // by link: the one before on a path, and the row whose parts move
	moves       []int32
}

func newSemiMatching(k int) semiMatching {
	return semiMatching{k: k, load: make([]int64, k), prev: make([]int32, k), moves: make([]int32, k)}
}

// sortRows puts all rows in order.
func (d *semiMatching) sortRows() {
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

func (d *semiMatching) row(r int32) []int64 { return d.share[int(r)*d.k : (int(r)+1)*d.k] }

// solve fills share and load from parts.
func (d *semiMatching) solve() {
	for i, s := range d.share {
		d.share[i] = min(0, s)
	}
	clear(d.load)
	for _, r := range d.order {
		if d.parts[r] > 0 {
			d.fillRow(r)
		}
	}
	for d.shiftParts() {
	}
}

// fillRow gives the parts of a row to its links so that the fullest of these is as empty as can be.
func (d *semiMatching) fillRow(r int32) {
	row := d.row(r)
	d.sortedLinks = d.sortedLinks[:0]
	for i, s := range row {
		if s < 0 {
			continue
		}
		slot := len(d.sortedLinks)
		for d.sortedLinks = append(d.sortedLinks, 0); slot > 0 && d.load[d.sortedLinks[slot-1]] > d.load[i]; slot-- {
			d.sortedLinks[slot] = d.sortedLinks[slot-1]
		}
		d.sortedLinks[slot] = int32(i)
	}
	remaining := d.parts[r]
	for level := 1; remaining > 0; level++ { // the emptiest links are level; raise them to the next one
		minLoad := d.load[d.sortedLinks[level-1]]
		amount := remaining
		if level < len(d.sortedLinks) {
			amount = min(remaining, (d.load[d.sortedLinks[level]]-minLoad)*int64(level))
		}
		remaining -= amount
		for j, i := range d.sortedLinks[:level] {
			more := amount / int64(level)
			if int64(j) < amount%int64(level) {
				more++
			}
			row[i] += more
			d.load[i] += more
		}
	}
}

// shiftParts moves parts along a path from the fullest link to one of at least two parts less; it reports false where there
// is none: then all links that could take over from the fullest are within a part of it, so no division is better.
func (d *semiMatching) shiftParts() bool {
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
	for scanned := 0; scanned < len(d.queue); scanned++ {
		i := d.queue[scanned]
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
				d.applyPath(full, j)
				return true
			}
		}
	}
	return false
}

// applyPath levels the ends of a path as far as the shares on it allow.
func (d *semiMatching) applyPath(full, end int32) {
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
