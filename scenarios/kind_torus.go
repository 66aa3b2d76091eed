package scenarios

import (
	"slices"

	"sim/engine"
	"sim/engine/units"
	"sim/fabric/torus"
	"sim/policies/routing"
)

// Links is what fabrics of kinds "torus" and "graph" have: nodes that forward
// packets over links.
type Links struct {
	Dims  []int
	Twist string  // "" where Shift says it
	Shift [][]int // a vector a dimension; none is no twist
	Open  []string

	Nodes int // of a graph
	Names []string
	Edges [][]int // of a graph: from, to, bits per second, picoseconds

	LinkRate    units.Rate
	LinkLatency engine.Time
	Queue       string // "unbounded", "credit", packets such as "100p", or a size
	Channels    int    // virtual channels, with credits
	Buffer      units.Bytes
	BitErrors   float64

	Cubes      []int  // of the pod, that make the torus; none are the first that are free
	BusyCubes  []int  // of other jobs
	Configured string // twist of the same cubes before, "none" where they are not joined
	SwitchTime engine.Time

	FailedOCS      []string
	FailedLinks    []string
	FailedMachines []int
	FailedChips    []int
	DrainedLinks   []string
	FailAt         engine.Time // 0 is from the start, which routers know
	RerouteAfter   engine.Time
}

// Engine says how closely traffic is played.
type Engine struct {
	Level string // "packet", "flow" or "static"
	Until engine.Time
	// SampleEvery is the time between looks at the queues; 0 is none.
	SampleEvery engine.Time
}

// defaultLinkRate is that of a TPU v4's links, 50 GB/s.
const defaultLinkRate = units.Rate(400e9)

// levels are the engine's.
var levels = []string{"packet", "flow", "static"}

// torusKind describes the fabric "torus" and the policies that route on it.
func torusKind() *kind {
	return &kind{
		section: "fabric", name: "torus", doc: "A torus or mesh of chips, whose wrap-around links may be twisted and may pass optical switches.",
		tables: append([]table{
			{path: "fabric", doc: "The torus and its links.", keys: slices.Concat(torusKeys(), linkKeys(), cubeKeys(), torusFaultKeys(), faultTimeKeys())},
		}, routerTables()...),
		check: checkTorus,
	}
}

// graphKind describes the fabric "graph".
func graphKind() *kind {
	return &kind{
		section: "fabric", name: "graph", doc: "Any nodes and directed links.",
		tables: append([]table{
			{path: "fabric", doc: "The nodes and links.", keys: slices.Concat(graphKeys(), linkKeys())},
		}, routerTables()...),
		prepare: prepareGraph,
		check:   checkGraph,
	}
}

func ofLinks(f func(l *Links) any) func(*Scenario, int) any {
	return func(s *Scenario, _ int) any { return f(&s.Fabric.Links) }
}

func torusKeys() []key {
	return []key{
		kindKey("fabric"),
		{
			name: "dims", doc: "nodes along each dimension", required: true, min: 1, max: torus.MaxNodes,
			field: ofLinks(func(l *Links) any { return &l.Dims }),
		},
		defaultsTo("", key{
			name:  "twist",
			doc:   "in three dimensions: six bits, whether wrap-around links of x land shifted by half of y, x by z, y by x, y by z, z by x, z by y; or `tpuv4`, the form of TPU v4",
			field: ofLinks(func(l *Links) any { return &l.Twist }),
		}),
		defaultsTo([][]int(nil), key{
			name: "shift", doc: "in place of twist: for each dimension the vector by which its wrap-around links are shifted", max: torus.MaxNodes,
			field: ofLinks(func(l *Links) any { return &l.Shift }),
		}),
		defaultsTo([]string(nil), key{
			name: "open", doc: "dimensions without wrap-around links, such as `[\"x\"]`", empty: true,
			field: ofLinks(func(l *Links) any { return &l.Open }),
		}),
	}
}

