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

// loads is a decision on work without an end: what its circuits carry, and what becomes of packets at random times.
type loads struct {
	row      result.Row
	in       *instance
	circuits []int
	bytes    []float64           // by resource
	packets  *composition.Result // that were injected on them; nil of none
}

// endless reports whether the work has no end in time.
func (s *Scenario) endless() bool { return s.Engine.Level == "static" || s.Workload.HasPoissonSources }

// loads measures what the circuits of a decision carry.
func (in *instance) loads(name string, d *topology.Decision) (*loads, error) {
	n, err := in.optical.Provision(d.Circuits)
	if err != nil {
		return nil, err
	}
	z := &loads{in: in, circuits: d.Circuits, bytes: in.carried()}
	row := in.row(name, d)
	m, sum, count := row.Metrics, 0.0, 0
	for e, b := range in.optical.Bundles {
		for _, l := range b.Links {
			each := z.bytes[l] / float64(d.Circuits[e])
			m["max_circuit_bytes"] = max(m["max_circuit_bytes"], each)
			m["max_circuit_s"] = max(m["max_circuit_s"], 8*each/in.optical.Rate(e))
			sum, count = sum+z.bytes[l], count+d.Circuits[e]
		}
	}
	if count > 0 {
		m["mean_circuit_bytes"] = sum / float64(count)
	}
	first := int(n.GroupResource(0))
	for r, carried := range z.bytes {
		if carried > 0 {
			m["fluid_s"] = max(m["fluid_s"], 8*carried/n.Rate(int32(r)))
		}
		if r >= first && r < first+2*len(in.pods.NICs) {
			m["max_interface_bytes"] = max(m["max_interface_bytes"], carried)
		}
	}
	least := in.leastLoad(z.bytes)
	m["bound_max_circuit_s"], m["gap"] = least, max(0, m["max_circuit_s"]/least-1)
	row.Labels["gap_model"] = "any circuits that the ports of pods allow"
	row.Bounds = &result.Bounds{GapMetric: "max_circuit_s", Proofs: []result.ProvedBound{{Metric: "max_circuit_s", Bound: least, Model: row.Labels["gap_model"]}}}
	in.measureStages(&row)
	z.row = row
	return z, nil
}

// carried returns the bytes of all transfers over each resource.
func (in *instance) carried() []float64 {
	bytes := make([]float64, in.optical.Network.Resources())
	for i := range in.graph.Tasks {
		if t := &in.graph.Tasks[i]; t.Kind == engine.Transfer {
			for _, u := range in.optical.Routes.Of(int32(i)) {
				bytes[u.Resource] += u.Weight * float64(t.Bytes)
			}
		}
	}
	return bytes
}

// leastLoad returns in how many seconds the most loaded circuit can carry what it has to, at the least: to be as fast as
// that, each bundle needs so many circuits, and no pod more than it has ports.
func (in *instance) leastLoad(bytes []float64) float64 {
	alone := make([]float64, len(in.optical.Bundles)) // seconds of one circuit
	for e, b := range in.optical.Bundles {
		for _, l := range b.Links {
			alone[e] = max(alone[e], 8*bytes[l]/in.optical.Rate(e))
		}
	}
	need := make([]int, len(alone))
	fits := func(t float64) bool {
		for e := range need {
			c := math.Ceil(alone[e] / t)
			if c > float64(in.optical.Pods[in.optical.Bundles[e].A].Ports) {
				return false
			}
			need[e] = max(1, int(c))
		}
		for i, used := range in.optical.Ports(need) {
			if used > in.optical.Pods[i].Ports {
				return false
			}
		}
		return true
	}
	low, high := 0.0, slices.Max(alone)
	for range 100 {
		if t := (low + high) / 2; fits(t) {
			high = t
		} else {
			low = t
		}
	}
	fits(high)
	least := 0.0
	for e, c := range need {
		least = max(least, alone[e]/float64(c))
	}
	return least
}

// describe adds the circuits to an outcome, with a file of what each carries.
func (z *loads) describe(_ context.Context, o *assembly.Outcome) {
	p := result.Simulation{Policy: z.row.Policy, Topology: z.in.topology(z.circuits)}
	if z.packets != nil {
		p.MakespanS = z.packets.Stats.End.Seconds()
		o.Files = append(o.Files, z.packets.DescribePackets(&p)...)
	}
	o.Detail.Policies = append(o.Detail.Policies, p)
	var b bytes.Buffer
	b.WriteString("from,to,circuits,bytes,bytes_a_circuit,seconds\n")
	for e, u := range z.in.optical.Bundles {
		for _, l := range u.Links {
			from, to, _ := strings.Cut(z.in.optical.Network.ResourceName(l), " to ")
			each := z.bytes[l] / float64(z.circuits[e])
			fmt.Fprintf(&b, "%s,%s,%d,%.0f,%.6g,%.6g\n", from, to, z.circuits[e], z.bytes[l], each, 8*each/z.in.optical.Rate(e))
		}
	}
	o.Files = append(o.Files, result.File{Name: "circuits-" + z.row.Policy + ".csv", Data: b.Bytes()})
}
