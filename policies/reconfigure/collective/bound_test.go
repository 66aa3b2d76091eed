package collective

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	_ "sim/internal/testseed"
	"sim/policies/reconfigure/plan"

	"sim/fabric/scaleup"
	"sim/policies/collective"
)

// TestMinimumSteps: on few GPUs and for each number of topologies, plans take as few steps as any
// sequence of circulants, by trying all offsets and all divisions of the steps. They take no
// fewer than minSteps, and even fewer than circulants where other graphs are better.
func TestMinimumSteps(t *testing.T) {
	// by n and k: steps on one topology if circulants take more
	fewer := map[[2]int]int{{6, 2}: 2, {9, 2}: 3, {10, 2}: 3, {10, 3}: 2}
	for k := 1; k <= 3; k++ {
		for n := k + 1; n <= 10; n++ {
			choices := multisets(n, k)
			full := 1<<n - 1

			// By set of GPUs with the shard: minimum steps with the topologies so far.
			left := make([]int, 1<<n)
			for s := range left {
				left[s] = math.MaxInt32
			}
			left[full] = 0
			var want []int
			for range n {
				next := slices.Clone(left)
				for s := 1; s < full; s += 2 {
					for _, offsets := range choices {
						for at, steps := s, 1; ; steps++ {
							to := at
							for _, a := range offsets {
								to |= (at<<a | at>>(n-a)) & full
							}
							if to == at {
								break
							}
							next[s] = min(next[s], steps+left[to])
							at = to
						}
					}
				}
				left = next
				want = append(want, left[1])
			}
			p := problem(n, k, collective.AllGather, 1<<20, 8e11, us, us)
			got := slices.Repeat([]int{math.MaxInt32}, n)
			for _, pl := range must(frontierPlans(p))(t) {
				for d := pl.Reconfigurations(); d <= n; d++ {
					got[d-1] = min(got[d-1], pl.Steps())
				}
			}
			if better, there := fewer[[2]int{n, k}]; there {
				want[0] = better
			}
			if !slices.Equal(got, want) {
				t.Errorf("n=%d k=%d: %v steps with 1, 2, .. topologies, want %v", n, k, got, want)
			}
			for d, steps := range minSteps(n, k) {
				if steps > want[d] {
					t.Errorf("n=%d k=%d: a bound of %d steps with %d topologies, %d do", n, k, steps, d+1, want[d])
				}
			}
		}
	}
}

// multisets returns the sets of k offsets 1..n-1, with repetition.
func multisets(n, k int) [][]int {
	if k == 0 {
		return [][]int{nil}
	}
	var all [][]int
	for _, s := range multisets(n, k-1) {
		first := 1
		if len(s) > 0 {
			first = s[len(s)-1]
		}
		for a := first; a < n; a++ {
			all = append(all, append(slices.Clone(s), a))
		}
	}
	return all
}

// TestMinSteps: minSteps equals the minimum over all divisions of steps among phases.
func TestMinSteps(t *testing.T) {
	for k := 1; k <= 4; k++ {
		for n := 2; n <= 80; n++ {
			var best func(d, reach int) int
			best = func(d, reach int) int {
				if reach >= n {
					return d // the remaining phases have one step each
				}
				if d == 0 {
					return math.MaxInt32
				}
				minimum, ball, sum := math.MaxInt32, 1, 1
				for s := 1; sum < n; s++ {
					ball *= k
					sum += ball
					if rest := best(d-1, min(n, reach*sum)); rest < math.MaxInt32 {
						minimum = min(minimum, s+rest)
					}
				}
				return minimum
			}
			for d, got := range minSteps(n, k)[:min(4, len(minSteps(n, k)))] {
				if want := best(d+1, 1); got != want {
					t.Fatalf("n=%d k=%d d=%d: %d steps, want %d", n, k, d+1, got, want)
				}
			}
		}
	}
}

