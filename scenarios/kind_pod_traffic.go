// This file describes traffic and collective calls among the GPUs of pods on fabric
// "ocs-pods", and checks them against the ports of the pods.
//
// A kind (kinds.go) is a value of workload.kind or fabric.kind. Each of its forms has the
// keys for certain fabrics (parts), and functions that prepare and check them.

package scenarios

import (
	"math"

	"sim/engine"
	"sim/engine/units"
	"sim/fabric"
	"sim/scenarios/assembly"
	"sim/scenarios/assembly/circuits"
	"sim/scenarios/assembly/paths"
	"sim/scenarios/schema"
	"sim/workloads/collective"
)

// isPodTraffic reports whether s is work whose ranks fill pods in order, such as traffic, on a
// fabric of pods. It is false for a training step whose stages fill pods.
func (s *Scenario) isPodTraffic() bool {
	f := workloadForm(s)
	return f != nil && f.supports(circuitCarrier) && (!f.isTraining || f.checkOnPods != nil)
}

// podTrafficForm is the form of a kind of traffic among the GPUs of pods.
func podTrafficForm(traffic *paths.Kind) *form {
	f := &form{
		doc:              traffic.PodDoc,
		acceptedCarriers: []carrier{circuitCarrier},
		canBeCall:        traffic.IsUniform,
		checkOnPods:      checkPodTraffic,
	}
	if traffic.DrawsDestinations {
		f.parts = podRandomParts
		return f
	}

	// Other traffic consists of messages, which a file may list.
	f.prepare = prepareTraffic
	f.parts = func(s *Scenario) []schema.Part {
		t := &s.Workload.Traffic
		return []schema.Part{{
			Path: "workload", Doc: "The traffic, which starts at time zero.",
			Specs: append([]any{
				&t.TrafficMessage,
				&t.TrafficPacket,
				&t.TrafficMatrix,
			}, patternSpecs(s)...),
			Defaults: func(int) []any { return []any{&s.pathsView().TrafficDefaults().TrafficMessage} },
		}}
	}
	return f
}

// podPoissonTags are the tags of TrafficPoisson on pods, where all sources are Poisson
// processes.
var podPoissonTags = schema.Tags{
	"Duration": `key:"duration" doc:"measured time after the warm-up" else:"the time of 4,000 packets on a network interface" when:"engine.level=packet"`,
	"Load":     `key:"load" doc:"injection rate of each GPU as a fraction of its network interface's rate" default:"0.1" above:"0" max:"1000" when:"engine.level=packet"`,
	"Warmup":   `key:"warmup" doc:"time before which injected packets are not measured" else:"the time of 1,000 packets on a network interface" when:"engine.level=packet"`,
}

// podRandomParts are the tables of traffic whose packets have random destinations.
func podRandomParts(s *Scenario) []schema.Part {
	t := &s.Workload.Traffic
	return []schema.Part{{
		Path: "workload",
		Doc:  "The injection of packets. Circuits are decided for equal bytes between all pairs.",
		Specs: []any{
			&t.TrafficMessage,
			&t.TrafficPacket,
			schema.RetaggedSpec{Spec: &t.TrafficPoisson, Tags: podPoissonTags},
		},
		Defaults: func(int) []any {
			d := t.TrafficPoisson

			// packetTime is the time of one packet on a network interface, in ticks.
			seconds := 8 * float64(t.Packet) / max(1, float64(s.Fabric.NICBandwidth))
			packetTime := seconds * float64(engine.Second)
			d.Warmup, d.Duration = engine.Time(1_000*packetTime), engine.Time(4_000*packetTime)
			return []any{&s.pathsView().TrafficDefaults().TrafficMessage, &d}
		},
	}}
}

