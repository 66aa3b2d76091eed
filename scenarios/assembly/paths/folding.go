// This file reduces identical messages at level flow to one task per class, and
// rejects traffic with too many different messages.

package paths

import (
	"errors"
	"fmt"

	"sim/engine"
)

// maxFlowLevelHops limits the product of flows and links of all paths at level
// flow if every flow may end at its own time. Such a simulation takes some
// minutes.
const maxFlowLevelHops = 2e10

// maxUniformHops limits the links of all paths if all messages keep their initial
// rates. Such a simulation takes some gigabytes of memory.
const maxUniformHops = 500_000_000

// nodeOrbits returns the orbit of each node under the symmetries of n, indexed by
// node. Nodes of one orbit are indistinguishable. Without symmetry every node is
// its own orbit.
func (r *routingSystem) nodeOrbits(n *engine.Network) []int32 {
	const tiePeriod = 2 // the rule that breaks ties in routers alternates with this period
	if y := r.routingProblem(n).Symmetry(tiePeriod); y != nil {
		return y.Orbit
	}
	all := make([]int32, n.Nodes)
	for i := range all {
		all[i] = int32(i)
	}
	return all
}

// foldMessages reduces the messages at level flow to one task per class of
// identical messages. The reduction is exact; classes follow from the orbits of
// nodes.
//
// If messages differ and there are too many to simulate one by one, they must have
// uniform initial rates. Otherwise foldMessages returns a diagnostic of the
// scenario.
func (a *routingResult) foldMessages() error {
	r := a.system
	if r.s.Engine.Level != "flow" || r.load.graph != nil {
		return nil
	}

	// Fold the messages by the classes of their paths.
	t := r.load.parts[0].traffic
	f, err := engine.Fold(r.visibleNetwork(), a.paths, r.load.flows, t.Bytes, t.Message,
		r.nodeOrbits(r.visibleNetwork()))

	if err == nil {
		a.classGraph = f
		return nil
	}
	if !errors.Is(err, engine.ErrAsymmetric) {
		return err
	}

	// Messages differ. Few messages are simulated one by one.
	flows := float64(len(r.load.flows))
	if flows*float64(a.pathLoads.SumHops) <= maxFlowLevelHops {
		return nil
	}

	// Initial rates remain valid if all messages have one size and one path, and
	// arrive without latency.
	singlePath := a.paths.First == nil && a.paths.Spread == nil && r.Tiers == nil
	a.uniformRates = singlePath && t.Bytes == nil && !r.hasLatency() &&
		a.pathLoads.SumHops <= maxUniformHops
	if a.uniformRates {
		return nil
	}
	return r.inputError("engine.level",
		fmt.Sprintf("level flow would take hours: the paths of %s carry %.0f flows without symmetry, "+
			"which may all end at different times", a.Row.Policy, flows),
		`set engine.level = "packet" or "static"`)
}
