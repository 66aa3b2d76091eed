package scenarios

import (
	"slices"

	"sim/engine"
	"sim/engine/units"
	"sim/scenarios/schema"
	"sim/workloads/collective"
)

// Traffic is a workload of messages between all nodes of a fabric. Which of its
// fields are used depends on the workload's kind and on Source.
type Traffic struct {
	TrafficMessage
	TrafficPacket
	Payload     units.Bytes `key:"payload" doc:"what of a packet counts for sizes and rates" else:"packet" when:"engine.level=packet"`
	Source      string      `key:"source" doc:"how packets are injected: 'paced' at the rate at which the most loaded link is just full; 'greedy', as fast as the first links take them; 'window', so many of a flow on their way; 'on-off', every flow at a rate for a time; 'poisson', every node at random times" else:"paced; of data-tensor and uniform-random on-off and poisson" choices:"paced|greedy|window|on-off|poisson" when:"not-rings"`
	Rate        units.Rate  `key:"rate" doc:"payload of each flow over time while it is on" required:"" above:"0" max:"1e16" when:"source(on-off)"`
	Start       engine.Time `key:"start" doc:"when flows go on; the first packet comes one interval later" default:"1s" when:"engine.level=packet & source(on-off)"`
	Duration    engine.Time `key:"duration" doc:"how long flows are on; of Poisson sources, for how long packets are measured after the warm-up" else:"100ms; of Poisson sources the time of 4,000 packets on a link" when:"engine.level=packet & source(on-off|poisson)"`
	Load        float64     `key:"load" doc:"what each node injects, as a fraction of a link's rate" default:"0.1" above:"0" max:"1000" when:"engine.level=packet & source(poisson)"`
	Warmup      engine.Time `key:"warmup" doc:"packets injected before this time are not measured" else:"the time of 1,000 packets on a link" when:"engine.level=packet & source(poisson)"`
	Pace        float64     `key:"pace" doc:"rate of the flows, as a fraction of that at which the most loaded link is full" default:"1.0" above:"0" max:"1000" when:"engine.level=packet & source(paced)"`
	Window      int         `key:"window" doc:"packets of a flow that may be on their way at once" default:"8" min:"1" max:"1048576" when:"engine.level=packet & source(window)"`
	Injection   string      `key:"injection" doc:"order in which a node injects the packets of its flows: a packet of each in turn, of one drawn at random, or flow after flow" default:"round-robin" choices:"round-robin|random|sequential" when:"engine.level=packet & source(greedy|paced)"`
	Permutation string      `key:"permutation" doc:"who sends to whom: at random; 'transpose', the coordinates in reverse order; 'bit-complement', to the opposite end of each dimension; 'bit-reverse' and 'shuffle', of the bits of its number; 'tornado', just less than half-way round each dimension" default:"random" choices:"@permutations" when:"workload.kind=permutation"`
	TrafficMatrix
	Rings         string      `key:"rings" doc:"one ring through all nodes, or the rings of each dimension in turn, with the vector split over the orders of dimensions" default:"one" choices:"one|per-dimension" when:"workload.kind=ring-all-reduce|ring-reduce-scatter|ring-all-gather"`
	RingDims      []string    `key:"ring_dims" doc:"dimensions whose rings there are: the nodes that these join share a vector; none are all" default:"" choices:"x|y|z" empty:"" when:"workload.kind=ring-all-reduce|ring-reduce-scatter|ring-all-gather & workload.rings=per-dimension"`
	RingForm      string      `key:"ring_form" doc:"how rings along a dimension are laid: 'links' follows links, which a twist joins into longer rings; 'line' takes the nodes of a line, whose ends a twist parts; 'folded' goes up its even nodes and down its odd ones" else:"links; of several dimensions' rings on twisted tori line" choices:"links|line|folded" when:"workload.kind=data-tensor|ring-all-reduce|ring-reduce-scatter|ring-all-gather"`
	Bidirectional bool        `key:"bidirectional" doc:"whether half of the vector goes round the other way; of data-tensor traffic, whether nodes send both ways round" else:"true; of data-tensor traffic false" when:"workload.kind=data-tensor|ring-all-reduce|ring-reduce-scatter|ring-all-gather"`
	TensorDims    []string    `key:"tensor_dims" doc:"dimensions of the slices in which all send to all" default:"x,y" choices:"x|y|z" when:"workload.kind=data-tensor"`
	DataDims      []string    `key:"data_dims" doc:"dimensions along which every node sends to the next" default:"z" choices:"x|y|z" when:"workload.kind=data-tensor"`
	Alternations  int         `key:"alternations" doc:"how often the slices and then the rings have their turn" default:"3" min:"1" max:"1000" when:"engine.level=packet & workload.kind=data-tensor"`
	Phase         engine.Time `key:"phase" doc:"how long a turn lasts" default:"100ms" when:"engine.level=packet & workload.kind=data-tensor"`
	RingRate      units.Rate  `key:"ring_rate" doc:"payload of each flow along the rings over time" else:"rate" above:"0" max:"1e16" when:"workload.kind=data-tensor"`
	Step          Step        `table:"step" doc:"A training step of which the collective is a part: what faults do to it." when:"workload.kind=all-to-all|nearest-neighbour|ring-all-reduce|ring-reduce-scatter|ring-all-gather"`
}

// TrafficMessage is how large messages are.
type TrafficMessage struct {
	Message units.Bytes `key:"message" doc:"size of a message; of ring collectives, of the whole vector that they work on; of on-off sources, after which a flow is silent" else:"64KB; of on-off sources 0B, without end" when:"sizeable"`
}

