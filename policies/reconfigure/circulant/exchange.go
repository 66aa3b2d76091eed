package circulant

// exchange improves sets of shifts at degree 1 without relaying: one shift goes and the best comes for it, until no
// exchange saves a slot.
type exchange struct {
	n    int
	hops []int32 // of offset o with shift s at s*n+o; n where s does not reach it
	base []int32 // least hops without the shift that goes
}

func newExchange(n int) *exchange {
	x := &exchange{n: n, hops: make([]int32, n*n), base: make([]int32, n)}
	for s := range n {
		row := x.hops[s*n : (s+1)*n]
		for i := range row {
			row[i] = int32(n)
		}
		for h, at := int32(1), s; at != 0; h, at = h+1, (at+s)%n {
			row[at] = h
		}
		row[0] = 0
	}
	return x
}

// without sets base to the least hops over set but for its element skip (-1 for all), and returns their sum.
func (x *exchange) without(set []int, skip int) (sum int64) {
	for i := range x.base {
		x.base[i] = int32(x.n)
	}
	x.base[0] = 0
	for i, s := range set {
		if i == skip {
			continue
		}
		for o, h := range x.hops[s*x.n : (s+1)*x.n] {
			x.base[o] = min(x.base[o], h)
		}
	}
	for _, h := range x.base {
		sum += int64(h)
	}
	return sum
}

// beside returns the shift that saves most beside base, the smallest of equals, and what it saves.
func (x *exchange) beside() (shift int, saved int64) {
	saved = -1
	for s := 1; s < x.n; s++ {
		var sum int64
		for o, h := range x.hops[s*x.n : (s+1)*x.n] {
			if b := x.base[o]; b > h {
				sum += int64(b - h)
			}
		}
		if sum > saved {
			shift, saved = s, sum
		}
	}
	return shift, saved
}

// best is the shift that saves most beside set.
func (x *exchange) best(set []int) int {
	x.without(set, -1)
	s, _ := x.beside()
	return s
}

// improve returns set after its exchanges, and its sum of hops.
func (x *exchange) improve(set []int) ([]int, int64) {
	set = append([]int(nil), set...)
	sum := x.without(set, -1)
	for better := true; better; {
		better = false
		for i := range set {
			rest := x.without(set, i)
			if s, saved := x.beside(); rest-saved < sum {
				set[i], sum, better = s, rest-saved, true
			}
		}
	}
	return set, sum
}

// shrink returns set less the shift that is missed least.
func (x *exchange) shrink(set []int) []int {
	drop, least := 0, int64(-1)
	for i := range set {
		if sum := x.without(set, i); least < 0 || sum < least {
			drop, least = i, sum
		}
	}
	return append(append([]int(nil), set[:drop]...), set[drop+1:]...)
}
