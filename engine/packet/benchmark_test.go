//go:build unix

package packet_test

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"runtime"
	"syscall"
	"testing"
	"time"

	"sim/engine"
	"sim/engine/packet"
)

// cpuTime returns the processor time used by this process.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// measureRate reports hops per second of wall-clock time, and hops per second of
// processor time in the fastest run. The second value is more reliable on a busy machine.
func measureRate(b *testing.B, n *engine.Network, w *packet.Work, o packet.Options) {
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	hops, best := int64(0), 0.0
	o.Workers = *numWorkers
	var s *packet.Stats
	for b.Loop() {
		var err error
		used := cpuTime()
		if s, err = packet.Run(n, w, o); err != nil {
			b.Fatal(err)
		}
		hops += s.Hops
		best = max(best, float64(s.Hops)/(cpuTime()-used).Seconds())
	}
	runtime.ReadMemStats(&after)
	b.ReportMetric(float64(hops)/b.Elapsed().Seconds(), "hops/s")
	b.ReportMetric(best, "hops/cpu-s")
	b.ReportMetric(float64(after.TotalAlloc-before.TotalAlloc)/float64(b.N)/float64(s.Injected), "B/packet")
	b.ReportMetric(float64(after.HeapSys)/1e6, "MB-heap")
	b.ReportMetric(s.End.Seconds(), "s-simulated")
}

var numWorkers = flag.Int("workers", 1, "Options.Workers in benchmarks")

var packetsPerPair = flag.Int64("packets", 10, "packets of a pair in BenchmarkAllToAll")

// onOffSources returns sources that send packets of each pair at 448 kb/s of payload.
func onOffSources(flows int) []packet.Source {
	every := 512 * 8 / 448e3 * float64(engine.Second)
	return []packet.Source{{End: int32(flows), Bytes: 542, Count: *packetsPerPair, Start: engine.Time(every), Every: every}}
}

// randomiseLinks gives each link a different rate and latency.
func randomiseLinks(n *engine.Network) *engine.Network {
	rng := rand.New(rand.NewPCG(1, 0))
	for i := range n.Links {
		l := &n.Links[i]
		l.Rate *= 0.5 + rng.Float64()
		l.Latency = engine.Time(rng.Int64N(int64(10 * engine.Millisecond)))
	}
	return n
}

// BenchmarkAllToAll measures an all-to-all on 8x8x8:
//
//   - with scheduled links: equal packets in lockstep, greedy sources, and mixed sizes,
//     rates and latencies,
//   - with queued links: bit errors, and drop-tail,
//   - with credits on two channels: paced and greedy, each without and with latencies.
func BenchmarkAllToAll(b *testing.B) {
	o := torus{[3]int{8, 8, 8}}
	flows := o.allPairs()
	link := engine.Link{Rate: 1e6, Channels: 2}
	small := link
	small.Buffer = 8 * 542
	mixed := []packet.Source{
		{End: int32(len(flows)), Bytes: 128, Count: (*packetsPerPair + 2) / 3, Start: engine.Second, Every: 1.3e10},
		{End: int32(len(flows)), Bytes: 542, Count: (*packetsPerPair + 1) / 3, Start: engine.Second, Every: 0.9e10},
		{End: int32(len(flows)), Bytes: 1500, Count: *packetsPerPair / 3, Start: engine.Second, Every: 1.1e10},
	}
	latent := small
	latent.Latency = 10 * engine.Millisecond
	for _, c := range []struct {
		name     string
		link     engine.Link
		dateline bool
		sources  []packet.Source
		options  packet.Options
	}{
		{"scheduled", link, false, onOffSources(len(flows)), packet.Options{}},
		{"scheduled-greedy", link, false, o.sourcePerNode(packet.Source{Process: packet.Greedy, Order: packet.Random, Bytes: 542, Count: *packetsPerPair}), packet.Options{}},
		{"mixed", link, false, mixed, packet.Options{}},
		{"queued", link, false, onOffSources(len(flows)), packet.Options{BitErrorRate: 1e-9}},
		{"drop-tail", engine.Link{Rate: 1e6, Buffer: 1 << 20}, false, onOffSources(len(flows)), packet.Options{}},
		{"credit", small, true, onOffSources(len(flows)), packet.Options{Control: packet.Credit}},
		{"credit-greedy", small, true, o.sourcePerNode(packet.Source{Process: packet.Greedy, Order: packet.Random, Bytes: 542, Count: *packetsPerPair}), packet.Options{Control: packet.Credit}},
		{"credit-latency-paced", latent, true, onOffSources(len(flows)), packet.Options{Control: packet.Credit}},
		{"credit-latency", latent, true, o.sourcePerNode(packet.Source{Process: packet.Greedy, Order: packet.Random, Bytes: 542, Count: *packetsPerPair}), packet.Options{Control: packet.Credit}},
	} {
		b.Run(c.name, func(b *testing.B) {
			n := o.network(c.link)
			if c.name == "mixed" {
				randomiseLinks(n)
			}
			measureRate(b, n, &packet.Work{Flows: flows, Paths: o.dimensionOrder(c.dateline), Sources: c.sources}, c.options)
		})
	}
}

// BenchmarkLine measures small packets of one greedy source with credits over eight links
// with a latency of 100 us. Each link has thousands of packets in flight, and most links
// lack buffer space.
func BenchmarkLine(b *testing.B) {
	n := &engine.Network{Nodes: 9}
	var path []int32
	for i := range int32(8) {
		n.Links = append(n.Links, engine.Link{From: i, To: i + 1, Rate: 400e9, Latency: 100 * engine.Microsecond})
		path = append(path, i)
	}
	source := packet.Source{End: 1, Process: packet.Greedy, Order: packet.RoundRobin, Bytes: 64, Count: 400_000}
	measureRate(b, n, pathsOver(n, []packet.Source{source}, path), packet.Options{Control: packet.Credit})
}

// BenchmarkPod measures an all-to-all on 16x16x16 with one packet per pair: 16.8 million
// packets and about 200 million hops.
func BenchmarkPod(b *testing.B) {
	o := torus{[3]int{16, 16, 16}}
	flows, paths := o.allPairs(), o.dimensionOrder(false)
	pace := 8192 * 542 * 8e12 / 50e9 / 8 / 4095 // ticks between packets of a node at the rate of the flow level
	for _, source := range []packet.Source{
		{Process: packet.Greedy, Order: packet.Random, Bytes: 542, Count: 1},
		{Process: packet.Periodic, Order: packet.Random, Every: pace, Bytes: 542, Count: 1},
	} {
		b.Run(fmt.Sprint(source.Process), func(b *testing.B) {
			measureRate(b, o.network(engine.Link{Rate: 400e9}), &packet.Work{Flows: flows, Paths: paths, Sources: o.sourcePerNode(source)}, packet.Options{})
		})
	}
}
