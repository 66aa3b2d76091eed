package training

// The orders in which a pipeline stage works on micro-batches, Spec.Schedule.
const (
	// OneFOneB warms up with as many forwards as stages follow, then alternates forward and backward (PipeDream-Flush).
	OneFOneB = "1f1b"
	// GPipe does all forwards, then all backwards.
	GPipe = "gpipe"
	// Interleaved is 1F1B over several model chunks a stage (Megatron-LM).
	Interleaved = "interleaved-1f1b"
)

// op is one step of a stage's program.
type op struct {
	backward   bool
	chunk      int
	microbatch int
}

// program returns the order of work of a stage.
func (s *Spec) program(stage int) []op {
	m, n := s.Microbatches, s.Microbatches*s.Chunks
	warm := 0
	switch s.Schedule {
	case OneFOneB, "":
		warm = min(s.PP-1-stage, m)
	case GPipe:
		warm = n
	case Interleaved:
		// Narayanan et al. 2021, Sec. 2.2: two for each stage that follows, and one round of every chunk but the last
		warm = min((s.PP-1-stage)*2+(s.Chunks-1)*s.PP, n)
	}
	ops := make([]op, 0, 2*n)
	for i := range warm {
		ops = append(ops, s.forward(i))
	}
	for i := warm; i < n; i++ {
		ops = append(ops, s.forward(i), s.backward(i-warm))
	}
	for i := n - warm; i < n; i++ {
		ops = append(ops, s.backward(i))
	}
	return ops
}

// Pass is one step of a stage: a micro-batch forward or backward.
type Pass struct {
	Backward   bool
	Microbatch int
}

// Passes returns the order of work of a stage, of so many without chunks, under a schedule.
func Passes(schedule string, stages, stage, microbatches int) []Pass {
	s := &Spec{Schedule: schedule, PP: stages, Chunks: 1, Microbatches: microbatches}
	var all []Pass
	for _, o := range s.program(stage) {
		all = append(all, Pass{o.backward, o.microbatch})
	}
	return all
}

// forward returns the i-th forward of a stage: rounds of PP micro-batches go through chunk after chunk.
func (s *Spec) forward(i int) op {
	round, in := i/(s.PP*s.Chunks), i%(s.PP*s.Chunks)
	if s.Chunks == 1 {
		return op{microbatch: i}
	}
	return op{chunk: in / s.PP, microbatch: round*s.PP + in%s.PP}
}

// backward returns the i-th backward of a stage: as forward, the last chunk first.
func (s *Spec) backward(i int) op {
	o := s.forward(i)
	return op{backward: true, chunk: s.Chunks - 1 - o.chunk, microbatch: o.microbatch}
}
