package training

import "sim/engine"

// ReferenceTimes are the makespans that a topology's is measured against.
type ReferenceTimes struct {
	Compute engine.Time // every transfer between pods takes no time
	Ideal   engine.Time // on the ideal non-blocking fabric
}

// NCT returns the normalised communication time of makespan c: the exposed communication over that of the ideal fabric
// (docs/model.md, "References"). Where the ideal fabric exposes none it is 1 if c does not either, and undefined
// (false) otherwise.
func (t ReferenceTimes) NCT(c engine.Time) (float64, bool) {
	if t.Ideal == t.Compute {
		return 1, c == t.Ideal
	}
	return float64(c-t.Compute) / float64(t.Ideal-t.Compute), true
}
