// This file describes scenarios in one line of text, for titles and labels.

package circuits

import (
	"fmt"
	"slices"
	"strings"

	"sim/engine/units"
	"sim/scenarios/assembly"
)

// Summary describes the workload and the fabric in one line.
func (s *Scenario) Summary() string {
	switch {
	case len(s.Jobs) > 0:
		return s.jobsSummary()
	case s.isTraffic():
		return s.trafficSummary()
	}
	return fmt.Sprintf("%s; %s a replica, each of %d GPUs with %s",
		s.Workload.Spec.Words(s.Title), assembly.Plural(s.PodsPerReplica(), "pod"),
		s.Fabric.GPUsPerPodPerReplica, s.portSummary())
}

// portSummary describes the number and the rate of the optical ports per pod. It lists
// the replicas that differ, or the range of their ports and rates if they are more than
// assembly.MaxNamedItems.
func (s *Scenario) portSummary() string {
	f := &s.Fabric
	text := fmt.Sprintf("%s of %v", assembly.Plural(f.PortsPerPod, "optical port"), f.PortBandwidth)
	var others []string
	ports, rates := []int{f.PortsPerPod}, []units.Rate{f.PortBandwidth}
	for i := range s.Replicas {
		r := &s.Replicas[i]
		if r.PortsPerPod == f.PortsPerPod && r.PortBandwidth == f.PortBandwidth {
			continue
		}
		other := fmt.Sprintf("replica %d with %d of %v", r.Index, r.PortsPerPod, r.PortBandwidth)
		others = append(others, other)
		ports, rates = append(ports, r.PortsPerPod), append(rates, r.PortBandwidth)
	}

	switch {
	case len(others) == 0:
		return text
	case len(others) <= assembly.MaxNamedItems:
		return text + ", but " + strings.Join(others, ", ")
	}
	return fmt.Sprintf("%s, but %d replicas with others (%d to %d ports, %v to %v)",
		text, len(others), slices.Min(ports), slices.Max(ports), slices.Min(rates), slices.Max(rates))
}

// trafficSummary describes traffic or rank work and its pods.
func (s *Scenario) trafficSummary() string {
	f := &s.Fabric
	text := s.Workload.Description
	switch w := s.Workload.Work; {
	case w != nil:
		text = w.Description(s.Title)
	case s.Title != "":
		text = s.Title + ": " + text
	}
	if f.HostGPUs > 0 {
		return text + " on a " + f.Cluster.Description()
	}
	return text + fmt.Sprintf(" on %s of %s, each with %s",
		assembly.Plural(f.Pods, "pod"), assembly.Plural(f.GPUsPerPod, "GPU"), s.portSummary())
}

// jobsSummary describes several jobs and the pods that they share.
func (s *Scenario) jobsSummary() string {
	total := 0 // GPUs
	var jobs []string
	for i := range s.Jobs {
		job := &s.Jobs[i]
		w, f := &job.Standalone.Workload, &job.Standalone.Fabric
		total += w.GPUs
		model := w.Arch.Name
		if model == "" {
			model = "a model"
		}
		jobs = append(jobs, fmt.Sprintf("%s (%s on %d GPUs: %s in %s each, %d GPUs in each)",
			job.Name, model, w.GPUs, assembly.Plural(w.Replicas(), "replica"),
			assembly.Plural(len(job.Pods), "pod"), f.GPUsPerPodPerReplica))
	}
	// The title replaces the number of jobs.
	name := assembly.Plural(len(s.Jobs), "job")
	if s.Title != "" {
		name = s.Title
	}

	// The range of ports over all pods that some job uses.
	isUnused := func(n int) bool { return n == 0 }
	used := slices.DeleteFunc(slices.Clone(s.PodPorts()), isUnused)
	maxPorts, minPorts := slices.Max(used), slices.Min(used)
	portRange := fmt.Sprint(maxPorts)
	if minPorts < maxPorts {
		portRange = fmt.Sprintf("%d to %d", minPorts, maxPorts)
	}
	return fmt.Sprintf("%s on %d GPUs: %s; %s optical ports of %v a pod for all of them",
		name, total, strings.Join(jobs, ", "), portRange, s.Fabric.PortBandwidth)
}

// trialSummary describes how trials differ from the plan.
func (s *Scenario) trialSummary() string {
	k := &s.Trials
	var parts []string
	add := func(format string, args ...any) { parts = append(parts, fmt.Sprintf(format, args...)) }
	if k.ComputeJitter > 0 {
		add("compute times varying by %.4g %%", 100*k.ComputeJitter)
	}
	if k.StageJitter > 0 {
		add("stages varying by %.4g %%", 100*k.StageJitter)
	}
	if k.SlowReplica > 1 {
		add("a replica %.4g times as slow", k.SlowReplica)
	}

	if k.LostCircuits > 0 {
		when := "from the start"
		if k.LossTime == "random" {
			when = "from a random time on"
		}
		add("%s dark %s", assembly.Plural(k.LostCircuits, "circuit"), when)
	}
	if k.Reaction == "redecide" {
		add("topologies decided anew after %v and moved within %v", k.DecisionTime, s.Fabric.Delay)
	}
	if k.Sequence != s.Workload.Sequence {
		add("%d tokens a sample", k.Sequence)
	}

	// Trials without perturbations repeat the plan.
	if len(parts) == 0 {
		add("nothing that differs from the plan")
	}
	return fmt.Sprintf("%s with %s; %s priorities",
		assembly.Plural(k.Count, "play"), strings.Join(parts, ", "), k.Priorities)
}
