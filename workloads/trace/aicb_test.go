package trace

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"sim/engine"
)

// aicbText is a table of 2 stages of 4 ranks, with TP 2 and DP 2.
const aicbText = `[ pp_stage0: [rank0, rank1, rank2, rank3] ]
comm_type,comm_group,comm_group_size,msg_size,stage,dst,src,additional,_elapsed_time,algbw,busbw,count
CommType.all_reduce,CommGroup.dp_group,2,8,init,None,None,,None,None,None,1
CommType.epoch_end,None,None,0,,None,None,,None,None,None,1
CommType.computation,None,None,((4, 1, 8), (8, 2)),forward,None,None,,500,None,None,1
CommType.all_reduce,CommGroup.tp_group,2,1000,forward,None,None,,None,None,None,1
CommType.isend,CommGroup.pp_group,1,600,forward_step,None,None,send_next,None,None,None,1
CommType.irecv,CommGroup.pp_group,1,600,backward_step,None,None,recv_next,None,None,None,1
CommType.isend,CommGroup.pp_group,1,600,backward_step,None,None,send_prev,None,None,None,1
CommType.reduce_scatter,CommGroup.dp_group,2,4000.0,step,None,None,,None,None,None,1
CommType.all_reduce,CommGroup.tp_group,2,0,step,None,None,,None,None,None,1
CommType.epoch_end,None,None,0,,None,None,,None,None,None,1
[ pp_stage1: [rank4 ~ rank7] ]
comm_type,comm_group,comm_group_size,msg_size,stage,dst,src,additional,_elapsed_time,algbw,busbw,count
CommType.all_reduce,CommGroup.dp_group,2,8,init,None,None,,None,None,None,1
CommType.epoch_end,None,None,0,,None,None,,None,None,None,1
CommType.irecv,CommGroup.pp_group,1,600,forward_step,None,None,recv_prev,None,None,None,1
CommType.computation,None,None,((4, 1, 8), (8, 2)),forward,None,None,,700,None,None,1
CommType.computation,None,None,((4, 1, 8), (8, 2)),backward,None,None,,None,None,None,1
CommType.isend,CommGroup.pp_group,1,600,backward_step,None,None,send_prev,None,None,None,1
CommType.all_gather,CommGroup.dp_group,2,4000,step,None,None,,None,None,None,1
`

