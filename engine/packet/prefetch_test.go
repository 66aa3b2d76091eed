package packet_test

import (
	"fmt"
	"slices"
	"testing"

	"sim/engine"
	"sim/engine/packet"
)

// TestUnusedLinks: adding links that no path uses does not change a result. The number of
// added links makes the loops prefetch. The test runs 40 random cases with credits, in
// the event loop and in lpSim, and 40 cases with scheduled links, each also with queued
// links.
func TestUnusedLinks(t *testing.T) {
	compare := func(c workCase, run func(n *engine.Network) (*packet.Stats, error)) {
		t.Helper()
		want, failed := run(c.n)
		large := *c.n
		large.Links = append(slices.Clone(c.n.Links), slices.Repeat(c.n.Links[:1], 8192)...)
		got, err := run(&large)
		if (err == nil) != (failed == nil) {
			t.Fatalf("%v, want %v", err, failed)
		}
		if err != nil {
			return
		}
		if !slices.Equal(got.Links[:len(want.Links)], want.Links) || got.End != want.End || fmt.Sprint(got.Delay) != fmt.Sprint(want.Delay) {
			t.Fatalf("%+v, want %+v", got.Links[:len(want.Links)], want.Links)
		}
	}
	for seed := range 40 {
		c := creditWork.Example(seed)
		c.o.SampleEvery = 0 // samples would include the added links
		for _, o := range []packet.Options{packet.LPsAfter(c.o, -1), packet.LPsAfter(c.o, 1)} {
			compare(c, func(n *engine.Network) (*packet.Stats, error) { return packet.Run(n, c.w, o) })
		}
		c = componentWork.Example(seed)
		for _, o := range []packet.Options{c.o, packet.ForceQueues(c.o)} {
			compare(c, func(n *engine.Network) (*packet.Stats, error) {
				s, _, err := packet.RunLog(n, c.w, o)
				return s, err
			})
		}
	}
}
