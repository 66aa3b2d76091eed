package collective

import (
	"math/bits"
	"math/rand/v2"
	"slices"

	"sim/policies/reconfigure/halt"
)

// residues is a set of residues mod q, as bits.
type residues struct {
	q    int
	word []uint64
}

func newResidues(q int) residues { return residues{q, make([]uint64, (q+63)/64)} }

func (s residues) count() int {
	n := 0
	for _, w := range s.word {
		n += bits.OnesCount64(w)
	}
	return n
}

// addShifted adds x+a mod q, 0 < a < q, for every x of t. s and t must not share words.
func (s residues) addShifted(t residues, a int) {
	s.addLeft(t, a)
	s.addRight(t, s.q-a)
}

// addLeft adds x+a for every x of t with x+a < q.
func (s residues) addLeft(t residues, a int) {
	jump, shift := a/64, uint(a%64)
	for i := len(s.word) - 1; i >= jump; i-- {
		w := t.word[i-jump] << shift
		if shift > 0 && i > jump {
			w |= t.word[i-jump-1] >> (64 - shift)
		}
		s.word[i] |= w
	}
	if r := s.q % 64; r > 0 {
		s.word[len(s.word)-1] &= 1<<r - 1
	}
}

// addRight adds x-b for every x of t with x >= b.
func (s residues) addRight(t residues, b int) {
	jump, shift := b/64, uint(b%64)
	for i := 0; i+jump < len(t.word); i++ {
		w := t.word[i+jump] >> shift
		if shift > 0 && i+jump+1 < len(t.word) {
			w |= t.word[i+jump+1] << (64 - shift)
		}
		s.word[i] |= w
	}
}

// explorer measures how fast offsets cover Z_q.
type explorer struct {
	have, next residues
	budget     int64 // words that may still be touched
	stop       halt.When
}

// score is worse the more steps it takes offsets to reach all of Z_q from 0..window-1, and of equal ones the later
// residues are reached: steps above, below the sum over steps of the residues still missing. It is noScore beyond limit
// steps, or where that sum passes most.
func (e *explorer) score(q, window int, offsets []int32, limit int, most int64) (steps int, score int64) {
	if e.have.q != q {
		e.have, e.next = newResidues(q), newResidues(q)
	}
	clear(e.have.word)
	for x := range window {
		e.have.word[x/64] |= 1 << (x % 64)
	}
	missing := q - window
	for missing > 0 {
		if steps++; steps > limit {
			return steps, noScore
		}
		if score += int64(missing); score > most {
			return steps, noScore
		}
		copy(e.next.word, e.have.word)
		for _, a := range offsets {
			e.next.addShifted(e.have, int(a))
		}
		e.budget -= int64(len(offsets) * len(e.have.word))
		e.have, e.next = e.next, e.have
		left := q - e.have.count()
		if left == missing {
			return steps, noScore // the offsets do not generate the rest
		}
		missing = left
	}
	return steps, int64(steps)<<32 + score
}

const noScore = int64(1) << 62

// slack is the sum of missing residues at which a trial is given up: one of fewer steps has hardly ever a greater.
func slack(value int64) int64 {
	sum := value & (1<<32 - 1)
	return sum + sum/4
}

// searchBudget bounds a search for offsets, in words of sets touched: some 20 ms. searchStarts are the random starts.
const (
	searchBudget = 24e6
	searchStarts = 8
)

// coverFast looks for offsets that reach all of Z_q from 0..window-1 in few steps: from start, and then from random
// ones, it moves one offset at a time to where that is best, until none moves or the budget ends. nil where it finds
// none.
func coverFast(q, window int, start []int32, stop halt.When) []int32 {
	e := explorer{budget: searchBudget, stop: stop}
	rng := rand.New(rand.NewPCG(uint64(q)<<32|uint64(window), uint64(len(start))))
	var best []int32
	value := noScore
	for i := 0; i <= searchStarts && e.budget > 0; i++ {
		from := slices.Clone(start)
		for j := range from {
			if i > 0 {
				from[j] = 1 + rng.Int32N(int32(q-1))
			}
		}
		if v := e.descend(q, window, from); v < value {
			best, value = from, v
		}
	}
	return best
}

// descend improves offsets in place and returns their score.
func (e *explorer) descend(q, window int, offsets []int32) int64 {
	limit, value := e.score(q, window, offsets, q, noScore)
	for moved := true; moved && e.budget > 0; {
		moved = false
		for i := range offsets {
			best := offsets[i]
			for a := int32(1); a < int32(q) && e.budget > 0; a++ {
				e.stop.Check()
				offsets[i] = a
				if steps, v := e.score(q, window, offsets, limit, slack(value)); v < value {
					best, limit, value, moved = a, steps, v, true
				}
			}
			offsets[i] = best
		}
	}
	return value
}
