package fabric

import (
	"fmt"
	"slices"

	"sim/engine"
)

// Packets is a job on pods for the packet level. Every NIC set becomes a link out and a link in
// with the total rate of its interfaces. Every direction of a bundle that is used becomes a
// link. A packet between pods is stored at the pod it leaves and at the pod it enters. Inside a
// pod, packets are stored at each node of its network if that is modelled, and between hosts of a
// pod at its leaf switch.
type Packets struct {
	// Graph is the graph of the job with two changes. A transfer between nodes with several
	// NIC sets is split into one task per set. A transfer inside a pod that uses no resource
	// is a milestone.
	Graph    *engine.Graph
	Origin   []int32 // task of the job, indexed by task of Graph
	Network  *engine.Network
	Circuits int32         // link of Network that corresponds to link 0 of Optical.Network
	Flows    []engine.Flow // one for each pair of NIC sets or inner nodes that exchanges data
	Paths    *engine.Paths // indexed by flow
}

// Packets converts the job g for the packet level. Circuits, interfaces and links inside pods
// have the rates of provisioned; see Optical.Provision. It returns an error if a pod has more
// NIC sets or bundles than a path can address.
func (p *Pods) Packets(g *engine.Graph, o *Optical, provisioned *engine.Network) (*Packets, error) {
	b := &packetBuilder{
		Packets: &Packets{Graph: &engine.Graph{}},
		pods:    p, optical: o, hasPath: map[engine.Flow]bool{}}
	if err := b.buildNetwork(provisioned); err != nil {
		return nil, err
	}

	// Start tasks are added before messages are split, so that the parts start together.
	namer := g.Name
	starts, err := g.WithMessageStarts()
	if err != nil {
		return nil, err
	}
	if starts != nil {
		g = starts.Graph
	}

	// Tasks first[i] to first[i+1]-1 represent task i. All of them have the edges of task i.
	first := make([]int32, len(g.Tasks)+1)
	for i := range g.Tasks {
		b.addTask(int32(i), g.Tasks[i])
		first[i+1] = int32(len(b.Origin))
	}

	for i := range g.Tasks {
		for _, e := range g.Out(int32(i)) {
			for from := first[i]; from < first[i+1]; from++ {
				for to := first[e.To]; to < first[e.To+1]; to++ {
					b.Graph.AddEdge(from, to, e.Lag)
				}
			}
		}
	}

	b.Graph.Contention = g.Contention.Mapped(func(id int32) int32 { return first[id] })
	b.Graph.Namer = func(id int32) string { return namer(b.Origin[id]) }
	if starts != nil {
		for message, start := range starts.StartOf {
			if start >= 0 {
				b.Origin[first[start]] = int32(message)
			}
		}
	}
	if err := b.Graph.Freeze(); err != nil {
		return nil, err
	}
	return b.Packets, nil
}

// packetBuilder builds Packets. NIC set i sends from node 2i and receives at node 2i+1. The
// pods follow with the same scheme, and then the nodes of the networks inside pods.
type packetBuilder struct {
	*Packets    // the result
	pods        *Pods
	optical     *Optical
	port        []int                // port of a link at its node, indexed by link
	pod         []int32              // indexed by NIC set
	firstInside int32                // first link of the networks inside pods
	firstLeaf   int32                // first link of leaf switches, one per pod; see buildNetwork
	hasPath     map[engine.Flow]bool // flows that have a path
}

// Nodes of a NIC set and of a pod.
func (b *packetBuilder) sendNode(nic int32) int32    { return 2 * nic }
func (b *packetBuilder) receiveNode(nic int32) int32 { return 2*nic + 1 }
func (b *packetBuilder) exitNode(pod int32) int32    { return 2 * (int32(len(b.pods.NICs)) + pod) }
func (b *packetBuilder) entryNode(pod int32) int32   { return 2*(int32(len(b.pods.NICs))+pod) + 1 }

// insideNode returns the node of a network inside a pod.
func (b *packetBuilder) insideNode(node int32) int32 {
	return 2*int32(len(b.pods.NICs)+len(b.pods.Pods)) + node
}

