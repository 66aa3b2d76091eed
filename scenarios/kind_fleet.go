// This file describes the workload "fleet" and the fabric "pods-of-cubes": jobs on pods
// of TPUs over months, while parts fail and are repaired.
//
// A kind (kinds.go) is a value of workload.kind or fabric.kind. Each of its forms has the
// keys for certain fabrics (parts), and functions that prepare and check them.

package scenarios

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"sim/scenarios/assembly"
	"sim/scenarios/assembly/fleets"
	"sim/scenarios/schema"
	"sim/workloads/fleet"
)

// fleetKind describes the workload "fleet", which only the fabric "pods-of-cubes"
// simulates.
func fleetKind() *kind {
	return &kind{name: "fleet", forms: []*form{{
		doc:              "Jobs that come and go over months, on hardware that fails and is repaired.",
		acceptedCarriers: []carrier{cubeCarrier},
		parts: func(s *Scenario) []schema.Part {
			w := &s.Workload
			return []schema.Part{
				{Path: "workload", Doc: "The jobs of the fleet.", Specs: []any{&w.Fleet}},
				{
					Path:  "workload.log",
					Doc:   "A log of jobs, instead of random arrivals and slices.",
					When:  "workload.arrivals=log",
					Specs: []any{&w.Log},
				},
				{
					Path:     "workload.faults",
					Doc:      "Failure rates and repair times. The TPU v4 paper gives rates, not repair times.",
					Specs:    []any{&w.Faults},
					Defaults: func(int) []any { return []any{w.Faults.Defaults()} },
				},
				{
					Path:  "workload.steps",
					Doc:   "Simulated steps of jobs, instead of shares of traffic.",
					Specs: []any{&w.Steps},
				},
				{
					Path:  "workload.faults.log",
					Doc:   "A log of machine faults, instead of random ones.",
					Specs: []any{&w.FaultLog},
				},
			}
		},
		check: checkFleet,
	}}}
}

// cubesKind describes the fabric "pods-of-cubes".
func cubesKind() *kind {
	return &kind{name: "pods-of-cubes", remedy: cubesRemedy, forms: []*form{{
		doc:       "Pods of cubes of chips joined by optical switches, such as TPU v4, v5p and Ironwood, of which jobs get slices.",
		carrier:   cubeCarrier,
		policyKey: "placements",
		hardware: &hardware{
			build: func(ctx context.Context, s *Scenario, workers int) (assembly.System, error) {
				recordsEvents := workers > 0 // not for one of many cells
				return fleets.New(ctx, s.fleetView(), recordsEvents)
			},
			describe:   func(s *Scenario) string { return s.fleetView().Description() },
			noPlanText: "placements plan no rates",
			cost: func(_ context.Context, s *Scenario) (Cost, error) {
				rates, err := s.fleetView().FailureRates()
				if err != nil {
					return Cost{}, err
				}

				// The simulation of each seed processes the arrivals of jobs and the failures.
				jobs, failures := s.fleetView().EstimateEvents(rates)
				one := assembly.Job.Scale(jobs).Add(assembly.Failure.Scale(failures))
				return one.Scale(float64(s.Workload.Fleet.Seeds)), nil
			},
		},
		parts: func(s *Scenario) []schema.Part {
			p := &s.Policy.Fleet
			return []schema.Part{
				{Path: "fabric", Doc: "The pods.", Specs: []any{&s.Fabric.Cubes}},
				{Path: "policy", Doc: "The placements to compare.", Specs: []any{&p.ComparedPlacements}},
				{Path: "policy.queue", Doc: "The queue of waiting jobs.", Specs: []any{&p.Queue}},
				{
					Path:  "policy.fault",
					Doc:   "Reactions to failures and maintenance.",
					Specs: []any{&p.Fault},
				},
				{
					Path:     "policy.times",
					Doc:      "Times of operations.",
					Specs:    []any{&p.Times},
					Defaults: func(int) []any { return []any{p.Times.Defaults(&s.Workload.Faults)} },
				},
			}
		},
		unsupportedFormat: `%s; set workload.kind = "fleet", or fabric.kind = "torus" with dims and preset for one slice`,
	}}}
}

// tpuNames are names that people write for TPUs, in lower case and without hyphens, with the
// preset of their pod; "" if the name does not determine it.
var tpuNames = map[string]string{
	"tpu": "", "tpus": "", "tpupod": "", "tpupods": "", "tpuslice": "",
	"v4": "tpuv4", "tpu4": "tpuv4", "tpuv4": "tpuv4", "tpuv4pod": "tpuv4",
	"v5p": "tpuv5p", "tpu5p": "tpuv5p", "tpuv5p": "tpuv5p", "tpuv5ppod": "tpuv5p",
	"ironwood": "ironwood", "v7x": "ironwood", "tpu7": "ironwood", "tpuv7": "ironwood", "tpu7x": "ironwood",
	"tpuv7x": "ironwood", "tpuv7pod": "ironwood", "ironwoodpod": "ironwood",
}

