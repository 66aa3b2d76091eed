package packet_test

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"sim/engine"
	"sim/engine/packet"
)

// starNetwork returns a node with links to other nodes: link i has the rate 8/(i+1) Gb/s.
// Flow f uses link f modulo numLinks.
func starNetwork(numLinks, numFlows int) (*engine.Network, *packet.Work) {
	n := &engine.Network{Nodes: int32(numLinks + 1)}
	for i := range int32(numLinks) {
		n.Links = append(n.Links, engine.Link{To: i + 1, Rate: 8e9 / float64(i+1)})
	}
	var paths [][]int32
	for f := range numFlows {
		paths = append(paths, []int32{int32(f % numLinks)})
	}
	return n, pathsOver(n, nil, paths...)
}

// TestOrders: each order sends all packets of each flow, in the documented order.
func TestOrders(t *testing.T) {
	const flows, count = 7, 5
	for _, process := range []packet.Process{packet.Periodic, packet.Poisson, packet.Greedy} {
		for _, order := range []packet.Order{packet.RoundRobin, packet.Random, packet.Sequential} {
			n, w := starNetwork(1, flows)
			source := packet.Source{End: flows, Process: process, Order: order, Offset: 3, Bytes: 1000, Count: count, Every: 2 * float64(us), Seed: 9}
			if process == packet.Greedy {
				source.Every = 0
			}
			if order == packet.Random {
				source.Offset = 0
			}
			w.Sources = []packet.Source{source}
			_, log := runLog(t, n, w, packet.Options{})
			if len(log) != flows*count {
				t.Fatalf("%v %v: %d packets", process, order, len(log))
			}

			var rounds [count][]int32
			for k, a := range log {
				want := a.Flow
				switch order {
				case packet.RoundRobin:
					want = int32((3 + k) % flows)
				case packet.Sequential:
					want = int32((3 + k/count) % flows)
				}
				if a.Flow != want {
					t.Errorf("%v %v: packet %d is of flow %d, want %d", process, order, k, a.Flow, want)
				}
				rounds[k/flows] = append(rounds[k/flows], a.Flow)
			}

			if order != packet.Random {
				continue
			}
			numEqual := 0
			for _, r := range rounds {
				if slices.Equal(r, rounds[0]) {
					numEqual++
				}
				if slices.Sort(r); !slices.Equal(r, []int32{0, 1, 2, 3, 4, 5, 6}) {
					t.Errorf("%v: a round of %v", process, r)
				}
			}
			if numEqual == count {
				t.Errorf("%v: every round is in one order", process)
			}
		}
	}
}

// TestGreedy: each first link of a greedy source is busy until its flows have no packets
// left, independently of the other links.
func TestGreedy(t *testing.T) {
	for _, served := range []bool{false, true} {
		n, w := starNetwork(3, 9)
		w.Sources = []packet.Source{{End: 9, Process: packet.Greedy, Order: packet.RoundRobin, Bytes: 1000, Count: 100, Start: 5 * us}}
		o := packet.Options{SampleEvery: us}
		if served {
			o = packet.ForceQueues(o)
		}
		s, log := runLog(t, n, w, o)
		for i, l := range s.Links {
			if want := us * engine.Time(300*(i+1)); l.Busy != want || l.Packets != 300 || l.MaxQueue > 2 {
				t.Errorf("link %d: %+v, want busy for %v with at most two packets", i, l, want)
			}
		}
		last := slices.MaxFunc(log, func(a, b packet.PacketEnd) int { return int(a.At - b.At) })
		if last.At != 5*us+900*us {
			t.Errorf("the last arrives at %v", last.At)
		}
		if slices.Max(s.Queues) != 2 || len(s.Queues)%3 != 0 {
			t.Errorf("queues of up to %d, %d samples", slices.Max(s.Queues), len(s.Queues))
		}
	}
}

