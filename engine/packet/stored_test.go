package packet_test

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"runtime"
	"testing"

	"sim/engine"
	"sim/engine/packet"
)

// seededWork is a small ring with chords, of unequal rates and latencies, and sources of traffic on walks of up to four
// links. Links have buffers of that many bytes, 0 for the default.
func seededWork(rng *rand.Rand, buffer int64) (*engine.Network, *packet.Work) {
	nodes := 2 + rng.IntN(4)
	n := &engine.Network{Nodes: int32(nodes)}
	out := make([][]int32, nodes)
	link := func(a, b int) {
		out[a] = append(out[a], int32(len(n.Links)))
		n.Links = append(n.Links, engine.Link{
			From: int32(a), To: int32(b), Channels: 2, Rate: []float64{8e12, 4e12, 3e12}[rng.IntN(3)], Latency: engine.Time(1 + rng.IntN(4)), Buffer: buffer,
		})
	}
	for a := range nodes {
		link(a, (a+1)%nodes)
	}
	for range rng.IntN(4) {
		link(rng.IntN(nodes), rng.IntN(nodes))
	}
	w := &packet.Work{Paths: portsOf(n)}
	for range 2 + rng.IntN(5) {
		at := rng.Int32N(int32(nodes))
		f := engine.Flow{Src: at}
		var steps []engine.Step
		for k := range 1 + rng.IntN(4) {
			l := out[at][rng.IntN(len(out[at]))]
			steps = append(steps, stepOver(n, w.Paths, l, min(k/2, 1)))
			at = n.Links[l].To
		}
		f.Dst = at
		w.Paths.Add(steps...)
		w.Flows = append(w.Flows, f)
	}
	for range 1 + rng.IntN(3) {
		first := rng.IntN(len(w.Flows))
		w.Sources = append(w.Sources, packet.Source{
			First: int32(first), End: int32(first + 1 + rng.IntN(len(w.Flows)-first)), Bytes: int32(1 + rng.IntN(9)), Count: int64(1 + rng.IntN(30)),
			Start: engine.Time(rng.IntN(20)), Every: float64(rng.IntN(20)) / 4,
		})
	}
	return n, w
}

// TestStoredRuns: what becomes of every packet, and all statistics, of seeded work under each control and option are as
// stored, by the digest of each.
func TestStoredRuns(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Skip("digests are of amd64; other processors may round otherwise")
	}
	for _, c := range []struct {
		name   string
		buffer int64
		o      packet.Options
		want   uint64
	}{
		{"unbounded", 0, packet.Options{SampleEvery: 7}, 0xa01d1b53b22bbf66},
		{"drop-tail", 20, packet.Options{MeasureFrom: 10, MeasureUntil: 60}, 0xebee77d6167384e2},
		{"bit errors", 40, packet.Options{BitErrorRate: 0.004, Seed: 3}, 0xfdd13dc867b8490e},
		{"until", 0, packet.Options{Until: 45}, 0x723b8dd0f545fec0},
		{"credit", 18, packet.Options{Control: packet.Credit, Until: 4000}, 0xf59bbd2789c227a9},
		{"credit by default", 0, packet.Options{Control: packet.Credit, Until: 4000, SampleEvery: 11}, 0x35936a634ee98ed3},
		{"credit with errors", 30, packet.Options{Control: packet.Credit, Until: 4000, BitErrorRate: 0.002, Seed: 5}, 0x62d0323e58d879a2},
	} {
		rng := rand.New(rand.NewPCG(1, 151))
		digest := fnv.New64a()
		for i := range 150 {
			n, w := seededWork(rng, c.buffer)
			if c.o.Control == packet.DropTail && i%3 == 2 {
				n.Changes = []engine.Change{{At: 15, Link: 0}, {At: 40, Link: 0, Rate: 4e12}}
			}
			s, log, err := packet.RunLog(n, w, c.o)
			if err != nil {
				fmt.Fprintln(digest, "refused")
				continue
			}
			fmt.Fprintln(digest, log, s.Injected, s.Delivered, s.Dropped, s.DroppedBy[:packet.Trimmed], s.Bytes, s.Hops, s.Retries, s.End, s.MeasuredInjected, s.MeasuredDropped, s.MeasuredBytes)
			fmt.Fprintln(digest, s.Delay.MeanSeconds(), s.Delay.Min, s.Delay.Max, s.Links, s.Queues)
		}
		if got := digest.Sum64(); got != c.want {
			t.Errorf("%s: digest %#x, want %#x", c.name, got, c.want)
		}
	}
}
