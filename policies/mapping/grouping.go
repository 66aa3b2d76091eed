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
	// Symmetries are permutations of units that change no value: with unit u where Images[i][u] was, all is as before.
	Symmetries [][]int32
	Starts     [][]int32 // placements to begin from, at least one
	// Bound is a lower bound on the values of all placements that have the units with a pod where at has them.
	Bound func(ctx context.Context, at []int32) (float64, error)
	// Guess is what placements are compared by before their value is asked for, which takes longer. Either is +Inf where
	// a placement cannot be had.
	Guess func(ctx context.Context, at []int32) (float64, error)
	// Value returns a bound with it, on what any choices of what it depends on besides may make of the placement.
	Value func(ctx context.Context, at []int32) (value, bound float64, err error)
}

// GroupingResult is what a search found.
type GroupingResult struct {
	At     []int32
	Value  float64 // +Inf where none of the placements that were tried can be had
	Bound  float64 // on all placements, by Grouping.Bound and the bounds of values; Value where nothing is better
	Trials int     // placements whose value was asked for
	// Others are the next best of these, the best first, and the starts: values that were sought in a hurry may have
	// them in another order than they are.
	Others [][]int32
}

// maxOthers is how many placements beside the best are told.
const maxOthers = 3

// Reevaluate asks again, in another way, for the value of what was found and of the others that may be better.
func (g *Grouping) Reevaluate(ctx context.Context, f *GroupingResult, value func(ctx context.Context, pods []int32) (float64, error)) error {
	var err error
	if f.Value, err = value(ctx, f.At); err != nil {
		return err
	}
	for _, pods := range f.Others {
		bound, err := g.Bound(ctx, pods)
		if err != nil || bound >= f.Value {
			continue
		}
		v, err := value(ctx, pods)
		if err != nil {
			return err
		}
		if v < f.Value {
			f.At, f.Value = pods, v
		}
	}
	f.Bound = min(f.Bound, f.Value)
	return ctx.Err()
}

// guessesPerTrial is how many guesses, and how many bounds, a search takes for each trial that it may make.
const guessesPerTrial = 25

// Search looks for the placement of least value. It descends from the starts by moves and exchanges of units that make
// the guess less, and again after random exchanges, and asks for the value of what it ends at. Then it takes
// placements apart by best-first branch and bound, unit after unit: the least bound of what it has not looked at is one
// on all placements, and where that is no less than the best value nothing is better. It does so within
// Options.Trials.
func (g *Grouping) Search(ctx context.Context, o Options) (*GroupingResult, error) {
	s := &groupSearch{
		Grouping: g, ctx: ctx, maxTrials: o.Trials, random: random.Stream(o.Seed, "grouping"),
		guesses: map[string]float64{}, values: map[string]groupValue{}, best: GroupingResult{Value: math.Inf(1)}, valueBound: math.Inf(1),
		open: graph.NewHeap(groupNode.before),
	}
	root := slices.Repeat([]int32{-1}, g.Units)
	bound, err := g.Bound(ctx, root)
	if err != nil {
		return nil, err
	}
	s.open.Push(groupNode{pods: root, bound: bound})
	if err := s.descendFromStarts(); err != nil {
		return nil, err
	}
	if err := s.branchAndBound(); err != nil {
		return nil, err
	}
	s.best.Trials = len(s.values)
	s.best.Bound = min(s.best.Value, s.valueBound)
	if s.open.Len() > 0 {
		s.best.Bound = min(s.best.Bound, s.open.First().bound)
	}
	s.listOthers()
	return &s.best, ctx.Err()
}

// listOthers lists the placements that are next to the best, and the starts.
func (s *groupSearch) listOthers() {
	tried := slices.SortedFunc(maps.Values(s.values), func(a, b groupValue) int {
		return cmp.Or(cmp.Compare(a.value, b.value), slices.Compare(a.pods, b.pods))
	})
	var listed []string
	for _, pods := range slices.Concat([][]int32{s.best.At}, s.Starts) {
		listed = append(listed, s.canonicalKey(pods))
	}
	for _, value := range tried {
		if key := s.canonicalKey(value.pods); len(s.best.Others) < maxOthers && !slices.Contains(listed, key) {
			s.best.Others = append(s.best.Others, value.pods)
		}
	}
	for i, pods := range s.Starts {
		if !slices.Contains(listed[:i+1], listed[i+1]) {
			s.best.Others = append(s.best.Others, pods)
		}
	}
}

