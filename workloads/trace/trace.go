// Package trace reads and writes the workload files of other tools.
//
// Each reader converts its format to a Job: for each rank a list of operations (Op) with
// their dependencies, and the groups of ranks that make collective calls. Job.Build
// converts a Job to a task graph. A format is one file of this package and one row of
// Formats.
//
// The package identifies ranks by number only. Callers decide where ranks are placed and
// how collective calls are expanded to transfers (BuildOptions).
//
// Files are untrusted. Readers check sizes and counts before they allocate memory
// (input.go), and every error names the file, the record and the byte, the problem, and
// the accepted input.
//
// The writers go the opposite direction: RankGraph.Job converts a task graph to a Job,
// which Job.WriteGOAL, Job.WriteBinaryGOAL, Job.WriteChakra and RankGraph.WriteCM write.
//
// Start reading at Job in trace.go, Read in read.go and Job.Build in build.go.
package trace

import (
	"fmt"
	"slices"

	"sim/engine"
	"sim/workloads/training"
)

// OpKind is the kind of an operation.
type OpKind uint8

// The kinds of operations.
const (
	Join    OpKind = iota // takes no time; waits for its predecessors
	Compute               // lasts for Op.Duration
	Send                  // sends Op.Bytes to another rank
	Recv                  // receives a message of another rank
	Call                  // collective call of all ranks of a set of a group
)

var kindNames = [...]string{"join", "compute", "send", "receive", "collective"}

// String returns the name used in reports.
func (k OpKind) String() string { return kindNames[k] }

// Collective is the operation of a Call. The meaning of Op.Bytes depends on it:
//
//	all-to-all       bytes that one rank sends to all others together
//	broadcast        bytes that every rank holds afterwards
//	all-gather       result, the vector of the whole group
//	reduce-scatter   input, the vector of the whole group
//	all-reduce       the vector of the whole group
type Collective uint8

// The collectives.
const (
	AllReduce Collective = iota
	ReduceScatter
	AllGather
	AllToAll
	Broadcast
	Barrier
)

var collectiveNames = [...]string{"all-reduce", "reduce-scatter", "all-gather", "all-to-all",
	"broadcast", "barrier"}

// String returns the name that policies/collective parses. It has no barrier.
func (c Collective) String() string { return collectiveNames[c] }

// Wire returns the bytes that one of n ranks sends in a collective with the given bytes,
// on a ring or directly to each rank. It is n-1 n-ths of the bytes, and twice as much in
// an all-reduce, which is a reduce-scatter followed by an all-gather.
func (c Collective) Wire(bytes int64, n int) int64 {
	share := int64(float64(bytes) * float64(n-1) / float64(max(1, n)))
	switch {
	case n < 2 || c == Barrier:
		return 0
	case c == AllReduce:
		return 2 * share
	case c == Broadcast:
		return share // average over the ranks
	}

	return share
}

// Op is an operation of a rank.
type Op struct {
	Name       string
	Kind       OpKind
	Collective Collective
	// Send: links send waiting packets of the lowest value first; 0 if unspecified.
	SendOrder int32
	Duration  engine.Time // Compute only
	Bytes     int64
	Group     int32 // Call: index in Job.Groups
	// Send, Recv: the other rank minus this rank, so that ranks with equal behaviour can
	// share a program; or AnySource.
	Peer int32
	// Send, Recv: the tag; a Recv with AnyTag accepts all. Join, Compute: the number
	// among all tasks; 0 if absent.
	Tag uint32
	// Stream, if positive, is a stream of the rank. Operations of a stream run one at a
	// time, in the order in which they become ready. In ranks with streams, operations
	// are listed after their predecessors.
	Stream int32
	// After lists the predecessors of the operation on its rank, by index. Dependencies
	// on other ranks are expressed by messages and calls.
	After []int32
}

// Wildcards of a Recv: AnySource is the Peer that accepts any sender, AnyTag the Tag that
// accepts any tag.
const (
	AnySource = int32(-1 << 31)
	AnyTag    = ^uint32(0)
)

// Group is a communicator. Each rank belongs to one of its sets or to none.
type Group struct {
	Name string
	Sets [][]int32
	// SetOf is the index of the set, by rank; -1 if the rank is in none.
	SetOf []int32
}

// NewGroup divides the given number of ranks into sets. It fails if a rank is in two sets
// or does not exist.
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

// Job is a workload: the content of its files.
type Job struct {
	Format string
	Ranks  int
	Groups []Group
	Ops    [][]Op // indexed by rank; ranks may share a slice
	// EagerBytes is the size up to which a Send does not wait for its Recv.
	EagerBytes int64
	// Buffered states when a Send of up to EagerBytes ends for its rank: when it starts if
	// true, and when the message has arrived if false.
	Buffered bool
	// Dims are the dimensions of parallelism in the order of rank numbers, the fastest
	// first. It is empty if the files do not specify them.
	Dims  []Dim
	Notes []Note // ignored or reinterpreted records
	// Stage describes a pipeline stage if the file holds one stage that stands for all.
	// It is nil if the files hold each rank.
	Stage *training.MeasuredStage
}

// Dim is a dimension of parallelism.
type Dim struct {
	Name string
	Size int
}

// Note counts records that were ignored or reinterpreted for one reason.
type Note struct {
	Text  string
	Count int
	Bytes int64
}

// note counts a record in the note with the given text.
func (j *Job) note(text string) { j.noteBytes(text, 0) }

// noteBytes is like note for a record that stands for bytes.
func (j *Job) noteBytes(text string, bytes int64) {
	i := slices.IndexFunc(j.Notes, func(n Note) bool { return n.Text == text })
	if i < 0 {
		i = len(j.Notes)
		j.Notes = append(j.Notes, Note{Text: text})
	}
	j.Notes[i].Count++
	j.Notes[i].Bytes += bytes
}

// members returns the ranks of the set that makes a call of rank.
func (j *Job) members(rank int, op *Op) []int32 {
	g := &j.Groups[op.Group]
	return g.Sets[g.SetOf[rank]]
}

// each visits the distinct programs of the job, with the first rank of each and the
// number of ranks that share it.
func (j *Job) each(visit func(rank, times int, ops []Op)) {
	// Two ranks share a program if their slices have the same first element and length.
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
			ranks = append(ranks, rank)
			times = append(times, 0)
		}
		times[i]++
	}

	for i, rank := range ranks {
		visit(rank, times[i], j.Ops[rank])
	}
}

// Wire returns the bytes of all transfers of the job, with calls as rings, and the
// approximate number of transfers.
func (j *Job) Wire() (bytes, transfers float64) {
	j.each(func(rank, times int, ops []Op) {
		for i := range ops {
			switch o, k := &ops[i], float64(times); o.Kind {
			case Send:
				bytes += k * float64(o.Bytes)
				transfers += k
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

// Compute returns the maximum compute time of a rank.
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
