// This file checks the jobs of a scenario against each other. Each job has been checked
// alone.
//
// The methods of checker report faults of keys as "PROBLEM; REMEDY". A check is skipped if
// a key that it needs has a fault already (c.OK).

package scenarios

import (
	"fmt"
	"slices"
	"strings"

	"sim/scenarios/assembly"
	"sim/scenarios/assembly/circuits"
	"sim/scenarios/schema"
)

// checkJobs checks the jobs against each other. It stops early if a job is not valid by
// itself.
func checkJobs(c *checker) {
	checkJobNames(c)
	if r := &c.s.Policy.Repeat; c.s.sharesCircuits() &&
		c.OK("policy.repeat.iterations", "policy.repeat.warmup") &&
		r.Warmup >= r.Iterations {
		c.conflictf("policy.repeat.warmup policy.repeat.iterations",
			"%d iterations of warm-up leave none of %d to measure; choose fewer",
			r.Warmup, r.Iterations)
	}

	// The remaining checks need the scenario and the pods of every job.
	for i := range c.s.Jobs {
		if c.s.Jobs[i].Scenario == nil || !c.OK(jobPath(i, "pods")) {
			return
		}
	}

	checkJobReplicas(c)

	// A row of the fabric holds the pods of one replica of every job.
	rows := 1
	for i := range c.s.Jobs {
		rows = max(rows, c.s.Jobs[i].Scenario.circuitsView().Rows())
	}
	if n := float64(rows) * float64(c.s.circuitsView().PodsInRow()); n > maxMappedPods {
		c.conflictf("fabric.pods job",
			"%.2g pods are too many; stay within %d in all replicas that are simulated",
			n, maxMappedPods)
		return
	}

	checkJobPorts(c)
	if c.s.Policy.Mapping.IsSet() && len(c.Diagnostics) == 0 {
		circuits.CheckMappings(c.Reader, c.s.circuitsView())
	}
	c.blame("job", c.s.podCost().CheckLimits("passes of stages and transfers between pods", "fewer"))
}

// checkJobNames checks that the names of jobs are unique and can be parts of metric names.
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
			c.rejectf(path,
				"%s cannot stand in the name of a metric; write letters, digits, - and _",
				schema.Quote(name))
		case seen[name]:
			c.rejectf(path, "two jobs are called %s; give each a name of its own", schema.Quote(name))
		}

		seen[name] = true
	}
}

// checkJobReplicas checks that the jobs of a pod can be simulated together. Either all
// replicas of each job are simulated, or one replica of each, which represents the same
// number of replicas. If one job needs all its replicas, so do the others.
func checkJobReplicas(c *checker) {
	jobs := c.s.Jobs
	mode := func(i int) string { return c.s.Jobs[i].Scenario.Workload.ReplicaMode }

	// key returns the path in the file of the key that sets the mode of job i.
	key := func(i int) string {
		job := jobKeys{index: i, jobTable: schema.Rows(c.Root["job"])[i], fileTable: c.Root}
		return job.pathInFile("workload.replicas")
	}

	// all is the first job that must simulate all its replicas, or -1.
	all := -1
	for i := range jobs {
		if mode(i) == "decomposed" {
			c.rejectf(key(i),
				`is "decomposed", which is not available for several jobs; choose "auto", "single" or "all"`)
			return
		}

		if all < 0 && jobs[i].Scenario.circuitsView().BuildOptions().All {
			all = i
		}
	}

	// Simulate all replicas of every job.
	if all >= 0 {
		for i := range jobs {
			if mode(i) == "single" {
				c.conflictf(key(i)+" "+key(all),
					`job %q simulates one replica for all, and job %q must simulate all of its; set workload.replicas = "all"`,
					jobs[i].Name, jobs[all].Name)
				return
			}
			jobs[i].Scenario.Workload.ReplicaMode = "all"
		}
		return
	}

	// One replica represents all replicas of its job. Jobs that share pods or circuits must
	// have the same number of replicas, so that each replica shares with the same others.
	for i := range jobs {
		for k := range i {
			replicas, other := jobs[i].Scenario.Workload.Replicas(), jobs[k].Scenario.Workload.Replicas()
			isShared := func(pod int) bool { return slices.Contains(jobs[k].Pods, pod) }
			sharePods := slices.ContainsFunc(jobs[i].Pods, isShared)
			if replicas != other && (sharePods || c.s.sharesCircuits()) {
				c.rejectf(fmt.Sprintf("job.%d", i),
					`has %s, and job %q, with which it shares pods, %d: one cannot stand for all; give them as many, or set workload.replicas = "all"`,
					assembly.Plural(replicas, "replica"), jobs[k].Name, other)
				return
			}
		}
	}
}

// checkJobPorts checks that every pod has a port per pod with which one of its jobs
// exchanges data.
func checkJobPorts(c *checker) {
	if !c.OK("fabric.ports_per_pod", "fabric.pods") {
		return
	}

	ports := c.s.circuitsView().PodPorts()

	// need counts the required ports, indexed by pod of all rows.
	need := make([]int, len(ports))
	for i := range c.s.Jobs {
		job := &c.s.Jobs[i]
		for r := range job.Scenario.circuitsView().Rows() {
			podNeed := func(block int) *int {
				return &need[r*c.s.circuitsView().PodsInRow()+job.Pods[block]]
			}

			// A pod has circuits to its peers in other replicas, and to its neighbours in
			// the pipeline.
			for b := range job.Pods {
				*podNeed(b) += job.Scenario.Workload.PeerNeighbours()
			}
			for _, pair := range job.Scenario.circuitsView().Neighbours() {
				*podNeed(pair[0])++
				*podNeed(pair[1])++
			}
		}
	}

	for pod, n := range need {
		if n > ports[pod] {
			c.conflictf("fabric.ports_per_pod job",
				"U_p = %d is too small to connect: the jobs in pod %d need %d circuits; give at least %d ports",
				ports[pod], pod, n, n)
			return
		}
	}
}
