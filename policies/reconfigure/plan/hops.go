package plan

// The functions of this file count hops on circulants. In a circulant, each GPU u has a link to
// u+a (mod n) for each generator a, so hops depend only on the offset of the destination.

// Far is the number of hops if there is no path. It is larger than any path, and a path may be
// added to it without overflow.
const Far = int32(1) << 20

// OriginHops returns the hops without any generator, indexed by offset: 0 to offset 0, Far to
// the others. Relax adds generators to it.
func OriginHops(n int) []int32 {
	hops := make([]int32, n)
	for i := range hops {
		hops[i] = Far
	}
	hops[0] = 0
	return hops
}

// Relax adds generator a: it lowers hops, the minimum by offset over some generators, to
// the minimum over these and a. Hops of different generators commute, so the hops of a may
// all come last. Two rounds of each cycle of a are therefore enough. The second round ends
// when it lowers nothing.
func Relax(hops []int32, a int) {
	n := len(hops)
	cycles := GCD(n, a)
	for first := range cycles {
		// First round: go through the cycle of first. h is the minimum hops to offset.
		h, offset := hops[first], first
		for range n / cycles {
			if offset += a; offset >= n {
				offset -= n
			}
			h = min(h+1, hops[offset])
			hops[offset] = h
		}

		// Second round: paths that start behind first in the cycle.
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

// Reach returns the minimum hops by offset over the generators, at least Far if there is no
// path.
func Reach(n int, generators []int) []int32 {
	hops := OriginHops(n)
	for _, a := range generators {
		Relax(hops, a)
	}
	return hops
}

// TotalHops returns the sum of hops.
func TotalHops(hops []int32) (sum int64) {
	for _, h := range hops {
		sum += int64(h)
	}
	return sum
}

// GCD returns the greatest common divisor.
func GCD(a, b int) int {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// MinHops returns a lower bound on the sum of hops from a GPU to the n-1 others, over the
// given number of circulants with the given number of offsets each. It assumes that no two
// paths lead to the same GPU. There are C(h+k-1, k-1) paths of h hops on each circulant,
// because hops commute.
func MinHops(n, circulants, offsets int) (sum int64) {
	paths := pathCount{times: int64(circulants), kinds: int64(offsets), choices: 1}
	for i, size := range paths.levels(int64(n)) {
		sum += int64(i+1) * size
	}
	return sum
}
