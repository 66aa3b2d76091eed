package routing

import (
	"cmp"
	"fmt"
	"slices"

	"sim/engine"
)

// Who may take wild hops (WildFirst.Use).
const (
	UseNeeded  = "needed"   // pairs all of whose shortest dimension-ordered routes are down
	UseAnyDead = "any-dead" // pairs that have a dead one among them
	UseAll     = "all"      // every pair
)

// WildFirst routes around links that are down by at most one wild hop along each dimension, taken first, and then in
// dimension order along a shortest hop vector of what is left (WFR; Zu et al., NSDI 24, Sec. 4.2).
type WildFirst struct {
	// Wild is the dimensions of wild hops in the order in which these are taken; none is the reverse of Order without
	// its first.
	Wild []string `key:"wild" doc:"order of dimensions for wild hops; an empty list means the reverse of order" default:"" choices:"x|y|z" empty:""`
	// Use is who may take wild hops: Needed, AnyDead or All. "" is All where candidates are chosen among for balance,
	// which is best, and AnyDead for Route, which chooses by chance.
	Use string `key:"use" doc:"pairs that may take wild hops: 'needed', pairs whose dimension-ordered paths are all down; 'any-dead', pairs with one that is down; or 'all'; \"\" means all if paths are optimised or several, otherwise any-dead" default:"" choices:"needed|any-dead|all" unset:""`
}

// WildRule is which wild-first routes there are.
type WildRule struct {
	WildFirst
	Order []string // see Settings
	// Free lifts what twisted tori need beyond the rule of channels to be free of deadlock: that wild hops along a
	// dimension of size k whose wrap-around links are shifted take only the links k-2 -> k-1, 1 -> 0 and the
	// wrap-around ones, and that hop vectors that go k along it do so by the wrap-around link first where they begin
	// beside it. It is lifted for pairs that it leaves without a candidate, as it does where k is 8 and a switch is
	// down; whoever chooses had better check what was chosen (packet.CheckChannels).
	Free bool
}

// Candidates lists the paths that wild-first routing may take. It is safe for concurrent use.
type Candidates struct {
	geometry *geometry
	rule     WildRule
	use      string
	wildDims []int    // of wild hops
	wildHops [][]int8 // by subset and signs of wild hops: by place in dims, -1, 0 or 1
}

// NewCandidates prepares the paths of a problem on a torus or mesh. It fails, with ErrUnserved, on other graphs and on
// options that name no dimension or rule.
func NewCandidates(p *Problem, w WildRule) (*Candidates, error) {
	if p.Torus == nil {
		return nil, fmt.Errorf("%w: wild-first routing is for tori and meshes; \"shortest\" serves any graph", ErrUnserved)
	}
	order, err := dimOrder(p.Torus, w.Order, func() []int { return sandwich(p) })
	if err != nil {
		return nil, err
	}
	c := &Candidates{rule: w, use: cmp.Or(w.Use, UseAll)}
	if c.wildDims, err = parseDims(p.Torus, w.Wild); err != nil {
		return nil, err
	}
	if len(w.Wild) == 0 {
		c.wildDims = slices.Clone(order[1:])
		slices.Reverse(c.wildDims)
	}
	c.rule.Order, c.rule.Wild = dimNames(order), dimNames(c.wildDims)
	if c.geometry, err = newGeometry(p, order); err != nil {
		return nil, err
	}
	c.listWildHops()
	return c, nil
}

// listWildHops lists the wild hops, fewest first.
func (c *Candidates) listWildHops() {
	all := [][]int8{make([]int8, len(c.wildDims))}
	for i := range c.wildDims {
		for _, w := range all[:len(all):len(all)] {
			for _, sign := range []int8{1, -1} {
				longer := slices.Clone(w)
				longer[i] = sign
				all = append(all, longer)
			}
		}
	}
	count := func(w []int8) (n int) {
		for _, s := range w {
			n += int(s * s)
		}
		return n
	}
	slices.SortStableFunc(all, func(a, b []int8) int { return count(a) - count(b) })
	c.wildHops = all
}

// Paths returns the live candidate paths of a flow, shortest first and with fewer wild hops first among these, each of its
// ports once; none where every one is dead. Paths that come to a node twice are left out. Their virtual channels are
// those of this flow: one that a translation takes it to has the same ports, and the channels that Channels sets.
func (c *Candidates) Paths(f engine.Flow) [][]engine.Step {
	if f.Src == f.Dst {
		return [][]engine.Step{{}}
	}
	z := c.geometry
	var paths [][]engine.Step
	var vectorBuffer [32]int16
	var stepBuffer [64]engine.Step
	vectors, hasDown := c.orderedVectors(f.Src, f.Dst, vectorBuffer[:0], c.rule.Free), false
	for k := 0; k < len(vectors); k += len(z.Dims) {
		path := z.appendSteps(vectors[k:k+len(z.Dims)], stepBuffer[:0])
		if !z.isPathUp(f.Src, path) {
			hasDown = true
			continue
		}
		paths = append(paths, slices.Clone(path))
	}
	if c.use == UseAll || hasDown && c.use == UseAnyDead || len(paths) == 0 {
		paths = c.appendWild(f, paths, c.rule.Free)
		if len(paths) == 0 && !c.rule.Free && c.geometry.Shift != nil {
			paths = c.appendWild(f, paths, true)
		}
	}
	slices.SortStableFunc(paths, func(a, b []engine.Step) int { return len(a) - len(b) })
	for _, path := range paths {
		c.SetChannels(f.Src, path)
	}
	return paths
}

