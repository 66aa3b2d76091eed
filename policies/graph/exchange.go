package graph

// Exchanges is a local search over the arrangements of N items that exchanges two of them at a time.
type Exchanges struct {
	N    int
	a, b int // pair weighed last
}

// Run weighs pairs in a fixed order, from where the last run ended on, until none of all pairs helps or budget pairs
// were weighed. try exchanges items a and b if that helps, and reports whether it did.
func (x *Exchanges) Run(budget int, try func(a, b int) bool) {
	pairs := x.N * (x.N - 1) / 2
	for left := pairs; left > 0 && budget > 0; left-- {
		if x.b++; x.b >= x.N {
			if x.a++; x.a >= x.N-1 {
				x.a = 0
			}
			x.b = x.a + 1
		}
		budget--
		if try(x.a, x.b) {
			left = pairs + 1
		}
	}
}
