package packet

import (
	"fmt"
	"math"
	"slices"
	"unsafe"

	"sim/engine"
)

// check fails if work, tasks in packets of so many bytes, network and options do not fit each other. g is nil if there
// are no tasks.
func check(n *engine.Network, w *Work, g *engine.Graph, packetBytes int32, o *Options) error {
	if g != nil && (packetBytes < 1 || packetBytes > maxPacketBytes) {
		return fmt.Errorf("%w: packets of %d B; want 1 to %d", ErrWork, packetBytes, maxPacketBytes)
	}
	for _, err := range []error{checkRanks(g, n, o), checkNetwork(n), checkSources(w), checkOptions(n, max(int64(packetBytes), w.maxPacket()), o)} {
		if err != nil {
			return err
		}
	}
	for i, s := range w.Sources {
		if s.Count == 0 && s.Stop == 0 && s.Order == Uniform && s.First < s.End {
			return fmt.Errorf("%w: source %d sends nothing; want a count or a time to stop", ErrWork, i)
		}
	}
	if err := checkPaths(n, w.Flows, w.Paths); err != nil {
		return fmt.Errorf("%w: %w", ErrWork, err)
	}
	return checkRewires(n, w, o)
}

func checkNetwork(n *engine.Network) error {
	if err := n.Validate(); err != nil {
		return fmt.Errorf("%w: %w", ErrWork, err)
	}
	if len(n.Groups) > 0 {
		return fmt.Errorf("%w: it has %d groups that links share; want links alone", ErrWork, len(n.Groups))
	}
	isSlow := func(rate float64) bool { return rate > 0 && rate < minRate }
	for i, l := range n.Links {
		switch name := n.ResourceName(int32(i)); {
		case l.From < 0 || l.To < 0 || l.From >= n.Nodes || l.To >= n.Nodes:
			return fmt.Errorf("%w: %s leads from %d to %d of %d nodes", ErrWork, name, l.From, l.To, n.Nodes)
		case l.Latency < 0 || l.Latency > math.MaxInt64/8:
			return fmt.Errorf("%w: %s has a latency of %v; want at least 0", ErrWork, name, l.Latency)
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

// maxPacketBytes is the largest packet.
const maxPacketBytes = 1 << 28

func checkSources(w *Work) error {
	hasWindow := make([]bool, 0)
	for i, s := range w.Sources {
		invalid := func(format string, args ...any) error {
			return fmt.Errorf("%w: source %d (%s, %s) of flows %d..%d %s", ErrWork, i, s.Process, s.Order, s.First, s.End-1, fmt.Sprintf(format, args...))
		}
		isOpen := s.Process == Periodic || s.Process == Poisson
		injections := float64(s.Count)
		if s.Order != Together {
			injections *= float64(s.End - s.First)
		}
		switch {
		case s.Process > Window || s.Order > Uniform:
			return invalid("is of no known kind")
		case s.First < 0 || int(s.End) > len(w.Flows) || s.First > s.End:
			return invalid("of %d flows", len(w.Flows))
		case s.Bytes < 1 || s.Bytes > maxPacketBytes:
			return invalid("sends packets of %d B; want 1 to %d", s.Bytes, maxPacketBytes)
		case s.Last < 0 || s.Last > s.Bytes:
			return invalid("ends each flow with a packet of %d B; want at most the %d B of others", s.Last, s.Bytes)
		case s.Last > 0 && (s.Process == Poisson || s.Order == Uniform || s.Count == 0):
			return invalid("ends each flow with a packet of %d B, but counts no packets of a flow; want 0 B", s.Last)
		case s.Count < 0 || s.Start < 0 || s.Stop < 0 || injections > math.MaxInt64/4:
			return invalid("sends %d packets of each from %v until %v; want none negative, and fewer than 2^61 packets", s.Count, s.Start, s.Stop)
		case !(s.Every >= 0) || s.Every > math.MaxInt64/4 || isOpen && float64(s.Start)+s.Every*injections > math.MaxInt64/4:
			return invalid("sends every %g ticks, %g times; want at least 0 and an end within %v", s.Every, injections, engine.Never/4)
		case isOpen && s.Every == 0 && (s.Process == Poisson || s.Stop > 0):
			return invalid("sends every 0 ticks; want more")
		case !isOpen && (s.Every != 0 || s.Stop != 0):
			return invalid("sends every %g ticks and stops at %v; want neither", s.Every, s.Stop)
		case s.Process == Greedy && (s.Order == Together || s.Order == Uniform):
			return invalid("wants the order round-robin, random or sequential")
		case s.Process == Window && (s.Order != Together || s.Window < 1):
			return invalid("has a window of %d packets; want at least 1, and no order", s.Window)
		case s.Process != Window && (s.Window != 0 || s.Ack != 0) || s.Ack < 0 || s.Ack > math.MaxInt64/8:
			return invalid("has a window of %d packets and acknowledgements after %v; want neither but for window, and no negative time", s.Window, s.Ack)
		case s.Offset < 0 || s.Offset > 0 && s.Offset >= s.End-s.First || s.Offset > 0 && s.Order != RoundRobin && s.Order != Sequential:
			return invalid("begins at flow %d of them; want one of them, in an order that has a beginning", s.Offset)
		case s.Stop > 0 && s.Count == 0 && s.Order == Sequential:
			return invalid("never ends its first flow; want a count")
		case s.Process == Window:
			if len(hasWindow) == 0 {
				hasWindow = make([]bool, len(w.Flows))
			}
			for f := s.First; f < s.End; f++ {
				hasWindow[f] = true
			}
		}
	}
	if len(hasWindow) == 0 {
		return nil
	}
	numSources := make([]int32, len(w.Flows))
	for i, s := range w.Sources {
		for f := s.First; f < s.End; f++ {
			if numSources[f]++; numSources[f] > 1 && hasWindow[f] {
				return fmt.Errorf("%w: flow %d of source %d has another source; want one alone where it has a window", ErrWork, f, i)
			}
		}
	}
	return nil
}

// maxPacket returns the size of the largest packet.
func (w *Work) maxPacket() int64 {
	maxBytes := int64(0)
	for _, s := range w.Sources {
		if s.First < s.End {
			maxBytes = max(maxBytes, int64(s.Bytes))
		}
	}
	return maxBytes
}

func checkOptions(n *engine.Network, maxPacket int64, o *Options) error {
	switch {
	case o.Control > Credit:
		return fmt.Errorf("%w: there is no flow %s; want one of %v", ErrWork, o.Control, controlNames)
	case !(o.BitErrorRate >= 0) || packetErrorRate(o.BitErrorRate, maxPacket) > maxErrorRate:
		return fmt.Errorf("%w: with %g wrong bits of all, a packet of %d B fails with probability %.3g; want at most %g, and a rate of at least 0",
			ErrWork, o.BitErrorRate, maxPacket, packetErrorRate(o.BitErrorRate, maxPacket), maxErrorRate)
	case o.Until < 0 || o.SampleEvery < 0 || o.MaxBytes < 0 || o.MeasureFrom < 0 || o.MeasureUntil < 0 || o.MeasureUntil > 0 && o.MeasureUntil <= o.MeasureFrom:
		return fmt.Errorf("%w: until %v, measured from %v until %v, sampled every %v, at most %d B; want none negative, and an end after the beginning",
			ErrWork, o.Until, o.MeasureFrom, o.MeasureUntil, o.SampleEvery, o.MaxBytes)
	case o.React != nil && o.Control == Credit:
		return fmt.Errorf("%w: links that change as tasks end beside credits; want %v", ErrWork, DropTail)
	case o.EndMeasured && o.MeasureUntil == 0:
		return fmt.Errorf("%w: it is to end when what is measured has arrived, but measures without end", ErrWork)
	}
	if o.Control == Credit {
		for i, l := range n.Links {
			if l.Buffer > 0 && l.Buffer < maxPacket {
				return fmt.Errorf("%w: %s has a buffer of %d B a channel, packets have up to %d B; want room for one at least", ErrWork, n.ResourceName(int32(i)), l.Buffer, maxPacket)
			}
		}
	}
	return nil
}

// maxErrorRate is how likely a packet may fail at most: beyond, retries have no end.
const maxErrorRate = 0.99

// packetErrorRate returns the probability that a packet has a bit error.
func packetErrorRate(rate float64, bytes int64) float64 {
	if rate >= 1 {
		return 1
	}
	return -math.Expm1(8 * float64(bytes) * math.Log1p(-rate))
}

// checkRewires fails where paths do not lead flows over the links that are up when they begin.
func checkRewires(n *engine.Network, w *Work, o *Options) error {
	if len(o.Rewire) == 0 {
		return nil
	}
	later := *n
	later.Links = slices.Clone(n.Links)
	changes := n.Changes
	for i, r := range o.Rewire {
		if r.At < 0 || i > 0 && r.At < o.Rewire[i-1].At || r.Paths == nil || (r.Paths.Spread == nil) != (w.Paths.Spread == nil) {
			return fmt.Errorf("%w: rewiring %d is at %v; want them ordered by time, and of the kind that leads packets from the start", ErrWork, i, r.At)
		}
		for ; len(changes) > 0 && changes[0].At <= r.At; changes = changes[1:] {
			later.Links[changes[0].Link].Rate = changes[0].Rate
		}
		if err := checkPaths(&later, w.Flows, r.Paths); err != nil {
			return fmt.Errorf("%w: rewiring %d at %v: %w", ErrWork, i, r.At, err)
		}
	}
	return nil
}

// initialMemory returns what is needed from the start, in bytes: the state of links and sources, and the packets that are
// injected at once.
func initialMemory(n *engine.Network, w *Work, o *Options) int64 {
	links := int64(len(n.Links))
	bytes := links * int64(unsafe.Sizeof(scheduledLink{}))
	if needsQueues(n, o) {
		queues := int64(0)
		for _, l := range n.Links {
			queues += 2 * int64(max(1, l.Channels))
		}
		bytes += links*int64(unsafe.Sizeof(queuedLink{})) + queues*int64(unsafe.Sizeof(packetQueue{}))
	}
	const perEvent = 64 // an id, and a bucket of its own
	perInjector := int64(unsafe.Sizeof(injector{})) + perEvent
	bytes += 3 * links * perEvent
	for _, s := range w.Sources {
		flows := int64(s.End - s.First)
		switch {
		case s.Process == Greedy:
			bytes += 4*flows + min(flows, 64)*perInjector
		case s.Process == Poisson && s.Order == Together:
			bytes += flows * (perInjector + 64)
		case s.Process == Window:
			bytes += 16*flows + flows*min(int64(s.Window), s.Count)*PacketBytes
		case s.Every == 0:
			bytes += perInjector + flows*s.Count*PacketBytes
		default:
			bytes += perInjector + flows*min(1, s.Count)*PacketBytes
		}
	}
	return bytes
}

// needsQueues reports whether packets must be served one by one.
func needsQueues(n *engine.Network, o *Options) bool {
	return o.forceQueues || o.Control == Credit || o.BitErrorRate > 0 || len(n.Changes) > 0 || len(o.Rewire) > 0 || o.React != nil || o.hasRanks() ||
		slices.ContainsFunc(n.Links, func(l engine.Link) bool { return l.Buffer > 0 })
}
