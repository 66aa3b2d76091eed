// This file checks fabric "ocs-pods" and training steps on it: stages must fill pods,
// pods need enough ports for their neighbours, and the task graph and the packets must be
// small enough to simulate.
//
// The methods of checker report faults of keys as "PROBLEM; REMEDY". A check is skipped if
// a key that it needs has a fault already (c.OK).

package scenarios

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"sim/engine/units"
	"sim/policies/collective"
	"sim/policies/mapping"
	"sim/scenarios/assembly"
	"sim/scenarios/assembly/calls"
	"sim/scenarios/assembly/circuits"
	"sim/scenarios/assembly/input"
	"sim/scenarios/schema"
	"sim/workloads/training"
)

// Limits of lists that scenarios store. The resolved scenario must stay below
// schema.MaxFileBytes, like every scenario file.
const (
	// maxMappedPods limits the total length of the pod maps of heterogeneous replicas, to
	// about 2 MB of text.
	maxMappedPods = 300_000
	// maxFixedPods limits the rows of a topology in policy.fixed.circuits, a square matrix
	// of then about 1 MB of text.
	maxFixedPods = 512
)

// podShapeKeys are the keys that determine how stages fill pods.
var podShapeKeys = []string{
	"workload.model", "workload.architecture.experts", "workload.tp", "workload.cp", "workload.pp",
	"workload.ep", "workload.etp", "workload.gpus",
	"fabric.gpus_per_pod_per_replica",
}

// checkOCSPods checks pods against the workload, and the policies against both. Work other
// than training is checked by form.checkOnPods.
func checkOCSPods(c *checker) {
	checkPortTolerance(c)
	traffic := c.s.isPodTraffic()

	// Workloads that the fabric does not simulate have been reported.
	switch w := workloadForm(c.s); {
	case w != nil && !c.s.canSimulate(w):
		return
	case !c.OK("workload.kind"):
		if key := "fabric.gpus_per_pod_per_replica"; !traffic && !c.Given(key) {
			c.rejectf(key,
				"is missing; write gpus_per_pod_per_replica = N: GPUs that one replica has in a pod")
		}
	case traffic && c.job != nil:
		c.conflictf("workload.kind",
			`several jobs are training, and this one is %s; set workload.kind = "training", or describe one job, without [[job]]`,
			schema.Quote(w.name))
		return
	}

	checkSearch(c)
	checkReconfiguration(c)
	if traffic {
		workloadForm(c.s).checkOnPods(c)
		return
	}

	checkPortLending(c)
	if !c.OK(podShapeKeys...) ||
		c.s.isStagedTrace() && c.s.Workload.Measured == nil { // the trace files are at fault
		return
	}

	// Stages fill pods evenly: a pod holds whole stages, or, if the collective calls of a
	// stage are in the task graph, a stage holds whole pods.
	f, t := &c.s.Fabric, &c.s.Workload.Spec
	stage := t.StageGPUs()
	const perPod = "fabric.gpus_per_pod_per_replica"

	const stageKeys = perPod + " workload.tp workload.cp workload.ep workload.etp"
	pod, replica := f.GPUsPerPodPerReplica, t.PP*stage // GPUs
	isStageDivided := c.s.hasCallsInGraph() && pod < stage
	switch {
	case isStageDivided && stage%pod != 0:
		c.conflictf(stageKeys,
			"a stage of %d GPUs is not a multiple of a pod of %d GPUs; make it a divisor or a multiple of %d",
			stage, pod, stage)
	case pod%stage != 0 && !isStageDivided:
		c.conflictf(stageKeys,
			"a pod of %d GPUs is not a multiple of a stage of %d GPUs; make it a multiple of %d",
			pod, stage, stage)
	case replica%pod != 0:
		c.conflictf("workload.pp "+stageKeys,
			"pp does not divide into pods: %d stages of %d GPUs do not fill pods of %d GPUs; make pp a multiple of %d, or change gpus_per_pod_per_replica",
			t.PP, stage, pod, pod/stage)
	case t.GPUs%replica != 0: // reported by checkTraining
	case replica == pod && t.Replicas() == 1:
		c.conflictf(perPod+" workload.gpus workload.pp",
			"no traffic crosses pods: the only replica fits in one pod; lower gpus_per_pod_per_replica, or raise gpus")
	default:
		checkTaskCount(c)
		checkReplicas(c)
		if c.s.hasCallsInGraph() {
			checkPodCalls(c)
		} else {
			checkPorts(c)
		}

		checkFixedCircuits(c, "activations", c.s.neighbourPodPairs())
		checkPodMappings(c)
		checkPodLevel(c)
	}
}

