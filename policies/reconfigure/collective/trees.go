package collective

import (
	"math/bits"
	"slices"

	"sim/policies/reconfigure/cancellation"
)

// treePhase is a topology of broadcast trees, and the number of steps on it.
type treePhase struct {
	*graph
	steps int
}

// treeBuilder grows broadcast trees from every GPU over any topologies, breadth first: in each
// step a GPU receives every shard that it lacks and a neighbour has. If several links can bring a
// shard, its parts are divided so that the maximum load of a link is minimal. Each GPU and step
// can be optimised on its own (Zhao et al., "Efficient direct-connect topologies for collective
// communications": breadth-first broadcast).
type treeBuilder struct {
	n, words int   // GPUs, and words per set of shards
	parts    int32 // number of parts of a shard
	// shards are the shards that each GPU has, nextShards those after the step: bit s%64 of word
	// u*words+s/64 is set if GPU u has shard s.
	shards, nextShards []uint64
	// missing is the number of shards that GPUs lack, summed over GPUs.
	missing int
	inLinks []int32 // the links into GPU u at u*k..u*k+k-1, padded with -1
	// senders is indexed by index in inLinks: the GPU that the link comes from.
	senders   []int32
	list      []linkPieces // pieces of the last step, by receiver
	newShards []int32      // of one GPU: the shards that it receives
	// linkSets is indexed by index in newShards: bit i is set if link i into the GPU can bring it.
	linkSets []int32
	// nextLink is indexed by set of links: the first link with unassigned parts.
	nextLink []int32
	// semiMatching divides the parts that one GPU receives among its k links. Its rows (fields parts
	// and share) are the sets of links that can bring a shard; solve computes share.
	semiMatching
	stop cancellation.Condition
}

// maxTreeDegree limits the links per GPU, because tables have an entry for each set of links.
const maxTreeDegree = 8

// newTreeBuilder returns a builder for n GPUs with k links whose shards have the given number of
// parts.
func newTreeBuilder(n, k int, parts int32) *treeBuilder {
	z := &treeBuilder{n: n, parts: parts, words: (n + 63) / 64, semiMatching: newSemiMatching(k)}
	z.shards = make([]uint64, n*z.words)
	z.nextShards = make([]uint64, n*z.words)
	z.inLinks = make([]int32, n*k)
	z.senders = make([]int32, n*k)
	z.nextLink = make([]int32, 1<<k)

	// The matching has a row per set of links instead of a row per shard, because a GPU may receive
	// hundreds of shards at once. A share is 0 if link i is in the set, and -1 (impossible) if not.
	z.semiMatching.parts = make([]int64, 1<<k)
	for set := range 1 << k {
		for i := range k {
			isInSet := int64(set >> i & 1)
			z.share = append(z.share, isInSet-1)
		}
	}
	z.sortRows()
	z.restart()
	return z
}

// restart resets the shards: each GPU has only its own.
func (z *treeBuilder) restart() {
	clear(z.shards)
	for u := range z.n {
		z.shards[u*z.words+u/64] |= 1 << (u % 64)
	}
	z.missing = z.n * (z.n - 1)
}

// setTopology sets the links of the following steps.
func (z *treeBuilder) setTopology(g *graph) {
	for i := range z.inLinks {
		z.inLinks[i] = -1
	}
	for l, v := range g.to {
		u := int32(l / g.k)
		if u == v {
			continue
		}

		// Append the link to the links into v.
		slot := int(v) * z.k
		for z.inLinks[slot] >= 0 {
			slot++
		}
		z.inLinks[slot], z.senders[slot] = int32(l), u
	}
}

