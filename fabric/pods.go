// Package fabric models the hardware that jobs run on and turns it into an engine.Network with routes: GPUs with a NIC
// each, pods of GPUs, and optical circuits between pods. Its sub-package electrical is the ideal non-blocking fabric
// that everything is measured against.
//
// It leaves what is moved to workloads, how many circuits there are between which pods to policies, and the simulating
// to engine.
package fabric

import (
	"errors"
	"fmt"

	"sim/engine"
	"sim/engine/units"
)

// Pod is a group of GPUs on one electrical network, which is not modelled: it never blocks. Ports of its switches lead
// to the optical circuit switches.
type Pod struct {
	Name    string
	Replica int        // of the job whose stages it holds
	Ports   int        // U_p: optical ports that the job may use (DELTA, Sec. V-A.1)
	Rate    units.Rate // of a port
}

// NIC is a set of network interfaces that are always used identically, one a GPU, with a direction out and one in.
type NIC struct {
	Name string
	Rate units.Rate // of one interface in one direction
}

// Node is an end point of transfers: GPUs of one pod that send and receive in lockstep, each over its own NIC.
type Node struct {
	Pod  int32
	GPUs int32   // a transfer's flows are spread evenly over them
	NICs []int32 // the sets that the GPUs' NICs belong to
}

// Pods is the hardware of a job: where its end points are and what they share.
type Pods struct {
	Pods  []Pod
	NICs  []NIC
	Nodes []Node
	// PeerEnds is used where the job is reduced to one of several isomorphic replicas, a transfer to the same GPUs of a
	// neighbouring replica then having Src == Dst: it is the number of neighbours that each pod has such circuits to, 1
	// for two replicas and 2 for more on a ring.
	PeerEnds int
	// PeerDirections is the number of directions in which circuits to peer pods are used: 2, or 1 on a ring of more
	// than two that is used one way round.
	PeerDirections int
	// Copies is the number of replicas that Pods stands for, at least 1.
	Copies int
	Inside *PodNetwork // nil is a network in which nothing takes any time
}

// Bundle is a set of parallel circuits between two pods, the unit of a logical topology. A circuit serves both
// directions (DELTA, Eq. 6).
type Bundle struct {
	A, B  int32   // pods, A < B; equal for a bundle to the DP peer pods in neighbouring replicas
	Peer  bool    // A == B
	Ends  int     // ports that one circuit takes of A (and of B, if another pod): 1, or PeerEnds
	Links []int32 // of the network, one a direction in use
	Bytes int64   // moved over it, both directions together: its entry in the traffic matrix
	Flows int32   // circuits beyond this number carry nothing: the flows that its NICs can fill
}

// Optical is the network of a job on pods joined by circuits, with the routes of a graph's transfers on it.
type Optical struct {
	Pods    []Pod
	Copies  int
	Bundles []Bundle
	Network *engine.Network // links at the rate of no circuit; see Provision
	Routes  *engine.Routes
}

// ErrFabric is wrapped by errors about hardware that cannot be.
var ErrFabric = errors.New("fabric: unusable hardware")

// Check fails when a node, pod or NIC set does not exist or a rate is not positive.
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
			return fmt.Errorf("%w: node %d of %d GPUs is in pod %d of %d", ErrFabric, i, n.GPUs, n.Pod, len(p.Pods))
		}
		for _, c := range n.NICs {
			if c < 0 || int(c) >= len(p.NICs) {
				return fmt.Errorf("%w: node %d uses NIC set %d of %d", ErrFabric, i, c, len(p.NICs))
			}
		}
	}
	return nil
}

// BetweenPods reports whether a transfer between two nodes leaves its pod.
func (p *Pods) BetweenPods(src, dst int32) bool {
	return p.Nodes[src].Pod != p.Nodes[dst].Pod || src == dst
}

// Interfaces adds the uses of the NICs at both ends of a transfer to uses, or of one inside a pod of the links there. group is the resource of the first NIC set's outward direction; its inward direction follows it.
func (p *Pods) Interfaces(uses []engine.Use, group, src, dst int32) []engine.Use {
	from, to := &p.Nodes[src], &p.Nodes[dst]
	if !p.BetweenPods(src, dst) {
		if p.Inside != nil {
			for _, l := range p.Inside.Path(src, dst) {
				uses = append(uses, engine.Use{Resource: group + 2*int32(len(p.NICs)) + l, Weight: 1})
			}
		}
		return uses
	}
	for _, c := range from.NICs {
		uses = append(uses, engine.Use{Resource: group + 2*c, Weight: 1 / float64(from.GPUs)})
	}
	for _, c := range to.NICs {
		uses = append(uses, engine.Use{Resource: group + 2*c + 1, Weight: 1 / float64(to.GPUs)})
	}
	return uses
}

// Groups returns the network groups of the NICs, outward before inward, and then of the links inside pods, where these are
// modelled.
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

// GroupName names group g of Groups.
func (p *Pods) GroupName(g int32) string {
	if link := g - 2*int32(len(p.NICs)); link >= 0 {
		return p.Inside.Network.ResourceName(link)
	}
	if g%2 == 0 {
		return p.NICs[g/2].Name + " out"
	}
	return p.NICs[g/2].Name + " in"
}
