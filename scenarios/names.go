package scenarios

import (
	"maps"
	"slices"
	"strings"

	"sim/fabric/graph"
	"sim/policies/milp"
	"sim/policies/routing"
	"sim/policies/topology"
	"sim/scenarios/assembly/paths"
	"sim/scenarios/schema"
	"sim/workloads/collective"
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
		"milp-solvers": slices.Concat([]string{"auto"}, milp.Solvers(), []string{topology.NoSolver}), "donors": donors(),
	}
	for _, p := range Policies() {
		of[p.Kind] = append(of[p.Kind], p.Name)
	}
	all := map[string]schema.Choices{}
	for kind, names := range of {
		all[kind] = schema.Choices{Names: func() []string { return names }}
	}
	all["donors"] = schema.Choices{Names: all["donors"].Names, Refuse: func(name string) string {
		if slices.Contains(of["allocators"], name) {
			return schema.Quote(name) + " saves no ports that it could leave to another job"
		}
		return ""
	}}
	return all
}

// names resolves what tags of keys name: of a scenario of several jobs some conditions ask other keys.
func (s *Scenario) names(several bool) *schema.Names {
	when := func(by, want string, ok func() bool, keys ...string) func(*schema.Schema, []string) *schema.Condition {
		return func(*schema.Schema, []string) *schema.Condition {
			return &schema.Condition{Keys: keys, OK: ok, By: func() string { return by }, Want: want}
		}
	}
	w := &s.Workload
	rings := func() bool { return slices.Contains(paths.RingKinds, w.Kind) }
	conditions := map[string]func(*schema.Schema, []string) *schema.Condition{
		"experts": when("a dense model", "choose a model with experts", func() bool { return w.Arch.Experts > 0 },
			"workload.model", "workload.architecture.experts"),
		"of-training": func(*schema.Schema, []string) *schema.Condition {
			return &schema.Condition{
				Keys: []string{"workload.kind"}, Want: `set workload.kind = "training"`,
				OK: func() bool { return !s.podTraffic() }, By: func() string { return "workload " + schema.Quote(w.Kind) },
			}
		},
		"of-traffic": func(*schema.Schema, []string) *schema.Condition {
			if several {
				return s.oneJob("")
			}
			return &schema.Condition{
				Keys: []string{"workload.kind"}, Want: "set workload.kind = " + schema.QuotedList(podTrafficNames),
				OK: s.podTraffic, By: func() string { return "workload " + schema.Quote(w.Kind) },
			}
		},
		"shared-pods": when("a single job", "describe several jobs in [[job]]", func() bool { return s.severalJobs() || s.podTraffic() },
			"workload.kind"),
		"several-jobs": when("a single job", "describe several jobs in [[job]]", s.severalJobs),
		"one-job":      func(*schema.Schema, []string) *schema.Condition { return s.oneJob("") },
		"shared-circuits": when("jobs with circuits of their own", `set policy.circuits = "shared", of several jobs`, s.sharedCircuits,
			"policy.circuits"),
		"donor": when("a scenario without a donor", "name an allocator as policy.donor", s.Policy.HasDonor, "policy.donor"),
		"replayed": when("the scenario", "write the table: without it there are no trials", func() bool { return s.Replay.Seeds > 0 },
			"replay.seeds"),
		"cubic": when("a torus that is not made of cubes", "give three sizes that are multiples of 4, and none of them open", s.Fabric.Cubic,
			"fabric.dims", "fabric.twist", "fabric.shift", "fabric.open"),
		"fails-later": when("faults from the start", `set fabric.fail_at, such as "1ms"`, func() bool { return s.Fabric.FailAt > 0 }, "fabric.fail_at"),
		"not-rings": func(*schema.Schema, []string) *schema.Condition {
			return &schema.Condition{
				Keys: []string{"workload.kind"}, Want: "choose a workload that is no ring collective",
				OK: func() bool { return !rings() }, By: func() string { return "workload " + schema.Quote(w.Kind) },
			}
		},
		"sizeable": func(*schema.Schema, []string) *schema.Condition {
			listed := when("workload "+schema.Quote(paths.MatrixTraffic), "choose another workload, whose messages have one size",
				func() bool { return w.Kind != paths.MatrixTraffic }, "workload.kind")(nil, nil)
			return schema.All(listed, &schema.Condition{
				Keys: []string{"workload.source", "workload.kind"}, Want: "choose another source",
				OK: func() bool { return s.links().Timed() || w.Kind != paths.DataTensor && w.Source == "on-off" },
				By: func() string { return "source " + schema.Quote(w.Source) },
			})
		},
		"source": func(_ *schema.Schema, names []string) *schema.Condition {
			return &schema.Condition{
				Keys: []string{"workload.source", "workload.kind"}, Want: "set workload.source = " + schema.QuotedList(names),
				OK: func() bool { return !rings() && slices.Contains(names, w.Source) },
				By: func() string {
					if rings() {
						return "workload " + schema.Quote(w.Kind)
					}
					return "source " + schema.Quote(w.Source)
				},
			}
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
	var d *decision
	readers := map[string]*schema.Condition{}
	first, single := "", false
	for i := range decisions {
		for _, p := range decisions[i].table {
			for _, entry := range p.reads {
				name, when, _ := strings.Cut(entry, " if ")
				if name != option {
					continue
				}
				if d = &decisions[i]; len(readers) == 0 || p.name == option {
					first = p.name
				}
				readers[p.name], single = tables.Condition("policy", when), single || p.single
			}
		}
	}
	suggest := slices.Concat(named, []string{first})[0]
	switch {
	case several && !single:
		return s.oneJob("")
	case several:
		return &schema.Condition{
			Keys: []string{"policy.allocator"}, Want: "set policy.allocator = " + schema.Quote(suggest),
			OK: func() bool { _, reads := readers[s.Policy.Allocator]; return reads },
			By: func() string { return "allocator " + schema.Quote(s.Policy.Allocator) },
		}
	}
	c := &schema.Condition{
		Keys: d.keys, By: func() string { return "the " + d.policies + " that are listed" },
		Want: "add " + schema.Quote(suggest) + " to policy." + d.policies,
		OK: func() bool {
			return slices.ContainsFunc(d.chosen(&s.Policy), func(name string) bool {
				when, reads := readers[name]
				return reads && when.Applies()
			})
		},
	}
	for _, name := range slices.Sorted(maps.Keys(readers)) {
		if when := readers[name]; when != nil {
			c.Keys = slices.Concat(c.Keys, when.Keys)
		}
	}
	return c
}

// severalJobs reports whether s is of several jobs that share pods.
func (s *Scenario) severalJobs() bool { return len(s.Jobs) > 0 }

// sharedCircuits reports whether several jobs share circuits over time.
func (s *Scenario) sharedCircuits() bool { return s.severalJobs() && s.Policy.Circuits == "shared" }

// oneJob is the condition of what only a scenario of one job uses.
func (s *Scenario) oneJob(instead string) *schema.Condition {
	return &schema.Condition{
		OK: func() bool { return !s.severalJobs() }, By: func() string { return "several jobs" },
		Want: "describe one job, without [[job]]", Instead: instead,
	}
}
