package training

import (
	"fmt"

	"sim/engine"
)

// Phase says what a task of an iteration is.
type Phase uint8

// The phases of an iteration.
const (
	Barrier Phase = iota // replicas wait for each other before they synchronise
	Forward
	Backward
	PipelineForward  // activations to the next stage
	PipelineBackward // gradients of activations to the stage before
	Sync             // gradient reduce-scatter and parameter all-gather among replicas
	Tensor           // collective calls of tensor-parallel groups
	Context          // of ranks that share a sequence
	Expert           // of tokens and experts
	WeightGradients  // the part of a backward pass that computes gradients of weights, where it is a pass of its own
	Recompute        // a forward pass that is computed once more, before the backward pass
	Optimizer        // the optimizer's step
	CopyScatter      // reduce-scatter of gradients among the copies of a parameter in one stage
	CopyGather       // all-gather of parameters or gradients among these
)

var phaseNames = [...]string{"barrier", "forward", "backward", "pp-forward", "pp-backward", "dp", "tp", "cp", "ep", "weights", "recompute", "optimizer", "dp-scatter", "dp-gather"}

// String returns the short name used in traces.
func (p Phase) String() string { return phaseNames[p] }

// Computes reports whether a stage computes for a micro-batch in this phase.
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

// TaskMeta says what a task of an iteration is, beside the graph's bare task. Counts are from 0.
type TaskMeta struct {
	Phase      Phase
	ToPrevious bool  // of a Sync: the half that goes to the previous replica
	Replica    int32 // where a transfer comes from
	Stage      int32
	ToStage    int32 // stage that a pipeline transfer goes to
	Chunk      int32
	Microbatch int32
	GPU        int32 // of the stage, where every GPU's flow is a task; else -1
	InCall     bool  // it is of a collective call, which Extent.Expand added
	Part       int32 // of a pass in several tasks, Parts of them; 0 of 0 is a whole pass
	Parts      int32
}

// Node is an end point of an iteration's transfers: GPUs of a stage that act in lockstep.
type Node struct {
	Replica, Stage int
	First, GPUs    int // of the stage
}

// BuildOptions says how much of the job a graph holds.
type BuildOptions struct {
	// All builds every replica, which then wait for each other before they synchronise. Otherwise one replica stands
	// for all, which must be identical (DELTA, Sec. IV-A.1); what it sends to its neighbours on the ring then goes from
	// a node to itself.
	All bool
	// PerGPU makes a task of every GPU's flow. Otherwise flows between two stages that start together are one task
	// (DELTA, Sec. III-B, M).
	PerGPU bool
	// ComputeScale is, by replica, how many times as long compute takes; nil is 1.
	ComputeScale []float64
	// EarliestSync is, by virtual stage and part of its gradients, the time before which synchronisation does not start:
	// that of a slower replica which the graph does not hold (DELTA, Sec. IV-A.1). nil is no such time.
	EarliestSync [][]engine.Time
	// Expand, where set, has passes and synchronisation make their collective calls in the graph (Spec.Calls), of all
	// replicas and GPUs. It appends the transfers of a call among a group, which are nodes, to the graph, each after
	// what a rank waits for, and returns by rank the task with whose end it has what the call leaves it with, and has
	// sent what others need of it.
	Expand func(g *engine.Graph, c Call, group, ready []int32) (done []int32, err error)
}

// Iteration is one training iteration as a task graph: the complete computation-communication DAG of DELTA, Fig. 3a.
type Iteration struct {
	Spec  Spec
	Graph *engine.Graph
	Meta  []TaskMeta // by task
	Nodes []Node     // by node
	All   bool
	// GradientsReady is, by replica of the graph, virtual stage and part of its gradients (SyncPieces), the task with which it is
	// computed.
	GradientsReady [][][]int32
	// SendOrder is by task the order in which links send packets that wait, the lowest first, of traces that say so; else nil.
	SendOrder []int32
}

