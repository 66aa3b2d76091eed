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

// choices are the lists of names that keys choose from: those of each kind that Policies tells, and a few more.
func choices() map[string]schema.Choices {
	known.choicesOnce.Do(func() { known.choices = listChoices() })
	return known.choices
}

// namesOf returns the names of a kind of Policies, which the caller must not change.
func namesOf(kind string) []string { return choices()[kind].Names() }

func listChoices() map[string]schema.Choices {
	of := map[string][]string{
		"objectives": topology.Objectives(), "draws": routing.Draws, "permutations": collective.Permutations, "generators": graph.GeneratorNames(),
		"tier-kinds": slices.Sorted(slices.Values(kindsWhere("fabric", func(k *kind) bool { return k.inner || k.outer }))), "tier-collectives": tierCollectives(),
		"partial-collectives": partialCollectives(), "milp-solvers": slices.Concat([]string{topology.AnySolver}, milp.Solvers(), []string{topology.NoSolver}), "donors": donors(), "topologies": topologies(), "joblogs": logFormats(), "formats": trace.FormatNames(),
	}
	for _, p := range Policies() {
		of[p.Kind] = append(of[p.Kind], p.Name)
	}
	all := map[string]schema.Choices{}
	for kind, names := range of {
		all[kind] = schema.Choices{Names: func() []string { return names }}
	}
	var dims []string
	for _, dim := range training.Dims {
		dims = append(dims, dim.String())
	}
	all["algorithms"] = schema.Choices{Names: all["collectives"].Names, Parts: dims}
	all["donors"] = schema.Choices{Names: all["donors"].Names, Reason: func(name string) string {
		if slices.Contains(of["allocators"], name) {
			return schema.Quote(name) + " saves no ports that it could leave to another job"
		}
		return ""
	}}
	return all
}

// partialCollectives are the algorithms that may expand a part of a hierarchical one.
func partialCollectives() (names []string) {
	for _, r := range algorithm.Table {
		if !r.IsComposite {
			names = append(names, r.Name)
		}
	}
	return names
}