// TrafficMatrix is messages that are listed.
type TrafficMatrix struct {
	_      string  `key:"matrix_file" doc:"CSV file with a row of bytes for each node that sends, in place of matrix" when:"workload.kind=matrix"`
	Matrix [][]int `key:"matrix" doc:"bytes from each node, a row each, to each" max:"1125899906842624" when:"workload.kind=matrix"`
	_      string  `key:"sizes" doc:"'uniform'; 'matrix', as listed, or the name of a CSV file are another way to write kind = \"matrix\" with matrix or matrix_file" when:"workload.kind=all-to-all"`
}

// TrafficPacket is how large packets are, of any workload.
type TrafficPacket struct {
	Packet units.Bytes `key:"packet" doc:"size of a packet on the wire" default:"1KB" when:"engine.level=packet"`
}

// Step is a training step of which a collective is a part, for what a fault does
// to it.
type Step struct {
	Share    float64 `key:"share" doc:"time of the collective in units of the whole step's, without faults; 0 is no step" default:"0.0" max:"1"`
	Overlap  float64 `key:"overlap" doc:"part of the collective that computing hides, while there is computing to hide it" default:"0.0" max:"1"`
	Slowdown float64 `key:"slowdown" doc:"of a step that somebody measured, for the share that it implies: 0.03 is 3 %; 0 is none" default:"0.0" max:"1000"`
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
	rows := [][2]string{
		{allToAll, "Every node sends a message to every other."},
		{nearestNeighbour, "Every node sends a message over each of its links."},
		{uniformRandom, "Every packet goes to a node drawn at random."},
		{permutation, "Every node sends to one other."},
	}
	for _, p := range collective.Patterns {
		rows = append(rows, [2]string{p.Name, p.Doc})
	}
	rows = append(rows, [][2]string{
		{matrixTraffic, "Bytes from each node to each, from a file or list."},
		{ringAllReduce, "All nodes sum a vector, in rings."},
		{ringReduceScatter, "All nodes sum a vector of which each keeps a part, in rings."},
		{ringAllGather, "All nodes gather the parts of a vector, in rings."},
		{dataTensor, "Tensor parallelism, all to all in slices, and data parallelism, rings across them, in turns (Gottipati, Sec. II-B.2)."},
	}...)
	var all []*kind
	for _, k := range rows {
		all = append(all, &kind{section: "workload", name: k[0], doc: k[1], like: "traffic", parts: trafficParts, prepare: prepareTraffic})
	}
	return all
}

func trafficParts(s *Scenario) []schema.Part {
	w := &s.Workload
	specs := []any{&w.WorkloadKind, &w.Traffic}
	for i, p := range collective.Patterns {
		if i == len(w.Patterns) {
			w.Patterns = append(w.Patterns, p.New())
		}
		specs = append(specs, schema.Used{Spec: w.Patterns[i], When: "workload.kind=" + p.Name})
	}
	return []schema.Part{{
		Path: "workload", Doc: "Who sends how much to whom, and how packets are injected.",
		Specs: specs, Defaults: func(int) []any { return []any{s.trafficDefaults()} },
	}}
}

// pattern returns the pattern of collective.Patterns that the kind names, nil where it is none.
func (w *Workload) pattern() collective.Pattern {
	i := slices.IndexFunc(collective.Patterns, func(p collective.Row) bool { return p.Name == w.Kind })
	if i < 0 || i >= len(w.Patterns) {
		return nil
	}
	return w.Patterns[i]
}

// hotSpots returns the pattern of that sort, nil of others.
func (w *Workload) hotSpots() *collective.HotSpots {
	h, _ := w.pattern().(*collective.HotSpots)
	return h
}

// trafficDefaults returns a copy of the traffic with the defaults that follow from other keys.
func (s *Scenario) trafficDefaults() *Traffic {
	d := s.Workload.Traffic
	switch s.Workload.Kind {
	case dataTensor:
		d.Source = "on-off"
	case uniformRandom:
		d.Source = "poisson"
	default:
		d.Source = "paced"
	}
	if s.Workload.Source != "on-off" {
		d.Message = 64e3
	}
	d.Payload, d.RingRate = d.Packet, d.Rate
	d.Duration, d.Warmup = engine.Second/10, s.packets(1_000)
	if s.Workload.Source == "poisson" {
		d.Duration = s.packets(4_000)
	}
	d.RingForm, d.Bidirectional = "links", s.Workload.Kind != dataTensor
	if d.Rings == "per-dimension" && len(d.RingDims) != 1 && s.Fabric.twisted() {
		d.RingForm = "line"
	}
	return &d
}

// timed reports whether messages have a size: on-off and Poisson sources have rates and times instead.
func (s *Scenario) timed() bool {
	w := &s.Workload
	return slices.Contains(ringKinds, w.Kind) || w.Source != "on-off" && w.Source != "poisson"
}

// sized reports whether all messages have one size.
func (s *Scenario) sized() bool {
	return s.Workload.Kind != matrixTraffic && s.Workload.Kind != "training" && s.timed()
}

// dependent reports whether transfers wait for each other, as those of ring collectives and of training steps do.
func (s *Scenario) dependent() bool {
	return slices.Contains(ringKinds, s.Workload.Kind) || s.Workload.Kind == "training"
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

// keysOf returns the keys of a pattern, for what is wrong with it.
func (w *Workload) keysOf(p collective.Pattern) []string {
	var keys []string
	for _, t := range schema.New(nil, schema.Part{Path: "workload", Specs: []any{p}}).Tables {
		for _, k := range t.Keys {
			keys = append(keys, "workload."+k.Name)
		}
	}
	return keys
}
