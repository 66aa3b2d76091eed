package topology

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"sim/engine"
)

// TestApportion checks that shares add up to the number and keep the minimums. If no
// minimum applies, shares are proportional to the claims up to one.
func TestApportion(t *testing.T) {
	for _, c := range []struct {
		number                int
		claims, minimum, want []int
	}{
		{48, []int{16, 32}, []int{2, 3}, []int{16, 32}},
		{7, []int{1, 1}, []int{1, 1}, []int{4, 3}},
		{10, []int{1, 6}, []int{1, 1}, []int{1, 9}}, // 1.43 and 8.57
		{10, []int{1, 99}, []int{3, 3}, []int{3, 7}},
		{9, []int{0, 5, 4}, []int{0, 1, 1}, []int{0, 5, 4}},
		{6, []int{1, 1, 9}, []int{2, 2, 2}, []int{2, 2, 2}},
	} {
		if got := apportion(c.number, c.claims, c.minimum); !slices.Equal(got, c.want) {
			t.Errorf("%d to %v, at least %v: %v, want %v", c.number, c.claims, c.minimum, got, c.want)
		}
	}

	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 5).Draw(t, "jobs")
		claims := rapid.SliceOfN(rapid.IntRange(1, 40), n, n).Draw(t, "claims")
		minimums := rapid.SliceOfN(rapid.IntRange(0, 5), n, n).Draw(t, "least")
		sum, all := 0, 0
		for i := range minimums {
			sum += minimums[i]
			all += claims[i]
		}
		number := sum + rapid.IntRange(0, 60).Draw(t, "more")
		got := apportion(number, claims, minimums)
		total, bound := 0, false
		for i := range got {
			total += got[i]
			bound = bound || got[i] == minimums[i]
			if got[i] < minimums[i] {
				t.Fatalf("shares %v are below the minimums %v", got, minimums)
			}
		}
		if total != number {
			t.Fatalf("shares %v do not add up to %d", got, number)
		}
		for i := range got {
			if off := float64(got[i]) - float64(number*claims[i])/float64(all); !bound && math.Abs(off) >= 1 {
				t.Fatalf("shares %v of %d are not proportional to claims %v", got, number, claims)
			}
		}
	})
}

// TestFillUp checks waterFill: no entry exceeds its demand, nothing remains while a
// demand is unmet, and unmet entries are proportional to weight times demand.
func TestFillUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 5).Draw(t, "jobs")
		var demands []float64
		for range n {
			demands = append(demands, float64(rapid.IntRange(0, 40).Draw(t, "demand")))
		}
		weights := rapid.SliceOfN(rapid.Float64Range(0.1, 9), n, n).Draw(t, "weights")
		amount := rapid.Float64Range(0, 100).Draw(t, "amount")
		got := waterFill(amount, demands, weights)
		total, asked, level := 0.0, 0.0, -1.0
		for i, g := range got {
			total += g
			asked += demands[i]
			if g > demands[i]*(1+1e-12) || g < 0 {
				t.Fatalf("amounts %v exceed demands %v", got, demands)
			}
			if g < demands[i]*(1-1e-9) {
				if l := g / (weights[i] * demands[i]); level < 0 {
					level = l
				} else if math.Abs(l-level) > 1e-9*level {
					t.Fatalf("amounts %v for demands %v with weights %v are not proportional", got, demands, weights)
				}
			}
		}
		if math.Abs(total-min(asked, amount)) > 1e-9*(1+amount) {
			t.Fatalf("amounts %v for demands %v: sum %v of %v", got, demands, total, amount)
		}
	})
}

// drawScored draws the weights and reference times that scores depend on.
func drawScored(t *rapid.T) *SharedPods {
	s := &SharedPods{Goal: Objective(rapid.IntRange(0, 1).Draw(t, "goal"))}
	for range rapid.IntRange(1, 4).Draw(t, "jobs") {
		compute := rapid.Int64Range(1, 1000).Draw(t, "compute")
		s.Jobs = append(s.Jobs, Job{
			Weight:  rapid.Float64Range(0.1, 9).Draw(t, "weight"),
			Compute: engine.Time(compute),
			Ideal:   engine.Time(compute + rapid.Int64Range(0, 1000).Draw(t, "exposed")),
		})
	}
	s.setWeights()
	return s
}

