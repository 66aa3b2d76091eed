package trace

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/encoding/protowire"
)

// TestRefusedFilesTakeLittleMemory bounds the memory allocated for rejected files with
// millions of operations, garbage included, because the collector may be late. The bound
// is a multiple of the file size and lower than the memory of the largest accepted files.
func TestRefusedFilesTakeLittleMemory(t *testing.T) {
	chakra := func(node string, n int, end string) []byte {
		return []byte(`{"workload_graph": [` + strings.Repeat(node+",", n) + end + `]}`)
	}
	simai := "HYBRID_TRANSFORMER model_parallel_NPU_group: 1 ep: 1 pp: 1 vpp: 1 ga: 1 all_gpus: 1\n%d\n"
	row := "a -1 0 NONE 0 0 NONE 0 0 NONE 0 0\n"
	for _, c := range []struct {
		name, format string
		data         []byte
		allocated    int // MiB
		want         string
	}{
		{"empty nodes", "chakra", chakra(`{}`, 300_000, "{}"), 4, "is of type 0"},
		{"nodes without end", "chakra", chakra(`{"NodeType":4}`, MaxOperations/8, `{"NodeType":9}`), 300, "is of type 9"},
		{"one list of dependencies", "chakra", chakra(`{"NodeType":4}`, 1, `{"ctrlDeps":[`+strings.Repeat("1,", maxDependencies())+`1]}`), 20, "numbers, of at most"},
		{"one name", "chakra", chakra(`{"NodeType":4}`, 1, `{"NodeType":9,"Name":"`+strings.Repeat("a", 10<<20)+`"}`), 40, "is of type 9"},
		{"computes", "goal", []byte("num_ranks 1\nrank 0 {\n" + strings.Repeat("calc 1\n", 500_000) + "bad\n}\n"), 60, `"bad"`},
		{"dependencies", "goal", []byte("num_ranks 1\nrank 0 {\na: calc 1\nb: calc 1\n" + strings.Repeat("b requires a\n", 500_000) + "bad\n}\n"), 40, `"bad"`},
		{"events", "kineto", []byte(`{"traceEvents": [` + strings.Repeat(`{"ph":"X","cat":"kernel","ts":1},`, MaxOperations/8) + `{"ph":"X","cat":"kernel","ts":"x"}]}`), 900, "invalid number"},
		{"one list of ranks", "kineto", []byte(`{"traceEvents": [{"ph":"X","cat":"kernel","name":"nccl","ts":1,"args":{"Collective name":"barrier","Process Group Ranks":"[0` + strings.Repeat(",0", 1<<20) + `]"}}]}`), 60, "has rank 0 twice"},
		{"rows", "simai", fmt.Appendf(nil, simai+"%sx\n", 500_000, strings.Repeat(row, 500_000)), 80, "a row of 1 columns"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, err := Read(ByName(c.format), []File{{"f", c.data}}, &ReadOptions{})
			runtime.ReadMemStats(&after)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("got %v, want %s", err, c.want)
			}
			if got := int(after.TotalAlloc-before.TotalAlloc) >> 20; got > c.allocated {
				t.Errorf("a refused file of %d MiB: got %d MiB allocated, want at most %d", len(c.data)>>20, got, c.allocated)
			}
		})
	}
}

// TestRecomputedRowsAreBounded checks that rows whose gradients need a distant checkpoint
// are limited. Their forward passes are repeated for each, even if they have no
// operations.
func TestRecomputedRowsAreBounded(t *testing.T) {
	const rows = 200_000
	var all strings.Builder
	for i := range rows {
		fmt.Fprintf(&all, " %d", i)
	}
	data := fmt.Appendf(nil, "HYBRID_TRANSFORMER model_parallel_NPU_group: 1 ep: 1 pp: 1 vpp: 1 ga: 1 all_gpus: 1 checkpoint_initiates: %d%s\n%d\n%s",
		rows, all.String(), rows, strings.Repeat("a -1 0 NONE 0 0 NONE 0 0 NONE 0 1\n", rows))
	if _, err := Read(ByName("simai"), []File{{"f", data}}, &ReadOptions{}); err == nil || !strings.Contains(err.Error(), "operations or more") {
		t.Errorf("got %v, want a refusal of too many operations", err)
	}
}

