// This file measures the decisions of multi-job allocators: the objective, the metrics of
// each job, and the topologies for figures. Circuits are indexed by job and by bundle of
// the job. A bundle is all circuits between two pods.

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

// jobMetric returns the name of a metric of job j.
func (m *jobsSystem) jobMetric(j int, name string) string {
	return "job." + m.scenario.Jobs[j].Name + "." + name
}

// Reference returns the metrics of the ideal fabric and of compute alone, for each job.
// Numbers of tasks and transfers are summed over all jobs.
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

// row returns the row of a multi-job allocator: ports, objective, and the metrics of each
// job. The bound and the gap come from best, the result of the joint search.
func (m *jobsSystem) row(
	ctx context.Context, name string, d *topology.JobsDecision, best *topology.JobsOptimum,
) (result.Row, error) {
	s := m.shared
	row := newRow(name, s.PortsUsed(d.Circuits()), s.PortsTotal(), d.Evaluations, d.Stopped)
	row.Metrics["objective"], row.Labels["objective"] = d.Value, s.Goal.Description()
	if gap, ok := best.Gap(d.Value); ok {
		row.Metrics["bound_objective"], row.Metrics["gap"] = best.Bound, gap
		row.Labels["gap_model"] = best.BoundModel
	}
	if m.podSearch != nil {
		m.addPodSearchMetrics(&row, d.Value)
	}

	var topologies []string
	makespans := make([]engine.Time, len(m.jobs))
	for j, sys := range m.jobs {
		decision := d.Jobs[j]
		makespans[j] = decision.Makespan
		// Metrics of one job carry its name.
		exposed := decision.Makespan - sys.Times.Compute
		ports := sys.problem.PortsUsed(decision.Circuits)
		row.Metrics[m.jobMetric(j, "makespan_s")] = decision.Makespan.Seconds()
		row.Metrics[m.jobMetric(j, "comm_exposed_s")] = exposed.Seconds()
		row.Metrics[m.jobMetric(j, "ports")] = float64(ports)

		text := sys.formatMatrix(decision.Circuits)
		row.Labels[m.jobMetric(j, "service")] = decision.Service.String()
		row.Labels[m.jobMetric(j, "topology")] = text
		topologies = append(topologies, m.scenario.Jobs[j].Name+"\n"+text)
	}
	row.Labels["topology"] = strings.Join(topologies, "\n")
	const noPrefix = ""
	m.addNCT(&row, noPrefix, "nct", makespans)
	if m.pool != nil {
		return row, m.pool.measure(ctx, &row, d)
	}
	return row, nil
}

// addPodSearchMetrics adds the effort, the bound and the result of the search for pods to
// a row with the given objective.
func (m *jobsSystem) addPodSearchMetrics(row *result.Row, objective float64) {
	search := m.podSearch
	row.Metrics["mapping_evaluations"] = float64(search.Trials)
	row.Metrics["bound_mapping"] = search.Bound
	if search.Bound > 0 {
		row.Metrics["gap_mapping"] = max(0, objective/search.Bound-1)
	}
	var pods []string
	for j := range m.scenario.Jobs {
		job := &m.scenario.Jobs[j]
		pods = append(pods, fmt.Sprintf("%s %v", job.Name, job.Pods))
	}
	row.Labels["pods"] = strings.Join(pods, ", ")
}

// addNCT adds the NCT of each job under the given name. It adds the weighted mean and the
// maximum as nct and nct_max, with the prefix. If the NCT of a job is undefined, mean and
// maximum are, too.
func (m *jobsSystem) addNCT(row *result.Row, prefix, name string, makespans []engine.Time) {
	sum, weights, maxNCT := 0.0, 0.0, 0.0
	undefined := "" // name of a job with undefined NCT
	for j, sys := range m.jobs {
		job := &m.scenario.Jobs[j]
		// Communication relative to the ideal fabric, on which the job is alone.
		nct, ok := sys.Times.NCT(makespans[j])
		if !ok {
			undefined = job.Name
			row.Labels[m.jobMetric(j, name)] =
				"undefined: the ideal fabric exposes no communication, these circuits do"
			continue
		}
		row.Metrics[m.jobMetric(j, name)] = nct
		sum += job.Weight * nct
		weights += job.Weight
		maxNCT = max(maxNCT, nct)
	}
	if undefined != "" {
		row.Labels[prefix+"nct"] = fmt.Sprintf("undefined: that of job %s is", undefined)
		return
	}
	row.Metrics[prefix+"nct"], row.Metrics[prefix+"nct_max"] = sum/weights, maxNCT
}

// topology returns the topology for figures: the circuits of all jobs.
func (m *jobsSystem) topology(circuits [][]int) *result.Topology {
	t := &result.Topology{}
	// Pods are listed in the order in which jobs name them, with the name that the first
	// job gives them.
	podIndex := map[int]int{} // index in t.Pods of a shared pod
	for j, sys := range m.jobs {
		for k, pod := range m.shared.Jobs[j].Pods {
			if _, ok := podIndex[pod]; !ok {
				podIndex[pod] = len(t.Pods)
				p := sys.optical.Pods[k]
				t.Pods = append(t.Pods, result.PodPorts{
					Name:    p.Name,
					Replica: p.Replica,
					Total:   m.shared.Ports[pod],
				})
			}
		}
	}

	pairs := map[[2]int]int{} // index in t.Pairs of a pair of indices in t.Pods
	for j, sys := range m.jobs {
		pods := m.shared.Jobs[j].Pods
		for k, used := range sys.optical.Ports(circuits[j]) {
			t.Pods[podIndex[pods[k]]].Used += used
		}
		for e, b := range sys.optical.Bundles {
			pair := [2]int{podIndex[pods[b.A]], podIndex[pods[b.B]]}
			// Two jobs may name a pair of pods in different orders.
			pair[0], pair[1] = min(pair[0], pair[1]), max(pair[0], pair[1])
			k, ok := pairs[pair]
			if !ok {
				k = len(t.Pairs)
				pairs[pair] = k
				t.Pairs = append(t.Pairs, result.Pair{
					A:      pair[0],
					B:      pair[1],
					DP:     b.Peer,
					Copies: b.Ends,
				})
			}
			t.Pairs[k].Circuits += circuits[j][e]
		}
	}
	return t
}

// jobTopology returns the topology of job j, whose circuits no other job may use. The
// total ports of a pod are the ports that the job uses and the ports that no job uses.
// Even is the job's even share.
func (m *jobsSystem) jobTopology(j int, circuits [][]int) *result.Topology {
	// Ports that no job uses.
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
