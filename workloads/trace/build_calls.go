package trace

import (
	"fmt"
	"maps"
	"slices"

	"sim/engine"
)

// joins reports whether a call transfers no data and only synchronises its ranks.
func (c *GroupCall) joins() bool {
	return c.Kind == Barrier || c.Bytes == 0 && c.Sizes == nil
}

// eachCall visits the calls of each set of each group in order, with the operations of
// its ranks. These are valid until visit returns. It fails if ranks disagree about a
// call.
func (t *graphBuilder) eachCall(visit func(c GroupCall, members []opRef) error) error {
	// Collect the operations of calls by group, set and rank, then visit them set by set.
	calls := make([]map[int32]map[int32][]int32, len(t.Groups))
	for rank, ops := range t.Ops {
		for i := range ops {
			o := &ops[i]
			if o.Kind != Call {
				continue
			}
			if calls[o.Group] == nil {
				calls[o.Group] = map[int32]map[int32][]int32{}
			}
			set := t.Groups[o.Group].SetOf[rank]
			if calls[o.Group][set] == nil {
				calls[o.Group][set] = map[int32][]int32{}
			}
			calls[o.Group][set][int32(rank)] = append(calls[o.Group][set][int32(rank)], int32(i))
		}
	}

	for g := range calls {
		for _, s := range slices.Sorted(maps.Keys(calls[g])) {
			if err := t.eachCallOfSet(int32(g), s, calls[g][s], visit); err != nil {
				return err
			}
		}
	}

	return nil
}

// eachCallOfSet visits the calls of set s of group g. ops lists the operations by rank.
// The k-th call consists of the k-th operation of each rank.
func (t *graphBuilder) eachCallOfSet(
	g, s int32,
	ops map[int32][]int32,
	visit func(c GroupCall, members []opRef) error,
) error {
	ranks := t.Groups[g].Sets[s]
	name := t.Groups[g].Name
	first := ranks[0]

	nodes := make([]int32, len(ranks))
	for i, r := range ranks {
		if len(ops[r]) != len(ops[first]) {
			return invalid("equal numbers of calls on all ranks",
				"group %.40q: rank %d makes %d calls, and rank %d %d", name, first,
				len(ops[first]), r, len(ops[r]))
		}
		nodes[i] = t.node(r)
	}

	members := make([]opRef, len(ranks))
	for k := range ops[first] {
		for i, r := range ranks {
			members[i] = opRef{r, ops[r][k]}
		}
		o := t.op(members[0])
		c := GroupCall{Kind: o.Collective, Bytes: o.Bytes, Nodes: nodes, GroupSet: [2]int32{g, s}}

		// All ranks must agree on the operation and the size, except in an all-to-all.
		for _, p := range members {
			other := t.op(p)
			switch {
			case other.Collective != o.Collective:
				return invalid("the same collective on all ranks",
					"call %d of group %.40q: %s on rank %d (%.40q), and %s on rank %d (%.40q)", k,
					name, o.Collective, first, o.Name, other.Collective, p.rank, other.Name)
			case other.Bytes == o.Bytes || o.Collective == Barrier:
			case o.Collective != AllToAll:
				return invalid("the same size on all ranks",
					"call %d of group %.40q, %s: %d bytes on rank %d, and %d on rank %d", k, name,
					o.Collective, o.Bytes, first, other.Bytes, p.rank)
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

// callError adds the call to an error.
func (t *graphBuilder) callError(c GroupCall, err error) error {
	return fmt.Errorf("%s of group %.40q: %w", c.Kind, t.Groups[c.GroupSet[0]].Name, err)
}

// addCalls expands all collective calls in the order of eachCall.
func (t *graphBuilder) addCalls() error {
	return t.eachCall(func(c GroupCall, members []opRef) error {
		ready := make([]int32, len(members))
		for i, p := range members {
			ready[i] = t.start[p.rank][p.op]
		}

		joint := int32(-1) // common start of a call that holds servers
		if slices.ContainsFunc(members, func(p opRef) bool { return t.server(p) >= 0 }) {
			// If a rank executes the call on a server, all ranks start together when the
			// last one is ready.
			joint = t.addMilestone(members[0], ready...)
			ready = slices.Repeat([]int32{joint}, len(ready))
		}

		ends, err := t.expandCall(c, ready, members[0])
		if err != nil {
			return t.callError(c, err)
		}
		for i, p := range members {
			// The call occupies the servers of its ranks until it ends.
			if joint >= 0 {
				ends[i] = t.addMilestone(p, ends[i])
				t.holdServer(p, joint, ends[i])
			}
			t.done[p.rank][p.op] = ends[i]
		}

		return nil
	})
}

// expandCall appends the tasks of a call. A call of one rank has none; a call without
// data is a single task that joins its ranks.
func (t *graphBuilder) expandCall(c GroupCall, ready []int32, first opRef) ([]int32, error) {
	if len(ready) == 1 {
		return ready, nil
	}
	if t.Expand == nil || c.joins() {
		return slices.Repeat([]int32{t.addMilestone(first, ready...)}, len(ready)), nil
	}

	g := t.out.Graph
	ends, err := t.Expand(g, c, ready)
	if err != nil {
		return nil, err
	}
	for i := len(t.out.Rank); i < len(g.Tasks); i++ {
		if k := &g.Tasks[i]; k.Kind == engine.Transfer && (k.Bytes == 0 || k.Src == k.Dst) {
			*k = engine.Task{} // a milestone, like a message of 0 bytes
		}
	}
	t.claimTasks(first)
	if t.MaxTasks > 0 && len(g.Tasks) > t.MaxTasks {
		return nil, TooLargeError{Tasks: len(g.Tasks), Max: t.MaxTasks}
	}
	return ends, nil
}

// ExpandNeighbours is a BuildOptions.Expand that approximates a call by one transfer per
// rank: each rank sends the bytes of its share of the collective to its neighbour on a
// ring, at once.
func ExpandNeighbours(g *engine.Graph, c GroupCall, ready []int32) ([]int32, error) {
	n := len(c.Nodes)

	// All ranks start together.
	all := g.AddTask(engine.Task{})
	for _, r := range ready {
		g.AddDependency(r, all)
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
		id := g.AddTask(engine.Task{Kind: engine.Transfer, Src: node, Dst: c.Nodes[next], Flows: 1,
			Bytes: c.Kind.Wire(bytes, n)})
		g.AddDependency(all, id)
		g.AddDependency(id, done[i])
		g.AddDependency(id, done[next])
	}

	return done, nil
}
