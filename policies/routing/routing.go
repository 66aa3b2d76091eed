// Package routing chooses the paths that packets take through a network.
//
// It leaves what the network is to fabric, and what comes of the ways to engine.
package routing

import (
	"context"
	"fmt"
)

// Row is a named router.
type Row struct {
	Name   string
	Doc    string // one line
	Router Router
	// Reads are the keys and tables of [policy] that it reads: its own options, and those of routers that it includes.
	// "KEY if CONDITION" is read where a condition, as those of the keys themselves, holds.
	Reads []string
}

// Table is the routers by name, in the order in which they are listed. They take their own options from Options.
var Table = []Row{
	{Name: "dor", Doc: "dimension order, longest first, even/odd ties; tori and meshes without faults", Router: byOption(func(o Options) Router { return o.DimensionOrder }), Reads: []string{"order"}},
	{Name: "wild-first", Doc: "at most one wild hop per dimension, then dimension order: around faults of tori and meshes", Router: byOption(func(o Options) Router { return o.WildFirst }), Reads: []string{"order", "wild-first"}},
	{Name: "shortest", Doc: "breadth-first shortest paths, the link created first; any graph", Router: Shortest{}},
	{Name: "ecmp", Doc: "shortest paths, at each node one of the equal-cost links, by pair, destination or packet; any graph", Router: byOption(func(o Options) Router { return o.ECMP }), Reads: []string{"ecmp"}},
	{Name: "random-shortest", Doc: "one of all shortest paths, drawn uniformly; any graph", Router: byOption(func(o Options) Router { return o.RandomShortest }), Reads: []string{"random-shortest"}},
	{Name: "multipath", Doc: "several shortest or wild-first routes per pair (policy.multipath.ways, 8), of which each packet takes one at random", Router: byOption(func(o Options) Router { return o.Multipath }), Reads: []string{"multipath", "order if policy.multipath.over=wild-first", "wild-first if policy.multipath.over=wild-first"}},
	{Name: "route-optimised", Doc: "one route per pair, chosen off-line for the least load of the most loaded link, free of deadlock; tori best", Router: byOption(func(o Options) Router { return o.Optimised }), Reads: []string{"order", "wild-first", "route-optimised"}},
}

// Usual returns the router where none is named: one that can serve the fabric, a torus or any graph, perhaps with faults.
func Usual(torus, faulty bool) string {
	switch {
	case !torus:
		return "shortest"
	case faulty:
		return "wild-first"
	}
	return "dor"
}

// ByName returns the router of that name.
func ByName(name string) (Router, error) {
	for _, r := range Table {
		if r.Name == name {
			return r.Router, nil
		}
	}
	return nil, fmt.Errorf("routing: unknown router %q", name)
}

// byOption is the router that options hold.
type byOption func(Options) Router

func (r byOption) Route(ctx context.Context, p *Problem, o Options) (*Decision, error) {
	return r(o).Route(ctx, p, o)
}
