package routing

import (
	"cmp"
	"context"
	"math"
	"slices"

	"sim/engine"
	"sim/engine/flow"
)

// Where transfers wait for each other the load of the most loaded link, summed up over all of them, says little: what
// counts is which transfers meet on a link while others wait for them. What follows simulates Problem.Graph as fluid,
// and moves the pairs that its critical path has to share links with.

// ending is what choices are compared by: when the graph ends, and of equal ones when its tasks do.
type ending struct {
	makespan engine.Time
	late     float64 // of all tasks' ends a power that makes late ones count
}

// lateness is that power: of ends that are 1 % apart the later one counts nearly twice.
const lateness = 64

func (e ending) before(f ending) bool {
	return e.makespan < f.makespan || e.makespan == f.makespan && e.late < f.late*(1-near)
}

// makespanSearch is a search for a choice under which the graph ends early.
type makespanSearch struct {
	r    *optimiser
	f    *found
	s    *search
	pair []int32 // by task: the pair whose path it takes; -1 where it takes none
	link []int32 // by orbit
	uses engine.Routes
	best ending
	now  ending
	seen *engine.Trace // what it is of

	scale float64 // of the powers of ends
}

// taskWork is what simulating a task takes off the budget, in paths that are weighed.
const taskWork = 8

// shortenMakespan goes on from the choice found, and from what wild-first routing takes, to one under which the graph
// ends early. It takes what another router chooses if the graph ends first under that.
func (r *optimiser) shortenMakespan(ctx context.Context) error {
	if err := r.bounds(ctx); err != nil {
		return err
	}
	own, err := r.ownWild()
	if err != nil {
		return err
	}
	others, err := r.otherChoices(ctx)
	if err != nil {
		return err
	}
	var best *makespanSearch
	for _, f := range append([]*found{r.found, own}, others...) {
		if f == nil || f.s.excess > r.found.s.excess {
			continue
		}
		x := newMakespanSearch(r, f, best)
		budget := r.Budget / 2
		if !f.s.c.choice() {
			budget = 0 // one simulation
		}
		if err := x.search(ctx, budget); err != nil {
			return err
		}
		if best == nil || x.best.before(best.best) {
			best = x
		}
	}
	r.found = best.f
	return nil
}

// search moves pairs one by one until no move helps, and does so again from choices in which each pair takes one of its
// paths of the fewest hops at random, and then from the best choice with some pair elsewhere, until a bound is met or
// the budget is spent (iterated local search: Lourenco, Martin and Stuetzle, Handbook of Metaheuristics, 2003).
func (x *makespanSearch) search(ctx context.Context, budget int64) error {
	r, s := x.r, x.s
	s.budget = budget
	s.again()
	var seen *engine.Trace
	excess := s.crowd()
	for k := 0; ; k++ {
		if s.crowd() <= excess && r.safe(x.f) {
			var err error
			if x.now, x.seen, err = x.simulate(ctx); err != nil {
				return err
			}
			if err := x.descend(ctx); err != nil {
				return err
			}
			if seen == nil || x.now.before(x.best) {
				x.best, seen = x.now, x.seen
				s.best = append(s.best[:0], s.path...)
			}
		}
		if s.budget <= 0 || x.met(x.best) {
			break
		}
		if k < draws {
			for i := range s.path {
				s.path[i] = x.fewest(int32(i))
			}
			s.recount()
			continue
		}
		x.now, x.seen = x.best, seen
		s.again()
		if !x.perturb() {
			break
		}
	}
	s.again()
	s.value, s.excess = math.Inf(1), math.Inf(1)
	s.keep()
	return nil
}

// ownWild returns what wild-first routing takes by itself; nil where it does not serve the fabric, or may deadlock.
func (r *optimiser) ownWild() (*found, error) {
	if r.y == nil {
		return nil, nil
	}
	rules, err := NewCandidates(r.p, r.wild)
	if err != nil {
		return nil, err
	}
	rule := r.wild
	if rule.Use == "" {
		rule.Use = AnyDead
	}
	picks, err := NewCandidates(r.p, rule)
	if err != nil {
		return nil, err
	}
	c, err := r.choices(rules)
	if err != nil {
		return nil, nil // some pair has no such path
	}
	in := r.in
	s := newSearch(in, c, r.seed, max(0, r.NeighbourCap), 0)
	clear(s.load)
	clear(s.near)
	for i, f := range in.pair {
		at, steps := f.Src, picks.pick(f, r.seed)
		rules.Channels(f.Src, steps)
		for _, step := range steps {
			k := int(at)*in.degree + step.Port()
			c.orbit = append(c.orbit, in.orbit[k])
			at = rules.z.next[k]
		}
		c.step = append(c.step, steps...)
		s.path[i] = c.add(int32(i))
		s.addLoad(int32(i), s.path[i], 1)
	}
	s.keep()
	own := &found{in, s, rules}
	if !r.safe(own) {
		return nil, nil
	}
	return own, nil
}

