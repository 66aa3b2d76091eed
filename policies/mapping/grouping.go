package mapping

import (
	"cmp"
	"context"
	"maps"
	"math"
	"math/rand/v2"
	"slices"

	"sim/internal/random"
	"sim/policies/graph"
)

// Grouping is units of work, such as the stages of all replicas, that are put into pods which are all the same, so that
// some value is least. What units and pods are is the caller's matter. Placements name a pod for each unit, -1 of none
// yet; the numbers of pods mean nothing.
type Grouping struct {
	Units, Pods int
	// Fits reports whether a unit may be in a pod beside those that at has there.
	Fits func(at []int32, unit, pod int32) bool
	// Images are permutations of units that change no value: with unit u where Images[i][u] was, all is as before.
	Images [][]int32
	Starts [][]int32 // placements to begin from, at least one
	// Bound is a lower bound on the values of all placements that have the units with a pod where at has them.
	Bound func(ctx context.Context, at []int32) (float64, error)
	// Guess is what placements are compared by before their value is asked for, which takes longer. Either is +Inf where
	// a placement cannot be had.
	Guess func(ctx context.Context, at []int32) (float64, error)
	// Value returns a bound with it, on what any choices of what it depends on besides may make of the placement. A search
	// asks for it in a hurry; if it is thorough, it may take all that it needs.
	Value func(ctx context.Context, at []int32, thorough bool) (value, bound float64, err error)
}

// Grouped is what a search found.
type Grouped struct {
	At     []int32
	Value  float64 // +Inf where none of the placements that were tried can be had
	Bound  float64 // on all placements, by Grouping.Bound and the bounds of values; Value where nothing is better
	Trials int     // placements whose value was asked for
	// Others are the next best of these, the best first, and the starts: values that were sought in a hurry may have
	// them in another order than they are.
	Others [][]int32
}

// others is how many placements beside the best are told.
const others = 3

// Settle asks for the thorough value of what was found and of the others that may be better.
func (g *Grouping) Settle(ctx context.Context, f *Grouped) (err error) {
	if f.Value, _, err = g.Value(ctx, f.At, true); err != nil {
		return err
	}
	for _, at := range f.Others {
		bound, err := g.Bound(ctx, at)
		if err != nil || bound >= f.Value {
			continue
		}
		v, _, err := g.Value(ctx, at, true)
		if err != nil {
			return err
		}
		if v < f.Value {
			f.At, f.Value = at, v
		}
	}
	f.Bound = min(f.Bound, f.Value)
	return ctx.Err()
}

// looks is how many guesses, and how many bounds, a search takes for each trial that it may make.
const looks = 25

// Search looks for the placement of least value. It descends from the starts by moves and exchanges of units that make
// the guess less, and again after random exchanges, and asks for the value of what it ends at. Then it takes
// placements apart by best-first branch and bound, unit after unit: the least bound of what it has not looked at is one
// on all placements, and where that is no less than the best value nothing is better. It does so within
// Options.Trials.
func (g *Grouping) Search(ctx context.Context, o Options) (*Grouped, error) {
	s := &groupSearch{
		Grouping: g, ctx: ctx, trials: o.Trials, random: random.Stream(o.Seed, "grouping"),
		guesses: map[string]float64{}, values: map[string]groupValue{}, best: Grouped{Value: math.Inf(1)}, floor: math.Inf(1),
		open: graph.NewHeap(groupPart.before),
	}
	root := slices.Repeat([]int32{-1}, g.Units)
	bound, err := g.Bound(ctx, root)
	if err != nil {
		return nil, err
	}
	s.open.Push(groupPart{at: root, bound: bound})
	if err := s.descents(); err != nil {
		return nil, err
	}
	if err := s.branch(); err != nil {
		return nil, err
	}
	s.best.Trials = len(s.values)
	s.best.Bound = min(s.best.Value, s.floor)
	if s.open.Len() > 0 {
		s.best.Bound = min(s.best.Bound, s.open.First().bound)
	}
	s.rank()
	return &s.best, ctx.Err()
}

