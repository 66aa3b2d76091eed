package circulant

// far is more hops than any way takes, where no way leads.
const far = int32(1) << 20

// origin returns hops by offset where no generator is there to take: 0 to itself, far elsewhere.
func origin(n int) []int32 {
	hops := make([]int32, n)
	for i := range hops {
		hops[i] = far
	}
	hops[0] = 0
	return hops
}

// relax lowers hops, the least by offset over some generators, to the least with generator a beside them. Hops of
// different generators commute, so those of a may all come last: two rounds of each of its cycles settle them.
func relax(hops []int32, a int) {
	n := len(hops)
	for first := range gcd(n, a) {
		h, at := hops[first], first
		for range 2 * (n / gcd(n, a)) {
			if at += a; at >= n {
				at -= n
			}
			h = min(h+1, hops[at])
			hops[at] = h
		}
	}
}

// reach returns the least hops by offset over generators.
func reach(n int, generators []int) []int32 {
	hops := origin(n)
	for _, a := range generators {
		relax(hops, a)
	}
	return hops
}

func total(hops []int32) (sum int64) {
	for _, h := range hops {
		sum += int64(h)
	}
	return sum
}

func gcd(a, b int) int {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// freeHops is the least sum of hops to n-1 offsets over phases of so many generators each, if no two words lead to the
// same: C(h+k-1, k-1) words of h hops a phase.
func freeHops(n, phases, generators int) (sum int64) {
	count := 1.0
	for left, h := n-1, 1; left > 0; h++ {
		count = count * float64(h+generators-1) / float64(h)
		here := left
		if c := float64(phases) * count; c < float64(left) {
			here = int(c)
		}
		sum += int64(h) * int64(here)
		left -= here
	}
	return sum
}
