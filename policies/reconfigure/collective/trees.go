package collective

import (
	"math/bits"
	"slices"

	"sim/policies/reconfigure/halt"
)

// treePhase is a topology of trees and for how many steps it is up.
type treePhase struct {
	*graph
	steps int
}

// treeGrower grows broadcast trees from every GPU over topologies of any form: in each step a GPU gets every shard that one
// of its neighbours has and it lacks, so all spread breadth first. Where several can send it, the parts are divided
// among their links so that the fullest carries least, which is a matter of each GPU and step by itself (Zhao et al.,
// "Efficient direct-connect topologies for collective communications": breadth-first broadcast).
type treeGrower struct {
	n, words           int
	parts              int32
	shards, nextShards []uint64 // by GPU: the shards that it has
	missing            int      // shards that GPUs lack
	inLinks            []int32  // by GPU: links into it, k each, -1 for none
	senders            []int32  // by link of into: the GPU that it comes from
	list               []linkPieces
	newShards          []int32 // of a GPU: the shards that it gets, and who can bring them
	linkSets           []int32
	nextLink           []int32 // by set of links: the first that has parts left to bring
	semiMatching
	stop halt.When
}

// maxTreeDegree is the most links a GPU for which trees are made: they are divided by sets of links.
const maxTreeDegree = 8

func newTreeGrower(n, k int, parts int32) *treeGrower {
	z := &treeGrower{n: n, parts: parts, words: (n + 63) / 64, semiMatching: newSemiMatching(k)}
	z.shards, z.nextShards = make([]uint64, n*z.words), make([]uint64, n*z.words)
	z.inLinks, z.senders, z.nextLink = make([]int32, n*k), make([]int32, n*k), make([]int32, 1<<k)
	z.semiMatching.parts = make([]int64, 1<<k) // shards by the set of links that can bring them, as a GPU may get hundreds at once
	for set := range 1 << k {
		for i := range k {
			z.share = append(z.share, int64(set>>i&1)-1)
		}
	}
	z.sortRows()
	z.restart()
	return z
}

func (z *treeGrower) restart() {
	clear(z.shards)
	for u := range z.n {
		z.shards[u*z.words+u/64] |= 1 << (u % 64)
	}
	z.missing = z.n * (z.n - 1)
}

// setTopology sets up a topology.
func (z *treeGrower) setTopology(g *graph) {
	for i := range z.inLinks {
		z.inLinks[i] = -1
	}
	for l, v := range g.to {
		u := int32(l / g.k)
		if u == v {
			continue
		}
		at := int(v) * z.k
		for z.inLinks[at] >= 0 {
			at++
		}
		z.inLinks[at], z.senders[at] = int32(l), u
	}
}

// advance lets all GPUs get what their neighbours have, without a word of who sends it, and returns the most that one
// gets.
func (z *treeGrower) advance() int {
	maxReceived := 0
	if z.words == 1 { // as where graphs are improved by swaps, most of what they take
		for v, had := range z.shards {
			has := had
			for i := v * z.k; i < (v+1)*z.k && z.inLinks[i] >= 0; i++ {
				has |= z.shards[z.senders[i]]
			}
			z.nextShards[v] = has
			got := bits.OnesCount64(has &^ had)
			maxReceived = max(maxReceived, got)
			z.missing -= got
		}
		z.shards, z.nextShards = z.nextShards, z.shards
		return maxReceived
	}
	copy(z.nextShards, z.shards)
	for v := range z.n {
		to, before := z.nextShards[v*z.words:(v+1)*z.words], 0
		for _, w := range to {
			before += bits.OnesCount64(w)
		}
		for i := v * z.k; i < (v+1)*z.k && z.inLinks[i] >= 0; i++ {
			from := z.shards[int(z.senders[i])*z.words : (int(z.senders[i])+1)*z.words]
			for j, w := range from {
				to[j] |= w
			}
		}
		got := -before
		for _, w := range to {
			got += bits.OnesCount64(w)
		}
		maxReceived = max(maxReceived, got)
		z.missing -= got
	}
	z.shards, z.nextShards = z.nextShards, z.shards
	return maxReceived
}

// advanceRecording is reach with all that is carried, by receiver, in list.
func (z *treeGrower) advanceRecording() {
	z.list = z.list[:0]
	for v := range z.n {
		z.stop.Check()
		z.findNewShards(v)
		if len(z.newShards) > 0 {
			z.solve()
			z.assignParts(v)
		}
	}
	z.advance()
}

