package circuits

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"sim/engine"
	"sim/policies/topology"
	"sim/scenarios/result"
)

// jobMetric is the name of a metric of one job.
func (m *jobsSystem) jobMetric(j int, name string) string {
	return "job." + m.scenario.Jobs[j].Name + "." + name
}

// referenceMetrics are those of the ideal fabric and of compute alone, by job.
func (m *jobsSystem) Reference() map[string]float64 {
	all := map[string]float64{}
	for j, sys := range m.jobs {
		for name, v := range sys.Reference() {
			if name == "tasks" || name == "transfers" {
				all[name] += v
				continue
			}
			all[m.jobMetric(j, name)] = v
		}
	}
	return all
}

// row measures an arbiter's decision. best is what the gap is to.
func (m *jobsSystem) row(ctx context.Context, name string, d *topology.JobsDecision, best *topology.JobsOptimum) (result.Row, error) {
	s := m.shared
	row := newRow(name, s.PortsUsed(d.Circuits()), s.PortsTotal(), d.Evaluations, d.Stopped)
	row.Metrics["objective"], row.Labels["objective"] = d.Value, s.Goal.Description()
	if gap, ok := best.Gap(d.Value); ok {
		row.Metrics["bound_objective"], row.Metrics["gap"] = best.Bound, gap
		row.Labels["gap_model"] = best.BoundModel
	}
	if search := m.podSearch; search != nil {
		row.Metrics["mapping_evaluations"], row.Metrics["bound_mapping"] = float64(search.Trials), search.Bound
		if search.Bound > 0 {
			row.Metrics["gap_mapping"] = max(0, d.Value/search.Bound-1)
		}
		var pods []string
		for j := range m.scenario.Jobs {
			pods = append(pods, fmt.Sprintf("%s %v", m.scenario.Jobs[j].Name, m.scenario.Jobs[j].Pods))
		}
		row.Labels["pods"] = strings.Join(pods, ", ")
	}
	var topologies []string
	makespans := make([]engine.Time, len(m.jobs))
	for j, sys := range m.jobs {
		decision := d.Jobs[j]
		makespans[j] = decision.Makespan
		row.Metrics[m.jobMetric(j, "makespan_s")] = decision.Makespan.Seconds()
		row.Metrics[m.jobMetric(j, "comm_exposed_s")] = (decision.Makespan - sys.Times.Compute).Seconds()
		row.Metrics[m.jobMetric(j, "ports")] = float64(sys.problem.PortsUsed(decision.Circuits))
		row.Labels[m.jobMetric(j, "service")] = decision.Service.String()
		text := sys.formatMatrix(decision.Circuits)
		row.Labels[m.jobMetric(j, "topology")] = text
		topologies = append(topologies, m.scenario.Jobs[j].Name+"\n"+text)
	}
	row.Labels["topology"] = strings.Join(topologies, "\n")
	m.addNCT(&row, "", "nct", makespans)
	if m.pool != nil {
		return row, m.pool.measure(ctx, &row, d)
	}
	return row, nil
}

// addNCT adds the NCT of makespans: of each job under a name, their mean by weight and the largest under the same
// with a prefix. Where one is undefined so are these.
func (m *jobsSystem) addNCT(row *result.Row, prefix, name string, makespans []engine.Time) {
	sum, weights, maxNCT := 0.0, 0.0, 0.0
	undefined := ""
	for j, sys := range m.jobs {
		nct, ok := sys.Times.NCT(makespans[j])
		if !ok {
			undefined = m.scenario.Jobs[j].Name
			row.Labels[m.jobMetric(j, name)] = "undefined: the ideal fabric exposes no communication, these circuits do"
			continue
		}
		row.Metrics[m.jobMetric(j, name)] = nct
		sum += m.scenario.Jobs[j].Weight * nct
		weights += m.scenario.Jobs[j].Weight
		maxNCT = max(maxNCT, nct)
	}
	if undefined != "" {
		row.Labels[prefix+"nct"] = fmt.Sprintf("undefined: that of job %s is", undefined)
		return
	}
	row.Metrics[prefix+"nct"], row.Metrics[prefix+"nct_max"] = sum/weights, maxNCT
}

// topology is the logical topology for figures: circuits of all jobs together.
func (m *jobsSystem) topology(circuits [][]int) *result.Topology {
	t := &result.Topology{}
	podIndex := map[int]int{} // shared pod -> place in t
	for j, sys := range m.jobs {
		for k, pod := range m.shared.Jobs[j].Pods {
			if _, ok := podIndex[pod]; !ok {
				podIndex[pod] = len(t.Pods)
				p := sys.optical.Pods[k]
				t.Pods = append(t.Pods, result.PodPorts{Name: p.Name, Replica: p.Replica, Total: m.shared.Ports[pod]})
			}
		}
	}
	pairs := map[[2]int]int{}
	for j, sys := range m.jobs {
		pods := m.shared.Jobs[j].Pods
		for k, used := range sys.optical.Ports(circuits[j]) {
			t.Pods[podIndex[pods[k]]].Used += used
		}
		for e, b := range sys.optical.Bundles {
			pair := [2]int{podIndex[pods[b.A]], podIndex[pods[b.B]]}
			pair[0], pair[1] = min(pair[0], pair[1]), max(pair[0], pair[1])
			k, ok := pairs[pair]
			if !ok {
				k = len(t.Pairs)
				pairs[pair] = k
				t.Pairs = append(t.Pairs, result.Pair{A: pair[0], B: pair[1], DP: b.Peer, Copies: b.Ends})
			}
			t.Pairs[k].Circuits += circuits[j][e]
		}
	}
	return t
}

// jobTopology is the topology of one job's own circuits. Of each pod it has the ports that they take, those and the
// ones that no job takes, and its even share.
func (m *jobsSystem) jobTopology(j int, circuits [][]int) *result.Topology {
	free := slices.Clone(m.shared.Ports)
	for k, sys := range m.jobs {
		for i, used := range sys.optical.Ports(circuits[k]) {
			free[m.shared.Jobs[k].Pods[i]] -= used
		}
	}
	t, even := m.jobs[j].topology(circuits[j]), m.shared.EvenShares()[j]
	for i, pod := range m.shared.Jobs[j].Pods {
		t.Pods[i].Total = t.Pods[i].Used + free[pod]
		t.Pods[i].Even = even[pod]
	}
	return t
}
