package gather

import (
	"fmt"

	"sim/engine"
	"sim/policies/reconfigure/halt"
	"sim/workloads/collective"
)

// Work is a plan as the engines play it: packet.RunGraph takes all four, flow.Run the routes that engine.RoutesOf makes
// of them.
type Work struct {
	Graph   *engine.Graph
	Network *engine.Network
	Flows   []engine.Flow // by task
	Walks   *engine.Walks
}

// Work returns phases first..end-1 as transfers, one a message, over a network that has the links of all their
// topologies side by side: nothing is on its way during a reconfiguration, which is a wait of Problem.Delay between two
// milestones before every phase but those that reuse a topology. Inside a phase the messages of a step wait for the
// whole step before; with free, a message waits for the one before it on its link, and for those that bring its sender
// what it sends. The last task ends with all. Links have Problem.Latency, so a synchronised play takes what the closed
// cost says (to the tick if Latency is above 0: else the remainder that a link carries from one message to the next may
// add one a step); a free one is faster or as fast.
//
// Errors: ErrProblem for more ports a node than a walk can name, or more than collective.MaxTasks messages.
func (pl *Plan) Work(first, end int, free bool) (_ *Work, err error) {
	defer halt.Caught(&err)
	p := &pl.Problem
	if first < 0 || first >= end || end > len(pl.Phases) {
		return nil, fmt.Errorf("%w: phases %d..%d of %d", ErrProblem, first, end-1, len(pl.Phases))
	}
	b := &builder{pl: pl, w: &Work{Graph: &engine.Graph{}, Network: &engine.Network{Nodes: int32(p.GPUs)}}, free: free}
	if err := b.links(first, end); err != nil {
		return nil, err
	}
	last := b.milestone()
	for i := first; i < end; i++ {
		if i == first || !pl.Phases[i].Reused {
			up := b.milestone()
			b.w.Graph.AddEdge(last, up, p.Delay)
			last = up
		}
		var err error
		if last, err = b.phase(i, last); err != nil {
			return nil, err
		}
	}
	g := b.w.Graph
	g.Namer = func(id int32) string {
		if g.Tasks[id].Kind == engine.Compute {
			return fmt.Sprintf("milestone %d of %s", id, opName(p.Op))
		}
		return fmt.Sprintf("%s from %d to %d (transfer %d)", opName(p.Op), g.Tasks[id].Src, g.Tasks[id].Dst, id)
	}
	return b.w, g.Freeze()
}

// builder makes a Work.
type builder struct {
	pl    *Plan
	w     *Work
	free  bool
	ports []int // by phase: the first port of its topology
	at    int   // the first phase
}

// links makes the network and its walks: class 0 goes nowhere, class i+1 over port i.
func (b *builder) links(first, end int) error {
	p := &b.pl.Problem
	n, k := p.GPUs, p.Degree
	degree := 0
	b.at = first
	for i := first; i < end; i++ {
		if i == first || !b.pl.Phases[i].Reused {
			degree += k
		}
		b.ports = append(b.ports, degree-k)
	}
	if degree > engine.MaxPort+1 {
		return fmt.Errorf("%w: %d topologies of degree %d are %d ports a GPU to play; want at most %d", ErrProblem, degree/k, k, degree, engine.MaxPort+1)
	}
	b.w.Walks = &engine.Walks{Degree: degree, Link: make([]int32, n*degree)}
	for i := range b.w.Walks.Link {
		b.w.Walks.Link[i] = -1
	}
	b.w.Walks.Add()
	for port := range degree {
		b.w.Walks.Add(engine.MakeStep(port, 0))
	}
	for i := first; i < end; i++ {
		if i > first && b.pl.Phases[i].Reused {
			continue
		}
		for _, e := range b.pl.Topology(i) {
			if e.From == e.To {
				continue // what a GPU keeps takes no time
			}
			port := int(e.From)*degree + b.ports[i-first]
			for b.w.Walks.Link[port] >= 0 {
				port++
			}
			b.w.Walks.Link[port] = int32(len(b.w.Network.Links))
			b.w.Network.Links = append(b.w.Network.Links, engine.Link{From: e.From, To: e.To, Rate: p.Rate, Latency: p.Latency})
		}
	}
	return nil
}

func (b *builder) milestone() int32 {
	b.w.Flows, b.w.Walks.Class = append(b.w.Flows, engine.Flow{}), append(b.w.Walks.Class, 0)
	return b.w.Graph.AddTask(engine.Task{})
}

// phase adds the messages of a phase after a milestone and returns the milestone that ends it.
func (b *builder) phase(i int, start int32) (int32, error) {
	n, k := b.pl.Problem.GPUs, b.pl.Problem.Degree
	g, walks := b.w.Graph, b.w.Walks
	list := b.pl.Transmissions(i)
	if len(g.Tasks)+len(list) > collective.MaxTasks {
		return 0, fmt.Errorf("%w: more than %d messages to play", ErrProblem, collective.MaxTasks)
	}
	taken := make([]int32, n*k) // by link: one more than the step it was last used in
	before := make([]int32, n*k)
	arrivals := newArrivals(n)
	sync, begin := start, int32(len(g.Tasks))
	for j, x := range list {
		b.pl.Problem.Stop.Check()
		if !b.free && j > 0 && list[j-1].Step != x.Step {
			next := b.milestone()
			for id := begin; id < next; id++ {
				g.AddEdge(id, next, 0)
			}
			sync, begin = next, int32(len(g.Tasks))
		}
		if x.From == x.To {
			continue
		}
		port, err := b.port(i, &x, taken)
		if err != nil {
			return 0, err
		}
		bytes := int64(0)
		for _, e := range x.Pieces {
			size := b.pl.Problem.shardBytes(e.Shard)
			bytes += cut(size, e.To, b.pl.Parts) - cut(size, e.From, b.pl.Parts)
		}
		id := g.AddTask(engine.Task{Kind: engine.Transfer, Src: x.From, Dst: x.To, Flows: 1, Bytes: bytes})
		b.w.Flows = append(b.w.Flows, engine.Flow{Src: x.From, Dst: x.To})
		walks.Class = append(walks.Class, int32(b.ports[i-b.at]+port)+1)
		g.AddEdge(sync, id, 0)
		if b.free {
			link := int(x.From)*k + port
			if before[link] > 0 {
				g.AddEdge(before[link], id, 0)
			}
			before[link] = id
			arrivals.wait(g, id, &x)
			arrivals.add(id, &x)
		}
	}
	end := b.milestone()
	for id := begin; id < end; id++ {
		g.AddEdge(id, end, 0)
	}
	return end, nil
}

// port returns the first link of a message's ends that is not taken in its step, and takes it.
func (b *builder) port(phase int, x *Tx, taken []int32) (int, error) {
	k, walks := b.pl.Problem.Degree, b.w.Walks
	for port := range k {
		link := walks.Link[int(x.From)*walks.Degree+b.ports[phase-b.at]+port]
		if link >= 0 && b.w.Network.Links[link].To == x.To && taken[int(x.From)*k+port] != x.Step+1 {
			taken[int(x.From)*k+port] = x.Step + 1
			return port, nil
		}
	}
	return 0, broken("%v: no such link, or all are taken in this step", x)
}
