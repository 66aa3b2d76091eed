// This file reads workload files of SimAI (Wang et al., "SimAI: Unifying Architecture
// Design and Performance Tuning for Large-Scale Large Language Model Training with
// Scalability and Precision", NSDI 25). They describe the layers of one pipeline stage.
// simai_program.go divides the layers into micro-batches and creates the programs of ranks.
//
// Abbreviations: TP, DP, EP and PP are tensor, data, expert and pipeline parallelism; vpp is
// the number of chunks of the model per stage (virtual pipeline parallelism); ga is the
// number of micro-batches, whose gradients accumulate. A replica is a group of TP x PP ranks
// with a complete copy of the model, so DP is the number of replicas.
//
// Errors are made by invalid(want, problem). The accepted value comes first, but the
// message has the order "PROBLEM; want WANT".

package trace

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strings"

	"sim/engine"
)

// The groups of ranks that take part in the collectives of a SimAI workload, as indices into
// Job.Groups.
const (
	simTP   int32 = iota // tensor-parallel: the ranks of one replica and stage
	simDP                // data-parallel: the ranks with the same position in all replicas
	simEP                // expert-parallel: the ranks of simDP in EP consecutive replicas
	simDPEP              // the ranks of simDP that hold the same experts
)

// simPolicies are the supported values of the first word of a file, the policy. Other
// policies order operations differently.
var simPolicies = []string{"HYBRID_TRANSFORMER_FWD_IN_BCKWD", "HYBRID_TRANSFORMER", "MICRO"}

// simUnsupported are the known policies that are rejected by name.
var simUnsupported = []string{"DATA", "MODEL", "HYBRID_DLRM", "HYBRID_DLRM_ENHANCED",
	"HYBRID_DATA_MODEL", "HYBRID_MODEL_DATA", "HYBRID_CUSTOMIZED", "DISTRIBUTED_INFERENCE"}

// isSimAI reports whether a file starts with a policy of SimAI.
func isSimAI(begin []byte) bool {
	return firstWordIs(begin, slices.Concat(simPolicies, simUnsupported)...)
}

// simAIReader reads a workload file of SimAI 1.7, as its generator AICB writes it. The file
// holds the operations of one pipeline stage:
//
//	HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 8 ep: 1 pp: 2 ga: 4 all_gpus: 32
//	2
//	embedding_layer -1  500 ALLREDUCE 4096  500 NONE 0  500 NONE 0  100
//	attention_layer -1  ...
//
// The first line is a policy and the parallelism. The second line is the number of rows.
// Each row is a layer with twelve columns: name, dependency (ignored), then time in ns,
// collective and bytes of the forward pass, of the input gradient and of the weight
// gradient, and the time of the update.
type simAIReader struct {
	file   string
	policy string
	// Degrees of parallelism, number of micro-batches (ga) and number of ranks.
	tp, ep, pp, vpp, ga, gpus int
	// stageBytes is pp_comm: the bytes that the ranks of a tensor-parallel group send
	// together to the next stage, per micro-batch.
	stageBytes int64
	// Indices of the rows that are checkpoints, and of the rows whose activations are
	// recomputed from them.
	checkpointRows, recomputedRows []int
	rows                           []simRow

	rankOrder string // order of dimensions in rank numbers, such as "tp-pp-dp"; see rank
	dp        int    // number of replicas
	// Counts for Job.Notes: sizes without a collective, collectives without a size, and
	// times of 1 ns, which stand for unknown times.
	numUncalledSizes, numEmptyCalls, numUnknownTimes int
}

// simRow is a row of the file: the passes through a layer.
type simRow struct {
	name   string
	parts  [3]simPart  // indexed by forwardPart, inputGradientPart and weightGradientPart
	update engine.Time // time of the weight update
	line   int         // line of the file, from 1
	offset int         // offset of the line in the file, in bytes
	// isRecomputed reports whether its gradients need the activations recomputed from a
	// checkpoint.
	isRecomputed bool
	isCheckpoint bool // its output is stored for recomputation
}

// The parts of a row, as indices.
const (
	forwardPart = iota
	inputGradientPart
	weightGradientPart
)

// simPart is a part of a row: a computation followed by an optional collective.
type simPart struct {
	duration engine.Time
	hasCall  bool // the collective exists
	coll     Collective
	group    int32 // simTP to simDPEP
	bytes    int64 // size of the collective
}

// simPartColumns describes the columns of a simPart: three adjacent columns with the time,
// the collective and its size.
type simPartColumns struct {
	first               int    // index of the column with the time, from 0
	timeName, bytesName string // names of the columns in errors, with numbers from 1
	// defaultGroup is the group of a collective whose name has no suffix.
	defaultGroup int32
}

