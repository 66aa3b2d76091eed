package routing

import (
	"context"
	"slices"

	"sim/engine"
)

// cycleBreaker restricts the paths that pairs may take until those that are chosen cannot deadlock: the channel dependency
// graph (Dally and Seitz, 1987) of the paths of all flows, not of one a class, has no cycle.
type cycleBreaker struct {
	in              *routeInstance
	rules           *Candidates
	orbit           [][]int32 // by source's place in Symmetry.Sources: the nodes that translations take it to
	channelsPerNode int       // channels out of a node
	isBanned        []bool    // by dependency: no path may have it any more
	isRequired      []bool    // by dependency: some pair has no path without it
	useCount        []int32   // by dependency: chosen paths that have it
	path            []engine.Step
	dependencies    []int32
}

// channelsPerLink is the virtual channels that rules of channels use.
const channelsPerLink = 2

func newCycleBreaker(r *optimiser) *cycleBreaker {
	in := r.in
	fan := in.degree * channelsPerLink
	n := in.nodes * fan * fan
	a := &cycleBreaker{in: in, rules: r.rules, channelsPerNode: fan, isBanned: make([]bool, n), isRequired: make([]bool, n), useCount: make([]int32, n)}
	a.orbit = make([][]int32, len(r.symmetry.Sources))
	for node, o := range r.symmetry.Orbit {
		a.orbit[o] = append(a.orbit[o], int32(node))
	}
	return a
}

// pathDependencies returns the dependencies of a path of a pair and of its translations: a channel times the channels out of a node,
// plus the one that is taken there next.
func (a *cycleBreaker) pathDependencies(pair engine.Flow, steps []engine.Step) []int32 {
	a.dependencies = a.dependencies[:0]
	z := a.rules.geometry
	for _, node := range a.orbit[a.in.symmetry.Orbit[pair.Src]] {
		a.path = append(a.path[:0], steps...)
		a.rules.SetChannels(node, a.path)
		previous := int32(-1)
		for _, s := range a.path {
			out := int32(s.Port()*channelsPerLink + s.Channel())
			if previous >= 0 {
				a.dependencies = append(a.dependencies, previous*int32(a.channelsPerNode)+out)
			}
			previous = node*int32(a.channelsPerNode) + out
			node = z.neighbour[int(node)*a.in.degree+s.Port()]
		}
	}
	return a.dependencies
}

// nextChannel returns the channel that a dependency leads to.
func (a *cycleBreaker) nextChannel(dep int32) int32 {
	channel := dep / int32(a.channelsPerNode)
	node, port := channel/int32(a.channelsPerNode), channel%int32(a.channelsPerNode)/channelsPerLink
	return a.rules.geometry.neighbour[int(node)*a.in.degree+int(port)]*int32(a.channelsPerNode) + dep%int32(a.channelsPerNode)
}

// countUses counts the chosen paths that have each dependency.
func (a *cycleBreaker) countUses(s *pathAssignmentSearch) {
	clear(a.useCount)
	for i, w := range s.path {
		for _, d := range a.pathDependencies(a.in.pairs[i], s.candidates.pathSteps(w)) {
			a.useCount[d]++
		}
	}
}

// breakCycles bans a dependency of every cycle of those used, that of the fewest paths, and returns how many; it fails
// (false) where all of a cycle are kept.
func (a *cycleBreaker) breakCycles() (int, bool) {
	channels := a.in.nodes * a.channelsPerNode
	state, next := make([]uint8, channels), make([]int32, channels)
	var path []int32 // dependencies on the way of the search
	for broken := 0; ; broken++ {
		clear(state)
		cycle := a.findCycle(state, next, &path)
		if cycle == nil {
			return broken, true
		}
		weakest := int32(-1)
		for _, d := range cycle {
			if !a.isRequired[d] && (weakest < 0 || a.useCount[d] < a.useCount[weakest]) {
				weakest = d
			}
		}
		if weakest < 0 {
			return broken, false
		}
		a.isBanned[weakest], a.useCount[weakest] = true, 0
	}
}

