// Package csr lays items out in compressed rows: those of row r are items[start[r]:start[r+1]].
package csr

// Sort returns items by row, those of a row in the order in which they stand in items (a stable counting sort). row
// returns that of an item, 0..rows-1, or -1 for one that is left out.
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

// Index is Sort of the numbers 0..len(row)-1, of which number i is in row[i].
func Index(row []int32, rows int) (start, index []int32) {
	all := make([]int32, len(row))
	for i := range all {
		all[i] = int32(i)
	}
	return Sort(all, rows, func(i int32) int32 { return row[i] })
}