// names resolves what tags of keys name: of a scenario of several jobs some conditions ask other keys.
func (s *Scenario) names(several bool) *schema.Names {
	type condition = func(*schema.Schema, []string) *schema.Condition
	when := func(by func() string, want string, ok func() bool, keys ...string) condition {
		return func(*schema.Schema, []string) *schema.Condition {
			return &schema.Condition{Keys: keys, Holds: ok, NotUsedBy: by, Hint: want}
		}
	}
	w := &s.Workload
	words := func(by string) func() string { return func() string { return by } }
	workload := func() string { return "workload " + schema.Quote(w.Kind) }
	source := func() string { return "source " + schema.Quote(w.Source) }
	placedBy := func() string {
		if s.trains() {
			return "fabric " + schema.Quote(s.Fabric.Kind)
		}
		return workload()
	}
	const single, jobs, kindAt = "a single job", "describe several jobs in [[job]]", "workload.kind"
	oneJob := func(*schema.Schema, []string) *schema.Condition { return s.oneJob("") }
	ofTraffic := when(workload, `set workload.kind = "all-to-all" or "matrix"`, s.podTraffic, kindAt)
	if several {
		ofTraffic = oneJob
	}
	conditions := map[string]condition{
		"experts": when(words("a dense model"), "choose a model with experts", func() bool { return w.Arch.Experts > 0 },
			"workload.model", "workload.architecture.experts"),
		"dense": when(words("a model with experts"), "leave it out, or choose a dense model", func() bool { return w.Arch.Experts == 0 },
			"workload.architecture.experts"),
		"called": when(workload, "choose a collective call, such as "+`"all-reduce"`, s.calls, kindAt, "policy.collective", "policy.collectives"),
		"expanded": when(func() string {
			if s.trains() {
				return "collectives " + schema.Quote(w.Collectives)
			}
			return workload()
		}, `choose a collective call, such as `+`"all-reduce"`+`, or of training set workload.collectives = "graph"`,
			func() bool { return s.calls() || s.stepCalls() }, kindAt, "workload.collectives", "policy.collectives"),
		"calls-in-graph": when(func() string {
			if s.trains() {
				return "collectives " + schema.Quote(w.Collectives)
			}
			return workload()
		}, `set workload.collectives = "graph"`, func() bool { return s.stepCalls() || s.staged() }, kindAt, "workload.collectives"),
		"expert-calls": when(func() string { return "collectives " + schema.Quote(w.Collectives) }, `set workload.collectives = "graph", or choose a fabric of tiers`,
			func() bool { return s.stepCalls() || len(s.Tiers) > 0 }, "workload.collectives", "fabric.kind"),
		"by-rank":      when(workload, "leave it out", func() bool { return !s.staged() }, kindAt, "fabric.kind"),
		"undivided":    when(words("a fabric that divides its endpoints"), "choose another fabric", func() bool { return !s.leaves().domains }, "fabric.kind"),
		"no-tiers":     when(words("pods with tiers inside"), "give the inner tiers their rates", func() bool { return len(s.Tiers) == 0 }, "fabric.kind"),
		"of-training":  when(workload, `set workload.kind = "training"`, func() bool { return !s.podTraffic() }, kindAt),
		"of-traffic":   ofTraffic,
		"shared-pods":  when(words(single), jobs, func() bool { return s.severalJobs() || s.podTraffic() }, kindAt),
		"several-jobs": when(words(single), jobs, s.severalJobs),
		"one-job":      oneJob,
		"shared-circuits": when(words("jobs with circuits of their own"), `set policy.circuits = "shared", of several jobs`, s.sharedCircuits,
			"policy.circuits"),
		"donor": when(words("a scenario without a donor"), "name an allocator as policy.donor", s.Policy.HasDonor, "policy.donor"),
		"placed": when(placedBy, `set workload.kind = "training" on fabric "ocs-pods", "torus", "graph" or "electrical"`,
			func() bool { return s.places() && s.offered() != 0 }, kindAt, "fabric.kind"),
		"in-pods":  when(placedBy, `set fabric.kind = "ocs-pods"`, func() bool { return !s.routes() }, "fabric.kind"),
		"on-links": when(placedBy, `set fabric.kind = "torus", "graph" or "electrical"`, s.routes, "fabric.kind"),
		"unplanned": when(words(`fabric "scaleup" without a topology that it keeps`), "give fabric.topology, or choose another fabric",
			func() bool { return s.offered() != onPlans }, "fabric.kind", "fabric.topology"),
		"reduced": when(func() string { return "fabric " + schema.Quote(s.Fabric.Kind) }, `set fabric.kind = "ocs-pods" or "scaleup"`,
			func() bool { return s.offered() == onCircuits || s.offered() == onPlans }, "fabric.kind", "fabric.topology"),
		"replayed": when(words("the scenario"), "write the table: without it there are no trials", func() bool { return s.Replay.Seeds > 0 },
			"replay.seeds"),
		"cubic": when(words("a torus that is not made of cubes"), "give three sizes that are multiples of 4, and none of them open", s.Fabric.Cubic,
			"fabric.dims", "fabric.twist", "fabric.shift", "fabric.open"),
		"faults-logged": when(words("faults without a log"), "name a workload.faults.log.file", func() bool { return w.FaultLog.File != "" },
			"workload.faults.log.file"),
		"steps-named": when(words("a fleet without steps"), "name workload.steps.scenarios", func() bool { return len(w.Steps.Scenarios) > 0 },
			"workload.steps.scenarios"),
		"faults-drawn": when(words("faults of a log"), "leave workload.faults.log.file out", func() bool { return w.FaultLog.File == "" },
			"workload.faults.log.file"),
		"fails-later": when(words("faults from the start"), `set fabric.fail_at, such as "1ms"`, func() bool { return s.Fabric.FailAt > 0 },
			"fabric.fail_at"),
		"waiting": when(workload, "choose collective calls, training or a trace, whose messages wait for each other",
			func() bool { return s.calls() || s.trains() || s.stepCalls() }, kindAt, "policy.collective", "policy.collectives"),
		"not-called": when(words("a collective call, of whose packets all counts"), "leave policy.collective and policy.collectives out", func() bool { return !s.calls() },
			kindAt, "policy.collective", "policy.collectives"),
		"not-phased": when(workload, "set workload.phase, how long each turn lasts, instead", func() bool { return !s.traffic().Turns }, kindAt),
		"sizeable": func(*schema.Schema, []string) *schema.Condition {
			listed := when(workload, "choose another workload, whose messages have one size",
				func() bool { return !s.traffic().Listed }, kindAt)
			timed := when(source, "choose another source", func() bool {
				return s.links().Timed() || !s.traffic().Turns && w.Source == "on-off"
			}, "workload.source", kindAt)
			return schema.AllOf(listed(nil, nil), timed(nil, nil))
		},
		"source": func(_ *schema.Schema, names []string) *schema.Condition {
			by := func() string {
				if s.calls() {
					return workload()
				}
				return source()
			}
			return when(by, "set workload.source = "+schema.QuotedList(names), func() bool {
				return !s.calls() && slices.Contains(names, w.Source)
			}, "workload.source", kindAt)(nil, nil)
		},
		"switches": func(tables *schema.Schema, _ []string) *schema.Condition {
			c := s.reading(tables, several, "switching")
			reads := c.Holds
			c.Keys = append(slices.Clone(c.Keys), "replay.react")
			c.Holds = func() bool { return reads() || s.Replay.React == "redecide" }
			return c
		},
		"workload": func(_ *schema.Schema, groups []string) *schema.Condition {
			uses := func(k *kind) bool { return slices.Contains(k.groups, groups[0]) }
			return when(workload, "set workload.kind = "+schema.QuotedList(kindsWhere("workload", uses)), func() bool {
				k := s.workload()
				return k != nil && uses(k)
			}, kindAt)(nil, nil)
		},
		"read": func(tables *schema.Schema, args []string) *schema.Condition {
			return s.reading(tables, several, args[0], args[1:]...)
		},
	}
	return &schema.Names{Choices: choices(), Conditions: conditions}
}

