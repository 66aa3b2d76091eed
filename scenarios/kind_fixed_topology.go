// This file describes fabric "scaleup" with switches that keep one topology. It is then a
// fabric of links, on which routers choose paths, and carries any workload. Switches that
// reconfigure are in kind_scaleup.go.
//
// A kind (kinds.go) is a value of workload.kind or fabric.kind. Each of its forms has the
// keys for certain fabrics (parts), and functions that prepare and check them.

package scenarios

import (
	"cmp"

	"sim/policies/reconfigure"
	"sim/scenarios/schema"
)

// fixedDomainTags are the tags of input.ScaleUp for switches that keep one topology.
var fixedDomainTags = schema.Tags{
	"GPUs":     `key:"gpus" doc:"number of GPUs in the domain" else:"8; of a matrix its rows; of a training step its GPUs" min:"2" max:"4096"`,
	"Switches": "",
	"Topology": `key:"topology" doc:"fixed topology of the switches, that of the named planner; without the key, a fixed topology is used only for work that planners cannot plan" else:"the first of these" choices:"@topologies"`,
}

// fixedLinkTags are the tags of links.LinkOptions for such a domain.
var fixedLinkTags = schema.Tags{
	"LinkRate":    `key:"link_rate" doc:"rate of a link in each direction" default:"800Gbps" above:"0" max:"1e16"`,
	"LinkLatency": `key:"link_latency" doc:"propagation delay per hop" default:"500ns"`,
	"Queue":       `key:"queue" doc:"queue of packets before a link, as on tori" default:"unbounded" when:"engine.level=packet"`,
	"Channels":    "",
	"Buffer":      "",
	"BitErrors":   "",
}

// reconfigures reports whether planners decide the topologies of the optical switches of s.
// Otherwise the switches keep one topology.
func (s *Scenario) reconfigures() bool { return s.Fabric.ScaleUp.Topology == "" }

// fixedTopologyForm is the form of fabric "scaleup" if its switches keep one topology. The
// domain is then a fabric of links on which routers choose paths.
func fixedTopologyForm() *form {
	return linkForm(form{
		qualifier: "whose switches keep a topology",
		doc: "A scale-up domain whose optical switches keep one topology, for any work and at any level: " +
			"where fabric.topology, routers or algorithms of collectives are given, at level static, and for work that planners do not plan.",
		when: func(s *Scenario) bool { return !s.reconfigures() },
		parts: func(s *Scenario) []schema.Part {
			return append([]schema.Part{{
				Path: "fabric", Doc: "The domain, its topology and its links.",
				Specs: []any{
					schema.RetaggedSpec{Spec: &s.Fabric.ScaleUp, Tags: fixedDomainTags},
					schema.RetaggedSpec{Spec: &s.Fabric.LinkOptions, Tags: fixedLinkTags},
				},
				Defaults: func(int) []any {
					// The number of GPUs follows from the work, and is 8 by default.
					d := s.Fabric.ScaleUp
					d.Topology = fixedTopologies()[0]
					if d.GPUs = cmp.Or(s.Workload.MinEndpoints(), 8); s.isTraining() {
						d.GPUs = s.Workload.GPUs
					}
					return []any{&d}
				},
			}}, routerParts(s)...)
		},
		check: checkFixedTopology,
	})
}

// fixedTopologies returns the planners whose topology does not depend on the traffic.
func fixedTopologies() []string {
	return plannersWhere(func(r *reconfigure.Planner) bool { return r.FixedTopology != nil })
}

// fileFixesTopology reports whether the keys of a file imply optical switches that keep one
// topology: a key that planners do not have, level "static", or a workload that planners do
// not plan.
func fileFixesTopology(root map[string]any) bool {
	// Keys of policies on links.
	policy := schema.Child(root, "policy")
	for _, key := range []string{"routers", "collective", "collectives", "mapping", "mappings"} {
		if _, given := policy[key]; given {
			return true
		}
	}
	_, given := schema.Child(root, "fabric")["topology"]
	return given ||
		schema.Child(root, "engine")["level"] == "static" ||
		!fileKind(root, "workload").supports(planCarrier)
}

// fileKind returns the kind that a section of a decoded file names, or a kind without
// forms.
func fileKind(root map[string]any, section string) *kind {
	name, _ := schema.Child(root, section)["kind"].(string)
	return cmp.Or(findKind(section, name), &kind{})
}

// fileReconfigures reports whether a decoded file describes optical switches whose
// topologies are planned.
func fileReconfigures(root map[string]any) bool {
	return fileKind(root, "fabric").supports(planCarrier) && !fileFixesTopology(root)
}

// peekTopology selects the form of fabric "scaleup" before the keys are read. Any value of
// Topology other than "" selects fixedTopologyForm; reading replaces it.
func (c *checker) peekTopology() {
	if t := &c.s.Fabric.ScaleUp.Topology; c.s.carrier() == planCarrier && fileFixesTopology(c.Root) {
		*t = "kept"
	}
}

// checkFixedTopology creates the links of the topology and checks the workload on them.
func checkFixedTopology(c *checker) {
	f, l := &c.s.Fabric.ScaleUp, &c.s.Fabric.Links
	if !c.OK("fabric.gpus", "fabric.switches", "fabric.topology") {
		return
	}

	if f.Switches >= f.GPUs {
		c.conflictf("fabric.switches fabric.gpus",
			"%d switches for %d GPUs; write at most %d: with so many every GPU has a link to every other",
			f.Switches, f.GPUs, f.GPUs-1)
		return
	}

	// The topology lists the links of each switch. Links from a GPU to itself are idle.
	l.Nodes, l.Edges = f.GPUs, nil
	for _, e := range reconfigure.ByName(f.Topology).FixedTopology(f.GPUs, f.Switches) {
		if e.From != e.To {
			// A rate and a latency of 0 stand for the rate and latency of the fabric.
			l.Edges = append(l.Edges, []int{int(e.From), int(e.To), 0, 0})
		}
	}

	checkGraphLinks(c)
}
