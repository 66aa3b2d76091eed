package fleets

import (
	"context"

	"sim/policies/placement"
	"sim/workloads/fleet"
)

// Outcome is what came of a fleet under a placement, in the time that is measured.
type Outcome struct {
	Chips       int
	Span        fleet.Time
	Time        [Uses]int64 // chip-milliseconds by use
	Submitted   int         // jobs
	Refused     int         // of these, such that no empty pod has room for them
	Ended       int
	Interrupted int // jobs that a failure hit at least once
	Interrupts  int
	Evictions   int // for maintenance
	Preflights  int // failed
	Takeovers   int
	Asked       int // connections of the slices that were set up
	Connections int // of these, those that were not there already
	Failures    [fleet.Parts]int
	Repairs     [fleet.Parts]int
	Waits       []fleet.Time // of jobs that could be placed, from submission until they first were or the end, sorted
	Running     float64      // jobs that run, on average
	Rerouted    float64      // of these on routes round a switch that is down
	Tolerable   float64      // share of time, over pods, in which at most one switch was down

	watch   *watch
	rec     *recorder
	rewires bool
}

// Share returns the share of chip-time that went to a use.
func (o *Outcome) Share(u Use) float64 {
	return float64(o.Time[u]) / (float64(o.Chips) * float64(o.Span))
}

// Utilisation returns the share of chip-time in which chips had a job.
func (o *Outcome) Utilisation() float64 {
	sum := 0.0
	for u := Work; u < Idle; u++ {
		sum += o.Share(u)
	}
	return sum
}

// Simulate simulates a fleet under a placement. It fails where ctx ends, a slice cannot be connected, or chip-time is not
// conserved.
func Simulate(ctx context.Context, c *Config, policy placement.Policy) (*Outcome, error) {
	s := newState(c, policy)
	if err := s.run(ctx); err != nil {
		return nil, err
	}
	t := &s.tally
	span := float64(c.Until - c.From)
	return &Outcome{
		Chips: c.chips(), Span: c.Until - c.From, Time: s.acc.of, Submitted: t.submitted, Refused: t.refused, Ended: t.ended,
		Interrupted: t.interrupted, Interrupts: t.interrupts, Evictions: t.evictions, Preflights: t.preflights, Takeovers: t.takeovers,
		Asked: t.asked, Connections: t.connections, Failures: t.failures, Repairs: t.repairs, watch: s.watch, rec: s.rec, rewires: policy.Rewires(), Waits: t.waits,
		Running: float64(t.runTime) / span, Rerouted: float64(t.reroutedTime) / span, Tolerable: float64(t.within) / (span * float64(c.Pods)),
	}, nil
}
