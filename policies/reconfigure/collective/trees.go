package collective

import (
	"math/bits"
	"slices"

	"sim/policies/reconfigure/halt"
)

// leg is a topology of trees and for how many steps it is up.
type leg struct {
	*graph
	steps int
}

// grower grows broadcast trees from every GPU over topologies of any form: in each step a GPU gets every shard that one
// of its neighbours has and it lacks, so all spread breadth first. Where several can send it, the parts are divided
// among their links so that the fullest carries least, which is a matter of each GPU and step by itself (Zhao et al.,
// "Efficient direct-connect topologies for collective communications": breadth-first broadcast).
type grower struct {
	n, words   int
	parts      int32
	have, next []uint64 // by GPU: the shards that it has
	lacks      int      // shards that GPUs lack
	into       []int32  // by GPU: links into it, k each, -1 for none
	tail       []int32  // by link of into: the GPU that it comes from
	list       []carried
	fresh      []int32 // of a GPU: the shards that it gets, and who can bring them
	ways       []int32
	at         []int32 // by set of links: the first that has parts left to bring
	division
	stop halt.When
}

// mostTreeDegree is the most links a GPU for which trees are made: they are divided by sets of links.
const mostTreeDegree = 8

func newGrower(n, k int, parts int32) *grower {
	z := &grower{n: n, parts: parts, words: (n + 63) / 64, division: newDivision(k)}
	z.have, z.next = make([]uint64, n*z.words), make([]uint64, n*z.words)
	z.into, z.tail, z.at = make([]int32, n*k), make([]int32, n*k), make([]int32, 1<<k)
	z.division.parts = make([]int64, 1<<k) // shards by the set of links that can bring them, as a GPU may get hundreds at once
	for set := range 1 << k {
		for i := range k {
			z.share = append(z.share, int64(set>>i&1)-1)
		}
	}
	z.rank()
	z.restart()
	return z
}

func (z *grower) restart() {
	clear(z.have)
	for u := range z.n {
		z.have[u*z.words+u/64] |= 1 << (u % 64)
	}
	z.lacks = z.n * (z.n - 1)
}

// up sets up a topology.
func (z *grower) up(g *graph) {
	for i := range z.into {
		z.into[i] = -1
	}
	for l, v := range g.to {
		u := int32(l / g.k)
		if u == v {
			continue
		}
		at := int(v) * z.k
		for z.into[at] >= 0 {
			at++
		}
		z.into[at], z.tail[at] = int32(l), u
	}
}

// reach lets all GPUs get what their neighbours have, without a word of who sends it, and returns the most that one
// gets.
func (z *grower) reach() int {
	most := 0
	if z.words == 1 { // as where graphs are improved by swaps, most of what they take
		for v, had := range z.have {
			has := had
			for i := v * z.k; i < (v+1)*z.k && z.into[i] >= 0; i++ {
				has |= z.have[z.tail[i]]
			}
			z.next[v] = has
			got := bits.OnesCount64(has &^ had)
			most = max(most, got)
			z.lacks -= got
		}
		z.have, z.next = z.next, z.have
		return most
	}
	copy(z.next, z.have)
	for v := range z.n {
		to, before := z.next[v*z.words:(v+1)*z.words], 0
		for _, w := range to {
			before += bits.OnesCount64(w)
		}
		for i := v * z.k; i < (v+1)*z.k && z.into[i] >= 0; i++ {
			from := z.have[int(z.tail[i])*z.words : (int(z.tail[i])+1)*z.words]
			for j, w := range from {
				to[j] |= w
			}
		}
		got := -before
		for _, w := range to {
			got += bits.OnesCount64(w)
		}
		most = max(most, got)
		z.lacks -= got
	}
	z.have, z.next = z.next, z.have
	return most
}

// step is reach with all that is carried, by receiver, in list.
func (z *grower) step() {
	z.list = z.list[:0]
	for v := range z.n {
		z.stop.Check()
		z.meet(v)
		if len(z.fresh) > 0 {
			z.divide()
			z.hand(v)
		}
	}
	z.reach()
}

