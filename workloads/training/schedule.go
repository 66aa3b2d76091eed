package training

import (
	"fmt"
	"slices"
)

// The orders in which a pipeline stage works on micro-batches, Spec.Schedule. F, B and W stand for a forward pass, the
// gradients of a pass's input and those of its weights, p for the stages.
const (
	// OneFOneB warms up with as many forwards as stages follow, then alternates forward and backward (PipeDream-Flush).
	OneFOneB = "1f1b"
	// Eager is 1F1B that warms up with two forwards for each stage that follows, so that what a stage sends has the
	// time of a pass to arrive in (Zhuang et al. 2023, Sec. 4).
	Eager = "eager-1f1b"
	// GPipe does all forwards, then all backwards.
	GPipe = "gpipe"
	// Interleaved is 1F1B over several model chunks a stage (Megatron-LM).
	Interleaved = "interleaved-1f1b"
	// ZBH1 is 1F1B whose backward passes are divided: W waits while its stage has something better to do, as long as no
	// stage holds more micro-batches than the first one does under 1F1B (Qi et al. 2024, Sec. 2.1).
	ZBH1 = "zb-h1"
	// ZBH2 warms up with twice as many forwards, and W waits twice as long: up to 2p - 1 micro-batches are held (Qi et
	// al. 2024, Sec. 2.2).
	ZBH2 = "zb-h2"
	// DualPipe sends half of the micro-batches through the pipeline from its other end. Every stage holds two parts of
	// the model, one a direction, and so there are two copies of each (DeepSeek-V3, Sec. 3.2.1).
	DualPipe = "dualpipe"
)

// Schedules are all schedules, the default first.
var Schedules = []struct{ Name, Doc string }{
	{OneFOneB, "a forward and a backward pass in turn, after as many forwards as stages follow"},
	{Eager, "1f1b after twice as many forwards, so that transfers have the time of a pass"},
	{GPipe, "all forward passes, then all backward passes"},
	{Interleaved, "1f1b over virtual_stages chunks of the model a stage"},
	{ZBH1, "1f1b with gradients of weights put off into the bubble, holding no more activations"},
	{ZBH2, "the same with twice the activations and no bubble where passes take equally long"},
	{DualPipe, "micro-batches enter from both ends of the pipeline; two copies of the model"},
}

// PassKind is what a step of a stage's program does.
type PassKind uint8

// The kinds of work of a stage.
const (
	ForwardPass        PassKind = iota // a forward pass
	BackwardPass                       // a whole backward pass
	InputGradientPass                  // the gradients of its input
	WeightGradientPass                 // the gradients of its weights, after Inputs
)

// Pass is one step of a stage's program: a micro-batch's pass through a chunk.
type Pass struct {
	Kind       PassKind
	Chunk      int
	Microbatch int
	// OverlapsNext is of a forward pass that is computed together with the backward pass that follows, each hiding what the
	// other sends: both begin when both can, and both have ended when the second has.
	OverlapsNext bool
}

// Program returns the order of work of a stage.
func (s *Spec) Program(stage int) []Pass {
	after := s.PP - 1 - stage // stages that follow
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
		// Narayanan et al. 2021, Sec. 2.2: two for each stage that follows, and one round of every chunk but the last
		return s.alternating(2*after+(s.Chunks-1)*s.PP, -1)
	}
	return s.alternating(after, -1)
}

// alternating returns a program that warms up with so many forward passes, then does a forward and a backward pass in
// turn. Where late is not negative backward passes are divided, and the gradients of weights stay so many passes behind
// until there are no forward passes left.
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

// forward returns the i-th forward of a stage: rounds of PP micro-batches go through chunk after chunk.
func (s *Spec) forward(i int) Pass {
	round, in := i/(s.PP*s.Chunks), i%(s.PP*s.Chunks)
	if s.Chunks == 1 {
		return Pass{Microbatch: i}
	}
	return Pass{Chunk: in / s.PP, Microbatch: round*s.PP + in%s.PP}
}

// backward returns the i-th backward of a stage: as forward, the last chunk first.
func (s *Spec) backward(i int) Pass {
	o := s.forward(i)
	return Pass{Kind: BackwardPass, Chunk: s.Chunks - 1 - o.Chunk, Microbatch: o.Microbatch}
}

