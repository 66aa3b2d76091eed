package fleets

import (
	"context"

	"sim/policies/placement"
	"sim/workloads/fleet"
)

// Outcome is what came of a fleet under a placement, in the time that is measured.
type Outcome struct {
	Chips int
	Span  fleet.Time
	Time  [Uses]int64 // chip-milliseconds by use
	Asked float64     // chip-milliseconds that the work which is kept would take on the slices that were asked for
	Counts
	BoundTurnaround       float64 // what no Turnaround can go below
	Expected              float64 // efficiency that checkpoints and failures leave
	SlicesFit, SlicesMost float64 // see sample
	Running               float64 // jobs that run, on average
	Rerouted              float64 // of these on routes round a switch that is down
	Tolerable             float64 // share of time, over pods, in which at most one switch was down

	watch   *watch
	rec     *recorder
	rewires bool
}

// Share returns the share of chip-time that went to a use.
func (o *Outcome) Share(u Use) float64 {
	return float64(o.Time[u]) / (float64(o.Chips) * float64(o.Span))
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
	for u := Work; u < Holding; u++ {
		sum += o.Share(u)
	}
	return sum
}

// Simulate simulates a fleet under a placement. It fails where ctx ends, a slice cannot be connected, or chip-time is
// not conserved.
func Simulate(ctx context.Context, c *Config, policy placement.Policy) (*Outcome, error) {
	if !policy.Rewires() {
		c = c.unswitched()
	}
	s := newState(ctx, c, policy)
	if err := s.run(); err != nil {
		return nil, err
	}
	t := &s.tally
	best := s.ideals()
	if s.err != nil {
		return nil, s.err
	}
	span := float64(c.Until - c.From)
	samples := float64(max(1, t.samples*c.Pods))
	return &Outcome{
		Chips: c.chips(), Span: c.Until - c.From, Time: s.acc.of, Asked: s.acc.asked, Counts: t.Counts, watch: s.watch, rec: s.rec, rewires: policy.Rewires(),
		BoundTurnaround: best.turnaround, Expected: best.efficiency, SlicesFit: float64(t.fits) / samples, SlicesMost: float64(t.room) / samples,
		Running: float64(t.runTime) / span, Rerouted: float64(t.reroutedTime) / span, Tolerable: float64(t.within) / (span * float64(c.Pods)),
	}, nil
}