// TestGreedySources: greedy sources with the same first link take turns on it.
func TestGreedySources(t *testing.T) {
	n, w := starNetwork(2, 4)
	for i := range int32(2) {
		w.Sources = append(w.Sources, packet.Source{First: 2 * i, End: 2*i + 2, Process: packet.Greedy, Order: packet.RoundRobin, Bytes: 1000, Count: 50})
	}
	for _, o := range []packet.Options{{}, packet.ForceQueues(packet.Options{}), {Control: packet.Credit}} {
		s, log := runLog(t, n, w, o)
		var perFlow [4]int
		for _, a := range log[:60] {
			perFlow[a.Flow]++
		}

		// Link 0 is twice as fast as link 1.
		if perFlow[0]-perFlow[2] > 1 || perFlow[2]-perFlow[0] > 1 || perFlow[1]-perFlow[3] > 1 || perFlow[3]-perFlow[1] > 1 || perFlow[0]+perFlow[2] < 39 {
			t.Errorf("of the first 60 packets the flows have %v", perFlow)
		}
		if s.Links[0].Busy != 100*us || s.Links[1].Busy != 200*us || s.End != 200*us {
			t.Errorf("%+v", s.Links)
		}
	}
}

// shortenLastPackets makes the last packet of each flow smaller, for sources that count
// the packets of a flow.
func shortenLastPackets(w *packet.Work) {
	for i := range w.Sources {
		if s := &w.Sources[i]; s.Count > 0 && s.Process != packet.Poisson && s.Order != packet.Uniform {
			s.Last = 1 + s.Bytes/3
		}
	}
}

// TestLastPacket: each flow sends count-1 full packets and a smaller last one, for all
// processes and orders, with unbounded queues and with credits. Each flow has a link of
// its own. For Greedy, and for Window with a window of all packets, the last byte arrives
// when the link has sent the bytes of the flow. For Periodic, the last packet arrives one
// transmission time after its injection.
func TestLastPacket(t *testing.T) {
	const flows, count, bytes, last = 5, 4, 1000, 300
	check := func(process packet.Process, order packet.Order, control packet.Control) {
		n, w := starNetwork(flows, flows)
		for i := range n.Links {
			n.Links[i].Buffer = 100 * bytes
		}
		if control != packet.Credit {
			for i := range n.Links {
				n.Links[i].Buffer = 0
			}
		}

		source := packet.Source{End: flows, Process: process, Order: order, Bytes: bytes, Last: last, Count: count, Seed: 9}
		switch process {
		case packet.Periodic:
			source.Every = float64(100 * us)
		case packet.Window:
			source.Window = count
		}
		w.Sources = []packet.Source{source}
		stats, log := runLog(t, n, w, packet.Options{Control: control})
		name := fmt.Sprintf("%v, %v, %v", process, order, control)
		if stats.Bytes != flows*((count-1)*bytes+last) {
			t.Errorf("%s: %d B arrived, want %d", name, stats.Bytes, flows*((count-1)*bytes+last))
		}

		ends := make([]packet.PacketEnd, flows)
		for _, a := range log {
			ends[a.Flow] = a
		}
		for f, a := range ends {
			numBytes, start := int64((count-1)*bytes+last), engine.Time(0)
			if process == packet.Periodic {
				numBytes, start = last, a.Inject
			}
			want := start + engine.Time(numBytes)*engine.Time(f+1)*us/1000 // one byte takes f+1 ns on link f
			if a.At != want {
				t.Errorf("%s: flow %d ends at %v, want %v", name, f, a.At, want)
			}
			if l := stats.Links[f]; l.Packets != count || l.Bytes != (count-1)*bytes+last {
				t.Errorf("%s: link %d sent %d packets of %d B in all, want %d of %d B", name, f, l.Packets, l.Bytes, count, (count-1)*bytes+last)
			}
		}
	}
	for _, control := range []packet.Control{packet.DropTail, packet.Credit} {
		for _, order := range []packet.Order{packet.RoundRobin, packet.Random, packet.Sequential} {
			check(packet.Greedy, order, control)
			check(packet.Periodic, order, control)
		}
		check(packet.Periodic, packet.Together, control)
		check(packet.Window, packet.Together, control)
	}
}

