package topology

import (
	"context"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"sim/engine/flow"
)

// checkManyCases runs a property on ten times the usual number of random cases, which are
// small here.
func checkManyCases(t *testing.T, property func(*rapid.T)) {
	for range 10 {
		rapid.Check(t, property)
	}
}

// visitTopologies visits all topologies of useful circuits that fit the ports. It returns
// false if there are too many.
func visitTopologies(p *Problem, visit func(x []int)) bool {
	const limit = 3000
	n := 1
	for _, u := range p.Useful {
		if n *= u; n > limit {
			return false
		}
	}

	x := p.ones()
	var from func(e int)
	from = func(e int) {
		if e == len(x) {
			visit(x)
			return
		}
		for x[e] = 1; x[e] <= p.Useful[e] && p.Feasible(onesAfter(x, e)); x[e]++ {
			from(e + 1)
		}
		x[e] = 1
	}

	from(0)
	return true
}

// onesAfter returns x with one circuit in each bundle after e.
func onesAfter(x []int, e int) []int {
	y := slices.Clone(x)
	for i := e + 1; i < len(y); i++ {
		y[i] = 1
	}
	return y
}

// portCase is a random problem, a topology of it, and the condition under which circuits
// may be removed.
type portCase struct {
	p       *Problem
	x       []int
	service flow.Service
	makespanLimit
}

// drawPortCase draws a portCase.
func drawPortCase(t *rapid.T) portCase {
	d := portCase{p: drawProblem(t)}
	if len(d.p.Fabric.Bundles) == 0 {
		t.Skip("nothing to connect")
	}
	d.x = drawCircuits(t, d.p)
	d.service = rapid.SampledFrom([]flow.Service{flow.MaxMin, flow.MaxMin, flow.LevelPriority}).Draw(t,
		"service")
	d.fixedService = d.service == flow.MaxMin || rapid.Bool().Draw(t, "exact")
	w := d.p.acquire(context.Background(), d.service)
	defer d.p.release(w)
	c, ok := w.simulate(d.x, never)
	if !ok {
		t.Skip("cannot be simulated")
	}
	d.limit = withTolerance(c, rapid.SampledFrom([]float64{0, 0.05, 0.3, 1}).Draw(t, "tolerance"))
	return d
}

// minimiser returns a portMinimiser with the given number of evaluations.
func (d *portCase) minimiser(budget int64) *portMinimiser {
	return d.p.newPortMinimiser(context.Background(), d.makespanLimit, d.service,
		&Options{Settings: Settings{PortEvaluations: budget}}, searchBudget{})
}

// keeps reports whether x keeps the limit in simulation and by its bound. If the service
// is fixed, the simulation decides both.
func (d *portCase) keeps(x []int) (simulated, bound bool) {
	w := d.p.acquire(context.Background(), d.service)
	defer d.p.release(w)
	c, ok := w.simulate(x, never)
	simulated = ok && c <= d.limit
	if d.fixedService {
		return simulated, simulated
	}
	for _, rule := range servicesToTry {
		w.SetService(rule)
		c, ok := w.simulate(x, never)
		simulated = simulated || ok && c <= d.limit
	}
	return simulated, simulated || w.bound(x) <= d.limit
}

// exhaustiveMinima enumerates all topologies. It returns the minimum ports within the
// limit in simulation and by the bound, and the port vectors per pod that no other
// dominates in simulation.
func (d *portCase) exhaustiveMinima(t *rapid.T) (minSimulated, minBounded int, minima [][]int) {
	minSimulated, minBounded = d.p.PortsTotal()+1, d.p.PortsTotal()+1
	var all [][]int
	if !visitTopologies(d.p, func(x []int) {
		simulated, bound := d.keeps(x)
		n := d.p.PortsUsed(x)
		if bound {
			minBounded = min(minBounded, n)
		}
		if simulated {
			minSimulated = min(minSimulated, n)
			all = append(all, d.p.Fabric.Ports(x))
		}
	}) {
		t.Skip("too many topologies")
	}

	for i, a := range all {
		if !slices.ContainsFunc(all[:i], func(b []int) bool { return slices.Equal(a, b) }) &&
			!slices.ContainsFunc(all, func(b []int) bool { return dominates(a, b) && !slices.Equal(a, b) }) {
			minima = append(minima, a)
		}
	}

	return minSimulated, minBounded, minima
}