// presetForName returns the key preset for the name of a TPU as text, such as preset = "tpuv4".
// It returns false for other names.
func presetForName(name string) (key string, ok bool) {
	preset, ok := tpuNames[strings.NewReplacer("-", "", "_", "", " ", "").Replace(strings.ToLower(name))]
	if preset == "" {
		return "preset = " + schema.QuotedList(choiceNames("pods")), ok
	}
	return "preset = " + schema.Quote(preset), ok
}

// servesFleet reports whether the workload of the file is one that pods of cubes simulate.
func servesFleet(c *checker) bool {
	name, _ := schema.Child(c.Root, "workload")["kind"].(string)
	k := findKind("workload", name)
	return k != nil && k.supports(cubeCarrier)
}

// cubesRemedy is kind.remedy of the fabric "pods-of-cubes": names of TPUs lead to it if jobs get
// slices of them.
func cubesRemedy(c *checker, name string) string {
	key, ok := presetForName(name)
	if !ok || !servesFleet(c) {
		return ""
	}
	return `write kind = "pods-of-cubes" and ` + key
}

// sliceRemedy is kind.remedy of the fabric "torus": names of TPUs lead to it if the work runs on
// one slice.
func sliceRemedy(c *checker, name string) string {
	key, ok := presetForName(name)
	if !ok || servesFleet(c) {
		return ""
	}
	return `write kind = "torus", the dims of a slice, and ` + key
}

// fleetView returns s as the input of package fleets.
func (s *Scenario) fleetView() *fleets.Scenario {
	w := &s.Workload
	return &fleets.Scenario{
		Seed:     s.Seed,
		Fleet:    w.Fleet,
		Log:      w.Log,
		Faults:   w.Faults,
		FaultLog: w.FaultLog,
		Pods:     s.Fabric.Cubes,
		Policy:   s.Policy.Fleet,
		Steps:    s.fleetSteps(),
		Read:     func(file string) ([]byte, error) { return s.files.read(file, maxLogBytes) },
	}
}

