package training

import (
	"fmt"

	"sim/engine"
)

// Phase is the kind of a task of an iteration.
type Phase uint8

// The phases of an iteration.
const (
	Barrier Phase = iota // replicas wait for each other before they synchronise
	Forward
	Backward
	PipelineForward  // activations sent to the next stage
	PipelineBackward // gradients of activations sent to the previous stage
	Sync             // reduce-scatter of gradients and all-gather of parameters among replicas
	Tensor           // collective calls of tensor-parallel groups
	Context          // collective calls of ranks that share a sequence
	Expert           // all-to-alls between tokens and experts
	WeightGradients  // weight gradients of a backward pass, if computed separately
	Recompute        // forward pass computed again before the backward pass
	Optimizer        // optimizer step
	CopyScatter      // reduce-scatter of gradients among the copies of a parameter in one stage
	CopyGather       // all-gather of parameters or gradients among these copies
)

var phaseNames = [...]string{"barrier", "forward", "backward", "pp-forward", "pp-backward", "dp",
	"tp", "cp", "ep", "weights", "recompute", "optimizer", "dp-scatter", "dp-gather"}

// String returns the short name used in traces.
func (p Phase) String() string { return phaseNames[p] }

// Computes reports whether a stage computes a micro-batch in this phase.
func (p Phase) Computes() bool {
	return p == Forward || p == Backward || p == WeightGradients || p == Recompute
}

// callPass returns the pass whose collective calls are made in this phase.
func (p Phase) callPass() Phase {
	if p == Recompute {
		return Forward
	}
	return p
}

// TaskMeta describes a task of an iteration. Replicas, stages, chunks and micro-batches
// are counted from 0.
type TaskMeta struct {
	Phase      Phase
	ToPrevious bool  // this Sync transfer goes to the previous replica, not to the next
	Replica    int32 // source of a transfer
	Stage      int32 // source of a transfer
	ToStage    int32 // destination of a pipeline transfer
	Chunk      int32
	Microbatch int32
	GPU        int32 // index in the stage if each GPU's flow is a task; else -1
	InCall     bool  // part of a collective call that BuildOptions.Expand added
	Part       int32 // index among the Parts tasks of a divided pass
	Parts      int32 // number of tasks of a divided pass; 0 if the pass is one task
}

// Node is an endpoint of transfers: GPUs of a stage that act in lockstep.
type Node struct {
	Replica, Stage int
	First, GPUs    int // GPUs First to First+GPUs-1 of the stage
}

// BuildOptions selects the parts of a job that the graph of an iteration contains.
type BuildOptions struct {
	// All builds every replica. The replicas wait for each other before they synchronise.
	// If All is false, one replica stands for all, which must be identical (DELTA, Sec.
	// IV-A.1). Its transfers to neighbours on the ring then go from a node to itself.
	All bool
	// PerGPU creates one task per GPU and flow. Otherwise the flows between two stages
	// that start together are one task (DELTA, Sec. III-B, M).
	PerGPU       bool
	ComputeScale []float64 // ComputeScale multiplies compute times, indexed by replica. nil means 1.
	// EarliestSync is the earliest start of synchronisation, indexed by virtual stage and
	// piece of its gradients. It represents a slower replica that the graph does not
	// contain (DELTA, Sec. IV-A.1). nil means no restriction.
	EarliestSync [][]engine.Time
	// Expand, if not nil, puts the collective calls of passes and synchronisation into
	// the graph (Spec.Calls). It requires All and PerGPU.
	//
	// Expand appends the transfers of a call to g. group lists the nodes of the call.
	// ready[i] is the task for which rank i waits. The result done[i] is the task after
	// which rank i has its result and has sent all data that other ranks need.
	Expand func(g *engine.Graph, c Call, group, ready []int32) (done []int32, err error)
}

// Iteration is one training iteration as a task graph: the complete
// computation-communication DAG of DELTA, Fig. 3a.
type Iteration struct {
	Spec  Spec
	Graph *engine.Graph
	Meta  []TaskMeta // indexed by task
	Nodes []Node     // indexed by node
	All   bool       // the graph contains every replica (BuildOptions.All)
	// GradientsReady is the last compute task of each piece of the gradients
	// (SyncPieces), indexed by replica, virtual stage and piece.
	GradientsReady [][][]int32
	// SendOrder is the priority of waiting packets on a link, indexed by task; the lowest
	// value is sent first. It is nil unless a trace specifies it.
	SendOrder []int32
}

