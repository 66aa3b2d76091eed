package scenarios

import (
	"testing"

	"sim/workloads/fleet"
)

// TestFleetPresets checks the defaults of each preset of failures. The availability follows
// from its failure rate and repair time. The checkpoint duration belongs to its machines,
// unless the scenario sets another.
func TestFleetPresets(t *testing.T) {
	for name, p := range fleet.Presets() {
		text := `[workload]
kind = "fleet"
days = 10
[workload.faults]
preset = "` + name + "\"\n[fabric]\nkind = \"pods-of-cubes\"\n"

		s, err := Parse("fleet.toml", []byte(text), nil)
		if err != nil {
			t.Errorf("%s: got error %v, want none", name, err)
			continue
		}
		if got := s.Policy.Fleet.Times.Checkpoint.Seconds(); got != p.Checkpoint.Seconds() {
			t.Errorf("%s: a checkpoint takes %g s, want %v", name, got, p.Checkpoint)
		}
		availability, implied := s.Workload.Faults.Availability, 1/(1+p.PerDay*p.Mean.Days())
		if availability > implied || availability < implied-0.01 && availability != 0.99 {
			t.Errorf("%s: got an availability of %g, want 0.99 or at most 0.01 less than the "+
				"%g that failures leave", name, availability, implied)
		}
		s, err = Parse("fleet.toml", []byte(text+"[policy.times]\ncheckpoint = \"77s\"\n"), nil)
		if err != nil || s.Policy.Fleet.Times.Checkpoint.Seconds() != 77 {
			t.Errorf("%s: got error %v and a checkpoint of %v, want 77 s",
				name, err, s.Policy.Fleet.Times.Checkpoint)
		}
	}
}
