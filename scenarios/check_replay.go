package scenarios

import (
	"slices"

	"sim/scenarios/schema"
)

// perturbationKeys are the keys of [replay] that say what differs from the plan.
var perturbationKeys = []string{"compute_jitter", "stage_jitter", "slow_replica", "lost_circuits", "sequence"}

// prepareReplay leaves the table out where the file has none.
func prepareReplay(c *checker) {
	if !c.Given("replay") {
		c.Derived["replay"] = true
	}
}

func replayPath(key string) string { return schema.JoinPath("replay", key) }

// checkReplay holds the replays against the job and its fabric.
func checkReplay(c *checker) {
	if !c.Given("replay") || !c.s.isTraining() { // checkOCSPods has said so
		return
	}
	hasPerturbation := slices.ContainsFunc(perturbationKeys, func(k string) bool { return c.Given(replayPath(k)) || !c.OK(replayPath(k)) })
	if !hasPerturbation {
		c.rejectf("replay", "perturbs nothing; give at least one of %s, or leave the table out", schema.QuotedList(perturbationKeys))
	}
	for _, k := range [][2]string{{"slow_replica_index", "slow_replica"}, {"lost_when", "lost_circuits"}, {"react", "lost_circuits"}} {
		if name, required := replayPath(k[0]), replayPath(k[1]); c.Given(name) && !c.Given(required) && c.OK(name, required) {
			c.rejectf(name, "is not used without %s; give %s too, or leave it out", k[1], k[1])
		}
	}
	t := &c.s.Workload.Spec
	if !c.OK(podShapeKeys...) || t.GPUs%(t.PP*t.StageGPUs()) != 0 {
		return
	}
	if key, n := replayPath("slow_replica_index"), t.Replicas(); c.OK(key) && c.s.Replay.SlowReplicaIndex >= n {
		c.conflictf(key, "there is no replica %d; choose one from 0 to %d, or -1 to have one drawn", c.s.Replay.SlowReplicaIndex, n-1)
	}
	if len(c.Diagnostics) == 0 {
		checkTrials(c)
	}
}

// checkTrials holds that what is replayed can be. All keys must be sound.
func checkTrials(c *checker) {
	s, r := c.s, &c.s.Replay
	replicas := s.Workload.Replicas()
	ports := replicas * s.Fabric.PortsPerPod
	for i := range s.Replicas {
		ports += s.Replicas[i].PortsPerPod - s.Fabric.PortsPerPod
	}
	ports *= s.PodsPerReplica()
	if r.LostCircuits > ports/2 {
		c.conflictf(replayPath("lost_circuits"), "%d circuits are more than the %d that %d ports can form; lose fewer", r.LostCircuits, ports/2, ports)
	}
	other := *s
	other.Workload.Sequence = r.Sequence
	if f := firstDiagnostic(c, &other, checkMicrobatchSize, checkDuration); f != nil {
		c.conflictf(replayPath("sequence"), "with %d tokens a sample, %s; %s", r.Sequence, f.Problem, f.Remedy)
	}
	other = *s
	other.Workload.ReplicaMode = "all"
	if f := firstDiagnostic(c, &other, checkTaskCount); f != nil && r.MakesReplicasDiffer() {
		c.conflictf("replay", "simulates all %d replicas, as what it perturbs makes them differ: %s; %s", replicas, f.Problem, f.Remedy)
	}
}

// firstDiagnostic returns the first fault that checks find in another scenario, nil if there is none.
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
