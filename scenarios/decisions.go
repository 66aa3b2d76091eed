package scenarios

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"sim/policies/collective"
	"sim/scenarios/assembly"
	"sim/scenarios/assembly/calls"
	"sim/scenarios/schema"
)

// decision is a kind of decision whose policies a run compares. Each fabric has one. Other decisions, such as the mapping
// of ranks, precede it: when their policies are compared, the fabric's decision has a single policy.
type decision struct {
	policyKey string // key of [policy] that lists the compared policies
	list      func(p *Policy) *[]string
	rows      []policyRow
	// extraPolicies returns further policies that make a part of the decision, from the key named key; nil if there are none.
	extraPolicies func(p *Policy) []string
	extraKey      string
	missing       string // diagnostic for fabrics without this decision, such as "no circuits to allocate"
	// restrict restricts the compared policies to one; nil sets the list to that policy.
	restrict func(p *Policy, name string)
	// hardware builds the systems; if it is empty, the fabric's hardware does.
	hardware
}

// hardware builds the systems of a kind of fabric.
type hardware struct {
	// build returns the system of a scenario. workers is the number of goroutines for preceding decisions; 0 means that
	// the scenario is one of many cells.
	build    func(ctx context.Context, s *Scenario, workers int) (assembly.System, error)
	describe func(s *Scenario) string // workload and fabric in one line
	// cost estimates the simulation of one policy, of work other than a call; nil if there is no estimate.
	cost func(ctx context.Context, s *Scenario) (Cost, error)
	// noPlanReason returns the reason why a run has no plans, or "" if it has; if it is nil, unplanned is the reason.
	noPlanReason func(s *Scenario) (string, error)
	noPlanText   string
	hasTimelines bool // runs of training have
	// callProblem is a collective call on the fabric, and limit bounds it; nil where it takes none. domains tells that the
	// fabric has endpoints in parts.
	callProblem func(s *Scenario) (*collective.Problem, error)
	callBound   func(ctx context.Context, s *Scenario) (collective.LowerBound, error)
	hasDomains  bool
}

// decisions are all that there are, which nobody changes.
func decisions() []decision {
	registry.decisionsOnce.Do(func() { registry.decisions = listDecisions() })
	return registry.decisions
}

func listDecisions() []decision {
	return []decision{
		{
			policyKey: "allocators", list: func(p *Policy) *[]string { return &p.Allocators }, rows: allocators,
			extraPolicies: func(p *Policy) []string { return []string{p.Donor} }, extraKey: "policy.donor", missing: "no circuits to allocate",
		},
		{
			policyKey: "arbiters", list: func(p *Policy) *[]string { return &p.Arbiters }, rows: arbiters, missing: "no circuits that several jobs could share",
		},
		{
			policyKey: "routers", list: func(p *Policy) *[]string { return &p.Routers }, rows: routers,
			missing: "no paths to choose",
		},
		{
			policyKey: "planners", list: func(p *Policy) *[]string { return &p.Planners }, rows: planners,
			missing: "no switches that reconfigure during a collective",
		},
		{
			policyKey: "collectives", list: func(p *Policy) *[]string { return &p.Calls.Collectives }, rows: algorithms,
			extraPolicies: func(p *Policy) []string { return calls.Algorithms(p.Calls.Collective).Names() }, extraKey: "policy.collective",
			missing:  "no collective calls to expand",
			hardware: hardware{build: buildCallSystem, describe: describeFabricSystem, noPlanText: "algorithms of collectives plan no rates"},
		},
		{
			policyKey: "mappings", list: func(p *Policy) *[]string { return &p.Mapping.Mappings }, rows: mappings,
			extraPolicies: func(p *Policy) []string { return []string{p.Mapping.Mapping} }, extraKey: "policy.mapping",
			missing:  "no ranks that could be elsewhere",
			restrict: func(p *Policy, name string) { p.Mapping = p.Mapping.Restrict(name, false) },
			hardware: hardware{build: buildMappingSystem, describe: describeFabricSystem, noPlanText: "mappings plan no rates"},
		},
		{
			policyKey: "placements", list: func(p *Policy) *[]string { return &p.Fleet.Placements }, rows: placements,
			missing: "no cubes that jobs could be placed on",
		},
	}
}

// describeFabricSystem says what is run on what once a decision is made that comes before the fabric's.
func describeFabricSystem(s *Scenario) string { return s.fabricDecision().describe(s) }

// buildMappingSystem makes the system that compares mappings, under the one policy of what is decided after them.
func buildMappingSystem(ctx context.Context, s *Scenario, workers int) (assembly.System, error) {
	next := s.decisionAfterMapping()
	return assembly.NewPrecedingDecision(ctx, s.PolicyNames()[0], (*next.list(&s.Policy))[0], func(ctx context.Context, name string) (assembly.System, error) {
		one := *s
		one.Policy.Mapping = s.Policy.Mapping.Restrict(name, true)
		return next.build(ctx, &one, workers)
	})
}

// findDecision returns the decision of which policies are named so, on hardware if it builds no systems of its own.
func findDecision(policies string, defaultHardware *hardware) decision {
	i := slices.IndexFunc(decisions(), func(d decision) bool { return d.policyKey == policies })
	d := decisions()[i]
	if d.build == nil {
		d.hardware = *defaultHardware
	}
	return d
}

// decision returns what is compared: what is left open by its fabric, of several jobs by them together, by a collective
// call, or by the ranks of a training step.
func (s *Scenario) decision() decision {
	switch {
	case s.comparesAlgorithms():
		return findDecision("collectives", nil)
	case s.canMapRanks() && s.Policy.Mapping.ComparesMappings():
		return findDecision("mappings", nil)
	}
	return s.decisionAfterMapping()
}

