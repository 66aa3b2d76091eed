package trace

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"

	"sim/engine"
)

// BuildOptions makes a job a task graph.
type BuildOptions struct {
	NodeOf []int32 // by rank its node; nil is that of its number
	// Expand appends the transfers of a call among some nodes to a graph, each after what a rank waits for, and returns by
	// rank the task with whose end it has what the call leaves it with. If it is nil, calls take no time.
	Expand func(g *engine.Graph, c GroupCall, ready []int32) ([]int32, error)
	// Count returns how many tasks Expand appends for a call; nil counts none.
	Count func(c GroupCall) (int, error)
	// MaxTasks bounds the tasks, which are counted before any call is expanded; 0 is no bound.
	MaxTasks int
}

// GroupCall is a call of all its ranks.
type GroupCall struct {
	Kind     Collective
	Bytes    int64
	Sizes    []int64 // of an all-to-all whose ranks send different sizes, in all; else nil
	Nodes    []int32
	GroupSet [2]int32 // its group of Job.Groups, and the set of that
}

// JobGraph is the graph of a job.
type JobGraph struct {
	Graph *engine.Graph
	// Rank and Op are by task whose it is; of transfers those of the send, of tasks of a call those of its first rank.
	Rank, Op []int32
	// SendOrder is by task Op.Turn of the send, for packet.Options.TaskRank; nil where no send has one.
	SendOrder []int32
}

// TooLargeError is the error of a graph of more tasks than Builder.Most, with the number that was counted before Build gave up.
type TooLargeError struct{ Tasks, Max int }

func (e TooLargeError) Error() string {
	return fmt.Sprintf("trace: %d transfers and computes or more; want at most %d", e.Tasks, e.Max)
}

// Build makes the graph. The k-th send of a rank to another of a tag is received by its k-th receive of these, and the k-th
// call of a group on a rank is the k-th of its other ranks, in the order of operations. Receives of any source or tag take
// the first message to arrive that they accept, and operations of one stream go one at a time in the order in which they
// become ready: the graph's contention decides both when it is simulated. A transfer waits for what its send waits for, and
// unless it is eager for what its receive does; a call for what all its ranks wait for. Build fails if sends or calls have
// no partner, if ranks disagree about a call, and on a cycle; the error names ranks and operations.
func (j *Job) Build(b BuildOptions) (*JobGraph, error) {
	t := &graphBuilder{Job: j, BuildOptions: b, out: &JobGraph{Graph: &engine.Graph{}}, done: make([][]int32, j.Ranks), start: make([][]int32, j.Ranks)}
	t.out.Graph.Namer = t.name
	if b.MaxTasks > 0 {
		if err := t.checkTaskCount(); err != nil {
			return nil, err
		}
	}
	for rank, ops := range j.Ops {
		ids := make([]int32, 2*len(ops))
		t.done[rank], t.start[rank] = ids[:len(ops)], ids[len(ops):]
	}
	t.numberServers()
	if err := t.addTasks(); err != nil {
		return nil, err
	}
	if err := t.addCalls(); err != nil {
		return nil, err
	}
	for rank, ops := range j.Ops {
		for i := range ops {
			if t.start[rank][i] < 0 {
				continue
			}
			for _, a := range ops[i].After {
				before, err := t.doneTask(opRef{int32(rank), a})
				if err != nil {
					return nil, err
				}
				if before >= 0 {
					t.out.Graph.AddEdge(before, t.start[rank][i], 0)
				}
			}
		}
	}
	if t.out.SendOrder != nil {
		t.out.SendOrder = append(t.out.SendOrder, make([]int32, len(t.out.Graph.Tasks)-len(t.out.SendOrder))...)
	}
	t.out.Graph.Contention = engine.Contention{Holds: sortedValues(t.holds), Offers: sortedValues(t.offers), Requests: sortedValues(t.requests)}
	return t.out, t.out.Graph.Freeze()
}

// checkTaskCount fails if the graph has more tasks than Builder.Most.
func (t *graphBuilder) checkTaskCount() error {
	n := 0
	for _, ops := range t.Ops {
		n += len(ops)
	}
	if n > t.MaxTasks {
		return TooLargeError{n, t.MaxTasks}
	}
	return t.eachCall(func(c GroupCall, members []opRef) error {
		if t.Count != nil && len(members) > 1 && !c.joins() {
			tasks, err := t.Count(c)
			if err != nil {
				return t.callError(c, err)
			}
			n += tasks
		}
		if n > t.MaxTasks {
			return TooLargeError{n, t.MaxTasks}
		}
		return nil
	})
}

// opRef is an operation of a rank, by index.
type opRef struct{ rank, op int32 }

// op returns the operation at a place.
func (j *Job) op(p opRef) *Op { return &j.Ops[p.rank][p.op] }

// graphBuilder is a graph under way: by rank and operation the task with which it is done, and the one that waits for what it
// waits for. Both ends of a message that says no more than that an operation of its sender is done are done with that
// one, and an eager send that its rank need not wait for with the one operation before it: their done is -1 less the index
// of the send in said. Such a message has no task, and its wait is -1.
type graphBuilder struct {
	*Job
	BuildOptions
	out         *JobGraph
	done, start [][]int32
	relays      []opRef

	servers  []map[int32]int32 // by rank and stream whose operations may overlap: its server; nil of other ranks
	holds    []opValue[engine.Hold]
	offers   []opValue[engine.Offer] // messages and receives that the simulation matches
	requests []opValue[engine.Request]
}

