// This file defines the names that tags of keys can use: lists of choices
// (choices:"@routers") and conditions (when:"several-jobs"). A key is rejected if it is
// set and its condition does not hold.

package scenarios

import (
	"slices"
	"strings"

	"sim/fabric/graph"
	algorithm "sim/policies/collective"
	"sim/policies/milp"
	"sim/policies/routing"
	"sim/policies/topology"
	"sim/scenarios/schema"
	"sim/workloads/collective"
	"sim/workloads/trace"
	"sim/workloads/training"
)

// choices returns the lists of names that keys choose from: the kinds of Policies, and
// further ones. The result is shared and must not be changed.
func choices() map[string]schema.Choices {
	registry.choicesOnce.Do(func() { registry.choices = listChoices() })
	return registry.choices
}

// choiceNames returns the names of one kind of choice. The caller must not change the
// result.
func choiceNames(kind string) []string { return choices()[kind].Names() }

// listChoices builds the lists of choices.
func listChoices() map[string]schema.Choices {
	names := map[string][]string{
		// Choices other than kinds of policies, workloads and fabrics.
		"objectives":   topology.Objectives(),
		"draws":        routing.Draws,
		"permutations": collective.Permutations,
		"generators":   graph.GeneratorNames(),
		"tier-kinds": slices.Sorted(
			slices.Values(kindsWhere("fabric", func(k *kind) bool { return k.canBeInner || k.canBeOuter })),
		),
		"tier-collectives":    tierCollectives(),
		"partial-collectives": partialCollectives(),
		"milp-solvers": slices.Concat(
			[]string{topology.AnySolver}, milp.Solvers(), []string{topology.NoSolver},
		),
		"lender-allocators": portLenders(),
		"topologies":        fixedTopologies(),
		"joblogs":           jobLogFormats(),
		"formats":           trace.FormatNames(),
	}

	// Add the names of each kind of policy.
	for _, p := range Policies() {
		names[p.Kind] = append(names[p.Kind], p.Name)
	}
	all := map[string]schema.Choices{}
	for kind, names := range names {
		all[kind] = schema.Choices{Names: func() []string { return names }}
	}

	// An algorithm of collectives can be named per dimension of parallelism: "dp=ring".
	var dims []string
	for _, dim := range training.Dims {
		dims = append(dims, dim.String())
	}
	all["algorithms"] = schema.Choices{Names: all["collectives"].Names, Parts: dims}

	// Explain why an allocator is no choice for policy.lender_allocator.
	all["lender-allocators"] = schema.Choices{Names: all["lender-allocators"].Names, Reason: func(name string) string {
		if slices.Contains(names["allocators"], name) {
			return schema.Quote(name) + " saves no ports that it could leave to another job"
		}

		return ""
	}}
	return all
}

// partialCollectives returns the algorithms that can expand a part of a hierarchical
// algorithm.
func partialCollectives() (names []string) {
	for _, r := range algorithm.Table {
		if !r.IsComposite && !r.NeedsMachine {
			names = append(names, r.Name)
		}
	}
	return names
}

