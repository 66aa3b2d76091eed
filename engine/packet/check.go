package packet

import (
	"fmt"
	"math"
	"slices"
	"unsafe"

	"sim/engine"
)

// check returns an error if the work, the network and the options do not fit each other.
// If g is not nil, its transfers are split into packets of packetBytes.
//
// Times and counts are limited to a fraction of math.MaxInt64 in this file, so that sums
// of a few of them do not overflow.
func check(n *engine.Network, w *Work, g *engine.Graph, packetBytes int32, o *Options) error {
	if g != nil && (packetBytes < 1 || packetBytes > maxPacketBytes) {
		return fmt.Errorf("%w: packets of %d B; want 1 to %d", ErrWork, packetBytes, maxPacketBytes)
	}
	for _, err := range []error{checkRanks(g, n, o), checkNetwork(n), checkSources(w), checkOptions(n, max(int64(packetBytes), w.maxPacket()), o)} {
		if err != nil {
			return err
		}
	}

	// Count 0 means no limit for periodic and Poisson sources with a stop time. Every other source
	// with Count 0 sends nothing: newInjectors skips it. Only with the order Uniform, for which Count
	// is a mean over the flows, this is an error.
	for i, s := range w.Sources {
		if s.Count == 0 && s.Stop == 0 && s.Order == Uniform && s.First < s.End {
			return fmt.Errorf("%w: source %d sends nothing; want a count or a stop time", ErrWork, i)
		}
	}

	if err := checkPaths(n, w.Flows, w.Paths); err != nil {
		return fmt.Errorf("%w: %w", ErrWork, err)
	}
	if err := checkTransport(n, w, g != nil, packetBytes, o); err != nil {
		return err
	}
	return checkRewires(n, w, o)
}

// checkNetwork returns an error if the packet level cannot simulate n.
func checkNetwork(n *engine.Network) error {
	if err := n.Validate(); err != nil {
		return fmt.Errorf("%w: %w", ErrWork, err)
	}
	if len(n.Groups) > 0 {
		return fmt.Errorf("%w: the network has %d groups of links with a shared rate; want 0", ErrWork, len(n.Groups))
	}

	isSlow := func(rate float64) bool { return rate > 0 && rate < minRate }
	for i, l := range n.Links {
		switch name := n.ResourceName(int32(i)); {
		case l.From < 0 || l.To < 0 || l.From >= n.Nodes || l.To >= n.Nodes:
			return fmt.Errorf("%w: %s leads from %d to %d of %d nodes", ErrWork, name, l.From, l.To, n.Nodes)
		case l.Latency < 0 || l.Latency > maxTicks/2:
			return fmt.Errorf("%w: %s has a latency of %v; want 0 to %v", ErrWork, name, l.Latency, engine.Time(maxTicks/2))
		case isSlow(l.Rate):
			return fmt.Errorf("%w: %s has %g b/s; want at least %g b/s, or 0 for a link that is down", ErrWork, name, l.Rate, minRate)
		case l.Buffer < 0 || l.Channels < 0 || l.Channels > engine.MaxChannel+1:
			return fmt.Errorf("%w: %s has a buffer of %d B and %d channels; want at least 0 B and 0 to %d channels", ErrWork, name, l.Buffer, l.Channels, engine.MaxChannel+1)
		}
	}

	for _, c := range n.Changes {
		if isSlow(c.Rate) {
			return fmt.Errorf("%w: %s changes to %g b/s at %v; want at least %g b/s, or 0 for a failure", ErrWork, n.ResourceName(c.Link), c.Rate, c.At, minRate)
		}
	}
	return nil
}

// maxPacketBytes limits the packet size. A packet of this size at minRate takes less than
// 2^62 ticks.
const maxPacketBytes = 1 << 28

// maxTicks limits the times of sources and links in ticks, and the numbers of packets, so that
// sums of a few of them do not overflow.
const maxTicks = math.MaxInt64 / 4

// checkSources returns an error if a source has invalid or conflicting fields, or if a
// flow with a window has several sources.
func checkSources(w *Work) error {
	anyWindow := false
	for i := range w.Sources {
		if err := checkSource(w, i); err != nil {
			return err
		}
		anyWindow = anyWindow || w.Sources[i].Process == Window
	}
	if !anyWindow {
		return nil
	}

	hasSource, hasWindow := make([]bool, len(w.Flows)), make([]bool, len(w.Flows))
	for _, s := range w.Sources {
		for f := s.First; f < s.End && s.Process == Window; f++ {
			hasWindow[f] = true
		}
	}
	for i, s := range w.Sources {
		for f := s.First; f < s.End; f++ {
			if hasSource[f] && hasWindow[f] {
				return fmt.Errorf("%w: flow %d of source %d has another source; want a single source for a flow with a window", ErrWork, f, i)
			}
			hasSource[f] = true
		}
	}
	return nil
}

