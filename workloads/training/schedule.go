// This file defines pipeline schedules: the orders in which the stages of a pipeline process
// micro-batches. Program returns the order of one stage.
//
// F is a forward pass, B computes the gradients of its input, and W computes the gradients
// of its weights. A backward pass is B and W together, or divided into the two. p is the
// number of stages. A warm-up is the forward passes before the first backward pass. The
// idle time of a stage is called the bubble.
//
// Sources:
//
//   - 1F1B: Narayanan et al., "Memory-Efficient Pipeline-Parallel DNN Training", ICML 21
//     (PipeDream-Flush).
//   - Eager 1F1B: Zhuang et al., "On Optimizing the Communication of Model Parallelism",
//     MLSys 23.
//   - GPipe: Huang et al., "GPipe: Efficient Training of Giant Neural Networks using
//     Pipeline Parallelism", NeurIPS 19.
//   - Interleaved 1F1B: Narayanan et al., "Efficient Large-Scale Language Model Training on
//     GPU Clusters Using Megatron-LM", SC 21.
//   - ZB-H1, ZB-H2: Qi et al., "Zero Bubble Pipeline Parallelism", ICLR 24.
//   - DualPipe: DeepSeek-AI, "DeepSeek-V3 Technical Report", 2024.

package training

import (
	"cmp"
	"fmt"
	"slices"
)

// The schedules, values of Spec.Schedule.
const (
	// OneFOneB (1F1B) warms up with one forward pass per following stage, then alternates
	// between forward and backward passes.
	OneFOneB = "1f1b"
	// Eager is 1F1B with two warm-up forward passes per following stage. A transfer
	// between stages may then take as long as a pass without delaying the next stage
	// (Zhuang et al., Sec. 4).
	Eager       = "eager-1f1b"
	GPipe       = "gpipe"            // GPipe computes all forward passes, then all backward passes.
	Interleaved = "interleaved-1f1b" // Interleaved is 1F1B with several model chunks per stage.
	// ZBH1 is 1F1B with divided backward passes. W is postponed to fill idle time, as
	// long as no stage stores more micro-batches than the first one does under 1F1B (Qi
	// et al., Sec. 2.1).
	ZBH1 = "zb-h1"
	// ZBH2 doubles the warm-up and the delay of W, and stores up to 2p - 1 micro-batches
	// (Qi et al., Sec. 2.2).
	ZBH2 = "zb-h2"
	// DualPipe sends half of the micro-batches through the pipeline in the opposite
	// direction. Each stage holds two parts of the model, one per direction, so there are
	// two copies of each part (DeepSeek-V3, Sec. 3.2.1).
	DualPipe = "dualpipe"
)

// Schedules lists all schedules with a description in one line. The first one is the
// default.
var Schedules = []struct{ Name, Doc string }{
	{OneFOneB, "a forward and a backward pass in turn, after as many forwards as stages follow"},
	{Eager, "1f1b after twice as many forwards, so a transfer may take as long as a pass without delay"},
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
	// backward pass of the program, so that each hides the communication of the other. The
	// pair starts when the inputs of both passes are available. Both passes end after the
	// sum of their compute times.
	OverlapsNext bool
}

// Program returns the passes of a stage in order.
func (s *Spec) Program(stage int) []Pass {
	following := s.PP - 1 - stage // number of stages behind this one
	switch s.Schedule {
	case DualPipe:
		return s.dualPipe(stage)
	case Eager:
		return s.alternating(2*following, undivided)
	case ZBH1:
		return s.alternating(following, stage)
	case ZBH2:
		return s.alternating(2*following, 2*stage)
	case GPipe:
		return s.alternating(s.Microbatches, undivided)
	case Interleaved:
		// Two passes per following stage, plus p passes of every chunk but the last
		// (Narayanan et al., SC 21, Sec. 2.2).
		return s.alternating(2*following+(s.Chunks-1)*s.PP, undivided)
	}
	return s.alternating(following, undivided)
}

// undivided is the weightDelay of schedules whose backward passes are not divided.
const undivided = -1

