// This file defines the kinds of decision that policies make: allocators choose circuits,
// routers choose paths, and so on. A scenario compares the policies of one decision. The
// file also holds the methods of Scenario that depend on the decision.

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

// decision is a kind of decision whose policies a run compares. Each fabric has one. Other
// decisions, such as the mapping of ranks, precede it. If their policies are compared, the
// fabric's decision has a single policy.
type decision struct {
	// policyKey is the key of [policy] that lists the compared policies. It also identifies
	// the decision.
	policyKey string
	// list returns the compared policies in p.
	list func(p *Policy) *[]string
	rows []policyRow // all policies of this kind
	// extraPolicies returns further policies that make a part of the decision, from the key
	// extraKey. It may be nil.
	extraPolicies func(p *Policy) []string
	extraKey      string
	// missing completes the diagnostic for fabrics without this decision: "which has no
	// circuits to allocate".
	missing string
	// restrict limits the compared policies to one. If it is nil, the list is set to that
	// policy.
	restrict func(p *Policy, name string)
	// hardware builds the systems. If its build is nil, the hardware of the fabric is used
	// instead.
	hardware
}

// hardware builds and describes the systems of a kind of fabric.
type hardware struct {
	// build returns the system of a scenario. workers is the number of goroutines for
	// preceding decisions; 0 means that the scenario is one of many cells.
	build    func(ctx context.Context, s *Scenario, workers int) (assembly.System, error)
	describe func(s *Scenario) string // workload and fabric in one line
	// cost estimates the simulation of one policy, for workloads other than a collective
	// call. It is nil if there is no estimate.
	cost func(ctx context.Context, s *Scenario) (Cost, error)
	// noPlanReason returns the reason why a run has no plan to print, or "" if it has one.
	// If it is nil, the reason is noPlanText.
	noPlanReason func(s *Scenario) (string, error)
	noPlanText   string
	hasTimelines bool // runs of training record timelines
	// callProblem returns the collective call of a scenario as a problem on the fabric's
	// network, and callBound its lower bound. Both are nil if the fabric runs no collective
	// calls.
	callProblem func(s *Scenario) (*collective.Problem, error)
	callBound   func(ctx context.Context, s *Scenario) (collective.LowerBound, error)
	hasDomains  bool // endpoints are divided into domains such as pods
}

// decisions returns all kinds of decisions. The result is shared and must not be changed.
func decisions() []decision {
	registry.decisionsOnce.Do(func() { registry.decisions = listDecisions() })
	return registry.decisions
}

// listDecisions builds the table of decisions.
func listDecisions() []decision {
	return []decision{
		{
			policyKey:     "allocators",
			list:          func(p *Policy) *[]string { return &p.Allocators },
			rows:          allocators,
			extraPolicies: func(p *Policy) []string { return []string{p.LenderAllocator} },
			extraKey:      "policy.lender_allocator",
			missing:       "no circuits to allocate",
		},
		{
			policyKey: "multi_job_allocators",
			list:      func(p *Policy) *[]string { return &p.MultiJobAllocators },
			rows:      multiJobAllocators,
			missing:   "no circuits that several jobs could share",
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
			policyKey:     "collectives",
			list:          func(p *Policy) *[]string { return &p.Calls.Collectives },
			rows:          algorithms,
			extraPolicies: func(p *Policy) []string { return calls.Algorithms(p.Calls.Collective).Names() },
			extraKey:      "policy.collective",
			missing:       "no collective calls to expand",
			hardware: hardware{
				build:      buildCallSystem,
				describe:   describeFabricSystem,
				noPlanText: "algorithms of collectives plan no rates",
			},
		},
		{
			policyKey:     "mappings",
			list:          func(p *Policy) *[]string { return &p.Mapping.Mappings },
			rows:          mappings,
			extraPolicies: func(p *Policy) []string { return []string{p.Mapping.Mapping} },
			extraKey:      "policy.mapping",
			missing:       "no ranks that could be elsewhere",
			restrict:      func(p *Policy, name string) { p.Mapping = p.Mapping.Restrict(name, onlyCompared) },
			hardware: hardware{
				build:      buildMappingSystem,
				describe:   describeFabricSystem,
				noPlanText: "mappings plan no rates",
			},
		},
		{
			policyKey: "placements",
			list:      func(p *Policy) *[]string { return &p.Fleet.Placements },
			rows:      placements,
			missing:   "no cubes that jobs could be placed on",
		},
	}
}

// Values of the argument fixed of mapping.Keys.Restrict.
const (
	onlyCompared = false // the mapping becomes the only compared one
	alsoFixed    = true  // it also becomes the mapping of other decisions (policy.mapping)
)

// describeFabricSystem is hardware.describe of decisions that precede the fabric's: it
// describes the system of the fabric.
func describeFabricSystem(s *Scenario) string { return s.fabricDecision().describe(s) }

// buildMappingSystem is hardware.build of the system that compares mappings. The decision
// that follows the mapping has one policy, which serves all mappings.
func buildMappingSystem(ctx context.Context, s *Scenario, workers int) (assembly.System, error) {
	next := s.decisionAfterMapping()
	buildWithMapping := func(ctx context.Context, mapping string) (assembly.System, error) {
		one := *s
		one.Policy.Mapping = s.Policy.Mapping.Restrict(mapping, alsoFixed)
		return next.build(ctx, &one, workers)
	}
	policy := (*next.list(&s.Policy))[0]
	return assembly.NewPrecedingDecision(ctx, s.PolicyNames()[0], policy, buildWithMapping)
}

// ownHardware is the argument defaultHardware of findDecision for decisions that build
// their systems themselves.
var ownHardware *hardware

