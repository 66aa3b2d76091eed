package packet_test

import (
	"errors"
	"reflect"
	"testing"

	"pgregory.net/rapid"

	"sim/engine"
	"sim/engine/packet"
)

// transport returns a transport with the defaults of scenarios.
func transport(kind string) packet.Transport {
	return packet.Transport{
		Kind: kind, Header: 64, AckBytes: 64, Entropies: 64, MarkShare: 0.2, BufferShare: 0.125,
		DCTCP: packet.DCTCP{Gain: 1. / 16, Alpha: 1},
		DCQCN: packet.DCQCN{
			Gain: 1. / 256, AlphaPeriod: engine.Microsecond, CutPeriod: 4 * engine.Microsecond,
			TimerPeriod: 300 * engine.Microsecond, Fast: 1, MinRate: 1e8,
		},
		NSCC: packet.NSCC{MaxDecay: 0.8},
		RCCC: packet.RCCC{Pull: 4, Share: 0.99},
		HPCC: packet.HPCC{Use: 0.95, MaxStages: 5, Senders: 100},
	}
}

var transportKinds = []string{"window", "dctcp", "dcqcn", "nscc", "rccc", "hpcc"}

// line returns a chain of nodes with links of 100 Gb/s and 1 us in both directions.
func line(nodes int32) *engine.Network {
	n := &engine.Network{Nodes: nodes}
	for a := range nodes - 1 {
		for _, l := range [][2]int32{{a, a + 1}, {a + 1, a}} {
			n.Links = append(n.Links, engine.Link{From: l[0], To: l[1], Rate: 100e9, Latency: engine.Microsecond})
		}
	}
	return n
}

// messages returns a graph of messages that start together.
func messages(tb rapid.TB, list ...engine.Task) (*engine.Graph, []engine.Flow) {
	g := &engine.Graph{}
	var flows []engine.Flow
	for _, t := range list {
		t.Kind, t.Flows = engine.Transfer, 1
		g.AddTask(t)
		flows = append(flows, engine.Flow{Src: t.Src, Dst: t.Dst})
	}
	if err := g.Freeze(); err != nil {
		tb.Fatal(err)
	}
	return g, flows
}

// TestTransportAlone compares the time of a message alone with its closed form: all bytes at the
// rate of the links, and the last packet again on each further link.
func TestTransportAlone(t *testing.T) {
	const packetBytes, header, hops = 4160, 64, 3
	n := line(hops + 1)
	for _, kind := range transportKinds {
		for _, acks := range []string{"express", "carried"} {
			for _, bytes := range []int64{1, 4096, 4097, 64_000, 1_000_000} {
				o := transport(kind)
				o.Acks = acks
				o.HPCC.Use = 1 // a lower target slows a single sender
				g, flows := messages(t, engine.Task{Dst: hops, Bytes: bytes})
				trace, s, err := packet.RunGraph(g, n, flows, spread(n), packetBytes, packet.Options{Transport: &o})
				if err != nil {
					t.Fatal(kind, err)
				}
				perByte := 80 * engine.Picosecond
				count := (bytes + 4095) / 4096
				last := engine.Time(bytes - (count-1)*4096 + header)
				want := engine.Time(bytes+count*header)*perByte + hops*engine.Microsecond
				if count == 1 {
					want += (hops - 1) * last * perByte
				} else { // a short last packet waits for the full one before it
					want += (hops - 1) * packetBytes * perByte
				}
				// The window of DCTCP begins with ten packets, less than the bandwidth-delay product.
				if slack := trace.Makespan - want; slack != 0 && (kind != "dctcp" || count <= 10 || slack < 0) && !(kind == "hpcc" && slack > 0 && slack < want/10) {
					t.Errorf("%s, %s: %d B take %v, want %v", kind, acks, bytes, trace.Makespan, want)
				}
				if s.Transport.Resent > 0 {
					t.Errorf("%s, %s: %d packets sent again", kind, acks, s.Transport.Resent)
				}
			}
		}
	}
}

