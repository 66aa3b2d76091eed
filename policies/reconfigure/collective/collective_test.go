package collective

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"sim/engine"
	"sim/policies/collective"
	"sim/policies/reconfigure/plan"
)

var long = flag.Bool("long", false, "also run the tests that take a minute")

const us = engine.Microsecond

var ops = []collective.Kind{collective.AllReduce, collective.ReduceScatter, collective.AllGather}

func must[T any](v T, err error) func(t rapid.TB) T {
	return func(t rapid.TB) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// drawProblem draws a problem with a limited number of GPUs.
func drawProblem(t *rapid.T, maxGPUs int) *Problem {
	p := &Problem{GPUs: rapid.IntRange(2, maxGPUs).Draw(t, "n"), Op: rapid.SampledFrom(ops).Draw(t, "op")}
	p.Degree = rapid.IntRange(1, min(4, p.GPUs-1)).Draw(t, "k")
	p.Bytes = int64(p.GPUs) * rapid.SampledFrom([]int64{1, 3, 100, 1e4, 1e6}).Draw(t, "shard")
	p.Bytes += rapid.Int64Range(0, 3*int64(p.GPUs)).Draw(t, "more")
	p.Rate = rapid.SampledFrom([]float64{8e9, 8e11, 7e10, 1e5}).Draw(t, "rate")
	p.Latency = rapid.SampledFrom([]engine.Time{0, us / 2, 10 * us}).Draw(t, "latency")
	p.Delay = rapid.SampledFrom([]engine.Time{0, us / 100, us, 1000 * us}).Draw(t, "delay")
	return p
}

// TestPlans: every plan passes Check, computes correct sums of random numbers, and has the
// longest messages that it claims. Its cost is at least the bound, and the best plan costs no
// more than the best static ring.
func TestPlans(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawProblem(t, 24)
		plans := must(frontierPlans(p))(t)
		ring, best, bound := must(staticRing(p))(t), cheapest(plans, p.Delay), must(Bound(p))(t)
		if best.cost() > ring.cost() || ring.Reconfigurations() != 1 {
			t.Fatalf("best %v of %v, static ring %v with %d topologies", best.Name, best.cost(), ring.cost(), ring.Reconfigurations())
		}
		for _, pl := range plans {
			if err := pl.toPlan().Check(); err != nil {
				t.Fatalf("%s: %v", pl.Name, err)
			}
			if pl.cost() < bound || pl.cost() < best.cost() {
				t.Fatalf("%s costs %v, the bound is %v, the best %v", pl.Name, pl.cost(), bound, best.cost())
			}
			checkLongest(t, pl)
			simulateNumbers(t, pl)
		}
	})
}

// checkLongest compares the longest messages that a plan claims with its messages.
func checkLongest(t rapid.TB, pl *Plan) {
	for i, f := range pl.Phases {
		got := make([]int64, len(f.MaxMessageBytes))
		for _, x := range pl.messages(i) {
			bytes := int64(0)
			for _, e := range x.Pieces {
				for part := e.From; part < e.To; part++ {
					bytes += partBytes(pl, e.Shard, part)
				}
			}
			got[x.Step] = max(got[x.Step], bytes)
		}
		if !slices.Equal(got, f.MaxMessageBytes) {
			t.Fatalf("%s, phase %d: longest messages %v, claimed %v", pl.Name, i, got, f.MaxMessageBytes)
		}
	}
}

// partBytes returns the size of a part by definition: bytes are dealt to shards in turn, and
// bytes of a shard to parts.
func partBytes(pl *Plan, shard, part int32) int64 {
	deal := func(bytes int64, to, n int32) int64 {
		b := bytes / int64(n)
		if int64(to) < bytes%int64(n) {
			b++
		}
		return b
	}
	return deal(deal(pl.Problem.Bytes, shard, int32(pl.Problem.GPUs)), part, pl.Parts)
}

// simulateNumbers executes a plan on random numbers, independently of sets of contributions.
func simulateNumbers(t rapid.TB, pl *Plan) {
	n, parts := pl.Problem.GPUs, int(pl.Parts)
	rng := rand.New(rand.NewPCG(1, 2))
	size := n * parts
	value, want := make([][]uint64, n), make([]uint64, size)
	for u := range value {
		value[u] = make([]uint64, size)
		for i := range value[u] {
			if pl.Problem.Op == collective.AllGather && i/parts != u {
				continue
			}
			value[u][i] = rng.Uint64()
			want[i] += value[u][i]
		}
	}
	type arrival struct {
		to, at, origin int
		value          uint64
	}
	terms := make([]map[[2]int]uint64, n) // by GPU: by index and origin
	for i, f := range pl.Phases {
		if i == 0 || !pl.Phases[i-1].Open {
			for u := range terms {
				terms[u] = map[[2]int]uint64{}
				for at, v := range value[u] {
					terms[u][[2]int{at, u}] = v
				}
			}
		}
		list := pl.messages(i)
		for len(list) > 0 {
			var sent []arrival
			step := list[0].Step
			for ; len(list) > 0 && list[0].Step == step; list = list[1:] {
				x := list[0]
				for _, e := range x.Pieces {
					for part := e.From; part < e.To; part++ {
						at := int(e.Shard)*parts + int(part)
						v := value[x.From][at]
						if f.Kind == plan.Exchange {
							v = terms[x.From][[2]int{at, int(e.Origin)}]
						}
						sent = append(sent, arrival{int(x.To), at, int(e.Origin), v})
						if f.Kind == plan.Scatter {
							value[x.From][at] = 0
						}
					}
				}
			}
			if f.Kind == plan.Fold {
				for u := range value {
					clear(value[u])
				}
			}
			for _, a := range sent {
				switch f.Kind {
				case plan.Scatter, plan.Fold:
					value[a.to][a.at] += a.value
				case plan.Gather:
					value[a.to][a.at] = a.value
				case plan.Exchange:
					terms[a.to][[2]int{a.at, a.origin}] = a.value
				}
			}
		}
		if f.Kind == plan.Exchange && !f.Open {
			for u := range value {
				clear(value[u])
				for key, v := range terms[u] {
					value[u][key[0]] += v // sums wrap, so their order is irrelevant
				}
			}
		}
	}
	for u := range value {
		for at, v := range value[u] {
			if (pl.Problem.Op != collective.ReduceScatter || at/parts == u) && v != want[at] {
				t.Fatalf("%s: GPU %d has %d of shard %d, part %d; want %d", pl.Name, u, v, at/parts, at%parts, want[at])
			}
		}
	}
}