// checkPodCalls checks the collective calls of a training step against the ports of pods:
// each pod needs a port per pod with which one of its GPUs exchanges data.
func checkPodCalls(c *checker) {
	if !c.s.hasCallsInGraph() || c.isCell || len(c.Diagnostics) > 0 {
		return
	}

	t, f := &c.s.Workload.Spec, &c.s.Fabric
	joined := make(circuits.PodNeighbours, c.s.PodsPerReplica()*t.Replicas())
	join := func(a, b int32) { joined.Add(int(a)/f.GPUsPerPodPerReplica, int(b)/f.GPUsPerPodPerReplica) }

	// Collect the transfers of all calls, and the activations and gradients between stages.
	e := c.s.circuitsView().StepExpander(t)
	if keys, err := e.CheckCalls(context.Background()); assembly.ReportConflict(c, keys, err) {
		return
	}

	joinTransfers := func(_ training.Call, _ []int32, _ float64, schedule *collective.Schedule) {
		for _, x := range schedule.Transfers {
			join(schedule.Group[x.Src], schedule.Group[x.Dst])
		}
	}
	if err := e.VisitCalls(context.Background(), joinTransfers); err != nil {
		return // reported above
	}

	for r := range t.Replicas() {
		for _, pair := range t.Neighbours() {
			for g := range t.StageGPUs() {
				join(t.Rank(r, pair[0], g), t.Rank(r, pair[1], g))
			}
		}
	}

	// Compare with the ports of the pod. A heterogeneous replica may have another number of
	// ports.
	for pod := range joined {
		ports, key := f.PortsPerPod, "fabric.ports_per_pod"
		for i, r := range c.s.Replicas {
			if r.Index == pod/c.s.PodsPerReplica() {
				ports, key = r.PortsPerPod, replicaPath(i, "ports_per_pod")
			}
		}

		if n := len(joined[pod]); n > ports {
			c.conflictf(key+" policy.collective fabric.gpus_per_pod_per_replica",
				"U_p = %d is too small to connect: with its collective calls a pod exchanges data with %d others; give at least %d ports, or choose an algorithm with fewer neighbours, such as %s",
				ports, n, n, schema.Quote(calls.DefaultAlgorithm))
			return
		}
	}
}

