// This file describes the fabric "cluster": hosts of GPUs in pods, described by one table.
// Its spine is packet switches, on which routers choose paths, or optical circuits, which
// allocators choose.
//
// A kind (kinds.go) is a value of workload.kind or fabric.kind. Each of its forms has the
// keys for certain fabrics (parts), and functions that prepare and check them.

package scenarios

import (
	"context"
	"slices"
	"strings"

	"sim/fabric/links"
	"sim/scenarios/assembly"
	"sim/scenarios/schema"
)

const clusterKindName = "cluster"

// clusterLinkTags are the keys of links.LinkOptions for a cluster, whose rates are keys of
// links.Cluster.
var clusterLinkTags = schema.Tags{"LinkLatency": "", "Queue": "", "Channels": "", "Buffer": "", "BitErrors": ""}

// clusterCircuitTags are the keys of input.OCSPods for a cluster, which describe moving circuits.
// The other fields follow from links.Cluster.
var clusterCircuitTags = schema.Tags{"Delay": "", "Switching": ""}

// clusterSizeKeys determine the sizes of a cluster.
var clusterSizeKeys = []string{
	"fabric.hosts", "fabric.gpus_per_host", "fabric.hosts_per_pod", "fabric.oversubscription",
}

// clusterKind describes the fabric "cluster".
func clusterKind() *kind {
	packets := linkForm(form{
		qualifier: "whose spine is packet switches",
		doc:       "Hosts of GPUs in pods that packet switches join: a fat tree of two levels, or a rail-optimised network.",
		when:      func(s *Scenario) bool { return s.Fabric.Cluster.Spine != links.CircuitSpine },
		parts: func(s *Scenario) []schema.Part {
			options := schema.RetaggedSpec{Spec: &s.Fabric.LinkOptions, Tags: clusterLinkTags}
			return append([]schema.Part{clusterPart(s, options)}, routerParts(s)...)
		},
		expand: func(c *checker) {
			if f := &c.s.Fabric; c.OK(clusterSizeKeys...) && f.Cluster.CheckSize() == nil {
				f.BuildPacketNetwork(&f.Cluster)
			}
		},
		check: checkPacketCluster,
	})
	circuits := &form{
		qualifier:         "whose spine is circuits",
		doc:               "Hosts of GPUs in pods that optical circuit switches join. Each GPU is a rank, so that replicas may share pods.",
		carrier:           circuitCarrier,
		policyKey:         "allocators",
		hardware:          podHardware(),
		unsupportedFormat: `workload %s; set fabric.spine = "packets"`,
		parts: func(s *Scenario) []schema.Part {
			options := schema.RetaggedSpec{Spec: &s.Fabric.OCSPods, Tags: clusterCircuitTags}
			return []schema.Part{clusterPart(s, options), allocatorPart(s), circuitLevelPart(s)}
		},
		expand: expandCircuitCluster,
		check:  checkCircuitCluster,
	}
	return &kind{
		name: clusterKindName, remedy: clusterRemedy, formKey: "fabric.spine", forms: []*form{packets, circuits},
	}
}

// clusterNames are names that people try for the fabric "cluster".
var clusterNames = []string{
	"clos", "dgx", "fat-tree", "fattree", "fat_tree", "folded-clos", "hosts", "leaf-spine", "nodes", "ocs", "pods",
	"rail", "rail-only", "rail-optimised", "rail-optimized", "rails", "spine-leaf", "superpod",
}

// clusterRemedy is kind.remedy of the fabric "cluster": the keys of a cluster for one of
// clusterNames.
func clusterRemedy(_ *checker, name string) string {
	if !slices.Contains(clusterNames, name) {
		return ""
	}
	remedy := `write kind = "` + clusterKindName + `" with hosts and hosts_per_pod`
	switch {
	case strings.HasPrefix(name, "rail"):
		remedy += ", and rails = true"
	case name == "ocs":
		remedy += `, and spine = "circuits"`
	}
	return remedy
}

// clusterPart is the table [fabric] of a cluster, with the further keys of its spine.
func clusterPart(s *Scenario, options any) schema.Part {
	return schema.Part{
		Path: "fabric", Doc: "The hosts, the pods and the spine that joins them.",
		Specs: []any{&s.Fabric.Cluster, options},
		Defaults: func(int) []any {
			d := s.Fabric.Cluster
			d.SetMachineDefaults(s.Profile)
			return []any{&d}
		},
	}
}

// hasCluster reports whether the fabric of s is a cluster.
func (s *Scenario) hasCluster() bool { return s.Fabric.Kind == clusterKindName }