// TestByHand: costs computed by hand for 4 GPUs with a link each, 1 ns per byte and a latency of
// 100 ns. An all-gather of 4000 B takes 3 steps of 1000 B on one ring, or 1000 B and 2000 B on
// two topologies. An all-reduce by recursive doubling sends all bytes twice.
func TestByHand(t *testing.T) {
	const ns = engine.Nanosecond
	p := problem(4, 1, collective.AllGather, 4000, 8e9, 100*ns, 50*ns)
	for delay, want := range map[engine.Time]engine.Time{50 * ns: 2*50*ns + 1100*ns + 2100*ns, 200 * ns: 200*ns + 3*1100*ns} {
		p.Delay = delay
		if got := must(best(p))(t).cost(); got != want {
			t.Errorf("all-gather at a delay of %v: %v, want %v", delay, got, want)
		}
	}
	p = problem(4, 1, collective.AllReduce, 4, 8e9, 100*ns, 50*ns)
	best := must(best(p))(t)
	if want := 2 * (50*ns + 100*ns + 4*ns); best.cost() != want || best.Name != "exchange ring 2, ring 2" {
		t.Errorf("small all-reduce: %s at %v, want %v", best.Name, best.cost(), want)
	}
	if b := must(Bound(p))(t); b > best.cost() || b < 2*150*ns {
		t.Errorf("bound %v", b)
	}
}

// TestRepeats: planning is deterministic.
func TestRepeats(t *testing.T) {
	p := problem(60, 3, collective.AllReduce, 1<<20, 8e11, us/2, us)
	show := func() string {
		text := ""
		for _, pl := range must(frontierPlans(p))(t) {
			text += fmt.Sprintln(pl.Name, pl.cost())
			for _, f := range pl.Phases {
				text += fmt.Sprintln(f.Offsets, f.edges, f.MaxMessageBytes)
			}
		}
		return text
	}
	if a, b := show(), show(); a != b {
		t.Errorf("%s\n%s", a, b)
	}
}

// TestDelays: for all sizes and delays, an all-reduce among 64 GPUs is never slower than on
// static rings. Small ones with a low delay use recursive doubling. The test logs where the best
// plan changes.
func TestDelays(t *testing.T) {
	for _, bytes := range []int64{64, 16 << 10, 1 << 20, 64 << 20, 1 << 30} {
		for k := 1; k <= 2; k++ {
			p := problem(64, k, collective.AllReduce, bytes, 8e11, us/2, 0)
			plans, ring := must(frontierPlans(p))(t), must(staticRing(p))(t)
			last := ""
			for delay := engine.Time(0); delay < 20_000*us; delay += max(us/100, delay/20) {
				p.Delay = delay
				best := cheapest(plans, delay)
				if best.costAt(delay) > ring.costAt(delay) {
					t.Errorf("%s slower than %s", best.Name, ring.Name)
				}
				if name := fmt.Sprintf("d=%d, %d steps: %s", best.Reconfigurations(), best.Steps(), best.Name); name != last {
					last = name
					bound := must(Bound(p))(t)
					t.Logf("k=%d, %d B, from R = %v: %s; %v, %.2f of the ring, %.2f of the bound", k, bytes, delay, name,
						best.costAt(delay), float64(best.costAt(delay))/float64(ring.costAt(delay)), float64(best.costAt(delay))/float64(bound))
				}
			}
			minimum := minSteps(64, k)
			best := cheapest(plans, us/10)
			doubles := best.Steps() == minimum[len(minimum)-1] && !slices.ContainsFunc(best.Phases, func(f Phase) bool { return f.Kind != plan.Exchange })
			if bytes == 64 && !doubles {
				t.Errorf("k=%d, %d B: %s is best, not recursive doubling", k, bytes, best.Name)
			}
			if last := cheapest(plans, 10_000*us); last.Reconfigurations() != 1 {
				t.Errorf("k=%d, %d B, R = 10 ms: %s is best", k, bytes, last.Name)
			}
		}
	}
}
