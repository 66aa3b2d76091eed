package scenarios

import (
	"slices"

	"sim/engine"
	"sim/engine/units"
	"sim/policies/reconfigure"
	"sim/policies/reconfigure/baselines"
	"sim/policies/reconfigure/rounds"
)

// ScaleUp is a fabric of kind "scaleup": GPUs joined by optical switches, each of which has a link to and from every
// GPU.
type ScaleUp struct {
	GPUs, Switches int
	LinkRate       units.Rate
	LinkLatency    engine.Time
	Delay          engine.Time // of a reconfiguration
	Reconfigure    string      // "together" or "independent"
	NICRate        units.Rate  // of a training step: of a GPU's link to other domains
}

// Exchange is what collectives on a scale-up domain add to a Traffic.
type Exchange struct {
	Sizes    string // of the messages of an all-to-all
	Exponent float64
	Chunk    units.Bytes
}

// Planning is the options of planners.
type Planning struct {
	Planners         []string // in the order of the result's rows
	Reconfigurations int      // at most so many, whatever the delay; 0 is what the delay makes best
	During           DuringOptions
	Plus             PlusOptions
	Static           string // how chunks cross topologies that stay
	FastModel        string
	Imported         ImportedOptions
}

// DuringOptions are the options of the planner "reconfigure-during".
type DuringOptions struct {
	Schedule string // "best", "simulated" or "rounds"
	Base     string // "best" or a base of package rounds
	Relabel  bool
}

// PlusOptions are the options of the planner "reconfigure-during+".
type PlusOptions struct {
	Relay  bool
	Buffer int // chunks; 0 is no limit
	Others bool
}

// ImportedOptions are the options of the planner "imported".
type ImportedOptions struct {
	File   string
	SHA256 string
}

// Kinds of collectives on scale-up domains, beside allToAll.
const (
	allReduce     = "all-reduce"
	reduceScatter = "reduce-scatter"
	allGather     = "all-gather"
)

// scaleUpKinds describes the fabric "scaleup" and the workloads that it alone plays.
func scaleUpKinds() []*kind {
	gathers := func(name, doc string) *kind {
		return &kind{
			section: "workload", on: "scaleup", name: name, doc: doc, like: "gathers",
			tables: []table{{path: "workload", doc: "How much.", keys: []key{kindKey("workload"), defaultsTo(units.Bytes(32e6), key{
				name: "message", doc: "size of the vector of each GPU; of an all-gather, of what each GPU has in the end",
				field: func(s *Scenario, _ int) any { return &s.Workload.Message },
			})}}},
		}
	}
	step := trainingKind()
	step.on = "scaleup"
	step.doc = "A training step of a model with experts, whose all-to-alls stay inside scale-up domains of the GPUs of a stage."
	prepare := step.prepare
	step.prepare = func(c *checker) {
		prepare(c)
		prepareExchange(c)
	}
	step.tables = append(step.tables, table{path: "workload.experts", doc: "The all-to-alls to and from experts.", keys: exchangeKeys()})
	return []*kind{
		{
			section: "workload", on: "scaleup", name: allToAll, doc: "Every GPU of a scale-up domain sends a message to every other.",
			tables:  []table{{path: "workload", doc: "Who sends how much to whom.", keys: slices.Concat([]key{kindKey("workload")}, sizeKeys(), exchangeKeys())}},
			prepare: prepareExchange,
		},
		{
			section: "workload", on: "scaleup", name: matrixTraffic, doc: "An all-to-all of bytes from each GPU to each, from a file or list.",
			tables: []table{{path: "workload", doc: "Who sends how much to whom.", keys: matrixKeys()}},
		},
		gathers(allReduce, "All GPUs sum a vector."),
		gathers(reduceScatter, "All GPUs sum a vector of which each keeps a part."),
		gathers(allGather, "All GPUs gather the parts of a vector."),
		step,
		{
			section: "fabric", name: "scaleup",
			doc:     "A scale-up domain: GPUs joined by optical switches that reconfigure during a collective.",
			tables:  append([]table{{path: "fabric", doc: "The domain.", keys: scaleUpKeys()}}, plannerTables()...),
			prepare: prepareImport,
			check:   checkScaleUp,
		},
	}
}

