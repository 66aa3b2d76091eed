package baselines

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"sim/fabric/scaleup"
	"sim/policies/graph"
	"sim/policies/reconfigure/halt"
	"sim/policies/reconfigure/pack"
	"sim/policies/reconfigure/plan"
)

// Schedule says how the chunks cross a static topology.
type Schedule string

const (
	// Strongest offers Simulated, Packed and, unless one of these is optimal or the links are too many, Fluid. It is
	// the default.
	Strongest Schedule = "strongest"
	// Fluid is the optimum of the multi-commodity flow (DirectConnect's linear program; paper Sec. 5.1), in slots the
	// larger of the largest load of a link and the most hops between two GPUs that exchange chunks: no schedule on the
	// topology takes less. It has no plan.
	Fluid Schedule = "fluid"
	// Paths is fluid on the ways of Simulated: the larger of their largest load and their most hops. It has no plan.
	Paths Schedule = "paths"
	// Simulated sends all chunks of a flow one shortest path, the first in the order of the topology's edges, and of
	// the chunks that wait for a link the one of the lowest index (paper Sec. 5.1), of equals that of the longest path.
	// It is TopoOpt's k shortest paths with k = 1.
	Simulated Schedule = "simulated"
	// Packed sends chunks over such shortest paths as load the links evenly, and on a link those with the most hops to
	// go first, or those of the lowest index if that takes fewer slots.
	Packed Schedule = "packed"
)

// mostFluidLinks is the most links (GPUs x switches) of which Strongest computes Fluid, which keeps it to seconds: the
// effort of a fluid optimum grows with GPUs x links, and with many links a GPU shortest paths come within a few percent
// of it.
const mostFluidLinks = 512

// network is a topology that a planner may keep.
type network struct {
	origin   string // its name, for people
	topology scaleup.Topology
}

// static returns the candidates of topologies of which any may be kept. Those that have a plan come first. Fluid optima
// are not computed where the chunks' hops alone show that another candidate is as good. Errors: ErrOptions,
// pack.ErrUnreachable, and those of graph.MinCongestion.
func static(p *plan.Problem, o Options, networks ...network) (_ []plan.Candidate, err error) {
	defer halt.Caught(&err)
	schedule, err := choice("schedule", o.Schedule, Strongest, Fluid, Paths, Simulated, Packed)
	if err != nil {
		return nil, err
	}
	if slices.Max(p.Chunks) == 0 {
		schedule = Simulated // nothing to send: all are the same
	}
	type floor struct {
		network
		hops  int
		slots float64
	}
	var list []plan.Candidate
	var floors []floor
	least := math.Inf(1)
	for _, net := range networks {
		s := pack.Shortest(net.topology, p.GPUs, o.Stop)
		offer := func(name string, balanced bool, orders ...pack.Order) error {
			c, err := played(p, s, balanced, orders, o.Stop)
			if err != nil {
				return fmt.Errorf("%s: %w", net.origin, err)
			}
			c.Origin = net.origin + ", " + name
			least = min(least, float64(c.Slots))
			list = append(list, c)
			return nil
		}
		if schedule == Simulated || schedule == Strongest {
			if err := offer("simulated", false, pack.ByRank); err != nil {
				return nil, err
			}
		}
		if schedule == Packed || schedule == Strongest {
			if err := offer("packed", true, pack.Farthest, pack.ByRank); err != nil {
				return nil, err
			}
		}
		if schedule == Paths {
			w, err := s.Paths(p.Chunks, false)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", net.origin, err)
			}
			load := float64(w.Bound(len(net.topology)))
			list = append(list, plan.Candidate{Origin: net.origin + ", fluid on single paths", Reconfigurations: 1, Fluid: load, FluidBound: load})
		}
		hops, slots := atLeast(p, s)
		floors = append(floors, floor{net, hops, slots})
	}
	if schedule != Fluid && (schedule != Strongest || p.GPUs*p.Degree > mostFluidLinks) {
		return list, nil
	}
	slices.SortStableFunc(floors, func(a, b floor) int { return cmp.Compare(a.slots, b.slots) })
	for _, f := range floors {
		if f.slots >= least {
			break
		}
		c, err := optimum(p, f.topology, f.hops, o)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.origin, err)
		}
		c.Origin = f.origin + ", fluid"
		least = min(least, c.Fluid)
		list = append(list, c)
	}
	return list, nil
}

