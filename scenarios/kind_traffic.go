package scenarios

import (
	"slices"

	"sim/engine"
	"sim/engine/units"
	"sim/workloads/collective"
)

// Traffic is a workload of messages between all nodes of a fabric. Which of its
// fields are used depends on the workload's kind and on Source.
type Traffic struct {
	Message units.Bytes // of each flow; of rings, the vector that all reduce or gather
	Packet  units.Bytes // on the wire
	Payload units.Bytes // of a packet, what counts for sizes and rates

	Source    string // how packets are injected
	Rate      units.Rate
	Start     engine.Time
	Duration  engine.Time
	Load      float64     // that each node offers, as a fraction of a link's rate
	Warmup    engine.Time // packets injected before are not measured
	Pace      float64     // fraction of the fluid rate
	Window    int         // packets of a flow that are on their way at once
	Injection string      // order in which a node injects its flows' packets

	Permutation string
	Hot         int     // nodes
	HotShare    float64 // of each node's traffic that goes to them
	Matrix      [][]int // bytes by source and destination

	Rings         string   // "one" or "per-dimension"
	RingDims      []string // of rings per dimension; none is all
	RingForm      string
	Bidirectional bool

	TensorDims   []string
	DataDims     []string
	Alternations int
	Phase        engine.Time
	RingRate     units.Rate

	Step Step
}

// Step is a training step of which a collective is a part, for what a fault does
// to it.
type Step struct {
	Share    float64 // the collective's time in units of the fault-free step's
	Overlap  float64 // of the collective that computing hides
	Slowdown float64 // of the step that somebody measured; 0 is none
}

// Kinds of traffic.
const (
	allToAll          = "all-to-all"
	nearestNeighbour  = "nearest-neighbour"
	uniformRandom     = "uniform-random"
	permutation       = "permutation"
	hotspot           = "hotspot"
	matrixTraffic     = "matrix"
	ringAllReduce     = "ring-all-reduce"
	ringReduceScatter = "ring-reduce-scatter"
	ringAllGather     = "ring-all-gather"
	dataTensor        = "data-tensor"
)

var ringKinds = []string{ringAllReduce, ringReduceScatter, ringAllGather}

// trafficKinds describes the workloads that any fabric of nodes and links plays.
func trafficKinds() []*kind {
	var all []*kind
	for _, k := range [][2]string{
		{allToAll, "Every node sends a message to every other."},
		{nearestNeighbour, "Every node sends a message over each of its links."},
		{uniformRandom, "Every packet goes to a node drawn at random."},
		{permutation, "Every node sends to one other."},
		{hotspot, "All to all, with a share of each node's traffic to a few nodes."},
		{matrixTraffic, "Bytes from each node to each, from a file or list."},
		{ringAllReduce, "All nodes sum a vector, in rings."},
		{ringReduceScatter, "All nodes sum a vector of which each keeps a part, in rings."},
		{ringAllGather, "All nodes gather the parts of a vector, in rings."},
		{dataTensor, "Tensor parallelism, all to all in slices, and data parallelism, rings across them, in turns (Gottipati, Sec. II-B.2)."},
	} {
		all = append(all, &kind{
			section: "workload", name: k[0], doc: k[1], like: "traffic",
			tables: []table{
				{path: "workload", doc: "Who sends how much to whom, and how packets are injected.", keys: trafficKeys()},
				{
					path: "workload.step", doc: "A training step of which the collective is a part: what faults do to it.", keys: stepKeys(),
					when: ofKind(allToAll, nearestNeighbour, ringAllReduce, ringReduceScatter, ringAllGather),
				},
			},
			prepare: prepareTraffic,
		})
	}
	return all
}

// ofKind is the condition of keys that some kinds of workload have.
func ofKind(names ...string) *condition {
	return &condition{
		keys: []string{"workload.kind"},
		ok:   func(s *Scenario) bool { return slices.Contains(names, s.Workload.Kind) },
		by:   func(s *Scenario) string { return "workload " + quote(s.Workload.Kind) },
		want: "set workload.kind = " + quotedList(names),
	}
}

// perDimension is the condition of keys of rings along dimensions.
var perDimension = &condition{
	keys: []string{"workload.rings", "workload.kind"},
	ok:   func(s *Scenario) bool { return s.Workload.Rings == "per-dimension" },
	by:   func(s *Scenario) string { return "rings " + quote(s.Workload.Rings) },
	want: `set workload.rings = "per-dimension"`,
}

