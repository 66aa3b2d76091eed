package routing

import (
	"context"
	"fmt"
	"maps"
	"math"

	"sim/engine"
	"sim/engine/packet"
)

// Optimised leads every pair along one path such that the most loaded link carries least: maximum concurrent flow on
// single paths, as the offline route optimiser of TPU v4 seeks it (Zu et al., NSDI 24, Sec. 4.3). Paths on tori are
// those of wild-first routing, and any paths at all elsewhere; or those of another router that cannot deadlock, if these
// are better than what the search finds. They are chosen by a local search, once for all pairs
// that translations take into each other, and a lower bound for any paths at all proves how far from the optimum they
// are at most. Channels and paths are such that no traffic deadlocks, but on directed links where no such paths join
// all pairs. Where some transfers wait for others (Problem.Graph) the paths so chosen, and those that wild-first
// routing takes, are where a second search begins from: for paths under which the graph, simulated as fluid, ends
// first.
type Optimised struct {
	// NeighbourCap is the most that a link may carry when every node sends one unit to each of its neighbours; a
	// negative one is no cap. 0 is 2 on tori whose rates are equal, the least under a fault (Sec. 4.3), and none
	// elsewhere: links of unequal rates are not to carry as many units each. It goes before the load of the problem's
	// flows, and holds for what paths that may deadlock reach too.
	NeighbourCap int `key:"neighbour_cap" doc:"maximum number of messages on a link if every node sends one to each neighbour; this limit has precedence over the load and also holds for unconstrained_max_link_load and unconstrained_max_load_over_rate; -1 means no limit" else:"2, and -1 where fabric.kind is graph" min:"-1" max:"1000000"`
	// Budget is the paths that may be weighed in search of a better choice, one of more than 16 hops as several; 0 is
	// 30 million, and at least 200 a pair where these are not above a million or are of classes. With Problem.Graph it
	// is spent again on simulations, of which a task counts as 8 paths; one of each choice to begin from is made in any
	// case.
	Budget int64 `key:"budget" doc:"candidate paths that the search evaluates, paths of more than 16 hops counting more; 0 means 30 million, and at least 200 per pair for up to a million pairs; collective calls at levels flow and packet may use as much again for simulations, with 8 per transfer" default:"0" max:"1000000000000000"`
	// Rounds is the rounds of the search for a bound; 0 is 4000, and fewer where nodes are not identical and sources
	// times links exceed 2 million.
	Rounds int `key:"bound_rounds" doc:"rounds of the search for a lower bound; 0 means 4000, and fewer on large fabrics without symmetry" default:"0" max:"1000000000"`
	// Pattern is what routes are chosen for: the problem's flows ("" and ForWork), or one unit from every node to every
	// other (ForAll), as forwarding tables are that are programmed before it is known what will be sent (Sec. 4 and 4.3).
	Pattern string `key:"pattern" doc:"traffic for which paths are optimised: the simulated work, or equal bytes between all pairs, as for forwarding tables that are programmed once before a job" default:"work" choices:"work|all-to-all" implicit:""`
	// Cache is a directory that keeps choices by a hash of all that they depend on; "" keeps none. No key sets it, as no
	// scenario names outputs.
	Cache string
	// MILP has a solver on the PATH go on from the best choice, among the paths that it was found among, and prove the
	// least load that those allow. Solver names it, "auto" or "" for any; TimeLimit stops it and may change the choice,
	// 0 is none.
	MILP      bool        `key:"milp" doc:"whether a MILP solver on the PATH selects among the candidate paths and proves their minimum load" default:"false"`
	Solver    string      `key:"solver" doc:"solver; 'auto' uses the first one found" default:"auto" choices:"auto|highs|cbc"`
	TimeLimit engine.Time `key:"time_limit" doc:"wall-clock limit; a result that it cuts short is marked as not repeatable; 0s means none" default:"0s"`
}

// neighbourCap returns the most neighbours' units that a link may carry, negative for any number.
func (o Optimised) neighbourCap(p *Problem) int {
	switch {
	case o.NeighbourCap != 0:
		return o.NeighbourCap
	case p.Torus != nil && !p.RatesDiffer():
		return 2
	}
	return -1
}

