// Package routing chooses the paths that packets take through a network. Package fabric describes
// the network, and package engine simulates the chosen paths.
//
// A Problem is a network with the flows to route. A Router returns a Decision: the Paths of all
// flows, with a lower bound on the load of the bottleneck if it has one. Table lists the routers:
//
//   - dor, in DimensionOrder: one dimension of a torus after the other
//   - wild-first, in WildRule: dimension order around faults, with a few extra hops
//   - shortest, ecmp, spray and random-shortest: shortest paths on any graph
//   - multipath, in Multipath: several paths per pair
//   - route-optimised, in OptimisedRouter: paths that minimise the maximum link load
//
// Routers on tori share geometry (hop vectors, virtual channels) and pathAssigner. Routers on
// graphs share adjacency, destinationTree and nextHopSelector. If only link loads are needed,
// Row.Sums computes them without storing the paths. The files optimise*.go contain the optimiser;
// start with optimise.go (options) and optimise_solve.go (its steps).
//
// Start reading with problem.go and shortest.go.
package routing

import (
	"context"
	"slices"
)

// Row is a named router with the properties that callers need before they choose it.
type Row struct {
	Name   string
	Doc    string // one line for "sim list routers"
	Router Router
	// Reads lists the keys and tables of [policy] that the router reads, including the keys of
	// routers that it calls. An entry "KEY if CONDITION" is read only under the condition, which
	// has the syntax of the conditions of keys.
	Reads []string
	// AnyGraph reports whether the router serves every graph. nil means it does not.
	AnyGraph func(s *Settings) bool
	// DrawsPerHop reports whether each packet draws its next link at each node (engine.NextHops).
	// nil means it does not.
	DrawsPerHop func(s *Settings) bool
	// SharesPaths means that flows which are translations of each other share one path. IsSlow
	// means that the router takes long, while its paths are hardly longer than shortest paths.
	SharesPaths, IsSlow bool
	// ReadsGraph reports whether the router chooses paths by the completion time of Problem.Graph.
	ReadsGraph bool
	// Shortest means that packets take shortest paths: one path per flow unless DrawsPerHop
	// holds.
	Shortest bool
}

// Table lists the routers in the order in which they are printed. They take their options from
// Options.
var Table = []Row{
	{
		Name: "dor", Doc: "dimension order, longest first, even/odd ties; tori and meshes without faults",
		Router: optionRouter(func(o Options) Router {
			return DimensionOrder{o.Order}
		}), Reads: []string{"order"},
	},
	{
		Name: "wild-first",
		Doc:  "at most one wild hop per dimension, then dimension order: around faults of tori and meshes",
		Router: optionRouter(func(o Options) Router {
			return o.wildFirst()
		}),
		Reads: []string{"order", "wild-first"},
	},
	{
		Name: "shortest", Doc: "shortest paths by the link created first, parallel links in turn; any graph",
		Router: Shortest{}, AnyGraph: always, Shortest: true,
	},
	{
		Name: "ecmp",
		Doc:  "shortest paths, with one of the equal-cost links at each node, by pair, destination or packet; any graph",
		Router: optionRouter(func(o Options) Router {
			return o.ECMP
		}),
		Reads:       []string{"ecmp"},
		AnyGraph:    always,
		DrawsPerHop: func(s *Settings) bool { return s.ECMP.Draw == DrawPacket },
		Shortest:    true,
	},
	{
		Name: "spray", Doc: "shortest paths, with one of the equal-cost links at each node, by packet (as ecmp.draw = \"packet\"); any graph",
		Router: ECMP{Draw: DrawPacket}, AnyGraph: always, DrawsPerHop: always, Shortest: true,
	},
	{
		Name: "random-shortest", Doc: "one of all shortest paths, drawn uniformly; any graph",
		Router: optionRouter(func(o Options) Router {
			return o.RandomShortest
		}), Reads: []string{"random-shortest"}, AnyGraph: always,
		DrawsPerHop: func(s *Settings) bool { return s.RandomShortest.Draw == DrawPacket }, Shortest: true,
	},
	{
		Name: "multipath",
		Doc:  "several shortest or wild-first paths per pair (policy.multipath.max_paths, 8); each packet takes one at random",
		Router: optionRouter(func(o Options) Router {
			if o.Multipath.Over == OverWildFirst {
				return wildMultipath{Multipath: o.Multipath, rule: o.wildFirst()}
			}
			return o.Multipath
		}),
		Reads: []string{"multipath", "order if policy.multipath.paths=wild-first",
			"wild-first if policy.multipath.paths=wild-first"},
		AnyGraph:    func(s *Settings) bool { return s.Multipath.Over != OverWildFirst },
		SharesPaths: true,
	},
	{
		Name:        "route-optimised",
		Doc:         "one path per pair, optimised for minimum load of the most loaded link, deadlock-free; best on tori",
		Router:      optionRouter(func(o Options) Router { return o.Optimised }),
		Reads:       []string{"order", "wild-first", "route-optimised"},
		AnyGraph:    always,
		ReadsGraph:  true,
		SharesPaths: true,
		IsSlow:      true,
	},
}

// always reports true, for routers that serve every graph.
func always(*Settings) bool { return true }

// DefaultName returns the router to use if none is configured. It serves the given fabric: a
// torus or any other graph, with or without faults.
func DefaultName(torus, faulty bool) string {
	switch {
	case !torus:
		return "ecmp"
	case faulty:
		return "wild-first"
	}
	return "dor"
}

// ByName returns the router with the given name; nil if there is no such router.
func ByName(name string) *Row {
	if i := slices.IndexFunc(Table, func(r Row) bool { return r.Name == name }); i >= 0 {
		return &Table[i]
	}
	return nil
}

// CheckServes checks whether a router serves a problem, if that is faster than routing it.
// checked is false if it is not. The error equals the error of Route: it wraps ErrUnserved and
// names the first pair without a path.
func (r *Row) CheckServes(p *Problem, o Options) (checked bool, err error) {
	// Only routers on tori have a pathAssigner, which checks one flow per class.
	assigning, ok := r.router(o).(interface {
		assigner(p *Problem, seed uint64) (*Candidates, *pathAssigner, error)
	})
	if !ok || p.Torus == nil {
		return false, nil
	}
	_, l, err := assigning.assigner(p, o.Seed)
	if err != nil {
		return true, err
	}
	return true, l.checkServes()
}

// optionRouter is a router that is selected by its options.
type optionRouter func(Options) Router

// Route implements Router.
func (r optionRouter) Route(ctx context.Context, p *Problem, o Options) (*Decision, error) {
	return r(o).Route(ctx, p, o)
}

// router returns the router for the given options.
func (r *Row) router(o Options) Router {
	if fromOptions, ok := r.Router.(optionRouter); ok {
		return fromOptions(o)
	}
	return r.Router
}