// sources are how packets may be injected.
var sources = []string{"paced", "greedy", "window", "on-off", "poisson"}

// fromSource is the condition of keys that some sources have.
func fromSource(names ...string) *condition {
	return &condition{
		keys: []string{"workload.source", "workload.kind"},
		ok: func(s *Scenario) bool {
			return !slices.Contains(ringKinds, s.Workload.Kind) && slices.Contains(names, s.Workload.Source)
		},
		by: func(s *Scenario) string {
			if slices.Contains(ringKinds, s.Workload.Kind) {
				return "workload " + quote(s.Workload.Kind)
			}
			return "source " + quote(s.Workload.Source)
		},
		want: "set workload.source = " + quotedList(names),
	}
}

// sizeable is the condition of messages that may have a size.
var sizeable = both(unlisted, &condition{
	keys: timed.keys,
	ok: func(s *Scenario) bool {
		return timed.ok(s) || s.Workload.Kind != dataTensor && s.Workload.Source == "on-off"
	},
	by:   timed.by,
	want: timed.want,
})

// sized is the condition of the size of messages: on-off and Poisson sources have
// rates and times instead.
var sized = both(unlisted, timed)

var unlisted = &condition{
	keys: []string{"workload.kind"},
	ok:   func(s *Scenario) bool { return s.Workload.Kind != matrixTraffic },
	by:   func(*Scenario) string { return "workload " + quote(matrixTraffic) },
	want: "choose another workload, whose messages have one size",
}

var timed = &condition{
	keys: []string{"workload.source", "workload.kind"},
	ok: func(s *Scenario) bool {
		w := &s.Workload
		return slices.Contains(ringKinds, w.Kind) || w.Source != "on-off" && w.Source != "poisson"
	},
	by:   func(s *Scenario) string { return "source " + quote(s.Workload.Source) },
	want: "choose another source",
}

