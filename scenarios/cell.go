package scenarios

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"sim/scenarios/assembly/paths"
	"sim/scenarios/result"
)

// decision names the decision whose policies s compares, as [policy] lists them: that
// which its fabric leaves open, or of several jobs that which is theirs together.
func (s *Scenario) decision() string {
	if s.severalJobs() {
		return "arbiters"
	}
	if k := findKind("fabric", s.Fabric.Kind); k != nil {
		return k.decides
	}
	return "allocators"
}

// compared returns the list of the policies that are compared.
func (s *Scenario) compared() *[]string {
	p := &s.Policy
	switch s.decision() {
	case "arbiters":
		return &p.Arbiters
	case "routers":
		return &p.Routers
	case "planners":
		return &p.Planners
	}
	return &p.Allocators
}

// PolicyNames returns the policies that s compares, in the order of the
// result's rows.
func (s *Scenario) PolicyNames() []string { return *s.compared() }

// routes reports whether the policies of s are routers.
func (s *Scenario) routes() bool { return s.decision() == "routers" }

// Only returns s with one of its policies.
func (s *Scenario) Only(policy string) *Scenario {
	one := *s
	*one.compared() = []string{policy}
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
	one.Workload.Step = paths.Step{}
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
