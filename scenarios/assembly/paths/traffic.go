// This file generates the flows of a workload, and the packet sources that send them.

package paths

import (
	"context"
	"slices"

	"sim/engine"
	"sim/engine/packet"
	"sim/engine/units"
	"sim/workloads/collective"
)

// trafficLoad is the generated traffic of a scenario. Its flows are ordered by
// part, and within a part by source.
type trafficLoad struct {
	flows  []engine.Flow
	demand []float64 // messages of each flow; nil if each flow has one
	parts  []trafficPart
	graph  *engine.Graph // dependencies of transfers; nil if all messages are sent at once
	call   *expandedCall // nil of other work
	// rateGroups are ranges of tasks, from first to before last. At level flow,
	// the transfers of one source within a range share one rate.
	rateGroups [][2]int
}

// trafficPart is a range of flows that send at the same times.
type trafficPart struct {
	first, end int32               // flows of trafficLoad: first <= f < end
	traffic    *collective.Traffic // the same flows, with the sizes of messages
	periods    []onPeriod          // times in which the flows send; nil if there is no alternation
	isRing     bool                // rings of data-tensor traffic, which have their own rate
}

// onPeriod is a time in which on-off sources send.
type onPeriod struct{ start, duration engine.Time }

// workKind returns the functions that generate the workload. Work of ranks and
// collective calls have no name in Kinds.
func (s *Scenario) workKind() *Kind {
	switch {
	case s.Workload.Work != nil:
		return &Kind{load: workLoad, check: checkWorkCalls}
	case s.Workload.Call != nil:
		expand := func(ctx context.Context, r *routingSystem, _ int64) (*trafficLoad, error) {
			return r.expandCall(ctx)
		}
		return &Kind{load: expand}
	}
	return s.trafficKind()
}

// trafficFunc generates the traffic of a kind, with messages of the given bytes.
type trafficFunc func(r *routingSystem, message int64) (*collective.Traffic, error)

// immediateLoad returns Kind.load of traffic whose messages are all sent at once.
func immediateLoad(
	generate trafficFunc,
) func(context.Context, *routingSystem, int64) (*trafficLoad, error) {
	return func(_ context.Context, r *routingSystem, message int64) (*trafficLoad, error) {
		t, err := generate(r, message)
		if err != nil {
			return nil, err
		}
		return &trafficLoad{
			flows: t.Flows, demand: t.Demand(),
			parts: []trafficPart{{end: int32(len(t.Flows)), traffic: t}},
		}, nil
	}
}

// checkImmediate returns Kind.check of such traffic. keys are the kind's own keys
// that may cause an error.
func checkImmediate(
	generate trafficFunc, keys ...string,
) func(*routingSystem, int64, []string) ([]string, error) {
	return func(r *routingSystem, message int64, fabricKeys []string) ([]string, error) {
		_, err := generate(r, message)
		retry := func() error {
			const oneByte = 1 // the smallest message: does its size cause the error?
			_, err := generate(r, oneByte)
			return err
		}
		return blamedKeys(err, append(slices.Clone(keys), fabricKeys...), retry)
	}
}

// buildLoad generates the traffic of the scenario.
func (r *routingSystem) buildLoad(ctx context.Context) (*trafficLoad, error) {
	w := &r.s.Workload
	message := int64(w.Message)
	if message < 1 {
		message = int64(w.Payload) // on-off sources have no message size; any unit of loads will do
	}
	l, err := r.s.workKind().load(ctx, r, message)
	if err == nil && l.graph != nil {
		l.graph.MessageOverhead = r.s.Engine.MessageOverhead
	}
	return l, err
}

// matrixTraffic returns the traffic that the scenario lists. In a graph it is
// between the nodes that are not switches.
func (r *routingSystem) matrixTraffic(int64) (*collective.Traffic, error) {
	if r.Torus != nil {
		return r.s.Matrix(r.numNodes(), r.Down)
	}
	var noneDown []bool // faults of nodes exist only on a torus
	t, err := r.s.Matrix(r.s.Fabric.GPUs(), noneDown)
	if err == nil {
		t.Nodes = r.numNodes()
	}
	return t, err
}

// patternTraffic returns the traffic of a pattern of collective.Patterns.
func (r *routingSystem) patternTraffic(message int64) (*collective.Traffic, error) {
	in := collective.PatternInput{Nodes: r.numNodes(), Seed: r.s.Seed, Down: r.Down}
	return r.s.Workload.Pattern().Traffic(in, message)
}

