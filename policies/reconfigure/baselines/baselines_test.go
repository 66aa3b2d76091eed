package baselines

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	_ "sim/internal/testseed"

	"sim/policies/reconfigure/plan"
)

// planner is a named planner with fixed options.
type planner struct {
	name string
	plan func(*plan.Problem) ([]plan.Candidate, error)
}

// staticPlanners returns the planners that use one topology throughout.
func staticPlanners(s Schedule) []planner {
	o := Options{Schedule: s}
	return []planner{
		{"static-ring", func(p *plan.Problem) ([]plan.Candidate, error) { return StaticRing(p, o) }},
		{"kautz", func(p *plan.Problem) ([]plan.Candidate, error) { return Kautz(p, o) }},
		{"circulant", func(p *plan.Problem) ([]plan.Candidate, error) { return Circulant(p, o) }},
		{"topoopt", func(p *plan.Problem) ([]plan.Candidate, error) { return TopoOpt(p, o) }},
		{"mixnet", func(p *plan.Problem) ([]plan.Candidate, error) { return MixNet(p, o) }},
	}
}

// otherPlanners returns the planners that reconfigure.
func otherPlanners() []planner {
	list := []planner{
		{"bruck", func(p *plan.Problem) ([]plan.Candidate, error) { return Bruck(p, Options{}) }},
		{"spreadout", func(p *plan.Problem) ([]plan.Candidate, error) { return SpreadOut(p, Options{}) }},
	}
	for _, m := range []Model{ModelTogether, ModelStriped, ModelOneSwitch} {
		list = append(list, planner{"fast-" + string(m), func(p *plan.Problem) ([]plan.Candidate, error) {
			return Fast(p, Options{Model: m})
		}})
	}
	return list
}

func drawProblem(t *rapid.T, maxGPUs int) *plan.Problem {
	n := rapid.IntRange(2, maxGPUs).Draw(t, "n")
	k := rapid.IntRange(1, n-1).Draw(t, "k")
	p := &plan.Problem{GPUs: n, Degree: k, Chunks: make([]int32, n*n)}
	largest := rapid.SampledFrom([]int32{1, 3, 20}).Draw(t, "largest")
	zeros := rapid.Float64Range(0, 1).Draw(t, "zeros")
	r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "demand"), 1))
	for i := range p.Chunks {
		if i/n != i%n && r.Float64() >= zeros {
			p.Chunks[i] = r.Int32N(largest + 1)
		}
	}
	return p
}

// checkCandidate builds the plan of a candidate, verifies it, and compares its slots and
// topologies with the candidate.
func checkCandidate(c *plan.Candidate) (*plan.Plan, error) {
	q, err := c.Build(0, nil)
	if err != nil {
		return nil, err
	}
	if err := q.Seal(); err != nil {
		return nil, err
	}
	if err := q.Check(); err != nil {
		return nil, err
	}
	used := make([]int32, len(q.Slots))
	for _, t := range q.Tx {
		used[t.Phase] = max(used[t.Phase], t.Slot+1)
	}
	if !slices.Equal(used, q.Slots) {
		return nil, fmt.Errorf("phases have %v slots and use %v", q.Slots, used)
	}
	if q.TotalSlots() != c.Slots || len(q.Topologies) != c.Reconfigurations || q.Relay != c.Relay {
		return nil, fmt.Errorf("claims %d slots, %d topologies, relay %v; has %d, %d, %v",
			c.Slots, c.Reconfigurations, c.Relay, q.TotalSlots(), len(q.Topologies), q.Relay)
	}
	return q, nil
}

// TestPlansAreValid: every candidate of every planner has a valid plan with the claimed slots and
// topologies.
func TestPlansAreValid(t *testing.T) {
	planners := slices.Concat(staticPlanners(ScheduleSimulated), staticPlanners(SchedulePacked), otherPlanners())
	rapid.Check(t, func(t *rapid.T) {
		p := drawProblem(t, 11)
		for _, b := range planners {
			list, err := b.plan(p)
			if err != nil || len(list) == 0 {
				t.Fatalf("%s: %d candidates, %v", b.name, len(list), err)
			}
			for i := range list {
				if _, err := checkCandidate(&list[i]); err != nil {
					t.Fatalf("%s, %s: %v", b.name, list[i].Origin, err)
				}
			}
		}
	})
}

// candidateSlots returns the slots of a candidate, also of a fluid one.
func candidateSlots(c *plan.Candidate) float64 { return max(c.Fluid, float64(c.Slots)) }

// TestStrongestSchedule: no schedule takes fewer slots than ScheduleStrongest or ScheduleFluid,
// within 0.11 %, and these two agree.
func TestStrongestSchedule(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawProblem(t, 9)
		best := func(s Schedule, i int) float64 {
			list, err := staticPlanners(s)[i].plan(p)
			if err != nil {
				t.Fatal(err)
			}
			w := candidateSlots(&list[0])
			for i := range list {
				w = min(w, candidateSlots(&list[i]))
				if c := &list[i]; c.Fluid > 0 && (c.Build != nil || c.Slots != 0 || c.FluidBound > c.Fluid || c.Fluid > 1.0011*c.FluidBound) {
					t.Fatalf("fluid candidate %+v", c)
				}
			}
			return w
		}
		for i := range staticPlanners(ScheduleFluid) {
			strong, ideal := best(ScheduleStrongest, i), best(ScheduleFluid, i)
			for _, s := range []Schedule{ScheduleSimulated, SchedulePacked, SchedulePaths} {
				if w := best(s, i); strong > 1.0011*w || ideal > 1.0011*w {
					t.Fatalf("%s: strongest %v, fluid %v, %s %v", staticPlanners(s)[i].name, strong, ideal, s, w)
				}
			}
			if ideal < 0.9989*strong {
				t.Fatalf("%s: strongest %v, fluid %v", staticPlanners(ScheduleFluid)[i].name, strong, ideal)
			}
		}
	})
}