// checkPodPoisson checks packets that are sent at random times: level "flow" has none, and
// level "packet" can simulate a limited number.
func (c *checker) checkPodPoisson() {
	s := c.s
	switch s.Engine.Level {
	case "flow":
		c.conflictf("engine.level workload.kind",
			`level "flow" simulates messages, source "poisson" has rates and times; set engine.level to "packet" or "static", or choose other traffic`)
	case "packet":
		c.checkPodPackets(min(s.Fabric.PortBandwidth, s.Fabric.NICBandwidth), s.podPoissonHops())
	}
}

// uniformPods returns the pods of traffic. Their nodes are GPUs. In an all-to-all all GPUs
// of a pod behave identically, so a single node represents them.
func (s *Scenario) uniformPods() fabric.UniformPods {
	f := &s.Fabric
	u := fabric.UniformPods{
		Pods:        f.Pods,
		NodesPerPod: f.GPUsPerPod,
		GPUsPerNode: 1,
		Ports:       f.PortsPerPod,
		PortRate:    f.PortBandwidth,
		NICRate:     f.NICBandwidth,
	}
	if s.traffic().IsUniform && s.ignoresPodNetwork() {
		u.NodesPerPod, u.GPUsPerNode = 1, f.GPUsPerPod
	}
	return u
}

// ignoresPodNetwork reports whether traffic inside pods takes no time.
func (s *Scenario) ignoresPodNetwork() bool { return len(s.Tiers) == 0 && s.Fabric.HostGPUs == 0 }

// podTrafficFlows returns the traffic between the nodes of pods.
func (s *Scenario) podTrafficFlows(u fabric.UniformPods) (*collective.Traffic, error) {
	// A message between two nodes holds a message from each GPU to each GPU.
	pairs := int64(u.GPUsPerNode) * int64(u.GPUsPerNode)
	bytes := int64(s.Workload.Message) * pairs
	return s.traffic().NodeTraffic(s.pathsView(), u.Pods*u.NodesPerPod, bytes)
}

// requireSeveralPods checks that the fabric has at least two pods, and returns false if
// not.
func (c *checker) requireSeveralPods() bool {
	switch n := c.s.Fabric.Pods; {
	case n == 0:
		c.rejectf("fabric.pods", "is missing; write pods = N: how many pods there are")
	case n < 2:
		c.conflictf("fabric.pods", "no traffic crosses pods: there is one; choose at least 2")
	default:
		return true
	}
	return false
}

// podMessageGraph returns the traffic as a graph of transfers. If tiers are inside the
// pods, a final task waits until all transfers have arrived.
func (s *Scenario) podMessageGraph(u fabric.UniformPods) (*engine.Graph, error) {
	t, err := s.podTrafficFlows(u)
	if err != nil {
		return nil, err
	}
	g, err := t.Graph()
	if err != nil || len(s.Tiers) == 0 {
		return g, err
	}

	// The final task depends on all transfers.
	all := &engine.Graph{Tasks: append(g.Tasks, engine.Task{})}
	for i := range g.Tasks {
		all.AddDependency(int32(i), int32(len(g.Tasks)))
	}
	return all, all.Freeze()
}

