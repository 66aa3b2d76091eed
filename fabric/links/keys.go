// Package links describes fabrics whose nodes forward packets over links: tori, graphs of any
// shape, switched domains, and tiers of these. Routers choose the paths.
//
// Links holds the keys of such a fabric in a scenario. Links.Build converts them to a System:
// the network with all links, the network that routers see, and the state of its parts.
// System.Network is the network that packets see. Begin reading with Links and System.
package links

import (
	"fmt"
	"math"
	"strconv"

	"sim/engine"
	"sim/engine/units"
	"sim/fabric/graph"
)

// Links holds the keys of the fabric kinds "torus", "graph" and "electrical". A fabric with
// InnerTiers is the outermost of several tiers.
type Links struct {
	TorusShape
	GraphLinks
	LinkOptions
	CubeOptions
	BrokenParts
	Generators []graph.Generator // one for each row of graph.Generators, with its options
	Switches   Switches          // of a graph
	Domain     Domain            // of kind "electrical"; zero for the others
	InnerTiers []*Links          // tiers inside this one, the innermost first
	KindName   string            // kind of the fabric
	Summary    string            // describes all tiers in one line; "" means that Description does
}

// Domain describes GPUs behind an electrical switch.
type Domain struct {
	GPUs int `key:"gpus" doc:"number of GPUs, each with a link to and from one non-blocking switch; of more than 4096 GPUs, packets pass the switch in two hops" required:"" min:"2" max:"16384"`
}

// A step of a path holds 12 bits for the output of a node. Larger switches are divided.
const maxSwitchOutputs = 4096

// noLatency is the latency of a link inside a switch; see GraphLinks.Edges.
const noLatency = -1

// BuildSwitchedDomain builds the links of a switched domain: links 2g and 2g+1 lead from GPU g
// to the switch and back. The switch is the last node. All links have the default rate and
// latency; see GraphLinks.Edges.
//
// A switch with more than maxSwitchOutputs GPUs is one node for its inputs, and one node per block
// of outputs. The links between them have the total rate of the outputs, and no latency. There are
// about as many blocks as outputs per block, because the size of path tables is proportional to the
// larger of the two.
func (l *Links) BuildSwitchedDomain() {
	n := l.Domain.GPUs
	l.Nodes, l.Switches.From, l.Edges, l.Names = n+1, n, nil, nil
	blockSize := n
	if n > maxSwitchOutputs {
		blockSize = int(math.Ceil(math.Sqrt(float64(n))))
		l.Nodes += (n + blockSize - 1) / blockSize
	}
	for g := range n {
		output := n
		if n > maxSwitchOutputs {
			output = n + 1 + g/blockSize
		}
		l.Edges = append(l.Edges, []int{g, n, 0, 0}, []int{output, g, 0, 0})
		l.Names = append(l.Names, strconv.Itoa(g))
	}
	l.Names = append(l.Names, "switch")
	for output := n + 1; output < l.Nodes; output++ {
		outputs := min(blockSize, n-(output-n-1)*blockSize)
		rate := min(float64(outputs)*float64(l.LinkRate), math.MaxInt64/2)
		l.Edges = append(l.Edges, []int{n, output, int(rate), noLatency})
		l.Names = append(l.Names, fmt.Sprintf("switch outputs %d", output-n))
	}
}

// Switches describes the nodes of a graph that only forward.
type Switches struct {
	From int `key:"first_node" doc:"number of the first switch; switches are the last nodes; 0 means no switches" default:"0" min:"0" max:"1048576"`
}

// Endpoints returns the number of nodes of a graph that send and receive. They are the first nodes.
func (l *Links) Endpoints() int {
	if l.Switches.From > 0 {
		return l.Switches.From
	}
	return l.Nodes
}

// IsSwitch returns whether each node of a graph is a switch, indexed by node; nil if it has no
// switches.
func (l *Links) IsSwitch() []bool {
	if l.Endpoints() == l.Nodes {
		return nil
	}
	isSwitch := make([]bool, l.Nodes)
	for n := l.Endpoints(); n < l.Nodes; n++ {
		isSwitch[n] = true
	}
	return isSwitch
}

// TorusShape describes the nodes of a torus and its wrap-around links.
type TorusShape struct {
	Dims  []int    `key:"dims" doc:"number of nodes along each dimension" required:"" min:"1" max:"1048576"`
	Twist string   `key:"twist" doc:"in three dimensions: six bits that shift wrap-around links by half a dimension, x by y, x by z, y by x, y by z, z by x, z by y; or 'tpuv4', the form of TPU v4" default:""`
	Shift [][]int  `key:"shift" doc:"instead of twist: for each dimension, the vector by which its wrap-around links are shifted" default:"" max:"1048576"`
	Open  []string `key:"open" doc:"dimensions without wrap-around links, such as '[\"x\"]'" default:"" empty:""`
}

