package collective

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"iter"
	"math"
	"math/rand/v2"
	"slices"

	"sim/engine"
	"sim/fabric/torus"
)

// AllToAll sends a message from every node to every other node. Nodes that are down
// neither send nor receive; down may be nil.
func AllToAll(nodes int, message int64, down []bool) (*Traffic, error) {
	const name = "all-to-all"
	if err := checkNodes(name, nodes, message, down); err != nil {
		return nil, err
	}
	up := liveNodes(nodes, down)
	pairs := int64(len(up)) * int64(len(up)-1)
	if err := checkTotal(name, pairs, message); err != nil {
		return nil, err
	}
	t := &Traffic{Name: name, Nodes: nodes, Message: message, Flows: make([]engine.Flow, 0, pairs)}
	for _, s := range up {
		for _, d := range up {
			if s != d {
				t.Flows = append(t.Flows, engine.Flow{Src: s, Dst: d})
			}
		}
	}
	return t, nil
}

// UniformRandom has the flows of AllToAll, but every packet goes to a randomly drawn
// destination. message is the mean number of bytes per pair.
func UniformRandom(nodes int, message int64, down []bool) (*Traffic, error) {
	t, err := AllToAll(nodes, message, down)
	if err != nil {
		return nil, err
	}
	t.Name, t.RandomDestinations = "uniform-random", true
	return t, nil
}

// neighboursName is the name of the pattern in messages.
const neighboursName = "nearest-neighbour"

// NearestNeighbour sends a message from every node of a torus to each of its neighbours,
// in both directions along every dimension. Failed links count as links. If two nodes are
// neighbours twice, as in a wrapped dimension of size 2, they exchange one message per
// direction.
func NearestNeighbour(o *torus.Torus, message int64, down []bool) (*Traffic, error) {
	maxPairs := 2 * int64(len(o.Dims)*o.Nodes()) // two directions per dimension
	return pairTraffic(neighboursName, o.Nodes(), maxPairs, message, down, func(yield func(s, d int32) bool) {
		for _, l := range o.Links() {
			if !yield(l.From, l.To) {
				return
			}
		}
	})
}

// Neighbours is NearestNeighbour for arbitrary networks: every node sends a message to
// each node to which an active link leads. Parallel links count once.
func Neighbours(n *engine.Network, message int64, down []bool) (*Traffic, error) {
	maxPairs := int64(len(n.Links))
	return pairTraffic(neighboursName, int(n.Nodes), maxPairs, message, down, func(yield func(s, d int32) bool) {
		for _, l := range n.Links {
			if l.Rate > 0 && !yield(l.From, l.To) {
				return
			}
		}
	})
}

// SliceAllToAll sends a message from every node to every other node of its slice along
// the given dimensions of a torus. These are the tensor phases of data-tensor parallelism
// (Gottipati et al., "Investigating Reconfigurable Topologies for Optical Circuits", Sec.
// II-B.2). Nodes that are down are left out; down may be nil.
func SliceAllToAll(o *torus.Torus, dims []int, message int64, down []bool) (*Traffic, error) {
	groups, err := Slices(o, dims)
	if err != nil {
		return nil, err
	}
	maxPairs := int64(o.Nodes()) * int64(len(groups[0]))
	return pairTraffic("all-to-all in "+dimNames(dims), o.Nodes(), maxPairs, message, down, func(yield func(s, d int32) bool) {
		for _, g := range groups {
			for _, s := range g {
				for _, d := range g {
					if !yield(s, d) {
						return
					}
				}
			}
		}
	})
}

// RingSteps sends a message from every node to its successor on its ring along the given
// dimensions of a torus (RingsAlong) and, with bidirectional, to its predecessor. This is one
// step of a ring collective, and the data phase of data-tensor parallelism. In a ring of
// two nodes both directions are the same.
func RingSteps(o *torus.Torus, dims []int, form string, bidirectional bool, message int64, down []bool) (*Traffic, error) {
	rings, err := RingsAlong(o, dims, form, down)
	if err != nil {
		return nil, err
	}
	maxPairs := 2 * int64(o.Nodes()) // a successor and a predecessor per node
	return pairTraffic("rings along "+dimNames(dims), o.Nodes(), maxPairs, message, down, func(yield func(s, d int32) bool) {
		for _, ring := range rings {
			for i, s := range ring {
				d := ring[(i+1)%len(ring)]
				if !yield(s, d) || bidirectional && !yield(d, s) {
					return
				}
			}
		}
	})
}

