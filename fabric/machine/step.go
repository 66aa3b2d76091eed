package machine

import "math"

// Step describes how fast the GPUs of a training step compute, compared with single kernels on one
// GPU (GPU).
type Step struct {
	Sustained float64   `key:"sustained" doc:"share of the speed of single kernels that a step sustains, with its power limit and the gaps between kernels" default:"1.0" above:"0" max:"1"`
	Variation Variation `inline:""`
}

// Variation describes how the compute times of the GPUs of a training step vary. All GPUs wait for
// each other in every step, so the slowest one determines its time.
type Variation struct {
	Jitter         float64 `key:"jitter" doc:"coefficient of variation of the compute time of a GPU in a step, which is normally distributed; the step waits for the slowest GPU" else:"0, or the machine's" max:"1" implicit:""`
	StragglerShare float64 `key:"straggler_share" doc:"share of GPUs that always compute 10 % more slowly than others, such as 0.005 (Jiang et al. 2024, Sec. 6.3)" else:"0, or the machine's" max:"1" implicit:""`
}

// stragglerSlowdown is the additional compute time of a straggler, as a share of the time of other
// GPUs (Jiang et al., "MegaScale: Scaling Large Language Model Training to More Than 10,000 GPUs",
// 2024, Sec. 6.3).
const stragglerSlowdown = 0.1

// Slowdown returns the expected compute time of the slowest of n GPUs, as a multiple of the mean
// time of a GPU. It is 1 for one GPU without stragglers and does not decrease with n.
func (s *Variation) Slowdown(n int) float64 {
	n = max(1, n)
	anySlow := 1 - math.Pow(1-s.StragglerShare, float64(n)) // probability of at least one straggler
	return 1 + s.Jitter*expectedMaximum(n) + stragglerSlowdown*anySlow
}

// expectedMaximum returns the expected maximum of n independent standard normal variables, by the
// approximation of Blom, "Statistical Estimates and Transformed Beta-Variables", 1958.
func expectedMaximum(n int) float64 {

	p := (float64(n) - 0.375) / (float64(n) + 0.25)
	return math.Sqrt2 * math.Erfinv(2*p-1)
}