// TestAICB compares a table with operations and bytes counted by hand, and checks the
// groups and the errors of other tables.
func TestAICB(t *testing.T) {
	j, err := readText(t, aicbText, Keys{})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := computeSpan(t, j), 1200*engine.Nanosecond; got != want || j.Ranks != 8 || j.Format != "aicb" {
		t.Errorf("%s of %d ranks computes %v, want %v", j.Format, j.Ranks, got, want)
	}
	// Each of 4 ranks sends 1000 B on a ring of 2 and 600 B in each direction; all ranks
	// send 2000 B to the other rank of their ring.
	if b, _ := j.Wire(); b != 4*1000+8*600+8*2000 {
		t.Errorf("%g B", b)
	}
	var notes []string
	for _, n := range j.Notes {
		notes = append(notes, n.Text[:12])
	}
	if want := []string{"operations t", "collectives ", "computations"}; !slices.Equal(notes, want) || j.Notes[0].Count != 2 || j.Notes[0].Bytes != 16 {
		t.Errorf("notes %v", j.Notes)
	}
	if j, err := readText(t, aicbText, Keys{Setup: true}); err != nil || len(j.Ops[0]) != 6 {
		t.Errorf("with what sets it up: %v", err)
	}
	b, err := j.Build(BuildOptions{Expand: ExpandNeighbours})
	if err != nil {
		t.Fatal(err)
	}
	for i := range b.Graph.Tasks {
		if k := &b.Graph.Tasks[i]; k.Kind == engine.Transfer && k.Bytes == 600 && (k.Dst-k.Src)%4 != 0 {
			t.Errorf("a stage sends from %d to %d", k.Src, k.Dst)
		}
	}
	const header = "comm_type,comm_group,msg_size,stage\n"
	for text, want := range map[string]string{
		strings.Replace(aicbText, "pp_stage1", "pp_stage2", 1):              `the stage is "pp_stage2"`,
		strings.Replace(aicbText, "rank4 ~ rank7", "rank4 ~ rank6", 1):      "a stage of 3 ranks",
		strings.Replace(aicbText, "rank0, rank1", "rank1, rank0", 1):        "rank 1 follows rank -1",
		strings.Replace(aicbText, "tp_group,2", "tp_group,3", 1):            "tp_group of 2 ranks; want 3",
		strings.Replace(aicbText, "dp_group,2,8", "dp_group,2,8e30", 1):     "msg_size is",
		strings.Replace(aicbText, "send_next", "send_back", 1):              "names no peer",
		strings.Replace(aicbText, "CommGroup.dp_group", "CommGroup.xp", 1):  `the group is "CommGroup.xp"`,
		strings.Replace(aicbText, "reduce_scatter", "reduce", 1):            "is a reduce to one rank",
		strings.Replace(aicbText, ",500,None,None,1", ",-5,None,None,1", 1): `the time is "-5"`,
		strings.Replace(aicbText, "init,None,None,", "init,None,", 1):       "a row of 11 columns",
		aicbText[:strings.Index(aicbText, "[ pp_stage1")]:                   "is a message to another stage",
		header + "CommType.all_to_all,CommGroup.dp_group,64,x\n":            "does not say how many ranks",
		"comm_type,comm_group,stage\n":                                      "the header has no msg_size",
		"[rank0 ~ rank7]\nCommType.barrier,,,\n":                            "before the header",
		"[rank0 ~ rank99999999]\n":                                          "a rank is",
		"[rank0 ~ rank7]\n":                                                 "has no header",
		"[rank0 ~ rank7]\n" + header:                                        "holds no operation",
	} {
		if _, err := readText(t, text, Keys{}); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "; want ") {
			t.Errorf("%.80q: %v, want %s", text, err, want)
		}
	}
	for _, c := range []struct {
		rows string
		keys Keys
		want string // the first set of the last group
	}{
		{"CommType.all_to_all,CommGroup.dp_group,64,x\n", Keys{GPUs: 4}, "[0 1 2 3]"},
		{"CommType.all_to_all,CommGroup.ep_group,64,x\n", Keys{GPUs: 8, EP: 4}, "[0 1 2 3]"},
		{"CommType.all_to_all,CommGroup.ep_group,64,x\n", Keys{GPUs: 8}, "no row says how large ep_group is"},
		{"CommType.all_to_all,CommGroup.ep_group,64,x\n", Keys{GPUs: 8, EP: 3}, "is not a multiple of 3"},
		{"CommType.barrier,CommGroup.all,0,x\n", Keys{GPUs: 3}, "[0 1 2]"},
		{"CommType.all_reduce,CommGroup.pp_group,8,x\n", Keys{GPUs: 3}, "the file holds one stage"},
	} {
		j, err := readText(t, header+c.rows, c.keys)
		got := ""
		if err != nil {
			got = err.Error()
		} else {
			got = fmt.Sprint(j.Groups[len(j.Groups)-1].Sets[0])
		}
		if !strings.Contains(got, c.want) {
			t.Errorf("%q: %s, want %s", c.rows, got, c.want)
		}
	}
	for gpus, want := range map[int]string{0: "", 4: "", 8: "want workload.gpus left out"} {
		_, err := readText(t, "[rank0 ~ rank3]\n"+header+"CommType.barrier,CommGroup.all,0,x\n", Keys{GPUs: gpus})
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("a file of 4 ranks with workload.gpus = %d: %v, want %q", gpus, err, want)
		}
	}
	// The order of dimensions is the order in Megatron-LM: tensor fastest, then context,
	// experts, data.
	a := &aicbReader{stages: []aicbStage{{ranks: 48}, {first: 48, ranks: 48}}, stageRanks: 48, tp: 2, cp: 3, dp: 8, ep: 2}
	for group, want := range map[string]string{
		"tp_group": "[48 49]", "dp_group": "[48 54 60 66 72 78 84 90]", "ep_group": "[48 54]", "ep_dp_group": "[48 60 72 84]",
		"ep_tp_group": "[48 49 54 55]", "pp_group": "[0 48]", "embedding_group": "[0 48]",
	} {
		sets := a.sets(group)
		if !slices.ContainsFunc(sets, func(s []int32) bool { return fmt.Sprint(s) == want }) {
			t.Errorf("%s: %v, want %s in it", group, sets, want)
		}
		if _, err := NewGroup(group, 96, sets); err != nil {
			t.Error(err)
		}
	}
}

