package routing

import (
	"context"
	"fmt"
	"maps"
	"math"

	"sim/engine"
	"sim/engine/packet"
)

// OptimisedRouter chooses one path per pair such that the maximum link load is small. This is maximum
// concurrent flow on single paths, as in the offline route optimiser of TPU v4 (Zu et al., NSDI
// 24, Sec. 4.3).
//
// On tori the paths are wild-first paths, elsewhere any paths. If another router is better than
// the search, its paths are used: freedom from deadlock comes first, then the neighbours' cap, then
// the maximum load. The search is a local search over all classes of pairs at once. A lower bound
// for arbitrary paths limits the distance to the optimum.
//
// Channels and paths are such that no traffic can deadlock. The exception are directed links over
// which no such paths join all pairs.
//
// If transfers depend on each other (Problem.Graph), a second search minimises the time at which
// the graph ends in the fluid model. It starts from these paths, from wild-first routing, and
// from the paths of other routers. It is never worse than any of them.
type OptimisedRouter struct {
	// NeighbourCap is the maximum load of a link if every node sends one unit to each neighbour.
	// Negative means no cap. 0 means 2 on tori with equal rates, which is the minimum under a
	// fault (Sec. 4.3). Elsewhere 0 means no cap, since links of unequal rates should not carry
	// equal units. The cap takes precedence over the load of the problem's flows. It also applies
	// to paths that may deadlock.
	NeighbourCap int `key:"neighbour_cap" doc:"maximum number of messages on a link if every node sends one to each neighbour; this limit has precedence over the load and also holds for unconstrained_max_link_load and unconstrained_max_load_over_rate; -1 means no limit" else:"2, and -1 where fabric.kind is graph" min:"-1" max:"1000000"`
	// Budget is the number of paths that the search may evaluate; a path of more than 16 hops
	// counts as several. 0 means 30 million, and at least 200 per pair if there are at most a
	// million pairs or the pairs are classes. With Problem.Graph it may be spent again on
	// simulations, where a task counts as 8 paths. Each start is simulated once in any case.
	Budget int64 `key:"budget" doc:"candidate paths that the search evaluates, paths of more than 16 hops counting more; 0 means 30 million, and at least 200 per pair for up to a million pairs; collective calls at levels flow and packet may use as much again for simulations, with 8 per transfer" default:"0" max:"1000000000000000"`
	// MaxGap is the relative distance from the lower bound at which the search ends. 0 means that
	// it continues until it meets the bound or the budget is spent.
	MaxGap float64 `key:"max_gap" doc:"relative distance of the load or time from its lower bound at which the search ends, such as 0.04; 0 means to search on until the bound is met or the budget is spent" default:"0" min:"0" max:"1" implicit:""`
	// Rounds is the number of rounds of the search for a bound. 0 means 4000, and fewer if nodes
	// are not identical and sources times links exceed 2 million.
	Rounds int `key:"bound_rounds" doc:"rounds of the search for a lower bound; 0 means 4000, and fewer on large fabrics without symmetry" default:"0" max:"1000000000"`
	// Pattern is the traffic to optimise for: the problem's flows ("" and PatternWork), or one
	// unit between all pairs (PatternAllToAll). The latter suits forwarding tables that are
	// programmed before the traffic is known (Sec. 4, 4.3).
	Pattern string `key:"pattern" doc:"traffic for which paths are optimised: the simulated work, or equal bytes between all pairs, as for forwarding tables that are programmed once before a job" default:"work" choices:"work|all-to-all" implicit:""`
	// Cache is a directory that stores choices by a hash of their inputs; "" disables it. No key
	// sets it, because scenarios name no outputs.
	Cache string
	// MILP lets a solver on the PATH improve the best choice among its candidate paths and prove
	// their minimum load. Solver is its name; "auto" or "" accepts any. TimeLimit stops it and
	// can change the choice; 0 means no limit.
	MILP      bool        `key:"milp" doc:"whether a MILP solver on the PATH selects among the candidate paths and proves their minimum load" default:"false"`
	Solver    string      `key:"solver" doc:"solver; 'auto' uses the first one found" default:"auto" choices:"auto|highs|cbc"`
	TimeLimit engine.Time `key:"time_limit" doc:"wall-clock limit; a result that it cuts short is marked as not repeatable; 0s means none" default:"0s"`
}

