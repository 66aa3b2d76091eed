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

// movesCircuits reports whether policies are compared that move circuits in an iteration.
func (s *Scenario) movesCircuits() bool {
	return slices.ContainsFunc(s.Policy.Allocators, func(name string) bool {
		row, err := topology.Find(name)
		return err == nil && row.Moves
	})
}

// movingNetwork returns the circuits of a decision whose circuits move, with their changes in the n-th of its iterations. It
// fails where those that carry and those that are being set up overrun the ports at any moment.
func (sys *circuitSystem) movingNetwork(d *topology.Decision, n int) (*engine.Network, error) {
	return sys.problem.Network(sys.optical, d.Moves.Sequence, d.Moves.Runs, n)
}

// simulateMoves simulates the iterations of a decision whose circuits move on the complete DAG: the first, and those
// that repeat, of which it returns the last.
func (sys *circuitSystem) simulateMoves(ctx context.Context, d *topology.Decision) (trace *engine.Trace, err error) {
	controller, err := sys.newControllers(ctx, d)
	if err != nil {
		return nil, err
	}
	for k := range d.Moves.Runs {
		if k > 0 && k < d.Moves.Repeated {
			continue
		}
		if _, err := sys.movingNetwork(d, k); err != nil { // ports
			return nil, err
		}
		c, err := controller(k)
		if err != nil {
			return nil, fmt.Errorf("iteration %d, in which circuits move: %w", k+1, err)
		}
		_, trace = c.PlannedRun()
	}
	return trace, nil
}

// resimulateMoves simulates the last of the known iterations of a decision whose circuits move on another graph of the same
// tasks, on links of times the rate. Circuits move after what they wait for.
func (sys *circuitSystem) resimulateMoves(ctx context.Context, d *topology.Decision, g *engine.Graph, factor float64) (*engine.Trace, error) {
	controller, err := sys.newControllers(ctx, d)
	if err != nil {
		return nil, err
	}
	c, err := controller(d.Moves.Last())
	if err != nil {
		return nil, err
	}
	o := *sys.optical
	o.Network, o.Pods = composition.ScaleNetworkRates(o.Network, factor, nil), slices.Clone(o.Pods)
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

// addMoveMetrics adds what moving circuits makes of an iteration that ends at end.
func (sys *circuitSystem) addMoveMetrics(row *result.Row, d *topology.Decision, end engine.Time) {
	m := d.Moves
	if m == nil && !sys.scenario.movesCircuits() {
		return
	}
	first, changes := end, 0
	if m.Moving() {
		if m.Last() > 0 {
			first = m.Runs[0].Makespan
		}
		changes = len(sys.listMoves(m))
		row.Labels["moves"] = sys.formatMoves(m)
		maxPorts := 0
		for _, x := range m.Topologies() {
			maxPorts = max(maxPorts, sys.problem.PortsUsed(x))
		}
		row.Metrics["ports"], row.Metrics["port_ratio"] = float64(maxPorts), float64(maxPorts)/float64(sys.problem.PortsTotal())
	} else if m != nil {
		row.Labels["moves"] = m.Reason
	}
	switch {
	case sys.scenario.Engine.Level == "packet" && m.Last() > 0:
		row.Labels["nct_first"] = "only iterations that repeat are simulated packet by packet"
	case sys.hasComputes():
		if nct, ok := sys.Times.NCT(first); ok {
			row.Metrics["nct_first"] = nct
		}
	}
	row.Metrics["reconfigurations"] = float64(changes)
	if m != nil && m.BreakEvenComputed {
		row.Metrics["break_even_s"] = m.BreakEven.Seconds()
	}
}

// formatMoves says what moves when.
func (sys *circuitSystem) formatMoves(m *topology.Moves) string {
	const maxLines = 24
	var lines []string
	moves := sys.listMoves(m)
	for i, v := range moves {
		if i == maxLines {
			lines = append(lines, fmt.Sprintf("and %d more", len(moves)-maxLines))
			break
		}
		var changes []string
		for _, c := range v.Circuits {
			changes = append(changes, fmt.Sprintf("%s %d to %d", sys.pairName(c.A, c.B), c.From, c.To))
		}
		lines = append(lines, v.Event+": "+strings.Join(changes, ", "))
	}
	return strings.Join(lines, "\n")
}

// pairName names the pods that a bundle joins.
func (sys *circuitSystem) pairName(a, b int) string {
	pods := sys.optical.Pods
	if a == b {
		return pods[a].Name + " to DP peer"
	}
	return pods[a].Name + "-" + strings.TrimPrefix(pods[b].Name, "pod ")
}

// describeMoves adds changes of circuits for explanations and figures.
func (sys *circuitSystem) describeMoves(p *result.Simulation, m *topology.Moves) {
	if m.Moving() {
		p.Moves, p.UnchangedS = sys.listMoves(m), m.Static.Makespan.Seconds()
	}
}

// listMoves lists the changes of the last iteration that is known.
func (sys *circuitSystem) listMoves(m *topology.Moves) []result.Move {
	var out []result.Move
	current, run := m.First, m.Runs[m.Last()]
	transfers := sys.problem.Transfers()
	for i, s := range m.Steps {
		if run.Fired[i] == engine.Never || slices.Equal(s.Circuits, current) {
			continue
		}
		v := result.Move{AtS: run.Fired[i].Seconds(), UpS: (run.Fired[i] + sys.problem.Switching.Delay).Seconds()}
		switch s.Bundle {
		case topology.AtEnd:
			v.Event = "at the end of the iteration"
		case topology.AtTime:
			v.Event = fmt.Sprintf("%v after its beginning", s.Time)
		default:
			b := sys.optical.Bundles[s.Bundle]
			v.Event = fmt.Sprintf("after transfer %d of %d, %s", s.Count, transfers[s.Bundle], sys.pairName(int(b.A), int(b.B)))
		}
		for e, n := range s.Circuits {
			if b := sys.optical.Bundles[e]; n != current[e] {
				v.Circuits = append(v.Circuits, result.PairMoves{A: int(b.A), B: int(b.B), DP: b.Peer, From: current[e], To: n})
			}
		}
		current = s.Circuits
		out = append(out, v)
	}
	return out
}