// RankOf returns the rank of a task, or the first rank of a task of several GPUs in lockstep.
func (it *Iteration) RankOf(task int32) int32 {
	m := &it.Meta[task]
	return it.Spec.Rank(int(m.Replica), int(m.Stage), int(max(0, m.GPU)))
}

// Build returns the iteration described by s. It fails if s.Check fails or if the options
// do not fit the job.
func Build(s Spec, x BuildOptions) (*Iteration, error) {
	if err := s.Check(); err != nil {
		return nil, err
	}

	b := &builder{Iteration: &Iteration{Spec: s, Graph: &engine.Graph{}, All: x.All}, options: x,
		replicas: 1}
	if x.All {
		b.replicas = s.Replicas()
	}
	if x.ComputeScale != nil && len(x.ComputeScale) != b.replicas ||
		x.EarliestSync != nil && len(x.EarliestSync) != s.VirtualStages() {
		return nil, fmt.Errorf("training: %d compute scales and %d earliest synchronisation times for %d replicas of %d virtual stages",
			len(x.ComputeScale), len(x.EarliestSync), b.replicas, s.VirtualStages())
	}

	// With a bidirectional ring, one replica contains only the transfers in one
	// direction.
	if x.PerGPU && !x.All && b.splitsRing() {
		return nil, fmt.Errorf("training: PerGPU without All for %d replicas: one replica holds only one direction of the bidirectional ring; want All",
			s.Replicas())
	}

	if x.Expand != nil && !(x.All && x.PerGPU && x.EarliestSync == nil) {
		return nil, fmt.Errorf("training: collective calls in the graph need All and PerGPU, and no earliest synchronisation times")
	}

	b.addNodes()
	b.reserve()
	for r := range b.replicas {
		if err := b.addPipeline(r); err != nil {
			return nil, err
		}
	}

	switch {
	case x.Expand != nil:
		if err := b.addSyncCalls(); err != nil {
			return nil, err
		}
	default:
		b.addSync()
	}

	b.Graph.Namer = b.Iteration.name
	if err := b.Graph.Freeze(); err != nil {
		return nil, fmt.Errorf("training: %w", err)
	}
	return b.Iteration, nil
}

// reserve preallocates approximately the required number of tasks and edges.
func (b *builder) reserve() {
	s := &b.Spec
	virtual := s.VirtualStages()
	flows := 1
	if b.options.PerGPU {
		flows = s.StageGPUs()
	}

	hops := 2 * (virtual - 1) * s.Microbatches * flows
	tasks := b.replicas * (2*virtual*s.Microbatches + hops + (2*flows+1)*virtual)
	b.Graph.Grow(tasks, b.replicas*(2*virtual*s.Microbatches+2*hops+3*flows*virtual))
	b.Meta = make([]TaskMeta, 0, tasks)
}

// name describes a task for people. Micro-batches and stages count from 1, as in DELTA's
// figures.
func (it *Iteration) name(id int32) string {
	m := it.Meta[id]
	location := fmt.Sprintf("stage %d", m.Stage+1)
	if it.Spec.Chunks > 1 {
		location += fmt.Sprintf(" chunk %d", m.Chunk+1)
	}
	if it.All {
		location += fmt.Sprintf(" replica %d", m.Replica)
	}
	if m.GPU >= 0 {
		location += fmt.Sprintf(" gpu %d", m.GPU)
	}

	switch m.Phase {
	case Barrier:
		return "replicas ready at " + location
	case Sync:
		if m.ToPrevious {
			return "DP of " + location + " (back)"
		}
		return "DP of " + location
	case CopyScatter, CopyGather:
		return "DP inside " + location
	case PipelineForward, PipelineBackward:
		return fmt.Sprintf("PP of micro-batch %d from %s to stage %d", m.Microbatch+1, location,
			m.ToStage+1)
	}
	return fmt.Sprintf("%s of micro-batch %d at %s", m.Phase, m.Microbatch+1, location)
}

