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

// calls returns the pass whose collective calls are made in this phase.
func (p Phase) calls() Phase {
	if p == Recompute {
		return Forward
	}
	return p
}

// Meta says what a task of an iteration is, beside the graph's bare task. Counts are from 0.
type Meta struct {
	Phase      Phase
	Back       bool  // of a Sync: the half that goes to the previous replica
	Replica    int32 // where a transfer comes from
	Stage      int32
	To         int32 // stage that a pipeline transfer goes to
	Chunk      int32
	Microbatch int32
	GPU        int32 // of the stage, where every GPU's flow is a task; else -1
	Called     bool  // it is of a collective call, which Extent.Expand added
	Part       int32 // of a pass in several tasks, Parts of them; 0 of 0 is a whole pass
	Parts      int32
}

// Node is an end point of an iteration's transfers: GPUs of a stage that act in lockstep.
type Node struct {
	Replica, Stage int
	First, GPUs    int // of the stage
}

// Extent says how much of the job a graph holds.
type Extent struct {
	// All builds every replica, which then wait for each other before they synchronise. Otherwise one replica stands
	// for all, which must be identical (DELTA, Sec. IV-A.1); what it sends to its neighbours on the ring then goes from
	// a node to itself.
	All bool
	// PerGPU makes a task of every GPU's flow. Otherwise flows between two stages that start together are one task
	// (DELTA, Sec. III-B, M).
	PerGPU bool
	// Scale is, by replica, how many times as long compute takes; nil is 1.
	Scale []float64
	// SyncFrom is, by virtual stage and part of its gradients, the time before which synchronisation does not start:
	// that of a slower replica which the graph does not hold (DELTA, Sec. IV-A.1). nil is no such time.
	SyncFrom [][]engine.Time
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
	Meta  []Meta // by task
	Nodes []Node // by node
	All   bool
	// Ready is, by replica of the graph, virtual stage and part of its gradients (SyncPieces), the task with which it is
	// computed.
	Ready [][][]int32
	// Turn is by task the order in which links send packets that wait, the lowest first, of traces that say so; else nil.
	Turn []int32
}

// RankOf returns the rank that a task is of, or the first of those in lockstep.
func (it *Iteration) RankOf(task int32) int32 {
	m := &it.Meta[task]
	return it.Spec.Rank(int(m.Replica), int(m.Stage), int(max(0, m.GPU)))
}

