package collective

import (
	"context"
	"math"
	"slices"

	"sim/engine"
	"sim/policies/graph"
)

// pipeline schedules the moves of chunks along the trees of a forest. A move is one hop of a
// chunk. With n members, move 2nk + v sends chunk k from member v up to its parent, and move 2nk
// + n + v sends it from the parent down to v.
type pipeline struct {
	f        *forest       // the trees
	n        int32         // number of members
	link     []int32       // link of a move, indexed by move; -1 if there is no such move
	duration []engine.Time // transmission time on the link, indexed by move
	// tail is the time from the start of a move to the end of the longest path of moves after it,
	// indexed by move.
	tail         []engine.Time
	predecessors []int32 // the number of moves that a move waits for, indexed by move
	// firstChild is the first child in the tree down, indexed by chunk and member; -1 without one.
	firstChild []int32
	// nextSibling is the next child of the same parent, indexed by chunk and member; -1 for the
	// last one.
	nextSibling []int32
	latency     []engine.Time // indexed by link
}

// locate returns the chunk, direction and member of a move.
func (z *pipeline) locate(move int32) (chunk int32, direction int, member int32) {
	k, i := move/(2*z.n), move%(2*z.n)
	return k, int(i / z.n), i % z.n
}

// newPipeline prepares the moves of chunks with the given sizes.
func newPipeline(f *forest, bytes []int64, links []engine.Link) *pipeline {
	n := int32(len(f.depth))
	moves := 2 * int(n) * len(bytes)
	z := &pipeline{
		f:            f,
		n:            n,
		link:         slices.Repeat([]int32{-1}, moves),
		duration:     make([]engine.Time, moves),
		tail:         make([]engine.Time, moves),
		predecessors: make([]int32, moves),
		firstChild:   slices.Repeat([]int32{-1}, moves/2),
		nextSibling:  make([]int32, moves/2),
		latency:      make([]engine.Time, len(links)),
	}

	for l, link := range links {
		z.latency[l] = link.Latency
	}

	// The trees determine the predecessors and successors of moves. base is the first move of chunk
	// k.
	for k, size := range bytes {
		base := 2 * n * int32(k)
		for d := range f.trees {
			// The root, which is first in order, has no move of its own. A tree without members
			// has no moves.
			t := &f.trees[d][k]
			for _, v := range t.order[min(1, len(t.order)):] {
				move := base + int32(d)*n + v
				p := t.parent[v]
				z.link[move] = t.link[v]
				z.duration[move] = max(1, engine.Time(math.Round(float64(size)*8/links[t.link[v]].Rate*float64(engine.Second))))
				switch {
				case d == up:
					z.predecessors[base+p]++
				default:
					z.nextSibling[n*int32(k)+v] = z.firstChild[n*int32(k)+p]
					z.firstChild[n*int32(k)+p] = v
					if z.predecessors[move] = 1; p == t.order[0] {
						// It waits for as many moves as come up to the root.
						z.predecessors[move] = z.predecessors[base+p]
					}
				}
			}
		}

		// Tails, from the last moves of the chunk to the first.
		for _, v := range slices.Backward(f.trees[down][k].order) {
			z.setTail(base + n + v)
		}
		for _, v := range f.trees[up][k].order {
			z.setTail(base + v)
		}
	}

	return z
}

// setTail computes the tail of a move from the tails of its successors.
func (z *pipeline) setTail(move int32) {
	if z.link[move] < 0 {
		return
	}
	longest := engine.Time(0)
	z.forEachSuccessor(move, func(x int32) { longest = max(longest, z.tail[x]) })
	z.tail[move] = z.duration[move] + z.latency[z.link[move]] + longest
}

// forEachSuccessor calls do for each move that waits for a move.
func (z *pipeline) forEachSuccessor(move int32, do func(x int32)) {
	// After a move up, the parent moves the chunk up, unless it is the root. A chunk at the root or
	// on its path down goes to all children.
	k, d, member := z.locate(move)
	base := 2 * z.n * k
	if d == up {
		t := &z.f.trees[up][k]
		if member = t.parent[member]; member != t.order[0] {
			do(base + member)
			return
		}
	}

	for c := z.firstChild[z.n*k+member]; c >= 0; c = z.nextSibling[z.n*k+c] {
		do(base + z.n + c)
	}
}