// builder assembles an Iteration.
type builder struct {
	*Iteration
	options  BuildOptions
	replicas int // replicas in the graph
	// Node ids, indexed by replica and stage. stageNodes has all GPUs of the stage.
	// nextHalf has the half that sends to the next replica, previousHalf the half that
	// sends to the previous one. All three are equal if the ring is not split. With
	// PerGPU there is one node per GPU, and these are the first nodes of each set.
	stageNodes, nextHalf, previousHalf [][]int32
	shardCollectives                   map[shardKey]*shardCollective // collectives of sharded passes
	numScatters                        []int                         // gradient scatters in passes, indexed by stage
}

// splitsRing reports whether half of a stage's GPUs send in each direction round the ring
// of replicas.
func (b *builder) splitsRing() bool {
	return b.Spec.Choices.Ring == "bidirectional" && b.Spec.Replicas() > 2 && b.Spec.StageGPUs()%2 == 0
}

// addNodes adds the nodes of all stages.
func (b *builder) addNodes() {
	add := func(r, s, first, gpus int) int32 {
		b.Nodes = append(b.Nodes, Node{r, s, first, gpus})
		return int32(len(b.Nodes) - 1)
	}

	gpus := b.Spec.StageGPUs()
	for r := range b.replicas {
		b.stageNodes = append(b.stageNodes, make([]int32, b.Spec.PP))
		b.nextHalf = append(b.nextHalf, make([]int32, b.Spec.PP))
		b.previousHalf = append(b.previousHalf, make([]int32, b.Spec.PP))
		for s := range b.Spec.PP {
			if b.options.PerGPU {
				for g := range gpus {
					if id := add(r, s, g, 1); g == 0 {
						b.stageNodes[r][s], b.nextHalf[r][s], b.previousHalf[r][s] = id, id, id+int32(gpus/2)
					}
				}
				continue
			}
			id := add(r, s, 0, gpus)
			b.stageNodes[r][s], b.nextHalf[r][s], b.previousHalf[r][s] = id, id, id
			if b.splitsRing() {
				b.nextHalf[r][s] = add(r, s, 0, gpus/2)
				b.previousHalf[r][s] = add(r, s, gpus/2, gpus/2)
			}
		}
	}
}

// addTask appends a task and its description and returns its id.
func (b *builder) addTask(t engine.Task, m TaskMeta) int32 {
	b.Meta = append(b.Meta, m)
	return b.Graph.AddTask(t)
}

// addTransfer adds the transfers from the given number of GPUs of node src to node dst.
// They start after the tasks in from and precede the tasks in to. addTransfer returns
// their ids.
func (b *builder) addTransfer(src, dst int32, gpus int, bytesPerGPU int64, m TaskMeta, from, to []int32) (ids []int32) {
	tasks, flows := 1, gpus
	if b.options.PerGPU {
		tasks, flows = gpus, 1
	}

	for g := range int32(tasks) {
		m.GPU = -1
		if b.options.PerGPU {
			m.GPU = int32(b.Nodes[src+g].First)
		}
		t := engine.Task{Kind: engine.Transfer, Src: src + g, Dst: dst + g, Flows: int32(flows),
			Bytes: bytesPerGPU * int64(flows)}
		id := b.addTask(t, m)
		for _, f := range from {
			b.Graph.AddEdge(f, id, 0)
		}
		for _, t := range to {
			b.Graph.AddEdge(id, t, 0)
		}
		ids = append(ids, id)
	}
	return ids
}

// passTasks lists the tasks of a pass.
type passTasks struct {
	first, last int32       // first and last task
	pieceEnds   []int32     // task that completes each piece, indexed by piece
	shards      []passTasks // parts that gather parameters or scatter gradients (Spec.Shards)
}

// addPass adds a pass of virtual stage v with compute time d. If last is set, the pass is
// the last one that computes gradients of the stage; it is then divided into the pieces
// in which they are synchronised.
func (b *builder) addPass(v int, d engine.Time, m TaskMeta, last bool) (passTasks, error) {
	if b.options.Expand != nil {
		return b.addPassWithCalls(v, d, m)
	}
	parts := max(1, b.Spec.Shards(v))
	if last {
		parts = max(parts, b.Spec.SyncPieces(v))
	}

	p := passTasks{first: int32(len(b.Meta))}
	for i := range parts {
		if parts > 1 {
			m.Part, m.Parts = int32(i), int32(parts)
		}
		id := b.addTask(engine.Task{Duration: part(d, i, parts)}, m)
		if i > 0 {
			b.Graph.AddEdge(p.last, id, 0)
		}
		p.last, p.pieceEnds = id, append(p.pieceEnds, id)
		p.shards = append(p.shards, passTasks{first: id, last: id})
	}
	return p, nil
}