// checkPodTraffic checks traffic or a collective call against the pods.
func checkPodTraffic(c *checker) {
	s, f := c.s, &c.s.Fabric
	const pods, perPod = "fabric.pods", "fabric.gpus_per_pod"
	if !c.OK(pods, perPod, "workload.message", "workload.matrix", "workload.matrix_file") {
		return
	}

	// Sizes of messages, numbers of transfers and rows of the matrix.
	gpus := float64(f.Pods) * float64(f.GPUsPerPod)
	kind := s.traffic()
	size := s.Workload.Message
	if s.isCall() {
		size = units.Bytes(s.collectiveCall().Bytes)
	}

	// transfers is an upper bound: every pair of GPUs, or every pair of pods if the GPUs of
	// a pod are one node.
	transfers := gpus * gpus
	if s.isCall() || kind.IsUniform && s.ignoresPodNetwork() {
		transfers = float64(f.Pods) * float64(f.Pods-1)
	}

	// A list of messages has no rows for GPUs that send nothing.
	rows := float64(len(s.Workload.Matrix))
	if len(s.Workload.Sends) > 0 && s.Workload.MinEndpoints() <= f.Pods*f.GPUsPerPod {
		rows = gpus
		transfers = float64(len(s.Workload.Sends))
	}

	cost := assembly.PodTask.Scale(transfers)
	tooManyTransfers := cost.CheckLimits("the transfers of so many GPUs in pods", "fewer")
	switch {
	case !c.requireSeveralPods():
	case c.blame(pods+" "+perPod, tooManyTransfers):
	// Listed traffic has a row per GPU.
	case kind.IsListed && c.OK("workload") && rows != gpus:
		c.conflictf("workload.matrix workload.matrix_file "+pods+" "+perPod,
			"the matrix has %.0f rows for %.0f GPUs; write a row of bytes for each GPU of each pod",
			rows, gpus)
	case !kind.IsListed && size < 1:
		c.conflictf("workload.message", "messages of 0B; write at least 1B")

	// The sum of all bytes must fit into a number.
	case !kind.IsListed && float64(size)*gpus*gpus > assembly.MaxTotalBytes:
		c.conflictf("workload.message",
			"the sum of all messages is too large to be counted; write at most %.0f B",
			math.Floor(assembly.MaxTotalBytes/gpus/gpus))
	case s.isCall():
		c.checkPodCall()
	default:
		if c.OK("workload", "fabric") {
			c.checkPodFlows()
		}
	}
}

// checkPodCall checks a collective call against its algorithms, and its duration and
// packets as if every GPU sent to every other one.
func (c *checker) checkPodCall() {
	s, f := c.s, &c.s.Fabric
	if !c.OK("workload", "fabric", "engine") {
		return
	}

	// An all-reduce sends a vector twice, whatever the algorithm. In traffic such as an
	// all-to-all, each GPU sends a message to every other one.
	gpus, slowest := float64(f.Pods)*float64(f.GPUsPerPod), min(f.PortBandwidth, f.NICBandwidth)
	bytes := float64(s.collectiveCall().Bytes) * 2 * gpus
	if workloadForm(s).canBeCall {
		bytes *= gpus / 2
	}
	if long := 8 * bytes / float64(slowest); long > maxIterationSeconds {
		c.conflictf("workload.message fabric.port_bandwidth fabric.nic_bandwidth",
			"the collective may take %.3g s, which is too long to simulate; stay within %d s",
			long, maxIterationSeconds)
		return
	}

	if s.Engine.Level == "packet" {
		packets := bytes/float64(max(1, s.Workload.Packet)) + gpus*gpus
		c.checkPodPackets(slowest, hopsPerPacket*packets)
	}
	if len(c.Diagnostics) == 0 {
		checkCall(c)
	}
}

// podLoad sums the messages between pods.
type podLoad struct {
	joined      circuits.PodNeighbours // pairs of pods that exchange messages
	packet      units.Bytes            // size of a packet
	crossing    int                    // number of messages between two pods
	bytes, hops float64                // of these messages
}

// add adds a message from one pod to another. It ignores messages inside a pod.
func (l *podLoad) add(from, to int, bytes int64) {
	if l.joined.Add(from, to) {
		l.crossing++
		l.bytes += float64(bytes)
		l.hops += hopsPerPacket * math.Ceil(float64(bytes)/float64(max(1, l.packet)))
	}
}

// podLoad returns the load of traffic between the nodes of pods.
func (s *Scenario) podLoad(u fabric.UniformPods, t *collective.Traffic) podLoad {
	load := podLoad{joined: make(circuits.PodNeighbours, s.Fabric.Pods), packet: s.Workload.Packet}
	for i, flow := range t.Flows {
		load.add(int(flow.Src)/u.NodesPerPod, int(flow.Dst)/u.NodesPerPod, t.Size(i))
	}
	return load
}

