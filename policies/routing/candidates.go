package routing

import (
	"cmp"
	"fmt"
	"slices"

	"sim/engine"
)

// This file lists the paths of wild-first routing on tori and meshes (Zu et al., "Resiliency at
// Scale: Managing Google's TPUv4 Machine Learning Supercomputer", NSDI 2024, Sec. 4.2). Its terms:
//
//   - A hop vector has the number of hops along each dimension, negative downwards. A
//     dimension-ordered path completes the hops along one dimension before the next dimension.
//   - A wild hop is a hop in either direction at the start of a path, before the
//     dimension-ordered hops. It leads to a node from which the rest of the path avoids links
//     that are down.
//   - A port is a direction of a node: 2*d is upwards along dimension d, and 2*d+1 downwards.
//   - A twisted torus has dimensions with shifted wrap-around links, which also move along other
//     dimensions.

// The values of WildFirst.Use: the pairs of nodes that may take wild hops. They refer to the
// shortest dimension-ordered paths of a pair.
const (
	UseNeeded  = "needed"   // pairs for which all of these paths are down
	UseAnyDead = "any-dead" // pairs for which at least one of these paths is down
	UseAll     = "all"      // every pair
)

// WildFirst holds the options of wild-first routing, which routes around links that are down. A
// path starts with at most one wild hop along each dimension of Wild. From there it is a shortest
// dimension-ordered path.
type WildFirst struct {
	// Wild is the order of dimensions for wild hops. If empty, it is the reverse of Order without
	// its first dimension.
	Wild []string `key:"wild" doc:"order of dimensions for wild hops; an empty list means the reverse of order" default:"" choices:"x|y|z" empty:""`
	// Use selects the pairs that may take wild hops: UseNeeded, UseAnyDead or UseAll. "" is the
	// default of the caller. Routers that select a path at random set UseAnyDead. For routers that
	// search for a good selection, NewCandidates sets UseAll.
	Use string `key:"pairs" doc:"pairs that may take wild hops: 'needed', pairs whose dimension-ordered paths are all down; 'any-dead', pairs with one that is down; or 'all'; \"\" means all if paths are optimised or several, otherwise any-dead" default:"" choices:"needed|any-dead|all" unset:""`
}

// WildRule determines the set of wild-first paths.
type WildRule struct {
	WildFirst
	Order []string // see Settings.Order
	// Free lifts two restrictions on the shifted dimensions of twisted tori. The segment
	// rule for virtual channels (geometry.setChannels) does not suffice there to exclude deadlock.
	// In a shifted dimension of size k, whose nodes have coordinates 0 to k-1, the restrictions
	// are:
	//
	//   - A wild hop crosses the wrap-around link or ends next to it: upwards it starts at k-2 or
	//     k-1, and downwards at 1 or 0.
	//   - A hop vector with k hops along the dimension crosses the wrap-around link first
	//     (isDetour).
	//
	// The restrictions are lifted in any case for pairs that would have no candidate, as happens
	// with k = 8 and a failed switch. Chosen paths should therefore be verified with
	// packet.CheckChannels.
	Free bool
}

// Candidates lists the paths that wild-first routing may take. It is safe for concurrent use.
type Candidates struct {
	geometry *geometry // torus and order of dimensions
	rule     WildRule  // with defaults for Order and Wild
	use      string    // rule.Use, or UseAll if that is empty
	wildDims []int     // dimensions of wild hops in their order
	// wildHops lists the combinations of wild hops by increasing number of hops. The first one has
	// no hops. A combination is indexed as wildDims: 1 is a hop upwards, -1 a hop downwards, and 0
	// no hop along the dimension.
	wildHops [][]int8
}

