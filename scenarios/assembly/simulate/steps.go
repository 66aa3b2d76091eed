package simulate

import (
	"context"
	"errors"
	"fmt"

	"sim/engine"
	"sim/engine/packet"
	"sim/policies/reconfigure/halt"
	"sim/policies/reconfigure/plan"
	"sim/scenarios/assembly/composition"
	"sim/workloads/collective"
)

// simulateSteps simulates a plan in steps, packet by packet (each message a packet, up to the largest) or as fluid,
// synchronised or free: see work. A synchronised one takes what the closed cost says (to the tick if latency is above
// 0: else the remainder that a link carries from one message to the next may add one a step); a free one is faster or
// as fast.
func simulateSteps(ctx context.Context, p *plan.Plan, free, fluid bool) (engine.Time, error) {
	w, err := newMessageGraph(ctx, p, free)
	if err != nil {
		return 0, err
	}
	trace, err := w.simulate(ctx, fluid)
	if err != nil {
		return 0, err
	}
	return trace.Makespan, nil
}

// Messages is a plan in steps as it is simulated, synchronised: the transfers of its messages, and its reconfigurations.
type Messages struct {
	Graph *engine.Graph
	Trace *engine.Trace
	Links []engine.Link // of all topologies
	Link  []int32       // by task; -1 of none
}

// SimulateMessages simulates a plan in steps as Synchronised does, or as fluid, and returns every message.
func SimulateMessages(ctx context.Context, p *plan.Plan, fluid bool) (*Messages, error) {
	w, err := newMessageGraph(ctx, p, false)
	if err != nil {
		return nil, err
	}
	trace, err := w.simulate(ctx, fluid)
	if err != nil {
		return nil, err
	}
	m := &Messages{Graph: w.graph, Trace: trace, Links: w.network.Links}
	for i, c := range w.paths.Class {
		if m.Link = append(m.Link, -1); c > 0 {
			m.Link[i] = w.paths.Link[int(w.flows[i].Src)*w.paths.Degree+int(c)-1]
		}
	}

	return m, nil
}

// simulate simulates the work.
func (w *messageGraph) simulate(ctx context.Context, fluid bool) (*engine.Trace, error) {
	level := "packet"
	if fluid {
		level = "flow"
	}
	d := composition.NewPathDecision(w.network, w.flows, w.paths,
		int32(min(w.plan.Steps.Bytes, maxPacket)), packet.Options{})
	r, err := composition.Simulate(ctx, level, &composition.Job{Graph: w.graph}, d)
	if err != nil {
		return nil, err
	}
	return r.Trace, nil
}

// messageGraph is a plan as transfers, one a message, over a network that has the links of all topologies side by side: nothing
// is on its way during a reconfiguration, which is a compute before every phase but those that
// reuse a topology. Inside a phase the messages of a step wait for the whole step before; where they are free, a
// message waits for the one before it on its link, and for those that bring its sender what it sends. The last task
// ends with all.
type messageGraph struct {
	plan      *plan.Plan
	isFree    bool
	stop      halt.When
	graph     *engine.Graph
	network   *engine.Network
	flows     []engine.Flow // by task
	paths     *engine.Paths
	firstPort []int // by phase: the first port of its topology
}

// newMessageGraph makes the work of a plan. Errors: ErrSimulate for more ports a node than a path can name, or more than
// collective.MaxTasks messages; the error of ctx if it ends.
func newMessageGraph(ctx context.Context, p *plan.Plan, free bool) (_ *messageGraph, err error) {
	defer func() {
		if errors.Is(err, halt.ErrHalted) {
			err = ctx.Err()
		}
	}()

	defer halt.Caught(&err)
	w := &messageGraph{plan: p, isFree: free, stop: func() bool { return ctx.Err() != nil },
		graph: &engine.Graph{}, network: &engine.Network{Nodes: int32(p.GPUs)}}
	if err := w.addLinks(); err != nil {
		return nil, err
	}
	last := w.addMilestone()
	for i := range p.Steps.Phases {
		if !p.Steps.Phases[i].Reused {
			up := w.addMilestone()
			w.graph.Tasks[up].Duration = p.Steps.Delay
			w.graph.AddEdge(last, up, 0)
			last = up
		}
		if last, err = w.addPhase(i, last); err != nil {
			return nil, err
		}
	}

	g, op := w.graph, p.Steps.Op
	g.Namer = func(id int32) string {
		if g.Tasks[id].Duration > 0 {
			return "reconfiguration"
		}
		if g.Tasks[id].Kind == engine.Compute {
			return fmt.Sprintf("milestone %d of %s", id, op)
		}
		return fmt.Sprintf("%s from %d to %d (transfer %d)", op, g.Tasks[id].Src,
			g.Tasks[id].Dst, id)
	}

	return w, g.Freeze()
}

