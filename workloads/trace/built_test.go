package trace

import (
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
)

// writeBuilt writes all of a graph that was built.
func writeBuilt(w io.Writer, b *JobGraph) {
	g := b.Graph
	for i := range g.Tasks {
		k := &g.Tasks[i]
		fmt.Fprintln(w, g.Name(int32(i)), k.Kind, k.Src, k.Dst, k.Flows, k.Bytes, k.Duration, k.Priority)
		for _, e := range g.Out(int32(i)) {
			fmt.Fprintln(w, e.To, e.Lag)
		}
	}
	fmt.Fprintln(w, b.Rank, b.Op, b.SendOrder, g.Contention)
}

// drawGOAL draws a GOAL schedule of ranks that compute, send and receive, some from any rank or of any tag. A few
// messages lack an end.
func drawGOAL(rng *rand.Rand) string {
	ranks := 2 + rng.IntN(3)
	text := make([]string, ranks)
	for n := range 3 + rng.IntN(8) {
		src, dst, tag, bytes := rng.IntN(ranks), rng.IntN(ranks), rng.IntN(3), 1+rng.IntN(200_000)
		if src == dst {
			text[src] += fmt.Sprintf("t%d: calc %d\n", n, 1+rng.IntN(900))
			continue
		}
		from, of := fmt.Sprint(src), fmt.Sprint(" tag ", tag)
		if rng.IntN(4) == 0 {
			from = "-1"
		}
		if rng.IntN(5) == 0 {
			of = " tag -1"
		}
		cpu := ""
		if rng.IntN(3) == 0 {
			cpu = " cpu 1"
		}
		lacks := rng.IntN(30)
		if lacks != 0 {
			text[src] += fmt.Sprintf("t%d: send %db to %d tag %d%s\n", n, bytes, dst, tag, cpu)
		}
		if lacks != 1 {
			text[dst] += fmt.Sprintf("t%d: recv %db from %s%s\n", n, bytes, from, of)
		}
	}
	all := fmt.Sprintf("num_ranks %d\n", ranks)
	for r, lines := range text {
		labels := []string{}
		for line := range strings.Lines(lines) {
			label, _, _ := strings.Cut(line, ":")
			labels = append(labels, label)
		}
		for i := 1; i < len(labels); i++ {
			if rng.IntN(3) == 0 && labels[i] != labels[i-1] {
				lines += labels[i] + " requires " + labels[i-1] + "\n"
			}
		}
		all += fmt.Sprintf("rank %d {\n%s}\n", r, lines)
	}
	return all
}

// TestStoredBuilds: graphs and reports of the samples and of seeded GOAL schedules are as stored, or that they are
// refused, by the digest of each.
func TestStoredBuilds(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 91))
	var drawn []string
	for range 150 {
		drawn = append(drawn, drawGOAL(rng))
	}
	file := func(text string) []File { return []File{{"a", []byte(text)}} }
	for _, c := range []struct {
		name, format string
		files        [][]File
		h            ReadOptions
		want         uint64
	}{
		{"chakra", "chakra", [][]File{{chTrace(0), chTrace(1)}}, ReadOptions{Keys: Keys{PeakTFLOPS: 1, MemoryBandwidth: 1e9}}, 0x900162874e7ed133},
		{"chakra, one at a time", "chakra", [][]File{{chTrace(0), chTrace(1)}}, ReadOptions{Keys: Keys{Streams: "one-at-a-time", RankMap: []int{1, 0}}}, 0x70bc0f6306215255},
		{"goal", "goal", [][]File{file(goalText), {{"a", goalBinary()}}}, ReadOptions{}, 0xacdc85b3763bdccd},
		{"drawn", "goal", nil, ReadOptions{}, 0xa51dafc5d4d1c55a},
		{"cm", "cm", [][]File{file(cmText)}, ReadOptions{}, 0x766bfe6ef4e17a3a},
		{"aicb", "aicb", [][]File{file(aicbText)}, ReadOptions{}, 0x2c710dc24cd324d3},
		{"aicb with setup", "aicb", [][]File{file(aicbText)}, ReadOptions{Keys: Keys{Setup: true}}, 0xb32cd2e319cb1748},
		{"simai", "simai", [][]File{file(simText(2, 1, 1, 2, 1, 4)), file(simText(2, 2, 2, 3, 2, 8)), file(simText(1, 1, 4, 5, 1, 8))}, ReadOptions{IntraStageRate: 8e12}, 0xc6b019fe6b1caff0},
		{"simai, eager", "simai", [][]File{file(simText(2, 2, 2, 3, 2, 16))}, ReadOptions{Keys: Keys{RankOrder: "tp-pp-dp", Schedule: "eager-1f1b"}, IntraStageRate: 1e12}, 0x9546e910c51ab148},
		{"simai, zero bubble", "simai", [][]File{file(simText(2, 1, 3, 4, 2, 12))}, ReadOptions{Keys: Keys{Schedule: "zb-h1"}, IntraStageRate: 1e12}, 0xa12997f0550733f9},
	} {
		if c.name == "drawn" {
			for _, text := range drawn {
				c.files = append(c.files, file(text))
			}
		}
		digest := fnv.New64a()
		built := 0
		for _, files := range c.files {
			j, err := Read(ByName(c.format), files, &c.h)
			if err != nil {
				t.Fatalf("%s: %v of %s", c.name, err, files[0].Data)
			}
			if err := j.Report(digest); err != nil {
				t.Fatal(err)
			}
			var place []int32
			for r := range int32(j.Ranks) {
				place = append(place, 3*r+1)
			}
			for _, builder := range []BuildOptions{{}, {Expand: ExpandNeighbours, NodeOf: place}} {
				b, err := j.Build(builder)
				if err != nil {
					fmt.Fprintln(digest, "refused")
					continue
				}
				built++
				writeBuilt(digest, b)
			}
		}
		if built == 0 {
			t.Errorf("%s: no graph is built", c.name)
		}
		if got := digest.Sum64(); got != c.want {
			t.Errorf("%s: digest %#x, want %#x", c.name, got, c.want)
		}
	}
}

