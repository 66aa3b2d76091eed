package fabric

import "sim/engine"

// Reduce merges all of a job's graph that stays inside pods into lags: the reduced inter-pod DAG of DELTA, Fig. 3b.
// origin maps its tasks to those of g, -1 for the virtual first and last task.
func (p *Pods) Reduce(g *engine.Graph) (small *engine.Graph, origin []int32, err error) {
	return engine.Contract(g, func(id int32) bool {
		return p.Moves(&g.Tasks[id])
	}, func(id int32) engine.Time {
		return g.Tasks[id].Duration
	})
}

// Moves reports whether a task moves data between pods.
func (p *Pods) Moves(t *engine.Task) bool {
	return t.Kind == engine.Transfer && p.Crosses(t.Src, t.Dst)
}

// CriticalTransfer returns the time that transfers between pods take on the critical path of a trace of g: numerator
// and denominator of the literal reading of DELTA's NCT (Sec. V-A.3).
func (p *Pods) CriticalTransfer(g *engine.Graph, t *engine.Trace) engine.Time {
	sum := engine.Time(0)
	for _, id := range t.CriticalPath(g) {
		if p.Moves(&g.Tasks[id]) {
			sum += t.End[id] - t.Start[id]
		}
	}
	return sum
}