// sizeKeys are those of messages whose mean is given.
func sizeKeys() []key {
	return []key{
		defaultsTo(units.Bytes(32e6), key{
			name: "message", doc: "mean size of the message of an ordered pair", when: notSizes("matrix"),
			field: func(s *Scenario, _ int) any { return &s.Workload.Message },
		}),
	}
}

// matrixKeys are those of a matrix on a scale-up domain, which matrixAlias turns into
// those of an all-to-all.
func matrixKeys() []key {
	keys := []key{kindKey("workload"), {
		name: "matrix_file", doc: "CSV file with a row of bytes for each GPU that sends, in place of matrix", omit: true,
		field: func(*Scenario, int) any { return new(string) },
	}}
	for _, k := range exchangeKeys() {
		if k.name == "matrix" || k.name == "chunk" {
			k.when = nil
			keys = append(keys, k)
		}
	}
	return keys
}

// exchangeKeys are those of all-to-alls of scale-up domains, wherever they stand.
func exchangeKeys() []key {
	return []key{
		defaultsTo("uniform", key{
			name: "sizes", doc: "sizes of the messages: `uniform`; `random`, evenly from nothing to twice the mean; `zipf`, by rank, ranks drawn; " +
				"`matrix`, as listed; or the name of a CSV file with a row of sizes for each GPU",
			field: func(s *Scenario, _ int) any { return &s.Workload.Sizes },
		}),
		{
			name: "matrix", doc: "sizes in bytes, a row for each GPU that sends", when: ofSizes("matrix"), max: 1 << 50,
			field: func(s *Scenario, _ int) any { return &s.Workload.Matrix },
		},
		defaultsTo(0.4, key{
			name: "zipf_exponent", doc: "how fast sizes fall by rank", max: 10, when: ofSizes("zipf"),
			field: func(s *Scenario, _ int) any { return &s.Workload.Exponent },
		}),
		defaultsTo(units.Bytes(4e6), key{
			name: "chunk", doc: "size of the pieces in which messages are sent, the last perhaps smaller but as long on its way",
			field: func(s *Scenario, _ int) any { return &s.Workload.Chunk },
		}),
	}
}

func ofSizes(name string) *condition {
	return &condition{
		keys: []string{"workload.sizes", "workload.experts.sizes"},
		ok:   func(s *Scenario) bool { return s.Workload.Sizes == name },
		by:   func(s *Scenario) string { return "sizes " + quote(s.Workload.Sizes) },
		want: "set sizes = " + quote(name),
	}
}

func notSizes(name string) *condition {
	w := ofSizes(name)
	ok := w.ok
	w.ok = func(s *Scenario) bool { return !ok(s) }
	w.want = `set sizes = "uniform", "random" or "zipf"`
	return w
}

