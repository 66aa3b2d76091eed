package simulate_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"pgregory.net/rapid"

	_ "sim/internal/testseed"

	"sim/engine"
	"sim/engine/units"
	"sim/fabric/scaleup"
	"sim/policies/reconfigure/plan"
	"sim/policies/reconfigure/plan/plantest"
	"sim/scenarios/assembly/simulate"
)

// domain returns n GPUs with k switches that reconfigure in 1 ms.
func domain(n, k int) *scaleup.Domain {
	return &scaleup.Domain{
		GPUs: n, Switches: k, Rate: units.Rate(800e9),
		Latency: 500 * engine.Nanosecond, Delay: engine.Millisecond,
	}
}

// transmissions returns transmissions from rows of phase, slot, from, to, source,
// destination and chunk.
func transmissions(rows ...[7]int32) []plan.Tx {
	var list []plan.Tx
	for _, r := range rows {
		list = append(list, plan.Tx{
			Phase: r[0], Slot: r[1], From: r[2], To: r[3], Src: r[4], Dst: r[5], Chunk: r[6],
		})
	}
	return list
}

// chunk is the size of chunks in bytes. A slot takes T = 40.5 us.
const chunk = 4_000_000

// TestSynchronised compares the completion time of random plans with the closed
// form: the number of topologies times R plus the number of slots times T, to the
// tick. Rate, latency and chunk size vary.
func TestSynchronised(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := plantest.Draw(t)
		d := domain(p.GPUs, p.Degree)
		d.Rate = units.Rate(rapid.Float64Range(1e6, 1e12).Draw(t, "rate"))
		d.Latency = engine.Time(rapid.Int64Range(0, 1e7).Draw(t, "latency"))
		d.Delay = engine.Time(rapid.Int64Range(0, 1e10).Draw(t, "delay"))
		size := rapid.Int64Range(1, 1e7).Draw(t, "chunk")

		slots := int64(0)
		for i := range p.Slots { // count the slots with transmissions
			last := int32(0)
			for _, x := range p.Tx {
				if int(x.Phase) == i {
					last = max(last, x.Slot+1)
				}
			}
			slots += int64(last)
		}

		want := engine.Time(len(p.Topologies))*d.Delay + engine.Time(slots)*d.Slot(size)
		got, err := simulate.Synchronised(context.Background(), d, p, size)
		closed := p.Cost(d.Delay, d.Slot(size))
		if err != nil || got != want || closed != want {
			t.Fatalf("synchronised %v (%v), closed form %v, want %v", got, err, closed, want)
		}
	})
}

// TestSynchronisedRounding checks a chunk whose slot is rounded up, and whose
// packet takes two ticks less than the slot because its time per byte is rounded.
func TestSynchronisedRounding(t *testing.T) {
	d := &scaleup.Domain{GPUs: 2, Switches: 1, Rate: 1.032652189743042e+06}

	p := &plan.Plan{GPUs: 2, Degree: 1, Chunks: []int32{0, 0, 1, 0},
		Topologies: []scaleup.Topology{scaleup.Circulant(2, 1)}, Slots: []int32{1}}
	p.Tx = transmissions([7]int32{0, 0, 1, 0, 1, 0, 0})
	if err := p.Seal(); err != nil {
		t.Fatal(err)
	}

	got, err := simulate.Synchronised(context.Background(), d, p, 1444667)
	if want := d.Slot(1444667); err != nil || got != want {
		t.Errorf("%v (%v), want %v", got, err, want)
	}
}

