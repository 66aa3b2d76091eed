package calibration

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"sim/scenarios/accuracy"
	"sim/scenarios/schema"
)

// testHead is the head of a table of nccl-tests.
const testHead = "#                                                              out-of-place                       in-place\n" +
	"#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong\n" +
	"#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)\n"

// testEnd is the end of a table of nccl-tests.
const testEnd = "# Out of bounds values : 0 OK\n# Avg bus bandwidth    : 200\n#\n"

// devices returns the list of ranks of nccl-tests, on nodes of 8.
func devices(ranks int) string {
	var b strings.Builder
	b.WriteString("# nThread 1 nGpus 1 minBytes 1048576 maxBytes 1073741824 step: 2(factor) warmup iters: 5 iters: 20 agg iters: 1 validation: 1 graph: 0\n#\n# Using devices\n")
	for i := range ranks {
		fmt.Fprintf(&b, "#  Rank %2d Group  0 Pid  %d on    node-%d device %2d [0x%02x] NVIDIA H100 80GB HBM3\n", i, 1000+i, i/8, i%8, i)
	}
	return b.String() + "#\n"
}

// allReduce is the output of all_reduce_perf on 16 GPUs, with a message of a library in the table.
var allReduce = "# Collective test starting: all_reduce_perf\n" + devices(16) + "NCCL version 2.26.2+cuda12.8\n" + testHead +
	`     1048576        262144     float     sum      -1    85.30   12.29   23.05      0    84.94   12.34   23.15      0
node-0:1000:1100 [0] NCCL INFO Connected all trees
    16777216       4194304     float     sum      -1    202.2   82.99  155.61      0    200.5   83.69  156.91      0
  1073741824     268435456     float     sum      -1   4252.1  252.52  473.48      0   4248.7  252.73  473.86      0
` + testEnd

// TestReadCollectiveTests: the collective, ranks, nodes, sizes and times of outputs of nccl-tests and
// rccl-tests, with and without the names of programs and the list of ranks.
func TestReadCollectiveTests(t *testing.T) {
	gather := func(wrong string) string {
		return testHead + "     8388608        131072     float    none      -1    784.9   10.69   10.02      0    775.9   10.81   10.14    " + wrong + "\n" + testEnd
	}
	for name, c := range map[string]struct {
		text       string
		collective string
		ranks      int
		nodes      int
		rows       int
		last       float64 // us
	}{
		"all-reduce":       {allReduce, "all-reduce", 16, 2, 3, 4252.1},
		"two tests":        {allReduce + allReduce, "all-reduce", 16, 2, 6, 4252.1},
		"launcher":         {"[1,0]<stdout>:" + strings.ReplaceAll(allReduce, "\n", "\n[1,0]<stdout>:"), "all-reduce", 16, 2, 3, 4252.1},
		"srun":             {"0: " + strings.ReplaceAll(allReduce, "\n", "\n0: "), "all-reduce", 16, 2, 3, 4252.1},
		"no comment signs": {strings.ReplaceAll(allReduce, "#  ", "   "), "all-reduce", 16, 2, 3, 4252.1},
		"unknown ranks":    {testHead + allReduce[strings.Index(allReduce, "  1073741824"):], "all-reduce", 16, 0, 1, 4252.1},
		"all-gather":       {gather("0"), "all-gather", 16, 0, 1, 784.9},
		"all-to-all":       {gather("N/A"), "all-to-all", 16, 0, 1, 784.9},
		"named": {"$ ./build/alltoall_perf -b 8M\n" + strings.ReplaceAll(gather("N/A"), "    0 ", "  N/A "),
			"all-to-all", 16, 0, 1, 784.9},
		"reduce-scatter": {strings.Replace(gather("0"), "none", " sum", 1), "reduce-scatter", 16, 0, 1, 784.9},
		"send-recv": {devices(8) + testHead +
			"  1073741824     268435456     float    none      -1   2864.7  374.82  374.82      0   2863.0  375.04  375.04    N/A\n" + testEnd,
			"send-recv", 8, 1, 1, 2864.7},
		"rccl-tests": {"# nThread 1 nGpus 2 minBytes 8 maxBytes 134217728 step: 2(factor) warmup iters: 5 iters: 20 agg iters: 1 validation: 1 graph: 0\n#\n" +
			"rccl-tests: Version develop:3f7f785\n# Using devices\n" +
			"#   Rank  0 Pid  38629 on host device  0 [0000:2f:00.0] AMD Instinct MI100\n" +
			"#   Rank  1 Pid  38629 on host device  1 [0000:03:00.0] AMD Instinct MI100\n#\n" + testHead +
			"           0             0     float     sum      -1     3.10    0.00    0.00      0     3.00    0.00    0.00      0\n" +
			"   134217728      33554432     float     sum      -1    12192   11.01   11.01      0    12354   10.86   10.86      0\n" + testEnd,
			"all-reduce", 2, 1, 1, 12192},
	} {
		rows, err := Read("t.txt", []byte(c.text))
		if err != nil || len(rows) != c.rows {
			t.Errorf("%s: got %d rows and error %v, want %d rows", name, len(rows), err, c.rows)
			continue
		}
		r := rows[len(rows)-1]
		if r.Parameters["collective"] != c.collective || r.GPUs != c.ranks || r.Nodes != c.nodes || r.Value != c.last || r.Unit != "us" {
			t.Errorf("%s: got %+v, want %s on %d ranks and %d nodes in %g us", name, *r, c.collective, c.ranks, c.nodes, c.last)
		}
	}
}

