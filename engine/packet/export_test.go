package packet

import "sim/engine"

// ForceQueues returns options with which all links are queued links.
func ForceQueues(o Options) Options {
	o.forceQueues = true
	return o
}

// ForceParallel returns options with which the work is divided between two goroutines,
// even if it is small.
func ForceParallel(o Options) Options {
	o.Workers, o.forceParallel = 2, true
	return o
}

// LPsAfter returns options with which lpSim starts after the given number of events
// whenever the run meets its conditions. -1 disables lpSim.
func LPsAfter(o Options, events int) Options {
	o.lpEvents = events
	return o
}

// RunLPs is like Run. It also returns the number of packets that links have sent in
// windows of lpSim.
func RunLPs(n *engine.Network, w *Work, o Options) (*Stats, int64, error) {
	z, err := newSim(n, w, o, w.maxPacket())
	if err != nil {
		return nil, 0, err
	}
	z.lps = z.newLPSim()
	z.scheduleSenders()
	if err := z.simulate(); err != nil {
		return nil, 0, err
	}
	s, err := z.finish()
	return s, z.lps.numSent(), err
}

// PacketEnd is the delivery or loss of a packet.
type PacketEnd struct {
	Flow       int32
	Inject, At engine.Time
	Dropped    bool
}

// RunLog is like Run. It also returns the ends of all packets in order. It always uses
// the event loop.
func RunLog(n *engine.Network, w *Work, o Options) (*Stats, []PacketEnd, error) {
	if err := check(n, w, nil, 0, &o); err != nil {
		return nil, nil, err
	}
	z, err := newSim(n, w, o, w.maxPacket())
	if err != nil {
		return nil, nil, err
	}
	z.log = &[]packetEnd{}
	z.scheduleSenders()
	if err := z.simulate(); err != nil {
		return nil, nil, err
	}
	s, err := z.finish()
	var ends []PacketEnd
	for _, a := range *z.log {
		ends = append(ends, PacketEnd{a.flow, a.injectTime, a.time, a.dropped})
	}
	return s, ends, err
}

// Permute exports permute.
func Permute(k, n, key uint64) uint64 { return permute(k, n, key) }

// NumComponents returns the number of components of componentSim, or 0 if the run does
// not meet its conditions.
func NumComponents(n *engine.Network, w *Work, o Options) int {
	z, err := newSim(n, w, o, w.maxPacket())
	if err != nil {
		return 0
	}
	p := z.newComponentSim(w)
	if p == nil {
		return 0
	}
	return len(p.componentList)
}
