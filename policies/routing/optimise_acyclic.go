package routing

import (
	"context"
	"slices"

	"sim/engine"
)

// acyclic restricts the paths that pairs may take until those that are chosen cannot deadlock: the channel dependency
// graph (Dally and Seitz, 1987) of the paths of all flows, not of one a class, has no cycle.
type acyclic struct {
	in     *instance
	rules  *Candidates
	orbit  [][]int32 // by source's place in Symmetry.Sources: the nodes that translations take it to
	fan    int       // channels out of a node
	banned []bool    // by dependency: no path may have it any more
	kept   []bool    // by dependency: some pair has no path without it
	used   []int32   // by dependency: chosen paths that have it
	path   []engine.Step
	deps   []int32
}

// channelsEach is the virtual channels that rules of channels use.
const channelsEach = 2

func newAcyclic(r *optimiser) *acyclic {
	in := r.in
	fan := in.degree * channelsEach
	n := in.nodes * fan * fan
	a := &acyclic{in: in, rules: r.rules, fan: fan, banned: make([]bool, n), kept: make([]bool, n), used: make([]int32, n)}
	a.orbit = make([][]int32, len(r.y.Sources))
	for node, o := range r.y.Orbit {
		a.orbit[o] = append(a.orbit[o], int32(node))
	}
	return a
}

// of returns the dependencies of a path of a pair and of its translations: a channel times the channels out of a node,
// plus the one that is taken there next.
func (a *acyclic) of(pair engine.Flow, steps []engine.Step) []int32 {
	a.deps = a.deps[:0]
	z := a.rules.z
	for _, node := range a.orbit[a.in.symmetry.Orbit[pair.Src]] {
		a.path = append(a.path[:0], steps...)
		a.rules.Channels(node, a.path)
		last := int32(-1)
		for _, s := range a.path {
			out := int32(s.Port()*channelsEach + s.Channel())
			if last >= 0 {
				a.deps = append(a.deps, last*int32(a.fan)+out)
			}
			last = node*int32(a.fan) + out
			node = z.next[int(node)*a.in.degree+s.Port()]
		}
	}
	return a.deps
}

// behind returns the channel that a dependency leads to.
func (a *acyclic) behind(dep int32) int32 {
	channel := dep / int32(a.fan)
	node, port := channel/int32(a.fan), channel%int32(a.fan)/channelsEach
	return a.rules.z.next[int(node)*a.in.degree+int(port)]*int32(a.fan) + dep%int32(a.fan)
}

// count counts the chosen paths that have each dependency.
func (a *acyclic) count(s *search) {
	clear(a.used)
	for i, w := range s.path {
		for _, d := range a.of(a.in.pair[i], s.c.steps(w)) {
			a.used[d]++
		}
	}
}

// breaks bans a dependency of every cycle of those used, that of the fewest paths, and returns how many; it fails
// (false) where all of a cycle are kept.
func (a *acyclic) breaks() (int, bool) {
	channels := a.in.nodes * a.fan
	state, next := make([]uint8, channels), make([]int32, channels)
	var path []int32 // dependencies on the way of the search
	for broken := 0; ; broken++ {
		clear(state)
		cycle := a.cycle(state, next, &path)
		if cycle == nil {
			return broken, true
		}
		worst := int32(-1)
		for _, d := range cycle {
			if !a.kept[d] && (worst < 0 || a.used[d] < a.used[worst]) {
				worst = d
			}
		}
		if worst < 0 {
			return broken, false
		}
		a.banned[worst], a.used[worst] = true, 0
	}
}

