package trace

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
	"pgregory.net/rapid"

	"sim/engine"
	"sim/engine/flow"
	"sim/engine/units"
)

// chMessage appends a length-delimited message.
func chMessage(to, message []byte) []byte { return protowire.AppendBytes(to, message) }

// chEncode encodes a node. The position in the list determines the type of each number.
func chEncode(id uint64, kind uint64, name string, micros uint64, data []uint64, group string, numbers ...any) []byte {
	var b []byte
	if id > 0 {
		b = protowire.AppendVarint(protowire.AppendTag(b, 1, protowire.VarintType), id)
	}
	b = protowire.AppendString(protowire.AppendTag(b, 2, protowire.BytesType), name)
	b = protowire.AppendVarint(protowire.AppendTag(b, 3, protowire.VarintType), kind)
	var packed []byte
	for _, d := range data {
		packed = protowire.AppendVarint(packed, d)
	}
	b = protowire.AppendBytes(protowire.AppendTag(b, 5, protowire.BytesType), packed)
	b = protowire.AppendVarint(protowire.AppendTag(b, 7, protowire.VarintType), micros)
	attribute := func(name string, value func(a []byte) []byte) {
		a := protowire.AppendString(protowire.AppendTag(nil, 1, protowire.BytesType), name)
		b = protowire.AppendBytes(protowire.AppendTag(b, 10, protowire.BytesType), value(a))
	}
	if group != "" {
		attribute("pg_name", func(a []byte) []byte {
			return protowire.AppendString(protowire.AppendTag(a, 29, protowire.BytesType), group)
		})
	}
	for i := 0; i < len(numbers); i += 2 {
		v := numbers[i+1].(int)
		attribute(numbers[i].(string), func(a []byte) []byte {
			switch i / 2 % 4 {
			case 0:
				return protowire.AppendVarint(protowire.AppendTag(a, 9, protowire.VarintType), uint64(v))
			case 1:
				return protowire.AppendVarint(protowire.AppendTag(a, 15, protowire.VarintType), protowire.EncodeZigZag(int64(v)))
			case 2:
				return protowire.AppendFixed32(protowire.AppendTag(a, 19, protowire.Fixed32Type), uint32(v))
			}
			return protowire.AppendFixed64(protowire.AppendTag(a, 3, protowire.Fixed64Type), math.Float64bits(float64(v)))
		})
	}
	return b
}

// chTrace returns the file of one of two ranks, which computes, calls, and sends or
// receives.
func chTrace(rank int) File {
	f := chMessage(nil, protowire.AppendString(protowire.AppendTag(nil, 1, protowire.BytesType), "1.0"))
	f = chMessage(f, chEncode(0, chComp, "before", 7, nil, ""))
	f = chMessage(f, chEncode(5, chColl, "sum", 9, []uint64{0}, "", "comm_type", 2, "comm_size", 100))
	if rank == 0 {
		f = chMessage(f, chEncode(9, chSend, "send", 0, []uint64{5}, "", "comm_size", 64, "comm_dst", 1, "comm_tag", 3))
	} else {
		f = chMessage(f, chEncode(9, chRecv, "receive", 0, []uint64{5}, "", "comm_size", 64, "comm_src", 0, "comm_tag", 3))
	}
	f = chMessage(f, chEncode(12, chComp, "after", 0, []uint64{9}, "", "num_ops", 3_000_000, "tensor_size", 1000))
	return File{fmt.Sprintf("w.%d.et", rank), f}
}

// TestDetectChakra checks that a short file is a trace from the end of its first message on, and
// that a prefix of a long one suffices.
func TestDetectChakra(t *testing.T) {
	data := chTrace(0).Data
	length, start := protowire.ConsumeVarint(data)
	for cut := range data {
		if got, want := isChakra(data[:cut]), cut >= start+int(length); got != want {
			t.Errorf("the first %d bytes of a trace whose first message ends at %d: %t, want %t", cut, start+int(length), got, want)
		}
	}
	long := chMessage(nil, protowire.AppendBytes(protowire.AppendTag(nil, 1, protowire.BytesType), make([]byte, detectBytes)))
	if !isChakra(long[:detectBytes]) || isChakra(long[:detectBytes-1]) {
		t.Errorf("a first message of %d bytes is not detected by %d bytes alone", len(long), detectBytes)
	}
}

