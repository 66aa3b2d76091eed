package routing

import (
	"context"
	"errors"
	"math"

	"sim/engine"
	"sim/engine/packet"
	"sim/engine/static"
)

// others are the routers that lead each pair along one path, as the optimiser does.
func others() (all []Row) {
	for _, row := range Table {
		if !row.Alike { // several paths a pair, or the optimiser itself
			all = append(all, row)
		}
	}
	return all
}

// takeOther has a decision on p, whose most loaded link carries value, take the paths of another router if these load
// links less, cannot deadlock and meet the neighbours' cap. The optimiser is thus never worse than a router whose paths
// it may choose, whatever its search has found. Paths that meet the cap count for what is reached without regard to
// deadlock.
func (o Optimised) takeOther(ctx context.Context, p *Problem, of Options, d *Decision) error {
	metric := "link_load"
	if p.RatesDiffer() {
		metric = "load_over_rate"
	}
	most, free := "max_"+metric, "unconstrained_max_"+metric
	bound := d.Metrics["bound_"+most]
	_, reached := d.Metrics[free]
	over := !reached // the decision does not meet the neighbours' cap, which takes precedence over the load
	if d.Metrics[most] <= bound && !over {
		return nil
	}
	for _, row := range others() {
		load, err := row.pressure(ctx, p, of)
		if errors.Is(err, ErrUnserved) {
			continue
		}
		if err != nil {
			return err
		}
		least, reached := d.Metrics[free] // not if no choice meets the cap
		if load >= d.Metrics[most] && (!reached || load >= least) && !over {
			continue
		}
		other, safe, err := o.admitted(ctx, p, of, &row)
		if err != nil {
			return err
		}
		if other == nil {
			continue
		}
		if !reached || load < least {
			d.Metrics[free] = load
		}
		if safe && (over || load < d.Metrics[most]) {
			over = false
			d.Paths, d.Metrics[most] = other.Paths, load
			d.Metrics["nearest_neighbour_max_load"] = float64(p.nearestLoad(other.Paths))
			d.Labels["ways"] = row.Name
			delete(d.Labels, "order")
			delete(d.Labels, "wild")
		}
	}
	if bound > 0 {
		d.Metrics["gap"] = (d.Metrics[most] - bound) / bound
	}
	return nil
}

// admitted returns the decision of a router if it meets the neighbours' cap, nil if not, and whether its paths cannot
// deadlock.
func (o Optimised) admitted(ctx context.Context, p *Problem, of Options, row *Row) (d *Decision, safe bool, err error) {
	if d, err = row.Router.Route(ctx, p, of); err != nil {
		return nil, false, err
	}
	if limit := o.neighbourCap(p); d.Paths.Spread != nil || limit > 0 && p.nearestLoad(d.Paths) > limit {
		return nil, false, nil
	}
	cycle, err := packet.CheckChannels(ctx, p.Network, d.Paths, p.Flows)
	return d, cycle == nil, err
}

// routerMeets reports whether a router whose paths takeOther takes meets the bound that is proved so far. No search is
// then better. It is false if the routes are to end a graph early or a solver is to go on from what a search finds.
func (r *optimiser) routerMeets(ctx context.Context) (bool, error) {
	if r.met || r.p.Graph != nil || r.MILP {
		return r.met, nil
	}
	for _, row := range others() {
		load, err := row.pressure(ctx, r.given, r.options)
		if errors.Is(err, ErrUnserved) || err == nil && load > r.goal() {
			continue
		}
		if err != nil {
			return false, err
		}
		d, safe, err := r.admitted(ctx, r.given, r.options, &row)
		if err != nil {
			return false, err
		}
		if d != nil && safe {
			r.met = true
			return true, nil
		}
	}
	return false, nil
}

// pressure returns the load of the most loaded link under a router, relative to its rate where rates differ; infinite if
// packets draw their paths.
func (r *Row) pressure(ctx context.Context, p *Problem, o Options) (float64, error) {
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
	most, differ := 0.0, p.RatesDiffer()
	for l, load := range loads.Link {
		x := float64(load)
		if loads.Weighted != nil {
			x = loads.Weighted[l]
		}
		if differ && x > 0 {
			x *= p.reference() / p.Network.Links[l].Rate
		}
		most = max(most, x)
	}
	return most, nil
}

// nearestLoad returns the most units on a link when each node sends one to each of its neighbours to which there is a
// flow, along the paths of these flows.
func (p *Problem) nearestLoad(w *engine.Paths) int {
	near := make(map[engine.Flow]bool, len(p.Network.Links))
	for _, l := range p.Network.Links {
		near[engine.Flow{Src: l.From, Dst: l.To}] = true
	}
	load, most := make([]int, len(p.Network.Links)), 0
	for i, f := range p.Flows {
		if !near[f] || f.Src == f.Dst {
			continue
		}
		at := f.Src
		for _, s := range w.Steps(w.ClassOf(int32(i))) {
			l := w.Out(at, s)
			load[l]++
			most = max(most, load[l])
			at = p.Network.Links[l].To
		}
	}
	return most
}

// otherChoices returns the choices of all other routers that cannot deadlock, of a problem whose pairs have paths of
// their own.
func (r *optimiser) otherChoices(ctx context.Context) ([]*found, error) {
	var all []*found
	for _, row := range others() {
		d, err := row.Router.Route(ctx, r.p, r.options)
		if errors.Is(err, ErrUnserved) || err == nil && d.Paths.Spread != nil {
			continue
		}
		if err != nil {
			return nil, err
		}
		cycle, err := packet.CheckChannels(ctx, r.p.Network, d.Paths, r.p.Flows)
		if err != nil {
			return nil, err
		}
		if cycle == nil {
			all = append(all, &found{r.in, r.choiceOf(d.Paths), nil})
		}
	}
	return all, nil
}

// choiceOf returns a search whose pairs have one path each, that of their flow.
func (r *optimiser) choiceOf(w *engine.Paths) *search {
	in, c := r.in, newChoices(len(r.in.pair))
	for i, f := range in.pair {
		at := f.Src
		for _, s := range w.Steps(w.ClassOf(in.class[i])) {
			k := int(at)*in.degree + s.Port()
			c.orbit, c.step = append(c.orbit, in.orbit[k]), append(c.step, s)
			at = r.p.Network.Links[in.link[k]].To
		}
		c.add(int32(i))
	}
	return newSearch(in, c, r.seed, max(0, r.NeighbourCap), 0).kept()
}