func graphKeys() []key {
	return []key{
		kindKey("fabric"),
		{
			name: "file", doc: "file with a line for each link: from, to, and if they differ rate and latency; in place of nodes and edges", omit: true,
			field: func(*Scenario, int) any { return new(string) }, // prepareGraph reads it
		},
		{
			name: "undirected", doc: "whether each line of the file is a link both ways", omit: true,
			field: func(*Scenario, int) any { return new(bool) },
		},
		defaultsTo([]string(nil), key{
			name: "names", doc: "names of the nodes in messages and files; none are their numbers", empty: true,
			field: ofLinks(func(l *Links) any { return &l.Names }),
		}),
		{
			name: "nodes", doc: "number of nodes", max: torus.MaxNodes,
			field:   ofLinks(func(l *Links) any { return &l.Nodes }),
			fillDoc: "as many as the links name",
		},
		{
			name: "edges", doc: "directed links: node from, node to, and perhaps bits per second and picoseconds of latency; 0 is link_rate and link_latency", max: 1 << 60,
			field: ofLinks(func(l *Links) any { return &l.Edges }),
		},
	}
}

func linkKeys() []key {
	credit := &condition{
		keys: []string{"fabric.queue"},
		ok:   func(s *Scenario) bool { return s.Fabric.Queue == "credit" },
		by:   func(s *Scenario) string { return "queue " + quote(s.Fabric.Queue) },
		want: `set fabric.queue = "credit"`,
	}
	packets := atLevel("packet")
	return []key{
		defaultsTo(defaultLinkRate, key{
			name: "link_rate", doc: "rate of a link, each way", above: true, max: maxRate,
			field: ofLinks(func(l *Links) any { return &l.LinkRate }),
		}),
		defaultsTo(engine.Time(0), key{
			name: "link_latency", doc: "time that a bit takes along a link; at level flow only steps of ring collectives have it", when: atLevel("packet", "flow"),
			field: ofLinks(func(l *Links) any { return &l.LinkLatency }),
		}),
		defaultsTo("unbounded", key{
			name: "queue", when: packets,
			doc: "what waits before a link: `unbounded`; packets such as `100p` or a size such as `64KB`, beyond which packets are dropped; " +
				"or `credit`, where packets wait until there is room ahead",
			field: ofLinks(func(l *Links) any { return &l.Queue }),
		}),
		{
			name: "channels", doc: "virtual channels of a link", min: 1, max: 15, when: both(packets, credit),
			field:   ofLinks(func(l *Links) any { return &l.Channels }),
			fillDoc: "2",
			fill:    func(s *Scenario, _ int) { s.Fabric.Channels = 2 },
		},
		defaultsTo(units.Bytes(0), key{
			name: "buffer", doc: "room at a link's end for each channel; `0B` is what a round trip at full rate needs", when: both(packets, credit),
			field: ofLinks(func(l *Links) any { return &l.Buffer }),
		}),
		defaultsTo(0.0, key{
			name: "bit_errors", doc: "probability that a bit arrives wrong; the link then sends the packet again", max: 0.1, when: packets,
			field: ofLinks(func(l *Links) any { return &l.BitErrors }),
		}),
	}
}

// atLevel is the condition of keys of some engine levels.
func atLevel(names ...string) *condition {
	return &condition{
		keys: []string{"engine.level"},
		ok:   func(s *Scenario) bool { return slices.Contains(names, s.Engine.Level) },
		by:   func(s *Scenario) string { return "level " + quote(s.Engine.Level) },
		want: "set engine.level = " + quotedList(names),
	}
}

// both is the condition of what needs two; the first that does not hold speaks.
func both(a, b *condition) *condition {
	first := func(s *Scenario) *condition {
		if !a.applies(s) {
			return a
		}
		return b
	}
	return &condition{
		keys: slices.Concat(a.keys, b.keys),
		ok:   func(s *Scenario) bool { return a.applies(s) && b.applies(s) },
		by:   func(s *Scenario) string { return first(s).by(s) },
		want: b.want, first: first,
	}
}

