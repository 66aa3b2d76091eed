package routing

import (
	"context"

	"sim/engine"
	"sim/internal/random"
)

// Route routes the flows of a torus or mesh and balances them only by chance. A pair that may not
// take wild hops (Use) takes the path of DimensionOrder if it is live. Every other pair takes one
// of its live candidates with the minimum number of hops, selected by a hash of seed and pair.
// The error wraps ErrUnserved on other graphs, and names pairs without a candidate.
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

	return &Decision{
		Paths:   paths,
		Metrics: map[string]float64{"wild_pairs": float64(wild)},
		Labels:  c.labels(),
	}, nil
}

// assigner prepares the paths with the candidates they are selected from.
func (w WildRule) assigner(p *Problem, seed uint64) (*Candidates, *pathAssigner, error) {
	if w.Use == "" {
		w.Use = UseAnyDead
	}
	c, err := NewCandidates(p, w)
	if err != nil {
		return nil, nil, err
	}

	// Selected paths depend on breakTie.
	return c, c.assigner(p, evenTranslation, func(f engine.Flow) []engine.Step { return c.pick(f, seed) }), nil
}

// pick selects a live candidate of a flow; nil if all are down.
func (c *Candidates) pick(f engine.Flow, seed uint64) []engine.Step {
	if f.Src == f.Dst {
		return []engine.Step{}
	}
	var vectorBuffer [32]int16
	var stepBuffer [64]engine.Step // avoids an allocation
	vectors := c.orderedVectors(f.Src, f.Dst, vectorBuffer[:0], c.rule.Free)
	hasDown := false
	for k := 0; k < len(vectors); k += len(c.geometry.Dims) {
		hasDown = hasDown || !c.geometry.isPathUp(f.Src,
			c.geometry.appendSteps(vectors[k:k+len(c.geometry.Dims)], stepBuffer[:0]))
	}

	if c.use == UseNeeded || c.use == UseAnyDead && !hasDown {
		path := c.geometry.appendSteps(c.geometry.breakTie(f, vectors), stepBuffer[:0])
		if c.geometry.isPathUp(f.Src, path) {
			return append([]engine.Step(nil), path...)
		}
	}

	// Otherwise one of the shortest candidates, which come first.
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

// hash returns a hash of a sequence of numbers.
func hash(words ...uint64) uint64 {
	h := uint64(0)
	for _, x := range words {
		h = random.Mix(h + x)
	}
	return h
}

// uniformInt maps a hash to 0..n-1 uniformly.
func uniformInt(h uint64, n int) int { return int(h >> 32 * uint64(n) >> 32) }
