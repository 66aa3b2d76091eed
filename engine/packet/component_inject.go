package packet

// This file injects the packets of timed sources into a window of componentSim, a span of
// simulated time in which each component of links is simulated once.
//
// A timed source injects at times that do not depend on the network. Its injections are
// therefore known before the window is simulated. Worker 0 first collects them for all
// sources (collectInjections). Then each worker chooses the paths of a share of the
// packets (injectShare). A packet goes to the mailbox of the component that has its first
// link. When that component is simulated, the packet arrives at the link at the time of
// its injection.

import "sim/engine"

// injectionBatch is the packets that a timed source injects at one time: one packet, or
// one packet of each flow if the source has the order Together.
//
// The key determines the order of simultaneous events; see eventKey. With several flows,
// numOrdinals reserves consecutive ordinals for the injection. The key has the first one,
// and the packet of flow firstFlow+i has the one that is i+1 higher.
type injectionBatch struct {
	eventKey
	time                engine.Time
	timeIndex           int32 // index of time in componentWindow.times
	firstFlow, numFlows int32 // flows firstFlow <= f < firstFlow+numFlows
}

// collectInjections determines the injections of timed sources in the window, which ends
// before p.end. It also updates the next event of each source: an entry of senders, where
// the timed sources follow the greedy ones.
func (p *componentSim) collectInjections() {
	p.injections = p.injections[:0]
	s := &p.workers[0].stats
	for i := range p.senders[p.firstTimed:] {
		w := &p.senders[int(p.firstTimed)+i]
		m := &p.injectors[w.injector]
		for w.time < p.end {
			batch := injectionBatch{eventKey: w.eventKey, time: w.time, timeIndex: int32(p.timeIndex(w.time))}
			s.End = max(s.End, batch.time)

			// The event schedules the next injection of the source.
			w.eventKey = p.childKey(w.eventKey, int(batch.timeIndex))
			batch.firstFlow, batch.numFlows, w.time = m.startRound()
			p.injections = append(p.injections, batch)
		}
	}
}

// injectShare injects this worker's share of the packets in componentWindow.injections.
// With n workers, the share is every n-th of the batches with a single packet, and an
// n-th of the flows of each other batch.
func (k *componentWorker) injectShare() {
	numWorkers := len(k.workers)
	for i := range k.injections {
		batch := &k.injections[i]
		if batch.numFlows == 1 {
			if i%numWorkers == k.index {
				k.injectTimed(batch, batch.firstFlow, batch.eventKey)
			}
			continue
		}

		numFlows := int(batch.numFlows)
		for flow := numFlows * k.index / numWorkers; flow < numFlows*(k.index+1)/numWorkers; flow++ {
			k.injectTimed(batch, batch.firstFlow+int32(flow), batch.withLaterOrdinal(flow+1))
		}
	}
}

// injectTimed sends the packet of a flow in a batch to the component of its first link.
// The key is the key of its arrival there.
func (k *componentWorker) injectTimed(batch *injectionBatch, flow int32, key eventKey) {
	p := k.componentSim
	k.stats.countInjection(p.sim, batch.time)
	route := p.paths.choosePath(flow) // index of the first step of its path
	step := p.paths.steps[route]
	if step == engine.Arrived { // source and destination are the same node
		k.stats.countDelivery(p.sim, batch.time, batch.time, int64(p.packetBytes))
		return
	}

	firstPort := int(p.flows[flow].Src) * p.paths.degree // index in linkByPort of port 0 of the source
	firstLink := p.linkByPort[firstPort+step.Port()]
	k.sendTo(firstLink, int(batch.timeIndex), arrivalEvent{eventKey: key, injectTime: batch.time, route: route})
}
