// This file checks the workload "training": the model, its parallelism, the pipeline
// schedule, sharding and memory. Checks that depend on the fabric are in the files of the
// fabrics.
//
// The methods of checker report faults of keys as "PROBLEM; REMEDY". A check is skipped if
// a key that it needs has a fault already (c.OK).

package scenarios

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"sim/internal/text"
	"sim/scenarios/schema"
	"sim/workloads/collective"
	"sim/workloads/trace"
	"sim/workloads/training"
)

// Limits that keep all sizes far inside int64.
const (
	// maxMicrobatchTokens limits the tokens of a micro-batch.
	maxMicrobatchTokens = 1e9
	// maxTransferBytes limits the bytes that a stage sends per micro-batch.
	maxTransferBytes = 1e17
	// maxParameters limits the parameters of a model.
	maxParameters = 1e16
)

// prepareTraining determines the model, either by its name or from its description in
// [workload.architecture], and reads the files of the workload.
func prepareTraining(c *checker) {
	const model, table = "workload.model", "workload.architecture"
	named, described := c.Given(model), c.Given(table)
	switch {
	case named && described:
		c.rejectf(model, "conflicts with [workload.architecture]; keep one of the two")
	case !named && !described && c.OK("workload"):
		c.rejectf(model,
			"is missing; name %s, or describe a model in [workload.architecture]",
			schema.QuotedList(training.ModelNames()))
	case named && c.OK(model):
		c.s.Workload.Arch, _ = training.Model(schema.Child(c.Root, "workload")["model"].(string))
	}

	// The key model sets Arch too, so the table is derived unless the file describes the
	// model.
	if named || !described {
		c.Derived[table] = true
	}
	prepareOperators(c)
	prepareExpertLoads(c)
	c.s.Workload.GPU = nil
	if c.s.Profile != nil {
		c.s.Workload.GPU = &c.s.Profile.GPU
	}
}

// prepareExpertLoads reads the loads of experts from the CSV file that workload.expert_file
// names.
func prepareExpertLoads(c *checker) {
	const key, fileKey = "workload.expert_loads", "workload.expert_file"
	t := &c.s.Workload.Spec
	name, ok := schema.Child(c.Root, "workload")["expert_file"].(string)
	if t.ExpertSizes != "loads" || !ok {
		return
	}

	if c.Given(key) {
		c.rejectf(fileKey, "conflicts with workload.expert_loads; keep one of the two")
		return
	}

	data, fileName, err := c.readRelative(fileKey, name)
	if err != nil {
		c.rejectf(fileKey, "%s; name a readable CSV file", err.Error())
		return
	}

	// Rows may have different numbers of columns; checkExpertLoads checks them.
	r := csv.NewReader(bytes.NewReader(trimByteOrderMark(data)))
	r.TrimLeadingSpace, r.FieldsPerRecord = true, -1
	rows, err := r.ReadAll()
	if err != nil {
		c.rejectf(fileKey,
			"%s: %s; write a row of loads for each layer with experts, with commas between them",
			fileName, err.Error())
		return
	}

	// Loads are whole numbers, of any unit.
	const maxLoad = 1 << 50 // sums over experts stay within int64
	for i, row := range rows {
		var loads []int
		for k, text := range row {
			n, err := strconv.Atoi(text)
			if err != nil || n < 0 || n > maxLoad {
				c.rejectf(fileKey,
					"%s: the load of row %d, expert %d, is not a whole number; write whole numbers from 0",
					fileName, i+1, k+1)
				return
			}
			loads = append(loads, n)
		}

		t.ExpertLoads = append(t.ExpertLoads, loads)
	}
}

