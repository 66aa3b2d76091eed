package packet_test

import (
	"flag"
	"fmt"
	"runtime"
	"testing"

	"sim/engine"
	"sim/engine/packet"
)

var long = flag.Bool("long", false, "also run the tests that take minutes")

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
// not takes 1. Sources of the same parities that are as far from the wraps do not share paths with a dateline; without,
// all of the same parities do.
func (b box) paths(dateline bool) *engine.Paths {
	w := &engine.Paths{Degree: 6}
	for l := range 6 * b.nodes() {
		w.Link = append(w.Link, l)
	}
	w.Class = make([]int32, 0, int(b.nodes())*int(b.nodes()-1))
	if dateline {
		for s := range b.nodes() {
			for d := range b.nodes() {
				if s != d {
					w.Class = append(w.Class, w.Add(b.path(s, d, true)...))
				}
			}
		}
		return w
	}
	class := make(map[[4]int32]int32)
	for s := range b.nodes() {
		for d := range b.nodes() {
			if s == d {
				continue
			}
			from, to := b.at(s), b.at(d)
			key := [4]int32{}
			for i := range 3 {
				key[i] = int32((to[i] - from[i] + b.dims[i]) % b.dims[i])
				key[3] = 2*key[3] + int32(from[i]%2)
			}
			c, ok := class[key]
			if !ok {
				c = w.Add(b.path(s, d, false)...)
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

func measure(b *testing.B, n *engine.Network, w *packet.Work, o packet.Options) {
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	hops := int64(0)
	var s *packet.Stats
	for b.Loop() {
		var err error
		if s, err = packet.Run(n, w, o); err != nil {
			b.Fatal(err)
		}
		hops += s.Hops
	}
	runtime.ReadMemStats(&after)
	b.ReportMetric(float64(hops)/b.Elapsed().Seconds(), "hops/s")
	b.ReportMetric(float64(after.TotalAlloc-before.TotalAlloc)/float64(b.N)/float64(s.Injected), "B/packet")
	b.ReportMetric(float64(after.HeapSys)/1e6, "MB-heap")
	b.ReportMetric(s.End.Seconds(), "s-simulated")
}

// onOff is ten packets a pair at 448 kb/s of payload.
func onOff(flows int) []packet.Source {
	every := 512 * 8 / 448e3 * float64(engine.Second)
	return []packet.Source{{End: int32(flows), Bytes: 542, Count: 10, Start: engine.Time(every), Every: every}}
}

// BenchmarkAllToAll is all-to-all on 8x8x8 under the disciplines there are.
func BenchmarkAllToAll(b *testing.B) {
	o := box{[3]int{8, 8, 8}}
	flows := o.everyPair()
	link := engine.Link{Rate: 1e6, Channels: 2}
	small := link
	small.Buffer = 8 * 542
	latent := small
	latent.Latency = 10 * engine.Millisecond
	for _, c := range []struct {
		name     string
		link     engine.Link
		dateline bool
		sources  []packet.Source
		options  packet.Options
	}{
		{"booked", link, false, onOff(len(flows)), packet.Options{}},
		{"booked-greedy", link, false, o.perNode(packet.Source{Process: packet.Greedy, Order: packet.Random, Bytes: 542, Count: 10}), packet.Options{}},
		{"served", link, false, onOff(len(flows)), packet.Options{BitErrorRate: 1e-9}},
		{"drop-tail", engine.Link{Rate: 1e6, Buffer: 1 << 20}, false, onOff(len(flows)), packet.Options{}},
		{"credit", small, true, onOff(len(flows)), packet.Options{Control: packet.Credit}},
		{"credit-greedy", small, true, o.perNode(packet.Source{Process: packet.Greedy, Order: packet.Random, Bytes: 542, Count: 10}), packet.Options{Control: packet.Credit}},
		{"credit-latency", latent, true, o.perNode(packet.Source{Process: packet.Greedy, Order: packet.Random, Bytes: 542, Count: 10}), packet.Options{Control: packet.Credit}},
	} {
		b.Run(c.name, func(b *testing.B) {
			measure(b, o.network(c.link), &packet.Work{Flows: flows, Paths: o.paths(c.dateline), Sources: c.sources}, c.options)
		})
	}
}

// BenchmarkPod is all-to-all on 16x16x16, one packet a pair: 16.8 million packets and about 200 million hops.
func BenchmarkPod(b *testing.B) {
	o := box{[3]int{16, 16, 16}}
	flows, paths := o.everyPair(), o.paths(false)
	pace := 8192 * 542 * 8e12 / 50e9 / 8 / 4095 // ticks between packets of a node at the fluid rate
	for _, source := range []packet.Source{
		{Process: packet.Greedy, Order: packet.Random, Bytes: 542, Count: 1},
		{Process: packet.Periodic, Order: packet.Random, Every: pace, Bytes: 542, Count: 1},
	} {
		b.Run(fmt.Sprint(source.Process), func(b *testing.B) {
			measure(b, o.network(engine.Link{Rate: 400e9}), &packet.Work{Flows: flows, Paths: paths, Sources: o.perNode(source)}, packet.Options{})
		})
	}
}
