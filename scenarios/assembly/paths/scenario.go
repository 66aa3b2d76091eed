// Package paths assembles workloads on fabrics of links: traffic, collective calls and
// training steps on tori, graphs and tiers. The open decision is the paths of the data,
// which routers choose (policies/routing).
//
// For each router the package
//
//   - measures the loads of links, and compares them with lower bounds;
//   - searches for a cycle in the dependencies of virtual channels;
//   - simulates the workload at level flow or packet;
//   - describes the result for figures and explanations.
//
// Start reading with New and routingSystem, which hold the fabric and the generated
// traffic, and with routingResult, the decision of one router. Kinds is the table of
// traffic. Check reports errors that show only when the traffic is placed on the fabric.
package paths

import (
	"sim/engine"
	"sim/fabric/links"
	"sim/scenarios/assembly/input"
	"sim/scenarios/schema"
	"sim/workloads/collective"
)

// Scenario is an input whose fabric consists of links.
type Scenario input.Scenario

// TrafficDefaults returns a copy of the traffic keys with the defaults that follow
// from other keys.
func (s *Scenario) TrafficDefaults() *input.Traffic {
	d := s.Workload.Traffic
	if d.Source = s.trafficKind().Source; s.Transport.IsUsed() {
		d.Source = "transport"
	}
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

// HasMessageSizes reports whether messages have a size. On-off and Poisson sources
// have rates and times instead.
func (s *Scenario) HasMessageSizes() bool {
	w := &s.Workload
	return w.Call != nil || w.Source != "on-off" && w.Source != "poisson"
}

// HasUniformSize reports whether the key workload.message determines the sizes of
// messages.
func (s *Scenario) HasUniformSize() bool {
	return !s.trafficKind().IsListed && s.Workload.Work == nil && s.HasMessageSizes()
}

// HasDependencies reports whether transfers depend on each other. This is the case
// for work of ranks and for collective calls.
func (s *Scenario) HasDependencies() bool {
	return s.Workload.Work != nil || s.Workload.Call != nil
}

// packetsTime returns the time of n packets on a link.
func (s *Scenario) packetsTime(n float64) engine.Time {
	rate := s.Fabric.LinkRate
	if rate <= 0 { // the default is set later
		rate = links.DefaultRate
	}
	t := n * 8 * float64(s.Workload.Packet) / float64(rate) * float64(engine.Second)
	return engine.Time(min(t, float64(engine.Never)/8))
}

// CoversAllPairs reports whether every pair of nodes is a flow.
func (s *Scenario) CoversAllPairs() bool {
	return s.trafficKind().CoversAllPairs
}

// patternKeys returns the keys of a pattern. Diagnostics name them if the pattern
// fails.
func patternKeys(p collective.Pattern) []string {
	var keys []string
	var noNames *schema.Names // patterns have no names in their tags
	for _, t := range schema.New(noNames, schema.Part{Path: "workload", Specs: []any{p}}).Tables {
		for _, k := range t.Keys {
			keys = append(keys, "workload."+k.Name)
		}
	}
	return keys
}
