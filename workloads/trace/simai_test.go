package trace

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"sim/engine"
	"sim/engine/flow"
	"sim/workloads/training"
)

// simText returns a pipeline stage in the format of AICB.
func simText(tp, ep, pp, ga, layers, gpus int) string {
	var rows []string
	row := func(format string, args ...any) { rows = append(rows, fmt.Sprintf(format, args...)) }
	row("grad_gather -1 1 NONE 0 1 NONE 0 1 ALLGATHER 1000 100")
	row("grad_param -1 1 NONE 0 5000 NONE 0 1 REDUCESCATTER 2000 100")
	for range ga {
		row("embedding_layer\t-1\t300 ALLREDUCE 4096 1 NONE 0 1 NONE 0 0")
		for range layers {
			row("attention   -1 1000 ALLGATHER 8192 700 REDUCESCATTER 8192 800 NONE 0 0")
			if ep > 1 {
				row("mlp_moe -1 900 ALLTOALL_EP 8192 600 ALLTOALL_EP 8192 500 NONE 77 0")
			}
		}
	}
	row("cross_entropy1 -1 10 ALLREDUCE 8 10 NONE 0 10 NONE 0 0")
	row("optimizer1 -1 10 ALLREDUCE 4 10 NONE 0 10 NONE 0 10")
	return fmt.Sprintf("HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: %d ep: %d pp: %d vpp: %d ga: %d all_gpus: %d checkpoints: 0 checkpoint_initiates: 0 pp_comm: 4096.0\n%d\n%s",
		tp, ep, pp, layers, ga, gpus, len(rows), strings.Join(rows, "\n"))
}

// readText detects the format of a text and reads it.
func readText(t testing.TB, text string, k Keys) (*Job, error) {
	t.Helper()
	f := File{"a.txt", []byte(text)}
	format := Detect(f)
	if format == nil {
		return nil, &Error{File: f.Name, Problem: "is of no format"}
	}
	if k.RankOrder == "" {
		k.RankOrder = "tp-dp-pp"
	}
	return Read(format, []File{f}, &ReadOptions{Keys: k, IntraStageRate: 8e12})
}