// part returns the i-th of n nearly equal parts of x. The parts add up to x.
func part[T ~int64](x T, i, n int) T {
	quotient, remainder := x/T(n), x%T(n)
	return quotient + remainder*T(i+1)/T(n) - remainder*T(i)/T(n)
}

// syncPieceEnds returns the task that completes each piece of the gradients of virtual
// stage v in the last pass p that computes them. If the pass has more pieces than the
// gradients, it is the task of the last piece of the pass within each piece of the
// gradients.
func (b *builder) syncPieceEnds(v int, p passTasks) []int32 {
	n := b.Spec.SyncPieces(v)
	if n == 1 {
		return []int32{p.last}
	}
	parts := make([]int32, n)
	for i := range parts {
		parts[i] = p.pieceEnds[(i+1)*len(p.pieceEnds)/n-1]
	}
	return parts
}

// addPipeline adds the passes and the pipeline transfers of replica r.
func (b *builder) addPipeline(r int) error {
	s := &b.Spec
	virtual := s.VirtualStages()
	scale := 1.0
	if b.options.ComputeScale != nil {
		scale = b.options.ComputeScale[r]
	}

	// passes, indexed by virtual stage and micro-batch
	forward := make([][]passTasks, virtual)
	backward := make([][]passTasks, virtual)
	for v := range virtual {
		forward[v] = make([]passTasks, s.Microbatches)
		backward[v] = make([]passTasks, s.Microbatches)
	}

	b.GradientsReady = append(b.GradientsReady, make([][]int32, virtual))
	stages := make([]stageBuilder, s.PP)
	b.numScatters = make([]int, s.PP)
	maxPasses := 0
	for i := range stages {
		stages[i] = stageBuilder{number: i, program: s.Program(i), last: -1,
			lastGradient: make([]int, s.Chunks)}
		for k, o := range stages[i].program {
			if o.Kind == BackwardPass || o.Kind == WeightGradientPass {
				stages[i].lastGradient[o.Chunk] = k
			}
		}
		maxPasses = max(maxPasses, len(stages[i].program))
	}

	// Add the passes column by column over all stages. This approximates the order of
	// time, so that tasks that are simulated together are adjacent in memory.
	for step := range maxPasses {
		for i := range stages {
			z := &stages[i]
			if step >= len(z.program) {
				continue
			}
			o := z.program[step]
			p, err := b.addProgramPass(r, z, step, scale)
			if err != nil {
				return err
			}

			v := o.Chunk*s.PP + i
			switch o.Kind {
			case ForwardPass:
				forward[v][o.Microbatch] = p
			case BackwardPass, InputGradientPass:
				backward[v][o.Microbatch] = p
			}

			// A forward pass that overlaps the backward pass starts and ends together
			// with it.
			if step > 0 && z.program[step-1].OverlapsNext {
				f := z.program[step-1]
				forwardPass := &forward[f.Chunk*s.PP+i][f.Microbatch]
				forwardPass.last = p.last
				backward[v][o.Microbatch].first = forwardPass.first
			}

			if step == z.lastGradient[o.Chunk] && (o.Kind == BackwardPass || o.Kind == WeightGradientPass) {
				b.GradientsReady[r][v] = b.syncPieceEnds(v, p)
			}
		}
	}
	for i := range stages {
		b.numScatters[i] = stages[i].numScatters
	}

	// Connect the passes of each micro-batch along its path through the stages.
	for i := range s.Microbatches {
		path := s.stagePath(i)
		for k, v := range path {
			if k+1 == len(path) {
				b.Graph.AddEdge(forward[v][i].last, backward[v][i].first, 0)
				continue
			}
			w := path[k+1]
			from, to := v%s.PP, w%s.PP
			m := TaskMeta{Phase: PipelineForward, Replica: int32(r), Stage: int32(from),
				ToStage: int32(to), Chunk: int32(v / s.PP), Microbatch: int32(i)}
			b.addHop(r, m, forward[v][i].last, forward[w][i].first)
			m = TaskMeta{Phase: PipelineBackward, Replica: int32(r), Stage: int32(to),
				ToStage: int32(from), Chunk: int32(w / s.PP), Microbatch: int32(i)}
			b.addHop(r, m, backward[w][i].last, backward[v][i].first)
		}
	}
	return nil
}

