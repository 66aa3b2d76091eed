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
	policies string // key of [policy] that lists the compared policies
	listed   func(p *Policy) *[]string
	table    []policyRow
	// beside returns further policies that make a part of the decision, from the key named key; nil if there are none.
	beside func(p *Policy) []string
	key    string
	lacks  string // diagnostic for fabrics without this decision, such as "no circuits to allocate"
	// only restricts the compared policies to one; nil sets the list to that policy.
	only func(p *Policy, name string)
	// hardware builds the systems; if it is empty, the fabric's hardware does.
	hardware
}

// hardware builds the systems of a kind of fabric.
type hardware struct {
	// build returns the system of a scenario. workers is the number of goroutines for preceding decisions; 0 means that
	// the scenario is one of many cells.
	build func(ctx context.Context, s *Scenario, workers int) (assembly.System, error)
	words func(s *Scenario) string // workload and fabric in one line
	// cost estimates the simulation of one policy, of work other than a call; nil if there is no estimate.
	cost func(ctx context.Context, s *Scenario) (Cost, error)
	// noPlan returns the reason why a run has no plans, or "" if it has; if it is nil, unplanned is the reason.
	noPlan    func(s *Scenario) (string, error)
	unplanned string
	timelines bool // runs of training have
	// call is a collective call on the fabric, and limit bounds it; nil where it takes none. domains tells that the
	// fabric has endpoints in parts.
	call    func(s *Scenario) (*collective.Problem, error)
	limit   func(ctx context.Context, s *Scenario) (collective.LowerBound, error)
	domains bool
}

// decisions are all that there are, which nobody changes.
func decisions() []decision {
	known.decisionsOnce.Do(func() { known.decisions = listDecisions() })
	return known.decisions
}

func listDecisions() []decision {
	return []decision{
		{
			policies: "allocators", listed: func(p *Policy) *[]string { return &p.Allocators }, table: allocators,
			beside: func(p *Policy) []string { return []string{p.Donor} }, key: "policy.donor", lacks: "no circuits to allocate",
		},
		{
			policies: "arbiters", listed: func(p *Policy) *[]string { return &p.Arbiters }, table: arbiters, lacks: "no circuits that several jobs could share",
		},
		{
			policies: "routers", listed: func(p *Policy) *[]string { return &p.Routers }, table: routers,
			lacks: "no paths to choose",
		},
		{
			policies: "planners", listed: func(p *Policy) *[]string { return &p.Planners }, table: planners,
			lacks: "no switches that reconfigure during a collective",
		},
		{
			policies: "collectives", listed: func(p *Policy) *[]string { return &p.Calls.Collectives }, table: algorithms,
			beside: func(p *Policy) []string { return calls.Algorithms(p.Calls.Collective).Names() }, key: "policy.collective",
			lacks:    "no collective calls to expand",
			hardware: hardware{build: buildCall, words: wordsOfRest, unplanned: "algorithms of collectives plan no rates"},
		},
		{
			policies: "mappings", listed: func(p *Policy) *[]string { return &p.Placed.Mappings }, table: mappings,
			beside: func(p *Policy) []string { return []string{p.Placed.Mapping} }, key: "policy.mapping",
			lacks:    "no ranks that could be elsewhere",
			only:     func(p *Policy, name string) { p.Placed = p.Placed.Restrict(name, false) },
			hardware: hardware{build: buildPlaced, words: wordsOfRest, unplanned: "mappings plan no rates"},
		},
		{
			policies: "placements", listed: func(p *Policy) *[]string { return &p.Fleet.Placements }, table: placements,
			lacks: "no cubes that jobs could be placed on",
		},
	}
}

// wordsOfRest says what is run on what once a decision is made that comes before the fabric's.
func wordsOfRest(s *Scenario) string { return s.leaves().words(s) }

// buildPlaced makes the system that compares mappings, under the one policy of what is decided after them.
func buildPlaced(ctx context.Context, s *Scenario, workers int) (assembly.System, error) {
	open := s.afterMappings()
	return assembly.Before(ctx, s.PolicyNames()[0], (*open.listed(&s.Policy))[0], func(ctx context.Context, name string) (assembly.System, error) {
		one := *s
		one.Policy.Placed = s.Policy.Placed.Restrict(name, true)
		return open.build(ctx, &one, workers)
	})
}

// decides returns the decision of which policies are named so, on hardware if it builds no systems of its own.
func decides(policies string, on *hardware) decision {
	i := slices.IndexFunc(decisions(), func(d decision) bool { return d.policies == policies })
	d := decisions()[i]
	if d.build == nil {
		d.hardware = *on
	}
	return d
}