// TestRankMap checks that renumbering ranks permutes the job and changes nothing else.
func TestRankMap(t *testing.T) {
	to := []int{3, 0, 6, 1, 7, 2, 5, 4}
	j, err := readText(t, aicbText, Keys{})
	if err != nil {
		t.Fatal(err)
	}
	other, err := readText(t, aicbText, Keys{RankMap: to})
	if err != nil {
		t.Fatal(err)
	}
	transfers := func(j *Job, place []int32) (all []string) {
		b, err := j.Build(BuildOptions{Expand: ExpandNeighbours, NodeOf: place})
		if err != nil {
			t.Fatal(err)
		}
		for _, k := range b.Graph.Tasks {
			all = append(all, fmt.Sprint(k.Kind, k.Src, k.Dst, k.Bytes, k.Duration))
		}
		slices.Sort(all)
		return all
	}
	place := make([]int32, len(to))
	for r, n := range to {
		place[r] = int32(n)
	}
	if got, want := transfers(other, nil), transfers(j, place); !slices.Equal(got, want) {
		t.Errorf("%q\nwant\n%q", got, want)
	}
	for _, bad := range [][]int{{0}, {0, 0, 1, 2, 3, 4, 5, 6}, {1, 2, 3, 4, 5, 6, 7, 8}} {
		if _, err := readText(t, aicbText, Keys{RankMap: bad}); err == nil || !strings.Contains(err.Error(), "; want workload.rank_map with each number") {
			t.Errorf("%v: %v", bad, err)
		}
	}
}

func FuzzAICB(f *testing.F) {
	f.Add([]byte(aicbText), 0)
	f.Add([]byte("comm_type,comm_group,msg_size,stage\nCommType.all_to_all,CommGroup.ep_group,64,x\n"), 8)
	f.Fuzz(func(t *testing.T, data []byte, n int) {
		n = max(0, min(n, 64))
		checkInput(t, []File{{"a", data}}, "aicb", &ReadOptions{Keys: Keys{GPUs: n, EP: n / 2, Setup: n%3 == 0}})
	})
}

// TestAICBExperts checks that the sizes of groups in rows must agree on the number of
// ranks that share experts.
func TestAICBExperts(t *testing.T) {
	const header = "comm_type,comm_group,comm_group_size,msg_size,stage\nCommType.all_reduce,CommGroup.dp_group,8,64,x\n"
	for _, c := range []struct{ rows, want string }{
		{"CommType.all_to_all,CommGroup.ep_group,4,64,x\nCommType.all_reduce,CommGroup.ep_dp_group,2,64,x\n", ""},
		{"CommType.all_to_all,CommGroup.ep_group,2,64,x\nCommType.all_reduce,CommGroup.ep_dp_group,2,64,x\n", "ep_dp_group says that 4 ranks share experts, and others 2"},
		{"CommType.all_to_all,CommGroup.ep_group,3,64,x\n", "is not a multiple of 3"},
	} {
		_, err := readText(t, header+c.rows, Keys{GPUs: 8})
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%q: got %v, want %q", c.rows, err, c.want)
		}
	}
}

// TestJoins checks that only barriers and calls of 0 bytes transfer no data.
func TestJoins(t *testing.T) {
	for _, c := range []struct {
		call GroupCall
		want bool
	}{
		{GroupCall{Kind: Barrier, Bytes: 8}, true}, {GroupCall{Kind: AllReduce}, true}, {GroupCall{Kind: AllReduce, Bytes: 1}, false},
		{GroupCall{Kind: AllToAll, Sizes: []int64{0, 1}}, false},
	} {
		if got := c.call.joins(); got != c.want {
			t.Errorf("%+v only joins its ranks: got %v, want %v", c.call, got, c.want)
		}
	}
}