// TestDegreeOne: with degree 1 and uniform demand, all topologies are the ring, which takes 1 + 2
// + .. + 7 slots at n = 8 (paper Secs. 2.3, 5.2).
func TestDegreeOne(t *testing.T) {
	for _, n := range []int{2, 3, 5, 8, 13} {
		p := plan.UniformProblem(n, 1, 1)
		for _, b := range slices.Concat(staticPlanners(ScheduleStrongest), staticPlanners(ScheduleSimulated)) {
			list, err := b.plan(p)
			if err != nil {
				t.Fatal(err)
			}
			if c := list[0]; c.Slots != int64(n*(n-1)/2) || c.Reconfigurations != 1 {
				t.Errorf("%s at n = %d: %d slots, %d reconfigurations", b.name, n, c.Slots, c.Reconfigurations)
			}
			for _, c := range list {
				if c.Fluid > 0 {
					t.Errorf("%s at n = %d: %v although the ring is optimal", b.name, n, c)
				}
			}
		}
	}
}

// TestFluidLinks: ScheduleStrongest omits the fluid optimum above maxFluidLinks, ScheduleFluid
// does not.
func TestFluidLinks(t *testing.T) {
	for _, c := range []struct {
		n    int
		o    Options
		want int
	}{{16, Options{}, 1}, {258, Options{}, 0}, {16, Options{Schedule: ScheduleFluid}, 1}} {
		all, err := Kautz(randomProblem(c.n, 2, 2, 1), c.o)
		if err != nil {
			t.Fatal(err)
		}
		if got := len(slices.DeleteFunc(all, func(c plan.Candidate) bool { return c.Fluid == 0 })); got != c.want {
			t.Errorf("%d GPUs, %+v: %d fluid candidates, not %d", c.n, c.o, got, c.want)
		}
	}
}

// TestUnknownOptions: planners reject unknown schedules and models with ErrOptions, and invalid
// problems with plan.ErrProblem.
func TestUnknownOptions(t *testing.T) {
	p := plan.UniformProblem(4, 2, 1)
	for _, b := range staticPlanners("quick") {
		if _, err := b.plan(p); !errors.Is(err, ErrOptions) {
			t.Errorf("%s: %v", b.name, err)
		}
	}
	if _, err := Fast(p, Options{Model: "two"}); !errors.Is(err, ErrOptions) {
		t.Error(err)
	}
	bad := plan.UniformProblem(4, 4, 1)
	for _, b := range slices.Concat(staticPlanners(""), otherPlanners()) {
		if _, err := b.plan(bad); !errors.Is(err, plan.ErrProblem) {
			t.Errorf("%s: %v", b.name, err)
		}
	}
}

// TestDeterministic: planners return the same plans for the same problem.
func TestDeterministic(t *testing.T) {
	p := zipfProblem(16, 3, 8, 1)
	for _, b := range slices.Concat(staticPlanners(""), otherPlanners()) {
		one, err := b.plan(p)
		if err != nil {
			t.Fatal(err)
		}
		two, err := b.plan(p)
		if err != nil || len(one) != len(two) {
			t.Fatal(b.name, err, len(one), len(two))
		}
		for i := range one {
			x, y := &one[i], &two[i]
			if x.Slots != y.Slots || x.Fluid != y.Fluid || x.Origin != y.Origin {
				t.Fatalf("%s: %+v and %+v", b.name, x, y)
			}
			if x.Build == nil {
				continue
			}
			q, err := checkCandidate(x)
			if err != nil {
				t.Fatal(err)
			}
			r, err := checkCandidate(y)
			if err != nil || !slices.Equal(q.Tx, r.Tx) {
				t.Fatalf("%s: two plans, %v", b.name, err)
			}
		}
	}
}

// zipfProblem draws demands from a Zipf distribution with exponent 0.4 over the pairs in random
// order, rounded up.
func zipfProblem(n, k int, mean float64, seed uint64) *plan.Problem {
	p := &plan.Problem{GPUs: n, Degree: k, Chunks: make([]int32, n*n)}
	r := rand.New(rand.NewPCG(seed, 2))
	weights, sum := zipf(n * (n - 1))
	for rank, f := range r.Perm(n * (n - 1)) {
		u, v := f/(n-1), f%(n-1)
		if v >= u {
			v++
		}
		p.Chunks[u*n+v] = int32(weights[rank]/sum*mean*float64(n*(n-1))) + 1
	}
	return p
}

// randomProblem draws demands uniformly from 1 .. 2 mean.
func randomProblem(n, k int, mean int32, seed uint64) *plan.Problem {
	p := plan.UniformProblem(n, k, 1)
	r := rand.New(rand.NewPCG(seed, 3))
	for i, c := range p.Chunks {
		if c > 0 {
			p.Chunks[i] = 1 + r.Int32N(2*mean)
		}
	}
	return p
}
