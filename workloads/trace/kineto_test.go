package trace

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"sim/engine"
)

// kinetoJSON returns the trace of a rank with events as they are written.
func kinetoJSON(rank, ranks int, events ...string) File {
	return File{fmt.Sprintf("rank%d.json", rank), fmt.Appendf(nil,
		"{\"schemaVersion\": 1,\n \"deviceProperties\": [],\n \"distributedInfo\": {\"backend\": \"nccl\", \"rank\": %d, \"world_size\": %d},\n \"traceEvents\": [\n%s\n]}",
		rank, ranks, strings.Join(events, ",\n"))}
}

// kinetoArgsText formats arguments.
func kinetoArgsText(args map[string]any) string {
	text, _ := json.Marshal(args)
	return string(text)
}

// kernelEvent returns the event of a kernel. Times are in nanoseconds.
func kernelEvent(name string, start, duration int64, args map[string]any) string {
	return fmt.Sprintf(`{"ph": "X", "cat": "kernel", "name": %q, "pid": 0, "tid": 7, "ts": %.3f, "dur": %.3f, "args": %s}`,
		name, float64(start)/1000, float64(duration)/1000, kinetoArgsText(args))
}

// hostEvent returns the event of a host: a launch with its correlation, or a record of a call.
func hostEvent(category, name string, start int64, args map[string]any) string {
	return fmt.Sprintf(`{"ph": "X", "cat": %q, "name": %q, "pid": 1, "tid": "main", "ts": %.3f, "dur": 0.001, "args": %s}`,
		category, name, float64(start)/1000, kinetoArgsText(args))
}

// callArgs describes a call of all ranks.
func callArgs(name string, in, out int, dtype string, ranks string) map[string]any {
	return map[string]any{"Collective name": name, "In msg nelems": in, "Out msg nelems": out,
		"dtype": dtype, "Group size": len(strings.Split(ranks, ",")), "Process Group Name": "g" + ranks,
		"Process Group Ranks": "[" + ranks + "]"}
}

// with returns the arguments with more.
func with(args map[string]any, more map[string]any) map[string]any {
	all := maps.Clone(args)
	maps.Copy(all, more)
	return all
}

// spmdStep is a step of a program that all ranks run: a kernel, a call, or a wait for the oldest or
// newest call of a group that was not waited for. Durations and gaps are by rank.
type spmdStep struct {
	kind           string
	group          int
	duration, gaps []int64
}

// isWait reports whether the step is a wait.
func (s *spmdStep) isWait() bool { return s.kind == "wait" || s.kind == "newest" }

// waitsFor returns the position of the call for which a wait waits, among n calls.
func (s *spmdStep) waitsFor(n int) int {
	if s.kind == "newest" {
		return n - 1
	}
	return 0
}

// runSPMD returns the start and end of each kernel and call of each rank. The work of a stream runs
// one after the other. A call starts when the kernels launched before it have ended, and ends on
// all ranks callTime after the last has started. A kernel or call after waits starts when the calls
// have ended. Everything starts a gap later than it could.
func runSPMD(steps []spmdStep, ranks, groups int, callTime int64) (starts, ends [][]int64) {
	starts, ends = make([][]int64, ranks), make([][]int64, ranks)
	compute, pending := make([]int64, ranks), make([]int64, ranks)
	streams, waiting := make([]int64, groups), make([][]int64, groups)
	for _, s := range steps {
		latest := int64(0)
		for r := range ranks {
			at := max(compute[r], pending[r])
			switch s.kind {
			case "kernel":
				at += s.gaps[r]
				compute[r], pending[r] = at+s.duration[r], 0
				starts[r], ends[r] = append(starts[r], at), append(ends[r], compute[r])
			case "call":
				at = max(at, streams[s.group]) + s.gaps[r]
				starts[r], latest = append(starts[r], at), max(latest, at)
			case "wait", "newest":
				if q := waiting[s.group]; len(q) > 0 {
					pending[r] = max(pending[r], q[s.waitsFor(len(q))])
				}
			}
		}
		switch {
		case s.kind == "call":
			streams[s.group] = latest + callTime
			waiting[s.group] = append(waiting[s.group], latest+callTime)
			for r := range ranks {
				ends[r] = append(ends[r], latest+callTime)
			}
		case s.isWait() && len(waiting[s.group]) > 0:
			n := s.waitsFor(len(waiting[s.group]))
			waiting[s.group] = slices.Delete(waiting[s.group], n, n+1)
		}
	}
	return starts, ends
}