// tagNames returns the names that tags of keys can use: choices, and conditions under which
// a key is used. Conditions are bound to s. In a file with [[job]] (severalJobs), some
// conditions depend on other keys.
func (s *Scenario) tagNames(severalJobs bool) *schema.Names {
	// A condition may depend on all tables, and takes the arguments in its tag, such as
	// on-off in when:"source(on-off)". when builds a condition that ignores both. by returns
	// the user in the diagnostic "is not used by USER", and want is the remedy. ok reports
	// whether the condition holds, by the values of keys.
	type condition = func(*schema.Schema, []string) *schema.Condition
	when := func(by func() string, want string, ok func() bool, keys ...string) condition {
		return func(*schema.Schema, []string) *schema.Condition {
			return &schema.Condition{Keys: keys, Holds: ok, NotUsedBy: by, Hint: want}
		}
	}

	// Descriptions of the user of a key. constant returns a function for a fixed text.
	w := &s.Workload
	constant := func(by string) func() string { return func() string { return by } }
	workload := func() string { return "workload " + schema.Quote(w.Kind) }
	source := func() string { return "source " + schema.Quote(w.Source) }
	placedBy := func() string {
		if s.isTraining() {
			return "fabric " + schema.Quote(s.Fabric.Kind)
		}
		return workload()
	}
	collectives := func() string {
		if s.isTraining() {
			return "collectives " + schema.Quote(w.Collectives)
		}
		return workload()
	}

	const single, jobs, kindAt = "a single job", "describe several jobs in [[job]]", "workload.kind"
	oneJob := func(*schema.Schema, []string) *schema.Condition { return s.oneJobCondition(noRemedy) }
	ofTraffic := when(workload, `set workload.kind = "all-to-all" or "matrix"`, s.isPodTraffic, kindAt)
	if severalJobs {
		ofTraffic = oneJob
	}

	// Each comment states when a key with the condition is used.
	conditions := map[string]condition{
		// The model is a mixture of experts.
		"experts": when(
			constant("a dense model"), "choose a model with experts",
			func() bool { return w.Arch.Experts > 0 },
			"workload.model", "workload.architecture.experts",
		),

		// The model has no experts.
		"dense": when(
			constant("a model with experts"), "leave it out, or choose a dense model",
			func() bool { return w.Arch.Experts == 0 },
			"workload.architecture.experts",
		),

		// The workload is a collective call.
		"called": when(
			workload,
			`choose a collective call, such as "all-reduce"`,
			s.isCall,
			kindAt, "policy.collective", "policy.collectives",
		),

		// An algorithm expands collective calls into transfers.
		"expanded": when(
			collectives,
			`choose a collective call, such as "all-reduce", or of training set workload.collectives = "graph"`,
			func() bool { return s.isCall() || s.hasCallsInGraph() },
			kindAt, "workload.collectives", "policy.collectives",
		),

		// Collective calls of a step or of a recorded stage take time inside pods.
		"calls-in-graph": when(
			collectives,
			`set workload.collectives = "graph"`,
			func() bool { return s.hasCallsInGraph() || s.isStagedTrace() },
			kindAt, "workload.collectives",
		),

		// The all-to-alls of experts are simulated: in the task graph, or inside the pods
		// of tiers.
		"expert-calls": when(
			func() string { return "collectives " + schema.Quote(w.Collectives) },
			`set workload.collectives = "graph", or choose a fabric of tiers`,
			func() bool { return s.hasCallsInGraph() || len(s.Tiers) > 0 },
			"workload.collectives", "fabric.kind",
		),

		// Calls of a step take time of their own: in the task graph, inside the pods of tiers,
		// or on a scale-up domain.
		"timed-calls": when(
			func() string { return "collectives " + schema.Quote(w.Collectives) },
			`set workload.collectives = "graph", or choose a fabric of tiers`,
			func() bool { return s.hasCallsInGraph() || len(s.Tiers) > 0 || s.carrier() == planCarrier },
			"workload.collectives", "fabric.kind",
		),

		// The trace holds every rank, not a stage of a pipeline.
		"by-rank": when(
			workload, "leave it out", func() bool { return !s.isStagedTrace() }, kindAt, "fabric.kind",
		),

		// The fabric is not divided into domains, so keys may divide its endpoints.
		"undivided": when(
			constant("a fabric that divides its endpoints"),
			"choose another fabric",
			func() bool { return !s.fabricDecision().hasDomains },
			"fabric.kind",
		),

		// The network inside pods is described by a rate, not by tiers.
		"no-tiers": when(
			constant("pods with tiers inside"), "give the inner tiers their rates",
			func() bool { return len(s.Tiers) == 0 }, "fabric.kind",
		),

		// The workload is a training step on pods.
		"of-training": when(
			workload, `set workload.kind = "training"`, func() bool { return !s.isPodTraffic() }, kindAt,
		),

		// The workload is traffic among the GPUs of pods. A file with several jobs has no
		// traffic.
		"of-traffic": ofTraffic,

		// The number of pods does not follow from the workload.
		"shared-pods": when(
			constant(single), jobs,
			func() bool { return s.hasSeveralJobs() || s.isPodTraffic() },
			kindAt,
		),

		// There are several jobs.
		"several-jobs": when(constant(single), jobs, s.hasSeveralJobs),

		// There is a single job.
		"one-job": oneJob,

		// Several jobs share circuits over time.
		"shared-circuits": when(
			constant("jobs with circuits of their own"),
			`set policy.circuits = "shared", of several jobs`,
			s.sharesCircuits,
			"policy.circuits",
		),

		// The job lends ports to a second one.
		"port-lender": when(
			constant("a scenario without a port-lending job"), "name an allocator as policy.lender_allocator", s.Policy.HasLender,
			"policy.lender_allocator",
		),

		// Mappings can place the ranks of the workload.
		"placed": when(
			placedBy,
			`set workload.kind = "training" on fabric "ocs-pods", "torus", "graph" or "electrical"`,
			func() bool { return s.canMapRanks() && s.carrier() != 0 },
			kindAt, "fabric.kind",
		),

		// Mappings place stages of a pipeline in pods.
		"in-pods": when(
			placedBy, `set fabric.kind = "ocs-pods"`, func() bool { return !s.usesRouters() && !s.isPodTraffic() },
			"fabric.kind",
		),

		// The fabric consists of links: a torus, a graph or an electrical switch.
		"on-links": when(
			placedBy,
			`set fabric.kind = "torus", "graph" or "electrical"`,
			s.usesRouters, "fabric.kind",
		),

		// Transfers are simulated one by one, not as chunks of a plan.
		"unplanned": when(
			constant(`fabric "scaleup" without a topology that it keeps`),
			"give fabric.topology, or choose another fabric",
			func() bool { return s.carrier() != planCarrier },
			"fabric.kind", "fabric.topology",
		),

		// The fabric can simulate one replica for all, and one flow for all GPUs of a
		// stage.
		"reduced": when(
			func() string { return "fabric " + schema.Quote(s.Fabric.Kind) },
			`set fabric.kind = "ocs-pods" or "scaleup"`,
			func() bool {
				return s.carrier() == planCarrier || s.carrier() == circuitCarrier && !s.hasCluster()
			},
			"fabric.kind", "fabric.topology",
		),

		// The file has [trials].
		"replayed": when(
			constant("the scenario"),
			"write the table: without it there are no trials",
			func() bool { return s.Trials.Count > 0 },
			"trials.count",
		),

		// The fabric has nodes of GPUs, or the GPUs compute kernels. A machine describes both.
		"has-nodes": when(
			constant("a fabric without nodes"),
			`describe the hosts of the fabric (docs/cluster.md), or set workload.compute = "profile"`,
			func() bool { return s.hasCluster() || s.Workload.Compute == training.Profile || len(s.Jobs) > 0 },
			"fabric.kind", "workload.compute",
		),

		// Hosts control their packets.
		"transported": when(
			constant("hosts without a transport"), "set transport.kind", s.Transport.IsUsed, "transport.kind",
		),

		// The links of a switch share a buffer.
		"shared-buffer": when(
			constant("links with buffers of their own"), "set transport.shared_buffer",
			func() bool { return s.Transport.SharedBuffer > 0 }, "transport.shared_buffer",
		),

		// The torus is made of cubes.
		"cubic": when(
			constant("a torus that is not made of cubes"),
			"give three sizes that are multiples of 4 or of the sides of fabric.cube, none of them open, and a twist that shifts by multiples of them",
			s.Fabric.Cubic,
			"fabric.dims", "fabric.cube", "fabric.twist", "fabric.shift", "fabric.open",
		),

		// Faults of machines come from a log.
		"faults-logged": when(
			constant("faults without a log"), "name a workload.faults.log.file",
			func() bool { return w.FaultLog.File != "" },
			"workload.faults.log.file",
		),

		// Steps of the fleet's jobs are simulated.
		"steps-named": when(
			constant("a fleet without steps"), "name workload.steps.scenarios",
			func() bool { return len(w.Steps.Scenarios) > 0 },
			"workload.steps.scenarios",
		),

		// Faults of machines are drawn at random.
		"faults-drawn": when(
			constant("faults of a log"), "leave workload.faults.log.file out",
			func() bool { return w.FaultLog.File == "" },
			"workload.faults.log.file",
		),

		// Parts fail during the run.
		"fails-later": when(
			constant("faults from the start"), `set fabric.failure_time, such as "1ms"`,
			func() bool { return s.Fabric.FailAt > 0 },
			"fabric.failure_time",
		),

		// Messages depend on each other, so that the order of a node's messages matters.
		"waiting": when(
			workload,
			"choose collective calls, training or a trace, whose messages wait for each other",
			func() bool { return s.isCall() || s.isTraining() || s.hasCallsInGraph() },
			kindAt, "policy.collective", "policy.collectives",
		),

		// Transfers start or end at many different times.
		"staggered": when(
			workload,
			"choose a trace or a matrix, whose transfers end at many different times",
			func() bool { return s.isTrace() || s.traffic().IsListed },
			kindAt, "policy.collective", "policy.collectives",
		),

		// The workload is not a collective call.
		"not-called": when(
			constant("a collective call, of whose packets all counts"),
			"leave policy.collective and policy.collectives out",
			func() bool { return !s.isCall() },
			kindAt, "policy.collective", "policy.collectives",
		),

		// The source sends for a duration, not in alternating phases.
		"not-phased": when(
			workload,
			"set workload.phase, how long each turn lasts, instead",
			func() bool { return !s.traffic().Alternates }, kindAt,
		),

		// All messages have one size, which the key sets.
		"sizeable": func(*schema.Schema, []string) *schema.Condition {
			listed := when(workload, "choose another workload, whose messages have one size",
				func() bool { return !s.traffic().IsListed }, kindAt)
			timed := when(source, "choose another source", func() bool {
				return s.pathsView().HasMessageSizes() || !s.traffic().Alternates && w.Source == "on-off"
			}, "workload.source", kindAt)
			return schema.AllOf(listed(nil, nil), timed(nil, nil))
		},

		// The process that injects packets is one of the arguments.
		"source": func(_ *schema.Schema, names []string) *schema.Condition {
			by := func() string {
				if s.isCall() {
					return workload()
				}
				return source()
			}
			return when(by, "set workload.source = "+schema.QuotedList(names), func() bool {
				return !s.isCall() && slices.Contains(names, w.Source)
			}, "workload.source", kindAt)(nil, nil)
		},

		// Circuits move: an allocator moves them, or they are decided again after a loss.
		"switches": func(tables *schema.Schema, _ []string) *schema.Condition {
			c := s.readerCondition(tables, severalJobs, "switching")
			reads := c.Holds
			c.Keys = append(slices.Clone(c.Keys), "trials.reaction")
			c.Holds = func() bool { return reads() || s.Trials.Reaction == "redecide" }
			return c
		},

		// The kind of workload uses the group of keys that the argument names.
		"workload": func(_ *schema.Schema, groups []string) *schema.Condition {
			uses := func(k *kind) bool { return slices.Contains(k.keyGroups, groups[0]) }
			return when(
				workload,
				"set workload.kind = "+schema.QuotedList(kindsWhere("workload", uses)),
				func() bool {
					k := s.workload()
					return k != nil && uses(k)
				},
				kindAt,
			)(nil, nil)
		},

		// A chosen policy reads the option that the first argument names. Further arguments
		// are policies to suggest.
		"read": func(tables *schema.Schema, args []string) *schema.Condition {
			return s.readerCondition(tables, severalJobs, args[0], args[1:]...)
		},
	}
	return &schema.Names{Choices: choices(), Conditions: conditions}
}

