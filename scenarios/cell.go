package scenarios

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"sim/scenarios/assembly/input"
	"sim/scenarios/result"
)

// DecisionKey returns what tells scenarios apart for which policies decide and simulate otherwise: CellKey without what
// is only measured of a decision, which is [workload.step]. It is "" where nothing is.
func (s *Scenario) DecisionKey() string {
	if !s.routes() {
		return ""
	}
	one := *s
	one.Workload.Step = input.Step{}
	return one.CellKey()
}

// CellKey returns what tells apart the results of scenarios of one policy: a hash, in hex, of all that they depend on.
// That is the scenario with its seed and policy, and the version of the models; name and title change no result.
func (s *Scenario) CellKey() string {
	one := *s
	one.Name, one.Title = "", ""
	h := sha256.New()
	fmt.Fprintf(h, "model %d\n", result.Model)
	h.Write(one.TOML())
	return hex.EncodeToString(h.Sum(nil)[:16])
}
