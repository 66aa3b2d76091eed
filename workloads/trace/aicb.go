package trace

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"sim/engine"
)

// isAICB reports whether a file starts with AICB's list of ranks or its table header.
func isAICB(begin []byte) bool {
	begin = bytes.TrimLeft(begin, " \t\r\n")
	if list, ok := bytes.CutPrefix(begin, []byte("[")); ok {
		list = bytes.TrimLeft(list, " ")
		return bytes.HasPrefix(list, []byte("rank")) || bytes.HasPrefix(list, []byte("pp_stage"))
	}
	return bytes.HasPrefix(begin, []byte("comm_type,"))
}

// aicbReader reads AICB's table of the calls of a real cluster: for each pipeline stage,
// the consecutive operations of its ranks.
//
//	[ pp_stage0: [rank0, rank1] ]
//	comm_type,comm_group,comm_group_size,msg_size,stage,...
//	CommType.all_reduce,CommGroup.tp_group,2,1000,forward,...
//	CommType.isend,CommGroup.pp_group,1,600,forward_step,...
//
// Each stage starts with its ranks and the header. Columns may be in any order. The table
// may be a prediction, in which only computations have times, or a measurement.
type aicbReader struct {
	setup      bool           // include the operations before the first iteration
	column     map[string]int // index of each column, by its name
	stages     []aicbStage
	sizes      map[string]int   // size of each group, by name, as given in rows
	groups     map[string]int32 // index in groupNames of each called group
	groupNames []string         // called groups, in the order of first use
	isMeasured bool             // communication has times, so the file is a measurement

	// Ranks per stage, tensor, context and data parallelism, and ranks that share
	// experts.
	stageRanks, tp, cp, dp, ep int
}

// aicbStage holds the rows of one pipeline stage, with ranks first to first+ranks-1.
type aicbStage struct {
	first, ranks int
	rows         []aicbRow
	setup        int // number of rows before the first iteration
}

// aicbRow is a row of the table.
type aicbRow struct {
	op    Op
	time  float64 // measured time in the unit of the file; -1 if unknown
	peer  int     // message: stage of the peer minus this stage
	bytes int64
}

// aicbCalls maps AICB's call types to collectives.
var aicbCalls = map[string]Collective{
	"all_reduce": AllReduce, "all_gather": AllGather, "all_gather_into_tensor": AllGather,
	"reduce_scatter":        ReduceScatter,
	"reduce_scatter_tensor": ReduceScatter, "all_to_all": AllToAll, "broadcast": Broadcast,
	"barrier": Barrier,
}

// aicbPeers maps the peer of a message to the difference of stages.
var aicbPeers = map[string]int{"send_next": 1, "recv_next": 1, "send_prev": -1, "recv_prev": -1}

// aicbGroups are the groups that rows may call.
var aicbGroups = []string{"tp_group", "dp_group", "pp_group", "ep_group", "ep_dp_group",
	"ep_tp_group", "embedding_group", "all"}

// readAICB reads an AICB table.
func readAICB(files []File, h *ReadOptions) (*Job, error) {
	a := &aicbReader{setup: h.Setup, sizes: map[string]int{}, groups: map[string]int32{}}

	l := &lineReader{file: files[0]}
	for l.scan() {
		text := strings.TrimSpace(l.Text)
		var err error
		switch {
		case text == "":
		case text[0] == '[':
			err = a.readRanks(text)
		case strings.HasPrefix(text, "comm_type,"):
			err = a.readHeader(text, h)
		case a.column == nil:
			err = invalid("a header that begins with comm_type", "a row %.40q before the header", text)
		default:
			err = a.readRow(text)
		}
		if err != nil {
			return nil, l.locate(err)
		}
	}

	if a.column == nil {
		return nil, l.invalid("a header that begins with comm_type", "has no header")
	}
	j, err := a.job(h)
	return j, l.locate(err)
}