// played is the candidate of all chunks on shortest paths, links in the order of these that takes fewest slots.
func played(p *plan.Problem, s *pack.ShortestPaths, balanced bool, orders []pack.Order, stop halt.When) (plan.Candidate, error) {
	w, err := ways(p, s, balanced)
	if err != nil {
		return plan.Candidate{}, err
	}
	best, by := math.MaxInt, orders[0]
	for _, order := range orders {
		if slots, ok := (&pack.Scheduler{Stop: stop}).Slots(len(s.Topology), w, order, best-1); ok {
			best, by = slots, order
		}
	}
	return plan.Candidate{Reconfigurations: 1, Slots: int64(best), Waits: true,
		Build: func(_ int64, stop halt.When) (out *plan.Plan, err error) {
			defer halt.Caught(&err)
			return write(p, s.WithStop(stop), balanced, by, stop)
		}}, nil
}

// atLeast returns the most hops between two GPUs that exchange chunks, and what no routing gets below: that, or the sum
// of all chunks' hops over the number of links.
func atLeast(p *plan.Problem, s *pack.ShortestPaths) (hops int, slots float64) {
	sum, links := 0.0, 0.0
	for f, c := range p.Chunks {
		if c > 0 {
			h := s.Hops(f/p.GPUs, f%p.GPUs)
			sum += float64(c) * float64(h)
			hops = max(hops, h)
		}
	}
	for _, e := range s.Topology {
		if e.From != e.To {
			links++
		}
	}
	return hops, max(float64(hops), sum/max(1, links))
}

// optimum is the candidate whose chunks are split over any paths and share links as fluid. A load is a number of chunks
// that cross one link, so it is a number of slots if nothing waits for anything else.
func optimum(p *plan.Problem, t scaleup.Topology, hops int, o Options) (plan.Candidate, error) {
	demand := make([]float64, len(p.Chunks))
	for i, c := range p.Chunks {
		demand[i] = float64(c)
	}
	var arcs []graph.Arc
	var links []float64 // of an arc
	for _, e := range t.Sorted() {
		a := graph.Arc{From: e.From, To: e.To}
		switch {
		case e.From == e.To:
		case len(arcs) > 0 && a == arcs[len(arcs)-1]:
			links[len(links)-1]++
		default:
			arcs, links = append(arcs, a), append(links, 1)
		}
	}
	r, err := graph.MinCongestion(graph.NewDigraph(p.GPUs, arcs), links, demand, graph.CongestionOptions{Check: o.Stop.Check})
	if err != nil {
		return plan.Candidate{}, err
	}
	return plan.Candidate{Reconfigurations: 1, Fluid: max(r.Load, float64(hops)), FluidBound: max(r.Bound, float64(hops))}, nil
}

// ways are the paths of all chunks, flow after flow. The rank of a chunk is its index, of equals the longest path
// first.
func ways(p *plan.Problem, s *pack.ShortestPaths, balanced bool) (*pack.Paths, error) {
	w, err := s.Paths(p.Chunks, balanced)
	if err != nil {
		return nil, err
	}
	n := p.GPUs
	w.Rank = make([]int32, 0, w.Len())
	for f, c := range p.Chunks {
		for i := range c {
			w.Rank = append(w.Rank, i*int32(n)+int32(n-s.Hops(f/n, f%n)))
		}
	}
	return w, nil
}

// write writes out the plan of a candidate.
func write(p *plan.Problem, s *pack.ShortestPaths, balanced bool, order pack.Order, stop halt.When) (*plan.Plan, error) {
	w, err := ways(p, s, balanced)
	if err != nil {
		return nil, err
	}
	at := make([]int32, len(w.Link))
	slots := (&pack.Scheduler{Stop: stop}).Schedule(len(s.Topology), w, order, at)
	out := newPlan(p)
	out.Topologies, out.Slots = []scaleup.Topology{s.Topology}, []int32{int32(slots)}
	out.Tx = make([]plan.Tx, 0, len(w.Link))
	// Walks are flow after flow, of each its chunks in order.
	flow, next := 0, int32(0)
	w.AppendTo(out, 0, at, stop, func(int) (src, dst, chunk int32) {
		for next == p.Chunks[flow] {
			flow, next = flow+1, 0
		}
		next++
		return int32(flow / p.GPUs), int32(flow % p.GPUs), next - 1
	})
	return out, nil
}

func newPlan(p *plan.Problem) *plan.Plan {
	return &plan.Plan{GPUs: p.GPUs, Degree: p.Degree, Chunks: p.Chunks}
}
