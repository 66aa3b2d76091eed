package topology

import (
	"context"

	"github.com/emirpasic/gods/queues/priorityqueue"

	"sim/engine"
	"sim/engine/flow"
)

// UnseededBound is the bound of delta-topo's search without the topologies
// that it starts from, after that many evaluations.
func UnseededBound(p *Problem, evaluations int64) engine.Time {
	s := &topoSearch{p: p, o: SearchOptions{MaxEvaluations: evaluations}, ctx: context.Background(), service: flow.MaxMin, best: never,
		open: priorityqueue.NewWith(boxOrder), seen: map[string]engine.Time{}}
	s.w, s.bounder = p.player(context.Background(), s.service), p.player(context.Background(), s.service)
	defer p.done(s.w)
	defer p.done(s.bounder)
	s.inner = p.inner()
	s.search()
	return s.bound
}
