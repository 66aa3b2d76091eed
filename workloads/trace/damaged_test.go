package trace

import (
	"errors"
	"fmt"
	"hash/fnv"
	"slices"
	"testing"
)

// outcome returns the job that files describe, or the location of the error in them.
func outcome(format string, files []File, h *ReadOptions) string {
	j, err := Read(ByName(format), files, h)
	if e := (*Error)(nil); errors.As(err, &e) {
		return fmt.Sprint("error ", e.File, " ", e.Record, " ", e.Byte)
	}
	if err != nil {
		return "error"
	}
	return fmt.Sprint(j.Format, j.Ranks, j.Groups, j.Ops, j.EagerBytes, j.Buffered)
}

// kinetoPair returns the trace of one of two ranks with a kernel, a call of a record, a wait and an
// all-to-all with split sizes.
func kinetoPair(rank int) File {
	return kinetoJSON(rank, 2,
		hostEvent("cpu_op", "record_param_comms", 1, with(callArgs("allreduce", 8, 8, "Float", "0, 1"), map[string]any{"External id": 5})),
		hostEvent("cpu_op", "record_param_comms", 3, with(callArgs("wait", 0, 0, "Byte", "0, 1"), map[string]any{"External id": 6})),
		hostEvent("cuda_runtime", "cudaLaunchKernel", 4, map[string]any{"correlation": 3}),
		kernelEvent("gemm", 1000, 500, map[string]any{"stream": 7}),
		kernelEvent("ncclDevKernel_AllReduce", 1600, 500, map[string]any{"stream": 9, "External id": 5}),
		kernelEvent("gemm", 2200, 500, map[string]any{"stream": 7, "correlation": 3}),
		kernelEvent("ncclDevKernel_SendRecv", 3000, 500, with(callArgs("all_to_allv", 12, 12, "Half", "0, 1"), map[string]any{
			"stream": 9, "In split size": "[2, 4]", "Out split size": "[2, 4]"})))
}

// TestDamaged truncates a sample of each format at each byte and replaces each of its bytes. It
// compares the job, or the record and byte of the error, with stored outcomes, so that a dropped
// error or a changed bound is found.
func TestDamaged(t *testing.T) {
	const json = `{"schema": "x", "workload_graph": [{"Id": 1, "NodeType": 4, "Name": "a", "runtime": 3},
{"Id": 2, "NodeType": 7, "ctrlDeps": [1], "data_deps": [], "comm_type": 0, "comm_size": 12, "pg_name": "0"},
{"Id": 3, "NodeType": 4, "is_cpu_op": true, "runtime": 5, "stream": 2}, {"Id": 7, "NodeType": 4, "num_ops": 3, "data_deps": [1, 2]}]}`
	for _, c := range []struct {
		name, format string
		files        []File
		h            ReadOptions
		want         uint64
	}{
		{"chakra", "chakra", []File{chTrace(0), chTrace(1)}, ReadOptions{Keys: Keys{PeakTFLOPS: 1}}, 0x19b989b06d17f33c},
		{"chakra in JSON", "chakra", []File{{"a", []byte(json)}}, ReadOptions{Keys: Keys{ControlCycles: "refuse", Streams: "one-at-a-time"}}, 0xc96876ecd53a5abe},
		{"kineto", "kineto", []File{kinetoPair(0), kinetoPair(1)}, ReadOptions{}, 0xb79c0902ecf639c4},
		{"goal", "goal", []File{{"a", []byte(goalText)}}, ReadOptions{}, 0x523474641564d7fd},
		{"goal in binary", "goal", []File{{"a", goalBinary()}}, ReadOptions{}, 0x854737a9887be86f},
		{"cm", "cm", []File{{"a", []byte(cmText)}}, ReadOptions{}, 0x6c858761bccc2e06},
		{"aicb", "aicb", []File{{"a", []byte(aicbText)}}, ReadOptions{Keys: Keys{Setup: true}}, 0xc08cc0dfd5813b91},
		{"simai", "simai", []File{{"a", []byte(simText(2, 2, 2, 2, 1, 8))}}, ReadOptions{Keys: Keys{RankOrder: "tp-pp-dp", Schedule: "gpipe"}, IntraStageRate: 8e12}, 0xdd166651205c1da7},
	} {
		digest := fnv.New64a()
		read, refused := 0, 0
		look := func(data []byte) {
			files := slices.Clone(c.files)
			files[0].Data = data
			o := outcome(c.format, files, &c.h)
			fmt.Fprintln(digest, o)
			if o[:5] == "error" {
				refused++
			} else {
				read++
			}
		}
		whole := c.files[0].Data
		look(whole)
		if refused > 0 {
			t.Errorf("%s is refused as it is", c.name)
		}
		for i := range whole {
			look(whole[:i])
			for _, other := range []byte{'1', '-', whole[i] ^ 0x01} {
				damaged := slices.Clone(whole)
				damaged[i] = other
				look(damaged)
			}
		}
		if read < len(whole)/20 || refused < len(whole)/20 {
			t.Errorf("%s: %d damaged files are read, %d refused; want some of each", c.name, read, refused)
		}
		if got := digest.Sum64(); got != c.want {
			t.Errorf("%s: digest %#x, want %#x", c.name, got, c.want)
		}
	}
}