// checkExpertLoads checks that there is a row of loads per layer with experts and a load
// per expert.
func checkExpertLoads(c *checker) {
	const key = "workload.expert_loads"
	t := &c.s.Workload.Spec
	if t.ExpertSizes != "loads" || !c.OK("workload", "workload.expert_file") {
		return
	}

	// Dense layers have no experts.
	layers := t.Arch.Layers - t.Arch.DenseLayers
	switch {
	case len(c.s.Tiers) > 0:
		c.conflictf("workload.expert_sizes",
			"%q has sizes per layer, but tiers simulate the calls of a virtual stage as one; choose other sizes",
			t.ExpertSizes)
		return
	case len(t.ExpertLoads) == 0:
		c.conflictf(key,
			"is missing; write a row of loads for each layer with experts, or name a file in workload.expert_file")
		return
	case len(t.ExpertLoads) != layers:
		c.conflictf("workload.expert_file "+key,
			"%s for %d layers with experts; write a row for each",
			text.Plural(len(t.ExpertLoads), "row"), layers)
		return
	}

	if copies := t.Arch.Experts + t.ExtraExperts; copies%t.EP != 0 {
		c.conflictf("workload.redundant_experts workload.ep",
			"%d experts and %d copies do not spread evenly over ep = %d; choose a number of copies that makes a multiple",
			t.Arch.Experts, t.ExtraExperts, t.EP)
		return
	}
	for i, row := range t.ExpertLoads {
		sum := 0
		for _, n := range row {
			sum += n
		}
		if len(row) != t.Arch.Experts || sum == 0 {
			c.conflictf("workload.expert_file "+key,
				"row %d has %d loads of %d in all for %d experts; write a load for each, not all of them 0",
				i+1, len(row), sum, t.Arch.Experts)
			return
		}
	}
}

// prepareOperators reads measured times of operators from a file. The resolved scenario
// holds them as keys and does not need the file.
func prepareOperators(c *checker) {
	const table, fileKey = "workload.operators", "workload.operators.file"
	t := &c.s.Workload.Spec
	if t.Compute != training.OperatorTimes || !c.OK("workload.compute") || !c.OK(table) {
		return
	}

	// Without a file, the keys must hold the times of a layer.
	if !c.Given(fileKey) {
		if t.Operators.Attention+t.Operators.Scores == 0 || t.Operators.Network == 0 {
			c.rejectf(table,
				"has no times of attention or of the network; write attention, scores and network, or the file that has them")
		}
		return
	}

	// A file and keys exclude each other.
	for _, key := range []string{"attention", "scores", "network", "embedding", "head", "optimizer"} {
		if c.Given(table + "." + key) {
			c.rejectf(table+"."+key, "conflicts with a file of times; keep one of the two")
			return
		}
	}

	data, fileName, err := c.readRelative(fileKey, t.Operators.File)
	if err != nil {
		c.rejectf(fileKey, "%s; name a file of times as AICB writes them (docs/schedules.md)", err.Error())
		return
	}

	// The file replaces the keys, so the resolved scenario holds its times.
	o, err := training.ReadOperators(trimByteOrderMark(data))
	if err != nil {
		problem, want, _ := strings.Cut(err.Error(), "; want ")
		c.Reject(fileKey, fileName+": "+problem, "give "+want)
		return
	}

	c.Derived[table], t.Operators = true, o
}

// checkKernels checks that the machine has the numbers that kernels of the workload need.
func checkKernels(c *checker) {
	const key = "workload.compute"
	t := &c.s.Workload.Spec
	if t.Compute != training.Profile || !c.OK("workload", "machine") {
		return
	}
	if c.s.Profile == nil {
		c.conflictf(key, "%q needs the profile of a machine; set machine to a name of sim list machines, or to a file",
			t.Compute)
		return
	}
	if err := c.s.Profile.CheckKernels(t.Formats.All()...); err != nil {
		problem, remedy, _ := strings.Cut(err.Error(), "; ")
		c.Conflict([]string{key, "machine"}, problem, remedy)
	}
}

