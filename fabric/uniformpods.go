package fabric

import (
	"fmt"

	"sim/engine/units"
)

// UniformPods describes identical pods.
type UniformPods struct {
	Pods, NodesPerPod int        // number of pods, and nodes per pod
	GPUsPerNode       int        // GPUs that send and receive in lockstep
	Ports             int        // per pod
	PortRate, NICRate units.Rate // of one port and of one interface
}

// New returns the pods. Node n is in pod n/NodesPerPod and has its own NIC set.
func (u UniformPods) New() *Pods {
	p := &Pods{Copies: 1}
	for pod := range u.Pods {
		p.Pods = append(p.Pods, Pod{
			Name: fmt.Sprintf("pod %d", pod), Ports: u.Ports, Rate: u.PortRate})

		for k := range u.NodesPerPod {
			name := fmt.Sprintf("NICs of pod %d", pod)
			if u.NodesPerPod > 1 {
				name += fmt.Sprintf(" node %d", k)
			}
			p.Nodes = append(p.Nodes, Node{
				Pod: int32(pod), GPUs: int32(u.GPUsPerNode),
				NICs: []int32{int32(len(p.NICs))}})
			p.NICs = append(p.NICs, NIC{Name: name, Rate: u.NICRate})
		}
	}
	return p
}
