package routing_test

import (
	"fmt"
	"math"
	"runtime"
	"testing"
	"time"

	"sim/engine"
	"sim/engine/packet"
	"sim/fabric/torus"
	"sim/policies/routing"
)

// network returns the torus with links of one rate.
func network(o *torus.Torus, rate float64, latency engine.Time) *engine.Network {
	n := &engine.Network{Nodes: int32(o.Nodes())}
	for _, l := range o.Links() {
		n.Links = append(n.Links, engine.Link{From: l.From, To: l.To, Rate: rate, Latency: latency})
	}
	return n
}

// everyPair returns a flow from every node to every other.
func everyPair(n int) []engine.Flow {
	var flows []engine.Flow
	for s := range int32(n) {
		for d := range int32(n) {
			if s != d {
				flows = append(flows, engine.Flow{Src: s, Dst: d})
			}
		}
	}
	return flows
}

// peers returns the work of CONVENTIONS.md, section D: 512 B payloads at 448 kb/s for 0.1 s,
// starting at 1 s.
func peers(t testing.TB, twist string, dims ...int) (*engine.Network, *packet.Work) {
	t.Helper()
	o, err := torus.New(dims...)
	if err != nil {
		t.Fatal(err)
	}
	if err := o.Twist(twist); err != nil {
		t.Fatal(err)
	}
	flows := everyPair(o.Nodes())
	n := network(o, 1e6, 0)
	d, err := routing.Shortest{}.Route(t.Context(), &routing.Problem{Network: n, Flows: flows}, routing.Options{})
	if err != nil {
		t.Fatal(err)
	}
	every := 512 * 8 / 448e3 * float64(engine.Second)
	return n, &packet.Work{
		Flows: flows, Paths: d.Paths,
		Sources: []packet.Source{{
			End: int32(len(flows)), Bytes: 542, Count: 10, Start: engine.Second + engine.Time(every), Every: every,
		}},
	}
}

// TestPeers compares the mean delay and the number of packets delivered in ten seconds with two
// other simulators.
func TestPeers(t *testing.T) {
	for _, c := range []struct {
		twist     string
		mean      [2]float64 // ns-3, htsim
		delivered int64
	}{
		{"000000", [2]float64{3.466364, 3.466374}, 153056},
		{"001000", [2]float64{2.802738, 2.802748}, 160582},
	} {
		n, w := peers(t, c.twist, 8, 4, 4)
		s, err := packet.Run(n, w, packet.Options{Until: 10 * engine.Second})
		if err != nil {
			t.Fatal(err)
		}
		for _, mean := range c.mean {
			if off := s.Delay.MeanSeconds()/mean - 1; math.Abs(off) > 1e-4 {
				t.Errorf("%s: mean delay %.6f s, others have %.6f", c.twist, s.Delay.MeanSeconds(), mean)
			}
		}
		if s.Delivered != c.delivered || s.Injected != 162560 || s.Dropped != 0 {
			t.Errorf("%s: %d of %d delivered, %d dropped, want %d of 162560", c.twist, s.Delivered, s.Injected, s.Dropped, c.delivered)
		}
		t.Logf("%s: mean %.6f s, %d delivered", c.twist, s.Delay.MeanSeconds(), s.Delivered)
	}
}

// BenchmarkPeers reports the hops per second and bytes per packet of the packet engine.
func BenchmarkPeers(b *testing.B) {
	for _, dims := range [][]int{{8, 4, 4}, {8, 8, 8}} {
		b.Run(fmt.Sprint(dims), func(b *testing.B) {
			n, w := peers(b, "000000", dims...)
			var before, after runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&before)
			var s *packet.Stats
			hops := int64(0)
			for b.Loop() {
				var err error
				if s, err = packet.Run(n, w, packet.Options{}); err != nil {
					b.Fatal(err)
				}
				hops += s.Hops
			}
			runtime.ReadMemStats(&after)
			b.ReportMetric(float64(hops)/b.Elapsed().Seconds(), "hops/s")
			b.ReportMetric(float64(after.TotalAlloc-before.TotalAlloc)/float64(b.N)/float64(s.Injected), "B/packet")
			b.ReportMetric(float64(after.HeapSys)/1e6, "MB-heap")
		})
	}
}

// BenchmarkMixed has packets of many sizes on links of many rates and latencies, so that few
// events coincide.
func BenchmarkMixed(b *testing.B) {
	n, w := peers(b, "000000", 8, 8, 8)
	for i := range n.Links {
		n.Links[i].Rate *= 1 + float64(i*7919%1009)/5000
		n.Links[i].Latency = engine.Time(i*104729%997) * engine.Microsecond
	}
	all := w.Sources[0]
	w.Sources = nil
	for f := int32(0); f < all.End; f += 64 {
		one := all
		one.First, one.End = f, min(f+64, all.End)
		one.Bytes = 64 + int32(f*31%1436)
		one.Start += engine.Time(f) * engine.Microsecond / 4
		w.Sources = append(w.Sources, one)
	}
	hops := int64(0)
	for b.Loop() {
		s, err := packet.Run(n, w, packet.Options{})
		if err != nil {
			b.Fatal(err)
		}
		hops += s.Hops
	}
	b.ReportMetric(float64(hops)/b.Elapsed().Seconds(), "hops/s")
}

// BenchmarkLinear reports how the cost grows with the number of hops: the exponent between 2 and
// 32 packets per pair.
func BenchmarkLinear(b *testing.B) {
	var took [2]time.Duration
	counts := []int64{2, 32}
	for b.Loop() {
		for i, count := range counts {
			n, w := peers(b, "000000", 8, 8, 8)
			w.Sources[0].Count = count
			begin := time.Now()
			if _, err := packet.Run(n, w, packet.Options{}); err != nil {
				b.Fatal(err)
			}
			took[i] += time.Since(begin)
		}
	}
	b.ReportMetric(math.Log(float64(took[1])/float64(took[0]))/math.Log(float64(counts[1]/counts[0])), "exponent")
}
