package trace

import (
	"fmt"
	"maps"
	"slices"

	"sim/engine"
)

// joins reports whether a call moves nothing, so that it only joins its ranks.
func (c *Collected) joins() bool { return c.Kind == Barrier || c.Bytes == 0 && c.Sizes == nil }

// eachCall visits the calls of each set of each group, in order, with the operations of its ranks, which are valid until
// visit returns. It fails if ranks disagree about one.
func (t *building) eachCall(visit func(c Collected, members []place) error) error {
	calls := make([]map[int32]map[int32][]int32, len(t.Groups)) // by group, set and rank: operations in order
	for rank, ops := range t.Ops {
		for i := range ops {
			o := &ops[i]
			if o.Kind != Call {
				continue
			}
			if calls[o.Group] == nil {
				calls[o.Group] = map[int32]map[int32][]int32{}
			}
			set := t.Groups[o.Group].In[rank]
			if calls[o.Group][set] == nil {
				calls[o.Group][set] = map[int32][]int32{}
			}
			calls[o.Group][set][int32(rank)] = append(calls[o.Group][set][int32(rank)], int32(i))
		}
	}
	for g := range calls {
		for _, s := range slices.Sorted(maps.Keys(calls[g])) {
			if err := t.callsOf(int32(g), s, calls[g][s], visit); err != nil {
				return err
			}
		}
	}
	return nil
}

// callsOf visits the calls of one set; ops are the operations by rank.
func (t *building) callsOf(g, s int32, ops map[int32][]int32, visit func(c Collected, members []place) error) error {
	ranks, name := t.Groups[g].Sets[s], t.Groups[g].Name
	first := ranks[0]
	nodes := make([]int32, len(ranks))
	for i, r := range ranks {
		if len(ops[r]) != len(ops[first]) {
			return wrong("as many on each", "group %.40q: rank %d makes %d calls, and rank %d %d", name, first, len(ops[first]), r, len(ops[r]))
		}
		nodes[i] = t.node(r)
	}
	members := make([]place, len(ranks))
	for k := range ops[first] {
		for i, r := range ranks {
			members[i] = place{r, ops[r][k]}
		}
		o := t.op(members[0])
		c := Collected{Kind: o.Coll, Bytes: o.Bytes, Nodes: nodes, Set: [2]int32{g, s}}
		for _, p := range members {
			its := t.op(p)
			switch {
			case its.Coll != o.Coll:
				return wrong("one collective", "call %d of group %.40q: %s on rank %d (%.40q), and %s on rank %d (%.40q)", k, name, o.Coll, first, o.Name, its.Coll, p.rank, its.Name)
			case its.Bytes == o.Bytes || o.Coll == Barrier:
			case o.Coll != AllToAll:
				return wrong("one size", "call %d of group %.40q, %s: %d bytes on rank %d, and %d on rank %d", k, name, o.Coll, o.Bytes, first, its.Bytes, p.rank)
			default:
				c.Sizes = make([]int64, len(ranks))
			}
		}
		for i := range c.Sizes {
			c.Sizes[i] = t.op(members[i]).Bytes
		}
		if err := visit(c, members); err != nil {
			return err
		}
	}
	return nil
}

// callError names the call that an error is about.
func (t *building) callError(c Collected, err error) error {
	return fmt.Errorf("%s of group %.40q: %w", c.Kind, t.Groups[c.Set[0]].Name, err)
}

// calls expands the collective calls of each set of each group, in order.
func (t *building) calls() error {
	return t.eachCall(func(c Collected, members []place) error {
		ready, joint := make([]int32, len(members)), int32(-1) // joint is the start of a call that holds servers
		for i, p := range members {
			ready[i] = t.wait[p.rank][p.op]
		}
		if slices.ContainsFunc(members, func(p place) bool { return t.server(p) >= 0 }) {
			joint = t.milestone(members[0], ready...)
			ready = slices.Repeat([]int32{joint}, len(ready))
		}
		ends, err := t.expand(c, ready, members[0])
		if err != nil {
			return t.callError(c, err)
		}
		for i, p := range members {
			if joint >= 0 {
				ends[i] = t.milestone(p, ends[i])
				t.hold(p, joint, ends[i])
			}
			t.done[p.rank][p.op] = ends[i]
		}
		return nil
	})
}

// expand appends the tasks of a call, of one rank or of no bytes none but what joins them.
func (t *building) expand(c Collected, ready []int32, first place) ([]int32, error) {
	if len(ready) == 1 {
		return ready, nil
	}
	if t.Expand == nil || c.joins() {
		return slices.Repeat([]int32{t.milestone(first, ready...)}, len(ready)), nil
	}
	g := t.out.Graph
	ends, err := t.Expand(g, c, ready)
	if err != nil {
		return nil, err
	}
	for i := len(t.out.Rank); i < len(g.Tasks); i++ {
		if k := &g.Tasks[i]; k.Kind == engine.Transfer && (k.Bytes == 0 || k.Src == k.Dst) {
			*k = engine.Task{} // as messages of no bytes
		}
	}
	t.own(first)
	if t.Most > 0 && len(g.Tasks) > t.Most {
		return nil, TooLarge{len(g.Tasks), t.Most}
	}
	return ends, nil
}

// Aggregate is a Builder.Expand in which each rank sends its neighbour on a ring all that it sends in the collective, at
// once: what few transfers can say about many.
func Aggregate(g *engine.Graph, c Collected, ready []int32) ([]int32, error) {
	n := len(c.Nodes)
	all := g.AddTask(engine.Task{})
	for _, r := range ready {
		g.AddEdge(r, all, 0)
	}
	done := make([]int32, n)
	for i := range done {
		done[i] = g.AddTask(engine.ComputeAt(c.Nodes[i], 0))
	}
	for i, node := range c.Nodes {
		bytes := c.Bytes
		if c.Sizes != nil {
			bytes = c.Sizes[i]
		}
		next := (i + 1) % n
		id := g.AddTask(engine.Task{Kind: engine.Transfer, Src: node, Dst: c.Nodes[next], Flows: 1, Bytes: c.Kind.Wire(bytes, n)})
		g.AddEdge(all, id, 0)
		g.AddEdge(id, done[i], 0)
		g.AddEdge(id, done[next], 0)
	}
	return done, nil
}