// simParts describes the columns of the three parts of a row.
var simParts = [3]simPartColumns{
	forwardPart: {
		first: 2, timeName: "column 3, a time in ns", bytesName: "column 5, bytes", defaultGroup: simTP,
	},
	inputGradientPart: {
		first: 5, timeName: "column 6, a time in ns", bytesName: "column 8, bytes", defaultGroup: simTP,
	},
	weightGradientPart: {
		first: 8, timeName: "column 9, a time in ns", bytesName: "column 11, bytes", defaultGroup: simDP,
	},
}

const (
	// numRowColumns is the number of columns of a row; see simAIReader.
	numRowColumns = 12
	// minRowBytes is the minimum length of a row: a character and a separator per column.
	minRowBytes = 2 * numRowColumns
)

// simCollectives are the names of collectives. A suffix may follow that names a group.
var simCollectives = []struct {
	name string
	coll Collective
}{
	{"ALLREDUCE", AllReduce},
	{"ALLGATHER", AllGather},
	{"REDUCESCATTER", ReduceScatter},
	{"ALLTOALL", AllToAll},
	{"BROADCAST", Broadcast},
}

// readSimAI reads the file and creates the programs of its ranks.
func readSimAI(files []File, options *ReadOptions) (*Job, error) {
	s := &simAIReader{file: files[0].Name, tp: 1, ep: 1, pp: 1, vpp: 1, ga: 1, gpus: options.GPUs,
		rankOrder: options.RankOrder}
	l := &lineReader{file: files[0]}
	if err := s.read(l, options); err != nil {
		return nil, err
	}
	return s.job(l, options)
}

// read reads the header, the number of rows and the rows.
func (s *simAIReader) read(l *lineReader, options *ReadOptions) error {
	if !l.scan() {
		return l.invalid("a policy such as "+simPolicies[0], "is empty")
	}
	if err := s.header(strings.Fields(l.Text), options); err != nil {
		return l.locate(err)
	}
	if !l.scan() {
		return l.invalid("the number of rows", "ends after its first line")
	}

	// The second line is the number of rows.
	rows, err := parseInteger("the number of rows", strings.TrimSpace(l.Text), 1, int64(MaxBytes/minRowBytes))
	if err != nil {
		return l.locate(err)
	}

	// Reject too long files before memory is allocated: a row stands for at least two
	// operations, a forward and a backward pass.
	lines := bytes.Count(l.file.Data, []byte{'\n'})
	if err := countOperations(l.file.Name, 2*lines); err != nil {
		return err
	}
	s.rows = make([]simRow, 0, min(int(rows), lines))

	for l.scan() {
		f := l.fields(l.Text)
		if len(f) == 0 {
			continue
		}

		// Keep the position of each row for errors.
		row, err := s.row(f)
		if err != nil {
			return l.locate(err)
		}
		row.line, row.offset = l.Line, l.offset
		s.rows = append(s.rows, row)
	}

	if len(s.rows) != int(rows) {
		return l.invalid(fmt.Sprintf("%d in the second line, or all rows", len(s.rows)),
			"the second line says %d rows, and there are %d", rows, len(s.rows))
	}

	// Mark checkpoints and the rows that need them.
	for _, list := range [][]int{s.checkpointRows, s.recomputedRows} {
		for _, i := range list {
			if i < 0 || i >= len(s.rows) {
				return l.invalid(fmt.Sprintf("a row from 0 to %d", len(s.rows)-1),
					"the header names row %d as a checkpoint", i)
			}
		}
	}

	for _, i := range s.checkpointRows {
		s.rows[i].isCheckpoint = true
	}
	for _, i := range s.recomputedRows {
		s.rows[i].isRecomputed = true
	}
	return nil
}

