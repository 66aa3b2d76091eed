package routing

// Serves fails, with ErrUnserved, where Route would as links that are down leave some pair without a dimension-ordered
// way. It leads no flows.
func (r DimensionOrder) Serves(p *Problem) error {
	if err := p.check(); err != nil {
		return err
	}
	order := r.Order
	if p.Torus != nil && order == nil {
		order = longestFirst(p.Torus)
	}
	z, err := newLattice(p, order)
	if err != nil {
		return err
	}
	var vectors []int16
	return p.serves("links that are down are on the dimension-ordered way", nil, func(i int) bool {
		f := p.Flows[i]
		vectors = z.shortest(f.Src, f.Dst, vectors[:0])
		return z.alive(f.Src, z.ways(z.tie(f.Src, vectors), nil))
	})
}

// Serves fails, with ErrUnserved, where Route would as links that are down leave some pair without a candidate. It
// leads no flows.
func (w WildFirst) Serves(p *Problem) error {
	if w.Use == "" {
		w.Use = AnyDead
	}
	c, err := NewCandidates(p, w)
	if err != nil {
		return err
	}
	return p.serves(noCandidate, p.Symmetry(2), func(i int) bool { return c.pick(p.Flows[i], 0) != nil })
}

// serves fails where joined does of some flow, and names the first. Of flows that translations take into each other it
// asks for one.
func (p *Problem) serves(why string, y *Symmetry, joined func(flow int) bool) error {
	var asked []bool
	if y != nil && len(y.Sources) < int(p.Network.Nodes) { // else no two flows are of one class
		asked = make([]bool, y.Classes())
	}
	var dead unjoined
	for i, f := range p.Flows {
		if asked != nil {
			class := y.Class(f)
			if asked[class] {
				continue
			}
			asked[class] = true
		}
		if !joined(i) {
			dead.add(f)
			break
		}
	}
	return dead.err(why)
}
