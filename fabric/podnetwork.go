package fabric

import (
	"fmt"

	"sim/engine"
	"sim/engine/units"
)

// PodNetwork is the network inside all pods. In it, GPUs have links in addition to their NICs.
type PodNetwork struct {
	Network *engine.Network // its first nodes are Pods.Nodes; the others forward
	// Path returns the links from one node of a pod to another, in order.
	Path func(src, dst int32) []int32
	Rate units.Rate // rate of a GPU's link to a non-blocking switch; 0 for other networks
	// HostNodes is the number of consecutive nodes of a host, if the network joins only the nodes
	// of a host. Hosts of a pod then exchange data over their NICs. 0 means that it joins all nodes
	// of a pod.
	HostNodes int
}

// SwitchedNetwork returns a network with a non-blocking switch in each pod. GPUs have a link of
// the given rate to the switch and one from it. Links 2i and 2i+1 lead out of and into node i.
func (p *Pods) SwitchedNetwork(rate units.Rate) *PodNetwork {
	nodes := int32(len(p.Nodes))
	n := &engine.Network{Nodes: nodes + int32(len(p.Pods))}
	for i := range p.Nodes {
		up := engine.Link{
			From: int32(i), To: nodes + p.Nodes[i].Pod,
			Rate: float64(rate) * float64(p.Nodes[i].GPUs)}
		n.Links = append(n.Links, up, engine.Link{From: up.To, To: up.From, Rate: up.Rate})
	}
	n.ResourceNamer = func(r int32) string {
		return fmt.Sprintf("node %d of %s, inside, %s",
			r/2, p.Pods[p.Nodes[r/2].Pod].Name, [2]string{"out", "in"}[r%2])
	}

	return &PodNetwork{
		Network: n,
		Path:    func(src, dst int32) []int32 { return []int32{2 * src, 2*dst + 1} },
		Rate:    rate}
}

// HostNetwork returns a network with a non-blocking switch in each host, to which a node has links
// of the given rate. A host holds hostNodes consecutive nodes of a pod.
//
// The links are the links of SwitchedNetwork. They end at one node per pod, but never carry data from
// one host to another.
func (p *Pods) HostNetwork(hostNodes int, rate units.Rate) *PodNetwork {
	hosts := p.SwitchedNetwork(rate)
	hosts.HostNodes = hostNodes
	return hosts
}

// ArrivalDelays returns the latency of transfers inside pods, indexed by task: the time from the
// last bit sent to its arrival. It returns nil if no transfer has a latency.
func (p *Pods) ArrivalDelays(g *engine.Graph) []engine.Time {
	if p.Inside == nil {
		return nil
	}

	delays, hasDelay := make([]engine.Time, len(g.Tasks)), false
	for i := range g.Tasks {
		if t := &g.Tasks[i]; t.Kind == engine.Transfer && !p.usesNICs(t.Src, t.Dst) {
			for _, l := range p.Inside.Path(t.Src, t.Dst) {
				delays[i] += p.Inside.Network.Links[l].Latency
			}
			hasDelay = hasDelay || delays[i] > 0
		}
	}
	if !hasDelay {
		return nil
	}
	return delays
}
