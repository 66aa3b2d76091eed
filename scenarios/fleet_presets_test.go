package scenarios

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"sim/fabric/torus"
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

// TestPodPresets checks that a preset determines the pods of a fleet and the pod of a torus, and
// that both accept its largest slice and nothing larger.
func TestPodPresets(t *testing.T) {
	for _, p := range torus.Presets() {
		parse := func(fabric, key, slice string) (*Scenario, error) {
			workload := "[workload]\nkind = \"fleet\"\nmix = \"" + slice + " 1\"\n"
			if fabric == "torus" {
				workload = "[workload]\nkind = \"all-to-all\"\n[engine]\nlevel = \"static\"\n"
				key += "\ndims = [" + strings.ReplaceAll(slice, "x", ", ") + "]"
			}
			text := workload + "[fabric]\nkind = \"" + fabric + "\"\n" + key + "\n"
			return Parse("pod.toml", []byte(text), nil)
		}

		// largest has all chips of the largest slice, and beyond has one more cube.
		preset, cubes := "preset = "+strconv.Quote(p.Name), p.MaxSlice/64
		largest, beyond := fmt.Sprintf("4x4x%d", 4*cubes), fmt.Sprintf("4x4x%d", 4*cubes+4)
		for _, fabric := range []string{"pods-of-cubes", "torus"} {
			s, err := parse(fabric, preset, largest)
			if err != nil {
				t.Errorf("%s: %s on %s: %v", p.Name, largest, fabric, err)
				continue
			}
			if _, err := parse(fabric, preset, beyond); err == nil {
				t.Errorf("%s: got no error for %s on %s, want one", p.Name, beyond, fabric)
			}
			if pod := s.Fabric.Cubes.Pod(); fabric == "pods-of-cubes" && pod != p.Pod {
				t.Errorf("%s: pods are %+v, want %+v", p.Name, pod, p.Pod)
			}
			if fabric == "torus" && s.Fabric.LinkRate != p.LinkRate {
				t.Errorf("%s: links have %v, want %v", p.Name, s.Fabric.LinkRate, p.LinkRate)
			}
		}

		// A pod with other cubes has no other limit than its chips.
		s, err := parse("pods-of-cubes", preset+"\ncubes = 7", "4x4x28")
		if err != nil {
			t.Errorf("%s of 7 cubes: %v", p.Name, err)
			continue
		}
		if got := s.Fabric.Cubes.Pod().MaxSlice; got != 7*64 {
			t.Errorf("%s of 7 cubes: got a largest slice of %d, want 448", p.Name, got)
		}
	}
}