// groupSearch is a search by a Grouping.
type groupSearch struct {
	*Grouping
	ctx        context.Context
	maxTrials  int // that it may make
	random     *rand.Rand
	guesses    map[string]float64 // by form
	values     map[string]groupValue
	valueBound float64 // least bound of the placements whose values are known
	best       GroupingResult
	open       *graph.Heap[groupNode]
	visited    map[string]bool
	numNodes   int // of parts that were put into open
}

type groupValue struct {
	value, bound float64
	pods         []int32
}

// canonicalKey is the same for placements, or parts of one, that are images of each other.
func (g *Grouping) canonicalKey(pods []int32) string {
	best, image := Canonical(pods), make([]int32, len(pods))
next:
	for _, permutation := range g.Symmetries {
		for u, v := range permutation {
			if image[u] = pods[v]; (pods[v] < 0) != (pods[u] < 0) {
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
func Canonical(pods []int32) []int32 {
	number := map[int32]int32{}
	out := make([]int32, len(pods))
	for u, pod := range pods {
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

// cachedGuess returns the guess of a placement, once for all images.
func (s *groupSearch) cachedGuess(pods []int32) (float64, error) {
	key := s.canonicalKey(pods)
	if v, asked := s.guesses[key]; asked {
		return v, nil
	}
	v, err := s.Guess(s.ctx, pods)
	s.guesses[key] = v
	return v, cmp.Or(err, s.ctx.Err())
}

// evaluate asks for the value of a placement that may be the best, and keeps it where it is.
func (s *groupSearch) evaluate(pods []int32) error {
	if bound, err := s.Bound(s.ctx, pods); err != nil || bound >= s.best.Value && s.best.At != nil {
		return err
	}
	key := s.canonicalKey(pods)
	if _, asked := s.values[key]; asked {
		return nil
	}
	v, bound, err := s.Value(s.ctx, pods)
	s.values[key] = groupValue{v, bound, slices.Clone(pods)}
	if s.best.At == nil || v < s.best.Value {
		s.best.At, s.best.Value = slices.Clone(pods), v
	}
	return cmp.Or(err, s.ctx.Err())
}

// descendFromStarts tries the starts and what descents from them, and from random changes of the best, end at.
func (s *groupSearch) descendFromStarts() error {
	type start struct {
		at    []int32
		guess float64
	}
	var all []start
	for _, pods := range s.Starts {
		v, err := s.cachedGuess(pods)
		if err != nil {
			return err
		}
		all = append(all, start{pods, v})
	}
	slices.SortStableFunc(all, func(a, b start) int { return cmp.Compare(a.guess, b.guess) })
	for _, first := range all {
		if len(s.values) < s.maxTrials {
			if err := s.evaluate(first.at); err != nil {
				return err
			}
		}
	}
	best, value := all[0].at, math.Inf(1)
	for k := 0; k < 2*s.maxTrials && len(s.values) < (s.maxTrials+1)/2 && len(s.guesses) < guessesPerTrial*s.maxTrials && s.best.Value > s.open.First().bound; k++ {
		from := slices.Clone(best)
		if k < len(all) {
			from = slices.Clone(all[k].at)
		} else {
			for range 2 + s.random.IntN(3) {
				s.exchange(from, int32(s.random.IntN(s.Units)), int32(s.random.IntN(s.Units)))
			}
		}
		pods, v, err := s.descend(from)
		if err == nil {
			err = s.evaluate(pods)
		}
		if err != nil {
			return err
		}
		if v < value {
			best, value = pods, v
		}
	}
	return nil
}

// exchange has two units change places where both then fit; it reports whether anything changed.
func (s *groupSearch) exchange(pods []int32, u, v int32) bool {
	a, b := pods[u], pods[v]
	if a == b {
		return false
	}
	pods[u], pods[v] = -1, -1
	if s.Fits(pods, u, b) && s.Fits(pods, v, a) {
		pods[u], pods[v] = b, a
		return true
	}
	pods[u], pods[v] = a, b
	return false
}

// descend makes the guess less by exchanges of units, and by moves to pods that have room, while there is one that does.
func (s *groupSearch) descend(pods []int32) ([]int32, float64, error) {
	best, err := s.cachedGuess(pods)
	if err != nil {
		return nil, 0, err
	}
	// better takes a change of at where it makes the guess less, and undoes it where not
	better := func(before []int32) (bool, error) {
		v, err := s.cachedGuess(pods)
		if err == nil && v < best {
			best = v
			return true, nil
		}
		copy(pods, before)
		return false, err
	}
	before := make([]int32, len(pods))
	pairs := s.random.Perm(s.Units * s.Units)
	for k, since := 0, 0; since < len(pairs) && len(s.guesses) < guessesPerTrial*s.maxTrials; k, since = (k+1)%len(pairs), since+1 {
		u, v := int32(pairs[k]/s.Units), int32(pairs[k]%s.Units)
		copy(before, pods)
		done := false
		if u < v && s.exchange(pods, u, v) {
			done, err = better(before)
		} else if u > v && int(v) < s.Pods && pods[u] != v { // a move, to pod v
			if pods[u] = -1; s.Fits(pods, u, v) {
				pods[u] = v
				done, err = better(before)
			} else {
				copy(pods, before)
			}
		}
		if err != nil {
			return nil, 0, err
		}
		if done {
			since = 0
		}
	}
	return pods, best, nil
}

// groupNode is all placements that have the first units somewhere.
type groupNode struct {
	pods   []int32
	placed int
	bound  float64
	number int
}

// before reports whether a part is taken apart before another: that of least bound first, of equal ones that of most
// units.
func (a groupNode) before(b groupNode) bool {
	return cmp.Or(cmp.Compare(a.bound, b.bound), cmp.Compare(b.placed, a.placed), cmp.Compare(a.number, b.number)) < 0
}

// branchAndBound takes apart what may hold something better than the best, until nothing may or what it may spend is spent.
func (s *groupSearch) branchAndBound() error {
	s.visited = map[string]bool{}
	for s.open.Len() > 0 && s.open.First().bound < s.best.Value {
		node := *s.open.First()
		if node.placed == s.Units {
			if _, known := s.values[s.canonicalKey(node.pods)]; !known && len(s.values) >= s.maxTrials {
				return nil
			}
			s.open.Pop()
			if err := s.evaluate(node.pods); err != nil {
				return err
			}
			s.valueBound = min(s.valueBound, max(node.bound, s.values[s.canonicalKey(node.pods)].bound))
			continue
		}
		if s.numNodes >= guessesPerTrial*s.maxTrials {
			return nil
		}
		s.open.Pop()
		if err := s.expand(node); err != nil {
			return err
		}
	}
	s.open.Clear() // nothing in it is better
	return nil
}

// expand puts the next unit of a part into each pod that has units, and into one that has none.
func (s *groupSearch) expand(node groupNode) error {
	unit, empty := int32(node.placed), false
	for pod := range int32(s.Pods) {
		isEmpty := !slices.Contains(node.pods[:node.placed], pod)
		if isEmpty && empty || !s.Fits(node.pods, unit, pod) {
			continue
		}
		empty = empty || isEmpty
		pods := slices.Clone(node.pods)
		pods[unit] = pod
		key := s.canonicalKey(pods)
		if s.visited[key] {
			continue
		}
		s.visited[key] = true
		bound, err := s.Bound(s.ctx, pods)
		if err != nil {
			return err
		}
		s.numNodes++
		s.open.Push(groupNode{pods: pods, placed: node.placed + 1, bound: max(bound, node.bound), number: s.numNodes})
	}
	return nil
}
