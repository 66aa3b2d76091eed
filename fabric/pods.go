// Package fabric models the hardware that jobs run on: GPUs with NICs, pods of GPUs, and optical
// circuits between pods. It converts them to an engine.Network with routes.
//
// Pods describes the hardware of a job. Pods.Connect routes the transfers of a task graph and
// returns an Optical, which has bundles of circuits between pods; Optical.Provision sets their
// numbers of circuits. Pods.Packets converts the result for the packet level. Begin reading with
// Pods and Connect.
//
// Sub-packages describe other hardware: tori, graphs, scale-up domains and nested tiers.
// electrical is the ideal fabric, the baseline of all comparisons. Workloads define the
// transfers, policies choose the circuits, and engine simulates.
package fabric

import (
	"errors"
	"fmt"

	"sim/engine"
	"sim/engine/units"
)

// Pod is a group of GPUs on a non-blocking electrical network. Ports of its switches lead to
// optical circuit switches.
type Pod struct {
	Name    string
	Replica int        // replica of the job whose stages the pod holds
	Ports   int        // U_p: optical ports that the job may use (DELTA, Sec. V-A.1)
	Rate    units.Rate // of one port
}

// NIC is a set of network interfaces that always carry equal loads, one per GPU. Each interface
// has an outgoing and an incoming direction.
type NIC struct {
	Name string
	Rate units.Rate // of one interface in one direction
}

// Node is an endpoint of transfers: GPUs of one pod that send and receive in lockstep, each over
// its own interfaces.
type Node struct {
	Pod  int32   // index in Pods.Pods
	GPUs int32   // the flows of a transfer are spread evenly over them
	NICs []int32 // the NIC sets of the GPUs' interfaces, as indices in Pods.NICs
}

// Pods is the hardware of a job: its endpoints and the resources they share.
type Pods struct {
	Pods  []Pod
	NICs  []NIC // NIC sets
	Nodes []Node
	// PeerEnds is the number of neighbouring replicas to which each pod has circuits, if one of
	// several identical replicas is simulated: 1 for two replicas, 2 for more replicas on a ring. A
	// transfer to the same GPUs of a neighbouring replica has Src == Dst.
	PeerEnds int
	// PeerDirections is the number of directions in which circuits to peer pods are used: 2, or 1 on
	// a ring of more than two replicas that is used in one direction.
	PeerDirections int
	// Copies is the number of replicas that Pods represents, at least 1.
	Copies int
	// Inside is the network inside the pods. If it is nil, transfers inside pods take no time.
	Inside *PodNetwork
}

// Bundle is a set of parallel circuits between two pods, the unit of a logical topology. A
// circuit carries both directions (DELTA, Eq. 6).
type Bundle struct {
	A, B  int32   // pods, A < B; equal for a bundle to the DP peer pods in neighbouring replicas
	Peer  bool    // A == B
	Ends  int     // ports per circuit at A, and at B if it is another pod: 1, or PeerEnds
	Links []int32 // links of the network, one per direction in use
	Bytes int64   // bytes in both directions: its entry in the traffic matrix
	Flows int32   // maximum useful number of circuits: the number that its NICs can fill
}

// Optical is the network of a job on pods joined by circuits, with routes for the transfers of a
// graph.
type Optical struct {
	Pods    []Pod // of Pods
	Copies  int   // of Pods
	Bundles []Bundle
	Network *engine.Network // bundles have rate 0; see Provision
	Routes  *engine.Routes  // routes of the graph's tasks
}

// ErrFabric is wrapped by errors about invalid hardware.
var ErrFabric = errors.New("fabric: unusable hardware")

