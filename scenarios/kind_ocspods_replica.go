package scenarios

import "sim/engine"

// timeLimit is the key of a search's wall-clock limit.
func timeLimit(field func(*Scenario, int) any) key {
	return defaultsTo(engine.Time(0), key{
		name: "time_limit", doc: "wall-clock limit, which marks the result as not repeatable; 0s is none", field: field,
	})
}

func replicaKeys() []key {
	return []key{
		{
			name: "index", doc: "which replica, from 0", required: true, max: 1e8,
			field: func(s *Scenario, i int) any { return &s.Replicas[i].Index },
		},
		defaultsTo(1.0, key{
			name: "compute_scale", doc: "compute takes this many times as long", above: true, max: 1e6,
			field: func(s *Scenario, i int) any { return &s.Replicas[i].ComputeScale },
		}),
		{
			name: "port_bandwidth", doc: "rate of its optical ports, each way", above: true, max: maxRate,
			field:   func(s *Scenario, i int) any { return &s.Replicas[i].PortBandwidth },
			fillDoc: "the fabric's",
			fill:    func(s *Scenario, i int) { s.Replicas[i].PortBandwidth = s.Fabric.PortBandwidth },
		},
		{
			name: "ports_per_pod", doc: "its optical ports in a pod", min: 1, max: maxPorts,
			field:   func(s *Scenario, i int) any { return &s.Replicas[i].PortsPerPod },
			fillDoc: "the fabric's",
			fill:    func(s *Scenario, i int) { s.Replicas[i].PortsPerPod = s.Fabric.PortsPerPod },
		},
		{
			// Filled by checkReplicas, once the number of pods is known to be sane.
			name: "pod_map", doc: "pod of each block of consecutive stages that share one", max: maxPorts,
			field:   func(s *Scenario, i int) any { return &s.Replicas[i].PodMap },
			fillDoc: "in order, or the other way round if fabric.reverse",
		},
	}
}
