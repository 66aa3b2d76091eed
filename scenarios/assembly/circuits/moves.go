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

// moves reports whether policies are compared that move circuits in an iteration.
func (s *Scenario) moves() bool {
	return slices.ContainsFunc(s.Policy.Allocators, func(name string) bool {
		row, err := topology.Find(name)
		return err == nil && row.Moves
	})
}

// network returns the circuits of a decision whose circuits move, with their changes in the n-th of its iterations. It
// fails where those that carry and those that are being set up overrun the ports at any moment.
func (in *instance) network(d *topology.Decision, n int) (*engine.Network, error) {
	return in.problem.Network(in.optical, d.Moves.Sequence, d.Moves.Runs, n)
}

// simulateMoves simulates the iterations of a decision whose circuits move on the complete DAG: the first, and those
// that repeat, of which it returns the last.
func (in *instance) simulateMoves(ctx context.Context, d *topology.Decision) (trace *engine.Trace, err error) {
	controller, err := in.controllers(ctx, d)
	if err != nil {
		return nil, err
	}
	for k := range d.Moves.Runs {
		if k > 0 && k < d.Moves.Repeated {
			continue
		}
		if _, err := in.network(d, k); err != nil { // ports
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

// moveAgain simulates the last of the known iterations of a decision whose circuits move on another graph of the same
// tasks, on links of times the rate. Circuits move after what they wait for.
func (in *instance) moveAgain(ctx context.Context, d *topology.Decision, g *engine.Graph, times float64) (*engine.Trace, error) {
	controller, err := in.controllers(ctx, d)
	if err != nil {
		return nil, err
	}
	c, err := controller(d.Moves.Last())
	if err != nil {
		return nil, err
	}
	o := *in.optical
	o.Network, o.Pods = composition.ScaleNetworkRates(o.Network, times, nil), slices.Clone(o.Pods)
	for i := range o.Pods {
		o.Pods[i].Rate *= units.Rate(times)
	}
	p, err := topology.NewProblem(g, &o)
	if err != nil {
		return nil, err
	}
	p.Switching = in.problem.Switching
	return c.Resimulate(ctx, p, d.Service)
}

// measureMoves adds what moving circuits makes of an iteration that ends at end.
func (in *instance) measureMoves(row *result.Row, d *topology.Decision, end engine.Time) {
	m := d.Moves
	if m == nil && !in.s.moves() {
		return
	}
	first, changes := end, 0
	if m.Moving() {
		if m.Last() > 0 {
			first = m.Runs[0].Makespan
		}
		changes = len(in.moves(m))
		row.Labels["moves"] = in.words(m)
		most := 0
		for _, x := range m.Topologies() {
			most = max(most, in.problem.PortsUsed(x))
		}
		row.Metrics["ports"], row.Metrics["port_ratio"] = float64(most), float64(most)/float64(in.problem.PortsTotal())
	} else if m != nil {
		row.Labels["moves"] = m.Reason
	}
	switch {
	case in.s.Engine.Level == "packet" && m.Last() > 0:
		row.Labels["nct_first"] = "only iterations that repeat are simulated packet by packet"
	case in.iterates():
		if nct, ok := in.Times.NCT(first); ok {
			row.Metrics["nct_first"] = nct
		}
	}
	row.Metrics["reconfigurations"] = float64(changes)
	if m != nil && m.BreakEvenComputed {
		row.Metrics["break_even_s"] = m.BreakEven.Seconds()
	}
}

// words says what moves when.
func (in *instance) words(m *topology.Moves) string {
	const most = 24
	var lines []string
	moves := in.moves(m)
	for i, v := range moves {
		if i == most {
			lines = append(lines, fmt.Sprintf("and %d more", len(moves)-most))
			break
		}
		var what []string
		for _, c := range v.Circuits {
			what = append(what, fmt.Sprintf("%s %d to %d", in.pair(c.A, c.B), c.From, c.To))
		}
		lines = append(lines, v.Event+": "+strings.Join(what, ", "))
	}
	return strings.Join(lines, "\n")
}

// pair names the pods that a bundle joins.
func (in *instance) pair(a, b int) string {
	pods := in.optical.Pods
	if a == b {
		return pods[a].Name + " to DP peer"
	}
	return pods[a].Name + "-" + strings.TrimPrefix(pods[b].Name, "pod ")
}

// describeMoves adds changes of circuits for explanations and figures.
func (in *instance) describeMoves(p *result.Simulation, m *topology.Moves) {
	if m.Moving() {
		p.Moves, p.UnchangedS = in.moves(m), m.Static.Makespan.Seconds()
	}
}

// moves lists the changes of the last iteration that is known.
func (in *instance) moves(m *topology.Moves) []result.Move {
	var out []result.Move
	before, run := m.First, m.Runs[m.Last()]
	transfers := in.problem.Transfers()
	for i, s := range m.Steps {
		if run.Fired[i] == engine.Never || slices.Equal(s.Circuits, before) {
			continue
		}
		v := result.Move{AtS: run.Fired[i].Seconds(), UpS: (run.Fired[i] + in.problem.Switching.Delay).Seconds()}
		switch s.Bundle {
		case topology.AtEnd:
			v.Event = "at the end of the iteration"
		case topology.AtTime:
			v.Event = fmt.Sprintf("%v after its beginning", s.Time)
		default:
			b := in.optical.Bundles[s.Bundle]
			v.Event = fmt.Sprintf("after transfer %d of %d, %s", s.Count, transfers[s.Bundle], in.pair(int(b.A), int(b.B)))
		}
		for e, n := range s.Circuits {
			if b := in.optical.Bundles[e]; n != before[e] {
				v.Circuits = append(v.Circuits, result.PairMoves{A: int(b.A), B: int(b.B), DP: b.Peer, From: before[e], To: n})
			}
		}
		before = s.Circuits
		out = append(out, v)
	}
	return out
}
