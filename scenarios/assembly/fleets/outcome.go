// This file runs a simulation and computes its result.

package fleets

import (
	"context"

	"sim/policies/placement"
	"sim/workloads/fleet"
)

// Outcome is the result of a simulation under one placement, in the measured time.
type Outcome struct {
	Chips     int            // chips of the fleet
	Span      fleet.Time     // measured time
	TimeByUse [NumUses]int64 // in chip-milliseconds, indexed by TimeUse
	// RequestedWork is the time, in chip-milliseconds, that the work would take on
	// the slices that the jobs requested.
	RequestedWork float64
	// BatchWork is RequestedWork by equal parts of the measured time.
	BatchWork [numBatches]float64
	Counts
	BoundTurnaround         float64 // lower bound on Turnaround, in seconds
	ExpectedEfficiency      float64 // efficiency that checkpoints and failures allow
	SlicesFit, MaxSlicesFit float64 // means over samples; see sampleFreeSlices
	MeanRunning             float64 // mean number of running jobs
	MeanRerouted            float64 // mean number of running jobs on paths around a failed switch
	TolerableShare          float64 // share of pod-time with at most one failed switch

	availability *availability
	recorder     *recorder // nil if events were not recorded
	rewires      bool      // the placement uses optical switches
}

// Share returns the share of chip-time that went to a use.
func (o *Outcome) Share(u TimeUse) float64 {
	return float64(o.TimeByUse[u]) / (float64(o.Chips) * float64(o.Span))
}

// Efficiency returns the share of work in the chip-time of jobs.
func (o *Outcome) Efficiency() float64 {
	if u := o.Utilisation(); u > 0 {
		return o.Share(Work) / u
	}
	return 0
}

// Utilisation returns the share of chip-time in which chips had a job.
func (o *Outcome) Utilisation() float64 {
	sum := 0.0
	for u := Work; u < Reservation; u++ {
		sum += o.Share(u)
	}
	return sum
}

// Simulate simulates a fleet under a placement. It fails if ctx is cancelled, if a
// slice cannot be connected, or if chip-time is not conserved.
func Simulate(ctx context.Context, c *Config, policy placement.Policy) (*Outcome, error) {
	if !policy.Rewires() {
		c = c.withoutSwitches()
	}
	s := newSimulation(ctx, c, policy)
	if err := s.run(); err != nil {
		return nil, err
	}

	// The bounds need to know which slices fit an empty pod, which the simulation has found
	// out for all submitted jobs.
	t := &s.counters
	best := s.uncontendedBounds()
	if s.slowdownErr != nil {
		return nil, s.slowdownErr
	}

	// Convert integrals and sums to means.
	span := float64(c.End - c.Start)
	samples := float64(max(1, t.samples*c.Pods))
	return &Outcome{
		Chips: c.chips(), Span: c.End - c.Start,
		TimeByUse: s.account.byUse, RequestedWork: s.account.requestedWork,
		BatchWork: s.account.batchWork, Counts: t.Counts,

		BoundTurnaround: best.turnaround, ExpectedEfficiency: best.efficiency,
		SlicesFit:      float64(t.slicesFit) / samples,
		MaxSlicesFit:   float64(t.maxSlicesFit) / samples,
		MeanRunning:    float64(t.runTime) / span,
		MeanRerouted:   float64(t.reroutedTime) / span,
		TolerableShare: float64(t.tolerableTime) / (span * float64(c.Pods)),

		availability: s.availability, recorder: s.recorder, rewires: policy.Rewires(),
	}, nil
}