// header reads the first line: a policy, followed by names with values in any order.
// f are its words.
func (s *simAIReader) header(f []string, options *ReadOptions) error {
	if len(f) > 0 {
		s.policy = f[0]
	}
	if !slices.Contains(simPolicies, s.policy) {
		return invalid("one of "+strings.Join(simPolicies, ", "), "the policy is %.40q", s.policy)
	}

	// The fields of s that numbers and lists of the header set, by their names in the header.
	numbers := map[string]*int{"model_parallel_NPU_group": &s.tp, "ep": &s.ep, "pp": &s.pp,
		"vpp": &s.vpp, "ga": &s.ga, "all_gpus": &s.gpus}
	lists := map[string]*[]int{"checkpoints": &s.checkpointRows, "checkpoint_initiates": &s.recomputedRows}
	given := map[string]bool{}

	for i := 1; i < len(f); i++ {
		name, value, _ := strings.Cut(f[i], ":")
		if given[name] {
			return invalid("each once", "%.40q occurs twice", name)
		}
		given[name] = true
		if value == "" {
			// The value may be a separate word.
			if i++; i >= len(f) {
				return invalid("a value after it", "%.40q has no value", name)
			}
			value = f[i]
		}

		var err error
		var n int64
		switch {
		case numbers[name] != nil:
			n, err = parseInteger(name, value, 1, MaxRanks)
			*numbers[name] = int(n)
		case lists[name] != nil:
			if n, err = parseInteger(name, value, 0, int64(len(f)-i-1)); err != nil {
				return err
			}

			// A list is its length followed by its elements.
			for range n {
				i++
				row, err := parseInteger(name, f[i], 0, int64(MaxBytes/minRowBytes))
				if err != nil {
					return err
				}
				*lists[name] = append(*lists[name], int(row))
			}

		case name == "pp_comm":
			s.stageBytes, err = parseWhole(name, value, 0, MaxMessageBytes)
		case name == "mode":
			return invalid("a training step",
				"%q says that it is inference, whose passes SimAI orders otherwise", "mode: "+value)
		default:
			return invalid("model_parallel_NPU_group, ep, pp, vpp, ga, all_gpus, checkpoints, checkpoint_initiates or pp_comm",
				"the header has %.40q", name)
		}
		if err != nil {
			return err
		}
	}

	if options.GPUs > 0 && given["all_gpus"] && options.GPUs != s.gpus {
		return invalid("workload.gpus left out", "all_gpus is %d, and workload.gpus %d", s.gpus, options.GPUs)
	}

	// Check that the ranks form whole replicas.
	replicaRanks := s.tp * s.pp
	switch {
	case s.gpus == 0:
		return invalid("workload.gpus = N, their number",
			"the header does not say all_gpus, how many ranks there are")
	case s.gpus%replicaRanks != 0:
		return invalid(fmt.Sprintf("a multiple of %d", replicaRanks),
			"%d ranks are not whole replicas of TP %d and PP %d", s.gpus, s.tp, s.pp)
	case s.gpus/replicaRanks%s.ep != 0:
		return invalid("an EP that divides DP", "DP %d is not a multiple of EP %d", s.gpus/replicaRanks, s.ep)
	}

	s.dp = s.gpus / replicaRanks
	return nil
}

// row reads the twelve columns of a layer.
func (s *simAIReader) row(f []string) (r simRow, err error) {
	if len(f) != numRowColumns {
		return r, invalid("12: name, dependency, and of forward pass, input gradient and weight gradient time, collective and bytes, and the time of the update",
			"a row of %d columns", len(f))
	}

	r.name = f[0]
	if _, err := parseInteger("column 2, the dependency, which is not used,", f[1], math.MinInt64,
		math.MaxInt64); err != nil {
		return r, err
	}

	const maxNanoseconds = int64(maxComputeTime / engine.Nanosecond)
	for p := range r.parts {
		part, columns := &r.parts[p], &simParts[p]
		ns, err := parseInteger(columns.timeName, f[columns.first], 0, maxNanoseconds)
		if err != nil {
			return r, err
		}
		part.duration = engine.Time(ns) * engine.Nanosecond
		if ns == 1 { // AICB writes it for unknown times
			s.numUnknownTimes++
		}

		part.bytes, err = parseWhole(columns.bytesName, f[columns.first+2], 0, MaxMessageBytes)
		if err != nil {
			return r, err
		}
		if err := s.collective(part, f[columns.first+1], columns.defaultGroup); err != nil {
			return r, err
		}
	}

	ns, err := parseInteger("column 12, a time in ns", f[11], 0, maxNanoseconds)
	r.update = engine.Time(ns) * engine.Nanosecond
	return r, err
}

// collective parses the name of a collective and the suffix of its group. The size of the
// collective, part.bytes, is known.
func (s *simAIReader) collective(part *simPart, name string, defaultGroup int32) error {
	if name == "NONE" {
		if part.bytes > 0 {
			s.numUncalledSizes++
		}
		return nil
	}

	var base, suffix string // name is base + suffix
	for _, c := range simCollectives {
		if rest, ok := strings.CutPrefix(name, c.name); ok {
			base, suffix, part.coll = c.name, rest, c.coll
			break
		}
	}
	if base == "" {
		return invalid("NONE, ALLREDUCE, ALLGATHER, REDUCESCATTER, ALLTOALL or BROADCAST, of a group _EP or _DP_EP",
			"the collective is %.40q", name)
	}

	switch suffix {
	case "":
		part.group = defaultGroup
	case "_EP":
		part.group = simEP
	case "_DP_EP":
		part.group = simDPEP
	default:
		return invalid("_EP, _DP_EP or nothing", "the group of the collective %.40q is %.40q",
			base, suffix)
	}

	if part.bytes == 0 {
		s.numEmptyCalls++
		return nil
	}
	part.hasCall = true
	return nil
}