// checkPodMappings checks mappings of stages to pods against the other keys. A mapping
// holds for whole stages of identical replicas of a single job.
func checkPodMappings(c *checker) {
	const keys = "policy.mappings policy.mapping"
	s := c.s
	switch {
	case !s.Policy.Mapping.IsSet() || !c.OK("policy", "fabric", "replica", "workload"):
	// Replicas that differ have pod maps of their own.
	case len(s.Replicas) > 0:
		c.conflictf(keys+" replica",
			"places identical replicas, but [[replica]] describes replicas that differ; leave one of the two out")
	case s.Policy.HasLender():
		c.conflictf(keys+" policy.lender_allocator",
			`is of one job, and policy.lender_allocator is a second one in its pods; set policy.lender_allocator = "none"`)

	// The mapping replaces the order of stages that reverse changes.
	case s.Fabric.Reverse:
		c.conflictf("fabric.reverse",
			"is not used with policy.mapping, which places stages; leave it out")

	// Circuits are decided per replica, so replicas do not share a mapping.
	case s.Workload.ReplicaMode == "decomposed":
		c.conflictf(keys+" workload.replicas",
			`replicas that are decided one by one have pod maps of their own; set workload.replicas = "auto"`)
	case s.Fabric.GPUsPerPodPerReplica < s.Workload.StageGPUs():
		c.conflictf(keys+" fabric.gpus_per_pod_per_replica",
			"places whole stages, but a pod of %d GPUs holds a part of a stage of %d; make pods a multiple of a stage",
			s.Fabric.GPUsPerPodPerReplica, s.Workload.StageGPUs())

	// The search moves whole stages and ignores calls between parts of a stage.
	case s.hasCallsInGraph() && slices.ContainsFunc(s.Policy.Mapping.Names(), mapping.IsSearch):
		c.conflictf(keys+" workload.collectives",
			"the search moves whole stages and ignores collective calls in the task graph; choose an order or a file, or leave workload.collectives out")

	// The listed circuits belong to the pods of stages in order.
	case len(s.Policy.Fixed.Circuits) > 0:
		c.conflictf(keys+" policy.allocators",
			"the listed circuits are for stages in order; choose another allocator")
	case len(c.Diagnostics) == 0: // else the job may have no replica, or stages of no GPUs
		circuits.CheckMappings(c.Reader, s.circuitsView())
	}
}

// checkPodLevel rejects keys that only level "flow" supports, and packets that are too many
// or too large to simulate.
func checkPodLevel(c *checker) {
	s := c.s
	if s.Engine.Level == "flow" || !c.OK("workload", "engine", "trials", "policy.lender_allocator", "fabric") {
		return
	}

	const level = "engine.level"
	switch {
	case s.Trials.Count > 0:
		c.conflictf(level+" trials",
			`trials are simulated as fluid; set engine.level = "flow", or leave [trials] out`)
		return
	case s.Policy.HasLender():
		c.conflictf(level+" policy.lender_allocator",
			`two jobs are simulated as fluid; set engine.level = "flow", or policy.lender_allocator = "none"`)
		return
	case s.Engine.Level == "static":
		return
	}

	// Ports of replicas may be slower.
	slowest := min(s.Fabric.PortBandwidth, s.Fabric.NICBandwidth)
	for _, r := range s.Replicas {
		slowest = min(slowest, r.PortBandwidth)
	}
	c.checkPodPackets(slowest, s.podPacketHops())
}

// hopsPerPacket is the number of links that a packet between pods passes: sending NIC,
// circuit and receiving NIC.
const hopsPerPacket = 3

// podPacketHops estimates the number of hops of all packets of a training step on pods.
func (s *Scenario) podPacketHops() float64 {
	t := &s.Workload.Spec
	packets := func(bytes int64) float64 {
		return math.Ceil(float64(bytes) / float64(max(1, s.Workload.Packet)))
	}
	hops := hopsPerPacket * packets(t.PipelineBytes()) * s.passCount() * float64(t.StageGPUs())
	if s.hasCallsInGraph() {
		bytes, transfers, _ := (*stepWork)(t).Size()
		hops = hopsPerPacket * (float64(bytes)/float64(max(1, s.Workload.Packet)) + transfers)
	}

	// Messages that synchronise gradients.
	gpus := float64(t.StageGPUs() * t.Replicas())
	for v := range t.VirtualStages() {
		t.StageMessages(v, func(bytes int64, times, _ int) {
			hops += hopsPerPacket * float64(times) * packets(bytes) * gpus
		})
	}
	return hops
}

// checkPodPackets checks the size and the number of packets on pods. slowest is the rate of
// the slowest link.
func (c *checker) checkPodPackets(slowest units.Rate, hopCount float64) {
	const key = "workload.packet"
	switch size := c.s.Workload.Packet; {
	case size > assembly.MaxPacketSize || size < 1:
		c.conflictf(key, "packets of %v; write 1B to %v", size, assembly.MaxPacketSize)
	case slowest < assembly.MinLinkRate:
		c.conflictf("fabric.port_bandwidth fabric.nic_bandwidth replica.0.port_bandwidth",
			`%v is too slow for packets; write at least %v, or set engine.level = "flow"`,
			slowest, assembly.MinLinkRate)
	default:
		cost := assembly.QueuedHop.Scale(hopCount)
		c.blame(key, cost.CheckLimits("the packets", `larger ones or engine.level = "flow"`))
	}
}

