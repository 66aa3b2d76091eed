package topology

import (
	"fmt"
	"math"
	"math/rand/v2"

	"sim/engine"
	"sim/internal/random"
)

const (
	// evenWithin is the ratio of two delays between which the break-even is not sought any further.
	evenWithin = 1.02
	// evenLeast is the shortest delay above zero that is looked at.
	evenLeast = engine.Nanosecond
)

// breakEven is the longest reconfiguration delay at which changing circuits pays. It depends on the
// job and the fabric alone, not on the delay of the scenario.
type breakEven struct {
	pays  bool        // at some delay
	delay engine.Time // 0 if changes pay at no longer delay
	// known are sequences that pay, in the order of the delays at which they do.
	known []*Sequence
}

// covers reports whether changes are known to pay at a delay.
func (b *breakEven) covers(delay engine.Time) bool { return b.pays && delay <= b.delay }

// breakEven seeks the break-even. A sequence that pays at some delay is moved up to the longest
// delay at which it does; the search then goes on just above that one, until it has spent its
// evaluations in vain. A bound that excludes changes at a delay ends the search there. What lies
// above the break-even was searched in vain, which is no proof.
func (s *duringSearch) breakEven() *breakEven {
	delay := s.play.Delay
	defer func() {
		s.restart()
		s.play.Delay, s.best, s.value, s.bound, s.enough = delay, nil, never, 0, nil
	}()
	z := &evenSearch{duringSearch: s, even: &breakEven{}}
	z.limit, _ = longest(s.static.Makespan, evenLeast, func(d engine.Time) (bool, error) {
		return !optimal(s.static.Makespan, s.held.quick(s.static, d)), nil
	})
	if z.limit < 0 && s.held.quick(s.static, 0) == s.static.Makespan {
		return z.even // proved for every delay
	}
	z.enough = z.pays
	if z.lookAt(0); !z.pays() {
		if z.refine(); !z.pays() {
			rng := random.Stream(z.o.Seed, "break-even")
			if z.climb(rng, z.share(seededShare)); !z.pays() {
				z.best, z.value = z.unmoved()
				z.climb(rng, z.share(1))
			}
		}
	}
	if !z.pays() {
		return z.even
	}
	z.raise()
	z.seeds()
	z.climbUp(random.Stream(z.o.Seed, "break-even"))
	z.pairsUp()
	z.refineUp()
	return z.even
}

// evenSearch is a search for the break-even.
type evenSearch struct {
	*duringSearch
	even  *breakEven
	limit engine.Time // the longest delay that the bound does not exclude
}

// lookAt moves the search to a delay: to the sequences that paid at shorter ones, and the seeds.
func (z *evenSearch) lookAt(d engine.Time) {
	z.play.Delay, z.best, z.value, z.bound = d, nil, never, z.held.least
	for i := len(z.even.known) - 1; i >= 0 && !z.done(); i-- {
		z.try(z.even.known[i].clone())
	}
	if !z.done() {
		z.seed()
	}
}

// above returns the next delay that is looked at above the break-even found so far, and false if
// the bound excludes it.
func (z *evenSearch) above() (engine.Time, bool) {
	d := max(evenLeast, engine.Time(float64(z.even.delay)*evenWithin))
	return d, d <= z.limit
}

// raise takes the best sequence, which pays at the delay that is looked at, and moves the
// break-even up to the longest delay at which it does: in steps that double, then by bisection.
func (z *evenSearch) raise() {
	q, low, high := z.best, z.play.Delay, z.limit+1
	paysAt := func(d engine.Time) bool {
		z.play.Delay, z.best, z.value = d, nil, z.static.Makespan
		z.evaluations++
		return z.keep(q, 0) && z.pays()
	}
	for step := evenWithin; ; step *= step {
		d := max(evenLeast, engine.Time(float64(low)*step))
		if d >= high {
			break
		}
		if !paysAt(d) {
			high = d
			break
		}
		low = d
	}
	for float64(high) > max(float64(low)*evenWithin, float64(evenLeast)) && high > low+1 {
		middle := max(evenLeast, engine.Time(math.Sqrt(float64(max(1, low)))*math.Sqrt(float64(high))))
		if middle <= low || middle >= high {
			break
		}
		if paysAt(middle) {
			low = middle
		} else {
			high = middle
		}
	}
	z.even.pays, z.even.delay = true, low
	z.even.known = append(z.even.known, q.clone())
}

// probeShare is the part of the evaluations that may be spent on one delay of the bisection.
const probeShare = 0.25

// seeds looks for the longest delay at which a seed pays, or what becomes of the best seed there, by bisection.
func (z *evenSearch) seeds() {
	high := z.limit
	for {
		above, ok := z.above()
		if !ok || above > high || z.ctx.Err() != nil {
			return
		}
		z.restart()
		d := max(above, engine.Time(math.Sqrt(float64(max(1, z.even.delay)))*math.Sqrt(float64(high))))
		z.lookAt(d)
		if z.climb(random.Stream(z.o.Seed, "break-even"), z.share(probeShare)); z.pays() {
			z.raise()
		} else {
			high = engine.Time(float64(d) / evenWithin)
		}
	}
}

// climbUp changes sequences just above the break-even found so far until the evaluations are spent: that which pays at
// the longest delay with all of them, then the beginnings of every search with half of them each.
func (z *evenSearch) climbUp(rng *rand.Rand) {
	for i, part := range []float64{1, 0.5, 0.5} {
		for z.restart(); z.spent() < part; {
			d, ok := z.above()
			if !ok || z.ctx.Err() != nil {
				return
			}
			z.play.Delay, z.best, z.value = d, nil, never
			starts := []candidate{{z.even.known[len(z.even.known)-1].clone(), never}}
			if i > 0 {
				starts = z.beginnings()
			}
			c := starts[min(max(0, i-1), len(starts)-1)]
			if z.best, z.value = c.q, c.value; i == 0 {
				z.keep(c.q, 0)
			}
			z.climb(rng, z.share(part))
			if !z.pays() {
				break
			}
			z.raise()
		}
	}
}

// refineUp anneals sequences of small jobs just above the break-even found so far, until none pays there: what
// pays at the longest delay, and the beginnings of every search.
func (z *evenSearch) refineUp() {
	for again := z.small(); again; {
		d, ok := z.above()
		if !ok {
			return
		}
		z.play.Delay, z.best, z.value = d, nil, never
		z.keep(z.even.known[len(z.even.known)-1], 0)
		starts := z.beginnings()
		if z.best != nil {
			starts = append(starts, candidate{z.best, z.value})
		}
		again = false
		for i := 2*len(starts) - 1; i >= 0 && !again; i-- {
			z.best, z.value = starts[i/2].q, starts[i/2].value
			z.anneal(hottest[i%2], random.Stream(z.o.Seed, fmt.Sprint("anneal ", i)))
			if again = z.pays(); again {
				z.raise()
			}
		}
	}
}

// pairsUp looks for two topologies that pay at a longer delay than what was found, if these can be
// enumerated. What does not pay at a delay is not tried again at longer ones.
func (z *evenSearch) pairsUp() {
	d, ok := z.above()
	if !ok {
		return
	}
	z.play.Delay, z.best, z.value = d, nil, z.static.Makespan
	z.eachPair(z.twoTopologies(false), func() engine.Time { return z.static.Makespan }, func(q *Sequence) bool {
		if z.consider(q) && z.pays() {
			z.raise()
			d, ok = z.above()
			z.play.Delay, z.best, z.value = d, nil, z.static.Makespan
		}
		return ok
	})
}
