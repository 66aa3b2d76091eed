package scenarios

import (
	"slices"

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
	when := func(by, want string, ok func() bool, keys ...string) func([]string) *schema.Condition {
		return func([]string) *schema.Condition {
			return &schema.Condition{Keys: keys, OK: ok, By: func() string { return by }, Want: want}
		}
	}
	w := &s.Workload
	rings := func() bool { return slices.Contains(paths.RingKinds, w.Kind) }
	conditions := map[string]func([]string) *schema.Condition{
		"experts": when("a dense model", "choose a model with experts", func() bool { return w.Arch.Experts > 0 },
			"workload.model", "workload.architecture.experts"),
		"of-training": func([]string) *schema.Condition {
			return &schema.Condition{
				Keys: []string{"workload.kind"}, Want: `set workload.kind = "training"`,
				OK: func() bool { return !s.podTraffic() }, By: func() string { return "workload " + schema.Quote(w.Kind) },
			}
		},
		"of-traffic": func([]string) *schema.Condition {
			return &schema.Condition{
				Keys: []string{"workload.kind"}, Want: "set workload.kind = " + schema.QuotedList(podTrafficNames),
				OK: s.podTraffic, By: func() string { return "workload " + schema.Quote(w.Kind) },
			}
		},
		"shared-pods": when("a single job", "describe several jobs in [[job]]", func() bool { return s.severalJobs() || s.podTraffic() },
			"workload.kind"),
		"several-jobs": when("a single job", "describe several jobs in [[job]]", s.severalJobs),
		"one-job":      func([]string) *schema.Condition { return s.oneJob("") },
		"shared-circuits": when("jobs with circuits of their own", `set policy.circuits = "shared", of several jobs`, s.sharedCircuits,
			"policy.circuits"),
		"donor": when("a scenario without a donor", "name an allocator as policy.donor", s.Policy.HasDonor, "policy.donor"),
		"replayed": when("the scenario", "write the table: without it there are no trials", func() bool { return s.Replay.Seeds > 0 },
			"replay.seeds"),
		"cubic": when("a torus that is not made of cubes", "give three sizes that are multiples of 4, and none of them open", s.Fabric.Cubic,
			"fabric.dims", "fabric.twist", "fabric.shift", "fabric.open"),
		"fails-later": when("faults from the start", `set fabric.fail_at, such as "1ms"`, func() bool { return s.Fabric.FailAt > 0 }, "fabric.fail_at"),
		"not-rings": func([]string) *schema.Condition {
			return &schema.Condition{
				Keys: []string{"workload.kind"}, Want: "choose a workload that is no ring collective",
				OK: func() bool { return !rings() }, By: func() string { return "workload " + schema.Quote(w.Kind) },
			}
		},
		"sizeable": func([]string) *schema.Condition {
			listed := when("workload "+schema.Quote(paths.MatrixTraffic), "choose another workload, whose messages have one size",
				func() bool { return w.Kind != paths.MatrixTraffic }, "workload.kind")(nil)
			return schema.All(listed, &schema.Condition{
				Keys: []string{"workload.source", "workload.kind"}, Want: "choose another source",
				OK: func() bool { return s.links().Timed() || w.Kind != paths.DataTensor && w.Source == "on-off" },
				By: func() string { return "source " + schema.Quote(w.Source) },
			})
		},
		"source": func(names []string) *schema.Condition {
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
		"wild": func(names []string) *schema.Condition {
			p := &s.Policy
			return when("the routers that are listed", "add "+schema.Quote(names[0])+" to policy.routers", func() bool {
				return among(names, p.Routers) || slices.Contains(p.Routers, "multipath") && p.Over == routing.OverWildFirst
			}, "policy.routers", "policy.multipath.over")(nil)
		},
		"allocator": func(names []string) *schema.Condition {
			p := &s.Policy
			switch single := among(names, singleAllocators); {
			case several && !single:
				return s.oneJob("")
			case several:
				return &schema.Condition{
					Keys: []string{"policy.allocator"}, Want: "set policy.allocator = " + schema.Quote(names[0]),
					OK: func() bool { return slices.Contains(names, p.Allocator) },
					By: func() string { return "allocator " + schema.Quote(p.Allocator) },
				}
			}
			return when("the allocators that are listed", "add "+schema.Quote(names[0])+" to policy.allocators", func() bool {
				return among(names, p.Allocators) || slices.Contains(names, p.Donor)
			}, "policy.allocators", "policy.donor")(nil)
		},
	}
	return &schema.Names{Choices: choices(), Conditions: conditions}
}

// among reports whether a list holds one of the names.
func among(names, list []string) bool {
	return slices.ContainsFunc(names, func(n string) bool { return slices.Contains(list, n) })
}

// singleAllocators decide for single jobs among several.
var singleAllocators = []string{"delta-joint", "delta-topo", "delta-fast"}

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
