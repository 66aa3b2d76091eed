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

// inSteps simulates a plan in steps, packet by packet (each message a packet, up to the largest) or as fluid,
// synchronised or free: see work. A synchronised one takes what the closed cost says (to the tick if latency is above
// 0: else the remainder that a link carries from one message to the next may add one a step); a free one is faster or
// as fast.
func inSteps(ctx context.Context, p *plan.Plan, free, fluid bool) (engine.Time, error) {
	w, err := build(ctx, p, free)
	if err != nil {
		return 0, err
	}
	trace, err := w.run(ctx, fluid)
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

// InSteps simulates a plan in steps as Synchronised does, or as fluid, and returns every message.
func InSteps(ctx context.Context, p *plan.Plan, fluid bool) (*Messages, error) {
	w, err := build(ctx, p, false)
	if err != nil {
		return nil, err
	}
	trace, err := w.run(ctx, fluid)
	if err != nil {
		return nil, err
	}
	m := &Messages{Graph: w.graph, Trace: trace, Links: w.network.Links}
	for i, c := range w.walks.Class {
		if m.Link = append(m.Link, -1); c > 0 {
			m.Link[i] = w.walks.Link[int(w.flows[i].Src)*w.walks.Degree+int(c)-1]
		}
	}
	return m, nil
}

// run simulates the work.
func (w *work) run(ctx context.Context, fluid bool) (*engine.Trace, error) {
	level := "packet"
	if fluid {
		level = "flow"
	}
	d := composition.NewPathDecision(w.network, w.flows, w.walks, int32(min(w.plan.Steps.Bytes, maxPacket)), packet.Options{})
	r, err := composition.Simulate(ctx, level, &composition.Job{Graph: w.graph}, d)
	if err != nil {
		return nil, err
	}
	return r.Trace, nil
}

// work is a plan as transfers, one a message, over a network that has the links of all topologies side by side: nothing
// is on its way during a reconfiguration, which is a compute before every phase but those that
// reuse a topology. Inside a phase the messages of a step wait for the whole step before; where they are free, a
// message waits for the one before it on its link, and for those that bring its sender what it sends. The last task
// ends with all.
type work struct {
	plan    *plan.Plan
	free    bool
	stop    halt.When
	graph   *engine.Graph
	network *engine.Network
	flows   []engine.Flow // by task
	walks   *engine.Paths
	ports   []int // by phase: the first port of its topology
}

// build makes the work of a plan. Errors: ErrSimulate for more ports a node than a path can name, or more than
// collective.MaxTasks messages; the error of ctx if it ends.
func build(ctx context.Context, p *plan.Plan, free bool) (_ *work, err error) {
	defer func() {
		if errors.Is(err, halt.ErrHalted) {
			err = ctx.Err()
		}
	}()
	defer halt.Caught(&err)
	w := &work{plan: p, free: free, stop: func() bool { return ctx.Err() != nil }, graph: &engine.Graph{}, network: &engine.Network{Nodes: int32(p.GPUs)}}
	if err := w.links(); err != nil {
		return nil, err
	}
	last := w.milestone()
	for i := range p.Steps.Phases {
		if !p.Steps.Phases[i].Reused {
			up := w.milestone()
			w.graph.Tasks[up].Duration = p.Steps.Delay
			w.graph.AddEdge(last, up, 0)
			last = up
		}
		if last, err = w.phase(i, last); err != nil {
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
		return fmt.Sprintf("%s from %d to %d (transfer %d)", op, g.Tasks[id].Src, g.Tasks[id].Dst, id)
	}
	return w, g.Freeze()
}

// links makes the network and its paths: class 0 goes nowhere, class i+1 over port i.
func (w *work) links() error {
	p, phases := w.plan, w.plan.Steps.Phases
	n, k := p.GPUs, p.Degree
	degree := p.Reconfigurations() * k
	if degree > engine.MaxPort+1 {
		return fmt.Errorf("%w: %d topologies of degree %d are %d ports a GPU to simulate; want at most %d", ErrSimulate, degree/k, k, degree, engine.MaxPort+1)
	}
	w.walks = &engine.Paths{Degree: degree, Link: make([]int32, n*degree)}
	for i := range w.walks.Link {
		w.walks.Link[i] = -1
	}
	w.walks.Add()
	for port := range degree {
		w.walks.Add(engine.MakeStep(port, 0))
	}
	next := 0
	for i, t := range p.Topologies {
		if phases[i].Reused {
			w.ports = append(w.ports, next-k)
			continue
		}
		w.ports = append(w.ports, next)
		for _, e := range t {
			if e.From == e.To {
				continue // what a GPU keeps takes no time
			}
			port := int(e.From)*degree + next
			for w.walks.Link[port] >= 0 {
				port++
			}
			w.walks.Link[port] = int32(len(w.network.Links))
			w.network.Links = append(w.network.Links, engine.Link{From: e.From, To: e.To, Rate: p.Steps.Rate, Latency: p.Steps.Latency})
		}
		next += k
	}
	return nil
}

func (w *work) milestone() int32 {
	w.flows, w.walks.Class = append(w.flows, engine.Flow{}), append(w.walks.Class, 0)
	return w.graph.AddTask(engine.Task{})
}

// phase adds the messages of a phase after a milestone and returns the milestone that ends it.
func (w *work) phase(i int, start int32) (int32, error) {
	n, k := w.plan.GPUs, w.plan.Degree
	g := w.graph
	list := w.plan.Steps.Phases[i].Messages()
	if len(g.Tasks)+len(list) > collective.MaxTasks {
		return 0, fmt.Errorf("%w: more than %d messages to simulate", ErrSimulate, collective.MaxTasks)
	}
	taken := make([]int32, n*k) // by link: one more than the step it was last used in
	before := make([]int32, n*k)
	arrivals := newArrivals(n)
	sync, begin := start, int32(len(g.Tasks))
	for j := range list {
		w.stop.Check()
		m := &list[j]
		if !w.free && j > 0 && list[j-1].Step != m.Step {
			sync = w.after(begin)
			begin = int32(len(g.Tasks))
		}
		if m.From == m.To {
			continue
		}
		port, err := w.port(i, m, taken)
		if err != nil {
			return 0, err
		}
		id := g.AddTask(engine.Task{Kind: engine.Transfer, Src: m.From, Dst: m.To, Flows: 1, Bytes: w.plan.Steps.Size(m)})
		w.flows = append(w.flows, engine.Flow{Src: m.From, Dst: m.To})
		w.walks.Class = append(w.walks.Class, int32(w.ports[i]+port)+1)
		g.AddEdge(sync, id, 0)
		if w.free {
			link := int(m.From)*k + port
			if before[link] > 0 {
				g.AddEdge(before[link], id, 0)
			}
			before[link] = id
			arrivals.wait(g, id, m)
			arrivals.add(id, m)
		}
	}
	return w.after(begin), nil
}

// after is a milestone that all tasks from begin on end before.
func (w *work) after(begin int32) int32 {
	end := w.milestone()
	for id := begin; id < end; id++ {
		w.graph.AddEdge(id, end, 0)
	}
	return end
}

// port returns the first link of a message's ends that is not taken in its step, and takes it.
func (w *work) port(phase int, m *plan.Message, taken []int32) (int, error) {
	k := w.plan.Degree
	for port := range k {
		link := w.walks.Link[int(m.From)*w.walks.Degree+w.ports[phase]+port]
		if link >= 0 && w.network.Links[link].To == m.To && taken[int(m.From)*k+port] != m.Step+1 {
			taken[int(m.From)*k+port] = m.Step + 1
			return port, nil
		}
	}
	return 0, fmt.Errorf("%w: %v: no such link, or all are taken in this step", ErrSimulate, m)
}

// arrivals finds which messages of a phase bring a GPU what it sends.
type arrivals struct {
	n    int
	last []int32 // by GPU and shard: the last of its arrivals, one more
	list []arrival
}

type arrival struct {
	next, task, step int32
	piece            plan.Piece
}

func newArrivals(n int) *arrivals { return &arrivals{n: n, last: make([]int32, n*n)} }

// wait makes a task wait for the messages of earlier steps that bring the sender something of what it sends.
func (a *arrivals) wait(g *engine.Graph, id int32, m *plan.Message) {
	before := int32(-1)
	for _, e := range m.Pieces {
		for at := a.last[int(m.From)*a.n+int(e.Shard)]; at > 0; at = a.list[at-1].next {
			o := &a.list[at-1]
			if o.step < m.Step && o.piece.Origin == e.Origin && o.piece.From < e.To && e.From < o.piece.To && o.task != before {
				before = o.task // pieces that came together are mostly sent together
				g.AddEdge(o.task, id, 0)
			}
		}
	}
}

// add takes up what a task brings.
func (a *arrivals) add(id int32, m *plan.Message) {
	for _, e := range m.Pieces {
		head := &a.last[int(m.To)*a.n+int(e.Shard)]
		a.list = append(a.list, arrival{*head, id, m.Step, e})
		*head = int32(len(a.list))
	}
}
