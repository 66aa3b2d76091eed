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

// Grouping is the problem of assigning units of work, such as the stages of all replicas, to
// identical pods with a minimum value. The caller defines units, pods and value. A placement has
// a pod for each unit; -1 means that the unit has none yet. The numbers of pods have no meaning.
type Grouping struct {
	Units, Pods int
	// Fits reports whether a unit may join the units that at assigns to a pod.
	Fits func(at []int32, unit, pod int32) bool
	// Symmetries are permutations of units that preserve all values: unit u may take the place of
	// unit Symmetries[i][u].
	Symmetries [][]int32
	Starts     [][]int32 // at least one placement to start from
	// Bound returns a lower bound on the values of all placements that contain the partial
	// placement at.
	Bound func(ctx context.Context, at []int32) (float64, error)
	// Guess returns an estimate by which placements are compared before their value is requested,
	// which takes longer. Guess and Value are +Inf if a placement is infeasible.
	Guess func(ctx context.Context, at []int32) (float64, error)
	// Value returns the value of a placement and a lower bound on it for any other decisions that
	// it depends on. A search requests approximate values; a thorough value may take longer.
	Value func(ctx context.Context, at []int32, thorough bool) (value, bound float64, err error)
}

// GroupingResult is the result of Grouping.Search.
type GroupingResult struct {
	At    []int32 // best placement
	Value float64 // of At; +Inf if all placements that were evaluated are infeasible
	// Bound is the lower bound on all placements; equal to Value if At is optimal.
	Bound  float64
	Trials int // placements whose value was requested
	// Others lists the next best placements, the best first, and the starts. If values are
	// approximate, one of them may be the best.
	Others [][]int32
}

// maxOthers is the number of next best placements in GroupingResult.Others.
const maxOthers = 3

// Values of the argument thorough of Grouping.Value.
const (
	approximateValue = false
	thoroughValue    = true
)