// checkTaskCount rejects a task graph that does not fit into memory. A graph has two passes
// per stage and micro-batch, and two transfers between neighbouring pods.
func checkTaskCount(c *checker) {
	if !c.OK("workload.microbatches", "workload.schedule", "workload.virtual_stages", "workload.replicas",
		"workload.flows", "replica") {
		return
	}

	cost := assembly.PodTask.Scale(c.s.passCount())
	c.blame(
		"workload.microbatches workload.pp workload.gpus workload.virtual_stages workload.replicas workload.flows",
		cost.CheckLimits("passes of stages and transfers between pods", "fewer"))
}

// podCost estimates the cost of simulating training steps, programs of ranks and traffic on
// pods.
func (s *Scenario) podCost() (cost Cost) {
	switch w := s.rankWork(); {
	case s.hasSeveralJobs():
		for i := range s.Jobs {
			cost = cost.Add(s.Jobs[i].Scenario.podCost())
		}
	case !s.isPodTraffic() && s.isTraining():
		if cost = assembly.PodTask.Scale(s.passCount()); s.Engine.Level == "packet" {
			cost = cost.Add(assembly.QueuedHop.Scale(s.podPacketHops()))
		}
	case w != nil:
		bytes, transfers, _ := w.Size()
		if cost = assembly.PodTask.Scale(transfers); s.Engine.Level == "packet" {
			hops := hopsPerPacket * (bytes/float64(max(1, s.Workload.Packet)) + transfers)
			cost = cost.Add(assembly.QueuedHop.Scale(hops))
		}
	default:
		cost = s.podTrafficCost()
	}
	return cost
}

// tasksPerSync is the number of tasks by which a stage synchronises a piece of its
// gradients: two halves of the ring, their join, and the dependent part of the pass.
const tasksPerSync = 4

// passCount estimates the number of passes of stages and of transfers between pods that are
// simulated.
func (s *Scenario) passCount() float64 {
	t := &s.Workload.Spec

	// Transfers per micro-batch in one direction: interleaved chunks visit each pod once
	// per chunk.
	hops := float64(s.PodsPerReplica() - 1)
	if t.Chunks > t.ModelCopies() {
		hops = float64(s.PodsPerReplica() * t.Chunks)
	}
	if t.Flows == "per-gpu" || s.hasCallsInGraph() {
		hops *= float64(t.StageGPUs())
	}
	n := 2 * float64(t.Microbatches) * (hops + float64(t.PP)*float64(t.Chunks))

	// With separate flows, every GPU has a transfer per synchronisation, besides the join
	// and the dependent part of the pass.
	perSync := float64(tasksPerSync)
	if t.Flows == "per-gpu" {
		perSync = float64(t.StageGPUs() + 2)
	}
	n += t.SyncTaskCount(perSync)

	// All replicas are simulated if the keys require it, or if one cannot represent the
	// others.
	simulatesAll := t.ReplicaMode == "all" || t.ReplicaMode == "decomposed"
	if t.ReplicaMode == "auto" {
		view := s.circuitsView()
		simulatesAll = len(s.Replicas) > 0 || view.NeedsAllReplicas() || view.CanMixReplicas()
	}
	if simulatesAll {
		n *= float64(t.Replicas())
	}
	return n
}

// maxNeighbourPods returns the maximum number of pods of the same replica with which a pod
// exchanges data.
func maxNeighbourPods(s *Scenario) int {
	counts := make([]int, s.PodsPerReplica())
	for _, pair := range s.circuitsView().Neighbours() {
		counts[pair[0]]++
		counts[pair[1]]++
	}
	return slices.Max(counts)
}