// checkTraining checks the keys of a training workload against each other.
func checkTraining(c *checker) {
	checkKernels(c)
	if !c.Derived["workload.architecture"] {
		checkArchitecture(c)
	}
	if !c.OK("workload.model", "workload.architecture.experts") {
		return
	}

	t := &c.s.Workload.Spec

	// Every GPU of an expert-parallel group holds the same number of experts.
	c.conflictIf(c.OK("workload.ep") && t.Arch.Experts%t.EP != 0,
		"workload.ep",
		"%d experts do not spread evenly over ep = %d; choose a divisor of the number of experts",
		t.Arch.Experts, t.EP)
	if !c.OK("workload.tp", "workload.cp", "workload.ep", "workload.etp") {
		return
	}

	// The GPUs of a stage are divided twice: into groups for experts (etp x ep), and into
	// groups for tensor and context parallelism (tp x cp). A sample is divided into cp
	// parts.
	stage := t.StageGPUs()
	c.conflictIf(stage%t.TP != 0, "workload.tp workload.ep workload.etp",
		"tp = %d does not divide the %d GPUs of a stage (etp x ep); choose a divisor of the stage's GPUs",
		t.TP, stage)
	c.conflictIf(stage%t.TP == 0 && stage%(t.TP*t.CP) != 0,
		"workload.cp workload.tp workload.ep workload.etp",
		"tp x cp = %d x %d does not divide the %d GPUs of a stage (etp x ep); choose a divisor of the stage's GPUs",
		t.TP, t.CP, stage)
	c.conflictIf(c.OK("workload.sequence") && t.Sequence%t.CP != 0,
		"workload.cp workload.sequence",
		"%d tokens do not divide into %d equal parts; choose a divisor of the sequence",
		t.Sequence, t.CP)

	checkExpertCopies(c)

	// A replica consists of pp stages, and the job of whole replicas.
	if full := t.PP * stage; c.OK("workload.gpus", "workload.pp") && t.GPUs%full != 0 {
		c.conflictf("workload.gpus workload.pp workload.tp workload.cp workload.ep workload.etp",
			"%d GPUs is not a multiple of the %d GPUs of a replica (pp = %d stages of %d GPUs); make gpus a multiple of %d",
			t.GPUs, full, t.PP, stage, full)
	}

	checkPipeline(c)
	checkMicrobatchSize(c)
	checkSharding(c)
	checkExpertLoads(c)
	checkMemory(c)
}

// checkExpertCopies checks that a stage has whole nodes, each with whole ranks of experts, and
// enough experts for a token. The degrees of parallelism must be valid.
func checkExpertCopies(c *checker) {
	t := &c.s.Workload.Spec
	if t.ExpertCopies == "" || t.ExpertCopies == collective.CopyPerExpert || !c.OK("workload") {
		return
	}
	const key = "workload.node_gpus"
	stage := t.StageGPUs()
	perNode := min(t.NodeGPUs, stage)
	switch {
	case stage%perNode != 0:
		c.conflictf(key+" workload.ep workload.etp",
			"nodes of %d GPUs do not divide the %d GPUs of a stage (etp x ep); choose a divisor or a multiple of the stage's GPUs",
			t.NodeGPUs, stage)
	case perNode%t.ETP != 0:
		c.conflictf(key+" workload.etp",
			"nodes of %d GPUs do not hold whole groups of etp = %d; choose a multiple", t.NodeGPUs, t.ETP)
	case c.s.hasCluster() && c.s.Fabric.Cluster.GPUsPerHost > 0 && stage > perNode && t.NodeGPUs != c.s.Fabric.Cluster.GPUsPerHost:
		c.conflictf(key+" fabric.gpus_per_host",
			"nodes of %d GPUs are no hosts of %d; make both equal", t.NodeGPUs, c.s.Fabric.Cluster.GPUsPerHost)
	default:
		c.blame("workload.expert_nodes workload.expert_copies", t.ExpertRouting().Check())
	}
}

