// This file adds passes and synchronisation whose collective calls are part of the task graph,
// so that they contend with all other transfers.

package training

import (
	"fmt"
	"math"
	"slices"

	"sim/engine"
)

// passBuilder is the state of addPassWithCalls.
type passBuilder struct {
	b        *builder
	v        int // virtual stage
	meta     TaskMeta
	pieces   int
	duration engine.Time // compute time of the pass
	computed engine.Time // compute time of the tasks so far

	gpuLast      []int32 // last task of each simulated GPU of the stage
	joined       int32   // last compute task of all GPUs
	callsPending bool    // calls have been made since joined
	numPending   int     // number of computations with pending calls so far, if only some are hidden
	isGated      bool    // joined is a gate, and has no calls after it

	// ringOverlap is the fraction of the attention scores that does not wait for the last block
	// of a ring: the blocks of all ranks but one. It is 0 without ring attention. ringStarted
	// reports whether calls of a ring have been made since joined.
	ringOverlap float64
	ringStarted bool

	computes []int32 // tasks with a duration
}

// addPassWithCalls adds a pass that is divided into pieces and makes its collective calls
// in the graph. All GPUs of a stage compute at the same time, so each compute task waits
// for the calls of all groups. Each rank makes consecutive calls one after another.
//
// A piece makes the calls of one layer, and its computation is divided in two:
//
//	LayerStart calls -> compute -> LayerMiddle calls -> compute -> LayerEnd calls
//
// In a forward pass, attention is computed first and the feed-forward network second. In a
// backward pass the order is reversed.
//
// A fraction of the computation can overlap with calls. In general it is
// Spec.OverlapCalls. During ring attention, scores of blocks that have arrived are
// computed while the next block travels; only the last block is waited for.
func (b *builder) addPassWithCalls(v int, duration engine.Time, m TaskMeta) (passTasks, error) {
	s := &b.Spec
	p := passTasks{first: b.addTask(engine.Task{}, m)}
	gpus := s.StageGPUs()
	if b.options.Folded {
		gpus = 1
	}
	x := passBuilder{
		b: b, v: v, meta: m, pieces: s.Pieces(v), duration: duration,
		gpuLast: slices.Repeat([]int32{p.first}, gpus), joined: p.first,
	}
	if s.ContextForm == "ring" {
		x.ringOverlap = 1 - 1/float64(s.ContextRanks())
	}

	// These are fractions of the computation of a piece. split is the part before the
	// LayerMiddle calls. Attention begins at attentionStart. scoreSpan has the start and the
	// end of its scores, relative to attentionStart.
	split, attentionStart, scoreSpan := s.attentionShare(v, m.Phase), 0.0, s.scoreSpan(v, m.Phase)
	if x.isBackward() { // attention follows the feed-forward network
		split = 1 - split
		attentionStart = split
	}

	// With shards, each piece waits for its parameters or scatters its gradients (addShards).
	// It then begins with a task of its own, so that only this piece waits for its parameters.
	calls, shards := s.Calls(v, m.Phase), s.Shards(v) > 0
	for piece := range x.pieces {
		start := x.joined
		switch {
		case shards && s.OverlapCalls > 0:
			start = x.addGate()
		case shards:
			x.join(0)
			start = x.joined
		}
		for position := LayerStart; position <= LayerEnd; position++ {
			for _, c := range calls {
				if c.Position != position {
					continue
				}
				if c.Dim == Context && x.ringOverlap > 0 && !x.ringStarted {
					// Keys and values can travel only after they are projected. The calls
					// overlap nothing before.
					x.join(x.computeUntil(piece, attentionStart+scoreSpan[0]))
					x.ringStarted = true
				}
				if err := x.addCall(c, piece); err != nil {
					return p, err
				}
			}

			if x.ringStarted { // the output projection needs the scores of all blocks
				x.join(x.computeUntil(piece, attentionStart+scoreSpan[1]))
			}

			switch position {
			case LayerStart:
				x.join(x.computeUntil(piece, split))
			case LayerMiddle:
				x.join(x.computeUntil(piece+1, 0)) // until the next piece starts
				p.pieceEnds = append(p.pieceEnds, x.joined)
				p.shards = append(p.shards, passTasks{first: start, last: x.joined})
			}
		}
	}
	x.join(0)
	p.last, p.computes = x.gpuLast[0], x.computes
	return p, nil
}