// findDecision returns the decision with a policyKey. If it builds no systems, it gets
// defaultHardware.
func findDecision(policies string, defaultHardware *hardware) decision {
	i := slices.IndexFunc(decisions(), func(d decision) bool { return d.policyKey == policies })
	d := decisions()[i]
	if d.build == nil {
		d.hardware = *defaultHardware
	}
	return d
}

// decision returns the decision whose policies s compares. Algorithms of a collective call
// and mappings precede the decision of the fabric.
func (s *Scenario) decision() decision {
	switch {
	case s.comparesAlgorithms():
		return findDecision("collectives", ownHardware)
	case s.canMapRanks() && s.Policy.Mapping.ComparesMappings():
		return findDecision("mappings", ownHardware)
	}
	return s.decisionAfterMapping()
}

// canMapRanks reports whether the ranks of s can be placed by a mapping.
func (s *Scenario) canMapRanks() bool {
	k := s.workload()
	return s.hasSeveralJobs() || s.isTraining() || k != nil && k.hasMappings && (s.usesRouters() || s.hasCluster())
}

// decisionAfterMapping returns the decision that remains when the positions of all ranks
// are fixed. Several jobs compare arbiters, which divide ports among them.
func (s *Scenario) decisionAfterMapping() decision {
	next := s.fabricDecision()
	if s.hasSeveralJobs() {
		return findDecision("multi_job_allocators", &next.hardware)
	}
	return next
}

// fabricDecision returns the decision of the fabric of s. If the fabric is unknown, it
// returns the decision of pods, so that the checks find further faults.
func (s *Scenario) fabricDecision() decision {
	if f := fabricForm(s); f != nil {
		return findDecision(f.policyKey, f.hardware)
	}
	return findDecision("allocators", podHardware())
}

// usesRouters reports whether routers decide on the fabric of s.
func (s *Scenario) usesRouters() bool { return s.fabricDecision().policyKey == "routers" }

// usesPlanners reports whether planners decide on the fabric of s.
func (s *Scenario) usesPlanners() bool { return s.fabricDecision().policyKey == "planners" }

// PolicyNames returns the policies that s compares, in the order of the result's rows.
func (s *Scenario) PolicyNames() []string { return *s.decision().list(&s.Policy) }

// WithPolicy returns a copy of s that compares one policy only.
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

// Description returns workload and fabric in one line. If tiers inside the fabric carry
// collective calls, it adds them, innermost first.
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

// NoTraceReason returns the reason why no run of s records timelines, or "" if runs do.
func (s *Scenario) NoTraceReason() string {
	switch {
	case s.Engine.Level == "static":
		return `engine.level = "static" has no time, and no timelines; "flow" has`

	// Work with dependent transfers has timelines on links.
	case s.usesRouters() && (s.canMapRanks() || s.isCall() || s.hasCallsInGraph()):
		return ""
	case s.usesRouters():
		return fmt.Sprintf(
			"workload.kind = %q sends all at once and has no timelines; training, traces and collectives have",
			s.Workload.Kind,
		)
	case s.usesPlanners() && s.Engine.Level == "cost":
		return `engine.level = "cost" simulates nothing, and has no timelines; "packet" has`
	case s.usesPlanners() && s.isTraining():
		return `workload.kind = "training" on fabric.kind = "scaleup" has no timelines; its all-to-all alone has, as workload.kind = "all-to-all"`
	case s.usesPlanners():
		return ""

	case !s.decision().hasTimelines && !(s.canMapRanks() && s.fabricDecision().hasTimelines):
		return fmt.Sprintf(
			"fabric.kind = %q has no timelines; training on fabric.kind = \"ocs-pods\", \"torus\" and \"graph\" has",
			s.Fabric.Kind,
		)
	case s.isPodTraffic() && s.rankWork() == nil:
		return fmt.Sprintf(
			"workload.kind = %q has no timelines on circuits; training and traces have",
			s.Workload.Kind,
		)
	}
	return ""
}

// NoWorkReason returns the reason why the work of s is not a single task graph of ranks, or
// "" if it may be one.
func (s *Scenario) NoWorkReason() string {
	switch d := s.decision(); {
	case d.policyKey == "placements":
		return "jobs of a fleet come and go, and are no task graph"
	case d.policyKey == "planners":
		return "plans move chunks in slots, and are no task graph"
	case s.hasSeveralJobs():
		return "several jobs have no single task graph; give one of them"
	case (d.policyKey == "collectives" || d.policyKey == "mappings") && len(s.PolicyNames()) > 1:
		return fmt.Sprintf(
			"the graph differs between %s; choose one of them with --policy",
			strings.Join(s.PolicyNames(), ", "),
		)
	}
	return ""
}

// NoRoutesReason returns the reason why no run of s has routes to write, or "" if runs
// have.
func (s *Scenario) NoRoutesReason() string {
	if s.usesRouters() {
		return ""
	}
	return fmt.Sprintf(
		"fabric.kind = %q has no routers; fabric.kind = \"torus\" and \"graph\" have",
		s.Fabric.Kind,
	)
}

// NoPlanReason returns the reason why no run of s can have a plan, or "" if one can.
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

// foreignDecision explains that the list of policies at path belongs to a decision that the
// fabric of s does not have. It returns "" if path is no such list.
func (s *Scenario) foreignDecision(path string) string {
	for i := range decisions() {
		if d := &decisions()[i]; path == "policy."+d.policyKey &&
			s.decision().policyKey != d.policyKey &&
			s.fabricDecision().policyKey != d.policyKey {
			return "is not used by fabric " + schema.Quote(s.Fabric.Kind) + ", which has " + d.missing
		}
	}
	return ""
}
