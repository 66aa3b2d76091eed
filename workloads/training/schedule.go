package training

import (
	"fmt"
	"slices"
)

// Schedules: the orders in which a pipeline stage processes micro-batches, Spec.Schedule.
// F is a forward pass, B computes the gradients of its input and W the gradients of its
// weights. p is the number of stages.
const (
	// OneFOneB (1F1B) warms up with one forward pass per following stage, then alternates
	// between forward and backward passes (PipeDream-Flush).
	OneFOneB = "1f1b"
	// Eager is 1F1B with two warm-up forward passes per following stage. A transfer
	// between stages may then take as long as a pass without delaying it (Zhuang et al.
	// 2023, Sec. 4).
	Eager       = "eager-1f1b"
	GPipe       = "gpipe"            // GPipe computes all forward passes, then all backward passes.
	Interleaved = "interleaved-1f1b" // Interleaved is 1F1B with several model chunks per stage (Megatron-LM).
	// ZBH1 is 1F1B with divided backward passes. W is postponed to fill idle time, as
	// long as no stage stores more micro-batches than the first one does under 1F1B (Qi
	// et al. 2024, Sec. 2.1).
	ZBH1 = "zb-h1"
	// ZBH2 doubles the warm-up and the delay of W, and stores up to 2p - 1 micro-batches
	// (Qi et al. 2024, Sec. 2.2).
	ZBH2 = "zb-h2"
	// DualPipe sends half of the micro-batches through the pipeline in the opposite
	// direction. Each stage holds two parts of the model, one per direction, so there are
	// two copies of each part (DeepSeek-V3, Sec. 3.2.1).
	DualPipe = "dualpipe"
)

// Schedules are all schedules; the first is the default.
var Schedules = []struct{ Name, Doc string }{
	{OneFOneB, "a forward and a backward pass in turn, after as many forwards as stages follow"},
	{Eager, "1f1b after twice as many forwards, so that transfers have the time of a pass"},
	{GPipe, "all forward passes, then all backward passes"},
	{Interleaved, "1f1b over virtual_stages chunks of the model a stage"},
	{ZBH1, "1f1b with gradients of weights put off into the bubble, holding no more activations"},
	{ZBH2, "the same with twice the activations and no bubble where passes take equally long"},
	{DualPipe, "micro-batches enter from both ends of the pipeline; two copies of the model"},
}

// PassKind is the kind of a pass.
type PassKind uint8

// The kinds of passes.
const (
	ForwardPass        PassKind = iota
	BackwardPass                // whole backward pass
	InputGradientPass           // gradients of the input only
	WeightGradientPass          // gradients of the weights, after InputGradientPass
)

// Pass is an element of a stage's program: a micro-batch passes through a chunk.
type Pass struct {
	Kind       PassKind
	Chunk      int
	Microbatch int
	// OverlapsNext marks a forward pass that is computed together with the following
	// backward pass. Each hides the communication of the other. Both start when both can
	// start and end when the second one ends.
	OverlapsNext bool
}

// Program returns the passes of a stage in order.
func (s *Spec) Program(stage int) []Pass {
	after := s.PP - 1 - stage // following stages
	switch s.Schedule {
	case DualPipe:
		return s.dualPipe(stage)
	case Eager:
		return s.alternating(2*after, -1)
	case ZBH1:
		return s.alternating(after, stage)
	case ZBH2:
		return s.alternating(2*after, 2*stage)
	case GPipe:
		return s.alternating(s.Microbatches, -1)
	case Interleaved:
		// Narayanan et al. 2021, Sec. 2.2: two passes per following stage, plus one round
		// of every chunk but the last.
		return s.alternating(2*after+(s.Chunks-1)*s.PP, -1)
	}
	return s.alternating(after, -1)
}