func scaleUpKeys() []key {
	of := func(f func(d *ScaleUp) any) func(*Scenario, int) any {
		return func(s *Scenario, _ int) any { return f(&s.Fabric.ScaleUp) }
	}
	steps := ofKind("training")
	return []key{
		kindKey("fabric"),
		{
			name: "gpus", doc: "GPUs of the domain; of a training step those of a stage", min: 2, max: 4096,
			field:   of(func(d *ScaleUp) any { return &d.GPUs }),
			fillDoc: "8; of a matrix its rows; of a training step the GPUs that its experts are spread over",
			fill: func(s *Scenario, _ int) {
				switch w := &s.Workload; {
				case w.Kind == "training":
					s.Fabric.ScaleUp.GPUs = max(2, w.EP*w.ETP)
				case w.Kind == allToAll && w.Sizes == "matrix":
					s.Fabric.ScaleUp.GPUs = max(2, len(w.Matrix))
				default:
					s.Fabric.ScaleUp.GPUs = 8
				}
			},
		},
		defaultsTo(1, key{
			name: "switches", doc: "optical switches, so links out of and into each GPU; fewer than GPUs", min: 1, max: 4095,
			field: of(func(d *ScaleUp) any { return &d.Switches }),
		}),
		defaultsTo(units.Rate(800e9), key{
			name: "link_rate", doc: "rate of a link, each way", above: true, max: maxRate,
			field: of(func(d *ScaleUp) any { return &d.LinkRate }),
		}),
		defaultsTo(500*engine.Nanosecond, key{
			name: "link_latency", doc: "time that a bit takes over a hop",
			field: of(func(d *ScaleUp) any { return &d.LinkLatency }),
		}),
		defaultsTo(engine.Millisecond, key{
			name: "reconfiguration_delay", doc: "time that links are dark when switches reconfigure; the first topology counts",
			field: of(func(d *ScaleUp) any { return &d.Delay }),
		}),
		defaultsTo("together", key{
			name: "reconfigure", doc: "whether all switches reconfigure together, or each may while the others carry traffic, which `reconfigure-during+` makes use of",
			choices: fixed("together", "independent"), when: ofKind(allToAll, "training"),
			field: of(func(d *ScaleUp) any { return &d.Reconfigure }),
		}),
		defaultsTo(units.Rate(400e9), key{
			name: "nic_bandwidth", doc: "rate of a GPU's link to other domains, each way, over a fabric that does not block", above: true, max: maxRate, when: steps,
			field: of(func(d *ScaleUp) any { return &d.NICRate }),
		}),
	}
}

// planners returns the names that policy.planners may list.
func planners() []string {
	names := make([]string, len(reconfigure.Table))
	for i, r := range reconfigure.Table {
		names[i] = r.Name
	}
	return names
}

// planner is the condition of options that some planners have.
func planner(names ...string) *condition {
	return both(ofKind(allToAll, "training"), &condition{
		keys: []string{"policy.planners"},
		ok: func(s *Scenario) bool {
			return slices.ContainsFunc(names, func(n string) bool { return slices.Contains(s.Policy.Planners, n) })
		},
		by:   func(*Scenario) string { return "the planners that are listed" },
		want: "add " + quotedList(names) + " to policy.planners",
	})
}

