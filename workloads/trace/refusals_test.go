package trace

import (
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestRefusals checks that each corruption of a text is rejected with its cause, and that
// the original text is accepted.
func TestRefusals(t *testing.T) {
	goal := func(body string) string { return "num_ranks 2\nrank 0 {\n" + body + "\n}\nrank 1 {\n}\n" }
	cm := func(lines ...string) string {
		return "Nodes 3\nConnections " + strconv.Itoa(len(lines)) + "\n" + strings.Join(lines, "\n") + "\n"
	}
	triggered := func(trigger string) string {
		return "Nodes 2\nConnections 2\nTriggers 1\n0->1 start 0 size 1 send_done_trigger 1\n1->0 id 1 trigger 1 size 1\n" + trigger + "\n"
	}
	const head, row = "HYBRID_TRANSFORMER model_parallel_NPU_group: 2 all_gpus: 4", "\n1\na -1 1 NONE 0 1 NONE 0 1 NONE 0 0\n"
	for _, c := range []struct{ format, text, want string }{
		{"goal", goal("a: calc 1 cpu 255"), ""},
		{"goal", goal("calc 1 /* send 8b to 9\n*/ calc 2"), ""},
		{"goal", "", "is empty"},
		{"goal", "num_ranks 2 3\n", "begins with"},
		{"goal", "ranks 2\n", "begins with"},
		{"goal", "num_ranks 0\n", "num_ranks is"},
		{"goal", "num_ranks 2\nrank 0\n}\n", "rank 0"},
		{"goal", "num_ranks 2\nrank 2 {\n}\n", "rank is"},
		{"goal", "num_ranks 2\ncalc 1\n", `"calc" outside of a rank`},
		{"goal", "num_ranks 2\nrank 0 {\n}\nrank 0 {\n}\n", "rank is"},
		{"goal", goal("a:"), `label "a" has no operation`},
		{"goal", goal("calc x"), "a time in ns is"},
		{"goal", goal("calc -1"), "a time in ns is"},
		{"goal", goal("calc 1 cpu 256"), "cpu is"},
		{"goal", goal("calc 1 cpu"), "in this order"},
		{"goal", goal("send xb to 1"), "a size is"},
		{"goal", goal("send 8b to x"), "a rank is"},
		{"goal", goal("send 8b to 2"), "a rank is"},
		{"goal", goal("send 8b from 1"), "send BYTESb to RANK"},
		{"goal", goal("send 8b to -1"), "a message is sent to any rank"},
		{"goal", goal("send 8b to 1 tag -1"), "a message of any tag is sent"},
		{"goal", goal("send 8b to 1 tag x"), "tag is"},
		{"goal", goal("send 8b to 1 cpu 1 tag 2"), "in this order"},
		{"goal", goal("send 8b"), "want calc, send, recv, or A requires B"},
		{"goal", goal("sleep 8"), "want calc, send, recv, or A requires B"},
		{"goal", goal("a: calc 1\nb irequires a"), "is not there"},

		{"cm", cm("0->1 start 0 size 1 prio 3 addon msg"), ""},
		{"cm", triggered("trigger id 1 oneshot"), ""},
		{"cm", triggered("trigger id 1 barrier count 1"), ""},
		{"cm", cm("0-1 start 0 size 1"), `a line that begins with "0-1"`},
		{"cm", cm("0->x start 0 size 1"), "a node is"},
		{"cm", cm("3->0 start 0 size 1"), "a node is"},
		{"cm", cm("0->1 size 1"), "neither start nor trigger"},
		{"cm", cm("0->1 start 0 size"), `"size" has no value`},
		{"cm", cm("0->1 start x size 1"), `start is "x"`},
		{"cm", cm("0->1 start -1 size 1"), `start is "-1"`},
		{"cm", cm("0->1 start NaN size 1"), `start is "NaN"`},
		{"cm", cm("0->1 start 1e300 size 1"), `start is "1e300"`},
		{"cm", cm("0->1 start 0 size 1 id 0"), "id is"},
		{"cm", cm("0->1 start 0 size 1 prio x"), "prio is"},
		{"cm", cm("0->1 start 0 size 1 send_done_trigger 0"), "send_done_trigger is"},
		{"cm", cm("0->1 start 0 size 1 recv_done_trigger 0"), "recv_done_trigger is"},
		{"cm", cm("0->1 start 0 size 1 send_done_trigger 1"), "line 3 fires trigger 1, which is not there"},
		{"cm", cm("0->1 id 1 size 1 trigger 0"), "trigger is"},
		{"cm", cm("0->1 id 1 size 1 trigger 1 start 0"), "has a start, or no id"},
		{"cm", cm("0->1 size 1 trigger 1"), "has a start, or no id"},
		{"cm", "Nodes 3\nNodes 3\nConnections 0\n", `"Nodes 3"; want Nodes N, once`},
		{"cm", "Nodes 3 4\nConnections 0\n", "want Nodes N, once"},
		{"cm", "Nodes -1\nConnections 0\n", "Nodes is"},
		{"cm", "Nodes 99999999\nConnections 0\n", "Nodes is"},
		{"cm", triggered("trigger id 1"), "a trigger of 3 words"},
		{"cm", triggered("trigger 1 id oneshot"), "a trigger of 4 words"},
		{"cm", triggered("trigger id 0 oneshot"), "its id is"},
		{"cm", triggered("trigger id 1 oneshot 2"), `a trigger "oneshot 2"`},
		{"cm", triggered("trigger id 1 barrier count x"), "count is"},
		{"cm", triggered("trigger id 1 barrier 2"), `a trigger "barrier 2"`},
		{"cm", triggered("trigger id 1 oneshot\ntrigger id 1 oneshot"), "trigger 1 occurs twice"},

		{"simai", head + row, ""},
		{"simai", head + " checkpoints: 1 0" + row, ""},
		{"simai", "", "is empty"},
		{"simai", head + " all_gpus: 4" + row, `"all_gpus" occurs twice`},
		{"simai", head + " ga: 0" + row, "ga is"},
		{"simai", head + " pp_comm: -1" + row, "pp_comm is"},
		{"simai", head + " checkpoints: 2 0" + row, "checkpoints is"},
		{"simai", head + " checkpoints: x" + row, "checkpoints is"},
		{"simai", head + " checkpoints: 1 x" + row, "checkpoints is"},
		{"simai", head + " checkpoint_initiates: 1 1" + row, "names row 1 as a checkpoint"},
		{"simai", head + "\n0\n", "the number of rows is"},
	} {
		_, err := Read(ByName(c.format), []File{{"a", []byte(c.text)}}, &ReadOptions{})
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s of %.80q: %v, want %q", c.format, c.text, err, c.want)
		}
	}
	for _, format := range []string{"goal", "cm", "simai"} {
		if _, err := Read(ByName(format), []File{{"a", nil}, {"b", nil}}, &ReadOptions{}); err == nil || !strings.Contains(err.Error(), "is a second file") {
			t.Errorf("%s of two files: %v", format, err)
		}
	}
	if _, err := Read(ByName("simai"), []File{{"a", []byte(head + row)}}, &ReadOptions{Keys: Keys{GPUs: 8}}); err == nil || !strings.Contains(err.Error(), "all_gpus is 4, and workload.gpus 8") {
		t.Errorf("a header against workload.gpus: %v", err)
	}
	if names := FormatNames(); len(names) != len(Formats)+1 || names[0] != Auto || !slices.Contains(names, "goal") {
		t.Errorf("formats are named %v", names)
	}
}

