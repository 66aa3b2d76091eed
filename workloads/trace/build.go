package trace

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"sim/engine"
)

// Builder makes a job a task graph.
type Builder struct {
	Place []int32 // by rank its node; nil is that of its number
	// Expand appends the transfers of a call among some nodes to a graph, each after what a rank waits for, and returns by
	// rank the task with whose end it has what the call leaves it with.
	Expand func(g *engine.Graph, c Collected, ready []int32) ([]int32, error)
	// Most bounds the tasks; 0 is no bound.
	Most int
}

// Collected is a call of all its ranks.
type Collected struct {
	Kind  Collective
	Bytes int64
	Sizes []int64 // of an all-to-all whose ranks send different sizes, in all; else nil
	Nodes []int32
	Set   [2]int32 // its group of Job.Groups, and the set of that
}

// Built is the graph of a job.
type Built struct {
	Graph *engine.Graph
	// Rank and Op are by task whose it is; of transfers those of the send, of tasks of a call those of its first rank.
	Rank, Op []int32
	// Turn is by task Op.Turn of the send, for packet.Options.TaskRank; nil where no send has one.
	Turn []int32
}

// ErrTooLarge is wrapped where a graph has more tasks than Builder.Most.
var ErrTooLarge = errors.New("trace: too many tasks")

// Build makes the graph. The k-th send of a rank to another of a tag is received by its k-th receive of these, and the k-th
// call of a group on a rank is the k-th of its other ranks, in the order of operations. A transfer waits for what its send
// waits for, and unless it is eager for what its receive does; a call for what all its ranks wait for. It fails where sends
// or calls have no partner, where ranks disagree about a call, and on a cycle, and names ranks and operations.
func (j *Job) Build(b Builder) (*Built, error) {
	t := &building{Job: j, Builder: b, out: &Built{Graph: &engine.Graph{}}, done: make([][]int32, j.Ranks), wait: make([][]int32, j.Ranks)}
	t.out.Graph.Namer = t.name
	n := 0
	for _, ops := range j.Ops {
		n += len(ops)
	}
	if b.Most > 0 && n > b.Most {
		return nil, fmt.Errorf("%w: %d operations, want at most %d", ErrTooLarge, n, b.Most)
	}
	for rank, ops := range j.Ops {
		ids := make([]int32, 2*len(ops))
		t.done[rank], t.wait[rank] = ids[:len(ops)], ids[len(ops):]
	}
	if err := t.tasks(); err != nil {
		return nil, err
	}
	if err := t.calls(); err != nil {
		return nil, err
	}
	for rank, ops := range j.Ops {
		for i := range ops {
			if t.wait[rank][i] < 0 {
				continue
			}
			for _, a := range ops[i].After {
				before, err := t.end(int32(rank), a)
				if err != nil {
					return nil, err
				}
				t.out.Graph.AddEdge(before, t.wait[rank][i], 0)
			}
		}
	}
	if t.out.Turn != nil {
		t.out.Turn = append(t.out.Turn, make([]int32, len(t.out.Graph.Tasks)-len(t.out.Turn))...)
	}
	return t.out, t.out.Graph.Freeze()
}

// building is a graph under way: by rank and operation the task with which it is done, and the one that waits for what it
// waits for. Both ends of a message that says no more than that an operation of its sender is done are done with that
// one: their done is -1 less the index of the message in said, and nothing waits.
type building struct {
	*Job
	Builder
	out        *Built
	done, wait [][]int32
	said       []end
}

// end returns the task with which an operation is done. It fails where messages say so of each other in a circle.
func (t *building) end(rank, op int32) (int32, error) {
	steps, first := 0, op
	from := rank
	for t.done[rank][op] < 0 {
		m := t.said[-1-t.done[rank][op]]
		if rank, op = m.rank, t.Ops[m.rank][m.op].After[0]; steps > len(t.said) {
			return 0, wrong("dependencies without a cycle", "operation %d of rank %d (%.40q) waits for itself, through messages", first, from, t.Ops[from][first].Name)
		}
		steps++
	}
	return t.done[rank][op], nil
}

