package topology

import (
	"fmt"
	"math"
	"math/rand/v2"

	"sim/engine"
	"sim/internal/random"
)

const (
	// breakEvenRatio is the ratio of two delays at which the search between them stops.
	breakEvenRatio = 1.02
	// minBreakEvenDelay is the shortest positive delay that is tried.
	minBreakEvenDelay = engine.Nanosecond
)

// breakEvenResult holds the break-even: the longest reconfiguration delay at which a
// sequence was found that is faster than no change. It depends on the job and the fabric,
// not on the delay of the scenario.
type breakEvenResult struct {
	found bool        // some sequence is faster at some delay
	delay engine.Time // 0 if found is false, or if sequences are faster only without a delay
	// sequences are faster than no change; each was appended with a longer delay than the
	// one before.
	sequences []*Sequence
}

// covers reports whether a sequence is known that is faster at the given delay.
func (b *breakEvenResult) covers(delay engine.Time) bool { return b.found && delay <= b.delay }

// findBreakEven searches for the break-even. A sequence that is faster at some delay is
// followed to the longest delay at which it is. The search then continues just above that
// delay, until its budget is used or the bound excludes longer delays. That no longer
// delay is possible is not proved.
func (s *duringSearch) findBreakEven() *breakEvenResult {
	// Restore the search for sequences afterwards, without its best sequence.
	delay := s.simulator.Delay
	defer func() {
		s.reset()
		s.simulator.Delay, s.best, s.bestTime, s.bound, s.isEnough = delay, nil, never, 0, nil
	}()

	// maxDelay is the longest delay at which the quick bound is below the makespan without changes.
	z := &breakEvenSearch{duringSearch: s, result: &breakEvenResult{}}
	z.maxDelay, _ = longestDelay(s.static.Makespan, minBreakEvenDelay, func(d engine.Time) (bool, error) {
		return !meetsBound(s.static.Makespan, s.bounds.quickBound(s.static, d)), nil
	})
	if z.maxDelay < 0 && s.bounds.quickBound(s.static, 0) == s.static.Makespan {
		return z.result // proved for every delay
	}

	// Search without a delay for a first sequence that is faster than no change.
	z.isEnough = z.beatsStatic
	if z.startAt(0); !z.beatsStatic() {
		if z.refine(); !z.beatsStatic() {
			rng := random.Stream(z.o.Seed, "break-even")
			if z.hillClimb(rng, z.budgetUsed(seedBudgetShare)); !z.beatsStatic() {
				z.best, z.bestTime = z.staticSequence()
				z.hillClimb(rng, z.budgetUsed(wholeBudget))
			}
		}
	}

	if !z.beatsStatic() {
		return z.result
	}

	// Follow it to longer delays, then search above the break-even with each method.
	z.raiseDelay()
	z.bisectWithSeeds()
	z.climbAbove(random.Stream(z.o.Seed, "break-even"))
	z.pairsAbove()
	z.annealAbove()
	return z.result
}

// breakEvenSearch is one search for the break-even. It uses the search for sequences
// (duringSearch) at one delay after another, set by simulator.Delay. static is the best decision
// without changes, best the fastest sequence at the current delay, and bestTime its makespan.
//
// Methods of duringSearch improve best. tryCharged and tryUncharged simulate one sequence, with
// and without a charge to the budget. trySeeds tries the initial sequences. hillClimb, anneal and
// refine change best at random.
type breakEvenSearch struct {
	*duringSearch
	result   *breakEvenResult
	maxDelay engine.Time // longest delay that the bound does not exclude
}

// startAt sets the delay of the search and tries the sequences found at shorter delays,
// then the initial sequences.
func (z *breakEvenSearch) startAt(d engine.Time) {
	z.simulator.Delay, z.best, z.bestTime, z.bound = d, nil, never, z.bounds.delayFree
	for i := len(z.result.sequences) - 1; i >= 0 && !z.mustStop(); i-- {
		z.tryCharged(z.result.sequences[i].clone())
	}
	if !z.mustStop() {
		z.trySeeds()
	}
}

// nextDelay returns the next delay to try above the current break-even, or false if the
// bound excludes it.
func (z *breakEvenSearch) nextDelay() (engine.Time, bool) {
	d := max(minBreakEvenDelay, engine.Time(float64(z.result.delay)*breakEvenRatio))
	return d, d <= z.maxDelay
}

