package scenarios

import (
	"sim/engine"
	"sim/engine/units"
	"sim/fabric/graph"
	"sim/scenarios/schema"
)

// Links is what fabrics of kinds "torus" and "graph" have: nodes that forward
// packets over links.
type Links struct {
	TorusShape
	GraphLinks
	LinkOptions
	CubeOptions
	BrokenParts
	generators []graph.Generator // of the rows of graph.Generators, with their options
}

// TorusShape is the nodes of a torus and how they are joined.
type TorusShape struct {
	Dims  []int    `key:"dims" doc:"nodes along each dimension" required:"" min:"1" max:"1048576"`
	Twist string   `key:"twist" doc:"in three dimensions: six bits, whether wrap-around links of x land shifted by half of y, x by z, y by x, y by z, z by x, z by y; or 'tpuv4', the form of TPU v4" default:""`
	Shift [][]int  `key:"shift" doc:"in place of twist: for each dimension the vector by which its wrap-around links are shifted" default:"" max:"1048576"`
	Open  []string `key:"open" doc:"dimensions without wrap-around links, such as '[\"x\"]'" default:"" empty:""`
}

// GraphLinks is the nodes and links of a graph.
type GraphLinks struct {
	_         string   `key:"file" doc:"file with a line for each link: from, to, and if they differ rate and latency; in place of nodes and edges"`
	_         bool     `key:"undirected" doc:"whether each line of the file is a link both ways"`
	Generator string   `key:"generator" doc:"a known shape, in place of a file and of edges" default:"" choices:"@generators" unset:"" source:""`
	Names     []string `key:"names" doc:"names of the nodes in messages and files; none are their numbers" default:"" empty:""`
	Nodes     int      `key:"nodes" doc:"number of nodes" else:"as many as the links name" max:"1048576"`
	Edges     [][]int  `key:"edges" doc:"directed links: node from, node to, and perhaps bits per second and picoseconds of latency; 0 is link_rate and link_latency" max:"1152921504606847000"`
}

// LinkOptions are the links of either.
type LinkOptions struct {
	LinkRate    units.Rate  `key:"link_rate" doc:"rate of a link, each way" default:"400Gbps" above:"0" max:"1e16"`
	LinkLatency engine.Time `key:"link_latency" doc:"time that a bit takes along a link; at level flow only steps of ring collectives have it" default:"0s" when:"engine.level=packet|flow"`
	Queue       string      `key:"queue" doc:"what waits before a link: 'unbounded'; packets such as '100p' or a size such as '64KB', beyond which packets are dropped; or 'credit', where packets wait until there is room ahead" default:"unbounded" when:"engine.level=packet"`
	Channels    int         `key:"channels" doc:"virtual channels of a link" default:"2" else:"2" min:"1" max:"15" when:"engine.level=packet & fabric.queue=credit"`
	Buffer      units.Bytes `key:"buffer" doc:"room at a link's end for each channel; '0B' is what a round trip at full rate needs" default:"0B" when:"engine.level=packet & fabric.queue=credit"`
	BitErrors   float64     `key:"bit_errors" doc:"probability that a bit arrives wrong; the link then sends the packet again" default:"0.0" max:"0.1" when:"engine.level=packet"`
}

// CubeOptions are of tori that optical switches make of cubes. Others ignore them.
type CubeOptions struct {
	Cubes      []int       `key:"cubes" doc:"cubes of the pod that make the torus, the last dimension fastest; none are the first that are free" default:"" max:"63" when:"cubic"`
	BusyCubes  []int       `key:"busy_cubes" doc:"cubes that belong to other jobs" default:"" max:"63" when:"cubic"`
	Configured string      `key:"configured" doc:"how the same cubes are joined before: a twist, '\"\"' for a regular torus, or 'none', for the commands that are needed" default:"none" when:"cubic"`
	SwitchTime engine.Time `key:"switch_time" doc:"time that optical switches take to make connections" default:"10ms" when:"cubic"`
}