// buildNetwork creates the links: first the NIC sets, alternately out and in, then the
// bundles, then the networks inside pods.
func (b *packetBuilder) buildNetwork(provisioned *engine.Network) error {
	p := b.pods
	n := &engine.Network{Nodes: int32(2 * (len(p.NICs) + len(p.Pods)))}

	// The maximum number of GPUs and the pod of each NIC set.
	gpus := make([]int32, len(p.NICs))
	b.pod = make([]int32, len(p.NICs))
	for i := range p.Nodes {
		node := &p.Nodes[i]
		sets := int32(len(node.NICs))
		for _, c := range node.NICs {
			gpus[c], b.pod[c] = max(gpus[c], (node.GPUs+sets-1)/sets), node.Pod
		}
	}

	// The links of NIC sets: 2*c leads out of set c, and 2*c+1 into it. The groups of provisioned
	// have the same order.
	for c := range int32(len(p.NICs)) {
		out, in := provisioned.Groups[2*c].Rate, provisioned.Groups[2*c+1].Rate // rates of one GPU
		n.Links = append(n.Links,
			engine.Link{From: b.sendNode(c), To: b.exitNode(b.pod[c]), Rate: out * float64(gpus[c])},
			engine.Link{From: b.entryNode(b.pod[c]), To: b.receiveNode(c), Rate: in * float64(gpus[c])})
	}

	// The circuits, one link per direction of a bundle.
	for _, l := range provisioned.Links {
		n.Links = append(n.Links, engine.Link{From: b.exitNode(l.From), To: b.entryNode(l.To), Rate: l.Rate})
	}

	nics := int32(2 * len(p.NICs)) // links of NIC sets; provisioned has as many groups for them
	b.Circuits = nics
	b.firstInside = int32(len(n.Links))
	if p.Inside != nil {
		n.Nodes += p.Inside.Network.Nodes
		for i, l := range p.Inside.Network.Links {
			rate := provisioned.Groups[int(nics)+i].Rate
			n.Links = append(n.Links, engine.Link{
				From: b.insideNode(l.From), To: b.insideNode(l.To),
				Rate: rate, Latency: l.Latency})
		}
	}

	// Hosts of a pod exchange data through its leaf switch, which does not block: a link with the
	// total rate of all NICs of the pod.
	b.firstLeaf = int32(len(n.Links))
	if p.hasHosts() {
		for pod := range int32(len(p.Pods)) {
			n.Links = append(n.Links, engine.Link{From: b.exitNode(pod), To: b.entryNode(pod)})
		}
		for c, pod := range b.pod {
			n.Links[b.firstLeaf+pod].Rate += n.Links[2*c].Rate
		}
	}

	n.ResourceNamer = func(r int32) string {
		switch {
		case r < nics:
			return p.GroupName(r)
		case r >= b.firstLeaf:
			return "leaf switch of " + p.Pods[r-b.firstLeaf].Name
		case r >= b.firstInside:
			return p.GroupName(r - b.firstInside + nics)
		}
		return provisioned.ResourceName(r - nics)
	}

	for _, c := range provisioned.Changes {
		c.Link += nics
		n.Changes = append(n.Changes, c)
	}
	b.Network = n

	// Each link gets a port at its node.
	out := make([]int, n.Nodes)
	degree := 1
	b.port = make([]int, len(n.Links))
	for i, l := range n.Links {
		b.port[i] = out[l.From]
		out[l.From]++
		degree = max(degree, out[l.From])
	}
	if degree > engine.MaxPort+1 {
		return fmt.Errorf("%w: a pod has %d sets of NICs or bundles; want at most %d for packets",
			ErrFabric, degree, engine.MaxPort+1)
	}

	b.Paths = &engine.Paths{Degree: degree, Link: make([]int32, int(n.Nodes)*degree)}
	for i := range b.Paths.Link {
		b.Paths.Link[i] = -1
	}

	for i, l := range n.Links {
		b.Paths.Link[int(l.From)*degree+b.port[i]] = int32(i)
	}
	return nil
}