// alternating returns a program that warms up with warmUp forward passes, then alternates
// between forward and backward passes. If weightDelay is not negative, backward passes
// are divided: weight gradients follow weightDelay passes behind input gradients, until
// there are no forward passes left.
func (s *Spec) alternating(warmUp, weightDelay int) []Pass {
	n := s.Microbatches * s.Chunks
	warmUp = min(warmUp, n)
	steps := make([]Pass, 0, 3*n)
	numBackward, numWeights := 0, 0
	backward := func(delay int) {
		b := s.backward(numBackward)
		numBackward++
		if weightDelay < 0 {
			steps = append(steps, b)
			return
		}
		b.Kind = InputGradientPass
		if steps = append(steps, b); numBackward-numWeights > delay {
			w := s.backward(numWeights)
			w.Kind = WeightGradientPass
			steps = append(steps, w)
			numWeights++
		}
	}

	for i := range n {
		if steps = append(steps, s.forward(i)); i >= warmUp {
			backward(weightDelay)
		}
	}
	for numBackward < n {
		backward(0)
	}
	for ; weightDelay >= 0 && numWeights < n; numWeights++ {
		w := s.backward(numWeights)
		w.Kind = WeightGradientPass
		steps = append(steps, w)
	}
	return steps
}

// forward returns the i-th forward pass of a stage. In each round, PP micro-batches pass
// through one chunk after another.
func (s *Spec) forward(i int) Pass {
	round, in := i/(s.PP*s.Chunks), i%(s.PP*s.Chunks)
	if s.Chunks == 1 {
		return Pass{Microbatch: i}
	}
	return Pass{Chunk: in / s.PP, Microbatch: round*s.PP + in%s.PP}
}

// backward returns the i-th backward pass of a stage. It mirrors forward, with the last
// chunk first.
func (s *Spec) backward(i int) Pass {
	o := s.forward(i)
	return Pass{Kind: BackwardPass, Chunk: s.Chunks - 1 - o.Chunk, Microbatch: o.Microbatch}
}

// dualPipe returns the program of a stage under DualPipe (DeepSeek-V3, Sec. 3.2.1).
//
// Micro-batches enter at both ends of the pipeline. near denotes the micro-batches that
// enter at the end closer to this stage, far the micro-batches from the other end.
func (s *Spec) dualPipe(stage int) []Pass {
	half := s.Microbatches / 2
	depth := min(stage, s.PP-1-stage) // stages between this one and the nearer end
	inner := s.PP/2 - 1 - depth       // stages between this one and the middle
	const near, far = 0, 1

	var steps []Pass
	var forwards, backwards [2]int
	var pendingWeights []Pass // postponed weight gradients

	chunk := func(side int) int {
		if stage >= s.PP/2 {
			return 1 - side
		}
		return side
	}
	newPass := func(w PassKind, side int, counts *[2]int) Pass {
		c := chunk(side)
		x := Pass{Kind: w, Chunk: c, Microbatch: c*half + counts[side]}
		counts[side]++
		return x
	}

	forward := func(side int) { steps = append(steps, newPass(ForwardPass, side, &forwards)) }
	backward := func(side int) { steps = append(steps, newPass(BackwardPass, side, &backwards)) }
	splitBackward := func(side int) {
		x := newPass(InputGradientPass, side, &backwards)
		steps = append(steps, x)
		x.Kind = WeightGradientPass
		pendingWeights = append(pendingWeights, x)
	}
	weights := func() { steps, pendingWeights = append(steps, pendingWeights[0]), pendingWeights[1:] }
	overlapped := func(f, b int) {
		forward(f)
		steps[len(steps)-1].OverlapsNext = true
		backward(b)
	}

	// Warm up with near passes, then with passes from both ends.
	for range 2 * inner {
		forward(near)
	}
	for range depth + 1 {
		forward(near)
		forward(far)
	}

	// Fill the pipeline with divided backward passes.
	for range inner {
		splitBackward(far)
		weights()
		forward(far)
	}

	// Steady state: overlapped forward and backward passes.
	for i := range half - s.PP + depth + 1 {
		// In the middle stages, the far backward pass needs the near forward pass.
		if i == 0 && inner == 0 {
			forward(near)
			backward(far)
		} else {
			overlapped(near, far)
		}
		overlapped(far, near)
	}
	for range inner {
		backward(far)
		overlapped(far, near)
	}

	// Drain the pipeline. Weight gradients fill the idle time.
	for i := range 2 * (depth + 1) { // far and near alternate; the second half is divided
		if side := far - i%2; i <= depth {
			backward(side)
		} else {
			splitBackward(side)
		}
	}
	for range inner {
		weights()
		splitBackward(near)
	}
	for len(pendingWeights) > 0 {
		weights()
	}
	return steps
}

