package fabric

import "sim/engine"

// Reduce merges all tasks of a job's graph that use no modelled resource into lags: the
// reduced inter-pod DAG of DELTA, Fig. 3b. It also merges transfers inside pods that share no
// capacity. alone is their duration, indexed by task, and negative for other tasks; nil if
// no transfer is merged. origin maps the new ids to ids of g, and the virtual first and last
// task to -1.
func (p *Pods) Reduce(g *engine.Graph, alone []engine.Time) (small *engine.Graph, origin []int32, err error) {
	isMerged := func(id int32) bool { return alone != nil && alone[id] >= 0 }
	keep := func(id int32) bool { return p.UsesNetwork(&g.Tasks[id]) && !isMerged(id) }
	duration := func(id int32) engine.Time {
		if isMerged(id) {
			return alone[id]
		}
		return g.Tasks[id].Duration
	}
	return engine.Contract(g, keep, duration)
}

// UsesNetwork reports whether a task is a transfer over a modelled resource: between pods, or
// over links inside a pod.
func (p *Pods) UsesNetwork(t *engine.Task) bool {
	return p.IsInterPod(t) || t.Kind == engine.Transfer && p.Inside != nil
}

// IsInterPod reports whether a task is a transfer between pods.
func (p *Pods) IsInterPod(t *engine.Task) bool {
	return t.Kind == engine.Transfer && p.BetweenPods(t.Src, t.Dst)
}

// CriticalTransfer returns the total duration of the transfers between pods on the critical path
// of a trace of g. It is the numerator or denominator of DELTA's NCT in its literal definition
// (Sec. V-A.3).
func (p *Pods) CriticalTransfer(g *engine.Graph, t *engine.Trace) engine.Time {
	sum := engine.Time(0)
	for _, id := range t.CriticalPath(g) {
		if p.IsInterPod(&g.Tasks[id]) {
			sum += t.End[id] - t.Start[id]
		}
	}
	return sum
}
