package topology

import (
	"context"

	"sim/engine"
	"sim/engine/flow"
)

// UnseededBound is the bound of delta-topo's search without the topologies that it starts from, after that many
// evaluations.
func UnseededBound(p *Problem, evaluations int64) engine.Time {
	s := newTopoSearch(context.Background(), p, SearchOptions{MaxEvaluations: evaluations}, flow.MaxMin)
	defer s.close()
	s.search()
	return s.bound
}