// cycle returns the dependencies of a cycle of those used, by depth-first search.
func (a *acyclic) cycle(state []uint8, next []int32, path *[]int32) []int32 {
	const open, closed = 1, 2
	fan := int32(a.fan)
	for root := range int32(len(state)) {
		if state[root] != 0 {
			continue
		}
		stack := (*path)[:0]
		state[root], next[root] = open, 0
		for at := root; ; {
			k := next[at]
			for k < fan && a.used[at*fan+k] == 0 {
				k++
			}
			if next[at] = k + 1; k == fan {
				state[at] = closed
				if len(stack) == 0 {
					break
				}
				at = stack[len(stack)-1] / fan
				stack = stack[:len(stack)-1]
				continue
			}
			dep := at*fan + k
			to := a.behind(dep)
			switch state[to] {
			case open:
				stack = append(stack, dep)
				for i, d := range stack {
					if d/fan == to {
						*path = stack
						return stack[i:]
					}
				}
			case 0:
				stack = append(stack, dep)
				state[to], next[to] = open, 0
				at = to
			}
		}
		*path = stack
	}
	return nil
}

// only keeps those paths of choices whose dependencies are all allowed, and returns the first pair that none is left
// for; -1 where there is none.
func (a *acyclic) only(c *choices, allowed func(dep int32) bool) (*choices, int32) {
	out := *c
	out.first, out.last, out.next = slices.Clone(c.first), slices.Clone(c.last), slices.Clone(c.next)
	for i := range out.first {
		last := int32(-1)
		for k := c.first[i]; k >= 0; k = c.next[k] {
			if slices.ContainsFunc(a.of(a.in.pair[i], c.steps(k)), func(d int32) bool { return !allowed(d) }) {
				continue
			}
			if last < 0 {
				out.first[i] = k
			} else {
				out.next[last] = k
			}
			last = k
		}
		if last < 0 {
			return nil, int32(i)
		}
		out.next[last], out.last[i] = -1, last
	}
	return &out, -1
}

// free restricts choices such that those that remain are free of deadlock whatever is chosen, beginning from a search's
// best choice; nil where it finds no way to. Round by round a dependency of each cycle is banned and pairs that had it
// are moved; when no cycle is left, what goes forward in an order of the channels stays.
func (a *acyclic) free(ctx context.Context, s *search, c *choices) (*choices, error) {
	s.path = append(s.path[:0], s.best...)
	for range 200 {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		a.count(s)
		broken, ok := a.breaks()
		if !ok {
			return nil, nil
		}
		if broken == 0 {
			break
		}
		var left *choices
		for {
			var bare int32
			if left, bare = a.only(c, func(d int32) bool { return !a.banned[d] || a.kept[d] }); left != nil {
				break
			}
			a.keep(bare, c)
		}
		s.reset(left)
	}
	place := a.order()
	if place == nil {
		return nil, nil
	}
	left, bare := a.only(c, func(d int32) bool { return place[d/int32(a.fan)] < place[a.behind(d)] })
	if bare >= 0 {
		return nil, nil
	}
	return left, nil
}

// keep allows again, for a pair that no path is left for, the dependencies of the one with the fewest that are banned.
func (a *acyclic) keep(pair int32, c *choices) {
	best, least := int32(-1), 0
	for k := c.first[pair]; k >= 0; k = c.next[k] {
		n := 0
		for _, d := range a.of(a.in.pair[pair], c.steps(k)) {
			if a.banned[d] && !a.kept[d] {
				n++
			}
		}
		if best < 0 || n < least {
			best, least = k, n
		}
	}
	for _, d := range a.of(a.in.pair[pair], c.steps(best)) {
		a.kept[d] = true
	}
}

// order numbers the channels such that dependencies that are used go up; nil where there is a cycle.
func (a *acyclic) order() []int32 {
	channels, fan := a.in.nodes*a.fan, int32(a.fan)
	before := make([]int32, channels)
	for d, n := range a.used {
		if n > 0 {
			before[a.behind(int32(d))]++
		}
	}
	place, queue := make([]int32, channels), make([]int32, 0, channels)
	for c, n := range before {
		if n == 0 {
			queue = append(queue, int32(c))
		}
	}
	for i := 0; i < len(queue); i++ {
		at := queue[i]
		place[at] = int32(i)
		for d := at * fan; d < (at+1)*fan; d++ {
			if a.used[d] > 0 {
				to := a.behind(d)
				if before[to]--; before[to] == 0 {
					queue = append(queue, to)
				}
			}
		}
	}
	if len(queue) < channels {
		return nil
	}
	return place
}