// findNewShards finds the shards that a GPU gets, and by which of its links.
func (z *treeGrower) findNewShards(v int) {
	k := z.k
	z.newShards, z.linkSets = z.newShards[:0], z.linkSets[:0]
	clear(z.semiMatching.parts)
	links := 0
	for links < k && z.inLinks[v*k+links] >= 0 {
		links++
	}
	for j := range z.words {
		met := uint64(0)
		for i := range links {
			met |= z.shards[int(z.senders[v*k+i])*z.words+j]
		}
		for met &^= z.shards[v*z.words+j]; met != 0; met &= met - 1 {
			bit := bits.TrailingZeros64(met)
			ways := int32(0)
			for i := range links {
				ways |= int32(z.shards[int(z.senders[v*k+i])*z.words+j]>>bit&1) << i
			}
			z.newShards, z.linkSets = append(z.newShards, int32(j*64+bit)), append(z.linkSets, ways)
			z.semiMatching.parts[ways] += int64(z.parts)
		}
	}
}

// assignParts hands the parts of the shards that a GPU gets to its links, as divided: whole shards but where shares end.
func (z *treeGrower) assignParts(v int) {
	k := z.k
	clear(z.nextLink)
	for e, s := range z.newShards {
		m := int(z.linkSets[e])
		for from := int32(0); from < z.parts; {
			i := int(z.nextLink[m])
			left := &z.share[m*k+i]
			if *left <= 0 {
				z.nextLink[m]++
				continue
			}
			to := int32(min(int64(z.parts), int64(from)+*left))
			*left -= int64(to - from)
			z.list = append(z.list, linkPieces{z.inLinks[v*k+i], s, 1, from, to})
			from = to
		}
	}
}

// broadcastTrees are broadcast trees from every GPU over a sequence of topologies.
type broadcastTrees struct {
	name   string
	phases []treePhase
	load   int // parts of shards on the fullest link of a step, summed over steps; k parts are a shard
}

// emitSteps runs through the legs and gives emit what is carried in each step.
func (t *broadcastTrees) emitSteps(parts int32, stop halt.When, emit func(leg, step int, list []linkPieces)) {
	z := newTreeGrower(t.phases[0].n, t.phases[0].graph.k, parts)
	z.stop = stop
	for i, l := range t.phases {
		z.setTopology(l.graph)
		for s := range l.steps {
			z.advanceRecording()
			emit(i, s, z.list)
		}
	}
}

// spans reports whether the trees reach every GPU and none of their steps is without use.
func (t *broadcastTrees) spans(z *treeGrower) bool {
	z.restart()
	for _, l := range t.phases {
		z.setTopology(l.graph)
		for range l.steps {
			if z.advance() == 0 {
				return false
			}
		}
	}
	return z.missing == 0
}

// computeLoad works load out, with a grower of k parts.
func (t *broadcastTrees) computeLoad(z *treeGrower) int {
	z.restart()
	t.load = 0
	parts := make([]int, len(t.phases[0].to))
	for _, l := range t.phases {
		z.setTopology(l.graph)
		for range l.steps {
			z.advanceRecording()
			clear(parts)
			for _, c := range z.list {
				parts[c.link] += int(c.to - c.from)
			}
			t.load += slices.Max(parts)
		}
	}
	return t.load
}

// mapGraphs returns the trees over other graphs.
func (t *broadcastTrees) mapGraphs(change func(*graph) *graph) *broadcastTrees {
	o := &broadcastTrees{name: t.name, phases: make([]treePhase, len(t.phases)), load: t.load}
	for i, l := range t.phases {
		o.phases[i] = treePhase{change(l.graph), l.steps}
	}
	return o
}

func (t *broadcastTrees) steps() int {
	s := 0
	for _, l := range t.phases {
		s += l.steps
	}
	return s
}

// reversed returns trees that a reduce-scatter follows backwards: on the converse topologies, so that it has those of
// t, the last first, or where these do not span all, on their mirror image, of which the first is still that of t if
// that is a circulant.
func (t *broadcastTrees) reversed() *broadcastTrees {
	g := t.phases[0].graph
	if c := t.mapGraphs((*graph).converse); c.spans(newTreeGrower(g.n, g.k, 1)) {
		return c
	}
	return t.mapGraphs((*graph).mirror)
}
