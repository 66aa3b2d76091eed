package collective

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"sim/engine"
)

// TestDataTensor compares with the workload of the twisted-tori study on 8x4x4, counted
// by hand: an all-to-all in 4 slices of 32 nodes, and a packet stream from every node to
// its z successor. A stream of 512 B of payload at 448 kb/s for 0.1 s has 10 packets per
// flow, 9.142857 ms apart.
func TestDataTensor(t *testing.T) {
	source := OnOff{Rate: 448e3, PayloadBytes: 512, WireBytes: 542, Start: engine.Second, Duration: 100 * engine.Millisecond}
	if err := source.Check(); err != nil || source.Packets() != 10 {
		t.Errorf("%d packets, %v", source.Packets(), err)
	}
	if interval := source.Interval(); interval < 9.142857e9 || interval > 9.142858e9 {
		t.Errorf("a packet each %g ticks", interval)
	}
	o := newTorus(t, "001000", 8, 4, 4)
	tensor := must(SliceAllToAll(o, []int{0, 1}, 5420, nil))(t)
	checkTraffic(t, tensor)
	wantPairs(t, tensor, nil, func(s, d int32) bool { return o.Coord(s, 2) == o.Coord(d, 2) })
	if len(tensor.Flows) != 4*32*31 {
		t.Errorf("%d flows in slices", len(tensor.Flows))
	}
	data := must(RingSteps(o, []int{2}, LinkRing, false, 5420, nil))(t)
	checkTraffic(t, data)
	wantPairs(t, data, nil, func(s, d int32) bool { to, _ := o.Next(s, 2, true); return to == d })
	// Rings of 16 nodes through the y-z slices, bidirectional, over links.
	o = newTorus(t, "", 8, 4, 4)
	bidirectional := must(RingSteps(o, []int{1, 2}, LinkRing, true, 5420, nil))(t)
	if len(bidirectional.Flows) != 2*128 {
		t.Errorf("%d flows of rings", len(bidirectional.Flows))
	}
	neighbours := must(NearestNeighbour(o, 1, nil))(t)
	for _, f := range bidirectional.Flows {
		if o.Coord(f.Src, 0) != o.Coord(f.Dst, 0) || !slices.Contains(neighbours.Flows, f) {
			t.Errorf("the ring goes %v, out of its slice or over no link", f)
		}
	}
	if _, err := SliceAllToAll(o, []int{0, 3}, 1, nil); err == nil || !strings.Contains(err.Error(), "dimensions x,d3 of 8x4x4") {
		t.Error(err)
	}
	for want, s := range map[string]OnOff{
		"a rate above 0": {},
		"send none in 0.001s; want at least 0.009142857143s": {Rate: 448e3, PayloadBytes: 512, WireBytes: 542, Duration: engine.Millisecond},
		"at most the packet size":                            {Rate: 1, PayloadBytes: 2, WireBytes: 1, Duration: 1},
		"more than one packet per picosecond":                {Rate: 1e13, PayloadBytes: 1, WireBytes: 1, Duration: 1},
		"starting at -1e-12s":                                {Rate: 1, PayloadBytes: 1, WireBytes: 1, Start: -1, Duration: 1},
	} {
		if err := s.Check(); !errors.Is(err, ErrTraffic) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v; want %q", err, want)
		}
	}
}

// TestForms checks the forms of rings along a twisted z. LinkRing follows links, which
// leave the line. FoldedRing stays on the line and uses each of its links once per
// direction, also in meshes and for any size. Nodes that are down are skipped.
func TestForms(t *testing.T) {
	o := newTorus(t, "000010", 8, 4, 4)
	for _, ring := range must(RingsAlong(o, []int{2}, LinkRing, nil))(t) {
		if len(ring) != 8 || o.Coord(ring[4], 0) == o.Coord(ring[0], 0) {
			t.Fatalf("ring %v", ring)
		}
	}
	for size := 2; size < 9; size++ {
		m := newTorus(t, "", 2, size)
		if err := m.Mesh(1); err != nil {
			t.Fatal(err)
		}
		for _, ring := range must(RingsAlong(m, []int{1}, FoldedRing, nil))(t) {
			up, down := make([]int, size), make([]int, size)
			for i, a := range ring {
				from, to := m.Coord(a, 1), m.Coord(ring[(i+1)%size], 1)
				if m.Coord(a, 0) != m.Coord(ring[0], 0) || max(from-to, to-from) > 2 {
					t.Fatalf("ring %v", ring)
				}
				for c := min(from, to); c < max(from, to); c++ {
					if from < to {
						up[c]++
					} else {
						down[c]++
					}
				}
			}
			for c := range size - 1 {
				if up[c] != 1 || down[c] != 1 {
					t.Fatalf("ring %v takes link %d %d times up and %d down", ring, c, up[c], down[c])
				}
			}
		}
	}
	faulty := make([]bool, o.Nodes())
	faulty[1], faulty[4], faulty[5], faulty[6] = true, true, true, true // in the lines 0..3 and 4..7
	stage := must(RingsAlong(o, []int{2}, LineRing, faulty))(t)
	if len(stage) != 31 || !slices.Equal(stage[0], []int32{0, 2, 3}) {
		t.Errorf("%d rings, the first %v", len(stage), stage[0])
	}
	// A slice of odd sizes in a mesh has no ring over links; its nodes are visited in
	// order.
	m := newTorus(t, "", 3, 3, 2)
	if err := m.Mesh(0, 1); err != nil {
		t.Fatal(err)
	}
	if stage := must(RingsAlong(m, []int{1, 0}, LinkRing, nil))(t); len(stage) != 2 || len(stage[0]) != 9 {
		t.Errorf("rings %v", stage)
	}
	// A slice of a twisted y and an untwisted z contains its links, and its ring is
	// closed.
	twisted := newTorus(t, "", 2, 3, 3)
	if err := twisted.SetShift([][]int{nil, {1, 0, 0}, nil}); err != nil {
		t.Fatal(err)
	}
	near := must(NearestNeighbour(twisted, 1, nil))(t)
	for _, f := range must(RingSteps(twisted, []int{1, 2}, LinkRing, true, 1, nil))(t).Flows {
		if !slices.Contains(near.Flows, f) {
			t.Errorf("the ring goes %v, over no link", f)
		}
	}
}
