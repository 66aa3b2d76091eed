package routing

import (
	"context"
	"errors"
	"math"

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

// useBetterRouter replaces the paths of a decision by the paths of another router, if these have
// a smaller maximum load, cannot deadlock and meet the neighbours' cap. The optimiser is
// therefore never worse than a router whose paths it may choose. Paths that meet the cap also
// count for the metric without regard to deadlock.
func (o OptimisedRouter) useBetterRouter(ctx context.Context, p *Problem, options Options, d *Decision) error {
	// The metrics to compare, and whether the decision meets the neighbours' cap.
	metric := "link_load"
	if p.RatesDiffer() {
		metric = "load_over_rate"
	}
	maxName := "max_" + metric
	freeName := "unconstrained_max_" + metric
	bound := d.Metrics["bound_"+maxName]
	_, reached := d.Metrics[freeName]

	// The decision exceeds the neighbours' cap, which has precedence over the load.
	exceedsCap := !reached
	if d.Metrics[maxName] <= bound && !exceedsCap {
		return nil
	}

	// A router is of interest if it improves the decision or the unconstrained load.
	for _, row := range singlePathRouters() {
		load, err := row.maxLoad(ctx, p, options)
		if errors.Is(err, ErrUnserved) {
			continue
		}
		if err != nil {
			return err
		}
		freeLoad, reached := d.Metrics[freeName] // missing if no choice meets the cap
		if load >= d.Metrics[maxName] && (!reached || load >= freeLoad) && !exceedsCap {
			continue
		}

		// Compute the paths and check them for cycles of channels only if the load is of
		// interest.
		other, safe, err := o.routeAdmissible(ctx, p, options, &row)
		if err != nil {
			return err
		}
		if other == nil {
			continue
		}
		if !reached || load < freeLoad {
			d.Metrics[freeName] = load
		}

		if safe && (exceedsCap || load < d.Metrics[maxName]) {
			exceedsCap = false
			d.Paths, d.Metrics[maxName] = other.Paths, load
			d.Metrics["nearest_neighbour_max_load"] = float64(p.maxNeighbourLoad(other.Paths))
			d.Labels["ways"] = row.Name
			delete(d.Labels, "order")
			delete(d.Labels, "wild")
		}
	}

	if bound > 0 {
		d.Metrics["gap"] = (d.Metrics[maxName] - bound) / bound
	}
	return nil
}

// routeAdmissible returns the decision of a router if it meets the neighbours' cap, otherwise
// nil, and whether its paths are free of deadlock.
func (o OptimisedRouter) routeAdmissible(
	ctx context.Context,
	p *Problem,
	options Options,
	row *Row,
) (d *Decision, safe bool, err error) {
	if d, err = row.Router.Route(ctx, p, options); err != nil {
		return nil, false, err
	}
	if limit := o.neighbourCap(p); d.Paths.Spread != nil || limit > 0 && p.maxNeighbourLoad(d.Paths) > limit {
		return nil, false, nil
	}
	cycle, err := packet.CheckChannels(ctx, p.Network, d.Paths, p.Flows)
	return d, cycle == nil, err
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
		d, safe, err := r.routeAdmissible(ctx, r.given, r.options, &row)
		if err != nil {
			return false, err
		}
		if d != nil && safe {
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

// maxNeighbourLoad returns the maximum load if each node sends one unit to each neighbour to
// which it has a flow, along the paths of these flows.
func (p *Problem) maxNeighbourLoad(paths *engine.Paths) int {
	// The demand is one unit per directed link.
	isNeighbour := make(map[engine.Flow]bool, len(p.Network.Links))
	for _, l := range p.Network.Links {
		isNeighbour[engine.Flow{Src: l.From, Dst: l.To}] = true
	}
	load := make([]int, len(p.Network.Links))
	maxLoad := 0
	for i, f := range p.Flows {
		if !isNeighbour[f] || f.Src == f.Dst {
			continue
		}
		node := f.Src
		for _, s := range paths.Steps(paths.ClassOf(int32(i))) {
			l := paths.Out(node, s)
			load[l]++
			maxLoad = max(maxLoad, load[l])
			node = p.Network.Links[l].To
		}
	}

	return maxLoad
}

// routerChoices returns the choices of all other routers that cannot deadlock. Each flow of the
// problem must be a pair.
func (r *optimiser) routerChoices(ctx context.Context) ([]*routeChoice, error) {
	var all []*routeChoice
	for _, row := range singlePathRouters() {
		d, err := row.Router.Route(ctx, r.problem, r.options)
		if errors.Is(err, ErrUnserved) || err == nil && d.Paths.Spread != nil {
			continue
		}
		if err != nil {
			return nil, err
		}
		cycle, err := packet.CheckChannels(ctx, r.problem.Network, d.Paths, r.problem.Flows)
		if err != nil {
			return nil, err
		}
		if cycle == nil {
			all = append(all, &routeChoice{in: r.in, s: r.choiceOfPaths(d.Paths), rules: nil})
		}
	}

	return all, nil
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