// dualPipe returns the program of a stage under DualPipe. Stages of the second half see the two directions the other
// way round: near and far are the micro-batches that enter at the end of the pipeline which is nearer, and those of the
// other.
func (s *Spec) dualPipe(stage int) []Pass {
	half := s.Microbatches / 2
	depth := min(stage, s.PP-1-stage) // stages between it and the nearer end
	inner := s.PP/2 - 1 - depth       // stages between it and the middle
	const near, far = 0, 1
	var steps []Pass
	var forwards, backwards [2]int
	var pendingWeights []Pass // gradients of weights that wait
	chunk := func(side int) int {
		if stage >= s.PP/2 {
			return 1 - side
		}
		return side
	}
	next := func(w PassKind, side int, counts *[2]int) Pass {
		c := chunk(side)
		x := Pass{Kind: w, Chunk: c, Microbatch: c*half + counts[side]}
		counts[side]++
		return x
	}
	forward := func(side int) { steps = append(steps, next(ForwardPass, side, &forwards)) }
	backward := func(side int) { steps = append(steps, next(BackwardPass, side, &backwards)) }
	splitBackward := func(side int) {
		x := next(InputGradientPass, side, &backwards)
		steps = append(steps, x)
		x.Kind = WeightGradientPass
		pendingWeights = append(pendingWeights, x)
	}
	weights := func() { steps, pendingWeights = append(steps, pendingWeights[0]), pendingWeights[1:] }
	both := func(f, b int) {
		forward(f)
		steps[len(steps)-1].OverlapsNext = true
		backward(b)
	}

	for range 2 * inner {
		forward(near)
	}
	for range depth + 1 {
		forward(near)
		forward(far)
	}
	for range inner {
		splitBackward(far)
		weights()
		forward(far)
	}
	for i := range half - s.PP + depth + 1 {
		if i == 0 && inner == 0 { // the forward pass makes what the backward pass begins with, in the middle
			forward(near)
			backward(far)
		} else {
			both(near, far)
		}
		both(far, near)
	}
	for range inner {
		backward(far)
		both(far, near)
	}
	for i := range 2 * (depth + 1) { // far and near in turn, the second half of them divided
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

// checkSchedule fails where the schedule has no order for the job.
func (s *Spec) checkSchedule() error {
	switch {
	case s.Schedule != "" && !slices.ContainsFunc(Schedules, func(z struct{ Name, Doc string }) bool { return z.Name == s.Schedule }):
		return fmt.Errorf("training: unknown schedule %q", s.Schedule)
	case s.Schedule == DualPipe && (s.PP%2 != 0 || s.Microbatches%2 != 0 || s.Microbatches < 2*s.PP || s.Chunks != 2):
		return fmt.Errorf("training: %d micro-batches in %d stages of %d chunks under %s, which takes an even number of stages of 2, "+
			"and an even number of micro-batches, at least twice the stages", s.Microbatches, s.PP, s.Chunks, DualPipe)
	case s.Chunks > 1 && s.Schedule != Interleaved && s.Schedule != DualPipe:
		return fmt.Errorf("training: %d chunks a stage need the schedule %s, not %s", s.Chunks, Interleaved, s.Schedule)
	case s.Schedule == Interleaved && s.Microbatches%s.PP != 0:
		return fmt.Errorf("training: %d micro-batches are not a multiple of PP %d", s.Microbatches, s.PP)
	}
	return nil
}

// Copies returns how many copies of a part of the model a replica holds.
func (s *Spec) Copies() int {
	if s.Schedule == DualPipe {
		return 2
	}
	return 1
}

// VirtualStages returns the number of virtual stages of a replica: chunk c of stage i is number c x PP + i.
func (s *Spec) VirtualStages() int { return s.PP * s.Chunks }

// modelParts returns how many parts the model is divided into, and which of them virtual stage v holds.
func (s *Spec) modelParts(v int) (n, part int) {
	n, part = s.VirtualStages()/s.Copies(), v
	if v >= n {
		part = s.VirtualStages() - 1 - v
	}
	return n, part
}

// stagePath returns the virtual stages that a micro-batch passes, in order.
func (s *Spec) stagePath(microbatch int) []int {
	n := s.VirtualStages() / s.Copies()
	r := make([]int, n)
	for i := range r {
		if r[i] = i; s.Copies() > 1 && microbatch >= s.Microbatches/2 {
			r[i] = s.VirtualStages() - 1 - i
		}
	}
	return r
}

// otherCopy returns the virtual stage with the other copy of what v holds, or v where there is none.
func (s *Spec) otherCopy(v int) int {
	if s.Copies() > 1 {
		return s.VirtualStages() - 1 - v
	}
	return v
}

// Neighbours returns the pairs of stages of a replica that exchange something, the lower one first, each once and in
// order.
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
		add(v%s.PP, s.otherCopy(v)%s.PP)
	}
	slices.SortFunc(all, func(a, b [2]int) int { return slices.Compare(a[:], b[:]) })
	return slices.Compact(all)
}