// TestTransportDelivers draws networks that lose packets for all reasons that transports handle.
// Every message arrives, packets are conserved (checked by RunGraph), and a second run is equal.
func TestTransportDelivers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := fatTree(4)
		o := transport(rapid.SampledFrom(transportKinds).Draw(t, "kind"))
		o.Balance = rapid.SampledFrom([]string{"flow", "spray", "reps", "adaptive"}).Draw(t, "balance")
		o.Overflow = rapid.SampledFrom([]string{"drop", "trim", "pause"}).Draw(t, "overflow")
		o.Acks = rapid.SampledFrom([]string{"express", "carried"}).Draw(t, "acks")
		o.Recovery = rapid.SampledFrom([]string{"auto", "selective", "go-back-n"}).Draw(t, "recovery")
		if o.Kind == "rccc" {
			o.Recovery = "selective"
		}
		options := packet.Options{Transport: &o, Seed: rapid.Uint64().Draw(t, "seed")}
		if o.Overflow != "pause" {
			buffer := rapid.Int64Range(2, 40).Draw(t, "queue") * 1064
			for i := range n.Links {
				n.Links[i].Buffer = buffer
			}
		} else if rapid.Bool().Draw(t, "shared") {
			o.SharedBuffer = 200_000
		}
		hasErrors := rapid.Bool().Draw(t, "errors")
		if hasErrors {
			options.BitErrorRate = 1e-6
		}
		if rapid.Bool().Draw(t, "failure") {
			link := rapid.Int32Range(0, int32(len(n.Links)-1)).Draw(t, "link")
			n.Changes = []engine.Change{
				{At: 3 * engine.Microsecond, Link: link}, {At: 300 * engine.Microsecond, Link: link, Rate: 100e9},
			}
		}
		var list []engine.Task
		for range rapid.IntRange(1, 20).Draw(t, "messages") {
			list = append(list, engine.Task{
				Src: rapid.Int32Range(0, 15).Draw(t, "from"), Dst: rapid.Int32Range(0, 3).Draw(t, "to"),
				Bytes: rapid.Int64Range(1, 60_000).Draw(t, "bytes"),
			})
		}
		g, flows := messages(t, list...)
		run := func() (*engine.Trace, *packet.Stats) {
			trace, s, err := packet.RunGraph(g, n, flows, spread(n), 1064, options)
			if err != nil {
				t.Fatalf("%+v: %v", o, err)
			}
			return trace, s
		}
		trace, s := run()
		if o.Overflow == "pause" && s.DroppedBy[packet.QueueFull] > 0 {
			t.Fatalf("%d packets lost although switches pause", s.DroppedBy[packet.QueueFull])
		}
		for i := range list {
			if ideal := s.Transport.Messages[i].Ideal; trace.End[i]-trace.Start[i] < ideal-1 {
				t.Fatalf("message %d takes %v, alone %v", i, trace.End[i]-trace.Start[i], ideal)
			}
		}
		if again, s2 := run(); !reflect.DeepEqual(again, trace) || !reflect.DeepEqual(s2, s) {
			t.Fatal("a second run differs")
		}
	})
}

// TestRecovery compares the two kinds of recovery under random losses. With selective recovery,
// each loss is sent again once.
func TestRecovery(t *testing.T) {
	n := line(3)
	g, flows := messages(t, engine.Task{Dst: 2, Bytes: 4_000_000})
	var ends [2]engine.Time
	for i, recovery := range []string{"selective", "go-back-n"} {
		o := transport("window")
		o.Recovery = recovery
		trace, s, err := packet.RunGraph(g, n, flows, spread(n), 1064, packet.Options{Transport: &o, Seed: 3, BitErrorRate: 1e-6})
		if err != nil {
			t.Fatal(err)
		}
		ends[i] = trace.Makespan
		lost := s.DroppedBy[packet.Corrupted]
		if resent := s.Transport.Resent; lost < 20 || recovery == "selective" && resent != lost || resent < lost {
			t.Errorf("%s: %d packets lost, %d sent again", recovery, lost, resent)
		}
	}
	if ends[1] < ends[0]*11/10 {
		t.Errorf("go-back-n takes %v, selective recovery %v", ends[1], ends[0])
	}
}

// TestMarkedQueue: the queue of DCTCP senders exceeds the mark threshold by at most one packet
// per sender, and the link stays busy (Alizadeh et al. 2010, Sec. 3.3).
func TestMarkedQueue(t *testing.T) {
	const senders, threshold, bytes = 8, 40, 4_000_000
	n := &engine.Network{Nodes: senders + 2}
	sw, dst := int32(senders), int32(senders+1)
	for a := range int32(senders + 2) {
		if a != sw {
			n.Links = append(n.Links, engine.Link{From: a, To: sw, Rate: 100e9, Latency: engine.Microsecond},
				engine.Link{From: sw, To: a, Rate: 100e9, Latency: engine.Microsecond})
		}
	}
	var list []engine.Task
	for a := range int32(senders) {
		list = append(list, engine.Task{Src: a, Dst: dst, Bytes: bytes})
	}
	g, flows := messages(t, list...)
	o := transport("dctcp")
	o.MarkMin, o.MarkMax = threshold*1064, threshold*1064
	o.Window = 2 * 1064 // the first windows fill no queue
	trace, s, err := packet.RunGraph(g, n, flows, spread(n), 1064, packet.Options{Transport: &o, SampleEvery: 10 * engine.Microsecond})
	if err != nil {
		t.Fatal(err)
	}
	if use := senders * bytes * 1.064 * 80e-12 / trace.Makespan.Seconds(); use < 0.97 {
		t.Errorf("the link is used to %.3f", use)
	}
	queue := int32(0)
	for _, q := range s.Queues[len(s.Queues)/2:] {
		queue = max(queue, q)
	}
	if queue < threshold || queue > threshold+senders+2 {
		t.Errorf("the queue has up to %d packets, with a mark at %d and %d senders", queue, threshold, senders)
	}
}

