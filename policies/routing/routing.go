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
}

// Table is the routers by name, in the order in which they are listed. They take their own options from Options.
var Table = []Row{
	{"dor", "dimension order, longest first, even/odd ties; tori and meshes without faults", byOption(func(o Options) Router { return o.DimensionOrder })},
	{"wild-first", "at most one wild hop per dimension, then dimension order: around faults of tori and meshes", byOption(func(o Options) Router { return o.WildFirst })},
	{"shortest", "breadth-first shortest paths, the link created first; any graph", Shortest{}},
	{"ecmp", "shortest paths, at each node one of the equal-cost links, by pair, destination or packet; any graph", byOption(func(o Options) Router { return o.ECMP })},
	{"random-shortest", "one of all shortest paths, drawn uniformly; any graph", byOption(func(o Options) Router { return o.RandomShortest })},
	{"multipath", "several shortest or wild-first routes per pair (policy.multipath.ways, 8), of which each packet takes one at random", byOption(func(o Options) Router { return o.Multipath })},
	{"route-optimised", "one route per pair, chosen off-line for the least load of the most loaded link, free of deadlock; tori best", byOption(func(o Options) Router { return o.Optimised })},
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