// checkSharding rejects buckets that are too small, and keys that conflict with sharded
// gradients and parameters.
func checkSharding(c *checker) {
	const key = "workload.sharding"
	t := &c.s.Workload.Spec
	if !c.OK("workload") {
		return
	}

	minBucketBytes := t.MinBucketBytes()
	c.conflictIf(t.Buckets > 0 && float64(t.Buckets) < minBucketBytes, "workload.buckets",
		"a stage's gradients fill more than %d buckets of %v; write at least %s",
		training.MaxBuckets, t.Buckets, trace.Size(minBucketBytes))

	if t.ShardGroup > 0 && t.PP*t.StageGPUs() > 0 && c.OK("workload.gpus") {
		c.conflictIf(t.Replicas()%t.ShardGroup != 0, "workload.shard_group workload.gpus",
			"groups of %d replicas do not divide %d replicas; choose a divisor", t.ShardGroup, t.Replicas())
	}

	// Sharded gradients are reduced and scattered in every backward pass. Sharded
	// parameters are also gathered before every pass.
	if t.Sharding != training.ShardGradients && t.Sharding != training.ShardParameters {
		return
	}
	switch {
	// DualPipe keeps two copies of each stage, which are synchronised once per step.
	case t.Schedule == training.DualPipe:
		c.conflictf(key+" workload.schedule",
			"the two copies of the model can shard only the state of the optimizer; choose another schedule, or sharding = \"optimizer\"")

	// There is no synchronisation left that could overlap the last backward pass.
	case t.OverlapSync:
		c.conflictf(key+" workload.overlap_sync",
			"every backward pass scatters its gradients already; leave overlap_sync out")

	case t.OverlapPasses == training.OverlapPairs:
		c.conflictf(key+" workload.overlap_passes",
			"two passes would gather different parameters at once; set overlap_passes = \"halves\"")

	// Replicas exchange data in every pass, so none can be simulated alone.
	case t.ReplicaMode == "decomposed" || len(c.s.Replicas) > 0 && t.ReplicaMode != "all":
		c.conflictf(key+" workload.replicas",
			"replicas exchange data in every pass, so they cannot be decided one by one; set replicas = \"all\"")
	}
}

// fullestStageText describes the memory of the stage that needs the largest amount.
func fullestStageText(t *training.Spec) string {
	stage, memory := fullestStage(t)
	return fmt.Sprintf("stage %d holds most, %s", stage+1, memory.Words(trace.Size))
}

// fullestStage returns the first of the stages whose GPUs need the largest amount of
// memory, and that memory.
func fullestStage(t *training.Spec) (stage int, memory training.Memory) {
	for i := range t.PP {
		if m := t.Memory(i); i == 0 || m.State+m.Activations > memory.State+memory.Activations {
			stage, memory = i, m
		}
	}
	return stage, memory
}

// checkMemory rejects a step if a stage needs more memory than a GPU has. All other keys of
// the workload must be valid.
func checkMemory(c *checker) {
	t := &c.s.Workload.Spec
	if t.GPUMemory == 0 || !c.OK("workload") {
		return
	}
	if _, m := fullestStage(t); m.State+m.Activations > float64(t.GPUMemory) {
		c.conflictf("workload.gpu_memory workload.schedule workload.recompute workload.tp workload.pp",
			"%s; give at least %s, recompute, divide the model further, or choose a schedule that holds fewer micro-batches",
			fullestStageText(t), trace.Size(m.State+m.Activations))
	}
}

// checkPipeline checks the pipeline against the model and the schedule.
func checkPipeline(c *checker) {
	t := &c.s.Workload.Spec
	layers := t.Arch.Layers
	if !c.OK("workload.pp", "workload.schedule", "workload.virtual_stages", "workload.architecture.layers") {
		return
	}

	switch {
	// Every stage has at least one layer.
	case t.PP > layers:
		c.conflictf("workload.pp",
			"more stages than layers: %d stages for %d layers; choose at most %d stages",
			t.PP, layers, layers)
	case t.VirtualStages()/t.ModelCopies() > layers:
		c.conflictf("workload.virtual_stages workload.pp",
			"more stages than layers: %d stages of %d chunks for %d layers; lower pp or virtual_stages",
			t.PP, t.Chunks, layers)

	// DualPipe feeds micro-batches from both ends of the pipeline.
	case t.Schedule == training.DualPipe && t.PP%2 != 0:
		c.conflictf("workload.pp workload.schedule",
			"pp = %d has no two equal halves, which schedule %q requires; choose an even number",
			t.PP, t.Schedule)
	case t.Schedule == training.DualPipe &&
		c.OK("workload.microbatches") &&
		(t.Microbatches%2 != 0 || t.Microbatches < 2*t.PP):
		c.conflictf("workload.microbatches workload.pp workload.schedule",
			"%d micro-batches do not fit pp = %d: schedule %q requires an even number of at least two per stage; choose an even number of at least %d",
			t.Microbatches, t.PP, t.Schedule, 2*t.PP)

	case t.OverlapPasses == training.OverlapPairs && !t.CanPair():
		c.conflictf("workload.overlap_passes workload.schedule",
			"a forward pass cannot overlap with the next backward pass under schedule %q, whose stages would wait for each other; choose %q, %q or %q, or \"halves\"",
			t.Schedule, training.Interleaved, training.Eager, training.DualPipe)

	case t.OverlapPasses == training.OverlapPairs && t.BlockingSends:
		c.conflictf("workload.overlap_passes workload.blocking_sends",
			"a pass that overlaps with the next one cannot send before it; leave blocking_sends out")

	// The interleaved schedule processes micro-batches in groups of pp.
	case t.Schedule == training.Interleaved && c.OK("workload.microbatches") && t.Microbatches%t.PP != 0:
		c.conflictf("workload.microbatches workload.pp",
			`%d micro-batches do not divide into rounds of pp = %d, which schedule "interleaved-1f1b" requires; make microbatches a multiple of %d`,
			t.Microbatches, t.PP, t.PP)
	}
}

