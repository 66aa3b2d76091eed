// This file simulates plans in steps as one task graph, at level packet or flow.

package simulate

import (
	"context"
	"errors"
	"fmt"

	"sim/engine"
	"sim/engine/packet"
	"sim/policies/reconfigure/cancellation"
	"sim/policies/reconfigure/plan"
	"sim/scenarios/assembly/composition"
	"sim/workloads/collective"
)

// stepMode defines how a plan in steps is simulated.
type stepMode struct {
	isFree  bool // messages start when they can, not with their step; see messageGraph
	isFluid bool // at level flow; otherwise in packets of the largest possible size
}

// simulateSteps returns the duration of a plan in steps.
//
// A synchronised simulation takes the closed-form cost of the plan, to the tick if
// the latency is above 0. Without latency, the fraction of a tick that a link
// carries from one message to the next may add one tick per step. A free
// simulation takes at most as long.
func simulateSteps(ctx context.Context, p *plan.Plan, mode stepMode) (engine.Time, error) {
	w, err := newMessageGraph(ctx, p, mode.isFree)
	if err != nil {
		return 0, err
	}

	trace, err := w.simulate(ctx, mode.isFluid)
	if err != nil {
		return 0, err
	}
	return trace.Makespan, nil
}

// Messages is the simulation of a plan in steps: the transfers of its messages,
// and its reconfigurations.
type Messages struct {
	Graph *engine.Graph
	Trace *engine.Trace
	Links []engine.Link // of all topologies
	Link  []int32       // index in Links, by task; -1 for other tasks
}

// SimulateMessages simulates a plan in steps with synchronised steps, in packets
// or at rates. It returns the times of all messages.
func SimulateMessages(ctx context.Context, p *plan.Plan, isFluid bool) (*Messages, error) {
	const isFree = false // steps are synchronised
	w, err := newMessageGraph(ctx, p, isFree)
	if err != nil {
		return nil, err
	}
	trace, err := w.simulate(ctx, isFluid)
	if err != nil {
		return nil, err
	}

	// A class of paths is one port, and thus one link of the sender.
	m := &Messages{Graph: w.graph, Trace: trace, Links: w.network.Links}
	for i, c := range w.paths.Class {
		link := int32(-1)
		if c > 0 { // class c uses port c-1 of the sender
			link = w.paths.Link[int(w.flows[i].Src)*w.paths.Degree+int(c)-1]
		}
		m.Link = append(m.Link, link)
	}

	return m, nil
}

// simulate simulates the task graph.
func (w *messageGraph) simulate(ctx context.Context, isFluid bool) (*engine.Trace, error) {
	level := "packet"
	if isFluid {
		level = "flow"
	}
	packetBytes := int32(min(w.plan.Steps.Bytes, maxPacket))

	d := composition.NewPathDecision(w.network, w.flows, w.paths, packetBytes, packet.Options{})
	r, err := composition.Simulate(ctx, level, &composition.Job{Graph: w.graph}, d)
	if err != nil {
		return nil, err
	}
	return r.Trace, nil
}

// messageGraph is a plan in steps as a task graph: one transfer per message, one
// compute per reconfiguration, and milestones without duration.
//
// The network contains the circuits of all topologies at the same time. This is
// possible because nothing is sent during a reconfiguration. A phase that reuses a
// topology has no reconfiguration.
//
// If steps are synchronised, the messages of a step depend on all messages of the
// step before. If they are free, a message depends on the preceding message on its
// link, and on the messages that bring its content to the sender. The last task is
// a milestone at the end of the plan.
type messageGraph struct {
	plan      *plan.Plan
	isFree    bool
	stop      cancellation.Condition // reports a cancellation
	graph     *engine.Graph
	network   *engine.Network
	flows     []engine.Flow // indexed by task
	paths     *engine.Paths // class 0 has no links, class i+1 uses port i of the sender
	firstPort []int         // first port of the topology, by phase
}