// kinetoOfSPMD writes the profiles of a program. The host launches everything at once, before the
// first kernel runs. form selects how waits are recorded: "records" of calls, "numbered" records
// with sequence numbers, or "syncs" of streams.
func kinetoOfSPMD(steps []spmdStep, starts, ends [][]int64, form string, offsets []int64) (files []File) {
	names := make([]string, len(starts))
	for r := range starts {
		names[r] = fmt.Sprint(r)
	}
	all := strings.Join(names, ", ")
	for r := range starts {
		var events []string
		next := 0
		waiting := map[int][]int{} // correlations of calls, by group
		var pending []int          // calls for which the next kernel waits
		stream := func(group int) int { return 20 + group }
		// sync lets a stream wait for the work of another one that was launched up to
		// correlation last, before the work with the next correlation.
		sync := func(onStream, next, from, last int) {
			events = append(events, fmt.Sprintf(`{"ph": "X", "cat": "cuda_sync", "name": "Stream Wait Event", "ts": 1.000, "dur": 0, "args": {"stream": %d, "correlation": %d, "wait_on_stream": %d, "wait_on_cuda_event_record_corr_id": %d}}`,
				onStream, next-3, from, last+1))
		}
		groupOf := map[int]int{}
		for i, s := range steps {
			correlation := 10 * (i + 1)
			host := offsets[r] + int64(i) - 1_000_000
			group := fmt.Sprint("group ", s.group)
			record := map[string]any{"Process Group Name": group, "External id": correlation, "Group size": len(starts),
				"Process Group Ranks": "[" + all + "]", "dtype": "Float", "In msg nelems": 100, "Out msg nelems": 100}
			if s.isWait() {
				if len(waiting[s.group]) == 0 {
					continue
				}
				n := s.waitsFor(len(waiting[s.group]))
				c := waiting[s.group][n]
				waiting[s.group] = slices.Delete(waiting[s.group], n, n+1)
				pending = append(pending, c)
				record["Collective name"] = "wait"
				if form == "numbered" {
					record["Seq"] = c
				}
				if form != "syncs" {
					events = append(events, hostEvent("cpu_op", "record_param_comms", host, record))
				}
				continue
			}
			start, end := starts[r][next]+offsets[r], ends[r][next]+offsets[r]
			next++
			events = append(events, hostEvent("cuda_runtime", "cudaLaunchKernel", host, map[string]any{"correlation": correlation}))
			args := map[string]any{"stream": 7, "correlation": correlation}
			own := 7
			name := fmt.Sprint("kernel ", i)
			if s.kind == "call" {
				record["Collective name"] = "allreduce"
				if form == "numbered" {
					record["Seq"] = correlation
				}
				events = append(events, hostEvent("cpu_op", "record_param_comms", host, record))
				own, name = stream(s.group), "ncclDevKernel_AllReduce"
				args = map[string]any{"stream": own, "correlation": correlation, "External id": correlation}
				waiting[s.group], groupOf[correlation] = append(waiting[s.group], correlation), s.group
				if form == "syncs" {
					sync(own, correlation, 7, correlation-5)
				}
			}
			if form == "syncs" {
				for _, c := range pending {
					sync(own, correlation, stream(groupOf[c]), c)
				}
			}
			if s.kind == "kernel" {
				pending = nil
			}
			events = append(events, kernelEvent(name, start, end-start, args))
		}
		files = append(files, kinetoJSON(r, len(starts), events...))
	}
	return files
}

