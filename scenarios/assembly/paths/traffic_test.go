package paths

import (
	"testing"

	"pgregory.net/rapid"

	"sim/engine"
	"sim/engine/units"
	"sim/workloads/collective"
)

// TestSourcesSendMessages checks that sources of every kind send the bytes of each
// flow's message, and one header per packet. The last packet of a message carries
// the remaining bytes. Messages have one size, or listed sizes.
func TestSourcesSendMessages(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		nodes := rapid.IntRange(2, 5).Draw(t, "nodes")
		payload := rapid.Int64Range(1, 50).Draw(t, "payload")
		header := rapid.Int64Range(0, 5).Draw(t, "header")
		message := rapid.Int64Range(1, 300).Draw(t, "message")
		source := rapid.SampledFrom([]string{"greedy", "window", "paced", "on-off"}).Draw(t, "source")
		traffic := &collective.Traffic{Nodes: nodes, Message: message}
		for src := range nodes {
			for dst := range nodes {
				if src != dst {
					traffic.Flows = append(traffic.Flows,
						engine.Flow{Src: int32(src), Dst: int32(dst)})
				}
			}
		}

		if source != "on-off" && rapid.Bool().Draw(t, "listed") {
			for range traffic.Flows {
				traffic.Bytes = append(traffic.Bytes,
					rapid.Int64Range(1, message).Draw(t, "bytes"))
			}
		}

		s := &Scenario{}
		w := &s.Workload
		w.Packet, w.Payload = units.Bytes(payload+header), units.Bytes(payload)
		w.Message = units.Bytes(message)
		w.Source, w.Injection, w.Window, w.Pace = source, "round-robin", 2, 1
		w.Rate, w.Duration = 8e9, engine.Second
		s.Fabric.LinkRate = 8e9

		r := &routingSystem{s: s, load: &trafficLoad{
			flows: traffic.Flows,
			parts: []trafficPart{{end: int32(len(traffic.Flows)), traffic: traffic}},
		}}
		sources, err := r.sources(3)
		if err != nil {
			t.Fatal(err)
		}

		// Add up the bytes of the packets of each flow.
		sent := make([]int64, len(traffic.Flows))
		for _, one := range sources {
			for f := one.First; f < one.End; f++ {
				sent[f] += (one.Count-1)*int64(one.Bytes) + int64(one.Last)
				if int64(one.Last) <= header || one.Last > one.Bytes {
					t.Fatalf("flow %d ends with a packet of %d B; want more than the header of %d B and at most %d B", f, one.Last, header, one.Bytes)
				}
			}
		}

		// A flow sends its message, and a header with each packet.
		for f, bytes := range sent {
			size := traffic.Size(f)
			if want := size + (size+payload-1)/payload*header; bytes != want {
				t.Fatalf("flow %d of %d B sends %d B in packets of %d B with headers of %d B, want %d B", f, size, bytes, payload, header, want)
			}
		}
	})
}
