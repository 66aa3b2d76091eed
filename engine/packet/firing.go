package packet

import "sim/engine"

// firing is packets that a source injects at a time: one, or one of each flow.
type firing struct {
	key      // of the event; with many flows, of what comes before them
	at       engine.Time
	t        int32 // which time of the window that is
	first, n int32 // flows
}

// fires takes down what sources that are not greedy inject in the window.
func (p *parts) fires() {
	p.firings = p.firings[:0]
	s := &p.workers[0].stats
	for i := range p.wait[p.timed:] {
		w := &p.wait[int(p.timed)+i]
		m := &p.injectors[w.source]
		for w.at < p.end {
			f := firing{key: w.key, at: w.at, t: int32(p.index(w.at))}
			s.End = max(s.End, f.at)
			f.first, f.n, w.at = m.round()
			w.set |= p.bit[f.t]
			p.firings = append(p.firings, f)
		}
	}
}

// inject injects a worker's share of the window's packets.
func (k *worker) inject() {
	p := k.parts
	me, all := int(k.number-1), len(p.workers)
	for i := range p.firings {
		f := &p.firings[i]
		from, end, of := int32(int(f.n)*me/all), int32(int(f.n)*(me+1)/all), f.key
		if f.n == 1 {
			from, end = 0, 0
			if i%all == me {
				end = 1
			}
		}
		for flow := from; flow < end; flow++ {
			k.stats.inject(p.sim, f.at)
			route := p.paths.path(f.first + flow)
			step := p.paths.step[route]
			if step == engine.Arrived {
				k.stats.deliver(p.sim, f.at, f.at, int64(p.size))
				continue
			}
			if f.n > 1 {
				of.rest = f.rest + uint64(flow+1)<<keyTimes
			}
			l := p.port[int(p.flows[f.first+flow].Src)*p.paths.degree+step.Port()]
			k.send(&k.out[1+l>>linkBits], coming{of, f.at, route, l&(mostLinks-1)<<timeBits | f.t})
		}
	}
}
