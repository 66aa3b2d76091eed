package reconfigure

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"

	_ "sim/internal/testseed"

	"sim/engine"
	"sim/policies/reconfigure/plan"
	"sim/policies/reconfigure/rounds"
)

var long = flag.Bool("long", false, "also run the tests that take a minute")

// newTestSet returns a PlannerSet or fails.
func newTestSet(t testing.TB, p *plan.Problem, o Options) *PlannerSet {
	t.Helper()
	s, err := NewPlannerSet(p, o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// minSlots returns the minimum slots of the candidates with at most d topologies, indexed
// by d.
func minSlots(list []plan.Candidate, maxTopologies int) []int64 {
	slots := make([]int64, maxTopologies+1)
	for d := range slots {
		slots[d] = math.MaxInt64
		for _, c := range list {
			if c.Build != nil && c.Switches == nil && c.Reconfigurations <= d {
				slots[d] = min(slots[d], c.Slots)
			}
		}
	}
	return slots
}

// Without relaying, our own constructions take no more slots than the paper's for each
// number of topologies.
func TestPlusAndThePaper(t *testing.T) {
	for _, n := range []int{8, 16, 32} { // of 64 scale-up studies say so
		for _, k := range []int{1, 2} {
			s := newTestSet(t, plan.UniformProblem(n, k, 1), Options{})
			theirs, err := s.Candidates(context.Background(), "reconfigure-during")
			if err != nil {
				t.Fatal(err)
			}
			ours, err := s.Candidates(context.Background(), "reconfigure-during+")
			if err != nil {
				t.Fatal(err)
			}
			maxTopologies := (n-2)/k + 1
			a, b := minSlots(ours, maxTopologies), minSlots(theirs, maxTopologies)
			for d := 1; d <= maxTopologies; d++ {
				if a[d] > b[d] {
					t.Errorf("n=%d k=%d d=%d: ours %d slots, the paper's %d", n, k, d, a[d], b[d])
				}
			}
			t.Logf("n=%d k=%d: slots by d, ours %v, the paper's %v", n, k, a[1:], b[1:])
		}
	}
}

// With relaying, 64 GPUs of degree 1 take at most 436, 266 and 209 slots on 2 to 4
// topologies.
func TestRelaySlots(t *testing.T) {
	s := newTestSet(t, plan.UniformProblem(64, 1, 1), Options{Settings: Settings{Plus: PlusOptions{Relay: true}}})
	list, err := s.Candidates(context.Background(), "reconfigure-during+")
	if err != nil {
		t.Fatal(err)
	}
	got := minSlots(list, 4)
	for d, maxSlots := range map[int]int64{2: 436, 3: 266, 4: 209} {
		if got[d] > maxSlots {
			t.Errorf("d=%d: %d slots, want at most %d", d, got[d], maxSlots)
		}
	}
	for i := range list {
		if c := &list[i]; c.Relay && c.Reconfigurations < 5 {
			p := sealed(t, c)
			t.Logf("d=%d: %d slots, %d chunks held", c.Reconfigurations, c.Slots, p.Buffer)
		}
	}
}

// For uniform demand, plans on one or two irregular topologies are used if they are better
// than circulants. With 32 GPUs (with -long) the best circulants take 594 and 322 slots,
// and the Kautz graph takes 527; with 16 GPUs the best circulants take 184 and 117.
func TestIrregular(t *testing.T) {
	for _, c := range []struct {
		n, k     int
		chunks   int32
		maxSlots map[int]int64
	}{{32, 2, 8, map[int]int64{1: 440, 2: 306}}, {16, 2, 8, map[int]int64{1: 160, 2: 116}}, {16, 3, 1, map[int]int64{1: 11}}} {
		if c.n > 16 && !*long {
			continue
		}
		s := newTestSet(t, plan.UniformProblem(c.n, c.k, c.chunks), Options{Settings: Settings{Plus: PlusOptions{Relay: true}}})
		list, err := s.Candidates(t.Context(), "reconfigure-during+")
		if err != nil {
			t.Fatal(err)
		}
		got := minSlots(list, 2)
		for d, maxSlots := range c.maxSlots {
			if got[d] > maxSlots {
				t.Errorf("n=%d, d=%d: %d slots, want at most %d", c.n, d, got[d], maxSlots)
			}
		}
	}
}

func sealed(t fataler, c *plan.Candidate) *plan.Plan {
	p, err := c.Build(3, nil)
	if err == nil {
		err = p.Seal()
	}
	if err != nil {
		t.Fatalf("%s, %d topologies: %v", c.Origin, c.Reconfigurations, err)
	}
	if got := p.TotalSlots(); c.Switches == nil && (got != c.Slots || len(p.Topologies) != c.Reconfigurations) {
		t.Fatalf("%s: %d slots on %d topologies, claimed %d on %d", c.Origin, got, len(p.Topologies), c.Slots, c.Reconfigurations)
	}
	return p
}

type fataler interface {
	Fatalf(format string, args ...any)
}

// The candidates of all planners have plans that pass the check, with the slots of the
// candidate, within the buffer limit and above the bounds. Ours are as good as the
// candidates of any other planner.
func TestEveryCandidate(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(2, 9).Draw(t, "n")
		p := &plan.Problem{GPUs: n, Degree: rapid.IntRange(1, n-1).Draw(t, "k"), Seed: 7, Chunks: make([]int32, n*n)}
		maxChunks := rapid.SampledFrom([]int32{1, 3, 12}).Draw(t, "most")
		uniform := rapid.Bool().Draw(t, "uniform")
		for i := range p.Chunks {
			if i/n != i%n {
				p.Chunks[i] = maxChunks
				if !uniform {
					p.Chunks[i] = rapid.Int32Range(0, maxChunks).Draw(t, "chunks")
				}
			}
		}
		o := Options{
			Settings: Settings{
				Plus: PlusOptions{
					Relay: rapid.Bool().Draw(t, "relay"), Others: rapid.Bool().Draw(t, "others"),
					Buffer: rapid.SampledFrom([]int{0, 0, 4, 10}).Draw(t, "buffer"),
				},
				During: DuringOptions{Schedule: rapid.SampledFrom([]string{"best", rounds.ByRound, rounds.ByIndex}).Draw(t, "schedule"), Relabel: true},
			},
			Independent: rapid.Bool().Draw(t, "independent"), Workers: 2,
		}
		s, err := NewPlannerSet(p, o)
		if err != nil {
			t.Fatal(err)
		}
		b, err := plan.NewBounder(p, nil)
		if err != nil {
			t.Fatal(err)
		}
		delay := rapid.SampledFrom([]engine.Time{0, 300, 4000, 100_000}).Draw(t, "delay")
		var ours, theirs []plan.Candidate
		for _, r := range Table {
			list, err := s.Candidates(context.Background(), r.Name)
			if errors.Is(err, ErrUnserved) {
				continue
			}
			if err != nil {
				t.Fatalf("%s: %v", r.Name, err)
			}
			for i := range list {
				c := &list[i]
				if c.Reconfigurations > 0 { // nothing to send takes none
					if gap, _, err := b.Gap(c); err != nil || gap < -1e-9 {
						t.Fatalf("%s, %s: gap %g, %v", r.Name, c.Origin, gap, err)
					}
					for _, rules := range []plan.Rules{
						{}, {Relay: true}, {Independent: true}, {Standing: true}, {Relay: true, Topologies: c.Reconfigurations}, {Independent: true, Standing: true},
					} {
						if c.Relay && !rules.Relay && !rules.Independent || c.Switches != nil && !rules.Independent {
							continue
						}
						const slot = 1000
						cost := c.Cost(delay, slot)
						if rules.Standing && c.Reconfigurations == 1 {
							cost = c.Cost(0, slot)
						}
						if minCost := b.Completion(rules, delay, slot, c.Fluid > 0); cost < minCost {
							t.Fatalf("%s, %s: %d below %d, which bounds %+v", r.Name, c.Origin, cost, minCost, rules)
						}
					}
				}
				if c.Build == nil {
					continue
				}
				pl := sealed(t, c)
				if r.Name == "reconfigure-during+" && c.Relay && o.Plus.Buffer > 0 && int(pl.Buffer) > o.Plus.Buffer {
					t.Fatalf("%s holds %d chunks, at most %d are allowed", c.Origin, pl.Buffer, o.Plus.Buffer)
				}
			}
			switch {
			case r.Name == "reconfigure-during+":
				ours = list
			case r.Name != "bruck" || o.Plus.Relay && o.Plus.Buffer == 0:
				theirs = append(theirs, list...)
			}
		}
		if !o.Plus.Others {
			return
		}
		a, z := minSlots(ours, n), minSlots(theirs, n)
		for d := range a {
			if a[d] > z[d] {
				t.Fatalf("%d topologies: %d slots, another planner %d", d, a[d], z[d])
			}
		}
	})
}

