package topology

import (
	"fmt"
	"math"
	"slices"

	"sim/engine"
)

// Objective says what is minimised over several jobs.
type Objective uint8

const (
	// WeightedSum is the mean of the jobs' NCT by weight, the throughput of the whole.
	WeightedSum Objective = iota
	// LargestNCT is the largest NCT of a job times its weight over the mean weight, for fairness; among equal ones the
	// next largest, and so on.
	LargestNCT
)

// objectives are their names in scenarios, and what they are for people.
var objectives = [...]struct{ name, words string }{
	WeightedSum: {"weighted-sum", "mean NCT of the jobs by weight"},
	LargestNCT:  {"max-min", "largest NCT of a job, times its weight over the mean weight"},
}

// Words says for people what the objective is.
func (o Objective) Words() string { return objectives[o].words }

// Objectives returns the names of all objectives.
func Objectives() (names []string) {
	for _, o := range objectives {
		names = append(names, o.name)
	}
	return names
}

// ParseObjective returns the objective of that name.
func ParseObjective(name string) (Objective, error) {
	if i := slices.Index(Objectives(), name); i >= 0 {
		return Objective(i), nil
	}
	return 0, fmt.Errorf("topology: unknown objective %q, want one of %v", name, Objectives())
}

// setWeights sets the weights that the objective takes, which do not change when all weights are scaled.
func (s *Shared) setWeights() {
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

// Slowdown returns what the objective takes of a job's makespan: its NCT. Where the ideal fabric exposes no
// communication, which leaves NCT undefined, it is the makespan over the ideal one; 1 is as fast as the ideal fabric in
// either case, and both rise with the makespan alone.
func (j *Job) Slowdown(c engine.Time) float64 {
	if j.Ideal <= j.Compute {
		return float64(c) / float64(j.Ideal)
	}
	return float64(c-j.Compute) / float64(j.Ideal-j.Compute)
}

// maxMakespan returns a makespan that no makespan of at most that slow-down exceeds.
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

// score is an objective's value; the smaller, lexicographically, the better. The weighted sum has one element; the
// largest NCT has the weighted NCT of every job, the largest first.
type score []float64

// score returns the objective's value at makespans by job.
func (s *Shared) score(makespans []engine.Time) score {
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

// Value returns the objective at makespans by job.
func (s *Shared) Value(makespans []engine.Time) float64 { return s.score(makespans)[0] }

// resolution is the difference below which two values of the objective count as one: what a tenth of the relative
// difference rounding, and the rounding of simulations to ticks, make of it.
func (s *Shared) resolution() float64 {
	const ticks = 16 // levels this far apart count as one
	sum := 0.0
	for j := range s.Jobs {
		job := &s.Jobs[j]
		off := job.Ideal + engine.Time(float64(job.Ideal)*relTol/10) + ticks
		sum += s.weights[j] * (job.Slowdown(off) - 1)
	}
	return sum
}

// compareScores returns -1 where a is better than b by more than eps, 1 where b is, and 0 where they count as equal.
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

// jobLimit returns a makespan above which job j cannot be in any decision that is better than best, where every other job
// takes at least the makespan given; false where there is no such decision.
func (s *Shared) jobLimit(j int, minMakespans []engine.Time, best score, eps float64) (engine.Time, bool) {
	remaining := best[0] + eps // what is equal to the largest may be better after it
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
