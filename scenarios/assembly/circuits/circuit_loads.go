// This file measures decisions on work without an end in time: messages at level static,
// and Poisson sources. The metrics are loads of circuits, that is, bytes and busy times,
// instead of completion times.

package circuits

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"sim/engine"
	"sim/policies/topology"
	"sim/scenarios/assembly"
	"sim/scenarios/assembly/composition"
	"sim/scenarios/result"
)

// circuitLoads is a decision on work without an end: messages at level static, or packets
// from Poisson sources. Its metrics are the loads of circuits and of network interfaces.
type circuitLoads struct {
	row      result.Row
	system   *circuitSystem
	circuits []int               // indexed by bundle
	bytes    []float64           // load in bytes, indexed by resource of the network
	packets  *composition.Result // simulation of Poisson sources; nil without them
}

// isEndless reports whether the work has no end in time.
func (s *Scenario) isEndless() bool {
	return s.Engine.Level == "static" || s.Workload.HasPoissonSources
}

// firstGroup is the first group of resources of a network, a network interface.
const firstGroup = 0

// measureLoads measures the loads that a decision results in. A bundle divides its load
// evenly among its circuits.
func (sys *circuitSystem) measureLoads(
	name string, d *topology.Decision,
) (*circuitLoads, error) {
	n, err := sys.optical.Provision(d.Circuits)
	if err != nil {
		return nil, err
	}
	loads := &circuitLoads{system: sys, circuits: d.Circuits, bytes: sys.bytesByResource()}
	row := sys.decisionRow(name, d)

	// Loads of circuits, in each direction.
	m, sum, count := row.Metrics, 0.0, 0
	for e, b := range sys.optical.Bundles {
		for _, l := range b.Links {
			perCircuit := loads.bytes[l] / float64(d.Circuits[e])
			m["max_circuit_bytes"] = max(m["max_circuit_bytes"], perCircuit)
			m["max_circuit_s"] = max(m["max_circuit_s"], 8*perCircuit/sys.optical.Rate(e))
			sum, count = sum+loads.bytes[l], count+d.Circuits[e]
		}
	}
	if count > 0 {
		m["mean_circuit_bytes"] = sum / float64(count)
	}

	// Busy times of all resources, and loads of the network interfaces among them. The
	// resources of interfaces come first among the groups, one per interface and direction.
	firstInterface := int(n.GroupResource(firstGroup))
	endInterfaces := firstInterface + 2*len(sys.pods.NICs)
	for r, bytes := range loads.bytes {
		if bytes > 0 {
			m["fluid_s"] = max(m["fluid_s"], 8*bytes/n.Rate(int32(r)))
		}
		if r >= firstInterface && r < endInterfaces {
			m["max_interface_bytes"] = max(m["max_interface_bytes"], bytes)
		}
	}

	// The bound holds for all topologies, so all rows share it.
	bound := sys.minBottleneckSeconds(loads.bytes)
	m["bound_max_circuit_s"], m["gap"] = bound, max(0, m["max_circuit_s"]/bound-1)
	model := "any circuits that the ports of pods allow"
	row.Labels["gap_model"] = model
	proof := result.ProvedBound{Metric: "max_circuit_s", Bound: bound, Model: model}
	row.Bounds = &result.Bounds{
		GapMetric: "max_circuit_s",
		Proofs:    []result.ProvedBound{proof},
	}
	sys.addMappingMetrics(&row)
	loads.row = row
	return loads, nil
}

// bytesByResource returns the bytes of all transfers over each resource of the network.
func (sys *circuitSystem) bytesByResource() []float64 {
	bytes := make([]float64, sys.optical.Network.Resources())
	for i := range sys.graph.Tasks {
		if t := &sys.graph.Tasks[i]; t.Kind == engine.Transfer {
			for _, u := range sys.optical.Routes.Of(int32(i)) {
				bytes[u.Resource] += u.Weight * float64(t.Bytes)
			}
		}
	}
	return bytes
}

// minBottleneckSeconds returns the minimum, over all topologies, of the busy time of the
// circuit with the longest busy time. The slice bytes holds the load of each resource.
//
// A busy time t is achievable if each bundle can have enough circuits to carry its load
// within t without exceeding the ports of any pod. The function finds the smallest such t
// by bisection.
func (sys *circuitSystem) minBottleneckSeconds(bytes []float64) float64 {
	// Busy time in seconds of a bundle with a single circuit.
	singleCircuit := make([]float64, len(sys.optical.Bundles))
	for e, b := range sys.optical.Bundles {
		for _, l := range b.Links {
			singleCircuit[e] = max(singleCircuit[e], 8*bytes[l]/sys.optical.Rate(e))
		}
	}

	// fits sets the required circuits for busy time t and reports whether they fit the
	// ports.
	required := make([]int, len(singleCircuit))
	fits := func(t float64) bool {
		for e := range required {
			c := math.Ceil(singleCircuit[e] / t)
			if c > float64(sys.optical.Pods[sys.optical.Bundles[e].A].Ports) {
				return false // before c exceeds the range of int
			}
			required[e] = max(1, int(c))
		}
		for i, used := range sys.optical.Ports(required) {
			if used > sys.optical.Pods[i].Ports {
				return false
			}
		}
		return true
	}

	// One circuit per bundle always fits. 100 steps exceed the precision of float64.
	low, high := 0.0, slices.Max(singleCircuit)
	for range 100 {
		if t := (low + high) / 2; fits(t) {
			high = t
		} else {
			low = t
		}
	}

	// The busy times of the required circuits are exact, unlike high.
	fits(high)
	bottleneck := 0.0
	for e, c := range required {
		bottleneck = max(bottleneck, singleCircuit[e]/float64(c))
	}
	return bottleneck
}

// describe adds the topology, packet statistics and a CSV file with the load of each
// circuit to an outcome.
func (z *circuitLoads) describe(_ context.Context, o *assembly.Outcome) {
	p := result.Simulation{Policy: z.row.Policy, Topology: z.system.topology(z.circuits)}
	if z.packets != nil {
		p.MakespanS = z.packets.Stats.End.Seconds()
		o.Files = append(o.Files, z.packets.DescribePackets(&p)...)
	}
	o.Detail.Policies = append(o.Detail.Policies, p)

	var b bytes.Buffer
	b.WriteString("from,to,circuits,bytes,bytes_a_circuit,seconds\n")
	for e, u := range z.system.optical.Bundles {
		for _, l := range u.Links {
			name := z.system.optical.Network.ResourceName(l)
			from, to, _ := strings.Cut(name, " to ")
			perCircuit := z.bytes[l] / float64(z.circuits[e])
			seconds := 8 * perCircuit / z.system.optical.Rate(e)
			fmt.Fprintf(&b, "%s,%s,%d,%.0f,%.6g,%.6g\n",
				from, to, z.circuits[e], z.bytes[l], perCircuit, seconds)
		}
	}
	o.Files = append(o.Files, result.File{
		Name: "circuits-" + z.row.Policy + ".csv",
		Data: b.Bytes(),
	})
}
