package packet_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"sim/engine"
	"sim/engine/packet"
)

// TestFailure compares a link failure with results computed by hand. One packet per
// microsecond takes two links with a transmission time and a latency of 1 us each. The
// second link fails at 10.5 us and is up again, at half the rate, at 20.25 us. The packet
// being sent on it and the packet in flight at 10.5 us are lost; none is queued. Packets
// that arrive while it is down are dropped.
func TestFailure(t *testing.T) {
	for _, control := range []packet.Control{packet.DropTail, packet.Credit} {
		n := lineNetwork(2, engine.Link{Latency: us})
		n.Links[1].Buffer = 1e6
		n.Links[0].Buffer = 1e6
		n.Changes = []engine.Change{{At: 10*us + us/2, Link: 1}, {At: 20*us + us/4, Link: 1, Rate: 4e9}}
		w := pathsOver(n, []packet.Source{{End: 1, Bytes: 1000, Count: 30, Every: float64(us)}}, []int32{0, 1})
		s, log := runLog(t, n, w, packet.Options{Control: control})

		// Packet k is injected at k us, arrives at link 1 at k+2, is sent until k+3 and
		// arrives at k+4. At 10.5 us packet 8 is being sent and packet 7 is in flight.
		// Packets 9 to 18 arrive while the link is down.
		want := []int{7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18}
		var lost []int
		for _, a := range log {
			if a.Dropped {
				lost = append(lost, int(a.Inject/us))
			}
		}
		slices.Sort(lost)
		if !slices.Equal(lost, want) || s.DroppedBy[packet.LinkFailed] != int64(len(want)) || s.Links[1].Dropped != int64(len(want)) {
			t.Errorf("%v: lost %v, want %v", control, lost, want)
		}

		// Link 1 sends 8 packets completely, one for half a microsecond, and the
		// remaining 11 at half the rate.
		if busy := 8*us + us/2 + 11*2*us; s.Links[1].Busy != busy {
			t.Errorf("%v: busy for %v, want %v", control, s.Links[1].Busy, busy)
		}

		// From 21 us, when packet 19 arrives, each packet takes 2 us.
		if end := 21*us + 11*2*us + us; log[len(log)-1].At != end {
			t.Errorf("%v: ends at %v, want %v", control, log[len(log)-1].At, end)
		}
	}
}

// TestLinkPause is like TestFailure for a planned pause. The packet being sent when the
// pause starts arrives, all others wait, and none is lost. By hand: 9 packets are sent at
// the first rate, and 21 from 20.25 us on at half that rate.
func TestLinkPause(t *testing.T) {
	for _, control := range []packet.Control{packet.DropTail, packet.Credit} {
		n := lineNetwork(2, engine.Link{Latency: us})
		n.Links[1].Buffer = 1e6
		n.Links[0].Buffer = 1e6
		n.Changes = []engine.Change{{At: 10*us + us/2, Link: 1, Planned: true}, {At: 20*us + us/4, Link: 1, Rate: 4e9, Planned: true}}
		w := pathsOver(n, []packet.Source{{End: 1, Bytes: 1000, Count: 30, Every: float64(us)}}, []int32{0, 1})
		s, log := runLog(t, n, w, packet.Options{Control: control})
		if s.Dropped != 0 || s.Links[1].Busy != 9*us+21*2*us || log[len(log)-1].At != 20*us+us/4+21*2*us+us {
			t.Errorf("%v: %d lost, busy for %v, the last at %v", control, s.Dropped, s.Links[1].Busy, log[len(log)-1].At)
		}
	}
}

// diamondNetwork has two paths from node 0 to node 3: over node 1, and over node 2. The
// links of the second path come up at 10 us, and the links of the first path fail later.
func diamondNetwork() *engine.Network {
	n := &engine.Network{Nodes: 4}
	for _, l := range [][2]int32{{0, 1}, {1, 3}, {0, 2}, {2, 3}} {
		n.Links = append(n.Links, engine.Link{From: l[0], To: l[1], Rate: 8e9})
	}
	n.Links[2].Rate, n.Links[3].Rate = 0, 0
	n.Changes = []engine.Change{{At: 10 * us, Link: 2, Rate: 8e9}, {At: 10 * us, Link: 3, Rate: 8e9}, {At: 10*us + us/2, Link: 0}, {At: 20*us + us/2, Link: 1}}
	return n
}