// samples has a file of each format.
var samples = map[string]string{
	"t.txt": allReduce,
	"l.csv": "id,hardware,gpus,nodes,parameters,metric,value,unit,split\n" +
		"a-001,H100,8,1,collective=all-reduce;size_bytes=1024,time,20.5,us,fit\n" +
		"a-002,H100,8,1,collective=all-reduce;size_bytes=2048,time,20.6,us,fit\n",
	"g.csv": "m,n,k,dtype,time_us,TFLOP/s\n8192,8192,8192,bf16,1500,733\n4096,4096,4096,bf16,200,687.2\n",
	"a.csv": "batch,heads,seq,head_dim,causal,ms\n2,16,8192,128,no,1.5\n2,16,8192,128,yes,0.9\n",
	"s.csv": "model,gpus,tp,pp,global_batch_size,step_time_ms\nllama3-8b,8,1,1,128,5000\nllama3-8b,16,1,1,128,2600\n",
	"h.txt": "hipBLASLt version: 100100\nwith 309.2 GB memory, max. SCLK 2400 MHz\n" +
		"[0]:transA,transB,grouped_gemm,batch_count,m,n,k,alpha,a_type,compute_type,hipblaslt-Gflops,hipblaslt-GB/s,us\n" +
		"    T,N,0,1,8192,8192,8192,1,bf16_r,f32_r,1.29211e+06,440.689,850.941\n    --Solution index: 302286\n" +
		"[0]:transA,transB,grouped_gemm,batch_count,m,n,k,alpha,a_type,compute_type,hipblaslt-Gflops,hipblaslt-GB/s,us\n" +
		"    T,N,0,1,4096,65536,14336,1,f8_r,f32_r,3.2733e+06,608.035,2351.32\n",
	"gpt_7B-world_size8-tp4-pp1-ep1-gbs64-mbs1-seq4096-flash_attn-True.txt": "train_iter:10\nEmb:\n    time_gpu_max: 1100\n    time_gpu_avg: 1059.1\n" +
		"atten_qkv:\n    time_gpu_avg: 250\natten_flash:\n    time_gpu_avg: 120.5\nmlp_linear_1:\n    time_gpu_avg: 400\n",
}

