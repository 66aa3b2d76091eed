package routing

import (
	"context"
	"errors"
	"slices"

	"sim/engine"
)

// wildRules returns the rules of wild-first routes to try in turn. Where links are down and none are shifted,
// dimensions with such links come first in the order: of whole sets of paths those have the smallest loads. On twisted
// tori paths outside their rules come last, as they can deadlock.
func (r *optimiser) wildRules() (all []WildRule) {
	t, rule := r.problem.Torus, r.wild
	if len(rule.Order) == 0 && t.Shift == nil {
		var down, up []int
		for _, d := range longestFirst(t) {
			dead := false
			for k, l := range r.in.link {
				dead = dead || k%r.in.degree/2 == d && l >= 0 && r.in.orbit[k] < 0
			}
			if dead {
				down = append(down, d)
			} else {
				up = append(up, d)
			}
		}
		if len(down) > 0 && len(up) > 0 {
			rule.Order = dimNames(append(down, up...))
			all = append(all, rule)
		}
	}
	all = append(all, r.wild)
	if rule = r.wild; !rule.Free && t.Shift != nil {
		rule.Free = true
		all = append(all, rule)
	}
	return all
}

// searchWildFirst seeks among wild-first routes, and where its choice can deadlock among those that cannot whatever is
// chosen.
func (r *optimiser) searchWildFirst(ctx context.Context, rule WildRule) error {
	rules, err := NewCandidates(r.problem, rule)
	if err != nil {
		return err
	}
	r.rules = rules
	c, err := r.listPaths(rules)
	if errors.Is(err, ErrUnserved) {
		return nil // some pair has no such path: any paths will do
	}
	if err != nil {
		return err
	}
	s := newPathAssignmentSearch(r.in, c, r.seed, max(0, r.NeighbourCap), max(r.Budget/16, min(r.Budget/2, 12*int64(len(c.next)))))
	if err := r.improve(ctx, s); err != nil {
		return err
	}
	r.noteLoad(s)
	s.path = append(s.path[:0], s.best...)
	if !rules.isDeadlockFree() {
		a := newCycleBreaker(r)
		if a.countUses(s); a.topologicalOrder() == nil {
			remaining, err := a.makeAcyclic(ctx, s, c)
			if err != nil || remaining == nil {
				return err
			}
			s.restrict(remaining)
			s.budget = r.Budget / 4
			if err := r.refine(ctx, s); err != nil {
				return err
			}
		}
	}
	r.offerChoice(&routeChoice{r.in, s, rules})
	return nil
}

// isDeadlockFree reports whether the rules are those of which all paths together are known to be free of deadlock: on tori that
// are not twisted, wild hops in the reverse of the dimension order.
func (c *Candidates) isDeadlockFree() bool {
	wild := slices.Clone(c.geometry.order[1:])
	slices.Reverse(wild)
	return c.geometry.hasTwoChannels && !slices.Contains(c.geometry.isTwisted, true) && slices.Equal(c.wildDims, wild)
}

// largePairs is the number of pairs beyond which only wild-first routes of at most two hops more than the shortest are
// listed.
const largePairs = 100_000

// pathLister returns what lists the routes of a pair: those that translations of the network take into each other are listed
// once, where rules take no notice of where they begin.
func (r *optimiser) pathLister(rules *Candidates) func(f engine.Flow) [][]engine.Step {
	t := r.problem.Torus
	if !t.Symmetric() || t.Shift != nil {
		return rules.Paths
	}
	y := newSymmetry(t, r.problem.translations(1))
	if y.Classes() >= len(r.in.pairs) {
		return rules.Paths
	}
	pathsByClass := make([][][]engine.Step, y.Classes())
	return func(f engine.Flow) [][]engine.Step {
		class := y.Class(f)
		if pathsByClass[class] == nil {
			pathsByClass[class] = rules.Paths(y.Flow(class))
		}
		for _, path := range pathsByClass[class] {
			rules.SetChannels(f.Src, path)
		}
		return pathsByClass[class]
	}
}

// listPaths lists the wild-first routes of all pairs.
func (r *optimiser) listPaths(rules *Candidates) (*candidatePaths, error) {
	in := r.in
	c := newCandidatePaths(len(in.pairs))
	list := r.pathLister(rules)
	var unreachable unreachablePairs
	for i, f := range in.pairs {
		if i == int(in.firstPair[1]) { // other sources will have about as many
			c.reserve(len(in.sources))
		}
		paths := list(f)
		for _, path := range paths {
			if len(in.pairs) > largePairs && len(path) > len(paths[0])+2 {
				break // they would take much memory for little
			}
			node := f.Src
			for _, s := range path {
				k := int(node)*in.degree + s.Port()
				c.orbits = append(c.orbits, in.orbit[k])
				node = rules.geometry.neighbour[k]
			}
			c.steps = append(c.steps, path...)
			c.add(int32(i))
		}
		if c.first[i] < 0 {
			unreachable.add(f)
		}
	}
	return c, unreachable.err(reasonNoCandidate)
}
