// This file determines the level of a simulation that names none (engine.level).

package scenarios

import (
	"sim/scenarios/assembly/paths"
	"sim/scenarios/schema"
)

// fileLevel returns the level of the simulation that a decoded file describes, on links or
// between pods, as fabric states. Without engine.level it is "flow". It is "packet" for traffic
// that consists of packets at a rate, which level flow does not have, and for traffic on links
// whose source of packets the file names.
func fileLevel(root map[string]any, fabric carrier) string {
	if level, given := schema.Child(root, "engine")["level"].(string); given {
		return level
	}
	traffic := paths.KindByName(fileKind(root, "workload").name)
	if traffic.IsAtRates() {
		return "packet"
	}

	// Collective calls, and traffic between pods, have no source.
	policy := schema.Child(root, "policy")
	isCall := policy["collective"] != nil || policy["collectives"] != nil
	namesSource := schema.Child(root, "workload")["source"] != nil
	if schema.Child(root, "transport")["kind"] != nil && fabric == linkCarrier {
		return "packet"
	}
	if namesSource && traffic.Name != "" && fabric == linkCarrier && !isCall {
		return "packet"
	}
	return "flow"
}

// Levels returns the levels at which the fabric of s can be simulated. Levels with times precede
// level static, which has loads alone.
func (s *Scenario) Levels() []string {
	if k := s.schema().Key("engine.level"); k != nil {
		return k.Choices()
	}
	return nil
}

// peekLevel sets the default of engine.level on links and between pods, before the keys are
// read.
func (c *checker) peekLevel() {
	if carrier := c.s.carrier(); carrier == linkCarrier || carrier == circuitCarrier {
		c.s.Engine.Level = fileLevel(c.Root, carrier)
	}
}
