// This file adds passes and synchronisation whose collective calls are part of the task graph,
// so that they contend with all other transfers.

package training

import (
	"fmt"
	"slices"

	"sim/engine"
)

// addPassWithCalls adds a pass that is divided into pieces and makes its collective calls
// in the graph. All GPUs of a stage compute at the same time, so each compute task waits
// for the calls of all groups. Each rank makes consecutive calls one after another.
//
// A fraction of the computation can overlap with calls. In general it is
// Spec.OverlapCalls. During ring attention, scores of blocks that have arrived are
// computed while the next block travels; only the last block is waited for.
func (b *builder) addPassWithCalls(v int, duration engine.Time, m TaskMeta) (passTasks, error) {
	s := &b.Spec
	calls := s.Calls(v, m.Phase)
	stage := m.Stage
	firstRank := s.Rank(int(m.Replica), int(stage), 0) // of the stage

	// Fractions of a piece: the part that is computed before its LayerMiddle calls, the
	// start of attention, and the span of the scores relative to that start.
	split, attentionStart, scoreSpan := s.attentionShare(v), 0.0, s.scoreSpan(v, m.Phase)
	backward := m.Phase == Backward || m.Phase == WeightGradients
	if backward { // attention follows the feed-forward network
		split = 1 - split
		attentionStart = split
	}

	ringOverlap := 0.0 // fraction of the scores that does not wait for the last block
	if s.ContextForm == "ring" {
		ringOverlap = 1 - 1/float64(s.ContextRanks())
	}
	ringStarted := false // calls of a ring have been made since the last compute task

	p := passTasks{first: b.addTask(engine.Task{}, m)}
	gpus := s.StageGPUs() // simulated GPUs of the stage
	if b.options.Folded {
		gpus = 1
	}
	gpuLast := slices.Repeat([]int32{p.first}, gpus) // last task of each GPU
	joined := p.first                                // last compute task of all GPUs
	callsPending := false                            // calls have been made since joined

	// join adds a compute task of duration d after the last task of each GPU. Without
	// duration, the task only waits for all GPUs.
	join := func(d engine.Time) {
		var early int32
		part := s.OverlapCalls
		if ringStarted {
			part = max(part, ringOverlap)
		}
		overlaps := callsPending && part > 0 && d > 0
		if overlaps { // this part of the computation does not wait for the calls
			e := engine.Time(float64(d) * part)
			early = b.addTask(engine.Task{Duration: e}, m)
			b.Graph.AddDependency(joined, early)
			d -= e
		}
		id := b.addTask(engine.Task{Duration: d}, m)
		for g, before := range gpuLast {
			b.Graph.AddDependency(before, id)
			gpuLast[g] = id
		}
		if overlaps {
			b.Graph.AddDependency(early, id)
		}
		joined, callsPending, ringStarted = id, false, false
	}

	pieces := s.Pieces(v)
	shards := s.Shards(v) > 0
	done := engine.Time(0)

	// computeUntil returns the compute time up to the given point that is not done yet.
	computeUntil := func(piece int, part float64) engine.Time {
		end := engine.Time(float64(duration) * (float64(piece) + part) / float64(pieces))
		if piece == pieces {
			end = duration
		}
		d := end - done
		done = end
		return d
	}

	// Each piece alternates between the calls of a position and the computation after
	// them.
	for piece := range pieces {
		start := joined
		if shards {
			join(0)
			start = joined
		}
		for position := LayerStart; position <= LayerEnd; position++ {
			for _, c := range calls {
				if c.Position != position {
					continue
				}

				// Identify the draw of sizes by layer, and with Zipf sizes also by
				// replica, virtual stage and micro-batch. These numbers are the digits of
				// Call.Draw in a mixed radix, plus 1.
				if uneven := s.ExpertSizes; c.Dim == Expert && (uneven == "zipf" || uneven == "loads") {
					layer := piece
					if backward {
						layer = pieces - 1 - piece
					}
					if c.Draw = 1 + uint64(s.expertLayer(v, layer, pieces)); uneven == "zipf" {
						c.Draw = 1 + uint64(((int(m.Replica)*s.PP*s.Chunks+v)*s.Microbatches+int(m.Microbatch))*pieces+layer)
					}
				}

				if c.Dim == Context && ringOverlap > 0 && !ringStarted {
					// Keys and values can travel only after they are projected. The calls
					// overlap nothing before.
					join(computeUntil(piece, attentionStart+scoreSpan[0]))
					ringStarted = true
				}

				callsPending = true
				for _, group := range b.groups(c, int(m.Replica), int(stage)) {
					ready := make([]int32, len(group))
					for i, rank := range group {
						ready[i] = gpuLast[int(rank-firstRank)%gpus]
					}
					ends, err := b.expandCall(c, group, ready, m)
					if err != nil {
						return p, err
					}
					for i, rank := range group {
						gpuLast[int(rank-firstRank)%gpus] = ends[i]
					}
				}
			}

			if ringStarted { // the output projection needs the scores of all blocks
				join(computeUntil(piece, attentionStart+scoreSpan[1]))
			}

			switch position {
			case LayerStart:
				join(computeUntil(piece, split))
			case LayerMiddle:
				join(computeUntil(piece+1, 0)) // until the next piece starts
				p.pieceEnds = append(p.pieceEnds, joined)
				p.shards = append(p.shards, passTasks{first: start, last: joined})
			}
		}
	}
	join(0)
	p.last = gpuLast[0]
	return p, nil
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
// measured times, a second copy of the model in a replica, and collectives of sharded passes
// are not supported.
func (s *Spec) CanFold() bool {
	isUneven := s.ExpertSizes == "zipf" || s.ExpertSizes == "loads"
	return s.Measured == nil && !isUneven && s.ModelCopies() == 1 && !s.scattersGradients()
}

// expandCall adds the tasks of call c among group and describes them like m.
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
