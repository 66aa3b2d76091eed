package scenarios

import (
	"fmt"
	"slices"
	"testing"
)

// TestFleetChanges: every other value of a policy is among the changes of a fleet, and every change is accepted and
// changes the scenario.
func TestFleetChanges(t *testing.T) {
	const text = "[workload]\nkind=\"fleet\"\n[fabric]\nkind=\"pods-of-cubes\"\n"
	s, err := Parse("fleet.toml", []byte(text), nil)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, c := range s.fleetChanges("reconfigurable") {
		all = append(all, c.set...)
		if changed, err := Parse("fleet.toml", []byte(text), c.set); err != nil || string(changed.TOML()) == string(s.TOML()) {
			t.Errorf("%s: %v changes nothing (%v)", c.words, c.set, err)
		}
	}
	now := map[string]string{"policy.fault.ocs": s.Policy.Fleet.Fault.OCS, "policy.fault.machine": s.Policy.Fleet.Fault.Machine,
		"policy.fault.maintenance": s.Policy.Fleet.Fault.Maintenance, "policy.queue.discipline": s.Policy.Fleet.Queue.Discipline}
	for _, table := range s.schema().Tables {
		for _, k := range table.Keys {
			key := table.Path + "." + k.Name
			for _, v := range k.Choices() {
				if is, ok := now[key]; ok && (v != is) != slices.Contains(all, key+"="+v) {
					t.Errorf("%s = %s, and the change to %s is there: %t", key, is, v, v == is)
				}
			}
		}
	}
	for i := range placements {
		if name := placements[i].name; (name != "reconfigurable") != slices.Contains(all, fmt.Sprintf("policy.placements=[%q]", name)) {
			t.Errorf("the change to placement %s is there: %t", name, name == "reconfigurable")
		}
	}
}
