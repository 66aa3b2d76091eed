package flow_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"sim/engine"
	"sim/engine/flow"
)

// drawCrowd draws an instance with many simultaneous transfers of equal or different sizes, some
// with dependencies, on links that may change. With near, transfers use nearby links, so that
// components split and merge.
func drawCrowd(t testingT, rng *rand.Rand, near bool) instance {
	transfers, links := 100+rng.IntN(300), 10+rng.IntN(60)
	in := instance{g: &engine.Graph{}, n: &engine.Network{Nodes: 2}, r: &engine.Routes{Start: []int32{0}}}
	rates := []float64{1e9, 2e9, 3e9, 1e9 * (1 + rng.Float64()), 1e9 * (1 + rng.Float64())}
	for range links {
		in.n.Links = append(in.n.Links, engine.Link{From: 0, To: 1, Rate: rates[rng.IntN(len(rates))]})
	}
	size, flows, weights := 1+rng.Int64N(2), 1+rng.Int32N(3), 1+rng.IntN(4)
	isEven := rng.IntN(2) == 0
	if isEven { // all links have equal loads and saturate at the same level up to rounding
		rates, flows, weights = []float64{1e9, 1e9 * (1 + 4e-13), 1e9 * (1 - 3e-13)}, 1, 1
	}
	for i := range transfers {
		bytes := 1e5 * (1 + rng.Int64N(3*size-2))
		in.g.AddTask(engine.Task{Kind: engine.Transfer, Dst: 1, Flows: 1 + rng.Int32N(flows), Bytes: bytes})
		if i > 0 && rng.IntN(4) == 0 {
			in.g.AddEdge(rng.Int32N(int32(i)), int32(i), engine.Time(rng.IntN(2))*engine.Microsecond)
		}
		first := rng.IntN(links)
		for k, l := range rng.Perm(links)[:2+rng.IntN(3)] {
			switch {
			case isEven:
				l = (i*(2*k+1) + 5*k) % links
			case near:
				l = (first + k*k) % links
			}
			in.r.Uses = append(in.r.Uses, engine.Use{Resource: int32(l), Weight: []float64{1, 1. / 3, 0.7, 2}[rng.IntN(weights)]})
		}
		in.r.Start = append(in.r.Start, int32(len(in.r.Uses)))
	}
	if rng.IntN(2) == 0 {
		for k := range 20 {
			at, l := engine.Time(k)*engine.Millisecond, rng.Int32N(int32(links))
			back := engine.Change{At: at + engine.Millisecond/2, Link: l, Rate: rates[rng.IntN(len(rates))]}
			in.n.Changes = append(in.n.Changes, engine.Change{At: at, Link: l}, back)
		}
	}
	if err := in.g.Freeze(); err != nil {
		t.Fatalf("%v", err)
	}
	return in
}

// TestCrowdSharesFairly: at all times the rates equal the rates of a full max-min computation.
func TestCrowdSharesFairly(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 1))
	for range 12 {
		in := drawCrowd(t, rng, rng.IntN(2) == 0)
		tr := in.run(t, flow.MaxMin)
		in.checkTimes(t, tr)
		for _, m := range in.intervals(tr) {
			for id, want := range in.waterFill(m) {
				if got := m.rate[id]; math.Abs(got-want) > rateTolerance*want {
					t.Fatalf("from %d: transfer %d at %v bits a tick, want %v", m.from, id, got, want)
				}
			}
		}
	}
}

// waterFill returns the max-min fair rates of the transfers of an interval. The rates rise
// together by weight. The transfers of a saturated link stop, and the others continue.
func (in instance) waterFill(m interval) map[int32]float64 {
	rate, rising := map[int32]float64{}, slices.Clone(m.ids)
	for len(rising) > 0 {
		free, load := slices.Clone(m.capacity), make([]float64, len(m.capacity))
		for _, id := range m.ids {
			for _, u := range in.r.Of(id) {
				if x, ok := rate[id]; ok {
					free[u.Resource] -= x * u.Weight
				} else {
					load[u.Resource] += float64(in.g.Tasks[id].Flows) * u.Weight
				}
			}
		}
		share := math.Inf(1)
		level := func(r int32) float64 { return max(0, free[r]) / load[r] }
		for r := range load {
			if load[r] > 0 {
				share = min(share, level(int32(r)))
			}
		}
		rising = slices.DeleteFunc(rising, func(id int32) bool {
			full := slices.ContainsFunc(in.r.Of(id), func(u engine.Use) bool { return level(u.Resource) <= share*(1+1e-11) })
			if full {
				rate[id] = share * float64(in.g.Tasks[id].Flows)
			}
			return full
		})
	}
	return rate
}

// TestCrowdHasNoHistory: at any time the rates are bit-identical to the rates of the running
// transfers if all of them start at that time.
func TestCrowdHasNoHistory(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 2))
	rateAt := func(tr *engine.Trace, id int32, at engine.Time) (rate float64) {
		for _, s := range tr.Rates(id) {
			if s.At <= at {
				rate = s.Rate
			}
		}
		return rate
	}
	for range 20 {
		in := drawCrowd(t, rng, false)
		tr := in.run(t, flow.MaxMin)
		for k, m := range in.intervals(tr) {
			if k%7 > 0 || len(m.ids) < 100 { // smaller sets may be below incrementalThreshold
				continue
			}
			now := instance{g: &engine.Graph{}, n: &engine.Network{Nodes: 2, Links: slices.Clone(in.n.Links)}, r: &engine.Routes{Start: []int32{0}}}
			for _, c := range in.n.Changes {
				if c.At <= m.from {
					now.n.Links[c.Link].Rate = c.Rate
				}
			}
			for l := range in.n.Links { // otherwise transfers on links that are down would never end
				now.n.Changes = append(now.n.Changes, engine.Change{At: engine.Second, Link: int32(l), Rate: 1e9})
			}
			for _, id := range m.ids {
				now.g.AddTask(in.g.Tasks[id])
				now.r.Uses = append(now.r.Uses, in.r.Of(id)...)
				now.r.Start = append(now.r.Start, int32(len(now.r.Uses)))
			}
			if err := now.g.Freeze(); err != nil {
				t.Fatal(err)
			}
			fresh := now.run(t, flow.MaxMin)
			for i, id := range m.ids {
				if got, want := rateAt(tr, id, m.from), rateAt(fresh, int32(i), 0); got != want {
					t.Fatalf("from %d: transfer %d of %d at %v bit/s, at %v where all begin at once", m.from, id, len(m.ids), got, want)
				}
			}
		}
	}
}