// TestKinetoTimes reads profiles of random programs and runs them again, with calls that take as
// long as in the profile and with slower and faster ones. All kernels end as in runSPMD.
func TestKinetoTimes(t *testing.T) {
	const recorded = 1000
	rapid.Check(t, func(t *rapid.T) {
		ranks, groups := rapid.IntRange(2, 3).Draw(t, "ranks"), rapid.IntRange(1, 2).Draw(t, "groups")
		times := rapid.SliceOfN(rapid.Int64Range(1, 3000), ranks, ranks)
		gaps := rapid.SliceOfN(rapid.SampledFrom([]int64{0, 1, 50, 2000}), ranks, ranks)
		none := make([]int64, ranks)
		steps := []spmdStep{{kind: "kernel", duration: times.Draw(t, "first"), gaps: none}}
		form := rapid.SampledFrom([]string{"records", "numbered", "syncs"}).Draw(t, "form")
		kinds := []string{"kernel", "kernel", "call", "call", "wait"}
		if form != "records" { // records without numbers are in the order of calls
			kinds = append(kinds, "newest")
		}
		for range rapid.IntRange(6, 30).Draw(t, "steps") {
			steps = append(steps, spmdStep{
				kind:     rapid.SampledFrom(kinds).Draw(t, "kind"),
				group:    rapid.IntRange(0, groups-1).Draw(t, "group"),
				duration: times.Draw(t, "duration"), gaps: gaps.Draw(t, "gap"),
			})
		}
		// Without any waits, the reader would guess them.
		steps = append(steps, spmdStep{kind: "call", gaps: none}, spmdStep{kind: "wait"},
			spmdStep{kind: "kernel", duration: none, gaps: none})
		offsets := rapid.SliceOfN(rapid.Int64Range(0, 1<<50), ranks, ranks).Draw(t, "clocks")
		starts, ends := runSPMD(steps, ranks, groups, recorded)
		files := kinetoOfSPMD(steps, starts, ends, form, offsets)
		j, err := Read(ByName("kineto"), files, &ReadOptions{})
		if err != nil {
			t.Fatal(err)
		}

		for _, callTime := range []int64{recorded, 10 * recorded, 1} {
			expand := func(g *engine.Graph, c GroupCall, ready []int32) ([]int32, error) {
				done := g.AddTask(engine.ComputeAt(0, engine.Time(callTime)*engine.Nanosecond))
				for _, r := range ready {
					g.AddDependency(r, done)
				}
				return slices.Repeat([]int32{done}, len(ready)), nil
			}
			b, err := j.Build(BuildOptions{Expand: expand})
			if err != nil {
				t.Fatal(err)
			}
			end := make([]engine.Time, len(b.Graph.Tasks))
			got := map[string]engine.Time{}
			for _, id := range b.Graph.Order() {
				for _, e := range b.Graph.In(id) {
					end[id] = max(end[id], end[e.From])
				}
				end[id] += b.Graph.Tasks[id].Duration
				rank, op := b.Rank[id], b.Op[id]
				name := fmt.Sprint(rank, " ", j.Ops[rank][op].Name)
				got[name] = max(got[name], end[id])
			}
			_, want := runSPMD(steps, ranks, groups, callTime)
			for r := range ranks {
				next := 0
				for i, s := range steps {
					if s.isWait() {
						continue
					}
					name := fmt.Sprintf("%d kernel %d", r, i)
					if w := engine.Time(want[r][next]) * engine.Nanosecond; s.kind == "kernel" && got[name] != w {
						t.Fatalf("%s, calls of %d ns: kernel %d of rank %d ends at %d ps, want %d\n%s",
							form, callTime, i, r, got[name], w, files[r].Data)
					}
					next++
				}
			}
		}
	})
}