// checkSource returns an error if source i has invalid or conflicting fields.
func checkSource(w *Work, i int) error {
	s := &w.Sources[i]
	invalid := func(format string, args ...any) error {
		return fmt.Errorf("%w: source %d (%s, %s) of flows %d..%d %s", ErrWork, i, s.Process, s.Order, s.First, s.End-1, fmt.Sprintf(format, args...))
	}

	isOpen := s.Process == Periodic || s.Process == Poisson
	injections := float64(s.Count) // with order Together, one injection has a packet of each flow
	if s.Order != Together {
		injections *= float64(s.End - s.First)
	}

	// If Every is 0, the time of injections never advances. A periodic source then sends all its
	// packets at Start and ends by Count, because it never reaches Stop. A Poisson process has no
	// such limit.
	switch {
	case s.Process > Window || s.Order > Uniform:
		return invalid("has an unknown process or order")
	case s.First < 0 || int(s.End) > len(w.Flows) || s.First > s.End:
		return invalid("is not within the %d flows", len(w.Flows))
	case s.Bytes < 1 || s.Bytes > maxPacketBytes:
		return invalid("sends packets of %d B; want 1 to %d", s.Bytes, maxPacketBytes)
	case s.Last < 0 || s.Last > s.Bytes:
		return invalid("has a last packet of %d B per flow; want at most %d B", s.Last, s.Bytes)
	case s.Last > 0 && (s.Process == Poisson || s.Order == Uniform || s.Count == 0):
		return invalid("has a last packet of %d B per flow, but no count of packets per flow; want 0 B", s.Last)
	case s.Count < 0 || s.Start < 0 || s.Stop < 0 || injections > maxTicks:
		return invalid("sends %d packets per flow from %v until %v; want values of at least 0, and fewer than 2^61 packets", s.Count, s.Start, s.Stop)
	case !(s.Every >= 0) || s.Every > maxTicks || isOpen && float64(s.Start)+s.Every*injections > maxTicks:
		return invalid("sends every %g ticks, %g times; want at least 0 and an end within %v", s.Every, injections, engine.Time(maxTicks))
	case isOpen && s.Every == 0 && (s.Process == Poisson || s.Stop > 0):
		return invalid("sends every 0 ticks; want more than 0")
	case !isOpen && (s.Every != 0 || s.Stop != 0):
		return invalid("sends every %g ticks and stops at %v; want neither", s.Every, s.Stop)
	case s.Process == Greedy && (s.Order == Together || s.Order == Uniform):
		return invalid("has an unsupported order; want round-robin, random or sequential")
	case s.Process == Window && (s.Order != Together || s.Window < 1):
		return invalid("has a window of %d packets; want at least 1, and the order together", s.Window)
	case s.Process != Window && (s.Window != 0 || s.Ack != 0) || s.Ack < 0 || s.Ack > maxTicks/2:
		return invalid("has a window of %d packets and acknowledgements after %v; want 0 except for process window, and times of at least 0", s.Window, s.Ack)
	case s.Offset < 0 || s.Offset > 0 && s.Offset >= s.End-s.First || s.Offset > 0 && s.Order != RoundRobin && s.Order != Sequential:
		return invalid("starts at offset %d; want an offset within its flows, and the order round-robin or sequential", s.Offset)
	case s.Stop > 0 && s.Count == 0 && s.Order == Sequential:
		return invalid("never finishes its first flow; want a count")
	}
	return nil
}

// maxPacket returns the size of the largest packet in bytes.
func (w *Work) maxPacket() int64 {
	maxBytes := int64(0)
	for _, s := range w.Sources {
		if s.First < s.End {
			maxBytes = max(maxBytes, int64(s.Bytes))
		}
	}
	return maxBytes
}

// checkOptions returns an error if options are invalid. maxPacket is the size of the
// largest packet in bytes.
func checkOptions(n *engine.Network, maxPacket int64, o *Options) error {
	switch {
	case o.Control > Credit:
		return fmt.Errorf("%w: unknown flow control %s; want one of %v", ErrWork, o.Control, controlNames)
	case !(o.BitErrorRate >= 0) || packetErrorRate(o.BitErrorRate, maxPacket) > maxErrorRate:
		return fmt.Errorf("%w: at a bit error rate of %g, a packet of %d B fails with probability %.3g; want at most %g, and a rate of at least 0",
			ErrWork, o.BitErrorRate, maxPacket, packetErrorRate(o.BitErrorRate, maxPacket), maxErrorRate)
	case o.Until < 0 || o.SampleEvery < 0 || o.MaxBytes < 0 || o.MeasureFrom < 0 || o.MeasureUntil < 0 || o.MeasureUntil > 0 && o.MeasureUntil <= o.MeasureFrom:
		return fmt.Errorf("%w: until %v, measured from %v until %v, sampled every %v, at most %d B; want values of at least 0, and an end after the start",
			ErrWork, o.Until, o.MeasureFrom, o.MeasureUntil, o.SampleEvery, o.MaxBytes)
	case o.React != nil && o.Control == Credit:
		return fmt.Errorf("%w: reactions to the ends of tasks with credits; want flow control %v", ErrWork, DropTail)
	case o.EndMeasured && o.MeasureUntil == 0:
		return fmt.Errorf("%w: EndMeasured requires an end of the measured time; want a MeasureUntil above 0", ErrWork)
	}

	if o.Control == Credit {
		for i, l := range n.Links {
			if l.Buffer > 0 && l.Buffer < maxPacket {
				return fmt.Errorf("%w: %s has a buffer of %d B per channel, but packets have up to %d B; want a buffer for at least one packet", ErrWork, n.ResourceName(int32(i)), l.Buffer, maxPacket)
			}
		}
	}
	return nil
}

