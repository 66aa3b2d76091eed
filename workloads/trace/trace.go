// Package trace reads the workloads of other tools: what each rank computes, sends, receives and calls. All formats become
// one Job, and one Build makes a Job a task graph. A format is one file and one row of Formats.
//
// It knows ranks by number and nothing of hardware. Where ranks are, and by which algorithm collective calls are expanded,
// is decided elsewhere. Files are hostile: what is read is counted first (limits.go), and every error names file, record
// and byte, what is wrong and what would be right.
package trace

import (
	"fmt"
	"slices"

	"sim/engine"
	"sim/workloads/training"
)

// OpKind says what an operation does.
type OpKind uint8

const (
	Join    OpKind = iota // waits alone
	Compute               // lasts Op.Dur
	Send                  // Op.Bytes to another rank
	Recv                  // of what that rank sends
	Call                  // with all of a group
)

var kindNames = [...]string{"join", "compute", "send", "receive", "collective"}

// String names a kind in reports.
func (k OpKind) String() string { return kindNames[k] }

// Collective is what a Call does. The bytes of an all-to-all are what one rank sends to all together, of a broadcast what all
// have then, of others the vector of the whole group: of an all-gather its result, of a reduce-scatter its input.
type Collective uint8

const (
	AllReduce Collective = iota
	ReduceScatter
	AllGather
	AllToAll
	Broadcast
	Barrier
)

var collectiveNames = [...]string{"all-reduce", "reduce-scatter", "all-gather", "all-to-all", "broadcast", "barrier"}

// String is the name that policies/collective parses; it has no barriers.
func (c Collective) String() string { return collectiveNames[c] }

// Wire returns the bytes that a rank of n sends in a collective of so many, by a ring or straight to each.
func (c Collective) Wire(bytes int64, n int) int64 {
	each := int64(float64(bytes) * float64(n-1) / float64(max(1, n)))
	switch {
	case n < 2 || c == Barrier:
		return 0
	case c == AllReduce:
		return 2 * each
	case c == Broadcast:
		return each // on average
	}
	return each
}

// Op is an operation of a rank.
type Op struct {
	Name       string
	Kind       OpKind
	Collective Collective
	SendOrder  int32       // of a Send: links send packets of the lowest first, of those that wait; 0 of none
	Duration   engine.Time // of a Compute
	Bytes      int64
	Group      int32  // of a Call: index of Job.Groups
	Peer       int32  // of a Send or Recv: the other rank less this one, so that ranks that do alike share a program; or Any
	Tag        uint32 // of a Send or Recv, AnyTag receives all; of a Join or Compute its number among all tasks, 0 of none
	// Stream, if above 0, is one of the rank's streams. Operations of a stream go one at a time, in the order in which they
	// become ready. Operations of a rank that has streams stand behind those that they wait for.
	Stream int32
	After  []int32 // operations of the rank that it waits for, by index; those of others it waits for where it talks with them
}

// Any is the peer of a Recv from whomever sends first, AnyTag its tag where that may be any.
const (
	AnySource = int32(-1 << 31)
	AnyTag    = ^uint32(0)
)

// Group is a communicator: each rank is in one of its sets, or in none.
type Group struct {
	Name  string
	Sets  [][]int32
	SetOf []int32 // by rank its set, -1 of none
}

// NewGroup divides so many ranks into sets. It fails where a rank is in two, or is none.
func NewGroup(name string, ranks int, sets [][]int32) (Group, error) {
	g := Group{Name: name, Sets: sets, SetOf: slices.Repeat([]int32{-1}, ranks)}
	for i, set := range sets {
		for _, r := range set {
			switch {
			case r < 0 || int(r) >= ranks:
				return g, fmt.Errorf("group %.40q has rank %d of %d", name, r, ranks)
			case g.SetOf[r] >= 0:
				return g, fmt.Errorf("group %.40q has rank %d twice", name, r)
			}
			g.SetOf[r] = int32(i)
		}
	}
	return g, nil
}

// Job is what the files of a workload hold.
type Job struct {
	Format     string
	Ranks      int
	Groups     []Group
	Ops        [][]Op // by rank; ranks may share them
	EagerBytes int64  // bytes up to which a message does not wait for its Recv
	// Buffered says that a Send of up to Eager bytes is done for its rank when it starts, not when it has arrived.
	Buffered bool
	Dims     []Dim  // of parallelism, as ranks are numbered: the first varies fastest; none where the files do not say
	Notes    []Note // what was dropped or is not what it seems
	// Stage is what a stage of a pipeline does, of files that hold one that stands for all; nil where they hold each rank.
	Stage *training.MeasuredStage
}

// Dim is a dimension of parallelism.
type Dim struct {
	Name string
	Size int
}

// Note counts what was not taken as it stands.
type Note struct {
	Text  string
	Count int
	Bytes int64
}

// members returns the ranks that make a call with rank, which are at least one.
func (j *Job) members(rank int, op *Op) []int32 {
	g := &j.Groups[op.Group]
	return g.Sets[g.SetOf[rank]]
}

// each visits the programs of the job, with the first rank of each and how many ranks share it.
func (j *Job) each(visit func(rank, times int, ops []Op)) {
	type program struct {
		first *Op
		n     int
	}
	index := map[program]int{}
	var ranks, times []int
	for rank, ops := range j.Ops {
		if len(ops) == 0 {
			continue
		}
		p := program{&ops[0], len(ops)}
		i, ok := index[p]
		if !ok {
			i, index[p] = len(ranks), len(ranks)
			ranks, times = append(ranks, rank), append(times, 0)
		}
		times[i]++
	}
	for i, rank := range ranks {
		visit(rank, times[i], j.Ops[rank])
	}
}

// Wire returns the bytes that all transfers of a job carry, by rings, and about how many there are.
func (j *Job) Wire() (bytes, transfers float64) {
	j.each(func(rank, times int, ops []Op) {
		for i := range ops {
			switch o, k := &ops[i], float64(times); o.Kind {
			case Send:
				bytes, transfers = bytes+k*float64(o.Bytes), transfers+k
			case Call:
				n := len(j.members(rank, o))
				bytes += k * float64(o.Collective.Wire(o.Bytes, n))
				if transfers += k * float64(n-1); o.Collective == AllReduce {
					transfers += k * float64(n-1)
				}
			}
		}
	})
	return bytes, transfers
}

// Compute returns the longest that any rank computes.
func (j *Job) Compute() (longest engine.Time) {
	j.each(func(_, _ int, ops []Op) {
		var sum engine.Time
		for i := range ops {
			sum += ops[i].Duration
		}
		longest = max(longest, sum)
	})
	return longest
}