// alternating returns a program that warms up with warmUp forward passes, then alternates
// between forward and backward passes.
//
// If weightDelay is not undivided, backward passes are divided into B and W. As long as
// there are forward passes, W of a micro-batch follows weightDelay passes B later than its
// own B. Afterwards, each B is followed by the earliest W that is missing, and the remaining
// W end the program.
func (s *Spec) alternating(warmUp, weightDelay int) []Pass {
	n := s.Microbatches * s.Chunks // forward passes of a stage
	isPaired := s.OverlapPasses == OverlapPairs
	if isPaired {
		warmUp++ // the backward pass needs a forward pass before the one that it overlaps
	}
	warmUp = min(warmUp, n)
	passes := make([]Pass, 0, 3*n)
	numBackward, numWeights := 0, 0 // backward passes or B, and W, in the program so far

	addWeights := func() {
		w := s.backward(numWeights)
		w.Kind = WeightGradientPass
		passes = append(passes, w)
		numWeights++
	}
	// addBackward adds a backward pass. If it is divided, it adds B, and then a W if more
	// than delay of them are missing.
	addBackward := func(delay int) {
		b := s.backward(numBackward)
		numBackward++
		if weightDelay == undivided {
			passes = append(passes, b)
			return
		}
		b.Kind = InputGradientPass
		passes = append(passes, b)
		if numBackward-numWeights > delay {
			addWeights()
		}
	}

	for i := range n {
		passes = append(passes, s.forward(i))
		if i >= warmUp {
			passes[len(passes)-1].OverlapsNext = isPaired
			addBackward(weightDelay)
		}
	}
	for numBackward < n {
		addBackward(0)
	}
	if weightDelay != undivided {
		for numWeights < n {
			addWeights()
		}
	}
	return passes
}

// forward returns the i-th forward pass of a stage, from 0. With several chunks, passes are
// in rounds of PP micro-batches: these pass through chunk 0, then through chunk 1, and so on.
func (s *Spec) forward(i int) Pass {
	if s.Chunks == 1 {
		return Pass{Microbatch: i}
	}
	passesPerRound := s.PP * s.Chunks
	round, index := i/passesPerRound, i%passesPerRound
	return Pass{Chunk: index / s.PP, Microbatch: round*s.PP + index%s.PP}
}

// backward returns the i-th backward pass of a stage, from 0. Micro-batches are in the order
// of forward passes, and chunks in reverse order.
func (s *Spec) backward(i int) Pass {
	f := s.forward(i)
	return Pass{Kind: BackwardPass, Chunk: s.Chunks - 1 - f.Chunk, Microbatch: f.Microbatch}
}

// dualPipe returns the program of a stage under DualPipe (DeepSeek-V3, Sec. 3.2.1 and
// Fig. 5). The numbers of passes per phase come from dualpipe.py in the authors'
// repository github.com/deepseek-ai/DualPipe, which calls the phases steps 1 to 8.
//
// Micro-batches enter at both ends of the pipeline, one half at each end. Seen from a stage,
// near micro-batches enter at the end that is closer to the stage, far ones at the other.
func (s *Spec) dualPipe(stage int) []Pass {
	half := s.Microbatches / 2
	outer := min(stage, s.PP-1-stage) // stages between this one and the nearer end
	inner := s.PP/2 - 1 - outer       // stages between this one and the middle

	var passes []Pass
	var numForward, numBackward [2]int // passes so far, indexed by direction
	var pendingWeights []Pass          // postponed weight gradients

	// Directions of micro-batches, as seen from the stage.
	const near, far = 0, 1
	opposite := func(direction int) int { return 1 - direction }

	// chunkOf returns the chunk that processes micro-batches of a direction. Chunk 0 serves
	// the micro-batches that enter at stage 0, the near end for the first half of the stages.
	chunkOf := func(direction int) int {
		if stage >= s.PP/2 {
			return opposite(direction)
		}
		return direction
	}
	// newPass returns the next pass of a direction; counts has the number of preceding ones.
	// Micro-batches of chunk 0 have numbers from 0, micro-batches of chunk 1 from half.
	newPass := func(kind PassKind, direction int, counts *[2]int) Pass {
		chunk := chunkOf(direction)
		pass := Pass{Kind: kind, Chunk: chunk, Microbatch: chunk*half + counts[direction]}
		counts[direction]++
		return pass
	}

	// These functions append passes to the program.
	forward := func(direction int) {
		passes = append(passes, newPass(ForwardPass, direction, &numForward))
	}
	backward := func(direction int) {
		passes = append(passes, newPass(BackwardPass, direction, &numBackward))
	}
	inputGradient := func(direction int) { // W is postponed
		pass := newPass(InputGradientPass, direction, &numBackward)
		passes = append(passes, pass)
		pass.Kind = WeightGradientPass
		pendingWeights = append(pendingWeights, pass)
	}
	weightGradient := func() { // the earliest postponed W
		passes = append(passes, pendingWeights[0])
		pendingWeights = pendingWeights[1:]
	}
	overlapped := func(forwardDirection, backwardDirection int) {
		forward(forwardDirection)
		passes[len(passes)-1].OverlapsNext = true
		backward(backwardDirection)
	}

	// Step 1: near forward passes, until the first far micro-batch can have arrived.
	for range 2 * inner {
		forward(near)
	}
	// Step 2: forward passes in both directions, until the first gradient can have arrived.
	for range outer + 1 {
		forward(near)
		forward(far)
	}
	// Step 3: the first far gradients return. W fills the time until the next one.
	for range inner {
		inputGradient(far)
		weightGradient()
		forward(far)
	}

	// Step 4, the steady state: overlapped forward and backward passes in both directions.
	for i := range half - s.PP + outer + 1 {
		// In the two middle stages, the first pair is not overlapped, which shortens the
		// bubble.
		if i == 0 && inner == 0 {
			forward(near)
			backward(far)
		} else {
			overlapped(near, far)
		}
		overlapped(far, near)
	}
	// Step 5: all near forward passes are done.
	for range inner {
		backward(far)
		overlapped(far, near)
	}

	// Step 6: all forward passes are done. Backward passes of both directions alternate,
	// beginning with far. In the second half, W is postponed.
	direction := far
	for i := range 2 * (outer + 1) {
		if i <= outer {
			backward(direction)
		} else {
			inputGradient(direction)
		}
		direction = opposite(direction)
	}
	// Step 7: the last near gradients. W fills the time until the next one.
	for range inner {
		weightGradient()
		inputGradient(near)
	}
	// Step 8: the remaining W.
	for len(pendingWeights) > 0 {
		weightGradient()
	}
	return passes
}