// raiseDelay raises the break-even to the longest delay at which the best sequence is
// still faster than no change. It increases the delay in growing steps, then bisects.
func (z *breakEvenSearch) raiseDelay() {
	q, low, high := z.best, z.simulator.Delay, z.maxDelay+1
	isFasterAt := func(d engine.Time) bool {
		z.simulator.Delay, z.best, z.bestTime = d, nil, z.static.Makespan
		z.evaluations++
		return z.updateBest(q, unknownMakespan) && z.beatsStatic()
	}

	// Increase the delay in growing steps until the sequence is no longer faster.
	for step := breakEvenRatio; ; step *= step {
		d := max(minBreakEvenDelay, engine.Time(float64(low)*step))
		if d >= high {
			break
		}
		if !isFasterAt(d) {
			high = d
			break
		}
		low = d
	}

	// Bisect between the last two delays.
	for float64(high) > max(float64(low)*breakEvenRatio, float64(minBreakEvenDelay)) && high > low+1 {
		middle := max(minBreakEvenDelay, engine.Time(math.Sqrt(float64(max(1, low)))*math.Sqrt(float64(high))))
		if middle <= low || middle >= high {
			break
		}
		if isFasterAt(middle) {
			low = middle
		} else {
			high = middle
		}
	}

	z.result.found, z.result.delay = true, low
	z.result.sequences = append(z.result.sequences, q.clone())
}

// probeShare is the fraction of the budget for the search at one delay of
// bisectWithSeeds.
const probeShare = 0.25

// bisectWithSeeds bisects for the longest delay at which an initial sequence, improved by
// local search, is faster than no change.
func (z *breakEvenSearch) bisectWithSeeds() {
	high := z.maxDelay
	for {
		above, ok := z.nextDelay()
		if !ok || above > high || z.ctx.Err() != nil {
			return
		}
		z.reset()
		d := max(above, engine.Time(math.Sqrt(float64(max(1, z.result.delay)))*math.Sqrt(float64(high))))
		z.startAt(d)
		if z.hillClimb(random.Stream(z.o.Seed, "break-even"), z.budgetUsed(probeShare)); z.beatsStatic() {
			z.raiseDelay()
		} else {
			high = engine.Time(float64(d) / breakEvenRatio)
		}
	}
}

// climbAbove runs local searches just above the current break-even. The first starts from
// the latest sequence of the result and may use the whole budget; the following two start
// from startCandidates and may use half of it each.
func (z *breakEvenSearch) climbAbove(rng *rand.Rand) {
	for i, part := range []float64{1, 0.5, 0.5} {
		for z.reset(); z.usedFraction() < part; {
			d, ok := z.nextDelay()
			if !ok || z.ctx.Err() != nil {
				return
			}
			z.simulator.Delay, z.best, z.bestTime = d, nil, never

			// Search 0 starts from the latest sequence, search i > 0 from candidate i-1 if there is one.
			if i == 0 {
				z.best = z.result.sequences[len(z.result.sequences)-1].clone()
				z.updateBest(z.best, unknownMakespan)
			} else {
				starts := z.startCandidates()
				c := starts[min(i-1, len(starts)-1)]
				z.best, z.bestTime = c.q, c.makespan
			}
			z.hillClimb(rng, z.budgetUsed(part))
			if !z.beatsStatic() {
				break
			}
			z.raiseDelay()
		}
	}
}

// annealAbove anneals sequences of small jobs just above the current break-even until
// none is faster than no change. It starts from the latest sequence of the result and
// from startCandidates.
func (z *breakEvenSearch) annealAbove() {
	for again := z.isSmall(); again; {
		d, ok := z.nextDelay()
		if !ok {
			return
		}
		z.simulator.Delay, z.best, z.bestTime = d, nil, never
		z.updateBest(z.result.sequences[len(z.result.sequences)-1], unknownMakespan)
		starts := z.startCandidates()
		if z.best != nil {
			starts = append(starts, sequenceCandidate{q: z.best, makespan: z.bestTime})
		}

		// Run i anneals start i/k with temperature i%k of k, the last ones first.
		again = false
		const k = len(initialTemperatures)
		for i := k*len(starts) - 1; i >= 0 && !again; i-- {
			z.best, z.bestTime = starts[i/k].q, starts[i/k].makespan
			z.anneal(initialTemperatures[i%k], random.Stream(z.o.Seed, fmt.Sprint("anneal ", i)))
			if again = z.beatsStatic(); again {
				z.raiseDelay()
			}
		}
	}
}

// pairsAbove enumerates sequences of two topologies, if the job is small enough, for one
// that is faster than no change above the current break-even. A sequence that is not
// faster at some delay is not tried again at longer delays.
func (z *breakEvenSearch) pairsAbove() {
	d, ok := z.nextDelay()
	if !ok {
		return
	}
	z.simulator.Delay, z.best, z.bestTime = d, nil, z.static.Makespan
	z.eachPair(z.pairTopologies(allTopologies), func() engine.Time { return z.static.Makespan }, func(q *Sequence) bool {
		if z.tryUncharged(q) && z.beatsStatic() {
			z.raiseDelay()
			d, ok = z.nextDelay()
			z.simulator.Delay, z.best, z.bestTime = d, nil, z.static.Makespan
		}
		return ok
	})
}
