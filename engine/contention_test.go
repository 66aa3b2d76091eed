package engine_test

import (
	"errors"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"sim/engine"
	"sim/engine/flow"
	"sim/engine/packet"
)

// contentionReference simulates a graph of compute tasks with a contention by scanning all tasks
// in every round. It returns starts and ends, engine.Never for tasks that do not start or end.
func contentionReference(g *engine.Graph) (start, end []engine.Time) {
	c, n := &g.Contention, len(g.Tasks)
	start, end = slices.Repeat([]engine.Time{engine.Never}, n), slices.Repeat([]engine.Time{engine.Never}, n)
	ready := slices.Repeat([]engine.Time{engine.Never}, n)
	type key struct{ round, place int }
	less := func(a, b key) bool { return a.round < b.round || a.round == b.round && a.place < b.place }
	arrived := map[int32]key{} // tasks that wait for a grant
	request, offer, servers := map[int32]engine.Request{}, map[int32]engine.Offer{}, map[int32][]int32{}
	place := map[int32]int{}
	for i, r := range c.Requests {
		request[r.Task], place[r.Task] = r, i
	}
	for i, o := range c.Offers {
		offer[o.Task], place[o.Task] = o, i
	}
	for i, h := range c.Holds {
		if _, ok := place[h.First]; !ok {
			place[h.First] = i
		}
		servers[h.First] = append(servers[h.First], h.Server)
	}
	partner := map[int32]int32{} // request of a matched offer
	held := map[int32]bool{}
	accepts := func(r engine.Request, o engine.Offer) bool {
		return r.Box == o.Box && (r.AnySource || r.Source == o.Source) && (r.AnyTag || r.Tag == o.Tag)
	}
	now := engine.Time(0)
	ended := make([]bool, n)
	var finish func(id int32)
	finish = func(id int32) {
		ended[id], end[id] = true, now
		for _, h := range c.Holds {
			if h.Last == id {
				held[h.Server] = false
			}
		}
		for _, o := range c.Offers {
			if r, ok := partner[o.Task]; ok && o.Until == id {
				start[r] = now
				finish(r)
			}
		}
	}
	begin := func(id int32) { start[id], end[id] = now, now+g.Tasks[id].Duration }
	for round := 0; ; {
		for changed := true; changed; { // events at this time that need no grant
			changed = false
			for id := range int32(n) {
				if ready[id] == engine.Never {
					at, open := engine.Time(0), false
					for _, e := range g.In(id) {
						open = open || !ended[e.From]
						at = max(at, end[e.From]+e.Lag)
					}
					if !open {
						ready[id], changed = at, true
					}
				}
				if ready[id] <= now && start[id] == engine.Never && place[id] == 0 && !slices.Contains(keys(request, offer, servers), id) {
					begin(id)
					changed = true
				}
				if start[id] <= now && end[id] <= now && !ended[id] {
					finish(id)
					changed = true
				}
			}
		}
		round++
		granted := false
		var fresh []int32
		for _, id := range keys(request, offer, servers) {
			if _, ok := arrived[id]; !ok && ready[id] <= now {
				arrived[id] = key{round, place[id]}
				fresh = append(fresh, id)
			}
		}
		slices.SortFunc(fresh, func(a, b int32) int { return place[a] - place[b] })
		match := func(o, r int32) {
			partner[o] = r
			begin(o)
			granted = true
		}
		taken := func(r int32) bool {
			for _, k := range partner {
				if k == r {
					return true
				}
			}
			return false
		}
		for _, r := range fresh {
			if _, ok := request[r]; !ok {
				continue
			}
			best := int32(-1)
			for o := range offer {
				if k, here := arrived[o]; here && !slices.Contains(fresh, o) && start[o] == engine.Never && accepts(request[r], offer[o]) && (best < 0 || less(k, arrived[best])) {
					best = o
				}
			}
			if best >= 0 {
				match(best, r)
			}
		}
		for _, o := range fresh {
			if _, ok := offer[o]; !ok {
				continue
			}
			best := int32(-1)
			for r := range request {
				if k, here := arrived[r]; here && !taken(r) && accepts(request[r], offer[o]) && (best < 0 || less(k, arrived[best])) {
					best = r
				}
			}
			if best >= 0 {
				match(o, best)
			}
		}
		for again := true; again; {
			again = false
			for id, list := range servers {
				k, here := arrived[id]
				if !here || start[id] != engine.Never {
					continue
				}
				free := true
				for _, s := range list {
					free = free && !held[s]
					for other, wants := range servers {
						if ko, waits := arrived[other]; waits && start[other] == engine.Never && slices.Contains(wants, s) && less(ko, k) {
							free = false
						}
					}
				}
				if free {
					for _, s := range list {
						held[s] = true
					}
					begin(id)
					granted, again = true, true
				}
			}
		}
		if granted {
			continue
		}
		next := engine.Never
		for id := range n {
			if ready[id] != engine.Never && ready[id] > now {
				next = min(next, ready[id])
			}
			if start[id] != engine.Never && !ended[id] {
				next = min(next, end[id])
			}
		}
		if next == engine.Never {
			return start, end
		}
		now = next
	}
}

