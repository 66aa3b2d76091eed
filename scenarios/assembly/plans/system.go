// This file builds the system of an all-to-all on a scale-up domain, with lower bounds
// that hold for all plans.

package plans

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"runtime"
	"slices"

	"sim/engine"
	"sim/fabric/scaleup"
	"sim/policies/reconfigure"
	"sim/policies/reconfigure/plan"
	"sim/scenarios/assembly"
	"sim/workloads/collective"
)

// exchangeSystem is an all-to-all on a scale-up domain, for which planners make
// plans in slots. It implements assembly.System.
type exchangeSystem struct {
	s        *Scenario
	domain   *scaleup.Domain
	chunk    int64       // in bytes
	slot     engine.Time // time in which a circuit carries one chunk
	bounds   *plan.Bounder
	planning *reconfigure.PlannerSet // candidates of the planners; shared by scenarios with other delays
	// isRepeated reports that all-to-alls follow each other. A plan with one
	// topology then keeps it set up.
	isRepeated bool
	// leadTimes are the times for which switches may reconfigure before each of
	// the four all-to-alls of a training step's layer: dispatch and combine,
	// forward and backward.
	leadTimes [exchangesPerLayer]engine.Time
}

// exchangesPerLayer is the number of all-to-alls of a layer in a training step: dispatch
// and combine in the forward pass, then the same for gradients in the backward pass.
const exchangesPerLayer = 4

// New returns the system of s. workers is the number of goroutines of planners; 0
// means one per processor.
func New(ctx context.Context, s *Scenario, workers int) (assembly.System, error) {
	workers = cmp.Or(workers, runtime.GOMAXPROCS(0))
	switch {
	case s.IsStepwise():
		return newCollectiveSystem(ctx, s)
	case s.Workload.IsTraining:
		return newStepSystem(ctx, s, workers)
	}
	return newExchangeSystem(ctx, s, workers)
}

// Domain returns the scale-up domain of s.
func (s *Scenario) Domain() *scaleup.Domain {
	f := &s.Fabric.ScaleUp
	return &scaleup.Domain{
		GPUs: f.GPUs, Switches: f.Switches, Rate: f.LinkRate, Latency: f.LinkLatency,
		Delay: f.Delay, Independent: f.Reconfigure == "independent",
	}
}

// newExchangeSystem returns the system of an all-to-all.
func newExchangeSystem(ctx context.Context, s *Scenario, workers int) (*exchangeSystem, error) {
	d := &exchangeSystem{s: s, domain: s.Domain()}
	if err := d.domain.Check(); err != nil {
		return nil, err
	}

	w := &s.Workload
	d.chunk = int64(w.Exchange.Chunk)
	if w.IsTraining { // a slot must not be longer than a message
		d.chunk = min(d.chunk, int64(w.Exchange.Message))
	}

	// The problem of the planners: chunks between pairs of GPUs.
	sizes, err := s.sizes()
	if err != nil {
		return nil, err
	}
	p := &plan.Problem{GPUs: d.domain.GPUs, Degree: d.domain.Switches, Seed: s.Seed}
	if p.Chunks, err = collective.Chunks(sizes, d.chunk); err != nil {
		return nil, err
	}

	// Make the bounds and the planners. Scenarios with the same problem share the
	// candidates of planners.
	d.slot = d.domain.Slot(d.chunk)
	isCancelled := func() bool { return ctx.Err() != nil }
	if d.bounds, err = plan.NewBounder(p, isCancelled); err != nil {
		return nil, err
	}

	o, err := s.plannerOptions(workers)
	if err != nil {
		return nil, err
	}
	d.planning, err = sharedPlannings.get(p, o)
	return d, err
}

// sizes returns the bytes of the message of each ordered pair of GPUs, row by row.
func (s *Scenario) sizes() ([]int64, error) {
	w, n := &s.Workload, s.Fabric.ScaleUp.GPUs
	switch w.Exchange.Sizes {
	case "uniform":
		return collective.UniformSizes(n, int64(w.Exchange.Message))
	case "random":
		return collective.RandomSizes(n, int64(w.Exchange.Message), s.Seed)
	case "zipf":
		return collective.ZipfSizes(n, int64(w.Exchange.Message), w.Exchange.Exponent, s.Seed)
	}

	// The sizes are listed in a matrix.
	all := make([]int64, 0, n*n)
	for _, row := range w.Exchange.Matrix {
		for _, b := range row {
			all = append(all, int64(b))
		}
	}

	return all, nil
}

// plannerOptions returns the options of the planners. It reads the file of plans
// if a planner imports them.
func (s *Scenario) plannerOptions(workers int) (reconfigure.Options, error) {
	o := reconfigure.Options{
		Settings: s.Policy.Keys.Settings, Workers: workers,
		Independent: s.Fabric.ScaleUp.Reconfigure == "independent",
	}
	importsPlans := func(name string) bool { return reconfigure.ByName(name).IsImported }
	if !slices.ContainsFunc(s.Policy.Planners, importsPlans) {
		return o, nil
	}

	// The file must not have changed since the scenario was checked.
	data, err := s.Read(o.Imported.File)
	if err != nil {
		return o, err
	}
	if sum := sha256.Sum256(data); hex.EncodeToString(sum[:]) != o.Imported.SHA256 {
		return o, fmt.Errorf("%s is not the file that the scenario was checked with",
			o.Imported.File)
	}

	// Imported plans of independent switches contain the delay in slots.
	if d := s.Domain(); d.Independent {
		slot := d.Slot(int64(s.Workload.Exchange.Chunk))
		o.DelaySlots = int64((d.Delay + slot - 1) / slot)
	}

	o.Plans, err = plan.ReadJSON(bytes.NewReader(data), o.Imported.File)
	return o, err
}

// Reference returns the metrics that depend only on the workload and the domain.
// It implements assembly.System.
func (d *exchangeSystem) Reference() map[string]float64 {
	chunks := 0
	for _, c := range d.planning.Problem.Chunks {
		chunks += int(c)
	}
	m := map[string]float64{"slot_s": d.slot.Seconds(), "chunks": float64(chunks)}
	m["bound_completion_s"] = d.completionBound(ofPlansInChunks).Seconds()
	return m
}

// Values of the argument isFluid of completionBound.
const (
	ofFluidPlans    = true
	ofPlansInChunks = false
)

// completionBound returns a lower bound on the completion time of every plan that
// the scenario allows. isFluid includes plans that split chunks arbitrarily.
func (d *exchangeSystem) completionBound(isFluid bool) engine.Time {
	return d.bounds.Completion(d.rules(), d.domain.Delay, d.slot, isFluid)
}

// rules returns the rules that all plans of the scenario obey. They do not depend
// on the listed planners, so that a cell of a sweep has the same bounds as the row
// in a run.
func (d *exchangeSystem) rules() plan.Rules {
	return plan.Rules{
		Relay: true, Independent: d.domain.Independent,
		Topologies: d.s.Policy.Reconfigurations, Standing: d.isRepeated,
	}
}

// Begin marks the outcome as one of planners. It implements assembly.System.
func (d *exchangeSystem) Begin(ctx context.Context, o *assembly.Outcome) error {
	o.UsesPlanners = true
	return nil
}
