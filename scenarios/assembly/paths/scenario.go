// Package paths assembles work on links: traffic, collective calls and training steps on tori and graphs. What it
// leaves open is the paths that data takes, which routers choose (policies/routing). Their loads are measured, the
// dependencies of channels looked at for a cycle, and the work is simulated on them as fluid or packet by packet, as
// the level asks.
//
// Keys of traffic are described here, and what shows only when it is laid out on links is checked here (Check).
package paths

import (
	"sim/engine"
	"sim/fabric/links"
	"sim/scenarios/assembly/input"
	"sim/scenarios/schema"
	"sim/workloads/collective"
)

// Scenario is an input whose fabric is links.
type Scenario input.Scenario

// TrafficDefaults returns a copy of the traffic with the defaults that follow from other keys.
func (s *Scenario) TrafficDefaults() *input.Traffic {
	d := s.Workload.Traffic
	d.Source = s.trafficKind().Source
	if s.Workload.Source != "on-off" {
		d.Message = 64e3
	}
	d.Payload, d.RingRate = d.Packet, d.Rate
	d.Duration, d.Warmup = engine.Second/10, s.packetsTime(1_000)
	if s.Workload.Source == "poisson" {
		d.Duration = s.packetsTime(4_000)
	}
	return &d
}

// HasMessageSizes reports whether messages have a size: on-off and Poisson sources have rates and times instead.
func (s *Scenario) HasMessageSizes() bool {
	w := &s.Workload
	return w.Call != nil || w.Source != "on-off" && w.Source != "poisson"
}

// HasUniformSize reports whether all messages have one size.
func (s *Scenario) HasUniformSize() bool {
	return !s.trafficKind().IsListed && s.Workload.Work == nil && s.HasMessageSizes()
}

// HasDependencies reports whether transfers wait for each other, as those of collective calls and of training steps do.
func (s *Scenario) HasDependencies() bool {
	return s.Workload.Work != nil || s.Workload.Call != nil
}

// packetsTime returns how long so many packets take on a link.
func (s *Scenario) packetsTime(n float64) engine.Time {
	rate := s.Fabric.LinkRate
	if rate <= 0 { // it is filled in later
		rate = links.DefaultRate
	}
	t := n * 8 * float64(s.Workload.Packet) / float64(rate) * float64(engine.Second)
	return engine.Time(min(t, float64(engine.Never)/8))
}

// CoversAllPairs reports whether every pair of nodes is a flow.
func (s *Scenario) CoversAllPairs() bool {
	return s.trafficKind().CoversAllPairs
}

// patternKeys returns the keys of a pattern, for what is wrong with it.
func patternKeys(p collective.Pattern) []string {
	var keys []string
	for _, t := range schema.New(nil, schema.Part{Path: "workload", Specs: []any{p}}).Tables {
		for _, k := range t.Keys {
			keys = append(keys, "workload."+k.Name)
		}
	}
	return keys
}