// TestStarvation: messages end although a queue of two packets loses almost all packets of 64 senders,
// some of them more often in a row than a sender tries in a network that is cut.
func TestStarvation(t *testing.T) {
	const senders = 64
	n := &engine.Network{Nodes: senders + 2}
	sw, dst := int32(senders), int32(senders+1)
	for a := range int32(senders) {
		n.Links = append(n.Links, engine.Link{From: a, To: sw, Rate: 100e9}, engine.Link{From: sw, To: a, Rate: 100e9})
	}
	n.Links = append(n.Links, engine.Link{From: sw, To: dst, Rate: 1e9, Buffer: 2 * 1064}, engine.Link{From: dst, To: sw, Rate: 1e9})
	var list []engine.Task
	for a := range int32(senders) {
		list = append(list, engine.Task{Src: a, Dst: dst, Bytes: 300_000})
	}
	g, flows := messages(t, list...)
	o := transport("dctcp")
	o.RTOMin = 20 * engine.Microsecond
	if _, _, err := packet.RunGraph(g, n, flows, spread(n), 1064, packet.Options{Transport: &o}); err != nil {
		t.Fatal(err)
	}
}

// TestPauseDeadlock: messages that each take two of the links of a ring of switches pause each
// other for ever.
func TestPauseDeadlock(t *testing.T) {
	const switches = 4
	n := &engine.Network{Nodes: 2 * switches} // host i at switch switches+i
	paths := &engine.Paths{Degree: 2, Link: make([]int32, 2*2*switches)}
	for i := range int32(switches) {
		sw := switches + i
		add := func(a, b int32) int32 {
			n.Links = append(n.Links, engine.Link{From: a, To: b, Rate: 100e9, Latency: engine.Microsecond})
			return int32(len(n.Links) - 1)
		}
		paths.Link[2*i], paths.Link[2*i+1] = add(i, sw), -1
		paths.Link[2*sw] = add(sw, switches+(i+1)%switches)
		paths.Link[2*sw+1] = add(sw, i)
	}
	var list []engine.Task
	for i := range int32(switches) {
		list = append(list, engine.Task{Src: i, Dst: (i + 2) % switches, Bytes: 2_000_000})
		forward, out := engine.MakeStep(0, 0), engine.MakeStep(1, 0)
		paths.Add(engine.MakeStep(0, 0), forward, forward, out)
	}
	g, flows := messages(t, list...)
	o := transport("window")
	o.Overflow, o.Window = "pause", 1<<40
	o.PauseAt, o.ResumeAt = 20_000, 10_000
	_, _, err := packet.RunGraph(g, n, flows, paths, 1064, packet.Options{Transport: &o})
	var d *packet.Deadlock
	if !errors.As(err, &d) || len(d.Cycle) != switches {
		t.Fatalf("error %v, want a deadlock of the %d links of the ring", err, switches)
	}
}

// TestTransportErrors: work that a transport does not fit is an error that names the remedy.
func TestTransportErrors(t *testing.T) {
	n := line(2)
	g, flows := messages(t, engine.Task{Dst: 1, Bytes: 1000})
	for _, change := range []func(o *packet.Transport){
		func(o *packet.Transport) { o.Kind = "tcp" },
		func(o *packet.Transport) { o.Balance = "best" },
		func(o *packet.Transport) { o.Window = 100 },
		func(o *packet.Transport) { o.Header = 2000 },
		func(o *packet.Transport) { o.MarkMin, o.MarkMax = 2000, 1000 },
		func(o *packet.Transport) { o.PauseAt, o.ResumeAt = 1000, 2000 },
	} {
		o := transport("window")
		change(&o)
		if _, _, err := packet.RunGraph(g, n, flows, spread(n), 1064, packet.Options{Transport: &o}); !errors.Is(err, packet.ErrWork) {
			t.Errorf("%+v: error %v", o, err)
		}
	}
}