// checkFleet checks the keys of a fleet against each other, and then reads its logs and the
// scenarios of its steps.
func checkFleet(c *checker) {
	w := &c.s.Workload
	c.conflictIf(c.OK("workload.days", "workload.warm_up") && w.Fleet.WarmUp >= w.Fleet.Days,
		"workload.warm_up workload.days",
		"%d days of %d are not measured; leave at least one that is",
		w.Fleet.WarmUp, w.Fleet.Days)
	c.conflictIf(c.OK("workload.prod", "workload.batch") && w.Fleet.ProdShare+w.Fleet.BatchShare > 1,
		"workload.prod workload.batch",
		"shares of %g and %g are more than all jobs; write shares whose sum is at most 1",
		w.Fleet.ProdShare, w.Fleet.BatchShare)

	// The share of a job is drawn between 0 and twice the mean, so it may reach 1.
	hasShares := c.OK("workload.all_to_all", "workload.neighbours")
	c.conflictIf(hasShares && w.Fleet.AllToAllShare+w.Fleet.NeighbourShare > 0.5,
		"workload.all_to_all workload.neighbours",
		"mean shares of %g and %g of a step are more than a half, and jobs' are up to twice as much; write shares whose sum is at most 0.5",
		w.Fleet.AllToAllShare, w.Fleet.NeighbourShare)

	c.conflictIf(c.OK("workload.days", "workload.faults.ocs_campaign") && w.Faults.Campaign >= w.Fleet.Days,
		"workload.faults.ocs_campaign workload.days",
		"the campaign is on day %d of %d; write a day before the last, or 0 for none",
		w.Faults.Campaign, w.Fleet.Days)

	// Repair times follow a log-normal distribution, whose median is at most its mean.
	drawsRepairs := w.FaultLog.File == "" && w.Faults.MachineRepair > 0 &&
		c.OK("workload.faults.machine_repair", "workload.faults.machine_repair_median")
	c.conflictIf(drawsRepairs && w.Faults.MachineMedian > w.Faults.MachineRepair,
		"workload.faults.machine_repair workload.faults.machine_repair_median",
		"repairs have a mean of %v and a median of %v; write a median above 0 and up to the mean",
		w.Faults.MachineRepair, w.Faults.MachineMedian)

	// The pods must exist before anything else refers to their parts.
	if !c.OK("fabric.pods", "fabric.cubes", "fabric.cube", "fabric.host", "fabric.largest_slice") {
		return
	}
	for key, sides := range map[string][]int{"fabric.cube": c.s.Fabric.Cubes.Cube, "fabric.host": c.s.Fabric.Cubes.Host} {
		c.conflictIf(len(sides) != 0 && len(sides) != 3, key, "%d sides; write three", len(sides))
	}
	if len(c.Diagnostics) > 0 {
		return
	}
	pod := c.s.Fabric.Cubes.Pod()
	if err := fleet.CheckPod(&pod); err != nil {
		c.conflictf("fabric.cube fabric.cubes fabric.host fabric.largest_slice", "%s; see docs/fleet.md",
			assembly.ErrorText(err))
		return
	}
	maxCubes := pod.MaxSlice / pod.Cube.Chips()
	c.conflictIf(w.Fleet.MeasuredCubes > maxCubes, "workload.measured_cubes fabric.largest_slice",
		"a slice of %d cubes, and the largest has %d; write at most that", w.Fleet.MeasuredCubes, maxCubes)
	c.conflictIf(c.s.Policy.Fleet.Queue.Reserve > pod.Cubes, "policy.queue.reserve fabric.cubes",
		"a reserve of %d cubes of %d; write at most that", c.s.Policy.Fleet.Queue.Reserve, pod.Cubes)

	// The switches of a pod are maintained one after the other.
	busy := c.s.fleetView().SwitchesInMaintenance()
	hasMaintenance := c.OK("workload.faults.ocs_maintenance", "workload.faults.ocs_maintenance_time")
	if hasMaintenance && busy >= 1 {
		c.conflictf("workload.faults.ocs_maintenance workload.faults.ocs_maintenance_time",
			"%d switches are maintained %.3g of the time in all; want less than 1, so that one after the other can be",
			pod.Cube.Switches(), busy)
	}

	// The mix of slices, and the log of faults.
	if c.OK("workload.mix") {
		if _, err := c.s.fleetView().Mix(); err != nil {
			c.rejectf("workload.mix",
				"%s; write tpuv4-2022, or slices such as \"4x4x4 13.9, 4x4x8T 16\"",
				err.Error())
		}
	}

	if w.FaultLog.File != "" {
		c.readLog("workload.faults.log", &w.FaultLog.File, &w.FaultLog.SHA256)
	}
	if len(c.Diagnostics) > 0 {
		return
	}

	// The estimate also checks the rates of failures.
	cost, err := c.s.Cost(context.Background())
	if err != nil {
		c.rejectf("workload.faults", "%s; see docs/fleet.md", err.Error())
		return
	}

	c.blame("workload.days workload.seeds fabric.pods",
		cost.CheckLimits("the jobs and failures of so many days, seeds and pods", "fewer"))
	c.readJobLog()
	c.readSteps()
}

// jobLogFormats returns the names of the formats of job logs.
func jobLogFormats() []string {
	var names []string
	for _, f := range fleet.Formats() {
		names = append(names, f.Name)
	}
	return names
}

// maxLogBytes is the maximum size of a log. It exceeds the limit for other files, since a
// log of jobs covers years.
const maxLogBytes = 256 << 20

// readJobLog reads the log of jobs if the arrivals come from one.
func (c *checker) readJobLog() {
	l, named := &c.s.Workload.Log, c.s.Workload.Fleet.Arrivals == "log"

	// Reading the configuration parses the log.
	if named && c.readLog("workload.log", &l.File, &l.SHA256) {
		if _, err := c.s.fleetView().Config(); err != nil {
			c.rejectf("workload.log.file", "%s; write jobs as docs/fleet.md says", err.Error())
		}
	}
}

// readLog finds the log that the table at path names and compares its checksum with sha, or
// sets sha if it is empty. It returns false if the log cannot be used.
func (c *checker) readLog(path string, file, sha *string) bool {
	data, fileName, err := c.readRelativeLimited(path+".file", *file, maxLogBytes)
	if err != nil {
		c.rejectf(path+".file", "%s; name a log (docs/fleet.md)", err.Error())
		return false
	}

	// The checksum of a resolved scenario shows that the log has changed.
	sum := sha256.Sum256(data)
	if digest := hex.EncodeToString(sum[:]); *sha == "" {
		*sha = digest
	} else if *sha != digest {
		c.rejectf(path+".sha256",
			"does not match %s; leave it out, or name the file that it belongs to",
			fileName)
		return false
	}

	*file = fileName
	return true
}
