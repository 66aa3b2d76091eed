package links

import (
	"fmt"

	"sim/engine/units"
	"sim/fabric/graph"
	"sim/fabric/machine"
)

// CircuitSpine is the value of Cluster.Spine for optical circuit switches.
const CircuitSpine = "circuits"

// Cluster describes hosts of GPUs in pods that a spine joins. The spine is a layer of packet
// switches or a set of optical circuit switches, so that both are compared on equal hosts.
//
// A GPU reaches the other GPUs of its host over a switch in the host, and all other GPUs over its
// network interface, which leads to a leaf switch of its pod.
type Cluster struct {
	Hosts            int        `key:"hosts" doc:"number of hosts" required:"" min:"1" max:"131072"`
	GPUsPerHost      int        `key:"gpus_per_host" doc:"GPUs per host, each with a network interface of its own" else:"8, or the machine's" min:"1" max:"1024"`
	HostsPerPod      int        `key:"hosts_per_pod" doc:"hosts per pod, whose network interfaces lead to the same leaf switches" required:"" min:"1" max:"131072"`
	HostBandwidth    units.Rate `key:"host_bandwidth" doc:"rate of a GPU's link to the switch inside its host, in each direction" else:"3600Gbps, the rate of NVLink 4, or the rate that the machine reaches" above:"0" max:"1e16"`
	NICBandwidth     units.Rate `key:"nic_bandwidth" doc:"rate of a GPU's network interface in each direction" else:"400Gbps, or the rate that the machine reaches" above:"0" max:"1e16"`
	Spine            string     `key:"spine" doc:"what joins the pods: 'packets', a layer of packet switches; or 'circuits', optical circuit switches whose circuits allocators choose" default:"packets" choices:"packets|circuits"`
	UplinkBandwidth  units.Rate `key:"uplink_bandwidth" doc:"rate of a link from a leaf switch to the spine, or of an optical port, in each direction" else:"nic_bandwidth" above:"0" max:"1e16"`
	Oversubscription float64    `key:"oversubscription" doc:"ratio of the network interfaces of a pod to its uplinks; 1 means non-blocking" default:"1.0" above:"0.01" max:"1024"`
	Rails            bool       `key:"rails" doc:"whether a pod has a leaf switch per GPU of a host, which joins the GPUs of that index in all hosts (rail-optimised), instead of one leaf switch for all" default:"false" when:"fabric.spine=packets"`
}

// SetMachineDefaults sets the fields whose defaults depend on the machine, which may be nil, or
// on other fields. An uplink has the rate of a network interface.
func (c *Cluster) SetMachineDefaults(m *machine.Profile) {
	uplink := c.NICBandwidth
	c.GPUsPerHost, c.HostBandwidth, c.NICBandwidth = 8, 3600e9, 400e9
	if m != nil {
		c.GPUsPerHost, c.HostBandwidth, c.NICBandwidth = m.GPUsPerNode, m.HostBandwidth(), m.NICBandwidth()
	}
	c.UplinkBandwidth = uplink
}

// GPUs returns the number of GPUs of the cluster.
func (c *Cluster) GPUs() int { return c.Hosts * c.GPUsPerHost }

// GPUsPerPod returns the number of GPUs of a pod.
func (c *Cluster) GPUsPerPod() int { return c.HostsPerPod * c.GPUsPerHost }

// Pods returns the number of pods. The last one may have fewer hosts.
func (c *Cluster) Pods() int { return (c.Hosts + c.HostsPerPod - 1) / c.HostsPerPod }

// LeavesPerPod returns the number of leaf switches of a pod.
func (c *Cluster) LeavesPerPod() int {
	if c.Rails && c.Hosts > 1 {
		return c.GPUsPerHost
	}
	return 1
}

// Uplinks returns the number of links from a leaf switch to the spine, and of optical ports of a
// pod without rails. It is 0 if oversubscription leaves none.
func (c *Cluster) Uplinks() int {
	return int(float64(c.GPUsPerPod()/c.LeavesPerPod()) / c.Oversubscription)
}

