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
func (m *jobsInstance) jobMetric(j int, name string) string {
	return "job." + m.s.Jobs[j].Name + "." + name
}

// referenceMetrics are those of the ideal fabric and of compute alone, by job.
func (m *jobsInstance) Reference() map[string]float64 {
	all := map[string]float64{}
	for j, in := range m.jobs {
		for name, v := range in.Reference() {
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
func (m *jobsInstance) row(ctx context.Context, name string, d *topology.JobsDecision, best *topology.JobsOptimum) (result.Row, error) {
	s := m.shared
	row := newRow(name, s.PortsUsed(d.Circuits()), s.PortsTotal(), d.Evaluations, d.Stopped)
	row.Metrics["objective"], row.Labels["objective"] = d.Value, s.Goal.Description()
	if gap, ok := best.Gap(d.Value); ok {
		row.Metrics["bound_objective"], row.Metrics["gap"] = best.Bound, gap
		row.Labels["gap_model"] = best.BoundModel
	}
	if f := m.found; f != nil {
		row.Metrics["mapping_evaluations"], row.Metrics["bound_mapping"] = float64(f.Trials), f.Bound
		if f.Bound > 0 {
			row.Metrics["gap_mapping"] = max(0, d.Value/f.Bound-1)
		}
		var pods []string
		for j := range m.s.Jobs {
			pods = append(pods, fmt.Sprintf("%s %v", m.s.Jobs[j].Name, m.s.Jobs[j].Pods))
		}
		row.Labels["pods"] = strings.Join(pods, ", ")
	}
	var topologies []string
	makespans := make([]engine.Time, len(m.jobs))
	for j, in := range m.jobs {
		one := d.Jobs[j]
		makespans[j] = one.Makespan
		row.Metrics[m.jobMetric(j, "makespan_s")] = one.Makespan.Seconds()
		row.Metrics[m.jobMetric(j, "comm_exposed_s")] = (one.Makespan - in.Times.Compute).Seconds()
		row.Metrics[m.jobMetric(j, "ports")] = float64(in.problem.PortsUsed(one.Circuits))
		row.Labels[m.jobMetric(j, "service")] = one.Service.String()
		text := in.matrix(one.Circuits)
		row.Labels[m.jobMetric(j, "topology")] = text
		topologies = append(topologies, m.s.Jobs[j].Name+"\n"+text)
	}
	row.Labels["topology"] = strings.Join(topologies, "\n")
	m.measureNCT(&row, "", "nct", makespans)
	if m.pool != nil {
		return row, m.pool.measure(ctx, &row, d)
	}
	return row, nil
}

// measureNCT adds the NCT of makespans: of each job under a name, their mean by weight and the largest under the same
// with a prefix. Where one is undefined so are these.
func (m *jobsInstance) measureNCT(row *result.Row, prefix, name string, makespans []engine.Time) {
	sum, weights, most := 0.0, 0.0, 0.0
	undefined := ""
	for j, in := range m.jobs {
		nct, ok := in.Times.NCT(makespans[j])
		if !ok {
			undefined = m.s.Jobs[j].Name
			row.Labels[m.jobMetric(j, name)] = "undefined: the ideal fabric exposes no communication, these circuits do"
			continue
		}
		row.Metrics[m.jobMetric(j, name)] = nct
		sum += m.s.Jobs[j].Weight * nct
		weights += m.s.Jobs[j].Weight
		most = max(most, nct)
	}
	if undefined != "" {
		row.Labels[prefix+"nct"] = fmt.Sprintf("undefined: that of job %s is", undefined)
		return
	}
	row.Metrics[prefix+"nct"], row.Metrics[prefix+"nct_max"] = sum/weights, most
}

// topology is the logical topology for figures: circuits of all jobs together.
func (m *jobsInstance) topology(circuits [][]int) *result.Topology {
	t := &result.Topology{}
	at := map[int]int{} // shared pod -> place in t
	for j, in := range m.jobs {
		for k, pod := range m.shared.Jobs[j].Pods {
			if _, ok := at[pod]; !ok {
				at[pod] = len(t.Pods)
				p := in.optical.Pods[k]
				t.Pods = append(t.Pods, result.PodPorts{Name: p.Name, Replica: p.Replica, Total: m.shared.Ports[pod]})
			}
		}
	}
	pairs := map[[2]int]int{}
	for j, in := range m.jobs {
		pods := m.shared.Jobs[j].Pods
		for k, used := range in.optical.Ports(circuits[j]) {
			t.Pods[at[pods[k]]].Used += used
		}
		for e, b := range in.optical.Bundles {
			pair := [2]int{at[pods[b.A]], at[pods[b.B]]}
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

// ownTopology is the topology of one job's own circuits. Of each pod it has the ports that they take, those and the
// ones that no job takes, and its even share.
func (m *jobsInstance) ownTopology(j int, circuits [][]int) *result.Topology {
	free := slices.Clone(m.shared.Ports)
	for k, in := range m.jobs {
		for i, used := range in.optical.Ports(circuits[k]) {
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
