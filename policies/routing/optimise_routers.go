package routing

import (
	"context"
	"errors"
	"math"
	"slices"

	"sim/engine"
	"sim/engine/packet"
	"sim/engine/static"
)

// singlePathRouters returns the routers with one path per pair, except the optimiser.
func singlePathRouters() (all []Row) {
	for _, row := range Table {
		if !row.SharesPaths { // multipath and the optimiser share paths
			all = append(all, row)
		}
	}
	return all
}

// pathQuality orders the paths of decisions: freedom from deadlock comes first, then the
// neighbours' cap, then the maximum load.
type pathQuality struct {
	cycle    packet.Cycle // nil if the paths are free of deadlock
	overload int          // sum of the neighbour loads of links above the cap
	load     float64      // maximum link load, divided by relative rates if these differ
}

// isBetter reports whether q is better than other.
func (q pathQuality) isBetter(other pathQuality) bool {
	switch {
	case (q.cycle == nil) != (other.cycle == nil):
		return q.cycle == nil
	case q.overload != other.overload:
		return q.overload < other.overload
	}
	return q.load < other.load
}

// useBetterRouter replaces the paths of a decision by the paths of another router if these are
// better. The optimiser is therefore never worse than another router with one path per pair.
// Paths that meet the neighbours' cap also count for the metric without regard to deadlock.
// cycle is a cycle of channels of the decision; it returns the cycle of the new paths.
func (o OptimisedRouter) useBetterRouter(
	ctx context.Context,
	p *Problem,
	options Options,
	d *Decision,
	cycle packet.Cycle,
) (packet.Cycle, error) {
	// The metrics to compare.
	metric := "link_load"
	if p.RatesDiffer() {
		metric = "load_over_rate"
	}
	maxName := "max_" + metric
	freeName := "unconstrained_max_" + metric
	bound := d.Metrics["bound_"+maxName]

	// The quality of the decision. The unconstrained load is missing if no choice meets the cap.
	best := pathQuality{cycle: cycle, load: d.Metrics[maxName]}
	if _, reached := d.Metrics[freeName]; !reached {
		best.overload = p.overload(d.Paths, o.neighbourCap(p))
	}
	isAdmissible := best.cycle == nil && best.overload == 0
	if best.load <= bound && isAdmissible {
		return cycle, nil
	}

	// A router is of interest if it can improve the decision or the unconstrained load.
	for _, row := range singlePathRouters() {
		load, err := row.maxLoad(ctx, p, options)
		if errors.Is(err, ErrUnserved) {
			continue
		}
		if err != nil {
			return nil, err
		}
		freeLoad, reached := d.Metrics[freeName]
		if load >= best.load && (!reached || load >= freeLoad) && isAdmissible {
			continue
		}

		// Compute the paths and check them for cycles of channels only if the load is of
		// interest.
		other, quality, err := o.evaluateRouter(ctx, p, options, &row, load)
		if err != nil {
			return nil, err
		}
		if other == nil {
			continue
		}
		if quality.overload == 0 && (!reached || load < freeLoad) {
			d.Metrics[freeName] = load
		}

		if quality.isBetter(best) {
			best, isAdmissible = quality, quality.cycle == nil && quality.overload == 0
			d.Paths, d.Metrics[maxName] = other.Paths, load
			d.Metrics["nearest_neighbour_max_load"] = float64(slices.Max(p.neighbourLoads(other.Paths)))
			d.Labels["ways"] = row.Name
			delete(d.Labels, "order")
			delete(d.Labels, "wild")
		}
	}

	if bound > 0 {
		d.Metrics["gap"] = (d.Metrics[maxName] - bound) / bound
	}
	return best.cycle, nil
}

// evaluateRouter returns the decision of a router with the given maximum load, and its quality.
// The decision is nil if packets draw their paths.
func (o OptimisedRouter) evaluateRouter(
	ctx context.Context,
	p *Problem,
	options Options,
	row *Row,
	load float64,
) (*Decision, pathQuality, error) {
	d, err := row.Router.Route(ctx, p, options)
	if err != nil || d.Paths.Spread != nil {
		return nil, pathQuality{}, err
	}
	cycle, err := packet.CheckChannels(ctx, p.Network, d.Paths, p.Flows)
	return d, pathQuality{cycle: cycle, overload: p.overload(d.Paths, o.neighbourCap(p)), load: load}, err
}

