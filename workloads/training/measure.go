package training

import (
	"sim/engine"
	"sim/fabric"
)

// Times are the makespans that a topology's is measured against.
type Times struct {
	Compute engine.Time // every transfer between pods takes no time
	Ideal   engine.Time // on the ideal non-blocking fabric
}

// NCT returns the normalised communication time of makespan c: the exposed
// communication over that of the ideal fabric (docs/model.md, "References"). Where
// the ideal fabric exposes none it is 1 if c does not either, and undefined
// (false) otherwise.
func (t Times) NCT(c engine.Time) (float64, bool) {
	if t.Ideal == t.Compute {
		return 1, c == t.Ideal
	}
	return float64(c-t.Compute) / float64(t.Ideal-t.Compute), true
}

// CriticalTransfer returns the time that transfers between pods take on the
// critical path of a play of the iteration: numerator and denominator of the
// literal reading of DELTA's NCT (Sec. V-A.3).
func (it *Iteration) CriticalTransfer(p *fabric.Pods, t *engine.Trace) engine.Time {
	sum := engine.Time(0)
	for _, id := range t.CriticalPath(it.Graph) {
		k := &it.Graph.Tasks[id]
		if k.Kind == engine.Transfer && p.Crosses(k.Src, k.Dst) {
			sum += t.End[id] - t.Start[id]
		}
	}
	return sum
}