// appendWild appends the live paths of a flow that begin with wild hops.
func (c *Candidates) appendWild(f engine.Flow, paths [][]engine.Step, free bool) [][]engine.Step {
	z := c.geometry
	var vectorBuffer [32]int16
	var stepBuffer [64]engine.Step
	for _, signs := range c.wildHops[1:] {
		node, path := c.takeWildHops(f.Src, signs, stepBuffer[:0], free)
		if node < 0 {
			continue
		}
		start := len(path)
		vectors := c.orderedVectors(node, f.Dst, vectorBuffer[:0], free)
		for k := 0; k < len(vectors); k += len(z.Dims) {
			path = z.appendSteps(vectors[k:k+len(z.Dims)], path[:start])
			if !z.isPathUp(node, path[start:]) || c.revisits(f.Src, path) ||
				slices.ContainsFunc(paths, func(have []engine.Step) bool { return slices.Equal(have, path) }) {
				continue
			}
			paths = append(paths, slices.Clone(path))
		}
	}
	return paths
}

// SetChannels sets the virtual channels of a path of candidates' ports from a node.
func (c *Candidates) SetChannels(from int32, path []engine.Step) {
	c.geometry.setChannels(from, path, true)
}

// assigner leads flows by what choose gives one flow of each class of translations by multiples of a number.
func (c *Candidates) assigner(p *Problem, every int, choose func(f engine.Flow) []engine.Step) *pathAssigner {
	return &pathAssigner{geometry: c.geometry, problem: p, symmetry: p.Symmetry(every), choose: choose, reason: reasonNoCandidate, usesSegments: true}
}

// labels are the dimensions as paths take them.
func (c *Candidates) labels() map[string]string {
	return map[string]string{"order": dimString(c.geometry.order), "wild": dimString(c.wildDims)}
}

// orderedVectors appends the hop vectors of the dimension-ordered end of a path.
func (c *Candidates) orderedVectors(a, b int32, into []int16, free bool) []int16 {
	into = c.geometry.shortestVectors(a, b, into)
	if free || c.geometry.Shift == nil {
		return into
	}
	dims, keep := len(c.geometry.Dims), 0
	for k := 0; k < len(into); k += dims {
		if !c.isDetour(a, into[k:k+dims]) {
			copy(into[keep:], into[k:k+dims])
			keep += dims
		}
	}
	if keep > 0 {
		into = into[:keep]
	}
	return into
}

// isDetour reports whether a vector goes all the way round a shifted dimension with the wrap-around link last: the opposite
// way round, where that comes first, leads to the same node.
func (c *Candidates) isDetour(from int32, v []int16) bool {
	for d, hops := range v {
		if size := c.geometry.Dims[d]; c.geometry.isTwisted[d] {
			if x := c.geometry.Coord(from, d); int(hops) >= size && x == 0 || int(-hops) >= size && x == size-1 {
				return true
			}
		}
	}
	return false
}

// takeWildHops takes wild hops from a node and appends them; -1 where one may not be taken.
func (c *Candidates) takeWildHops(node int32, wild []int8, path []engine.Step, free bool) (int32, []engine.Step) {
	z := c.geometry
	for i, sign := range wild {
		if sign == 0 {
			continue
		}
		d := c.wildDims[i]
		port := 2 * d
		if sign < 0 {
			port++
		}
		if z.isTwisted[d] && !free {
			if x := z.Coord(node, d); sign > 0 && x < z.Dims[d]-2 || sign < 0 && x > 1 {
				return -1, path
			}
		}
		k := int(node)*z.degree + port
		if !z.isUp[k] {
			return -1, path
		}
		node = z.neighbour[k]
		path = append(path, engine.MakeStep(port, 0))
	}
	return node, path
}

// revisits reports whether a path comes to a node twice.
func (c *Candidates) revisits(from int32, path []engine.Step) bool {
	var nodeBuffer [64]int32
	visited := append(nodeBuffer[:0], from)
	for _, s := range path {
		from = c.geometry.neighbour[int(from)*c.geometry.degree+s.Port()]
		if slices.Contains(visited, from) {
			return true
		}
		visited = append(visited, from)
	}
	return false
}

// reasonNoCandidate says why wild-first routing does not join a pair.
const reasonNoCandidate = "links that are down are on every wild-first way"