// GraphLinks describes the nodes and links of a graph.
type GraphLinks struct {
	_         string   `key:"file" doc:"file with one line per link: source, destination and optionally rate and latency; instead of nodes and edges"`
	_         string   `key:"format" doc:"format of the file: 'links'; 'htsim', a topology of htsim (.topo); 'ns3', a topology of the ns-3 models of HPCC, SimAI and ASTRA-sim" choices:"links|htsim|ns3"`
	_         bool     `key:"undirected" doc:"whether each line of the file is a link in both directions; for format 'links'"`
	Generator string   `key:"generator" doc:"a known shape, instead of file and edges" default:"" choices:"@generators" unset:"" source:""`
	Names     []string `key:"names" doc:"names of the nodes in messages and files; an empty list means numbers" default:"" empty:""`
	Nodes     int      `key:"nodes" doc:"number of nodes" else:"as many as the links name" max:"1048576"`
	Edges     [][]int  `key:"edges" doc:"directed links: source node, destination node, and optionally bits per second and picoseconds of latency; 0 means link_rate and link_latency" max:"1152921504606847000"`
}

// LinkOptions describes the links of all kinds of fabrics.
type LinkOptions struct {
	LinkRate    units.Rate  `key:"link_rate" doc:"rate of a link in each direction" default:"400Gbps" above:"0" max:"1e16"`
	LinkLatency engine.Time `key:"link_latency" doc:"propagation delay of a link; at level flow a transfer arrives later by the latency of its longest path" default:"0s" when:"engine.level=packet|flow"`
	Queue       string      `key:"queue" doc:"queue of packets before a link: 'unbounded'; a number such as '100p' or a size such as '64KB', beyond which packets are dropped; or 'credit', where packets wait until the next buffer has space" default:"unbounded" when:"engine.level=packet"`
	Channels    int         `key:"channels" doc:"virtual channels per link" default:"2" else:"2" min:"1" max:"15" when:"engine.level=packet & fabric.queue=credit"`
	Buffer      units.Bytes `key:"buffer" doc:"buffer space per channel at the end of a link; '0B' means enough for a round trip at full rate, or for ten if there are switches" default:"0B" when:"engine.level=packet & fabric.queue=credit"`
	BitErrors   float64     `key:"bit_errors" doc:"probability of a bit error; the link then sends the packet again, or the packet is lost if hosts have a transport" default:"0.0" max:"0.1" when:"engine.level=packet"`
}

// CubeOptions describes the pod whose optical switches make a torus from cubes. Other fabrics
// ignore it.
type CubeOptions struct {
	Preset     string      `key:"preset" doc:"TPU whose chips form the torus, which sets the rate of links and, if the torus is made of cubes, the number of cubes and the largest slice" choices:"@pods" unset:"" default:"" implicit:""`
	PodCubes   int         `key:"pod_cubes" doc:"cubes of the pod, each with two ports of every optical switch" else:"64, or as many as the torus takes if these are more; the preset's if there is one" max:"16384" when:"cubic"`
	Cube       []int       `key:"cube" doc:"number of chips of a cube along each dimension; each pair of opposite faces has as many optical switches as links" else:"'[4, 4, 4]'" implicit:"" min:"1" max:"1048576" when:"cubic"`
	Cubes      []int       `key:"cubes" doc:"cubes of the pod that form the torus, last dimension fastest; an empty list means the first free ones" default:"" max:"16383" when:"cubic"`
	BusyCubes  []int       `key:"busy_cubes" doc:"cubes in use by other jobs" default:"" max:"16383" when:"cubic"`
	Configured string      `key:"previous_configuration" doc:"previous configuration of the cubes, to compute the required switch commands: a twist, '\"\"' for a regular torus, or 'none'" default:"none" when:"cubic"`
	SwitchTime engine.Time `key:"switch_time" doc:"time for optical switches to make connections" default:"10ms" when:"cubic"`
}

// BrokenParts lists the parts of a torus that are down or must not be used.
type BrokenParts struct {
	FailedOCS      []string    `key:"failed_ocs" doc:"failed optical switches, by dimension and position on a cube's face: '[\"x3\"]'" default:"" empty:""`
	FailedLinks    []string    `key:"failed_links" doc:"links that failed in both directions, by node, dimension and direction: '[\"17 x+\"]'" default:"" empty:""`
	FailedMachines []int       `key:"failed_machines" doc:"failed machines of 2x2 chips" default:"" max:"1048576"`
	FailedChips    []int       `key:"failed_chips" doc:"failed nodes" default:"" max:"1048576"`
	DrainedLinks   []string    `key:"drained_links" doc:"links that work but are not used, written as in failed_links" default:"" empty:""`
	FailAt         engine.Time `key:"failure_time" doc:"time at which the listed parts fail, unknown to routers; '0s' means failed from the start, known to routers" default:"0s" when:"engine.level=packet"`
	RerouteAfter   engine.Time `key:"reroute_delay" doc:"delay after failure_time until packets use paths that avoid the failed parts" default:"1ms" when:"engine.level=packet & fails-later"`
}

// DefaultRate is the rate of a TPU v4's links, 50 GB/s.
const DefaultRate = units.Rate(400e9)

// Faster returns l with the rate of each link multiplied by times.
func (l *Links) Faster(times int) *Links {
	f := *l
	f.LinkRate *= units.Rate(times)
	f.Edges = nil
	for _, e := range l.Edges {
		from, to, rate, latency := e[0], e[1], e[2], e[3]
		f.Edges = append(f.Edges, []int{from, to, times * rate, latency})
	}
	return &f
}