func (t *building) task(k engine.Task, rank, op int) int32 {
	t.out.Rank, t.out.Op = append(t.out.Rank, int32(rank)), append(t.out.Op, int32(op))
	if k.Kind == engine.Compute {
		k = engine.ComputeAt(t.node(int32(rank)), k.Duration)
	}
	return t.out.Graph.AddTask(k)
}

// name names a task in messages.
func (t *building) name(id int32) string {
	rank, op := t.out.Rank[id], t.out.Op[id]
	return fmt.Sprintf("rank %d, operation %d (%.60q)", rank, op, t.Ops[rank][op].Name)
}

func (t *building) node(rank int32) int32 {
	if t.Place == nil {
		return rank
	}
	return t.Place[rank]
}

// end is a send or receive.
type end struct {
	src, dst int32
	tag      uint32
	rank, op int32
}

func (e end) compare(o end) int {
	return cmp.Or(cmp.Compare(e.src, o.src), cmp.Compare(e.dst, o.dst), cmp.Compare(e.tag, o.tag))
}

// ends returns the sends and receives of the job, by source, destination and tag, and of these in their order.
func (j *Job) ends() (sends, recvs, wild []end) {
	for rank, ops := range j.Ops {
		for i := range ops {
			o := &ops[i]
			e := end{int32(rank), int32(rank) + o.Peer, o.Tag, int32(rank), int32(i)}
			switch {
			case o.Kind == Send:
				sends = append(sends, e)
			case o.Kind == Recv && (o.Peer == Any || o.Tag == AnyTag):
				wild = append(wild, e)
			case o.Kind == Recv:
				e.src, e.dst = e.dst, e.src
				recvs = append(recvs, e)
			}
		}
	}
	slices.SortStableFunc(sends, end.compare)
	slices.SortStableFunc(recvs, end.compare)
	return sends, recvs, wild
}

// match returns by send the receive that it goes to. Receives of any source or tag take what others leave, in order.
func (j *Job) match() (sends, recvs []end, err error) {
	sends, named, wild := j.ends()
	recvs = make([]end, len(sends))
	var left []int
	lone := func(e end, what, other string, n, m int) error {
		return wrong("as many of one as of the other", "%s of rank %d (operation %d, %.40q): %d messages from rank %d to rank %d of tag %d, and %d %s",
			what, e.rank, e.op, j.at(e).Name, n, e.src, e.dst, e.tag, m, other)
	}
	for i, k := 0, 0; i < len(sends) || k < len(named); {
		switch {
		case k == len(named) || i < len(sends) && sends[i].compare(named[k]) < 0:
			left = append(left, i)
			i++
		case i == len(sends) || sends[i].compare(named[k]) > 0:
			n, m := j.count(sends, named[k]), j.count(named, named[k])
			return nil, nil, lone(named[k], "a receive", "receives", n, m)
		default:
			recvs[i] = named[k]
			i, k = i+1, k+1
		}
	}
	// what is left goes to receives of any source or tag, by destination in order
	by := map[int32][]int{}
	for _, i := range left {
		by[sends[i].dst] = append(by[sends[i].dst], i)
	}
	for _, w := range wild {
		o := j.at(w)
		list := by[w.rank]
		k := slices.IndexFunc(list, func(i int) bool {
			return (o.Peer == Any || sends[i].src == w.rank+o.Peer) && (o.Tag == AnyTag || sends[i].tag == o.Tag)
		})
		if k < 0 {
			return nil, nil, wrong("a send to it", "a receive of rank %d (operation %d, %.40q) of any source or tag has no send", w.rank, w.op, o.Name)
		}
		recvs[list[k]] = w
		by[w.rank] = slices.Delete(list, k, k+1)
	}
	for _, i := range left {
		if slices.Contains(by[sends[i].dst], i) {
			return nil, nil, lone(sends[i], "a send", "receives", j.count(sends, sends[i]), j.count(named, sends[i]))
		}
	}
	return sends, recvs, nil
}

