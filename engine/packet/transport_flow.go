package packet

// This file implements the senders and receivers of messages under a transport. A message is a
// transfer of the task graph. Its packets are numbered from 0.
//
// A sender may send a packet if its window and its pace allow it. It then waits in the list
// transportLink.ready of the link that its next packet takes, so that messages of a host take
// turns and no packet waits before the first link. A receiver returns an acknowledgement
// for each packet (feedback). A packet is sent again if feedback says that it is missing, if
// packets that were sent after it have arrived, or after a timeout.

import (
	"math"
	"math/rand/v2"
	"slices"

	"sim/engine"
)

// transportState is the state of a transport during a run. The ids of its events follow the ids of
// tasks: per message, the arrival of feedback, a timeout and the end of a pause between packets;
// then one per node, of receivers that send credits.
type transportState struct {
	z           *sim
	options     *Transport
	law         law
	balance     balance
	calendar    *calendar
	rng         *rand.Rand
	goesBack    bool // recovery is go-back-n
	trims       bool
	pauses      bool
	isCarried   bool // acknowledgements are packets
	packetBytes int32
	dataBytes   int32       // data of a full packet
	typicalRTT  engine.Time // round trip of a message of the first flow, for thresholds
	rtoMin      engine.Time

	links     []transportLink
	from      []int32 // node at the start of each link
	nodeBytes []int64 // data in the queues of a node; nil unless links share a buffer
	routes    routeTable
	flows     []flowState   // indexed by task
	messages  []message     // indexed by task
	ends      []engine.Flow // of each message, indexed by task
	firstID   int32         // id of the first event of messages

	packets    []transportPacket
	freeList   int32
	maxPackets int64
	telemetry  []hopTelemetry // maxTelemetryHops per packet; nil unless the law uses it
	numPackets int64          // in use
	numWaiting int            // messages that wait for a change of links; see maxTimeouts
	errorRate  float64        // probability per bit

	dctcp     []dctcpState // one of these is indexed by task
	dcqcn     []dcqcnState
	nscc      []nsccState
	hpcc      []hpccState
	receivers []creditPacer // indexed by node, for the law rccc
	stats     TransportStats
}

// flowState is the part of a message that changes with each packet. It fills a cache line.
type flowState struct {
	window    float64     // bytes that may be in flight
	rate      float64     // bytes per tick; noRate if packets are not paced
	nextSend  engine.Time // earliest start of the next packet
	deadline  engine.Time // of the timeout; engine.Never if none
	acked     uint32      // packets below have been acknowledged
	next      uint32      // first packet that has not been sent
	inFlight  uint32      // packets sent, not acknowledged and not known to be lost
	expected  uint32      // packets below have arrived
	credit    uint32      // packets that may be sent, for the law rccc
	nextReady int32       // next message in the list of a link
	flags     uint8
}

// Flags of flowState.
const (
	flowReady      uint8 = 1 << iota // it is in the list of a link
	flowPausing                      // the end of a pause is in the calendar
	flowTimed                        // a timeout is in the calendar
	flowReported                     // the receiver has reported the gap at expected
	flowAsksCredit                   // the receiver sends credits to it
)

// message is the part of a message that is seldom needed.
type message struct {
	count       uint32 // packets
	lastBytes   uint32 // of the last packet on the wire
	arrived     uint32 // different packets
	granted     uint32 // packets that the receiver has allowed, for the law rccc
	needed      uint32 // packets that it has to allow: all and the lost ones
	highest     uint32 // 1 + the highest acknowledged packet
	examined    uint32 // packets below have been sent at least once
	lossScan    uint32 // packets below have been examined for losses
	route       int32  // of the next packet
	entropy     uint32 // by which the message selects its path, or the first of its entropies
	drawn       int32  // entropy of the next packet
	backoff     uint8  // timeouts in a row, up to maxBackoff
	silent      uint8  // timeouts in a row without any arrival in the network
	delivered   int64  // packets that had arrived in the network at the last timeout
	srtt        engine.Time
	variation   engine.Time
	baseRTT     engine.Time // with empty queues
	returnDelay engine.Time // of feedback on empty links
	latency     engine.Time // of all links of the path
	perByte     float64     // ticks to send a byte over all links, one after the other
	product     float64     // bandwidth-delay product in bytes
	lineRate    float64     // bytes per tick of the slowest link
	feedback    packetList
	slots       []slot   // of packets acked to next; a ring whose size is a power of two
	resend      []uint32 // packets that are lost
	recycled    []int32  // entropies for balance reps
}