// checkPorts checks that every pod has a port per pod with which it exchanges data: pods of
// its replica, and its peers in other replicas.
func checkPorts(c *checker) {
	chain, peers := maxNeighbourPods(c.s), c.s.Workload.PeerNeighbours()
	need := chain + peers

	// connect checks the ports that the key at path sets.
	connect := func(path string, ports int) {
		c.conflictIf(c.OK(path) && ports < need, path+" fabric.gpus_per_pod_per_replica",
			"U_p = %d is too small to connect: a pod needs circuits to %d pods of its replica and to %d of other replicas; give at least %d ports",
			ports, chain, peers, need)
	}
	connect("fabric.ports_per_pod", c.s.Fabric.PortsPerPod)
	for i := range c.s.Replicas {
		if path := replicaPath(i, "ports_per_pod"); c.Given(path) {
			connect(path, c.s.Replicas[i].PortsPerPod)
		}
	}
}

// replicaPath returns the path of a key of the replica at index i of the file.
func replicaPath(i int, key string) string { return fmt.Sprintf("replica.%d.%s", i, key) }

// checkReplicas checks the heterogeneous replicas, completes their pod maps and sorts them
// by index.
func checkReplicas(c *checker) {
	s := c.s
	if !c.OK("replica") || len(s.Replicas) == 0 {
		return
	}

	c.conflictIf(s.Workload.ReplicaMode == "single" && c.OK("workload.replicas"), "replica.0",
		`is not used by replicas = "single", which simulates one for all; leave it out, or set replicas = "all" or "decomposed"`)
	pods, count := s.PodsPerReplica(), s.Workload.Replicas()
	if pods*len(s.Replicas) > maxMappedPods {
		c.conflictf("replica.0",
			"%d replicas of %d pods are too many to describe one by one; stay within %d pods in all",
			len(s.Replicas), pods, maxMappedPods)
		return
	}

	// Every replica has an index of its own, and a permutation of the pods.
	seen := map[int]bool{}
	for i := range s.Replicas {
		r := &s.Replicas[i]
		if path := replicaPath(i, "index"); c.OK(path) {
			switch {
			case r.Index >= count:
				c.conflictf(path, "there is no replica %d; choose one from 0 to %d", r.Index, count-1)
			case seen[r.Index]:
				c.conflictf(path, "replica %d is described twice; merge the two", r.Index)
			}
			seen[r.Index] = true
		}

		if path := replicaPath(i, "pod_map"); !c.Given(path) {
			r.PodMap = s.circuitsView().PodMap()
		} else if c.OK(path) && !isPermutation(r.PodMap, pods) {
			c.conflictf(path, "is no permutation of the %d pods; list each of 0 to %d once", pods, pods-1)
			r.PodMap = s.circuitsView().PodMap() // a valid map, so that later checks can use it
		}
	}

	if len(c.Diagnostics) == 0 { // diagnostics refer to the order of the file
		slices.SortFunc(s.Replicas, func(a, b input.Replica) int { return cmp.Compare(a.Index, b.Index) })
	}
}

// isPermutation reports whether list holds each of 0 to n-1 once.
func isPermutation(list []int, n int) bool {
	seen := make([]bool, n)
	for _, x := range list {
		if x < 0 || x >= n || seen[x] {
			return false
		}
		seen[x] = true
	}
	return len(list) == n
}

// checkSearch checks the options of the genetic search against each other.
func checkSearch(c *checker) {
	o := &c.s.Policy.Fast
	if o.Elites < o.Population && o.Tournament <= o.Population {
		return
	}

	// Report a conflict only if all three keys are valid.
	elites, population, tournament := c.PathOf(&o.Elites), c.PathOf(&o.Population), c.PathOf(&o.Tournament)
	if !c.OK(elites, population, tournament) {
		return
	}

	c.conflictIf(o.Elites >= o.Population, elites+" "+population,
		"%d elites leave no place in a population of %d; choose fewer elites",
		o.Elites, o.Population)
	c.conflictIf(o.Tournament > o.Population, tournament+" "+population,
		"%d contestants are more than the population of %d; choose fewer",
		o.Tournament, o.Population)
}
