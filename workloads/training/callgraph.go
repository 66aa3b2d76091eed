package training

import (
	"fmt"
	"slices"

	"sim/engine"
)

// addPassWithCalls adds a pass that is divided into pieces and makes its collective calls. All GPUs of the stage compute at
// the same time, so computing waits for the calls of all its groups; of calls in a row each rank makes one after the
// other.
func (b *builder) addPassWithCalls(v int, duration engine.Time, m TaskMeta) (passTasks, error) {
	s := &b.Spec
	calls := s.Calls(v, m.Phase)
	stage := m.Stage
	first := s.Rank(int(m.Replica), int(stage), 0)
	split := s.attentionShare(v)                              // of a piece's compute, before its calls in between
	attentionStart, scoreSpan := 0.0, s.scoreSpan(v, m.Phase) // where attention begins in a piece, and where its scores do and end
	backward := m.Phase == Backward || m.Phase == WeightGradients
	if backward {
		split = 1 - split
		attentionStart = split
	}
	ringOverlap := 0.0 // the part of attention's scores that does not wait for the last block of a ring
	if s.ContextForm == "ring" {
		ringOverlap = 1 - 1/float64(s.ContextRanks())
	}
	ringStarted := false // calls of one have been made since computing was last joined
	p := passTasks{first: b.addTask(engine.Task{}, m)}
	gpuLast := slices.Repeat([]int32{p.first}, s.StageGPUs()) // by GPU: the task that comes before
	joined, callsPending := p.first, false
	join := func(d engine.Time) {
		var early int32
		part := s.OverlapCalls
		if ringStarted {
			part = max(part, ringOverlap)
		}
		overlaps := callsPending && part > 0 && d > 0
		if overlaps { // what does not wait for the calls
			e := engine.Time(float64(d) * part)
			early = b.addTask(engine.Task{Duration: e}, m)
			b.Graph.AddEdge(joined, early, 0)
			d -= e
		}
		id := b.addTask(engine.Task{Duration: d}, m)
		for g, before := range gpuLast {
			b.Graph.AddEdge(before, id, 0)
			gpuLast[g] = id
		}
		if overlaps {
			b.Graph.AddEdge(early, id, 0)
		}
		joined, callsPending, ringStarted = id, false, false
	}
	pieces := s.Pieces(v)
	shards := s.Shards(v) > 0
	done := engine.Time(0)
	computeUntil := func(piece int, part float64) engine.Time { // compute up to there, and not yet done
		end := engine.Time(float64(duration) * (float64(piece) + part) / float64(pieces))
		if piece == pieces {
			end = duration
		}
		d := end - done
		done = end
		return d
	}
	for piece := range pieces {
		start := joined
		if shards {
			join(0)
			start = joined
		}
		for place := LayerStart; place <= LayerEnd; place++ {
			for _, c := range calls {
				if c.Position != place {
					continue
				}
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
					// keys and values go round when they have been projected, and nothing before that is hidden
					join(computeUntil(piece, attentionStart+scoreSpan[0]))
					ringStarted = true
				}
				callsPending = true
				for _, group := range s.Groups(c, int(m.Replica), int(stage)) {
					ready := make([]int32, len(group))
					for i, rank := range group {
						ready[i] = gpuLast[rank-first]
					}
					ends, err := b.expandCall(c, group, ready, m)
					if err != nil {
						return p, err
					}
					for i, rank := range group {
						gpuLast[rank-first] = ends[i]
					}
				}
			}
			if ringStarted { // the last projection needs the scores of all blocks
				join(computeUntil(piece, attentionStart+scoreSpan[1]))
			}
			switch place {
			case LayerStart:
				join(computeUntil(piece, split))
			case LayerMiddle:
				join(computeUntil(piece+1, 0))
				p.pieceEnds = append(p.pieceEnds, joined)
				p.shards = append(p.shards, passTasks{first: start, last: joined})
			}
		}
	}
	join(0)
	p.last = gpuLast[0]
	return p, nil
}

