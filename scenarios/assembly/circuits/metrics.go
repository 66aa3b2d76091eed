// This file computes the metrics of decisions for one job, with bounds and gaps, and
// formats topologies as text.

package circuits

import (
	"fmt"
	"slices"
	"strings"

	"sim/engine"
	"sim/policies/topology"
	"sim/scenarios/result"
)

// Reference returns the metrics of the ideal fabric and of compute alone.
func (sys *circuitSystem) Reference() map[string]float64 {
	if sys.inOrder != nil {
		return sys.inOrder.Reference()
	}
	// Sizes of the task graph are independent of policies.
	m := map[string]float64{
		"tasks":     float64(len(sys.graph.Tasks)),
		"transfers": float64(sys.countTransfers()),
	}
	if sys.scenario.isEndless() {
		return m
	}
	ideal := &sys.IdealReference
	ideal.AddMetrics(m, sys.endMetric(), sys.hasComputes())
	if ideal.Bound > 0 {
		m["gap"] = float64(ideal.Times.Ideal-ideal.Bound) / float64(ideal.Bound)
	}
	return m
}

// endMetric returns the name of the metric of the time at which the work ends.
func (sys *circuitSystem) endMetric() string {
	if !sys.hasComputes() {
		return "completion_s"
	}
	return "makespan_s"
}

// hasComputes reports whether the work consists of computes and transfers, rather than of
// traffic.
func (sys *circuitSystem) hasComputes() bool { return sys.iteration != nil }

// countTransfers returns the number of inter-pod transfers.
func (sys *circuitSystem) countTransfers() int {
	n := 0
	for i := range sys.graph.Tasks {
		if sys.isInterPod(int32(i)) {
			n++
		}
	}
	return n
}

// decisionRow returns a row with the metrics that need no simulation.
func (sys *circuitSystem) decisionRow(name string, d *topology.Decision) result.Row {
	ports, total := sys.problem.PortsUsed(d.Circuits), sys.problem.PortsTotal()
	row := newRow(name, ports, total, d.Evaluations, d.Stopped)
	row.Labels["topology"] = sys.formatMatrix(d.Circuits)
	return row
}

// newRow returns a row with the used and total ports of a decision, the number of
// evaluations of its search, and the reason why the search ended early; "" if it did not.
func newRow(name string, ports, total int, evaluations int64, stopped string) result.Row {
	row := result.Row{
		Policy: name,
		Labels: map[string]string{},
		Metrics: map[string]float64{
			"ports":       float64(ports),
			"port_ratio":  float64(ports) / float64(total),
			"evaluations": float64(evaluations),
		},
	}
	if stopped != "" {
		row.Labels["stopped"] = stopped
	}
	return row
}

// simulationRow returns the row of a decision whose simulation has trace t and ends at
// end.
func (sys *circuitSystem) simulationRow(
	name string, d *topology.Decision, end engine.Time, t *engine.Trace,
) result.Row {
	row := sys.decisionRow(name, d)
	row.Metrics[sys.endMetric()], row.Labels["service"] = end.Seconds(), d.Service.String()
	if sys.hasComputes() {
		sys.addIterationMetrics(&row, end, t)
	}
	if d.Tails != nil {
		row.Labels["levels"] = "by tails that were searched for"
	}

	// The gap compares the simulated end with the bound of the search.
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
		row.Labels["bound_ports"] = "not sought: replicas of a kind have circuits taken away together, " +
			"and all topologies of so many are not looked through"
	}
	if r := d.Solver; r != nil {
		sys.addSolverMetrics(&row, r)
	}
	return row
}

// boundOf returns a lower bound on the makespan that holds at the level of the scenario,
// and its model. It returns 0 and a reason if no such bound is known.
//
// Packets do not share circuits exactly as any service of flow simulation does. At level
// packet, a bound for one service is therefore replaced by the bound for any sharing.
func (sys *circuitSystem) boundOf(d *topology.Decision) (bound engine.Time, model, reason string) {
	// Bounds of these two models do not depend on how transfers share circuits.
	holdsForAnySharing := d.BoundModel == topology.AnyService || d.BoundModel == topology.AnySequence
	switch {
	case d.Bound == 0:
		return 0, "", "no bound is sought"
	case sys.scenario.Engine.Level != "packet" || holdsForAnySharing:
		return d.Bound, d.BoundModel, ""
	case sys.anyServiceBound == 0:
		return 0, "", "the bound sought is of one way of sharing circuits (" + d.BoundModel + "), " +
			"and packets share them in another"
	}
	return sys.anyServiceBound, topology.AnyService, ""
}

// addIterationMetrics adds the metrics of a training step that ends at end: exposed
// communication, and the transfer time on the critical path relative to the ideal fabric.
func (sys *circuitSystem) addIterationMetrics(
	row *result.Row, end engine.Time, t *engine.Trace,
) {
	sys.IdealReference.AddExposed(row, end, "this topology does")
	if sys.inOrder != nil {
		sys.addMappingMetrics(row)
		row.Labels["nct_critical_path"] =
			"undefined: other transfers go between pods than on the ideal fabric"
		return
	}

	// Compare the times of transfers on the two critical paths.
	ideal := sys.pods.CriticalTransfer(sys.graph, sys.referenceTrace)
	if ideal > 0 {
		critical := sys.pods.CriticalTransfer(sys.graph, t)
		row.Metrics["nct_critical_path"] = float64(critical) / float64(ideal)
	} else {
		row.Labels["nct_critical_path"] =
			"undefined: the ideal fabric's critical path holds no transfer"
	}
}

// addSolverMetrics adds the report of a MILP solver.
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

	// The makespan in the model of the MILP may differ from the simulated one.
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

// formatMatrix formats circuits as a matrix of pods, with a last column of circuits to DP
// peers. It returns a list instead if the matrix would be too large, or if all replicas
// have pods.
func (sys *circuitSystem) formatMatrix(circuits []int) string {
	const maxPods = 16 // a line of the matrix then has about 125 characters
	pods := sys.optical.Pods
	n := len(pods)
	if n > maxPods || sys.hasAllReplicas() {
		return sys.formatList(circuits)
	}

	// Cells of pairs without a bundle show a dot. The matrix is symmetric.
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
		// A pod has the circuits of this bundle to each of its DP peers.
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
	// The heads of columns are the names of the pods.
	var heads []string
	for _, p := range pods {
		heads = append(heads, p.Name)
	}
	const corner = "" // above the heads of rows
	line(corner, append(heads, "twins"))
	for i, p := range pods {
		b.WriteByte('\n')
		line(p.Name, cell[i])
	}
	return b.String()
}

// formatList formats circuits as lines of pod pairs.
func (sys *circuitSystem) formatList(circuits []int) string {
	const width = 88 // maximum number of characters per line
	var lines []string
	for e, u := range sys.optical.Bundles {
		a, b := sys.optical.Pods[u.A].Name, sys.optical.Pods[u.B].Name
		item := fmt.Sprintf("%s-%s: %d", a, strings.TrimPrefix(b, "pod "), circuits[e])
		if last := len(lines) - 1; last >= 0 && len(lines[last])+2+len(item) <= width {
			lines[last] += ", " + item
		} else {
			lines = append(lines, item)
		}
	}
	return strings.Join(lines, ",\n")
}