// addLinks makes the network and its paths: class 0 goes nowhere, class i+1 over port i.
func (w *messageGraph) addLinks() error {
	p, phases := w.plan, w.plan.Steps.Phases
	n, k := p.GPUs, p.Degree
	degree := p.Reconfigurations() * k
	if degree > engine.MaxPort+1 {
		return fmt.Errorf("%w: %d topologies of degree %d are %d ports a GPU to simulate; want at most %d", ErrSimulate, degree/k, k, degree, engine.MaxPort+1)
	}
	w.paths = &engine.Paths{Degree: degree, Link: make([]int32, n*degree)}
	for i := range w.paths.Link {
		w.paths.Link[i] = -1
	}
	w.paths.Add()
	for port := range degree {
		w.paths.Add(engine.MakeStep(port, 0))
	}
	next := 0
	for i, t := range p.Topologies {
		if phases[i].Reused {
			w.firstPort = append(w.firstPort, next-k)
			continue
		}
		w.firstPort = append(w.firstPort, next)
		for _, e := range t {
			if e.From == e.To {
				continue // what a GPU keeps takes no time
			}
			port := int(e.From)*degree + next
			for w.paths.Link[port] >= 0 {
				port++
			}
			w.paths.Link[port] = int32(len(w.network.Links))
			w.network.Links = append(w.network.Links,
				engine.Link{From: e.From, To: e.To, Rate: p.Steps.Rate,
					Latency: p.Steps.Latency})
		}
		next += k
	}

	return nil
}

func (w *messageGraph) addMilestone() int32 {
	w.flows, w.paths.Class = append(w.flows, engine.Flow{}), append(w.paths.Class, 0)
	return w.graph.AddTask(engine.Task{})
}

// addPhase adds the messages of a phase after a milestone and returns the milestone that ends it.
func (w *messageGraph) addPhase(i int, start int32) (int32, error) {
	n, k := w.plan.GPUs, w.plan.Degree
	g := w.graph
	list := w.plan.Steps.Phases[i].Messages()
	if len(g.Tasks)+len(list) > collective.MaxTasks {
		return 0, fmt.Errorf("%w: more than %d messages to simulate", ErrSimulate,
			collective.MaxTasks)
	}
	taken := make([]int32, n*k) // by link: one more than the step it was last used in
	before := make([]int32, n*k)
	arrivals := newPieceArrivals(n)
	sync, begin := start, int32(len(g.Tasks))
	for j := range list {
		w.stop.Check()
		m := &list[j]
		if !w.isFree && j > 0 && list[j-1].Step != m.Step {
			sync = w.addBarrier(begin)
			begin = int32(len(g.Tasks))
		}
		if m.From == m.To {
			continue
		}
		port, err := w.takePort(i, m, taken)
		if err != nil {
			return 0, err
		}
		id := g.AddTask(engine.Task{Kind: engine.Transfer, Src: m.From, Dst: m.To, Flows: 1,
			Bytes: w.plan.Steps.Size(m)})
		w.flows = append(w.flows, engine.Flow{Src: m.From, Dst: m.To})
		w.paths.Class = append(w.paths.Class, int32(w.firstPort[i]+port)+1)
		g.AddEdge(sync, id, 0)
		if w.isFree {
			link := int(m.From)*k + port
			if before[link] > 0 {
				g.AddEdge(before[link], id, 0)
			}
			before[link] = id
			arrivals.addDependencies(g, id, m)
			arrivals.record(id, m)
		}
	}

	return w.addBarrier(begin), nil
}

// addBarrier is a milestone that all tasks from begin on end before.
func (w *messageGraph) addBarrier(begin int32) int32 {
	end := w.addMilestone()
	for id := begin; id < end; id++ {
		w.graph.AddEdge(id, end, 0)
	}
	return end
}

// takePort returns the first link of a message's ends that is not taken in its step, and takes it.
func (w *messageGraph) takePort(phase int, m *plan.Message, taken []int32) (int, error) {
	k := w.plan.Degree
	for port := range k {
		link := w.paths.Link[int(m.From)*w.paths.Degree+w.firstPort[phase]+port]
		if link >= 0 && w.network.Links[link].To == m.To &&
			taken[int(m.From)*k+port] != m.Step+1 {
			taken[int(m.From)*k+port] = m.Step + 1
			return port, nil
		}
	}
	return 0, fmt.Errorf("%w: %v: no such link, or all are taken in this step",
		ErrSimulate, m)
}

// pieceArrivals finds which messages of a phase bring a GPU what it sends.
type pieceArrivals struct {
	n    int
	last []int32 // by GPU and shard: the last of its arrivals, one more
	list []pieceArrival
}

type pieceArrival struct {
	next, task, step int32
	piece            plan.Piece
}

func newPieceArrivals(n int) *pieceArrivals { return &pieceArrivals{n: n, last: make([]int32, n*n)} }

// addDependencies makes a task wait for the messages of earlier steps that bring the sender something of what it sends.
func (a *pieceArrivals) addDependencies(g *engine.Graph, id int32, m *plan.Message) {
	before := int32(-1)
	for _, e := range m.Pieces {
		for at := a.last[int(m.From)*a.n+int(e.Shard)]; at > 0; at = a.list[at-1].next {
			o := &a.list[at-1]
			if o.step < m.Step && o.piece.Origin == e.Origin && o.piece.From < e.To &&
				e.From < o.piece.To && o.task != before {
				before = o.task // pieces that came together are mostly sent together
				g.AddEdge(o.task, id, 0)
			}
		}
	}
}

// record takes up what a task brings.
func (a *pieceArrivals) record(id int32, m *plan.Message) {
	for _, e := range m.Pieces {
		head := &a.last[int(m.To)*a.n+int(e.Shard)]
		a.list = append(a.list, pieceArrival{*head, id, m.Step, e})
		*head = int32(len(a.list))
	}
}