// TestBandwidth: for every number of GPUs, the plan with the lowest bytes sends (n-1)/k shards on
// the most loaded link.
func TestBandwidth(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := &Problem{GPUs: rapid.IntRange(2, 80).Draw(t, "n"), Op: collective.AllGather, Rate: 8e11}
		p.Degree = rapid.IntRange(1, min(5, p.GPUs-1)).Draw(t, "k")
		p.Bytes = int64(p.GPUs * p.Degree * 1000)
		best := must(best(p))(t) // latency and delay are 0, so it has the lowest bytes
		if want := p.Bytes / int64(p.GPUs*p.Degree) * int64(p.GPUs-1); best.cost() != p.StepTime(want) {
			t.Errorf("%s takes %v, want %v for %d B", best.Name, best.cost(), p.StepTime(want), want)
		}
	})
}

// TestFrontier: the parts counted by a recipe equal the bytes that its plan sends. In windows of
// single steps with at least k shards per message, the most loaded link carries less than a shard
// more than the average.
func TestFrontier(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawProblem(t, 40)
		p.Bytes = int64(p.GPUs*p.Degree) * 10
		for _, r := range newChainTable(p.GPUs, p.Degree, shardParts(p), nil).recipes(p.Op) {
			pl := newPlan(p, r, map[phaseKey][]int64{})
			sum, d := int64(0), pl.Reconfigurations()
			for _, f := range pl.Phases {
				for _, b := range f.MaxMessageBytes {
					sum += b
				}
			}
			if sum != r.parts*10 || pl.Steps() != r.steps || d > r.phases {
				t.Fatalf("%s: %d B, %d steps, %d topologies; counted %d B, %d, %d", pl.Name, sum, pl.Steps(), d, r.parts*10, r.steps, r.phases)
			}
		}
	})
	late := 0.0
	for k := 1; k <= 5; k++ {
		bases := stampBases(k, 300)
		for n := k + 2; n <= 300; n++ {
			e := 2
			for power(k+1, e) < n {
				e++
			}
			s := windowStage(n, k, e, int32(k), bases)
			if s == nil {
				continue // fewer phases take as many steps
			}
			if s.steps != e || s.parts >= int64(n-1+k) && s.phases[e-2].window >= k {
				t.Errorf("n=%d k=%d: %d steps with the fullest link carrying %d/%d of a shard; %d/%d would be even", n, k, s.steps, s.parts, k, n-1, k)
			}
			late = max(late, float64(s.parts)/float64(n-1)-1)
		}
	}
	t.Logf("more than even at most: %.3f", late)
}

// TestInvalidProblems: every function rejects an invalid problem with an error that states what
// is accepted.
func TestInvalidProblems(t *testing.T) {
	good := *plan.NewCollective(&scaleup.Domain{GPUs: 8, Switches: 2, Rate: 8e11, Latency: us, Delay: us}, collective.AllGather, 8000)
	if err := good.Check(); err != nil {
		t.Fatal(err)
	}
	for want, spoil := range map[string]func(*Problem){
		"1 GPUs; want 2..":             func(p *Problem) { p.GPUs = 1 },
		"8 links a GPU":                func(p *Problem) { p.Degree = 8 },
		"0 links a GPU":                func(p *Problem) { p.Degree = 0 },
		"call 7; want one of":          func(p *Problem) { p.Op = 7 },
		"want at least a byte a shard": func(p *Problem) { p.Bytes = 7 },
		"want a finite rate above 0":   func(p *Problem) { p.Rate = math.NaN() },
		"want neither below 0":         func(p *Problem) { p.Delay = -1 },
		"may outlast simulated time":   func(p *Problem) { p.Bytes = 1e18 },
		"want at least 2000 b/s":       func(p *Problem) { p.Rate = 1863 },
		"a latency of -1e-12s":         func(p *Problem) { p.Latency = -1 },
	} {
		p := good
		spoil(&p)
		for _, err := range []error{p.Check(), errorOf(frontierPlans(&p)), errorOf(best(&p)), errorOf(staticRing(&p)), errorOf(Bound(&p))} {
			if !errors.Is(err, plan.ErrCollective) || !strings.Contains(err.Error(), want) {
				t.Errorf("%v: want %q", err, want)
			}
		}
	}
}

func errorOf[T any](_ T, err error) error { return err }
