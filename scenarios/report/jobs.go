// This file explains runs of several jobs that share the ports of pods.

package report

import (
	"fmt"
	"slices"

	"sim/internal/text"
	"sim/scenarios/result"
)

// printJobs explains each of several jobs by its own critical path, and prints the ports that
// connect the jobs. row may be nil.
func (p *writer) printJobs(run *result.Run, row *result.Row, sim *result.Simulation) {
	if row != nil {
		// State the objective and its gap to the lower bound.
		line := fmt.Sprintf("%s: objective %.4f (%s)", p.emphasize(sim.Policy),
			row.Metrics[result.Objective], row.Labels[result.Objective])
		if bound, bounded := row.Metrics[result.BoundPrefix+result.Objective]; bounded {
			over := "0 %"
			if gap := row.Metrics[result.GapToBound]; gap > provedGap {
				over = text.Percent(gap)
			}
			line += fmt.Sprintf(", %s above a lower bound of %.4f", over, bound)
		}

		p.paragraph("%s. A circuit serves one job, so the jobs meet in the ports "+
			"of their pods alone, and each has a critical path of its own.", line)
		if row.Labels["pooled"] != "" {
			p.indented("What follows is each job on its own circuits; the pooled " +
				"figures are of another simulation, many iterations on the circuits of all.")
		}
	}

	// The ports connect the jobs; each job then has a critical path.
	p.printPorts(sim)
	for i := range sim.Jobs {
		job := &sim.Jobs[i]
		// The heading has the job's NCT.
		title := "Job " + job.Policy
		if row != nil {
			if nct, ok := row.Metrics[result.OfJob(job.Policy, result.NCT)]; ok {
				title += fmt.Sprintf(", NCT %.4f", nct)
			}
		}

		p.line("\n%s\n", p.emphasize(title))
		// Compare the job with itself on the ideal fabric and under the other policies.
		ideal := jobOf(&run.Detail.Reference, job.Policy)
		p.explainPath(job, ideal)
		sims := completedSimulations(run, ideal,
			func(q *result.Simulation) *result.Simulation {
				return jobOf(q, job.Policy)
			})

		// The compared paths have the names of policies, not of jobs.
		under := *job
		under.Policy = sim.Policy
		p.comparePaths(&under, sims)
	}

	p.listFailedPolicies(&run.Document)
}

// jobOf returns the part of a job in a simulation, or nil if the simulation does not contain it.
func jobOf(sim *result.Simulation, name string) *result.Simulation {
	k := slices.IndexFunc(sim.Jobs, func(q result.Simulation) bool {
		return q.Policy == name
	})
	if k < 0 {
		return nil
	}
	return &sim.Jobs[k]
}

// maxPodRows is the number of printed pods, as many as a screen shows. Others are counted.
const maxPodRows = 24

// printPorts prints the ports of each job in each pod, and the difference to an even share. It
// prints nothing if a job has no topology.
func (p *writer) printPorts(sim *result.Simulation) {
	// List the pods of all jobs, in the order of the first job that has each.
	heads := []string{"pod"}
	var pods []string
	for _, job := range sim.Jobs {
		if job.Topology == nil {
			return
		}
		heads = append(heads, job.Policy, "off its\neven share")
		for _, pod := range job.Topology.Pods {
			if !slices.Contains(pods, pod.Name) {
				pods = append(pods, pod.Name)
			}
		}
	}

	// used and even are summed over pods, indexed by job; free is the sum of unused
	// ports.
	t := text.NewTable(append(heads, "free")...)
	used := make([]int, len(sim.Jobs))
	even := make([]int, len(sim.Jobs))
	free := 0
	for k, name := range pods {
		// left is the number of free ports of the pod.
		row, left := []any{name}, 0
		for i, job := range sim.Jobs {
			at := slices.IndexFunc(job.Topology.Pods, func(q result.PodPorts) bool {
				return q.Name == name
			})
			if at < 0 {
				row = append(row, "-", "-")
				continue
			}

			// Add the ports of the job and their difference to an even share.
			q := job.Topology.Pods[at]
			row = append(row, q.Used, fmt.Sprintf("%+d", q.Used-q.Even))
			used[i], even[i] = used[i]+q.Used, even[i]+q.Even
			left = q.Total - q.Used
		}

		free += left
		// Pods beyond the limit still count in the sums.
		if k < maxPodRows {
			t.Row(append(row, left)...)
		}
	}

	p.line("\n%s", p.emphasize("Ports of a pod, by job"))
	p.table(t)
	p.printOmitted(len(pods)-maxPodRows, "pod more", "pods more")
	for i, job := range sim.Jobs {
		// Compare the ports of each job with its even share.
		line := fmt.Sprintf("%s has %s, ", job.Policy, text.Plural(used[i], "port"))
		switch by := used[i] - even[i]; {
		case by > 0:
			line += fmt.Sprintf("%d more than its even share: it borrows them", by)
		case by < 0:
			line += fmt.Sprintf("%d fewer than its even share, which it lends or leaves free", -by)
		default:
			line += "as many as its even share"
		}
		p.indented("%s", line)
	}

	p.indented("%s free; the even share is in proportion to the jobs' GPUs in a pod",
		text.Plural(free, "port is", "ports are"))
}
