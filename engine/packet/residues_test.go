package packet

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"sim/engine"
)

// TestResidues checks that pending events record all residues of their times, up to one more than a
// window can have. More than maxPhases residues are therefore always noticed.
func TestResidues(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := &componentSim{timeUnit: 1000}
		k := &componentWorker{componentSim: p}
		var want []engine.Time
		for _, time := range rapid.SliceOfN(rapid.Custom(func(t *rapid.T) engine.Time {
			return engine.Time(rapid.IntRange(1, 24).Draw(t, "residue") + 1000*rapid.IntRange(0, 2).Draw(t, "unit"))
		}), 0, 80).Draw(t, "times") {
			k.addPending(eventKey{}, time, 0)
			p.addResidue(time)
			if r := time % 1000; !slices.Contains(want, r) && len(want) <= maxPhases {
				want = append(want, r)
			}
		}
		if !slices.Equal(k.pendingResidues, want) || !slices.Equal(p.residues, want) {
			t.Fatalf("got residues %v and %v, want %v", k.pendingResidues, p.residues, want)
		}
	})
}