// cubeKeys are of tori that optical switches make of cubes. Others ignore them.
func cubeKeys() []key {
	cubic := &condition{
		keys: []string{"fabric.dims", "fabric.twist", "fabric.shift", "fabric.open"},
		ok: func(s *Scenario) bool {
			t, _, err := s.Fabric.torus()
			return err == nil && torus.Cubic(t) == nil
		},
		by:   func(*Scenario) string { return "a torus that is not made of cubes" },
		want: "give three sizes that are multiples of 4, and none of them open",
	}
	return []key{
		defaultsTo([]int(nil), key{
			name: "cubes", doc: "cubes of the pod that make the torus, the last dimension fastest; none are the first that are free", max: torus.Cubes - 1, when: cubic,
			field: ofLinks(func(l *Links) any { return &l.Cubes }),
		}),
		defaultsTo([]int(nil), key{
			name: "busy_cubes", doc: "cubes that belong to other jobs", max: torus.Cubes - 1, when: cubic,
			field: ofLinks(func(l *Links) any { return &l.BusyCubes }),
		}),
		defaultsTo("none", key{
			name: "configured", doc: "how the same cubes are joined before: a twist, `\"\"` for a regular torus, or `none`, for the commands that are needed", when: cubic,
			field: ofLinks(func(l *Links) any { return &l.Configured }),
		}),
		defaultsTo(10*engine.Millisecond, key{
			name: "switch_time", doc: "time that optical switches take to make connections", when: cubic,
			field: ofLinks(func(l *Links) any { return &l.SwitchTime }),
		}),
	}
}

func torusFaultKeys() []key {
	texts := func(name, doc string, f func(l *Links) any) key {
		return defaultsTo([]string(nil), key{name: name, doc: doc, field: ofLinks(f), empty: true})
	}
	return []key{
		texts("failed_ocs", "optical switches that are down, by dimension and place on a cube's face: `[\"x3\"]`", func(l *Links) any { return &l.FailedOCS }),
		texts("failed_links", "links that are down both ways, by node, dimension and way: `[\"17 x+\"]`", func(l *Links) any { return &l.FailedLinks }),
		defaultsTo([]int(nil), key{
			name: "failed_machines", doc: "machines, of 2x2 chips, that are down", max: torus.MaxNodes,
			field: ofLinks(func(l *Links) any { return &l.FailedMachines }),
		}),
		defaultsTo([]int(nil), key{
			name: "failed_chips", doc: "nodes that are down", max: torus.MaxNodes,
			field: ofLinks(func(l *Links) any { return &l.FailedChips }),
		}),
		texts("drained_links", "links that work and are not to be used, as failed_links has them", func(l *Links) any { return &l.DrainedLinks }),
	}
}

func faultTimeKeys() []key {
	later := &condition{
		keys: []string{"fabric.fail_at"},
		ok:   func(s *Scenario) bool { return s.Fabric.FailAt > 0 },
		by:   func(*Scenario) string { return "faults from the start" },
		want: `set fabric.fail_at, such as "1ms"`,
	}
	return []key{
		defaultsTo(engine.Time(0), key{
			name: "fail_at", doc: "when what fails does so, on routes that did not expect it; `0s` is from the start, which routers know", when: atLevel("packet"),
			field: ofLinks(func(l *Links) any { return &l.FailAt }),
		}),
		defaultsTo(engine.Millisecond, key{
			name: "reroute_after", doc: "how much later packets take the routes that avoid it", when: both(atLevel("packet"), later),
			field: ofLinks(func(l *Links) any { return &l.RerouteAfter }),
		}),
	}
}

// routers returns the names that policy.routers may list.
func routers() []string {
	names := make([]string, len(routing.Table))
	for i, r := range routing.Table {
		names[i] = r.Name
	}
	return names
}

// router returns the router of a fabric where none is named: one that can serve it.
func (f *Fabric) router() string {
	switch {
	case f.Kind == "graph":
		return "shortest"
	case f.faulty():
		return "wild-first"
	}
	return "dor"
}

// router is the condition of options that some routers have.
func router(names ...string) *condition {
	return &condition{
		keys: []string{"policy.routers"},
		ok: func(s *Scenario) bool {
			return slices.ContainsFunc(names, func(n string) bool { return slices.Contains(s.Policy.Routers, n) })
		},
		by:   func(*Scenario) string { return "the routers that are listed" },
		want: "add " + quote(names[0]) + " to policy.routers",
	}
}

// multipathOver is the condition of options of several ways of a sort.
func multipathOver(over string) *condition {
	return &condition{
		keys: []string{"policy.routers", "policy.multipath.over"},
		ok:   func(s *Scenario) bool { return s.Policy.Over == over },
		by:   func(s *Scenario) string { return "multipath over " + quote(s.Policy.Over) },
		want: "set policy.multipath.over = " + quote(over),
	}
}