// addTask adds the tasks that represent task id of the job.
func (b *packetBuilder) addTask(id int32, t engine.Task) {
	add := func(t engine.Task) {
		b.Graph.AddTask(t)
		b.Origin = append(b.Origin, id)
	}

	switch {
	case t.Kind != engine.Transfer:
		add(t)
		return
	case !b.pods.UsesNetwork(&t):
		add(engine.Task{})
		return
	case !b.pods.usesNICs(t.Src, t.Dst):
		var links []int32
		for _, l := range b.pods.Inside.Path(t.Src, t.Dst) {
			links = append(links, b.firstInside+l)
		}
		t.Src, t.Dst = b.insideNode(t.Src), b.insideNode(t.Dst)
		add(t)
		b.addPath(engine.Flow{Src: t.Src, Dst: t.Dst}, links...)
		return
	}

	// Part k uses NIC set k at both ends. The node with fewer sets uses its last set several times.
	link := b.firstLeaf + b.pods.Nodes[t.Src].Pod
	if b.pods.IsInterPod(&t) {
		link = b.Circuits + b.optical.Routes.Of(id)[0].Resource
	}
	from, to := b.pods.Nodes[t.Src].NICs, b.pods.Nodes[t.Dst].NICs
	parts := int64(max(len(from), len(to)))
	for k := range parts {
		part := t
		part.Bytes = t.Bytes*(k+1)/parts - t.Bytes*k/parts
		out, in := from[min(int(k), len(from)-1)], to[min(int(k), len(to)-1)]
		part.Src, part.Dst = b.sendNode(out), b.receiveNode(in)
		add(part)
		outLink, inLink := 2*out, 2*in+1 // see buildNetwork
		b.addPath(engine.Flow{Src: part.Src, Dst: part.Dst}, outLink, link, inLink)
	}
}

// addPath adds a flow with its path, unless it has been added before.
func (b *packetBuilder) addPath(f engine.Flow, links ...int32) {
	if b.hasPath[f] {
		return
	}
	b.hasPath[f] = true
	b.Flows = append(b.Flows, f)
	const channel = 0
	steps := make([]engine.Step, len(links))
	for i, l := range links {
		steps[i] = engine.MakeStep(b.port[l], channel)
	}
	b.Paths.Add(steps...)
}

// Reference converts a trace of the job to a trace of Graph. The parts of a task share its rates
// equally.
func (k *Packets) Reference(t *engine.Trace) *engine.Trace {
	// The number of transfers that represent a task, indexed by task of the job.
	parts := make([]float64, len(t.Start))
	for part, task := range k.Origin {
		if k.Graph.Tasks[part].Kind == engine.Transfer {
			parts[task]++
		}
	}

	out := &engine.Trace{StepStart: make([]int32, len(k.Origin)+1), Makespan: t.Makespan}
	for part, task := range k.Origin {
		out.Start, out.End = append(out.Start, t.Start[task]), append(out.End, t.End[task])
		if k.Graph.Tasks[part].Kind == engine.Transfer {
			for _, s := range t.Rates(task) {
				out.Steps = append(out.Steps, engine.RateStep{At: s.At, Rate: s.Rate / parts[task]})
			}
		}
		out.StepStart[part+1] = int32(len(out.Steps))
	}
	return out
}

// Trace converts a trace of Graph to a trace of the job g. A task starts with its first part and
// ends with its last. The rate of a transfer is its mean rate.
func (k *Packets) Trace(g *engine.Graph, t *engine.Trace) *engine.Trace {
	out := &engine.Trace{
		Start: make([]engine.Time, len(g.Tasks)), End: make([]engine.Time, len(g.Tasks)),
		StepStart: make([]int32, len(g.Tasks)+1), Makespan: t.Makespan, Events: t.Events,
	}

	for i := range out.Start {
		out.Start[i] = engine.Never
	}
	// Without a contention in the job, causes refer only to the starts of messages.
	if t.Cause != nil && !g.Contention.IsEmpty() {
		out.Cause = slices.Repeat([]int32{-1}, len(g.Tasks))
	}

	for part, task := range k.Origin {
		if out.Cause != nil && g.Competes(task) && t.Cause[part] >= 0 {
			out.Cause[task] = k.Origin[t.Cause[part]]
		}
		out.Start[task] = min(out.Start[task], t.Start[part])
		out.End[task] = max(out.End[task], t.End[part])
	}

	for i := range g.Tasks {
		if took := out.End[i] - out.Start[i]; g.Tasks[i].Kind == engine.Transfer && took > 0 {
			out.Steps = append(out.Steps,
				engine.RateStep{At: out.Start[i], Rate: 8 * float64(g.Tasks[i].Bytes) / took.Seconds()},
				engine.RateStep{At: out.End[i]})
		}
		out.StepStart[i+1] = int32(len(out.Steps))
	}
	return out
}