// decision returns what is compared: what is left open by its fabric, of several jobs by them together, by a collective
// call, or by the ranks of a training step.
func (s *Scenario) decision() decision {
	switch {
	case s.comparesCalls():
		return decides("collectives", nil)
	case s.places() && s.Policy.Placed.ComparesMappings():
		return decides("mappings", nil)
	}
	return s.afterMappings()
}

// places reports whether s has ranks that may be elsewhere.
func (s *Scenario) places() bool {
	k := s.workload()
	return s.severalJobs() || s.trains() || k != nil && k.placed && s.routes()
}

// afterMappings returns the decision that is left open once ranks are somewhere.
func (s *Scenario) afterMappings() decision {
	open := s.leaves()
	if s.severalJobs() {
		return decides("arbiters", &open.hardware)
	}
	return open
}

// leaves returns the decision that the fabric of s leaves open, without one that of pods.
func (s *Scenario) leaves() decision {
	if f := fabricOf(s); f != nil {
		return decides(f.decides, f.hardware)
	}
	return decides("allocators", podHardware())
}

// routes reports whether the policies of s are routers, plans whether they are planners.
func (s *Scenario) routes() bool { return s.leaves().policies == "routers" }
func (s *Scenario) plans() bool  { return s.leaves().policies == "planners" }

// PolicyNames returns the policies that s compares, in the order of the result's rows.
func (s *Scenario) PolicyNames() []string { return *s.decision().listed(&s.Policy) }

// Only returns s with one of its policies.
func (s *Scenario) Only(policy string) *Scenario {
	one := *s
	d := s.decision()
	if d.only != nil {
		d.only(&one.Policy, policy)
	} else {
		*d.listed(&one.Policy) = []string{policy}
	}
	return &one
}

// Words says in a line what is run on what.
func (s *Scenario) Words() string {
	text := s.decision().words(s)
	if len(s.Tiers) == 0 || s.jointly() {
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

// NoTrace says why no run of s has timelines, "" where it has.
func (s *Scenario) NoTrace() string {
	switch {
	case s.Engine.Level == "static":
		return `engine.level = "static" has no time, and no timelines; "flow" has`
	case s.routes() && (s.places() || s.calls() || s.stepCalls()):
		return ""
	case s.routes():
		return fmt.Sprintf("workload.kind = %q sends all at once and has no timelines; training, traces and collectives have", s.Workload.Kind)
	case s.plans() && s.Engine.Level == "cost":
		return `engine.level = "cost" simulates nothing, and has no timelines; "packet" has`
	case s.plans() && s.trains():
		return `workload.kind = "training" on fabric.kind = "scaleup" has no timelines; its all-to-all alone has, as workload.kind = "all-to-all"`
	case s.plans():
		return ""
	case !s.decision().timelines && !(s.places() && s.leaves().timelines):
		return fmt.Sprintf("fabric.kind = %q has no timelines; training on fabric.kind = \"ocs-pods\", \"torus\" and \"graph\" has", s.Fabric.Kind)
	case s.podTraffic():
		return fmt.Sprintf("workload.kind = %q has no timelines; workload.kind = \"training\" has", s.Workload.Kind)
	}
	return ""
}

// NoWork says why what s simulates is no one task graph of ranks, "" where it may be.
func (s *Scenario) NoWork() string {
	switch d := s.decision(); {
	case d.policies == "placements":
		return "jobs of a fleet come and go, and are no task graph"
	case d.policies == "planners":
		return "plans move chunks in slots, and are no task graph"
	case s.severalJobs():
		return "several jobs are no one job; give one of them"
	case (d.policies == "collectives" || d.policies == "mappings") && len(s.PolicyNames()) > 1:
		return fmt.Sprintf("under each of %s it is another graph; choose one by --policy", strings.Join(s.PolicyNames(), ", "))
	}
	return ""
}

// NoRoutes says why no run of s has routes to write, "" where it has.
func (s *Scenario) NoRoutes() string {
	if s.routes() {
		return ""
	}
	return fmt.Sprintf("fabric.kind = %q has no routers; fabric.kind = \"torus\" and \"graph\" have", s.Fabric.Kind)
}

// NoPlan says why no run of s can have a plan, "" where it can.
func (s *Scenario) NoPlan() (string, error) {
	if s.Engine.Level == "static" && !s.routes() {
		return `engine.level = "static" has no time, and no rates; "flow" has`, nil
	}
	d := s.decision()
	if d.noPlan == nil {
		return d.unplanned, nil
	}
	return d.noPlan(s)
}

// undecided words why the policies of another decision are not used by s, "" where the key lists none.
func (s *Scenario) undecided(at string) string {
	for i := range decisions() {
		if d := &decisions()[i]; at == "policy."+d.policies && s.decision().policies != d.policies && s.leaves().policies != d.policies {
			return "is not used by fabric " + schema.Quote(s.Fabric.Kind) + ", which has " + d.lacks
		}
	}
	return ""
}