// readerCondition is the condition that a chosen policy reads an option of [policy]. In a
// file with several jobs it refers to the allocator for single jobs.
//
// The remedy suggests a policy: the first of suggestions, or else the policy with the name
// of the option, or else the first policy that reads it.
func (s *Scenario) readerCondition(
	tables *schema.Schema, severalJobs bool, option string, suggestions ...string,
) *schema.Condition {
	// The first suggestion becomes the remedy.
	r := optionReaderTable()[option]
	d, single := r.decision, r.allowsSingleJob
	suggest := slices.Concat(suggestions, []string{r.suggestion})[0]
	switch {
	case severalJobs && d.policyKey == "mappings": // mappings place all jobs
	case severalJobs && !single:
		return s.oneJobCondition(noRemedy)
	case severalJobs:
		return &schema.Condition{
			Keys: []string{"policy.allocator"}, Hint: "set policy.allocator = " + schema.Quote(suggest),
			Holds:     func() bool { _, reads := r.conditionByPolicy[s.Policy.Allocator]; return reads },
			NotUsedBy: func() string { return "allocator " + schema.Quote(s.Policy.Allocator) },
		}
	}

	c := &schema.Condition{
		Keys:      []string{"policy." + d.policyKey},
		NotUsedBy: func() string { return "the " + d.policyKey + " that are listed" },
		Hint:      "add " + schema.Quote(suggest) + " to policy." + d.policyKey,
		Holds: func() bool {
			// The policies that decide: the compared ones, and the policies of the extra
			// key.
			chosen := slices.Clip(*d.list(&s.Policy))
			if d.extraPolicies != nil {
				chosen = append(chosen, d.extraPolicies(&s.Policy)...)
			}
			return slices.ContainsFunc(chosen, func(name string) bool {
				when, reads := r.conditionByPolicy[name]
				return reads && tables.ParseCondition("policy", when).Applies()
			})
		},
	}
	if d.extraKey != "" {
		c.Keys = append(c.Keys, d.extraKey)
	}
	for _, when := range r.conditions {
		c.Keys = slices.Concat(c.Keys, tables.ParseCondition("policy", when).Keys)
	}
	return c
}