// TestContention moves a transmission to a slot in which its link is busy. The
// error must be ErrContention.
func TestContention(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := plantest.Draw(t)
		var pairs [][2]int
		for i, x := range p.Tx {
			for j, y := range p.Tx {
				// If both are the first hops of their chunks, only the contention
				// is wrong.
				if i != j && x.Phase == y.Phase && x.From == y.From && x.To == y.To &&
					y.Slot < x.Slot && x.From == x.Src && y.From == y.Src {
					pairs = append(pairs, [2]int{i, j})
				}
			}
		}
		if len(pairs) == 0 {
			t.Skip("no link is used twice by first hops")
		}

		// Move the later transmission. With parallel links, there may be no
		// contention.
		k := rapid.SampledFrom(pairs).Draw(t, "pair")
		moved, other := p.Tx[k[0]], p.Tx[k[1]]
		p.Tx[k[0]].Slot = other.Slot
		if err := p.Seal(); err == nil {
			t.Skip("there are parallel links")
		}

		d := domain(p.GPUs, p.Degree)
		_, err := simulate.Synchronised(context.Background(), d, p, chunk)
		if errors.Is(err, simulate.ErrSimulate) {
			t.Skip("the chunk is sent on before it arrives")
		}

		// A free simulation sends one of them later.
		if !errors.Is(err, simulate.ErrContention) {
			t.Fatalf("%v moved to the slot of %v: got error %v, want contention", moved, other, err)
		}
		if _, err := simulate.Free(context.Background(), d, p, chunk); err != nil {
			t.Errorf("free: got error %v, want none", err)
		}
	})
}

// contendingPlan returns a plan for a ring of 3 with two chunks in one slot of one
// link.
func contendingPlan() *plan.Plan {
	p := &plan.Plan{GPUs: 3, Degree: 1, Chunks: []int32{0, 1, 1, 0, 0, 0, 0, 0, 0},
		Topologies: []scaleup.Topology{scaleup.Circulant(3, 1)}, Slots: []int32{2}}
	p.Tx = transmissions([7]int32{0, 0, 0, 1, 0, 1, 0}, [7]int32{0, 0, 0, 1, 0, 2, 0},
		[7]int32{0, 1, 1, 2, 0, 2, 0})
	return p
}

// TestContentionNamed checks that the error names the link, the slot and both
// chunks.
func TestContentionNamed(t *testing.T) {
	_, err := simulate.Synchronised(context.Background(), domain(3, 1), contendingPlan(), chunk)
	want := "on link 0->1 in slot 0 of phase 0: chunk 0 of 0->1 and chunk 0 of 0->2, which ends 4e-05s late" // its latency overlaps
	if !errors.Is(err, simulate.ErrContention) || !strings.Contains(err.Error(), want) {
		t.Error(err)
	}
}

// TestFree compares a simulation with times computed by hand. On a ring of 3, a
// chunk takes 10 us and a latency of 1 us. GPU 0 sends 2 chunks to GPU 1 and one
// to GPU 2.
//
// The plan sends chunk 1 of 0->1 first, but chunks with number 0 have priority, in
// the order of the plan. GPU 0 sends chunk 0 of 0->2 until 10 us, chunk 0 of 0->1
// until 20 us, and chunk 1 until 30 us, which arrives at 31 us. GPU 1 sends chunk
// 0 of 1->2 until 10 us and chunk 1 until 20 us, because chunk 0 of 0->2 arrives
// at 11 us only. It sends this one until 30 us; it arrives at 31 us. The phase
// thus takes 31 us, after R = 100 us.
func TestFree(t *testing.T) {
	d := &scaleup.Domain{GPUs: 3, Switches: 1, Rate: 8e9, Latency: engine.Microsecond,
		Delay: 100 * engine.Microsecond}
	p := &plan.Plan{GPUs: 3, Degree: 1, Chunks: []int32{0, 2, 1, 0, 0, 2, 0, 0, 0},
		Topologies: []scaleup.Topology{scaleup.Circulant(3, 1)}, Slots: []int32{4}}
	p.Tx = transmissions([7]int32{0, 0, 0, 1, 0, 1, 1}, [7]int32{0, 0, 1, 2, 1, 2, 1},
		[7]int32{0, 1, 0, 1, 0, 2, 0}, [7]int32{0, 1, 1, 2, 1, 2, 0},
		[7]int32{0, 2, 0, 1, 0, 1, 0},
		[7]int32{0, 2, 1, 2, 0, 2, 0})
	if err := p.Seal(); err != nil {
		t.Fatal(err)
	}

	r, err := simulate.Free(context.Background(), d, p, 10_000)
	const us = engine.Microsecond
	if err != nil || r.Completion != 131*us ||
		r.Phases[0] != (simulate.Phase{Start: 100 * us, End: 131 * us}) || r.Hops != 6 || r.LargestQueue != 1 {
		t.Errorf("%+v %v", r, err)
	}
	// At level flow, the links 0->1 and 1->2 have 3 chunks each, which share the
	// rate until all end at 30 us.
	f, err := simulate.Fluid(context.Background(), d, p, 10_000)
	if err != nil || f.Completion != 130*us {
		t.Errorf("fluid: got %+v (%v), want a completion of 130 us", f, err)
	}
}

