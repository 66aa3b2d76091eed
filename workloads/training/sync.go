package training

import "sim/engine"

// sync adds the synchronisation of gradients and parameters on a ring of the replicas: a transfer from each replica to
// the next a stage and chunk, and where the ring is split one to the previous as well. Every hop of a ring carries the
// data at the same time, so it starts when the last replica is ready, and all of it must have arrived before the
// iteration ends.
func (b *builder) sync() {
	s := &b.Spec
	for stage := range s.PP {
		for chunk := range s.Chunks {
			ready := make([]int32, b.replicas)
			for r := range b.replicas {
				ready[r] = b.Ready[r][chunk*s.PP+stage]
			}
			start := ready
			if b.replicas > 1 {
				m := Meta{Phase: Barrier, Stage: int32(stage), Chunk: int32(chunk), GPU: -1}
				barrier := b.task(engine.Task{}, m)
				for _, id := range ready {
					b.Graph.AddEdge(id, barrier, 0)
				}
				start = []int32{barrier}
			}
			if f := b.x.SyncFrom; f != nil {
				m := Meta{Phase: Barrier, Stage: int32(stage), Chunk: int32(chunk), GPU: -1}
				start = append(start, b.task(engine.Task{Duration: f[chunk*s.PP+stage]}, m))
			}
			for r := range b.replicas {
				b.ring(r, stage, chunk, start)
			}
		}
	}
}

// ring adds the hops of one replica's stage and chunk to its neighbours.
func (b *builder) ring(r, stage, chunk int, start []int32) {
	s := &b.Spec
	d := s.Replicas()
	next, previous := (r+1)%d, (r+d-1)%d
	if !b.All {
		next, previous = r, r
	}
	each := s.SyncBytes(chunk*s.PP + stage)
	m := Meta{Phase: Sync, Replica: int32(r), Stage: int32(stage), To: int32(stage), Chunk: int32(chunk)}
	if !b.split() {
		b.transfer(b.all[r][stage], b.all[next][stage], s.StageGPUs(), each, m, start, nil)
		return
	}
	half := s.StageGPUs() / 2
	b.transfer(b.on[r][stage], b.on[next][stage], half, each, m, start, nil)
	if b.All {
		// of one replica that stands for all this half is the mirror image of the other, on circuits of its own
		m.Back = true
		b.transfer(b.back[r][stage], b.back[previous][stage], half, each, m, start, nil)
	}
}