// slot is a packet that is not yet acknowledged.
type slot struct {
	sent    engine.Time
	entropy int32
	flags   uint8
}

// Flags of slot.
const (
	slotAcked   uint8 = 1 << iota
	slotLost          // in message.resend
	slotResent        // sent more than once
	slotArrived       // the receiver has it
)

// newTransport returns the state of a transport before the run.
func newTransport(z *sim, n *engine.Network, o *Transport, packetBytes int32, maxBytes int64) *transportState {
	t := &transportState{
		z: z, options: o, packetBytes: packetBytes, dataBytes: packetBytes - int32(o.Header),
		law:     law(slices.Index(lawNames, o.Kind)),
		balance: balance(max(0, slices.Index(balanceNames, o.Balance))),
		trims:   o.Overflow == "trim", pauses: o.Overflow == "pause", isCarried: o.Acks == "carried",
		rng: newStream(z.options.Seed, transportStream), freeList: -1, errorRate: z.options.BitErrorRate,
		maxPackets: maxBytes / 40, rtoMin: o.RTOMin,
	}
	if t.rtoMin == 0 {
		switch t.rtoMin = engine.Millisecond; {
		case t.pauses:
			t.rtoMin = 10 * engine.Millisecond
		case t.law == nsccLaw || t.law == rcccLaw:
			t.rtoMin = 100 * engine.Microsecond
		}
	}
	for _, l := range n.Links {
		t.from = append(t.from, l.From)
	}
	if o.SharedBuffer > 0 {
		t.nodeBytes = make([]int64, n.Nodes)
	}
	if t.law == hpccLaw {
		t.telemetry = []hopTelemetry{}
	}
	return t
}

// numIDs returns the number of event ids of a transport of the given numbers of tasks and nodes.
func (t *transportState) numIDs(tasks int) int {
	ids := 3 * tasks
	if t.law == rcccLaw {
		ids += int(t.z.network.Nodes)
	}
	return ids
}

// Event ids.
func (t *transportState) serviceID(link int32) int32 { return link }
func (t *transportState) arrivalID(link int32) int32 { return int32(len(t.links)) + link }
func (t *transportState) pauseID(link int32) int32   { return 2*int32(len(t.links)) + link }
func (t *transportState) feedbackID(f int32) int32   { return t.firstID + f }
func (t *transportState) timeoutID(f int32) int32    { return t.firstID + int32(len(t.flows)) + f }
func (t *transportState) paceID(f int32) int32       { return t.firstID + 2*int32(len(t.flows)) + f }
func (t *transportState) creditID(node int32) int32  { return t.firstID + 3*int32(len(t.flows)) + node }

// prepare creates the state of the messages of a graph.
func (t *transportState) prepare(g *engine.Graph, firstID int32) {
	n := len(g.Tasks)
	t.firstID = firstID
	t.flows, t.messages, t.ends = make([]flowState, n), make([]message, n), make([]engine.Flow, n)
	t.stats.Messages = make([]MessageStats, n)
	t.routes.init(t.z)
	t.newLinks(t.z.network)
	switch recovery := t.options.Recovery; recovery {
	case "selective", "go-back-n":
		t.goesBack = recovery == "go-back-n"
	default:
		mayReorder := t.routes.hasChoice && t.balance != flowBalance
		t.goesBack = (t.law == windowLaw || t.law == dcqcnLaw || t.law == hpccLaw) && !mayReorder
	}
	for i := range g.Tasks {
		task := &g.Tasks[i]
		t.ends[i] = engine.Flow{Src: task.Src, Dst: task.Dst}
		if task.Kind == engine.Transfer && task.Bytes > 0 && task.Src != task.Dst {
			if t.typicalRTT == 0 {
				t.measurePath(int32(i))
				t.typicalRTT = t.messages[i].baseRTT
			}
		}
	}
	for i, l := range t.z.network.Links {
		t.setThresholds(&t.links[i], l.Rate, t.packetBytes)
	}
	switch t.law {
	case dctcpLaw:
		t.dctcp = make([]dctcpState, n)
	case dcqcnLaw:
		t.dcqcn = make([]dcqcnState, n)
	case nsccLaw:
		t.nscc = make([]nsccState, n)
	case hpccLaw:
		t.hpcc = make([]hpccState, n)
	case rcccLaw:
		t.receivers = make([]creditPacer, t.z.network.Nodes)
	}
}