// The same problem has the same candidates, for each number of goroutines.
func TestReproducible(t *testing.T) {
	p := plan.UniformProblem(12, 2, 3)
	for i := range p.Chunks {
		if p.Chunks[i] > 0 {
			p.Chunks[i] = int32(1 + i*i%11)
		}
	}
	text := func(workers int) string {
		var b strings.Builder
		for _, r := range Table {
			list, err := newTestSet(t, p, Options{Settings: Settings{Plus: PlusOptions{Relay: true, Others: true}}, Workers: workers}).Candidates(context.Background(), r.Name)
			if err != nil && !errors.Is(err, ErrUnserved) {
				t.Fatal(err)
			}
			for i := range list {
				c := &list[i]
				fmt.Fprintln(&b, r.Name, c.Origin, c.Reconfigurations, c.Slots, c.Fluid)
				if c.Build != nil {
					fmt.Fprintln(&b, sealed(t, c).Tx)
				}
			}
		}
		return b.String()
	}
	if text(1) != text(4) {
		t.Error("one goroutine plans otherwise than four")
	}
}

// Unknown planners and invalid problems return the documented errors.
func TestInvalidInput(t *testing.T) {
	s := newTestSet(t, plan.UniformProblem(4, 1, 1), Options{})
	if _, err := s.Candidates(context.Background(), "slow"); !errors.Is(err, ErrPlanner) {
		t.Errorf("a planner that there is not: %v", err)
	}
	if _, err := s.Candidates(context.Background(), "imported"); !errors.Is(err, ErrUnserved) {
		t.Errorf("nothing imported: %v", err)
	}
	if _, err := NewPlannerSet(plan.UniformProblem(4, 4, 1), Options{}); !errors.Is(err, plan.ErrProblem) {
		t.Errorf("as many switches as GPUs: %v", err)
	}
}

