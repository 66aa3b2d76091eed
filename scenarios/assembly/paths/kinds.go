// This file holds Kinds, the table of the kinds of traffic. traffic.go and patterns.go
// have the functions that generate them.

package paths

import (
	"context"
	"sync"

	"sim/fabric/torus"
	algorithm "sim/policies/collective"
	"sim/scenarios/assembly/input"
	"sim/workloads/collective"
)

// Kind is a kind of traffic, a row of Kinds.
type Kind struct {
	Name   string   // value of workload.kind
	Doc    string   // description for the reference of keys
	PodDoc string   // the same for traffic among the GPUs of pods
	Groups []string // groups of keys that the kind uses; tags of keys name them

	Source            string // default of workload.source
	CoversAllPairs    bool   // every pair of nodes is a flow
	IsUniform         bool   // every node sends the same to every other
	HasOwnSizes       bool   // messages may have different sizes
	IsListed          bool   // the scenario lists the sizes
	DrawsDestinations bool   // each packet has a random destination
	Alternates        bool   // parts of the traffic are on and off in turns
	// UsesDimensions reports whether the traffic refers to dimensions of a torus;
	// nil means that it never does.
	UsesDimensions func(w *input.Traffic) bool
	// NodeTraffic returns the traffic among a number of nodes without links; nil
	// if the traffic follows links.
	NodeTraffic func(s *Scenario, nodes int, message int64) (*collective.Traffic, error)

	// maxFlows returns an upper bound on the number of flows; nil means one for
	// every pair of nodes.
	maxFlows func(nodes, links float64) float64
	// load generates the traffic on a fabric. message is the size of a message in
	// bytes.
	load func(ctx context.Context, r *routingSystem, message int64) (*trafficLoad, error)
	// check generates the traffic before a run, if that can fail; nil if it
	// cannot. It returns the error and the keys that may have caused it, ending
	// with fabricKeys if the fabric may be the cause.
	check func(r *routingSystem, message int64, fabricKeys []string) (keys []string, err error)
}

// AllToAll and Matrix are two kinds that a scenario may exchange for each other.
var (
	AllToAll = &Kind{
		Name: algorithm.AllToAll.String(), Doc: "Every node sends a message to every other.",
		PodDoc: "Every GPU sends a message to every other.",
		Groups: []string{"step", "sizes", "exchange"},
		Source: "paced", CoversAllPairs: true, IsUniform: true,
		NodeTraffic: allToAllTraffic,
		load: immediateLoad(func(r *routingSystem, message int64) (*collective.Traffic, error) {
			return collective.AllToAll(int(r.Whole.Nodes), message, r.Down)
		}),
	}
	Matrix = &Kind{
		Name: "matrix", Doc: "Bytes from each node to each node, from a file or list.",
		PodDoc: "Bytes from each GPU to each GPU, pod after pod, from a file or list.",
		Groups: []string{"matrix"}, Source: "paced", HasOwnSizes: true, IsListed: true,
		NodeTraffic: func(s *Scenario, nodes int, _ int64) (*collective.Traffic, error) {
			var noneDown []bool
			return s.Matrix(nodes, noneDown)
		},
		load: immediateLoad((*routingSystem).matrixTraffic),
		check: func(r *routingSystem, _ int64, _ []string) ([]string, error) {
			const noMessage = 0 // the matrix has the sizes
			_, err := r.matrixTraffic(noMessage)
			return []string{"workload.matrix_file", "workload.matrix"}, err
		},
	}
)

// Kinds returns all kinds of traffic. They include the patterns of
// collective.Patterns.
var Kinds = sync.OnceValue(newKinds)

// newKinds returns the table of Kinds.
func newKinds() []*Kind {
	all := []*Kind{
		AllToAll,
		{
			Name:   "nearest-neighbour",
			Doc:    "Every node sends a message over each of its links.",
			Groups: []string{"step"}, Source: "paced",
			maxFlows: func(_, links float64) float64 { return links },
			load:     immediateLoad((*routingSystem).neighbourTraffic),
			check:    checkImmediate((*routingSystem).neighbourTraffic),
		},
		{
			Name: "uniform-random", Doc: "Every packet goes to a random node.",
			PodDoc: "Every packet goes to a random GPU.",
			Source: "poisson", CoversAllPairs: true, DrawsDestinations: true,
			NodeTraffic: allToAllTraffic,
			load: immediateLoad(func(r *routingSystem, message int64) (*collective.Traffic, error) {
				return collective.UniformRandom(int(r.Whole.Nodes), message, r.Down)
			}),
		},
		{
			Name: "permutation", Doc: "Every node sends to one other.",
			PodDoc: "Every GPU sends a message to one other random GPU.",
			Groups: []string{"permutation"}, Source: "paced",
			UsesDimensions: func(w *input.Traffic) bool {
				return w.Permutation != collective.Permutations[0] // random
			},
			NodeTraffic: func(s *Scenario, nodes int, message int64) (*collective.Traffic, error) {
				line, err := torus.New(nodes)
				if err != nil {
					return nil, err
				}
				return collective.Permutation(line, collective.Permutations[0], message,
					s.Seed, nil)
			},
			maxFlows: func(nodes, _ float64) float64 { return nodes },
			load:     immediateLoad((*routingSystem).permutationTraffic),
			check: checkImmediate((*routingSystem).permutationTraffic,
				"workload.permutation"),
		},
	}

	for _, p := range collective.Patterns {
		all = append(all, &Kind{
			Name: p.Name, Doc: p.Doc, PodDoc: p.Doc, Source: "paced",
			CoversAllPairs: p.CoversAllPairs, HasOwnSizes: p.HasOwnSizes,
			NodeTraffic: func(s *Scenario, nodes int, message int64) (*collective.Traffic, error) {
				in := collective.PatternInput{Nodes: nodes, Seed: s.Seed}
				return s.Workload.Pattern().Traffic(in, message)
			},
			load:  immediateLoad((*routingSystem).patternTraffic),
			check: (*routingSystem).checkPattern,
		})
	}

	return append(all, Matrix, &Kind{
		Name: "data-tensor",
		Doc: "Alternating tensor parallelism, all-to-all in slices, and data parallelism, " +
			"rings across slices (Gottipati, Sec. II-B.2).",
		Groups: []string{"turns"}, Source: "on-off", Alternates: true,
		UsesDimensions: func(*input.Traffic) bool { return true },
		load: func(_ context.Context, r *routingSystem, m int64) (*trafficLoad, error) {
			return r.dataTensorLoad(m)
		},
		check: (*routingSystem).checkDataTensor,
	})
}

// IsAtRates reports whether the traffic consists of packets at a rate, rather than of
// messages. Level flow does not simulate it.
func (k *Kind) IsAtRates() bool { return k.DrawsDestinations || k.Alternates }

// allToAllTraffic returns the traffic of a message from each node to each other.
func allToAllTraffic(_ *Scenario, nodes int, message int64) (*collective.Traffic, error) {
	return collective.AllToAll(nodes, message, nil)
}

// trafficKind returns the kind of the traffic. It is empty for work of ranks and
// collective calls.
func (s *Scenario) trafficKind() *Kind {
	if s.Workload.Work != nil || s.Workload.Call != nil {
		return &Kind{}
	}
	return KindByName(s.Workload.Kind)
}

// KindByName returns the kind of traffic with the given name, or an empty kind if
// the name is unknown.
func KindByName(name string) *Kind {
	for _, k := range Kinds() {
		if k.Name == name {
			return k
		}
	}
	return &Kind{}
}