// run simulates all events up to and including time until, or to the end of a task that needs a
// reaction.
func (t *transportState) run(until engine.Time) {
	numLinks, firstTask := int32(len(t.links)), t.z.senderBase
	var buffer [maxBatch]int32
	for batches := 0; ; batches++ {
		ids, now, ok := t.calendar.takeBatch(buffer[:], until)
		isStopCheck := batches%(eventsPerStopCheck/maxBatch) == 0
		if !ok || isStopCheck && t.z.stopRequested() {
			return
		}
		for _, id := range ids {
			switch {
			case id < numLinks:
				t.links[id].isScheduled = false
				t.serve(id, now)
			case id < 2*numLinks:
				t.arrive(id-numLinks, now)
			case id < 3*numLinks:
				t.receivePause(id-2*numLinks, now)
			case id < t.firstID:
				t.z.runSender(id-firstTask, now)
			default:
				t.runMessage(id-t.firstID, now)
			}
		}
		if t.z.outOfMemory {
			return
		}
		if len(t.z.reaction.ended) > 0 {
			until = min(until, now)
		}
	}
}

// runMessage simulates an event of a message or of a receiver.
func (t *transportState) runMessage(id int32, now engine.Time) {
	n := int32(len(t.flows))
	switch {
	case id < n:
		m := &t.messages[id]
		i := m.feedback.take(t.packets)
		if m.feedback.head >= 0 {
			t.calendar.schedule(t.feedbackID(id), t.packets[m.feedback.head].time)
		}
		t.receiveFeedback(i, now)
	case id < 2*n:
		t.timeout(id-n, now)
	case id < 3*n:
		t.flows[id-2*n].flags &^= flowPausing
		t.trySend(id-2*n, now)
	default:
		t.sendCredit(id-3*n, now)
	}
}

// start begins a message.
func (t *transportState) start(i int32, now engine.Time) {
	task := &t.z.tasks.graph.Tasks[i]
	f, m := &t.flows[i], &t.messages[i]
	data := int64(t.dataBytes)
	count := (task.Bytes-1)/data + 1
	m.count = uint32(count)
	m.lastBytes = uint32(task.Bytes-(count-1)*data) + uint32(t.options.Header)
	m.feedback = emptyList
	m.entropy = t.rng.Uint32()
	t.measurePath(i)
	if m.lineRate == 0 { // the ends are one node
		t.z.stats.Injected += count
		t.z.stats.Delivered += count
		t.z.stats.Bytes += task.Bytes
		t.z.endTask(i, now)
		return
	}

	m.needed = m.count
	m.slots = make([]slot, 1<<bitsFor(min(m.count, 64)))
	*f = flowState{window: float64(t.options.Window), rate: noRate, deadline: engine.Never, nextReady: -1}
	t.startLaw(i, f, m, now)
	t.stats.Messages[i].Ideal, t.stats.Messages[i].ReturnDelay = t.idealTime(m, task.Bytes), m.returnDelay
	t.trySend(i, now)
}

// bitsFor returns the number of bits of a ring with at least n slots.
func bitsFor(n uint32) int {
	bits := 2
	for 1<<bits < n {
		bits++
	}
	return bits
}

// idealTime returns the time in which a message alone arrives: all its bytes at the rate of the
// slowest link, and the last packet once more on each other link.
func (t *transportState) idealTime(m *message, bytes int64) engine.Time {
	wire := float64(bytes) + float64(m.count)*float64(t.options.Header)
	return m.latency + engine.Time(wire/m.lineRate+(m.perByte-1/m.lineRate)*float64(m.lastBytes))
}

