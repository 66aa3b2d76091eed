// This file simulates and describes decisions whose circuits move during an iteration.
// Such a decision (topology.Moves) is a sequence of topologies. Each step of the sequence
// is triggered by an event, such as the end of a number of transfers. The field Runs holds
// the planned iterations. Those from index Repeated on repeat in a cycle.

package circuits

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"sim/engine"
	"sim/engine/units"
	"sim/policies/topology"
	"sim/scenarios/assembly/composition"
	"sim/scenarios/result"
)

// movesCircuits reports whether some compared allocator moves circuits during an
// iteration.
func (s *Scenario) movesCircuits() bool {
	return slices.ContainsFunc(s.Policy.Allocators, func(name string) bool {
		row, err := topology.Find(name)
		return err == nil && row.Moves
	})
}

// movingNetwork returns the network of iteration n of a decision whose circuits move,
// with its changes over time. It fails if active circuits and circuits that are being set
// up exceed the ports at any time.
func (sys *circuitSystem) movingNetwork(d *topology.Decision, n int) (*engine.Network, error) {
	return sys.problem.Network(sys.optical, d.Moves.Sequence, d.Moves.Runs, n)
}

// simulateMoves simulates the iterations of a decision whose circuits move, on the
// complete DAG: the first one and the repeating ones. It returns the trace of the last
// one.
func (sys *circuitSystem) simulateMoves(
	ctx context.Context, d *topology.Decision,
) (trace *engine.Trace, err error) {
	controller, err := sys.newControllers(ctx, d)
	if err != nil {
		return nil, err
	}
	for k := range d.Moves.Runs {
		if k > 0 && k < d.Moves.Repeated { // neither the first nor a repeating one
			continue
		}
		if _, err := sys.movingNetwork(d, k); err != nil { // verify the ports
			return nil, err
		}
		c, err := controller(k)
		if err != nil {
			return nil, fmt.Errorf("iteration %d, in which circuits move: %w", k+1, err)
		}
		_, trace = c.PlanRun()
	}
	return trace, nil
}

// resimulateMoves simulates the last planned iteration of a decision whose circuits move,
// on a variant of the graph with the same tasks. All links have their rates multiplied by
// factor. Circuits still move after the events that trigger them, which may occur at
// other times than planned.
func (sys *circuitSystem) resimulateMoves(
	ctx context.Context, d *topology.Decision, g *engine.Graph, factor float64,
) (*engine.Trace, error) {
	controller, err := sys.newControllers(ctx, d)
	if err != nil {
		return nil, err
	}
	c, err := controller(d.Moves.Last())
	if err != nil {
		return nil, err
	}

	// Scale the rates of the network and of the pods, from which the rates of bundles
	// follow.
	o := *sys.optical
	var allResources func(int32) bool
	o.Network = composition.ScaleNetworkRates(o.Network, factor, allResources)
	o.Pods = slices.Clone(o.Pods)
	for i := range o.Pods {
		o.Pods[i].Rate *= units.Rate(factor)
	}
	p, err := topology.NewProblem(g, &o)
	if err != nil {
		return nil, err
	}
	p.Switching = sys.problem.Switching
	return c.Resimulate(ctx, p, d.Service)
}

