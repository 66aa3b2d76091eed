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
	t, rule := r.p.Torus, r.wild
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
			rule.Order = namesOf(append(down, up...))
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

// wildFirst seeks among wild-first routes, and where its choice can deadlock among those that cannot whatever is
// chosen.
func (r *optimiser) wildFirst(ctx context.Context, rule WildRule) error {
	rules, err := NewCandidates(r.p, rule)
	if err != nil {
		return err
	}
	r.rules = rules
	c, err := r.choices(rules)
	if errors.Is(err, ErrUnserved) {
		return nil // some pair has no such path: any paths will do
	}
	if err != nil {
		return err
	}
	s := newSearch(r.in, c, r.seed, max(0, r.NeighbourCap), max(r.Budget/16, min(r.Budget/2, 12*int64(len(c.next)))))
	if err := r.improve(ctx, s); err != nil {
		return err
	}
	r.note(s)
	s.path = append(s.path[:0], s.best...)
	if !rules.safe() {
		a := newAcyclic(r)
		if a.count(s); a.order() == nil {
			left, err := a.free(ctx, s, c)
			if err != nil || left == nil {
				return err
			}
			s.reset(left)
			s.budget = r.Budget / 4
			if err := r.refine(ctx, s); err != nil {
				return err
			}
		}
	}
	r.offer(&found{r.in, s, rules})
	return nil
}

// safe reports whether the rules are those of which all paths together are known to be free of deadlock: on tori that
// are not twisted, wild hops in the reverse of the dimension order.
func (c *Candidates) safe() bool {
	wild := slices.Clone(c.z.order[1:])
	slices.Reverse(wild)
	return c.z.two && !slices.Contains(c.z.twist, true) && slices.Equal(c.dims, wild)
}

// manyPairs is the number of pairs beyond which only wild-first routes of at most two hops more than the shortest are
// listed.
const manyPairs = 100_000

// lister returns what lists the routes of a pair: those that translations of the network take into each other are listed
// once, where rules take no notice of where they begin.
func (r *optimiser) lister(rules *Candidates) func(f engine.Flow) [][]engine.Step {
	t := r.p.Torus
	if !t.Symmetric() || t.Shift != nil {
		return rules.Of
	}
	y := newSymmetry(t, r.p.translations(1))
	if y.Classes() >= len(r.in.pair) {
		return rules.Of
	}
	known := make([][][]engine.Step, y.Classes())
	return func(f engine.Flow) [][]engine.Step {
		class := y.Class(f)
		if known[class] == nil {
			known[class] = rules.Of(y.Flow(class))
		}
		for _, path := range known[class] {
			rules.Channels(f.Src, path)
		}
		return known[class]
	}
}

// choices lists the wild-first routes of all pairs.
func (r *optimiser) choices(rules *Candidates) (*choices, error) {
	in := r.in
	c := newChoices(len(in.pair))
	list := r.lister(rules)
	var apart unjoined
	for i, f := range in.pair {
		if i == int(in.first[1]) { // other sources will have about as many
			c.reserve(len(in.sources))
		}
		paths := list(f)
		for _, path := range paths {
			if len(in.pair) > manyPairs && len(path) > len(paths[0])+2 {
				break // they would take much memory for little
			}
			at := f.Src
			for _, s := range path {
				k := int(at)*in.degree + s.Port()
				c.orbit = append(c.orbit, in.orbit[k])
				at = rules.z.next[k]
			}
			c.step = append(c.step, path...)
			c.add(int32(i))
		}
		if c.first[i] < 0 {
			apart.add(f)
		}
	}
	return c, apart.err(noCandidate)
}
