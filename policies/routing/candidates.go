package routing

import (
	"cmp"
	"fmt"
	"slices"

	"sim/engine"
)

// Pairs that may take wild hops (WildFirst.Use).
const (
	// All shortest dimension-ordered paths of the pair are down.
	UseNeeded  = "needed"
	UseAnyDead = "any-dead" // at least one of these paths is down
	UseAll     = "all"      // every pair
)

// WildFirst routes around links that are down (wild-first routing; Zu et al., NSDI 24, Sec. 4.2).
// A path takes at most one wild hop along each dimension first. Then it follows a shortest hop
// vector in dimension order.
type WildFirst struct {
	// Wild is the order of dimensions for wild hops. If empty, it is the reverse of Order without
	// its first dimension.
	Wild []string `key:"wild" doc:"order of dimensions for wild hops; an empty list means the reverse of order" default:"" choices:"x|y|z" empty:""`
	// Use selects the pairs that may take wild hops: UseNeeded, UseAnyDead or UseAll. "" means
	// UseAll if candidates are balanced by a search, and UseAnyDead for Route, which selects by
	// chance.
	Use string `key:"pairs" doc:"pairs that may take wild hops: 'needed', pairs whose dimension-ordered paths are all down; 'any-dead', pairs with one that is down; or 'all'; \"\" means all if paths are optimised or several, otherwise any-dead" default:"" choices:"needed|any-dead|all" unset:""`
}

// WildRule determines the set of wild-first paths.
type WildRule struct {
	WildFirst
	Order []string // see Settings.Order
	// Free lifts two restrictions on dimensions with shifted wrap-around links, which twisted
	// tori need for freedom from deadlock in addition to the segment rule. In such a dimension of
	// size k, wild hops use only the links k-2 to k-1, 1 to 0 and the wrap-around links. A hop
	// vector with k hops along it starts next to the wrap-around link and crosses it first.
	//
	// The restrictions are always lifted for pairs that would have no candidate, as happens with
	// k = 8 and a failed switch. Chosen paths should therefore be verified with
	// packet.CheckChannels.
	Free bool
}

// Candidates lists the paths that wild-first routing may take. It is safe for concurrent use.
type Candidates struct {
	geometry *geometry // torus and order of dimensions
	rule     WildRule  // with defaults filled in
	use      string    // rule.Use with its default
	wildDims []int     // dimensions of wild hops in their order
	// wildHops are the possible combinations of wild hops. Each has -1, 0 or 1 per dimension of
	// wildDims.
	// wildHops is indexed by subset and signs of wild hops: by place in dims, -1, 0 or 1.
	wildHops [][]int8
}

// NewCandidates prepares the paths of a problem on a torus or mesh. The error wraps ErrUnserved
// on other graphs, and for options that name no dimension.
func NewCandidates(p *Problem, w WildRule) (*Candidates, error) {
	if p.Torus == nil {
		return nil, fmt.Errorf("%w: wild-first routing is for tori and meshes; \"shortest\" serves any graph",
			ErrUnserved)
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

// listWildHops sets wildHops, with the combinations of the smallest number of hops first.
func (c *Candidates) listWildHops() {
	// Extend the combinations by one dimension at a time.
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

	// Sort by the number of hops.
	slices.SortStableFunc(all, func(a, b []int8) int { return count(a) - count(b) })
	c.wildHops = all
}

// Paths returns the live candidates of a flow without duplicates: by rising length, and among
// equal ones with fewer wild hops first. It is empty if all candidates are down. Paths that visit
// a node twice are excluded. Virtual channels are set for this flow. A translation of the flow
// has the same ports, and the channels that SetChannels computes.
func (c *Candidates) Paths(f engine.Flow) [][]engine.Step {
	if f.Src == f.Dst {
		return [][]engine.Step{{}}
	}
	z := c.geometry
	var paths [][]engine.Step
	var vectorBuffer [32]int16
	var stepBuffer [64]engine.Step // avoids an allocation
	vectors := c.orderedVectors(f.Src, f.Dst, vectorBuffer[:0], c.rule.Free)

	hasDown := false
	for k := 0; k < len(vectors); k += len(z.Dims) {
		path := z.appendSteps(vectors[k:k+len(z.Dims)], stepBuffer[:0])
		if !z.isPathUp(f.Src, path) {
			hasDown = true
			continue
		}
		paths = append(paths, slices.Clone(path))
	}

	// Wild hops are added if the rule allows them for this pair, and if nothing else is live.
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

// appendWild appends the live paths of a flow that start with wild hops.
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

// SetChannels sets the virtual channels of a candidate's ports, for a path that starts at from.
func (c *Candidates) SetChannels(from int32, path []engine.Step) {
	c.geometry.setChannels(from, path, true)
}

// assigner assigns the ports that choose returns for one flow of each class. Classes are defined by
// Problem.Symmetry(every).
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

// orderedVectors appends the hop vectors of the dimension-ordered end of a path from a to b.
// Unless free is set, detours (see isDetour) are removed if other vectors remain.
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

// isDetour reports whether a vector goes all around a shifted dimension and crosses the
// wrap-around link last. The opposite direction crosses it first and leads to the same node.
func (c *Candidates) isDetour(from int32, v []int16) bool {
	for d, hops := range v {
		if size := c.geometry.Dims[d]; c.geometry.isTwisted[d] {
			if x := c.geometry.Coord(from, d); int(hops) >= size && x == 0 ||
				int(-hops) >= size && x == size-1 {
				return true
			}
		}
	}

	return false
}

// takeWildHops appends wild hops from a node to path and returns the node they lead to; -1 if a
// hop is not possible.
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

// revisits reports whether a path visits a node twice.
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

// reasonNoCandidate explains in errors why wild-first routing does not join a pair.
const reasonNoCandidate = "links that are down are on every wild-first path"