// computeSpan returns the makespan of a job if only computations take time.
func computeSpan(t *testing.T, j *Job) engine.Time {
	t.Helper()
	d, err := j.criticalPath()
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// TestSimAIStages compares the pipeline of a stage with times and bytes computed by hand.
func TestSimAIStages(t *testing.T) {
	const pp, ga, layers = 4, 8, 2
	j, err := readText(t, simText(2, 2, pp, ga, layers, 32), Keys{})
	if err != nil {
		t.Fatal(err)
	}
	if j.Ranks != 32 || len(j.Groups) != 4 {
		t.Fatalf("%d ranks, %d groups", j.Ranks, len(j.Groups))
	}
	// 1F1B: m forward and backward passes of a stage, and p-1 of both to fill and drain
	// the pipeline (PipeDream-Flush).
	forward, backward := engine.Time(300+layers*1900)*engine.Nanosecond, engine.Time(2+layers*2600)*engine.Nanosecond

	// Rows before and after, without rows that overlap.
	once := engine.Time(2+20+10+10+20+5000+2) * engine.Nanosecond
	want := (ga+pp-1)*(forward+backward) + once
	if got := computeSpan(t, j); got < want-engine.Time(200)*engine.Nanosecond || got > want+engine.Time(300)*engine.Nanosecond {
		t.Errorf("computing alone takes %v, want about %v", got, want)
	}
	// Each rank sends 12 messages per direction and micro-batch, each half of pp_comm.
	bytes, _ := j.Wire()
	sends := 0.0
	j.each(func(_, times int, ops []Op) {
		for _, o := range ops {
			if o.Kind == Send {
				sends += float64(times) * float64(o.Bytes)
			}
		}
	})
	if want := float64(2 * (pp - 1) * ga * 8 * 2048); sends != want || bytes <= sends {
		t.Errorf("stages send %g of %g B, want %g", sends, bytes, want)
	}
	m := j.Stage
	if m.GPUs != 4 || m.Microbatches != ga || m.PipelineBytes != 2048 {
		t.Errorf("a stage is %+v", m)
	}

	// With 1 TB/s within the stage.
	if f := m.Forward - forward; f < 0 || f > 100*engine.Nanosecond {
		t.Errorf("forward takes %v, want %v and what is sent inside", m.Forward, forward)
	}
	// DP 4: three quarters of 1,000 B and 2,000 B, shared by the two ranks of a stage.
	if m.SyncBytes != 750/2+1500/2 {
		t.Errorf("%d B go to the next replica", m.SyncBytes)
	}
}

// TestSimAIWithoutPipelineBytes checks that a note reports stages that send each other nothing. A
// single stage has nothing to send.
func TestSimAIWithoutPipelineBytes(t *testing.T) {
	for pp := 1; pp <= 3; pp++ {
		for bytes, isSilent := range map[string]bool{"0": pp > 1, "1": false} {
			text := strings.Replace(simText(1, 1, pp, 4, 1, 2*pp), "pp_comm: 4096.0", "pp_comm: "+bytes, 1)
			j, err := readText(t, text, Keys{})
			if err != nil {
				t.Fatal(err)
			}
			got := slices.ContainsFunc(j.Notes, func(n Note) bool {
				return strings.HasPrefix(n.Text, "stages send each other nothing") && n.Count == pp
			})
			if got != isSilent {
				t.Errorf("%d stages with pp_comm %s: notes %v, want one about stages: %t", pp, bytes, j.Notes, isSilent)
			}
		}
	}
}

// TestSimAIGroups checks that the ranks of a set differ in one coordinate only, and that
// both rank orders have the same sizes.
func TestSimAIGroups(t *testing.T) {
	for order, want := range map[string][4]string{
		"tp-dp-pp": {"[0 1]", "[0 2 4 6]", "[0 2]", "[0 4]"},
		"tp-pp-dp": {"[0 1]", "[0 4 8 12]", "[0 4]", "[0 8]"},
	} {
		j, err := readText(t, simText(2, 2, 2, 2, 1, 16), Keys{RankOrder: order})
		if err != nil {
			t.Fatal(err)
		}
		for i, g := range j.Groups {
			if got := fmt.Sprint(g.Sets[0]); got != want[i] {
				t.Errorf("%s: group %s is %s, want %s", order, g.Name, got, want[i])
			}
			seen := make([]bool, j.Ranks)
			for s, set := range g.Sets {
				for _, r := range set {
					if seen[r] || g.SetOf[r] != int32(s) {
						t.Errorf("%s: group %s has rank %d in set %d and %d", order, g.Name, r, s, g.SetOf[r])
					}
					seen[r] = true
				}
			}
		}
	}
}

// TestSimAIOrder checks that a single stage computes its rows forward and then backward,
// and that rows are recomputed from checkpoints.
func TestSimAIOrder(t *testing.T) {
	head := "HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 1 all_gpus: 2 checkpoints: 1 0 checkpoint_initiates: 1 2 pp_comm 0\n3\n"
	text := head + "a -1 100 NONE 0 10 NONE 0 1 ALLREDUCE 64 0\r\nb -1 200 NONE 0 20 NONE 0 2 NONE 0 0\n\nc -1 400 NONE 0 40 NONE 0 4 NONE 0 0\n"
	j, err := readText(t, text, Keys{})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, o := range j.Ops[0] {
		names = append(names, o.Name)
	}
	const want = "a forward,b forward,c forward,a forward,b forward,c input gradient,c weight gradient,b input gradient,b weight gradient,a input gradient,a weight gradient,a weight gradient all-reduce"
	if got := strings.Join(names, ","); got != want {
		t.Errorf("the order is\n%s, want\n%s", got, want)
	}
	if got, want := computeSpan(t, j), engine.Time(700+300+44+22+11)*engine.Nanosecond; got != want {
		t.Errorf("takes %v, want %v", got, want)
	}
}

// TestSimAIRefused checks that errors contain the record, the byte and the accepted
// input.
func TestSimAIRefused(t *testing.T) {
	const row = "a -1 1 NONE 0 1 NONE 0 1 NONE 0 0\n"
	const head = "HYBRID_TRANSFORMER model_parallel_NPU_group: 2 all_gpus: 4\n"
	for text, want := range map[string]string{
		head + "2\n" + row:       "record 3 (byte 61): the second line says 2 rows, and there are 1; want",
		head + "1\n" + row + row: "says 1 rows, and there are 2",
		head + "1\n" + strings.Replace(row, "NONE", "ALLREDUCE_XP", 1): `the group of the collective "ALLREDUCE" is "_XP"; want _EP`,
		head + "1\n" + strings.Replace(row, "NONE", "SUM", 1):          `the collective is "SUM"; want NONE`,
		head + "1\n" + strings.Replace(row, "NONE 0", "NONE 1.5", 1):   `column 5, bytes is "1.5"; want a whole number`,
		head + "1\n" + strings.Replace(row, "-1", "x", 1):              "the dependency, which is not used, is",
		head + "1\na -1 1\n": "a row of 3 columns; want 12",
		head + "1\n" + strings.Replace(row, " 1 ", " 99999999999999999 ", 1): "a time in ns is",
		head + "99999999999999999999\n":                                      "the number of rows is",
		head:                                                                 "ends after its first line",
		"DATA\n1\n" + row:                                                    `the policy is "DATA"; want one of HYBRID`,
		"MICRO\n1\n" + row:                                                   "does not say all_gpus",
		strings.Replace(head, "2", "3", 1) + "1\n" + row:                                      "are not whole replicas",
		strings.Replace(head, "all_gpus", "mode: 1 all_gpus", 1) + "1\n" + row:                "inference",
		strings.Replace(head, "all_gpus", "colour: 1 all_gpus", 1) + "1\n" + row:              `the header has "colour"`,
		strings.Replace(head, "all_gpus: 4", "all_gpus: 4 pp:", 1) + "1\n" + row:              `"pp" has no value`,
		strings.Replace(head, "all_gpus: 4", "all_gpus: 4 pp: 2", 1) + "1\n" + row:            "cannot be told apart",
		strings.Replace(simText(1, 1, 2, 3, 2, 4), "ga: 3", "ga: 4", 1):                       "record 5 (byte ",
		strings.Replace(head, "all_gpus: 4", "all_gpus: 4 ep: 4", 1) + "1\n" + row:            "is not a multiple of EP",
		strings.Replace(head, "all_gpus: 4", "all_gpus: 4 checkpoints: 1 7", 1) + "1\n" + row: "names row 7 as a checkpoint",
	} {
		_, err := readText(t, text, Keys{})
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "; want ") {
			t.Errorf("%.60q: %v, want %s", text, err, want)
		}
	}
}

