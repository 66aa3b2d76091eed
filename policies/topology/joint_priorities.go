package topology

import (
	"context"
	"math/rand/v2"
	"slices"

	"sim/engine"
	"sim/engine/flow"
	"sim/internal/random"
)

// maxTailEvaluations and maxTailWork limit the local search over priorities: simulations,
// as a budget counts them, and their work in units of flow.Evaluator.Work. The second
// limit matters if hundreds of transfers share links. Every event then redistributes
// capacity among all of them, and different tails cause more events.
const (
	maxTailEvaluations = 3000
	maxTailWork        = 1 << 28
)

// searchPriorities searches for better rates on the circuits found if a gap remains.
// Transfers are served by level priority with tails that differ from the graph's. A
// seeded local search changes the tails of transfers that share a resource. It never
// increases the makespan.
func (best *jointResult) searchPriorities(ctx context.Context, p *Problem, seed uint64, search *searchBudget) error {
	rivals := p.competingTransfers()
	if len(rivals) == 0 || best.isProved() {
		return nil
	}

	// Start from the tails of the graph. A tail is the time from the end of a transfer to the end of
	// the work; level priority serves the longest tail first.
	w := p.acquire(ctx, flow.LevelPriority)
	defer p.release(w)
	workAtStart := w.Work()
	w.provision(best.circuits)
	graphTails := w.Spans().Tail
	tails, service := graphTails, flow.LevelPriority
	if best.service == flow.TailPriority {
		service = flow.TailPriority
	}
	rng := random.Stream(seed, "tails")
	current, work := best.makespan, int64(maxTailWork)
	if search.maxWork > 0 {
		work = min(work, search.maxWork)
	}
	for n := min(maxTailEvaluations, search.MaxEvaluations-best.evaluations*p.evaluationCost()); n > 0 && !best.isProved(); n -= p.evaluationCost() {
		if ctx.Err() != nil || search.expired() || w.Work()-workAtStart >= work {
			break
		}
		rule := service
		if rng.IntN(5) == 0 {
			rule = []flow.Service{flow.LevelPriority, flow.TailPriority}[rng.IntN(2)]
		}

		// Change the tails of one to four transfers, and simulate.
		changed := slices.Clone(tails)
		for range 1 + rng.IntN(4) {
			perturbTail(rng, changed, rivals[rng.IntN(len(rivals))], float64(best.makespan))
		}
		w.SetService(rule)
		if err := w.SetTails(changed); err != nil {
			return err
		}
		best.evaluations++
		c, ok := w.Makespan(current + 1)
		if !ok {
			continue
		}
		tails, service, current = changed, rule, c // equal makespans are accepted, so that the search moves on
		if isFaster(c, best.makespan) {
			best.makespan, best.service, best.tails = c, rule, changed
		}
	}

	return nil
}

// isProved reports whether the makespan equals the bound.
func (best *jointResult) isProved() bool {
	return meetsBound(best.makespan, best.bound)
}

// perturbTail changes the tail of one of the given transfers, at random or relative to
// the tail of another one.
func perturbTail(rng *rand.Rand, tail []float64, transfers []int32, makespan float64) {
	i, j := transfers[rng.IntN(len(transfers))], transfers[rng.IntN(len(transfers))]
	switch shift := rng.Float64() - 0.5; rng.IntN(3) {
	case 0:
		tail[i], tail[j] = tail[j], tail[i]
	case 1:
		tail[i] = tail[j] + shift*makespan/50
	default:
		tail[i] += shift * makespan / 5
	}
}

// competingTransfers returns the transfers on each resource that has at least two.
func (p *Problem) competingTransfers() [][]int32 {
	byResource := make([][]int32, p.Fabric.Network.Resources())
	for i := range int32(len(p.Graph.Tasks)) {
		if p.Graph.Tasks[i].Kind != engine.Transfer {
			continue
		}
		for _, u := range p.Fabric.Routes.Of(i) {
			byResource[u.Resource] = append(byResource[u.Resource], i)
		}
	}
	return slices.DeleteFunc(byResource, func(ids []int32) bool { return len(ids) < 2 })
}