// newMessageGraph returns the task graph of a plan. It fails with ErrSimulate if a
// path cannot represent the number of ports of a GPU, or if there are more than
// collective.MaxTasks messages. If ctx is cancelled, it returns the error of ctx.
func newMessageGraph(ctx context.Context, p *plan.Plan, isFree bool) (_ *messageGraph, err error) {
	// A cancellation inside the loops is a panic that cancellation.Recover converts to an
	// error.
	defer func() {
		if errors.Is(err, cancellation.ErrCancelled) {
			err = ctx.Err()
		}
	}()

	defer cancellation.Recover(&err)

	w := &messageGraph{
		plan: p, isFree: isFree, stop: func() bool { return ctx.Err() != nil },
		graph: &engine.Graph{}, network: &engine.Network{Nodes: int32(p.GPUs)},
	}
	if err := w.addLinks(); err != nil {
		return nil, err
	}

	// Append the phases, each after a reconfiguration unless it reuses its
	// topology.
	last := w.addMilestone()
	for i := range p.Steps.Phases {
		if !p.Steps.Phases[i].Reused {
			reconfiguration := w.addMilestone()
			w.graph.Tasks[reconfiguration].Duration = p.Steps.Delay
			w.graph.AddDependency(last, reconfiguration)
			last = reconfiguration
		}

		if last, err = w.addPhase(i, last); err != nil {
			return nil, err
		}
	}

	// The names are for timelines and exports.
	g, op := w.graph, p.Steps.Op
	g.Namer = func(id int32) string {
		task := &g.Tasks[id]
		if task.Duration > 0 {
			return "reconfiguration"
		}
		if task.Kind == engine.Compute {
			return fmt.Sprintf("milestone %d of %s", id, op)
		}
		return fmt.Sprintf("%s from %d to %d (transfer %d)", op, task.Src, task.Dst, id)
	}

	return w, g.Freeze()
}

// addLinks builds the network and the paths of all classes.
func (w *messageGraph) addLinks() error {
	p, phases := w.plan, w.plan.Steps.Phases
	n, k := p.GPUs, p.Degree

	// Reused topologies need no ports of their own.
	degree := p.Reconfigurations() * k
	if degree > engine.MaxPort+1 {
		return fmt.Errorf("%w: %d topologies of degree %d are %d ports a GPU to simulate; want at most %d",
			ErrSimulate, degree/k, k, degree, engine.MaxPort+1)
	}

	w.paths = &engine.Paths{Degree: degree, Link: make([]int32, n*degree)}
	for i := range w.paths.Link {
		w.paths.Link[i] = -1
	}

	// Class 0 is empty, for milestones.
	w.paths.Add()

	for port := range degree {
		w.paths.Add(engine.MakeStep(port, onlyChannel))
	}

	// Each topology gets the next k ports of every GPU.
	next := 0
	for i, t := range p.Topologies {
		if phases[i].Reused {
			w.firstPort = append(w.firstPort, next-k)
			continue
		}
		w.firstPort = append(w.firstPort, next)
		for _, e := range t {
			if e.From == e.To {
				continue // data that stays on its GPU takes no time
			}

			// Use the first port that no other circuit of the topology uses.
			port := int(e.From)*degree + next
			for w.paths.Link[port] >= 0 {
				port++
			}

			w.paths.Link[port] = int32(len(w.network.Links))
			link := engine.Link{From: e.From, To: e.To, Rate: p.Steps.Rate, Latency: p.Steps.Latency}
			w.network.Links = append(w.network.Links, link)
		}

		next += k
	}

	return nil
}

// onlyChannel is the virtual channel of all steps: plans use no other.
const onlyChannel = 0

// addMilestone adds a task without duration.
func (w *messageGraph) addMilestone() int32 {
	w.flows = append(w.flows, engine.Flow{})
	const emptyPath = 0 // class
	w.paths.Class = append(w.paths.Class, emptyPath)
	return w.graph.AddTask(engine.Task{})
}

