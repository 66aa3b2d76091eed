package collective

// stampBasis is a solution of the postage stamp problem: k numbers, such that sums of at most s
// of them, with repetition, include all of 0..reach-1. As the offsets of a circulant, the numbers
// reach this window of GPUs in s steps; see windowStage.
type stampBasis struct {
	numbers []int32
	reach   int
}

// stampBases returns good bases for s = 1, 2, ... terms. It ends when one reaches q, or when s is
// larger than two equal phases need. reach is at most q.
func stampBases(k, q int) []stampBasis {
	var list []stampBasis
	for s := 1; ; s++ {
		b := searchStampBasis(k, s, q)
		list = append(list, b)
		if b.reach >= q || s*s >= 4*q {
			return list
		}
	}
}

// maxStampNodes limits the search nodes of searchStampBasis, which then returns the best basis so
// far. newChainTable calls it for each s up to about 2 sqrt(n).
const maxStampNodes = 2000

// searchStampBasis searches for k numbers with a large reach for s terms by backtracking. Each
// number is at most the reach of the previous ones, and larger numbers are tried first. The
// search is exhaustive for small k and s, and otherwise ends after maxStampNodes nodes.
func searchStampBasis(k, s, q int) stampBasis {
	if s == 1 || k == 1 {
		numbers := make([]int32, k)
		for i := range numbers {
			numbers[i] = int32(i%max(1, q-1)) + 1
		}
		return stampBasis{numbers: numbers, reach: min(q, k*s+1)}
	}

	best, budget := stampBasis{}, maxStampNodes

	// minTerms[i] is, by sum, the minimum number of terms among the first i+1 numbers
	minTerms := make([][]int32, k)
	numbers := make([]int32, k)
	var try func(i, reach int)
	try = func(i, reach int) {
		if i == k {
			if reach > best.reach {
				best = stampBasis{numbers: append([]int32(nil), numbers...), reach: reach}
			}
			return
		}

		// Numbers rise, and none is above the reach of the previous ones.
		low := 1
		if i > 0 {
			low = int(numbers[i-1]) + 1
		}
		top := min(reach, q-1)
		low = min(low, top)
		for c := top; c >= low && budget > 0 && best.reach < q; c-- {
			budget--
			numbers[i] = int32(c)
			var before []int32
			if i > 0 {
				before = minTerms[i-1]
			}
			minTerms[i] = addStamp(minTerms[i][:0], before, int32(c), s, q)
			try(i+1, firstUnreachable(minTerms[i], s, q))
		}
	}

	// Without numbers, only sum 0 is reached, and 1 is the first that is not.
	try(0, 1)
	return best
}

// addStamp returns the minimum number of terms for each sum below q if number c is added to a
// basis.
func addStamp(minTerms, before []int32, c int32, s, q int) []int32 {
	top := min(q-1, int(c)*s)
	if before != nil {
		top = min(q-1, int(c)*s+len(before))
	}
	for v := range int32(top + 1) {
		m := int32(s + 1)
		if v == 0 {
			m = 0
		} else if int(v) < len(before) {
			m = before[v]
		}
		if v >= c {
			m = min(m, minTerms[v-c]+1)
		}
		minTerms = append(minTerms, m)
	}

	return minTerms
}

// firstUnreachable returns the first sum that needs more than s terms, at most q.
func firstUnreachable(minTerms []int32, s, q int) int {
	for v, m := range minTerms {
		if m > int32(s) {
			return v
		}
	}
	return min(q, len(minTerms))
}

// splitSteps divides steps among e phases so that the product of their reaches is at least q and
// the total is minimal. It returns nil if fewer phases need no more steps.
func splitSteps(bases []stampBasis, q, e int) []int {
	// reach[t] is the maximum reach of the phases so far in t steps; last[i][t] is the steps of phase i
	// in it.
	maxSteps := e + len(bases)
	reach := make([]int, maxSteps+1)
	reach[0] = 1
	last := make([][]int, e)
	for i := range e {
		// Add a phase of s steps to each number of steps so far.
		next := make([]int, maxSteps+1)
		last[i] = make([]int, maxSteps+1)
		for t := range reach {
			if reach[t] == 0 {
				continue
			}
			for s := 1; s <= len(bases) && t+s <= maxSteps; s++ {
				if s > 1 && bases[s-2].reach >= q {
					break
				}
				if r := min(q, reach[t]*bases[s-1].reach); r > next[t+s] {
					next[t+s], last[i][t+s] = r, s
				}
			}
		}

		// Trace back the steps, unless one phase fewer takes no more steps.
		if i == e-1 {
			before := firstReaching(reach, q)
			after := firstReaching(next, q)
			if after < 0 || before >= 0 && before <= after {
				return nil
			}
			steps := make([]int, e)
			for i, t := e-1, after; i >= 0; i-- {
				steps[i] = last[i][t]
				t -= last[i][t]
			}
			return steps
		}

		reach = next
	}

	return nil
}

// firstReaching returns the first number of steps whose reach is at least q, or -1.
func firstReaching(reach []int, q int) int {
	for t, r := range reach {
		if r >= q {
			return t
		}
	}
	return -1
}