// TestChakra compares a trace with operations and times counted by hand, in protobuf,
// JSON and gzip, and checks the errors of other traces.
func TestChakra(t *testing.T) {
	files := []File{chTrace(0), chTrace(1)}
	if f := Detect(files[0]); f == nil || f.Name != "chakra" {
		t.Fatalf("is detected as %v", f)
	}
	if f := Detect(File{"a", []byte("[\n" + strings.Repeat(`{"node": 1},`, 20))}); f != nil {
		t.Errorf("a list in JSON is detected as %s", f.Name)
	}
	h := &ReadOptions{Keys: Keys{PeakTFLOPS: 1, MemoryBandwidth: 8e9}}
	j, err := Read(ByName("chakra"), files, h)
	if err != nil {
		t.Fatal(err)
	}
	// 7 us, plus 3 us for 3e6 operations at 1e12/s
	if got, want := computeSpan(t, j), 10*engine.Microsecond; got != want {
		t.Errorf("computes %v, want %v", got, want)
	}
	if b, _ := j.Wire(); b != 2*100+64 { // each rank gathers 100 B of the other
		t.Errorf("%g B", b)
	}
	// Compression does not change the job.
	var z bytes.Buffer
	w := gzip.NewWriter(&z)
	w.Write(files[0].Data)
	w.Close()
	if f, err := Unpack("w", z.Bytes()); err != nil || !bytes.Equal(f.Data, files[0].Data) {
		t.Errorf("unpacks to %d bytes, %v", len(f.Data), err)
	}
	if _, err := Unpack("w", z.Bytes()[:20]); err == nil {
		t.Error("a file that is cut off unpacks")
	}
	for want, of := range map[string]func() []File{
		"a message of": func() []File { return []File{{"a", files[0].Data[:len(files[0].Data)-3]}} },
		"node 9 occurs twice": func() []File {
			return []File{{"a", chMessage(slices.Clone(files[0].Data), chEncode(9, chComp, "x", 0, nil, ""))}, files[1]}
		},
		"depends on the data of node 77": func() []File {
			return []File{{"a", chMessage(slices.Clone(files[0].Data), chEncode(30, chComp, "x", 0, []uint64{77}, ""))}, files[1]}
		},
		"waits for itself": func() []File {
			f := chMessage(slices.Clone(files[0].Data), chEncode(30, chComp, "x", 0, []uint64{31}, ""))
			return []File{{"a", chMessage(f, chEncode(31, chComp, "y", 0, []uint64{30}, ""))}, files[1]}
		},
		"calls the group \"7\", which is not known": func() []File {
			return []File{{"a", chMessage(nil, nil)}, {"b", chMessage(chMessage(nil, nil), chEncode(1, chColl, "x", 0, nil, "7", "comm_type", 0, "comm_size", 1))}}
		},
		"is a REDUCE": func() []File {
			return []File{{"b", chMessage(chMessage(nil, nil), chEncode(1, chColl, "x", 0, nil, "", "comm_type", 1, "comm_size", 1))}}
		},
		"has no comm_dst": func() []File {
			return []File{{"b", chMessage(chMessage(nil, nil), chEncode(1, chSend, "x", 0, nil, "", "comm_size", 1))}}
		},
		"lasts for 9223372036854775807 us": func() []File {
			return []File{{"b", chMessage(chMessage(nil, nil), chEncode(1, chComp, "x", math.MaxInt64, nil, ""))}}
		},
		"has comm_tag 4294967296": func() []File {
			return []File{{"b", chMessage(chMessage(nil, nil), chEncode(1, chSend, "x", 0, nil, "", "comm_tag", 1<<32, "comm_dst", 0, "comm_size", 1))}}
		},
		"has num_ops -1": func() []File {
			return []File{{"b", chMessage(chMessage(nil, nil), chEncode(1, chComp, "x", 0, nil, "", "num_ops", -1))}}
		},
		"is a collective (comm_type 99)": func() []File {
			return []File{{"b", chMessage(chMessage(nil, nil), chEncode(1, chColl, "x", 0, nil, "", "comm_type", 99, "comm_size", 1))}}
		},
		"record 2 (byte 29): is not valid JSON of a Chakra trace: workload_graph.Id of the wrong type (string)": func() []File {
			return []File{{"b", []byte("{\"workload_graph\": [\n{\"Id\":\"x\"}]}")}}
		},
		"is of type 9": func() []File { return []File{{"b", chMessage(chMessage(nil, nil), chEncode(1, 9, "x", 0, nil, ""))}} },
	} {
		if _, err := Read(ByName("chakra"), of(), h); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "; want ") {
			t.Errorf("%v, want %s", err, want)
		}
	}
	// One rank receives a message that no rank sends; another makes a call that the other
	// does not.
	alone, err := Read(ByName("chakra"), []File{chTrace(0), chTrace(0)}, h)
	if err == nil {
		_, err = alone.Build(BuildOptions{Expand: ExpandNeighbours})
	}
	if err == nil || !strings.Contains(err.Error(), "messages from rank") && !strings.Contains(err.Error(), "peer") {
		t.Errorf("two senders: %v", err)
	}
}

