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
	StageCopyScatter // reduce-scatter of gradients among the copies of a parameter in one stage
	StageCopyGather  // all-gather of parameters or gradients among these copies
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
	// Folded builds the tasks of the first GPU of each stage of the first replica. They stand
	// for the tasks of all GPUs of the stage in all replicas (Spec.CanFold). It requires All
	// and PerGPU. Expand is called for the first group of each call. All ranks of the group
	// are ready after the same task, and the results done must be equal.
	Folded bool
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

	hidden map[int32]engine.Time // time of the calls of a task that other compute hides (Lengthen)
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
	if x.All && !x.Folded {
		b.replicas = s.Replicas()
	}
	if x.ComputeScale != nil && len(x.ComputeScale) != b.replicas ||
		x.EarliestSync != nil && len(x.EarliestSync) != s.VirtualStages() {
		return nil, fmt.Errorf("training: %d compute scales and %d earliest synchronisation times for %d replicas of %d virtual stages",
			len(x.ComputeScale), len(x.EarliestSync), b.replicas, s.VirtualStages())
	}

	// With a bidirectional ring, one replica contains only the transfers in one
	// direction.
	if x.PerGPU && !x.All && b.Spec.SplitsRing() {
		return nil, fmt.Errorf("training: PerGPU without All for %d replicas: one replica holds only one direction of the bidirectional ring; want All",
			s.Replicas())
	}

	if x.Expand != nil && !(x.All && x.PerGPU && x.EarliestSync == nil) {
		return nil, fmt.Errorf("training: collective calls in the graph need All and PerGPU, and no earliest synchronisation times")
	}
	if x.Folded && !(x.All && x.PerGPU && x.ComputeScale == nil && s.CanFold()) {
		return nil, fmt.Errorf("training: only GPUs that do the same can be folded, with All and PerGPU")
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

// reserve preallocates approximately the required number of tasks and edges. A micro-batch
// has a forward and a backward pass per virtual stage, and two transfers between successive
// stages. Each virtual stage has transfers of its synchronisation, in both directions of the
// ring, and a barrier.
func (b *builder) reserve() {
	s := &b.Spec
	virtual := s.VirtualStages()
	flows := 1
	if b.options.PerGPU && !b.options.Folded {
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
	case StageCopyScatter, StageCopyGather:
		return "DP inside " + location
	case PipelineForward, PipelineBackward:
		return fmt.Sprintf("PP of micro-batch %d from %s to stage %d", m.Microbatch+1, location,
			m.ToStage+1)
	}
	return fmt.Sprintf("%s of micro-batch %d at %s", m.Phase, m.Microbatch+1, location)
}

// builder assembles an Iteration.
type builder struct {
	*Iteration // the result
	options    BuildOptions
	replicas   int // replicas in the graph
	// Node ids, indexed by replica and stage. stageNodes has all GPUs of the stage.
	// nextHalf has the half that sends to the next replica, previousHalf the half that
	// sends to the previous one. All three are equal if the ring is not split. With
	// PerGPU there is one node per GPU, and these are the first nodes of each set.
	stageNodes, nextHalf, previousHalf [][]int32
	shardCollectives                   map[shardKey]*shardCollective // collectives of sharded passes
	numScatters                        []int                         // gradient scatters in passes, indexed by stage
	times                              map[int]passTimes             // indexed by virtual stage, for the scale timesScale
	timesScale                         float64
}

// SplitsRing reports whether half of a stage's GPUs send in each direction round the ring
// of replicas.
func (s *Spec) SplitsRing() bool {
	return s.Choices.Ring == "bidirectional" && s.Replicas() > 2 && s.StageGPUs()%2 == 0
}

// addNodes adds the nodes of all stages.
func (b *builder) addNodes() {
	add := func(r, s, first, gpus int) int32 {
		b.Nodes = append(b.Nodes, Node{Replica: r, Stage: s, First: first, GPUs: gpus})
		return int32(len(b.Nodes) - 1)
	}

	gpus := b.Spec.StageGPUs()
	for r := range b.replicas {
		b.stageNodes = append(b.stageNodes, make([]int32, b.Spec.PP))
		b.nextHalf = append(b.nextHalf, make([]int32, b.Spec.PP))
		b.previousHalf = append(b.previousHalf, make([]int32, b.Spec.PP))
		for s := range b.Spec.PP {
			if b.options.PerGPU {
				const oneGPU = 1
				for g := range gpus {
					if id := add(r, s, g, oneGPU); g == 0 {
						b.stageNodes[r][s], b.nextHalf[r][s], b.previousHalf[r][s] = id, id, id+int32(gpus/2)
					}
				}
				continue
			}
			first, half := 0, gpus/2
			id := add(r, s, first, gpus)
			b.stageNodes[r][s], b.nextHalf[r][s], b.previousHalf[r][s] = id, id, id
			if b.Spec.SplitsRing() {
				b.nextHalf[r][s] = add(r, s, first, half)
				b.previousHalf[r][s] = add(r, s, half, half)
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
func (b *builder) addTransfer(src, dst int32, gpus int, bytesPerGPU int64, m TaskMeta, from []int32, to ...int32) (ids []int32) {
	tasks, flows := 1, gpus
	if b.options.PerGPU {
		tasks, flows = gpus, 1
	}
	if b.options.Folded {
		tasks = 1
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
			b.Graph.AddDependency(f, id)
		}
		for _, t := range to {
			b.Graph.AddDependency(id, t)
		}
		ids = append(ids, id)
	}
	return ids
}
