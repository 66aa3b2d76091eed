// Package scenarios reads scenarios from TOML files, checks them and runs them.
//
// A Scenario describes one simulated experiment: a workload, the fabric that it runs on,
// and the policies that are compared. Load and Parse read a file, apply overrides (--set),
// and check every key. Either the result is complete and consistent, or the error
// (Diagnostics) lists all faults with their lines and remedies. Prepare builds the system
// to simulate, PreparedScenario.Decide runs one policy, and Run runs all of them.
//
// A Study is a scenario with lists or ranges of values for some keys. Its variants are
// scenarios.
//
// Main types inside the package:
//
//	kind, form  a kind of workload or fabric with its keys and checks (kinds.go, kind_*.go)
//	decision    a kind of decision, such as circuits or paths (decisions.go)
//	checker     reads and cross-checks the keys of one file (checker.go, check_*.go)
//	fileSource  a decoded file merged with its bases (file_source.go)
//
// The flow of a file is: fileSet.open, decodeFile, fileSource.inherit, checker.override,
// checker.resolve, kind-specific checks, Scenario. Begin reading at checker.resolve.
// Package input (scenarios/assembly/input) holds the structs that the keys set. The
// packages below scenarios/assembly build and simulate systems from these structs.
package scenarios

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"io"

	"sim/engine/packet"
	"sim/fabric/machine"
	algorithm "sim/policies/collective"
	"sim/policies/mapping"
	"sim/scenarios/assembly/calls"
	"sim/scenarios/assembly/fleets"
	"sim/scenarios/assembly/input"
)

// Scenario is a checked scenario: defaults and presets are filled in, units are resolved,
// and every field lies within the bounds that WriteReference prints. A field that the
// scenario's kinds do not use holds its default.
type Scenario struct {
	Name  string   `key:"name" doc:"name of the scenario in results and of its run directory" else:"the file's name"`
	Title string   `key:"title" doc:"one-line title"`
	_     string   `key:"base" doc:"another scenario, a file relative to this one or a built-in one, whose keys apply unless this one sets them"` // read and removed by fileSource.inherit
	_     []string `key:"unset" doc:"keys and tables of the base that do not apply, such as '[\"fabric.twist\"]'" else:"none"`                    // read and removed by fileSource.inherit
	Seed  uint64   `key:"seed" doc:"seed of all random choices" default:"1"`
	// Machine is a built-in profile or the file of one, and Profile its content; nil without.
	Machine string `key:"machine" doc:"real machine whose profile gives rates and costs: a name of 'sim list machines', or a file that ends with '.toml'; '' means ideal links" default:"" implicit:"" when:"has-nodes"`
	Profile *machine.Profile

	// The work, the hardware and the policies. Their keys kind determine which fields are
	// used.
	Workload Workload
	Fabric   Fabric
	Policy   Policy
	Replicas []input.Replica // replicas that differ from the others, ordered by index
	Jobs     []Job           // jobs that share the pods; empty if Workload is the only job
	Tiers    []Tier          // inner tiers of the fabric, innermost first; empty for other fabrics
	Trials   input.Trials    // trials of the decided topologies under perturbations
	Engine   input.Engine
	// Transport is how hosts control their packets, at level packet.
	Transport packet.Transport

	// LeftOut lists the policies that lists named "all" do not contain, with the reasons.
	LeftOut Diagnostics
	// Deprecated lists deprecated names in the file and the names that replace them.
	Deprecated Diagnostics

	files *fileSet // source of the files that keys name
}

// Workload describes the computes and transfers of a scenario. Kind determines which of the
// other fields are used.
type Workload struct {
	WorkloadKind
	input.WorkloadKeys
	Call          calls.Keys
	Programs      []rankProgram // by row of programs, filled on first use
	Trace         Trace
	Fleet         fleets.Fleet
	Log           fleets.Log
	Faults        fleets.FaultModel
	FaultLog      fleets.ServerFaultLog
	Steps         fleets.Steps
	StepScenarios []*Scenario // scenarios that Steps names, in its order
}

// WorkloadKind holds the key "kind" of [workload], and FabricKind the key "kind" of
// [fabric]. The kind determines the other keys of its table.
type (
	WorkloadKind struct {
		Kind string `key:"kind" doc:"kind of workload or fabric, which selects the keys of its table" required:"" choices:"@workloads" called:"workload"`
	}
	FabricKind struct {
		Kind string `key:"kind" doc:"kind of workload or fabric, which selects the keys of its table" required:"" choices:"@fabrics" called:"fabric"`
	}
)

// Fabric describes the hardware. Kind determines which of the other fields are used.
type Fabric struct {
	FabricKind
	input.Fabric
	Cubes fleets.Pods // of fabric "pods-of-cubes"
}

// Policy lists the compared policies of each kind and holds their options.
type Policy struct {
	input.Policy
	Calls   algorithm.Keys // algorithms of collective calls
	Mapping mapping.Keys   // positions of the ranks on the fabric
	Fleet   fleets.Keys    // placements and queues of fabric "pods-of-cubes"
}

// TOML returns s with the value of every key that is used, including defaults and presets,
// in the order of the reference. Parse reads it back as the same scenario.
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

// Digest returns the SHA-256 of TOML in hex. It is equal for scenarios with the same
// meaning, however they are written.
func (s *Scenario) Digest() string {
	h := sha256.New()
	s.writeContent(h)
	return hex.EncodeToString(h.Sum(nil))
}

// writeContent writes all that results of s depend on: its keys and the profile of its machine.
func (s *Scenario) writeContent(w io.Writer) {
	w.Write(s.TOML())
	if s.Profile != nil {
		w.Write(s.Profile.Text)
	}
}
