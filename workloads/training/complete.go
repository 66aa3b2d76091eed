package training

import (
	"fmt"
	"slices"

	"sim/engine"
)

// callingPass adds a pass that is divided into pieces and makes its collective calls. All GPUs of the stage compute at
// the same time, so computing waits for the calls of all its groups; of calls in a row each rank makes one after the
// other.
func (b *builder) callingPass(v int, compute engine.Time, m Meta) (span, error) {
	s := &b.Spec
	calls := s.Calls(v, m.Phase)
	stage := m.Stage
	first := s.Rank(int(m.Replica), int(stage), 0)
	split := s.attentionShare(v)                      // of a piece's compute, before its calls in between
	attention, scores := 0.0, s.scoreSpan(v, m.Phase) // where attention begins in a piece, and where its scores do and end
	backward := m.Phase == Backward || m.Phase == WeightGradients
	if backward {
		split = 1 - split
		attention = split
	}
	ring := 0.0 // the part of attention's scores that does not wait for the last block of a ring
	if s.ContextForm == "ring" {
		ring = 1 - 1/float64(s.ContextRanks())
	}
	rings := false // calls of one have been made since computing was last joined
	p := span{first: b.task(engine.Task{}, m)}
	at := slices.Repeat([]int32{p.first}, s.StageGPUs()) // by GPU: the task that comes before
	joined, called := p.first, false
	join := func(d engine.Time) {
		var early int32
		part := s.OverlapCalls
		if rings {
			part = max(part, ring)
		}
		overlaps := called && part > 0 && d > 0
		if overlaps { // what does not wait for the calls
			e := engine.Time(float64(d) * part)
			early = b.task(engine.Task{Duration: e}, m)
			b.Graph.AddEdge(joined, early, 0)
			d -= e
		}
		id := b.task(engine.Task{Duration: d}, m)
		for g, before := range at {
			b.Graph.AddEdge(before, id, 0)
			at[g] = id
		}
		if overlaps {
			b.Graph.AddEdge(early, id, 0)
		}
		joined, called, rings = id, false, false
	}
	pieces := s.Pieces(v)
	shards := s.Shards(v) > 0
	done := engine.Time(0)
	until := func(piece int, part float64) engine.Time { // compute up to there, and not yet done
		end := engine.Time(float64(compute) * (float64(piece) + part) / float64(pieces))
		if piece == pieces {
			end = compute
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
		for place := Before; place <= After; place++ {
			for _, c := range calls {
				if c.Place != place {
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
				if c.Dim == Context && ring > 0 && !rings {
					// keys and values go round when they have been projected, and nothing before that is hidden
					join(until(piece, attention+scores[0]))
					rings = true
				}
				called = true
				for _, group := range s.Groups(c, int(m.Replica), int(stage)) {
					ready := make([]int32, len(group))
					for i, rank := range group {
						ready[i] = at[rank-first]
					}
					ends, err := b.expand(c, group, ready, m)
					if err != nil {
						return p, err
					}
					for i, rank := range group {
						at[rank-first] = ends[i]
					}
				}
			}
			if rings { // the last projection needs the scores of all blocks
				join(until(piece, attention+scores[1]))
			}
			switch place {
			case Before:
				join(until(piece, split))
			case Between:
				join(until(piece+1, 0))
				p.pieces = append(p.pieces, joined)
				p.parts = append(p.parts, span{first: start, last: joined})
			}
		}
	}
	join(0)
	p.last = at[0]
	return p, nil
}

// expand adds the tasks of a call.
func (b *builder) expand(c Call, group, ready []int32, m Meta) ([]int32, error) {
	done, err := b.x.Expand(b.Graph, c, group, ready)
	if err != nil {
		return nil, fmt.Errorf("training: %v of %s: %w", c.Kind, c.Dim, err)
	}
	if len(done) != len(group) {
		return nil, fmt.Errorf("training: %v of %s among %d ranks ends at %d", c.Kind, c.Dim, len(group), len(done))
	}
	m.Phase, m.To, m.Called = c.Dim, m.Stage, true
	for len(b.Meta) < len(b.Graph.Tasks) {
		b.Meta = append(b.Meta, m)
	}
	return done, nil
}

// syncCalls adds the calls of each stage and chunk after its last backward passes, or of each part of its gradients
// after the pieces of these that compute it: what is gathered waits for what was scattered and for the optimizer, of
// parameters of a sort, and each part for the one before.
func (b *builder) syncCalls() error {
	s := &b.Spec
	done := make([][]int32, b.replicas*s.PP) // what the optimizer waits for, by replica and stage
	for r := range b.replicas {
		for v, parts := range b.Ready[r] {
			done[r*s.PP+v%s.PP] = append(done[r*s.PP+v%s.PP], parts...)
		}
	}
	for stage := range s.PP {
		for chunk := range s.Chunks / s.Copies() {
			v := chunk*s.PP + stage
			m := Meta{Stage: int32(stage), Chunk: int32(chunk), GPU: -1}
			var at [2]map[int32]int32 // by sort and rank: the task that comes before
			for r := range b.replicas {
				for g := range s.StageGPUs() {
					if id := b.lastScattered(r, stage); id >= 0 {
						for sort := range at {
							if at[sort] == nil {
								at[sort] = map[int32]int32{}
							}
							at[sort][s.Rank(r, stage, g)] = id
						}
					}
				}
			}
			for piece := range s.SyncPieces(v) {
				if err := b.syncPiece(v, piece, m, &at); err != nil {
					return err
				}
			}
			for rank, n := range b.Nodes { // one a GPU
				for sort := range at {
					if id, ok := at[sort][int32(rank)]; ok {
						done[n.Replica*s.PP+n.Stage] = append(done[n.Replica*s.PP+n.Stage], id)
					}
				}
			}
		}
	}
	b.optimizers(done)
	return nil
}

// syncPiece adds the calls of a part of the gradients.
func (b *builder) syncPiece(v, piece int, m Meta, at *[2]map[int32]int32) error {
	s := &b.Spec
	var scattered [2]bool
	for _, c := range s.Calls(v, Sync) {
		sort := 0
		if c.OfExperts {
			sort = 1
		}
		if at[sort] == nil {
			at[sort] = map[int32]int32{}
		}
		for _, group := range s.Groups(c, 0, int(m.Stage)) {
			ready := make([]int32, len(group))
			for i, rank := range group {
				before, ok := at[sort][rank]
				if !scattered[sort] {
					computed := b.computed(v, piece, rank)
					if ok {
						both := b.task(engine.Task{}, m)
						b.Graph.AddEdge(before, both, 0)
						b.Graph.AddEdge(computed, both, 0)
						computed = both
					}
					before = computed
				}
				ready[i] = before
			}
			done, err := b.expand(c, group, ready, m)
			if err != nil {
				return err
			}
			for i, rank := range group {
				at[sort][rank] = done[i]
			}
		}
		scattered[sort] = true
	}
	return nil
}

// computed returns the task with which a rank has computed a part of the gradients of virtual stage v, or of the other
// copy of what it holds where the rank has that.
func (b *builder) computed(v, piece int, rank int32) int32 {
	n := b.Nodes[rank]
	if n.Stage != v%b.Spec.PP {
		v = b.Spec.mirror(v)
	}
	return b.Ready[n.Replica][v][piece]
}

// Without returns the graph with the calls of one dimension taking no time, to see what they expose; nil where there are
// none in the graph.
func (it *Iteration) Without(dim Phase) *engine.Graph {
	g := *it.Graph
	g.Tasks = slices.Clone(g.Tasks)
	calls := false
	for i, m := range it.Meta {
		if m.Called && m.Phase == dim {
			g.Tasks[i], calls = engine.Task{}, true
		}
	}
	if !calls {
		return nil
	}
	return &g
}
