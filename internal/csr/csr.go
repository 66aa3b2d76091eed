// Package csr stores groups of items in compressed sparse rows (CSR): the items of row r are
// items[start[r]:start[r+1]].
//
// Sort and Index build such rows. Components finds the strongly connected components of a
// graph whose arcs are stored by source node.
package csr

// Sort groups items by row with a stable counting sort: items of one row keep their order. row
// returns the row of an item, 0..rows-1, or -1 to omit the item.
func Sort[T any](items []T, rows int, row func(T) int32) (start []int32, sorted []T) {
	start = make([]int32, rows+1)
	for _, x := range items {
		if r := row(x); r >= 0 {
			start[r+1]++
		}
	}
	for r := range rows {
		start[r+1] += start[r]
	}
	next := append([]int32(nil), start[:rows]...)
	sorted = make([]T, start[rows])
	for _, x := range items {
		if r := row(x); r >= 0 {
			sorted[next[r]] = x
			next[r]++
		}
	}
	return start, sorted
}

// Index groups the indices 0..len(row)-1 by row: index i goes to row[i], or nowhere if row[i]
// is -1.
func Index(row []int32, rows int) (start, index []int32) {
	all := make([]int32, len(row))
	for i := range all {
		all[i] = int32(i)
	}
	return Sort(all, rows, func(i int32) int32 { return row[i] })
}
