package trace

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strings"

	"sim/engine"
)

// Groups of a SimAI workload, by index in Job.Groups.
const (
	simTP int32 = iota
	simDP
	simEP
	simDPEP
)

// simPolicies are the supported values of the first word. Other policies order operations
// differently.
var simPolicies = []string{"HYBRID_TRANSFORMER_FWD_IN_BCKWD", "HYBRID_TRANSFORMER", "MICRO"}

// simUnsupported are the known policies that are rejected by name.
var simUnsupported = []string{"DATA", "MODEL", "HYBRID_DLRM", "HYBRID_DLRM_ENHANCED",
	"HYBRID_DATA_MODEL", "HYBRID_MODEL_DATA", "HYBRID_CUSTOMIZED", "DISTRIBUTED_INFERENCE"}

// isSimAI reports whether a file starts with a policy of SimAI.
func isSimAI(begin []byte) bool {
	return firstWordIs(begin, slices.Concat(simPolicies, simUnsupported)...)
}

// simAIReader reads a workload text of AICB and SimAI 1.7. It holds the operations of one
// pipeline stage:
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
	// Degrees of parallelism, micro-batches (ga) and ranks.
	tp, ep, pp, vpp, ga, gpus int
	// pp_comm: bytes to the next stage per micro-batch, for a tensor-parallel group.
	stageBytes int64
	// Rows that are checkpoints, and rows recomputed from them.
	checkpointRows, recomputedRows []int
	rows                           []simRow
	rankOrder                      string
	dp                             int
	// Counts for notes: sizes without a collective, collectives without a size, and times
	// of 1 ns, which stand for unknown times.
	numUncalledSizes, numEmptyCalls, numUnknownTimes int
}

// simRow is a layer.
type simRow struct {
	name   string
	parts  [3]simPart  // forward pass, input gradient, weight gradient
	update engine.Time // time of the weight update
	line   int         // line of the file, from 1, and its offset
	offset int
	// isRecomputed reports whether its gradients need the activations recomputed from a
	// checkpoint.
	isRecomputed bool
	isCheckpoint bool // its output is stored for recomputation
}

// simPart is a computation followed by an optional collective.
type simPart struct {
	duration engine.Time
	hasCall  bool // the collective exists
	coll     Collective
	group    int32 // simTP to simDPEP
	bytes    int64
}

// simCollectives are the names of collectives. They are compared as prefixes, as in
// SimAI.
var simCollectives = []struct {
	name string
	coll Collective
}{{"ALLREDUCE", AllReduce}, {"ALLGATHER", AllGather}, {"REDUCESCATTER", ReduceScatter}, {"ALLTOALL", AllToAll},
	{"BROADCAST", Broadcast}}

// readSimAI reads the file and creates the programs of its ranks.
func readSimAI(files []File, h *ReadOptions) (*Job, error) {
	s := &simAIReader{file: files[0].Name, tp: 1, ep: 1, pp: 1, vpp: 1, ga: 1, gpus: h.GPUs,
		rankOrder: h.RankOrder}
	l := &lineReader{file: files[0]}
	if err := s.read(l, h); err != nil {
		return nil, err
	}
	return s.job(l, h)
}