// stageBuilder is the state of a pipeline stage while its passes are added.
type stageBuilder struct {
	number       int
	program      []Pass
	last         int32 // task of the previous pass; -1 before the first pass
	lastGradient []int // index of the pass that completes the gradients, indexed by chunk
	// Passes that gather parameters or scatter gradients: numbers of gathers and scatters
	// so far.
	numGathers, numScatters int
	gatherEnds              []int32 // last task of each part that gathered parameters
}

// addProgramPass adds pass number step of a stage's program, preceded by its
// recomputation.
func (b *builder) addProgramPass(r int, z *stageBuilder, step int, scale float64) (passTasks, error) {
	s, o := &b.Spec, z.program[step]
	v := o.Chunk*s.PP + z.number
	t, err := s.passTimes(v, o.Microbatch, scale)
	if err != nil {
		return passTasks{}, fmt.Errorf("training: compute of stage %d: %w", z.number+1, err)
	}

	m := TaskMeta{Replica: int32(r), Stage: int32(z.number), Chunk: int32(o.Chunk),
		Microbatch: int32(o.Microbatch), GPU: -1}
	var d engine.Time
	switch o.Kind {
	case ForwardPass:
		m.Phase, d = Forward, t.forward
	case BackwardPass:
		m.Phase, d = Backward, t.backward
	case InputGradientPass:
		m.Phase, d = Backward, t.backward-t.weights
	case WeightGradientPass:
		m.Phase, d = WeightGradients, t.weights
	}

	// The first and last passes of a measured stage include its prologue and epilogue.
	if a := s.Measured; a != nil && step == 0 {
		d += engine.Time(float64(a.Prologue) * scale)
	} else if a != nil && step == len(z.program)-1 {
		d += engine.Time(float64(a.Epilogue) * scale)
	}

	// add appends a pass after the previous one of the stage and, with sharding, its
	// collectives.
	first := int32(-1)
	add := func(d engine.Time, m TaskMeta, last bool) (passTasks, error) {
		p, err := b.addPass(v, d, m, last)
		if err != nil {
			return p, err
		}
		if z.last >= 0 {
			b.Graph.AddEdge(z.last, p.first, 0)
		}
		if z.last = p.last; first < 0 {
			first = p.first
		}
		if s.Shards(v) > 0 {
			gathers := s.gathersParameters() && m.Phase != WeightGradients &&
				(m.Phase != Backward || s.Recompute != "full")
			scatters := o.Kind == WeightGradientPass || o.Kind == BackwardPass && m.Phase == Backward
			return p, b.addShards(z, v, m, p.shards, gathers, scatters)
		}
		return p, nil
	}

	// Selective recomputation lengthens the backward pass; full recomputation is a pass
	// itself.
	if m.Phase == Backward && s.Recompute != "" && s.Recompute != "none" {
		recompute := m
		if recompute.Phase = Recompute; s.Recompute == "selective" {
			d += t.recompute
		} else if _, err := add(t.recompute, recompute, false); err != nil {
			return passTasks{}, err
		}
	}
	p, err := add(d, m, step == z.lastGradient[o.Chunk])
	p.first = first
	return p, err
}

// addHop connects two passes by a pipeline transfer. If both are in the same stage, as
// between the chunks of a single-stage pipeline, no data moves.
func (b *builder) addHop(r int, m TaskMeta, from, to int32) {
	if m.Stage == m.ToStage {
		b.Graph.AddEdge(from, to, 0)
		return
	}
	b.addTransfer(b.stageNodes[r][m.Stage], b.stageNodes[r][m.ToStage], b.Spec.StageGPUs(),
		b.Spec.PipelineBytes(), m, []int32{from}, []int32{to})
}