// Build returns the iteration that s describes. It fails where s.Check does.
func Build(s Spec, x BuildOptions) (*Iteration, error) {
	if err := s.Check(); err != nil {
		return nil, err
	}
	b := &builder{Iteration: &Iteration{Spec: s, Graph: &engine.Graph{}, All: x.All}, options: x, replicas: 1}
	if x.All {
		b.replicas = s.Replicas()
	}
	if x.ComputeScale != nil && len(x.ComputeScale) != b.replicas || x.EarliestSync != nil && len(x.EarliestSync) != s.VirtualStages() {
		return nil, fmt.Errorf("training: an extent of %d compute scales and %d synchronisation times for %d replicas of %d stages",
			len(x.ComputeScale), len(x.EarliestSync), b.replicas, s.VirtualStages())
	}
	if x.PerGPU && !x.All && b.splitsRing() {
		return nil, fmt.Errorf("training: one replica cannot stand for %d flow by flow: it holds but half of the ring", s.Replicas())
	}
	if x.Expand != nil && !(x.All && x.PerGPU && x.EarliestSync == nil) {
		return nil, fmt.Errorf("training: collective calls in the graph of an iteration that does not hold all GPUs")
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

// reserve makes room for the tasks and edges to come, about.
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

// name describes task id for people; micro-batches and stages count from 1, as in DELTA's figures.
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
		return fmt.Sprintf("PP of micro-batch %d from %s to stage %d", m.Microbatch+1, location, m.ToStage+1)
	}
	return fmt.Sprintf("%s of micro-batch %d at %s", m.Phase, m.Microbatch+1, location)
}

// builder assembles an Iteration.
type builder struct {
	*Iteration
	options  BuildOptions
	replicas int
	// node ids of a stage: all its GPUs, the half that sends on, the half that sends back (equal to all where the ring
	// is not split); with PerGPU one node a GPU, of which these are the first
	stageNodes, nextHalf, previousHalf [][]int32
	shardCollectives                   map[shardKey]*shardCollective
	numScatters                        []int // by stage: how often it scatters gradients in passes
}

// splitsRing reports whether half of a stage's GPUs go each way round the ring.
func (b *builder) splitsRing() bool {
	return b.Spec.Choices.Ring == "bidirectional" && b.Spec.Replicas() > 2 && b.Spec.StageGPUs()%2 == 0
}

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

func (b *builder) addTask(t engine.Task, m TaskMeta) int32 {
	b.Meta = append(b.Meta, m)
	return b.Graph.AddTask(t)
}

