package packet

import (
	"math/bits"
	"math/rand/v2"
	"slices"

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
	byNumber   bool    // events of one time happen by their numbers
	together   []int32 // these
	taken      int     // so many of them have happened
	began      engine.Time
	apart      *apart // where links can be simulated apart
	alone      bool   // they are
}

// server is the state of a link, three lines of the cache: what it sends, what waits for it and is counted, and what
// latencies, full queues and faults need.
type server struct {
	current  record      // what it sends, or has sent last
	end      engine.Time // of sending it
	perByte  uint64      // ticks a byte, times 2^32
	part     uint32      // of a tick, by which it was late beyond end, times 2^32
	on       int32       // the channel of the current packet
	onto     int32       // the link that it takes next, arrived if none, where steps say and there is no latency
	ontoThat uint8       // the channel of that
	turn     uint8       // of its queues, the one to be looked at first
	ring     uint8       // its queues
	channels uint8

	ready    uint32 // a bit a queue: it has packets
	queue    int32  // the number of its first queue
	channel  int32  // the number of its first channel
	to       int32
	waiting  int32 // packets in its queues
	held     int32 // packets in them, being sent, and on the wire
	mostHeld int32
	state    uint8
	late     bool // it has a latency
	awaits   bool // an event is set for the next credit
	waited   engine.Time
	busy     engine.Time
	packets  int64 // that have left, but for those lost on the wire
	bytes    int64

	latency engine.Time
	wire    fifo  // packets that have left, by arrival
	credits fifo  // on their way back, by arrival; route is the channel
	queued  int64 // bytes that count for buffer, not kept under credits
	buffer  int64 // of drop-tail; 0 is unbounded
	dropped int64
	retries int64
}

// Why a link begins no packet, in server.state.
const (
	sending uint8 = 1 << iota
	down
	paused // it sends nothing for now, and loses nothing
)

// queue is packets before a link.
type queue struct {
	fifo
	need int32 // bytes of the first of them
}

// push puts a packet at the end of a queue before a link.
func (z *sim) push(l *server, place uint8, r *record, now engine.Time) {
	q := &z.queues[l.queue+int32(place)]
	if q.tail%perChunk == 0 {
		z.chunks.extend(&q.fifo)
	}
	at := z.chunks.at(q.tail)
	*at = *r
	if at.at != now { // else it is written as a whole, and read so at once where the packet is sent now
		at.at = now
	}
	q.tail++
	if q.length++; q.length == 1 {
		q.need = r.bytes
		l.ready |= 1 << (place & 31)
	}
}