// TestJobCheck checks that operations at the bounds are accepted and that operations just
// outside are rejected by name.
func TestJobCheck(t *testing.T) {
	for _, c := range []struct {
		want    string
		corrupt func(o []Op)
	}{
		{"", func([]Op) {}},
		{"", func(o []Op) { o[0].Duration = maxComputeTime }},
		{"", func(o []Op) { o[1].Bytes, o[1].Peer = MaxMessageBytes, 1 }},
		{"", func(o []Op) { o[2].Peer = AnySource }},
		{"operation 0 (\"compute\"): the rank computes for too long", func(o []Op) { o[0].Duration = -1 }},
		{"operation 3 (\"again\"): the rank computes for too long", func(o []Op) { o[0].Duration, o[3].Duration = maxComputeTime, 1 }},
		{"operation 1 (\"send\"): -1 bytes", func(o []Op) { o[1].Bytes = -1 }},
		{"bytes; want from 0", func(o []Op) { o[1].Bytes = MaxMessageBytes + 1 }},
		{"its peer is rank 2", func(o []Op) { o[1].Peer = 2 }},
		{"its peer is rank -1", func(o []Op) { o[2].Peer = -1 }},
		{"it calls a group that it is not in", func(o []Op) { o[4].Group = 1 }},
		{"it calls a group that it is not in", func(o []Op) { o[4].Group = -1 }},
		{"it calls a group that it is not in", func(o []Op) { o[4].Group = 2 }},
	} {
		j := &Job{Ranks: 2, Ops: make([][]Op, 2)}
		for _, set := range [][][]int32{{{0, 1}}, {{1}}} {
			g, err := NewGroup("g", 2, set)
			if err != nil {
				t.Fatal(err)
			}
			j.Groups = append(j.Groups, g)
		}
		j.Ops[0] = []Op{{Name: "compute", Kind: Compute}, {Name: "send", Kind: Send, Peer: 1}, {Name: "receive", Kind: Recv, Peer: 1}, {Name: "again", Kind: Compute}, {Name: "call", Kind: Call}}
		c.corrupt(j.Ops[0])
		if err := j.check("a"); c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%v, want %q", err, c.want)
		}
	}
	for want, sets := range map[string][][]int32{"has rank 2 of 2": {{0, 2}}, "has rank -1 of 2": {{-1}}, "has rank 1 twice": {{0, 1}, {1}}} {
		if _, err := NewGroup("g", 2, sets); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v, want %s", sets, err, want)
		}
	}
	j := &Job{Ranks: 2, Format: "goal", Ops: [][]Op{{{Duration: 2}, {Duration: 3}}, {{Duration: 4}}}}
	if got := j.Compute(); got != 5 {
		t.Errorf("the rank that computes longest does for %v, want 5", got)
	}
	if got := j.Words(); got != "goal trace of 2 ranks, 3 operations" {
		t.Error(got)
	}
}
