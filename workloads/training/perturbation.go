package training

import (
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"

	"sim/engine"
)

// Perturbation describes how the compute times of an iteration deviate from the planned
// ones. The zero value changes nothing.
type Perturbation struct {
	// TaskCV is the coefficient of variation of the time of each pass. Each pass has its
	// own factor, lognormal with mean 1.
	TaskCV float64
	// StageCV is the coefficient of variation of a factor shared by all passes of one
	// stage of one replica, for the whole iteration.
	StageCV     float64
	Slowdown    float64 // Slowdown multiplies the compute times of one replica. 0 means 1.
	SlowReplica int     // SlowReplica is the slow replica, from 0. If negative, it is drawn at random.
}

// Durations writes the compute times of one run under p to d, indexed by task. Transfers
// and barriers keep their durations.
//
// All random numbers are derived from seed. Each kind of factor has its own random
// stream, so adding one kind does not change the others.
//
// Durations fails if d does not have one element per task, if the slow replica does not
// exist, or if the times exceed the range of simulated time.
func (it *Iteration) Durations(p Perturbation, seed uint64, d []engine.Time) error {
	replicas := len(it.GradientsReady)
	if len(d) != len(it.Meta) {
		return fmt.Errorf("training: a slice of %d durations for %d tasks", len(d), len(it.Meta))
	}
	if p.SlowReplica >= replicas {
		return fmt.Errorf("training: slow replica %d; want one below %d", p.SlowReplica, replicas)
	}
	task, stage := lognormal(p.TaskCV, RandomStream(seed, "compute jitter")),
		lognormal(p.StageCV, RandomStream(seed, "stage jitter"))

	slow := p.SlowReplica
	if slow < 0 {
		slow = RandomStream(seed, "slow replica").IntN(replicas)
	}

	// Draw one factor per stage of each replica.
	stageFactor := make([]float64, replicas*it.Spec.PP)
	for i := range stageFactor {
		if stageFactor[i] = stage(); i/it.Spec.PP == slow && p.Slowdown > 0 {
			stageFactor[i] *= p.Slowdown
		}
	}

	total := make([]float64, replicas)
	for i := range it.Meta {
		m, t := &it.Meta[i], &it.Graph.Tasks[i]
		d[i] = t.Duration
		if !m.Phase.Computes() {
			continue
		}
		if f := task() * stageFactor[int(m.Replica)*it.Spec.PP+int(m.Stage)]; f != 1 {
			d[i] = scaleDuration(t.Duration, f)
		}
		total[m.Replica] += float64(d[i])
	}

	for r, sum := range total {
		if sum >= maxReplicaTime {
			return fmt.Errorf("training: the passes of replica %d take %.3g s; want at most %.3g s",
				r, sum/float64(engine.Second), maxReplicaTime/float64(engine.Second))
		}
	}
	return nil
}

// maxReplicaTime limits the total compute time of a replica to half of the range of
// simulated time, which leaves the other half for transfers.
const maxReplicaTime = math.MaxInt64 / 2

// scaleDuration returns d x f, rounded to the nearest tick and limited to maxReplicaTime.
func scaleDuration(d engine.Time, f float64) engine.Time {
	return engine.Time(min(math.Round(float64(d)*f), maxReplicaTime))
}

// lognormal returns a source of lognormal factors with mean 1 and coefficient of
// variation cv, drawn from r. If cv is 0, all factors are 1 and nothing is drawn.
func lognormal(cv float64, r *rand.Rand) func() float64 {
	if cv == 0 {
		return func() float64 { return 1 }
	}
	// X = exp(sigma Z - sigma^2 / 2) has mean 1 and variance exp(sigma^2) - 1.
	variance := math.Log1p(cv * cv)
	sigma := math.Sqrt(variance)
	return func() float64 { return math.Exp(sigma*r.NormFloat64() - variance/2) }
}

// RandomStream returns the random generator of the named consumer for a seed. Consumers
// with different names draw independently.
func RandomStream(seed uint64, name string) *rand.Rand {
	h := fnv.New64a()
	h.Write([]byte(name))
	return rand.New(rand.NewPCG(seed, h.Sum64()))
}
