package plan

// Far is more hops than any path takes, where none leads.
const Far = int32(1) << 20

// OriginHops returns hops by offset where no generator is there to take: 0 to itself, Far elsewhere.
func OriginHops(n int) []int32 {
	hops := make([]int32, n)
	for i := range hops {
		hops[i] = Far
	}
	hops[0] = 0
	return hops
}

// Relax lowers hops, the least by offset over some generators, to the least with generator a beside them. Hops of
// different generators commute, so those of a may all come last: two rounds of each of its cycles settle them, of which
// the second ends where it lowers nothing.
func Relax(hops []int32, a int) {
	n := len(hops)
	cycles := GCD(n, a)
	for first := range cycles {
		h, offset := hops[first], first
		for range n / cycles {
			if offset += a; offset >= n {
				offset -= n
			}
			h = min(h+1, hops[offset])
			hops[offset] = h
		}
		for {
			if offset += a; offset >= n {
				offset -= n
			}
			if h++; h >= hops[offset] {
				break
			}
			hops[offset] = h
		}
	}
}

// Reach returns the least hops by offset over generators, at least Far where none lead.
func Reach(n int, generators []int) []int32 {
	hops := OriginHops(n)
	for _, a := range generators {
		Relax(hops, a)
	}
	return hops
}

// TotalHops is the sum of hops.
func TotalHops(hops []int32) (sum int64) {
	for _, h := range hops {
		sum += int64(h)
	}
	return sum
}

// GCD is the greatest common divisor.
func GCD(a, b int) int {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// MinHops returns the least sum of hops from a GPU to the n-1 others over so many circulants of so many offsets each,
// if no two ways lead to the same: C(h+k-1, k-1) ways of h hops on each, for hops commute.
func MinHops(n, circulants, offsets int) (sum int64) {
	for i, size := range (pathCount{int64(circulants), int64(offsets), 1}).levels(int64(n)) {
		sum += int64(i+1) * size
	}
	return sum
}