// TestFreeOvertakes checks that a chunk in transit overtakes chunks with higher
// numbers at their source. On a ring of 4, a chunk takes 10 us, with a latency of
// 1 ps. GPU 1 has 3 chunks for GPU 2. Chunk 0 of 0->3 arrives at GPU 1 just after
// 10 us and is sent on at 20 us and 30 us. It arrives at 40 us, together with the
// last chunk of 1->2. Behind all of these, it would arrive at 50 us. It is the
// only chunk that waits in transit.
func TestFreeOvertakes(t *testing.T) {
	d := &scaleup.Domain{GPUs: 4, Switches: 1, Rate: 8e9, Latency: 1}
	p := &plan.Plan{GPUs: 4, Degree: 1, Chunks: make([]int32, 16),
		Topologies: []scaleup.Topology{scaleup.Circulant(4, 1)}, Slots: []int32{5}}

	p.Chunks[3], p.Chunks[4+2] = 1, 3
	p.Tx = transmissions([7]int32{0, 0, 0, 1, 0, 3, 0}, [7]int32{0, 0, 1, 2, 1, 2, 0},
		[7]int32{0, 1, 1, 2, 1, 2, 1},
		[7]int32{0, 2, 1, 2, 1, 2, 2}, [7]int32{0, 3, 1, 2, 0, 3, 0},
		[7]int32{0, 4, 2, 3, 0, 3, 0})
	if err := p.Seal(); err != nil {
		t.Fatal(err)
	}

	r, err := simulate.Free(context.Background(), d, p, 10_000)
	if err != nil || r.Completion != 40*engine.Microsecond+2 || r.LargestQueue != 1 {
		t.Errorf("%+v %v", r, err)
	}
}

// TestFluidBound checks bounds on the times of random plans. In each phase, the
// fluid time is at least the time of the busiest link, and at most the time of all
// chunks one after the other. The lower bound also holds for free packets.
func TestFluidBound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := plantest.Draw(t)
		d := domain(p.GPUs, p.Degree)
		f, err := simulate.Fluid(context.Background(), d, p, chunk)
		q, err2 := simulate.Free(context.Background(), d, p, chunk)
		if err != nil || err2 != nil {
			t.Fatal(err, err2)
		}

		end := engine.Time(0)
		hops := int64(0)
		for i, top := range p.Topologies {
			count, load, links := 0, map[scaleup.Edge]int{}, map[scaleup.Edge]int{}
			for _, e := range top {
				links[e]++
			}

			// Count the transmissions of each pair of GPUs, which its parallel
			// links share.
			for _, x := range p.Tx {
				if int(x.Phase) == i {
					load[scaleup.Edge{From: x.From, To: x.To}]++
					count++
				}
			}

			maxLoad := 0.0
			for e, l := range load {
				maxLoad = max(maxLoad, float64(l)/float64(links[e]))
			}
			hops += int64(count)

			chunkTime := float64(40 * engine.Microsecond)
			fluidTime := float64(f.Phases[i].End - f.Phases[i].Start)
			if fluidTime < maxLoad*chunkTime-10 || fluidTime > float64(count)*chunkTime+10 {
				t.Fatalf("phase %d: fluid takes %g ticks for a load of %g and %d hops",
					i, fluidTime, maxLoad, count)
			}

			freeTime := float64(q.Phases[i].End - q.Phases[i].Start)
			if freeTime < maxLoad*chunkTime || freeTime > float64(count)*(chunkTime+5e5) {
				t.Fatalf("phase %d: packets take %g ticks for a load of %g and %d hops",
					i, freeTime, maxLoad, count)
			}

			if q.Phases[i].Start != end+d.Delay {
				t.Fatalf("phase %d starts at %v, the phase before it ended at %v", i,
					q.Phases[i].Start, end)
			}
			end = q.Phases[i].End
		}

		if q.Completion != end || q.Hops != hops {
			t.Fatalf("got %+v, want the completion %v and %d hops", q, end, hops)
		}
	})
}