// TestMaxTasks checks that a graph with the maximum number of operations is built, including the
// tasks of expanded calls, and that a larger graph is rejected with both numbers.
func TestMaxTasks(t *testing.T) {
	for _, c := range []struct {
		format  string
		files   []File
		builder BuildOptions
		tasks   int
	}{
		{"goal", []File{{"a", []byte(goalText)}}, BuildOptions{}, 8}, // messages count at both ends
		{"chakra", []File{chTrace(0), chTrace(1)}, BuildOptions{}, 8},
		{"chakra", []File{chTrace(0), chTrace(1)}, BuildOptions{Count: func(GroupCall) (int, error) { return 5, nil }}, 13},
	} {
		j, err := Read(ByName(c.format), c.files, &ReadOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for _, limit := range []int{c.tasks - 1, c.tasks, c.tasks + 1, 0} {
			c.builder.MaxTasks = limit
			_, err := j.Build(c.builder)
			var large TooLargeError
			refused := errors.As(err, &large)
			if want := limit == c.tasks-1; refused != want || refused && large != (TooLargeError{c.tasks, limit}) || !refused && err != nil {
				t.Errorf("%s of %d tasks of at most %d: %v", c.format, c.tasks, limit, err)
			}
		}
	}
}

// TestAttributeTypes: a number of a node is read from whatever field of the schema's union holds it, and from no other.
func TestAttributeTypes(t *testing.T) {
	varint := func(n uint64) func(to []byte, num protowire.Number) []byte {
		return func(to []byte, num protowire.Number) []byte {
			return protowire.AppendVarint(protowire.AppendTag(to, num, protowire.VarintType), n)
		}
	}
	double := func(to []byte, num protowire.Number) []byte {
		return protowire.AppendFixed64(protowire.AppendTag(to, num, protowire.Fixed64Type), math.Float64bits(-7))
	}
	float := func(to []byte, num protowire.Number) []byte {
		return protowire.AppendFixed32(protowire.AppendTag(to, num, protowire.Fixed32Type), math.Float32bits(-7))
	}
	plain, zigzag := varint(7), varint(protowire.EncodeZigZag(-7))
	for num, c := range map[protowire.Number]struct {
		encode func(to []byte, num protowire.Number) []byte
		want   int64 // 0 of a field that is not read
	}{
		2: {plain, 0}, 3: {double, -7}, 4: {plain, 0}, 5: {float, -7}, 6: {plain, 0}, 7: {plain, 7}, 8: {plain, 0}, 9: {plain, 7}, 10: {plain, 0},
		11: {plain, 7}, 12: {plain, 0}, 13: {plain, 7}, 14: {plain, 0}, 15: {zigzag, -7}, 16: {plain, 0}, 17: {zigzag, -7}, 18: {plain, 0}, 19: {plain, 7},
		20: {plain, 0}, 21: {plain, 7}, 22: {plain, 0}, 23: {varint(1<<32 - 7), -7}, 24: {plain, 0}, 25: {plain, 7}, 26: {plain, 0}, 27: {plain, 7}, 30: {plain, 0},
	} {
		a := protowire.AppendString(protowire.AppendTag(nil, 1, protowire.BytesType), "comm_size")
		var n chNode
		if err := n.attribute(c.encode(a, num)); err != nil {
			t.Errorf("field %d: %v", num, err)
		}
		if got, ok := n.ints["comm_size"]; got != c.want || ok != (c.want != 0) {
			t.Errorf("field %d is read as %d (%v), want %d", num, got, ok, c.want)
		}
	}
}