// readRanks reads the line before a header that names the ranks of the following rows:
// "[rank0 ~ rank127]" or "[ pp_stage0: [rank0, rank1] ]".
func (a *aicbReader) readRanks(text string) error {
	const want = "[rank0 ~ rankN], or [ pp_stage0: [rank0, rank1, ...] ]"
	bare := strings.Trim(text, "[] \t")

	// Stages are numbered from 0 in the order of the file.
	if stage, list, ok := strings.Cut(bare, ":"); ok {
		if stage != fmt.Sprintf("pp_stage%d", len(a.stages)) {
			return invalid(fmt.Sprintf("pp_stage%d", len(a.stages)), "the stage is %.40q", stage)
		}
		bare = strings.Trim(list, "[] \t")
	}

	number := func(name string) (int, error) {
		n, ok := strings.CutPrefix(strings.TrimSpace(name), "rank")
		if !ok {
			return 0, invalid(want, "a rank %.40q", name)
		}
		rank, err := parseInteger("a rank", n, 0, MaxRanks-1)
		return int(rank), err
	}

	s, next := aicbStage{}, 0
	if len(a.stages) > 0 {
		before := &a.stages[len(a.stages)-1]
		next = before.first + before.ranks
	}

	s.first = next

	// Ranks are consecutive, written as single numbers or ranges.
	for list := range strings.SplitSeq(bare, ",") {
		from, to, span := strings.Cut(list, "~")
		first, err := number(from)
		if err != nil {
			return err
		}
		last := first
		if span {
			if last, err = number(to); err != nil {
				return err
			}
		}

		// The next rank follows the previous one, also across stages.
		if first != next || last < first {
			return invalid("all ranks from 0, one after the other", "rank %d follows rank %d",
				first, next-1)
		}
		next = last + 1
	}

	// All stages have the same number of ranks.
	if s.ranks = next - s.first; len(a.stages) > 0 && s.ranks != a.stages[0].ranks {
		return invalid(fmt.Sprintf("%d, as in the first", a.stages[0].ranks),
			"a stage of %d ranks", s.ranks)
	}
	a.stages = append(a.stages, s)
	return nil
}

// readHeader reads the names of the columns and checks the number of ranks.
func (a *aicbReader) readHeader(text string, h *ReadOptions) error {
	names := strings.Split(text, ",")
	column := map[string]int{}
	for i, name := range names {
		if _, twice := column[name]; twice {
			return invalid("each once", "the column %.40q occurs twice", name)
		}
		column[name] = i
	}

	for _, name := range []string{"comm_group", "msg_size", "stage"} {
		if _, ok := column[name]; !ok {
			return invalid("the columns comm_type, comm_group, msg_size and stage at least",
				"the header has no %s", name)
		}
	}

	a.column = column

	// The number of ranks is in the file or in workload.gpus, not in both.
	switch {
	case len(a.stages) > 0 && h.GPUs > 0 && (len(a.stages) > 1 || h.GPUs != a.stages[0].ranks):
		return invalid("workload.gpus left out",
			"the file says which ranks there are, and workload.gpus is %d", h.GPUs)
	case len(a.stages) > 0:
	case h.GPUs == 0:
		return invalid("workload.gpus = N, their number", "the file does not say how many ranks there are")
	default:
		a.stages = []aicbStage{{ranks: h.GPUs}}
	}

	return nil
}

// readRow reads a row and appends it to the last stage. The shapes of a computation in
// column msg_size contain commas themselves, so such rows have extra fields.
func (a *aicbReader) readRow(text string) error {
	f := strings.Split(text, ",")

	extra := len(f) - len(a.column)
	size := a.column["msg_size"]
	kind, ok := strings.CutPrefix(f[a.column["comm_type"]], "CommType.")
	if !ok {
		return invalid("CommType.all_reduce and the like", "the type is %.40q", f[0])
	}

	if extra < 0 || extra > 0 && kind != "computation" {
		return invalid(fmt.Sprintf("%d, as in the header", len(a.column)), "a row of %d columns", len(f))
	}

	// field returns the value of a column, or "" if the column does not exist.
	field := func(name string) string {
		i, ok := a.column[name]
		if !ok {
			return ""
		}
		if i > size {
			i += extra
		}
		if f[i] == "None" {
			return ""
		}
		return f[i]
	}

	s := &a.stages[len(a.stages)-1]
	r := aicbRow{op: Op{Name: field("stage") + " " + kind, Kind: Call}, time: -1}

	if t := field("_elapsed_time"); t != "" {
		var err error
		if r.time, err = strconv.ParseFloat(t, 64); err != nil || !(r.time >= 0) || r.time > 1e18 {
			return invalid("a time or None", "the time is %.40q", t)
		}
	}

	if n := field("count"); n != "" && n != "1" && n != "1.0" {
		return invalid("1", "the count is %.40q", n)
	}

	// Rows without a message or call.
	switch kind {
	case "epoch_end":
		if s.setup == 0 {
			s.setup = len(s.rows)
		}
		return nil
	case "computation":
		r.op.Kind = Compute
		s.rows = append(s.rows, r)
		return nil
	case "reduce":
		return invalid("reduce_scatter or all_reduce",
			"%q is a reduce to one rank, which is not expanded", field("stage"))
	}

	var err error
	if r.bytes, err = parseWhole("msg_size", f[size], 0, MaxMessageBytes); err != nil {
		return err
	}

	a.isMeasured = a.isMeasured || r.time >= 0

	// A message to another stage.
	if kind == "isend" || kind == "irecv" {
		if r.peer = aicbPeers[field("additional")]; r.peer == 0 ||
			(kind == "isend") != strings.HasPrefix(field("additional"), "send") {
			return invalid("send_next, send_prev, recv_next or recv_prev",
				"%s has %.40q as additional, which names no peer", kind, field("additional"))
		}
		if r.op.Kind = Send; kind == "irecv" {
			r.op.Kind = Recv
		}
		s.rows = append(s.rows, r)
		return nil
	}

	// A collective call.
	if r.op.Collective, ok = aicbCalls[kind]; !ok {
		return invalid("all_reduce, all_gather, reduce_scatter, all_to_all, broadcast, barrier, isend, irecv, computation or epoch_end",
			"the type is %.40q", kind)
	}

	group := strings.TrimPrefix(field("comm_group"), "CommGroup.")
	if group == "all_nodes" || group == "" && kind == "barrier" {
		group = "all"
	}

	if !slices.Contains(aicbGroups, group) {
		return invalid(strings.Join(aicbGroups, ", "), "the group is %.40q", field("comm_group"))
	}

	// Rows of a group must agree on its size.
	if n := field("comm_group_size"); n != "" {
		ranks, err := parseWhole("comm_group_size", n, 1, MaxRanks)
		if before, ok := a.sizes[group]; err == nil && ok && before != int(ranks) {
			err = invalid(fmt.Sprintf("%d, as before", before), "%s of %d ranks", group, ranks)
		}
		if err != nil {
			return err
		}
		a.sizes[group] = int(ranks)
	}

	// Groups are numbered in the order of first use.
	index, known := a.groups[group]
	if !known {
		index = int32(len(a.groupNames))
		a.groups[group], a.groupNames = index, append(a.groupNames, group)
	}

	r.op.Group = index
	s.rows = append(s.rows, r)
	return nil
}

