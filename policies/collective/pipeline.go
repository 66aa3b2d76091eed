package collective

import (
	"context"
	"math"
	"slices"

	"sim/engine"
	"sim/policies/graph"
)

// pipeline is the moves of chunks along the trees of a forest: number 2n*k + v is what place v of n sends up to its
// parent of chunk k, and 2n*k + n + v what it has from its parent on the way down.
type pipeline struct {
	f            *forest
	n            int32
	link         []int32       // by move, -1 where there is none
	duration     []engine.Time // on the link
	tail         []engine.Time // from the move's beginning to the end of the longest path from it
	predecessors []int32       // moves to wait for
	firstChild   []int32       // by chunk and place: its first child on the way down, -1 for none
	nextSibling  []int32       // likewise: the next child of its parent
	latency      []engine.Time // by link: its latency
}

// locate returns the chunk, direction and place of a move.
func (z *pipeline) locate(move int32) (chunk int32, direction int, place int32) {
	k, i := move/(2*z.n), move%(2*z.n)
	return k, int(i / z.n), i % z.n
}

// newPipeline prepares the moves of chunks of so many bytes.
func newPipeline(f *forest, bytes []int64, links []engine.Link) *pipeline {
	n := int32(len(f.depth))
	moves := 2 * int(n) * len(bytes)
	z := &pipeline{
		f: f, n: n, link: slices.Repeat([]int32{-1}, moves), duration: make([]engine.Time, moves), tail: make([]engine.Time, moves),
		predecessors: make([]int32, moves), firstChild: slices.Repeat([]int32{-1}, moves/2), nextSibling: make([]int32, moves/2), latency: make([]engine.Time, len(links)),
	}
	for l, link := range links {
		z.latency[l] = link.Latency
	}
	for k, size := range bytes {
		base := 2 * n * int32(k)
		for d := range f.trees {
			t := &f.trees[d][k]
			for _, v := range t.order[min(1, len(t.order)):] {
				move, p := base+int32(d)*n+v, t.parent[v]
				z.link[move] = t.link[v]
				z.duration[move] = max(1, engine.Time(math.Round(float64(size)*8/links[t.link[v]].Rate*float64(engine.Second))))
				switch {
				case d == up:
					z.predecessors[base+p]++
				default:
					z.nextSibling[n*int32(k)+v] = z.firstChild[n*int32(k)+p]
					z.firstChild[n*int32(k)+p] = v
					if z.predecessors[move] = 1; p == t.order[0] {
						z.predecessors[move] = z.predecessors[base+p] // all that comes up to the root
					}
				}
			}
		}
		for _, v := range slices.Backward(f.trees[down][k].order) {
			z.setTail(base + n + v)
		}
		for _, v := range f.trees[up][k].order {
			z.setTail(base + v)
		}
	}
	return z
}

func (z *pipeline) setTail(move int32) {
	if z.link[move] < 0 {
		return
	}
	longest := engine.Time(0)
	z.forEachSuccessor(move, func(x int32) { longest = max(longest, z.tail[x]) })
	z.tail[move] = z.duration[move] + z.latency[z.link[move]] + longest
}

// forEachSuccessor calls do with the moves that wait for one.
func (z *pipeline) forEachSuccessor(move int32, do func(x int32)) {
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

// schedule has each link carry one chunk at a time, of those that are ready the one whose move has the highest rank, as
// soon as there is one (list scheduling). It returns the moves in the order in which they begin, and when the last
// chunk has arrived.
func (z *pipeline) schedule(rank []float64) (started []int32, end engine.Time) {
	links := int32(len(z.latency))
	ready := make([]*graph.Heap[int32], links)
	queued := make([]int32, links)
	busy := slices.Repeat([]int32{-1}, int(links))
	events := engine.NewQueue(int(links) + len(z.link)) // a link is done; a move is ready
	waiting := slices.Clone(z.predecessors)
	before := func(a, b int32) bool { return rank[a] > rank[b] || rank[a] == rank[b] && a < b }
	for move, l := range z.link {
		if l >= 0 && waiting[move] == 0 {
			events.Set(links+int32(move), 0)
		}
	}
	var touched []int32
	for events.Len() > 0 {
		now := events.Top()
		for touched = touched[:0]; events.Len() > 0 && events.Top() == now; {
			x, _ := events.Pop()
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
			l := z.link[x-links]
			if ready[l] == nil {
				ready[l] = graph.NewHeap(before)
			}
			ready[l].Push(x - links)
			queued[l]++
			touched = append(touched, l)
		}
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

// Moves with the longest paths from them come first, which is best where nothing else binds; where places have few links
// that all they receive must cross, and all do of trees with one root, some chunks must come through early. So the first
// chunk is ahead of the last by some of the longest paths: these are tried in turn, until links are in use nearly all
// the time.
var (
	multiRootStaggers  = []float64{0, 1, 3} // of trees with many roots
	singleRootStaggers = []float64{1, 2, 4} // with one

	nearFullFactor = 1.05
)

// bestSchedule returns the moves in the best order that it finds, and when the last chunk has arrived.
func (z *pipeline) bestSchedule(ctx context.Context, staggers []float64) ([]int32, engine.Time) {
	rank := make([]float64, len(z.link))
	longest, earliest := float64(slices.Max(z.tail)), engine.Never
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

// isNearFull reports whether links are in use nearly all the time up to an end.
func (z *pipeline) isNearFull(end engine.Time) bool {
	return end.Seconds() <= nearFullFactor*z.fullSeconds()
}

// fullSeconds returns the seconds of all moves if all links that join places were in use all the time.
func (z *pipeline) fullSeconds() float64 {
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
