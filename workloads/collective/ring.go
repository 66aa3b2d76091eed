package collective

import (
	"fmt"
	"slices"

	"sim/engine"
)

// Op is what a ring collective does with its data.
type Op uint8

const (
	// AllReduce leaves the sum of all ranks' data with every rank: ReduceScatter and then AllGather.
	AllReduce Op = iota
	// ReduceScatter leaves with every rank its part of the sum.
	ReduceScatter
	// AllGather leaves with every rank the parts of all.
	AllGather
)

var opNames = [...]string{"ring-all-reduce", "ring-reduce-scatter", "ring-all-gather"}

// String returns the name used in scenarios and results.
func (o Op) String() string {
	if int(o) < len(opNames) {
		return opNames[o]
	}
	return fmt.Sprintf("op %d", uint8(o))
}

// ParseOp returns the collective of that name.
func ParseOp(name string) (Op, error) {
	if o := slices.Index(opNames[:], name); o >= 0 {
		return Op(o), nil
	}
	return 0, fmt.Errorf("%w: no collective %q; there are %v", ErrTraffic, name, opNames)
}

// Stage is rings that work at the same time, of which each rank is in one: ranks in the order in which they pass chunks
// on, the last to the first.
type Stage [][]int32

// Stream is a share of the data and the stages that reduce and scatter it, one after the other, each what the one
// before it left a rank with; it is gathered through the stages backwards.
type Stream []Stage

// Collective is a ring collective (Patarasuk and Yuan, "Bandwidth optimal all-reduce algorithms for clusters of
// workstations", 2009; on several rings, Sack and Gropp, "Collective algorithms for multiported torus networks", 2015).
//
// In a ring of n the data of a stage is n chunks, and there are n-1 steps in each direction. Scattering, rank i of the
// ring sends chunk i-1-s in step s, and is left with chunk i; gathering, it sends chunk i-s. It sends a chunk when it
// has sent the one before, and has the part of its sum that the rank before it sent.
type Collective struct {
	Op    Op
	Nodes int // of the network
	// Bytes is the data of a rank: what it puts into the sum, or has when all is gathered.
	Bytes int64
	// Streams share the data equally.
	Streams []Stream
	// Down are nodes that cannot be ranks; nil is none.
	Down []bool
	// Latency passes between the arrival of a chunk and the sending of what waits for it, and after the last. Set it
	// for engines that know no latency of links.
	Latency engine.Time
}

// Ranks returns the sets of ranks that share a vector, each in the order of nodes, ordered by their first: those that rings
// join, directly or over other ranks.
func (c *Collective) Ranks() [][]int32 {
	root := make([]int32, c.Nodes)
	for n := range root {
		root[n] = int32(n)
	}
	find := func(n int32) int32 {
		for root[n] != n {
			root[n] = root[root[n]]
			n = root[n]
		}
		return n
	}
	rank := make([]bool, c.Nodes)
	for _, stream := range c.Streams {
		for _, stage := range stream {
			for _, ring := range stage {
				for _, n := range ring {
					rank[n] = true
					a, b := find(ring[0]), find(n)
					root[max(a, b)] = min(a, b)
				}
			}
		}
	}
	var sets [][]int32
	of := map[int32]int{}
	for n := range int32(c.Nodes) {
		if !rank[n] {
			continue
		}
		first := find(n)
		if _, ok := of[first]; !ok {
			of[first], sets = len(sets), append(sets, nil)
		}
		sets[of[first]] = append(sets[of[first]], n)
	}
	return sets
}

// span is a range of the data's bytes.
type span struct{ from, to int64 }

func (s span) bytes() int64 { return s.to - s.from }

// cut returns piece k of n, of sizes that differ by at most a byte.
func (s span) cut(k, n int) span {
	b := s.bytes()
	whole, rest := b/int64(n), b%int64(n)
	at := func(k int64) int64 { return s.from + whole*k + min(k, rest) }
	return span{at(int64(k)), at(int64(k) + 1)}
}

// run is a stage of a stream, with the data that its ranks come to it with.
type run struct {
	stage  Stage
	data   []span // by ring
	gather bool
}

// runs returns what is done with stream k, in order.
func (c *Collective) runs(k int) []run {
	data := make([]span, c.Nodes)
	share := span{0, c.Bytes}.cut(k, len(c.Streams))
	for n := range data {
		data[n] = share
	}
	var scatter []run
	for _, stage := range c.Streams[k] {
		r := run{stage: stage, data: make([]span, len(stage))}
		for i, ring := range stage {
			r.data[i] = data[ring[0]]
			for p, n := range ring {
				data[n] = r.data[i].cut(p, len(ring))
			}
		}
		scatter = append(scatter, r)
	}
	var gather []run
	for _, r := range slices.Backward(scatter) {
		r.gather = true
		gather = append(gather, r)
	}
	switch c.Op {
	case ReduceScatter:
		return scatter
	case AllGather:
		return gather
	}
	return append(scatter, gather...)
}

// chunk returns the chunk that rank i of n sends in step s.
func (r *run) chunk(i, s, n int) int {
	if r.gather {
		return (i - s + n) % n
	}
	return (i - 1 - s + 2*n) % n
}
