package trace

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"

	"sim/engine"
)

// Builder makes a job a task graph.
type Builder struct {
	Place []int32 // by rank its node; nil is that of its number
	// Expand appends the transfers of a call among some nodes to a graph, each after what a rank waits for, and returns by
	// rank the task with whose end it has what the call leaves it with.
	Expand func(g *engine.Graph, c Collected, ready []int32) ([]int32, error)
	// Count returns how many tasks Expand appends for a call; nil counts none.
	Count func(c Collected) (int, error)
	// Most bounds the tasks, which are counted before any call is expanded; 0 is no bound.
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

// TooLarge is the error of a graph of more tasks than Builder.Most, with the number that was counted before Build gave up.
type TooLarge struct{ Tasks, Most int }

func (e TooLarge) Error() string {
	return fmt.Sprintf("trace: %d transfers and computes or more; want at most %d", e.Tasks, e.Most)
}

// Build makes the graph. The k-th send of a rank to another of a tag is received by its k-th receive of these, and the k-th
// call of a group on a rank is the k-th of its other ranks, in the order of operations. Receives of any source or tag take
// the first message to arrive that they accept, and operations of one stream go one at a time in the order in which they
// become ready: the graph's contention decides both when it is simulated. A transfer waits for what its send waits for, and
// unless it is eager for what its receive does; a call for what all its ranks wait for. Build fails if sends or calls have
// no partner, if ranks disagree about a call, and on a cycle; the error names ranks and operations.
func (j *Job) Build(b Builder) (*Built, error) {
	t := &building{Job: j, Builder: b, out: &Built{Graph: &engine.Graph{}}, done: make([][]int32, j.Ranks), wait: make([][]int32, j.Ranks)}
	t.out.Graph.Namer = t.name
	n := 0
	for _, ops := range j.Ops {
		n += len(ops)
	}
	if b.Most > 0 && n > b.Most {
		return nil, TooLarge{n, b.Most}
	}
	if b.Most > 0 {
		err := t.eachCall(func(c Collected, ranks []called, k int) error {
			if b.Count != nil && len(ranks) > 1 && !c.joins() {
				tasks, err := b.Count(c)
				if err != nil {
					return t.callError(c, err)
				}
				n += tasks
			}
			if n > b.Most {
				return TooLarge{n, b.Most}
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	for rank, ops := range j.Ops {
		ids := make([]int32, 2*len(ops))
		t.done[rank], t.wait[rank] = ids[:len(ops)], ids[len(ops):]
	}
	t.streams()
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
				if before >= 0 {
					t.out.Graph.AddEdge(before, t.wait[rank][i], 0)
				}
			}
		}
	}
	if t.out.Turn != nil {
		t.out.Turn = append(t.out.Turn, make([]int32, len(t.out.Graph.Tasks)-len(t.out.Turn))...)
	}
	t.contend()
	return t.out, t.out.Graph.Freeze()
}

// building is a graph under way: by rank and operation the task with which it is done, and the one that waits for what it
// waits for. Both ends of a message that says no more than that an operation of its sender is done are done with that
// one, and an eager send that its rank need not wait for with the one operation before it: their done is -1 less the index
// of the send in said. Such a message has no task, and its wait is -1.
type building struct {
	*Job
	Builder
	out        *Built
	done, wait [][]int32
	said       []end

	busy  []map[int32]int32 // by rank and stream whose operations may overlap: its server; nil of other ranks
	holds []streamHold
	boxes contention // messages and receives that the simulation matches
}

// contention is a part of engine.Contention with the operations that its entries are of.
type contention struct {
	offers   []keyed[engine.Offer]
	requests []keyed[engine.Request]
}

// keyed is a value of an operation of a rank.
type keyed[T any] struct {
	rank, op int32
	value    T
}

// streamHold is a hold of an operation of a rank.
type streamHold = keyed[engine.Hold]

// contend gives the graph its contention, in the order of ranks and operations.
func (t *building) contend() {
	c := &t.out.Graph.Contention
	c.Holds, c.Offers, c.Requests = inOrder(t.holds), inOrder(t.boxes.offers), inOrder(t.boxes.requests)
}

// inOrder returns values in the order of ranks and operations.
func inOrder[T any](all []keyed[T]) (values []T) {
	slices.SortStableFunc(all, func(a, b keyed[T]) int { return cmp.Or(cmp.Compare(a.rank, b.rank), cmp.Compare(a.op, b.op)) })
	for _, k := range all {
		values = append(values, k.value)
	}
	return values
}

// maxOrderWork bounds the work of streams, in operations and dependencies visited per operation and dependency of a rank.
// Streams beyond it are taken to overlap, which costs time in the simulation and changes no order.
const maxOrderWork = 64

// streams numbers the servers of streams whose operations may overlap: those that dependencies do not put in a row.
func (t *building) streams() {
	t.busy = make([]map[int32]int32, t.Ranks)
	servers := int32(0)
	for rank, ops := range t.Ops {
		members := map[int32][]int32{}
		size := len(ops)
		for i := range ops {
			size += len(ops[i].After)
			if s := ops[i].Stream; s > 0 {
				members[s] = append(members[s], int32(i))
			}
		}
		budget := maxOrderWork * size
		for _, s := range slices.Sorted(maps.Keys(members)) {
			if list := members[s]; len(list) > 1 && !inRow(ops, s, list, &budget) {
				if t.busy[rank] == nil {
					t.busy[rank] = map[int32]int32{}
				}
				t.busy[rank][s] = servers
				servers++
			}
		}
	}
}

// inRow reports whether each operation of a stream waits for the one before, through others. Operations stand behind those
// that they wait for. It reports false when the budget is used up.
func inRow(ops []Op, stream int32, members []int32, budget *int) bool {
	first, end := members[0], members[len(members)-1]+1
	seen := make([]int32, end-first) // by operation: how many members up to the last one that it comes after or is
	k := int32(0)
	for i := first; i < end; i++ {
		last := int32(0)
		for _, a := range ops[i].After {
			if a >= first && a < i {
				last = max(last, seen[a-first])
			}
		}
		if *budget -= 1 + len(ops[i].After); *budget < 0 {
			return false
		}
		if ops[i].Stream == stream {
			if last != k {
				return false
			}
			k++
			last = k
		}
		seen[i-first] = last
	}
	return true
}

// server returns the server of an operation's stream, -1 if nothing else can be under way there.
func (t *building) server(rank, op int32) int32 {
	if s, ok := t.busy[rank][t.Ops[rank][op].Stream]; ok && t.Ops[rank][op].Stream > 0 {
		return s
	}
	return -1
}

// hold occupies the server of an operation, if it has one, from the start of a task to the end of another.
func (t *building) hold(rank, op, first, last int32) {
	if s := t.server(rank, op); s >= 0 {
		t.holds = append(t.holds, streamHold{rank, op, engine.Hold{Server: s, First: first, Last: last}})
	}
}

// milestone adds a task of no time that is of an operation and comes after another task.
func (t *building) milestone(after, rank, op int32) int32 {
	id := t.task(engine.Task{}, int(rank), int(op))
	t.out.Graph.AddEdge(after, id, 0)
	return id
}

// atStart is the done of an operation that is done when the job starts.
const atStart = int32(math.MinInt32)

// end returns the task with which an operation is done, -1 if that is the start. It fails where messages say so of each
// other in a circle.
func (t *building) end(rank, op int32) (int32, error) {
	type place struct{ rank, op int32 }
	at := place{rank, op}
	var passed []place
	for t.done[at.rank][at.op] < 0 && t.done[at.rank][at.op] != atStart {
		if passed = append(passed, at); len(passed) > len(t.said)+1 {
			return 0, wrong("dependencies without a cycle", "operation %d of rank %d (%.40q) waits for itself, through messages", op, rank, t.Ops[rank][op].Name)
		}
		m := t.said[-1-t.done[at.rank][at.op]]
		at = place{m.rank, t.Ops[m.rank][m.op].After[0]}
	}
	id := t.done[at.rank][at.op]
	for _, p := range passed {
		t.done[p.rank][p.op] = id
	}
	return max(-1, id), nil
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
	var counts [len(kindNames)]int
	for _, ops := range j.Ops {
		for i := range ops {
			counts[ops[i].Kind]++
		}
	}
	sends, recvs = make([]end, 0, counts[Send]), make([]end, 0, counts[Recv])
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

// match returns by send the receive that it goes to. A send that a receive of any source or tag may take goes to none
// (rank -1): its receive is found in the simulation, as is that of each receive in open.
func (j *Job) match() (sends, recvs, open []end, err error) {
	sends, named, wild := j.ends()
	recvs = make([]end, len(sends))
	accepts := map[end]bool{} // what receives of any source or tag accept; src and tag are 0 if any
	anySource, anyTag := func(e end) end { return end{dst: e.dst, tag: e.tag, op: 1} }, func(e end) end { return end{src: e.src, dst: e.dst, op: 2} }
	both := func(e end) end { return end{dst: e.dst, op: 3} }
	count := map[end]int{} // receives that accept each, less the sends that only they can take
	for _, w := range wild {
		o := j.at(w)
		e := end{src: w.rank + o.Peer, dst: w.rank, tag: o.Tag}
		switch {
		case o.Peer == Any && o.Tag == AnyTag:
			e = both(e)
		case o.Peer == Any:
			e = anySource(e)
		default:
			e = anyTag(e)
		}
		accepts[e] = true
		count[e]++
	}
	accepted := func(e end) bool {
		return len(wild) > 0 && (accepts[anySource(e)] || accepts[anyTag(e)] || accepts[both(e)])
	}
	lone := func(e end, what, other string, n, m int) error {
		return wrong("as many of one as of the other", "%s of rank %d (operation %d, %.40q): %d messages from rank %d to rank %d of tag %d, and %d %s",
			what, e.rank, e.op, j.at(e).Name, n, e.src, e.dst, e.tag, m, other)
	}
	type tally struct {
		sends, receives int
		first           int // send that no named receive takes
	}
	left := map[int32]*tally{} // by destination, of messages that any-receives may take
	spare := map[end]int{}     // sends that each kind of receive may take, beyond those of named receives
	to := func(rank int32) *tally {
		if left[rank] == nil {
			left[rank] = &tally{first: -1}
		}
		return left[rank]
	}
	for _, w := range wild {
		to(w.rank).receives++
	}
	for i, k := 0, 0; i < len(sends) || k < len(named); {
		switch {
		case k == len(named) || i < len(sends) && sends[i].compare(named[k]) < 0:
			if !accepted(sends[i]) {
				return nil, nil, nil, lone(sends[i], "a send", "receives", j.count(sends, sends[i]), j.count(named, sends[i]))
			}
			if t := to(sends[i].dst); t.first < 0 || t.sends == t.receives {
				t.first = i
			}
			to(sends[i].dst).sends++
			for _, e := range []end{anySource(sends[i]), anyTag(sends[i]), both(sends[i])} {
				spare[e]++
			}
			recvs[i].rank = -1
			i++
		case i == len(sends) || sends[i].compare(named[k]) > 0:
			n, m := j.count(sends, named[k]), j.count(named, named[k])
			return nil, nil, nil, lone(named[k], "a receive", "receives", n, m)
		default:
			if recvs[i] = named[k]; accepted(sends[i]) {
				recvs[i].rank = -1
				open = append(open, named[k])
			}
			i, k = i+1, k+1
		}
	}
	for _, w := range wild {
		o := j.at(w)
		e := end{src: w.rank + o.Peer, dst: w.rank, tag: o.Tag}
		if o.Peer == Any && o.Tag == AnyTag {
			e = both(e)
		} else if o.Peer == Any {
			e = anySource(e)
		} else {
			e = anyTag(e)
		}
		if spare[e] < count[e] || to(w.rank).sends < to(w.rank).receives {
			return nil, nil, nil, wrong("a send to it", "a receive of rank %d (operation %d, %.40q) of any source or tag has no send", w.rank, w.op, o.Name)
		}
	}
	for _, rank := range slices.Sorted(maps.Keys(left)) {
		if t := left[rank]; t.sends > t.receives {
			e := sends[t.first]
			return nil, nil, nil, wrong("as many of one as of the other", "a send of rank %d (operation %d, %.40q): %d messages to rank %d may go to receives of any source or tag, and it has %d of these", e.rank, e.op, j.at(e).Name, t.sends, rank, t.receives)
		}
	}
	return sends, recvs, append(open, wild...), nil
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
	sends, recvs, open, err := t.match()
	if err != nil {
		return err
	}
	var all []slot
	for _, r := range open {
		id := t.task(engine.Task{}, int(r.rank), int(r.op))
		t.done[r.rank][r.op], t.wait[r.rank][r.op] = id, id
		o := t.at(r)
		t.boxes.requests = append(t.boxes.requests, keyed[engine.Request]{r.rank, r.op, engine.Request{
			Box: r.rank, Task: id, Source: r.rank + o.Peer, Tag: o.Tag, AnySource: o.Peer == Any, AnyTag: o.Tag == AnyTag,
		}})
	}
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
		if t.Ops[p.rank][p.op].Kind != Call { // a call holds its servers together
			t.hold(p.rank, p.op, id, id)
		}
	}
	return nil
}

// sayDone has a send done with the operation that it waits for.
func (t *building) sayDone(s end) int32 {
	t.said = append(t.said, s)
	return int32(-len(t.said))
}

// message makes a transfer of a send and its receive. A receive that is found in the simulation has the rank -1.
func (t *building) message(s, r end) {
	o, open := t.at(s), r.rank < 0
	waits, server := !open && len(t.at(r).After) > 0, t.server(s.rank, s.op)
	if o.Bytes == 0 && len(o.After) == 1 && !waits && !open && server < 0 {
		at := t.sayDone(s)
		t.done[s.rank][s.op], t.wait[s.rank][s.op], t.done[r.rank][r.op], t.wait[r.rank][r.op] = at, -1, at, -1
		return
	}
	eager := o.Bytes <= t.Eager
	begin := int32(-1) // what comes before the transfer and waits for what the send waits for
	if server >= 0 || open && !eager {
		begin = t.task(engine.Task{}, int(s.rank), int(s.op))
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
	if begin >= 0 {
		t.out.Graph.AddEdge(begin, id, 0)
		t.wait[s.rank][s.op] = begin
	}
	if server >= 0 {
		t.hold(s.rank, s.op, begin, t.milestone(id, s.rank, s.op))
	}
	if t.Buffered && eager && o.Bytes > 0 {
		switch len(o.After) {
		case 0:
			t.done[s.rank][s.op] = atStart
		case 1:
			t.done[s.rank][s.op] = t.sayDone(s)
		default:
			ready := t.task(engine.Task{}, int(s.rank), int(s.op))
			t.out.Graph.AddEdge(ready, t.wait[s.rank][s.op], 0)
			t.done[s.rank][s.op], t.wait[s.rank][s.op] = ready, ready
		}
	}
	switch {
	case open:
		first, until := begin, t.milestone(id, s.rank, s.op)
		if eager {
			first = until
		}
		t.boxes.offers = append(t.boxes.offers, keyed[engine.Offer]{s.rank, s.op, engine.Offer{Box: s.dst, Task: first, Until: until, Source: s.src, Tag: s.tag}})
	case eager && waits:
		got := t.milestone(id, r.rank, r.op)
		t.done[r.rank][r.op], t.wait[r.rank][r.op] = got, got
	default:
		t.done[r.rank][r.op], t.wait[r.rank][r.op] = id, id
	}
}

// called are the calls that a rank makes of one group, in order.
type called struct {
	rank int32
	ops  []int32
}

// joins reports whether a call moves nothing, so that it only joins its ranks.
func (c *Collected) joins() bool { return c.Kind == Barrier || c.Bytes == 0 && c.Sizes == nil }

// eachCall visits call k of each set of each group, in order. It fails if ranks disagree about one.
func (t *building) eachCall(visit func(c Collected, ranks []called, k int) error) error {
	calls := make([]map[int32][]called, len(t.Groups)) // by group and set: its ranks that call, in the order of ranks
	for rank, ops := range t.Ops {
		for i := range ops {
			o := &ops[i]
			if o.Kind != Call {
				continue
			}
			if calls[o.Group] == nil {
				calls[o.Group] = map[int32][]called{}
			}
			set := t.Groups[o.Group].In[rank]
			list := calls[o.Group][set]
			if n := len(list); n == 0 || list[n-1].rank != int32(rank) {
				list = append(list, called{rank: int32(rank)})
				calls[o.Group][set] = list
			}
			last := &list[len(list)-1]
			last.ops = append(last.ops, int32(i))
		}
	}
	for g := range calls {
		for _, s := range slices.Sorted(maps.Keys(calls[g])) {
			made := map[int32][]int32{}
			for _, c := range calls[g][s] {
				made[c.rank] = c.ops
			}
			ranks := make([]called, 0, len(made))
			for _, rank := range t.Groups[g].Sets[s] {
				ranks = append(ranks, called{rank, made[rank]})
			}
			if err := t.set(int32(g), s, ranks, visit); err != nil {
				return err
			}
		}
	}
	return nil
}

// set visits the calls of one set.
func (t *building) set(g, s int32, ranks []called, visit func(c Collected, ranks []called, k int) error) error {
	for _, r := range ranks[1:] {
		if len(r.ops) != len(ranks[0].ops) {
			return wrong("as many on each", "group %.40q: rank %d makes %d calls, and rank %d %d", t.Groups[g].Name, ranks[0].rank, len(ranks[0].ops), r.rank, len(r.ops))
		}
	}
	var nodes []int32
	for _, r := range ranks {
		nodes = append(nodes, t.node(r.rank))
	}
	for k, op := range ranks[0].ops {
		o := &t.Ops[ranks[0].rank][op]
		c := Collected{Kind: o.Coll, Bytes: o.Bytes, Nodes: nodes, Set: [2]int32{g, s}}
		for _, r := range ranks {
			its := &t.Ops[r.rank][r.ops[k]]
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
		if err := visit(c, ranks, k); err != nil {
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
	return t.eachCall(func(c Collected, ranks []called, k int) error {
		ready, joint := make([]int32, len(ranks)), int32(-1) // joint is the start of a call that holds servers
		for i, r := range ranks {
			ready[i] = t.wait[r.rank][r.ops[k]]
			if joint < 0 && t.server(r.rank, r.ops[k]) >= 0 {
				joint = t.task(engine.Task{}, int(ranks[0].rank), int(ranks[0].ops[k]))
			}
		}
		for i := range ready {
			if joint >= 0 {
				t.out.Graph.AddEdge(ready[i], joint, 0)
				ready[i] = joint
			}
		}
		ends, err := t.expand(c, ready, int(ranks[0].rank), int(ranks[0].ops[k]))
		if err != nil {
			return t.callError(c, err)
		}
		for i, r := range ranks {
			if joint >= 0 {
				ends[i] = t.milestone(ends[i], r.rank, r.ops[k])
				t.hold(r.rank, r.ops[k], joint, ends[i])
			}
			t.done[r.rank][r.ops[k]] = ends[i]
		}
		return nil
	})
}

// expand appends the tasks of a call, of one rank or of no bytes none but what joins them.
func (t *building) expand(c Collected, ready []int32, rank, op int) ([]int32, error) {
	if len(ready) == 1 {
		return ready, nil
	}
	if c.joins() {
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
	for i := len(t.out.Rank); i < len(g.Tasks); i++ {
		if k := &g.Tasks[i]; k.Kind == engine.Transfer && (k.Bytes == 0 || k.Src == k.Dst) {
			*k = engine.Task{} // as messages of no bytes
		}
	}
	for len(t.out.Rank) < len(g.Tasks) {
		t.out.Rank, t.out.Op = append(t.out.Rank, int32(rank)), append(t.out.Op, int32(op))
	}
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
