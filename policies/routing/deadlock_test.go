package routing

import (
	"errors"
	"fmt"
	"testing"

	"sim/engine"
	"sim/engine/packet"
	"sim/fabric/torus"
)

// TestDeadlock verifies that cycles of dependencies cause deadlocks. Packets along a cycle of
// yxZYX, with wild hops in dimension order, block each other in buffers of one packet. The same
// traffic on xyZYX, which has no cycle, completes.
func TestDeadlock(t *testing.T) {
	o, err := torus.New(4, 4, 4)
	if err != nil {
		t.Fatal(err)
	}
	const bytes = 1000
	n := o.Network(nil, engine.Link{Rate: 8e9, Latency: 10 * engine.Nanosecond, Channels: 2, Buffer: bytes})
	p := &Problem{Network: n, Torus: o, Flows: everyPair(o.Nodes())}
	set := func(wild ...string) (*Candidates, packet.Cycle) {
		c, err := NewCandidates(p, WildRule{WildFirst{Wild: wild}, []string{"z", "y", "x"}, false})
		if err != nil {
			t.Fatal(err)
		}
		degree, link := o.Ports()
		d := packet.NewDependencies(n, degree, link, 2)
		for _, f := range p.Flows {
			for _, steps := range c.Paths(f) {
				if err := d.Add(f.Src, steps); err != nil {
					t.Fatal(err)
				}
			}
		}
		return c, d.Cycle()
	}
	cyclic, cycle := set("y", "x")
	if cycle == nil {
		t.Fatal("yxZYX has no cycle")
	}
	t.Log("yxZYX:", cycle.Names(n))
	acyclic, none := set("x", "y")
	if none != nil {
		t.Fatalf("xyZYX has a cycle: %s", none.Names(n))
	}
	along, instead := pairsAlong(t, o, p, cyclic, acyclic, cycle)
	simulate := func(w *packet.Work) (*packet.Stats, error) {
		w.Sources = []packet.Source{{End: int32(len(w.Flows)), Bytes: bytes, Count: 100}}
		return packet.Run(n, w, packet.Options{Control: packet.Credit})
	}
	_, err = simulate(along)
	var locked *packet.Deadlock
	if !errors.As(err, &locked) || len(locked.Cycle) == 0 {
		t.Errorf("along the cycle: %v", err)
	}
	t.Log(err)
	s, err := simulate(instead)
	if err != nil {
		t.Fatalf("the same traffic on xyZYX: %v", err)
	}
	if want := int64(100 * len(instead.Flows)); s.Delivered != want {
		t.Errorf("%d of %d delivered", s.Delivered, want)
	}
}

// pairsAlong returns a flow for every pair of consecutive channels on a cycle, with a path over
// both, and the paths of the same flows in another set.
func pairsAlong(t *testing.T, o *torus.Torus, p *Problem, cyclic, other *Candidates, cycle packet.Cycle) (along, instead *packet.Work) {
	t.Helper()
	degree, link := o.Ports()
	along = &packet.Work{Paths: &engine.Paths{Degree: degree, Link: link}}
	instead = &packet.Work{Paths: &engine.Paths{Degree: degree, Link: link}}
	find := func(from, to packet.Channel) (engine.Flow, []engine.Step) {
		for _, f := range p.Flows {
			for _, steps := range cyclic.Paths(f) {
				node, last := f.Src, packet.Channel{Link: -1}
				for _, s := range steps {
					l := link[int(node)*degree+s.Port()]
					now := packet.Channel{Link: l, VC: int32(s.Channel())}
					if last == from && now == to {
						return f, steps
					}
					node, last = p.Network.Links[l].To, now
				}
			}
		}
		t.Fatalf("no path takes %v and then %v", from, to)
		return engine.Flow{}, nil
	}
	for i, c := range cycle {
		f, steps := find(c, cycle[(i+1)%len(cycle)])
		along.Flows = append(along.Flows, f)
		along.Paths.Add(steps...)
		instead.Flows = append(instead.Flows, f)
		paths := other.Paths(f)
		instead.Paths.Add(paths[len(paths)-1]...)
	}
	if fmt.Sprint(along.Paths.Step) == fmt.Sprint(instead.Paths.Step) {
		t.Fatal("both take the same paths")
	}
	return along, instead
}