// canMapRanks reports whether s has ranks that may be elsewhere.
func (s *Scenario) canMapRanks() bool {
	k := s.workload()
	return s.hasSeveralJobs() || s.isTraining() || k != nil && k.hasMappings && s.usesRouters()
}

// decisionAfterMapping returns the decision that is left open once ranks are somewhere.
func (s *Scenario) decisionAfterMapping() decision {
	next := s.fabricDecision()
	if s.hasSeveralJobs() {
		return findDecision("arbiters", &next.hardware)
	}
	return next
}

// fabricDecision returns the decision that the fabric of s leaves open, without one that of pods.
func (s *Scenario) fabricDecision() decision {
	if f := fabricForm(s); f != nil {
		return findDecision(f.policyKey, f.hardware)
	}
	return findDecision("allocators", podHardware())
}

// usesRouters reports whether the policies of s are routers, plans whether they are planners.
func (s *Scenario) usesRouters() bool  { return s.fabricDecision().policyKey == "routers" }
func (s *Scenario) usesPlanners() bool { return s.fabricDecision().policyKey == "planners" }

// PolicyNames returns the policies that s compares, in the order of the result's rows.
func (s *Scenario) PolicyNames() []string { return *s.decision().list(&s.Policy) }

// WithPolicy returns s with one of its policies.
func (s *Scenario) WithPolicy(policy string) *Scenario {
	one := *s
	d := s.decision()
	if d.restrict != nil {
		d.restrict(&one.Policy, policy)
	} else {
		*d.list(&one.Policy) = []string{policy}
	}
	return &one
}

// Description says in a line what is run on what.
func (s *Scenario) Description() string {
	text := s.decision().describe(s)
	if len(s.Tiers) == 0 || s.isJoint() {
		return text
	}
	var inside []string
	for _, t := range s.callTiers() {
		if t.Plans != nil {
			inside = append(inside, fmt.Sprintf("scale-up domain of %d", t.GPUs()))
		} else {
			inside = append(inside, t.Links.Description())
		}
	}
	return text + "; calls inside " + strings.Join(inside, " inside ")
}

// NoTraceReason says why no run of s has timelines, "" where it has.
func (s *Scenario) NoTraceReason() string {
	switch {
	case s.Engine.Level == "static":
		return `engine.level = "static" has no time, and no timelines; "flow" has`
	case s.usesRouters() && (s.canMapRanks() || s.isCall() || s.hasCallsInGraph()):
		return ""
	case s.usesRouters():
		return fmt.Sprintf("workload.kind = %q sends all at once and has no timelines; training, traces and collectives have", s.Workload.Kind)
	case s.usesPlanners() && s.Engine.Level == "cost":
		return `engine.level = "cost" simulates nothing, and has no timelines; "packet" has`
	case s.usesPlanners() && s.isTraining():
		return `workload.kind = "training" on fabric.kind = "scaleup" has no timelines; its all-to-all alone has, as workload.kind = "all-to-all"`
	case s.usesPlanners():
		return ""
	case !s.decision().hasTimelines && !(s.canMapRanks() && s.fabricDecision().hasTimelines):
		return fmt.Sprintf("fabric.kind = %q has no timelines; training on fabric.kind = \"ocs-pods\", \"torus\" and \"graph\" has", s.Fabric.Kind)
	case s.isPodTraffic():
		return fmt.Sprintf("workload.kind = %q has no timelines; workload.kind = \"training\" has", s.Workload.Kind)
	}
	return ""
}

// NoWorkReason says why what s simulates is no one task graph of ranks, "" where it may be.
func (s *Scenario) NoWorkReason() string {
	switch d := s.decision(); {
	case d.policyKey == "placements":
		return "jobs of a fleet come and go, and are no task graph"
	case d.policyKey == "planners":
		return "plans move chunks in slots, and are no task graph"
	case s.hasSeveralJobs():
		return "several jobs are no one job; give one of them"
	case (d.policyKey == "collectives" || d.policyKey == "mappings") && len(s.PolicyNames()) > 1:
		return fmt.Sprintf("under each of %s it is another graph; choose one by --policy", strings.Join(s.PolicyNames(), ", "))
	}
	return ""
}

// NoRoutesReason says why no run of s has routes to write, "" where it has.
func (s *Scenario) NoRoutesReason() string {
	if s.usesRouters() {
		return ""
	}
	return fmt.Sprintf("fabric.kind = %q has no routers; fabric.kind = \"torus\" and \"graph\" have", s.Fabric.Kind)
}

// NoPlanReason says why no run of s can have a plan, "" where it can.
func (s *Scenario) NoPlanReason() (string, error) {
	if s.Engine.Level == "static" && !s.usesRouters() {
		return `engine.level = "static" has no time, and no rates; "flow" has`, nil
	}
	d := s.decision()
	if d.noPlanReason == nil {
		return d.noPlanText, nil
	}
	return d.noPlanReason(s)
}

// foreignDecision words why the policies of another decision are not used by s, "" where the key lists none.
func (s *Scenario) foreignDecision(path string) string {
	for i := range decisions() {
		if d := &decisions()[i]; path == "policy."+d.policyKey && s.decision().policyKey != d.policyKey && s.fabricDecision().policyKey != d.policyKey {
			return "is not used by fabric " + schema.Quote(s.Fabric.Kind) + ", which has " + d.missing
		}
	}
	return ""
}
