package flow_test

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"sim/engine"
	"sim/engine/flow"
)

// TestAddRemaining: a controlled run stops at given times, or when the last transfer of a class
// has ended. The bytes that remain on each link then equal those computed from the trace of Run,
// and the makespan is the same.
func TestAddRemaining(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := drawInstance(t, shape{tasks: 8})
		service := rapid.SampledFrom([]flow.Service{flow.MaxMin, flow.LevelPriority}).Draw(t, "service")
		want := in.run(t, service)
		e := in.evaluator(t, service)
		const classes = 2
		class, last := make([]int32, len(in.g.Tasks)), [classes]engine.Time{-1, -1}
		count, carried := [classes]int32{}, engine.Time(0) // end of the last transfer
		isClassed := func(id int) bool { return in.g.Tasks[id].Kind == engine.Transfer && class[id] >= 0 }
		for id := range class {
			class[id] = rapid.Int32Range(-1, classes-1).Draw(t, "class")
			if k := &in.g.Tasks[id]; k.Kind != engine.Transfer || k.Bytes == 0 || len(in.r.Of(int32(id))) == 0 {
				class[id] = -1
			} else {
				carried = max(carried, want.End[id])
			}
			if isClassed(id) {
				count[class[id]]++
				last[class[id]] = max(last[class[id]], want.End[id])
			}
		}
		e.PrepareControl(class, classes)
		for r := range int32(in.n.Resources()) {
			e.SetPeak(r, in.n.Rate(r))
		}
		check := func(now engine.Time) {
			got := make([]float64, len(in.n.Links))
			e.AddRemaining(got)
			for id, k := range in.g.Tasks {
				if k.Kind != engine.Transfer {
					continue
				}
				rest := float64(k.Bytes)
				steps := want.Rates(int32(id))
				for i, s := range steps {
					if i+1 < len(steps) {
						rest -= s.Rate * max(0, min(now, steps[i+1].At)-s.At).Seconds() / 8
					}
				}
				if want.End[id] <= now {
					rest = 0
				}
				for _, u := range in.r.Of(int32(id)) {
					if int(u.Resource) < len(got) {
						got[u.Resource] -= rest * u.Weight
					}
				}
			}
			for l, d := range got {
				if math.Abs(d) > 1 { // a byte, because times are rounded to ticks
					t.Fatalf("at %v link %d has %v B too many left", now, l, d)
				}
			}
		}
		if !e.Begin(engine.Never) {
			t.Fatal("the run does not begin")
		}
		if rapid.Bool().Draw(t, "by class") {
			ends := slices.DeleteFunc(slices.Clone(last[:]), func(at engine.Time) bool { return at < 0 })
			slices.Sort(ends)
			ends = slices.Compact(ends)
			for _, at := range ends {
				if now, ok := e.AwaitLast(); !ok || now != at {
					t.Fatalf("the last of a class ends at %v (%v), want %v", now, ok, at)
				}
			}
			for range classes { // the last transfer of another class may have ended at the same time
				if now, ok := e.AwaitLast(); ok && (len(ends) == 0 || now > ends[len(ends)-1]) {
					t.Fatalf("a further last transfer ends at %v", now)
				}
			}
			for c := range classes {
				if ended, total := e.Ended(int32(c)); total != count[c] || len(ends) > 0 && ended != total {
					t.Fatalf("%d of %d transfers of class %d have ended, want %d", ended, total, c, count[c])
				}
			}
			return
		}
		at := engine.Time(0)
		for range 4 {
			at += engine.Time(rapid.Int64Range(0, int64(want.Makespan)/2+1).Draw(t, "until"))
			now, ok := e.AwaitTime(at)
			// Tasks after the last transfer have no events. At its end both results are correct.
			if ok != (at < carried) && at != carried || ok && now != at {
				t.Fatalf("waiting until %v of %v comes to %v (%v)", at, carried, now, ok)
			}
			if !ok {
				return
			}
			check(now)
			for c := range classes {
				ended := int32(0)
				for id := range class {
					if isClassed(id) && int(class[id]) == c && want.End[id] <= now {
						ended++
					}
				}
				if got, total := e.Ended(int32(c)); total != count[c] || got > ended || got < ended && !slices.Contains(want.End, now) {
					t.Fatalf("at %v %d of %d transfers of class %d have ended, want %d", now, got, total, c, ended)
				}
			}
		}
		if c, ok := e.Finish(); !ok || c != want.Makespan {
			t.Fatalf("it ends at %v (%v), want %v", c, ok, want.Makespan)
		}
	})
}