// TestReadFormats: the formats of files are detected, and their rows have the parameters of the
// ledger.
func TestReadFormats(t *testing.T) {
	for name, want := range map[string]accuracy.Row{
		"l.csv": {GPUs: 8, Metric: "time", Value: 20.6, Parameters: accuracy.Parameters{"size_bytes": "2048"}},
		"g.csv": {GPUs: 1, Metric: "rate", Value: 687.2, Parameters: accuracy.Parameters{"op": "gemm", "m": "4096", "n": "4096", "k": "4096", "dtype": "bf16"}},
		"a.csv": {GPUs: 1, Metric: "rate", Value: 2 * 8192 * 8192 * 128 * 16 * 2 / 0.9e-3 / 1e12, Parameters: accuracy.Parameters{"op": "attention_forward", "seq": "8192"}},
		"s.csv": {GPUs: 16, Metric: "iteration_time", Value: 2.6, Parameters: accuracy.Parameters{"model": "llama3-8b", "gbs": "128", "tp": "1"}},
		"h.txt": {GPUs: 1, Metric: "rate", Value: 3273.3, Parameters: accuracy.Parameters{"op": "gemm", "m": "4096", "n": "65536", "k": "14336", "dtype": "fp8"}},
		"gpt_7B-world_size8-tp4-pp1-ep1-gbs64-mbs1-seq4096-flash_attn-True.txt": {GPUs: 1, Metric: "rate", Value: 2 * 4096 * 4096 * 4096 / 400e-6 / 1e12,
			Parameters: accuracy.Parameters{"op": "gemm", "m": "4096", "n": "4096", "k": "4096", "operator": "mlp_linear_1"}},
	} {
		rows, err := Read(name, []byte(samples[name]))
		if err != nil || len(rows) < 2 {
			t.Errorf("%s: got %d rows and error %v, want 2 or more rows", name, len(rows), err)
			continue
		}
		got := rows[len(rows)-1]
		for key, value := range want.Parameters {
			if got.Parameters[key] != value {
				t.Errorf("%s: got %s = %q, want %q", name, key, got.Parameters[key], value)
			}
		}
		if got.GPUs != want.GPUs || got.Metric != want.Metric || math.Abs(got.Value/want.Value-1) > 1e-9 || !got.Fitted || got.Line == 0 {
			t.Errorf("%s: got %+v, want %+v", name, *got, want)
		}
	}
}