// findCycle returns the dependencies of a cycle of those used, by depth-first search.
func (a *cycleBreaker) findCycle(state []uint8, next []int32, path *[]int32) []int32 {
	const open, closed = 1, 2
	fan := int32(a.channelsPerNode)
	for root := range int32(len(state)) {
		if state[root] != 0 {
			continue
		}
		stack := (*path)[:0]
		state[root], next[root] = open, 0
		for channel := root; ; {
			k := next[channel]
			for k < fan && a.useCount[channel*fan+k] == 0 {
				k++
			}
			if next[channel] = k + 1; k == fan {
				state[channel] = closed
				if len(stack) == 0 {
					break
				}
				channel = stack[len(stack)-1] / fan
				stack = stack[:len(stack)-1]
				continue
			}
			dep := channel*fan + k
			to := a.nextChannel(dep)
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
				channel = to
			}
		}
		*path = stack
	}
	return nil
}

// restrict keeps those paths of choices whose dependencies are all allowed, and returns the first pair that none is left
// for; -1 where there is none.
func (a *cycleBreaker) restrict(c *candidatePaths, allowed func(dep int32) bool) (*candidatePaths, int32) {
	out := *c
	out.first, out.last, out.next = slices.Clone(c.first), slices.Clone(c.last), slices.Clone(c.next)
	for i := range out.first {
		last := int32(-1)
		for k := c.first[i]; k >= 0; k = c.next[k] {
			if slices.ContainsFunc(a.pathDependencies(a.in.pairs[i], c.pathSteps(k)), func(d int32) bool { return !allowed(d) }) {
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

// makeAcyclic restricts choices such that those that remain are free of deadlock whatever is chosen, beginning from a search's
// best choice; nil where it finds no way to. Round by round a dependency of each cycle is banned and pairs that had it
// are moved; when no cycle is left, what goes forward in an order of the channels stays.
func (a *cycleBreaker) makeAcyclic(ctx context.Context, s *pathAssignmentSearch, c *candidatePaths) (*candidatePaths, error) {
	s.path = append(s.path[:0], s.best...)
	for range 200 {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		a.countUses(s)
		broken, ok := a.breakCycles()
		if !ok {
			return nil, nil
		}
		if broken == 0 {
			break
		}
		var remaining *candidatePaths
		for {
			var blocked int32
			if remaining, blocked = a.restrict(c, func(d int32) bool { return !a.isBanned[d] || a.isRequired[d] }); remaining != nil {
				break
			}
			a.require(blocked, c)
		}
		s.restrict(remaining)
	}
	position := a.topologicalOrder()
	if position == nil {
		return nil, nil
	}
	remaining, blocked := a.restrict(c, func(d int32) bool { return position[d/int32(a.channelsPerNode)] < position[a.nextChannel(d)] })
	if blocked >= 0 {
		return nil, nil
	}
	return remaining, nil
}

// require allows again, for a pair that no path is left for, the dependencies of the one with the fewest that are banned.
func (a *cycleBreaker) require(pair int32, c *candidatePaths) {
	best, minBanned := int32(-1), 0
	for k := c.first[pair]; k >= 0; k = c.next[k] {
		n := 0
		for _, d := range a.pathDependencies(a.in.pairs[pair], c.pathSteps(k)) {
			if a.isBanned[d] && !a.isRequired[d] {
				n++
			}
		}
		if best < 0 || n < minBanned {
			best, minBanned = k, n
		}
	}
	for _, d := range a.pathDependencies(a.in.pairs[pair], c.pathSteps(best)) {
		a.isRequired[d] = true
	}
}

// topologicalOrder numbers the channels such that dependencies that are used go up; nil where there is a cycle.
func (a *cycleBreaker) topologicalOrder() []int32 {
	channels, fan := a.in.nodes*a.channelsPerNode, int32(a.channelsPerNode)
	before := make([]int32, channels)
	for d, n := range a.useCount {
		if n > 0 {
			before[a.nextChannel(int32(d))]++
		}
	}
	position, queue := make([]int32, channels), make([]int32, 0, channels)
	for c, n := range before {
		if n == 0 {
			queue = append(queue, int32(c))
		}
	}
	for i := 0; i < len(queue); i++ {
		channel := queue[i]
		position[channel] = int32(i)
		for d := channel * fan; d < (channel+1)*fan; d++ {
			if a.useCount[d] > 0 {
				to := a.nextChannel(d)
				if before[to]--; before[to] == 0 {
					queue = append(queue, to)
				}
			}
		}
	}
	if len(queue) < channels {
		return nil
	}
	return position
}
