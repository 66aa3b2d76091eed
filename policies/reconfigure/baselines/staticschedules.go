package baselines

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"sim/fabric/scaleup"
	"sim/policies/graph"
	"sim/policies/reconfigure/cancellation"
	"sim/policies/reconfigure/pack"
	"sim/policies/reconfigure/plan"
)

// Schedule selects how chunks cross a static topology.
type Schedule string

const (
	// ScheduleStrongest offers ScheduleSimulated, SchedulePacked and ScheduleFluid. The last is
	// left out if another one is optimal or there are too many links. It is the default.
	ScheduleStrongest Schedule = "strongest"
	// ScheduleFluid is the optimum of the multi-commodity flow (DirectConnect's linear program;
	// paper Sec. 5.1). Its slots are the maximum of the link loads and of the hops between two
	// GPUs that exchange chunks. No schedule on the topology takes less. It has no plan.
	ScheduleFluid Schedule = "fluid"
	// SchedulePaths is fluid on the paths of ScheduleSimulated: its slots are the maximum of
	// their link loads and hops. It has no plan.
	SchedulePaths Schedule = "paths"
	// ScheduleSimulated sends all chunks of a flow along one shortest path, the first in the
	// order of the topology's edges. A link takes the waiting chunk with the lowest index (paper
	// Sec. 5.1); among equal ones, the chunk with the longest path. This is TopoOpt's k shortest
	// paths with k = 1.
	ScheduleSimulated Schedule = "simulated"
	// SchedulePacked sends chunks along shortest paths that load the links evenly. A link takes
	// the chunk with the maximum remaining hops, or the one with the lowest index if this takes
	// fewer slots.
	SchedulePacked Schedule = "packed"
)

// Values of the parameter balanced of pack.ShortestPaths.Paths: each flow on the first of its
// shortest paths, or chunks on shortest paths that load the links evenly.
const (
	firstPaths    = false
	balancedPaths = true
)

// maxFluidLinks limits the links (GPUs x switches) for which ScheduleStrongest computes the fluid
// optimum, to a few seconds: its effort grows with GPUs x links. With many links per GPU,
// shortest paths are within a few percent of it anyway.
const maxFluidLinks = 512

// staticNetwork is a topology that a planner may use.
type staticNetwork struct {
	origin   string // name, for people
	topology scaleup.Topology
}

// staticCandidates returns candidates for several topologies; a planner may use any one of them.
// Candidates with a plan come first. A fluid optimum is not computed if the hops of the chunks
// show that another candidate is as good. Errors: ErrOptions, pack.ErrUnreachable, and the errors
// of graph.MinCongestion.
func staticCandidates(p *plan.Problem, o Options, networks ...staticNetwork) (_ []plan.Candidate, err error) {
	defer cancellation.Recover(&err)
	schedule, err := optionValue("schedule", o.Schedule, ScheduleStrongest, ScheduleFluid,
		SchedulePaths, ScheduleSimulated, SchedulePacked)
	if err != nil {
		return nil, err
	}
	if slices.Max(p.Chunks) == 0 {
		schedule = ScheduleSimulated // nothing to send, so all schedules are equal
	}
	type floor struct { // a network with its hopBounds
		staticNetwork
		hops  int
		slots float64
	}

	// Candidates with a plan, or on single paths.
	var list []plan.Candidate
	var floors []floor
	minSlots := math.Inf(1)
	for _, net := range networks {
		s := pack.Shortest(net.topology, p.GPUs, o.Stop)
		offer := func(name string, balanced bool, orders ...pack.Order) error {
			c, err := scheduledCandidate(p, s, balanced, orders, o.Stop)
			if err != nil {
				return fmt.Errorf("%s: %w", net.origin, err)
			}
			c.Origin = net.origin + ", " + name
			minSlots = min(minSlots, float64(c.Slots))
			list = append(list, c)
			return nil
		}

		if schedule == ScheduleSimulated || schedule == ScheduleStrongest {
			if err := offer("simulated", firstPaths, pack.ByRank); err != nil {
				return nil, err
			}
		}
		if schedule == SchedulePacked || schedule == ScheduleStrongest {
			if err := offer("packed", balancedPaths, pack.Farthest, pack.ByRank); err != nil {
				return nil, err
			}
		}

		if schedule == SchedulePaths {
			w, err := s.Paths(p.Chunks, firstPaths)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", net.origin, err)
			}
			load := float64(w.Bound(len(net.topology)))
			list = append(list, plan.Candidate{
				Origin:           net.origin + ", fluid on single paths",
				Reconfigurations: 1,
				Fluid:            load,
				FluidBound:       load,
			})
		}

		hops, slots := hopBounds(p, s)
		floors = append(floors, floor{staticNetwork: net, hops: hops, slots: slots})
	}

	if schedule != ScheduleFluid && (schedule != ScheduleStrongest ||
		p.GPUs*p.Degree > maxFluidLinks) {
		return list, nil
	}

	// Fluid optima, the lowest hop bounds first.
	slices.SortStableFunc(floors, func(a, b floor) int { return cmp.Compare(a.slots, b.slots) })
	for _, f := range floors {
		if f.slots >= minSlots {
			break
		}
		c, err := fluidCandidate(p, f.topology, f.hops, o)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.origin, err)
		}
		c.Origin = f.origin + ", fluid"
		minSlots = min(minSlots, c.Fluid)
		list = append(list, c)
	}

	return list, nil
}