// meet finds the shards that a GPU gets, and by which of its links.
func (z *grower) meet(v int) {
	k := z.k
	z.fresh, z.ways = z.fresh[:0], z.ways[:0]
	clear(z.division.parts)
	links := 0
	for links < k && z.into[v*k+links] >= 0 {
		links++
	}
	for j := range z.words {
		met := uint64(0)
		for i := range links {
			met |= z.have[int(z.tail[v*k+i])*z.words+j]
		}
		for met &^= z.have[v*z.words+j]; met != 0; met &= met - 1 {
			bit := bits.TrailingZeros64(met)
			ways := int32(0)
			for i := range links {
				ways |= int32(z.have[int(z.tail[v*k+i])*z.words+j]>>bit&1) << i
			}
			z.fresh, z.ways = append(z.fresh, int32(j*64+bit)), append(z.ways, ways)
			z.division.parts[ways] += int64(z.parts)
		}
	}
}

// hand hands the parts of the shards that a GPU gets to its links, as divided: whole shards but where shares end.
func (z *grower) hand(v int) {
	k := z.k
	clear(z.at)
	for e, s := range z.fresh {
		m := int(z.ways[e])
		for from := int32(0); from < z.parts; {
			i := int(z.at[m])
			left := &z.share[m*k+i]
			if *left <= 0 {
				z.at[m]++
				continue
			}
			to := int32(min(int64(z.parts), int64(from)+*left))
			*left -= int64(to - from)
			z.list = append(z.list, carried{z.into[v*k+i], s, 1, from, to})
			from = to
		}
	}
}

// trees are broadcast trees from every GPU over a sequence of topologies.
type trees struct {
	name string
	legs []leg
	load int // parts of shards on the fullest link of a step, summed over steps; k parts are a shard
}

// run runs through the legs and gives emit what is carried in each step.
func (t *trees) run(parts int32, stop halt.When, emit func(leg, step int, list []carried)) {
	z := newGrower(t.legs[0].n, t.legs[0].graph.k, parts)
	z.stop = stop
	for i, l := range t.legs {
		z.up(l.graph)
		for s := range l.steps {
			z.step()
			emit(i, s, z.list)
		}
	}
}

// spans reports whether the trees reach every GPU and none of their steps is without use.
func (t *trees) spans(z *grower) bool {
	z.restart()
	for _, l := range t.legs {
		z.up(l.graph)
		for range l.steps {
			if z.reach() == 0 {
				return false
			}
		}
	}
	return z.lacks == 0
}

// fill works load out, with a grower of k parts.
func (t *trees) fill(z *grower) int {
	z.restart()
	t.load = 0
	parts := make([]int, len(t.legs[0].to))
	for _, l := range t.legs {
		z.up(l.graph)
		for range l.steps {
			z.step()
			clear(parts)
			for _, c := range z.list {
				parts[c.link] += int(c.to - c.from)
			}
			t.load += slices.Max(parts)
		}
	}
	return t.load
}

// on returns the trees over other graphs.
func (t *trees) on(change func(*graph) *graph) *trees {
	o := &trees{name: t.name, legs: make([]leg, len(t.legs)), load: t.load}
	for i, l := range t.legs {
		o.legs[i] = leg{change(l.graph), l.steps}
	}
	return o
}

func (t *trees) steps() int {
	s := 0
	for _, l := range t.legs {
		s += l.steps
	}
	return s
}

// backwards returns trees that a reduce-scatter follows backwards: on the converse topologies, so that it has those of
// t, the last first, or where these do not span all, on their mirror image, of which the first is still that of t if
// that is a circulant.
func (t *trees) backwards() *trees {
	g := t.legs[0].graph
	if c := t.on((*graph).converse); c.spans(newGrower(g.n, g.k, 1)) {
		return c
	}
	return t.on((*graph).mirrored)
}
