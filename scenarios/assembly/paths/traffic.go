package paths

import (
	"context"
	"slices"

	"sim/engine"
	"sim/engine/packet"
	"sim/engine/units"
	"sim/workloads/collective"
)

// trafficLoad is the traffic of a scenario: flows, in the order of their sources within each part, and how much each carries.
type trafficLoad struct {
	flows  []engine.Flow
	demand []float64 // by flow, in messages; nil is one each
	parts  []trafficPart
	graph  *engine.Graph // what waits for what; nil if all is sent at once
	call   *expandedCall // nil of other work
	// rateGroups are ranges of tasks in which all that a source sends goes at one rate as fluid
	rateGroups [][2]int
}

// trafficPart is flows that are on at the same times.
type trafficPart struct {
	first, end int32
	traffic    *collective.Traffic
	periods    []onPeriod // on-off in turns; none is from the start on
	isRing     bool
}

type onPeriod struct{ start, duration engine.Time }

// workKind returns how the workload is laid out on links.
func (s *Scenario) workKind() *Kind {
	switch {
	case s.Workload.Work != nil:
		return &Kind{load: workLoad, check: checkWorkCalls}
	case s.Workload.Call != nil:
		return &Kind{load: func(ctx context.Context, r *routingSystem, _ int64) (*trafficLoad, error) { return r.expandCall(ctx) }}
	}
	return s.trafficKind()
}

// immediateLoad is traffic that is sent at once.
func immediateLoad(
	of func(r *routingSystem, message int64) (*collective.Traffic, error),
) func(context.Context, *routingSystem, int64) (*trafficLoad, error) {
	return func(_ context.Context, r *routingSystem, message int64) (*trafficLoad, error) {
		t, err := of(r, message)
		if err != nil {
			return nil, err
		}
		return &trafficLoad{flows: t.Flows, demand: t.Demand(),
			parts: []trafficPart{{end: int32(len(t.Flows)), traffic: t}}}, nil
	}
}

// checkImmediate lays such traffic out, which some keys of its own decide.
func checkImmediate(
	of func(r *routingSystem, message int64) (*collective.Traffic, error), keys ...string,
) func(*routingSystem, int64, []string) ([]string, error) {
	return func(r *routingSystem, message int64, where []string) ([]string, error) {
		_, err := of(r, message)
		return blamedKeys(err, append(slices.Clone(keys), where...),
			func() error { _, err := of(r, 1); return err })
	}
}

// buildLoad builds the load.
func (r *routingSystem) buildLoad(ctx context.Context) (*trafficLoad, error) {
	w := &r.s.Workload
	message := int64(w.Message)
	if message < 1 {
		message = int64(w.Payload) // sources of rates have no size; loads are then in units of any
	}
	l, err := r.s.workKind().load(ctx, r, message)
	if err == nil && l.graph != nil {
		l.graph.MessageOverhead = r.s.Engine.MessageOverhead
	}
	return l, err
}

// matrixTraffic is the bytes that the scenario lists, of a graph between the nodes that are no switches.
func (r *routingSystem) matrixTraffic(int64) (*collective.Traffic, error) {
	if r.Torus != nil {
		return r.s.Matrix(r.numNodes(), r.Down)
	}
	t, err := r.s.Matrix(r.s.Fabric.GPUs(), nil)
	if err == nil {
		t.Nodes = r.numNodes()
	}
	return t, err
}

// patternTraffic is traffic of a row of collective.Patterns.
func (r *routingSystem) patternTraffic(message int64) (*collective.Traffic, error) {
	return r.s.Workload.Pattern().Traffic(collective.PatternInput{Nodes: r.numNodes(),
		Seed: r.s.Seed, Down: r.Down}, message)
}

// checkPattern lays a pattern out.
func (r *routingSystem) checkPattern(message int64, where []string) ([]string, error) {
	w := &r.s.Workload
	if h := w.HotSpots(); h != nil {
		_, err := collective.HotNodes(h.Nodes, r.numNodes(), r.s.Seed, r.Down)
		return []string{"workload.hot_nodes"}, err
	}
	_, err := r.patternTraffic(message)
	return append(patternKeys(w.Pattern()), where...), err
}

// numNodes returns how many nodes there are, down or not.
func (r *routingSystem) numNodes() int {
	if r.Torus != nil {
		return r.Torus.Nodes()
	}
	return int(r.Whole.Nodes)
}

// Matrix is the bytes that the scenario lists, among the first of so many nodes.
func (s *Scenario) Matrix(nodes int, down []bool) (*collective.Traffic, error) {
	return collective.FromEntries(s.Workload.Kind, nodes, s.Workload.Entries(), down)
}

// packetTime returns how long a packet takes on a link of the fabric's rate, in ticks.
func (s *Scenario) packetTime() float64 {
	return 8 * float64(s.Workload.Packet) / float64(s.Fabric.LinkRate) * float64(engine.Second)
}

// numPackets returns the packets of a flow.
func (p *trafficPart) numPackets(f int, payload int64) int64 {
	return (p.traffic.Size(f) + payload - 1) / payload
}

