package paths

import (
	"errors"
	"fmt"

	"sim/engine"
)

// maxFlowLevelHops bounds the flows times the links of their paths where every flow may end at a time of its own: some
// minutes.
const maxFlowLevelHops = 2e10

// maxUniformHops bounds the links of all paths where messages are even: some gigabytes.
const maxUniformHops = 500_000_000

// nodeOrbits returns the nodes that look alike, by node.
func (r *routingSystem) nodeOrbits(n *engine.Network) []int32 {
	if y := r.routingProblem(n).Symmetry(2); y != nil { // 2 is the period of the rule of ties
		return y.Orbit
	}
	all := make([]int32, n.Nodes)
	for i := range all {
		all[i] = int32(i)
	}
	return all
}

// foldMessages makes the graph of messages smaller where many are identical, exactly and by the size of orbits. It fails, by a
// fault of the input, where they are not and too many.
func (a *routingResult) foldMessages() error {
	r := a.system
	if r.s.Engine.Level != "flow" || r.load.graph != nil {
		return nil
	}
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
	if flows := float64(len(r.load.flows)); flows*float64(a.loads.SumHops) > maxFlowLevelHops {
		single := a.paths.First == nil && a.paths.Spread == nil && r.Tiers == nil
		if a.uniformRates = single && t.Bytes == nil && !r.hasLatency() &&
			a.loads.SumHops <= maxUniformHops; a.uniformRates {
			return nil
		}
		return r.inputError("engine.level",
			fmt.Sprintf("%s leads %.0f flows of which no two are alike, and which may end at as many times: fluid takes hours", a.Row.Policy, flows),
			`set engine.level = "packet" or "static"`)
	}
	return nil
}