// TestLongestPath: the tasks of the longest path are connected by edges. Their durations at full
// rate plus the lags between them equal the length of the longest path.
func TestLongestPath(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := drawInstance(t, shape{tasks: 9})
		e := in.evaluator(t, flow.MaxMin)
		took := func(id int32) float64 {
			k := &in.g.Tasks[id]
			if k.Kind != engine.Transfer {
				return float64(k.Duration)
			}
			if k.Bytes == 0 {
				return 0
			}
			return float64(8*k.Bytes) / in.fullRate(id) // 0 if the rate is unlimited
		}
		longest, length := make([]float64, len(in.g.Tasks)), 0.0
		for _, id := range slices.Backward(in.g.Order()) {
			for _, o := range in.g.Out(id) {
				longest[id] = max(longest[id], float64(o.Lag)+longest[o.To])
			}
			longest[id] += took(id)
			length = max(length, longest[id])
		}
		path := e.LongestPath(nil)
		sum := 0.0
		for i, id := range path {
			sum += took(id)
			if i > 0 {
				k := slices.IndexFunc(in.g.In(id), func(o engine.Edge) bool { return o.From == path[i-1] })
				if k < 0 {
					t.Fatalf("the path %v has no edge to %d", path, id)
				}
				sum += float64(in.g.In(id)[k].Lag)
			}
		}
		if len(in.g.In(path[0])) > 0 || len(in.g.Out(path[len(path)-1])) > 0 || math.Abs(sum-length) > 1e-9*length+20 {
			t.Fatalf("the path %v takes %v ticks, want %v", path, sum, length)
		}
		if again := e.LongestPath(path); len(again) != 2*len(path) || !slices.Equal(again[:len(path)], path) {
			t.Fatalf("appended to %v it is %v", path, again)
		}
	})
}

// TestFairBound: under MaxMin no capacities of the varying links give a makespan below the bound.
// The bound is at least Bound, and equals the makespan in an example of two transfers.
func TestFairBound(t *testing.T) {
	above := 0
	rapid.Check(t, func(t *rapid.T) {
		in := drawInstance(t, shape{tasks: 7})
		e := in.evaluator(t, flow.MaxMin)
		var varying []int32
		for r := range int32(len(in.n.Links)) {
			if rapid.Bool().Draw(t, "varies") {
				varying = append(varying, r)
			}
		}
		e.PrepareFairBound(varying)
		for range 4 {
			for _, r := range varying {
				e.SetRate(r, rapid.SampledFrom([]float64{100e9, 200e9, 300e9, 800e9}).Draw(t, "rate"))
			}
			plain, fair := e.Bound(), e.FairBound()
			makespan, ok := e.Makespan(engine.Never)
			if fair < plain || ok && fair > makespan {
				t.Fatalf("the bound is %v, the plain one %v, the makespan %v (%v)", fair, plain, makespan, ok)
			}
			if fair > plain {
				above++
			}
		}
	})
	if above == 0 {
		t.Error("the bound was never above the plain one")
	}
	// One link: a transfer of 20 us starts at 0 and is followed by 8 us of compute. One of 5 us
	// starts at 5 us and is followed by 20 us. They share for 10 us, so the second ends at 15 us.
	us := engine.Microsecond
	in := instance{g: &engine.Graph{}, n: &engine.Network{Nodes: 2, Links: []engine.Link{{To: 1, Rate: 800e9}}}}
	long := in.g.AddTask(engine.Task{Kind: engine.Transfer, Dst: 1, Flows: 1, Bytes: 2_000_000})
	short := in.g.AddTask(engine.Task{Kind: engine.Transfer, Dst: 1, Flows: 1, Bytes: 500_000})
	in.r = &engine.Routes{Start: []int32{0, 1, 2, 2, 2, 2}, Uses: []engine.Use{{Weight: 1}, {Weight: 1}}}
	in.g.AddEdge(in.g.AddTask(engine.Task{Duration: 5 * us}), short, 0)
	in.g.AddEdge(long, in.g.AddTask(engine.Task{Duration: 8 * us}), 0)
	in.g.AddEdge(short, in.g.AddTask(engine.Task{Duration: 20 * us}), 0)
	if err := in.g.Freeze(); err != nil {
		t.Fatal(err)
	}
	e := in.evaluator(t, flow.MaxMin)
	e.PrepareFairBound([]int32{0})
	makespan, _ := e.Makespan(engine.Never)
	for bound, want := range map[engine.Time]engine.Time{makespan: 35 * us, e.FairBound(): 35 * us, e.Bound(): 33 * us} {
		if bound > want || want-bound > 20 {
			t.Errorf("%v, want %v", bound, want)
		}
	}
}