// TestShifts checks that all modes agree on shifted rings without latency. For 8
// GPUs with one ring, the plan takes 28 slots.
func TestShifts(t *testing.T) {
	p := ring(8, 1)
	d := domain(8, 1)
	d.Latency = 0
	want := d.Delay + 28*40*engine.Microsecond

	s, err := simulate.Synchronised(context.Background(), d, p, chunk)
	f, err2 := simulate.Free(context.Background(), d, p, chunk)
	u, err3 := simulate.Fluid(context.Background(), d, p, chunk)
	if err != nil || err2 != nil || err3 != nil {
		t.Fatal(err, err2, err3)
	}

	if s != want || f.Completion != want || u.Completion != want {
		t.Errorf("synchronised %v, free %v, fluid %v, want %v", s, f.Completion,
			u.Completion, want)
	}
}

// ring returns an all-to-all on a ring in rounds. Round h sends the chunks to the
// GPUs at distance h.
func ring(n int, chunks int32) *plan.Plan {
	p := &plan.Plan{GPUs: n, Degree: 1, Chunks: plan.UniformProblem(n, 1, chunks).Chunks,
		Topologies: []scaleup.Topology{scaleup.Circulant(n, 1)}}

	slot := int32(0)
	for c := range chunks {
		for distance := 1; distance < n; distance++ {
			for h := range distance {
				for u := range n {
					p.Tx = append(p.Tx, plan.Tx{
						Slot: slot, From: int32((u + h) % n), To: int32((u + h + 1) % n),
						Src: int32(u), Dst: int32((u + distance) % n), Chunk: c,
					})
				}
				slot++
			}
		}
	}

	p.Slots = []int32{slot}
	if err := p.Seal(); err != nil {
		panic(err)
	}
	return p
}

// TestIndependentSwitches compares a plan for two independent switches with times
// computed by hand. R is 2 slots. Phase 0 has no circuits, phase 1 has the
// circuits of switch 0, and phase 2 has the circuits of both.
func TestIndependentSwitches(t *testing.T) {
	swap := scaleup.Circulant(3, 1)
	back := scaleup.Circulant(3, 2)
	p := &plan.Plan{
		GPUs: 3, Degree: 2, Relay: true, Chunks: []int32{0, 2, 1, 0, 0, 0, 0, 0, 0},
		Topologies: []scaleup.Topology{{}, swap,
			append(append(scaleup.Topology{}, swap...), back...)},
		Switches: [][]int32{{}, {0, 0, 0}, {0, 0, 0, 1, 1, 1}}, DelaySlots: 2,
		Slots: []int32{2, 1, 1},
		Tx: transmissions([7]int32{1, 0, 0, 1, 0, 1, 0}, [7]int32{2, 0, 0, 1, 0, 1, 1},
			[7]int32{2, 0, 0, 2, 0, 2, 0}),
	}

	if err := p.Seal(); err != nil {
		t.Fatal(err)
	}

	d := domain(3, 2)
	d.Independent = true
	slot := d.Slot(chunk)
	d.Delay = 2 * slot

	// R, and then one slot of phase 1 and one of phase 2. Switch 1 reconfigures
	// from time 0.
	for name, want := range map[string]engine.Time{"synchronised": 4 * slot, "free": 4 * slot, "closed": 4 * slot} {
		var got engine.Time
		var err error
		switch name {
		case "synchronised":
			got, err = simulate.Synchronised(context.Background(), d, p, chunk)
		case "closed":
			got = p.Cost(d.Delay, slot)
		default:
			var r *simulate.Result
			if r, err = simulate.Free(context.Background(), d, p, chunk); err == nil {
				got = r.Completion
			}
		}
		if err != nil || got != want {
			t.Errorf("%s: got %v (%v), want %v", name, got, err, want)
		}
	}

	d.Delay++
	if _, err := simulate.Synchronised(t.Context(), d, p, chunk); !errors.Is(err,
		simulate.ErrSimulate) {
		t.Errorf("a delay longer than DelaySlots: got error %v, want ErrSimulate", err)
	}
}

