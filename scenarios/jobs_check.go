package scenarios

import (
	"fmt"
	"slices"
	"strings"
)

// checkJobs holds the jobs against each other. Only jobs that are sound by
// themselves are looked at.
func checkJobs(c *checker) {
	checkJobNames(c)
	if r := &c.s.Policy.Repeat; sharedCircuits.applies(c.s) && c.ok("policy.repeat.iterations", "policy.repeat.warmup") && r.Warmup >= r.Iterations {
		c.clash([]string{"policy.repeat.warmup", "policy.repeat.iterations"},
			fmt.Sprintf("%d iterations of warm-up leave none of %d to measure", r.Warmup, r.Iterations), "choose fewer")
	}
	for i := range c.s.Jobs {
		if c.s.Jobs[i].Scenario == nil || !c.ok(jobPath(i, "pods")) {
			return
		}
	}
	checkReplicasOfJobs(c)
	rows := 1
	for i := range c.s.Jobs {
		rows = max(rows, c.s.rows(&c.s.Jobs[i]))
	}
	if n := float64(rows) * float64(c.s.podsInRow()); n > maxMapped {
		c.clash([]string{"fabric.pods", "job"}, fmt.Sprintf("%.2g pods are too many", n), fmt.Sprintf("stay within %d in all replicas that are played", maxMapped))
		return
	}
	checkPortsOfJobs(c)
	total := 0.0
	for i := range c.s.Jobs {
		total += c.s.Jobs[i].Scenario.passes()
	}
	if total > maxTasks {
		c.fault("job", fmt.Sprintf("the jobs make some %.2g passes of stages and transfers between pods", total), fmt.Sprintf("stay within %d", maxTasks))
	}
}

// checkJobNames holds that names can stand in those of metrics and differ.
func checkJobNames(c *checker) {
	seen := map[string]bool{}
	for i := range c.s.Jobs {
		name, path := c.s.Jobs[i].Name, jobPath(i, "name")
		if !c.given(path) || !c.ok(path) {
			continue
		}
		bad := func(r rune) bool { return r > 127 || !isBare(byte(r)) }
		switch {
		case name == "" || strings.ContainsFunc(name, bad):
			c.fault(path, quote(name)+" cannot stand in the name of a metric", "write letters, digits, - and _")
		case seen[name]:
			c.fault(path, "two jobs are called "+quote(name), "give each a name of its own")
		}
		seen[name] = true
	}
}

// checkReplicasOfJobs holds that the jobs of a pod can be played together: all
// replicas of each, or one replica of each that stands for as many. Where one
// job needs all of its replicas, so do the others.
func checkReplicasOfJobs(c *checker) {
	jobs := c.s.Jobs
	mode := func(i int) string { return c.s.Jobs[i].Scenario.Workload.ReplicaMode }
	key := func(i int) string {
		return (&jobPart{index: i, own: c.jobRow(i), top: c.root}).place("workload.replicas")
	}
	all := -1
	for i := range jobs {
		if mode(i) == "decomposed" {
			c.fault(key(i), `is "decomposed", which several jobs cannot be`, `choose "auto", "single" or "all"`)
			return
		}
		if all < 0 && jobs[i].Scenario.extent().All {
			all = i
		}
	}
	if all >= 0 {
		for i := range jobs {
			if mode(i) == "single" {
				c.clash([]string{key(i), key(all)}, fmt.Sprintf("job %q plays one replica for all, and job %q must play all of its", jobs[i].Name, jobs[all].Name),
					`set workload.replicas = "all"`)
				return
			}
			jobs[i].Scenario.Workload.ReplicaMode = "all"
		}
		return
	}
	for i := range jobs {
		for k := range i {
			here, there := jobs[i].Scenario.Workload.ReplicaCount(), jobs[k].Scenario.Workload.ReplicaCount()
			meet := slices.ContainsFunc(jobs[i].Pods, func(pod int) bool { return slices.Contains(jobs[k].Pods, pod) })
			if here != there && (meet || sharedCircuits.applies(c.s)) {
				c.fault(fmt.Sprintf("job.%d", i), fmt.Sprintf("has %s, and job %q, with which it shares pods, %d: one cannot stand for all",
					plural(here, "replica"), jobs[k].Name, there), `give them as many, or set workload.replicas = "all"`)
				return
			}
		}
	}
}

// jobRow returns the table of job i as the file gives it.
func (c *checker) jobRow(i int) map[string]any {
	switch rows := c.root["job"].(type) {
	case []map[string]any:
		return rows[i]
	case []any:
		row, _ := rows[i].(map[string]any)
		return row
	}
	return nil
}

// checkPortsOfJobs holds that every pod has a port for each pod that each of
// its jobs talks to.
func checkPortsOfJobs(c *checker) {
	if !c.ok("fabric.ports_per_pod", "fabric.pods") {
		return
	}
	ports := c.s.podPorts()
	need := make([]int, len(ports))
	for i := range c.s.Jobs {
		job := &c.s.Jobs[i]
		w := &job.Scenario.Workload
		for r := range c.s.rows(job) {
			for b, pod := range job.Pods {
				n := w.TwinNeighbours()
				blocks := len(job.Pods)
				switch {
				case blocks == 1:
				case w.Schedule == "interleaved-1f1b": // chunks wrap around
					n += min(2, blocks-1)
				case b == 0 || b == blocks-1:
					n++
				default:
					n += 2
				}
				need[r*c.s.podsInRow()+pod] += n
			}
		}
	}
	for pod, n := range need {
		if n > ports[pod] {
			c.clash([]string{"fabric.ports_per_pod", "job"},
				fmt.Sprintf("U_p = %d is too small to connect: the jobs in pod %d need %d circuits", ports[pod], pod, n),
				fmt.Sprintf("give at least %d ports", n))
			return
		}
	}
}

// podsInRow returns the number of pods that a row of replicas has: those that
// jobs share.
func (s *Scenario) podsInRow() int {
	n := s.Fabric.Pods
	for i := range s.Jobs {
		n = max(n, slices.Max(s.Jobs[i].Pods)+1)
	}
	return n
}

// rows returns the number of rows of pods that a job is played on: one for each
// replica, or one that stands for all.
func (s *Scenario) rows(job *Job) int {
	if job.Scenario.extent().All {
		return job.Scenario.Workload.ReplicaCount()
	}
	return 1
}

// podPorts returns U_p of the pods that the jobs share, row after row: the
// ports that are given, or as many as the jobs have GPUs in the pod.
func (s *Scenario) podPorts() []int {
	n, rows := s.podsInRow(), 1
	for i := range s.Jobs {
		rows = max(rows, s.rows(&s.Jobs[i]))
	}
	ports := make([]int, rows*n)
	for i := range s.Jobs {
		job := &s.Jobs[i]
		for r := range s.rows(job) {
			for _, pod := range job.Pods {
				if s.Fabric.PortsPerPod > 0 {
					ports[r*n+pod] = s.Fabric.PortsPerPod
				} else {
					ports[r*n+pod] += job.Scenario.Fabric.GPUsPerPodPerReplica
				}
			}
		}
	}
	return ports
}