func trafficKeys() []key {
	of := func(f func(t *Traffic) any) func(*Scenario, int) any {
		return func(s *Scenario, _ int) any { return f(&s.Workload.Traffic) }
	}
	when := func(w *condition, k key) key {
		k.when = w
		return k
	}
	packets := atLevel("packet")
	notRings := &condition{
		keys: []string{"workload.kind"},
		ok:   func(s *Scenario) bool { return !slices.Contains(ringKinds, s.Workload.Kind) },
		by:   func(s *Scenario) string { return "workload " + quote(s.Workload.Kind) },
		want: "choose a workload that is no ring collective",
	}
	return []key{
		kindKey("workload"),
		when(sizeable, key{
			name: "message", doc: "size of a message; of ring collectives, of the whole vector that they work on; of on-off sources, after which a flow is silent",
			field:   of(func(t *Traffic) any { return &t.Message }),
			fillDoc: "64KB; of on-off sources 0B, without end",
			fill: func(s *Scenario, _ int) {
				if s.Workload.Source != "on-off" {
					s.Workload.Message = 64e3
				}
			},
		}),
		when(packets, defaultsTo(units.Bytes(1000), key{
			name: "packet", doc: "size of a packet on the wire",
			field: of(func(t *Traffic) any { return &t.Packet }),
		})),
		when(packets, key{
			name: "payload", doc: "what of a packet counts for sizes and rates",
			field:   of(func(t *Traffic) any { return &t.Payload }),
			fillDoc: "packet",
			fill:    func(s *Scenario, _ int) { s.Workload.Payload = s.Workload.Packet },
		}),
		when(notRings, key{
			name: "source", choices: fixed(sources...),
			doc: "how packets are injected: `paced` at the rate at which the most loaded link is just full; `greedy`, as fast as the first links " +
				"take them; `window`, so many of a flow on their way; `on-off`, every flow at a rate for a time; `poisson`, every node at random times",
			field:   of(func(t *Traffic) any { return &t.Source }),
			fillDoc: "paced; of data-tensor and uniform-random on-off and poisson",
			fill: func(s *Scenario, _ int) {
				switch s.Workload.Kind {
				case dataTensor:
					s.Workload.Source = "on-off"
				case uniformRandom:
					s.Workload.Source = "poisson"
				default:
					s.Workload.Source = "paced"
				}
			},
		}),
		when(fromSource("on-off"), key{
			name: "rate", doc: "payload of each flow over time while it is on", above: true, max: maxRate, required: true,
			field: of(func(t *Traffic) any { return &t.Rate }),
		}),
		when(both(packets, fromSource("on-off")), defaultsTo(engine.Second, key{
			name: "start", doc: "when flows go on; the first packet comes one interval later",
			field: of(func(t *Traffic) any { return &t.Start }),
		})),
		when(both(packets, fromSource("on-off", "poisson")), key{
			name: "duration", doc: "how long flows are on; of Poisson sources, for how long packets are measured after the warm-up",
			field:   of(func(t *Traffic) any { return &t.Duration }),
			fillDoc: "100ms; of Poisson sources the time of 4,000 packets on a link",
			fill: func(s *Scenario, _ int) {
				s.Workload.Duration = engine.Second / 10
				if s.Workload.Source == "poisson" {
					s.Workload.Duration = s.packets(4_000)
				}
			},
		}),
		when(both(packets, fromSource("poisson")), defaultsTo(0.1, key{
			name: "load", doc: "what each node injects, as a fraction of a link's rate", above: true, max: 1000,
			field: of(func(t *Traffic) any { return &t.Load }),
		})),
		when(both(packets, fromSource("poisson")), key{
			name: "warmup", doc: "packets injected before this time are not measured",
			field:   of(func(t *Traffic) any { return &t.Warmup }),
			fillDoc: "the time of 1,000 packets on a link",
			fill:    func(s *Scenario, _ int) { s.Workload.Warmup = s.packets(1_000) },
		}),
		when(both(packets, fromSource("paced")), defaultsTo(1.0, key{
			name: "pace", doc: "rate of the flows, as a fraction of that at which the most loaded link is full", above: true, max: 1000,
			field: of(func(t *Traffic) any { return &t.Pace }),
		})),
		when(both(packets, fromSource("window")), defaultsTo(8, key{
			name: "window", doc: "packets of a flow that may be on their way at once", min: 1, max: 1 << 20,
			field: of(func(t *Traffic) any { return &t.Window }),
		})),
		when(both(packets, fromSource("greedy", "paced")), defaultsTo("round-robin", key{
			name: "injection", doc: "order in which a node injects the packets of its flows: a packet of each in turn, of one drawn at random, or flow after flow",
			choices: fixed("round-robin", "random", "sequential"),
			field:   of(func(t *Traffic) any { return &t.Injection }),
		})),
		when(ofKind(permutation), defaultsTo("random", key{
			name: "permutation", doc: "who sends to whom: at random; `transpose`, the coordinates in reverse order; `bit-complement`, to the opposite end of each dimension; `bit-reverse` and `shuffle`, of the bits of its number; `tornado`, just less than half-way round each dimension",
			choices: fixed(collective.Permutations...),
			field:   of(func(t *Traffic) any { return &t.Permutation }),
		})),
		when(ofKind(hotspot), defaultsTo(1, key{
			name: "hot_nodes", doc: "nodes that draw more traffic, chosen by the seed", min: 1, max: 1 << 20,
			field: of(func(t *Traffic) any { return &t.Hot }),
		})),
		when(ofKind(hotspot), defaultsTo(0.1, key{
			name: "hot_share", doc: "share of each node's bytes that goes to them, beside the rest to all", above: true, max: 1,
			field: of(func(t *Traffic) any { return &t.HotShare }),
		})),
		{
			name: "matrix_file", doc: "CSV file with a row of bytes for each node that sends, in place of matrix", omit: true, when: ofKind(matrixTraffic),
			field: func(*Scenario, int) any { return new(string) }, // prepareTraffic reads it
		},
		{
			name: "matrix", doc: "bytes from each node, a row each, to each", when: ofKind(matrixTraffic), max: 1 << 50,
			field: of(func(t *Traffic) any { return &t.Matrix }),
		},
		{
			name: "sizes", doc: "`uniform`; `matrix`, as listed, or the name of a CSV file are another way to write kind = \"matrix\" with matrix or matrix_file", omit: true, when: ofKind(allToAll),
			field: func(*Scenario, int) any { return new(string) }, // matrixAlias reads it
		},
		when(ofKind(ringKinds...), defaultsTo("one", key{
			name: "rings", doc: "one ring through all nodes, or the rings of each dimension in turn, with the vector split over the orders of dimensions",
			choices: fixed("one", "per-dimension"),
			field:   of(func(t *Traffic) any { return &t.Rings }),
		})),
		when(both(ofKind(ringKinds...), perDimension), defaultsTo([]string(nil), key{
			name: "ring_dims", doc: "dimensions whose rings there are: the nodes that these join share a vector; none are all", choices: fixed("x", "y", "z"), empty: true,
			field: of(func(t *Traffic) any { return &t.RingDims }),
		})),
		when(ofKind(append([]string{dataTensor}, ringKinds...)...), key{
			name: "ring_form", choices: fixed("links", "line", "folded"),
			doc: "how rings along a dimension are laid: `links` follows links, which a twist joins into longer rings; `line` takes the nodes of a line, whose ends a twist parts; " +
				"`folded` goes up its even nodes and down its odd ones",
			field:   of(func(t *Traffic) any { return &t.RingForm }),
			fillDoc: "links; of several dimensions' rings on twisted tori line",
			fill: func(s *Scenario, _ int) {
				s.Workload.RingForm = "links"
				if s.Workload.Rings == "per-dimension" && len(s.Workload.RingDims) != 1 && s.Fabric.twisted() {
					s.Workload.RingForm = "line"
				}
			},
		}),
		when(ofKind(append([]string{dataTensor}, ringKinds...)...), key{
			name: "bidirectional", doc: "whether half of the vector goes round the other way; of data-tensor traffic, whether nodes send both ways round",
			field:   of(func(t *Traffic) any { return &t.Bidirectional }),
			fillDoc: "true; of data-tensor traffic false",
			fill:    func(s *Scenario, _ int) { s.Workload.Bidirectional = s.Workload.Kind != dataTensor },
		}),
		when(ofKind(dataTensor), defaultsTo([]string{"x", "y"}, key{
			name: "tensor_dims", doc: "dimensions of the slices in which all send to all", choices: fixed("x", "y", "z"),
			field: of(func(t *Traffic) any { return &t.TensorDims }),
		})),
		when(ofKind(dataTensor), defaultsTo([]string{"z"}, key{
			name: "data_dims", doc: "dimensions along which every node sends to the next", choices: fixed("x", "y", "z"),
			field: of(func(t *Traffic) any { return &t.DataDims }),
		})),
		when(both(packets, ofKind(dataTensor)), defaultsTo(3, key{
			name: "alternations", doc: "how often the slices and then the rings have their turn", min: 1, max: 1000,
			field: of(func(t *Traffic) any { return &t.Alternations }),
		})),
		when(both(packets, ofKind(dataTensor)), defaultsTo(engine.Second/10, key{
			name: "phase", doc: "how long a turn lasts",
			field: of(func(t *Traffic) any { return &t.Phase }),
		})),
		when(ofKind(dataTensor), key{
			name: "ring_rate", doc: "payload of each flow along the rings over time", above: true, max: maxRate,
			field:   of(func(t *Traffic) any { return &t.RingRate }),
			fillDoc: "rate",
			fill:    func(s *Scenario, _ int) { s.Workload.RingRate = s.Workload.Rate },
		}),
	}
}

func stepKeys() []key {
	of := func(f func(t *Step) any) func(*Scenario, int) any {
		return func(s *Scenario, _ int) any { return f(&s.Workload.Step) }
	}
	return []key{
		defaultsTo(0.0, key{
			name: "share", doc: "time of the collective in units of the whole step's, without faults; 0 is no step", max: 1,
			field: of(func(t *Step) any { return &t.Share }),
		}),
		defaultsTo(0.0, key{
			name: "overlap", doc: "part of the collective that computing hides, while there is computing to hide it", max: 1,
			field: of(func(t *Step) any { return &t.Overlap }),
		}),
		defaultsTo(0.0, key{
			name: "slowdown", doc: "of a step that somebody measured, for the share that it implies: 0.03 is 3 %; 0 is none", max: 1000,
			field: of(func(t *Step) any { return &t.Slowdown }),
		}),
	}
}

// packets returns how long so many packets take on a link.
func (s *Scenario) packets(n float64) engine.Time {
	rate := s.Fabric.LinkRate
	if rate <= 0 { // it is filled in later
		rate = defaultLinkRate
	}
	t := n * 8 * float64(s.Workload.Packet) / float64(rate) * float64(engine.Second)
	return engine.Time(min(t, float64(engine.Never)/8))
}