// checkMicrobatchSize rejects micro-batches that no machine could hold.
func checkMicrobatchSize(c *checker) {
	t := &c.s.Workload.Spec
	if !c.OK("workload.sequence", "workload.microbatch") {
		return
	}

	// sent is the number of bytes of activations that a stage passes on per micro-batch.
	tokens := float64(t.Sequence) * float64(t.Microbatch)
	sent := tokens * float64(t.Arch.Hidden) * float64(t.Choices.ActivationBytes) * float64(t.StageGPUs())
	c.conflictIf(
		tokens > maxMicrobatchTokens ||
			sent > maxTransferBytes && c.OK("workload.activation_bytes", "workload.architecture.hidden"),
		"workload.sequence workload.microbatch",
		"a micro-batch of %.3g tokens, %.3g bytes per stage, is too large; stay within %.0g tokens and %.0g bytes",
		tokens, sent, float64(maxMicrobatchTokens), float64(maxTransferBytes),
	)
}

// checkReplicaMode rejects the simulation of a single replica if it cannot represent the
// others: collective calls of the graph connect all replicas, and separate flows per GPU
// may differ between them.
func checkReplicaMode(c *checker) {
	mode := c.s.Workload.ReplicaMode
	if mode != "single" && mode != "decomposed" {
		return
	}

	c.conflictIf(c.s.hasCallsInGraph(), "workload.replicas workload.collectives",
		`calls in the graph are among the GPUs of all replicas; choose replicas = "all", or collectives = "none"`)
	c.conflictIf(c.s.circuitsView().HasHalfRing(), "workload.flows workload.replicas",
		`one of %d replicas cannot represent the others if flows are separate; choose replicas = "all" or flows = "aggregated"`,
		c.s.Workload.Replicas())
}

// maxIterationSeconds limits the duration of an iteration. Simulated time can represent
// about twice as much.
const maxIterationSeconds = 50 * 24 * 3600

// checkDuration rejects an iteration that simulated time cannot represent. The upper bound
// is the compute time of all stages, one micro-batch after the other, plus all transfers on
// a single link. All keys must be valid.
func checkDuration(c *checker) {
	if !c.s.isTraining() {
		return
	}

	// Sum the work of all stages: computes of the slowest replica, activations and
	// gradients between stages, and the messages that synchronise replicas.
	spec := &c.s.Workload.Spec
	stageGPUs := float64(spec.StageGPUs())
	passes := 2 * spec.Microbatches * spec.PP * spec.Chunks
	compute := 0.0
	bytes := float64(spec.PipelineBytes()) * float64(passes*spec.StageGPUs())
	for v := range spec.VirtualStages() {
		compute += (spec.ForwardSeconds(v) + spec.BackwardSeconds(v)) * float64(spec.Microbatches)
		spec.StageMessages(v, func(each int64, times, _ int) {
			bytes += float64(times) * float64(each) * stageGPUs
		})
	}
	slowestScale := 1.0
	for _, r := range c.s.Replicas {
		slowestScale = max(slowestScale, r.ComputeScale)
	}
	compute *= slowestScale

	rate, rateKeys := c.slowestRate()
	seconds := compute + 8*bytes/rate
	if seconds < maxIterationSeconds { // false for a NaN, which is rejected too
		return
	}

	// Blame the rates first if the transfers take longer than the computes.
	keys := []string{"workload.sequence", "workload.microbatches", "workload.effective_tflops"}
	if compute < seconds/2 {
		keys = slices.Concat(rateKeys, keys)
	}
	c.Conflict(keys,
		fmt.Sprintf("an iteration may take %.3g s, which is too long to simulate", seconds),
		fmt.Sprintf("stay within %d s", maxIterationSeconds))
}