// at returns the operation that is an end of a message.
func (j *Job) at(e end) *Op { return &j.Ops[e.rank][e.op] }

// count returns how many of some ends are of the source, destination and tag of one.
func (j *Job) count(all []end, of end) (n int) {
	for _, e := range all {
		if e.compare(of) == 0 {
			n++
		}
	}
	return n
}

// slot is where a task comes among all.
type slot struct {
	order    uint32 // its number: of a message the tag, of others that have none the next after the message before
	rank, op int32
	message  int32 // index of sends, -1 of none
}

// tasks makes the tasks of all operations but those that calls expand to: by their numbers, else transfers by their tags,
// and what ranks do between messages behind the one before, by rank. Where several are ready at once packets go in this
// order. Files that this package writes number tasks as those were of what is written.
func (t *building) tasks() error {
	sends, recvs, err := t.match()
	if err != nil {
		return err
	}
	var all []slot
	for i, s := range sends {
		all = append(all, slot{s.tag &^ noBytes, s.rank, s.op, int32(i)})
	}
	for rank, ops := range t.Ops {
		before := uint32(0)
		for i := range ops {
			switch o := &ops[i]; o.Kind {
			case Join, Compute, Call:
				number := o.Tag
				if number == 0 {
					number = before
				}
				all = append(all, slot{number, int32(rank), int32(i), -1})
			default:
				if o.Tag < noBytes {
					before = o.Tag + 1
				}
			}
		}
	}
	slices.SortStableFunc(all, func(a, b slot) int {
		return cmp.Or(cmp.Compare(a.order, b.order), cmp.Compare(a.message>>31, b.message>>31))
	})
	for _, p := range all {
		if p.message >= 0 {
			t.message(sends[p.message], recvs[p.message])
			continue
		}
		k := engine.Task{} // of a call: what its rank waits for
		if o := &t.Ops[p.rank][p.op]; o.Kind != Call {
			k.Duration = o.Dur
		}
		id := t.task(k, int(p.rank), int(p.op))
		t.done[p.rank][p.op], t.wait[p.rank][p.op] = id, id
	}
	return nil
}

// message makes a transfer of a send and its receive.
func (t *building) message(s, r end) {
	o, waits := t.at(s), len(t.at(r).After) > 0
	if o.Bytes == 0 && len(o.After) == 1 && !waits {
		t.said = append(t.said, s)
		at := int32(-len(t.said))
		t.done[s.rank][s.op], t.wait[s.rank][s.op], t.done[r.rank][r.op], t.wait[r.rank][r.op] = at, -1, at, -1
		return
	}
	task := engine.Task{Kind: engine.Transfer, Src: t.node(s.src), Dst: t.node(s.dst), Flows: 1, Bytes: o.Bytes}
	if s.src == s.dst || o.Bytes == 0 {
		task = engine.Task{}
	}
	id := t.task(task, int(s.rank), int(s.op))
	if o.Turn > 0 {
		t.out.Turn = append(t.out.Turn, make([]int32, int(id)+1-len(t.out.Turn))...)
		t.out.Turn[id] = o.Turn
	}
	t.done[s.rank][s.op], t.wait[s.rank][s.op] = id, id
	if o.Bytes > t.Eager || !waits {
		t.done[r.rank][r.op], t.wait[r.rank][r.op] = id, id
		return
	}
	got := t.task(engine.Task{}, int(r.rank), int(r.op))
	t.out.Graph.AddEdge(id, got, 0)
	t.done[r.rank][r.op], t.wait[r.rank][r.op] = got, got
}

// called is the next call of a rank, of each of its groups.
type called struct {
	rank int32
	ops  []int32
}