// TestReadCuts: a file that is cut at any byte has an error of one line with the name of the file,
// or, if it is cut between lines, the first rows of the complete file.
func TestReadCuts(t *testing.T) {
	for name, text := range samples {
		all, err := Read(name, []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		for n := range len(text) {
			rows, err := Read(name, []byte(text[:n]))
			var faults schema.Diagnostics
			switch {
			case err != nil && (!errors.As(err, &faults) || len(faults) > 1 && name != "l.csv" || faults[0].File != name || faults[0].Remedy == ""):
				t.Errorf("%s, %d bytes: got error %v, want one line with the file and the remedy", name, n, err)
			case err == nil && (len(rows) == 0 || len(rows) > len(all)):
				t.Errorf("%s, %d bytes: got %d rows, want an error or at most %d rows", name, n, len(rows), len(all))
			case err == nil && text[n-1] == '\n' && rows[len(rows)-1].Value != all[len(rows)-1].Value:
				t.Errorf("%s, %d bytes: got value %g, want %g", name, n, rows[len(rows)-1].Value, all[len(rows)-1].Value)
			case err == nil && name == "t.txt" && !strings.Contains(text[:n], "# Avg bus bandwidth"):
				t.Errorf("%s, %d bytes: got %d rows of an unfinished test, want an error", name, n, len(rows))
			}
		}
	}
}

// TestReadRejects: files with errors are rejected in one line with the place and the remedy.
func TestReadRejects(t *testing.T) {
	row := "  1073741824     268435456     float     sum      -1   4252.1  252.52  473.48      0   4248.7  252.73  473.86      0\n"
	if !strings.Contains(allReduce, row) {
		t.Fatal("the sample has other rows")
	}
	gather := devices(16) + testHead + "     8388608        131072     float    none      -1    784.9   10.69   10.02      0    775.9   10.81   10.14    0\n" + testEnd
	for _, c := range []struct{ name, text, want string }{
		{"empty.txt", " \n", "empty.txt: is empty; repeat the measurement"},
		{"osu.txt", "# OSU MPI Allreduce Latency Test v7.0\n# Size       Avg Latency(us)\n8  12.3\n", "osu.txt:1: has an unknown format; accepted are the text that nccl-tests"},
		{"bw.json", `{"busbw": 3}`, "bw.json:1: has an unknown format"},
		{"t.txt", strings.Replace(allReduce, "473.48      0", "473.48      7", 1), "t.txt:29: has 7 wrong elements; the collective failed"},
		{"t.txt", strings.Replace(allReduce, "473.48      0   4248.7", "473.48", 1), "t.txt:29: has 11 of 13 columns; the file is cut"},
		{"t.txt", strings.Replace(allReduce, "4252.1", "425.21", 1), "t.txt:29: has algbw 252.52, and size / time is 2525 GB/s"},
		{"t.txt", strings.Replace(allReduce, "4252.1", "abc", 1), `t.txt:29: has the time "abc"`},
		{"t.txt", strings.Replace(allReduce, "4252.1", "0.00", 1), "t.txt:29: has the time 0"},
		{"t.txt", strings.Replace(allReduce, "  1073741824     268435456     float", "  1073741824     268435456     quad", 1), `t.txt:29: has the unknown type "quad"`},
		{"t.txt", strings.Replace(allReduce, "[0x05] NVIDIA H100", "[0x05] NVIDIA A100", 1), `t.txt:10: lists "NVIDIA A100 80GB HBM3", and line 5 "NVIDIA H100 80GB HBM3"; a profile describes one kind of machine`},
		{"t.txt", strings.Replace(allReduce, "Rank  3", "Rank  4", 1), "t.txt:8: lists rank 4, want rank 3"},
		{"t.txt", strings.Replace(allReduce, devices(16), devices(8), 1), "t.txt:18: has busbw / algbw = 1.88, and all-reduce on 8 ranks has 1.75"},
		{"t.txt", devices(8) + testHead + testEnd, "ends a test without rows"},
		{"t.txt", allReduce[:strings.Index(allReduce, "# Out")], "t.txt:29: ends within a test; give the whole output"},
		{"t.txt", allReduce[:strings.Index(allReduce, "# Out")] + allReduce, "t.txt:31: begins a test before the last one has ended"},
		// All-gathers of 8 MiB per rank instead of 128 MiB, and with rates of these sizes.
		{"g.txt", strings.Replace(gather, " 8388608 ", "  524288 ", 1), "g.txt:24: has the size of one of 16 ranks; multiply the sizes by 16"},
		{"g.txt", strings.Replace(gather, " 8388608        131072", "  524288          8192", 1), "g.txt:24: has the size of one of 16 ranks: size / time is 1/16 of algbw; multiply"},
		{"g.txt", strings.ReplaceAll(gather, "      0    775.9   10.81   10.14    0", "    N/A    775.9   10.81   10.14    N/A"), "g.txt:24: is of an all-gather or an all-to-all; write the command"},
		{"m.csv", "m,n,k,dtype\n1,2,3,bf16\n", "m.csv:1: has no column with measured values; add one of tflops"},
		{"m.csv", "m,n,k,tflops\n1,2,3\n", "m.csv:2: has 3 fields, the first line has 4; the file may be cut"},
		{"m.csv", "m,n,k,tflops\n1,\"2,3,4\n", "m.csv:"},
		{"m.csv", "m,n,k,tflops\n1,-2,3,4\n", `m.csv:2: has n = "-2"; want a number greater than 0`},
		{"m.csv", "m,n,k,tflops\n1,2,3,inf\n", `m.csv:2: has tflops = "inf"`},
		{"m.csv", "m,n,k,tflops,us\n8192,8192,8192,700,150\n", "m.csv:2: has the rate 700 TFLOP/s, and sizes and time give 7330"},
		{"m.csv", "m,n,k,tflops\n", "m.csv: has no rows"},
		{"s.csv", "model,gpus,step_time_s\nllama,7.5,3\n", `s.csv:2: has gpus = "7.5"`},
		{"s.csv", "model,gpus\nllama,7\n", "s.csv:1: has no column with measured values; add one of step_time_s"},
		{"ops.txt", "atten_qkv:\n time_gpu_avg: 3\n", "ops.txt: does not state the model in its name; name it as AICB does"},
		{"x-world_size8-tp4-pp1-ep1-gbs64-mbs1-seq4096-.txt", "atten_qkv:\n time_gpu_avg: 3\n", "is of the unknown model \"x\"; name it after one of"},
		{"gpt_7B-world_size8-tp4-pp1-ep1-gbs64-mbs1-seq4096-.txt", "atten_qkv:\n time_gpu_avg: x\n", "line 2: no time; want microseconds"},
	} {
		_, err := Read(c.name, []byte(c.text))
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("got error %v, want one line with %q", err, c.want)
		}
	}
}
