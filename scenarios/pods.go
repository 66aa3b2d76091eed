package scenarios

import (
	"context"
	"fmt"

	"sim/engine"
	"sim/scenarios/assembly/circuits"
	"sim/workloads/collective"
)

// pods returns s, which is of pods, as what decides on circuits takes it.
func (s *Scenario) pods() *circuits.Scenario {
	out := &circuits.Scenario{
		Name: s.Name, Title: s.Title, Called: s.Fabric.Kind, Seed: s.Seed, Fabric: s.Fabric.OCSPods, Replicas: s.Replicas, Replay: s.Replay, Level: s.Engine.Level, MessageOverhead: s.Engine.MessageOverhead, Mapping: s.Policy.Placed,
		Workload: circuits.Workload{Spec: s.Workload.Spec, Packet: s.Workload.Packet},
		Policy:   circuits.Policy{Allocation: s.Policy.Allocation, JointOptions: s.Policy.JointOptions},
	}
	if s.stepCalls() {
		out.Workload.Calls = s.expansion()
	}
	if s.jointly() {
		out.Tiers = s.inside()
	}
	for i := range s.Jobs {
		job := circuits.Job{JobKeys: s.Jobs[i].JobKeys}
		if s.Jobs[i].Scenario != nil {
			job.Alone = s.Jobs[i].Scenario.pods()
		}
		out.Jobs = append(out.Jobs, job)
	}
	if w := s.Workload.work(); w != nil {
		out.Workload.Work, out.Workload.Pods, out.Workload.Words = w, s.uniform(), w.Words(s.Title)
		return out
	}
	if s.traces() && !s.staged() {
		out.Workload.Pods, out.Workload.Aggregate = s.uniform(), s.Workload.Trace.Calls == "neighbours"
		if out.Workload.Trace = s.Workload.Trace.Job; out.Workload.Trace != nil {
			out.Workload.Words = out.Workload.Trace.Words()
		}
		return out
	}
	if s.podTraffic() {
		u := s.uniform()
		out.Workload.Pods, out.Workload.Words = u, s.Workload.Kind
		if kind := s.traffic(); kind.Drawn && s.Engine.Level == "packet" {
			out.Workload.Poisson = (*circuits.Poisson)(&s.Workload.TrafficPoisson)
			out.Workload.Words += fmt.Sprintf(" at a load of %.4g", s.Workload.Load)
		} else if !kind.Listed {
			out.Workload.Words += fmt.Sprintf(" of %v", s.Workload.Message)
		}
		if s.calls() {
			out.Workload.Words = s.call().Words()
			out.Workload.Graph = func(ctx context.Context) (*engine.Graph, error) { return podGraph(ctx, s) }
			return out
		}
		out.Workload.Traffic = func() (*collective.Traffic, error) { return s.betweenPods(u) }
	}
	return out
}

// PodsPerReplica returns the pods over which one replica is spread.
func (s *Scenario) PodsPerReplica() int { return s.pods().PodsPerReplica() }