// TestEndsDisagree checks that differences between the two ends of a message are
// reported.
func TestEndsDisagree(t *testing.T) {
	message := func(j *Job, err error) string {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		var b strings.Builder
		if err := j.Report(&b); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	const sizes, ranks = "1 messages are received as of another size than they are sent", "messages name another rank at their own end than that of their file"
	if text := message(readText(t, goalText, Keys{})); strings.Contains(text, sizes) {
		t.Errorf("sizes that agree: %s", text)
	}
	if text := message(readText(t, strings.Replace(goalText, "recv 70000b", "recv 700b", 1), Keys{})); !strings.Contains(text, sizes) {
		t.Errorf("sizes that do not: %s", text)
	}
	at := func(src int) string {
		send := chMessage(nil, protowire.AppendString(protowire.AppendTag(nil, 1, protowire.BytesType), "1.0"))
		send = chMessage(send, chEncode(9, chSend, "send", 0, nil, "", "comm_size", 64, "comm_src", src, "comm_dst", 1))
		receive := chMessage(nil, protowire.AppendString(protowire.AppendTag(nil, 1, protowire.BytesType), "1.0"))
		receive = chMessage(receive, chEncode(9, chRecv, "receive", 0, nil, "", "comm_size", 64, "comm_src", 0))
		return message(Read(ByName("chakra"), []File{{"w.0.et", send}, {"w.1.et", receive}}, &ReadOptions{}))
	}
	if text := at(0); strings.Contains(text, ranks) {
		t.Errorf("ranks that agree: %s", text)
	}
	if text := at(1); !strings.Contains(text, ranks) {
		t.Errorf("ranks that do not: %s", text)
	}
}

const goalText = `num_ranks 3
rank 0 { // the root
l1: calc 100 cpu 1
/* two
   lines */ l2: send 70000b to 1 tag 4
l3: send 8b to 2
l2 requires l1
l3 irequires l2
c: calc 50 cpu 1
}
rank 1 {
a: recv 70000b from 0 tag 4
b: calc 30
b requires a
}
rank 2 {
a: recv 8b from -1 tag -1 cpu 0 nic 0
}`

// TestGOAL compares a text schedule with times and notes determined by hand, and checks
// the errors of other schedules.
func TestGOAL(t *testing.T) {
	j, err := readText(t, goalText, Keys{})
	if err != nil {
		t.Fatal(err)
	}

	// Two computations on one cpu do not overlap.
	if got, want := computeSpan(t, j), 150*engine.Nanosecond; got != want {
		t.Errorf("computes %v, want %v", got, want)
	}
	b, err := j.Build(BuildOptions{})
	if err != nil {
		t.Fatal(err)
	}
	at := map[string]int32{}
	for id := range b.Graph.Tasks {
		if name := j.Ops[0][b.Op[id]].Name; b.Rank[id] == 0 && (b.Graph.Tasks[id].Kind == engine.Transfer || at[name] == 0) {
			at[name] = int32(id)
		}
	}
	after := func(a, b2 string) bool {
		return slices.ContainsFunc(b.Graph.In(at[a]), func(e engine.Edge) bool { return e.From == at[b2] })
	}
	if !after("l2: send", "start of l2: send") || !after("l3: send", "start of l2: send") || !after("start of l2: send", "l1: calc") || after("l3: send", "l2: send") {
		t.Errorf("l2 waits for %v, l3 for %v", b.Graph.In(at["l2: send"]), b.Graph.In(at["l3: send"]))
	}
	for text, want := range map[string]string{
		"num_ranks 2\nrank 0 {\nsend 8b to 1\n}\n":                                     "1 messages from rank 0 to rank 1 of tag 0, and 0 receives",
		"num_ranks 1\nrank 0 {\na: calc 1\na: calc 1\n}\n":                             "occurs twice",
		"num_ranks 1\nrank 0 {\na: calc 1\na requires b\n}\n":                          "is not there",
		"num_ranks 1\nrank 0 {\na: calc 1 nic 3\n}\n":                                  "in this order",
		"num_ranks 1\nrank 0 {\na: send 8b to 7\n}\n":                                  "a rank is",
		"num_ranks 1\nrank 0 {\na: send 8 to 0\n}\n":                                   "send BYTESb",
		"num_ranks 1\nrank 0 {\na: calc 1\n":                                           "ends within rank 0",
		"num_ranks 2\nrank 1 {\n}\nrank 0 {\n}\n":                                      "rank is",
		"num_ranks 2\nrank 0 {\nsend 8b to 1 nic 1\n}\nrank 1 {\n}\n":                  "nic 1",
		"num_ranks 1\nrank 0 {\na: calc 1\nb: calc 1\na requires b\nb requires a\n}\n": "waits for itself",
	} {
		j, err := readText(t, text, Keys{})
		if err == nil {
			_, err = j.Build(BuildOptions{})
		}
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "; want ") {
			t.Errorf("%.60q: %v, want %s", text, err, want)
		}
	}
}