// scheduledCandidate returns the candidate with all chunks on shortest paths. It tries the orders
// of chunks on links and takes the one with the lowest slots.
func scheduledCandidate(
	p *plan.Problem,
	s *pack.ShortestPaths,
	balanced bool,
	orders []pack.Order,
	stop cancellation.Condition,
) (plan.Candidate, error) {
	w, err := shortestPaths(p, s, balanced)
	if err != nil {
		return plan.Candidate{}, err
	}
	best, bestOrder := math.MaxInt, orders[0]
	for _, order := range orders {
		maxSlots := best - 1
		if slots, ok := (&pack.Scheduler{Stop: stop}).Slots(len(s.Topology), w, order, maxSlots); ok {
			best, bestOrder = slots, order
		}
	}
	return plan.Candidate{Reconfigurations: 1, Slots: int64(best), Waits: true,
		Build: func(_ int64, stop cancellation.Condition) (out *plan.Plan, err error) {
			defer cancellation.Recover(&err)
			return writePlan(p, s.WithStop(stop), balanced, bestOrder, stop)
		}}, nil
}

// hopBounds returns the maximum number of hops between two GPUs that exchange chunks. It also
// returns a lower bound on the slots of any routing: this maximum, or the hops of all chunks
// divided by the links.
func hopBounds(p *plan.Problem, s *pack.ShortestPaths) (hops int, slots float64) {
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

// fluidCandidate returns the candidate whose chunks may be split over any paths and share links
// as fluid. A load is the number of chunks on a link, and thus the number of slots if no chunk
// waits.
func fluidCandidate(p *plan.Problem, t scaleup.Topology, hops int, o Options) (plan.Candidate, error) {
	demand := make([]float64, len(p.Chunks))
	for i, c := range p.Chunks {
		demand[i] = float64(c)
	}
	var arcs []graph.Arc
	var links []float64 // number of parallel links by arc
	for _, e := range t.Sorted() {
		a := graph.Arc{From: e.From, To: e.To}
		switch {
		case e.From == e.To:
		case len(arcs) > 0 && a == arcs[len(arcs)-1]:
			links[len(links)-1]++
		default:
			arcs = append(arcs, a)
			links = append(links, 1)
		}
	}

	r, err := graph.MinCongestion(graph.NewDigraph(p.GPUs, arcs), links, demand,
		graph.CongestionOptions{Check: o.Stop.Check})
	if err != nil {
		return plan.Candidate{}, err
	}
	return plan.Candidate{
		Reconfigurations: 1,
		Fluid:            max(r.Load, float64(hops)),
		FluidBound:       max(r.Bound, float64(hops)),
	}, nil
}

// shortestPaths returns the paths of all chunks, flow after flow. The rank of a chunk is its index;
// among equal ones, the longest path is first.
func shortestPaths(p *plan.Problem, s *pack.ShortestPaths, balanced bool) (*pack.Paths, error) {
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

// writePlan returns the plan of a candidate.
func writePlan(
	p *plan.Problem,
	s *pack.ShortestPaths,
	balanced bool,
	order pack.Order,
	stop cancellation.Condition,
) (*plan.Plan, error) {
	w, err := shortestPaths(p, s, balanced)
	if err != nil {
		return nil, err
	}
	slotOf := make([]int32, len(w.Link))
	slots := (&pack.Scheduler{Stop: stop}).Schedule(len(s.Topology), w, order, slotOf)
	out := newPlan(p)
	out.Topologies = []scaleup.Topology{s.Topology}
	out.Slots = []int32{int32(slots)}
	out.Tx = make([]plan.Tx, 0, len(w.Link))

	// AppendTo calls the function for each path in turn. The paths are sorted by flow and chunk.
	const phase = 0
	flow, next := 0, int32(0)
	w.AppendTo(out, phase, slotOf, stop, func(int) (src, dst, chunk int32) {
		for next == p.Chunks[flow] {
			flow, next = flow+1, 0
		}
		next++
		return int32(flow / p.GPUs), int32(flow % p.GPUs), next - 1
	})

	return out, nil
}

// newPlan returns a plan without topologies for a problem.
func newPlan(p *plan.Problem) *plan.Plan {
	return &plan.Plan{GPUs: p.GPUs, Degree: p.Degree, Chunks: p.Chunks}
}
