package training

import (
	"fmt"

	"sim/engine/units"
	"sim/fabric"
)

// Layout describes the hardware on which the replicas of a graph run.
type Layout struct {
	// GPUsPerPod is the number of GPUs of one replica per pod. It is a multiple of the
	// GPUs per stage or, if every GPU is a node, a divisor of them.
	GPUsPerPod int
	Replicas   []ReplicaLayout // one entry if one replica stands for all
	// StagePods is the pod of each stage, indexed by replica x PP + stage. It replaces
	// PodMap and allows pods to hold stages of several replicas, all with the same number
	// of stages.
	StagePods []int32
	// PodNumbers are the numbers used in the names of pods, indexed by pod of a replica
	// or, with StagePods, by pod. nil counts from 0.
	PodNumbers   []int
	IntraPodRate units.Rate // rate of a GPU's link within its pod; 0 means such transfers take no time
}

// ReplicaLayout is the hardware of one replica.
type ReplicaLayout struct {
	Pod fabric.Pod // ports and link rate of each pod
	NIC units.Rate // rate of a GPU's network interface, per direction
	// PodMap is a permutation of the replica's pods. Block i of consecutive stages, or
	// part of a stage, is in pod PodMap[i]. nil is the identity.
	PodMap []int
}

// Place assigns the iteration's nodes to pods. Each pod belongs to one replica. Place
// fails if pods do not hold whole stages, if stages do not fill whole pods, or if the
// layout does not fit the replicas.
func (it *Iteration) Place(l Layout) (*fabric.Pods, error) {
	if err := it.checkLayout(l); err != nil {
		return nil, err
	}

	// If one replica stands for all, each pod also has links to its peers in other
	// replicas.
	s := &it.Spec
	p := &fabric.Pods{Copies: 1}
	if !it.All {
		p.Copies = s.Replicas()
		p.PeerEnds, p.PeerDirections = min(2, p.Copies-1), 2
		if p.PeerEnds == 2 && !it.Spec.SplitsRing() {
			p.PeerDirections = 1
		}
	}

	pods := s.PP * s.StageGPUs() / l.GPUsPerPod // per replica
	it.addPods(p, l, pods)
	if err := it.addNodes(p, l, pods); err != nil {
		return nil, err
	}

	if l.IntraPodRate > 0 {
		p.Inside = p.SwitchedNetwork(l.IntraPodRate)
	}
	return p, nil
}

// checkLayout returns an error if stages and pods do not divide each other, or if l has another
// number of replicas or stages than the iteration.
func (it *Iteration) checkLayout(l Layout) error {
	s := &it.Spec
	gpus := s.StageGPUs()
	replicas := len(it.GradientsReady)
	podsHoldStages := l.GPUsPerPod >= gpus && l.GPUsPerPod%gpus == 0
	stagesSpanPods := l.GPUsPerPod > 0 && gpus%l.GPUsPerPod == 0 && len(it.Nodes) == replicas*s.PP*gpus
	if !podsHoldStages && !stagesSpanPods || s.PP*gpus%l.GPUsPerPod != 0 {
		return fmt.Errorf("training: %d stages of %d GPUs do not fill pods of %d GPUs", s.PP,
			gpus, l.GPUsPerPod)
	}

	if len(l.Replicas) != replicas {
		return fmt.Errorf("training: layout of %d replicas for an iteration of %d",
			len(l.Replicas), replicas)
	}

	if l.StagePods != nil && (len(l.StagePods) != replicas*s.PP || l.GPUsPerPod < gpus) {
		return fmt.Errorf("training: StagePods has %d entries for %d stages, and pods have %d GPUs; want one entry per stage, and whole stages per pod",
			len(l.StagePods), replicas*s.PP, l.GPUsPerPod)
	}
	return nil
}

// addPods adds the pods of all replicas to p.
func (it *Iteration) addPods(p *fabric.Pods, l Layout, podsPerReplica int) {
	for r, replica := range l.Replicas {
		for i := range podsPerReplica {
			number := i
			if i < len(l.PodNumbers) {
				number = l.PodNumbers[i]
			}
			pod := replica.Pod
			pod.Name, pod.Replica = fmt.Sprintf("pod %d", number), r
			switch {
			case l.StagePods != nil:
				if pod.Replica = 0; len(p.Pods) < len(l.PodNumbers) {
					number = l.PodNumbers[len(p.Pods)]
				}
				pod.Name = fmt.Sprintf("pod %d", number)
			case it.All:
				pod.Name = fmt.Sprintf("pod %d.%d", r, number)
			}
			p.Pods = append(p.Pods, pod)
		}
	}
}

// addNodes adds the nodes to p, with one set of NICs for each distinct group of GPUs. If nodes of
// a stage overlap, the node with all GPUs uses the sets of both halves. It returns an error if a
// PodMap is not a permutation.
func (it *Iteration) addNodes(p *fabric.Pods, l Layout, podsPerReplica int) error {
	s := &it.Spec
	gpus := s.StageGPUs()
	sets := map[[3]int]int32{} // index in p.NICs, by replica, stage and first GPU
	for _, n := range it.Nodes {
		if n.GPUs == gpus && it.hasHalves(n) {
			continue
		}
		sets[[3]int{n.Replica, n.Stage, n.First}] = int32(len(p.NICs))
		name := fmt.Sprintf("NICs of stage %d", n.Stage+1)
		if it.All {
			name += fmt.Sprintf(" replica %d", n.Replica)
		}
		if n.GPUs < gpus {
			name += fmt.Sprintf(" GPUs %d..%d", n.First, n.First+n.GPUs-1)
		}
		p.NICs = append(p.NICs, fabric.NIC{Name: name, Rate: l.Replicas[n.Replica].NIC})
	}

	for _, n := range it.Nodes {
		pod := (n.Stage*gpus + n.First) / l.GPUsPerPod
		if m := l.Replicas[n.Replica].PodMap; m != nil {
			if len(m) != podsPerReplica || m[pod] < 0 || m[pod] >= podsPerReplica {
				return fmt.Errorf("training: pod map %v of replica %d is not a permutation of %d pods",
					m, n.Replica, podsPerReplica)
			}
			pod = m[pod]
		}

		node := fabric.Node{Pod: int32(n.Replica*podsPerReplica + pod), GPUs: int32(n.GPUs)}
		if l.StagePods != nil {
			node.Pod = l.StagePods[n.Replica*s.PP+n.Stage]
		}
		if id, ok := sets[[3]int{n.Replica, n.Stage, n.First}]; ok && (n.GPUs < gpus || !it.hasHalves(n)) {
			node.NICs = []int32{id}
		} else {
			node.NICs = []int32{sets[[3]int{n.Replica, n.Stage, 0}],
				sets[[3]int{n.Replica, n.Stage, gpus / 2}]}
		}
		p.Nodes = append(p.Nodes, node)
	}
	return nil
}

// hasHalves reports whether n has all GPUs of its stage and the stage also has nodes for
// the halves.
func (it *Iteration) hasHalves(n Node) bool {
	return it.Spec.SplitsRing() && n.GPUs == it.Spec.StageGPUs()
}