// TestRewire: packets that are injected after a Rewire or still queued at their source
// take the new paths. All others keep their paths.
func TestRewire(t *testing.T) {
	n := diamondNetwork()
	w := pathsOver(n, []packet.Source{{End: 1, Process: packet.Greedy, Order: packet.Sequential, Bytes: 1000, Count: 20}}, []int32{0, 1})
	later := pathsOver(n, nil, []int32{2, 3})
	for _, control := range []packet.Control{packet.DropTail, packet.Credit} {
		s, _ := runLog(t, n, w, packet.Options{Control: control, Rewire: []packet.Rewire{{At: 12 * us, Paths: later.Paths}}})

		// By 10.5 us, ten packets have passed link 0, and one is lost on it. The next one
		// waits for its new path until 12 us.
		if s.Delivered != 19 || s.DroppedBy[packet.LinkFailed] != 1 || s.Links[0].Packets != 10 || s.Links[2].Packets != 9 || s.End != 12*us+10*us {
			t.Errorf("%v: %+v", control, s)
		}
	}

	// Initial paths that are set again at time 0, and paths that are set twice, have the
	// same effect as paths that are set once.
	twice := []packet.Rewire{{Paths: w.Paths}, {At: 12 * us, Paths: later.Paths}, {At: 12 * us, Paths: later.Paths}}
	if s, _ := runLog(t, n, w, packet.Options{Rewire: twice}); s.Delivered != 19 || s.End != 22*us {
		t.Errorf("rewired twice at one time: %+v", s)
	}

	// Without a Rewire, the packet at link 0 waits forever, and the error names the link.
	_, err := packet.Run(n, w, packet.Options{})
	var d *packet.Deadlock
	if !errors.As(err, &d) || d.Cycle != nil || d.Waiting != 1 || !strings.Contains(err.Error(), "nothing can proceed") || !strings.Contains(err.Error(), "1 before link 0, which is down") {
		t.Errorf("%v", err)
	}
	if _, err := packet.Run(n, w, packet.Options{Rewire: []packet.Rewire{{At: 9 * us, Paths: later.Paths}}}); !errors.Is(err, packet.ErrWork) || !strings.Contains(err.Error(), "Rewire[0] at 9e-06s") {
		t.Errorf("%v", err)
	}
}

// TestRewireSpread: if packets draw their links at each node, packets in flight follow
// the new next hops as well. They are dropped at nodes without a next hop.
func TestRewireSpread(t *testing.T) {
	n := diamondNetwork()
	const none = engine.NoPath
	spread := func(links []int32, hops ...uint16) *engine.Paths {
		s := &engine.NextHops{Degree: 2, Link: links, To: []int32{1, 2, 3, 0, 3, 0, 0, 0}, Hops: make([][]uint16, 4)}
		s.Hops[3] = hops
		return &engine.Paths{Degree: 2, Link: s.Link, Spread: s}
	}
	w := &packet.Work{Flows: []engine.Flow{{Src: 0, Dst: 3}}, Paths: spread([]int32{0, -1, 1, -1, -1, -1, -1, -1}, 2, 1, none, 0), Sources: []packet.Source{{End: 1, Bytes: 1000, Count: 20, Every: float64(us)}}}
	n.Changes[2].At += 10 * us
	n.Changes[3].At += 10 * us
	for hops1, lost := range map[uint16]int64{1: 0, none: 1} { // affects the packet that is on link 0 at 12 us
		s, _ := runLog(t, n, w, packet.Options{Rewire: []packet.Rewire{{At: 12 * us, Paths: spread([]int32{-1, 2, 1, -1, 3, -1, -1, -1}, 2, hops1, 1, 0)}}})
		if s.DroppedBy[packet.NoRoute] != lost || s.Dropped != lost || s.Links[2].Packets != 8 || s.Links[0].Packets != 12 {
			t.Errorf("%+v, want %d lost", s, lost)
		}
	}
}

