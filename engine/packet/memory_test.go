package packet

import (
	"testing"

	"sim/engine"
)

// TestInitialMemory checks the memory that a source needs for each further flow. A greedy source has
// injectors per port and not per flow. A window holds at most the packets of its flow.
func TestInitialMemory(t *testing.T) {
	n := &engine.Network{Nodes: 2, Links: []engine.Link{{From: 0, To: 1, Rate: 8e9}}}
	const flows = 1000
	for name, c := range map[string]struct {
		source   Source
		min, max int64 // bytes per further flow
	}{
		"greedy":               {Source{Process: Greedy, Count: 9}, 4, 8},
		"all packets at once":  {Source{Count: 9}, 9 * PacketBytes, 9 * PacketBytes},
		"one packet at a time": {Source{Count: 9, Every: 1000}, PacketBytes, PacketBytes},
		"a small window":       {Source{Process: Window, Window: 3, Count: 9}, 3 * PacketBytes, 3*PacketBytes + 32},
		"a large window":       {Source{Process: Window, Window: 30, Count: 9}, 9 * PacketBytes, 9*PacketBytes + 32},
	} {
		memory := func(flows int32) int64 {
			c.source.End = flows
			return initialMemory(n, &Work{Sources: []Source{c.source}}, &Options{})
		}
		if got := (memory(2*flows) - memory(flows)) / flows; got < c.min || got > c.max {
			t.Errorf("%s: got %d B per further flow, want %d to %d", name, got, c.min, c.max)
		}
		if one := memory(1) - memory(0); one < c.min || one < 64 && c.source.Process == Greedy {
			t.Errorf("%s: got %d B for one flow, want an injector or %d", name, one, c.min)
		}
	}
}
