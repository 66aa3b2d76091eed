package packet

import "sim/engine"

// Served returns options under which packets are served one by one.
func Served(o Options) Options {
	o.serve = true
	return o
}

// Divided returns options under which work is divided between two goroutines, however little there is.
func Divided(o Options) Options {
	o.Workers, o.divide = 2, true
	return o
}

// Apart returns options under which links are simulated apart after so many events whenever they can be; -1 is never.
func Apart(o Options, events int) Options {
	o.apart = events
	return o
}

// RunApart is Run with how many packets links have sent that were simulated apart.
func RunApart(n *engine.Network, w *Work, o Options) (*Stats, int64, error) {
	z, err := newSim(n, w, o, w.largest())
	if err != nil {
		return nil, 0, err
	}
	z.apart = z.newApart()
	z.schedule()
	if err := z.simulate(); err != nil {
		return nil, 0, err
	}
	s, err := z.finish()
	return s, z.apart.sum(), err
}

// Arrival is the end of a packet.
type Arrival struct {
	Flow       int32
	Inject, At engine.Time
	Dropped    bool
}

// RunLog is Run with what became of every packet, in order.
func RunLog(n *engine.Network, w *Work, o Options) (*Stats, []Arrival, error) {
	if err := check(n, w, nil, 0, &o); err != nil {
		return nil, nil, err
	}
	z, err := newSim(n, w, o, w.largest())
	if err != nil {
		return nil, nil, err
	}
	z.log = &[]arrival{}
	z.schedule()
	if err := z.simulate(); err != nil {
		return nil, nil, err
	}
	s, err := z.finish()
	var all []Arrival
	for _, a := range *z.log {
		all = append(all, Arrival{a.flow, a.inject, a.at, a.dropped})
	}
	return s, all, err
}

// Shuffled is where an order puts k.
func Shuffled(k, n, key uint64) uint64 { return shuffled(k, n, key) }

// Parts returns how many parts packets are simulated in, 0 where they are not.
func Parts(n *engine.Network, w *Work, o Options) int {
	z, err := newSim(n, w, o, w.largest())
	if err != nil {
		return 0
	}
	p := z.newParts(w)
	if p == nil {
		return 0
	}
	return len(p.part)
}
