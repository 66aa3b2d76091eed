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
	switch {
	case s.routes():
		return s.Policy.Routers
	case s.plans():
		return s.Policy.Planners
	case len(s.Jobs) > 0:
		return s.Policy.Arbiters
	}
	return s.Policy.Allocators
}

// routes reports whether the policies of s are routers.
func (s *Scenario) routes() bool { return s.Fabric.Kind == "torus" || s.Fabric.Kind == "graph" }

// Only returns s with one of its policies.
func (s *Scenario) Only(policy string) *Scenario {
	one := *s
	switch names := []string{policy}; {
	case s.routes():
		one.Policy.Routers = names
	case s.plans():
		one.Policy.Planners = names
	case len(s.Jobs) > 0:
		one.Policy.Arbiters = names
	default:
		one.Policy.Allocators = names
	}
	return &one
}

// DecisionKey returns what tells scenarios apart for which policies decide and simulate
// otherwise: CellKey without what is only measured of a decision, which is
// [workload.step]. It is "" where nothing is.
func (s *Scenario) DecisionKey() string {
	if !s.routes() {
		return ""
	}
	one := *s
	one.Workload.Step = Step{}
	return one.CellKey()
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