// BenchmarkPlus plans all numbers of topologies of "reconfigure-during+".
func BenchmarkPlus(b *testing.B) {
	for _, c := range []struct {
		n, k   int
		chunks int32
	}{{64, 1, 8}, {64, 2, 8}, {64, 2, 1}, {256, 2, 1}, {64, 3, 8}, {64, 4, 8}, {1024, 2, 1}} {
		b.Run(fmt.Sprintf("n=%d,k=%d,chunks=%d", c.n, c.k, c.chunks), func(b *testing.B) {
			for b.Loop() {
				if _, err := newTestSet(b, plan.UniformProblem(c.n, c.k, c.chunks), Options{Settings: Settings{Plus: PlusOptions{Relay: true, Others: true}}, Workers: 2}).Candidates(context.Background(), "reconfigure-during+"); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkUnequal plans unequal demands for several numbers of GPUs.
func BenchmarkUnequal(b *testing.B) {
	for _, n := range []int{32, 64, 128, 256, 512} {
		b.Run(fmt.Sprintf("n=%d", n), func(b *testing.B) {
			for b.Loop() {
				list, err := newTestSet(b, unequal(n, 2), Options{Settings: Settings{Plus: PlusOptions{Relay: true, Others: true}}, Workers: 2}).Candidates(context.Background(), "reconfigure-during+")
				if err != nil {
					b.Fatal(err)
				}
				b.ReportMetric(float64(list[0].Slots), "slots")
			}
		})
	}
}