// optionReaders lists the policies that read an option of [policy].
type optionReaders struct {
	decision *decision
	// suggestion is the policy with the option's name, or else the first policy that reads
	// it.
	suggestion string
	// allowsSingleJob means that one of the policies can decide for a single job among
	// several.
	allowsSingleJob bool
	// conditionByPolicy holds the condition under which each policy reads the option, or ""
	// if it always does.
	conditionByPolicy map[string]string
	conditions        []string // all conditions in conditionByPolicy other than ""
}

// optionReaderTable returns the readers of each option. The result is shared and must not
// be changed.
func optionReaderTable() map[string]*optionReaders {
	registry.readersOnce.Do(func() { registry.readers = listOptionReaders() })
	return registry.readers
}

// listOptionReaders builds the table from the column reads of all policies, whose entries
// are "OPTION" or "OPTION if CONDITION".
func listOptionReaders() map[string]*optionReaders {
	all := map[string]*optionReaders{}
	for i := range decisions() {
		for _, p := range decisions()[i].rows {
			for _, entry := range p.reads {
				option, when, conditional := strings.Cut(entry, " if ")
				r := all[option]
				if r == nil {
					r = &optionReaders{
						decision:          &decisions()[i],
						suggestion:        p.name,
						conditionByPolicy: map[string]string{},
					}
					all[option] = r
				}
				r.conditionByPolicy[p.name] = when
				r.allowsSingleJob = r.allowsSingleJob || p.forSingleJob
				if p.name == option {
					r.suggestion = p.name
				}
				if conditional {
					r.conditions = append(r.conditions, when)
				}
			}
		}
	}
	return all
}

// hasSeveralJobs reports whether several jobs share pods.
func (s *Scenario) hasSeveralJobs() bool { return len(s.Jobs) > 0 }

// sharesCircuits reports whether several jobs share circuits over time.
func (s *Scenario) sharesCircuits() bool { return s.hasSeveralJobs() && s.Policy.Circuits == "shared" }

// noRemedy is the argument of oneJobCondition for keys without a counterpart for several jobs.
const noRemedy = ""

// oneJobCondition is the condition of keys that only a scenario of one job uses. instead is
// the remedy for several jobs; it may be noRemedy.
func (s *Scenario) oneJobCondition(instead string) *schema.Condition {
	return &schema.Condition{
		Holds:       func() bool { return !s.hasSeveralJobs() },
		NotUsedBy:   func() string { return "several jobs" },
		Hint:        "describe one job, without [[job]]",
		Replacement: instead,
	}
}
