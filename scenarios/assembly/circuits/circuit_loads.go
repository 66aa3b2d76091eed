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

// circuitLoads is a decision on work without an end: what its circuits carry, and what becomes of packets at random times.
type circuitLoads struct {
	row      result.Row
	system   *circuitSystem
	circuits []int
	bytes    []float64           // by resource
	packets  *composition.Result // that were injected on them; nil of none
}

// isEndless reports whether the work has no end in time.
func (s *Scenario) isEndless() bool {
	return s.Engine.Level == "static" || s.Workload.HasPoissonSources
}

// measureLoads measures what the circuits of a decision carry.
func (sys *circuitSystem) measureLoads(name string, d *topology.Decision) (*circuitLoads, error) {
	n, err := sys.optical.Provision(d.Circuits)
	if err != nil {
		return nil, err
	}
	loads := &circuitLoads{system: sys, circuits: d.Circuits, bytes: sys.bytesByResource()}
	row := sys.decisionRow(name, d)
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
	first := int(n.GroupResource(0))
	for r, bytes := range loads.bytes {
		if bytes > 0 {
			m["fluid_s"] = max(m["fluid_s"], 8*bytes/n.Rate(int32(r)))
		}
		if r >= first && r < first+2*len(sys.pods.NICs) {
			m["max_interface_bytes"] = max(m["max_interface_bytes"], bytes)
		}
	}
	bound := sys.minBottleneckSeconds(loads.bytes)
	m["bound_max_circuit_s"], m["gap"] = bound, max(0, m["max_circuit_s"]/bound-1)
	row.Labels["gap_model"] = "any circuits that the ports of pods allow"
	row.Bounds = &result.Bounds{GapMetric: "max_circuit_s", Proofs: []result.ProvedBound{{Metric: "max_circuit_s", Bound: bound, Model: row.Labels["gap_model"]}}}
	sys.addMappingMetrics(&row)
	loads.row = row
	return loads, nil
}

// bytesByResource returns the bytes of all transfers over each resource.
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

// minBottleneckSeconds returns in how many seconds the most loaded circuit can carry what it has to, at the least: to be as fast as
// that, each bundle needs so many circuits, and no pod more than it has ports.
func (sys *circuitSystem) minBottleneckSeconds(bytes []float64) float64 {
	singleCircuit := make([]float64, len(sys.optical.Bundles)) // seconds of one circuit
	for e, b := range sys.optical.Bundles {
		for _, l := range b.Links {
			singleCircuit[e] = max(singleCircuit[e], 8*bytes[l]/sys.optical.Rate(e))
		}
	}
	required := make([]int, len(singleCircuit))
	fits := func(t float64) bool {
		for e := range required {
			c := math.Ceil(singleCircuit[e] / t)
			if c > float64(sys.optical.Pods[sys.optical.Bundles[e].A].Ports) {
				return false
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
	low, high := 0.0, slices.Max(singleCircuit)
	for range 100 {
		if t := (low + high) / 2; fits(t) {
			high = t
		} else {
			low = t
		}
	}
	fits(high)
	bottleneck := 0.0
	for e, c := range required {
		bottleneck = max(bottleneck, singleCircuit[e]/float64(c))
	}
	return bottleneck
}

// describe adds the circuits to an outcome, with a file of what each carries.
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
			from, to, _ := strings.Cut(z.system.optical.Network.ResourceName(l), " to ")
			perCircuit := z.bytes[l] / float64(z.circuits[e])
			fmt.Fprintf(&b, "%s,%s,%d,%.0f,%.6g,%.6g\n", from, to, z.circuits[e], z.bytes[l], perCircuit, 8*perCircuit/z.system.optical.Rate(e))
		}
	}
	o.Files = append(o.Files, result.File{Name: "circuits-" + z.row.Policy + ".csv", Data: b.Bytes()})
}