// Check returns an error if a node refers to a pod or NIC set that does not exist, or if a rate
// is not positive.
func (p *Pods) Check() error {
	for _, q := range p.Pods {
		if q.Ports < 1 || !(q.Rate > 0) {
			return fmt.Errorf("%w: %s has %d ports of %v", ErrFabric, q.Name, q.Ports, q.Rate)
		}
	}

	for _, n := range p.NICs {
		if !(n.Rate > 0) {
			return fmt.Errorf("%w: %s has rate %v", ErrFabric, n.Name, n.Rate)
		}
	}

	for i, n := range p.Nodes {
		if n.Pod < 0 || int(n.Pod) >= len(p.Pods) || n.GPUs < 1 {
			return fmt.Errorf("%w: node %d of %d GPUs is in pod %d of %d",
				ErrFabric, i, n.GPUs, n.Pod, len(p.Pods))
		}
		for _, c := range n.NICs {
			if c < 0 || int(c) >= len(p.NICs) {
				return fmt.Errorf("%w: node %d uses NIC set %d of %d", ErrFabric, i, c, len(p.NICs))
			}
		}
	}
	return nil
}

// BetweenPods reports whether a transfer between two nodes leaves its pod. A transfer from a
// node to itself leads to a peer pod.
func (p *Pods) BetweenPods(src, dst int32) bool {
	return p.Nodes[src].Pod != p.Nodes[dst].Pod || src == dst
}

// Interfaces appends the uses of a transfer outside the circuits: the NICs at both ends, or the
// links inside the pod. group is the resource number of the first of Groups.
func (p *Pods) Interfaces(uses []engine.Use, group, src, dst int32) []engine.Use {
	if p.usesNICs(src, dst) {
		return p.NICUses(uses, group, src, dst)
	}
	if p.Inside != nil {
		for _, l := range p.Inside.Path(src, dst) {
			uses = append(uses, engine.Use{Resource: group + 2*int32(len(p.NICs)) + l, Weight: 1})
		}
	}
	return uses
}

// usesNICs reports whether a transfer between two nodes uses their NICs: between pods, and between
// hosts of a pod that has a network inside hosts only.
func (p *Pods) usesNICs(src, dst int32) bool {
	if p.BetweenPods(src, dst) {
		return true
	}
	return p.hasHosts() && int(src)/p.Inside.HostNodes != int(dst)/p.Inside.HostNodes
}

// hasHosts reports whether the network inside pods joins only the nodes of a host.
func (p *Pods) hasHosts() bool { return p.Inside != nil && p.Inside.HostNodes > 0 }

// NICUses appends the uses of the NICs at both ends of a transfer. group is the resource of
// Groups()[0].
func (p *Pods) NICUses(uses []engine.Use, group, src, dst int32) []engine.Use {
	// A transfer spreads over the GPUs of a node, so each interface carries this part of its rate.
	from, to := &p.Nodes[src], &p.Nodes[dst]
	for _, c := range from.NICs {
		uses = append(uses, engine.Use{Resource: group + 2*c, Weight: 1 / float64(from.GPUs)})
	}

	for _, c := range to.NICs {
		uses = append(uses, engine.Use{Resource: group + 2*c + 1, Weight: 1 / float64(to.GPUs)})
	}
	return uses
}

// Groups returns the engine groups: each NIC set, outgoing before incoming, and then the links
// inside pods, if these are modelled.
func (p *Pods) Groups() []engine.Group {
	groups := make([]engine.Group, 0, 2*len(p.NICs))
	for _, n := range p.NICs {
		groups = append(groups, engine.Group{Rate: float64(n.Rate)}, engine.Group{Rate: float64(n.Rate)})
	}
	if p.Inside != nil {
		for _, l := range p.Inside.Network.Links {
			groups = append(groups, engine.Group{Rate: l.Rate})
		}
	}
	return groups
}

// GroupName returns the name of group g of Groups.
func (p *Pods) GroupName(g int32) string {
	if link := g - 2*int32(len(p.NICs)); link >= 0 {
		return p.Inside.Network.ResourceName(link)
	}
	if g%2 == 0 {
		return p.NICs[g/2].Name + " out"
	}
	return p.NICs[g/2].Name + " in"
}
