package scenarios

import (
	"fmt"
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

// podTraffic reports whether s is work of all GPUs of pods, where its fabric is that, and not of replicas of a model.
func (s *Scenario) podTraffic() bool {
	f := workloadOn(s)
	return f != nil && !f.trains && f.on(onCircuits)
}

// podTrafficForm is the form of traffic among the GPUs of pods.
func podTrafficForm(of *paths.Kind) *form {
	f := &form{doc: of.PodDoc, needs: []offer{onCircuits}, callable: of.Alike, onPods: checkPodTraffic}
	if of.Drawn {
		f.parts = podRandomParts
		return f
	}
	f.prepare = prepareTraffic
	f.parts = func(s *Scenario) []schema.Part {
		t := &s.Workload.Traffic
		return []schema.Part{{
			Path: "workload", Doc: "The traffic, which starts at time zero.",
			Specs:    append([]any{&t.TrafficMessage, &t.TrafficPacket, &t.TrafficMatrix}, patternSpecs(s)...),
			Defaults: func(int) []any { return []any{&s.links().TrafficDefaults().TrafficMessage} },
		}}
	}
	return f
}

// podPoisson are the keys of TrafficPoisson of pods, whose sources are all of that kind.
var podPoisson = schema.Tags{
	"Duration": `key:"duration" doc:"measured time after the warm-up" else:"the time of 4,000 packets on a network interface" when:"engine.level=packet"`,
	"Load":     `key:"load" doc:"injection rate of each GPU as a fraction of its network interface's rate" default:"0.1" above:"0" max:"1000" when:"engine.level=packet"`,
	"Warmup":   `key:"warmup" doc:"time before which injected packets are not measured" else:"the time of 1,000 packets on a network interface" when:"engine.level=packet"`,
}

// podRandomParts are the tables of packets to GPUs that are drawn.
func podRandomParts(s *Scenario) []schema.Part {
	t := &s.Workload.Traffic
	return []schema.Part{{
		Path: "workload", Doc: "The injection of packets. Circuits are decided for equal bytes between all pairs.",
		Specs: []any{&t.TrafficMessage, &t.TrafficPacket, schema.RetaggedSpec{Spec: &t.TrafficPoisson, Tags: podPoisson}},
		Defaults: func(int) []any {
			d := t.TrafficPoisson
			each := 8 * float64(t.Packet) / max(1, float64(s.Fabric.NICBandwidth)) * float64(engine.Second)
			d.Warmup, d.Duration = engine.Time(1_000*each), engine.Time(4_000*each)
			return []any{&s.links().TrafficDefaults().TrafficMessage, &d}
		},
	}}
}

// checkPodRandom holds packets at random times against the level, and against what can be simulated.
func (c *checker) checkPodRandom() {
	s := c.s
	switch w := &s.Workload; {
	case s.Engine.Level == "flow":
		c.clash("engine.level workload.kind", `level "flow" simulates messages, source "poisson" has rates and times; set engine.level to "packet" or "static", or choose other traffic`)
	case s.Engine.Level == "packet":
		packets := float64(s.Fabric.Pods*s.Fabric.GPUsPerPod) * (w.Warmup + w.Duration).Seconds() * w.Load * float64(s.Fabric.NICBandwidth) / 8 / float64(max(1, w.Packet))
		c.checkPodPackets(min(s.Fabric.PortBandwidth, s.Fabric.NICBandwidth), 3*packets)
	}
}

// uniform are the pods of traffic, whose nodes are GPUs; in an all-to-all the GPUs of a pod do alike, and are one.
func (s *Scenario) uniform() fabric.UniformPods {
	f := &s.Fabric
	u := fabric.UniformPods{
		Pods: f.Pods, NodesPerPod: f.GPUsPerPod, GPUsPerNode: 1, Ports: f.PortsPerPod, PortRate: f.PortBandwidth, NICRate: f.NICBandwidth,
	}
	if s.traffic().Alike && len(s.Tiers) == 0 {
		u.NodesPerPod, u.GPUsPerNode = 1, f.GPUsPerPod
	}
	return u
}

// betweenPods is the traffic between the nodes of pods.
func (s *Scenario) betweenPods(u fabric.UniformPods) (*collective.Traffic, error) {
	on := s.links()
	return s.traffic().Among(on, u.Pods*u.NodesPerPod, int64(s.Workload.Message)*int64(u.GPUsPerNode)*int64(u.GPUsPerNode))
}

// severalPods holds that there are pods between which data goes, and reports whether there are.
func (c *checker) severalPods() bool {
	switch n := c.s.Fabric.Pods; {
	case n == 0:
		c.refuse("fabric.pods", "is missing; write pods = N: how many pods there are")
	case n < 2:
		c.clash("fabric.pods", "no traffic crosses pods: there is one; choose at least 2")
	default:
		return true
	}
	return false
}

// messages is that traffic as transfers. On tiers the last of them has arrived before the work ends.
func (s *Scenario) messages(u fabric.UniformPods) (*engine.Graph, error) {
	t, err := s.betweenPods(u)
	if err != nil {
		return nil, err
	}
	g, err := t.Graph()
	if err != nil || len(s.Tiers) == 0 {
		return g, err
	}
	all := &engine.Graph{Tasks: append(g.Tasks, engine.Task{})}
	for i := range g.Tasks {
		all.AddEdge(int32(i), int32(len(g.Tasks)), 0)
	}
	return all, all.Freeze()
}

// checkPodTraffic holds traffic against the pods.
func checkPodTraffic(c *checker) {
	s, f := c.s, &c.s.Fabric
	const pods, perPod = "fabric.pods", "fabric.gpus_per_pod"
	if !c.OK(pods, perPod, "workload.message", "workload.matrix", "workload.matrix_file") {
		return
	}
	gpus := float64(f.Pods) * float64(f.GPUsPerPod)
	kind := s.traffic()
	size := s.Workload.Message
	if s.calls() {
		size = units.Bytes(s.call().Bytes)
	}
	transfers := gpus * gpus // at most
	if s.calls() || kind.Alike && len(s.Tiers) == 0 {
		transfers = float64(f.Pods) * float64(f.Pods-1)
	}
	rows := float64(len(s.Workload.Matrix))
	if len(s.Workload.Sends) > 0 && s.Workload.Endpoints() <= f.Pods*f.GPUsPerPod {
		rows = gpus // of which those that send are listed
		transfers = float64(len(s.Workload.Sends))
	}
	switch {
	case !c.severalPods():
	case c.blame(pods+" "+perPod, assembly.PodTask.Times(transfers).Excess("the transfers of so many GPUs in pods", "fewer")):
	case kind.Listed && c.OK("workload") && rows != gpus:
		c.clash("workload.matrix workload.matrix_file "+pods+" "+perPod, "the matrix has %.0f rows for %.0f GPUs; write a row of bytes for each GPU of each pod", rows, gpus)
	case !kind.Listed && size < 1:
		c.clash("workload.message", "messages of 0B; write at least 1B")
	case !kind.Listed && float64(size)*gpus*gpus > assembly.MostCounted:
		c.clash("workload.message", "the messages are more bytes than can be counted; write at most %.0f B", math.Floor(assembly.MostCounted/gpus/gpus))
	case s.calls():
		c.checkPodCall()
	default:
		if c.OK("workload", "fabric") {
			c.checkPodFlows()
		}
	}
}

// checkPodCall holds a call against its algorithms, and against time and packets as if every GPU sent to each other.
func (c *checker) checkPodCall() {
	s, f := c.s, &c.s.Fabric
	if !c.OK("workload", "fabric", "engine") {
		return
	}
	gpus, slowest := float64(f.Pods)*float64(f.GPUsPerPod), min(f.PortBandwidth, f.NICBandwidth)
	bytes := float64(s.call().Bytes) * 2 * gpus
	if workloadOn(s).callable {
		bytes *= gpus / 2
	}
	if long := 8 * bytes / float64(slowest); long > maxIteration {
		c.Clash([]string{"workload.message", "fabric.port_bandwidth", "fabric.nic_bandwidth"}, fmt.Sprintf("the collective may take %.3g s, which is absurd", long), fmt.Sprintf("stay within %d s", maxIteration))
		return
	}
	if s.Engine.Level == "packet" {
		c.checkPodPackets(slowest, 3*(bytes/float64(max(1, s.Workload.Packet))+gpus*gpus))
	}
	if len(c.Diagnostics) == 0 {
		checkCall(c)
	}
}

// podLoad is what pods send each other.
type podLoad struct {
	joined      circuits.Joined
	packet      units.Bytes
	crossing    int // messages between two pods
	bytes, hops float64
}

// add adds a message from one pod to another.
func (l *podLoad) add(from, to int, bytes int64) {
	if l.joined.Join(from, to) {
		l.crossing++
		l.bytes += float64(bytes)
		l.hops += 3 * math.Ceil(float64(bytes)/float64(max(1, l.packet)))
	}
}

// checkPodPorts holds that every pod has a port for each pod that it exchanges data with, and reports whether it has; key
// may be at fault, too.
func (c *checker) checkPodPorts(joined circuits.Joined, key string) bool {
	pod, need := joined.Beyond(c.s.Fabric.PortsPerPod)
	c.forbid(need > 0, "fabric.ports_per_pod "+key, "U_p = %d is too small to connect: pod %d needs circuits to %d pods; give at least %d ports", c.s.Fabric.PortsPerPod, pod, need, need)
	return need == 0
}

// checkPodFlows holds what each pod exchanges against its ports, and what all of them do against time and packets.
func (c *checker) checkPodFlows() {
	s, f := c.s, &c.s.Fabric
	u := s.uniform()
	if h := s.links().Workload.HotSpots(); h != nil && h.Nodes >= f.Pods*f.GPUsPerPod {
		c.clash("workload.hot_nodes", "%d of %d nodes are hot; choose fewer", h.Nodes, f.Pods*f.GPUsPerPod)
		return
	}
	t, err := s.betweenPods(u)
	if c.blame("workload.hot_nodes workload.matrix workload.matrix_file workload.message", err) {
		return
	}
	load := podLoad{joined: make(circuits.Joined, f.Pods), packet: s.Workload.Packet}
	for i, flow := range t.Flows {
		load.add(int(flow.Src)/u.NodesPerPod, int(flow.Dst)/u.NodesPerPod, t.Size(i))
	}
	rates := []string{"fabric.port_bandwidth", "fabric.nic_bandwidth"}
	slowest := min(f.PortBandwidth, f.NICBandwidth)
	switch long := 8 * load.bytes / float64(slowest); {
	case load.crossing == 0:
		c.clash("workload.matrix workload.matrix_file workload.kind", "no traffic crosses pods; write bytes from a GPU of one pod to one of another")
	case c.blame("workload.matrix workload.matrix_file fabric.pods", assembly.PodTask.Times(float64(load.crossing)).Excess("the transfers between pods", "fewer")):
	case long > maxIteration:
		c.Clash(append([]string{"workload.message", "workload.matrix", "workload.matrix_file"}, rates...), fmt.Sprintf("the traffic may take %.3g s, which is absurd", long), fmt.Sprintf("stay within %d s", maxIteration))
	case s.traffic().Drawn:
		c.checkPodRandom()
	case s.Engine.Level == "packet":
		c.checkPodPackets(slowest, load.hops)
	}
	if c.checkPodPorts(load.joined, "fabric.pods") {
		checkFixed(c, "data", load.joined.Pairs())
	}
}