// Settle computes the thorough values of the result and of the other placements, and selects the
// best.
func (g *Grouping) Settle(ctx context.Context, f *GroupingResult) (err error) {
	if f.Value, _, err = g.Value(ctx, f.At, thoroughValue); err != nil {
		return err
	}

	for _, pods := range f.Others {
		bound, err := g.Bound(ctx, pods)
		if err != nil || bound >= f.Value {
			continue
		}
		v, _, err := g.Value(ctx, pods, thoroughValue)
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

// guessesPerTrial is the maximum number of guesses, and of bounds, per trial of the budget. Both
// are much faster than a value, so they add little to the running time.
const guessesPerTrial = 25

// Search searches for the placement with the minimum value within Options.Trials. It descends
// from the starts by moves and exchanges of units that improve the guess, also after random
// exchanges, and requests the value of each local optimum.
//
// Then best-first branch and bound assigns unit after unit. The smallest bound of an open node is
// a bound on all placements. If it is at least the best value, that value is optimal.
func (g *Grouping) Search(ctx context.Context, o Options) (*GroupingResult, error) {
	s := &groupSearch{
		Grouping:   g,
		ctx:        ctx,
		maxTrials:  o.Trials,
		random:     random.Stream(o.Seed, "grouping"),
		guesses:    map[string]float64{},
		values:     map[string]groupValue{},
		best:       GroupingResult{Value: math.Inf(1)},
		valueBound: math.Inf(1),
		open:       graph.NewHeap(groupNode.before),
	}

	// The root of branch and bound has no unit in a pod.
	root := slices.Repeat([]int32{-1}, g.Units)
	bound, err := g.Bound(ctx, root)
	if err != nil {
		return nil, err
	}
	s.open.Push(groupNode{pods: root, bound: bound})

	// Search.
	if err := s.descendFromStarts(); err != nil {
		return nil, err
	}
	if err := s.branchAndBound(); err != nil {
		return nil, err
	}

	// The bound covers evaluated placements and open nodes.
	s.best.Trials = len(s.values)
	s.best.Bound = min(s.best.Value, s.valueBound)
	if s.open.Len() > 0 {
		s.best.Bound = min(s.best.Bound, s.open.First().bound)
	}
	s.listOthers()
	return &s.best, ctx.Err()
}

// listOthers sets best.Others.
func (s *groupSearch) listOthers() {
	// Placements by rising value, without the best one and the starts.
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

	// The starts, without repetitions.
	for i, pods := range s.Starts {
		if !slices.Contains(listed[:i+1], listed[i+1]) {
			s.best.Others = append(s.best.Others, pods)
		}
	}
}

// groupSearch is the state of Grouping.Search. Equivalent placements have one key (canonicalKey).
type groupSearch struct {
	*Grouping
	ctx       context.Context
	maxTrials int // budget of values
	random    *rand.Rand
	guesses   map[string]float64    // by key
	values    map[string]groupValue // by key
	// valueBound is the minimum bound of the placements that branch and bound has evaluated.
	valueBound float64
	best       GroupingResult         // result so far
	open       *graph.Heap[groupNode] // open nodes of branch and bound
	visited    map[string]bool        // keys of partial placements
	numNodes   int                    // nodes created so far
}

// groupValue is a placement with its value and bound.
type groupValue struct {
	value, bound float64
	pods         []int32
}

// canonicalKey returns a key that is equal for equivalent placements, complete or partial: under
// Symmetries and any numbering of pods.
func (g *Grouping) canonicalKey(pods []int32) string {
	// The smallest canonical form over all symmetries.
	best, image := Canonical(pods), make([]int32, len(pods))
next:
	for _, permutation := range g.Symmetries {
		for u, v := range permutation {
			if image[u] = pods[v]; (pods[v] < 0) != (pods[u] < 0) {
				continue next // the image has other units
			}
		}
		if c := Canonical(image); slices.Compare(c, best) < 0 {
			best = c
		}
	}

	// Two bytes per pod. -1 becomes two bytes of 255.
	text := make([]byte, 0, 2*len(best))
	for _, pod := range best {
		text = append(text, byte(pod), byte(pod>>8))
	}
	return string(text)
}

// Canonical returns a placement whose pods are numbered in the order of their first units.
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

// cachedGuess returns the guess of a placement, computed once per key.
func (s *groupSearch) cachedGuess(pods []int32) (float64, error) {
	key := s.canonicalKey(pods)
	if v, known := s.guesses[key]; known {
		return v, nil
	}
	v, err := s.Guess(s.ctx, pods)
	s.guesses[key] = v
	return v, cmp.Or(err, s.ctx.Err())
}

// evaluate requests the value of a placement unless its bound excludes that it is the best, and
// saves the best.
func (s *groupSearch) evaluate(pods []int32) error {
	if bound, err := s.Bound(s.ctx, pods); err != nil || bound >= s.best.Value && s.best.At != nil {
		return err
	}
	key := s.canonicalKey(pods)
	if _, known := s.values[key]; known {
		return nil
	}
	v, bound, err := s.Value(s.ctx, pods, approximateValue)
	s.values[key] = groupValue{value: v, bound: bound, pods: slices.Clone(pods)}
	if s.best.At == nil || v < s.best.Value {
		s.best.At, s.best.Value = slices.Clone(pods), v
	}
	return cmp.Or(err, s.ctx.Err())
}

// descendFromStarts evaluates the starts, and the local optima that are reached from them and
// from random changes of the best placement.
func (s *groupSearch) descendFromStarts() error {
	// start is a start with its guess.
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
		all = append(all, start{at: pods, guess: v})
	}

	// Evaluate the starts, the best guess first.
	slices.SortStableFunc(all, func(a, b start) int { return cmp.Compare(a.guess, b.guess) })
	for _, first := range all {
		if len(s.values) < s.maxTrials {
			if err := s.evaluate(first.at); err != nil {
				return err
			}
		}
	}

	// Descend from each start, then from changes of the best placement, within half of the
	// trials.
	best, value := all[0].at, math.Inf(1)
	goesOn := func() bool {
		return len(s.values) < (s.maxTrials+1)/2 &&
			len(s.guesses) < guessesPerTrial*s.maxTrials &&
			s.best.Value > s.open.First().bound // the root: a bound on all placements
	}

	// Descents often end at a known placement, so their number is limited too.
	for k := 0; k < 2*s.maxTrials && goesOn(); k++ {
		from := slices.Clone(best)
		if k < len(all) {
			from = slices.Clone(all[k].at)
		} else {
			// Two to four random exchanges lead out of the local optimum.
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

// exchange exchanges the pods of two units if both fit, and reports whether the placement
// changed.
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

// descend improves the guess by exchanges of units, and by moves to other pods, until none helps.
// It changes pods.
func (s *groupSearch) descend(pods []int32) ([]int32, float64, error) {
	best, err := s.cachedGuess(pods)
	if err != nil {
		return nil, 0, err
	}

	// better accepts a change of pods if it improves the guess, and otherwise restores before.
	better := func(before []int32) (bool, error) {
		v, err := s.cachedGuess(pods)
		if err == nil && v < best {
			best = v
			return true, nil
		}
		copy(pods, before)
		return false, err
	}

	// Try pairs of units in random order, and again until none of them helps. A pair (u, v) with
	// u < v exchanges the units; with u > v it moves unit u to pod v. failures counts the pairs
	// since the last improvement.
	before := make([]int32, len(pods))
	pairs := s.random.Perm(s.Units * s.Units)
	k, failures := 0, 0
	for failures < len(pairs) && len(s.guesses) < guessesPerTrial*s.maxTrials {
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

		if failures++; done {
			failures = 1
		}
		k = (k + 1) % len(pairs)
	}

	return pods, best, nil
}

// groupNode is a node of branch and bound: the first placed units have pods.
type groupNode struct {
	pods   []int32
	placed int
	bound  float64 // lower bound on the values of all completions
	number int     // order of creation, which breaks ties
}

// before orders open nodes: by bound, then with more placed units first.
func (a groupNode) before(b groupNode) bool {
	return cmp.Or(cmp.Compare(a.bound, b.bound), cmp.Compare(b.placed, a.placed), cmp.Compare(a.number, b.number)) < 0
}

// branchAndBound expands the open nodes until none can improve the best value, or the budget is
// spent.
func (s *groupSearch) branchAndBound() error {
	s.visited = map[string]bool{}
	for s.open.Len() > 0 && s.open.First().bound < s.best.Value {
		node := *s.open.First()

		// A complete placement: request its value.
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

	s.open.Clear() // the remaining nodes cannot be better
	return nil
}

// expand assigns the next unit of a node to each pod with units, and to one empty pod.
func (s *groupSearch) expand(node groupNode) error {
	unit, usedEmpty := int32(node.placed), false
	for pod := range int32(s.Pods) {
		// All empty pods are equivalent, so the first one represents them.
		isEmpty := !slices.Contains(node.pods[:node.placed], pod)
		if isEmpty && usedEmpty || !s.Fits(node.pods, unit, pod) {
			continue
		}
		usedEmpty = usedEmpty || isEmpty

		// Each class of equivalent placements has one node.
		pods := slices.Clone(node.pods)
		pods[unit] = pod
		key := s.canonicalKey(pods)
		if s.visited[key] {
			continue
		}

		// The bound of the parent also holds for the node, and may be larger.
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