// draws is how many choices of paths of the fewest hops are drawn to begin from.
const draws = 8

// safe reports whether the present choice of a search cannot deadlock, or was not to.
func (r *optimiser) safe(f *found) bool {
	if f.rules == nil || f.rules.safe() {
		return true
	}
	r.rules = f.rules
	a := newAcyclic(r)
	a.count(f.s)
	return a.order() != nil
}

// newMakespanSearch is to go on from a choice; its endings compare with those of other, if not nil.
func newMakespanSearch(r *optimiser, f *found, other *makespanSearch) *makespanSearch {
	g, in := r.p.Graph, f.in
	x := &makespanSearch{r: r, f: f, s: f.s, pair: make([]int32, len(g.Tasks)), link: make([]int32, in.orbits)}
	if other != nil {
		x.scale = other.scale
	}
	for k, o := range in.orbit {
		if o >= 0 {
			x.link[o] = in.link[k]
		}
	}
	by := make(map[engine.Flow]int32, len(in.pair))
	for i, f := range in.pair {
		if _, ok := by[f]; !ok {
			by[f] = int32(i)
		}
	}
	for i, t := range g.Tasks {
		x.pair[i] = -1
		if k, ok := by[engine.Flow{Src: t.Src, Dst: t.Dst}]; ok && t.Kind == engine.Transfer && r.p.pinned(i) < 0 {
			x.pair[i] = k
		}
	}
	x.uses.Start = make([]int32, len(g.Tasks)+1)
	return x
}

// fewest draws one of a pair's routes of the fewest hops.
func (x *makespanSearch) fewest(pair int32) int32 {
	c := x.s.c
	path, hops, n := c.first[pair], math.MaxInt, 0
	for k := c.first[pair]; k >= 0; k = c.next[k] {
		switch h := len(c.of(k)); {
		case h < hops:
			path, hops, n = k, h, 1
		case h == hops:
			if n++; x.s.rng.IntN(n) == 0 {
				path = k
			}
		}
	}
	return path
}

// simulate simulates the graph under the present choice.
func (x *makespanSearch) simulate(ctx context.Context) (ending, *engine.Trace, error) {
	g, s := x.r.p.Graph, x.s
	x.uses.Uses = x.uses.Uses[:0]
	for i, k := range x.pair {
		if k >= 0 {
			for _, o := range s.c.of(s.path[k]) {
				x.uses.Uses = append(x.uses.Uses, engine.Use{Resource: x.link[o], Weight: 1})
			}
		} else if l := x.r.p.pinned(i); l >= 0 {
			x.uses.Uses = append(x.uses.Uses, engine.Use{Resource: l, Weight: 1})
		}
		x.uses.Start[i+1] = int32(len(x.uses.Uses))
	}
	s.budget -= taskWork * int64(len(g.Tasks))
	t, err := flow.Run(ctx, g, x.r.p.Network, &x.uses, flow.Options{})
	if err != nil {
		return ending{}, nil, err
	}
	e := ending{makespan: t.Makespan}
	if x.scale == 0 {
		x.scale = float64(t.Makespan)
	}
	for _, at := range t.End {
		e.late += math.Pow(float64(at)/x.scale, lateness)
	}
	return e, t, nil
}

// met reports whether no choice ends earlier.
func (x *makespanSearch) met(e ending) bool {
	return float64(e.makespan) <= float64(x.r.least)*(1+near)
}

// descend moves pairs one by one, those first that the critical path waits for, until no move helps.
func (x *makespanSearch) descend(ctx context.Context) error {
	for better := true; better && x.s.budget > 0 && !x.met(x.now); {
		var err error
		if better, err = x.step(ctx); err != nil {
			return err
		}
	}
	return nil
}

// perturb leads one of the pairs that the critical path waits for by any other path; false where none has one.
func (x *makespanSearch) perturb() bool {
	all := x.waiting()
	x.s.rng.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	for _, i := range all {
		if others := x.others(i, math.MaxInt); len(others) > 0 {
			old := x.s.path[i]
			if x.move(i, others[x.s.rng.IntN(len(others))]); x.r.safe(x.f) {
				return true
			}
			x.move(i, old)
		}
	}
	return false
}

// mostOthers is how many other routes of a pair are tried.
const mostOthers = 6