// simCoordinates are the coordinates of a rank.
type simCoordinates struct{ tensor, data, stage int }

// rank returns the number of the rank at x. Ranks are numbered with x.tensor running fastest.
// rankOrder determines which of the two others is next.
func (s *simAIReader) rank(x simCoordinates) int32 {
	if s.rankOrder == "tp-pp-dp" {
		return int32(x.tensor + s.tp*(x.stage+s.pp*x.data))
	}
	return int32(x.tensor + s.tp*(x.data+s.dp*x.stage))
}

// groups returns the groups in the order simTP, simDP, simEP, simDPEP. A group consists of
// sets of ranks, and each set makes a collective call of its own. The sets are sorted by
// stage.
func (s *simAIReader) groups() (all []Group, err error) {
	// Distances between the numbers of ranks that differ by 1 in one coordinate.
	replicaStride := int(s.rank(simCoordinates{data: 1}))
	stageStride := s.rank(simCoordinates{stage: 1})

	for _, g := range []struct {
		name         string
		size, stride int // ranks per set, and distance between them
	}{
		{"tp", s.tp, 1},
		{"dp", s.dp, replicaStride},
		{"ep", s.ep, replicaStride},
		{"dp-ep", s.dp / s.ep, replicaStride * s.ep},
	} {
		sets := strideSets(s.gpus, g.size, g.stride)

		// Calls are expanded in the order of sets, so sort these by stage.
		stageOf := func(set []int32) int { return int(set[0]/stageStride) % s.pp }
		slices.SortStableFunc(sets, func(a, b []int32) int { return stageOf(a) - stageOf(b) })
		group, err := NewGroup(g.name, s.gpus, sets)
		if err != nil {
			return nil, err
		}
		all = append(all, group)
	}

	return all, nil
}

// job creates the job. The ranks of a stage share a program. Operations are counted
// before memory is allocated for them, because few rows may stand for many operations.
func (s *simAIReader) job(l *lineReader, options *ReadOptions) (*Job, error) {
	j := &Job{Ranks: s.gpus, Ops: make([][]Op, s.gpus)}
	var err error
	if j.Groups, err = s.groups(); err != nil {
		return nil, l.locate(err)
	}

	// The dimensions in the order of rank numbers, the fastest first.
	j.Dims = []Dim{{"tp", s.tp}, {"dp", s.dp}, {"pp", s.pp}}
	if s.rankOrder == "tp-pp-dp" {
		j.Dims[1], j.Dims[2] = j.Dims[2], j.Dims[1]
	}

	step, err := s.divideRows()
	if err != nil {
		return nil, err
	}

	// Count the operations of the first stage. Other stages have about as many. Empty rows
	// have no operations, but recomputation may pass through them very often, so passes
	// through rows are limited too.
	const firstStage = 0
	count := &simProgramBuilder{countOnly: true}
	s.appendProgram(count, step, firstStage, options.Schedule)
	if err := countOperations(s.file, max(count.numOps*s.pp, count.numRows)); err != nil {
		return nil, err
	}

	// Create the programs. A middle stage exchanges two messages per micro-batch more than
	// the first one, which has no stage before it.
	for p := range s.pp {
		b := &simProgramBuilder{ops: make([]Op, 0, count.numOps+2*s.ga)}
		s.appendProgram(b, step, p, options.Schedule)
		for d := range s.dp {
			for t := range s.tp {
				j.Ops[s.rank(simCoordinates{tensor: t, data: d, stage: p})] = b.ops
			}
		}
	}

	// Notes about ignored and suspicious values.
	for _, n := range []Note{
		{Text: "sizes beside the collective NONE are ignored", Count: s.numUncalledSizes},
		{Text: "collectives of 0 bytes are left out", Count: s.numEmptyCalls},
	} {
		if n.Count > 0 {
			j.Notes = append(j.Notes, n)
		}
	}

	numTimes := len(simParts) * len(s.rows)
	if s.numUnknownTimes > numTimes/2 {
		j.Notes = append(j.Notes, Note{Text: "times are 1 ns, which AICB writes where it does not know: most of the computing is missing",
			Count: s.numUnknownTimes})
	}
	if s.pp > 1 && s.stageBytes == 0 {
		j.Notes = append(j.Notes, Note{
			Text:  "stages send each other nothing, as pp_comm is 0 or missing",
			Count: s.pp,
		})
	}

	j.Stage = s.measuredStage(step, options)
	return j, nil
}