// TestInvalidPlans checks the errors of plans that do not fit the domain or are
// invalid, and of a cancelled context.
func TestInvalidPlans(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := simulate.Free(ctx, domain(8, 1), ring(8, 1), chunk); !errors.Is(err,
		context.Canceled) {
		t.Error(err)
	}

	if _, err := simulate.Synchronised(ctx, domain(8, 1), ring(8, 1), chunk); !errors.Is(err,
		context.Canceled) {
		t.Error(err)
	}

	// The names are parts of the errors.
	for name, change := range map[string]func(d *scaleup.Domain, p *plan.Plan, chunk *int64){
		"the domain has 9":  func(d *scaleup.Domain, p *plan.Plan, chunk *int64) { d.GPUs = 9 },
		"chunks of 0 B":     func(d *scaleup.Domain, p *plan.Plan, chunk *int64) { *chunk = 0 },
		"a packet has at":   func(d *scaleup.Domain, p *plan.Plan, chunk *int64) { *chunk = 1 << 30 },
		"no such link":      func(d *scaleup.Domain, p *plan.Plan, chunk *int64) { p.Tx[3].To = p.Tx[3].From },
		"the chunk is at":   func(d *scaleup.Domain, p *plan.Plan, chunk *int64) { p.Tx[3].From = 7 },
		"ends at GPU":       func(d *scaleup.Domain, p *plan.Plan, chunk *int64) { p.Tx = p.Tx[:len(p.Tx)-1] },
		"a GPU outside":     func(d *scaleup.Domain, p *plan.Plan, chunk *int64) { p.Tx[0].Dst = 8 },
		"no such chunk":     func(d *scaleup.Domain, p *plan.Plan, chunk *int64) { p.Tx[0].Chunk = 1 },
		"no such slot":      func(d *scaleup.Domain, p *plan.Plan, chunk *int64) { p.Tx[0].Slot = 28 },
		"no such phase":     func(d *scaleup.Domain, p *plan.Plan, chunk *int64) { p.Tx[len(p.Tx)-1].Phase = 1 },
		"counts of slots":   func(d *scaleup.Domain, p *plan.Plan, chunk *int64) { p.Slots = nil },
		"longer than simul": func(d *scaleup.Domain, p *plan.Plan, chunk *int64) { d.Delay = engine.Never },
		"below 0":           func(d *scaleup.Domain, p *plan.Plan, chunk *int64) { d.Delay = -1 },
		"leaves GPUs 0..7":  func(d *scaleup.Domain, p *plan.Plan, chunk *int64) { p.Topologies[0][2].To = 8 },
	} {
		d, p, size := domain(8, 1), ring(8, 1), int64(chunk)
		change(d, p, &size)
		for _, err := range []error{
			func() error { _, err := simulate.Synchronised(context.Background(), d, p, size); return err }(),
			func() error { _, err := simulate.Free(context.Background(), d, p, size); return err }(),
		} {
			if !errors.Is(err, simulate.ErrSimulate) || !strings.Contains(err.Error(), name) {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}

// TestParallelLinks checks that two chunks in one slot on two parallel links do
// not contend.
func TestParallelLinks(t *testing.T) {
	p := &plan.Plan{GPUs: 3, Degree: 2, Chunks: []int32{0, 2, 0, 0, 0, 0, 0, 0, 0},
		Topologies: []scaleup.Topology{scaleup.Circulant(3, 1, 1)}, Slots: []int32{1}}
	p.Tx = transmissions([7]int32{0, 0, 0, 1, 0, 1, 0}, [7]int32{0, 0, 0, 1, 0, 1, 1})
	if err := p.Seal(); err != nil {
		t.Fatal(err)
	}
	d := domain(3, 2)
	want := d.Delay + d.Slot(chunk)
	got, err := simulate.Synchronised(context.Background(), d, p, chunk)
	free, err2 := simulate.Free(context.Background(), d, p, chunk)
	if err != nil || err2 != nil || got != want || free.Completion != want {
		t.Errorf("synchronised %v (%v), free %v (%v), want %v", got, err, free, err2, want)
	}
}

// TestRepeatedLink checks that a chunk that uses a link twice counts twice at
// level flow. On a ring of 3, the chunk goes from 0 past 2 to 2 again. It takes 80
// us on links that need 40 us per chunk.
func TestRepeatedLink(t *testing.T) {
	p := &plan.Plan{GPUs: 3, Degree: 1, Chunks: []int32{0, 0, 1, 0, 0, 0, 0, 0, 0},
		Topologies: []scaleup.Topology{scaleup.Circulant(3, 1)}, Slots: []int32{5}}
	for s := range int32(5) {
		p.Tx = append(p.Tx, plan.Tx{Slot: s, From: s % 3, To: (s + 1) % 3, Src: 0, Dst: 2})
	}
	if err := p.Seal(); err != nil {
		t.Fatal(err)
	}
	d := domain(3, 1)
	r, err := simulate.Fluid(context.Background(), d, p, chunk)
	free, err2 := simulate.Free(context.Background(), d, p, chunk)
	if err != nil || err2 != nil || r.Completion != d.Delay+80*engine.Microsecond ||
		free.Completion != d.Delay+5*d.Slot(chunk) {
		t.Errorf("%+v (%v), %+v (%v)", r, err, free, err2)
	}
}

// TestFreeSwitchSetup checks that, in a free simulation, a switch is down for R
// from the end of the phase in which it was last used. Phases 0 and 2 have no
// circuits, phases 1 and 3 send one chunk each. The plan takes R + T + R + T,
// although it contains a longer time without circuits.
func TestFreeSwitchSetup(t *testing.T) {
	p := &plan.Plan{
		GPUs: 3, Degree: 1, Chunks: []int32{0, 1, 1, 0, 0, 0, 0, 0, 0},
		Topologies: []scaleup.Topology{{}, scaleup.Circulant(3, 1), {},
			scaleup.Circulant(3, 2)},
		Switches: [][]int32{{}, {0, 0, 0}, {}, {0, 0, 0}}, DelaySlots: 2,
		Slots: []int32{2, 1, 3, 1},
		Tx:    transmissions([7]int32{1, 0, 0, 1, 0, 1, 0}, [7]int32{3, 0, 0, 2, 0, 2, 0}),
	}

	if err := p.Seal(); err != nil {
		t.Fatal(err)
	}
	d := domain(3, 1)
	slot := d.Slot(chunk)
	d.Delay = 2*slot - 5
	got, err := simulate.Synchronised(context.Background(), d, p, chunk)
	free, err2 := simulate.Free(context.Background(), d, p, chunk)
	if err != nil || err2 != nil || got != 7*slot || free.Completion != 2*(d.Delay+slot) {
		t.Errorf("synchronised %v (%v), free %+v (%v)", got, err, free, err2)
	}
}

// TestTwoHopsPerSlot checks that a chunk cannot be sent on in the slot in which it
// arrives.
func TestTwoHopsPerSlot(t *testing.T) {
	p := contendingPlan()
	p.Chunks, p.Slots = []int32{0, 0, 1, 0, 0, 0, 0, 0, 0}, []int32{1}
	p.Tx = transmissions([7]int32{0, 0, 0, 1, 0, 2, 0}, [7]int32{0, 0, 1, 2, 0, 2, 0})
	_, err := simulate.Synchronised(context.Background(), domain(3, 1), p, chunk)
	if !errors.Is(err, simulate.ErrContention) ||
		!strings.Contains(err.Error(), "it is not there when the slot starts") {
		t.Error(err)
	}
}

// TestNoQueue checks that a single chunk does not wait, and takes one hop.
func TestNoQueue(t *testing.T) {
	p := contendingPlan()
	p.Chunks, p.Slots, p.Tx = []int32{0, 1, 0, 0, 0, 0, 0, 0, 0}, []int32{1},
		transmissions([7]int32{0, 0, 0, 1, 0, 1, 0})
	r, err := simulate.Free(context.Background(), domain(3, 1), p, chunk)
	if err != nil || r.LargestQueue != 0 || r.Hops != 1 {
		t.Errorf("%+v, %v", r, err)
	}
}

// TestIdleSlots checks that slots without transmissions take as long as others, at
// the start and in between.
func TestIdleSlots(t *testing.T) {
	p := contendingPlan()
	p.Slots, p.Tx = []int32{6}, transmissions([7]int32{0, 1, 0, 1, 0, 1, 0},
		[7]int32{0, 3, 0, 1, 0, 2, 0},
		[7]int32{0, 5, 1, 2, 0, 2, 0})
	d := domain(3, 1)
	if got, err := simulate.Synchronised(context.Background(), d, p, chunk); err != nil ||
		got != d.Delay+6*d.Slot(chunk) {
		t.Errorf("got %v (%v), want %v", got, err, d.Delay+6*d.Slot(chunk))
	}
}