// step makes the first move that helps; false where there is none.
func (x *makespanSearch) step(ctx context.Context) (bool, error) {
	s := x.s
	for _, i := range x.waiting() {
		for _, k := range x.others(i, mostOthers) {
			if err := ctx.Err(); err != nil || s.budget <= 0 {
				return false, err
			}
			old := s.path[i]
			x.move(i, k)
			now, seen, err := x.simulate(ctx)
			if err != nil {
				return false, err
			}
			if now.before(x.now) && x.r.safe(x.f) {
				x.now, x.seen = now, seen
				return true, nil
			}
			x.move(i, old)
		}
	}
	return false, nil
}

// move leads a pair by another path.
func (x *makespanSearch) move(pair, path int32) {
	s := x.s
	s.addLoad(pair, s.path[pair], -1)
	s.path[pair] = path
	s.addLoad(pair, path, 1)
}

// waiting returns the pairs whose transfers on the critical path are slowed down, those first that lose most, each
// followed by the pairs that share links with it.
func (x *makespanSearch) waiting() []int32 {
	s, g, n := x.s, x.r.p.Graph, x.r.p.Network
	lost := make([]float64, len(s.path))
	var slow []int32
	for _, id := range x.seen.CriticalPath(g) {
		k := x.pair[id]
		if k < 0 {
			continue
		}
		rate := math.Inf(1)
		for _, o := range s.c.of(s.path[k]) {
			rate = min(rate, n.Links[x.link[o]].Rate)
		}
		took := float64(x.seen.End[id]-x.seen.Start[id]) - float64(g.Tasks[id].Bytes)*8/rate*float64(engine.Second)
		if took > 1 {
			if lost[k] == 0 {
				slow = append(slow, k)
			}
			lost[k] += took
		}
	}
	slices.SortStableFunc(slow, func(a, b int32) int { return cmp.Compare(lost[b], lost[a]) })
	on := make([][]int32, len(s.load))
	for i, k := range s.path {
		for _, o := range s.c.of(k) {
			on[o] = append(on[o], int32(i))
		}
	}
	var all []int32
	listed := make([]bool, len(s.path))
	list := func(k int32) {
		if !listed[k] {
			listed[k] = true
			all = append(all, k)
		}
	}
	for _, k := range slow {
		list(k)
		for _, o := range s.c.of(s.path[k]) {
			for _, i := range on[o] {
				list(i)
			}
		}
	}
	return all
}

// others returns up to so many paths that a pair could take in place of its own, those over the least loaded links
// first.
func (x *makespanSearch) others(pair int32, most int) []int32 {
	s := x.s
	old := s.path[pair]
	s.addLoad(pair, old, -1)
	type other struct {
		path int32
		cost float64
	}
	var all []other
	for k := s.c.first[pair]; k >= 0; k = s.c.next[k] {
		if k == old {
			continue
		}
		o := other{path: k}
		crowded := false
		for _, l := range s.c.of(k) {
			o.cost += s.in.demand[pair] + s.load[l]
			crowded = crowded || s.in.near[pair] && s.most > 0 && s.near[l] >= float64(s.most)
		}
		if !crowded {
			all = append(all, o)
		}
	}
	s.addLoad(pair, old, 1)
	slices.SortStableFunc(all, func(a, b other) int { return cmp.Compare(a.cost, b.cost) })
	var out []int32
	for _, o := range all[:min(most, len(all))] {
		out = append(out, o.path)
	}
	return out
}

// bounds finds what no paths undercut: what Problem.Least finds, also by the lengths that proved most of the loads, and
// what the most loaded link takes to carry all.
func (r *optimiser) bounds(ctx context.Context) error {
	lengths := [][]float64{r.dual.length}
	if r.split != nil {
		lengths = append(lengths, r.split.best)
	}
	lengths = slices.DeleteFunc(lengths, func(l []float64) bool { return top(l) == 0 })
	in := r.in
	one, err := in.least(ctx, r.p, false, lengths...)
	if err != nil {
		return err
	}
	if r.leastSplit, err = in.least(ctx, r.p, true, lengths...); err != nil {
		return err
	}
	bytes := make(map[engine.Flow]int64, len(in.pair))
	for i, t := range r.p.Graph.Tasks {
		if r.p.pinned(i) < 0 {
			bytes[engine.Flow{Src: t.Src, Dst: t.Dst}] += t.Bytes
		}
	}
	unit := math.Inf(1) // bytes of a unit of demand, at least
	for i, f := range in.pair {
		if d := in.demand[i]; d > 0 {
			unit = min(unit, float64(bytes[f])/d)
		}
	}
	busy, rate := 0.0, r.p.fastest()
	if in.slow != nil {
		rate = r.p.reference()
	}
	if !math.IsInf(unit, 1) {
		busy = r.dual.bound() * unit * 8 / rate * float64(engine.Second) * (1 - near)
	}
	r.least = max(one, engine.Time(busy))
	return nil
}