// BrokenParts is what of a torus is down, or not to be used.
type BrokenParts struct {
	FailedOCS      []string    `key:"failed_ocs" doc:"optical switches that are down, by dimension and place on a cube's face: '[\"x3\"]'" default:"" empty:""`
	FailedLinks    []string    `key:"failed_links" doc:"links that are down both ways, by node, dimension and way: '[\"17 x+\"]'" default:"" empty:""`
	FailedMachines []int       `key:"failed_machines" doc:"machines, of 2x2 chips, that are down" default:"" max:"1048576"`
	FailedChips    []int       `key:"failed_chips" doc:"nodes that are down" default:"" max:"1048576"`
	DrainedLinks   []string    `key:"drained_links" doc:"links that work and are not to be used, as failed_links has them" default:"" empty:""`
	FailAt         engine.Time `key:"fail_at" doc:"when what fails does so, on routes that did not expect it; '0s' is from the start, which routers know" default:"0s" when:"engine.level=packet"`
	RerouteAfter   engine.Time `key:"reroute_after" doc:"how much later packets take the routes that avoid it" default:"1ms" when:"engine.level=packet & fails-later"`
}

// Engine says how closely traffic is played.
type Engine struct {
	Level       string      `key:"level" doc:"'packet', through queues, for up to 100 billion hops of packets; 'flow', as fluid; or 'static', ways and loads alone" default:"packet" choices:"packet|flow|static"`
	Until       engine.Time `key:"until" doc:"when playing ends, whatever is on its way; '0s' is when all is delivered" default:"0s" when:"engine.level=packet"`
	SampleEvery engine.Time `key:"sample_every" doc:"time between looks at the queues, for queues.csv; '0s' is none" default:"0s" when:"engine.level=packet"`
}

// Routing is the options of routers.
type Routing struct {
	Routers        []string `key:"routers" doc:"the routers, in the order of the result's rows; route-optimised takes only ways that cannot deadlock, if there are such: its unconstrained_max_link_load is what others reach" else:"dor; wild-first where links or nodes of a torus are down, shortest where fabric.kind is graph" choices:"@routers"`
	Order          []string `key:"order" doc:"dimensions in the order in which they are routed; none is the longest first, or what faults ask for" default:"" choices:"x|y|z" empty:"" when:"wild(dor|wild-first|route-optimised)"`
	WildFirst      `table:"wild-first" doc:"Wild-first routing (TPU v4, Sec. 4.2)." when:"wild(wild-first|route-optimised)"`
	ECMP           `table:"ecmp" doc:"Equal-cost multi-path." when:"policy.routers~ecmp"`
	RandomShortest `table:"random-shortest" doc:"Shortest ways at random." when:"policy.routers~random-shortest"`
	Multipath      `table:"multipath" doc:"Several ways a pair." when:"policy.routers~multipath"`
	Optimised      OptimisedOptions `table:"route-optimised" doc:"The optimiser of routes (TPU v4, Sec. 4.3)." when:"policy.routers~route-optimised"`
}

// WildFirst is the options of wild-first routing.
type WildFirst struct {
	Wild    []string `key:"wild" doc:"dimensions of wild hops in their order; none is the order of dimensions turned round" default:"" choices:"x|y|z" empty:""`
	WildUse string   `key:"use" doc:"who may take wild hops: pairs whose every way in dimension order is dead, pairs of which one is, or all; \"\" is all where ways are optimised or several, and else any-dead" default:"" choices:"needed|any-dead|all" unset:""`
}

// ECMP is the options of equal-cost multi-path.
type ECMP struct {
	ECMPDraw string `key:"draw" doc:"what a link among the equal ones at each node is picked for: 'pair', by a hash of pair and node; 'node', by one of destination and node, so that all that meets goes on together; 'packet', at random, as ns-3's RandomEcmpRouting does" default:"pair" choices:"@draws"`
}

// RandomShortest is the options of shortest paths at random.
type RandomShortest struct {
	RandomDraw string `key:"draw" doc:"what one of all shortest ways, each as likely, is drawn for: each 'pair', each 'packet', or at each 'node' for each destination the next link, in proportion to the ways behind it" default:"pair" choices:"@draws"`
}