// TestUniform: with order Uniform, all flows receive the same share of packets
// (chi-square test), at the rate of the source, until its stop time.
func TestUniform(t *testing.T) {
	const flows, packets = 50, 200_000
	for _, process := range []packet.Process{packet.Periodic, packet.Poisson} {
		n, w := starNetwork(50, flows)
		w.Sources = []packet.Source{{End: flows, Process: process, Order: packet.Uniform, Bytes: 10, Every: float64(us), Stop: packets * us, Seed: 4}}
		s, log := runLog(t, n, w, packet.Options{})
		if math.Abs(float64(s.Injected)/packets-1) > 0.01 || s.Delivered != s.Injected {
			t.Errorf("%v: %d packets, want %d", process, s.Injected, packets)
		}
		var count [flows]float64
		for _, a := range log {
			count[a.Flow]++
			if a.Inject >= packets*us {
				t.Errorf("injected at %v", a.Inject)
			}
		}
		chi, mean := 0.0, float64(s.Injected)/flows
		for _, k := range count {
			chi += (k - mean) * (k - mean) / mean
		}
		if chi < 20 || chi > 90 { // 49 degrees of freedom: 99.9 % of the values are in this range
			t.Errorf("%v: chi-square %g", process, chi)
		}
	}
}

// TestShares: the packets of a class are distributed over its paths in proportion to the
// shares.
func TestShares(t *testing.T) {
	n, w := starNetwork(3, 0)
	for i := range 3 {
		n.Links[i].To = 1
		w.Paths.Add(engine.MakeStep(i, 0))
	}
	w.Flows = []engine.Flow{{Src: 0, Dst: 1}}
	w.Sources = []packet.Source{{End: 1, Bytes: 1, Count: 100_000}}
	w.Paths.First = []int32{0, 3}
	for _, share := range [][]float64{nil, {1, 0, 3}} {
		w.Paths.Share = share
		s, _ := runLog(t, n, w, packet.Options{})
		repeated, _ := runLog(t, n, w, packet.Options{})
		for i, l := range s.Links {
			want := 100_000.0 / 3
			if share != nil {
				want = share[i] * 25_000
			}
			if math.Abs(float64(l.Packets)-want) > 500 || repeated.Links[i] != l {
				t.Errorf("link %d takes %d packets (then %d), want %g", i, l.Packets, repeated.Links[i].Packets, want)
			}
		}
		if other, _ := runLog(t, n, w, packet.Options{Seed: 1}); other.Links[0].Packets == s.Links[0].Packets {
			t.Error("the seed changes nothing")
		}
	}
}

// TestPermute: permute is a permutation, and another key selects another one.
func TestPermute(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.Uint64Range(1, 300).Draw(t, "n")
		key := rapid.Uint64().Draw(t, "key")
		in := make([]bool, n)
		differ := false
		for k := range n {
			v := packet.Permute(k, n, key)
			if v >= n || in[v] {
				t.Fatalf("%d of %d goes to %d", k, n, v)
			}
			in[v] = true
			differ = differ || v != packet.Permute(k, n, key+1)
		}
		if n > 20 && !differ {
			t.Fatal("two keys give one order")
		}
	})
}

// TestMeasured: only packets of the measured time count, and the run ends when they have
// arrived, although sources continue.
func TestMeasured(t *testing.T) {
	for _, control := range []packet.Control{packet.DropTail, packet.Credit} {
		n, w := starNetwork(1, 1)
		w.Sources = []packet.Source{{End: 1, Order: packet.RoundRobin, Bytes: 1000, Every: 2 * float64(us), Stop: engine.Second}}
		s, _ := runLog(t, n, w, packet.Options{MeasureFrom: 100 * us, MeasureUntil: 300 * us, EndMeasured: true, Control: control})
		if s.MeasuredInjected != 100 || s.Delay.Count != 100 || s.Delay.Max != us || s.MeasuredBytes != 100*1000 {
			t.Errorf("%d injected, %d delays up to %v, %d B", s.MeasuredInjected, s.Delay.Count, s.Delay.Max, s.MeasuredBytes)
		}
		if s.End < 299*us || s.End > 350*us {
			t.Errorf("ends at %v", s.End)
		}
	}
}

