package trace

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"

	"sim/engine"
)

// BuildOptions are the options of Job.Build.
type BuildOptions struct {
	// Node of each rank, indexed by rank; nil is the identity.
	NodeOf []int32
	// Expand appends the transfers of a call to g. ready[i] is the task for which rank i
	// of the call waits. The result lists, by rank, the task after which the rank has its
	// result. If Expand is nil, calls take no time.
	Expand func(g *engine.Graph, c GroupCall, ready []int32) ([]int32, error)
	// Count returns the number of tasks that Expand appends for a call. nil counts none.
	Count func(c GroupCall) (int, error)
	// MaxTasks limits the number of tasks, which is checked before any call is expanded.
	// 0 means no limit.
	MaxTasks int
}

// GroupCall is a collective call of all ranks of a set.
type GroupCall struct {
	Kind  Collective
	Bytes int64
	// Sizes has the bytes by rank of an all-to-all with different sizes; else nil.
	Sizes []int64
	Nodes []int32 // nodes of the ranks, in the order of the set
	// GroupSet is the index in Job.Groups, and of the set in the group.
	GroupSet [2]int32
}

// JobGraph is the task graph of a job.
type JobGraph struct {
	Graph *engine.Graph
	// Rank and Op identify the operation of each task, indexed by task. A transfer
	// belongs to its send, a task of a call to its first rank.
	Rank, Op []int32
	// SendOrder is Op.SendOrder of the send of each task, for packet.Options.TaskRank. It
	// is nil if no send has one.
	SendOrder []int32
}

// TooLargeError reports a graph with more tasks than BuildOptions.MaxTasks. Tasks is the
// number counted until Build stopped.
type TooLargeError struct{ Tasks, Max int }

func (e TooLargeError) Error() string {
	return fmt.Sprintf("trace: %d transfers and computes or more; want at most %d", e.Tasks, e.Max)
}

// Build returns the task graph of the job.
//
// Matching. The k-th send of a rank to another with a tag is received by the k-th such
// Recv. The k-th call of a group on a rank is the k-th call on the other ranks. Both
// follow the order of operations. A wildcard Recv takes the first arriving message that
// it accepts, and the operations of a stream run in the order in which they become ready.
// The simulation decides both through the graph's Contention: a stream is a server, a
// wildcard Recv a request, and a message that it may take an offer.
//
// Dependencies. A transfer waits for the predecessors of its send and, unless it is
// eager, for the predecessors of its receive. A call waits for the predecessors of all
// its ranks.
//
// Steps. numberServers finds streams whose operations may overlap. addTasks adds
// operations and messages, addCalls expands calls. Finally the dependencies within ranks
// become edges.
//
// Build fails if a send, receive or call has no partner, if ranks disagree about a call,
// and on a cycle. The error names ranks and operations.
func (j *Job) Build(b BuildOptions) (*JobGraph, error) {
	t := &graphBuilder{Job: j, BuildOptions: b, out: &JobGraph{Graph: &engine.Graph{}},
		done: make([][]int32, j.Ranks), start: make([][]int32, j.Ranks)}
	t.out.Graph.Namer = t.name
	if b.MaxTasks > 0 {
		if err := t.checkTaskCount(); err != nil {
			return nil, err
		}
	}

	// Every operation has a task on which it ends and one that waits for its
	// predecessors.
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

	// Connect each operation to its predecessors on the same rank.
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
					t.out.Graph.AddDependency(before, t.start[rank][i])
				}
			}
		}
	}

	if t.out.SendOrder != nil {
		t.out.SendOrder = append(t.out.SendOrder,
			make([]int32, len(t.out.Graph.Tasks)-len(t.out.SendOrder))...)
	}
	t.out.Graph.Contention = engine.Contention{Holds: sortedValues(t.holds),
		Offers: sortedValues(t.offers), Requests: sortedValues(t.requests)}
	return t.out, t.out.Graph.Freeze()
}

// checkTaskCount fails if the graph has more than MaxTasks tasks.
func (t *graphBuilder) checkTaskCount() error {
	n := 0
	for _, ops := range t.Ops {
		n += len(ops)
	}
	if n > t.MaxTasks {
		return TooLargeError{Tasks: n, Max: t.MaxTasks}
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
			return TooLargeError{Tasks: n, Max: t.MaxTasks}
		}
		return nil
	})
}

// opRef identifies an operation by its rank and its index on the rank.
type opRef struct{ rank, op int32 }

// op returns the operation p.
func (j *Job) op(p opRef) *Op { return &j.Ops[p.rank][p.op] }

// graphBuilder is the state of Job.Build.
type graphBuilder struct {
	*Job // the operations of all ranks
	BuildOptions
	out *JobGraph
	// done is the task after which an operation has ended, and start the task that waits
	// for its predecessors. Both are indexed by rank and operation.
	//
	// Some messages have no task of their own. A message of 0 bytes that only reports the
	// end of an operation of the sender ends with that operation on both sides, and its
	// start is -1. A buffered eager send ends, for its rank, with its only predecessor.
	// In both cases done is -1-k, where relays[k] is the send.
	done, start [][]int32
	relays      []opRef // sends that end with their predecessor

	// servers maps a stream whose operations may overlap to its server, indexed by rank.
	// It is nil for ranks without such streams.
	servers  []map[int32]int32
	holds    []opValue[engine.Hold]    // server occupations, for the graph's Contention
	offers   []opValue[engine.Offer]   // messages that a wildcard Recv may take
	requests []opValue[engine.Request] // receives that the simulation matches
}

