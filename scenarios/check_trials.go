// This file checks [trials], which simulates decided topologies again under
// perturbations: jitter of computes, slow replicas, lost circuits or another sequence
// length.
//
// The methods of checker report faults of keys as "PROBLEM; REMEDY". A check is skipped if
// a key that it needs has a fault already (c.OK).

package scenarios

import (
	"slices"

	"sim/scenarios/schema"
)

// perturbationKeys are the keys of [trials] that perturb the decided iteration. Trials need
// at least one.
var perturbationKeys = []string{
	"compute_jitter", "stage_jitter", "slow_replica", "lost_circuits", "sequence",
}

// prepareTrials leaves [trials] out if the file does not have it.
func prepareTrials(c *checker) {
	if !c.Given("trials") {
		c.Derived["trials"] = true
	}
}

// trialPath returns the path of a key of [trials].
func trialPath(key string) string { return schema.JoinPath("trials", key) }

// checkTrialKeys checks [trials] against the job and its fabric.
func checkTrialKeys(c *checker) {
	if !c.Given("trials") || !c.s.isTraining() { // checkOCSPods rejects other work
		return
	}

	// An invalid key counts as a perturbation, so that it is not reported twice.
	hasPerturbation := slices.ContainsFunc(
		perturbationKeys,
		func(k string) bool { return c.Given(trialPath(k)) || !c.OK(trialPath(k)) },
	)
	if !hasPerturbation {
		c.rejectf("trials",
			"perturbs nothing; give at least one of %s, or leave the table out",
			schema.QuotedList(perturbationKeys))
	}

	// Details of a perturbation are only used if the perturbation is given.
	for _, detail := range []struct{ name, perturbation string }{
		{"slow_replica_index", "slow_replica"},
		{"loss_time", "lost_circuits"},
		{"reaction", "lost_circuits"},
	} {
		key, required := trialPath(detail.name), trialPath(detail.perturbation)
		if c.Given(key) && !c.Given(required) && c.OK(key, required) {
			c.rejectf(key, "is not used without %s; give %s too, or leave it out",
				detail.perturbation, detail.perturbation)
		}
	}

	t := &c.s.Workload.Spec
	if !c.OK(podShapeKeys...) || t.GPUs%(t.PP*t.StageGPUs()) != 0 {
		return
	}

	// The number of replicas follows from valid shapes of stages and pods.
	indexKey, replicas := trialPath("slow_replica_index"), t.Replicas()
	c.conflictIf(c.OK(indexKey) && c.s.Trials.SlowReplicaIndex >= replicas, indexKey,
		"there is no replica %d; choose one from 0 to %d, or -1 to have one drawn",
		c.s.Trials.SlowReplicaIndex, replicas-1)
	if len(c.Diagnostics) == 0 {
		checkTrials(c)
	}
}

// checkTrials checks that the perturbed trials can be simulated: lost circuits exist, the
// perturbed sequence is valid, and all replicas fit into memory if trials make them differ.
// All keys must be valid.
func checkTrials(c *checker) {
	s, r := c.s, &c.s.Trials
	replicas := s.Workload.Replicas()

	// Count the ports of all pods. Replicas may have numbers of ports of their own. Every
	// circuit uses two ports.
	ports := replicas * s.Fabric.PortsPerPod
	for i := range s.Replicas {
		ports += s.Replicas[i].PortsPerPod - s.Fabric.PortsPerPod
	}
	ports *= s.PodsPerReplica()
	if r.LostCircuits > ports/2 {
		c.conflictf(trialPath("lost_circuits"),
			"%d circuits are more than the %d that %d ports can form; lose fewer",
			r.LostCircuits, ports/2, ports)
	}

	// The checks of the sequence length must hold for the samples of trials, too.
	other := *s
	other.Workload.Sequence = r.Sequence
	if f := firstDiagnostic(c, &other, checkMicrobatchSize, checkDuration); f != nil {
		c.conflictf(trialPath("sequence"), "with %d tokens a sample, %s; %s",
			r.Sequence, f.Problem, f.Remedy)
	}

	// Perturbations may make replicas differ, so that all of them are simulated.
	other = *s
	other.Workload.ReplicaMode = "all"
	if f := firstDiagnostic(c, &other, checkTaskCount); f != nil && r.MakesReplicasDiffer() {
		c.conflictf("trials",
			"simulates all %d replicas, because the perturbations make them differ: %s; %s",
			replicas, f.Problem, f.Remedy)
	}
}

// firstDiagnostic runs checks on another scenario and returns their first diagnostic, or nil.
// It does not change the diagnostics of c.
func firstDiagnostic(c *checker, s *Scenario, checks ...func(*checker)) *Diagnostic {
	other, reader := *c, *c.Reader
	other.s, other.Reader, reader.Diagnostics = s, &reader, nil
	for _, check := range checks {
		if check(&other); len(other.Diagnostics) > 0 {
			return &other.Diagnostics[0]
		}
	}
	return nil
}
