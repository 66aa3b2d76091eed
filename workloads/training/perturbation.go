package training

import (
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"

	"sim/engine"
)

// Perturbation says how the compute times of one iteration differ from those that were planned with. The zero value
// changes nothing.
type Perturbation struct {
	// TaskCV is the coefficient of variation of each pass's time: every pass takes a factor of its own, lognormal with
	// mean 1.
	TaskCV float64
	// StageCV is the same of a factor that all passes of a stage of a replica share, for the whole iteration.
	StageCV float64
	// Slowdown is how many times as long the compute of one replica takes; 0 is 1.
	Slowdown float64
	// SlowReplica is which one, from 0; if negative it is drawn.
	SlowReplica int
}

// Durations writes to d, by task, the compute times of one run of the iteration under p; transfers and barriers keep
// what they have. Everything is drawn from seed: each sort of factor has a stream of its own, so that adding one leaves
// the others as they are. It fails where d does not fit the graph, the slow replica is not in it, or the times grow
// beyond what simulated time can hold.
func (it *Iteration) Durations(p Perturbation, seed uint64, d []engine.Time) error {
	replicas := len(it.GradientsReady)
	if len(d) != len(it.Meta) {
		return fmt.Errorf("training: room for %d durations of %d tasks", len(d), len(it.Meta))
	}
	if p.SlowReplica >= replicas {
		return fmt.Errorf("training: replica %d is to be slow, there are %d", p.SlowReplica, replicas)
	}
	task, stage := lognormal(p.TaskCV, RandomStream(seed, "compute jitter")), lognormal(p.StageCV, RandomStream(seed, "stage jitter"))
	slow := p.SlowReplica
	if slow < 0 {
		slow = RandomStream(seed, "slow replica").IntN(replicas)
	}
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
			return fmt.Errorf("training: all passes of replica %d together take %.3g s, more than simulated time can hold", r, sum/float64(engine.Second))
		}
	}
	return nil
}

// maxReplicaTime is the most that the passes of a replica may take together: half of what simulated time can hold, so that
// transfers find room as well.
const maxReplicaTime = math.MaxInt64 / 2

// scaleDuration returns d times f to the nearest tick, at most longest.
func scaleDuration(d engine.Time, f float64) engine.Time {
	return engine.Time(min(math.Round(float64(d)*f), maxReplicaTime))
}

// lognormal returns a source of factors with mean 1 and the given coefficient of variation, drawn from r; of none all
// are 1 and nothing is drawn.
func lognormal(cv float64, r *rand.Rand) func() float64 {
	if cv == 0 {
		return func() float64 { return 1 }
	}
	// X = exp(sigma Z - sigma^2 / 2) has mean 1 and variance exp(sigma^2) - 1
	variance := math.Log1p(cv * cv)
	sigma := math.Sqrt(variance)
	return func() float64 { return math.Exp(sigma*r.NormFloat64() - variance/2) }
}

// RandomStream returns the generator that the consumer of that name owns under a seed.
func RandomStream(seed uint64, name string) *rand.Rand {
	h := fnv.New64a()
	h.Write([]byte(name))
	return rand.New(rand.NewPCG(seed, h.Sum64()))
}