// advance computes the shards of all GPUs after a step without dividing parts among links. It
// returns the maximum number of shards that a GPU receives.
func (z *treeBuilder) advance() int {
	maxReceived := 0

	// A fast path for swapLinks, which spends most of its time here.
	if z.words == 1 {
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

	// GPU v receives the shards of all its senders.
	copy(z.nextShards, z.shards)
	for v := range z.n {
		to := z.nextShards[v*z.words : (v+1)*z.words]
		before := 0
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

// advanceRecording is advance that also stores the pieces on each link in list, by receiver.
func (z *treeBuilder) advanceRecording() {
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

// findNewShards finds the shards that GPU v receives, and the links that can bring each.
func (z *treeBuilder) findNewShards(v int) {
	k := z.k
	z.newShards = z.newShards[:0]
	z.linkSets = z.linkSets[:0]
	clear(z.semiMatching.parts)
	links := 0 // number of links into v
	for links < k && z.inLinks[v*k+links] >= 0 {
		links++
	}

	// In each word j, visit the shards that some sender has and v lacks.
	for j := range z.words {
		received := uint64(0)
		for i := range links {
			received |= z.shards[int(z.senders[v*k+i])*z.words+j]
		}
		for received &^= z.shards[v*z.words+j]; received != 0; received &= received - 1 {
			bit := bits.TrailingZeros64(received)
			linkSet := int32(0)
			for i := range links {
				linkSet |= int32(z.shards[int(z.senders[v*k+i])*z.words+j]>>bit&1) << i
			}
			z.newShards = append(z.newShards, int32(j*64+bit))
			z.linkSets = append(z.linkSets, linkSet)
			z.semiMatching.parts[linkSet] += int64(z.parts)
		}
	}
}

// assignParts assigns the parts of new shards to links as divided. A shard is split only at the
// end of a link's share.
func (z *treeBuilder) assignParts(v int) {
	k := z.k
	clear(z.nextLink)
	for e, s := range z.newShards {
		set := int(z.linkSets[e])
		for from := int32(0); from < z.parts; {
			// Link i of the set takes parts from..to-1. left is the rest of its share.
			i := int(z.nextLink[set])
			left := &z.share[set*k+i]
			if *left <= 0 {
				z.nextLink[set]++
				continue
			}
			to := int32(min(int64(z.parts), int64(from)+*left))
			*left -= int64(to - from)
			z.list = append(z.list, linkPieces{link: z.inLinks[v*k+i], shard: s, count: 1, from: from, to: to})
			from = to
		}
	}
}

// broadcastTrees are broadcast trees from every GPU over a sequence of topologies.
type broadcastTrees struct {
	name   string
	phases []treePhase
	// load is the number of parts on the most loaded link of a step, summed over steps. A part is
	// 1/k of a shard.
	load int
}

// emitSteps implements messageSource: it calls emit with the pieces of each step.
func (t *broadcastTrees) emitSteps(parts int32, stop cancellation.Condition, emit func(phase, step int, list []linkPieces)) {
	z := newTreeBuilder(t.phases[0].n, t.phases[0].graph.k, parts)
	z.stop = stop
	for i, l := range t.phases {
		z.setTopology(l.graph)
		for s := range l.steps {
			z.advanceRecording()
			emit(i, s, z.list)
		}
	}
}

// spans reports whether the trees reach every GPU and every step sends something.
func (t *broadcastTrees) spans(z *treeBuilder) bool {
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

// computeLoad sets load and returns it. z must have k parts per shard.
func (t *broadcastTrees) computeLoad(z *treeBuilder) int {
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

// mapGraphs returns the trees on changed graphs.
func (t *broadcastTrees) mapGraphs(change func(*graph) *graph) *broadcastTrees {
	o := &broadcastTrees{name: t.name, phases: make([]treePhase, len(t.phases)), load: t.load}
	for i, l := range t.phases {
		o.phases[i] = treePhase{graph: change(l.graph), steps: l.steps}
	}
	return o
}

// steps returns the number of steps on all topologies.
func (t *broadcastTrees) steps() int {
	s := 0
	for _, l := range t.phases {
		s += l.steps
	}
	return s
}

// reversed returns trees for a reduce-scatter in reverse: on the converse topologies, so that its
// own topologies are the topologies of t, the last first. If these do not span all GPUs, it
// returns trees on the mirror image. If the first topology of t is a circulant, the
// reduce-scatter still ends with it.
func (t *broadcastTrees) reversed() *broadcastTrees {
	g := t.phases[0].graph
	const wholeShards = 1 // parts per shard: spans divides none
	if c := t.mapGraphs((*graph).converse); c.spans(newTreeBuilder(g.n, g.k, wholeShards)) {
		return c
	}
	return t.mapGraphs((*graph).mirror)
}
