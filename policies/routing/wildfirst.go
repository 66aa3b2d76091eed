package routing

import (
	"context"

	"sim/engine"
)

// Route leads the flows of a torus or mesh, without seeking balance beyond chance: a pair that may not take wild hops
// (Use) takes the dimension-ordered route that DimensionOrder chooses, if that is live; any other takes, of its live
// candidates with the fewest hops, one that a hash of seed and pair picks evenly. It fails, with ErrUnserved, on other
// graphs, and names pairs that no candidate joins.
func (w WildRule) Route(ctx context.Context, p *Problem, o Options) (*Decision, error) {
	c, l, err := w.assigner(p, o.Seed)
	if err != nil {
		return nil, err
	}
	paths, err := l.assignPaths(ctx)
	if err != nil {
		return nil, err
	}
	wild := 0
	for _, class := range paths.Class {
		if l.geometry.countWild(paths.Steps(class)) > 0 {
			wild++
		}
	}
	return &Decision{Paths: paths, Metrics: map[string]float64{"wild_pairs": float64(wild)}, Labels: c.labels()}, nil
}

func (w WildRule) assigner(p *Problem, seed uint64) (*Candidates, *pathAssigner, error) {
	if w.Use == "" {
		w.Use = UseAnyDead
	}
	c, err := NewCandidates(p, w)
	if err != nil {
		return nil, nil, err
	}
	return c, c.assigner(p, 2, func(f engine.Flow) []engine.Step { return c.pick(f, seed) }), nil // 2 is the period of the rule of ties
}

// pick chooses a live candidate of a flow, nil where there is none.
func (c *Candidates) pick(f engine.Flow, seed uint64) []engine.Step {
	if f.Src == f.Dst {
		return []engine.Step{}
	}
	var vectorBuffer [32]int16
	var stepBuffer [64]engine.Step
	vectors := c.orderedVectors(f.Src, f.Dst, vectorBuffer[:0], c.rule.Free)
	hasDown := false
	for k := 0; k < len(vectors); k += len(c.geometry.Dims) {
		hasDown = hasDown || !c.geometry.isPathUp(f.Src, c.geometry.appendSteps(vectors[k:k+len(c.geometry.Dims)], stepBuffer[:0]))
	}
	if c.use == UseNeeded || c.use == UseAnyDead && !hasDown {
		path := c.geometry.appendSteps(c.geometry.breakTie(f, vectors), stepBuffer[:0])
		if c.geometry.isPathUp(f.Src, path) {
			return append([]engine.Step(nil), path...)
		}
	}
	all := c.Paths(f)
	n := 0
	for n < len(all) && len(all[n]) == len(all[0]) {
		n++
	}
	if n == 0 {
		return nil
	}
	return all[uniformInt(hash(seed, uint64(f.Src)<<32|uint64(f.Dst)), n)]
}

// hash mixes numbers (the finaliser of splitmix64, Steele et al., OOPSLA 2014).
func hash(words ...uint64) uint64 {
	h := uint64(0)
	for _, x := range words {
		h = mix(h, x)
	}
	return h
}

// mix returns the hash of some numbers and one more.
func mix(h, x uint64) uint64 {
	h += x + 0x9E3779B97F4A7C15
	h = (h ^ h>>30) * 0xBF58476D1CE4E5B9
	h = (h ^ h>>27) * 0x94D049BB133111EB
	return h ^ h>>31
}

// uniformInt turns a hash into a number from 0 to n-1, all as likely.
func uniformInt(h uint64, n int) int { return int(h >> 32 * uint64(n) >> 32) }