// peekSpine selects the form of a cluster before the keys are read.
func (c *checker) peekSpine() {
	if c.s.hasCluster() {
		c.s.Fabric.Cluster.Spine, _ = schema.Child(c.Root, "fabric")["spine"].(string)
	}
}

// expandCircuitCluster sets the pods of a cluster whose spine is circuits.
func expandCircuitCluster(c *checker) {
	k, p := &c.s.Fabric.Cluster, &c.s.Fabric.OCSPods
	if !c.OK(clusterSizeKeys...) {
		return
	}
	p.Pods, p.GPUsPerPod, p.PortsPerPod = k.Pods(), k.GPUsPerPod(), max(1, k.Uplinks())
	p.PortBandwidth, p.NICBandwidth = k.UplinkBandwidth, k.NICBandwidth
	p.HostGPUs, p.InsideBandwidth = k.GPUsPerHost, k.HostBandwidth
}

// checkCluster checks the sizes of a cluster. It returns false if one is invalid.
func checkCluster(c *checker) bool {
	k := &c.s.Fabric.Cluster
	if !c.OK("fabric") || !c.OK(clusterSizeKeys...) {
		return false
	}
	c.conflictIf(k.HostsPerPod > k.Hosts, "fabric.hosts_per_pod fabric.hosts",
		"a pod of %d hosts in a cluster of %d; write at most %d", k.HostsPerPod, k.Hosts, k.Hosts)
	c.blame(strings.Join(clusterSizeKeys, " "), k.CheckSize())
	c.conflictIf(k.GPUs() < 2, "fabric.hosts fabric.gpus_per_host", "there is one GPU; choose at least 2")
	nics := k.GPUsPerPod() / k.LeavesPerPod()
	c.conflictIf(k.Uplinks() < 1 && k.Pods() > 1, "fabric.oversubscription fabric.hosts_per_pod",
		"%g:1 leaves no uplink to %d network interfaces; write at most %d", k.Oversubscription, nics, nics)
	return len(c.Diagnostics) == 0
}

// checkPacketCluster checks a cluster of packet switches and the workload on it.
func checkPacketCluster(c *checker) {
	if checkCluster(c) {
		checkGraphLinks(c)
	}
}

// checkCircuitCluster checks a cluster whose spine is circuits, and the workload on it.
func checkCircuitCluster(c *checker) {
	if !checkCluster(c) {
		return
	}
	k := &c.s.Fabric.Cluster
	switch {
	case k.Pods() < 2:
		c.conflictf("fabric.hosts_per_pod fabric.hosts",
			`all %d hosts are in one pod, which needs no circuits; choose smaller pods, or spine = "packets"`, k.Hosts)
	case k.Hosts%k.HostsPerPod != 0:
		c.conflictf("fabric.hosts fabric.hosts_per_pod",
			"%d hosts do not fill pods of %d; choose a multiple of %d", k.Hosts, k.HostsPerPod, k.HostsPerPod)
	default:
		checkOCSPods(c)
	}
}

// checkPodTraining checks a training step whose ranks fill the pods of a cluster.
func checkPodTraining(c *checker) {
	s, f := c.s, &c.s.Fabric
	w := s.rankWork()
	if !c.OK("workload", "fabric", "policy", "engine") {
		return
	}
	const mayFold = false
	if w.Check(c.Reader, mayFold); len(c.Diagnostics) > 0 {
		return
	}
	if w.Ranks() > f.Pods*f.GPUsPerPod {
		c.conflictf("workload.gpus fabric.hosts fabric.gpus_per_host",
			"%d GPUs do not fit %d hosts of %d; choose more hosts, or fewer GPUs",
			w.Ranks(), f.Cluster.Hosts, f.Cluster.GPUsPerHost)
		return
	}

	// The ranks fit the GPUs with each mapping, and the pods that exchange data have enough ports.
	ctx, in := context.Background(), s.circuitsView()
	for _, text := range s.Policy.Mapping.Names() {
		e, err := in.PlacedExpander(ctx, text)
		if c.blame("policy.mappings policy.mapping", err) {
			return
		}
		if keys, err := w.CheckCalls(ctx, e); assembly.ReportConflict(c, keys, err) || c.isCell {
			return
		}
		step, _, err := w.Build(ctx, e)
		if c.blame("workload.gpus", err) {
			return
		}
		const compute = 0 // checkTraining checks the time of computes
		checkPodTransfers(c, step.Graph, compute, "workload.gpus")
	}
}