// checkPattern is Kind.check of patterns. Of hot spots it draws only the hot
// nodes.
func (r *routingSystem) checkPattern(message int64, fabricKeys []string) ([]string, error) {
	w := &r.s.Workload
	if h := w.HotSpots(); h != nil {
		_, err := collective.HotNodes(h.Nodes, r.numNodes(), r.s.Seed, r.Down)
		return []string{"workload.hot_nodes"}, err
	}
	_, err := r.patternTraffic(message)
	return append(patternKeys(w.Pattern()), fabricKeys...), err
}

// numNodes returns the number of nodes, including nodes that are down.
func (r *routingSystem) numNodes() int {
	if r.Torus != nil {
		return r.Torus.Nodes()
	}
	return int(r.Whole.Nodes)
}

// Matrix returns the traffic that the scenario lists, among the first nodes of a
// fabric. down is indexed by node, or nil.
func (s *Scenario) Matrix(nodes int, down []bool) (*collective.Traffic, error) {
	return collective.FromEntries(s.Workload.Kind, nodes, s.Workload.Entries(), down)
}

// packetTime returns the time of a packet on a link with the fabric's rate, in
// ticks.
func (s *Scenario) packetTime() float64 {
	return 8 * float64(s.Workload.Packet) / float64(s.Fabric.LinkRate) * float64(engine.Second)
}

// numPackets returns the packets of flow f of the part, if each carries up to
// payload bytes.
func (p *trafficPart) numPackets(f int, payload int64) int64 {
	return (p.traffic.Size(f) + payload - 1) / payload
}

// sources returns the packet sources of the traffic. maxLoad is the load of the
// bottleneck in messages, to which paced sources adapt.
func (r *routingSystem) sources(maxLoad float64) ([]packet.Source, error) {
	w := &r.s.Workload
	var all []packet.Source
	for i := range r.load.parts {
		p := &r.load.parts[i]
		switch w.Source {
		case "on-off":
			all = append(all, r.onOffSources(p)...)
		case "poisson":
			all = append(all, r.poissonSources(p)...)
		case "paced":
			all = append(all, r.pacedSources(p, maxLoad)...)
		case "greedy", "window":
			order, err := packet.ParseOrder(w.Injection)
			if w.Source == "greedy" && err != nil {
				return nil, err
			}
			all = append(all, r.closedLoopSources(p, order)...)
		}
	}

	return all, nil
}

// newSource returns a source of flows first to end-1 with the common options.
func (r *routingSystem) newSource(first, end int32) packet.Source {
	return packet.Source{
		First: first, End: end, Bytes: int32(r.s.Workload.Packet), Seed: r.s.Seed,
	}
}

// onOffSources returns one source per period. It sends a packet of each flow at
// the same time; the first is sent one interval after the start of the period.
func (r *routingSystem) onOffSources(p *trafficPart) []packet.Source {
	w := &r.s.Workload
	periods, rate := p.periods, float64(w.Rate)
	if periods == nil {
		periods = []onPeriod{{w.Start, w.Duration}}
	}
	if p.isRing {
		rate = float64(w.RingRate)
	}

	var all []packet.Source
	for _, t := range periods {
		schedule := collective.OnOff{
			Rate: units.Rate(rate), PayloadBytes: int32(w.Payload),
			WireBytes: int32(w.Packet), Start: t.start, Duration: t.duration,
		}

		s := r.newSource(p.first, p.end)
		s.Every, s.Count = schedule.Interval(), schedule.Packets()
		s.Seed = 0 // nothing is random

		if w.Message > 0 { // the flow may end before the period
			packets := (int64(w.Message) + int64(w.Payload) - 1) / int64(w.Payload)
			if packets <= s.Count {
				s.Count, s.Last = packets, w.LastPacketBytes(int64(w.Message))
			}
		}
		s.Start = t.start + engine.Time(s.Every)
		all = append(all, s)
	}

	return all
}

