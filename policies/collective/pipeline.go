package collective

import (
	"math"
	"slices"

	"sim/engine"
	"sim/policies/graph"
)

// pipeline is the moves of chunks along the trees of a forest: number 2n*k + v is what place v of tree k, of n places,
// sends up to its parent, and 2n*k + n + v what it has from it.
type pipeline struct {
	f    *forest
	n    int32
	link []int32       // by move, -1 where there is none
	took []engine.Time // on the link
	tail []engine.Time // from the move's beginning to the end of the longest path from it
	need []int32       // moves to wait for
	head []int32       // by tree and place: its first child, -1 for none
	peer []int32       // likewise: the next child of its parent
	lag  []engine.Time // by link: its latency
}

// of returns the tree and place of a move, and whether it is up to the parent.
func (z *pipeline) of(move int32) (tree, place int32, up bool) {
	k, i := move/(2*z.n), move%(2*z.n)
	return k, i % z.n, i < z.n
}

// newPipeline prepares the moves of chunks of so many bytes.
func newPipeline(f *forest, bytes []int64, links []engine.Link) *pipeline {
	n := int32(len(f.at))
	moves := 2 * int(n) * len(f.trees)
	z := &pipeline{
		f: f, n: n, link: slices.Repeat([]int32{-1}, moves), took: make([]engine.Time, moves), tail: make([]engine.Time, moves),
		need: make([]int32, moves), head: slices.Repeat([]int32{-1}, moves/2), peer: make([]int32, moves/2), lag: make([]engine.Time, len(links)),
	}
	for l, link := range links {
		z.lag[l] = link.Latency
	}
	for k := range f.trees {
		t, base := &f.trees[k], 2*n*int32(k)
		set := func(move, link int32) {
			z.link[move] = link
			z.took[move] = max(1, engine.Time(math.Round(float64(bytes[k])*8/links[link].Rate*float64(engine.Second))))
		}
		root := t.order[0]
		for _, v := range t.order[1:] {
			p := t.parent[v]
			z.peer[n*int32(k)+v] = z.head[n*int32(k)+p]
			z.head[n*int32(k)+p] = v
			if f.up {
				set(base+v, t.by[v].in)
				z.need[base+p]++
			}
			if f.down {
				set(base+n+v, t.by[v].out)
			}
		}
		for _, v := range t.order[1:] {
			if t.parent[v] != root {
				z.need[base+n+v] = 1
			} else if f.up {
				z.need[base+n+v] = z.need[base+root]
			}
		}
		for _, v := range slices.Backward(t.order[1:]) {
			z.setTail(base + n + v)
		}
		for _, v := range t.order[1:] {
			z.setTail(base + v)
		}
	}
	return z
}

func (z *pipeline) setTail(move int32) {
	if z.link[move] < 0 {
		return
	}
	most := engine.Time(0)
	z.next(move, func(x int32) { most = max(most, z.tail[x]) })
	z.tail[move] = z.took[move] + z.lag[z.link[move]] + most
}

// next calls do with the moves that wait for one.
func (z *pipeline) next(move int32, do func(x int32)) {
	k, at, up := z.of(move)
	base := 2 * z.n * k
	if up {
		if at = z.f.trees[k].parent[at]; z.f.trees[k].parent[at] >= 0 {
			do(base + at)
			return
		}
		if !z.f.down {
			return
		}
	}
	for c := z.head[z.n*k+at]; c >= 0; c = z.peer[z.n*k+c] {
		do(base + z.n + c)
	}
}

// schedule has each link carry one chunk at a time, of those that are ready the one whose move has the highest rank, as
// soon as there is one (list scheduling). It returns the moves in the order in which they begin, and when the last
// chunk has arrived.
func (z *pipeline) schedule(rank []float64) (begun []int32, end engine.Time) {
	links := int32(len(z.lag))
	ready := make([]*graph.Heap[int32], links)
	waiting := make([]int32, links)
	busy := slices.Repeat([]int32{-1}, int(links))
	events := engine.NewQueue(int(links) + len(z.link)) // a link is done; a move is ready
	need := slices.Clone(z.need)
	before := func(a, b int32) bool { return rank[a] > rank[b] || rank[a] == rank[b] && a < b }
	for move, l := range z.link {
		if l >= 0 && need[move] == 0 {
			events.Set(links+int32(move), 0)
		}
	}
	var touched []int32
	for events.Len() > 0 {
		now := events.Top()
		for touched = touched[:0]; events.Len() > 0 && events.Top() == now; {
			x, _ := events.Pop()
			if x < links {
				arrives := now + z.lag[x]
				end = max(end, arrives)
				z.next(busy[x], func(y int32) {
					if need[y]--; need[y] == 0 {
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
			waiting[l]++
			touched = append(touched, l)
		}
		for _, l := range touched {
			if busy[l] < 0 && waiting[l] > 0 {
				busy[l] = ready[l].Pop()
				waiting[l]--
				begun = append(begun, busy[l])
				events.Set(l, now+z.took[busy[l]])
			}
		}
	}
	return begun, end
}

// staggers are tried in turn: by how many of the longest paths the first chunk is ahead of the last. Moves with the
// longest paths from them come first, which is best where nothing else binds; where places have few links that all they
// receive must cross, some chunks must come through early.
var staggers = []float64{0, 0.5, 1}

// best returns the moves in the best order that it finds.
func (z *pipeline) best() []int32 {
	rank := make([]float64, len(z.link))
	longest, least := float64(slices.Max(z.tail)), engine.Never
	var best []int32
	for _, by := range staggers {
		for move, tail := range z.tail {
			k, _, _ := z.of(int32(move))
			rank[move] = float64(tail) - by*longest*float64(k)/float64(len(z.f.trees))
		}
		if order, end := z.schedule(rank); end < least {
			best, least = order, end
		}
	}
	return best
}