// reading is the condition that a policy is chosen which reads an option of [policy], or of several jobs that what
// decides for single ones does. It suggests a policy: one that is named, or that of the option's name, or the first that
// reads it.
func (s *Scenario) reading(tables *schema.Schema, several bool, option string, named ...string) *schema.Condition {
	r := readers()[option]
	d, single := r.decision, r.single
	suggest := slices.Concat(named, []string{r.first})[0]
	switch {
	case several && d.policies == "mappings": // of all jobs
	case several && !single:
		return s.oneJob("")
	case several:
		return &schema.Condition{
			Keys: []string{"policy.allocator"}, Hint: "set policy.allocator = " + schema.Quote(suggest),
			Holds:     func() bool { _, reads := r.when[s.Policy.Allocator]; return reads },
			NotUsedBy: func() string { return "allocator " + schema.Quote(s.Policy.Allocator) },
		}
	}
	c := &schema.Condition{
		Keys: []string{"policy." + d.policies}, NotUsedBy: func() string { return "the " + d.policies + " that are listed" },
		Hint: "add " + schema.Quote(suggest) + " to policy." + d.policies,
		Holds: func() bool {
			chosen := slices.Clip(*d.listed(&s.Policy))
			if d.beside != nil {
				chosen = append(chosen, d.beside(&s.Policy)...)
			}
			return slices.ContainsFunc(chosen, func(name string) bool {
				when, reads := r.when[name]
				return reads && tables.ParseCondition("policy", when).Applies()
			})
		},
	}
	if d.key != "" {
		c.Keys = append(c.Keys, d.key)
	}
	for _, when := range r.conditions {
		c.Keys = slices.Concat(c.Keys, tables.ParseCondition("policy", when).Keys)
	}
	return c
}

// reading is who reads an option of [policy].
type reading struct {
	decision   *decision
	first      string            // the policy of the option's name, or else the first that reads it
	single     bool              // one of them may decide for single jobs among several
	when       map[string]string // by policy: the condition on which it does, "" of none
	conditions []string          // those that there are
}

// readers returns who reads each option, which nobody changes.
func readers() map[string]*reading {
	known.readersOnce.Do(func() { known.readers = listReaders() })
	return known.readers
}

func listReaders() map[string]*reading {
	all := map[string]*reading{}
	for i := range decisions() {
		for _, p := range decisions()[i].table {
			for _, entry := range p.reads {
				option, when, conditional := strings.Cut(entry, " if ")
				r := all[option]
				if r == nil {
					r = &reading{decision: &decisions()[i], first: p.name, when: map[string]string{}}
					all[option] = r
				}
				if r.when[p.name], r.single = when, r.single || p.single; p.name == option {
					r.first = p.name
				}
				if conditional {
					r.conditions = append(r.conditions, when)
				}
			}
		}
	}
	return all
}

// severalJobs reports whether s is of several jobs that share pods.
func (s *Scenario) severalJobs() bool { return len(s.Jobs) > 0 }

// sharedCircuits reports whether several jobs share circuits over time.
func (s *Scenario) sharedCircuits() bool { return s.severalJobs() && s.Policy.Circuits == "shared" }

// oneJob is the condition of what only a scenario of one job uses.
func (s *Scenario) oneJob(instead string) *schema.Condition {
	return &schema.Condition{
		Holds: func() bool { return !s.severalJobs() }, NotUsedBy: func() string { return "several jobs" },
		Hint: "describe one job, without [[job]]", Replacement: instead,
	}
}