// CheckSize returns an error if the cluster has more links than generated graphs, or if a packet
// switch has more outputs than a path can address. The error states the remedy ("; want ...").
func (c *Cluster) CheckSize() error {
	gpus, leaves, uplinks := float64(c.GPUs()), 0.0, 0.0
	if c.Spine != CircuitSpine {
		leaves, uplinks = float64(c.Pods()*c.LeavesPerPod()), float64(c.Uplinks())
	}
	if n := 2 * (gpus + leaves*uplinks); n > graph.MaxShapeLinks {
		return fmt.Errorf("%.3g links outside hosts are too many; want fewer hosts, GPUs per host or uplinks, for at most %d links",
			n, graph.MaxShapeLinks)
	}
	outputs := max(leaves, float64(c.GPUsPerPod()/c.LeavesPerPod())+uplinks)
	if leaves > 0 && outputs > maxSwitchOutputs {
		return fmt.Errorf("a switch has %.0f outputs; want smaller pods, fewer uplinks or fewer pods, for at most %d outputs",
			outputs, maxSwitchOutputs)
	}
	return nil
}

// BuildPacketNetwork builds the links of a cluster whose spine is packet switches: the switches
// inside hosts are an inner tier, and leaf and spine switches are a graph outside. Each leaf
// switch has one link to every spine switch, as in a two-level fat tree. A single leaf
// switch has no spine. The switches follow the GPUs: leaves pod by pod, then the spine. The GPUs of
// a single host are joined by the switch of the host alone.
func (l *Links) BuildPacketNetwork(c *Cluster) {
	l.LinkRate, l.Summary = c.NICBandwidth, c.Description()
	if c.Hosts == 1 {
		l.LinkRate = c.HostBandwidth
	} else if c.GPUsPerHost > 1 {
		host := &Links{LinkOptions: l.LinkOptions, Domain: Domain{GPUs: c.GPUsPerHost}, KindName: "hosts"}
		host.LinkRate = c.HostBandwidth
		host.BuildSwitchedDomain()
		l.InnerTiers = []*Links{host}
	}

	gpus, perPod, leavesPerPod := c.GPUs(), c.GPUsPerPod(), c.LeavesPerPod()
	leaves, spines := c.Pods()*leavesPerPod, c.Uplinks()
	if c.Pods() == 1 && leavesPerPod == 1 {
		spines = 0
	}
	l.Nodes, l.Switches.From, l.Edges, l.Names = gpus+leaves+spines, gpus, nil, nil
	join := func(a, b int, rate units.Rate) {
		const noOwnLatency = 0 // the default latency; see GraphLinks.Edges
		l.Edges = append(l.Edges, []int{a, b, int(rate), noOwnLatency}, []int{b, a, int(rate), noOwnLatency})
	}
	for g := range gpus {
		rail := g % c.GPUsPerHost % leavesPerPod
		join(g, gpus+g/perPod*leavesPerPod+rail, l.LinkRate)
		l.Names = append(l.Names, fmt.Sprint(g))
	}
	for leaf := range leaves {
		for spine := range spines {
			join(gpus+leaf, gpus+leaves+spine, c.UplinkBandwidth)
		}
		name := fmt.Sprintf("leaf of pod %d", leaf/leavesPerPod)
		if c.Rails {
			name = fmt.Sprintf("rail %d of pod %d", leaf%leavesPerPod, leaf/leavesPerPod)
		}
		l.Names = append(l.Names, name)
	}
	for spine := range spines {
		l.Names = append(l.Names, fmt.Sprintf("spine %d", spine))
	}
}

// Description describes the hosts, the pods and the spine in one line.
func (c *Cluster) Description() string {
	text := fmt.Sprintf("cluster of %s of %s in %s", plural(c.Hosts, "host"), plural(c.GPUsPerHost, "GPU"), plural(c.Pods(), "pod"))
	switch {
	case c.Spine == CircuitSpine:
		return text + fmt.Sprintf(", each with %s of %v", plural(c.Uplinks(), "optical port"), c.UplinkBandwidth)
	case c.Rails:
		text += fmt.Sprintf(" of %s", plural(c.GPUsPerHost, "rail"))
	}
	if c.Pods() == 1 && !c.Rails {
		return text
	}
	return text + fmt.Sprintf(", oversubscribed %g:1", c.Oversubscription)
}