// calls expands the collective calls of each set of each group, in order.
func (t *building) calls() error {
	for g := range t.Groups {
		of := make([][]called, len(t.Groups[g].Sets))
		for s, set := range t.Groups[g].Sets {
			for _, rank := range set {
				of[s] = append(of[s], called{rank: rank})
			}
		}
		for s, set := range of {
			for i := range set {
				for op := range t.Ops[set[i].rank] {
					if o := &t.Ops[set[i].rank][op]; o.Kind == Call && int(o.Group) == g {
						set[i].ops = append(set[i].ops, int32(op))
					}
				}
			}
			if err := t.set(int32(g), int32(s), set); err != nil {
				return err
			}
		}
	}
	return nil
}

// set expands the calls of one set.
func (t *building) set(g, s int32, ranks []called) error {
	if len(ranks) == 0 {
		return nil
	}
	for _, r := range ranks[1:] {
		if len(r.ops) != len(ranks[0].ops) {
			return wrong("as many on each", "group %.40q: rank %d makes %d calls, and rank %d %d", t.Groups[g].Name, ranks[0].rank, len(ranks[0].ops), r.rank, len(r.ops))
		}
	}
	c := Collected{Set: [2]int32{g, s}}
	for _, r := range ranks {
		c.Nodes = append(c.Nodes, t.node(r.rank))
	}
	for k, op := range ranks[0].ops {
		o := &t.Ops[ranks[0].rank][op]
		c.Kind, c.Bytes, c.Sizes = o.Coll, o.Bytes, nil
		ready := make([]int32, len(ranks))
		for i, r := range ranks {
			its := &t.Ops[r.rank][r.ops[k]]
			ready[i] = t.wait[r.rank][r.ops[k]]
			switch {
			case its.Coll != o.Coll:
				return wrong("one collective", "call %d of group %.40q: %s on rank %d (%.40q), and %s on rank %d (%.40q)", k, t.Groups[g].Name, o.Coll, ranks[0].rank, o.Name, its.Coll, r.rank, its.Name)
			case its.Bytes == o.Bytes || o.Coll == Barrier:
			case o.Coll != AllToAll:
				return wrong("one size", "call %d of group %.40q, %s: %d bytes on rank %d, and %d on rank %d", k, t.Groups[g].Name, o.Coll, o.Bytes, ranks[0].rank, its.Bytes, r.rank)
			default:
				c.Sizes = make([]int64, len(ranks))
			}
		}
		for i := range c.Sizes {
			c.Sizes[i] = t.Ops[ranks[i].rank][ranks[i].ops[k]].Bytes
		}
		ends, err := t.expand(c, ready, int(ranks[0].rank), int(op))
		if err != nil {
			return fmt.Errorf("%s of group %.40q: %w", o.Coll, t.Groups[g].Name, err)
		}
		for i, r := range ranks {
			t.done[r.rank][r.ops[k]] = ends[i]
		}
	}
	return nil
}

// expand appends the tasks of a call, of one rank or of no bytes none but what joins them.
func (t *building) expand(c Collected, ready []int32, rank, op int) ([]int32, error) {
	if len(ready) == 1 {
		return ready, nil
	}
	if c.Kind == Barrier || c.Bytes == 0 && c.Sizes == nil {
		id := t.task(engine.Task{}, rank, op)
		for _, r := range ready {
			t.out.Graph.AddEdge(r, id, 0)
		}
		return slices.Repeat([]int32{id}, len(ready)), nil
	}
	g := t.out.Graph
	ends, err := t.Expand(g, c, ready)
	if err != nil {
		return nil, err
	}
	for len(t.out.Rank) < len(g.Tasks) {
		t.out.Rank, t.out.Op = append(t.out.Rank, int32(rank)), append(t.out.Op, int32(op))
	}
	if t.Most > 0 && len(g.Tasks) > t.Most {
		return nil, fmt.Errorf("%w: more than %d", ErrTooLarge, t.Most)
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
