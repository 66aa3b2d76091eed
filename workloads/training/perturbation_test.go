package training

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	_ "sim/internal/testseed"

	"sim/engine"
)

// perturbationIteration returns a small iteration with three replicas, all in the graph.
func perturbationIteration(t testing.TB) *Iteration {
	t.Helper()
	arch, ok := Model("gpt-7b")
	if !ok {
		t.Fatal("no model gpt-7b")
	}
	it, err := Build(Spec{
		Arch: arch, Sequence: 4096, Microbatch: 1, Microbatches: 16, TP: 2, PP: 4, EP: 1, ETP: 1, GPUs: 24, Chunks: 1,
		Choices: Choices{EffectiveTFLOPS: 450, BackwardRatio: 2, ConcurrentMicrobatches: 1, ActivationBytes: 2, GradientBytes: 4, ParameterBytes: 2},
	}, BuildOptions{All: true})
	if err != nil {
		t.Fatal(err)
	}
	return it
}

// durations returns the compute times under p.
func (it *Iteration) durations(t testing.TB, p Perturbation, seed uint64) []engine.Time {
	t.Helper()
	d := make([]engine.Time, len(it.Meta))
	if err := it.Durations(p, seed, d); err != nil {
		t.Fatal(err)
	}
	return d
}

// factors returns the durations of passes divided by the planned ones, indexed by task.
// Other tasks have 0.
func (it *Iteration) factors(t testing.TB, p Perturbation, seed uint64) []float64 {
	t.Helper()
	f := make([]float64, len(it.Meta))
	for i, d := range it.durations(t, p, seed) {
		switch nominal := it.Graph.Tasks[i].Duration; {
		case it.Meta[i].Phase == Forward || it.Meta[i].Phase == Backward:
			f[i] = float64(d) / float64(nominal)
		case d != nominal:
			t.Fatalf("%s takes %v, was planned with %v", it.Graph.Name(int32(i)), d, nominal)
		}
	}
	return f
}

// factorTolerance is the deviation of factors caused by rounding to ticks.
const factorTolerance = 1e-9

// TestLognormal checks that factors have mean 1 and the given coefficient of variation,
// within five standard errors.
func TestLognormal(t *testing.T) {
	const n = 400_000
	for _, cv := range []float64{0.01, 0.05, 0.3, 1} {
		next := lognormal(cv, RandomStream(7, "test"))
		sum, squares := 0.0, 0.0
		for range n {
			f := next()
			if !(f > 0) {
				t.Fatalf("cv %v: a factor of %v", cv, f)
			}
			sum += f - 1
			squares += (f - 1) * (f - 1)
		}
		mean := sum / n
		if math.Abs(mean) > 5*cv/math.Sqrt(n) {
			t.Errorf("cv %v: mean is 1%+g", cv, mean)
		}
		// The kurtosis of the lognormal distribution gives the variance of (f-1)^2.
		w := 1 + cv*cv
		kurtosis := w*w*w*w + 2*w*w*w + 3*w*w - 3
		if got, spread := squares/n-mean*mean, cv*cv*math.Sqrt((kurtosis-1)/n); math.Abs(got-cv*cv) > 5*spread {
			t.Errorf("cv %v: variance %v, want %v within %v", cv, got, cv*cv, 5*spread)
		}
	}
}

// TestNothingPerturbed checks that no perturbation, and a slowdown of 1, change no
// duration.
func TestNothingPerturbed(t *testing.T) {
	it := perturbationIteration(t)
	for _, p := range []Perturbation{{}, {Slowdown: 1, SlowReplica: 2}, {Slowdown: 1, SlowReplica: -1}} {
		for i, d := range it.durations(t, p, 3) {
			if d != it.Graph.Tasks[i].Duration {
				t.Fatalf("%+v: %s takes %v, was planned with %v", p, it.Graph.Name(int32(i)), d, it.Graph.Tasks[i].Duration)
			}
		}
	}
}

// TestTaskFactors checks that every pass has its own factor.
func TestTaskFactors(t *testing.T) {
	it := perturbationIteration(t)
	f := it.factors(t, Perturbation{TaskCV: 0.2}, 1)
	f = slices.DeleteFunc(f, func(v float64) bool { return v == 0 })
	slices.Sort(f)
	if len(f) != 3*4*16*2 || len(slices.Compact(slices.Clone(f))) != len(f) {
		t.Errorf("%d different factors of %d passes", len(slices.Compact(f)), 3*4*16*2)
	}
}

// TestStageFactors checks that passes share a factor exactly if they have the same stage
// and replica.
func TestStageFactors(t *testing.T) {
	it := perturbationIteration(t)
	factor := map[[2]int32]float64{}
	for i, f := range it.factors(t, Perturbation{StageCV: 0.2}, 1) {
		if f == 0 {
			continue
		}
		at := [2]int32{it.Meta[i].Replica, it.Meta[i].Stage}
		if factor[at] == 0 {
			factor[at] = f
		}
		if math.Abs(f-factor[at]) > factorTolerance {
			t.Fatalf("%s: factor %v, others of its stage have %v", it.Graph.Name(int32(i)), f, factor[at])
		}
	}
	all := map[float64]bool{}
	for _, f := range factor {
		all[math.Round(f/factorTolerance)] = true
	}
	if len(all) != 3*4 {
		t.Errorf("%d factors for 12 stages", len(all))
	}
}