// neighbourCap returns NeighbourCap with its default for a problem.
func (o OptimisedRouter) neighbourCap(p *Problem) int {
	switch {
	case o.NeighbourCap != 0:
		return o.NeighbourCap
	case p.Torus != nil && !p.RatesDiffer():
		return 2
	}
	const unlimited = -1
	return unlimited
}

// withDefaults replaces zero options by their defaults for a problem and its instance.
func (o OptimisedRouter) withDefaults(p *Problem, in *routeInstance) OptimisedRouter {
	o.NeighbourCap = o.neighbourCap(p)
	if o.Budget == 0 {
		o.Budget = 30_000_000
		if in.isUniform || len(in.pairs) <= maxPairs {
			o.Budget = max(o.Budget, 200*int64(len(in.pairs)))
		}
	}

	return o
}

// Models of the bound (Decision.BoundModel and label gap_model): with whole demands, with split
// pairs, with other demands, and for loads divided by rates if these differ.
const (
	ModelAnyPaths     = "any routes; where demands are whole, one route a pair, and rounded up"
	ModelSplitPaths   = "any routes, that a pair may spread over"
	ModelSinglePath   = "any routes, one a pair"
	ModelLoadOverRate = "any routes, one a pair; of load over rate"
)

// Route routes the flows of any network. Loads are in units of demand. If rates of live links
// differ, it minimises the maximum of load divided by rate, in units on a link of Problem.Rate.
//
// The error wraps ErrUnserved if nodes have too many links, and names pairs that live links do
// not join. It is milp.ErrNoSolver if MILP is set without a solver on the PATH.
//
// The metrics are
//
//   - unconstrained_max_link_load: the minimum found for any paths, including paths that may
//     deadlock;
//   - max_link_load: of the chosen paths. Their channel dependency graph has no cycle, see label
//     deadlock, unless no up*/down* paths join all pairs;
//   - bound_max_link_load, and gap: (max_link_load - bound) / bound;
//   - nearest_neighbour_max_load: for one unit from every node to each neighbour;
//   - canonical_sources: number of sources of the classes of pairs;
//   - max_load_over_rate, bound_max_load_over_rate and unconstrained_max_load_over_rate if rates
//     differ; gap and the solver's metrics then refer to them. max_link_load is the maximum
//     number of units on a link, without a bound;
//   - milp_max_link_load and milp_bound_max_link_load, from the solver.
func (o OptimisedRouter) Route(ctx context.Context, p *Problem, options Options) (*Decision, error) {
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

	// Optimise the problem of the canonical fault, then translate the paths back.
	q, shift := p.canonical()
	r := &optimiser{
		OptimisedRouter: o,
		wild:            options.wildFirst(),
		options:         options,
		problem:         q,
		given:           p,
		symmetry:        q.Symmetry(anyTranslation),
		seed:            options.Seed,
	}

	if err := r.solve(ctx); err != nil {
		return nil, err
	}
	w, err := r.translatedPaths(p, shift)
	if err != nil {
		return nil, err
	}
	d := &Decision{
		Paths:      w,
		Bound:      r.result.Bound,
		BoundModel: ModelAnyPaths,
		BoundSplit: r.result.Split,
		Metrics:    r.result.Metrics,
		Labels:     r.result.Labels,
	}

	d.MakespanBound = r.result.Least
	d.MakespanBoundSplit = r.result.LeastSplit
	d.Metrics, d.Labels = maps.Clone(d.Metrics), maps.Clone(d.Labels)

	// The labels and the comparison with routers need an independent check for deadlock.
	cycle, err := packet.CheckChannels(ctx, p.Network, d.Paths, p.Flows)
	if err != nil {
		return nil, err
	}

	// Otherwise the choice minimises the end of the graph, not the load.
	if p.Graph == nil {
		if cycle, err = o.useBetterRouter(ctx, p, options, d, cycle); err != nil {
			return nil, err
		}
	}

	// The bound holds for equal rates. It is rounded up only for whole demands.
	switch {
	case p.RatesDiffer():
		d.Bound, d.BoundModel = 0, ""
		d.Metrics["max_link_load"] = p.maxUnits(d.Paths)
		d.Labels["gap_model"] = ModelLoadOverRate
	case !q.hasWholeDemand():
		d.BoundModel = ModelSinglePath
	}

	d.Labels["deadlock"] = "free: the channel dependency graph of the chosen walks has no cycle"
	if cycle != nil {
		d.Labels["deadlock"] = "possible: " + cycle.Names(p.Network)
	}
	return d, nil
}