// TestBuiltRuns checks that the graph of a job can be simulated and takes at least its
// compute time.
func TestBuiltRuns(t *testing.T) {
	j, err := readText(t, simText(2, 2, 2, 4, 1, 16), Keys{})
	if err != nil {
		t.Fatal(err)
	}
	b, err := j.Build(BuildOptions{Expand: ExpandNeighbours})
	if err != nil {
		t.Fatal(err)
	}
	n := &engine.Network{Nodes: 17}
	for i := range int32(16) {
		n.Links = append(n.Links, engine.Link{From: i, To: 16, Rate: 1e11}, engine.Link{From: 16, To: i, Rate: 1e11})
	}
	r := &engine.Routes{Start: []int32{0}}
	sent := 0.0
	for i := range b.Graph.Tasks {
		if k := &b.Graph.Tasks[i]; k.Kind == engine.Transfer {
			sent += float64(k.Bytes)
			r.Uses = append(r.Uses, engine.Use{Resource: 2 * k.Src, Weight: 1}, engine.Use{Resource: 2*k.Dst + 1, Weight: 1})
		}
		r.Start = append(r.Start, int32(len(r.Uses)))
	}
	if want, _ := j.Wire(); sent != want {
		t.Errorf("%g B are sent, want %g", sent, want)
	}
	trace, err := flow.Run(t.Context(), b.Graph, n, r, flow.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if alone := computeSpan(t, j); trace.Makespan <= alone {
		t.Errorf("ends at %v, and computing alone takes %v", trace.Makespan, alone)
	}
}

func FuzzSimAI(f *testing.F) {
	f.Add([]byte(simText(2, 2, 2, 2, 1, 8)), 0)
	f.Add([]byte("MICRO\n1\nm -1 1 NONE 0 1 NONE 0 1 ALLTOALL 64 1"), 4)
	f.Fuzz(func(t *testing.T, data []byte, gpus int) {
		checkInput(t, []File{{"a.txt", data}}, "simai", &ReadOptions{Keys: Keys{GPUs: min(max(0, gpus), 64), RankOrder: "tp-dp-pp"}})
	})
}

// checkInput reads arbitrary files. An accepted job can be reported and built, and the
// graph has the bytes of the job.
func checkInput(t *testing.T, files []File, format string, h *ReadOptions) {
	t.Helper()
	j, err := Read(ByName(format), files, h)
	if err != nil {
		if !strings.Contains(err.Error(), "; want ") {
			t.Fatalf("no remedy: %v", err)
		}
		return
	}
	var out strings.Builder
	if err := j.Report(&out); err != nil {
		t.Fatal(err)
	}
	bytes, transfers := j.Wire()
	if transfers > 1e5 {
		return
	}
	if b, err := j.Build(BuildOptions{Expand: ExpandNeighbours, MaxTasks: 1e6}); err == nil {
		sent := 0.0
		for i := range b.Graph.Tasks {
			sent += float64(b.Graph.Tasks[i].Bytes)
		}
		if sent > bytes*1.01+1 {
			t.Fatalf("%g B are sent of %g", sent, bytes)
		}
	}
}

// TestSimAIUnequal checks that micro-batches may have different times, and that the
// dependency column may have any number. The pipeline takes as long as one computed pass
// by pass.
func TestSimAIUnequal(t *testing.T) {
	const pp, ga = 3, 5
	text := strings.ReplaceAll(simText(1, 1, pp, ga, 1, pp), "embedding_layer\t-1", "embedding_layer\t7")
	var forward, backward [ga]engine.Time
	for m := range ga {
		text = strings.Replace(text, "1000 ALLGATHER 8192 700", fmt.Sprintf("%d ALLGATHER 8192 %d", 2000+m*m*300, 900+(ga-m)*170), 1)
		forward[m] = engine.Time(300+2000+m*m*300) * engine.Nanosecond
		backward[m] = engine.Time(2+900+(ga-m)*170+800) * engine.Nanosecond
	}
	j, err := readText(t, text, Keys{Schedule: training.OneFOneB})
	if err != nil {
		t.Fatal(err)
	}
	spec := training.Spec{Schedule: training.OneFOneB, PP: pp, Chunks: 1, Microbatches: ga}
	var ends [2][pp][ga]engine.Time // ends of forward and backward passes; 0 if not yet computed
	var free [pp]engine.Time
	before, after := 2*engine.Nanosecond, engine.Time(10+10+20+20+5000+2)*engine.Nanosecond
	var next [pp]int
	for i := range free {
		free[i] = before
	}
	for left := 2 * pp * ga; left > 0; {
		for i := range pp {
			steps := spec.Program(i)
			if next[i] == len(steps) {
				continue
			}
			m, ready := steps[next[i]].Microbatch, free[i]
			if steps[next[i]].Kind == training.ForwardPass {
				if i > 0 {
					if ends[0][i-1][m] == 0 {
						continue
					}
					ready = max(ready, ends[0][i-1][m])
				}
				free[i] = ready + forward[m]
				ends[0][i][m] = free[i]
			} else {
				if i < pp-1 {
					if ends[1][i+1][m] == 0 {
						continue
					}
					ready = max(ready, ends[1][i+1][m])
				}
				free[i] = ready + backward[m]
				ends[1][i][m] = free[i]
			}
			next[i]++
			left--
		}
	}
	want := free[0] + after
	if got := computeSpan(t, j); got < want-200*engine.Nanosecond || got > want+300*engine.Nanosecond {
		t.Errorf("computing alone takes %v, want %v", got, want)
	}
	if n := len(j.Stage.Passes); n != ga {
		t.Fatalf("a stage has %d passes, want %d", n, ga)
	}
	for m, p := range j.Stage.Passes {
		if p.Forward != forward[m] || p.Backward != backward[m] {
			t.Errorf("micro-batch %d takes %v and %v, want %v and %v", m, p.Forward, p.Backward, forward[m], backward[m])
		}
	}
}