// goalBinary returns txt2bin's file of a schedule in which one rank computes and then
// sends itself an empty message.
func goalBinary() []byte {
	le := binary.LittleEndian
	var b []byte
	b = le.AppendUint64(b, goalMagic)
	b = le.AppendUint32(b, 1)
	b = append(b, 0, 0)
	b = le.AppendUint64(b, 22)
	b = le.AppendUint64(b, 22+8+4+2*goalNodeBytes+4)
	b = le.AppendUint32(le.AppendUint32(b, 2), 1)
	b = le.AppendUint32(b, 0)
	node := func(left uint32, kind byte, size uint64, after, first uint32) {
		b = append(le.AppendUint32(b, left), kind)
		b = le.AppendUint32(b, 0)
		b = le.AppendUint64(b, size)
		b = append(le.AppendUint32(b, 0), 0, 0)
		for _, n := range []uint32{after, first, 0, 0} {
			b = le.AppendUint32(b, n)
		}
	}
	node(0, 3, 100, 1, 0)
	node(1, 3, 50, 0, 0)
	return le.AppendUint32(b, 1)
}

// TestGOALBinary reads a binary file, and checks that corrupt files are rejected without
// a crash.
func TestGOALBinary(t *testing.T) {
	data := goalBinary()
	f := File{"a.bin", data}
	if d := Detect(f); d == nil || d.Name != "goal" {
		t.Fatalf("is detected as %v", d)
	}
	j, err := Read(ByName("goal"), []File{f}, &ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if got := computeSpan(t, j); got != 150*engine.Nanosecond {
		t.Errorf("computes %v", got)
	}
	twice := slices.Clone(data[:8+6]) // a second rank with the block of the first
	twice[8] = 2
	for range 2 {
		twice = binary.LittleEndian.AppendUint64(twice, 38)
		twice = binary.LittleEndian.AppendUint64(twice, uint64(len(data)+16-8))
	}
	twice = append(twice, data[8+6+16:]...)
	if _, err := Read(ByName("goal"), []File{{"a", twice}}, &ReadOptions{}); err == nil || !strings.Contains(err.Error(), "which overlaps other blocks") {
		t.Errorf("ranks that share bytes: %v", err)
	}
	for i := range data { // truncated, or with one byte changed
		if _, err := Read(ByName("goal"), []File{{"a", data[:i]}}, &ReadOptions{}); err == nil {
			t.Errorf("%d of %d bytes are read", i, len(data))
		}
		damaged := slices.Clone(data)
		damaged[i] ^= 0x81
		Read(ByName("goal"), []File{{"a", damaged}}, &ReadOptions{})
	}
}

const cmText = "Nodes 4\nConnections 4\nTriggers 2\n0->1 id 1 start 1000 size 100 send_done_trigger 1\n1->2 id 2 trigger 1 size 200 recv_done_trigger 2\r\n\n3->2 id 3 start 0 size 5 send_done_trigger 2\n2->0 id 4 trigger 2 size 7\ntrigger id 1 oneshot\ntrigger id 2 barrier count 2\n"

// TestCM compares a connection matrix with flows and dependencies determined by hand, and
// checks the errors of other matrices.
func TestCM(t *testing.T) {
	j, err := readText(t, cmText, Keys{})
	if err != nil {
		t.Fatal(err)
	}
	b, err := j.Build(BuildOptions{})
	if err != nil {
		t.Fatal(err)
	}
	// Each flow starts when its predecessors have ended: count levels of transfers.
	level, maxLevel := make([]int, len(b.Graph.Tasks)), 0
	for _, id := range b.Graph.Order() {
		for _, e := range b.Graph.In(id) {
			level[id] = max(level[id], level[e.From])
		}
		if b.Graph.Tasks[id].Kind == engine.Transfer {
			level[id]++
		}
		maxLevel = max(maxLevel, level[id])
	}
	if bytes, n := j.Wire(); maxLevel != 3 || bytes != 312 || n != 4+3 {
		t.Errorf("%d flows in a row, %g B, %g messages", maxLevel, bytes, n)
	}
	for text, want := range map[string]string{
		strings.Replace(cmText, "size 7", "size 0", 1):                                         "endless",
		strings.Replace(cmText, "size 7", "", 1):                                               "without a size",
		strings.Replace(cmText, "Connections 4", "Connections 5", 1):                           "says Connections 5, and there are 4",
		strings.Replace(cmText, "count 2", "count 3", 1):                                       "is fired 2 times",
		strings.Replace(cmText, "trigger 2 size 7", "trigger 2 size 7 recv_done_trigger 2", 1): "",
		strings.Replace(cmText, "trigger 1 size 200", "trigger 2 size 200", 1):                 "never starts",
		strings.Replace(cmText, "trigger 2 size 7", "trigger 9 size 7", 1):                     "waits for trigger 9",
		strings.Replace(cmText, "3->2", "3->4", 1):                                             "a node is",
		strings.Replace(cmText, "size 7", "size 7 size 8", 1):                                  `"size" occurs twice`,
		strings.Replace(cmText, "start 0", "begin 0", 1):                                       `a key "begin"`,
		strings.Replace(cmText, "Triggers 2", "failure switch_type TOR switch_id 1", 1):        "failures name switches",
		strings.Replace(cmText, "id 2 trigger 1 size 200", "id 2 trigger 1 size 1e99", 1):      "size is",
	} {
		_, err := readText(t, text, Keys{})
		if want == "" {
			if err != nil {
				t.Errorf("%.80q: %v", text, err)
			}
			continue
		}
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "; want ") {
			t.Errorf("%.80q: %v, want %s", text, err, want)
		}
	}
}

