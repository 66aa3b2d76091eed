package packet_test

import (
	"cmp"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"sim/engine"
	"sim/engine/packet"
)

// referenceQueueSim is a simple simulator of queued links. Events are in a sorted list,
// and packets are pointers. The free space of a channel is recounted from all packets and
// credits whenever it is needed.
type referenceQueueSim struct {
	network   *engine.Network
	work      *packet.Work
	options   packet.Options
	events    []queueEvent
	numSet    int // events scheduled so far
	links     []queueLink
	inNetwork []*queuePacket
	credits   []queueCredit
	log       []packet.PacketEnd
	drops     []int64 // indexed by link
}

// queueEvent is an event. Its kind is "sent" (end of a transmission), "land" (arrival),
// "credit" or "source".
type queueEvent struct {
	time  engine.Time
	order int // number of events scheduled before
	kind  string
	index int // of the link or source
	lap   int // number of earlier injections of the source
}

// queuePacket is a packet that has passed hop links of its path.
type queuePacket struct {
	flow, bytes                  int
	path                         []int32
	channels                     []int // indexed like path
	hop                          int
	inject, sentAt               engine.Time
	heldChannel, reservedChannel [2]int // link and channel whose buffer holds the packet, or is reserved for it; or noChannel

}

// queueCredit is a returning credit.
type queueCredit struct {
	time    engine.Time
	channel [2]int
	bytes   int
}

// queueLink is the state of a link.
type queueLink struct {
	busyUntil    *big.Rat
	queue        []*queuePacket // all queued packets, in the order of their arrival
	sending      *queuePacket
	end          engine.Time // of the transmission
	inFlight     []*queuePacket
	nextQueue    int // round-robin position
	awaitsCredit bool
	numPassed    int64
}

// noChannel is the value of queuePacket.heldChannel and reservedChannel without a
// channel.
var noChannel = [2]int{-1, 0}

// set schedules an event.
func (z *referenceQueueSim) set(time engine.Time, kind string, index, lap int) {
	z.events = append(z.events, queueEvent{time, z.numSet, kind, index, lap})
	z.numSet++
}

// capacity returns the buffer size of each channel of a link.
func (z *referenceQueueSim) capacity(link int) int64 {
	if b := z.network.Links[link].Buffer; b > 0 {
		return b
	}
	largest := int64(0)
	for _, s := range z.work.Sources {
		if s.First < s.End {
			largest = max(largest, int64(s.Bytes))
		}
	}
	l := z.network.Links[link]
	return int64(l.Rate/8*2*l.Latency.Seconds()) + 1 + 2*largest
}

// freeBytes returns the free buffer space of a channel as known to its link.
func (z *referenceQueueSim) freeBytes(channel [2]int, now engine.Time) int64 {
	free := z.capacity(channel[0])
	for _, p := range z.inNetwork {
		if p.heldChannel == channel || p.reservedChannel == channel {
			free -= int64(p.bytes)
		}
	}
	for _, c := range z.credits {
		if c.channel == channel && c.time > now {
			free -= int64(c.bytes)
		}
	}
	return free
}

// run simulates all events.
func (z *referenceQueueSim) run() {
	z.links, z.drops = make([]queueLink, len(z.network.Links)), make([]int64, len(z.network.Links))
	for i, s := range z.work.Sources {
		if s.Count > 0 && s.End > s.First {
			z.set(s.Start, "source", i, 0)
		}
	}

	byNumber := z.options.Control == packet.Credit && !slices.ContainsFunc(z.network.Links, func(l engine.Link) bool { return l.Latency == 0 })
	var now []queueEvent // simultaneous events, if they are ordered by kind
	for len(z.events)+len(now) > 0 {
		if len(now) == 0 {
			slices.SortFunc(z.events, func(e, f queueEvent) int { return cmp.Or(cmp.Compare(e.time, f.time), cmp.Compare(e.order, f.order)) })
			numSimultaneous := 1
			for byNumber && numSimultaneous < len(z.events) && z.events[numSimultaneous].time == z.events[0].time {
				numSimultaneous++
			}
			now = slices.Clone(z.events[:numSimultaneous])
			z.events = slices.Delete(z.events, 0, numSimultaneous)
			slices.SortFunc(now, func(e, f queueEvent) int {
				kinds := []string{"sent", "land", "credit", "source"}
				return cmp.Or(cmp.Compare(slices.Index(kinds, e.kind), slices.Index(kinds, f.kind)), cmp.Compare(e.index, f.index))
			})
		}

		e := now[0]
		now = now[1:]
		l := &queueLink{}
		if e.kind != "source" {
			l = &z.links[e.index]
		}

		switch e.kind {
		case "source":
			s := z.work.Sources[e.index]
			if int64(e.lap+1) < s.Count {
				z.set(s.Start+engine.Time(s.Every*float64(e.lap+1)), "source", e.index, e.lap+1)
			}
			for f := s.First; f < s.End; f++ {
				bytes := int(s.Bytes)
				if int64(e.lap)+1 == s.Count && s.Last > 0 {
					bytes = int(s.Last)
				}
				p := &queuePacket{flow: int(f), bytes: bytes, path: pathOf(z.network, z.work, f), inject: e.time, heldChannel: noChannel, reservedChannel: noChannel}
				for _, step := range z.work.Paths.Steps(f) {
					p.channels = append(p.channels, step.Channel())
				}
				z.inNetwork = append(z.inNetwork, p)
				z.forward(p, e.time)
			}
		case "sent":
			p := l.sending
			z.releaseBuffer(p, e.time)
			p.heldChannel, p.reservedChannel = p.reservedChannel, noChannel
			if latency := z.network.Links[e.index].Latency; latency == 0 {
				z.arrive(e.index, p, e.time)
			} else if l.inFlight = append(l.inFlight, p); len(l.inFlight) == 1 {
				z.set(e.time+latency, "land", e.index, 0)
			}
			p.sentAt = e.time
			l.sending = nil
			z.startSending(e.index, e.time)
		case "land":
			p := l.inFlight[0]
			if l.inFlight = l.inFlight[1:]; len(l.inFlight) > 0 {
				z.set(l.inFlight[0].sentAt+z.network.Links[e.index].Latency, "land", e.index, 0)
			}
			z.arrive(e.index, p, e.time)
		case "credit":
			l.awaitsCredit = false
			z.startSending(e.index, e.time)
		}
	}
}