// addMoveMetrics adds the metrics of moving circuits for a last iteration that ends at
// end.
func (sys *circuitSystem) addMoveMetrics(row *result.Row, d *topology.Decision, end engine.Time) {
	m := d.Moves
	if m == nil && !sys.scenario.movesCircuits() {
		return
	}

	firstEnd, changes := end, 0 // end of the first iteration, number of reconfigurations
	if m.Moving() {
		if m.Last() > 0 { // more than one iteration was planned
			firstEnd = m.Runs[0].Makespan
		}
		changes = len(sys.listMoves(m))
		row.Labels["moves"] = sys.formatMoves(m)
		// Ports are the maximum over all topologies of the sequence.
		maxPorts := 0
		for _, x := range m.Topologies() {
			maxPorts = max(maxPorts, sys.problem.PortsUsed(x))
		}
		row.Metrics["ports"] = float64(maxPorts)
		row.Metrics["port_ratio"] = float64(maxPorts) / float64(sys.problem.PortsTotal())
	} else if m != nil {
		row.Labels["moves"] = m.Reason
	}

	switch {
	case sys.scenario.Engine.Level == "packet" && m.Last() > 0:
		row.Labels["nct_first"] = "only iterations that repeat are simulated packet by packet"
	case sys.hasComputes():
		if nct, ok := sys.Times.NCT(firstEnd); ok {
			row.Metrics["nct_first"] = nct
		}
	}
	row.Metrics["reconfigurations"] = float64(changes)
	if m != nil && m.BreakEvenComputed {
		row.Metrics["break_even_s"] = m.BreakEven.Seconds()
	}
}

// formatMoves formats the circuit moves of the last iteration with their events, one per
// line.
func (sys *circuitSystem) formatMoves(m *topology.Moves) string {
	const maxLines = 24 // about one screen
	var lines []string
	moves := sys.listMoves(m)
	for i, v := range moves {
		if i == maxLines {
			lines = append(lines, fmt.Sprintf("and %d more", len(moves)-maxLines))
			break
		}
		var changes []string
		for _, c := range v.Circuits {
			change := fmt.Sprintf("%s %d to %d", sys.pairName(c.A, c.B), c.From, c.To)
			changes = append(changes, change)
		}
		lines = append(lines, v.Event+": "+strings.Join(changes, ", "))
	}
	return strings.Join(lines, "\n")
}

// pairName names the two pods of a bundle.
func (sys *circuitSystem) pairName(a, b int) string {
	pods := sys.optical.Pods
	if a == b {
		return pods[a].Name + " to DP peer"
	}
	return pods[a].Name + "-" + strings.TrimPrefix(pods[b].Name, "pod ")
}

// describeMoves adds the circuit moves to a simulation, with the makespan without moves.
func (sys *circuitSystem) describeMoves(p *result.Simulation, m *topology.Moves) {
	if m.Moving() {
		p.Moves, p.UnchangedS = sys.listMoves(m), m.Static.Makespan.Seconds()
	}
}

// listMoves returns the circuit moves of the last planned iteration.
func (sys *circuitSystem) listMoves(m *topology.Moves) []result.Move {
	var out []result.Move
	current, run := m.First, m.Runs[m.Last()]
	transfers := sys.problem.Transfers()
	for i, s := range m.Steps {
		fired := run.Fired[i] // time of the event that triggers step i
		// Steps that are not reached, or that change nothing, are no moves.
		if fired == engine.Never || slices.Equal(s.Circuits, current) {
			continue
		}
		up := fired + sys.problem.Switching.Delay
		v := result.Move{AtS: fired.Seconds(), UpS: up.Seconds(), Event: sys.stepEvent(&s, transfers)}
		for e, n := range s.Circuits {
			if b := sys.optical.Bundles[e]; n != current[e] {
				v.Circuits = append(v.Circuits, result.PairMoves{
					A:    int(b.A),
					B:    int(b.B),
					DP:   b.Peer,
					From: current[e],
					To:   n,
				})
			}
		}
		current = s.Circuits
		out = append(out, v)
	}
	return out
}

// stepEvent describes the event that triggers a step of a sequence of topologies. The
// slice transfers holds the number of transfers of each bundle.
func (sys *circuitSystem) stepEvent(s *topology.Step, transfers []int) string {
	switch s.Bundle {
	case topology.AtEnd:
		return "at the end of the iteration"
	case topology.AtTime:
		return fmt.Sprintf("%v after its beginning", s.Time)
	}
	b := sys.optical.Bundles[s.Bundle]
	pair := sys.pairName(int(b.A), int(b.B))
	return fmt.Sprintf("after transfer %d of %d, %s", s.Count, transfers[s.Bundle], pair)
}