// routerMeetsBound reports whether a router that useBetterRouter would accept meets the present
// bound, so that no search can be better. It is false if paths are optimised for a graph, and if
// a solver continues from the result of the search.
func (r *optimiser) routerMeetsBound(ctx context.Context) (bool, error) {
	if r.isRouterOptimal || r.problem.Graph != nil || r.MILP {
		return r.isRouterOptimal, nil
	}

	for _, row := range singlePathRouters() {
		load, err := row.maxLoad(ctx, r.given, r.options)
		if errors.Is(err, ErrUnserved) || err == nil && load > r.goal() {
			continue
		}
		if err != nil {
			return false, err
		}
		d, quality, err := r.evaluateRouter(ctx, r.given, r.options, &row, load)
		if err != nil {
			return false, err
		}
		if d != nil && quality.cycle == nil && quality.overload == 0 {
			r.isRouterOptimal = true
			return true, nil
		}
	}

	return false, nil
}

// maxLoad returns the maximum link load under a router, divided by relative rates if these
// differ. It is infinite if packets draw their paths.
func (r *Row) maxLoad(ctx context.Context, p *Problem, o Options) (float64, error) {
	// Loads without paths, if the router supports that.
	sums, _, err := r.Sums(ctx, p, o)
	if err != nil {
		return 0, err
	}
	var loads *static.Loads
	if sums != nil {
		loads = sums.Loads()
	} else {
		d, err := r.Router.Route(ctx, p, o)
		if err != nil {
			return 0, err
		}
		if d.Paths.Spread != nil {
			return math.Inf(1), nil
		}
		if loads, err = static.PathLoads(ctx, p.Network, p.Flows, p.Demand, d.Paths); err != nil {
			return 0, err
		}
	}

	// Weighted loads replace the numbers of flows if demands differ.
	maxLoad, differ := 0.0, p.RatesDiffer()
	for l, load := range loads.Link {
		x := float64(load)
		if loads.Weighted != nil {
			x = loads.Weighted[l]
		}
		if differ && x > 0 {
			x *= p.referenceRate() / p.Network.Links[l].Rate
		}
		maxLoad = max(maxLoad, x)
	}

	return maxLoad, nil
}

// neighbourLoads returns the load of each link if each node sends one unit to each neighbour to
// which it has a flow, along the paths of these flows.
func (p *Problem) neighbourLoads(paths *engine.Paths) []int {
	// The demand is one unit per directed link.
	isNeighbour := make(map[engine.Flow]bool, len(p.Network.Links))
	for _, l := range p.Network.Links {
		isNeighbour[engine.Flow{Src: l.From, Dst: l.To}] = true
	}
	load := make([]int, len(p.Network.Links))
	for i, f := range p.Flows {
		if !isNeighbour[f] || f.Src == f.Dst {
			continue
		}
		node := f.Src
		for _, s := range paths.Steps(paths.ClassOf(int32(i))) {
			l := paths.Out(node, s)
			load[l]++
			node = p.Network.Links[l].To
		}
	}

	return load
}

// overload returns the sum of the neighbour loads of links above a cap; 0 if the cap is negative.
func (p *Problem) overload(paths *engine.Paths, neighbourCap int) (excess int) {
	if neighbourCap > 0 {
		for _, x := range p.neighbourLoads(paths) {
			excess += max(0, x-neighbourCap)
		}
	}
	return excess
}

// routerChoices returns the choices of all other routers: safe ones are free of deadlock, unsafe
// ones may deadlock. Each flow of the problem must be a pair.
func (r *optimiser) routerChoices(ctx context.Context) (safe, unsafe []*routeChoice, err error) {
	for _, row := range singlePathRouters() {
		d, err := row.Router.Route(ctx, r.problem, r.options)
		if errors.Is(err, ErrUnserved) || err == nil && d.Paths.Spread != nil {
			continue
		}
		if err != nil {
			return nil, nil, err
		}
		cycle, err := packet.CheckChannels(ctx, r.problem.Network, d.Paths, r.problem.Flows)
		if err != nil {
			return nil, nil, err
		}
		choice := &routeChoice{in: r.in, s: r.choiceOfPaths(d.Paths), rules: nil}
		if cycle == nil {
			safe = append(safe, choice)
		} else {
			unsafe = append(unsafe, choice)
		}
	}

	return safe, unsafe, nil
}

// choiceOfPaths returns an assignment in which each pair has one candidate, the path of its flow.
func (r *optimiser) choiceOfPaths(w *engine.Paths) *pathAssignmentSearch {
	in, c := r.in, newCandidatePaths(len(r.in.pairs))
	for i, f := range in.pairs {
		node := f.Src
		for _, s := range w.Steps(w.ClassOf(in.class[i])) {
			k := int(node)*in.degree + s.Port()
			c.orbits = append(c.orbits, in.orbit[k])
			c.steps = append(c.steps, s)
			node = r.problem.Network.Links[in.link[k]].To
		}

		c.add(int32(i))
	}

	return newPathAssignmentSearch(in, c, r.seed, r.searchCap(), noBudget).withBest()
}