// podTrafficCost estimates the cost of simulating traffic between pods. It is 0 if the traffic
// cannot be generated.
func (s *Scenario) podTrafficCost() Cost {
	u := s.uniformPods()
	t, err := s.podTrafficFlows(u)
	switch {
	case err != nil || s.Engine.Level == "static":
		return Cost{}
	case s.traffic().DrawsDestinations:
		return assembly.QueuedHop.Scale(s.podPoissonHops())
	}
	load := s.podLoad(u, t)
	cost := assembly.PodTask.Scale(float64(load.crossing))
	if s.Engine.Level == "packet" {
		cost = cost.Add(assembly.QueuedHop.Scale(load.hops))
	}
	return cost
}

// podPoissonHops estimates the hops of packets that are sent at random times.
func (s *Scenario) podPoissonHops() float64 {
	w := &s.Workload
	gpus := float64(s.Fabric.Pods * s.Fabric.GPUsPerPod)
	seconds := (w.Warmup + w.Duration).Seconds()
	bytes := gpus * seconds * w.Load * float64(s.Fabric.NICBandwidth) / 8
	return hopsPerPacket * bytes / float64(max(1, w.Packet))
}

// checkPodPorts checks that every pod has a port per pod with which it exchanges data, and
// returns false if one has not. key is a further key that can be at fault.
func (c *checker) checkPodPorts(joined circuits.PodNeighbours, key string) bool {
	pod, need := joined.FirstAbove(c.s.Fabric.PortsPerPod)
	if k := &c.s.Fabric.Cluster; need > 0 && c.s.hasCluster() {
		c.conflictf("fabric.oversubscription fabric.hosts_per_pod",
			"pod %d has %d uplinks and needs circuits to %d pods; write at most %.4g",
			pod, c.s.Fabric.PortsPerPod, need, float64(k.GPUsPerPod())/float64(need))
		return false
	}
	c.conflictIf(need > 0, "fabric.ports_per_pod "+key,
		"U_p = %d is too small to connect: pod %d needs circuits to %d pods; give at least %d ports",
		c.s.Fabric.PortsPerPod, pod, need, need)
	return need == 0
}

// checkPodFlows checks the traffic of each pod against its ports, and all traffic against
// simulated time and the number of packets.
func (c *checker) checkPodFlows() {
	s, f := c.s, &c.s.Fabric

	u := s.uniformPods()
	if h := s.pathsView().Workload.HotSpots(); h != nil && h.Nodes >= f.Pods*f.GPUsPerPod {
		c.conflictf("workload.hot_nodes", "%d of %d nodes are hot; choose fewer",
			h.Nodes, f.Pods*f.GPUsPerPod)
		return
	}

	t, err := s.podTrafficFlows(u)
	if c.blame("workload.hot_nodes workload.matrix workload.matrix_file workload.message", err) {
		return
	}

	load := s.podLoad(u, t)

	// All messages one after the other on the slowest link bound the duration.
	slowest := min(f.PortBandwidth, f.NICBandwidth)
	cost := assembly.PodTask.Scale(float64(load.crossing))
	switch long := 8 * load.bytes / float64(slowest); {
	case load.crossing == 0:
		c.conflictf("workload.matrix workload.matrix_file workload.kind",
			"no traffic crosses pods; write bytes from a GPU of one pod to one of another")
	case c.blame("workload.matrix workload.matrix_file fabric.pods",
		cost.CheckLimits("the transfers between pods", "fewer")):
	case long > maxIterationSeconds:
		c.conflictf("workload.message workload.matrix workload.matrix_file fabric.port_bandwidth fabric.nic_bandwidth",
			"the traffic may take %.3g s, which is too long to simulate; stay within %d s",
			long, maxIterationSeconds)
	case s.traffic().DrawsDestinations:
		c.checkPodPoisson()
	case s.Engine.Level == "packet":
		c.checkPodPackets(slowest, load.hops)
	}

	// With enough ports, listed circuits must join the same pods.
	if c.checkPodPorts(load.joined, "fabric.pods") {
		checkFixedCircuits(c, "data", load.joined.Pairs())
	}
}
