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

// TestReaction compares reactions with results computed by hand. Transfer 0 has three
// packets on link 0, with 1 us per packet. Transfer 1 has two packets on link 1, which is
// paused from the start.
//
// When transfer 0 has ended, at 3 us, the reaction schedules link 1 for 9 us. At its wake
// time of 5 us it replaces this by 7 us, at half the rate. Transfer 3, over link 0 from
// 10 us on, is interrupted by a pause at 10.5 us, while its first packet is being sent.
// That packet is completed, and the second one is sent when the link continues at 20 us.
func TestReaction(t *testing.T) {
	n := lineNetwork(2, engine.Link{})
	g := &engine.Graph{}
	g.AddTask(engine.Task{Kind: engine.Transfer, Src: 0, Dst: 1, Flows: 1, Bytes: 3000})
	g.AddTask(engine.Task{Kind: engine.Transfer, Src: 1, Dst: 2, Flows: 1, Bytes: 2000})
	g.AddEdge(g.AddTask(engine.Task{Duration: 10 * us}), g.AddTask(engine.Task{Kind: engine.Transfer, Src: 0, Dst: 1, Flows: 1, Bytes: 2000}), 0)
	if err := g.Freeze(); err != nil {
		t.Fatal(err)
	}
	w := pathsOver(n, nil, []int32{0}, []int32{1})
	var calls []engine.Time
	react := func(now engine.Time, ended []int32, free func(int32) engine.Time) ([]engine.Change, engine.Time) {
		calls = append(calls, now)
		switch now {
		case 0:
			return []engine.Change{{Link: 1, Planned: true}}, engine.Never
		case 3 * us:
			if !slices.Equal(ended, []int32{0}) {
				t.Errorf("at 3 us %v have ended", ended)
			}
			return []engine.Change{{At: 9 * us, Link: 1, Rate: 8e9, Planned: true}}, 5 * us
		case 5 * us:
			return []engine.Change{{At: 7 * us, Link: 1, Rate: 4e9, Planned: true}}, 10*us + us/2
		case 10 * us: // the compute has ended, and so has the first packet of link 1
			return nil, 10*us + us/2
		case 10*us + us/2:
			if f := free(0); f != 11*us {
				t.Errorf("link 0 is free at %v", f)
			}
			if f := free(1); f != 11*us {
				t.Errorf("link 1 is free at %v", f)
			}
			return []engine.Change{{At: now, Link: 0, Planned: true}, {At: 20 * us, Link: 0, Rate: 8e9, Planned: true}}, engine.Never
		}
		return nil, engine.Never
	}
	for _, ranks := range [][]int32{nil, {0, 0, 0, 0}} {
		calls = nil
		trace, _, err := packet.RunGraph(g, n, w.Flows, w.Paths, 1000, packet.Options{React: react, TaskRank: ranks})
		if err != nil {
			t.Fatal(err)
		}
		if want := []engine.Time{3 * us, 11 * us, 10 * us, 21 * us}; !slices.Equal(trace.End, want) {
			t.Errorf("tasks end at %v, want %v", trace.End, want)
		}
		if want := []engine.Time{0, 3 * us, 5 * us, 10 * us, 10*us + us/2, 11 * us, 21 * us}; !slices.Equal(calls, want) {
			t.Errorf("the reaction is called at %v, want %v", calls, want)
		}
	}
	for want, react := range map[string]packet.Reaction{
		"want a later time": func(now engine.Time, _ []int32, _ func(int32) engine.Time) ([]engine.Change, engine.Time) {
			return nil, now
		},
		"want planned changes in order": func(now engine.Time, _ []int32, _ func(int32) engine.Time) ([]engine.Change, engine.Time) {
			return []engine.Change{{At: now, Link: 0}}, engine.Never
		},
		"changes link 2": func(now engine.Time, _ []int32, _ func(int32) engine.Time) ([]engine.Change, engine.Time) {
			return []engine.Change{{At: now, Link: 2, Planned: true}}, engine.Never
		},
		"to 8e+09 b/s at 0s": func(now engine.Time, _ []int32, _ func(int32) engine.Time) ([]engine.Change, engine.Time) {
			return []engine.Change{{At: us, Planned: true}, {Rate: 8e9, Planned: true}}, engine.Never
		},
	} {
		if _, _, err := packet.RunGraph(g, n, w.Flows, w.Paths, 1000, packet.Options{React: react}); !errors.Is(err, packet.ErrWork) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	if _, _, err := packet.RunGraph(g, n, w.Flows, w.Paths, 1000, packet.Options{React: react, Control: packet.Credit}); !errors.Is(err, packet.ErrWork) {
		t.Errorf("beside credits: %v", err)
	}
}

// TestReactionAgainstChanges: changes that a reaction returns have the same effect as the
// same changes of the network that are known from the start.
func TestReactionAgainstChanges(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := lineNetwork(3, engine.Link{})
		w := pathsOver(n, nil, []int32{0}, []int32{1}, []int32{2}, []int32{0, 1}, []int32{1, 2}, []int32{0, 1, 2})
		g := &engine.Graph{}
		tasks := rapid.IntRange(1, 10).Draw(t, "tasks")
		for i := range int32(tasks) {
			f := rapid.SampledFrom(w.Flows).Draw(t, "flow")
			g.AddTask(engine.Task{Kind: engine.Transfer, Src: f.Src, Dst: f.Dst, Flows: 1, Bytes: int64(rapid.IntRange(1, 50_000).Draw(t, "bytes"))})
			if i > 0 && rapid.Bool().Draw(t, "waits") {
				g.AddEdge(int32(rapid.IntRange(0, int(i)-1).Draw(t, "for")), i, engine.Time(rapid.IntRange(0, 5).Draw(t, "lag"))*us)
			}
		}
		if err := g.Freeze(); err != nil {
			t.Fatal(err)
		}

		changeOfTask := make([]engine.Change, tasks) // relative to the end of the task
		for i := range changeOfTask {
			changeOfTask[i] = engine.Change{At: 1 + engine.Time(rapid.IntRange(0, 20).Draw(t, "delay"))*us/2, Link: int32(rapid.IntRange(0, 2).Draw(t, "link")), Rate: 1e9 * float64(rapid.IntRange(1, 16).Draw(t, "rate")), Planned: true}
		}

		var allChanges, pending []engine.Change
		react := func(now engine.Time, ended []int32, _ func(int32) engine.Time) ([]engine.Change, engine.Time) {
			for _, id := range ended {
				c := changeOfTask[id]
				c.At += now
				allChanges, pending = append(allChanges, c), append(pending, c)
			}
			pending = slices.DeleteFunc(pending, func(c engine.Change) bool { return c.At <= now })
			slices.SortStableFunc(pending, func(a, b engine.Change) int { return int(min(1, max(-1, a.At-b.At))) })
			return slices.Clone(pending), engine.Never
		}

		got, _, err := packet.RunGraph(g, n, w.Flows, w.Paths, 1000, packet.Options{React: react})
		if err != nil {
			t.Fatal(err)
		}

		later := *n
		later.Changes = allChanges
		slices.SortStableFunc(later.Changes, func(a, b engine.Change) int { return int(min(1, max(-1, a.At-b.At))) })
		want, _, err := packet.RunGraph(g, &later, w.Flows, w.Paths, 1000, packet.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(got.Start, want.Start) || !slices.Equal(got.End, want.End) {
			t.Fatalf("tasks end at %v, with the changes known at %v", got.End, want.End)
		}
	})
}
