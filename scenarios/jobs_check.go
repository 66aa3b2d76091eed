package scenarios

import (
	"fmt"
	"slices"
	"strings"

	"sim/scenarios/schema"
)

// checkJobs holds the jobs against each other. Only jobs that are sound by
// themselves are looked at.
func checkJobs(c *checker) {
	checkJobNames(c)
	if r := &c.s.Policy.Repeat; c.s.sharedCircuits() && c.OK("policy.repeat.iterations", "policy.repeat.warmup") && r.Warmup >= r.Iterations {
		c.Clash([]string{"policy.repeat.warmup", "policy.repeat.iterations"},
			fmt.Sprintf("%d iterations of warm-up leave none of %d to measure", r.Warmup, r.Iterations), "choose fewer")
	}
	for i := range c.s.Jobs {
		if c.s.Jobs[i].Scenario == nil || !c.OK(jobPath(i, "pods")) {
			return
		}
	}
	checkReplicasOfJobs(c)
	rows := 1
	for i := range c.s.Jobs {
		rows = max(rows, c.s.rows(&c.s.Jobs[i]))
	}
	if n := float64(rows) * float64(c.s.podsInRow()); n > maxMapped {
		c.Clash([]string{"fabric.pods", "job"}, fmt.Sprintf("%.2g pods are too many", n), fmt.Sprintf("stay within %d in all replicas that are played", maxMapped))
		return
	}
	checkPortsOfJobs(c)
	total := 0.0
	for i := range c.s.Jobs {
		total += c.s.Jobs[i].Scenario.passes()
	}
	if total > maxTasks {
		c.Refuse("job", fmt.Sprintf("the jobs make some %.2g passes of stages and transfers between pods", total), fmt.Sprintf("stay within %d", maxTasks))
	}
}

// checkJobNames holds that names can stand in those of metrics and differ.
func checkJobNames(c *checker) {
	seen := map[string]bool{}
	for i := range c.s.Jobs {
		name, path := c.s.Jobs[i].Name, jobPath(i, "name")
		if !c.Given(path) || !c.OK(path) {
			continue
		}
		bad := func(r rune) bool { return !schema.IsBare(r) }
		switch {
		case name == "" || strings.ContainsFunc(name, bad):
			c.Refuse(path, schema.Quote(name)+" cannot stand in the name of a metric", "write letters, digits, - and _")
		case seen[name]:
			c.Refuse(path, "two jobs are called "+schema.Quote(name), "give each a name of its own")
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
		return (&jobPart{index: i, own: schema.Rows(c.Root["job"])[i], top: c.Root}).place("workload.replicas")
	}
	all := -1
	for i := range jobs {
		if mode(i) == "decomposed" {
			c.Refuse(key(i), `is "decomposed", which several jobs cannot be`, `choose "auto", "single" or "all"`)
			return
		}
		if all < 0 && jobs[i].Scenario.extent().All {
			all = i
		}
	}
	if all >= 0 {
		for i := range jobs {
			if mode(i) == "single" {
				c.Clash([]string{key(i), key(all)}, fmt.Sprintf("job %q plays one replica for all, and job %q must play all of its", jobs[i].Name, jobs[all].Name),
					`set workload.replicas = "all"`)
				return
			}
			jobs[i].Scenario.Workload.ReplicaMode = "all"
		}
		return
	}
	for i := range jobs {
		for k := range i {
			here, there := jobs[i].Scenario.Workload.Replicas(), jobs[k].Scenario.Workload.Replicas()
			meet := slices.ContainsFunc(jobs[i].Pods, func(pod int) bool { return slices.Contains(jobs[k].Pods, pod) })
			if here != there && (meet || c.s.sharedCircuits()) {
				c.Refuse(fmt.Sprintf("job.%d", i), fmt.Sprintf("has %s, and job %q, with which it shares pods, %d: one cannot stand for all",
					plural(here, "replica"), jobs[k].Name, there), `give them as many, or set workload.replicas = "all"`)
				return
			}
		}
	}
}

// checkPortsOfJobs holds that every pod has a port for each pod that each of
// its jobs talks to.
func checkPortsOfJobs(c *checker) {
	if !c.OK("fabric.ports_per_pod", "fabric.pods") {
		return
	}
	ports := c.s.podPorts()
	need := make([]int, len(ports))
	for i := range c.s.Jobs {
		job := &c.s.Jobs[i]
		w := &job.Scenario.Workload
		for r := range c.s.rows(job) {
			for b, pod := range job.Pods {
				n := w.PeerNeighbours()
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
			c.Clash([]string{"fabric.ports_per_pod", "job"},
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
		return job.Scenario.Workload.Replicas()
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