// Multipath is the options of several paths a pair.
type Multipath struct {
	Ways      int    `key:"ways" doc:"most ways of a pair, of which each packet takes one at random; of more shortest ways so many are drawn, so loads split per-hop are exact only where this is at least as many as a pair has" default:"8" min:"1" max:"1024"`
	Over      string `key:"over" doc:"shortest ways, or those of wild-first routing" default:"shortest" choices:"shortest|wild-first" called:"multipath over"`
	Split     string `key:"split" doc:"whether packets spread evenly over the ways, or at each hop over the next ones" default:"per-path" choices:"per-path|per-hop" when:"policy.multipath.over=shortest"`
	ExtraHops int    `key:"extra_hops" doc:"by how many hops wild-first ways may be longer than the shortest" default:"0" max:"1000" when:"policy.multipath.over=wild-first"`
}

// OptimisedOptions are the options of the router "route-optimised".
type OptimisedOptions struct {
	NeighbourCap int         `key:"neighbour_cap" doc:"most messages on a link when every node sends one to each neighbour, whatever the rates and demands, which goes before the load and holds for unconstrained_max_link_load and unconstrained_max_load_over_rate too; -1 is no limit" else:"2, and -1 where fabric.kind is graph" min:"-1" max:"1000000"`
	Budget       int64       `key:"budget" doc:"ways that are weighed in search of better ones, those of more than 16 hops as several; 0 is 30 million, and up to a million pairs at least 200 a pair; ring collectives at levels flow and packet have as much again for simulations, of which a transfer counts as 8" default:"0" max:"1000000000000000"`
	BoundRounds  int         `key:"bound_rounds" doc:"rounds of the search for a lower bound; 0 is 4000, and fewer on large fabrics whose nodes are not alike" default:"0" max:"1000000000"`
	Cache        string      `key:"cache" doc:"directory in which routes are kept for the next run; \"\" is none" default:""`
	MILP         bool        `key:"milp" doc:"have a MILP solver on the PATH choose among the ways, and prove the least load that they allow" default:"false"`
	Solver       string      `key:"solver" doc:"the solver; auto is the first that is found" default:"auto" choices:"auto|highs|cbc"`
	TimeLimit    engine.Time `key:"time_limit" doc:"wall-clock limit, which marks the result as not repeatable; 0s is none" default:"0s"`
}

// defaultLinkRate is that of a TPU v4's links, 50 GB/s.
const defaultLinkRate = units.Rate(400e9)

// torusParts are the tables of the fabric "torus" and of the policies that route on it.
func torusParts(s *Scenario) []schema.Part {
	l := &s.Fabric.Links
	return append([]schema.Part{{
		Path: "fabric", Doc: "The torus and its links.", Specs: []any{&s.Fabric.FabricKind, &l.TorusShape, &l.LinkOptions, &l.CubeOptions, &l.BrokenParts},
	}}, routerParts(s)...)
}

// graphParts are those of the fabric "graph".
func graphParts(s *Scenario) []schema.Part {
	l := &s.Fabric.Links
	specs := []any{&s.Fabric.FabricKind, &l.GraphLinks, &l.LinkOptions}
	for i, g := range graph.Generators {
		if i == len(l.generators) {
			l.generators = append(l.generators, g.New())
		}
		specs = append(specs, schema.Used{Spec: l.generators[i], When: "fabric.generator=" + g.Name})
	}
	return append([]schema.Part{{Path: "fabric", Doc: "The nodes and links.", Specs: specs}}, routerParts(s)...)
}

// routerParts are the tables that fabrics of links have beside their own.
func routerParts(s *Scenario) []schema.Part {
	return []schema.Part{
		{
			Path: "policy", Doc: "Which routers are compared.", Specs: []any{&s.Policy.Routing}, Defaults: func(int) []any {
				d := s.Policy.Routing
				d.Routers, d.Optimised.NeighbourCap = []string{s.Fabric.router()}, 2
				if s.Fabric.Kind == "graph" {
					d.Optimised.NeighbourCap = -1
				}
				return []any{&d}
			},
		},
		{Path: "engine", Doc: "How closely traffic is played.", Specs: []any{&s.Engine}},
	}
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