// arrive completes the arrival of a packet at the far end of a link.
func (z *referenceQueueSim) arrive(link int, p *queuePacket, now engine.Time) {
	z.links[link].numPassed++
	p.hop++
	z.forward(p, now)
}

// end removes a packet from the network.
func (z *referenceQueueSim) end(p *queuePacket, now engine.Time, dropped bool) {
	z.log = append(z.log, packet.PacketEnd{Flow: int32(p.flow), Inject: p.inject, At: now, Dropped: dropped})
	z.releaseBuffer(p, now)
	z.inNetwork = slices.DeleteFunc(z.inNetwork, func(q *queuePacket) bool { return q == p })
}

// releaseBuffer frees the buffer space that a packet occupies.
func (z *referenceQueueSim) releaseBuffer(p *queuePacket, now engine.Time) {
	if p.heldChannel == noChannel || z.options.Control != packet.Credit {
		return
	}
	channel, latency := p.heldChannel, z.network.Links[p.heldChannel[0]].Latency
	p.heldChannel = noChannel
	z.credits = append(z.credits, queueCredit{now + latency, channel, p.bytes})
	if l := &z.links[channel[0]]; l.sending == nil {
		if latency == 0 {
			z.startSending(channel[0], now)
		} else if len(l.queue) > 0 {
			z.awaitCredit(channel[0])
		}
	}
}

// awaitCredit schedules an event for the next credit return of a link, unless there is
// one already.
func (z *referenceQueueSim) awaitCredit(link int) {
	l := &z.links[link]
	if l.awaitsCredit {
		return
	}
	for _, c := range z.credits {
		if c.channel[0] == link {
			l.awaitsCredit = true
			z.set(c.time, "credit", link, 0)
			return
		}
	}
}

// forward enqueues a packet at its next link, or delivers or drops it.
func (z *referenceQueueSim) forward(p *queuePacket, now engine.Time) {
	if p.hop == len(p.path) {
		z.end(p, now, false)
		return
	}
	id := int(p.path[p.hop])
	l := &z.links[id]
	if buffer := z.network.Links[id].Buffer; z.options.Control == packet.DropTail && buffer > 0 {
		bytes := int64(p.bytes)
		for _, q := range l.queue {
			bytes += int64(q.bytes)
		}
		if l.sending != nil && l.end > now {
			bytes += int64(l.sending.bytes)
		}
		if bytes > buffer {
			z.drops[id]++
			z.end(p, now, true)
			return
		}
	}

	l.queue = append(l.queue, p)
	if l.sending == nil {
		z.startSending(id, now)
	}
}