// keys returns the tasks that need a grant after they have become ready.
func keys(requests map[int32]engine.Request, offers map[int32]engine.Offer, servers map[int32][]int32) (all []int32) {
	for id := range requests {
		all = append(all, id)
	}
	for id := range offers {
		all = append(all, id)
	}
	for id := range servers {
		all = append(all, id)
	}
	slices.Sort(all)
	return all
}

// drawContention draws a graph of compute tasks. Some of them compete.
func drawContention(t *rapid.T) *engine.Graph {
	g := &engine.Graph{}
	n := int32(rapid.IntRange(1, 14).Draw(t, "tasks"))
	small := func(what string, max int) int32 { return int32(rapid.IntRange(0, max).Draw(t, what)) }
	for i := range n {
		g.AddTask(engine.Task{Duration: engine.Time(small("duration", 4))})
		for range small("edges", 2) {
			if i > 0 {
				g.AddEdge(small("from", int(i-1)), i, engine.Time(small("lag", 2)))
			}
		}
	}
	c := &g.Contention
	for id := range n {
		source, tag, box := small("source", 1), uint32(small("tag", 1)), small("box", 1)
		switch small("role", 5) {
		case 0, 1:
			servers := map[int32]bool{}
			for range 1 + small("servers", 1) {
				servers[small("server", 1)] = true
			}
			last := id
			if small("long", 2) == 0 && id+1 < n {
				last = id + 1
				g.AddEdge(id, last, 0)
			}
			for s := range servers {
				c.Holds = append(c.Holds, engine.Hold{Server: s, First: id, Last: last})
			}
		case 2:
			c.Requests = append(c.Requests, engine.Request{Box: box, Task: id, Source: source, Tag: tag, AnySource: small("any source", 1) == 0, AnyTag: small("any tag", 1) == 0})
		case 3, 4:
			until := id
			if small("until", 2) == 0 && id+1 < n {
				until = id + 1
				g.AddEdge(id, until, 0)
			}
			c.Offers = append(c.Offers, engine.Offer{Box: box, Task: id, Until: until, Source: source, Tag: tag})
		}
	}
	// A request ends with its offer, so no offer may end with a request.
	request := map[int32]bool{}
	for _, r := range c.Requests {
		request[r.Task] = true
	}
	c.Holds = slices.DeleteFunc(c.Holds, func(h engine.Hold) bool { return request[h.Last] })
	c.Offers = slices.DeleteFunc(c.Offers, func(o engine.Offer) bool { return request[o.Until] })
	return g
}

// TestContention: starts and ends at flow and packet level equal the results of
// contentionReference.
func TestContention(t *testing.T) {
	complete, stalled := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		g := drawContention(t)
		if err := g.Freeze(); err != nil {
			t.Fatal(err)
		}
		start, end := contentionReference(g)
		whole := !slices.Contains(end, engine.Never)
		n := &engine.Network{Nodes: 2}
		fluid, err := flow.Run(t.Context(), g, n, &engine.Routes{Start: make([]int32, len(g.Tasks)+1)}, flow.Options{})
		if !whole && !errors.Is(err, flow.ErrStalled) || whole && err != nil {
			t.Fatalf("fluid: %v; the reference ends: %v %v", err, whole, end)
		}
		packets, _, err := packet.RunGraph(g, n, nil, &engine.Paths{Degree: 1, Link: []int32{-1, -1}}, 1, packet.Options{})
		if !whole && !errors.Is(err, packet.ErrStalled) || whole && err != nil {
			t.Fatalf("packets: %v; the reference ends: %v %v", err, whole, end)
		}
		if !whole {
			stalled++
			return
		}
		complete++
		for name, got := range map[string]*engine.Trace{"fluid": fluid, "packets": packets} {
			if !slices.Equal(got.Start, start) || !slices.Equal(got.End, end) {
				t.Fatalf("%s: starts %v and ends %v, want %v and %v", name, got.Start, got.End, start, end)
			}
			path := got.CriticalPath(g)
			if first := path[0]; got.Start[first] != 0 {
				t.Fatalf("%s: the critical path %v begins at %v", name, path, got.Start[first])
			}
		}
	})
	if complete == 0 || stalled == 0 {
		t.Errorf("%d graphs ended and %d stalled, want some of each", complete, stalled)
	}
}