// opValue is a value that belongs to an operation.
type opValue[T any] struct {
	opRef // the operation
	value T
}

// sortedValues returns the values in the order of ranks and operations.
func sortedValues[T any](all []opValue[T]) (values []T) {
	slices.SortStableFunc(all, func(a, b opValue[T]) int {
		return cmp.Or(cmp.Compare(a.rank, b.rank), cmp.Compare(a.op, b.op))
	})
	for _, p := range all {
		values = append(values, p.value)
	}
	return values
}

// maxOrderWork bounds the work of numberServers, in visited operations and dependencies
// per operation and dependency of a rank. It covers ranks with up to 64 interleaved
// streams. Further streams are assumed to overlap, which slows down the simulation but
// does not change its result.
const maxOrderWork = 64

// numberServers assigns servers to the streams whose operations may overlap, which are
// the streams whose operations are not ordered by dependencies.
func (t *graphBuilder) numberServers() {
	t.servers = make([]map[int32]int32, t.Ranks)
	servers := int32(0)
	for rank, ops := range t.Ops {
		// Operations of each stream of the rank.
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

// isChain reports whether each operation of a stream depends on the previous one,
// directly or through others. Operations are listed after their predecessors. It returns
// false when the budget is used up.
func isChain(ops []Op, stream int32, members []int32, budget *int) bool {
	first := members[0]
	end := members[len(members)-1] + 1

	// Length of the prefix of members that each operation follows or belongs to.
	chainLength := make([]int32, end-first)
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

// server returns the server of an operation's stream, or -1 if its operations cannot
// overlap.
func (t *graphBuilder) server(p opRef) int32 {
	stream := t.op(p).Stream
	if s, ok := t.servers[p.rank][stream]; ok && stream > 0 {
		return s
	}
	return -1
}

// holdServer occupies the server of operation p, if it has one, from the start of task
// first to the end of task last.
func (t *graphBuilder) holdServer(p opRef, first, last int32) {
	if s := t.server(p); s >= 0 {
		hold := engine.Hold{Server: s, First: first, Last: last}
		t.holds = append(t.holds, opValue[engine.Hold]{opRef: p, value: hold})
	}
}

// addMilestone adds a task of no duration for operation p after other tasks.
func (t *graphBuilder) addMilestone(p opRef, after ...int32) int32 {
	id := t.addTask(engine.Task{}, p)
	for _, a := range after {
		t.out.Graph.AddDependency(a, id)
	}
	return id
}

// setTasks sets done and start of operation p.
func (t *graphBuilder) setTasks(p opRef, done, wait int32) {
	t.done[p.rank][p.op], t.start[p.rank][p.op] = done, wait
}

// atStart is the value of done for an operation that ends when the job starts.
const atStart = int32(math.MinInt32)

// doneTask returns the task after which operation p has ended, or -1 if it ends at the
// start of the job. It resolves relays and fails if they form a cycle.
func (t *graphBuilder) doneTask(p opRef) (int32, error) {
	// Follow the relays. A value of done of -1-k means relays[k].
	op := p
	var passed []opRef
	for t.done[op.rank][op.op] < 0 && t.done[op.rank][op.op] != atStart {
		if passed = append(passed, op); len(passed) > len(t.relays)+1 {
			return 0, invalid("dependencies without a cycle",
				"operation %d of rank %d (%.40q) waits for itself, through messages", p.op, p.rank,
				t.op(p).Name)
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

// addTask adds a task of operation p.
func (t *graphBuilder) addTask(k engine.Task, p opRef) int32 {
	if k.Kind == engine.Compute {
		k = engine.ComputeAt(t.node(p.rank), k.Duration)
	}
	id := t.out.Graph.AddTask(k)
	t.claimTasks(p)
	return id
}

// claimTasks assigns the most recently added tasks to operation p.
func (t *graphBuilder) claimTasks(p opRef) {
	for len(t.out.Rank) < len(t.out.Graph.Tasks) {
		t.out.Rank, t.out.Op = append(t.out.Rank, p.rank), append(t.out.Op, p.op)
	}
}

// name describes a task in messages.
func (t *graphBuilder) name(id int32) string {
	p := opRef{rank: t.out.Rank[id], op: t.out.Op[id]}
	if o := t.op(p); o.Kind == Call { // also of other ranks
		return fmt.Sprintf("call %.60q (operation %d of rank %d)", o.Name, p.op, p.rank)
	}
	return fmt.Sprintf("rank %d, operation %d (%.60q)", p.rank, p.op, t.op(p).Name)
}

// node returns the node of a rank.
func (t *graphBuilder) node(rank int32) int32 {
	if t.NodeOf == nil {
		return rank
	}
	return t.NodeOf[rank]
}