// startSending starts the next transmission of a link if it is idle and a packet can be
// sent.
func (z *referenceQueueSim) startSending(id int, now engine.Time) {
	l := &z.links[id]
	if l.sending != nil || len(l.queue) == 0 {
		return
	}
	ring := 1
	channels := int(max(1, z.network.Links[id].Channels))
	if z.options.Control == packet.Credit {
		ring = 2 * channels
		z.credits = slices.DeleteFunc(z.credits, func(c queueCredit) bool { return c.channel[0] == id && c.time <= now })
	}

	queueOf := func(p *queuePacket) int {
		switch {
		case z.options.Control == packet.DropTail:
			return 0
		case p.hop == 0:
			return channels + p.channels[0]
		}
		return p.channels[p.hop]
	}

	for k := range ring {
		k = (l.nextQueue + k) % ring
		i := slices.IndexFunc(l.queue, func(p *queuePacket) bool { return queueOf(p) == k })
		if i < 0 {
			continue
		}
		p := l.queue[i]
		channel := [2]int{id, k % channels}
		if z.options.Control == packet.Credit {
			if z.freeBytes(channel, now) < int64(p.bytes) {
				continue
			}
			l.nextQueue = (k + 1) % ring
			p.reservedChannel = channel
		}
		l.queue = slices.Delete(l.queue, i, i+1)
		l.sending = p
		if l.busyUntil == nil || floorOf(l.busyUntil) < now {
			l.busyUntil = new(big.Rat).SetInt64(int64(now))
		}
		duration := new(big.Rat).Quo(new(big.Rat).SetInt64(8*int64(p.bytes)*int64(engine.Second)), new(big.Rat).SetFloat64(z.network.Links[id].Rate))
		l.busyUntil = new(big.Rat).Add(l.busyUntil, duration)
		l.end = floorOf(l.busyUntil)
		z.set(l.end, "sent", id, 0)
		return
	}
	z.awaitCredit(id)
}

// TestQueuedAgainstReference: all packets end at the same times and for the same causes
// as in referenceQueueSim, with drop-tail and with credits. If packets deadlock there,
// Run returns a Deadlock.
func TestQueuedAgainstReference(t *testing.T) {
	stuck, dropped, completed := 0, 0, 0
	check := func(t *rapid.T) {
		n, w := randomWork(t)
		o := packet.Options{Control: rapid.SampledFrom([]packet.Control{packet.DropTail, packet.Credit}).Draw(t, "control")}
		for i := range n.Links {
			if rapid.IntRange(0, 3).Draw(t, "finite") > 0 {
				n.Links[i].Buffer = rapid.SampledFrom([]int64{9, 9, 10, 14, 30}).Draw(t, "buffer")
			}
		}
		if rapid.Bool().Draw(t, "late") {
			for i := range n.Links {
				n.Links[i].Latency++
			}
		}

		z := referenceQueueSim{network: n, work: w, options: o}
		z.run()
		s, log, err := packet.RunLog(n, w, packet.ForceQueues(o))
		if len(z.inNetwork) > 0 {
			stuck++
			if _, ok := err.(*packet.Deadlock); !ok {
				t.Fatalf("%d packets wait, got %v", len(z.inNetwork), err)
			}
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(log, z.log) {
			t.Fatalf("%v\nwant %v", log, z.log)
		}
		completed++
		if s.Dropped > 0 {
			dropped++
		}
		for i, l := range s.Links {
			if l.Packets != z.links[i].numPassed || l.Dropped != z.drops[i] {
				t.Fatalf("link %d: %+v, want %d passed and %d dropped", i, l, z.links[i].numPassed, z.drops[i])
			}
		}
	}
	rapid.Check(t, func(t *rapid.T) { // rapid draws the same cases in every run; ten per check cover more
		for range 10 {
			check(t)
		}
	})
	t.Logf("%d ended, %d of them with drops, %d were stuck", completed, dropped, stuck)
	if stuck == 0 || dropped == 0 {
		t.Errorf("%d networks were stuck and %d dropped, so little is tested", stuck, dropped)
	}
}

// TestQueuedAgainstScheduled: with unbounded queues and without simultaneous events,
// queued links and scheduled links yield the same results.
func TestQueuedAgainstScheduled(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n, w := randomWork(t)
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		for i := range n.Links {
			n.Links[i].Rate /= 1e3 * (1 + rng.Float64())
			n.Links[i].Latency = engine.Time(rng.Int64N(1_000_000)) * engine.Time(rapid.IntRange(0, 1).Draw(t, "latent"))
		}
		for i := range w.Sources {
			w.Sources[i].End = min(w.Sources[i].End, w.Sources[i].First+1) // further flows would inject simultaneously
			w.Sources[i].Start = engine.Time(rng.Int64N(1_000_000))
			w.Sources[i].Every = rng.Float64() * 300_000
		}

		a, first, err := packet.RunLog(n, w, packet.Options{})
		if err != nil {
			t.Fatal(err)
		}
		b, second, err := packet.RunLog(n, w, packet.ForceQueues(packet.Options{}))
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(first, second) {
			t.Fatalf("%v\nwant %v", second, first)
		}

		for i := range a.Links {
			if difference := a.Links[i].Busy - b.Links[i].Busy; difference < -1 || difference > engine.Time(a.Links[i].Packets) {
				t.Fatalf("link %d was busy for %v, want %v", i, b.Links[i].Busy, a.Links[i].Busy)
			}
			b.Links[i].Busy = a.Links[i].Busy // fractions of ticks are not carried over idle times
			if a.Links[i] != b.Links[i] {
				t.Fatalf("link %d: %+v, want %+v", i, b.Links[i], a.Links[i])
			}
		}
	})
}