// checkSchedule fails if the schedule does not support the job's pipeline.
func (s *Spec) checkSchedule() error {
	switch {
	case s.Schedule != "" && !slices.ContainsFunc(Schedules,
		func(z struct{ Name, Doc string }) bool { return z.Name == s.Schedule }):
		return fmt.Errorf("training: unknown schedule %q", s.Schedule)
	case s.Schedule == DualPipe && (s.PP%2 != 0 || s.Microbatches%2 != 0 ||
		s.Microbatches < 2*s.PP || s.Chunks != 2):
		return fmt.Errorf("training: %d micro-batches in %d stages of %d chunks under %s; want an even number of stages of 2 chunks, "+
			"and an even number of micro-batches, at least twice the stages", s.Microbatches, s.PP,
			s.Chunks, DualPipe)
	case s.Chunks > 1 && s.Schedule != Interleaved && s.Schedule != DualPipe:
		return fmt.Errorf("training: %d chunks per stage need the schedule %s, not %s", s.Chunks,
			Interleaved, s.Schedule)
	case s.Schedule == Interleaved && s.Microbatches%s.PP != 0:
		return fmt.Errorf("training: %d micro-batches are not a multiple of PP %d", s.Microbatches, s.PP)
	}
	return nil
}

// ModelCopies returns the number of copies of each part of the model in a replica.
func (s *Spec) ModelCopies() int {
	if s.Schedule == DualPipe {
		return 2
	}
	return 1
}

// VirtualStages returns the number of virtual stages of a replica. Chunk c of stage i is
// virtual stage c x PP + i.
func (s *Spec) VirtualStages() int { return s.PP * s.Chunks }

// modelParts returns the number of parts into which the model is divided, and the part
// that virtual stage v holds.
func (s *Spec) modelParts(v int) (n, part int) {
	n, part = s.VirtualStages()/s.ModelCopies(), v
	if v >= n {
		part = s.VirtualStages() - 1 - v
	}
	return n, part
}

// stagePath returns the virtual stages through which a micro-batch passes, in order.
func (s *Spec) stagePath(microbatch int) []int {
	n := s.VirtualStages() / s.ModelCopies()
	r := make([]int, n)
	for i := range r {
		if r[i] = i; s.ModelCopies() > 1 && microbatch >= s.Microbatches/2 {
			r[i] = s.VirtualStages() - 1 - i
		}
	}
	return r
}

// otherModelCopy returns the virtual stage with the other copy of the layers of v, or v if
// there is only one copy.
func (s *Spec) otherModelCopy(v int) int {
	if s.ModelCopies() > 1 {
		return s.VirtualStages() - 1 - v
	}
	return v
}

// Neighbours returns the pairs of stages of a replica that exchange data, sorted and
// without duplicates. The lower stage comes first in each pair.
func (s *Spec) Neighbours() [][2]int {
	var all [][2]int
	add := func(a, b int) {
		if a != b {
			all = append(all, [2]int{min(a, b), max(a, b)})
		}
	}
	for _, i := range []int{0, s.Microbatches - 1} {
		r := s.stagePath(i)
		for k := range len(r) - 1 {
			add(r[k]%s.PP, r[k+1]%s.PP)
		}
	}
	for v := range s.VirtualStages() {
		add(v%s.PP, s.otherModelCopy(v)%s.PP)
	}
	slices.SortFunc(all, func(a, b [2]int) int { return slices.Compare(a[:], b[:]) })
	return slices.Compact(all)
}