// plannerTables describes the tables that scale-up domains have beside their own.
func plannerTables() []table {
	of := func(f func(p *Planning) any) func(*Scenario, int) any {
		return func(s *Scenario, _ int) any { return f(&s.Policy.Planning) }
	}
	exchange := ofKind(allToAll, "training")
	return []table{
		{
			path: "policy", doc: "Which planners are compared.", keys: []key{
				{
					name: "planners", doc: "the planners, in the order of the result's rows", choices: planners,
					field:   of(func(p *Planning) any { return &p.Planners }),
					fillDoc: "reconfigure-during, reconfigure-during+ and the baselines; of other collectives reconfigure-during+ and static-ring",
					fill: func(s *Scenario, _ int) {
						s.Policy.Planners = slices.Clone(reconfigure.Usual)
						if s.gathers() {
							s.Policy.Planners = slices.Clone(gatherPlanners)
						}
					},
				},
				defaultsTo(0, key{
					name: "reconfigurations", doc: "take the plan with the fewest slots of those with at most so many topologies; 0 is what is best for the delay", max: 4095, when: exchange,
					field: of(func(p *Planning) any { return &p.Reconfigurations }),
				}),
			},
		},
		{
			path: "policy.reconfigure-during", doc: "The paper's construction (Sec. 4).", when: planner("reconfigure-during", "reconfigure-during+"), keys: []key{
				defaultsTo("best", key{
					name: "schedule", doc: "whether chunks of a phase go hop by hop as links are free, those of low number first, as the paper simulates them, or round after round",
					choices: fixed("best", rounds.ByIndex, rounds.ByRound),
					field:   of(func(p *Planning) any { return &p.During.Schedule }),
				}),
				defaultsTo("best", key{
					name: "base", doc: "base topology of degree above 1", choices: fixed("best", rounds.Circulant, rounds.GenKautz),
					field: of(func(p *Planning) any { return &p.During.Base }),
				}),
				defaultsTo(true, key{
					name: "relabel", doc: "number GPUs such that large messages share rounds (Sec. 4.4)",
					field: of(func(p *Planning) any { return &p.During.Relabel }),
				}),
			},
		},
		{
			path: joinPath("policy", "reconfigure-during+"), doc: "Better plans than the paper's.", when: planner("reconfigure-during+"), keys: []key{
				defaultsTo(true, key{
					name: "relay", doc: "whether chunks may rest at a GPU on their way while switches reconfigure",
					field: of(func(p *Planning) any { return &p.Plus.Relay }),
				}),
				defaultsTo(0, key{
					name: "buffer", doc: "most chunks on their way that a GPU may hold, in plans of its own; 0 is no limit", max: 1 << 30,
					field: of(func(p *Planning) any { return &p.Plus.Buffer }),
				}),
				defaultsTo(true, key{
					name: "others", doc: "whether it takes the plan of another planner where that is better",
					field: of(func(p *Planning) any { return &p.Plus.Others }),
				}),
			},
		},
		{
			path: "policy.static", doc: "Topologies that stay as they are.", when: planner(append([]string{"reconfigure-during+"}, reconfigure.OneTopology...)...), keys: []key{
				defaultsTo(string(baselines.Strongest), key{
					name: "schedule", doc: "`fluid`, at the least load of the busiest link that splitting can reach, without a plan; `paths`, the same on one shortest way a pair; " +
						"`simulated`, chunk by chunk on those ways; `packed`, on shortest ways that share the load; or the `strongest` of them",
					choices: fixed(string(baselines.Strongest), string(baselines.Fluid), string(baselines.Paths), string(baselines.Simulated), string(baselines.Packed)),
					field:   of(func(p *Planning) any { return &p.Static }),
				}),
			},
		},
		{
			path: "policy.fast", doc: "Permutations one after another (FAST).", when: planner("fast", "reconfigure-during+"), keys: []key{
				defaultsTo("together", key{
					name: "model", doc: "how several switches serve: as many permutations at once, each permutation on all of them, or one on a single one",
					choices: fixed("together", "striped", "one"),
					field:   of(func(p *Planning) any { return &p.FastModel }),
				}),
			},
		},
		{
			path: "policy.imported", doc: "Plans from a file, of which the best is taken.", when: planner("imported"), keys: []key{
				{
					name: "file", doc: "JSON file as --plan-out writes it", required: true,
					field: of(func(p *Planning) any { return &p.Imported.File }),
				},
				{
					name: "sha256", doc: "of the file, which it must have",
					field: of(func(p *Planning) any { return &p.Imported.SHA256 }), fillDoc: "the file's",
				},
			},
		},
		{
			path: "engine", doc: "How closely plans are played.", keys: []key{
				defaultsTo("plan", key{
					name: "level", doc: "`cost`, by delays and slots alone; `plan`, written out and checked; `packet`, on queues, slot by slot and as links are free; `flow`, as fluid",
					choices: fixed("cost", "plan", "packet", "flow"),
					field:   func(s *Scenario, _ int) any { return &s.Engine.Level },
				}),
			},
		},
	}
}

// plans reports whether the policies of s are planners.
func (s *Scenario) plans() bool { return s.Fabric.Kind == "scaleup" }

// gathers reports whether s is a collective other than an all-to-all.
func (s *Scenario) gathers() bool {
	return s.plans() && slices.Contains([]string{allReduce, reduceScatter, allGather}, s.Workload.Kind)
}

// gatherPlanners serve collectives other than all-to-alls.
var gatherPlanners = []string{"reconfigure-during+", "static-ring"}