// poissonSources returns one source per node if its flows have the same size.
// Otherwise there is one source per flow, with a rate in proportion to its size.
func (r *routingSystem) poissonSources(p *trafficPart) []packet.Source {
	w := &r.s.Workload
	interval := r.s.packetTime() / w.Load // mean time between packets of a node
	var all []packet.Source
	r.forEachSource(p, func(first, end int32) {
		add := func(first, end int32, interval float64, order packet.Order) {
			s := r.newSource(first, end)
			s.Process, s.Order = packet.Poisson, order
			s.Every, s.Stop = interval, w.Warmup+w.Duration
			all = append(all, s)
		}
		if p.traffic.Bytes == nil {
			add(first, end, interval, packet.Uniform)
			return
		}

		// Flows of different sizes have packets in proportion to their sizes.
		sum := 0.0 // bytes of all flows of the node
		for f := first; f < end; f++ {
			sum += float64(p.traffic.Size(int(f - p.first)))
		}
		for f := first; f < end; f++ {
			size := float64(p.traffic.Size(int(f - p.first)))
			add(f, f+1, interval*sum/size, packet.Together)
		}
	})

	return all
}

// pacedSources returns sources whose flows last as long as the bottleneck is busy
// with all its packets. maxLoad is the load of the bottleneck in messages. If the
// flows of a node have the same size, they send in turns, and each node begins
// with another flow.
func (r *routingSystem) pacedSources(p *trafficPart, maxLoad float64) []packet.Source {
	w := &r.s.Workload
	payload := int64(w.Payload)
	var all []packet.Source

	// round is the time for which the bottleneck is busy with one full packet of
	// each of its messages, in ticks.
	round := maxLoad * r.s.packetTime() / w.Pace
	wireBytes := w.WireBytes(float64(p.traffic.Message))
	order, _ := packet.ParseOrder(w.Injection)
	r.forEachSource(p, func(first, end int32) {
		flows := end - first

		// Flows of one size are served in turns by one source per node.
		if p.traffic.Bytes == nil {
			s := r.newSource(first, end)
			s.Order = order
			const anyFlow = 0
			s.Count, s.Last = p.numPackets(anyFlow, payload), w.LastPacketBytes(p.traffic.Size(anyFlow))
			fill := wireBytes / float64(s.Count*int64(w.Packet)) // mean fill of a packet
			s.Every = round / float64(flows) * fill
			if order != packet.Random {
				s.Seed = 0
				s.Offset = (first / flows) % flows // first/flows is the number of the node
			}
			all = append(all, s)
			return
		}

		// Flows of different sizes have sources of their own, with shifted start
		// times.
		duration := round * wireBytes / float64(w.Packet)
		for f := first; f < end; f++ {
			s := r.newSource(f, f+1)
			index := int(f - p.first)
			s.Count, s.Last = p.numPackets(index, payload), w.LastPacketBytes(p.traffic.Size(index))
			s.Seed = 0
			s.Every = duration / float64(s.Count)
			s.Start = engine.Time(s.Every * float64(f-first) / float64(flows))
			all = append(all, s)
		}
	})
	return all
}

// closedLoopSources returns sources that react to the network. Greedy sources
// inject packets as fast as the first link accepts them. Window sources have a
// limited number of packets per flow in flight.
func (r *routingSystem) closedLoopSources(p *trafficPart, order packet.Order) []packet.Source {
	w := &r.s.Workload
	payload := int64(w.Payload)
	var all []packet.Source
	add := func(first, end int32, size int64) {
		s := r.newSource(first, end)
		s.Count, s.Last = (size+payload-1)/payload, w.LastPacketBytes(size)
		if w.Source == "window" {
			s.Process, s.Window, s.Seed = packet.Window, int32(w.Window), 0
		} else {
			s.Process, s.Order = packet.Greedy, order
			if order != packet.Random {
				s.Seed = 0
				flows := end - first
				s.Offset = (first / flows) % flows // nodes begin with different flows
			}
		}
		all = append(all, s)
	}

	// Flows of different sizes have sources of their own.
	r.forEachSource(p, func(first, end int32) {
		if p.traffic.Bytes == nil { // all flows have the size of the first
			add(first, end, p.traffic.Size(0))
			return
		}
		for f := first; f < end; f++ {
			add(f, f+1, p.traffic.Size(int(f-p.first)))
		}
	})

	return all
}

// forEachSource calls do with the range of flows of each source node of a part.
func (r *routingSystem) forEachSource(p *trafficPart, do func(first, end int32)) {
	for first := p.first; first < p.end; {
		end := first + 1
		for end < p.end && r.load.flows[end].Src == r.load.flows[first].Src {
			end++
		}
		do(first, end)
		first = end
	}
}