// setSizes derives the sizes of tensor, context, data and expert parallelism from the
// sizes of groups. A missing size follows from the others and from the number of ranks
// per stage.
func (a *aicbReader) setSizes(h *ReadOptions) error {
	n := a.stages[0].ranks
	tp := a.sizes["tp_group"]
	dp := a.sizes["dp_group"]
	switch {
	case tp == 0 && dp == 0 && len(a.groupNames) == 1:
		tp = 1
		dp = n // a measurement of a single group
	case tp == 0 && dp == 0:
		tp, dp = 1, n
		if slices.Contains(a.groupNames, "tp_group") {
			return invalid("a comm_group_size of tp_group or dp_group",
				"no row says how large these groups are")
		}

	case tp == 0:
		tp = n / dp
	case dp == 0:
		dp = n / tp
	}

	// The rest of a stage is context parallelism.
	if tp*dp > n || n%(tp*dp) != 0 {
		return invalid(fmt.Sprintf("a multiple of %d", tp*dp),
			"stages of %d ranks, of tp_group %d and dp_group %d", n, tp, dp)
	}

	// Three groups determine the size of expert parallelism; they must agree.
	ep := h.EP
	for _, derived := range []struct {
		group string
		ep    int
	}{{"ep_group", a.sizes["ep_group"]}, {"ep_tp_group", a.sizes["ep_tp_group"] / tp},
		{"ep_dp_group", dp / max(1, a.sizes["ep_dp_group"])}} {
		if a.sizes[derived.group] == 0 {
			continue
		}
		if ep > 0 && ep != derived.ep {
			return invalid("one size of groups of experts",
				"%s says that %d ranks share experts, and others %d", derived.group, derived.ep, ep)
		}
		ep = derived.ep
	}

	if _, calls := a.groups["ep_group"]; ep == 0 &&
		(calls || slices.Contains(a.groupNames, "ep_tp_group") ||
			slices.Contains(a.groupNames, "ep_dp_group")) {
		return invalid("workload.ep = N, how many ranks of a dp_group share experts",
			"no row says how large ep_group is")
	}

	if ep = max(1, ep); dp%ep != 0 {
		return invalid("an ep that divides dp_group",
			"dp_group of %d is not a multiple of %d ranks that share experts", dp, ep)
	}
	a.stageRanks, a.tp, a.cp, a.dp, a.ep = n, tp, n/(tp*dp), dp, ep
	return nil
}

// sets returns the sets of a group. Ranks of a stage are numbered in the order TP, CP,
// EP, DP with TP fastest, as in AICB and Megatron-LM.
func (a *aicbReader) sets(group string) (sets [][]int32) {
	all := a.stageRanks * len(a.stages)
	replica := a.tp * a.cp
	switch group {
	case "all":
		return strideSets(all, all, 1)
	case "tp_group":
		return strideSets(all, a.tp, 1)
	case "dp_group":
		return strideSets(all, a.dp, replica)
	case "ep_group":
		return strideSets(all, a.ep, replica)
	case "ep_dp_group":
		return strideSets(all, a.dp/a.ep, replica*a.ep)
	case "pp_group":
		return strideSets(all, len(a.stages), a.stageRanks)
	case "embedding_group":
		for i := range a.stageRanks {
			sets = append(sets, []int32{int32(i), int32(all - a.stageRanks + i)})
		}
		return sets
	}

	for _, experts := range strideSets(all, a.ep, replica) { // ep_tp_group: the expert groups of all TP ranks together
		// One set per expert group of the first TP rank.
		if int(experts[0])%a.tp != 0 {
			continue
		}
		var set []int32
		for _, r := range experts {
			for t := range int32(a.tp) {
				set = append(set, r+t)
			}
		}
		sets = append(sets, set)
	}

	return sets
}