// expandCall adds the tasks of a call.
func (b *builder) expandCall(c Call, group, ready []int32, m TaskMeta) ([]int32, error) {
	done, err := b.options.Expand(b.Graph, c, group, ready)
	if err != nil {
		return nil, fmt.Errorf("training: %v of %s: %w", c.Kind, c.Dim, err)
	}
	if len(done) != len(group) {
		return nil, fmt.Errorf("training: %v of %s among %d ranks ends at %d", c.Kind, c.Dim, len(group), len(done))
	}
	m.Phase, m.ToStage, m.InCall = c.Dim, m.Stage, true
	for len(b.Meta) < len(b.Graph.Tasks) {
		b.Meta = append(b.Meta, m)
	}
	return done, nil
}

// addSyncCalls adds the calls of each stage and chunk after its last backward passes, or of each part of its gradients
// after the pieces of these that compute it: what is gathered waits for what was scattered and for the optimizer, of
// parameters of a sort, and each part for the one before.
func (b *builder) addSyncCalls() error {
	s := &b.Spec
	done := make([][]int32, b.replicas*s.PP) // what the optimizer waits for, by replica and stage
	for r := range b.replicas {
		for v, parts := range b.GradientsReady[r] {
			done[r*s.PP+v%s.PP] = append(done[r*s.PP+v%s.PP], parts...)
		}
	}
	for stage := range s.PP {
		for chunk := range s.Chunks / s.Copies() {
			v := chunk*s.PP + stage
			m := TaskMeta{Stage: int32(stage), Chunk: int32(chunk), GPU: -1}
			var lastTask [2]map[int32]int32 // by sort and rank: the task that comes before
			for r := range b.replicas {
				for g := range s.StageGPUs() {
					if id := b.lastScatter(r, stage); id >= 0 {
						for class := range lastTask {
							if lastTask[class] == nil {
								lastTask[class] = map[int32]int32{}
							}
							lastTask[class][s.Rank(r, stage, g)] = id
						}
					}
				}
			}
			for piece := range s.SyncPieces(v) {
				if err := b.addSyncPieceCalls(v, piece, m, &lastTask); err != nil {
					return err
				}
			}
			for rank, n := range b.Nodes { // one a GPU
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

// addSyncPieceCalls adds the calls of a part of the gradients.
func (b *builder) addSyncPieceCalls(v, piece int, m TaskMeta, lastTask *[2]map[int32]int32) error {
	s := &b.Spec
	var scattered [2]bool
	for _, c := range s.Calls(v, Sync) {
		class := 0
		if c.ForExpertWeights {
			class = 1
		}
		if lastTask[class] == nil {
			lastTask[class] = map[int32]int32{}
		}
		for _, group := range s.Groups(c, 0, int(m.Stage)) {
			ready := make([]int32, len(group))
			for i, rank := range group {
				before, ok := lastTask[class][rank]
				if !scattered[class] {
					computed := b.gradientTask(v, piece, rank)
					if ok {
						both := b.addTask(engine.Task{}, m)
						b.Graph.AddEdge(before, both, 0)
						b.Graph.AddEdge(computed, both, 0)
						computed = both
					}
					before = computed
				}
				ready[i] = before
			}
			done, err := b.expandCall(c, group, ready, m)
			if err != nil {
				return err
			}
			for i, rank := range group {
				lastTask[class][rank] = done[i]
			}
		}
		scattered[class] = true
	}
	return nil
}

// gradientTask returns the task with which a rank has computed a part of the gradients of virtual stage v, or of the other
// copy of what it holds where the rank has that.
func (b *builder) gradientTask(v, piece int, rank int32) int32 {
	n := b.Nodes[rank]
	if n.Stage != v%b.Spec.PP {
		v = b.Spec.otherCopy(v)
	}
	return b.GradientsReady[n.Replica][v][piece]
}

// WithoutCalls returns the graph with the calls of one dimension taking no time, to see what they expose; nil where there are
// none in the graph.
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
