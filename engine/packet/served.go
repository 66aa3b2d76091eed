package packet

import (
	"math/bits"
	"math/rand/v2"

	"sim/engine"
)

// served is the state of links that serve packets one by one.
type served struct {
	on         bool
	credit     bool
	servers    []server
	queues     []queue
	room       []int64 // by channel: bytes free at its far end, as far as its link knows
	size       []int64 // by channel
	linkOf     []int32 // by channel
	errors     float64 // a bit
	rng        *rand.Rand
	wrongOf    int32 // bytes of a packet
	wrongValue float64
	ranked     *ranked // where tasks have ranks; then queues are not used
}

// server is the state of a link, three lines of the cache: what it sends, what waits for it, and what is counted.
type server struct {
	current record
	end     engine.Time // of sending the current packet
	latency engine.Time
	perByte uint64 // ticks a byte, times 2^32
	part    uint32 // of a tick, by which it was late beyond end, times 2^32
	on      int32  // the channel of the current packet

	wire     fifo // packets that have left, by arrival
	credits  fifo // on their way back, by arrival; route is the channel
	to       int32
	channel  int32 // the number of its first channel
	channels int32
	queue    int32 // the number of its first queue
	ring     int32 // its queues
	turn     int32 // of its queues, the one to be looked at first
	waiting  int32 // packets in them
	held     int32 // packets in them, being sent, and on the wire
	mostHeld int32
	ready    uint32 // a bit a queue: it has packets
	up       bool
	sending  bool
	paused   bool // it sends nothing for now, and loses nothing
	awaits   bool // an event is set for the next credit

	queued  int64 // bytes that count for buffer, not kept under credits
	buffer  int64 // of drop-tail; 0 is unbounded
	busy    engine.Time
	waited  engine.Time
	packets int64 // that have left, but for those lost on the wire
	bytes   int64
	dropped int64
	retries int64
}

// queue is packets before a link.
type queue struct {
	fifo
	need int32 // bytes of the first of them
}

// push puts a packet at the end of a queue before a link.
func (z *sim) push(l *server, number int32, r *record, now engine.Time) {
	q := &z.queues[number]
	at := z.chunks.add(&q.fifo)
	*at = *r
	if at.at = now; q.length == 1 {
		q.need = r.bytes
		l.ready |= 1 << (number - l.queue)
	}
}

// pop drops the first packet of a queue before a link. Its memory stays as it is until the next push.
func (z *sim) pop(l *server, number int32) {
	q := &z.queues[number]
	if z.chunks.drop(&q.fifo); q.length > 0 {
		q.need = z.chunks.first(&q.fifo).bytes
	} else {
		l.ready &^= 1 << (number - l.queue)
	}
}

func (z *sim) newServed(largest int64) {
	z.credit = z.o.Control == Credit
	z.errors = z.o.BitErrorRate
	z.rng = stream(z.o.Seed, errorStream)
	z.servers = make([]server, len(z.n.Links))
	queues := int32(0)
	for i, l := range z.n.Links {
		v := &z.servers[i]
		*v = server{latency: l.Latency, to: l.To, channel: int32(len(z.linkOf)), channels: 1, queue: queues, ring: 1, up: l.Rate > 0, buffer: l.Buffer}
		if v.up {
			v.perByte = perByte(l.Rate)
		}
		size := int64(0)
		if z.credit {
			v.buffer = 0
			v.channels = min(max(1, l.Channels), engine.MaxChannel+1) // of others no path knows
			v.ring = 2 * v.channels
			size = l.Buffer
			if size == 0 {
				size = autoBuffer(z.n, int32(i), largest)
			}
		}
		queues += v.ring
		for range v.channels {
			z.linkOf = append(z.linkOf, int32(i))
			z.size = append(z.size, size)
		}
	}
	z.room = append([]int64(nil), z.size...)
	z.queues = make([]queue, queues)
	if z.o.ranks() {
		z.ranked = newRanked(&z.o, len(z.servers), len(z.flows))
	}
}