// sources returns what injects the packets, where the link that takes longest carries so many messages.
func (r *routingSystem) sources(max float64) ([]packet.Source, error) {
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
			all = append(all, r.pacedSources(p, max)...)
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

// newSource returns a source of flows with what all have in common.
func (r *routingSystem) newSource(first, end int32) packet.Source {
	return packet.Source{First: first, End: end, Bytes: int32(r.s.Workload.Packet),
		Seed: r.s.Seed}
}

// onOffSources sources send a packet of every flow at once, the first an interval after they go on.
func (r *routingSystem) onOffSources(p *trafficPart) []packet.Source {
	w := &r.s.Workload
	turns, rate := p.periods, float64(w.Rate)
	if turns == nil {
		turns = []onPeriod{{w.Start, w.Duration}}
	}
	if p.isRing {
		rate = float64(w.RingRate)
	}
	var all []packet.Source
	for _, t := range turns {
		one := collective.OnOff{
			Rate: units.Rate(rate), PayloadBytes: int32(w.Payload),
			WireBytes: int32(w.Packet),
			Start:     t.start, Duration: t.duration,
		}
		s := r.newSource(p.first, p.end)
		s.Every, s.Count, s.Seed = one.Interval(), one.Packets(), 0
		if w.Message > 0 {
			if whole := (int64(w.Message) + int64(w.Payload) - 1) / int64(w.Payload); whole <= s.Count {
				s.Count, s.Last = whole, w.LastPacketBytes(int64(w.Message))
			}
		}
		s.Start = t.start + engine.Time(s.Every)
		all = append(all, s)
	}

	return all
}

// poissonSources sources are one a node where its flows are identical, else one a flow.
func (r *routingSystem) poissonSources(p *trafficPart) []packet.Source {
	w := &r.s.Workload
	every := r.s.packetTime() / w.Load
	var all []packet.Source
	r.forEachSource(p, func(first, end int32) {
		one := func(first, end int32, every float64, order packet.Order) {
			s := r.newSource(first, end)
			s.Process, s.Order, s.Every, s.Stop = packet.Poisson, order, every,
				w.Warmup+w.Duration
			all = append(all, s)
		}
		if p.traffic.Bytes == nil {
			one(first, end, every, packet.Uniform)
			return
		}
		sum := 0.0
		for f := first; f < end; f++ {
			sum += float64(p.traffic.Size(int(f - p.first)))
		}
		for f := first; f < end; f++ {
			one(f, f+1, every*sum/float64(p.traffic.Size(int(f-p.first))), packet.Together)
		}
	})

	return all
}

// pacedSources returns sources that let every flow last as long as the most loaded link, which carries so many messages, is busy
// with all packets that pass it. The flows of a node take turns, each node beginning with another flow.
func (r *routingSystem) pacedSources(p *trafficPart, max float64) []packet.Source {
	w := &r.s.Workload
	payload := int64(w.Payload)
	var all []packet.Source

	// the time that the most loaded link needs for a full packet of each message
	round := max * r.s.packetTime() / w.Pace
	wire := w.WireBytes(float64(p.traffic.Message))
	order, _ := packet.ParseOrder(w.Injection)
	r.forEachSource(p, func(first, end int32) {
		if p.traffic.Bytes == nil {
			s := r.newSource(first, end)
			s.Order, s.Count, s.Last = order, p.numPackets(0, payload),
				w.LastPacketBytes(p.traffic.Size(0))
			s.Every = round / float64(end-first) * (wire / float64(s.Count*int64(w.Packet)))
			s.Offset = (first / (end - first)) % (end - first)
			if order != packet.Random {
				s.Seed = 0
			} else {
				s.Offset = 0
			}
			all = append(all, s)
			return
		}
		whole := round * wire / float64(w.Packet)
		for f := first; f < end; f++ {
			s := r.newSource(f, f+1)
			size := p.traffic.Size(int(f - p.first))
			s.Count, s.Last, s.Seed = p.numPackets(int(f-p.first), payload),
				w.LastPacketBytes(size), 0
			s.Every = whole / float64(s.Count)
			s.Start = engine.Time(s.Every * float64(f-first) / float64(end-first))
			all = append(all, s)
		}
	})

	return all
}

// closedLoopSources sources are greedy, or have so many packets of a flow on their way.
func (r *routingSystem) closedLoopSources(p *trafficPart, order packet.Order) []packet.Source {
	w := &r.s.Workload
	payload := int64(w.Payload)
	var all []packet.Source
	one := func(first, end int32, size int64) {
		s := r.newSource(first, end)
		s.Count, s.Last = (size+payload-1)/payload, w.LastPacketBytes(size)
		if w.Source == "window" {
			s.Process, s.Window, s.Seed = packet.Window, int32(w.Window), 0
		} else {
			s.Process, s.Order = packet.Greedy, order
			if order != packet.Random {
				s.Seed = 0
				s.Offset = (first / (end - first)) % (end - first)
			}
		}
		all = append(all, s)
	}

	r.forEachSource(p, func(first, end int32) {
		if p.traffic.Bytes == nil {
			one(first, end, p.traffic.Size(0))
			return
		}
		for f := first; f < end; f++ {
			one(f, f+1, p.traffic.Size(int(f-p.first)))
		}
	})

	return all
}

// forEachSource calls do with the range of flows of every source of a part.
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