// maxErrorRate is the largest probability of a failed transmission that is accepted.
// Beyond it, the number of retransmissions has no useful bound.
const maxErrorRate = 0.99

// packetErrorRate returns the probability that a packet has at least one bit error.
func packetErrorRate(rate float64, bytes int64) float64 {
	if rate >= 1 {
		return 1
	}
	return -math.Expm1(8 * float64(bytes) * math.Log1p(-rate))
}

// checkRewires returns an error if a Rewire has paths that do not connect the flows over
// the links that are up at that time.
func checkRewires(n *engine.Network, w *Work, o *Options) error {
	if len(o.Rewire) == 0 {
		return nil
	}
	later := *n
	later.Links = slices.Clone(n.Links)
	changes := n.Changes
	for i, r := range o.Rewire {
		if r.At < 0 || i > 0 && r.At < o.Rewire[i-1].At || r.Paths == nil || (r.Paths.Spread == nil) != (w.Paths.Spread == nil) {
			return fmt.Errorf("%w: Rewire[%d] is at %v; want times in order, and paths that have Spread if the initial paths have it", ErrWork, i, r.At)
		}
		for ; len(changes) > 0 && changes[0].At <= r.At; changes = changes[1:] {
			later.Links[changes[0].Link].Rate = changes[0].Rate
		}
		if err := checkPaths(&later, w.Flows, r.Paths); err != nil {
			return fmt.Errorf("%w: Rewire[%d] at %v: %w", ErrWork, i, r.At, err)
		}
	}
	return nil
}

// initialMemory returns an estimate of the memory at the start of a run in bytes. It
// covers the state of links and sources, and the packets that are injected
// simultaneously. PacketBytes is the memory of one packet.
func initialMemory(n *engine.Network, w *Work, o *Options) int64 {
	links := int64(len(n.Links))
	bytes := links * int64(unsafe.Sizeof(scheduledLink{}))

	if needsQueues(n, o) {
		// Under Credit, a channel has two queues, for through traffic and for host traffic; see
		// queuedLink. Otherwise a link has only one, and the estimate is higher than necessary.
		queues := int64(0)
		for _, l := range n.Links {
			queues += 2 * int64(max(1, l.Channels))
		}
		bytes += links*int64(unsafe.Sizeof(queuedLink{})) + queues*int64(unsafe.Sizeof(packetQueue{}))
	}
	// perEvent is the memory in the calendar of an event with a time of its own, rounded up: its
	// entry in next, its eventRun, and its farRun (calendar.go).
	const perEvent = 64
	bytes += eventsPerLink * links * perEvent

	perInjector := int64(unsafe.Sizeof(injector{})) + perEvent
	for _, s := range w.Sources {
		flows := int64(s.End - s.First)
		switch {
		case s.Process == Greedy: // a list of flows, and an injector per first link
			const maxFirstLinks = 64 // ports of a node, as an estimate
			bytes += 4*flows + min(flows, maxFirstLinks)*perInjector
		case s.Process == Poisson && s.Order == Together: // an injector per flow
			const rngBytes = 64 // state of its random number generator
			bytes += flows * (perInjector + rngBytes)
		case s.Process == Window: // per flow: its injector, a counter, and a window of packets
			bytes += 16*flows + flows*min(int64(s.Window), s.Count)*PacketBytes
		case s.Every == 0: // all packets at once
			bytes += perInjector + flows*s.Count*PacketBytes
		default:
			bytes += perInjector + flows*min(1, s.Count)*PacketBytes
		}
	}
	return bytes
}

// needsQueues reports whether the run requires queued links.
func needsQueues(n *engine.Network, o *Options) bool {
	return o.forceQueues || o.Control == Credit || o.BitErrorRate > 0 || len(n.Changes) > 0 || len(o.Rewire) > 0 || o.React != nil || o.hasRanks() ||
		slices.ContainsFunc(n.Links, func(l engine.Link) bool { return l.Buffer > 0 })
}
