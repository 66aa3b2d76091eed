package packet_test

import (
	"flag"
	"fmt"
	"testing"

	"sim/engine"
	"sim/engine/packet"
)

var long = flag.Bool("long", false, "also run the tests that take minutes")

// cases returns how many random cases a test runs: with -long, with -short, and else.
func cases(many, few, usual int) int {
	switch {
	case *long:
		return many
	case testing.Short():
		return few
	}
	return usual
}

// box is a regular torus of three dimensions, its links numbered by node, dimension and direction, as are its ports.
type box struct{ dims [3]int }

func (b box) nodes() int32 { return int32(b.dims[0] * b.dims[1] * b.dims[2]) }

func (b box) at(node int32) [3]int {
	n := int(node)
	return [3]int{n / (b.dims[1] * b.dims[2]), n / b.dims[2] % b.dims[1], n % b.dims[2]}
}

func (b box) node(at [3]int) int32 { return int32((at[0]*b.dims[1]+at[1])*b.dims[2] + at[2]) }

func (b box) network(of engine.Link) *engine.Network {
	n := &engine.Network{Nodes: b.nodes()}
	for node := range b.nodes() {
		for port := range 6 {
			at := b.at(node)
			d := port / 2
			at[d] = (at[d] + b.dims[d] + 1 - port%2*2) % b.dims[d]
			of.From, of.To = node, b.node(at)
			n.Links = append(n.Links, of)
		}
	}
	return n
}

// everyPair returns the flows from every node to every other, by source.
func (b box) everyPair() []engine.Flow {
	var flows []engine.Flow
	for s := range b.nodes() {
		for d := range b.nodes() {
			if s != d {
				flows = append(flows, engine.Flow{Src: s, Dst: d})
			}
		}
	}
	return flows
}

// paths leads every pair in dimension order, half-way round up from even and down from odd coordinates. With a
// dateline, a way along a dimension that will cross the wrap takes channel 0 up to the wrap and then 1, one that will
// not takes 1. Pairs whose paths take the same steps share them.
func (b box) paths(dateline bool) *engine.Paths {
	w := &engine.Paths{Degree: 6}
	for l := range 6 * b.nodes() {
		w.Link = append(w.Link, l)
	}
	w.Class = make([]int32, 0, int(b.nodes())*int(b.nodes()-1))
	class, same := make(map[[4]int32]int32), make(map[string]int32)
	for s := range b.nodes() {
		for d := range b.nodes() {
			if s == d {
				continue
			}
			from, to := b.at(s), b.at(d)
			key := [4]int32{} // what decides where there is no dateline
			for i := range 3 {
				key[i] = int32((to[i] - from[i] + b.dims[i]) % b.dims[i])
				key[3] = 2*key[3] + int32(from[i]%2)
			}
			c, ok := class[key]
			if !ok || dateline {
				steps := b.path(s, d, dateline)
				name := fmt.Sprint(steps)
				if c, ok = same[name]; !ok {
					c = w.Add(steps...)
					same[name] = c
				}
				class[key] = c
			}
			w.Class = append(w.Class, c)
		}
	}
	return w
}

func (b box) path(s, d int32, dateline bool) []engine.Step {
	var steps []engine.Step
	from, to := b.at(s), b.at(d)
	for i, k := range b.dims {
		hops := (to[i] - from[i] + k) % k
		up := 2*hops < k || 2*hops == k && from[i]%2 == 0
		if !up {
			hops = k - hops
		}
		port, wrap := 2*i, k-1-from[i] // hops before the wrap
		if !up {
			port, wrap = port+1, from[i]
		}
		for h := range hops {
			channel := 0
			if dateline && (hops <= wrap || h > wrap) {
				channel = 1
			}
			steps = append(steps, engine.MakeStep(port, channel))
		}
	}
	return steps
}

// perNode returns a source for the flows of each node of everyPair.
func (b box) perNode(of packet.Source) []packet.Source {
	var all []packet.Source
	n := b.nodes()
	for node := range n {
		of.First, of.End = node*(n-1), (node+1)*(n-1)
		all = append(all, of)
	}
	return all
}
