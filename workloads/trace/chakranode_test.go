package trace

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"sim/engine"
	"sim/engine/units"
)

// TestChakraNodes checks the operation of a node of rank 1 of 4 whose values are at a limit and one
// beyond it.
func TestChakraNodes(t *testing.T) {
	const longest = int64(maxComputeTime / engine.Microsecond)
	send := func(ints map[string]int64) chNode {
		all := map[string]int64{"comm_dst": 3, "comm_size": 10}
		for k, v := range ints {
			all[k] = v
		}
		return chNode{kind: chSend, ints: all}
	}
	recv := func(ints map[string]int64) chNode {
		n := send(ints)
		n.kind, n.ints["comm_src"] = chRecv, 0
		return n
	}
	work := func(micros uint64, ints map[string]int64) chNode {
		return chNode{kind: chComp, micros: micros, ints: ints}
	}
	for _, c := range []struct {
		node  chNode
		want  string // the operation, or part of the error
		notes int
	}{
		{work(uint64(longest), nil), fmt.Sprintf("compute %d", longest*int64(engine.Microsecond)), 0},
		{work(uint64(longest)+1, nil), fmt.Sprintf("lasts for %d us; want at most %d", longest+1, longest), 0},
		{work(5, map[string]int64{chPicoseconds: int64(maxComputeTime)}), fmt.Sprintf("compute %d", int64(maxComputeTime)), 0},
		{work(5, map[string]int64{chPicoseconds: int64(maxComputeTime) + 1}), "has " + chPicoseconds, 0},
		{work(5, map[string]int64{chPicoseconds: 0}), "compute 0", 0},
		{work(5, map[string]int64{chPicoseconds: -1}), "has " + chPicoseconds + " -1", 0},
		{work(0, map[string]int64{"num_ops": -1}), "has num_ops -1; want 0 or more", 0},
		{work(0, map[string]int64{"tensor_size": -1}), "has tensor_size -1", 0},
		{work(0, map[string]int64{"num_ops": 3e9, "tensor_size": 100}), "compute 3000000000", 0}, // at 1 TFLOPS
		{work(0, map[string]int64{"num_ops": 3e9, "tensor_size": 1e6}), "compute 8000000000", 0}, // at 1 Gb/s
		{work(0, map[string]int64{"num_ops": 3e9}), "compute 0", 0},
		{work(0, map[string]int64{"num_ops": 0, "tensor_size": 1e6}), "compute 0", 0},
		{work(7, map[string]int64{"num_ops": 3e9, "tensor_size": 100}), "compute 7000000", 0},
		{work(0, map[string]int64{"num_ops": math.MaxInt64, "tensor_size": 1}), "operations take 9.22e+06 s", 0},
		{chNode{kind: chLoad, micros: 2}, "compute 2000000", 1},
		{chNode{kind: chMeta, micros: 2, ints: map[string]int64{chTaskNumber: 7}}, "join tag 7", 0},
		{chNode{kind: chMeta, ints: map[string]int64{chTaskNumber: completionTag - 1}}, fmt.Sprint("join tag ", completionTag-1), 0},
		{chNode{kind: chMeta, ints: map[string]int64{chTaskNumber: completionTag}}, "join tag 0", 0},
		{chNode{kind: chMeta, ints: map[string]int64{chTaskNumber: -1}}, "join tag 0", 0},
		{send(map[string]int64{"comm_size": MaxMessageBytes}), fmt.Sprintf("send %d tag 0 peer 2 turn 0", int64(MaxMessageBytes)), 0},
		{send(map[string]int64{"comm_size": MaxMessageBytes + 1}), fmt.Sprintf("has comm_size %d; want from 0 to %d", int64(MaxMessageBytes)+1, int64(MaxMessageBytes)), 0},
		{send(map[string]int64{"comm_size": 0}), "send 0 tag 0 peer 2 turn 0", 0},
		{send(map[string]int64{"comm_size": -1}), "has comm_size -1", 0},
		{send(map[string]int64{"comm_dst": 4}), "has comm_dst 4; want a rank from 0 to 3", 0},
		{send(map[string]int64{"comm_dst": 0}), "send 10 tag 0 peer -1 turn 0", 0},
		{send(map[string]int64{"comm_dst": -1}), "has comm_dst -1", 0},
		{send(map[string]int64{"comm_src": 1}), "send 10 tag 0 peer 2 turn 0", 0},
		{send(map[string]int64{"comm_src": 2}), "send 10 tag 0 peer 2 turn 0", 1},
		{send(map[string]int64{"comm_tag": math.MaxInt32}), fmt.Sprintf("send 10 tag %d peer 2 turn 0", math.MaxInt32), 0},
		{send(map[string]int64{"comm_tag": math.MaxUint32}), fmt.Sprintf("send 10 tag %d peer 2 turn 0", math.MaxInt32), 0},
		{send(map[string]int64{"comm_tag": math.MinInt32}), "send 10 tag 0 peer 2 turn 0", 0},
		{send(map[string]int64{"comm_tag": math.MaxUint32 + 1}), "has comm_tag 4294967296", 0},
		{send(map[string]int64{"comm_tag": math.MinInt32 - 1}), "has comm_tag -2147483649", 0},
		{send(map[string]int64{chSendOrder: 5}), "send 10 tag 0 peer 2 turn 5", 0},
		{send(map[string]int64{chSendOrder: -5}), "send 10 tag 0 peer 2 turn 0", 0},
		{send(map[string]int64{chSendOrder: math.MaxInt32 + 1}), "send 10 tag 0 peer 2 turn 2147483647", 0},
		{send(map[string]int64{chDependency: 1, "comm_tag": 3}), fmt.Sprintf("send 0 tag %d peer 2 turn 0", uint32(completionTag)+3), 1},
		{recv(map[string]int64{chDependency: 1, "comm_dst": 1}), fmt.Sprintf("recv 0 tag %d peer -1 turn 0", uint32(completionTag)), 0},
		{recv(map[string]int64{"comm_dst": 2}), "recv 10 tag 0 peer -1 turn 0", 1},
		{chNode{kind: chColl, ints: map[string]int64{"comm_type": 0}}, "is a collective without comm_type and comm_size", 0},
		{chNode{kind: chColl, micros: 3, ints: map[string]int64{"comm_type": 0, "is_cpu_op": 1}}, "compute 3000000", 1},
		{chNode{kind: chColl, ints: map[string]int64{"comm_type": 0, "comm_size": 8, "comm_group": 5}}, `calls the group "5"`, 0},
		{chNode{kind: chColl, group: "x", ints: map[string]int64{"comm_type": 0, "comm_size": 8}}, `calls the group "x"`, 0},
	} {
		job := &Job{Ranks: 4}
		reader := &chakraReader{Job: job, options: &ReadOptions{Keys: Keys{PeakTFLOPS: 1, MemoryBandwidth: units.Rate(1e9)}}}
		o, err := reader.operation(1, &c.node)
		got := fmt.Sprintf("%s", err)
		if err == nil {
			switch o.Kind {
			case Compute:
				got = fmt.Sprintf("compute %d", int64(o.Duration))
			case Send:
				got = fmt.Sprintf("send %d tag %d peer %d turn %d", o.Bytes, o.Tag, o.Peer, o.SendOrder)
			case Recv:
				got = fmt.Sprintf("recv %d tag %d peer %d turn %d", o.Bytes, o.Tag, o.Peer, o.SendOrder)
			default:
				got = fmt.Sprintf("join tag %d", o.Tag)
			}
		}
		if err == nil && got != c.want || !strings.Contains(got, c.want) || err == nil && len(job.Notes) != c.notes {
			t.Errorf("node %+v: %s and %d notes, want %s and %d", c.node, got, len(job.Notes), c.want, c.notes)
		}
	}
}
