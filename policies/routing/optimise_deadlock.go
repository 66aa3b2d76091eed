package routing

import (
	"context"
	"slices"

	"sim/engine"
)

// cycleBreaker restricts candidate paths until the chosen ones cannot deadlock: until the channel
// dependency graph (Dally and Seitz, 1987) of the paths of all flows has no cycle. All flows
// count, not one per class, since translations of a path can cross wrap-around links elsewhere.
//
// A channel is numbered node*channelsPerNode + port*channelsPerLink + virtual channel. The part
// below channelsPerNode is an outgoing channel of the node. A dependency is numbered
// channel*channelsPerNode + the outgoing channel that the path takes at the next node.
type cycleBreaker struct {
	in    *routeInstance
	rules *Candidates // sets the channels of paths
	// orbit has the nodes of an orbit, indexed like Symmetry.Sources.
	orbit           [][]int32
	channelsPerNode int // outgoing channels per node

	// Indexed by dependency.
	isBanned   []bool  // no path may have the dependency any more
	isRequired []bool  // some pair has no path without the dependency; overrides isBanned
	useCount   []int32 // chosen paths with the dependency

	path         []engine.Step // scratch of pathDependencies
	dependencies []int32       // scratch of pathDependencies
}

// channelsPerLink is the number of virtual channels that channel rules use.
const channelsPerLink = 2

// newCycleBreaker returns a breaker for the optimiser's present rules.
func newCycleBreaker(r *optimiser) *cycleBreaker {
	in := r.in
	fan := in.degree * channelsPerLink
	n := in.nodes * fan * fan
	a := &cycleBreaker{
		in:              in,
		rules:           r.rules,
		channelsPerNode: fan,
		isBanned:        make([]bool, n),
		isRequired:      make([]bool, n),
		useCount:        make([]int32, n),
	}

	a.orbit = make([][]int32, len(r.symmetry.Sources))
	for node, o := range r.symmetry.Orbit {
		a.orbit[o] = append(a.orbit[o], int32(node))
	}
	return a
}

// pathDependencies returns the dependencies of a path of a pair and of all its translations. It
// is valid until the next call.
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
	node := channel / int32(a.channelsPerNode)
	port := channel % int32(a.channelsPerNode) / channelsPerLink
	return a.rules.geometry.neighbour[int(node)*a.in.degree+int(port)]*int32(a.channelsPerNode) +
		dep%int32(a.channelsPerNode)
}

// countUses counts the chosen paths with each dependency.
func (a *cycleBreaker) countUses(s *pathAssignmentSearch) {
	clear(a.useCount)
	for i, w := range s.path {
		for _, d := range a.pathDependencies(a.in.pairs[i], s.candidates.pathSteps(w)) {
			a.useCount[d]++
		}
	}
}

// breakCycles bans one dependency of every cycle, the one that the smallest number of paths has,
// and returns the number of bans. It returns false if all dependencies of a cycle are required.
func (a *cycleBreaker) breakCycles() (int, bool) {
	channels := a.in.nodes * a.channelsPerNode
	state := make([]uint8, channels)
	next := make([]int32, channels)
	var path []int32 // dependencies from the root of the search
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

// findCycle returns the dependencies of a cycle of channels, or nil, by depth-first search along
// dependencies with paths. state is 0 for channels that are not visited. next is the outgoing
// channel to try next. path is scratch.
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

			// If all outgoing channels are done, go back to the previous channel.
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

			// An open channel closes a cycle: the part of the stack from it on.
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

// restrict returns the candidates whose dependencies are all allowed. If some pair has none, it
// returns nil and the first such pair, otherwise -1.
func (a *cycleBreaker) restrict(c *candidatePaths, allowed func(dep int32) bool) (*candidatePaths, int32) {
	out := *c
	out.first = slices.Clone(c.first)
	out.last = slices.Clone(c.last)
	out.next = slices.Clone(c.next)
	for i := range out.first {
		last := int32(-1)
		for k := c.first[i]; k >= 0; k = c.next[k] {
			if slices.ContainsFunc(a.pathDependencies(a.in.pairs[i], c.pathSteps(k)), func(d int32) bool {
				return !allowed(d)
			}) {
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

// makeAcyclic restricts candidates until any choice among them is free of deadlock, starting from
// a search's best choice. It returns nil if it fails.
//
// In each round it bans a dependency of each cycle and moves the pairs that have it. When no
// cycle is left, it keeps the candidates whose dependencies follow a topological order of the
// channels.
func (a *cycleBreaker) makeAcyclic(
	ctx context.Context,
	s *pathAssignmentSearch,
	c *candidatePaths,
) (*candidatePaths, error) {
	const maxRounds = 200 // of bans; if a cycle is left after them, topologicalOrder fails below
	s.path = append(s.path[:0], s.best...)
	for range maxRounds {
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

		// A pair without candidates gets the required dependencies of one of them back.
		var remaining *candidatePaths
		for {
			var blocked int32
			if remaining, blocked = a.restrict(c, func(d int32) bool {
				return !a.isBanned[d] || a.isRequired[d]
			}); remaining != nil {
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
	remaining, blocked := a.restrict(c, func(d int32) bool {
		return position[d/int32(a.channelsPerNode)] < position[a.nextChannel(d)]
	})
	if blocked >= 0 {
		return nil, nil
	}
	return remaining, nil
}

// require allows the dependencies of one candidate of a pair: the candidate with the minimum
// number of banned ones.
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

// topologicalOrder returns the position of each channel such that used dependencies lead to
// higher positions; nil if there is a cycle.
func (a *cycleBreaker) topologicalOrder() []int32 {
	channels := a.in.nodes * a.channelsPerNode
	fan := int32(a.channelsPerNode)
	before := make([]int32, channels)
	for d, n := range a.useCount {
		if n > 0 {
			before[a.nextChannel(int32(d))]++
		}
	}

	position := make([]int32, channels)
	queue := make([]int32, 0, channels)
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
