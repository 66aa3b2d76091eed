package pack

import (
	"flag"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"sim/policies/reconfigure/plan"
)

var long = flag.Bool("long", false, "also run the tests that take a minute")

// drawDemand draws a problem with the given mean number of chunks: "random" is uniform in 0
// .. 2 mean, "zipf" is proportional to rank^-0.4 with shuffled ranks, other kinds are
// constant.
func drawDemand(n, k int, kind string, mean float64, seed uint64) *plan.Problem {
	p := &plan.Problem{GPUs: n, Degree: k, Chunks: make([]int32, n*n), Seed: seed}
	r := rand.New(rand.NewPCG(seed, 77))
	size := make([]float64, n*(n-1))
	sum := 0.0
	for i := range size {
		switch kind {
		case "random":
			size[i] = 2 * mean * r.Float64()
		case "zipf":
			size[i] = math.Pow(float64(i+1), -0.4)
		default:
			size[i] = mean
		}
		sum += size[i]
	}
	r.Shuffle(len(size), func(i, j int) { size[i], size[j] = size[j], size[i] })
	for i, j := 0, 0; i < n*n; i++ {
		if i/n != i%n {
			x := size[j]
			if kind == "zipf" {
				x *= mean * float64(len(size)) / sum
			}
			p.Chunks[i] = int32(math.Ceil(x))
			j++
		}
	}
	return p
}

// Over all numbers of topologies, the ratio of the slots to the lower bound is limited. The
// limits are slightly above the measured ratios.
func TestGap(t *testing.T) {
	type setting struct {
		n, k  int
		kind  string
		relay bool
		worst float64 // maximum over all d
		mean  float64 // mean over all d
	}
	list := []setting{
		{12, 1, "random", true, 1.45, 1.2}, {12, 1, "random", false, 1.8, 1.45},
		{12, 2, "random", true, 1.6, 1.25}, {12, 2, "random", false, 1.6, 1.3},
		{12, 1, "zipf", true, 1.45, 1.2}, {12, 1, "zipf", false, 1.8, 1.45},
		{12, 2, "zipf", true, 1.6, 1.25}, {12, 2, "zipf", false, 1.6, 1.3},
	}
	if *long {
		for i := range list {
			s := list[i]
			s.n = 64
			s.worst, s.mean = s.worst+0.1, s.mean+0.1
			list = append(list, s)
		}
	}
	for _, s := range list {
		p := drawDemand(s.n, s.k, s.kind, 8, 1)
		maxCount := (s.n - 1) / s.k
		start := time.Now()
		sequences, err := buildAllSequences(p, nil, nil, s.relay)
		if err != nil {
			t.Fatal(err)
		}
		buildTime := time.Since(start)
		candidates, err := Candidates(p, sequences, Options{Relay: s.relay})
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("n %d k %d %s relay %v: %d sequences in %v, spread in %v", s.n, s.k, s.kind, s.relay, len(sequences), buildTime, time.Since(start)-buildTime)
		minSlots := make([]int64, maxCount+1)
		origin := make([]string, maxCount+1)
		for _, c := range candidates {
			if d := c.Reconfigurations; minSlots[d] == 0 || c.Slots < minSlots[d] {
				minSlots[d], origin[d] = c.Slots, c.Origin
			}
		}
		worst, sum := 0.0, 0.0
		for d := 1; d <= maxCount; d++ {
			b, err := boundsOf(p, d)
			if err != nil {
				t.Fatal(err)
			}
			bound := b.Forward
			if s.relay {
				bound = b.Relay
			}
			ratio := float64(minSlots[d]) / float64(bound)
			if minSlots[d] < bound {
				t.Errorf("d %d: %d slots, below the bound %d", d, minSlots[d], bound)
			}
			if s.n <= 16 || d <= 4 || d%8 == 0 || d == maxCount {
				t.Logf("  d %d: %d slots, bound %d, ratio %.3f, %s", d, minSlots[d], bound, ratio, origin[d])
			}
			worst, sum = max(worst, ratio), sum+ratio
		}
		t.Logf("  ratio %.3f at worst, %.3f on average", worst, sum/float64(maxCount))
		if worst > s.worst || sum/float64(maxCount) > s.mean {
			t.Errorf("n %d k %d %s relay %v: ratio %.3f at worst, %.3f on average; want at most %.3f and %.3f",
				s.n, s.k, s.kind, s.relay, worst, sum/float64(maxCount), s.worst, s.mean)
		}
	}
}

// boundsOf returns the bounds of a problem for d topologies.
func boundsOf(p *plan.Problem, d int) (plan.Bounds, error) {
	b, err := plan.NewBounder(p, nil)
	if err != nil {
		return plan.Bounds{}, err
	}
	return b.At(d)
}