// TestCMTriggers compares random flows and triggers on separate links with a reference
// simulation, in which ending flows fire triggers: the time at which the last flow ends,
// and the files in which some flow never starts.
func TestCMTriggers(t *testing.T) {
	ran, refused := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 7).Draw(t, "flows")
		type trigger struct {
			kind         string
			count, fired int
			waits        []int
		}
		triggers := make([]trigger, rapid.IntRange(1, 3).Draw(t, "triggers"))
		for i := range triggers {
			triggers[i] = trigger{kind: rapid.SampledFrom([]string{"oneshot", "multishot", "barrier"}).Draw(t, "kind"), count: rapid.IntRange(1, 3).Draw(t, "count")}
		}
		some := func(what string) int { return max(0, rapid.IntRange(-2, len(triggers)).Draw(t, what)) }
		var text strings.Builder
		fmt.Fprintf(&text, "Nodes 5\nConnections %d\nTriggers %d\n", n, len(triggers))
		took, ends, start := make([]int64, n), make([]int64, n), make([]int64, n)
		fires := make([][2]int, n)
		for i := range n {
			took[i] = int64(rapid.IntRange(1, 1<<40).Draw(t, "bytes"))
			ends[i] = -1
			k, src := some("waits"), rapid.IntRange(0, 4).Draw(t, "source")
			fmt.Fprintf(&text, "%d->%d id %d size %d", src, (src+rapid.IntRange(1, 4).Draw(t, "far"))%5, i+1, took[i])
			if k > 0 {
				triggers[k-1].waits = append(triggers[k-1].waits, i)
				start[i] = -1
				fmt.Fprintf(&text, " trigger %d", k)
			} else {
				start[i] = int64(rapid.IntRange(0, 1<<40).Draw(t, "start"))
				fmt.Fprintf(&text, " start %d", start[i])
			}
			for d, name := range []string{"send_done_trigger", "recv_done_trigger"} {
				if fires[i][d] = some(name); fires[i][d] > 0 {
					fmt.Fprintf(&text, " %s %d", name, fires[i][d])
				}
			}
			fmt.Fprintln(&text)
		}
		for i, k := range triggers {
			fmt.Fprintf(&text, "trigger id %d %s", i+1, k.kind)
			if k.kind == "barrier" {
				fmt.Fprintf(&text, " count %d", k.count)
			}
			fmt.Fprintln(&text)
		}
		last := int64(0)
		for {
			first := -1
			for i := range n {
				if start[i] >= 0 && ends[i] < 0 && (first < 0 || start[i]+took[i] < start[first]+took[first]) {
					first = i
				}
			}
			if first < 0 {
				break
			}
			now := start[first] + took[first]
			ends[first], last = now, max(last, now)
			for _, k := range fires[first] {
				if k == 0 {
					continue
				}
				g := &triggers[k-1]
				g.fired++
				switch {
				case g.kind == "multishot" && g.fired <= len(g.waits):
					start[g.waits[g.fired-1]] = now
				case g.kind == "oneshot" && g.fired == 1, g.kind == "barrier" && g.fired == g.count:
					for _, w := range g.waits {
						start[w] = now
					}
				}
			}
		}
		f := File{"a.cm", []byte(text.String())}
		j, err := Read(ByName("cm"), []File{f}, &ReadOptions{})
		if slices.Contains(start, -1) {
			if refused++; err == nil || !strings.Contains(err.Error(), "never starts") {
				t.Fatalf("%v, want a flow that never starts in\n%s", err, text.String())
			}
			return
		}
		if err != nil {
			t.Fatalf("%v in\n%s", err, text.String())
		}
		ran++
		b, err := j.Build(BuildOptions{})
		if err != nil {
			t.Fatalf("%v in\n%s", err, text.String())
		}

		// One byte per tick.
		routes := &engine.Routes{Start: make([]int32, len(b.Graph.Tasks)+1), FlowCap: slices.Repeat([]float64{8e12}, len(b.Graph.Tasks))}
		trace, err := flow.Run(t.Context(), b.Graph, &engine.Network{Nodes: 5}, routes, flow.Options{})
		if err != nil || int64(trace.Makespan) != last {
			t.Fatalf("%v, want an end at %d in\n%s", err, last, text.String())
		}
	})
	if ran == 0 || refused == 0 {
		t.Errorf("%d files ran and %d were refused, want some of each", ran, refused)
	}
}

