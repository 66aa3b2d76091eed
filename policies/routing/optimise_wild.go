package routing

import (
	"context"
	"errors"
	"slices"

	"sim/engine"
)

// wildRules returns the rules of wild-first paths to search in turn. If links are down and none
// are shifted, the first rule routes dimensions with such links first, which gives the smallest
// loads. On twisted tori a rule without restrictions (Free) is last, as its paths can deadlock.
func (r *optimiser) wildRules() (all []WildRule) {
	t, rule := r.problem.Torus, r.wild

	// Dimensions with links that are down come first.
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

// searchWildFirst searches wild-first paths. If its choice can deadlock, it continues with
// candidates that cannot.
func (r *optimiser) searchWildFirst(ctx context.Context, rule WildRule) error {
	rules, err := NewCandidates(r.problem, rule)
	if err != nil {
		return err
	}
	r.rules = rules
	c, err := r.listPaths(rules)
	if errors.Is(err, ErrUnserved) {
		return nil // some pair has no such path; other kinds follow
	}
	if err != nil {
		return err
	}

	// The budget allows 12 evaluations of each path, but is between 1/16 and 1/2 of the whole budget.
	budget := max(r.Budget/16, min(r.Budget/2, 12*int64(len(c.next))))
	s := newPathAssignmentSearch(r.in, c, r.seed, r.searchCap(), budget)
	if err := r.improve(ctx, s); err != nil {
		return err
	}
	r.noteLoad(s)
	s.path = append(s.path[:0], s.best...)

	// If the channels of the choice have a cycle, restrict the candidates and search again.
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

	r.offerChoice(&routeChoice{in: r.in, s: s, rules: rules})
	return nil
}

// isDeadlockFree reports whether all candidates together are known to be free of deadlock: on
// tori without twists, if wild hops are in reverse dimension order.
func (c *Candidates) isDeadlockFree() bool {
	wild := slices.Clone(c.geometry.order[1:])
	slices.Reverse(wild)
	return c.geometry.hasTwoChannels && !slices.Contains(c.geometry.isTwisted, true) && slices.Equal(c.wildDims,
		wild)
}

// largePairs is the number of pairs above which only wild-first paths with at most two additional
// hops are listed, to limit memory.
const largePairs = 100_000

// pathLister returns a function that lists the paths of a pair. On symmetric tori without shifts,
// they are listed once per class of translations that preserve live links.
func (r *optimiser) pathLister(rules *Candidates) func(f engine.Flow) [][]engine.Step {
	t := r.problem.Torus
	if !t.Symmetric() || t.Shift != nil {
		return rules.Paths
	}
	y := newSymmetry(t, r.problem.translations(anyTranslation))
	if y.Classes() >= len(r.in.pairs) {
		return rules.Paths
	}
	pathsByClass := make([][][]engine.Step, y.Classes())
	return func(f engine.Flow) [][]engine.Step {
		// The paths of a class are listed at its representative and kept. Their channels depend
		// on the source.
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

// listPaths lists the wild-first paths of all pairs.
func (r *optimiser) listPaths(rules *Candidates) (*candidatePaths, error) {
	in := r.in
	c := newCandidatePaths(len(in.pairs))
	list := r.pathLister(rules)
	var unreachable unreachablePairs
	for i, f := range in.pairs {
		if i == int(in.firstPair[1]) { // all sources have similar numbers of paths
			c.reserve(len(in.sources))
		}
		paths := list(f)
		for _, path := range paths {
			if len(in.pairs) > largePairs && len(path) > len(paths[0])+2 {
				break // see largePairs
			}

			// Translate ports to orbits of links by following the path.
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
