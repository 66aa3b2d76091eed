package scenarios

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"sim/scenarios/result"
)

// PolicyNames returns the policies that s compares, in the order of the
// result's rows.
func (s *Scenario) PolicyNames() []string {
	if len(s.Jobs) > 0 {
		return s.Policy.Arbiters
	}
	return s.Policy.Allocators
}

// Only returns s with one of its policies.
func (s *Scenario) Only(policy string) *Scenario {
	one := *s
	if len(s.Jobs) > 0 {
		one.Policy.Arbiters = []string{policy}
	} else {
		one.Policy.Allocators = []string{policy}
	}
	return &one
}

// CellKey returns what tells apart the results of scenarios of one policy: a
// hash, in hex, of all that they depend on. That is the scenario with its seed
// and policy, and the version of the models; name and title change no result.
func (s *Scenario) CellKey() string {
	one := *s
	one.Name, one.Title = "", ""
	h := sha256.New()
	fmt.Fprintf(h, "model %d\n", result.Model)
	h.Write(one.TOML())
	return hex.EncodeToString(h.Sum(nil)[:16])
}
