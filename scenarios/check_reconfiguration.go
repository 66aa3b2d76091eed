// This file checks allocators that move circuits during an iteration (reconfiguration)
// against the keys that they conflict with, such as trials and lost circuits. Such an
// allocator is one with topology.Row.Moves.
//
// The methods of checker report faults of keys as "PROBLEM; REMEDY". A check is skipped if
// a key that it needs has a fault already (c.OK).

package scenarios

import (
	"fmt"
	"slices"

	"sim/engine"
	"sim/policies/topology"
	"sim/scenarios/schema"
)

// maxReconfigurationDelay is a day: longer than any iteration, and short enough that the
// sum of many delays fits into simulated time.
const maxReconfigurationDelay = 24 * 3600 * engine.Second

// checkReconfiguration rejects keys that conflict with allocators that move circuits during
// an iteration, or with trials that decide on circuits again during an iteration. Unknown
// allocators are reported when policy.allocators is read.
func checkReconfiguration(c *checker) {
	if !c.OK("policy.allocators", "engine.level") || len(c.s.Jobs) > 0 {
		return
	}

	c.conflictIf(c.OK("fabric.reconfiguration_delay") && c.s.Fabric.Delay > maxReconfigurationDelay,
		"fabric.reconfiguration_delay",
		"is %v, and no more than %v can be simulated", c.s.Fabric.Delay, maxReconfigurationDelay)
	checkRotorPeriod(c)

	// After losses of circuits, a trial decides on the circuits of all replicas together.
	redecides := c.s.Trials.Reaction == "redecide" && c.OK("trials")
	isDecomposed := c.s.Workload.ReplicaMode == "decomposed" && c.OK("workload.replicas")
	c.conflictIf(redecides && isDecomposed, "trials.reaction workload.replicas",
		`circuits are decided again for all replicas together, but decomposed replicas are decided one by one; leave it out, or set replicas = "single" or "all"`)

	for i, name := range c.s.Policy.Allocators {
		row, err := topology.Find(name)
		key := fmt.Sprintf("policy.allocators.%d", i)
		c.conflictIf(err == nil && row.Given && redecides, key+" trials.reaction",
			"%s has fixed circuits, which a loss of ports does not change; leave it out, or set reaction = \"keep\"",
			schema.Quote(name))
		if err != nil || !row.Moves {
			continue
		}

		// The allocator moves circuits during an iteration. It decides for a single job, and
		// for all its replicas together.
		c.conflictIf(c.s.Engine.Level == "static", key+" engine.level",
			`%s moves circuits in an iteration, and level "static" has no time; leave it out, or set engine.level = "flow"`,
			schema.Quote(name))
		c.conflictIf(c.s.Trials.LostCircuits > 0 && c.OK("trials"), key+" trials.lost_circuits",
			"%s lets every port serve all pairs of pods in turn, so no circuits remain when a port is lost; leave it out, or set lost_circuits = 0",
			schema.Quote(name))
		c.conflictIf(row.Clocked && c.s.Trials.Count > 0 && c.OK("trials"), key+" trials",
			"%s moves circuits at fixed times until the planned end of the iteration, but trials may last longer; leave it out, or leave [trials] out",
			schema.Quote(name))
		c.conflictIf(c.s.Policy.HasLender() && c.OK("policy.lender_allocator"), key+" policy.lender_allocator",
			`%s uses all ports in turn, those that are lent, too; leave it out, or set lender_allocator = "%s"`,
			schema.Quote(name), topology.NoLender)
		c.conflictIf(isDecomposed, key+" workload.replicas",
			`%s decides for all replicas together; leave it out, or set replicas = "single" or "all"`,
			schema.Quote(name))
	}
}

// checkRotorPeriod rejects a period of the allocator rotor that is too short: if circuits
// change again before the preceding change is complete, they never carry traffic. If a
// change of one switch stops all circuits (SwitchTiming.StopsAll), the switches share the
// period.
func checkRotorPeriod(c *checker) {
	if !c.IsUsed("policy.rotor") || !c.OK("policy.rotor", "fabric.reconfiguration_delay") {
		return
	}
	rotor, switching := &c.s.Policy.Rotor, c.s.Fabric.SwitchingModel()
	if rotor.Carries(switching) {
		return
	}

	changeTime := "fabric.reconfiguration_delay"
	if switching.StopsAll {
		changeTime += fmt.Sprintf(" times the %d switches, each of which stops all circuits when it changes",
			rotor.Switches)
	}
	c.conflictf("policy.rotor.period",
		"%v is not longer than %s, so circuits never carry traffic; lengthen it",
		rotor.Period, changeTime)
}

// checkPortTolerance rejects policy.port_tolerance if no listed allocator reads it. An
// allocator reads it if it reads the options of delta-fast.
//
// A cell of a sweep (isCell) is accepted: the sweep may vary the allocators, and some cells
// then have none that reads the key.
func checkPortTolerance(c *checker) {
	const key = "policy.port_tolerance"
	p := &c.s.Policy
	if c.isCell || !c.Given(key) || !c.OK(key, "policy.allocators") || p.PortTolerance == 0 {
		return
	}

	// A port-lending job reads it too, and so do the allocators of several jobs.
	if p.HasLender() || len(c.s.Jobs) > 0 {
		return
	}
	// The reader has already reported an unknown allocator. It might be a misspelt one that
	// reads the key, so it counts as a reader.
	mayReadTolerance := func(name string) bool {
		row, err := topology.Find(name)
		return err != nil || slices.Contains(row.Reads, "delta-fast")
	}
	c.conflictIf(!slices.ContainsFunc(p.Allocators, mayReadTolerance), key,
		`is read by no allocator that is listed; leave it out, or add "delta-fast" to policy.allocators`)
}
