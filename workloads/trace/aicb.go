// This file reads tables of AICB, the AI Communication Benchmark of Alibaba
// (github.com/aliyun/aicb). aicb_job.go creates the programs of ranks.
//
// Abbreviations: TP, CP, DP, EP and PP are tensor, context, data, expert and pipeline
// parallelism.
//
// Errors are made by invalid(want, problem). The accepted value comes first, but the
// message has the order "PROBLEM; want WANT".

package trace

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"
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
	// setup reports whether the job includes the operations before the first iteration.
	setup      bool
	column     map[string]int   // index of each column, by its name
	stages     []aicbStage      // indexed by pipeline stage
	sizes      map[string]int   // size of each group, by name, as given in rows
	groups     map[string]int32 // index in groupNames of each called group, by name
	groupNames []string         // called groups, in the order of first use
	// isMeasured reports whether communication has times, so the file is a measurement.
	isMeasured bool

	// Number of ranks per stage, degrees of parallelism within a stage, and number of ranks
	// that share the experts of a layer. They are known when all rows have been read.
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
	time  float64 // duration in the unit of the file; -1 if unknown
	peer  int     // of a message: stage of the peer minus this stage
	bytes int64   // of a message or a collective
}

// aicbCalls maps AICB's call types to collectives.
var aicbCalls = map[string]Collective{
	"all_reduce":             AllReduce,
	"all_gather":             AllGather,
	"all_gather_into_tensor": AllGather,
	"reduce_scatter":         ReduceScatter,
	"reduce_scatter_tensor":  ReduceScatter,
	"all_to_all":             AllToAll,
	"broadcast":              Broadcast,
	"barrier":                Barrier,
}

// aicbPeers maps AICB's names of messages to the stage of the peer minus this stage.
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

	// parseRank parses a name such as "rank3".
	parseRank := func(name string) (int, error) {
		n, ok := strings.CutPrefix(strings.TrimSpace(name), "rank")
		if !ok {
			return 0, invalid(want, "a rank %.40q", name)
		}
		rank, err := parseInteger("a rank", n, 0, MaxRanks-1)
		return int(rank), err
	}

	// The ranks of a stage follow the ranks of the previous stage.
	next := 0 // the expected rank
	if len(a.stages) > 0 {
		previous := &a.stages[len(a.stages)-1]
		next = previous.first + previous.ranks
	}
	s := aicbStage{first: next}

	// Ranks are consecutive, written as single ranks or as ranges such as "rank0 ~ rank127".
	for element := range strings.SplitSeq(bare, ",") {
		from, to, isRange := strings.Cut(element, "~")
		first, err := parseRank(from)
		if err != nil {
			return err
		}
		last := first
		if isRange {
			if last, err = parseRank(to); err != nil {
				return err
			}
		}

		if first != next || last < first {
			return invalid("all ranks from 0, one after the other", "rank %d follows rank %d",
				first, next-1)
		}
		next = last + 1
	}

	// All stages have the same number of ranks.
	s.ranks = next - s.first
	if len(a.stages) > 0 && s.ranks != a.stages[0].ranks {
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
	extra := len(f) - len(a.column) // fields that belong to msg_size
	size := a.column["msg_size"]
	kind, ok := strings.CutPrefix(f[a.column["comm_type"]], "CommType.")
	if !ok {
		return invalid("CommType.all_reduce and the like", "the type is %.40q", f[0])
	}

	if extra < 0 || extra > 0 && kind != "computation" {
		return invalid(fmt.Sprintf("%d, as in the header", len(a.column)), "a row of %d columns", len(f))
	}

	// field returns the value of a column, or "" if the column does not exist or has no value.
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

	// Times are optional. A file whose communication has times is a measurement.
	if t := field("_elapsed_time"); t != "" {
		var err error
		const maxTime = 1e18 // in the unit of the file; program checks the limit in seconds
		if r.time, err = strconv.ParseFloat(t, 64); err != nil || !(r.time >= 0) || r.time > maxTime {
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
		message := field("additional")
		r.peer = aicbPeers[message]
		isSend := kind == "isend"
		if r.peer == 0 || isSend != strings.HasPrefix(message, "send") {
			return invalid("send_next, send_prev, recv_next or recv_prev",
				"%s has %.40q as additional, which names no peer", kind, message)
		}
		r.op.Kind = Recv
		if isSend {
			r.op.Kind = Send
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
