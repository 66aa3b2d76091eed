package packet_test

import (
	"errors"
	"strings"
	"testing"

	"sim/engine"
	"sim/engine/packet"
)

// pairNetwork returns two nodes with a link in each direction, and a flow over the first
// link.
func pairNetwork() (*engine.Network, *packet.Work) {
	n := &engine.Network{Nodes: 2, Links: []engine.Link{{From: 0, To: 1, Rate: 1e9}, {From: 1, To: 0, Rate: 1e9}}}
	return n, pathsOver(n, []packet.Source{{End: 1, Bytes: 100, Count: 1}}, []int32{0})
}

// TestInvalidWork: work that cannot be simulated is rejected with a one-line error that
// names the accepted values.
func TestInvalidWork(t *testing.T) {
	for want, change := range map[string]func(n *engine.Network, w *packet.Work, o *packet.Options){
		"there are no paths": func(_ *engine.Network, w *packet.Work, _ *packet.Options) { w.Paths = nil },
		"ends at 1":          func(_ *engine.Network, w *packet.Work, _ *packet.Options) { w.Flows[0].Dst = 0 },
		"takes channel 1 of link 0, which has 1": func(_ *engine.Network, w *packet.Work, _ *packet.Options) {
			w.Paths.Step[0] = engine.MakeStep(0, 1)
		},
		"cannot take port 0 at node 0":                        func(n *engine.Network, _ *packet.Work, _ *packet.Options) { n.Links[0].Rate = 0 },
		"1 groups of links":                                   func(n *engine.Network, _ *packet.Work, _ *packet.Options) { n.Groups = []engine.Group{{Rate: 1}} },
		"has rate -1":                                         func(n *engine.Network, _ *packet.Work, _ *packet.Options) { n.Links[1].Rate = -1 },
		"want at least 8000 b/s":                              func(n *engine.Network, _ *packet.Work, _ *packet.Options) { n.Links[0].Rate = 7999 },
		"link 1 has a latency of -1e-12s; want 0 to":          func(n *engine.Network, _ *packet.Work, _ *packet.Options) { n.Links[1].Latency = -1 },
		"a buffer of -1 B":                                    func(n *engine.Network, _ *packet.Work, _ *packet.Options) { n.Links[1].Buffer = -1 },
		"leads from 0 to 2 of 2 nodes":                        func(n *engine.Network, _ *packet.Work, _ *packet.Options) { n.Links[0].To = 2 },
		"changes to 5 b/s":                                    func(n *engine.Network, _ *packet.Work, _ *packet.Options) { n.Changes = []engine.Change{{Rate: 5}} },
		"sends packets of 0 B; want 1 to":                     func(_ *engine.Network, w *packet.Work, _ *packet.Options) { w.Sources[0].Bytes = 0 },
		"a last packet of 101 B per flow; want at most 100 B": func(_ *engine.Network, w *packet.Work, _ *packet.Options) { w.Sources[0].Last = 101 },
		"but no count of packets per flow; want 0 B": func(_ *engine.Network, w *packet.Work, _ *packet.Options) {
			w.Sources[0].Last, w.Sources[0].Order = 1, packet.Uniform
		},
		"source 0 (poisson, together) of flows 0..0 sends every 0 ticks": func(_ *engine.Network, w *packet.Work, _ *packet.Options) { w.Sources[0].Process = packet.Poisson },
		"want round-robin":              func(_ *engine.Network, w *packet.Work, _ *packet.Options) { w.Sources[0].Process = packet.Greedy },
		"has a window of 0 packets":     func(_ *engine.Network, w *packet.Work, _ *packet.Options) { w.Sources[0].Process = packet.Window },
		"has a window of 3 packets and": func(_ *engine.Network, w *packet.Work, _ *packet.Options) { w.Sources[0].Window = 3 },
		"starts at offset 1":            func(_ *engine.Network, w *packet.Work, _ *packet.Options) { w.Sources[0].Offset = 1 },
		"want a single source for a flow with a window": func(_ *engine.Network, w *packet.Work, _ *packet.Options) {
			w.Sources = append(w.Sources, packet.Source{End: 1, Process: packet.Window, Window: 1, Bytes: 1, Count: 1})
		},
		"source 0 sends nothing": func(_ *engine.Network, w *packet.Work, _ *packet.Options) {
			w.Sources[0].Count, w.Sources[0].Order, w.Sources[0].Every = 0, packet.Uniform, 1
		},
		"has a buffer of 99 B per channel, but packets have up to 100 B": func(n *engine.Network, _ *packet.Work, o *packet.Options) {
			n.Links[1].Buffer, o.Control = 99, packet.Credit
		},
		"fails with probability 1; want": func(_ *engine.Network, _ *packet.Work, o *packet.Options) { o.BitErrorRate = 0.01 },
		"an end after the start":         func(_ *engine.Network, _ *packet.Work, o *packet.Options) { o.MeasureFrom, o.MeasureUntil = 2, 1 },
		"EndMeasured requires an end":    func(_ *engine.Network, _ *packet.Work, o *packet.Options) { o.EndMeasured = true },
		"but no tasks":                   func(_ *engine.Network, _ *packet.Work, o *packet.Options) { o.TaskRank = []int32{1} },
		"Rewire[0] is at": func(_ *engine.Network, _ *packet.Work, o *packet.Options) {
			o.Rewire = []packet.Rewire{{}}
		},
		"path 0 has a share of -1": func(_ *engine.Network, w *packet.Work, _ *packet.Options) {
			w.Paths.First, w.Paths.Share = []int32{0, 1}, []float64{-1}
		},
		"the run needs 4": func(_ *engine.Network, w *packet.Work, o *packet.Options) {
			w.Sources[0].Count, o.MaxBytes = 1e9/8, 1e9
		},
		"B of memory, and samples": func(_ *engine.Network, w *packet.Work, o *packet.Options) {
			w.Sources[0].Count, w.Sources[0].Every, o.MaxBytes = 1e9, 1, 10e6 // one packet per tick; the link needs 800,000 ticks per packet
		},
	} {
		n, w := pairNetwork()
		o := packet.Options{}
		change(n, w, &o)
		if _, err := packet.Run(n, w, o); !errors.Is(err, packet.ErrWork) || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%v, want %s", err, want)
		}
	}
	n, w := pairNetwork()
	if _, err := packet.Run(n, w, packet.Options{}); err != nil {
		t.Error(err)
	}
	if _, err := packet.Run(n, &packet.Work{Flows: w.Flows}, packet.Options{}); !errors.Is(err, packet.ErrWork) || !strings.Contains(err.Error(), "no paths") {
		t.Error(err)
	}
}
