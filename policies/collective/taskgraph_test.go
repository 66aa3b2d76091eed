package collective

import (
	"errors"
	"sim/internal/numbers"
	"slices"
	"testing"

	"sim/engine"
	"sim/engine/flow"
	"sim/fabric/torus"
)

// TestAppend: no rank sends before its data is ready. A call appended after another starts when
// that one has ended. Every rank is done only when all that it sends and receives has arrived.
func TestAppend(t *testing.T) {
	o, err := torus.New(3, 3)
	if err != nil {
		t.Fatal(err)
	}
	n := o.Network(nil, engine.Link{Rate: 8e9})
	for _, r := range Table {
		for _, packets := range []bool{false, true} {
			p := &Problem{Call: Call{Kind: AllReduce, Group: numbers.Below(int32(9)), Bytes: 900000}, Network: n, Torus: o}
			s, err := r.Expand(t.Context(), p, Options{Hierarchical: Hierarchical{Domain: 3, Inner: "ring", Outer: "tree-packing"}})
			if errors.Is(err, ErrUnserved) {
				continue
			}
			if err != nil {
				t.Fatal(err)
			}
			links := s.Links()
			g := new(engine.Graph)
			var ready []int32
			for r := range 9 {
				ready = append(ready, g.AddTask(engine.Task{Duration: engine.Time(r) * engine.Microsecond}))
			}
			first := len(g.Tasks)
			a := AppendOptions{Ready: ready, Latencies: slices.Repeat([]engine.Time{engine.Nanosecond}, len(s.Transfers)), LinksKeepOrder: packets}
			middle := s.Append(g, a)
			second := len(g.Tasks)
			a.Ready = middle
			end := s.Append(g, a)
			if err := g.Freeze(); err != nil {
				t.Fatal(err)
			}
			routes := &engine.Routes{Start: make([]int32, 1, len(g.Tasks)+1)}
			for i := range g.Tasks {
				for _, from := range []int{first, second} {
					if k := i - from; k >= 0 && k < len(links) {
						// routed transfers all share the first link
						routes.Uses = append(routes.Uses, engine.Use{Resource: max(0, links[k]), Weight: 1})
					}
				}
				routes.Start = append(routes.Start, int32(len(routes.Uses)))
			}
			trace, err := flow.Run(t.Context(), g, n, routes, flow.Options{})
			if err != nil {
				t.Fatal(err)
			}
			for i, x := range s.Transfers {
				for _, call := range []struct {
					from        int
					ready, done []int32
				}{{first, ready, middle}, {second, middle, end}} {
					id := call.from + i
					if at := trace.Start[id]; at < trace.End[call.ready[x.Src]] {
						t.Fatalf("%s: transfer %d begins at %v, before its data is ready", r.Name, i, at)
					}
					if at := trace.End[id]; at > trace.End[call.done[x.Src]] || at+a.Latencies[i] > trace.End[call.done[x.Dst]] {
						t.Fatalf("%s: transfer %d ends at %v, after its ranks are done", r.Name, i, at)
					}
				}
			}
		}
	}
}

// TestInvalidCalls: Expand rejects invalid and unserved calls with the error that says which of
// the two they are.
func TestInvalidCalls(t *testing.T) {
	n := &engine.Network{Nodes: 6, Links: []engine.Link{{From: 0, To: 1, Rate: 1}, {From: 1, To: 0, Rate: 1}}}
	for _, c := range []struct {
		name string
		call Call
		want error
	}{
		{"ring", Call{Group: []int32{0}, Bytes: 1}, ErrCall},
		{"ring", Call{Group: []int32{0, 0}, Bytes: 1}, ErrCall},
		{"ring", Call{Group: []int32{0, 6}, Bytes: 1}, ErrCall},
		{"ring", Call{Group: []int32{0, 1}}, ErrCall},
		{"ring", Call{Group: []int32{0, 1}, Bytes: 1, Sizes: []int64{0, 1, 1, 0}}, ErrCall},
		{"direct", Call{Kind: SendReceive, Group: []int32{0, 1}, Bytes: 1}, ErrCall},
		{"direct", Call{Kind: AllToAll, Group: []int32{0, 1}, Sizes: []int64{0, -1, 1, 0}}, ErrCall},
		{"ring", Call{Kind: AllToAll, Group: []int32{0, 1}, Bytes: 1}, ErrUnserved},
		{"halving-doubling", Call{Group: []int32{0, 1, 2, 3, 4, 5}, Bytes: 6}, ErrUnserved},
		{"swing", Call{Group: []int32{0, 1, 2}, Bytes: 6}, ErrUnserved},
		{"bucket", Call{Group: []int32{0, 1, 2}, Bytes: 6}, ErrUnserved},
		{"tree-packing", Call{Group: []int32{0, 1, 2}, Bytes: 6}, ErrUnserved},
		{"multi-ring", Call{Group: []int32{0, 1, 2}, Bytes: 6}, ErrUnserved},
	} {
		r, err := ByName(c.name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := r.Expand(t.Context(), &Problem{Call: c.call, Network: n}, Options{}); !errors.Is(err, c.want) {
			t.Errorf("%s of %+v: %v, want %v", c.name, c.call, err, c.want)
		}
	}
}