// TestSlowReplica checks that all passes of one replica, and no others, are slowed down:
// the given replica or, over many seeds, each one about equally often.
func TestSlowReplica(t *testing.T) {
	it := perturbationIteration(t)
	slow := func(p Perturbation, seed uint64) int {
		which := -1
		for i, f := range it.factors(t, p, seed) {
			switch r := int(it.Meta[i].Replica); {
			case f == 0:
			case math.Abs(f-1) <= factorTolerance && r != which:
			case math.Abs(f-1.25) <= factorTolerance && (which < 0 || r == which):
				which = r
			default:
				t.Fatalf("%s has factor %v, replica %d is slow", it.Graph.Name(int32(i)), f, which)
			}
		}
		return which
	}
	if got := slow(Perturbation{Slowdown: 1.25, SlowReplica: 2}, 1); got != 2 {
		t.Errorf("replica %d is slow, want 2", got)
	}
	const n = 300
	drawn := make([]int, 3)
	for seed := range uint64(n) {
		drawn[slow(Perturbation{Slowdown: 1.25, SlowReplica: -1}, seed)]++
	}
	for r, k := range drawn {
		if math.Abs(float64(k)-n/3) > 5*math.Sqrt(n*2/9.) {
			t.Errorf("replica %d is slow %d times of %d", r, k, n)
		}
	}
}

// TestOneSortOfFactor checks that kinds of factors are independent: adding one does not
// change the others. The same seed reproduces the durations; another seed changes them.
func TestOneSortOfFactor(t *testing.T) {
	it := perturbationIteration(t)
	rapid.Check(t, func(rt *rapid.T) {
		p := Perturbation{
			TaskCV: rapid.SampledFrom([]float64{0, 0.1}).Draw(rt, "task"), StageCV: rapid.SampledFrom([]float64{0, 0.1}).Draw(rt, "stage"),
			Slowdown: rapid.SampledFrom([]float64{0, 1.5}).Draw(rt, "slow"), SlowReplica: rapid.IntRange(-1, 2).Draw(rt, "which"),
		}
		seed := rapid.Uint64().Draw(rt, "seed")
		whole := it.factors(t, p, seed)
		task, stage := it.factors(t, Perturbation{TaskCV: p.TaskCV}, seed), it.factors(t, Perturbation{StageCV: p.StageCV}, seed)
		slow := it.factors(t, Perturbation{Slowdown: p.Slowdown, SlowReplica: p.SlowReplica}, seed)
		for i, f := range whole {
			if want := task[i] * stage[i] * slow[i]; math.Abs(f-want) > factorTolerance*max(1, want) {
				rt.Fatalf("%s: factor %v, its parts make %v", it.Graph.Name(int32(i)), f, want)
			}
		}
		if again := it.factors(t, p, seed); !slices.Equal(whole, again) {
			rt.Fatal("the same seed gives other durations")
		}
		if pass := slices.IndexFunc(task, func(f float64) bool { return f != 0 }); p.TaskCV > 0 && p.StageCV > 0 && math.Abs(task[pass]-stage[pass]) < factorTolerance {
			rt.Fatalf("the factors of a pass and of its stage are both %v", task[pass])
		}
		if p.TaskCV > 0 && slices.Equal(whole, it.factors(t, p, seed+1)) {
			rt.Fatal("another seed gives the same durations")
		}
	})
}

// TestPerturbationRefused checks that invalid perturbations are rejected.
func TestPerturbationRefused(t *testing.T) {
	it := perturbationIteration(t)
	d := make([]engine.Time, len(it.Meta))
	passes := 0.0 // total of replica 0
	for i, m := range it.Meta {
		if m.Replica == 0 {
			passes += float64(it.Graph.Tasks[i].Duration)
		}
	}
	if err := it.Durations(Perturbation{Slowdown: 0.99 * maxReplicaTime / passes}, 1, d); err != nil {
		t.Error(err)
	}
	for _, c := range []struct {
		p Perturbation
		d []engine.Time
	}{
		{Perturbation{}, d[1:]},
		{Perturbation{Slowdown: 2, SlowReplica: 3}, d},
		{Perturbation{Slowdown: 1e300}, d},
		{Perturbation{Slowdown: 1.01 * maxReplicaTime / passes}, d},
	} {
		if err := it.Durations(c.p, 1, c.d); err == nil {
			t.Errorf("%+v: no error", c.p)
		}
	}
}

// TestMeasuredPasses checks that the times of measured passes are multiplied by scale.
func TestMeasuredPasses(t *testing.T) {
	const forward, backward, weights = 30 * engine.Microsecond, 50 * engine.Microsecond, 20 * engine.Microsecond
	s := &Spec{Measured: &MeasuredStage{Passes: []MeasuredPass{{}, {forward, backward, weights}}}}
	for _, scale := range []float64{1, 3} {
		got, err := s.passTimes(0, 1, scale)
		if err != nil {
			t.Fatal(err)
		}
		factor := engine.Time(scale)
		if got.forward != factor*forward || got.backward != factor*backward || got.weights != factor*weights {
			t.Errorf("on GPUs that take %g times as long passes take %+v", scale, got)
		}
	}
}
