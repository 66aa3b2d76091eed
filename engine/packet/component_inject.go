package packet

import "sim/engine"

// injectionBatch is the packets that a timed source injects at one time: one packet, or
// one packet of each flow.
type injectionBatch struct {
	eventKey            // of the injection; with several flows, of the event before the first packet
	time                engine.Time
	timeIndex           int32 // index in componentWindow.times
	firstFlow, numFlows int32
}

// collectInjections determines the injections of timed sources in the window.
func (p *componentSim) collectInjections() {
	p.injections = p.injections[:0]
	s := &p.workers[0].stats
	for i := range p.senders[p.firstTimed:] {
		w := &p.senders[int(p.firstTimed)+i]
		m := &p.injectors[w.injector]
		for w.time < p.end {
			f := injectionBatch{eventKey: w.eventKey, time: w.time, timeIndex: int32(p.timeIndex(w.time))}
			s.End = max(s.End, f.time)
			f.firstFlow, f.numFlows, w.time = m.startRound()
			w.scheduleTimes |= p.keyBit[f.timeIndex]
			p.injections = append(p.injections, f)
		}
	}
}

// injectShare injects a worker's share of the packets in componentWindow.injections. With
// n workers, this is every n-th packet of sources that inject single packets, and a range
// of the flows of the others.
func (k *componentWorker) injectShare() {
	p := k.componentSim
	self, numWorkers := int(k.number-1), len(p.workers)
	for i := range p.injections {
		f := &p.injections[i]
		firstIndex, endIndex, key := int32(int(f.numFlows)*self/numWorkers), int32(int(f.numFlows)*(self+1)/numWorkers), f.eventKey

		if f.numFlows == 1 {
			firstIndex, endIndex = 0, 0
			if i%numWorkers == self {
				endIndex = 1
			}
		}

		for flow := firstIndex; flow < endIndex; flow++ {
			k.stats.countInjection(p.sim, f.time)
			route := p.paths.choosePath(f.firstFlow + flow)
			step := p.paths.steps[route]
			if step == engine.Arrived {
				k.stats.countDelivery(p.sim, f.time, f.time, int64(p.packetBytes))
				continue
			}

			if f.numFlows > 1 {
				key.tieBreak = f.tieBreak + uint64(flow+1)<<maxKeyTimes
			}

			l := p.linkByPort[int(p.flows[f.firstFlow+flow].Src)*p.paths.degree+step.Port()]
			k.send(&k.outboxes[1+l>>linkBits], arrivalEvent{key, f.time, route, l&(maxComponentLinks-1)<<timeBits | f.timeIndex})
		}
	}
}