// pairTraffic sends a message for each pair. maxPairs is the maximum number of pairs.
// Duplicates, pairs of a node with itself, and pairs with a node that is down are left
// out.
func pairTraffic(name string, nodes int, maxPairs, message int64, down []bool, pairs iter.Seq2[int32, int32]) (*Traffic, error) {
	if err := checkNodes(name, nodes, message, down); err != nil {
		return nil, err
	}
	if err := checkTotal(name, maxPairs, message); err != nil {
		return nil, err
	}
	t := &Traffic{Name: name, Nodes: nodes, Message: message}
	for s, d := range pairs {
		if s != d && (down == nil || !down[s] && !down[d]) {
			t.Flows = append(t.Flows, engine.Flow{Src: s, Dst: d})
		}
	}
	slices.SortFunc(t.Flows, comparePairs)
	t.Flows = slices.Compact(t.Flows)
	return t, t.checkNotEmpty()
}

// Hotspot is AllToAll with a fraction of the bytes of every node redirected to the hot
// nodes, an equal share to each (Pfister and Norton, "Hot spot contention and combining
// in multistage interconnection networks", 1985). message is the mean per pair. Each node
// sends exactly as many bytes in total as in AllToAll.
func Hotspot(nodes int, message int64, fraction float64, hot []int32, down []bool) (*Traffic, error) {
	const name = hotspotName
	if !(fraction >= 0 && fraction <= 1) {
		return nil, fmt.Errorf("%w: %s with a fraction of %g; want one between 0 and 1", ErrTraffic, name, fraction)
	}
	all, err := AllToAll(nodes, message, down)
	if err != nil {
		return nil, err
	}
	isHot := make([]bool, nodes)
	for _, h := range hot {
		if h < 0 || int(h) >= nodes || isHot[h] || down != nil && down[h] {
			return nil, fmt.Errorf("%w: hot node %d is not one of 0 to %d, is listed twice, or is down", ErrTraffic, h, nodes-1)
		}
		isHot[h] = true
	}
	if len(hot) == 0 {
		return nil, fmt.Errorf("%w: %s has no hot node", ErrTraffic, name)
	}

	t := &Traffic{Name: name, Nodes: nodes}
	perNode := len(liveNodes(nodes, down)) - 1
	for from := 0; from < len(all.Flows); from += perNode {
		flows := all.Flows[from : from+perNode]
		targets := len(hot)
		if isHot[flows[0].Src] {
			targets--
		}

		// Bytes per destination: cold for all, and extra for the hot ones.
		cold, extra := float64(message)*(1-fraction), 0.0
		if targets == 0 { // the only hot node has no hot destination
			cold = float64(message)
		} else {
			extra = float64(message) * float64(perNode) * fraction / float64(targets)
		}

		// Round the running sum, so that rounding errors do not accumulate.
		sent, exact := int64(0), 0.0
		for _, f := range flows {
			if exact += cold; isHot[f.Dst] {
				exact += extra
			}
			b := min(int64(math.Round(exact)), message*int64(perNode)) - sent
			if sent += b; b > 0 {
				t.Flows, t.Bytes = append(t.Flows, f), append(t.Bytes, b)
			}
		}
		if remaining := message*int64(perNode) - sent; remaining > 0 { // rounding
			t.Bytes[len(t.Bytes)-1] += remaining
		}
	}
	t.Message = slices.Max(t.Bytes)
	return t, nil
}

// HotNodes draws k of the nodes that are up at random and returns them in order. It fails
// if there are fewer than k.
func HotNodes(k, nodes int, seed uint64, down []bool) ([]int32, error) {
	up := liveNodes(nodes, down)
	if k < 1 || k > len(up) {
		return nil, fmt.Errorf("%w: %d hot nodes of %d that are up; want at least 1", ErrTraffic, k, len(up))
	}
	randomStream(seed, hotspotName).Shuffle(len(up), func(i, j int) { up[i], up[j] = up[j], up[i] })
	up = up[:k]
	slices.Sort(up)
	return up, nil
}

// checkNotEmpty fails on traffic without flows.
func (t *Traffic) checkNotEmpty() error {
	if len(t.Flows) == 0 {
		return fmt.Errorf("%w: %s moves nothing among the nodes that are up", ErrTraffic, t.Name)
	}
	return nil
}

// comparePairs orders flows by source and destination.
func comparePairs(a, b engine.Flow) int {
	return cmp.Or(cmp.Compare(a.Src, b.Src), cmp.Compare(a.Dst, b.Dst))
}

// randomStream returns the random generator of the named consumer for a seed.
func randomStream(seed uint64, name string) *rand.Rand {
	h := fnv.New64a()
	h.Write([]byte("collective/" + name))
	return rand.New(rand.NewPCG(seed, h.Sum64()))
}