// pop drops the first packet of a queue before a link. Its memory stays as it is until the next push.
func (z *sim) pop(l *server, q *queue, place int32) {
	if z.chunks.drop(&q.fifo); q.length > 0 {
		q.need = z.chunks.first(&q.fifo).bytes
	} else {
		l.ready &^= 1 << (place & 31)
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
		*v = server{latency: l.Latency, late: l.Latency > 0, to: l.To, on: int32(len(z.linkOf)), channel: int32(len(z.linkOf)), channels: 1, queue: queues, ring: 1, buffer: l.Buffer}
		if v.state = down; l.Rate > 0 {
			v.state, v.perByte = 0, perByte(l.Rate)
		}
		size := int64(0)
		if z.credit {
			v.buffer = 0
			v.channels = uint8(min(max(1, l.Channels), engine.MaxChannel+1)) // of others no path knows
			v.ring = 2 * v.channels
			size = l.Buffer
			if size == 0 {
				size = autoBuffer(z.n, int32(i), largest)
			}
		}
		queues += int32(v.ring)
		for range v.channels {
			z.linkOf = append(z.linkOf, int32(i))
			z.size = append(z.size, size)
		}
	}
	z.byNumber = z.credit && !slices.ContainsFunc(z.n.Links, func(l engine.Link) bool { return l.Latency == 0 })
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

// sent ends the sending of a packet: it leaves the buffer that it was in, goes on the wire, or is there where there is
// no latency, and the next one begins.
func (z *sim) sent(id int32, now engine.Time) {
	l := &z.servers[id]
	r := &l.current
	if r.hold >= 0 {
		z.release(r.hold, r.bytes, now)
	}
	r.hold = l.on
	if z.ranked != nil {
		z.ranked.leaves(id, l.late)
	}
	switch {
	case l.late:
		at := z.chunks.add(&l.wire)
		*at = *r
		if at.at = now + l.latency; l.wire.length == 1 {
			z.calendar.set(int32(len(z.servers))+id, at.at)
		}
	case z.paths.steps:
		z.arrive(l, r, l.onto, l.ontoThat, now)
	default:
		z.arrive(l, r, z.paths.next(l.to, r.route), 0, now)
	}
	l.packets++
	l.bytes += int64(r.bytes)
	if !z.credit {
		l.queued -= int64(r.bytes)
	}
	if l.state &^= sending; l.waiting > 0 {
		z.start(id, now)
	}
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
	next, channel := z.paths.after(l.to, r.route)
	z.arrive(l, &r, next, channel, now)
}

// arrive delivers a packet that has come over a link, or puts it before the next one.
func (z *sim) arrive(l *server, r *record, next int32, channel uint8, now engine.Time) {
	l.held--
	if z.paths.steps {
		r.route++
	}
	switch next {
	case arrived:
		z.deliver(r, now)
		z.release(r.hold, r.bytes, now)
	case nowhere:
		z.drop(r, -1, NoRoute, now)
	default:
		z.enqueue(next, channel, r, now)
	}
}

// enqueue puts a packet before a link, or drops it.
func (z *sim) enqueue(id int32, channel uint8, r *record, now engine.Time) {
	l := &z.servers[id]
	if r.hold > fromWindow { // else it does not count until it is sent
		if l.state&down != 0 {
			z.drop(r, id, LinkFailed, now)
			return
		}
		if !z.credit && !l.takes(r, now) {
			z.drop(r, id, QueueFull, now)
			return
		}
	}
	place := uint8(0)
	if z.credit {
		if place = channel; r.hold < 0 {
			place += l.channels
		}
	}
	l.count()
	if z.ranked != nil {
		z.enqueueRanked(id, r, now)
	} else {
		z.push(l, place, r, now)
	}
	if l.state == 0 {
		z.start(id, now)
	}
}

// enqueueRanked is enqueue where tasks have ranks.
func (z *sim) enqueueRanked(id int32, r *record, now engine.Time) {
	came := *r
	came.at = now
	rank := z.ranked.arrives
	if r.hold <= fromWindow {
		rank = z.ranked.of(r.flow, z.job.transfers[r.flow].sentBytes())
	}
	z.ranked.heaps[id].push(&came, rank)
}

// takes reports whether a packet has room in the queue of a link without credits, and takes it.
func (l *server) takes(r *record, now engine.Time) bool {
	if l.buffer > 0 {
		leaving := int64(0)
		if l.state&sending != 0 && l.end <= now {
			leaving = int64(l.current.bytes)
		}
		if l.queued-leaving+int64(r.bytes) > l.buffer {
			return false
		}
	}
	l.queued += int64(r.bytes)
	return true
}

// count counts a packet that waits for a link.
func (l *server) count() {
	l.waiting++
	l.held++
	l.mostHeld = max(l.mostHeld, l.held)
}

// next chooses the queue that an idle link serves next and takes the room that its first packet needs. It returns the place
// of the queue; ok is false if no queue has a packet with room.
func (z *sim) next(id int32, l *server, now engine.Time) (place int32, ok bool) {
	ring, turn := int32(l.ring&31), int32(l.turn&31)
	ready := uint64(l.ready)
	ready = (ready | ready<<ring) >> turn & (1<<ring - 1) // from turn on
	for ; ready != 0; ready &= ready - 1 {
		place = wrap(turn+int32(bits.TrailingZeros64(ready)), ring)
		channel := l.channel + wrap(place, int32(l.channels))
		if z.credit {
			need := int64(z.queues[l.queue+place].need)
			room := z.room[channel] - need
			if room < 0 {
				if !l.late || !z.credited(id, l, now) {
					continue
				}
				if room = z.room[channel] - need; room < 0 {
					continue
				}
			}
			z.room[channel] = room
		}
		l.turn, l.on = uint8(wrap(place+1, ring)), channel
		return place, true
	}
	return 0, false
}

// transmit has an idle link send so many bytes.
func (l *server) transmit(bytes uint64, now engine.Time) {
	l.waiting--
	l.state = sending
	if now > l.end {
		l.end, l.part = now, 0
	}
	var takes engine.Time
	takes, l.part = serialise(l.perByte, bytes, l.part)
	l.busy += takes
	l.end += takes
}

// wrap returns k, which is at least 0 and less than 2n, modulo n; no branch is missed.
func wrap(k, n int32) int32 {
	k -= n
	return k + n&(k>>31)
}

// start sends the next packet of a link that sends none, if one waits for which there is room.
func (z *sim) start(id int32, now engine.Time) {
	l := &z.servers[id]
	if l.waiting == 0 || l.state != 0 {
		return
	}
	r := &l.current
	if z.ranked != nil {
		*r, z.ranked.sending[id] = z.ranked.heaps[id].pop()
	} else {
		place, ok := z.next(id, l, now)
		if !ok {
			z.await(id, l)
			return
		}
		q := &z.queues[l.queue+place]
		*r = *z.chunks.first(&q.fifo)
		z.pop(l, q, place)
	}
	if r.hold <= fromWindow && !z.credit {
		l.queued += int64(r.bytes)
	}
	z.begins(r.hold, now)
	tries := uint64(1)
	if z.errors > 0 {
		tries = z.tries(r.bytes)
	}
	l.waited += now - r.at
	l.transmit(uint64(r.bytes)*tries, now)
	if again := int64(tries - 1); again > 0 {
		l.retries += again
		z.s.Retries += again
		l.end += 2 * l.latency * engine.Time(again)
	}
	if z.paths.steps && !l.late {
		l.onto, l.ontoThat = z.paths.after(l.to, r.route)
	}
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
