package topology

import (
	"context"
	"testing"

	"pgregory.net/rapid"

	_ "sim/internal/testseed"

	"sim/engine"
)

// TestLenderServesBest compares Lend with an enumeration of the port-lending job's
// topologies that keep its limit: all of them, or all with minimum ports. None may give
// the borrowing job a shorter iteration than the selected one.
func TestLenderServesBest(t *testing.T) {
	t.Parallel()
	for range 3 {
		rapid.Check(t, func(t *rapid.T) {
			p := drawProblem(t)
			if len(p.Fabric.Bundles) == 0 {
				t.Skip("nothing to connect")
			}
			by := rapid.SampledFrom([]Policy{topoAllocator{}, jointAllocator{}}).Draw(t, "donor")
			o := Options{Workers: 1, Settings: Settings{
				Topo: newSharedBudget().SearchOptions, Joint: newSharedBudget().SearchOptions,
				PortTolerance: rapid.SampledFrom([]float64{0, 0.1, 0.5}).Draw(t, "tolerance"),
			}}
			ticks := engine.Time(len(p.Graph.Tasks)) // effect of rounding
			value := map[LoanTies]engine.Time{}
			var first *Loan
			for _, ties := range []LoanTies{FirstFound, BestForBorrower, BestOfAll} {
				g, err := p.Lend(context.Background(), by, p, ties, o)
				if err != nil {
					t.Fatal(err)
				}
				value[ties] = sharedOf(t, g.Borrower).makespan
				if first == nil {
					first = g
				}
				if g.Makespan > g.Limit || g.Incomplete != "" ||
					ties != BestOfAll && p.PortsUsed(g.Circuits) != p.PortsUsed(first.Circuits) {
					t.Fatalf("%s: %v ends at %v, limit %v; %s", ties, g.Circuits, g.Makespan, g.Limit,
						g.Incomplete)
				}
			}
			d := portCase{p: p, service: first.Service,
				makespanLimit: makespanLimit{limit: first.Limit, fixedService: !first.FreeRates}}
			best := map[LoanTies]engine.Time{BestForBorrower: never, BestOfAll: never}
			if !visitTopologies(p, func(x []int) {
				if ok, _ := d.keeps(x); !ok {
					return
				}
				q, err := p.withExtraPorts(p.freePorts(x))
				if err != nil {
					t.Fatal(err)
				}
				j := sharedOf(t, q)
				c := j.makespan
				if c > j.bound+ticks {
					t.Skip("not certified: more ports may look worse")
				}
				best[BestOfAll] = min(best[BestOfAll], c)
				if p.PortsUsed(x) == p.PortsUsed(first.Circuits) {
					best[BestForBorrower] = min(best[BestForBorrower], c)
				}
			}) {
				t.Skip("too many topologies")
			}
			for ties, want := range best {
				if value[ties] > want+ticks {
					t.Fatalf("%s: the borrowing job ends at %v, %v is possible", ties, value[ties], want)
				}
			}
			if value[BestOfAll] > value[BestForBorrower]+ticks ||
				value[BestForBorrower] > value[FirstFound]+ticks {
				t.Fatalf("makespans by ties are not ordered: %v", value)
			}
		})
	}
}

// TestDonateRefuses checks that Lend fails if the allocator does not minimise ports or if
// the pods differ.
func TestDonateRefuses(t *testing.T) {
	p := peerProblem(t)
	if _, err := p.Lend(context.Background(), baselineAllocator{proportional}, p, FirstFound,
		Options{}); err == nil {
		t.Error("Lend accepts prop-alloc, which does not minimise ports")
	}
	other := *p.Fabric
	other.Copies++
	q, err := NewProblem(p.Graph, &other)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Lend(context.Background(), topoAllocator{}, q, FirstFound,
		Options{Settings: Settings{Topo: newSharedBudget().SearchOptions}}); err == nil {
		t.Error("Lend accepts a job with another number of replicas")
	}
}

// sharedOf returns the result of the shared bound's search.
func sharedOf(t *rapid.T, p *Problem) jointResult {
	best, err := p.sharedResult(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return best
}