// opValue is a value of an operation.
type opValue[T any] struct {
	opRef
	value T
}

// sortedValues returns values in the order of ranks and operations.
func sortedValues[T any](all []opValue[T]) (values []T) {
	slices.SortStableFunc(all, func(a, b opValue[T]) int { return cmp.Or(cmp.Compare(a.rank, b.rank), cmp.Compare(a.op, b.op)) })
	for _, p := range all {
		values = append(values, p.value)
	}
	return values
}

// maxOrderWork bounds the work of streams, in operations and dependencies visited per operation and dependency of a rank.
// Streams beyond it are taken to overlap, which costs time in the simulation and changes no order.
const maxOrderWork = 64

// numberServers numbers the servers of streams whose operations may overlap: those that dependencies do not put in a row.
func (t *graphBuilder) numberServers() {
	t.servers = make([]map[int32]int32, t.Ranks)
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
			if list := members[s]; len(list) > 1 && !isChain(ops, s, list, &budget) {
				if t.servers[rank] == nil {
					t.servers[rank] = map[int32]int32{}
				}
				t.servers[rank][s] = servers
				servers++
			}
		}
	}
}

// isChain reports whether each operation of a stream waits for the one before, through others. Operations stand behind those
// that they wait for. It reports false when the budget is used up.
func isChain(ops []Op, stream int32, members []int32, budget *int) bool {
	first, end := members[0], members[len(members)-1]+1
	chainLength := make([]int32, end-first) // by operation: how many members up to the last one that it comes after or is
	k := int32(0)
	for i := first; i < end; i++ {
		last := int32(0)
		for _, a := range ops[i].After {
			if a >= first && a < i {
				last = max(last, chainLength[a-first])
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
		chainLength[i-first] = last
	}
	return true
}

// server returns the server of an operation's stream, -1 if nothing else can be under way there.
func (t *graphBuilder) server(p opRef) int32 {
	stream := t.op(p).Stream
	if s, ok := t.servers[p.rank][stream]; ok && stream > 0 {
		return s
	}
	return -1
}

// holdServer occupies the server of an operation, if it has one, from the start of a task to the end of another.
func (t *graphBuilder) holdServer(p opRef, first, last int32) {
	if s := t.server(p); s >= 0 {
		t.holds = append(t.holds, opValue[engine.Hold]{p, engine.Hold{Server: s, First: first, Last: last}})
	}
}

// addMilestone adds a task of no time that is of an operation and comes after other tasks.
func (t *graphBuilder) addMilestone(p opRef, after ...int32) int32 {
	id := t.addTask(engine.Task{}, p)
	for _, a := range after {
		t.out.Graph.AddEdge(a, id, 0)
	}
	return id
}

// setTasks sets the task with which an operation is done, and the one that waits for what it waits for.
func (t *graphBuilder) setTasks(p opRef, done, wait int32) {
	t.done[p.rank][p.op], t.start[p.rank][p.op] = done, wait
}

// atStart is the done of an operation that is done when the job starts.
const atStart = int32(math.MinInt32)

// doneTask returns the task with which an operation is done, -1 if that is the start. It fails where messages say so of each
// other in a circle.
func (t *graphBuilder) doneTask(p opRef) (int32, error) {
	op := p
	var passed []opRef
	for t.done[op.rank][op.op] < 0 && t.done[op.rank][op.op] != atStart {
		if passed = append(passed, op); len(passed) > len(t.relays)+1 {
			return 0, invalid("dependencies without a cycle", "operation %d of rank %d (%.40q) waits for itself, through messages", p.op, p.rank, t.op(p).Name)
		}
		m := t.relays[-1-t.done[op.rank][op.op]]
		op = opRef{m.rank, t.op(m).After[0]}
	}
	id := t.done[op.rank][op.op]
	for _, p := range passed {
		t.done[p.rank][p.op] = id
	}
	return max(-1, id), nil
}

// addTask adds a task of an operation.
func (t *graphBuilder) addTask(k engine.Task, p opRef) int32 {
	if k.Kind == engine.Compute {
		k = engine.ComputeAt(t.node(p.rank), k.Duration)
	}
	id := t.out.Graph.AddTask(k)
	t.claimTasks(p)
	return id
}

// claimTasks has the tasks that were added last be of an operation.
func (t *graphBuilder) claimTasks(p opRef) {
	for len(t.out.Rank) < len(t.out.Graph.Tasks) {
		t.out.Rank, t.out.Op = append(t.out.Rank, p.rank), append(t.out.Op, p.op)
	}
}

// name names a task in messages.
func (t *graphBuilder) name(id int32) string {
	p := opRef{t.out.Rank[id], t.out.Op[id]}
	return fmt.Sprintf("rank %d, operation %d (%.60q)", p.rank, p.op, t.op(p).Name)
}

func (t *graphBuilder) node(rank int32) int32 {
	if t.NodeOf == nil {
		return rank
	}
	return t.NodeOf[rank]
}
