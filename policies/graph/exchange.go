package graph

// Exchanges is a local search over arrangements of N items whose steps exchange two items.
type Exchanges struct {
	N    int
	a, b int // last pair of the previous run
}

// Run calls try for pairs of items in a fixed order that continues after the last pair of the
// previous run. try exchanges items a and b if that is an improvement, and reports whether it
// did. Run ends after a full round without improvement, or after budget pairs.
func (x *Exchanges) Run(budget int, try func(a, b int) bool) {
	pairs := x.N * (x.N - 1) / 2
	for remaining := pairs; remaining > 0 && budget > 0; remaining-- {
		if x.b++; x.b >= x.N {
			if x.a++; x.a >= x.N-1 {
				x.a = 0
			}
			x.b = x.a + 1
		}

		budget--
		if try(x.a, x.b) {
			remaining = pairs + 1
		}
	}
}
