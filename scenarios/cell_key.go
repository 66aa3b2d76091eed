// This file computes the keys under which results of single cells are cached: sweeps
// reuse the row of a cell with equal CellKey, and the decision of a cell with equal
// DecisionKey.

package scenarios

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"sim/scenarios/assembly/input"
	"sim/scenarios/result"
)

// DecisionKey returns a key that is equal for scenarios with equal decisions and
// simulations. It is CellKey without [workload.step], which only affects measures. It is ""
// if the scenario has no such table.
func (s *Scenario) DecisionKey() string {
	if !s.usesRouters() {
		return ""
	}
	one := *s
	one.Workload.Step = input.Step{}
	return one.CellKey()
}

// CellKey returns a hash, in hex, of everything that the result of one policy depends on:
// the scenario with its seed and policy, and the version of the models. The name and the
// title of the scenario do not matter.
func (s *Scenario) CellKey() string {
	one := *s
	one.Name, one.Title = "", ""

	// A new version of the models changes results, so it changes the key.
	h := sha256.New()
	fmt.Fprintf(h, "model %d\n", result.Model)
	one.writeContent(h)
	return hex.EncodeToString(h.Sum(nil)[:16])
}