// overWild is the condition of options that some routers have, and several ways
// over those of wild-first routing.
func overWild(names ...string) *condition {
	w := router(names...)
	own := w.ok
	w.keys = append(w.keys, "policy.multipath.over")
	w.ok = func(s *Scenario) bool {
		return own(s) || slices.Contains(s.Policy.Routers, "multipath") && s.Policy.Over == routing.OverWildFirst
	}
	return w
}

// Routing is the options of routers.
type Routing struct {
	Routers    []string // in the order of the result's rows
	Order      []string // of dimensions, first to last; none is the router's own
	Wild       []string
	WildUse    string
	ECMPDraw   string
	RandomDraw string
	Ways       int
	Over       string
	Split      string
	ExtraHops  int
	Optimised  OptimisedOptions
}

// OptimisedOptions are the options of the router "route-optimised".
type OptimisedOptions struct {
	NeighbourCap int
	Budget       int64
	BoundRounds  int
	Cache        string
	MILP         bool
	Solver       string
	TimeLimit    engine.Time // wall-clock of the solver; 0 is none
}

// drawKey describes what a router draws links or ways for.
func drawKey(doc string, field func(*Scenario, int) any) key {
	return defaultsTo(routing.DrawPair, key{name: "draw", doc: doc, choices: fixed(routing.Draws...), field: field})
}

