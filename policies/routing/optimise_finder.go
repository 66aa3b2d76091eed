package routing

import (
	"sim/engine"
	"sim/policies/graph"
)

// finder finds shortest paths of pairs, source by source: those of all nodes at once, or where a large graph has few
// pairs a source one by one.
type finder struct {
	in      *instance
	t       *tree
	between *graph.Between // nil on small graphs
	length  []float64
	single  bool // pairs of the present source are searched one by one
	at      int32
	arcs    []int32
	work    int // arcs that were looked at, about
}

// fewPairs is the pairs of a source times states of a node, at most, that are searched one by one.
const fewPairs = 16

func newFinder(in *instance, w *stateGraph) *finder {
	f := &finder{in: in, t: newTree(w)}
	if in.arcs(w) > fewArcs {
		f.between = graph.NewBetween(&w.Digraph)
	}
	return f
}

// source begins with the pairs of in.sources[s] by lengths, which hops says to be all 1.
func (f *finder) source(s int, length []float64, hops bool) {
	f.length = length
	f.single = f.between != nil && int(f.in.first[s+1]-f.in.first[s])*f.t.w.states <= fewPairs
	switch {
	case f.single:
		return
	case hops && f.between != nil:
		f.t.Breadth(f.in.sources[s] * int32(f.t.w.states))
	default:
		f.t.grow(f.in.sources[s], length)
	}
	f.work += len(f.t.To)
}

// find returns the length of the shortest path of a pair of the source; limit or more where none is shorter.
func (f *finder) find(pair int32, limit float64) float64 {
	p, states := f.in.pair[pair], int32(f.t.w.states)
	if f.single {
		d := f.between.Find(p.Src*states, p.Dst*states, (p.Dst+1)*states, f.length, limit)
		f.work += f.between.Seen() * len(f.t.To) / f.t.Nodes()
		return d
	}
	if f.at = f.t.end(p.Dst); f.at < 0 {
		return limit
	}
	return f.t.Dist[f.at]
}

// into gives a pair the path that was found for it, shorter than the limit, and returns its number.
func (f *finder) into(c *choices, pair int32) int32 {
	if f.single {
		f.arcs = f.between.Path(f.arcs[:0])
	} else {
		f.arcs = f.t.Path(f.at, f.arcs[:0])
	}
	return f.t.w.into(c, pair, f.arcs)
}

// into gives a pair the path of some arcs.
func (w *stateGraph) into(c *choices, pair int32, arcs []int32) int32 {
	for _, k := range arcs {
		c.orbit, c.step = append(c.orbit, w.Class[k]), append(c.step, w.step[k])
	}
	return c.add(pair)
}

// follow appends the arcs of a path from a node whose ports are those of steps; nil where rules of channels forbid it.
func (w *stateGraph) follow(node int32, steps []engine.Step, into []int32) []int32 {
	at := node * int32(w.states)
	for _, s := range steps {
		k := w.Start[at]
		for ; k < w.Start[at+1] && w.step[k].Port() != s.Port(); k++ {
		}
		if k == w.Start[at+1] {
			return nil
		}
		into, at = append(into, k), w.To[k]
	}
	return into
}
