// Package routing chooses the paths that packets take through a network.
//
// It leaves what the network is to fabric, and what comes of the paths to engine.
package routing

import (
	"context"
	"slices"
)

// Row is a named router, and what must be known of it where routers are chosen.
type Row struct {
	Name   string
	Doc    string // one line
	Router Router
	// Reads are the keys and tables of [policy] that it reads: its own options, and those of routers that it includes.
	// "KEY if CONDITION" is read where a condition, as those of the keys themselves, holds.
	Reads []string
	// AnyGraph reports whether it serves whatever links join; nil does not.
	AnyGraph func(s *Settings) bool
	// DrawsPerHop reports whether packets draw their links as they go (engine.Spread); nil does not.
	DrawsPerHop func(s *Settings) bool
	// SharesPaths has flows that translations take into each other share paths. Slow takes long to find paths, which are
	// hardly longer than shortest ones.
	SharesPaths, IsSlow bool
	// Shortest has packets take shortest paths, those of a flow one where Hops does not hold.
	Shortest bool
}

// Table is the routers by name, in the order in which they are listed. They take their own options from Options.
var Table = []Row{
	{
		Name: "dor", Doc: "dimension order, longest first, even/odd ties; tori and meshes without faults",
		Router: optionRouter(func(o Options) Router { return DimensionOrder{o.Order} }), Reads: []string{"order"},
	},
	{
		Name: "wild-first", Doc: "at most one wild hop per dimension, then dimension order: around faults of tori and meshes",
		Router: optionRouter(func(o Options) Router { return o.wildFirst() }), Reads: []string{"order", "wild-first"},
	},
	{
		Name: "shortest", Doc: "breadth-first shortest paths, the link created first, parallel links in turn; any graph",
		Router: Shortest{}, AnyGraph: always, Shortest: true,
	},
	{
		Name: "ecmp", Doc: "shortest paths, at each node one of the equal-cost links, by pair, destination or packet; any graph",
		Router: optionRouter(func(o Options) Router { return o.ECMP }), Reads: []string{"ecmp"}, AnyGraph: always,
		DrawsPerHop: func(s *Settings) bool { return s.ECMP.Draw == DrawPacket }, Shortest: true,
	},
	{
		Name: "random-shortest", Doc: "one of all shortest paths, drawn uniformly; any graph",
		Router: optionRouter(func(o Options) Router { return o.RandomShortest }), Reads: []string{"random-shortest"}, AnyGraph: always,
		DrawsPerHop: func(s *Settings) bool { return s.RandomShortest.Draw == DrawPacket }, Shortest: true,
	},
	{
		Name: "multipath", Doc: "several shortest or wild-first routes per pair (policy.multipath.ways, 8), of which each packet takes one at random",
		Router: optionRouter(func(o Options) Router {
			if o.Multipath.Over == OverWildFirst {
				return wildMultipath{o.Multipath, o.wildFirst()}
			}
			return o.Multipath
		}),
		Reads:    []string{"multipath", "order if policy.multipath.over=wild-first", "wild-first if policy.multipath.over=wild-first"},
		AnyGraph: func(s *Settings) bool { return s.Multipath.Over != OverWildFirst }, SharesPaths: true,
	},
	{
		Name: "route-optimised", Doc: "one route per pair, chosen off-line for the least load of the most loaded link, free of deadlock; tori best",
		Router: optionRouter(func(o Options) Router { return o.Optimised }),
		Reads:  []string{"order", "wild-first", "route-optimised"}, AnyGraph: always, SharesPaths: true, IsSlow: true,
	},
}

func always(*Settings) bool { return true }

// DefaultName returns the router where none is named: one that can serve the fabric, a torus or any graph, perhaps with
// faults.
func DefaultName(torus, faulty bool) string {
	switch {
	case !torus:
		return "shortest"
	case faulty:
		return "wild-first"
	}
	return "dor"
}

// ByName returns the router of that name, nil if there is none.
func ByName(name string) *Row {
	if i := slices.IndexFunc(Table, func(r Row) bool { return r.Name == name }); i >= 0 {
		return &Table[i]
	}
	return nil
}

// CheckServes asks a router whether it serves a problem, where that is sooner said than paths are found: its error is then
// that of Route, with ErrUnserved, of the first pair that it names.
func (r *Row) CheckServes(p *Problem, o Options) (asked bool, err error) {
	led, ok := r.router(o).(interface {
		assigner(p *Problem, seed uint64) (*Candidates, *pathAssigner, error)
	})
	if !ok || p.Torus == nil {
		return false, nil
	}
	_, l, err := led.assigner(p, o.Seed)
	if err != nil {
		return true, err
	}
	return true, l.checkServes()
}

// optionRouter is the router that options hold.
type optionRouter func(Options) Router

func (r optionRouter) Route(ctx context.Context, p *Problem, o Options) (*Decision, error) {
	return r(o).Route(ctx, p, o)
}

// router returns the router under options.
func (r *Row) router(o Options) Router {
	if fromOptions, ok := r.Router.(optionRouter); ok {
		return fromOptions(o)
	}
	return r.Router
}
