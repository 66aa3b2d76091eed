package scenarios

import (
	"fmt"

	"sim/policies/topology"
	"sim/scenarios/schema"
)

// checkMoves refuses what circuits that move in an iteration do not go with.
func checkMoves(c *checker) {
	if !c.OK("policy.allocators", "engine.level") || len(c.s.Jobs) > 0 {
		return
	}
	r := &c.s.Policy.Rotor
	c.forbid(c.Uses("policy.rotor") && c.OK("policy.rotor", "fabric.reconfiguration_delay") && !r.Carries(c.s.Fabric.Moving()), "policy.rotor.period",
		"%v is no longer than fabric.reconfiguration_delay, or for a change of each of %d switches that hold all circuits, so that these never carry; lengthen it", r.Period, r.Switches)
	for i, name := range c.s.Policy.Allocators {
		row, err := topology.Find(name)
		if err != nil || !row.Moves {
			continue
		}
		at := fmt.Sprintf("policy.allocators.%d", i)
		c.forbid(c.s.Engine.Level == "static", at+" engine.level", `%s moves circuits in an iteration, and level "static" has no time; leave it out, or set engine.level = "flow"`, schema.Quote(name))
		c.forbid(c.s.Replay.Seeds > 0 && c.OK("replay"), at+" replay", "%s moves circuits by the plan, which trials do not follow; leave it out, or leave [replay] out", schema.Quote(name))
		c.forbid(c.s.Policy.HasDonor() && c.OK("policy.donor"), at+" policy.donor", `%s uses all ports in turn, those that are lent, too; leave it out, or set donor = "%s"`, schema.Quote(name), topology.NoDonor)
		c.forbid(c.s.Workload.ReplicaMode == "decomposed" && c.OK("workload.replicas"), at+" workload.replicas",
			`%s decides for all replicas together; leave it out, or set replicas = "single" or "all"`, schema.Quote(name))
	}
}
