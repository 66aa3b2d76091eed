// This file describes the fabrics of links: "torus", "graph" and "electrical". Routers
// choose paths on them.
//
// A kind (kinds.go) is a value of workload.kind or fabric.kind. Each of its forms has the
// keys for certain fabrics (parts), and functions that prepare and check them.

package scenarios

import (
	"context"

	"sim/fabric/graph"
	"sim/policies/collective"
	"sim/policies/routing"
	"sim/scenarios/assembly"
	"sim/scenarios/assembly/input"
	"sim/scenarios/assembly/paths"
	"sim/scenarios/schema"
)

// torusKind describes the fabric "torus".
func torusKind() *kind {
	return &kind{
		name:           "torus",
		hasCoordinates: true,
		sizeKey:        "dims",
		remedy:         sliceRemedy,
		canBeInner:     true,
		canBeOuter:     true,
		forms: []*form{linkForm(form{
			doc:   "A torus or mesh of chips, whose wrap-around links may be twisted and may pass optical switches.",
			parts: torusParts, check: checkTorus,
		})},
	}
}

// graphKind describes the fabric "graph".
func graphKind() *kind {
	return &kind{
		name:       "graph",
		sizeKey:    "nodes",
		canBeInner: true,
		canBeOuter: true,
		forms: []*form{linkForm(form{
			doc:     "Any nodes and directed links.",
			parts:   graphParts,
			prepare: prepareGraph,
			check:   checkGraph,
		})},
	}
}

// electricalKind describes the fabric "electrical".
func electricalKind() *kind {
	return &kind{
		name:       "electrical",
		sizeKey:    "gpus",
		canBeInner: true,
		canBeOuter: true,
		forms: []*form{linkForm(form{
			doc:   "GPUs behind an electrical switch that does not block, such as a domain of eight or seventy-two.",
			parts: electricalParts, check: checkElectrical,
		})},
	}
}

// linkForm completes the form of a fabric of links: routers choose paths, and package paths
// simulates them.
func linkForm(f form) *form {
	f.carrier, f.policyKey, f.unsupportedFormat = linkCarrier, "routers", unsupportedOnLinks
	f.hardware = &hardware{
		build: buildWithTiers(func(ctx context.Context, in *input.Scenario, workers int) (assembly.System, error) {
			return paths.New(ctx, (*paths.Scenario)(in), workers)
		}),
		describe: func(s *Scenario) string { return s.pathsView().Description() },
		cost: func(ctx context.Context, s *Scenario) (Cost, error) {
			return s.pathsView().Cost(ctx)
		},
		noPlanText:  "routers plan nothing; --routes-out DIR writes what they decide",
		callProblem: func(s *Scenario) (*collective.Problem, error) { return s.pathsView().CallProblem() },
		callBound: func(ctx context.Context, s *Scenario) (collective.LowerBound, error) {
			p, err := s.pathsView().CallProblem()
			if err != nil {
				return collective.LowerBound{}, err
			}
			return p.Bound(ctx)
		},
	}
	return &f
}

// torusLinkTags are the tags of links.LinkOptions for a torus, whose preset has a rate.
var torusLinkTags = schema.Tags{
	"LinkRate":    `key:"link_rate" doc:"rate of a link in each direction" else:"400Gbps, or the preset's" above:"0" max:"1e16"`,
	"LinkLatency": "", "Queue": "", "Channels": "", "Buffer": "", "BitErrors": "",
}

// torusParts are the tables of fabric "torus" and of its routers.
func torusParts(s *Scenario) []schema.Part {
	l := &s.Fabric.Links
	return append([]schema.Part{{
		Path: "fabric",
		Doc:  "The torus and its links.",
		Specs: []any{
			&l.TorusShape, schema.RetaggedSpec{Spec: &l.LinkOptions, Tags: torusLinkTags}, &l.CubeOptions, &l.BrokenParts,
		},
		Defaults: func(int) []any {
			d := l.LinkOptions
			d.LinkRate = l.PresetRate()
			return []any{&d}
		},
	}}, routerParts(s)...)
}

// graphParts are the tables of fabric "graph" and of its routers.
func graphParts(s *Scenario) []schema.Part {
	l := &s.Fabric.Links
	specs := []any{&l.GraphLinks, &l.LinkOptions}
	for i, g := range graph.Generators {
		// The options of a generator are created on first use.
		if i == len(l.Generators) {
			l.Generators = append(l.Generators, g.New())
		}
		specs = append(specs, schema.ConditionalSpec{Spec: l.Generators[i], When: "fabric.generator=" + g.Name})
	}

	return append([]schema.Part{
		{Path: "fabric", Doc: "The nodes and links.", Specs: specs},
		{
			Path: "fabric.switches", Doc: "Nodes that only forward. Generators set them.",
			Specs: []any{&l.Switches}, Omit: func() bool { return l.Switches.From == 0 },
		},
	}, routerParts(s)...)
}

// routerParts are the tables that all fabrics of links have.
func routerParts(s *Scenario) []schema.Part {
	return []schema.Part{
		{
			Path:  "policy",
			Doc:   "The routers to compare.",
			Specs: []any{&s.Policy.Routing, &s.Policy.Calls, &s.Policy.Mapping},
			Defaults: func(int) []any {
				d := s.Policy.Routing
				d.Routers = []string{routing.DefaultName(s.hasCoordinates(), s.Fabric.Faulty())}
				d.Optimised.NeighbourCap = 2 // messages between neighbours per link
				if !s.hasCoordinates() {
					d.Optimised.NeighbourCap = -1 // no limit
				}
				return []any{&d, s.callDefaults()}
			},
		},
		{
			Path: "engine", Doc: "The level of the simulation.", Specs: []any{&s.Engine},
			Defaults: func(int) []any { return []any{&s.Engine} }, // peekLevel has set the level
		},
		{
			Path: "transport", Doc: "How hosts control and repeat packets, and what switches do with full queues.",
			When: "engine.level=packet", Specs: []any{&s.Transport},
			Omit: func() bool { return !s.Transport.IsUsed() },
		},
	}
}

// hasCoordinates reports whether the nodes of the fabric of s have coordinates.
func (s *Scenario) hasCoordinates() bool {
	f := fabricForm(s)
	return f != nil && f.hasCoordinates
}

// electricalParts are the tables of fabric "electrical" and of its routers.
func electricalParts(s *Scenario) []schema.Part {
	l := &s.Fabric.Links
	return append([]schema.Part{{
		Path:  "fabric",
		Doc:   "The GPUs and their links to the switch.",
		Specs: []any{&l.Domain, &l.LinkOptions},
	}}, routerParts(s)...)
}
