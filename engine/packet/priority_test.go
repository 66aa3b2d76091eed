package packet_test

import (
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"sim/engine"
	"sim/engine/packet"
)

// TestEqualRanks: equal ranks have no effect, whatever their value. The reference is a
// run without ranks, with unbounded queues, finite queues and bit errors.
func TestEqualRanks(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n, w := randomWork(t)
		o := packet.Options{Seed: 3, Until: 2000, BitErrorRate: rapid.SampledFrom([]float64{0, 0.01}).Draw(t, "errors")}
		for i := range n.Links {
			n.Links[i].Buffer = rapid.SampledFrom([]int64{0, 9, 14, 30}).Draw(t, "buffer")
		}

		g, rank := &engine.Graph{}, int32(rapid.IntRange(-1e6, 1e6).Draw(t, "rank"))
		for i, f := range w.Flows {
			g.AddTask(engine.Task{Kind: engine.Transfer, Src: f.Src, Dst: f.Dst, Flows: 1, Bytes: int64(rapid.IntRange(0, 60).Draw(t, "bytes"))})
			if i > 0 && rapid.Bool().Draw(t, "after") {
				g.AddEdge(int32(i-1), int32(i), 2)
			}
		}
		if err := g.Freeze(); err != nil {
			t.Fatal(err)
		}

		ranked := o
		ranked.TaskRank = slices.Repeat([]int32{rank}, len(g.Tasks))
		got, stats, err := packet.RunGraph(g, n, w.Flows, w.Paths, 4, ranked)
		want, wantStats, err2 := packet.RunGraph(g, n, w.Flows, w.Paths, 4, packet.ForceQueues(o))
		if err != nil || err2 != nil {
			if errors.Is(err, packet.ErrStalled) && errors.Is(err2, packet.ErrStalled) && err.Error() == err2.Error() {
				return
			}
			t.Fatal(err, err2)
		}

		for i := range stats.Links {
			if l := &stats.Links[i]; l.MaxThrough > l.MaxQueue {
				t.Fatalf("link %d: %d of %d packets came from elsewhere", i, l.MaxThrough, l.MaxQueue)
			}
			stats.Links[i].MaxThrough = 0
		}
		if !reflect.DeepEqual(got, want) || !reflect.DeepEqual(stats, wantStats) {
			t.Fatalf("ranked %+v %+v\nplain %+v %+v", got, stats, want, wantStats)
		}
	})
}

// TestRanks compares priorities with results computed by hand. 40 tasks start at once on
// a link that sends a packet per microsecond. The first packet to arrive is sent first;
// the others follow by rank, and equal ranks in the order of arrival. No packet at the
// first link comes from another link. The second link is as fast, so no packet waits
// there.
func TestRanks(t *testing.T) {
	n := lineNetwork(2, engine.Link{})
	g := &engine.Graph{}
	ranks := []int32{}
	for i := range 40 {
		g.AddTask(engine.Task{Kind: engine.Transfer, Src: 0, Dst: 2, Flows: 1, Bytes: 1000})
		ranks = append(ranks, int32((40-i)/2)) // 20 19 19 18 18 .. 1 1 0
	}
	if err := g.Freeze(); err != nil {
		t.Fatal(err)
	}
	w := pathsOver(n, nil, []int32{0, 1})
	trace, s, err := packet.RunGraph(g, n, w.Flows, w.Paths, 1000, packet.Options{TaskRank: ranks})
	if err != nil {
		t.Fatal(err)
	}
	for i, end := range trace.End {
		var position int // in the order of transmission, from 0; of two tasks with equal ranks, the odd one is earlier
		switch {
		case i == 0:
			position = 0
		case i == 39:
			position = 1
		case i%2 == 1:
			position = 39 - i
		default:
			position = 41 - i
		}
		if want := engine.Time(position+2) * us; end != want {
			t.Errorf("task %d of rank %d ends at %v, want %v", i, ranks[i], end, want)
		}
	}
	if s.Links[0].MaxThrough != 0 || s.Links[1].MaxThrough > 1 {
		t.Errorf("%+v", s.Links)
	}
}

// TestInvalidRanks: ranks that do not fit the graph or the options are rejected.
func TestInvalidRanks(t *testing.T) {
	n := lineNetwork(1, engine.Link{})
	g := &engine.Graph{}
	g.AddTask(engine.Task{Kind: engine.Transfer, Src: 0, Dst: 1, Flows: 1, Bytes: 1})
	if err := g.Freeze(); err != nil {
		t.Fatal(err)
	}
	w := pathsOver(n, nil, []int32{0})
	for want, o := range map[string]packet.Options{
		"2 ranks for 1 tasks": {TaskRank: []int32{1, 2}},
		"credits":             {TaskRank: []int32{1}, Control: packet.Credit},
		"new paths":           {TaskRank: []int32{1}, Rewire: []packet.Rewire{{Paths: w.Paths}}},
	} {
		if _, _, err := packet.RunGraph(g, n, w.Flows, w.Paths, 1, o); !errors.Is(err, packet.ErrWork) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
	if _, err := packet.Run(n, w, packet.Options{TaskRank: []int32{1}}); !errors.Is(err, packet.ErrWork) {
		t.Error(err)
	}
}
