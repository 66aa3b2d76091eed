package collective

import (
	"cmp"
	"math"
	"slices"

	"sim/fabric/machine"
)

// libraryMethod is how a library performs a call: an algorithm with a protocol.
type libraryMethod struct {
	algorithm string
	protocol  string // "" for algorithms with one protocol
	// latency is the time of a call of no bytes.
	latency float64 // in seconds
	// transfer is the time of the bytes on the links, in seconds.
	transfer float64
	// fill is the fill time of its pipeline, in seconds; see machine.Collectives.
	fill float64
}

// Algorithms of libraries.
const (
	ringMethod       = "ring"
	treeMethod       = "tree"
	switchMethod     = "nvls"      // reduction in the switch of a node
	switchTreeMethod = "nvls-tree" // and trees between nodes
	directMethod     = "direct"
)

// maxFillSeconds is the transfer time from which the fill of a pipeline does not grow, because
// chunks have their maximum size. It was fitted with the profiles of package machine.
const maxFillSeconds = 900e-6

// seconds returns the time of a call on an idle machine.
func (m *libraryMethod) seconds() float64 {
	return m.latency + m.transfer + 2*math.Sqrt(m.fill*min(m.transfer, maxFillSeconds))
}

// protocolLatency holds the latencies of an algorithm with a protocol, in microseconds: of a call, of
// a hop inside a node and between nodes, and of posting a message to a network interface.
type protocolLatency struct{ base, hop, network, post float64 }

// protocols are the protocols of NCCL and their latencies for rings and trees, from its cost model
// (src/graph/tuning.cc, version 2.27).
var protocols = []struct {
	name       string
	ring, tree protocolLatency
}{
	{"LL", protocolLatency{6.6, 0.6, 2.7, 1}, protocolLatency{6.8, 0.6, 5, 1}},
	{"LL128", protocolLatency{14, 1.9, 4, 1}, protocolLatency{14, 1.25, 8.5, 1}},
	{"Simple", protocolLatency{8.4, 3.4, 14, 3}, protocolLatency{8.4, 4, 14, 3}},
}

// Further constants of NCCL's cost model.
const (
	simpleNetworkFactor = 1.4  // of the latency of rings between nodes, protocol Simple
	treeEfficiency      = 0.92 // of the rate of trees, relative to rings
	switchLatency       = 25   // of reductions in a switch, in us
	switchTreeLatency   = 20.9 // of a hop between nodes, in us
	messageHopLatency   = 14   // of a message between nodes, in us
)

// Constants of NCCL's messages (src/enqueue.cc and src/graph/paths.cc): the channels of a GPU, and
// the bytes from which a message inside a node uses twice as many.
const (
	messageChannels     = 32
	maxBytesPerChannels = 16 << 20
)

// libraryCall is a call as the cost model of a library takes it.
type libraryCall struct {
	m                 *machine.Profile
	kind              Kind
	n, nodes, perNode int     // ranks, nodes, and ranks of the largest node
	bytes             float64 // of the vector; of an all-to-all, that a rank sends
}

