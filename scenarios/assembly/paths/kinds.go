package paths

import (
	"context"
	"sync"

	"sim/fabric/torus"
	algorithm "sim/policies/collective"
	"sim/scenarios/assembly/input"
	"sim/workloads/collective"
)

// Kind is a kind of traffic: a row of Kinds.
type Kind struct {
	Name   string
	Doc    string
	PodDoc string   // of the kind among the GPUs of pods
	Groups []string // groups of keys that it uses, by which tags ask for it

	Source            string // of packets, by default
	CoversAllPairs    bool   // every pair of nodes is a flow
	IsUniform         bool   // every node sends every other the same
	HasOwnSizes       bool   // messages have sizes of their own
	IsListed          bool   // these are listed
	DrawsDestinations bool   // the destination of every packet is drawn
	Alternates        bool   // flows take turns: parts of the traffic are on and off
	// UsesDimensions reports whether the traffic refers to dimensions of a fabric of links; nil never does.
	UsesDimensions func(w *input.Traffic) bool
	// NodeTraffic returns the traffic among so many nodes without links; nil if it follows links.
	NodeTraffic func(s *Scenario, nodes int, message int64) (*collective.Traffic, error)

	// maxFlows returns the number of flows at most; nil is a flow for every pair of nodes.
	maxFlows func(nodes, links float64) float64
	// load is what is moved, where messages have a size.
	load func(ctx context.Context, r *routingSystem, message int64) (*trafficLoad, error)
	// check lays the work out before a run where it may not be, and returns the keys that are then at fault, before those
	// of where it is laid; nil where nothing can be wrong.
	check func(r *routingSystem, message int64, where []string) (keys []string, err error)
}

// AllToAll and Matrix are the kinds that files may write as each other.
var (
	AllToAll = &Kind{
		Name: algorithm.AllToAll.String(), Doc: "Every node sends a message to every other.",
		PodDoc: "Every GPU sends a message to every other.",
		Groups: []string{"step", "sizes", "exchange"}, Source: "paced", CoversAllPairs: true,
		IsUniform:   true,
		NodeTraffic: allToAllTraffic,
		load: immediateLoad(func(r *routingSystem, message int64) (*collective.Traffic, error) {
			return collective.AllToAll(int(r.Whole.Nodes), message, r.Down)
		}),
	}
	Matrix = &Kind{
		Name: "matrix", Doc: "Bytes from each node to each node, from a file or list.",
		PodDoc: "Bytes from each GPU to each GPU, pod after pod, from a file or list.",
		Groups: []string{"matrix"}, Source: "paced", HasOwnSizes: true, IsListed: true,
		NodeTraffic: func(s *Scenario, nodes int, _ int64) (*collective.Traffic, error) { return s.Matrix(nodes, nil) },
		load:        immediateLoad((*routingSystem).matrixTraffic),
		check: func(r *routingSystem, _ int64, _ []string) ([]string, error) {
			_, err := r.matrixTraffic(0)
			return []string{"workload.matrix_file", "workload.matrix"}, err
		},
	}
)

// Kinds returns all kinds of traffic, those of collective.Patterns among them.
var Kinds = sync.OnceValue(newKinds)

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
			UsesDimensions: func(w *input.Traffic) bool { return w.Permutation != collective.Permutations[0] },
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
				return s.Workload.Pattern().Traffic(collective.PatternInput{Nodes: nodes,
					Seed: s.Seed}, message)
			},
			load:  immediateLoad((*routingSystem).patternTraffic),
			check: (*routingSystem).checkPattern,
		})
	}

	return append(all, Matrix, &Kind{
		Name: "data-tensor", Doc: "Alternating tensor parallelism, all-to-all in slices, and data parallelism, rings across slices (Gottipati, Sec. II-B.2).",
		Groups: []string{"turns"}, Source: "on-off", Alternates: true,
		UsesDimensions: func(*input.Traffic) bool { return true },
		load:           func(_ context.Context, r *routingSystem, m int64) (*trafficLoad, error) { return r.dataTensorLoad(m) }, check: (*routingSystem).checkDataTensor,
	})
}

// allToAllTraffic is a message of each node to each other.
func allToAllTraffic(_ *Scenario, nodes int, message int64) (*collective.Traffic, error) {
	return collective.AllToAll(nodes, message, nil)
}

// trafficKind returns the kind of the traffic; an empty one of other work.
func (s *Scenario) trafficKind() *Kind {
	if s.Workload.Work != nil || s.Workload.Call != nil {
		return &Kind{}
	}
	return KindByName(s.Workload.Kind)
}

// KindByName returns the kind of traffic of that name; an empty one if there is none.
func KindByName(name string) *Kind {
	for _, k := range Kinds() {
		if k.Name == name {
			return k
		}
	}
	return &Kind{}
}
