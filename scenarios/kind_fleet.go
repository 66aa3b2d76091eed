package scenarios

import (
	"crypto/sha256"
	"encoding/hex"

	"sim/scenarios/assembly/fleets"
	"sim/scenarios/schema"
)

// fleetKinds describe the workload "fleet" and the fabric "pods-of-cubes", which alone simulates it.
func fleetKinds() []*kind {
	return []*kind{
		{
			section: "workload", name: "fleet", like: "fleet", on: "pods-of-cubes",
			doc: "Jobs that come and go over months, on hardware that fails and is repaired.",
			parts: func(s *Scenario) []schema.Part {
				w := &s.Workload
				return []schema.Part{
					{Path: "workload", Doc: "Which jobs, and for how long.", Specs: []any{&w.WorkloadKind, &w.Fleet}},
					{Path: "workload.log", Doc: "A log of jobs, in place of arrivals and slices that are drawn.", Specs: []any{&w.Log}},
					{Path: "workload.faults", Doc: "What fails, how often, and how long its repair takes. The paper of TPU v4 gives rates, not times to repair.", Specs: []any{&w.Faults},
						Defaults: func(int) []any { return []any{w.Faults.Defaults()} }},
				}
			},
			check: checkFleet,
		},
		{
			section: "fabric", name: "pods-of-cubes", decides: "placements", doc: "Pods of TPU v4: 64 cubes of 64 chips joined by 48 optical switches, of which jobs get slices.",
			parts: func(s *Scenario) []schema.Part {
				p := &s.Policy.Fleet
				return []schema.Part{
					{Path: "fabric", Doc: "The pods.", Specs: []any{&s.Fabric.FabricKind, &s.Fabric.Cubes}},
					{Path: "policy", Doc: "Which placements are compared.", Specs: []any{&p.Compared}},
					{Path: "policy.queue", Doc: "Which jobs that wait come first.", Specs: []any{&p.Queue}},
					{Path: "policy.fault", Doc: "What is done about failures and maintenance.", Specs: []any{&p.Fault}},
					{Path: "policy.times", Doc: "How long things take.", Specs: []any{&p.Times}},
				}
			},
			refuses: `%s; set workload.kind = "fleet"`,
		},
	}
}

// fleet returns s, which is of pods of cubes, as what simulates it takes it.
func (s *Scenario) fleet() *fleets.Scenario {
	w := &s.Workload
	return &fleets.Scenario{Seed: s.Seed, Fleet: w.Fleet, Log: w.Log, Faults: w.Faults, Pods: s.Fabric.Cubes.Pods, Policy: s.Policy.Fleet, Read: readSome}
}

// checkFleet holds the keys of a fleet against each other.
func checkFleet(c *checker) {
	w := &c.s.Workload
	c.forbid(c.OK("workload.days", "workload.warm_up") && w.Fleet.WarmUp >= w.Fleet.Days, "workload.warm_up workload.days",
		"%d days of %d are not measured; leave at least one that is", w.Fleet.WarmUp, w.Fleet.Days)
	c.forbid(c.OK("workload.prod", "workload.batch") && w.Fleet.Prod+w.Fleet.Batch > 1, "workload.prod workload.batch",
		"shares of %g and %g are more than all jobs; write shares whose sum is at most 1", w.Fleet.Prod, w.Fleet.Batch)
	if c.OK("workload.mix") {
		if _, err := c.s.fleet().Mix(); err != nil {
			c.refuse("workload.mix", "%s; write tpuv4-2022, or slices such as \"4x4x4 13.9, 4x4x8T 16\"", err.Error())
		}
	}
	if len(c.Diagnostics) > 0 {
		return
	}
	rates, err := c.s.fleet().Rates()
	if err != nil {
		c.refuse("workload.faults", "%s; see docs/fleet.md", err.Error())
		return
	}
	if jobs, failures := c.s.fleet().Work(rates); jobs > mostJobs || failures > mostFailures {
		c.clash("workload.days fabric.pods", "some %.3g jobs and %.3g failures in %d days of %d pods; simulate fewer days or pods, jobs or failures: at most %.3g jobs and %.3g failures",
			jobs, failures, w.Fleet.Days, c.s.Fabric.Cubes.Pods, mostJobs, mostFailures)
	}
	c.readLog()
}

// What a run of a fleet may hold: some minutes, and 4 GB.
const (
	mostJobs     = 2e7
	mostFailures = 1e8
)

// readLog reads the log of jobs, if there is one.
func (c *checker) readLog() {
	l, named := &c.s.Workload.Log, c.s.Workload.Fleet.Arrivals == "log"
	const at = "workload.log.file"
	switch {
	case !named && l.File != "":
		c.refuse(at, `is not used by arrivals %s; set workload.arrivals = "log"`, schema.Quote(c.s.Workload.Fleet.Arrivals))
		return
	case !named:
		return
	}
	data, place, err := c.readBeside(at, l.File)
	if err != nil {
		c.refuse(at, "%s; name a file of jobs (docs/fleet.md)", err.Error())
		return
	}
	sum := sha256.Sum256(data)
	if digest := hex.EncodeToString(sum[:]); l.SHA256 == "" {
		l.SHA256 = digest
	} else if l.SHA256 != digest {
		c.refuse("workload.log.sha256", "is not that of %s; leave it out, or name the file that it is of", place)
		return
	}
	l.File = place
	if _, err := c.s.fleet().Config(); err != nil {
		c.refuse(at, "%s; write jobs as docs/fleet.md says", err.Error())
	}
}