// autoBuffer is the buffer of a channel that keeps its link busy with packets of up to largest bytes, at the greatest
// rate that the link ever has: from the start of a packet it takes its sending, the latency, its sending over the next
// link, and the latency again until its credit is back.
func autoBuffer(n *engine.Network, link int32, largest int64) int64 {
	rate := n.Links[link].Rate
	for _, c := range n.Changes {
		if c.Link == link {
			rate = max(rate, c.Rate)
		}
	}
	return int64(rate/8*2*n.Links[link].Latency.Seconds()) + 1 + 2*largest
}

// serve simulates the events up to a time.
func (z *sim) serve(until engine.Time) {
	links := int32(len(z.servers))
	var some [atOnce]int32
	for rounds := 0; ; rounds++ {
		ids, now, ok := z.calendar.takeSome(some[:], until)
		if !ok || rounds&(askEvery/atOnce-1) == 0 && z.told() {
			return
		}
		if z.s.End = now; len(ids) > 1 && z.paths.steps {
			z.bring(ids)
		}
		for _, id := range ids {
			switch {
			case id < links:
				z.sent(id, now)
			case id < 2*links:
				z.land(id-links, now)
			case id < 3*links:
				z.servers[id-2*links].awaits = false
				z.start(id-2*links, now)
			default:
				if z.fire(id-z.base, now); z.full {
					return
				}
			}
		}
	}
}

// sent ends the sending of a packet: it leaves the buffer that it was in, goes on the wire, or is there where there is
// no latency, and the next one begins.
func (z *sim) sent(id int32, now engine.Time) {
	l := &z.servers[id]
	r := l.current
	z.release(r.hold, r.bytes, now)
	r.hold = l.on
	if z.ranked != nil {
		z.ranked.leaves(id, l.latency > 0)
	}
	if l.latency == 0 {
		z.arrive(id, &r, now)
	} else {
		at := z.chunks.add(&l.wire)
		*at = r
		if at.at = now + l.latency; l.wire.length == 1 {
			z.calendar.set(int32(len(z.servers))+id, at.at)
		}
	}
	l.packets++
	l.bytes += int64(r.bytes)
	l.queued -= int64(r.bytes)
	l.sending = false
	z.start(id, now)
}

// land ends the flight of a packet over a link's latency.
func (z *sim) land(id int32, now engine.Time) {
	l := &z.servers[id]
	r := *z.chunks.first(&l.wire)
	z.chunks.drop(&l.wire)
	if l.wire.length > 0 {
		z.calendar.set(int32(len(z.servers))+id, z.chunks.first(&l.wire).at)
	}
	if z.ranked != nil {
		z.ranked.lands(id)
	}
	z.arrive(id, &r, now)
}

// arrive delivers a packet or puts it before its next link.
func (z *sim) arrive(id int32, r *record, now engine.Time) {
	l := &z.servers[id]
	l.held--
	if z.paths.steps {
		r.route++
	}
	switch next := z.paths.next(l.to, r.route); next {
	case arrived:
		z.deliver(r, now)
		z.release(r.hold, r.bytes, now)
	case nowhere:
		z.drop(r, -1, NoRoute, now)
		z.release(r.hold, r.bytes, now)
	default:
		z.enqueue(next, r, now)
	}
}

// enqueue puts a packet before a link, or drops it.
func (z *sim) enqueue(id int32, r *record, now engine.Time) {
	l := &z.servers[id]
	atSource := r.hold <= fromWindow // it does not count until it is sent
	if !atSource {
		if !l.up {
			z.drop(r, id, LinkFailed, now)
			z.release(r.hold, r.bytes, now)
			return
		}
		if !z.credit && !l.takes(r, now) {
			z.drop(r, id, QueueFull, now)
			return
		}
	}
	l.waiting++
	l.held++
	l.mostHeld = max(l.mostHeld, l.held)
	if z.ranked != nil {
		came := *r
		came.at = now
		rank := z.ranked.arrives
		if atSource {
			rank = z.ranked.of(r.flow, z.job.g.Tasks[r.flow].Bytes-z.job.toSend[r.flow])
		}
		z.ranked.heaps[id].push(&came, rank)
	} else {
		z.push(l, z.queueOf(l, r), r, now)
	}
	if !l.sending {
		z.start(id, now)
	}
}

