// This file converts a checked Scenario to input.Scenario, from which the packages below
// scenarios/assembly build systems.

package scenarios

import (
	"context"
	"fmt"
	"slices"

	"sim/engine"
	"sim/engine/units"
	"sim/scenarios/assembly/circuits"
	"sim/scenarios/assembly/input"
	"sim/scenarios/assembly/paths"
	"sim/scenarios/assembly/plans"
	"sim/scenarios/schema"
)

// input returns s in the form from which systems are built: its keys, and facts that follow
// from its kinds and tiers.
func (s *Scenario) input() *input.Scenario {
	w := &s.Workload
	in := &input.Scenario{
		Name:    s.Name,
		Title:   s.Title,
		Seed:    s.Seed,
		Fabric:  s.Fabric.Fabric,
		Policy:  s.Policy.Policy,
		Mapping: s.Policy.Mapping,
		Engine:  s.Engine,

		Transport: s.Transport,
		Replicas:  s.Replicas,
		Trials:    s.Trials,
		Workload:  input.Workload{Kind: w.Kind, IsTraining: s.isTraining(), WorkloadKeys: w.WorkloadKeys},
		Read:      func(file string) ([]byte, error) { return s.files.read(file, schema.MaxFileBytes) },
	}
	for i := range s.Jobs {
		job := input.Job{JobKeys: s.Jobs[i].JobKeys}
		if s.Jobs[i].Scenario != nil {
			job.Standalone = s.Jobs[i].Scenario.input()
		}
		in.Jobs = append(in.Jobs, job)
	}

	// The inner tiers are either part of the network or domains inside it.
	if s.isJoint() {
		in.Fabric.InnerTiers = s.innerLinks()
	} else if n := len(s.Tiers); n > 0 {
		// checkTiers rejects a remainder.
		if gpus := s.innerTier(n - 1).GPUs(); s.Fabric.Links.GPUs()%gpus == 0 {
			in.BlockGPUs = gpus
		}
	}

	// Collective calls are part of a step, or are the whole workload.
	if s.hasCallsInGraph() {
		in.Workload.Calls = s.expansion()
	}
	if s.isCall() {
		in.Workload.Call = s.collectiveCall()
		in.Workload.Message = units.Bytes(in.Workload.Call.Bytes)
	}

	// Pods build training steps themselves. All other work is described here.
	onPods := s.fabricDecision().policyKey == "allocators"
	if !onPods || s.isPodTraffic() {
		in.Workload.Work, in.Workload.Fold = s.rankWork(), s.Workload.Fold
		if onPods {
			s.addPodWork(&in.Workload)
		}
	}
	return in
}

// addPodWork describes work on pods other than training: the pods themselves, and the task
// graph of traffic or of a collective call.
func (s *Scenario) addPodWork(w *input.Workload) {
	if w.Pods = s.uniformPods(); w.Work != nil {
		return
	}

	if w.Call != nil {
		w.Description = w.Call.Description()
		w.Graph = func(ctx context.Context) (*engine.Graph, error) { return podCallGraph(ctx, s) }
		return
	}

	w.Graph = func(context.Context) (*engine.Graph, error) { return s.podMessageGraph(w.Pods) }
	kind := s.traffic()
	w.HasPoissonSources = kind.DrawsDestinations && s.Engine.Level == "packet"
	switch w.Description = s.Workload.Kind; {
	case w.HasPoissonSources:
		w.Description += fmt.Sprintf(" at a load of %.4g", s.Workload.Load)
	case !kind.IsListed:
		w.Description += fmt.Sprintf(" of %v", s.Workload.Message)
	}
}

// circuitsView returns the input as package circuits takes it, for circuits between pods.
func (s *Scenario) circuitsView() *circuits.Scenario { return (*circuits.Scenario)(s.input()) }

// pathsView returns the input as package paths takes it, for paths over links.
func (s *Scenario) pathsView() *paths.Scenario { return (*paths.Scenario)(s.input()) }

// plansView returns the input as package plans takes it, for plans of a scale-up domain.
func (s *Scenario) plansView() *plans.Scenario { return (*plans.Scenario)(s.input()) }

// PodsPerReplica returns the number of pods over which one replica is spread.
func (s *Scenario) PodsPerReplica() int { return s.circuitsView().PodsPerReplica() }

// MaxEvaluations returns the maximum number of decisions that a search of one policy of s
// simulates before its decision is simulated. It is 0 if no policy has such a limit.
func (s *Scenario) MaxEvaluations() (limit int64) {
	tables := s.schema()
	for _, row := range s.decision().rows {
		for _, options := range row.reads {
			key := tables.Key("policy." + options + ".max_evaluations")
			if key != nil && slices.Contains(s.PolicyNames(), row.name) {
				limit = max(limit, key.Field(onlyElement).Int())
			}
		}
	}
	return limit
}

// Cost estimates the time to simulate one policy. It is 0 if there is no estimate. Cost
// returns the context's error if ctx is cancelled.
func (s *Scenario) Cost(ctx context.Context) (Cost, error) {
	if s.isCall() {
		return s.callCost(ctx)
	}
	if estimate := s.fabricDecision().cost; estimate != nil {
		return estimate(ctx, s)
	}
	return Cost{}, nil
}