// strideSets divides n ranks into sets of the given size with a distance of step between
// members.
func strideSets(n, size, step int) (sets [][]int32) {
	for first := range n {
		if first/step%size != 0 {
			continue
		}
		set := make([]int32, size)
		for i := range set {
			set[i] = int32(first + i*step)
		}
		sets = append(sets, set)
	}

	return sets
}

// job creates the job. The ranks of a stage share a program. The job has the groups
// called by rows.
func (a *aicbReader) job(h *ReadOptions) (*Job, error) {
	if err := a.setSizes(h); err != nil {
		return nil, err
	}

	n := a.stageRanks
	all := a.stageRanks * len(a.stages)
	j := &Job{Ranks: all, Ops: make([][]Op, all)}
	for _, d := range []Dim{{"tp", a.tp}, {"cp", a.cp}, {"dp", a.dp}, {"pp", len(a.stages)}} {
		if d.Size > 1 || d.Name == "dp" {
			j.Dims = append(j.Dims, d)
		}
	}

	for _, name := range a.groupNames {
		// Groups across stages need a file with all stages.
		if (name == "pp_group" || name == "embedding_group") && len(a.stages) == 1 {
			return nil, invalid("a file with a block of rows for each stage",
				"%s is called, and the file holds one stage", name)
		}
		if size := a.sizes[name]; name == "pp_group" && size > 0 && size != len(a.stages) ||
			name == "all" && size > 0 && size != all {
			return nil, invalid(fmt.Sprint("that of ", len(a.stages), " stages of ", n, " ranks"),
				"%s of %d ranks", name, size)
		}

		g, err := NewGroup(strings.TrimSuffix(name, "_group"), all, a.sets(name))
		if err != nil {
			return nil, err
		}
		j.Groups = append(j.Groups, g)
	}

	for p := range a.stages {
		ops, err := a.program(j, p)
		if err != nil {
			return nil, err
		}
		for i := range n {
			j.Ops[p*n+i] = ops
		}
	}

	if a.isMeasured {
		j.note("times of collectives and messages were measured, and are not taken", 0)
	}
	return j, nil
}

// program returns the operations of the ranks of a stage. Each waits for the previous
// one. The operations before the first epoch_end set up the job.
func (a *aicbReader) program(j *Job, stage int) ([]Op, error) {
	s := &a.stages[stage]
	rows := s.rows

	// Leave out the rows before the first iteration unless they are requested.
	if s.setup > 0 && s.setup < len(rows) && !a.setup {
		for _, r := range rows[:s.setup] {
			j.note("operations that set the job up, before its first iteration, are left out; workload.setup takes them",
				r.bytes)
		}
		rows = rows[s.setup:]
	}

	// Measurements are in milliseconds, predictions in nanoseconds.
	unit := engine.Nanosecond
	if a.isMeasured {
		unit = engine.Millisecond
	}

	ops := make([]Op, 0, len(rows))
	for _, r := range rows {
		o := r.op
		o.Bytes = r.bytes
		switch o.Kind {
		case Compute:
			if r.time < 0 {
				j.note("computations have no time, and take none", 0)
				continue
			}
			t := r.time * float64(unit)
			if t > float64(maxComputeTime) {
				return nil, invalid(fmt.Sprintf("%.0f s at most", maxComputeTime.Seconds()),
					"%.40q computes for %g s", o.Name, t/float64(engine.Second))
			}
			o.Duration = engine.Time(math.Round(t))

		case Send, Recv:
			if len(a.stages) == 1 {
				return nil, invalid("a file with a block of rows for each stage",
					"%.40q is a message to another stage, and the file holds one", o.Name)
			}
			if to := stage + r.peer; to < 0 || to >= len(a.stages) {
				continue // the first and last stage have no such peer
			}
			o.Peer = int32(r.peer * s.ranks)

		default:
			if o.Bytes == 0 && o.Collective != Barrier {
				j.note("collectives of 0 bytes are left out", 0)
				continue
			}
		}

		// Each operation waits for the previous one.
		if len(ops) > 0 {
			o.After = []int32{int32(len(ops) - 1)}
		}
		ops = append(ops, o)
	}

	return ops, nil
}
