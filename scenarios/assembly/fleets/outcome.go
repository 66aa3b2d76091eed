package fleets

import (
	"context"

	"sim/policies/placement"
	"sim/workloads/fleet"
)

// Outcome is what came of a fleet under a placement, in the time that is measured.
type Outcome struct {
	Chips         int
	Span          fleet.Time
	TimeByUse     [NumUses]int64 // chip-milliseconds by use
	RequestedWork float64        // chip-milliseconds that the work which is kept would take on the slices that were asked for
	Counts
	BoundTurnaround         float64 // what no Turnaround can go below
	ExpectedEfficiency      float64 // efficiency that checkpoints and failures leave
	SlicesFit, MaxSlicesFit float64 // see sample
	MeanRunning             float64 // jobs that run, on average
	MeanRerouted            float64 // of these on routes round a switch that is down
	TolerableShare          float64 // share of time, over pods, in which at most one switch was down

	availability *availability
	recorder     *recorder
	rewires      bool
}

// Share returns the share of chip-time that went to a use.
func (o *Outcome) Share(u TimeUse) float64 {
	return float64(o.TimeByUse[u]) / (float64(o.Chips) * float64(o.Span))
}

// Efficiency returns the share of jobs' chip-time that is work which is kept.
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

// Simulate simulates a fleet under a placement. It fails where ctx ends, a slice cannot be connected, or chip-time is
// not conserved.
func Simulate(ctx context.Context, c *Config, policy placement.Policy) (*Outcome, error) {
	if !policy.Rewires() {
		c = c.withoutSwitches()
	}
	s := newSimulation(ctx, c, policy)
	if err := s.run(); err != nil {
		return nil, err
	}
	t := &s.counters
	best := s.uncontendedBounds()
	if s.slowdownErr != nil {
		return nil, s.slowdownErr
	}
	span := float64(c.End - c.Start)
	samples := float64(max(1, t.samples*c.Pods))
	return &Outcome{
		Chips: c.chips(), Span: c.End - c.Start, TimeByUse: s.account.byUse,
		RequestedWork: s.account.requestedWork, Counts: t.Counts,
		availability: s.availability,
		recorder:     s.recorder, rewires: policy.Rewires(),
		BoundTurnaround: best.turnaround, ExpectedEfficiency: best.efficiency,
		SlicesFit:    float64(t.slicesFit) / samples,
		MaxSlicesFit: float64(t.maxSlicesFit) / samples,
		MeanRunning:  float64(t.runTime) / span, MeanRerouted: float64(t.reroutedTime) / span,
		TolerableShare: float64(t.tolerableTime) / (span * float64(c.Pods)),
	}, nil
}
