package circuits

import (
	"fmt"
	"slices"
	"strings"

	"sim/engine"
	"sim/policies/topology"
	"sim/scenarios/result"
)

// referenceMetrics are those of the ideal fabric and of compute alone.
func (in *instance) Reference() map[string]float64 {
	if in.usual != nil {
		return in.usual.Reference()
	}
	m := map[string]float64{"tasks": float64(len(in.graph.Tasks)), "transfers": float64(in.transfers())}
	if in.s.endless() {
		return m
	}
	in.IdealReference.AddMetrics(m, in.end(), in.iterates())
	if in.Bound > 0 {
		m["gap"] = float64(in.Times.Ideal-in.Bound) / float64(in.Bound)
	}
	return m
}

// end names the metric of when the work ends.
func (in *instance) end() string {
	if !in.iterates() {
		return "completion_s"
	}
	return "makespan_s"
}

// iterates reports whether the work computes, too.
func (in *instance) iterates() bool { return in.it != nil }

// transfers counts the transfers between pods.
func (in *instance) transfers() int {
	n := 0
	for i := range in.graph.Tasks {
		if in.crosses(int32(i)) {
			n++
		}
	}
	return n
}

// row measures a decision by itself.
func (in *instance) row(name string, d *topology.Decision) result.Row {
	row := newRow(name, in.problem.PortsUsed(d.Circuits), in.problem.PortsTotal(), d.Evaluations, d.Stopped)
	row.Labels["topology"] = in.matrix(d.Circuits)
	return row
}

// newRow returns a row of circuits that use some of all ports and were found by so many evaluations, and why no more were
// made; "" if they were enough.
func newRow(name string, ports, total int, evaluations int64, stopped string) result.Row {
	row := result.Row{Policy: name, Labels: map[string]string{}, Metrics: map[string]float64{
		"ports": float64(ports), "port_ratio": float64(ports) / float64(total), "evaluations": float64(evaluations),
	}}
	if stopped != "" {
		row.Labels["stopped"] = stopped
	}
	return row
}

// simulated measures a decision by its simulation, too, which ends at end.
func (in *instance) simulated(name string, d *topology.Decision, end engine.Time, t *engine.Trace) result.Row {
	row := in.row(name, d)
	row.Metrics[in.end()], row.Labels["service"] = end.Seconds(), d.Service.String()
	if in.iterates() {
		in.iteration(&row, end, t)
	}
	if d.Tails != nil {
		row.Labels["levels"] = "by tails that were searched for"
	}
	if bound, model, none := in.boundOf(d); bound > 0 {
		row.Metrics["bound_"+in.end()] = bound.Seconds()
		row.Metrics["gap"] = float64(end-bound) / float64(bound)
		row.Labels["gap_model"] = model
	} else {
		row.Labels["gap"] = none
	}
	if d.PortsBound > 0 {
		row.Metrics["bound_ports"] = float64(d.PortsBound)
	} else if in.byKinds() {
		row.Labels["bound_ports"] = "not sought: replicas of a kind have circuits taken away together, and all topologies of so many are not looked through"
	}
	if r := d.Solver; r != nil {
		in.solver(&row, r)
	}
	return row
}

// boundOf returns a bound that holds at the level of the scenario, and its model; or 0, and why there is none. Packets do
// not share circuits as any service of fluids does, so at level packet a bound that holds under one service gives way to
// the one that holds for any way of sharing.
func (in *instance) boundOf(d *topology.Decision) (bound engine.Time, model, none string) {
	switch {
	case d.Bound == 0:
		return 0, "", "no bound is sought"
	case in.s.Engine.Level != "packet" || d.BoundModel == topology.AnyService || d.BoundModel == topology.AnySequence:
		return d.Bound, d.BoundModel, ""
	case in.anyBound == 0:
		return 0, "", "the bound sought is of one way of sharing circuits (" + d.BoundModel + "), and packets share them in another"
	}
	return in.anyBound, topology.AnyService, ""
}

// iteration measures a simulation of a training step that ends at end.
func (in *instance) iteration(row *result.Row, end engine.Time, t *engine.Trace) {
	in.AddExposed(row, end, "this topology does")
	if in.usual != nil {
		in.measureStages(row)
		row.Labels["nct_critical_path"] = "undefined: other transfers go between pods than on the ideal fabric"
	} else if ideal := in.pods.CriticalTransfer(in.graph, in.best); ideal > 0 {
		row.Metrics["nct_critical_path"] = float64(in.pods.CriticalTransfer(in.graph, t)) / float64(ideal)
	} else {
		row.Labels["nct_critical_path"] = "undefined: the ideal fabric's critical path holds no transfer"
	}
}

// solver adds what a MILP solver said.
func (in *instance) solver(row *result.Row, r *topology.SolverReport) {
	row.Metrics["milp_columns"] = float64(r.Columns)
	row.Metrics["milp_rows"] = float64(r.Rows)
	row.Metrics["milp_integers"] = float64(r.Whole)
	if r.Intervals > 0 {
		row.Metrics["milp_intervals"] = float64(r.Intervals)
	}
	row.Labels["milp_status"] = r.Status
	if r.Solver != "" {
		row.Labels["milp_solver"] = r.Solver
	}
	if r.Ports != "" {
		row.Labels["milp_ports"] = r.Ports
	}
	if r.Makespan > 0 {
		row.Metrics["milp_makespan_s"] = r.Makespan.Seconds()
		if nct, ok := in.Times.NCT(r.Makespan); ok {
			row.Metrics["milp_nct"] = nct
		}
	}
	if r.Bound > 0 {
		row.Metrics["milp_bound_s"] = r.Bound.Seconds()
	}
}

// matrix writes circuits as a readable matrix of pods, with a column for those to DP peers; where replicas are many, or
// all there, as a list.
func (in *instance) matrix(circuits []int) string {
	const most = 16 // pods that still make a readable matrix
	pods := in.optical.Pods
	n := len(pods)
	if n > most || in.all() {
		return in.list(circuits)
	}
	cell, columns := make([][]string, n), n
	for i := range cell {
		cell[i] = slices.Repeat([]string{"."}, n+1)
	}
	for e, u := range in.optical.Bundles {
		v := fmt.Sprint(circuits[e])
		if !u.Peer {
			cell[u.A][u.B], cell[u.B][u.A] = v, v
			continue
		}
		if u.Ends > 1 {
			v = fmt.Sprintf("%dx%s", u.Ends, v)
		}
		cell[u.A][n], columns = v, n+1
	}
	var b strings.Builder
	line := func(head string, cells []string) {
		fmt.Fprintf(&b, "%-7s", head)
		for _, c := range cells[:columns] {
			fmt.Fprintf(&b, "%7s", c)
		}
	}
	var heads []string
	for _, p := range pods {
		heads = append(heads, p.Name)
	}
	line("", append(heads, "twins"))
	for i, p := range pods {
		b.WriteByte('\n')
		line(p.Name, cell[i])
	}
	return b.String()
}

// list writes circuits as lines of pod pairs.
func (in *instance) list(circuits []int) string {
	const width = 88
	var lines []string
	for e, u := range in.optical.Bundles {
		pods := in.optical.Pods
		item := fmt.Sprintf("%s-%s: %d", pods[u.A].Name, strings.TrimPrefix(pods[u.B].Name, "pod "), circuits[e])
		if last := len(lines) - 1; last >= 0 && len(lines[last])+2+len(item) <= width {
			lines[last] += ", " + item
		} else {
			lines = append(lines, item)
		}
	}
	return strings.Join(lines, ",\n")
}