// rank lists the placements that are next to the best, and the starts.
func (s *groupSearch) rank() {
	tried := slices.SortedFunc(maps.Values(s.values), func(a, b groupValue) int {
		return cmp.Or(cmp.Compare(a.value, b.value), slices.Compare(a.at, b.at))
	})
	var told []string
	for _, at := range slices.Concat([][]int32{s.best.At}, s.Starts) {
		told = append(told, s.form(at))
	}
	for _, one := range tried {
		if key := s.form(one.at); len(s.best.Others) < others && !slices.Contains(told, key) {
			s.best.Others = append(s.best.Others, one.at)
		}
	}
	for i, at := range s.Starts {
		if !slices.Contains(told[:i+1], told[i+1]) {
			s.best.Others = append(s.best.Others, at)
		}
	}
}

// groupSearch is a search by a Grouping.
type groupSearch struct {
	*Grouping
	ctx     context.Context
	trials  int // that it may make
	random  *rand.Rand
	guesses map[string]float64 // by form
	values  map[string]groupValue
	floor   float64 // least bound of the placements whose values are known
	best    Grouped
	open    *graph.Heap[groupPart]
	seen    map[string]bool
	number  int // of parts that were put into open
}

type groupValue struct {
	value, bound float64
	at           []int32
}

// form is the same for placements, or parts of one, that are images of each other.
func (g *Grouping) form(at []int32) string {
	best, image := Canonical(at), make([]int32, len(at))
next:
	for _, of := range g.Images {
		for u, v := range of {
			if image[u] = at[v]; (at[v] < 0) != (at[u] < 0) {
				continue next // of other units
			}
		}
		if c := Canonical(image); slices.Compare(c, best) < 0 {
			best = c
		}
	}
	text := make([]byte, 0, 2*len(best))
	for _, pod := range best {
		text = append(text, byte(pod), byte(pod>>8))
	}
	return string(text)
}

// Canonical returns a placement with its pods numbered in the order in which units name them.
func Canonical(at []int32) []int32 {
	number := map[int32]int32{}
	out := make([]int32, len(at))
	for u, pod := range at {
		if pod < 0 {
			out[u] = -1
			continue
		}
		n, known := number[pod]
		if !known {
			n = int32(len(number))
			number[pod] = n
		}
		out[u] = n
	}
	return out
}

// guess returns the guess of a placement, once for all images.
func (s *groupSearch) guess(at []int32) (float64, error) {
	key := s.form(at)
	if v, asked := s.guesses[key]; asked {
		return v, nil
	}
	v, err := s.Guess(s.ctx, at)
	s.guesses[key] = v
	return v, cmp.Or(err, s.ctx.Err())
}

// try asks for the value of a placement that may be the best, and keeps it where it is.
func (s *groupSearch) try(at []int32) error {
	if bound, err := s.Bound(s.ctx, at); err != nil || bound >= s.best.Value && s.best.At != nil {
		return err
	}
	key := s.form(at)
	if _, asked := s.values[key]; asked {
		return nil
	}
	v, bound, err := s.Value(s.ctx, at, false)
	s.values[key] = groupValue{v, bound, slices.Clone(at)}
	if s.best.At == nil || v < s.best.Value {
		s.best.At, s.best.Value = slices.Clone(at), v
	}
	return cmp.Or(err, s.ctx.Err())
}

// descents tries the starts and what descents from them, and from random changes of the best, end at.
func (s *groupSearch) descents() error {
	type start struct {
		at    []int32
		guess float64
	}
	var all []start
	for _, at := range s.Starts {
		v, err := s.guess(at)
		if err != nil {
			return err
		}
		all = append(all, start{at, v})
	}
	slices.SortStableFunc(all, func(a, b start) int { return cmp.Compare(a.guess, b.guess) })
	for _, one := range all {
		if len(s.values) < s.trials {
			if err := s.try(one.at); err != nil {
				return err
			}
		}
	}
	best, value := all[0].at, math.Inf(1)
	for k := 0; k < 2*s.trials && len(s.values) < (s.trials+1)/2 && len(s.guesses) < looks*s.trials && s.best.Value > s.open.First().bound; k++ {
		from := slices.Clone(best)
		if k < len(all) {
			from = slices.Clone(all[k].at)
		} else {
			for range 2 + s.random.IntN(3) {
				s.exchange(from, int32(s.random.IntN(s.Units)), int32(s.random.IntN(s.Units)))
			}
		}
		at, v, err := s.descend(from)
		if err == nil {
			err = s.try(at)
		}
		if err != nil {
			return err
		}
		if v < value {
			best, value = at, v
		}
	}
	return nil
}

