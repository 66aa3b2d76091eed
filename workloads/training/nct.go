package training

import "sim/engine"

// ReferenceTimes are the makespans with which the makespan of a topology is compared.
type ReferenceTimes struct {
	Compute engine.Time // if transfers between pods take no time
	Ideal   engine.Time // on the ideal fabric
}

// NCT returns the normalised communication time of makespan c: its exposed communication
// divided by that on the ideal fabric (docs/model.md, "References"). If the ideal fabric
// exposes no communication, the NCT is 1 if c exposes none either, and undefined (false)
// otherwise.
func (t ReferenceTimes) NCT(c engine.Time) (float64, bool) {
	if t.Ideal == t.Compute {
		return 1, c == t.Ideal
	}
	return float64(c-t.Compute) / float64(t.Ideal-t.Compute), true
}
