package routing

import (
	"cmp"
	"fmt"
	"slices"

	"sim/engine"
)

// Who may take wild hops (WildFirst.Use).
const (
	Needed  = "needed"   // pairs all of whose shortest dimension-ordered routes are down
	AnyDead = "any-dead" // pairs that have a dead one among them
	All     = "all"      // every pair
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
	z    *geometry
	rule WildRule
	use  string
	dims []int    // of wild hops
	hops [][]int8 // by subset and signs of wild hops: by place in dims, -1, 0 or 1
}

// NewCandidates prepares the paths of a problem on a torus or mesh. It fails, with ErrUnserved, on other graphs and on
// options that name no dimension or rule.
func NewCandidates(p *Problem, w WildRule) (*Candidates, error) {
	if p.Torus == nil {
		return nil, fmt.Errorf("%w: wild-first routing is for tori and meshes; \"shortest\" serves any graph", ErrUnserved)
	}
	order, err := orderOf(p.Torus, w.Order, func() []int { return sandwich(p) })
	if err != nil {
		return nil, err
	}
	c := &Candidates{rule: w, use: cmp.Or(w.Use, All)}
	if c.dims, err = dimsOf(p.Torus, w.Wild); err != nil {
		return nil, err
	}
	if len(w.Wild) == 0 {
		c.dims = slices.Clone(order[1:])
		slices.Reverse(c.dims)
	}
	c.rule.Order, c.rule.Wild = namesOf(order), namesOf(c.dims)
	if c.z, err = newGeometry(p, order); err != nil {
		return nil, err
	}
	c.subsets()
	return c, nil
}

// subsets lists the wild hops, fewest first.
func (c *Candidates) subsets() {
	all := [][]int8{make([]int8, len(c.dims))}
	for i := range c.dims {
		for _, w := range all[:len(all):len(all)] {
			for _, sign := range []int8{1, -1} {
				more := slices.Clone(w)
				more[i] = sign
				all = append(all, more)
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
	c.hops = all
}

// Of returns the live candidate paths of a flow, shortest first and with fewer wild hops first among these, each of its
// ports once; none where every one is dead. Paths that come to a node twice are left out. Their virtual channels are
// those of this flow: one that a translation takes it to has the same ports, and the channels that Channels sets.
func (c *Candidates) Of(f engine.Flow) [][]engine.Step {
	if f.Src == f.Dst {
		return [][]engine.Step{{}}
	}
	z := c.z
	var found [][]engine.Step
	var buffer [32]int16
	var few [64]engine.Step
	ties, dead := c.rest(f.Src, f.Dst, buffer[:0], c.rule.Free), false
	for k := 0; k < len(ties); k += len(z.Dims) {
		path := z.steps(ties[k:k+len(z.Dims)], few[:0])
		if !z.alive(f.Src, path) {
			dead = true
			continue
		}
		found = append(found, slices.Clone(path))
	}
	if c.use == All || dead && c.use == AnyDead || len(found) == 0 {
		found = c.around(f, found, c.rule.Free)
		if len(found) == 0 && !c.rule.Free && c.z.Shift != nil {
			found = c.around(f, found, true)
		}
	}
	slices.SortStableFunc(found, func(a, b []engine.Step) int { return len(a) - len(b) })
	for _, path := range found {
		c.Channels(f.Src, path)
	}
	return found
}

// around appends the live paths of a flow that begin with wild hops.
func (c *Candidates) around(f engine.Flow, found [][]engine.Step, free bool) [][]engine.Step {
	z := c.z
	var buffer [32]int16
	var few [64]engine.Step
	for _, w := range c.hops[1:] {
		at, path := c.hop(f.Src, w, few[:0], free)
		if at < 0 {
			continue
		}
		begin := len(path)
		rest := c.rest(at, f.Dst, buffer[:0], free)
		for k := 0; k < len(rest); k += len(z.Dims) {
			path = z.steps(rest[k:k+len(z.Dims)], path[:begin])
			if !z.alive(at, path[begin:]) || c.again(f.Src, path) ||
				slices.ContainsFunc(found, func(have []engine.Step) bool { return slices.Equal(have, path) }) {
				continue
			}
			found = append(found, slices.Clone(path))
		}
	}
	return found
}

// Channels sets the virtual channels of a path of candidates' ports from a node.
func (c *Candidates) Channels(from int32, path []engine.Step) {
	c.z.channels(from, path, true)
}

// leader leads flows by what choose gives one flow of each class of translations by multiples of a number.
func (c *Candidates) leader(p *Problem, every int, choose func(f engine.Flow) []engine.Step) *leader {
	return &leader{z: c.z, p: p, y: p.Symmetry(every), choose: choose, why: noCandidate, segments: true}
}

// labels are the dimensions as paths take them.
func (c *Candidates) labels() map[string]string {
	return map[string]string{"order": dimNames(c.z.order), "wild": dimNames(c.dims)}
}

// rest appends the hop vectors of the dimension-ordered end of a path.
func (c *Candidates) rest(a, b int32, into []int16, free bool) []int16 {
	into = c.z.shortest(a, b, into)
	if free || c.z.Shift == nil {
		return into
	}
	dims, keep := len(c.z.Dims), 0
	for k := 0; k < len(into); k += dims {
		if !c.long(a, into[k:k+dims]) {
			copy(into[keep:], into[k:k+dims])
			keep += dims
		}
	}
	if keep > 0 {
		into = into[:keep]
	}
	return into
}

// long reports whether a vector goes all the way round a shifted dimension with the wrap-around link last: the opposite
// way round, where that comes first, leads to the same node.
func (c *Candidates) long(from int32, v []int16) bool {
	for d, by := range v {
		if size := c.z.Dims[d]; c.z.twist[d] {
			if x := c.z.Coord(from, d); int(by) >= size && x == 0 || int(-by) >= size && x == size-1 {
				return true
			}
		}
	}
	return false
}

// hop takes wild hops from a node and appends them; -1 where one may not be taken.
func (c *Candidates) hop(at int32, wild []int8, path []engine.Step, free bool) (int32, []engine.Step) {
	z := c.z
	for i, sign := range wild {
		if sign == 0 {
			continue
		}
		d := c.dims[i]
		port := 2 * d
		if sign < 0 {
			port++
		}
		if z.twist[d] && !free {
			if x := z.Coord(at, d); sign > 0 && x < z.Dims[d]-2 || sign < 0 && x > 1 {
				return -1, path
			}
		}
		k := int(at)*z.degree + port
		if !z.live[k] {
			return -1, path
		}
		at = z.next[k]
		path = append(path, engine.MakeStep(port, 0))
	}
	return at, path
}

// again reports whether a path comes to a node twice.
func (c *Candidates) again(from int32, path []engine.Step) bool {
	var few [64]int32
	seen := append(few[:0], from)
	for _, s := range path {
		from = c.z.next[int(from)*c.z.degree+s.Port()]
		if slices.Contains(seen, from) {
			return true
		}
		seen = append(seen, from)
	}
	return false
}

// noCandidate says why wild-first routing does not join a pair.
const noCandidate = "links that are down are on every wild-first way"
