package packet_test

import (
	"errors"
	"slices"
	"testing"

	"sim/engine"
	"sim/engine/packet"
)

// TestStopWhileQueuesDrain: Options.Stop is called, and ends the run, even if no packet
// is injected any more and packets are only forwarded.
func TestStopWhileQueuesDrain(t *testing.T) {
	const links, packets = 40, 20_000
	n := &engine.Network{Nodes: links + 1}
	w := &engine.Paths{Degree: 1, Link: make([]int32, links+1)}
	steps := make([]engine.Step, links)
	for i := range int32(links) {
		n.Links = append(n.Links, engine.Link{From: i, To: i + 1, Rate: 8e9, Latency: engine.Nanosecond})
		w.Link[i], steps[i] = i, engine.MakeStep(0, 0)
	}
	w.Link[links] = -1
	w.Add(steps...)
	work := &packet.Work{
		Flows: []engine.Flow{{Src: 0, Dst: links}}, Paths: w,
		Sources: []packet.Source{{First: 0, End: 1, Bytes: 1000, Count: packets}}, // simultaneously
	}
	for name, control := range map[string]packet.Control{"scheduled": packet.DropTail, "queued": packet.Credit} {
		calls := 0
		o := packet.Options{Control: control, Stop: func() bool { calls++; return false }}
		if _, err := packet.Run(n, work, o); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if calls < 10 {
			t.Errorf("%s: asked %d times in %d hops", name, calls, links*packets)
		}
		remaining := calls - 1
		var shares []float64
		o.Progress = func(share float64) { shares = append(shares, share) }
		if _, err := packet.Run(n, work, o); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if last := shares[len(shares)-1]; !slices.IsSorted(shares) || last < 0.8 || last > 1 {
			t.Errorf("%s: progress %v", name, shares)
		}
		o.Stop = func() bool { remaining--; return remaining <= 0 }
		if _, err := packet.Run(n, work, o); !errors.Is(err, packet.ErrStopped) {
			t.Errorf("%s: %v, want %v", name, err, packet.ErrStopped)
		}
	}
}