// addGate adds a task at the start of a piece whose parameters are gathered. The computation of the
// piece waits for it, but not for the calls of the previous piece.
func (x *passBuilder) addGate() int32 {
	id := x.b.addTask(engine.Task{}, x.meta)
	x.b.Graph.AddDependency(x.joined, id)
	x.joined, x.isGated = id, true
	return id
}

// isBackward reports whether the pass computes the layers in reverse order.
func (x *passBuilder) isBackward() bool {
	return x.meta.Phase == Backward || x.meta.Phase == WeightGradients
}

// join adds a compute task of duration d after the last task of each GPU. Without
// duration, the task only waits for all GPUs.
func (x *passBuilder) join(d engine.Time) {
	b := x.b
	var early int32
	part := b.Spec.OverlapCalls
	if x.ringStarted {
		part = max(part, x.ringOverlap)
	}
	overlaps := x.callsPending && part > 0 && d > 0 && x.hidesCalls()
	if overlaps { // this part of the computation does not wait for the calls
		e := engine.Time(float64(d) * part)
		early = b.addTask(engine.Task{Duration: e}, x.meta)
		b.Graph.AddDependency(x.joined, early)
		x.computes = append(x.computes, early)
		d -= e
	}
	id := b.addTask(engine.Task{Duration: d}, x.meta)
	if d > 0 {
		x.computes = append(x.computes, id)
	}
	for g, before := range x.gpuLast {
		b.Graph.AddDependency(before, id)
		x.gpuLast[g] = id
	}
	switch {
	case overlaps:
		b.Graph.AddDependency(early, id)
	case x.isGated:
		b.Graph.AddDependency(x.joined, id)
	}
	x.joined, x.callsPending, x.ringStarted, x.isGated = id, false, false, false
}

// hidesCalls reports whether the pending calls overlap with the computation: HiddenCalls of all, spread
// evenly. Calls of a ring always do.
func (x *passBuilder) hidesCalls() bool {
	share := x.b.Spec.HiddenCalls
	if share == 0 || share == 1 || x.ringStarted {
		return true
	}
	x.numPending++
	return math.Floor(float64(x.numPending)*share) > math.Floor(float64(x.numPending-1)*share)
}

// computeUntil returns the compute time from the last call of computeUntil to the given fraction
// of a piece.
func (x *passBuilder) computeUntil(piece int, fraction float64) engine.Time {
	end := engine.Time(float64(x.duration) * (float64(piece) + fraction) / float64(x.pieces))
	if piece == x.pieces {
		end = x.duration
	}
	d := end - x.computed
	x.computed = end
	return d
}

// addCall adds call c of a piece among each of its groups. Each rank makes it after its last task.
func (x *passBuilder) addCall(c Call, piece int) error {
	b := x.b
	if uneven := b.Spec.ExpertSizes; c.Dim == Expert && (uneven == "zipf" || uneven == "loads") {
		c.Draw = x.draw(piece)
	}
	x.callsPending = true
	stage := int(x.meta.Stage)
	firstRank := b.Spec.Rank(int(x.meta.Replica), stage, 0) // of the stage
	for _, group := range b.groups(c, int(x.meta.Replica), stage) {
		ready := make([]int32, len(group))
		for i, rank := range group {
			ready[i] = x.gpuLast[int(rank-firstRank)%len(x.gpuLast)]
		}
		ends, err := b.expandCall(c, group, ready, x.meta)
		if err != nil {
			return err
		}
		for i, rank := range group {
			x.gpuLast[int(rank-firstRank)%len(x.gpuLast)] = ends[i]
		}
	}
	return nil
}