// TestMinPortsByExhaustion compares the ports found and the bound proved with an
// enumeration.
func TestMinPortsByExhaustion(t *testing.T) {
	checkManyCases(t, func(t *rapid.T) {
		d := drawPortCase(t)
		minSimulated, minBounded, _ := d.exhaustiveMinima(t)
		s := d.minimiser(1e9)
		s.run(d.x)
		if n := d.p.PortsUsed(s.circuits); n != minSimulated || s.bound != minBounded {
			t.Fatalf("topology %v: %d ports, bound %d; by enumeration %d and %d", s.circuits, n, s.bound,
				minSimulated, minBounded)
		}
		w := d.p.acquire(context.Background(), s.service)
		defer d.p.release(w)
		if c, ok := w.simulate(s.circuits, never); !ok || c != s.makespan || c > s.limit {
			t.Fatalf("topology %v: makespan %v (%v), got %v, limit %v", s.circuits, c, ok, s.makespan, s.limit)
		}
	})
}

// TestPortsWithinAnyBudget stops the search after every small budget: the result must
// keep the limit and the bound must hold.
func TestPortsWithinAnyBudget(t *testing.T) {
	t.Parallel()
	checkManyCases(t, func(t *rapid.T) {
		d := drawPortCase(t)
		minSimulated, minBounded, _ := d.exhaustiveMinima(t)
		for budget := int64(1); budget < 60; budget++ {
			s := d.minimiser(budget)
			s.run(d.x)
			if n := d.p.PortsUsed(s.circuits); n < minSimulated || s.bound > minBounded || s.bound > n {
				t.Fatalf("topology %v: %d ports, bound %d with a budget of %d; by enumeration %d and %d",
					s.circuits, n, s.bound, budget, minSimulated, minBounded)
			}
			if ok, _ := d.keeps(s.circuits); !ok {
				t.Fatalf("%v does not keep the limit", s.circuits)
			}
		}
	})
}

// TestSpareByExhaustion compares alternatives with an enumeration: all topologies with
// minimum ports, or all that no other dominates, one for each vector of ports per pod.
func TestSpareByExhaustion(t *testing.T) {
	checkManyCases(t, func(t *rapid.T) {
		d := drawPortCase(t)
		_, _, minima := d.exhaustiveMinima(t)
		s := d.minimiser(1e9)
		s.run(d.x)
		first := &Decision{Circuits: s.circuits, Makespan: s.makespan, Service: s.service,
			Limit: s.limit, FreeRates: !s.fixedService}
		for _, want := range []portGoal{allMinima, paretoFrontier} {
			list, complete, _ := d.p.alternatives(context.Background(), first, want,
				&Options{Settings: Settings{PortEvaluations: 1e9}})
			var got [][]int
			for _, c := range list {
				got = append(got, d.p.Fabric.Ports(c.circuits))
				if ok, _ := d.keeps(c.circuits); !ok || c.makespan > s.limit ||
					!slices.Equal(c.used, got[len(got)-1]) {
					t.Fatalf("%v takes %v, ends at %v: limit %v", c.circuits, c.used, c.makespan, s.limit)
				}
			}
			right := slices.DeleteFunc(slices.Clone(minima),
				func(u []int) bool { return want == allMinima && sum(u) > sum(got[0]) })
			slices.SortFunc(got, slices.Compare)
			slices.SortFunc(right, slices.Compare)
			if !complete || !slices.EqualFunc(got, right, slices.Equal) {
				t.Fatalf("%d: ports %v (complete: %v), by exhaustion %v", want, got, complete, right)
			}
		}
	})
}

func sum(list []int) int {
	n := 0
	for _, v := range list {
		n += v
	}
	return n
}