// takes reports whether a packet has room in the queue of a link without credits, and takes it.
func (l *server) takes(r *record, now engine.Time) bool {
	if l.buffer > 0 {
		leaving := int64(0)
		if l.sending && l.end <= now {
			leaving = int64(l.current.bytes)
		}
		if l.queued-leaving+int64(r.bytes) > l.buffer {
			return false
		}
	}
	l.queued += int64(r.bytes)
	return true
}

// queueOf returns the number of the queue before a link that a packet belongs in.
func (z *sim) queueOf(l *server, r *record) int32 {
	q := l.queue
	if !z.credit {
		return q
	}
	if z.paths.steps {
		q += int32(z.paths.step[r.route].Channel())
	}
	if r.hold < 0 {
		q += l.channels
	}
	return q
}

// next returns the queue that an idle link serves next, and its channel; -1 where none can be.
func (z *sim) next(l *server) (queue, channel int32) {
	later := l.ready >> l.turn << l.turn
	for m := later; ; m &= m - 1 {
		if m == 0 {
			if m, later = l.ready&^later, l.ready; m == 0 {
				return -1, -1
			}
		}
		k := int32(bits.TrailingZeros32(m))
		c := l.channel + k
		if k >= l.channels {
			c -= l.channels
		}
		if !z.credit || z.room[c] >= int64(z.queues[l.queue+k].need) {
			if l.turn = k + 1; l.turn == l.ring {
				l.turn = 0
			}
			return l.queue + k, c
		}
	}
}

// start sends the next packet of a link that sends none.
func (z *sim) start(id int32, now engine.Time) {
	l := &z.servers[id]
	if l.waiting == 0 || l.sending || !l.up || l.paused {
		return
	}
	for l.credits.length > 0 && z.chunks.first(&l.credits).at <= now {
		c := z.chunks.first(&l.credits)
		z.room[c.route] += int64(c.bytes)
		z.chunks.drop(&l.credits)
	}
	r, c := &l.current, l.channel
	if z.ranked != nil {
		*r, z.ranked.sending[id] = z.ranked.heaps[id].pop()
	} else {
		var q int32
		if q, c = z.next(l); q < 0 {
			z.await(id, l)
			return
		}
		*r = *z.chunks.first(&z.queues[q].fifo)
		z.pop(l, q)
	}
	l.waiting--
	l.waited += now - r.at
	if z.credit {
		z.room[c] -= int64(r.bytes)
	}
	l.on, l.sending = c, true
	if r.hold <= fromWindow {
		l.queued += int64(r.bytes)
		if r.hold <= fromFeed {
			z.calendar.set(z.base+fromFeed-r.hold, now)
		}
	}
	if now > l.end {
		l.end, l.part = now, 0
	}
	tries := uint64(1)
	if z.errors > 0 {
		tries = z.tries(r.bytes)
		l.retries += int64(tries - 1)
		z.s.Retries += int64(tries - 1)
	}
	var takes engine.Time
	takes, l.part = serialise(l.perByte, uint64(r.bytes)*tries, l.part)
	l.busy += takes
	l.end += takes + 2*l.latency*engine.Time(tries-1)
	z.calendar.set(id, l.end)
}

// tries returns how often a packet is sent until it arrives as it was sent.
func (z *sim) tries(bytes int32) uint64 {
	if bytes != z.wrongOf {
		z.wrongOf, z.wrongValue = bytes, wrong(z.errors, int64(bytes))
	}
	k := uint64(1)
	for z.rng.Float64() < z.wrongValue {
		k++
	}
	return k
}