// TestSamples reads sample files of other projects, if SIM_SAMPLES names their directory,
// and compares the result with the table in testdata/samples.md.
func TestSamples(t *testing.T) {
	root := os.Getenv("SIM_SAMPLES")
	if root == "" {
		t.Skip("SIM_SAMPLES names no folder of samples")
	}
	table, err := os.ReadFile("testdata/samples.md")
	if err != nil {
		t.Fatal(err)
	}
	sets, keys := map[string][]File{}, []string{}
	for _, pattern := range []string{
		"aicb/workload/*/*/*", "astra-sim/examples/*/*/*/*.et", "astra-sim/examples/*/*/*/*/*.et", "chakra/extracted/*", "chakra/tests/data/*", "htsim/sim/*/*/*.cm",
		"loggopsim/*.bin", "loggopsim/src/*/*", "spcl-htsim/*.goal", "stg/*.et", "uet-htsim/*.cm",
	} {
		names, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			data, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			f, err := Unpack(filepath.Base(name), data)
			if err != nil {
				t.Fatal(err)
			}

			// A single file.
			if at := bytes.Index(f.Data, []byte("{\n")); strings.HasSuffix(name, ".tgz") {
				f.Data = bytes.TrimRight(f.Data[at:], "\x00")
			}
			key := strings.TrimPrefix(name, root+"/")
			if strings.HasSuffix(name, ".et") { // one file per rank
				key = strings.TrimRight(strings.TrimSuffix(key, ".et"), "0123456789") + "*.et"
			}
			if sets[key] == nil {
				keys = append(keys, key)
			}
			sets[key] = append(sets[key], f)
		}
	}
	if len(keys) == 0 {
		t.Fatalf("%s has no samples", root)
	}
	slices.Sort(keys)
	for _, k := range keys {
		files := sets[k]
		slices.SortFunc(files, func(a, b File) int { return (len(a.Name)-len(b.Name))*1000 + strings.Compare(a.Name, b.Name) })
		h := &ReadOptions{Keys: Keys{RankOrder: "tp-dp-pp", PeakTFLOPS: 100}}
		if strings.Contains(k, "/simAI/") { // which do not contain the number of ranks
			h.GPUs = 128
		}
		if groups, err := os.ReadFile(filepath.Join(root, strings.Replace(k, ".*.et", ".json", 1))); err == nil && strings.Contains(k, "*") {
			h.GroupFile = File{"groups", groups}
		}
		f := Detect(files[0])
		if f == nil {
			t.Errorf("%s: is detected as nothing", k)
			continue
		}
		row := fmt.Sprintf("| `%s` | %s |", k, f.Name)
		j, err := Read(f, files, h)
		if err == nil {
			_, err = j.Build(BuildOptions{Expand: ExpandNeighbours})
		}
		if err != nil {
			row += fmt.Sprintf(" refused: %s |", strings.ReplaceAll(err.Error(), "|", ""))
		} else {
			wire, _ := j.Wire()
			n := 0
			j.each(func(_, times int, ops []Op) { n += times * len(ops) })
			row += fmt.Sprintf(" %d ranks, %d operations, %s, %s |", j.Ranks, n, Size(wire), units.ShortTime(j.Compute()))
		}
		if t.Log(row); !bytes.Contains(table, []byte(row+"\n")) {
			t.Errorf("testdata/samples.md lacks the row %s", row)
		}
	}
}

func FuzzChakra(f *testing.F) {
	f.Add(chTrace(0).Data, chTrace(1).Data, "chained")
	f.Add([]byte(`{"workload_graph": [{"Id": 1, "NodeType": 4, "runtime": 7}]}`), []byte(`{"workload_graph": []}`), "one-at-a-time")
	f.Fuzz(func(t *testing.T, a, b []byte, streams string) {
		checkInput(t, []File{{"a", a}, {"b", b}}, "chakra", &ReadOptions{Keys: Keys{Streams: streams, PeakTFLOPS: 1}})
	})
}

func FuzzGOAL(f *testing.F) {
	f.Add([]byte(goalText))
	f.Add(goalBinary())
	f.Fuzz(func(t *testing.T, data []byte) { checkInput(t, []File{{"a", data}}, "goal", &ReadOptions{}) })
}

func FuzzCM(f *testing.F) {
	f.Add([]byte(cmText))
	f.Fuzz(func(t *testing.T, data []byte) { checkInput(t, []File{{"a", data}}, "cm", &ReadOptions{}) })
}
