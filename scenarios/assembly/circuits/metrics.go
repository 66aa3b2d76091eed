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
func (sys *circuitSystem) Reference() map[string]float64 {
	if sys.inOrder != nil {
		return sys.inOrder.Reference()
	}
	m := map[string]float64{"tasks": float64(len(sys.graph.Tasks)), "transfers": float64(sys.countTransfers())}
	if sys.scenario.isEndless() {
		return m
	}
	sys.IdealReference.AddMetrics(m, sys.endMetric(), sys.hasComputes())
	if sys.Bound > 0 {
		m["gap"] = float64(sys.Times.Ideal-sys.Bound) / float64(sys.Bound)
	}
	return m
}

// endMetric names the metric of when the work ends.
func (sys *circuitSystem) endMetric() string {
	if !sys.hasComputes() {
		return "completion_s"
	}
	return "makespan_s"
}

// hasComputes reports whether the work computes, too.
func (sys *circuitSystem) hasComputes() bool { return sys.iteration != nil }

// countTransfers counts the transfers between pods.
func (sys *circuitSystem) countTransfers() int {
	n := 0
	for i := range sys.graph.Tasks {
		if sys.isInterPod(int32(i)) {
			n++
		}
	}
	return n
}

// decisionRow measures a decision by itself.
func (sys *circuitSystem) decisionRow(name string, d *topology.Decision) result.Row {
	row := newRow(name, sys.problem.PortsUsed(d.Circuits), sys.problem.PortsTotal(), d.Evaluations, d.Stopped)
	row.Labels["topology"] = sys.formatMatrix(d.Circuits)
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

// simulationRow measures a decision by its simulation, too, which ends at end.
func (sys *circuitSystem) simulationRow(name string, d *topology.Decision, end engine.Time, t *engine.Trace) result.Row {
	row := sys.decisionRow(name, d)
	row.Metrics[sys.endMetric()], row.Labels["service"] = end.Seconds(), d.Service.String()
	if sys.hasComputes() {
		sys.addIterationMetrics(&row, end, t)
	}
	if d.Tails != nil {
		row.Labels["levels"] = "by tails that were searched for"
	}
	if bound, model, reason := sys.boundOf(d); bound > 0 {
		row.Metrics["bound_"+sys.endMetric()] = bound.Seconds()
		row.Metrics["gap"] = float64(end-bound) / float64(bound)
		row.Labels["gap_model"] = model
	} else {
		row.Labels["gap"] = reason
	}
	if d.PortsBound > 0 {
		row.Metrics["bound_ports"] = float64(d.PortsBound)
	} else if sys.usesReplicaKinds() {
		row.Labels["bound_ports"] = "not sought: replicas of a kind have circuits taken away together, and all topologies of so many are not looked through"
	}
	if r := d.Solver; r != nil {
		sys.addSolverMetrics(&row, r)
	}
	return row
}

// boundOf returns a bound that holds at the level of the scenario, and its model; or 0, and why there is none. Packets do
// not share circuits as any service of fluids does, so at level packet a bound that holds under one service gives way to
// the one that holds for any way of sharing.
func (sys *circuitSystem) boundOf(d *topology.Decision) (bound engine.Time, model, reason string) {
	switch {
	case d.Bound == 0:
		return 0, "", "no bound is sought"
	case sys.scenario.Engine.Level != "packet" || d.BoundModel == topology.AnyService || d.BoundModel == topology.AnySequence:
		return d.Bound, d.BoundModel, ""
	case sys.anyServiceBound == 0:
		return 0, "", "the bound sought is of one way of sharing circuits (" + d.BoundModel + "), and packets share them in another"
	}
	return sys.anyServiceBound, topology.AnyService, ""
}

// addIterationMetrics measures a simulation of a training step that ends at end.
func (sys *circuitSystem) addIterationMetrics(row *result.Row, end engine.Time, t *engine.Trace) {
	sys.AddExposed(row, end, "this topology does")
	if sys.inOrder != nil {
		sys.addMappingMetrics(row)
		row.Labels["nct_critical_path"] = "undefined: other transfers go between pods than on the ideal fabric"
	} else if ideal := sys.pods.CriticalTransfer(sys.graph, sys.referenceTrace); ideal > 0 {
		row.Metrics["nct_critical_path"] = float64(sys.pods.CriticalTransfer(sys.graph, t)) / float64(ideal)
	} else {
		row.Labels["nct_critical_path"] = "undefined: the ideal fabric's critical path holds no transfer"
	}
}

// addSolverMetrics adds what a MILP solver said.
func (sys *circuitSystem) addSolverMetrics(row *result.Row, r *topology.SolverReport) {
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
		if nct, ok := sys.Times.NCT(r.Makespan); ok {
			row.Metrics["milp_nct"] = nct
		}
	}
	if r.Bound > 0 {
		row.Metrics["milp_bound_s"] = r.Bound.Seconds()
	}
}

// formatMatrix writes circuits as a readable matrix of pods, with a column for those to DP peers; where replicas are many, or
// all there, as a list.
func (sys *circuitSystem) formatMatrix(circuits []int) string {
	const maxPods = 16 // pods that still make a readable matrix
	pods := sys.optical.Pods
	n := len(pods)
	if n > maxPods || sys.hasAllReplicas() {
		return sys.formatList(circuits)
	}
	cell, columns := make([][]string, n), n
	for i := range cell {
		cell[i] = slices.Repeat([]string{"."}, n+1)
	}
	for e, u := range sys.optical.Bundles {
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

// formatList writes circuits as lines of pod pairs.
func (sys *circuitSystem) formatList(circuits []int) string {
	const width = 88
	var lines []string
	for e, u := range sys.optical.Bundles {
		pods := sys.optical.Pods
		item := fmt.Sprintf("%s-%s: %d", pods[u.A].Name, strings.TrimPrefix(pods[u.B].Name, "pod "), circuits[e])
		if last := len(lines) - 1; last >= 0 && len(lines[last])+2+len(item) <= width {
			lines[last] += ", " + item
		} else {
			lines = append(lines, item)
		}
	}
	return strings.Join(lines, ",\n")
}