// TestContentionStateCopy: a copy made during a run decides as the original does, whatever the
// copy did before. The same holds for a state that was reset.
func TestContentionStateCopy(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := drawContention(t)
		if err := g.Freeze(); err != nil {
			t.Fatal(err)
		}
		a, b := g.NewContentionState(), g.NewContentionState()
		if a == nil {
			t.Skip("nothing competes")
		}
		// play drives all states with the same events for some rounds. In each round a task
		// arrives or ends.
		type state struct{ arrived, granted, ended []bool }
		n := len(g.Tasks)
		play := func(rounds int, s *state, all ...*engine.ContentionState) {
			for range rounds {
				id := rapid.Int32Range(0, int32(n-1)).Draw(t, "task")
				arrives := all[0].Decides(id) && !s.arrived[id]
				ends := !s.ended[id] && (s.granted[id] || !all[0].Decides(id))
				if slices.ContainsFunc(g.In(id), func(e engine.Edge) bool { return !s.ended[e.From] }) || !arrives && !ends {
					continue
				}
				if s.arrived[id] = true; !arrives {
					s.ended[id] = true
				}
				if !all[0].Involves(id) {
					continue
				}
				var first []int32
				for k, c := range all {
					got := []int32{}
					if arrives {
						c.Arrive(id)
					} else {
						c.Ended(id, func(r int32) { got = append(got, r) })
					}
					requests := len(got)
					pending := c.Pending()
					got = append(got, c.Resolve()...)
					if c.Pending() || !pending && len(got) > requests {
						t.Fatal("something is left to decide, or was decided although nothing was pending")
					}
					if k > 0 && !slices.Equal(got, first) {
						t.Fatalf("task %d lets %v end or start in one, %v in the other", id, first, got)
					}
					first = got
					for i, r := range got {
						s.granted[r], s.ended[r] = true, s.ended[r] || i < requests
					}
				}
			}
		}
		fresh := func() *state { return &state{make([]bool, n), make([]bool, n), make([]bool, n)} }
		s := fresh()
		play(10, fresh(), b)
		play(10, s, a)
		b.CopyFrom(a)
		play(20, s, a, b)
		if !slices.Equal(a.Causes(), b.Causes()) {
			t.Fatalf("causes are %v in one and %v in the other", a.Causes(), b.Causes())
		}
		a.Reset()
		play(20, fresh(), g.NewContentionState(), a)
	})
}

// TestContentionContracted: merging the tasks without a role preserves the makespan and the
// start of every task with a role.
func TestContentionContracted(t *testing.T) {
	merged := 0
	rapid.Check(t, func(t *rapid.T) {
		g := drawContention(t)
		if err := g.Freeze(); err != nil {
			t.Fatal(err)
		}
		small, origin, err := engine.Contract(g, func(int32) bool { return false }, func(id int32) engine.Time { return g.Tasks[id].Duration })
		if err != nil {
			t.Fatal(err)
		}
		start, end := contentionReference(g)
		got, gotEnd := contentionReference(small)
		if slices.Contains(end, engine.Never) != slices.Contains(gotEnd, engine.Never) {
			t.Fatalf("tasks end at %v, contracted at %v", end, gotEnd)
		}
		for id, from := range origin {
			if from >= 0 && g.Competes(from) && !slices.Contains(end, engine.Never) && (got[id] != start[from] || gotEnd[id] != end[from]) {
				t.Fatalf("task %d runs from %v to %v, contracted from %v to %v", from, start[from], end[from], got[id], gotEnd[id])
			}
		}
		if !slices.Contains(end, engine.Never) && len(end) > 0 && gotEnd[len(gotEnd)-1] != slices.Max(end) {
			t.Fatalf("the makespan is %v, contracted %v", slices.Max(end), gotEnd[len(gotEnd)-1])
		}
		if len(small.Tasks) < len(g.Tasks)+2 {
			merged++
		}
	})
	if merged == 0 {
		t.Error("no task was ever merged")
	}
}