// draw returns Call.Draw of an exchange with experts in a piece. It identifies the draw of sizes by
// layer, and with Zipf sizes also by replica, virtual stage and micro-batch. These numbers are the
// digits of the result in a mixed radix. 1 is added, because Call.Draw is 0 if all messages have
// the same size.
func (x *passBuilder) draw(piece int) uint64 {
	s, m := &x.b.Spec, &x.meta
	layer := piece
	if x.isBackward() {
		layer = x.pieces - 1 - piece
	}
	if s.ExpertSizes == "zipf" {
		return 1 + uint64(((int(m.Replica)*s.PP*s.Chunks+x.v)*s.Microbatches+int(m.Microbatch))*x.pieces+layer)
	}
	return 1 + uint64(s.expertLayer(x.v, layer, x.pieces))
}

// groups returns the groups whose calls are in the graph: all of Spec.Groups, or the first one
// of a folded graph.
func (b *builder) groups(c Call, replica, stage int) [][]int32 {
	groups := b.Spec.Groups(c, replica, stage)
	if b.options.Folded {
		return groups[:1]
	}
	return groups
}

// CanFold reports whether all GPUs of a stage, in all replicas, do the same at the same time. A
// graph can then contain one of them (BuildOptions.Folded). Sizes of expert traffic that differ,
// measured times, and a second copy of the model in a replica are not supported.
func (s *Spec) CanFold() bool {
	isUneven := s.ExpertSizes == "zipf" || s.ExpertSizes == "loads"
	return s.Measured == nil && !isUneven && s.ModelCopies() == 1
}

// expandCall adds the tasks of call c among group. Their TaskMeta is m, with the dimension of
// parallelism of the call as its Phase: traces show the calls of each dimension like a phase of the
// iteration.
func (b *builder) expandCall(c Call, group, ready []int32, m TaskMeta) ([]int32, error) {
	done, err := b.options.Expand(b.Graph, c, group, ready)
	if err != nil {
		return nil, fmt.Errorf("training: %v of %s: %w", c.Kind, c.Dim, err)
	}
	if len(done) != len(group) {
		return nil, fmt.Errorf("training: %v of %s: expanding the call returned %[4]d last tasks for %[3]d ranks; want one per rank",
			c.Kind, c.Dim, len(group), len(done))
	}

	m.Phase, m.ToStage, m.InCall = c.Dim, m.Stage, true
	for len(b.Meta) < len(b.Graph.Tasks) {
		b.Meta = append(b.Meta, m)
	}
	return done, nil
}

// The classes of parameters, which are synchronised by different groups of ranks. A stage may hold
// several copies of denseClass parameters, and holds expertClass parameters once.
const (
	denseClass = iota
	expertClass
	numClasses
)

// syncTasks holds the last synchronisation task of each rank so far, indexed by class and rank.
// Ranks without such a task are absent.
type syncTasks [numClasses]map[int32]int32

// addSyncCalls adds the synchronisation calls of each virtual stage. Each piece of the
// gradients is scattered after the piece of the last backward pass that computes it, and
// after the previous piece. The parameters of each class are gathered after their gradients
// are scattered.
//
// With DualPipe, a replica has two copies of the model: virtual stages v and otherModelCopy(v) hold
// the same layers. Their gradients are synchronised together, under the number v.
func (b *builder) addSyncCalls() error {
	s := &b.Spec
	done := make([][]int32, b.replicas*s.PP) // predecessors of the optimizer step, indexed by replica and stage
	for r := range b.replicas {
		for v, parts := range b.GradientsReady[r] {
			done[r*s.PP+v%s.PP] = append(done[r*s.PP+v%s.PP], parts...)
		}
	}

	for stage := range s.PP {
		for chunk := range s.Chunks / s.ModelCopies() {
			v := chunk*s.PP + stage
			m := TaskMeta{Stage: int32(stage), Chunk: int32(chunk), GPU: -1}
			var lastTask syncTasks
			for class := range lastTask {
				lastTask[class] = map[int32]int32{}
			}

			// If backward passes have scattered the gradients, start after the last scatter.
			for r := range b.replicas {
				id := b.lastScatter(r, stage)
				if id < 0 {
					continue
				}
				for g := range s.StageGPUs() {
					for class := range lastTask {
						lastTask[class][s.Rank(r, stage, g)] = id
					}
				}
			}

			for piece := range s.SyncPieces(v) {
				if err := b.addSyncPieceCalls(v, piece, m, &lastTask); err != nil {
					return err
				}
			}

			for rank, n := range b.Nodes { // with PerGPU a node is a rank
				for class := range lastTask {
					if id, ok := lastTask[class][int32(rank)]; ok {
						done[n.Replica*s.PP+n.Stage] = append(done[n.Replica*s.PP+n.Stage], id)
					}
				}
			}
		}
	}
	b.addOptimizers(done)
	return nil
}