// addPhase adds the messages of phase i, which start after the task start. It
// returns the milestone at the end of the phase.
func (w *messageGraph) addPhase(i int, start int32) (int32, error) {
	n, k := w.plan.GPUs, w.plan.Degree
	g := w.graph
	list := w.plan.Steps.Phases[i].Messages()
	if len(g.Tasks)+len(list) > collective.MaxTasks {
		return 0, fmt.Errorf("%w: more than %d messages to simulate", ErrSimulate,
			collective.MaxTasks)
	}

	usedIn := make([]int32, n*k)   // 1 + step of the last use, by link
	previous := make([]int32, n*k) // last message, by link
	arrivals := newPieceArrivals(n)

	sync, begin := start, int32(len(g.Tasks)) // the milestone before a step, and its first task
	for j := range list {
		w.stop.Check()
		m := &list[j]
		if !w.isFree && j > 0 && list[j-1].Step != m.Step {
			sync = w.addBarrier(begin)
			begin = int32(len(g.Tasks))
		}

		// A piece that stays on its GPU takes no time.
		if m.From == m.To {
			continue
		}

		port, err := w.takePort(i, m, usedIn)
		if err != nil {
			return 0, err
		}

		id := g.AddTask(engine.Task{
			Kind: engine.Transfer, Src: m.From, Dst: m.To, Flows: 1, Bytes: w.plan.Steps.Size(m),
		})
		w.flows = append(w.flows, engine.Flow{Src: m.From, Dst: m.To})
		w.paths.Class = append(w.paths.Class, int32(w.firstPort[i]+port)+1)
		g.AddDependency(sync, id)

		if w.isFree {
			// A message waits for the preceding message on its link.
			link := int(m.From)*k + port
			if previous[link] > 0 {
				g.AddDependency(previous[link], id)
			}
			previous[link] = id

			// It also waits for the messages that bring its content.
			arrivals.addDependencies(g, id, m)
			arrivals.record(id, m)
		}
	}

	return w.addBarrier(begin), nil
}

// addBarrier adds a milestone after all tasks from begin on.
func (w *messageGraph) addBarrier(begin int32) int32 {
	end := w.addMilestone()
	for id := begin; id < end; id++ {
		w.graph.AddDependency(id, end)
	}
	return end
}

// takePort returns the first circuit between the ends of a message that is free in
// the step of the message. usedIn is indexed by link; takePort marks the circuit
// as used.
func (w *messageGraph) takePort(phase int, m *plan.Message, usedIn []int32) (int, error) {
	k := w.plan.Degree
	for port := range k {
		link := w.paths.Link[int(m.From)*w.paths.Degree+w.firstPort[phase]+port]
		used := &usedIn[int(m.From)*k+port]
		if link >= 0 && w.network.Links[link].To == m.To && *used != m.Step+1 {
			*used = m.Step + 1
			return port, nil
		}
	}
	return 0, fmt.Errorf("%w: %v: no such link, or all are taken in this step", ErrSimulate, m)
}

// pieceArrivals records which messages of a phase bring which pieces to a GPU.
type pieceArrivals struct {
	n    int            // number of GPUs
	last []int32        // 1 + index in list of the last arrival, by GPU and shard
	list []pieceArrival // linked lists of arrivals
}

// pieceArrival is a piece that a message brings.
type pieceArrival struct {
	next  int32 // 1 + index of the preceding arrival of the same shard; 0 at the end
	task  int32 // the message
	step  int32 // its step
	piece plan.Piece
}

// newPieceArrivals returns empty lists for n GPUs.
func newPieceArrivals(n int) *pieceArrivals {
	return &pieceArrivals{n: n, last: make([]int32, n*n)}
}

// addDependencies makes task id depend on the messages of earlier steps that bring
// a part of its content to the sender.
func (a *pieceArrivals) addDependencies(g *engine.Graph, id int32, m *plan.Message) {
	previous := int32(-1) // pieces that arrive together are mostly sent together
	for _, e := range m.Pieces {
		for next := a.last[int(m.From)*a.n+int(e.Shard)]; next > 0; next = a.list[next-1].next {
			o := &a.list[next-1]
			overlaps := o.piece.Origin == e.Origin && o.piece.From < e.To && e.From < o.piece.To
			if o.step < m.Step && overlaps && o.task != previous {
				previous = o.task
				g.AddDependency(o.task, id)
			}
		}
	}
}

// record adds the pieces that task id brings.
func (a *pieceArrivals) record(id int32, m *plan.Message) {
	for _, e := range m.Pieces {
		head := &a.last[int(m.To)*a.n+int(e.Shard)]
		a.list = append(a.list, pieceArrival{*head, id, m.Step, e})
		*head = int32(len(a.list))
	}
}