// methods returns the algorithms and protocols that the library can use for the call.
func (c *libraryCall) methods() (all []libraryMethod) {
	m := &c.m.Collectives
	ranks, nodes, perNode := float64(c.n), float64(c.nodes), float64(c.perNode)
	local := float64(c.m.HostBandwidth()) / 8                                                                // bytes per second
	nics := float64(c.m.ScaleOut.Rate) / 8 * float64(c.m.ScaleOut.NICs) / float64(c.m.GPUsPerNode) * perNode // of a node
	network := nics * c.m.ScaleOut.Efficiency
	if c.nodes == 1 {
		network = math.Inf(1)
	}
	meshShare := 1.0 // of the rate that the links to the other ranks have
	if c.m.ScaleUp.Mesh {
		meshShare = min(1, max(1, perNode-1)/max(1, float64(c.m.GPUsPerNode-1)))
	}
	hop := c.m.ScaleOut.Latency.Seconds()
	depth := math.Log2(nodes)

	add := func(algorithm, protocol string, latency, transfer, fill float64) {
		all = append(all, libraryMethod{algorithm, protocol, m.Launch.Seconds() + latency, transfer, fill})
	}
	networkFill := m.NetworkFill.Seconds() + 2*hop

	// Messages.
	if c.kind == AllToAll || c.kind == SendReceive {
		latency, fill := m.MessageLaunch.Seconds(), m.DirectFill.Seconds()
		if c.nodes > 1 {
			latency, fill = latency+messageHopLatency*1e-6+hop, networkFill
		}
		inside, outside := c.bytes*(perNode-1)/ranks, c.bytes*(ranks-perNode)/ranks
		transfer := max(inside/(local*meshShare), outside/(network/perNode))
		if c.kind == SendReceive {
			transfer = c.bytes / (local * c.messageShare())
			if c.nodes > 1 {
				transfer = c.bytes / (network / perNode)
			}
		}
		add(directMethod, "", latency, transfer, fill)
		return all
	}

	// steps is the number of steps of a ring, and share the share of the vector that a rank sends.
	rounds, steps, share := 1.0, ranks-1, (ranks-1)/ranks
	switch c.kind {
	case AllReduce:
		rounds, steps, share = 2, 2*steps, 2*share
	case Broadcast, Reduce:
		share = 1
	}
	if isRooted := c.kind == Broadcast || c.kind == Reduce; c.m.ScaleUp.Mesh && c.nodes == 1 && !isRooted {
		add(directMethod, "", 0, c.bytes*share/(local*meshShare), m.DirectFill.Seconds())
		return all
	}

	// Rings. One per rank of a node leaves each of its GPUs.
	ringRate := min(local, network)
	if c.nodes > 1 && c.perNode > 1 {
		ringRate = min(local*perNode/(perNode-1), network)
	}
	treeRate := min(local, network) * treeEfficiency / 2
	perLevel := 2.0 // how often a vector leaves a node
	if c.nodes == 2 {
		perLevel = 1
	}
	for _, p := range protocols {
		ring, tree := p.ring, p.tree
		ringLatency, treeLatency, fill := 0.0, 0.0, 0.0
		rate := [2]float64{ringRate, treeRate}
		switch p.name {
		case "LL":
			ring.hop, tree.hop = ring.hop*m.HopFactor, tree.hop*m.HopFactor
			for i := range rate {
				rate[i] = min(rate[i], float64(m.LLRate)/8)
			}
			if c.nodes > 1 {
				rate = [2]float64{nics * m.NetworkLLShare, nics * m.NetworkLLShare / perLevel}
			}
		case "LL128":
			rate[0], rate[1] = rate[0]*m.LL128Efficiency, rate[1]*m.LL128Efficiency
			if c.nodes > 1 {
				if m.NetworkLL128Share == 0 {
					continue
				}
				rate = [2]float64{
					min(ringRate, nics*m.NetworkLL128Share), min(treeRate, nics*m.NetworkLL128Share/perLevel),
				}
				ringLatency, treeLatency = m.NetworkLL128Latency.Seconds(), m.NetworkLL128Latency.Seconds()
			}
		case "Simple":
			if fill = m.RingFill.Seconds() * steps; c.nodes > 1 {
				fill = networkFill
			}
		}

		between := 0.0 // steps between nodes
		if c.nodes > 1 {
			between = rounds * (nodes - 1)
			ring.hop = max(ring.hop, ring.post)
		}
		ringLatency += (ring.base+(steps-between)*ring.hop+between*ring.network)*1e-6 + between*hop
		if p.name == "Simple" && c.nodes > 1 {
			ringLatency *= simpleNetworkFactor
		}
		add(ringMethod, p.name, ringLatency, c.bytes*share/rate[0], fill)
		if c.kind == AllReduce {
			treeLatency += (tree.base+2*((perNode-1)*tree.hop+depth*tree.network))*1e-6 + 2*depth*hop
			add(treeMethod, p.name, treeLatency, c.bytes/rate[1], fill)
		}
	}

	// Reductions in switches.
	if reduction := float64(c.m.ScaleUp.Rate) / 8 * c.m.ScaleUp.Reduction; c.kind == AllReduce && reduction > 0 && c.perNode > 1 {
		transfer := c.bytes * (perNode + 1) / perNode / reduction
		if c.nodes == 1 {
			add(switchMethod, "", switchLatency*1e-6, transfer, m.SwitchFill.Seconds())
		} else {
			latency := (switchLatency+2*depth*switchTreeLatency)*1e-6 + 2*depth*hop
			add(switchTreeMethod, "", latency, max(transfer, c.bytes*perLevel/network), networkFill)
		}
	}
	return all
}

// best returns the algorithm and protocol with the lowest time. method restricts the algorithms if
// the call can use it.
func (c *libraryCall) best(method string) libraryMethod {
	methods := c.methods()
	isOther := func(m libraryMethod) bool { return m.algorithm != method }
	if named := slices.DeleteFunc(slices.Clone(methods), isOther); len(named) > 0 {
		methods = named
	}
	return slices.MinFunc(methods, func(a, b libraryMethod) int { return cmp.Compare(a.seconds(), b.seconds()) })
}

// LibrarySeconds returns the time of a call by the library of a machine whose links are idle and
// whose nodes have equal numbers of ranks. bytes is the size of the vector, and for an all-to-all
// the bytes that a rank sends, with its own part. method names the algorithm; "" leaves the choice to
// the library.
func LibrarySeconds(m *machine.Profile, kind Kind, ranks, nodes int, bytes float64, method string) (float64, error) {
	if err := m.CheckCollectives(); err != nil {
		return 0, err
	}
	c := libraryCall{m: m, kind: kind, n: ranks, nodes: nodes, perNode: ranks / nodes, bytes: bytes}
	best := c.best(method)
	return best.seconds(), nil
}

// messageShare returns the share of a GPU's rate inside its node that one message uses. On a
// switch, it is the share of the channels that NCCL gives to the message.
func (c *libraryCall) messageShare() float64 {
	if c.m.ScaleUp.Mesh {
		return 1 / max(1, float64(c.m.GPUsPerNode-1))
	}
	channels := 1
	for 2*channels*c.n <= messageChannels {
		channels *= 2
	}
	for c.bytes/float64(channels) > maxBytesPerChannels && channels < messageChannels {
		channels *= 2
	}
	return float64(channels) / messageChannels
}
