package scenarios

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// analyticalTimes returns the times that SimAI's analytical mode computes from a workload text
// with one pipeline stage, in seconds. blocking includes all compute times and blocking
// collectives. other includes the collectives of weight gradients and their updates, which need
// not block.
//
// A collective among n ranks takes (n-1)/n of its vector, twice that for an all-reduce, divided
// by the bandwidth (busbw). steps is the number of ring steps. In ASTRA-sim's analytical mode
// each of them also takes the link latency.
func analyticalTimes(t *testing.T, text string, gpus int, bandwidth float64) (blocking, other float64, steps int) {
	t.Helper()
	lines := strings.Split(strings.TrimSpace(text), "\n")
	header := strings.Fields(lines[0])
	tp := 1
	for i, word := range header[:len(header)-1] {
		if word == "model_parallel_NPU_group:" {
			tp, _ = strconv.Atoi(header[i+1])
		}
	}

	dp := gpus / tp
	collectiveTime := func(kind, size string, n int) float64 {
		bytes, err := strconv.ParseFloat(size, 64)
		if err != nil {
			t.Fatal(err)
		}
		times := map[string]int{"ALLREDUCE": 2, "ALLGATHER": 1, "REDUCESCATTER": 1, "ALLTOALL": 1}[kind]
		steps += times * (n - 1)
		return float64(times) * float64(n-1) / float64(n) * bytes / bandwidth
	}

	for _, line := range lines[2:] {
		f := strings.Fields(line)
		for column, total := range map[int]*float64{2: &blocking, 5: &blocking, 8: &blocking, 11: &other} {
			ns, err := strconv.ParseFloat(f[column], 64)
			if err != nil {
				t.Fatal(err)
			}
			*total += ns * 1e-9
		}

		blocking += collectiveTime(f[3], f[4], tp) + collectiveTime(f[6], f[7], tp)
		other += collectiveTime(f[9], f[10], dp)
	}

	return blocking, other, steps
}

// TestAnalyticalSimulators compares the makespan of AICB workloads on GPUs behind a switch with
// the analytical modes of SimAI and ASTRA-sim. The makespan is at least the time of the
// blocking parts and at most the sum of all parts, because collectives of weight gradients
// overlap with other work. If all collectives block, it equals the sum. With SIM_SAMPLES the
// test also reads AICB's own files.
func TestAnalyticalSimulators(t *testing.T) {
	texts := map[string]string{
		"blocking": "HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 4 checkpoints: 0 checkpoint_initiates: 0\n3\n" +
			"a -1 500000 ALLREDUCE 16777216 600000 ALLGATHER 33554432 100000 NONE 0 100\n" +
			"b -1 700000 REDUCESCATTER 16777216 800000 ALLTOALL 8388608 200000 NONE 0 100\n" +
			"c -1 900000 NONE 0 100000 ALLREDUCE 4194304 300000 NONE 0 100\n",
		"overlapped": "HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 4 checkpoints: 0 checkpoint_initiates: 0\n2\n" +
			"a -1 500000 ALLREDUCE 16777216 600000 ALLGATHER 33554432 100000 ALLREDUCE 33554432 100\n" +
			"b -1 700000 REDUCESCATTER 16777216 800000 ALLTOALL 8388608 200000 REDUCESCATTER 16777216 100\n",
	}

	if root := os.Getenv("SIM_SAMPLES"); root != "" {
		files, err := filepath.Glob(filepath.Join(root, "aicb/workload/simAI/model_workload/*.txt"))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			// L65B-M1-C05 is incomplete: it has fewer rows than its header declares.
			if data, err := os.ReadFile(file); err == nil && !strings.Contains(file, "L65B-M1-C05") {
				texts[filepath.Base(file)] = string(data)
			}
		}
	}

	const gpus, bandwidth = 16, 50e9
	for name, text := range texts {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "workload.txt")
			if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
				t.Fatal(err)
			}
			run := func(latency, level string) float64 {
				o := runText(t, fmt.Sprintf(`
[workload]
kind = "trace"
files = %q
gpus = %d
[fabric]
kind = "electrical"
gpus = %d
link_rate = "400Gbps"
link_latency = %q
[policy]
routers = ["shortest"]
collective = "ring"
[engine]
level = %q`, file, gpus, gpus, latency, level))
				return o.Document.Rows[0].Metrics["makespan_s"]
			}

			blocking, other, steps := analyticalTimes(t, text, gpus, bandwidth)
			got := run("0s", "flow")
			t.Logf("formula: %.6f s of compute and blocking collectives, %.6f s of other "+
				"collectives; simulated: %.6f s", blocking, other, got)
			if got < blocking*(1-1e-6) || got > (blocking+other)*(1+1e-6) {
				t.Errorf("got %.9f s, want %.9f s by formula and up to %.9f s more",
					got, blocking, other)
			}
			if other > 1e-6 {
				return
			}
			// In ASTRA-sim each ring step takes the time of its part of the vector plus the
			// latency, here of two links.
			const latency = 2e-6
			want := blocking + float64(steps)*2*latency
			if got := run("2us", "packet"); math.Abs(got-want) > 0.01*want {
				t.Errorf("with latency: got %.9f s, want %.9f s by formula", got, want)
			}
		})
	}
}