// slotOf returns the slot of a packet in the ring.
func (m *message) slotOf(number uint32) *slot { return &m.slots[number&uint32(len(m.slots)-1)] }

// growSlots doubles the ring of a message.
func (m *message) growSlots(acked, next uint32) {
	old := m.slots
	m.slots = make([]slot, 2*len(old))
	for k := acked; k != next; k++ {
		*m.slotOf(k) = old[k&uint32(len(old)-1)]
	}
}

// hasData reports whether a message has a packet to send.
func (t *transportState) hasData(f *flowState, m *message) bool {
	return len(m.resend) > 0 || f.next < m.count
}

// mayBegin reports whether the window and the credit of a message allow a packet.
func (t *transportState) mayBegin(f *flowState) bool {
	if t.law == rcccLaw {
		return f.credit > 0
	}
	return f.inFlight == 0 || float64(f.inFlight+1)*float64(t.packetBytes) <= f.window
}

// trySend puts a message into the list of the link of its next packet if it may send it.
func (t *transportState) trySend(i int32, now engine.Time) {
	f, m := &t.flows[i], &t.messages[i]
	if f.flags&(flowReady|flowPausing) != 0 || m.count == 0 || !t.hasData(f, m) || !t.mayBegin(f) {
		return
	}
	if f.rate != noRate && f.nextSend > now {
		f.flags |= flowPausing
		t.calendar.schedule(t.paceID(i), f.nextSend)
		return
	}
	link := t.firstLink(i, m)
	if link < 0 {
		return // no path now; the timeout tries again
	}
	f.flags |= flowReady
	f.nextReady = -1
	if q := &t.links[link].ready; q.head < 0 {
		q.head, q.tail = i, i
	} else {
		t.flows[q.tail].nextReady = i
		q.tail = i
	}
	t.kick(link, now)
}

// nextPacket returns the next packet of a message that has left the list of a link, or -1 if the
// window does not allow it any more.
func (t *transportState) nextPacket(i int32, now engine.Time) int32 {
	f, m := &t.flows[i], &t.messages[i]
	for len(m.resend) > 0 && (m.resend[0] < f.acked || m.slotOf(m.resend[0]).flags&slotAcked != 0) {
		m.resend = m.resend[1:] // it has arrived after all
	}
	if !t.hasData(f, m) || !t.mayBegin(f) {
		return -1
	}

	var number uint32
	var s *slot
	if len(m.resend) > 0 {
		number = m.resend[0]
		m.resend = m.resend[1:]
		s = m.slotOf(number)
		s.flags = s.flags&^slotLost | slotResent
		t.countResent(i)
	} else {
		if number = f.next; int(number-f.acked) == len(m.slots) {
			m.growSlots(f.acked, number)
		}
		s = m.slotOf(number)
		if number < m.examined { // go-back-n sends it again
			s.flags |= slotResent
			t.countResent(i)
		} else {
			*s = slot{}
		}
		f.next++
		m.examined = max(m.examined, f.next)
	}
	s.sent, s.entropy = now, m.drawn
	f.inFlight++
	if t.law == rcccLaw {
		f.credit--
	}

	bytes := uint32(t.packetBytes)
	if number == m.count-1 {
		bytes = m.lastBytes
	}
	if f.rate != noRate {
		f.nextSend = max(f.nextSend, now) + engine.Time(math.Ceil(float64(bytes)/f.rate))
	}
	if t.law == dcqcnLaw {
		t.dcqcnSent(i, bytes)
	}
	if f.deadline == engine.Never {
		t.armTimeout(i, now)
	}

	t.z.stats.countInjection(t.z, now)
	k := t.allocPacket()
	t.packets[k] = transportPacket{time: now, flow: i, number: number, size: bytes, route: m.route, ingress: -1, next: -1}
	return k
}

// countResent counts a packet that is sent again.
func (t *transportState) countResent(i int32) {
	t.stats.Resent++
	t.stats.Messages[i].Resent++
}