// checkSchedule fails if the schedule does not support the job's pipeline.
func (s *Spec) checkSchedule() error {
	isKnown := s.Schedule == "" // the default
	for _, known := range Schedules {
		isKnown = isKnown || known.Name == s.Schedule
	}

	switch {
	case !isKnown:
		return fmt.Errorf("training: unknown schedule %q", s.Schedule)
	case s.Schedule == DualPipe && (s.PP%2 != 0 || s.Microbatches%2 != 0 ||
		s.Microbatches < 2*s.PP || s.Chunks != 2):
		return fmt.Errorf("training: %d micro-batches in %d stages of %d chunks under %s; want an even number of stages of 2 chunks, "+
			"and an even number of micro-batches, at least twice the stages", s.Microbatches, s.PP,
			s.Chunks, DualPipe)
	case s.Chunks > 1 && s.Schedule != Interleaved && s.Schedule != DualPipe:
		return fmt.Errorf("training: %d chunks per stage need the schedule %s, not %s", s.Chunks,
			Interleaved, s.Schedule)
	case s.OverlapPasses == OverlapPairs && !s.CanPair():
		return fmt.Errorf("training: pairs of passes under %s; want %s, %s or %s", cmp.Or(s.Schedule, OneFOneB), DualPipe, Interleaved, Eager)
	case s.Schedule == Interleaved && s.Microbatches%s.PP != 0:
		return fmt.Errorf("training: %d micro-batches are not a multiple of PP %d", s.Microbatches, s.PP)
	}
	return nil
}

// ModelCopies returns the number of copies of each part of the model in a replica. DualPipe has
// one for each direction.
func (s *Spec) ModelCopies() int {
	if s.Schedule == DualPipe {
		return 2
	}
	return 1
}

// VirtualStages returns the number of virtual stages of a replica. A virtual stage is one
// chunk of one stage: chunk c of stage i is virtual stage c x PP + i.
func (s *Spec) VirtualStages() int { return s.PP * s.Chunks }

// modelParts returns the number of parts into which the model is divided, and the part
// that virtual stage v holds. The second copy has its parts in reverse order.
func (s *Spec) modelParts(v int) (n, part int) {
	n, part = s.VirtualStages()/s.ModelCopies(), v
	if v >= n {
		part = s.VirtualStages() - 1 - v
	}
	return n, part
}

// stagePath returns the virtual stages through which a micro-batch passes, in order. If there
// are two copies of the model, the second half of the micro-batches passes through the
// second copy.
func (s *Spec) stagePath(microbatch int) []int {
	isSecondCopy := s.ModelCopies() > 1 && microbatch >= s.Microbatches/2
	path := make([]int, s.VirtualStages()/s.ModelCopies())
	for i := range path {
		path[i] = i
		if isSecondCopy {
			path[i] = s.otherModelCopy(i)
		}
	}
	return path
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
	// add adds the stages of two virtual stages.
	add := func(v, w int) {
		if a, b := v%s.PP, w%s.PP; a != b {
			all = append(all, [2]int{min(a, b), max(a, b)})
		}
	}

	// Activations and their gradients follow the paths of micro-batches. The first and the
	// last micro-batch have all different paths: there is one path per copy of the model.
	for _, microbatch := range []int{0, s.Microbatches - 1} {
		path := s.stagePath(microbatch)
		for i := range len(path) - 1 {
			add(path[i], path[i+1])
		}
	}

	// The copies of a part exchange the gradients of its weights.
	for v := range s.VirtualStages() {
		add(v, s.otherModelCopy(v))
	}
	slices.SortFunc(all, func(a, b [2]int) int { return slices.Compare(a[:], b[:]) })
	return slices.Compact(all)
}
