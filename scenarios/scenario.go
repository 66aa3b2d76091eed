// Package scenarios turns TOML files into runs: it loads and checks a scenario, builds fabric and workload, has every
// policy decide, simulates the decisions and gathers the results.
package scenarios

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"

	algorithm "sim/policies/collective"
	"sim/policies/mapping"
	"sim/scenarios/assembly/calls"
	"sim/scenarios/assembly/fleets"
	"sim/scenarios/assembly/input"
)

// Scenario is a checked scenario: defaults and presets are filled in, units resolved, and every field lies within the
// bounds that Reference prints. A field that the scenario's kinds do not use holds its default.
type Scenario struct {
	Name  string `key:"name" doc:"name of the scenario in results and of its run directory" else:"the file's name"`
	Title string `key:"title" doc:"one-line title"`
	_     string `key:"base" doc:"another scenario, a file relative to this one or a built-in one, whose keys apply unless this one sets them"` // inherit has put it in place
	Seed  uint64 `key:"seed" doc:"seed of all random choices" default:"1"`

	Workload Workload
	Fabric   Fabric
	Policy   Policy
	Replicas []input.Replica // those that differ from the rest, ordered by index
	Jobs     []Job           // that share the pods; none where Workload is the only one
	Tiers    []Tier          // inside the fabric, from the inside out; none of other fabrics
	Replay   input.Replay    // of the decided topologies
	Engine   input.Engine

	// Deprecated are the names in the file that are deprecated, and what to write instead.
	Deprecated Diagnostics

	files *fileSet // that its keys name
}

// Workload says what is computed and moved. Kind tells which embedded part applies.
type Workload struct {
	WorkloadKind
	input.WorkloadKeys
	Call          calls.Keys
	Programs      []rankProgram // by row of works; nil where the kind is none
	Trace         Trace
	Fleet         fleets.Fleet
	Log           fleets.Log
	Faults        fleets.Faults
	FaultLog      fleets.FaultLog
	Steps         fleets.Steps
	StepScenarios []*Scenario // that Steps names
}

// WorkloadKind is the key that says which others [workload] has, FabricKind that of [fabric].
type (
	WorkloadKind struct {
		Kind string `key:"kind" doc:"kind of workload or fabric, which selects the keys of its table" required:"" choices:"@workloads" called:"workload"`
	}
	FabricKind struct {
		Kind string `key:"kind" doc:"kind of workload or fabric, which selects the keys of its table" required:"" choices:"@fabrics" called:"fabric"`
	}
)

// Fabric says what the job runs on. Kind tells which embedded part applies.
type Fabric struct {
	FabricKind
	input.Fabric
	Cubes fleets.Pods
}

// Policy says which decisions are compared, and their options.
type Policy struct {
	input.Policy
	Calls   algorithm.Keys
	Mapping mapping.Keys // where the ranks of a training step are
	Fleet   fleets.Keys  // on pods of cubes
}

// TOML returns s with every value that counts, defaults and presets included, in the order of the reference. Parse
// reads it back as the same scenario.
func (s *Scenario) TOML() []byte {
	if len(s.Jobs) > 0 {
		return s.jobsTOML()
	}
	if len(s.Tiers) > 0 {
		return s.tiersTOML()
	}
	var b bytes.Buffer
	s.schema().Write(&b)
	return b.Bytes()
}

// Digest returns the SHA-256 of TOML in hex: equal for scenarios that mean the same, however they are written.
func (s *Scenario) Digest() string {
	sum := sha256.Sum256(s.TOML())
	return hex.EncodeToString(sum[:])
}