// routerTables describes the tables that fabrics of links have beside their own.
func routerTables() []table {
	of := func(f func(r *Routing) any) func(*Scenario, int) any {
		return func(s *Scenario, _ int) any { return f(&s.Policy.Routing) }
	}
	optimised := func(f func(r *OptimisedOptions) any) func(*Scenario, int) any {
		return func(s *Scenario, _ int) any { return f(&s.Policy.Optimised) }
	}
	return []table{
		{
			path: "policy", doc: "Which routers are compared.", keys: []key{
				{
					name: "routers", choices: routers,
					doc:     "the routers, in the order of the result's rows; route-optimised takes only ways that cannot deadlock, if there are such: its unconstrained_max_link_load is what others reach",
					field:   of(func(r *Routing) any { return &r.Routers }),
					fillDoc: "dor; wild-first where links or nodes of a torus are down, shortest where fabric.kind is graph",
					fill:    func(s *Scenario, _ int) { s.Policy.Routers = []string{s.Fabric.router()} },
				},
				defaultsTo([]string(nil), key{
					name: "order", doc: "dimensions in the order in which they are routed; none is the longest first, or what faults ask for", empty: true,
					choices: fixed("x", "y", "z"), when: overWild("dor", "wild-first", "route-optimised"),
					field: of(func(r *Routing) any { return &r.Order }),
				}),
			},
		},
		{
			path: "policy.wild-first", doc: "Wild-first routing (TPU v4, Sec. 4.2).", when: overWild("wild-first", "route-optimised"), keys: []key{
				defaultsTo([]string(nil), key{
					name: "wild", doc: "dimensions of wild hops in their order; none is the order of dimensions turned round", empty: true, choices: fixed("x", "y", "z"),
					field: of(func(r *Routing) any { return &r.Wild }),
				}),
				defaultsTo("", key{
					name: "use", doc: "who may take wild hops: pairs whose every way in dimension order is dead, pairs of which one is, or all; \"\" is all where ways are optimised or several, and else any-dead",
					choices: fixed(routing.Needed, routing.AnyDead, routing.All), unset: true,
					field: of(func(r *Routing) any { return &r.WildUse }),
				}),
			},
		},
		{
			path: "policy.ecmp", doc: "Equal-cost multi-path.", when: router("ecmp"), keys: []key{
				drawKey("what a link among the equal ones at each node is picked for: `pair`, by a hash of pair and node; `node`, by one of destination and node, so that "+
					"all that meets goes on together; `packet`, at random, as ns-3's RandomEcmpRouting does",
					of(func(r *Routing) any { return &r.ECMPDraw })),
			},
		},
		{
			path: "policy.random-shortest", doc: "Shortest ways at random.", when: router("random-shortest"), keys: []key{
				drawKey("what one of all shortest ways, each as likely, is drawn for: each `pair`, each `packet`, or at each `node` for each destination the next link, in proportion to the ways behind it",
					of(func(r *Routing) any { return &r.RandomDraw })),
			},
		},
		{
			path: "policy.multipath", doc: "Several ways a pair.", when: router("multipath"), keys: []key{
				defaultsTo(8, key{
					name: "ways", min: 1, max: 1024,
					doc:   "most ways of a pair, of which each packet takes one at random; of more shortest ways so many are drawn, so loads split per-hop are exact only where this is at least as many as a pair has",
					field: of(func(r *Routing) any { return &r.Ways }),
				}),
				defaultsTo(routing.OverShortest, key{
					name: "over", doc: "shortest ways, or those of wild-first routing", choices: fixed(routing.OverShortest, routing.OverWildFirst),
					field: of(func(r *Routing) any { return &r.Over }),
				}),
				defaultsTo(routing.PerPath, key{
					name: "split", doc: "whether packets spread evenly over the ways, or at each hop over the next ones", when: multipathOver(routing.OverShortest), choices: fixed(routing.PerPath, routing.PerHop),
					field: of(func(r *Routing) any { return &r.Split }),
				}),
				defaultsTo(0, key{
					name: "extra_hops", doc: "by how many hops wild-first ways may be longer than the shortest", max: 1000, when: multipathOver(routing.OverWildFirst),
					field: of(func(r *Routing) any { return &r.ExtraHops }),
				}),
			},
		},
		{
			path: "policy.route-optimised", doc: "The optimiser of routes (TPU v4, Sec. 4.3).", when: router("route-optimised"), keys: []key{
				{
					name: "neighbour_cap", min: -1, max: 1e6,
					doc: "most messages on a link when every node sends one to each neighbour, whatever the rates and demands, which goes before the load and holds for " +
						"unconstrained_max_link_load and unconstrained_max_load_over_rate too; -1 is no limit",
					field:   optimised(func(r *OptimisedOptions) any { return &r.NeighbourCap }),
					fillDoc: "2, and -1 where fabric.kind is graph",
					fill: func(s *Scenario, _ int) {
						s.Policy.Optimised.NeighbourCap = 2
						if s.Fabric.Kind == "graph" {
							s.Policy.Optimised.NeighbourCap = -1
						}
					},
				},
				defaultsTo(int64(0), key{
					name: "budget", doc: "ways that are weighed in search of better ones, those of more than 16 hops as several; 0 is 30 million, and up to a million pairs at least 200 a pair; ring collectives at levels flow and packet have as much again for simulations, of which a transfer counts as 8", max: 1e15,
					field: optimised(func(r *OptimisedOptions) any { return &r.Budget }),
				}),
				defaultsTo(0, key{
					name: "bound_rounds", doc: "rounds of the search for a lower bound; 0 is 4000, and fewer on large fabrics whose nodes are not alike", max: 1e9,
					field: optimised(func(r *OptimisedOptions) any { return &r.BoundRounds }),
				}),
				defaultsTo("", key{
					name: "cache", doc: "directory in which routes are kept for the next run; \"\" is none",
					field: optimised(func(r *OptimisedOptions) any { return &r.Cache }),
				}),
				defaultsTo(false, key{
					name: "milp", doc: "have a MILP solver on the PATH choose among the ways, and prove the least load that they allow",
					field: optimised(func(r *OptimisedOptions) any { return &r.MILP }),
				}),
				defaultsTo("auto", key{
					name: "solver", doc: "the solver; auto is the first that is found", choices: fixed("auto", "highs", "cbc"),
					field: optimised(func(r *OptimisedOptions) any { return &r.Solver }),
				}),
				timeLimit(optimised(func(r *OptimisedOptions) any { return &r.TimeLimit })),
			},
		},
		{
			path: "engine", doc: "How closely traffic is played.", keys: []key{
				defaultsTo("packet", key{
					name: "level", doc: "`packet`, through queues, for up to " + hopsText + " hops of packets; `flow`, as fluid; or `static`, ways and loads alone", choices: fixed(levels...),
					field: func(s *Scenario, _ int) any { return &s.Engine.Level },
				}),
				defaultsTo(engine.Time(0), key{
					name: "until", doc: "when playing ends, whatever is on its way; `0s` is when all is delivered", when: atLevel("packet"),
					field: func(s *Scenario, _ int) any { return &s.Engine.Until },
				}),
				defaultsTo(engine.Time(0), key{
					name: "sample_every", doc: "time between looks at the queues, for queues.csv; `0s` is none", when: atLevel("packet"),
					field: func(s *Scenario, _ int) any { return &s.Engine.SampleEvery },
				}),
			},
		},
	}
}
