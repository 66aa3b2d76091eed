package collective

import (
	"cmp"
	"slices"
)

// semiMatching divides the parts that a GPU receives in a step among its k links, so that the
// maximum load of a link is minimal. This is an optimal semi-matching (Harvey et al.,
// "Semi-matchings for bipartite graphs and load balancing", J. Algorithms 2006). Parts are
// shifted along alternating paths from the most loaded link to one with a lower load.
type semiMatching struct {
	k int
	// parts is the number of parts of a row: a set of parts with the same possible links.
	parts []int64
	// share is indexed by row and link: parts on this link, or -1 if the link cannot carry them.
	share    []int64
	rowOrder []int32 // rows, by rising number of possible links
	load     []int64 // parts on each link, indexed by link

	// Scratch of fillRow: links of a row by rising load.
	sortedLinks []int32
	// Scratch of shiftParts, a breadth-first search from the most loaded link.
	queue    []int32 // links reached
	previous []int32 // indexed by link: the previous link on the path to it; -1 if not reached
	movedRow []int32 // indexed by link: the row whose parts move to it from previous
}

// newSemiMatching returns a semi-matching with k links and no rows.
func newSemiMatching(k int) semiMatching {
	return semiMatching{
		k:        k,
		load:     make([]int64, k),
		previous: make([]int32, k),
		movedRow: make([]int32, k),
	}
}

// sortRows sorts all rows by their number of possible links.
func (d *semiMatching) sortRows() {
	d.rowOrder = d.rowOrder[:0]
	links := make([]int, len(d.parts))
	for r := range d.parts {
		d.rowOrder = append(d.rowOrder, int32(r))

		// A share is -1 on impossible links and at least 0 on others, so the sum counts possible
		// links.
		for _, s := range d.row(int32(r)) {
			links[r] += int(min(1, s+1))
		}
	}

	slices.SortStableFunc(d.rowOrder, func(a, b int32) int {
		return cmp.Compare(links[a], links[b])
	})
}

// row returns the shares of a row.
func (d *semiMatching) row(r int32) []int64 {
	return d.share[int(r)*d.k : (int(r)+1)*d.k]
}

// solve computes share and load from parts.
func (d *semiMatching) solve() {
	// Start without parts. Impossible links keep -1.
	for i, s := range d.share {
		d.share[i] = min(0, s)
	}
	clear(d.load)
	for _, r := range d.rowOrder {
		if d.parts[r] > 0 {
			d.fillRow(r)
		}
	}
	for d.shiftParts() {
	}
}

// fillRow gives the parts of a row to its links so that their maximum load is minimal.
func (d *semiMatching) fillRow(r int32) {
	row := d.row(r)
	d.sortedLinks = d.sortedLinks[:0]
	for i, s := range row {
		if s < 0 {
			continue
		}

		// Insert the link by its load. A row has few links, so insertion sort is fast.
		slot := len(d.sortedLinks)
		for d.sortedLinks = append(d.sortedLinks, 0); slot > 0 &&
			d.load[d.sortedLinks[slot-1]] > d.load[i]; slot-- {
			d.sortedLinks[slot] = d.sortedLinks[slot-1]
		}
		d.sortedLinks[slot] = int32(i)
	}

	remaining := d.parts[r]

	// The least loaded links have equal load; fill them up to the next one.
	for tied := 1; remaining > 0; tied++ {
		minLoad := d.load[d.sortedLinks[tied-1]]
		amount := remaining
		if tied < len(d.sortedLinks) {
			amount = min(remaining, (d.load[d.sortedLinks[tied]]-minLoad)*int64(tied))
		}
		remaining -= amount
		for j, i := range d.sortedLinks[:tied] {
			more := amount / int64(tied)
			if int64(j) < amount%int64(tied) {
				more++
			}
			row[i] += more
			d.load[i] += more
		}
	}
}

// shiftParts shifts parts along a path from the most loaded link to one with a load lower by at
// least two. It returns false if no such path exists. Then all links that could take over parts
// are within one part of the maximum, so the division is optimal.
func (d *semiMatching) shiftParts() bool {
	// Find the most loaded link.
	full := int32(0)
	for i, l := range d.load {
		if l > d.load[full] {
			full = int32(i)
		}
	}
	for i := range d.previous {
		d.previous[i] = -1
	}

	// Breadth-first search over rows with parts on a link and their other links.
	d.previous[full] = full
	d.queue = append(d.queue[:0], full)
	for scanned := 0; scanned < len(d.queue); scanned++ {
		i := d.queue[scanned]
		for _, r := range d.rowOrder {
			row := d.row(r)
			if row[i] <= 0 {
				continue
			}
			for j := range int32(d.k) {
				if row[j] < 0 || d.previous[j] >= 0 {
					continue
				}
				d.previous[j], d.movedRow[j] = i, r
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

// applyPath equalises the loads of the ends of a path as far as the shares on it allow.
func (d *semiMatching) applyPath(full, end int32) {
	// No row on the path can give more parts than it has on the link that it leaves.
	amount := (d.load[full] - d.load[end]) / 2
	for to := end; to != full; to = d.previous[to] {
		amount = min(amount, d.row(d.movedRow[to])[d.previous[to]])
	}
	for to := end; to != full; to = d.previous[to] {
		row := d.row(d.movedRow[to])
		row[to] += amount
		row[d.previous[to]] -= amount
	}
	d.load[end] += amount
	d.load[full] -= amount
}