// read reads the header, the number of rows and the rows.
func (s *simAIReader) read(l *lineReader, h *ReadOptions) error {
	if !l.scan() {
		return l.invalid("a policy such as "+simPolicies[0], "is empty")
	}
	if err := s.header(l, strings.Fields(l.Text), h); err != nil {
		return l.locate(err)
	}
	if !l.scan() {
		return l.invalid("the number of rows", "ends after its first line")
	}

	// The second line is the number of rows. A row takes at least 24 bytes.
	rows, err := parseInteger("the number of rows", strings.TrimSpace(l.Text), 1, MaxBytes/24)
	if err != nil {
		return l.locate(err)
	}

	// Each row has at least two operations.
	ends := bytes.Count(l.file.Data, []byte{'\n'})
	if err := countOperations(l.file.Name, 2*ends); err != nil {
		return err
	}
	s.rows = make([]simRow, 0, min(int(rows), ends))

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
func (s *simAIReader) header(l *lineReader, f []string, h *ReadOptions) error {
	if len(f) == 0 || !slices.Contains(simPolicies, f[0]) {
		return invalid("one of "+strings.Join(simPolicies, ", "), "the policy is %.40q", append(f, "")[0])
	}
	s.policy = f[0]

	// Numbers and lists of the header, by name.
	fields := map[string]*int{"model_parallel_NPU_group": &s.tp, "ep": &s.ep, "pp": &s.pp,
		"vpp": &s.vpp, "ga": &s.ga, "all_gpus": &s.gpus}
	list := map[string]*[]int{"checkpoints": &s.checkpointRows, "checkpoint_initiates": &s.recomputedRows}
	given := map[string]bool{}

	for i := 1; i < len(f); i++ {
		name, value, _ := strings.Cut(f[i], ":")
		if given[name] {
			return invalid("each once", "%.40q occurs twice", name)
		}
		if given[name] = true; value == "" {
			// The value may be a separate word.
			if i++; i >= len(f) {
				return invalid("a value after it", "%.40q has no value", name)
			}
			value = f[i]
		}

		var err error
		var n int64
		switch {
		case fields[name] != nil:
			n, err = parseInteger(name, value, 1, MaxRanks)
			*fields[name] = int(n)
		case list[name] != nil:
			if n, err = parseInteger(name, value, 0, int64(len(f)-i-1)); err != nil {
				return err
			}

			// A list is its length followed by its elements.
			for range n {
				i++
				row, err := parseInteger(name, f[i], 0, MaxBytes/24)
				if err != nil {
					return err
				}
				*list[name] = append(*list[name], int(row))
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

	if h.GPUs > 0 && given["all_gpus"] && h.GPUs != s.gpus {
		return invalid("workload.gpus left out", "all_gpus is %d, and workload.gpus %d", s.gpus, h.GPUs)
	}

	// Check that the ranks form whole replicas.
	switch replicaRanks := s.tp * s.pp; {
	case s.gpus == 0:
		return invalid("workload.gpus = N, their number",
			"the header does not say all_gpus, how many ranks there are")
	case s.gpus%replicaRanks != 0:
		return invalid(fmt.Sprintf("a multiple of %d", replicaRanks),
			"%d ranks are not whole replicas of TP %d and PP %d", s.gpus, s.tp, s.pp)
	case s.gpus/replicaRanks%s.ep != 0:
		return invalid("an EP that divides DP", "DP %d is not a multiple of EP %d", s.gpus/replicaRanks, s.ep)
	}

	s.dp = s.gpus / (s.tp * s.pp)
	return nil
}

// row reads the twelve columns of a layer.
func (s *simAIReader) row(f []string) (r simRow, err error) {
	if len(f) != 12 {
		return r, invalid("12: name, dependency, and of forward pass, input gradient and weight gradient time, collective and bytes, and the time of the update",
			"a row of %d columns", len(f))
	}

	r.name = f[0]
	if _, err := parseInteger("column 2, the dependency, which is not used,", f[1], math.MinInt64,
		math.MaxInt64); err != nil {
		return r, err
	}
	for p := range r.parts {
		t := &r.parts[p]

		// Without a suffix, collectives of passes are tensor-parallel, collectives of
		// weight gradients data-parallel.
		defaultGroup := [...]int32{simTP, simTP, simDP}[p]
		column := 2 + 3*p
		ns, err := parseInteger([...]string{"column 3, a time in ns", "column 6, a time in ns",
			"column 9, a time in ns"}[p], f[column], 0, int64(maxComputeTime/engine.Nanosecond))
		if err != nil {
			return r, err
		}

		if t.duration = engine.Time(ns) * engine.Nanosecond; ns == 1 {
			s.numUnknownTimes++
		}
		if t.bytes, err = parseWhole([...]string{"column 5, bytes", "column 8, bytes",
			"column 11, bytes"}[p], f[column+2], 0, MaxMessageBytes); err != nil {
			return r, err
		}
		if err := s.collective(t, f[column+1], defaultGroup); err != nil {
			return r, err
		}
	}

	ns, err := parseInteger("column 12, a time in ns", f[11], 0, int64(maxComputeTime/engine.Nanosecond))
	r.update = engine.Time(ns) * engine.Nanosecond
	return r, err
}

// collective parses the name of a collective and the suffix of its group.
func (s *simAIReader) collective(t *simPart, name string, defaultGroup int32) error {
	if name == "NONE" {
		if t.bytes > 0 {
			s.numUncalledSizes++
		}
		return nil
	}

	i := slices.IndexFunc(simCollectives, func(c struct {
		name string
		coll Collective
	}) bool {
		return strings.HasPrefix(name, c.name)
	})

	if i < 0 {
		return invalid("NONE, ALLREDUCE, ALLGATHER, REDUCESCATTER, ALLTOALL or BROADCAST, of a group _EP or _DP_EP",
			"the collective is %.40q", name)
	}

	t.coll = simCollectives[i].coll
	switch suffix := name[len(simCollectives[i].name):]; suffix {
	case "":
		t.group = defaultGroup
	case "_EP":
		t.group = simEP
	case "_DP_EP":
		t.group = simDPEP
	default:
		return invalid("_EP, _DP_EP or nothing", "the group of the collective %.40q is %.40q",
			simCollectives[i].name, suffix)
	}

	if t.bytes == 0 {
		s.numEmptyCalls++
		return nil
	}
	t.hasCall = true
	return nil
}

// rank returns the rank with tensor coordinate t, data coordinate d and stage p.
func (s *simAIReader) rank(t, d, p int) int32 {
	if s.rankOrder == "tp-pp-dp" {
		return int32(t + s.tp*(p+s.pp*d))
	}
	return int32(t + s.tp*(d+s.dp*p))
}

// groups returns the groups in the order simTP, simDP, simEP, simDPEP. Their sets are
// sorted by stage.
func (s *simAIReader) groups() (all []Group, err error) {
	replica := int(s.rank(0, 1, 0))
	stage := s.rank(0, 0, 1) // distances in ranks
	for _, g := range []struct {
		name       string
		size, step int
	}{{"tp", s.tp, 1}, {"dp", s.dp, replica}, {"ep", s.ep, replica}, {"dp-ep", s.dp / s.ep, replica * s.ep}} {
		sets := strideSets(s.gpus, g.size, g.step)

		// Calls are expanded in the order of sets, so sort these by stage.
		stageOf := func(set []int32) int { return int(set[0]/stage) % s.pp }
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
func (s *simAIReader) job(l *lineReader, h *ReadOptions) (*Job, error) {
	j := &Job{Ranks: s.gpus, Ops: make([][]Op, s.gpus)}
	var err error
	if j.Groups, err = s.groups(); err != nil {
		return nil, l.locate(err)
	}

	// The dimensions in the order of rank numbers.
	j.Dims = []Dim{{"tp", s.tp}, {"dp", s.dp}, {"pp", s.pp}}
	if s.rankOrder == "tp-pp-dp" {
		j.Dims[1], j.Dims[2] = j.Dims[2], j.Dims[1]
	}

	step, err := s.divideRows()
	if err != nil {
		return nil, err
	}

	count := &simProgramBuilder{countOnly: true} // count operations before allocating memory
	s.appendProgram(count, step, 0, h.Schedule)
	if err := countOperations(s.file, max(count.numOps*s.pp, count.numRows)); err != nil {
		return nil, err
	}

	for p := range s.pp {
		b := &simProgramBuilder{ops: make([]Op, 0, count.numOps+2*s.ga)}
		s.appendProgram(b, step, p, h.Schedule)
		for d := range s.dp {
			for t := range s.tp {
				j.Ops[s.rank(t, d, p)] = b.ops
			}
		}
	}

	// Notes about ignored and suspicious values.
	for _, n := range []Note{{"sizes beside the collective NONE are ignored", s.numUncalledSizes, 0},
		{"collectives of 0 bytes are left out", s.numEmptyCalls, 0}} {
		if n.Count > 0 {
			j.Notes = append(j.Notes, n)
		}
	}

	if s.numUnknownTimes > 3*len(s.rows)/2 {
		j.Notes = append(j.Notes, Note{Text: "times are 1 ns, which AICB writes where it does not know: most of the computing is missing",
			Count: s.numUnknownTimes})
	}
	if s.pp > 1 && s.stageBytes == 0 {
		j.Notes = append(j.Notes, Note{
			Text:  "stages send each other nothing, as pp_comm is 0 or missing",
			Count: s.pp,
		})
	}

	j.Stage = s.measuredStage(step, h)
	return j, nil
}