// TestMicroPolicyHasOneMicrobatch checks that the rows of policy MICRO are one
// micro-batch, and that several micro-batches in several stages are rejected.
func TestMicroPolicyHasOneMicrobatch(t *testing.T) {
	const text = "MICRO model_parallel_NPU_group: 1 ep: 1 pp: 2 vpp: 1 ga: %d all_gpus: 2 pp_comm: 5\n1\na -1 5 NONE 0 5 NONE 0 5 NONE 0 5\n"
	for ga, want := range map[int]string{1: "", 2: "one micro-batch, and ga is 2"} {
		_, err := Read(ByName("simai"), []File{{"f", fmt.Appendf(nil, text, ga)}}, &ReadOptions{})
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("ga %d: got %v, want %q", ga, err, want)
		}
	}
}

// TestChakraJSONText checks that unusual JSON is read as by encoding/json, or rejected at
// the right byte.
func TestChakraJSONText(t *testing.T) {
	for text, want := range map[string]string{
		` { "schema" : "x" , "WORKLOAD_graph" : [ {"id":1,"nodetype":4,"Name":"]}\"[{,:"} , {"Id":2,"NodeType":4} ] , "more": {"a":[1,{"b":"}"}]} } `: "",
		`{"workload_graph":[{"Id":1,"NodeType":4}],"workload_graph":[{"Id":1,"NodeType":4}]}`:                                                         "occurs twice",
		`{"workload_graph":[{"Id":1,"NodeType":4}]`:     "unexpected end",
		`{"workload_graph":[{"Id":1,"NodeType":4]}`:     "is not valid JSON",
		`{"workload_graph":[{"Id":1,"NodeType":4},]}`:   "byte 41",
		`{"workload_graph":[{"Id":1,"NodeType":4} {}]}`: "byte 41",
		`{"workload_graph":[{"Id":1,"NodeType":4}]} x`:  "byte 43",
		`{"workload_graph":{"Id":1}}`:                   "the value of \"workload_graph\"",
		`{"workload_graph":[],"x":tru}`:                 "the value of \"x\"",
		`{"workload_graph":["]}`:                        "unexpected end",
		`{workload_graph:[]}`:                           "unexpected character",
		`{"workload_graph":[]}`:                         "holds no operation",
		`{"workload_graph":null}`:                       "holds no operation",
		`{"schema":"1.1"}`:                              "what PyTorch wrote of the host",
		`{"workload_graph":[{"Id":1,"NodeType":4,"ctrlDeps":null,"data_deps":[]},{"Id":2,"NodeType":4,"data_deps":[1]}]}`: "",
		`{"workload_graph":[{"Id":1,"NodeType":4,"data_deps":[-1]}]}`:                                                     "is not valid JSON",
	} {
		j, err := Read(ByName("chakra"), []File{{"f", []byte(text)}}, &ReadOptions{})
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", text, err, want)
		}
		if err == nil && len(j.Ops[0]) != 2 {
			t.Errorf("%s: got %d operations, want 2", text, len(j.Ops[0]))
		}
	}
}

// TestChakraGroupsAreBounded checks the limit on groups times ranks, and that a rank with
// several groups of one name is rejected at the second group.
func TestChakraGroupsAreBounded(t *testing.T) {
	var many strings.Builder
	for i := range 300_000 {
		fmt.Fprintf(&many, `,"%d":[]`, i+1)
	}
	files := make([]File, 1000)
	for i := range files {
		files[i] = File{fmt.Sprint(i), []byte(`{"workload_graph":[{"Id":1,"NodeType":4}]}`)}
	}
	h := &ReadOptions{GroupFile: File{"groups", []byte(`{"0":[0]` + many.String() + `}`)}}
	if _, err := Read(ByName("chakra"), files, h); err == nil || !strings.Contains(err.Error(), "300001 groups of 1000 ranks") {
		t.Errorf("got %v, want too many groups", err)
	}
	many.Reset()
	for i := range 300_000 {
		fmt.Fprintf(&many, `,{"pg_name":"1","ranks":[0,%d]}`, i)
	}
	node := chEncode(1, chMeta, "## process_group:init ##", 0, nil, "")
	values := protowire.AppendString(protowire.AppendTag(nil, 1, protowire.BytesType), `["[{"pg_name":"0","ranks":[0]}`+many.String()+`]"]`)
	node = append(protowire.AppendTag(node, 8, protowire.BytesType), protowire.AppendBytes(nil, values)...)
	begun := time.Now()
	_, err := Read(ByName("chakra"), []File{{"f", chMessage(chMessage(nil, nil), node)}}, &ReadOptions{})
	if err == nil || !strings.Contains(err.Error(), `rank 0 is in two groups "1"`) {
		t.Errorf("got %v, want a rank in two groups", err)
	}
	if took := time.Since(begun); took > 5*time.Second {
		t.Errorf("took %v", took)
	}
}