// addSyncPieceCalls adds the calls that synchronise one piece of the gradients of virtual
// stage v. Each rank makes a call after its last task in lastTask, which is updated.
func (b *builder) addSyncPieceCalls(v, piece int, m TaskMeta, lastTask *syncTasks) error {
	s := &b.Spec
	var hasCall [numClasses]bool // whether the piece has a call of the class so far
	for _, c := range s.Calls(v, Sync) {
		class := denseClass
		if c.ForExpertWeights {
			class = expertClass
		}

		// The first call of each class also waits until the gradients are computed.
		for _, group := range b.groups(c, anyReplica, int(m.Stage)) {
			ready := make([]int32, len(group))
			for i, rank := range group {
				if b.options.Folded && i > 0 {
					ready[i] = ready[0]
					continue
				}
				last, hasLast := lastTask[class][rank]
				if hasCall[class] {
					ready[i] = last
					continue
				}
				ready[i] = b.gradientTask(v, piece, rank)
				if hasLast {
					joined := b.addTask(engine.Task{}, m)
					b.Graph.AddDependency(last, joined)
					b.Graph.AddDependency(ready[i], joined)
					ready[i] = joined
				}
			}

			done, err := b.expandCall(c, group, ready, m)
			if err != nil {
				return err
			}
			for i, rank := range group {
				lastTask[class][rank] = done[i]
			}
		}
		hasCall[class] = true
	}
	return nil
}

// gradientTask returns the task with which a rank has computed a piece of the gradients of virtual
// stage v. If the rank holds these layers in the other model copy (DualPipe), it is the task of
// otherModelCopy(v).
func (b *builder) gradientTask(v, piece int, rank int32) int32 {
	n := b.Nodes[int(rank)%len(b.Nodes)] // a folded graph has the nodes of one replica
	if n.Stage != v%b.Spec.PP {
		v = b.Spec.otherModelCopy(v)
	}
	return b.GradientsReady[n.Replica][v][piece]
}

// WithoutCalls returns a copy of the graph in which the calls of one dimension take no
// time. The difference of the makespans is the communication that they expose. It returns
// nil if the graph has no such calls.
func (it *Iteration) WithoutCalls(dim Phase) *engine.Graph {
	g := *it.Graph
	g.Tasks = slices.Clone(g.Tasks)
	calls := false
	for i, m := range it.Meta {
		if m.InCall && m.Phase == dim {
			g.Tasks[i], calls = engine.Task{}, true
		}
	}
	if !calls {
		return nil
	}
	return &g
}

// WithoutCallDelays returns the graph with collective calls that start when all ranks are ready,
// without the delay of a library. It returns nil if no call has a delay.
func (it *Iteration) WithoutCallDelays() *engine.Graph {
	g := *it.Graph
	g.Tasks = slices.Clone(g.Tasks)
	delays := false
	for i, m := range it.Meta {
		if t := &g.Tasks[i]; m.InCall && t.Duration > 0 {
			t.Duration, delays = 0, true
		}
	}
	if !delays {
		return nil
	}
	return &g
}