// TestKinetoCalls checks the operation of calls and messages against sizes counted by hand.
func TestKinetoCalls(t *testing.T) {
	read := func(files ...File) (*Job, error) { return Read(ByName("kineto"), files, &ReadOptions{}) }
	both := func(args func(rank int) map[string]any) (files []File) {
		for r := range 2 {
			files = append(files, kinetoJSON(r, 2, kernelEvent("gemm", 1000, 500, map[string]any{"stream": 7}),
				kernelEvent("ncclDevKernel_X", 2000, 700, with(args(r), map[string]any{"stream": 9}))))
		}
		return files
	}
	for _, c := range []struct {
		name    string
		in, out int
		dtype   string
		want    string
	}{
		{"allreduce", 10, 10, "BFloat16", "all-reduce 20"},
		{"_allgather_base", 10, 20, "Half", "all-gather 40"},
		{"all_gather", 10, 0, "Float", "all-gather 80"},
		{"_reduce_scatter_base", 20, 10, "Float", "reduce-scatter 80"},
		{"reduce_scatter_tensor_coalesced", 20, 10, "Double", "reduce-scatter 160"},
		{"ALLTOALL_BASE", 20, 20, "Byte", "all-to-all 20"},
		{"broadcast", 3, 3, "Long", "broadcast 24"},
		{"barrier", 1, 1, "Byte", "barrier 0"},
	} {
		j, err := read(both(func(int) map[string]any { return callArgs(c.name, c.in, c.out, c.dtype, "0, 1") })...)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		// The gap before the call is a computation.
		if n := len(j.Ops[1]); n != 3 {
			t.Errorf("%s: got %d operations, want a kernel, a launch and a call", c.name, n)
			continue
		}
		o := j.Ops[1][2]
		if got := fmt.Sprint(o.Collective, " ", o.Bytes); got != c.want || j.Ops[1][1].Duration != 500*engine.Nanosecond {
			t.Errorf("%s: got %s after %v, want %s after 500 ns", c.name, got, j.Ops[1][1].Duration, c.want)
		}
	}

	// Messages name global ranks.
	j, err := read(both(func(rank int) map[string]any {
		if rank == 0 {
			return with(callArgs("send", 8, 8, "Float", "0, 1"), map[string]any{"Dst Rank": 1})
		}
		return with(callArgs("recv", 8, 8, "Float", "0, 1"), map[string]any{"Src Rank": 0})
	})...)
	if err != nil {
		t.Fatal(err)
	}
	if bytes, _ := j.Wire(); bytes != 32 {
		t.Errorf("a message of 8 floats: got %g bytes, want 32", bytes)
	}
	if _, err := j.Build(BuildOptions{}); err != nil {
		t.Error(err)
	}

	// Split sizes count rows, of 4 elements here. Each pair of ranks has its own size.
	j, err = read(both(func(rank int) map[string]any {
		in := [][]int{{1, 2}, {3, 4}}[rank]
		out := [][]int{{1, 3}, {2, 4}}[rank]
		return with(callArgs("all_to_allv", 4*(in[0]+in[1]), 4*(out[0]+out[1]), "Half", "0, 1"), map[string]any{
			"In split size": fmt.Sprintf("[%d, %d]", in[0], in[1]), "Out split size": out})
	})...)
	if err != nil {
		t.Fatal(err)
	}
	b, err := j.Build(BuildOptions{})
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]int64{}
	for _, k := range b.Graph.Tasks {
		if k.Kind == engine.Transfer {
			got[fmt.Sprint(k.Src, " to ", k.Dst)] += k.Bytes
		}
	}
	if want := map[string]int64{"0 to 1": 2 * 4 * 2, "1 to 0": 3 * 4 * 2}; !maps.Equal(got, want) {
		t.Errorf("an all-to-all of rows: got %v bytes, want %v", got, want)
	}

	// A kernel without a description makes the recorded calls before its launch, together.
	var files []File
	for r := range 2 {
		peer := 1 - r
		files = append(files, kinetoJSON(r, 2,
			hostEvent("cpu_op", "record_param_comms", 10, with(callArgs("send", 8, 8, "Float", "0, 1"), map[string]any{"Dst Rank": peer, "External id": 5})),
			hostEvent("cpu_op", "record_param_comms", 20, with(callArgs("recv", 4, 4, "Float", "0, 1"), map[string]any{"Src Rank": peer, "External id": 6})),
			hostEvent("cuda_runtime", "cudaLaunchKernelExC", 30, map[string]any{"correlation": 3}),
			hostEvent("cpu_op", "record_param_comms", 40, with(callArgs("broadcast", 1, 1, "Float", "0, 1"), map[string]any{"External id": 7})),
			kernelEvent("ncclDevKernel_SendRecv", 1000, 500, map[string]any{"stream": 9, "correlation": 3}),
			kernelEvent("gemm", 1500, 100, map[string]any{"stream": 9})))
	}
	if j, err = read(files...); err != nil {
		t.Fatal(err)
	}
	kinds := ""
	for _, o := range j.Ops[0] {
		kinds += o.Kind.String() + " "
	}
	if want := "send receive join compute "; kinds != want || !slices.Equal(j.Ops[0][3].After, []int32{2}) {
		t.Errorf("coalesced messages are %q, want %q in order", kinds, want)
	}
	if n := j.Notes[0]; !strings.Contains(n.Text, "without a kernel") || n.Count != 2 {
		t.Errorf("got notes %v, want one of 2 calls without a kernel", j.Notes)
	}
}