// exchange has two units change places where both then fit; it reports whether anything changed.
func (s *groupSearch) exchange(at []int32, u, v int32) bool {
	a, b := at[u], at[v]
	if a == b {
		return false
	}
	at[u], at[v] = -1, -1
	if s.Fits(at, u, b) && s.Fits(at, v, a) {
		at[u], at[v] = b, a
		return true
	}
	at[u], at[v] = a, b
	return false
}

// descend makes the guess less by exchanges of units, and by moves to pods that have room, while there is one that does.
func (s *groupSearch) descend(at []int32) ([]int32, float64, error) {
	best, err := s.guess(at)
	if err != nil {
		return nil, 0, err
	}
	// better takes a change of at where it makes the guess less, and undoes it where not
	better := func(before []int32) (bool, error) {
		v, err := s.guess(at)
		if err == nil && v < best {
			best = v
			return true, nil
		}
		copy(at, before)
		return false, err
	}
	before := make([]int32, len(at))
	pairs := s.random.Perm(s.Units * s.Units)
	for k, since := 0, 0; since < len(pairs) && len(s.guesses) < looks*s.trials; k, since = (k+1)%len(pairs), since+1 {
		u, v := int32(pairs[k]/s.Units), int32(pairs[k]%s.Units)
		copy(before, at)
		done := false
		if u < v && s.exchange(at, u, v) {
			done, err = better(before)
		} else if u > v && int(v) < s.Pods && at[u] != v { // a move, to pod v
			if at[u] = -1; s.Fits(at, u, v) {
				at[u] = v
				done, err = better(before)
			} else {
				copy(at, before)
			}
		}
		if err != nil {
			return nil, 0, err
		}
		if done {
			since = 0
		}
	}
	return at, best, nil
}

// groupPart is all placements that have the first units somewhere.
type groupPart struct {
	at     []int32
	placed int
	bound  float64
	number int
}

// before reports whether a part is taken apart before another: that of least bound first, of equal ones that of most
// units.
func (a groupPart) before(b groupPart) bool {
	return cmp.Or(cmp.Compare(a.bound, b.bound), cmp.Compare(b.placed, a.placed), cmp.Compare(a.number, b.number)) < 0
}

// branch takes apart what may hold something better than the best, until nothing may or what it may spend is spent.
func (s *groupSearch) branch() error {
	s.seen = map[string]bool{}
	for s.open.Len() > 0 && s.open.First().bound < s.best.Value {
		part := *s.open.First()
		if part.placed == s.Units {
			if _, known := s.values[s.form(part.at)]; !known && len(s.values) >= s.trials {
				return nil
			}
			s.open.Pop()
			if err := s.try(part.at); err != nil {
				return err
			}
			s.floor = min(s.floor, max(part.bound, s.values[s.form(part.at)].bound))
			continue
		}
		if s.number >= looks*s.trials {
			return nil
		}
		s.open.Pop()
		if err := s.split(part); err != nil {
			return err
		}
	}
	s.open.Clear() // nothing in it is better
	return nil
}

// split puts the next unit of a part into each pod that has units, and into one that has none.
func (s *groupSearch) split(part groupPart) error {
	unit, empty := int32(part.placed), false
	for pod := range int32(s.Pods) {
		none := !slices.Contains(part.at[:part.placed], pod)
		if none && empty || !s.Fits(part.at, unit, pod) {
			continue
		}
		empty = empty || none
		at := slices.Clone(part.at)
		at[unit] = pod
		key := s.form(at)
		if s.seen[key] {
			continue
		}
		s.seen[key] = true
		bound, err := s.Bound(s.ctx, at)
		if err != nil {
			return err
		}
		s.number++
		s.open.Push(groupPart{at: at, placed: part.placed + 1, bound: max(bound, part.bound), number: s.number})
	}
	return nil
}