// TestCSV: WriteLinks writes one row per link, and WriteQueues one row per sample of a
// link with packets.
func TestCSV(t *testing.T) {
	n, w := starNetwork(2, 2)
	w.Sources = []packet.Source{{End: 2, Bytes: 1000, Count: 3}}
	s, _ := runLog(t, n, w, packet.Options{SampleEvery: 2 * us})
	var links, queues bytes.Buffer
	if err := s.WriteLinks(&links, n); err != nil {
		t.Fatal(err)
	}
	if err := s.WriteQueues(&queues, n); err != nil {
		t.Fatal(err)
	}

	// Link 0 sends for 3 of 6 us, link 1 for all of them. The packets wait 1+2 us and 2+4
	// us.
	want := strings.TrimPrefix(`
link,from,to,packets,bytes,busy_s,utilisation,max_queue,mean_queue,dropped,retries
link 0,0,1,3,3000,3e-06,0.5,3,0.5,0,0
link 1,0,2,3,3000,6e-06,1,3,1,0,0
`, "\n")
	if links.String() != want {
		t.Errorf("%s\nwant %s", links.String(), want)
	}

	// Just before 2 us, link 0 has sent one packet. Packets of link 1 end at 2, 4 and 6
	// us.
	want = "time_s,link,queue\n2e-06,link 0,2\n2e-06,link 1,3\n4e-06,link 1,2\n6e-06,link 1,1\n"
	if queues.String() != want {
		t.Errorf("%s\nwant %s", queues.String(), want)
	}
}

// slowdown returns the duration of an all-to-all on a torus of side^3 nodes divided by
// its duration at the flow level. The latter is determined by the maximum link load in
// flows; each packet takes 1 us.
func slowdown(t *testing.T, side int, count int64, template packet.Source) float64 {
	t.Helper()
	o := torus{[3]int{side, side, side}}
	load := side * side * side * side / 8 // half a ring, for all nodes of two dimensions
	w := &packet.Work{Flows: o.allPairs(), Paths: o.dimensionOrder(false)}
	if template.Bytes, template.Count = 1000, count; template.Process == packet.Periodic && template.Every > 0 {
		template.Every = float64(load) * float64(us) / float64(o.nodes()-1)
	}
	w.Sources = o.sourcePerNode(template)
	for i := range w.Sources {
		if template.Offset > 0 {
			w.Sources[i].Offset = int32(i) % (o.nodes() - 1) // start at the next node
		}
	}
	s, err := packet.Run(o.network(engine.Link{Rate: 8e9}), w, packet.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return s.End.Seconds() / (float64(load) * float64(count) * us.Seconds())
}

// pacedSource injects at the rate of the flow level.
var pacedSource = packet.Source{Order: packet.Random, Every: 1}

// TestFluid: an all-to-all on 4x4x4 takes about as long as at the flow level. Paced
// sources with 64 packets per pair are within 5 %, and closer with more packets. Greedy
// sources are within 5 % as well. Messages that are enqueued completely, one after
// another, take at least 20 % longer.
func TestFluid(t *testing.T) {
	with16, with64, with256 := slowdown(t, 4, 16, pacedSource), slowdown(t, 4, 64, pacedSource), slowdown(t, 4, 256, pacedSource)
	greedy := slowdown(t, 4, 64, packet.Source{Process: packet.Greedy, Order: packet.Random})
	sequential := slowdown(t, 4, 64, packet.Source{Order: packet.Sequential})
	t.Logf("of the fluid's time: paced %.3f with 16 packets a pair, %.3f with 64, %.3f with 256; greedy %.3f; message after message at once %.3f", with16, with64, with256, greedy, sequential)
	if with64 > 1.05 || with256 > with64 || with64 > with16 || greedy > 1.05 || sequential < 1.2 {
		t.Error("not as expected")
	}
}

// TestFluidLong is like TestFluid on 8x8x8, for all orders.
func TestFluidLong(t *testing.T) {
	if !*longTests {
		t.Skip("takes minutes")
	}
	with16, with64 := slowdown(t, 8, 16, pacedSource), slowdown(t, 8, 64, pacedSource)
	t.Logf("paced: %.3f of the fluid's time with 16 packets a pair, %.3f with 64", with16, with64)
	if with64 > 1.05 || with64 > with16 {
		t.Error("not as expected")
	}
	for _, process := range []packet.Process{packet.Greedy, packet.Periodic} {
		for _, order := range []packet.Order{packet.RoundRobin, packet.Random, packet.Sequential} {
			for offset := range int32(2) {
				if order == packet.Random && offset > 0 {
					continue
				}
				t.Logf("%v, %v, rotated %d: %.3f", process, order, offset, slowdown(t, 8, 64, packet.Source{Process: process, Order: order, Offset: offset}))
			}
		}
	}
}