// Build returns the iteration that s describes. It fails where s.Check does.
func Build(s Spec, x Extent) (*Iteration, error) {
	if err := s.Check(); err != nil {
		return nil, err
	}
	b := &builder{Iteration: &Iteration{Spec: s, Graph: &engine.Graph{}, All: x.All}, x: x, replicas: 1}
	if x.All {
		b.replicas = s.Replicas()
	}
	if x.Scale != nil && len(x.Scale) != b.replicas || x.SyncFrom != nil && len(x.SyncFrom) != s.Virtual() {
		return nil, fmt.Errorf("training: an extent of %d compute scales and %d synchronisation times for %d replicas of %d stages",
			len(x.Scale), len(x.SyncFrom), b.replicas, s.Virtual())
	}
	if x.PerGPU && !x.All && b.split() {
		return nil, fmt.Errorf("training: one replica cannot stand for %d flow by flow: it holds but half of the ring", s.Replicas())
	}
	if x.Expand != nil && !(x.All && x.PerGPU && x.SyncFrom == nil) {
		return nil, fmt.Errorf("training: collective calls in the graph of an iteration that does not hold all GPUs")
	}
	b.nodes()
	b.reserve()
	for r := range b.replicas {
		if err := b.pipeline(r); err != nil {
			return nil, err
		}
	}
	switch {
	case x.Expand != nil:
		if err := b.syncCalls(); err != nil {
			return nil, err
		}
	default:
		b.sync()
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
	virtual := s.Virtual()
	flows := 1
	if b.x.PerGPU {
		flows = s.StageGPUs()
	}
	hops := 2 * (virtual - 1) * s.Microbatches * flows
	tasks := b.replicas * (2*virtual*s.Microbatches + hops + (2*flows+1)*virtual)
	b.Graph.Grow(tasks, b.replicas*(2*virtual*s.Microbatches+2*hops+3*flows*virtual))
	b.Meta = make([]Meta, 0, tasks)
}

// name describes task id for people; micro-batches and stages count from 1, as in DELTA's figures.
func (it *Iteration) name(id int32) string {
	m := it.Meta[id]
	at := fmt.Sprintf("stage %d", m.Stage+1)
	if it.Spec.Chunks > 1 {
		at += fmt.Sprintf(" chunk %d", m.Chunk+1)
	}
	if it.All {
		at += fmt.Sprintf(" replica %d", m.Replica)
	}
	if m.GPU >= 0 {
		at += fmt.Sprintf(" gpu %d", m.GPU)
	}
	switch m.Phase {
	case Barrier:
		return "replicas ready at " + at
	case Sync:
		if m.Back {
			return "DP of " + at + " (back)"
		}
		return "DP of " + at
	case CopyScatter, CopyGather:
		return "DP inside " + at
	case PipelineForward, PipelineBackward:
		return fmt.Sprintf("PP of micro-batch %d from %s to stage %d", m.Microbatch+1, at, m.To+1)
	}
	return fmt.Sprintf("%s of micro-batch %d at %s", m.Phase, m.Microbatch+1, at)
}

// builder assembles an Iteration.
type builder struct {
	*Iteration
	x        Extent
	replicas int
	// node ids of a stage: all its GPUs, the half that sends on, the half that sends back (equal to all where the ring
	// is not split); with PerGPU one node a GPU, of which these are the first
	all, on, back [][]int32
	exchanges     map[exchangeKey]*rendezvous
	scattered     []int // by stage: how often it scatters gradients in passes
}

// split reports whether half of a stage's GPUs go each way round the ring.
func (b *builder) split() bool {
	return b.Spec.Choices.Ring == "bidirectional" && b.Spec.Replicas() > 2 && b.Spec.StageGPUs()%2 == 0
}

func (b *builder) nodes() {
	add := func(r, s, first, gpus int) int32 {
		b.Nodes = append(b.Nodes, Node{r, s, first, gpus})
		return int32(len(b.Nodes) - 1)
	}
	gpus := b.Spec.StageGPUs()
	for r := range b.replicas {
		b.all = append(b.all, make([]int32, b.Spec.PP))
		b.on = append(b.on, make([]int32, b.Spec.PP))
		b.back = append(b.back, make([]int32, b.Spec.PP))
		for s := range b.Spec.PP {
			if b.x.PerGPU {
				for g := range gpus {
					if id := add(r, s, g, 1); g == 0 {
						b.all[r][s], b.on[r][s], b.back[r][s] = id, id, id+int32(gpus/2)
					}
				}
				continue
			}
			id := add(r, s, 0, gpus)
			b.all[r][s], b.on[r][s], b.back[r][s] = id, id, id
			if b.split() {
				b.on[r][s] = add(r, s, 0, gpus/2)
				b.back[r][s] = add(r, s, gpus/2, gpus/2)
			}
		}
	}
}

func (b *builder) task(t engine.Task, m Meta) int32 {
	b.Meta = append(b.Meta, m)
	return b.Graph.AddTask(t)
}

// transfer adds the tasks that move each bytes from every one of gpus GPUs of node src to those of dst, between the
// tasks in from and those in to, and returns them.
func (b *builder) transfer(src, dst int32, gpus int, each int64, m Meta, from, to []int32) (ids []int32) {
	tasks, flows := 1, gpus
	if b.x.PerGPU {
		tasks, flows = gpus, 1
	}
	for g := range int32(tasks) {
		m.GPU = -1
		if b.x.PerGPU {
			m.GPU = int32(b.Nodes[src+g].First)
		}
		t := engine.Task{Kind: engine.Transfer, Src: src + g, Dst: dst + g, Flows: int32(flows), Bytes: each * int64(flows)}
		id := b.task(t, m)
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

// span is the first and the last task of a pass, and those with which it has computed each of its pieces.
type span struct {
	first, last int32
	pieces      []int32
	parts       []span // of a pass that gathers parameters or scatters gradients: its Shards
}

// pass adds a pass of virtual stage v, of so much compute. The last one to compute gradients of the stage is divided
// into the parts in which they are synchronised.
func (b *builder) pass(v int, d engine.Time, m Meta, last bool) (span, error) {
	if b.x.Expand != nil {
		return b.callingPass(v, d, m)
	}
	parts := max(1, b.Spec.Shards(v))
	if last {
		parts = max(parts, b.Spec.SyncPieces(v))
	}
	p := span{first: int32(len(b.Meta))}
	for i := range parts {
		if parts > 1 {
			m.Part, m.Parts = int32(i), int32(parts)
		}
		id := b.task(engine.Task{Duration: part(d, i, parts)}, m)
		if i > 0 {
			b.Graph.AddEdge(p.last, id, 0)
		}
		p.last, p.pieces = id, append(p.pieces, id)
		p.parts = append(p.parts, span{first: id, last: id})
	}
	return p, nil
}

// part returns the i-th of n parts of x, which add up to it.
func part[T ~int64](x T, i, n int) T {
	each, rest := x/T(n), x%T(n)
	return each + rest*T(i+1)/T(n) - rest*T(i)/T(n)
}

// parts returns the tasks of the last pass that computes gradients of virtual stage v with which each part of them is
// computed: of a pass in more pieces that with which the last of the part is.
func (b *builder) parts(v int, p span) []int32 {
	n := b.Spec.SyncPieces(v)
	if n == 1 {
		return []int32{p.last}
	}
	parts := make([]int32, n)
	for i := range parts {
		parts[i] = p.pieces[(i+1)*len(p.pieces)/n-1]
	}
	return parts
}

// pipeline adds the compute and the pipeline transfers of a replica.
func (b *builder) pipeline(r int) error {
	s := &b.Spec
	virtual := s.Virtual()
	scale := 1.0
	if b.x.Scale != nil {
		scale = b.x.Scale[r]
	}
	// pass of each virtual stage and micro-batch
	forward := make([][]span, virtual)
	backward := make([][]span, virtual)
	for v := range virtual {
		forward[v] = make([]span, s.Microbatches)
		backward[v] = make([]span, s.Microbatches)
	}
	b.Ready = append(b.Ready, make([][]int32, virtual))
	stages := make([]stage, s.PP)
	b.scattered = make([]int, s.PP)
	longest := 0
	for i := range stages {
		stages[i] = stage{number: i, steps: s.Program(i), last: -1, ends: make([]int, s.Chunks)}
		for k, o := range stages[i].steps {
			if o.Work == Backwards || o.Work == Weights {
				stages[i].ends[o.Chunk] = k
			}
		}
		longest = max(longest, len(stages[i].steps))
	}
	// step by step over all stages: about the order of time, which keeps together in memory what is simulated together
	for step := range longest {
		for i := range stages {
			z := &stages[i]
			if step >= len(z.steps) {
				continue
			}
			o := z.steps[step]
			p, err := b.step(r, z, step, scale)
			if err != nil {
				return err
			}
			v := o.Chunk*s.PP + i
			switch o.Work {
			case Forwards:
				forward[v][o.Microbatch] = p
			case Backwards, Inputs:
				backward[v][o.Microbatch] = p
			}
			if step > 0 && z.steps[step-1].Together {
				f := z.steps[step-1]
				with := &forward[f.Chunk*s.PP+i][f.Microbatch]
				with.last = p.last
				backward[v][o.Microbatch].first = with.first
			}
			if step == z.ends[o.Chunk] && (o.Work == Backwards || o.Work == Weights) {
				b.Ready[r][v] = b.parts(v, p)
			}
		}
	}
	for i := range stages {
		b.scattered[i] = stages[i].scattered
	}
	for i := range s.Microbatches {
		route := s.route(i)
		for k, v := range route {
			if k+1 == len(route) {
				b.Graph.AddEdge(forward[v][i].last, backward[v][i].first, 0)
				continue
			}
			w := route[k+1]
			here, there := v%s.PP, w%s.PP
			m := Meta{Phase: PipelineForward, Replica: int32(r), Stage: int32(here), To: int32(there), Chunk: int32(v / s.PP), Microbatch: int32(i)}
			b.hop(r, m, forward[v][i].last, forward[w][i].first)
			m = Meta{Phase: PipelineBackward, Replica: int32(r), Stage: int32(there), To: int32(here), Chunk: int32(w / s.PP), Microbatch: int32(i)}
			b.hop(r, m, backward[w][i].last, backward[v][i].first)
		}
	}
	return nil
}

// stage is a pipeline stage while its passes are added.
type stage struct {
	number int
	steps  []Step
	last   int32 // task of the step before, or -1
	ends   []int // by chunk: the step that computes the last of its gradients
	// of passes that gather parameters or scatter gradients
	gathered, scattered int     // how often
	parts               []int32 // the last task of each that gathered
}

// step adds a step of a stage's program.
func (b *builder) step(r int, z *stage, step int, scale float64) (span, error) {
	s, o := &b.Spec, z.steps[step]
	v := o.Chunk*s.PP + z.number
	t, err := s.times(v, o.Microbatch, scale)
	if err != nil {
		return span{}, fmt.Errorf("training: compute of stage %d: %w", z.number+1, err)
	}
	m := Meta{Replica: int32(r), Stage: int32(z.number), Chunk: int32(o.Chunk), Microbatch: int32(o.Microbatch), GPU: -1}
	var d engine.Time
	switch o.Work {
	case Forwards:
		m.Phase, d = Forward, t.forward
	case Backwards:
		m.Phase, d = Backward, t.backward
	case Inputs:
		m.Phase, d = Backward, t.backward-t.weights
	case Weights:
		m.Phase, d = WeightGradients, t.weights
	}
	if a := s.Measured; a != nil && step == 0 {
		d += engine.Time(float64(a.First) * scale)
	} else if a != nil && step == len(z.steps)-1 {
		d += engine.Time(float64(a.Last) * scale)
	}
	first := int32(-1)
	add := func(d engine.Time, m Meta, last bool) (span, error) {
		p, err := b.pass(v, d, m, last)
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
			gathers := s.gathers() && m.Phase != WeightGradients && (m.Phase != Backward || s.Recompute != "full")
			scatters := o.Work == Weights || o.Work == Backwards && m.Phase == Backward
			return p, b.shard(z, v, m, p.parts, gathers, scatters)
		}
		return p, nil
	}
	if m.Phase == Backward && s.Recompute != "" && s.Recompute != "none" {
		again := m
		if again.Phase = Recompute; s.Recompute == "selective" {
			d += t.again
		} else if _, err := add(t.again, again, false); err != nil {
			return span{}, err
		}
	}
	p, err := add(d, m, step == z.ends[o.Chunk])
	p.first = first
	return p, err
}

// hop adds a pipeline transfer between two compute tasks; within a stage, as between chunks of a pipeline of one stage,
// nothing moves.
func (b *builder) hop(r int, m Meta, from, to int32) {
	if m.Stage == m.To {
		b.Graph.AddEdge(from, to, 0)
		return
	}
	b.transfer(b.all[r][m.Stage], b.all[r][m.To], b.Spec.StageGPUs(), b.Spec.PipelineBytes(), m, []int32{from}, []int32{to})
}