// addTransfer adds the tasks that move each bytes from every one of gpus GPUs of node src to those of dst, between the
// tasks in from and those in to, and returns them.
func (b *builder) addTransfer(src, dst int32, gpus int, each int64, m TaskMeta, from, to []int32) (ids []int32) {
	tasks, flows := 1, gpus
	if b.options.PerGPU {
		tasks, flows = gpus, 1
	}
	for g := range int32(tasks) {
		m.GPU = -1
		if b.options.PerGPU {
			m.GPU = int32(b.Nodes[src+g].First)
		}
		t := engine.Task{Kind: engine.Transfer, Src: src + g, Dst: dst + g, Flows: int32(flows), Bytes: each * int64(flows)}
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

// passTasks is the first and the last task of a pass, and those with which it has computed each of its pieces.
type passTasks struct {
	first, last int32
	pieceEnds   []int32
	shards      []passTasks // of a pass that gathers parameters or scatters gradients: its Shards
}

// addPass adds a pass of virtual stage v, of so much compute. The last one to compute gradients of the stage is divided
// into the parts in which they are synchronised.
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

// part returns the i-th of n parts of x, which add up to it.
func part[T ~int64](x T, i, n int) T {
	each, rest := x/T(n), x%T(n)
	return each + rest*T(i+1)/T(n) - rest*T(i)/T(n)
}

// syncPieceEnds returns the tasks of the last pass that computes gradients of virtual stage v with which each part of them is
// computed: of a pass in more pieces that with which the last of the part is.
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

// addPipeline adds the compute and the pipeline transfers of a replica.
func (b *builder) addPipeline(r int) error {
	s := &b.Spec
	virtual := s.VirtualStages()
	scale := 1.0
	if b.options.ComputeScale != nil {
		scale = b.options.ComputeScale[r]
	}
	// pass of each virtual stage and micro-batch
	forward := make([][]passTasks, virtual)
	backward := make([][]passTasks, virtual)
	for v := range virtual {
		forward[v] = make([]passTasks, s.Microbatches)
		backward[v] = make([]passTasks, s.Microbatches)
	}
	b.GradientsReady = append(b.GradientsReady, make([][]int32, virtual))
	stages := make([]stageBuilder, s.PP)
	b.numScatters = make([]int, s.PP)
	longest := 0
	for i := range stages {
		stages[i] = stageBuilder{number: i, program: s.Program(i), last: -1, lastGradient: make([]int, s.Chunks)}
		for k, o := range stages[i].program {
			if o.Kind == BackwardPass || o.Kind == WeightGradientPass {
				stages[i].lastGradient[o.Chunk] = k
			}
		}
		longest = max(longest, len(stages[i].program))
	}
	// step by step over all stages: about the order of time, which keeps together in memory what is simulated together
	for step := range longest {
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
	for i := range s.Microbatches {
		route := s.stagePath(i)
		for k, v := range route {
			if k+1 == len(route) {
				b.Graph.AddEdge(forward[v][i].last, backward[v][i].first, 0)
				continue
			}
			w := route[k+1]
			here, there := v%s.PP, w%s.PP
			m := TaskMeta{Phase: PipelineForward, Replica: int32(r), Stage: int32(here), ToStage: int32(there), Chunk: int32(v / s.PP), Microbatch: int32(i)}
			b.addHop(r, m, forward[v][i].last, forward[w][i].first)
			m = TaskMeta{Phase: PipelineBackward, Replica: int32(r), Stage: int32(there), ToStage: int32(here), Chunk: int32(w / s.PP), Microbatch: int32(i)}
			b.addHop(r, m, backward[w][i].last, backward[v][i].first)
		}
	}
	return nil
}

// stageBuilder is a pipeline stage while its passes are added.
type stageBuilder struct {
	number       int
	program      []Pass
	last         int32 // task of the step before, or -1
	lastGradient []int // by chunk: the step that computes the last of its gradients
	// of passes that gather parameters or scatter gradients
	numGathers, numScatters int     // how often
	gatherEnds              []int32 // the last task of each that gathered
}

// addProgramPass adds a step of a stage's program.
func (b *builder) addProgramPass(r int, z *stageBuilder, step int, scale float64) (passTasks, error) {
	s, o := &b.Spec, z.program[step]
	v := o.Chunk*s.PP + z.number
	t, err := s.passTimes(v, o.Microbatch, scale)
	if err != nil {
		return passTasks{}, fmt.Errorf("training: compute of stage %d: %w", z.number+1, err)
	}
	m := TaskMeta{Replica: int32(r), Stage: int32(z.number), Chunk: int32(o.Chunk), Microbatch: int32(o.Microbatch), GPU: -1}
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
	if a := s.Measured; a != nil && step == 0 {
		d += engine.Time(float64(a.Prologue) * scale)
	} else if a != nil && step == len(z.program)-1 {
		d += engine.Time(float64(a.Epilogue) * scale)
	}
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
			gathers := s.gathersParameters() && m.Phase != WeightGradients && (m.Phase != Backward || s.Recompute != "full")
			scatters := o.Kind == WeightGradientPass || o.Kind == BackwardPass && m.Phase == Backward
			return p, b.addShards(z, v, m, p.shards, gathers, scatters)
		}
		return p, nil
	}
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

// addHop adds a pipeline transfer between two compute tasks; within a stage, as between chunks of a pipeline of one stage,
// nothing moves.
func (b *builder) addHop(r int, m TaskMeta, from, to int32) {
	if m.Stage == m.ToStage {
		b.Graph.AddEdge(from, to, 0)
		return
	}
	b.addTransfer(b.stageNodes[r][m.Stage], b.stageNodes[r][m.ToStage], b.Spec.StageGPUs(), b.Spec.PipelineBytes(), m, []int32{from}, []int32{to})
}
