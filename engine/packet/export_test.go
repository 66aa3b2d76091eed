package packet

import "sim/engine"

// ForceQueues returns options under which packets are served one by one.
func ForceQueues(o Options) Options {
	o.forceQueues = true
	return o
}

// ForceParallel returns options under which work is divided between two goroutines,
// however little there is.
func ForceParallel(o Options) Options {
	o.Workers, o.forceParallel = 2, true
	return o
}

// LPsAfter returns options under which links are simulated apart after so many events
// whenever they can be; -1 is never.
func LPsAfter(o Options, events int) Options {
	o.lpEvents = events
	return o
}

// RunLPs is Run with how many packets links have sent that were simulated apart.
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

// PacketEnd is the end of a packet.
type PacketEnd struct {
	Flow       int32
	Inject, At engine.Time
	Dropped    bool
}

// RunLog is Run with what became of every packet, in order.
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

// Permute is where an order puts k.
func Permute(k, n, key uint64) uint64 { return permute(k, n, key) }

// NumComponents returns how many parts packets are simulated in, 0 where they are not.
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
