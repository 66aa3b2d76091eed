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

	Source    string // of packets, by default
	EveryPair bool   // every pair of nodes is a flow
	Alike     bool   // every node sends every other the same
	OwnSizes  bool   // messages have sizes of their own
	Listed    bool   // these are listed
	Drawn     bool   // the destination of every packet is drawn
	Turns     bool   // flows take turns: parts of the traffic are on and off
	// Dimensions reports whether the traffic refers to dimensions of a fabric of links; nil never does.
	Dimensions func(w *input.Traffic) bool
	// Among returns the traffic among so many nodes without links; nil if it follows links.
	Among func(s *Scenario, nodes int, message int64) (*collective.Traffic, error)

	// pairs returns the number of flows at most; nil is a flow for every pair of nodes.
	pairs func(nodes, links float64) float64
	// load is what is moved, where messages have a size.
	load func(ctx context.Context, r *routed, message int64) (*load, error)
	// lay lays the work out before a run where it may not be, and returns the keys that are then at fault, before those
	// of where it is laid; nil where nothing can be wrong.
	lay func(r *routed, message int64, where []string) (keys []string, err error)
}

// AllToAll and Matrix are the kinds that files may write as each other.
var (
	AllToAll = &Kind{
		Name: algorithm.AllToAll.String(), Doc: "Every node sends a message to every other.", PodDoc: "Every GPU sends a message to every other.",
		Groups: []string{"step", "sizes", "exchange"}, Source: "paced", EveryPair: true, Alike: true,
		Among: allToAll,
		load: atOnce(func(r *routed, message int64) (*collective.Traffic, error) {
			return collective.AllToAll(int(r.Whole.Nodes), message, r.Down)
		}),
	}
	Matrix = &Kind{
		Name: "matrix", Doc: "Bytes from each node to each node, from a file or list.", PodDoc: "Bytes from each GPU to each GPU, pod after pod, from a file or list.",
		Groups: []string{"matrix"}, Source: "paced", OwnSizes: true, Listed: true,
		Among: func(s *Scenario, nodes int, _ int64) (*collective.Traffic, error) { return s.Matrix(nodes, nil) },
		load:  atOnce((*routed).matrix),
		lay: func(r *routed, _ int64, _ []string) ([]string, error) {
			_, err := r.matrix(0)
			return []string{"workload.matrix_file", "workload.matrix"}, err
		},
	}
)

// Kinds returns all kinds of traffic, those of collective.Patterns among them.
var Kinds = sync.OnceValue(listKinds)

func listKinds() []*Kind {
	all := []*Kind{
		AllToAll,
		{
			Name: "nearest-neighbour", Doc: "Every node sends a message over each of its links.", Groups: []string{"step"}, Source: "paced",
			pairs: func(_, links float64) float64 { return links },
			load:  atOnce((*routed).neighbours), lay: layAtOnce((*routed).neighbours),
		},
		{
			Name: "uniform-random", Doc: "Every packet goes to a random node.", PodDoc: "Every packet goes to a random GPU.",
			Source: "poisson", EveryPair: true, Drawn: true, Among: allToAll,
			load: atOnce(func(r *routed, message int64) (*collective.Traffic, error) {
				return collective.UniformRandom(int(r.Whole.Nodes), message, r.Down)
			}),
		},
		{
			Name: "permutation", Doc: "Every node sends to one other.", PodDoc: "Every GPU sends a message to one other random GPU.",
			Groups: []string{"permutation"}, Source: "paced",
			Dimensions: func(w *input.Traffic) bool { return w.Permutation != collective.Permutations[0] },
			Among: func(s *Scenario, nodes int, message int64) (*collective.Traffic, error) {
				line, err := torus.New(nodes)
				if err != nil {
					return nil, err
				}
				return collective.Permutation(line, collective.Permutations[0], message, s.Seed, nil)
			},
			pairs: func(nodes, _ float64) float64 { return nodes },
			load:  atOnce((*routed).permutation), lay: layAtOnce((*routed).permutation, "workload.permutation"),
		},
	}
	for _, p := range collective.Patterns {
		all = append(all, &Kind{
			Name: p.Name, Doc: p.Doc, PodDoc: p.Doc, Source: "paced", EveryPair: p.CoversAllPairs, OwnSizes: p.HasOwnSizes,
			Among: func(s *Scenario, nodes int, message int64) (*collective.Traffic, error) {
				return s.Workload.Pattern().Traffic(collective.PatternInput{Nodes: nodes, Seed: s.Seed}, message)
			},
			load: atOnce((*routed).pattern), lay: (*routed).layPattern,
		})
	}
	return append(all, Matrix, &Kind{
		Name: "data-tensor", Doc: "Alternating tensor parallelism, all-to-all in slices, and data parallelism, rings across slices (Gottipati, Sec. II-B.2).",
		Groups: []string{"turns"}, Source: "on-off", Turns: true,
		Dimensions: func(*input.Traffic) bool { return true },
		load:       func(_ context.Context, r *routed, m int64) (*load, error) { return r.dataTensor(m) }, lay: (*routed).layDataTensor,
	})
}

// allToAll is a message of each node to each other.
func allToAll(_ *Scenario, nodes int, message int64) (*collective.Traffic, error) {
	return collective.AllToAll(nodes, message, nil)
}

// traffic returns the kind of the traffic; an empty one of other work.
func (s *Scenario) traffic() *Kind {
	if s.Workload.Work != nil || s.Workload.Call != nil {
		return &Kind{}
	}
	return KindOf(s.Workload.Kind)
}

// KindOf returns the kind of traffic of that name; an empty one if there is none.
func KindOf(name string) *Kind {
	for _, k := range Kinds() {
		if k.Name == name {
			return k
		}
	}
	return &Kind{}
}