// NewCandidates prepares the paths of a problem on a torus or mesh. The error wraps ErrUnserved
// on other graphs, and for options that name no dimension.
func NewCandidates(p *Problem, w WildRule) (*Candidates, error) {
	if p.Torus == nil {
		return nil, fmt.Errorf("%w: wild-first routing is for tori and meshes; \"shortest\" serves any graph",
			ErrUnserved)
	}
	// The default order ends with a dimension without links that are down, if there is one.
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

// listWildHops sets wildHops.
func (c *Candidates) listWildHops() {
	// Start with the combination without hops. For each dimension, add a copy of every
	// combination so far with a hop upwards, and one with a hop downwards.
	all := [][]int8{make([]int8, len(c.wildDims))}
	for i := range c.wildDims {
		for _, shorter := range slices.Clone(all) {
			for _, sign := range []int8{1, -1} {
				longer := slices.Clone(shorter)
				longer[i] = sign
				all = append(all, longer)
			}
		}
	}

	numHops := func(signs []int8) (n int) {
		for _, sign := range signs {
			if sign != 0 {
				n++
			}
		}
		return n
	}
	slices.SortStableFunc(all, func(a, b []int8) int { return numHops(a) - numHops(b) })
	c.wildHops = all
}

// Paths returns the live candidates of a flow without duplicates, ordered by length and then by
// the number of wild hops. It is empty if all candidates are down. Paths that visit a node twice
// are excluded.
//
// The virtual channels are those for the source of this flow. If a translation maps the flow to
// another flow, the ports of the paths also apply to the other flow, but its channels may differ
// because other links wrap around. SetChannels computes them.
func (c *Candidates) Paths(f engine.Flow) [][]engine.Step {
	if f.Src == f.Dst {
		return [][]engine.Step{{}}
	}
	z := c.geometry
	var paths [][]engine.Step
	var vectorBuffer [32]int16     // buffers on the stack save allocations
	var stepBuffer [64]engine.Step // for one path
	vectors := c.orderedVectors(f.Src, f.Dst, vectorBuffer[:0], c.rule.Free)

	// List the dimension-ordered paths, one per hop vector.
	hasDown := false
	for k := 0; k < len(vectors); k += len(z.Dims) {
		path := z.appendSteps(vectors[k:k+len(z.Dims)], stepBuffer[:0])
		if !z.isPathUp(f.Src, path) {
			hasDown = true
			continue
		}
		paths = append(paths, slices.Clone(path))
	}

	// Add paths with wild hops if the rule allows them for this pair, or if no path is up.
	if c.use == UseAll || hasDown && c.use == UseAnyDead || len(paths) == 0 {
		paths = c.appendWild(f, paths, c.rule.Free)
		if len(paths) == 0 && !c.rule.Free && c.geometry.Shift != nil {
			const free = true
			paths = c.appendWild(f, paths, free)
		}
	}

	slices.SortStableFunc(paths, func(a, b []engine.Step) int { return len(a) - len(b) })
	for _, path := range paths {
		c.SetChannels(f.Src, path)
	}
	return paths
}

// appendWild appends the live paths of a flow that start with wild hops and are not yet in paths.
// free is WildRule.Free.
func (c *Candidates) appendWild(f engine.Flow, paths [][]engine.Step, free bool) [][]engine.Step {
	z := c.geometry
	var vectorBuffer [32]int16
	var stepBuffer [64]engine.Step
	withHops := c.wildHops[1:] // without the combination of no hops
	for _, signs := range withHops {
		node, path := c.takeWildHops(f.Src, signs, stepBuffer[:0], free)
		if node < 0 {
			continue
		}
		numWild := len(path)
		vectors := c.orderedVectors(node, f.Dst, vectorBuffer[:0], free)
		for k := 0; k < len(vectors); k += len(z.Dims) {
			path = z.appendSteps(vectors[k:k+len(z.Dims)], path[:numWild])
			if !z.isPathUp(node, path[numWild:]) || c.revisits(f.Src, path) ||
				containsPath(paths, path) {
				continue
			}
			paths = append(paths, slices.Clone(path))
		}
	}

	return paths
}

// containsPath reports whether one of paths equals path.
func containsPath(paths [][]engine.Step, path []engine.Step) bool {
	return slices.ContainsFunc(paths, func(p []engine.Step) bool { return slices.Equal(p, path) })
}

// SetChannels sets the virtual channels of a candidate's ports, for a path that starts at from.
func (c *Candidates) SetChannels(from int32, path []engine.Step) {
	c.geometry.setChannels(from, path, segmentRule)
}

// assigner returns a pathAssigner that calls choose for one flow of each class and gives all flows
// of the class a path over the same ports. Flows are in one class if a translation of the torus
// that preserves the problem maps one to the other. Only translations by multiples of every nodes
// along each dimension are used (Problem.Symmetry).
func (c *Candidates) assigner(p *Problem, every int, choose func(f engine.Flow) []engine.Step) *pathAssigner {
	return &pathAssigner{
		geometry:     c.geometry,
		problem:      p,
		symmetry:     p.Symmetry(every),
		choose:       choose,
		reason:       reasonNoCandidate,
		usesSegments: true,
	}
}

// labels returns the orders of dimensions as labels of a decision.
func (c *Candidates) labels() map[string]string {
	return map[string]string{"order": dimString(c.geometry.order), "wild": dimString(c.wildDims)}
}

// orderedVectors appends the hop vectors of the shortest dimension-ordered paths from a to b to
// into, with one number per dimension for each vector. Unless free is set, detours (isDetour) are
// removed if other vectors remain.
func (c *Candidates) orderedVectors(a, b int32, into []int16, free bool) []int16 {
	into = c.geometry.shortestVectors(a, b, into)
	if free || c.geometry.Shift == nil {
		return into
	}

	dims, remaining := len(c.geometry.Dims), 0
	for k := 0; k < len(into); k += dims {
		if !c.isDetour(a, into[k:k+dims]) {
			copy(into[remaining:], into[k:k+dims])
			remaining += dims
		}
	}
	if remaining == 0 {
		return into // all are detours; nothing has been moved
	}
	return into[:remaining]
}

// isDetour reports whether a hop vector from a node goes all around a shifted dimension and crosses
// the wrap-around link last. The vector in the opposite direction leads to the same node and
// crosses the wrap-around link first.
func (c *Candidates) isDetour(from int32, v []int16) bool {
	for d, hops := range v {
		if !c.geometry.isTwisted[d] {
			continue
		}
		size, x := c.geometry.Dims[d], c.geometry.Coord(from, d)
		if int(hops) >= size && x == 0 || int(-hops) >= size && x == size-1 {
			return true
		}
	}
	return false
}

// takeWildHops appends a combination of wild hops from a node to path, and returns the node they
// lead to. The node is -1 if a link is down or if a restriction (WildRule.Free) excludes a hop.
func (c *Candidates) takeWildHops(node int32, signs []int8, path []engine.Step, free bool) (int32, []engine.Step) {
	z := c.geometry
	for i, sign := range signs {
		if sign == 0 {
			continue
		}
		d := c.wildDims[i]
		port := 2 * d
		if sign < 0 {
			port++
		}

		if z.isTwisted[d] && !free {
			x := z.Coord(node, d)
			if sign > 0 && x < z.Dims[d]-2 || sign < 0 && x > 1 {
				return -1, path
			}
		}

		k := int(node)*z.degree + port // index in the tables of z
		if !z.isUp[k] {
			return -1, path
		}
		node = z.neighbour[k]
		path = append(path, engine.MakeStep(port, 0))
	}

	return node, path
}

// revisits reports whether a path that starts at node from visits a node twice.
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

// reasonNoCandidate is the explanation in errors if wild-first routing has no path for a pair.
const reasonNoCandidate = "links that are down are on every wild-first path"
