package topology_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"testing"
	"time"

	"sim/engine"
	"sim/engine/contexttest"
	"sim/policies/topology"
)

// cancelPoints returns numbers of polls after which a context is cancelled: at the start,
// soon after it, and at fractions of all polls.
func cancelPoints(all int64) []int64 {
	list := []int64{1, 2, 3}
	for k := int64(1); k < 8; k++ {
		list = append(list, max(1, all*k/8))
	}
	return list
}

// withFreshProblem returns j with a problem without cached results.
func withFreshProblem(t testing.TB, j *job) *job {
	t.Helper()
	p, err := topology.NewProblem(j.problem.Graph, j.problem.Fabric)
	if err != nil {
		t.Fatal(err)
	}
	return &job{p, j.compute, j.ideal}
}

// TestChooseEndsWithContext cancels the context of each allocator at several points. The
// allocator must return the error of the context after few further polls. The next call
// on the same problem must return the same decision as without the cancellation.
func TestChooseEndsWithContext(t *testing.T) {
	j := shortJob(t, "mixtral-8x22b", 16)
	for _, r := range topology.Table {
		if r.Name == "fixed" || len(r.Name) > len("delta-joint") {
			continue
		}
		t.Run(r.Name, func(t *testing.T) {
			t.Parallel()
			o := defaultOptions()
			o.Fast.StallGenerations = 20
			whole := contexttest.After(t.Context(), 0)
			want, err := r.Policy.Choose(whole, withFreshProblem(t, j).problem, o)
			if err != nil {
				t.Fatal(err)
			}
			for _, n := range cancelPoints(whole.Asked()) {
				p, ctx := withFreshProblem(t, j).problem, contexttest.After(t.Context(), n)
				if _, err := r.Policy.Choose(ctx, p, o); !errors.Is(err, context.Canceled) {
					t.Fatalf("cancelled at poll %d of %d: error %v", n, whole.Asked(), err)
				}
				if more := ctx.Asked() - n; more > 2000 {
					t.Errorf("polled %d more times after the cancellation at poll %d", more, n)
				}
				if n < whole.Asked()/2 {
					continue
				}
				got, err := r.Policy.Choose(t.Context(), p, o)
				if err != nil || got.Makespan != want.Makespan || got.Bound != want.Bound {
					t.Fatalf("after an interrupt at %d: %v, want %v: %v", n, got, want, err)
				}
			}
		})
	}
}

// TestArbitrateEndsWithContext is TestChooseEndsWithContext for multi-job allocators.
func TestArbitrateEndsWithContext(t *testing.T) {
	fresh := func() *topology.SharedPods { // a problem without cached results
		jobs, ports := drawShared(t, rand.New(rand.NewPCG(1, 2)))
		s, err := topology.NewSharedPods(jobs, ports, topology.WeightedSum)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	single, err := topology.ByName("delta-fast")
	if err != nil {
		t.Fatal(err)
	}
	o := topology.JobsOptions{Options: defaultOptions(), Single: single,
		Search: topology.SearchOptions{MaxEvaluations: 2000}}
	o.Fast.StallGenerations = 10
	for _, r := range topology.JobsTable {
		whole := contexttest.After(t.Context(), 0)
		if _, err := r.Policy.ChooseAll(whole, fresh(), o); err != nil {
			t.Fatal(err)
		}
		for _, n := range cancelPoints(whole.Asked()) {
			if _, err := r.Policy.ChooseAll(contexttest.After(t.Context(), n), fresh(),
				o); !errors.Is(err, context.Canceled) {
				t.Errorf("%s, asked %d of %d times: %v", r.Name, n, whole.Asked(), err)
			}
		}
	}
}

// TestTimeLimitBoundsAll checks that a time limit covers all work for an allocator: the
// shared bound, its own search, the fallback and the minimisation of ports.
func TestTimeLimitBoundsAll(t *testing.T) {
	t.Parallel()
	s, perPod := trainingSpec(t, "deepseek-671b", 4096)
	s.Microbatches = 4096 // each search takes many seconds
	whole := prepare(t, s, perPod, 1600e9)
	for _, name := range []string{"delta-fast", "delta-topo", "delta-joint"} {
		j, o := withFreshProblem(t, whole), defaultOptions()
		o.Workers = 1
		const limit = 100 * engine.Millisecond
		o.Fast.TimeLimit, o.Topo.TimeLimit, o.Joint.TimeLimit = limit, limit, limit
		begin := time.Now()
		d := choose(t, j, name, o)
		// The limit does not include the first simulations; other tests use the
		// processors also.
		if took := time.Since(begin); took > 5*time.Second {
			t.Errorf("%s takes %v under a limit of %v", name, took, limit)
		}
		if d.Stopped == "" {
			t.Errorf("%s does not say that it was stopped", name)
		}
	}
}

// TestEvaluationsBoundFallback checks that the fallback of a search that had to stop uses
// at most as many evaluations as the search itself.
func TestEvaluationsBoundFallback(t *testing.T) {
	j := setting{"deepseek-671b", 400e9, 4096}.job(t)
	for name, limit := range map[string]int64{
		"delta-topo":  16*300 + 300 + 200, // resumed simulations cost little
		"delta-joint": 10 + 4*64,          // two first generations
	} {
		o := defaultOptions()
		o.KeepPorts = true
		o.Topo.MaxEvaluations, o.Joint.MaxEvaluations = 300, 10
		d := choose(t, j, name, o)
		if d.Stopped == "" {
			t.Errorf("%s ends by itself, and nothing is tested", name)
		}
		if d.Evaluations > limit {
			t.Errorf("%s: %d evaluations, want at most %d", name, d.Evaluations, limit)
		}
	}
}
