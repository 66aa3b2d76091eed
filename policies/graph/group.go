package graph

// Group sorts the items 0..count-1 into n groups: those of group g are of[start[g]:start[g+1]], in ascending order.
// Items whose group is negative are in none.
func Group(n, count int, group func(item int) int32) (start, of []int32) {
	start = make([]int32, n+1)
	for i := range count {
		if g := group(i); g >= 0 {
			start[g+1]++
		}
	}
	for g := range n {
		start[g+1] += start[g]
	}
	of = make([]int32, start[n])
	for i := count - 1; i >= 0; i-- {
		if g := group(i); g >= 0 {
			start[g+1]--
			of[start[g+1]] = int32(i)
		}
	}
	copy(start, start[1:])
	start[n] = int32(len(of))
	return start, of
}
