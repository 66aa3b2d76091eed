package fabric

import "sim/engine"

// Reduce merges all of a job's graph that takes no modelled resource into lags: the reduced inter-pod DAG of DELTA, Fig.
// 3b. Transfers inside pods that do not contend with anything are merged, too: alone says by task how long they take, and
// is negative of others; nil is so for all. origin maps its tasks to those of g, -1 for the virtual first and last task.
func (p *Pods) Reduce(g *engine.Graph, alone []engine.Time) (small *engine.Graph, origin []int32, err error) {
	merged := func(id int32) bool { return alone != nil && alone[id] >= 0 }
	return engine.Contract(g, func(id int32) bool {
		return p.UsesNetwork(&g.Tasks[id]) && !merged(id)
	}, func(id int32) engine.Time {
		if merged(id) {
			return alone[id]
		}
		return g.Tasks[id].Duration
	})
}

// UsesNetwork reports whether a task moves data over a modelled resource: between pods, or over links inside one.
func (p *Pods) UsesNetwork(t *engine.Task) bool {
	return p.IsInterPod(t) || t.Kind == engine.Transfer && p.Inside != nil
}

// IsInterPod reports whether a task moves data between pods.
func (p *Pods) IsInterPod(t *engine.Task) bool {
	return t.Kind == engine.Transfer && p.BetweenPods(t.Src, t.Dst)
}

// CriticalTransfer returns the time that transfers between pods take on the critical path of a trace of g: numerator
// and denominator of the literal reading of DELTA's NCT (Sec. V-A.3).
func (p *Pods) CriticalTransfer(g *engine.Graph, t *engine.Trace) engine.Time {
	sum := engine.Time(0)
	for _, id := range t.CriticalPath(g) {
		if p.IsInterPod(&g.Tasks[id]) {
			sum += t.End[id] - t.Start[id]
		}
	}
	return sum
}