// schedule simulates list scheduling: each idle link immediately starts the ready move with the
// highest rank. It returns the moves in the order in which they start, and the arrival of the
// last chunk.
func (z *pipeline) schedule(rank []float64) (started []int32, end engine.Time) {
	// Indexed by link: ready are the moves that are ready, queued is their number, and busy is the
	// move that the link transmits, or -1.
	links := int32(len(z.latency))
	ready := make([]*graph.Heap[int32], links)
	queued := make([]int32, links)
	busy := slices.Repeat([]int32{-1}, int(links))

	// Event x < links: link x becomes idle; otherwise move x - links becomes ready.
	events := engine.NewQueue(int(links) + len(z.link))
	waiting := slices.Clone(z.predecessors)

	// Moves without predecessors are ready at time 0.
	before := func(a, b int32) bool { return rank[a] > rank[b] || rank[a] == rank[b] && a < b }
	for move, l := range z.link {
		if l >= 0 && waiting[move] == 0 {
			events.Set(links+int32(move), 0)
		}
	}

	var touched []int32 // links with events at the present time
	for events.Len() > 0 {
		// Handle all events of this time.
		now := events.Top()
		for touched = touched[:0]; events.Len() > 0 && events.Top() == now; {
			x, _ := events.Pop()

			// A link becomes idle. Its chunk arrives after the latency.
			if x < links {
				arrives := now + z.latency[x]
				end = max(end, arrives)
				z.forEachSuccessor(busy[x], func(y int32) {
					if waiting[y]--; waiting[y] == 0 {
						events.Set(links+y, arrives)
					}
				})
				busy[x] = -1
				touched = append(touched, x)
				continue
			}

			// A move becomes ready.
			l := z.link[x-links]
			if ready[l] == nil {
				ready[l] = graph.NewHeap(before)
			}
			ready[l].Push(x - links)
			queued[l]++
			touched = append(touched, l)
		}

		// Idle links with ready moves start the best one.
		for _, l := range touched {
			if busy[l] < 0 && queued[l] > 0 {
				busy[l] = ready[l].Pop()
				queued[l]--
				started = append(started, busy[l])
				events.Set(l, now+z.duration[busy[l]])
			}
		}
	}

	return started, end
}

// The rank of a move is the length of the longest path after it, which is best if nothing else is
// a bottleneck. Some chunks must arrive early if members have few links for all they receive, or
// if all trees have one root. So the rank of chunk k of K is reduced by stagger * k/K times the
// longest path of all moves. The staggers are tried in turn until links are in use nearly all the
// time.
var (
	multiRootStaggers  = []float64{0, 1, 3} // for trees with many roots
	singleRootStaggers = []float64{1, 2, 4} // for trees with one root

	// nearFullFactor is the ratio to fullSeconds below which no further order is tried.
	nearFullFactor = 1.05
)

// bestSchedule returns the moves in the best order over all staggers, and the arrival of the last
// chunk.
func (z *pipeline) bestSchedule(ctx context.Context, staggers []float64) ([]int32, engine.Time) {
	rank := make([]float64, len(z.link))
	longest := float64(slices.Max(z.tail))
	earliest := engine.Never
	var best []int32
	for _, stagger := range staggers {
		for move, tail := range z.tail {
			k, _, _ := z.locate(int32(move))
			rank[move] = float64(tail) - stagger*longest*float64(k)/float64(len(z.f.trees[up]))
		}
		if order, end := z.schedule(rank); end < earliest {
			best, earliest = order, end
		}
		if z.isNearFull(earliest) || ctx.Err() != nil {
			break
		}
	}

	return best, earliest
}

// isNearFull reports whether links are in use nearly all the time until end.
func (z *pipeline) isNearFull(end engine.Time) bool {
	return end.Seconds() <= nearFullFactor*z.fullSeconds()
}

// fullSeconds returns the time of all moves if all links of the mesh were always in use.
func (z *pipeline) fullSeconds() float64 {
	// Both are in units of the fastest link: the amount of data of all moves, in seconds, and the
	// rate of all links.
	bits, rate := 0.0, 0.0
	for move, l := range z.link {
		if l >= 0 {
			bits += z.duration[move].Seconds() / z.f.byteTime[l]
		}
	}
	for _, arcs := range z.f.arcs[down] {
		for _, w := range arcs {
			rate += 1 / z.f.byteTime[w.link]
		}
	}
	return bits / rate
}