// TestKinetoGroups checks groups whose ranks are cut, traces of several ranks in a file, and
// several kernels of one call.
func TestKinetoGroups(t *testing.T) {
	const ranks = 40
	inGroup := make([]string, ranks)
	for r := range inGroup {
		inGroup[r] = fmt.Sprint(r)
	}
	event := func(more map[string]any) string {
		args := with(callArgs("allreduce", 10, 10, "Float", "0, 1, ..., 39"), map[string]any{"Group size": ranks, "stream": 9, "External id": 4})
		return kernelEvent("ncclDevKernel_AllReduce", 1000, 10, with(args, more))
	}
	for name, c := range map[string]struct {
		more  map[string]any
		info  string // of distributedInfo
		group int    // ranks of the group; 0 is an error
	}{
		"whole":  {nil, "", ranks},
		"config": {map[string]any{"Group size": 20}, fmt.Sprintf(`, "pg_config": [{"pg_name": "g0, 1, ..., 39", "ranks": [%s]}]`, strings.Join(inGroup, ", ")), ranks},
		"stride": {map[string]any{"Group size": 20, "Global rank start": "PARITY", "Global rank stride": 2}, "", 20},
		"cut":    {map[string]any{"Group size": 20}, "", 0},
	} {
		var traces []string
		for r := range ranks {
			e := event(c.more) + ",\n" + event(with(map[string]any{}, c.more))
			e = strings.ReplaceAll(e, `"PARITY"`, fmt.Sprint(r%2))
			traces = append(traces, fmt.Sprintf(`{"distributedInfo": {"rank": %d, "world_size": %d%s}, "traceEvents": [%s]}`, ranks-1-r, ranks, c.info,
				strings.ReplaceAll(e, `"Global rank start":`+fmt.Sprint(r%2), `"Global rank start":`+fmt.Sprint((ranks-1-r)%2))))
		}
		j, err := Read(ByName("kineto"), []File{{"merged.json", []byte("[" + strings.Join(traces, ",\n") + "]")}}, &ReadOptions{})
		switch {
		case (err != nil) != (c.group == 0) || err != nil && !strings.Contains(err.Error(), "has only some of the 20 ranks of its group"):
			t.Errorf("%s: %v", name, err)
		case err == nil:
			if n := len(j.members(3, &j.Ops[3][len(j.Ops[3])-1])); n != c.group {
				t.Errorf("%s: got a group of %d ranks, want %d", name, n, c.group)
			}
		}
	}

	// Events may name their ranks, and a call may have several kernels.
	record := func(rank int) string {
		return fmt.Sprintf(`{"rank": %d, %s, {"rank": %d, %s, {"rank": %d, %s`, rank, hostEvent("cpu_op", "record_param_comms", 1, with(callArgs("allreduce", 10, 10, "Float", "0, 1"), map[string]any{"External id": 4}))[1:],
			rank, kernelEvent("ncclDevKernel_AllReduce", 1000, 10, map[string]any{"stream": 9, "External id": 4})[1:],
			rank, kernelEvent("ncclDevKernel_AllReduce", 1010, 10, map[string]any{"stream": 9, "External id": 4})[1:])
	}
	f := File{"list.json", []byte("[" + record(0) + ", " + record(1) + "]")}
	if d := Detect(f); d == nil || d.Name != "kineto" {
		t.Errorf("a list of events is detected as %v", d)
	}
	j, err := Read(ByName("kineto"), []File{f}, &ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if j.Ranks != 2 || len(j.Ops[1]) != 2 || j.Ops[1][0].Kind != Call || j.Ops[1][1].Kind != Join {
		t.Errorf("got %d ranks with operations %v, want 2 ranks with a call and the end of its second kernel", j.Ranks, j.Ops)
	}
}

// TestKinetoRefused checks the errors of traces: each names the file, the event and what would be
// right.
func TestKinetoRefused(t *testing.T) {
	call := func(rank int, name string, in int, more map[string]any) File {
		return kinetoJSON(rank, 2, kernelEvent("gemm", 0, 10, map[string]any{"stream": 7}),
			kernelEvent("ncclDevKernel_X", 20, 10, with(with(callArgs(name, in, in, "Float", "0, 1"), map[string]any{"stream": 9}), more)))
	}
	good := call(1, "allreduce", 10, nil)
	for want, files := range map[string][]File{
		"rank0.json: record 6 (byte 504): is not valid JSON of a trace of PyTorch's profiler: unexpected end of JSON input; want a complete file": {
			{"rank0.json", call(0, "allreduce", 10, nil).Data[:504]}, good},
		"of 2 ranks, these have no trace: 1; want the trace of every rank": {call(0, "allreduce", 10, nil)},
		"of 9 ranks, these have no trace: 0, 2 to 3, 5 to 8":               {kinetoJSON(1, 9, `{"ph": "X"}`), kinetoJSON(4, 2, `{"ph": "X"}`)},
		"holds rank 1, and so does rank1.json; want one trace per rank":    {good, good},
		"rank 0 has no work of a GPU; want a profile of CUDA activities":   {kinetoJSON(0, 1, `{"ph": "X", "cat": "cpu_op", "name": "aten::mm", "ts": 1, "dur": 2}`)},
		`rank1.json: record 2 (byte 248): event "ncclDevKernel_X" is call 1 of group "g0, 1", all-reduce of 40 bytes, and on rank 0 it is all-reduce of 80 bytes (rank0.json, record 2); want traces of the same steps`: {
			call(0, "allreduce", 20, nil), good},
		`is call 1 of group "g0, 1", all-reduce of 40 bytes, and on rank 0 it is broadcast of 40 bytes`: {call(0, "broadcast", 10, nil), good},
		`is call 2 of group "g0, 1", and rank 1 makes 1; want traces that begin and end at the same step`: {
			kinetoJSON(0, 2, kernelEvent("nccl", 0, 1, with(callArgs("barrier", 0, 0, "Byte", "0, 1"), map[string]any{"stream": 1})),
				kernelEvent("nccl", 9, 1, with(callArgs("barrier", 0, 0, "Byte", "0, 1"), map[string]any{"stream": 1}))),
			kinetoJSON(1, 2, kernelEvent("nccl", 0, 1, with(callArgs("barrier", 0, 0, "Byte", "0, 1"), map[string]any{"stream": 1})))},
		`is the collective "reduce", which is not read; want a supported collective`: {call(0, "reduce", 10, nil), good},
		`has the dtype "Quaternion"`:                                {call(0, "allreduce", 10, map[string]any{"dtype": "Quaternion"}), good},
		`is wrong: In msg nelems is "-1"`:                           {call(0, "allreduce", -1, nil), good},
		`calls group "g0, 1" with rank 7`:                           {call(0, "allreduce", 10, map[string]any{"Process Group Ranks": "[0, 7]"}), good},
		`calls group "g0, 1", which rank 0 is not in`:               {call(0, "allreduce", 10, map[string]any{"Process Group Ranks": []int{1}}), good},
		`has no Dst Rank`:                                           {call(0, "send", 10, nil), good},
		`has 1 values of In split size for 2 ranks`:                 {call(0, "all_to_allv", 10, map[string]any{"In split size": "[5]"}), good},
		`has args that cannot be read`:                              {call(0, "allreduce", 10, map[string]any{"Process Group Ranks": "[0; 1]"}), good},
		`is a kernel of NCCL without a description`:                 {kinetoJSON(0, 1, kernelEvent("ncclDevKernel_SendRecv", 0, 1, nil))},
		`is wrong: ts is "1e99"`:                                    {kinetoJSON(0, 1, `{"ph": "X", "cat": "kernel", "name": "a", "ts": 1e99, "dur": 1}`)},
		`is wrong: dur is "-1"`:                                     {kinetoJSON(0, 1, `{"ph": "X", "cat": "kernel", "name": "a", "ts": 1, "dur": -1}`)},
		`is wrong: stream is "1.5"`:                                 {kinetoJSON(0, 1, `{"ph": "X", "cat": "kernel", "name": "a", "ts": 1, "dur": 1, "args": {"stream": 1.5}}`)},
		`starts 9000000 s after the first work`:                     {kinetoJSON(0, 1, kernelEvent("a", 0, 1, nil), kernelEvent("b", 9e15, 1, nil))},
		`holds no work of a GPU; want a profile of CUDA activities`: {{"a.json", []byte(`{"traceEvents": []}`)}},
		`record 1 (byte 133): is no event: invalid number literal`:  {kinetoJSON(0, 1, `{"ph": "X", "ts": "x"}`)},
		`has no list traceEvents`:                                   {{"a.json", []byte(`{"distributedInfo": {"rank": 0}}`)}},
		`rank 131072; want a rank from 0 to 131071`:                 {kinetoJSON(1<<17, 1, `{"ph": "X"}`)},
		`1000000000 ranks; want at most 131072`:                     {kinetoJSON(0, 1e9, `{"ph": "X"}`)},
		`is on one stream more; want at most 128 streams`:           {manyStreams()},
	} {
		_, err := Read(ByName("kineto"), files, &ReadOptions{})
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "; want ") {
			t.Errorf("got %v\nwant %s", err, want)
		}
	}
}

// manyStreams returns a trace with too many streams.
func manyStreams() File {
	var events []string
	for s := range maxKinetoStreams + 1 {
		events = append(events, kernelEvent("a", int64(s), 1, map[string]any{"stream": s}))
	}
	return kinetoJSON(0, 1, events...)
}

// FuzzKineto checks that no input makes the reader panic or use too much memory.
func FuzzKineto(f *testing.F) {
	f.Add(kinetoJSON(0, 1, kernelEvent("ncclDevKernel_X", 20, 10, callArgs("allreduce", 3, 3, "Float", "0"))).Data)
	f.Add([]byte(`[{"traceEvents": [{"ph": "X", "cat": "kernel", "ts": 1.5}]}]`))
	f.Add([]byte(`[{"rank": 0, "ph": "X", "cat": "kernel", "name": "nccl", "ts": 1, "args": {"External id": 1}}]`))
	f.Fuzz(func(t *testing.T, data []byte) { checkInput(t, []File{{"f", data}}, "kineto", &ReadOptions{}) })
}