// TestLimit checks that every decision better than the incumbent keeps the makespan of
// each job within jobLimit.
func TestLimit(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawScored(t)
		n := len(s.Jobs)
		draw := func(what string) []engine.Time {
			c := make([]engine.Time, n)
			for j := range c {
				c[j] = s.Jobs[j].Ideal + engine.Time(rapid.Int64Range(0, 300).Draw(t, what))
			}
			return c
		}
		best, lowest, eps := s.score(draw("best")), draw("least"), s.resolution()
		c := slices.Clone(lowest)
		for j := range c {
			c[j] += engine.Time(rapid.Int64Range(0, 300).Draw(t, "more"))
		}
		if compareScores(s.score(c), best, eps) >= 0 {
			return
		}
		for j := range c {
			if limit, ok := s.jobLimit(j, lowest, best, eps); !ok || c[j] > limit {
				t.Fatalf("%v of %v is better than %v, yet job %d is limited to %v (%v)", c, lowest, best,
					j, limit, ok)
			}
		}
	})
}

// TestScores checks that the objective increases with every makespan, and that
// maxMakespan is the inverse of Slowdown.
func TestScores(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawScored(t)
		c := make([]engine.Time, len(s.Jobs))
		for j := range c {
			c[j] = s.Jobs[j].Ideal + engine.Time(rapid.Int64Range(0, 300).Draw(t, "c"))
			if back := s.Jobs[j].maxMakespan(s.Jobs[j].Slowdown(c[j])); back < c[j] || back > c[j]+1 {
				t.Fatalf("%v becomes %v", c[j], back)
			}
			if s.Jobs[j].Slowdown(s.Jobs[j].Ideal) != 1 {
				t.Fatalf("slowdown of the ideal fabric is %v, want 1", s.Jobs[j].Slowdown(s.Jobs[j].Ideal))
			}
		}
		before := s.score(c)
		j := rapid.IntRange(0, len(c)-1).Draw(t, "slower")
		c[j] += 10
		if after := s.score(c); slices.Compare(before, after) >= 0 {
			t.Fatalf("score %v, with a slower job %v: want an increase", before, after)
		}
	})
}

// TestAggregatedByHand compares scaleToFit with results computed by hand.
func TestAggregatedByHand(t *testing.T) {
	// Two pods; job 0 requests 6 circuits between them, job 1 requests 3.
	s := &SharedPods{
		Jobs: []Job{{Weight: 1}, {Weight: 1}}, firstBundle: []int{0, 1, 2}, jobOf: []int{0, 1},
		portBudget: portBudget{Ports: []int{6, 6}, endPods: [][2]int{{0, 1}, {0, 1}},
			portsPerEnd: []int{1, 1}},
	}

	for _, c := range []struct {
		weight float64 // of job 0
		ports  int
		want   [][]int
	}{
		{1, 9, [][]int{{6}, {3}}},   // everything fits
		{1, 20, [][]int{{6}, {3}}},  // no job gets more than it requests
		{1, 6, [][]int{{4}, {2}}},   // 2/3 of each request
		{4, 6, [][]int{{5}, {1}}},   // 4 x 6 to 3: 5.33 and 0.67, raised to one
		{0.1, 6, [][]int{{3}, {3}}}, // 0.6 to 3: job 1 gets its request, job 0 the rest
		{1, 2, [][]int{{1}, {1}}},
	} {
		s.Jobs[0].Weight, s.Ports = c.weight, []int{c.ports, c.ports}
		s.setWeights()
		got := s.scaleToFit([][]int{{6}, {3}})
		if !slices.EqualFunc(got, c.want, slices.Equal) {
			t.Errorf("weight %v, %d ports: %v, want %v", c.weight, c.ports, got, c.want)
		}
	}
}

// TestObjectives compares the objectives of two jobs with NCT 1.5 and 3 with values
// computed by hand.
func TestObjectives(t *testing.T) {
	s := &SharedPods{Jobs: []Job{{Compute: 100, Ideal: 120}, {Compute: 10, Ideal: 20}}}
	for _, c := range []struct {
		goal    Objective
		weights [2]float64
		want    score
	}{
		{WeightedSum, [2]float64{1, 1}, score{2.25}},
		{WeightedSum, [2]float64{6, 2}, score{1.875}},
		{LargestNCT, [2]float64{5, 5}, score{3, 1.5}},
		{LargestNCT, [2]float64{3, 1}, score{2.25, 1.5}},
	} {
		s.Goal, s.Jobs[0].Weight, s.Jobs[1].Weight = c.goal, c.weights[0], c.weights[1]
		s.setWeights()
		if got := s.score([]engine.Time{130, 40}); !slices.Equal(got, c.want) {
			t.Errorf("%v by %v: %v, want %v", c.goal, c.weights, got, c.want)
		}
	}
}
