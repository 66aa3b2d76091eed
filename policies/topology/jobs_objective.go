package topology

import (
	"fmt"
	"math"
	"slices"

	"sim/engine"
)

// Objective is the function of the jobs' makespans that is minimised.
type Objective uint8

const (
	// WeightedSum is the weighted mean of the jobs' NCT.
	WeightedSum Objective = iota
	// LargestNCT is the maximum over the jobs of NCT times weight over mean weight, for
	// fairness. Ties are decided by the next largest, and so on.
	LargestNCT
)

// objectives lists the name of each objective in scenarios and its description.
var objectives = [...]struct{ name, words string }{
	WeightedSum: {"weighted-sum", "mean NCT of the jobs by weight"},
	LargestNCT:  {"max-min", "largest NCT of a job, times its weight over the mean weight"},
}

// Description returns a description of the objective.
func (o Objective) Description() string { return objectives[o].words }

// Objectives returns the names of all objectives.
func Objectives() (names []string) {
	for _, o := range objectives {
		names = append(names, o.name)
	}
	return names
}

// ParseObjective returns the objective with the given name.
func ParseObjective(name string) (Objective, error) {
	if i := slices.Index(Objectives(), name); i >= 0 {
		return Objective(i), nil
	}
	return 0, fmt.Errorf("topology: unknown objective %q, want one of %v", name, Objectives())
}

// setWeights normalises the weights, so that a common factor of all weights has no
// effect.
func (s *SharedPods) setWeights() {
	sum := 0.0
	for i := range s.Jobs {
		sum += s.Jobs[i].Weight
	}
	s.weights = make([]float64, len(s.Jobs))
	for i := range s.Jobs {
		s.weights[i] = s.Jobs[i].Weight / sum
		if s.Goal == LargestNCT {
			s.weights[i] *= float64(len(s.Jobs))
		}
	}
}

// Slowdown returns the NCT of a makespan. If the ideal fabric exposes no communication,
// NCT is undefined and Slowdown is the ratio to the ideal makespan. In both cases it
// increases with the makespan, and 1 is the speed of the ideal fabric.
func (j *Job) Slowdown(c engine.Time) float64 {
	if j.Ideal <= j.Compute {
		return float64(c) / float64(j.Ideal)
	}
	return float64(c-j.Compute) / float64(j.Ideal-j.Compute)
}

// maxMakespan is the inverse of Slowdown: it returns an upper limit of the makespans with
// at most the given slowdown.
func (j *Job) maxMakespan(slowdown float64) engine.Time {
	c := slowdown * float64(j.Ideal)
	if j.Ideal > j.Compute {
		c = float64(j.Compute) + slowdown*float64(j.Ideal-j.Compute)
	}
	if c >= float64(never) {
		return never
	}
	return engine.Time(math.Ceil(c))
}

// score is a value of the objective. Scores are compared lexicographically; smaller is
// better. WeightedSum has one element. LargestNCT has the weighted NCT of every job in
// descending order.
type score []float64

// score returns the objective at makespans indexed by job.
func (s *SharedPods) score(makespans []engine.Time) score {
	v, sum := make(score, len(makespans)), 0.0
	for j, c := range makespans {
		v[j] = s.weights[j] * s.Jobs[j].Slowdown(c)
		sum += v[j]
	}
	if s.Goal == WeightedSum {
		return score{sum}
	}
	slices.Sort(v)
	slices.Reverse(v)
	return v
}

// Value returns the first element of the score.
func (s *SharedPods) Value(makespans []engine.Time) float64 { return s.score(makespans)[0] }

// resolution is the difference below which two values of the objective count as equal. It
// is the effect on the objective of a tenth of relTol and of the rounding of simulated
// times to ticks.
func (s *SharedPods) resolution() float64 {
	const ticks = 16 // levels within this difference share capacity equally
	sum := 0.0
	for j := range s.Jobs {
		job := &s.Jobs[j]
		off := job.Ideal + engine.Time(float64(job.Ideal)*relTol/10) + ticks
		sum += s.weights[j] * (job.Slowdown(off) - 1)
	}
	return sum
}

// compareScores returns -1 if a is better than b by more than eps, 1 if b is better than
// a by more than eps, and 0 otherwise.
func compareScores(a, b score, eps float64) int {
	for i := range a {
		switch {
		case a[i] < b[i]-eps:
			return -1
		case a[i] > b[i]+eps:
			return 1
		}
	}
	return 0
}

// jobLimit returns the maximum makespan of job j in any decision better than best, given
// lower bounds on the makespans of the other jobs. It returns false if there is no such
// decision.
func (s *SharedPods) jobLimit(j int, minMakespans []engine.Time, best score, eps float64) (engine.Time, bool) {
	remaining := best[0] + eps // a job at the maximum may still improve on later elements
	if s.Goal == WeightedSum {
		remaining = best[0] - eps
		for i, c := range minMakespans {
			if i != j {
				remaining -= s.weights[i] * s.Jobs[i].Slowdown(c)
			}
		}
	}
	return s.Jobs[j].maxMakespan(remaining / s.weights[j]), remaining >= 0
}