// withDefaults fills in what is 0, for a problem and its instance.
func (o Optimised) withDefaults(p *Problem, in *routeInstance) Optimised {
	o.NeighbourCap = o.neighbourCap(p)
	if o.Budget == 0 {
		o.Budget = 30_000_000
		if in.isUniform || len(in.pairs) <= maxPairs {
			o.Budget = max(o.Budget, 200*int64(len(in.pairs)))
		}
	}
	return o
}

// Models of Optimised's bound: where demands are whole, where they are not, and where rates of links differ, of load
// over rate.
const (
	ModelAnyPaths     = "any routes; where demands are whole, one route a pair, and rounded up"
	ModelSplitPaths   = "any routes, that a pair may spread over"
	ModelSinglePath   = "any routes, one a pair"
	ModelLoadOverRate = "any routes, one a pair; of load over rate"
)

// Route leads the flows of any network. Loads are in units of demand; where live links have unequal rates the most that
// a link carries over its rate is made least, in units on a link of Problem.Rate. It fails, with ErrUnserved, where
// nodes have too many links, and names pairs that live links do not join; with milp.ErrNoSolver where one is asked for
// and missing. Metrics are
//
//   - unconstrained_max_link_load: the least found for any paths, that may deadlock too;
//   - max_link_load: that of the paths decided on, whose channel dependency graph has
//     no cycle (the label deadlock says so, or names one: where no paths of an order of the
//     nodes join all pairs, which the label ways tells, any are taken);
//   - bound_max_link_load, and gap: (max_link_load - bound) / bound;
//   - nearest_neighbour_max_load: of one unit from every node to each neighbour;
//   - canonical_sources: sources of the classes of pairs;
//   - max_load_over_rate, bound_max_load_over_rate and unconstrained_max_load_over_rate
//     where rates differ, which gap and the solver's figures are of then. max_link_load
//     is the most units on a link, and there is no bound on it;
//   - milp_max_link_load and milp_bound_max_link_load, of the solver.
func (o Optimised) Route(ctx context.Context, p *Problem, options Options) (*Decision, error) {
	if err := p.validate(); err != nil {
		return nil, err
	}
	if o.Pattern == PatternAllToAll {
		return o.routeAllToAll(ctx, p, options)
	}
	for i, w := range p.Demand {
		if !(w >= 0) || math.IsInf(w, 0) {
			return nil, fmt.Errorf("routing: flow %d has demand %g, want a finite number of at least 0", i, w)
		}
	}
	q, shift := p.canonical()
	r := &optimiser{Optimised: o, wild: options.wildFirst(), options: options, problem: q, given: p, symmetry: q.Symmetry(1), seed: options.Seed}
	if err := r.solve(ctx); err != nil {
		return nil, err
	}
	w, err := r.translatedPaths(p, shift)
	if err != nil {
		return nil, err
	}
	d := &Decision{Paths: w, Bound: r.result.Bound, BoundModel: ModelAnyPaths, BoundSplit: r.result.Split, Metrics: r.result.Metrics, Labels: r.result.Labels}
	d.MakespanBound, d.MakespanBoundSplit = r.result.Least, r.result.LeastSplit
	d.Metrics, d.Labels = maps.Clone(d.Metrics), maps.Clone(d.Labels)
	if p.Graph == nil { // else the choice is the one under which the graph ends first
		if err := o.useBetterRouter(ctx, p, options, d); err != nil {
			return nil, err
		}
	}
	switch {
	case p.RatesDiffer():
		d.Bound, d.BoundModel = 0, ""
		d.Metrics["max_link_load"] = p.maxUnits(d.Paths)
		d.Labels["gap_model"] = ModelLoadOverRate
	case !q.hasWholeDemand():
		d.BoundModel = ModelSinglePath
	}
	cycle, err := packet.CheckChannels(ctx, p.Network, d.Paths, p.Flows)
	if err != nil {
		return nil, err
	}
	d.Labels["deadlock"] = "free: the channel dependency graph of the chosen walks has no cycle"
	if cycle != nil {
		d.Labels["deadlock"] = "possible: " + cycle.Names(p.Network)
	}
	return d, nil
}