// TestConservation: all packets are delivered or dropped and credits are conserved, with
// random changes of links, bit errors and losses. A second run with the same seed has the
// same result. Run itself verifies sums and credits.
func TestConservation(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n, w := randomWork(t)
		o := packet.Options{
			Control:     rapid.SampledFrom([]packet.Control{packet.DropTail, packet.Credit}).Draw(t, "control"),
			SampleEvery: engine.Time(rapid.IntRange(0, 20).Draw(t, "sample")),
		}
		if rapid.Bool().Draw(t, "errors") {
			o.BitErrorRate = 0.01
		}
		for i := range n.Links {
			n.Links[i].Buffer = rapid.SampledFrom([]int64{0, 9, 30}).Draw(t, "buffer")
		}
		time := engine.Time(0)
		for range rapid.IntRange(0, 6).Draw(t, "changes") {
			time += engine.Time(rapid.IntRange(0, 20).Draw(t, "at"))
			n.Changes = append(n.Changes, engine.Change{
				At: time, Link: int32(rapid.IntRange(0, len(n.Links)-1).Draw(t, "link")), Rate: rapid.SampledFrom([]float64{0, 0, 3e12, 8e12}).Draw(t, "rate"),
			})
		}

		used := make([]bool, len(w.Flows))
		for i := range w.Sources {
			s := &w.Sources[i]
			s.Process = rapid.SampledFrom([]packet.Process{packet.Periodic, packet.Greedy, packet.Window}).Draw(t, "process")
			switch s.Process {
			case packet.Greedy:
				s.Every, s.Order = 0, packet.Random
			case packet.Window:
				s.Every, s.Window = 0, 2
			}
			for f := s.First; f < s.End; f++ {
				if used[f] {
					s.Count, s.Last, s.End = 0, 0, s.First
				}
			}
			for f := s.First; f < s.End; f++ {
				used[f] = true
			}
		}

		s, log, err := packet.RunLog(n, w, o)
		repeated, log2, err2 := packet.RunLog(n, w, o)
		if (err == nil) != (err2 == nil) || !slices.Equal(log, log2) || err != nil && err.Error() != err2.Error() {
			t.Fatalf("%v, then %v", err, err2)
		}
		var d *packet.Deadlock
		if errors.As(err, &d) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}

		want := int64(0)
		for _, s := range w.Sources {
			want += s.Count * int64(s.End-s.First)
		}
		if s.Injected != want || s.Delivered+s.Dropped != want || int64(len(log)) != want || !slices.Equal(s.Links, repeated.Links) {
			t.Fatalf("%d injected, %d delivered, %d dropped; want %d", s.Injected, s.Delivered, s.Dropped, want)
		}
		bytes, passed := int64(0), int64(0)
		delivered := make([]int64, len(w.Flows))
		for _, a := range log {
			if !a.Dropped {
				delivered[a.Flow]++
			}
		}
		for f, count := range delivered { // lower bound: the last packet may be among the dropped ones
			bytes += bytesOf(w, int32(f), count) * int64(len(pathOf(n, w, int32(f))))
		}
		for _, l := range s.Links {
			passed += l.Bytes
		}
		if s.Dropped == 0 && passed != bytes || passed < bytes {
			t.Fatalf("links passed %d B, of %d B of deliveries, with %d drops", passed, bytes, s.Dropped)
		}
	})
}

// bytesOf returns the bytes of the given number of packets of a flow, including its last
// packet.
func bytesOf(w *packet.Work, flow int32, count int64) int64 {
	for _, s := range w.Sources {
		if count > 0 && s.First <= flow && flow < s.End {
			last := s.Last
			if last == 0 {
				last = s.Bytes
			}
			return (count-1)*int64(s.Bytes) + int64(last)
		}
	}
	return 0
}
