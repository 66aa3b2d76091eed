package topology

import "slices"

// demandMatched is the rule of demand-matched. Whenever a pair of pods has completed its
// last transfer, circuits are allocated again by the remaining bytes of the other pairs:
// one circuit to each, then one at a time to the pair with the most remaining bytes per
// circuit. Controllers that follow demand matrices do the same (Helios, SIGCOMM 2010);
// here the matrix is exact.
func demandMatched(m *ruleInput) (*Sequence, error) {
	bundles, links := m.p.Fabric.Bundles, len(m.p.Fabric.Network.Links)
	topology := func(left []float64) []int {
		load, least := m.bundleLoads(left), make([]int, len(bundles))
		for e := range least {
			if load[e] > 0 {
				least[e] = 1
			}
		}
		return m.allocateGreedily(least, load)
	}
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
	gone := make([]bool, len(bundles))
	for ok := m.simulator.startIteration(q.First, m.maxCircuits, &pendingSetup{}, never); ok; {
		now, more := m.evaluator.AwaitLast()
		if !more {
			break
		}
		last := -1
		for e := range gone {
			if ended, of := m.evaluator.Ended(int32(e)); ended == of && !gone[e] {
				gone[e], last = true, e
			}
		}
		if last < 0 || !slices.Contains(gone, false) {
			break
		}
		left := make([]float64, links)
		m.evaluator.Left(left)
		_, of := m.evaluator.Ended(int32(last))
		s := Step{Bundle: last, Count: int(of), Circuits: topology(left)}
		for e, n := range s.Circuits {
			if n == 0 && m.simulator.target[e] > 0 { // in later iterations e may complete after the last of the others
				s.Carried = append(s.Carried, e)
			}
		}
		q.Steps = append(q.Steps, s)
		m.simulator.applyStep(now, s.Circuits, true)
	}
	q.Steps = append(q.Steps, Step{Bundle: AtEnd, Circuits: q.First})
	q.removeUnchanged()
	return q, m.ctx.Err()
}
