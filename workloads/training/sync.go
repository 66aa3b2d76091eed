package training

import (
	"cmp"

	"sim/engine"
)

// sync adds the synchronisation of gradients and parameters on a ring of the replicas: a transfer from each replica to
// the next a stage and chunk, and where the ring is split one to the previous as well. Every hop of a ring carries the
// data at the same time, so it starts when the last replica is ready, and all of it must have arrived before the
// iteration ends. Where a replica holds two copies these exchange halves of their gradients before, and of their
// parameters after that. Parts of a stage's gradients follow each other.
func (b *builder) sync() {
	s := &b.Spec
	done := make([][]int32, b.replicas*s.PP) // what the optimizer waits for, by replica and stage
	for stage := range s.PP {
		for chunk := range s.Chunks / s.Copies() {
			v := chunk*s.PP + stage
			copies := []int{v}
			if w := s.mirror(v); w != v {
				copies = append(copies, w)
			}
			var before []int32
			for r := range b.replicas {
				if id := b.lastScattered(r, stage); id >= 0 {
					before = append(before, id)
				}
			}
			for part := range s.SyncPieces(v) {
				if s.Replicas()*len(copies) > 1 && !s.gathers() {
					before = b.syncPart(copies, part, before)
				}
			}
			for r := range b.replicas {
				for _, w := range copies {
					at := &done[r*s.PP+w%s.PP]
					*at = append(append(*at, b.Ready[r][w]...), before...)
				}
			}
		}
	}
	b.optimizers(done)
}

// optimizers adds the optimizer's step of each stage, after the tasks in done, by replica and stage.
func (b *builder) optimizers(done [][]int32) {
	s := &b.Spec
	d := cmp.Or(s.OptimizerTime, s.Operators.Optimizer)
	if d == 0 {
		return
	}
	for i, ends := range done {
		m := Meta{Phase: Optimizer, Replica: int32(i / s.PP), Stage: int32(i % s.PP), GPU: -1}
		id := b.task(engine.Task{Duration: d}, m)
		for _, e := range ends {
			b.Graph.AddEdge(e, id, 0)
		}
	}
}

// syncPart adds a piece of the synchronisation of what the given virtual stages hold copies of, after the tasks in
// before. It returns its last tasks.
func (b *builder) syncPart(copies []int, piece int, before []int32) (done []int32) {
	s := &b.Spec
	v := copies[0]
	stage, chunk := v%s.PP, v/s.PP
	m := Meta{Phase: Barrier, Stage: int32(stage), Chunk: int32(chunk), GPU: -1}
	join := func(ready []int32) []int32 {
		if len(ready) == 1 {
			return ready
		}
		barrier := b.task(engine.Task{}, m)
		for _, id := range ready {
			b.Graph.AddEdge(id, barrier, 0)
		}
		return []int32{barrier}
	}
	ready := before
	for r := range b.replicas {
		for _, w := range copies {
			ready = append(ready, b.Ready[r][w][piece])
		}
	}
	start := join(ready)
	if f := b.x.SyncFrom; f != nil {
		start = append(start, b.task(engine.Task{Duration: f[v][piece]}, m))
	}
	parts := s.SyncPieces(v)
	share := func(bytes int64) int64 { return part(bytes, piece, parts) }
	exchange := func(each int, from []int32) (done []int32) {
		for r := range b.replicas {
			for i, w := range copies {
				here, there := w%s.PP, copies[1-i]%s.PP
				m := Meta{Phase: Sync, Replica: int32(r), Stage: int32(here), To: int32(there), Chunk: int32(w / s.PP)}
				done = append(done, b.transfer(b.all[r][here], b.all[r][there], s.StageGPUs(), share(s.CopyBytes(v, each)), m, from, nil)...)
			}
		}
		return done
	}
	if len(copies) > 1 {
		start = join(exchange(s.Choices.GradientBytes, start))
	}
	if s.Replicas() > 1 {
		done = nil
		for r := range b.replicas {
			for _, w := range copies {
				done = append(done, b.ring(r, w, share(s.SyncBytes(v)), start)...)
			}
		}
		start = done
	}
	if len(copies) > 1 {
		done = exchange(s.Choices.ParameterBytes, join(start))
	}
	return done
}

// ring adds the hops of one replica's virtual stage to its neighbours, of so many bytes a GPU, and returns them.
func (b *builder) ring(r, v int, each int64, start []int32) []int32 {
	s := &b.Spec
	stage := v % s.PP
	d := s.Replicas()
	next, previous := (r+1)%d, (r+d-1)%d
	if !b.All {
		next, previous = r, r
	}
	m := Meta{Phase: Sync, Replica: int32(r), Stage: int32(stage), To: int32(stage), Chunk: int32(v / s.PP)}
	if !b.split() {
		return b.transfer(b.all[r][stage], b.all[next][stage], s.StageGPUs(), each, m, start, nil)
	}
	half := s.StageGPUs() / 2
	done := b.transfer(b.on[r][stage], b.on[next][stage], half, each, m, start, nil)
	if b.All {
		// of one replica that stands for all this half is the mirror image of the other, on circuits of its own
		m.Back = true
		done = append(done, b.transfer(b.back[r][stage], b.back[previous][stage], half, each, m, start, nil)...)
	}
	return done
}
