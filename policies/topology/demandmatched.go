package topology

import "slices"

// demandMatched is the rule of demand-matched. Whenever a pair of pods has completed its
// last transfer, circuits are allocated again by the remaining bytes of the other pairs:
// one circuit to each, then one at a time to the pair with the most remaining bytes per
// circuit. Controllers that follow demand matrices do the same (Helios, SIGCOMM 2010);
// here the matrix is exact.
func demandMatched(m *ruleInput) (*Sequence, error) {
	bundles, links := m.p.Fabric.Bundles, len(m.p.Fabric.Network.Links)

	// topology returns the circuits for the remaining bytes of each link.
	topology := func(remaining []float64) []int {
		load, minimums := m.bundleLoads(remaining), make([]int, len(bundles))
		for e := range minimums {
			if load[e] > 0 {
				minimums[e] = 1
			}
		}
		return m.allocateGreedily(minimums, load)
	}

	// The first topology is for all bytes.
	all := make([]float64, links)
	for _, id := range m.p.networkTransfers() {
		for _, u := range m.p.Fabric.Routes.Of(id) {
			if int(u.Resource) < links {
				all[u.Resource] += float64(m.p.Graph.Tasks[id].Bytes) * u.Weight
			}
		}
	}

	q := &Sequence{First: topology(all)}
	m.numSimulated++

	// Simulate the iteration. AwaitLast simulates until some bundle has completed its last transfer.
	completed := make([]bool, len(bundles))
	for ok := m.simulator.startIteration(q.First, m.maxCircuits, &pendingSetup{}, never); ok; {
		now, more := m.evaluator.AwaitLast()
		if !more {
			break
		}
		last := -1
		for e := range completed {
			if ended, total := m.evaluator.Ended(int32(e)); ended == total && !completed[e] {
				completed[e], last = true, e
			}
		}
		if last < 0 || !slices.Contains(completed, false) {
			break
		}
		remaining := make([]float64, links)
		m.evaluator.AddRemaining(remaining)
		_, total := m.evaluator.Ended(int32(last))
		s := Step{Bundle: last, Count: int(total), Circuits: topology(remaining)}
		for e, n := range s.Circuits {
			// In later iterations e may complete after the last of the others.
			if n == 0 && m.simulator.target[e] > 0 {
				s.Carried = append(s.Carried, e)
			}
		}
		q.Steps = append(q.Steps, s)
		m.simulator.applyStep(now, s.Circuits, duringIteration)
	}

	q.Steps = append(q.Steps, Step{Bundle: AtEnd, Circuits: q.First})
	q.removeUnchanged()
	return q, m.ctx.Err()
}