// slowestRate returns the rate of the slowest link between stages in bits per second, and
// the keys of the rates, beginning with the slowest one.
func (c *checker) slowestRate() (rate float64, keys []string) {
	f := &c.s.Fabric
	switch {
	case c.s.usesPlanners():
		return float64(f.ScaleUp.NICRate), []string{"fabric.nic_bandwidth"}
	case c.s.usesRouters():
		return float64(f.LinkRate), []string{"fabric.link_rate"}
	}

	// On pods, a transfer passes ports and network interfaces. Replicas may have ports with
	// other rates.
	portRate, nicRate := float64(f.PortBandwidth), float64(f.NICBandwidth)
	keys = []string{"fabric.port_bandwidth", "fabric.nic_bandwidth"}
	for i, r := range c.s.Replicas {
		if float64(r.PortBandwidth) < portRate {
			portRate = float64(r.PortBandwidth)
			keys = slices.Insert(keys, 0, replicaPath(i, "port_bandwidth"))
		}
	}
	if nicRate < portRate {
		slices.Reverse(keys)
	}
	return min(portRate, nicRate), keys
}

// checkArchitecture checks the keys of an inline model against each other.
func checkArchitecture(c *checker) {
	const table = "workload.architecture."
	a := &c.s.Workload.Arch

	// Attention heads divide the hidden dimension, unless their dimension is given or is
	// compressed (multi-head latent attention, "mla").
	usesHiddenDim := c.OK(table+"heads", table+"hidden", table+"attention", table+"head_dim") &&
		a.Attention != "mla" && !c.Given(table+"head_dim")
	c.conflictIf(usesHiddenDim && a.Hidden%a.Heads != 0, table+"heads "+table+"hidden",
		"hidden %d is no multiple of %d heads; change heads, or give head_dim",
		a.Hidden, a.Heads)
	c.conflictIf(c.OK(table+"heads", table+"kv_heads") && a.Heads%a.KVHeads != 0,
		table+"kv_heads "+table+"heads",
		"%d heads do not share %d kv_heads evenly; choose a divisor of heads",
		a.Heads, a.KVHeads)
	c.conflictIf(c.OK(table+"top_k", table+"experts") && a.TopK > a.Experts,
		table+"top_k "+table+"experts",
		"a token sees %d of %d experts; choose at most the number of experts",
		a.TopK, a.Experts)
	c.conflictIf(c.OK(table+"dense_layers", table+"layers") && a.DenseLayers >= a.Layers && a.Experts > 0,
		table+"dense_layers "+table+"layers",
		"%d dense layers of %d leave none for experts; choose fewer",
		a.DenseLayers, a.Layers)

	// The rate of computes has no default for an inline model.
	usesRate := c.OK(table+"effective_tflops", "workload.effective_tflops", "workload.compute") &&
		c.s.Workload.Compute == training.Effective
	if usesRate && a.EffectiveTFLOPS == 0 {
		c.rejectf(table+"effective_tflops",
			"is missing; write the rate of one GPU in 1e12 operations per second")
	}
	if !c.OK("workload.architecture") {
		return
	}

	// Estimate the number of parameters. Per layer and hidden dimension, there are four
	// matrices of attention, three of a dense network, three per expert, and the
	// projections of compressed queries and keys. The embedding has one row per word.
	heads := float64(a.Heads) * float64(max(a.HeadDim, a.RopeDim+a.NopeDim+a.ValueDim))
	experts := float64(a.Experts+a.SharedExperts) * float64(a.ExpertFFN)
	width := 4*heads + 3*float64(a.FFN) + 3*experts + float64(a.QRank+a.KVRank)
	if n := (float64(a.Layers)*width + float64(a.Vocab)) * float64(a.Hidden); n > maxParameters {
		c.conflictf(table+"layers",
			"a model of about %.1g parameters is too large; stay within %.0g",
			n, float64(maxParameters))
	}
}
