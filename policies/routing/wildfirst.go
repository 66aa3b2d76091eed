package routing

import (
	"context"

	"sim/engine"
)

// Route leads the flows of a torus or mesh, without seeking balance beyond chance: a pair that may not take wild hops
// (Use) takes the dimension-ordered route that DimensionOrder chooses, if that is live; any other takes, of its live
// candidates with the fewest hops, one that a hash of seed and pair picks evenly. It fails, with ErrUnserved, on other
// graphs, and names pairs that no candidate joins.
func (w WildFirst) Route(ctx context.Context, p *Problem, o Options) (*Decision, error) {
	if w.Use == "" {
		w.Use = AnyDead
	}
	c, err := NewCandidates(p, w)
	if err != nil {
		return nil, err
	}
	z := c.z
	set := newWalkSet(z.degree, z.link, len(p.Flows))
	y := p.Symmetry(2) // of the rule of ties too
	var choice [][]engine.Step
	if len(y.Sources) < z.Nodes() { // else no two flows are of one class
		choice = make([][]engine.Step, y.Classes())
	}
	wild := int64(0)
	var dead unjoined
	var walk []engine.Step
	for i, f := range p.Flows {
		if i&0xfff == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		var way []engine.Step
		if choice == nil {
			way = c.pick(f, o.Seed)
		} else {
			class := y.Class(f)
			if way = choice[class]; way == nil {
				way = c.pick(y.Flow(class), o.Seed)
				choice[class] = way
			}
		}
		if way == nil {
			dead.add(f)
			continue
		}
		walk = append(walk[:0], way...)
		c.Channels(f.Src, walk)
		if err := set.add(i, walk); err != nil {
			return nil, err
		}
		if z.wild(walk) > 0 {
			wild++
		}
	}
	if err := dead.err(noCandidate); err != nil {
		return nil, err
	}
	return &Decision{
		Paths:   set.walks,
		Metrics: map[string]float64{"wild_pairs": float64(wild)},
		Labels:  map[string]string{"order": dimNames(c.w.Order), "wild": dimNames(c.w.Wild)},
	}, nil
}

// pick chooses a live candidate of a flow, nil where there is none.
func (c *Candidates) pick(f engine.Flow, seed uint64) []engine.Step {
	if f.Src == f.Dst {
		return []engine.Step{}
	}
	var buffer [32]int16
	var few [64]engine.Step
	ties := c.rest(f.Src, f.Dst, buffer[:0], c.w.Free)
	dead := false
	for k := 0; k < len(ties); k += len(c.z.Dims) {
		dead = dead || !c.z.alive(f.Src, c.z.ways(ties[k:k+len(c.z.Dims)], few[:0]))
	}
	if c.w.Use == Needed || c.w.Use == AnyDead && !dead {
		way := c.z.ways(c.z.tie(f.Src, ties), few[:0])
		if c.z.alive(f.Src, way) {
			return append([]engine.Step(nil), way...)
		}
	}
	all := c.Of(f)
	n := 0
	for n < len(all) && len(all[n]) == len(all[0]) {
		n++
	}
	if n == 0 {
		return nil
	}
	return all[below(hash(seed, uint64(f.Src)<<32|uint64(f.Dst)), n)]
}

// hash mixes numbers (the finaliser of splitmix64, Steele et al., OOPSLA 2014).
func hash(of ...uint64) uint64 {
	h := uint64(0)
	for _, x := range of {
		h += x + 0x9E3779B97F4A7C15
		h = (h ^ h>>30) * 0xBF58476D1CE4E5B9
		h = (h ^ h>>27) * 0x94D049BB133111EB
		h ^= h >> 31
	}
	return h
}

// below turns a hash into a number from 0 to n-1, all as likely.
func below(h uint64, n int) int { return int(h >> 32 * uint64(n) >> 32) }
