package graph

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"sim/engine"
	"sim/engine/units"
)

// Formats are the formats of files with a graph: lists of links (Read), and the topologies of two
// other simulators.
var Formats = []Format{
	{"links", Read},
	{"htsim", readHtsim},
	{"ns3", readNS3},
}

// Format is a named format.
type Format struct {
	Name string
	// Read reads a graph. name is the name of the file in messages. The error wraps ErrList if the
	// file is invalid.
	Read func(r io.Reader, name string, o Options) (*Graph, error)
}

// topologyReader reads the lines of a topology file.
type topologyReader struct {
	lines *bufio.Scanner
	name  string // file name for messages
	line  int    // number of the current line
}

// next returns the words of the next line that has any, without comments. It returns nil at the
// end of the file.
func (in *topologyReader) next() ([]string, error) {
	for in.lines.Scan() {
		in.line++
		text, _, _ := strings.Cut(in.lines.Text(), "#")
		if words := strings.Fields(text); len(words) > 0 {
			return words, nil
		}
	}
	if err := in.lines.Err(); err != nil {
		return nil, fmt.Errorf("%w: %s:%d: %w", ErrList, in.name, in.line+1, err)
	}
	return nil, nil
}

// fault returns an error of the current line.
func (in *topologyReader) fault(format string, args ...any) error {
	return fmt.Errorf("%w: %s:%d: %s", ErrList, in.name, in.line, fmt.Sprintf(format, args...))
}

// newTopologyReader returns a reader of lines of up to a megabyte.
func newTopologyReader(r io.Reader, name string) *topologyReader {
	const maxLine = 1 << 20 // list of 150,000 switches
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, maxLine)
	return &topologyReader{lines: lines, name: name}
}

// topologyGraph returns the graph of links between numbered nodes. The first nodes are the hosts.
func topologyGraph(links []engine.Link, hosts, nodes int) (*Graph, error) {
	g := &Graph{Network: &engine.Network{Nodes: int32(nodes), Links: links}, Endpoints: hosts}
	for node := range nodes {
		g.Names = append(g.Names, strconv.Itoa(node))
	}
	return g, g.Validate()
}

// htsimTier is the block of a tier in a file of htsim: 0 are the switches of hosts (ToR).
type htsimTier struct {
	rate          float64     // of links to the tier below, in bit/s
	latency       engine.Time // of these links
	switchLatency engine.Time // of a packet in a switch
	down, up      int         // links of a switch to the tier below and above
	bundle        int         // parallel links between a switch and one of the tier below
}

// readHtsim reads a topology of htsim (.topo), a fat tree of two or three tiers of switches. The
// latency of a switch is added to the links that lead to it. Hosts come first, and then the
// switches from the lowest tier.
//
//	Nodes 8
//	Tiers 2
//	Podsize 8
//	Tier 0
//	Downlink_speed_Gbps 100
//	Radix_Down 4
//	Radix_Up 2
//	Downlink_Latency_ns 1000
//	Tier 1
//	...
func readHtsim(r io.Reader, name string, _ Options) (*Graph, error) {
	in := newTopologyReader(r, name)
	sizes := map[string]int{"Nodes": 0, "Tiers": 0, "Podsize": 0}
	var tiers []htsimTier
	for {
		words, err := in.next()
		if err != nil {
			return nil, err
		}
		if words == nil {
			break
		}
		if len(words) != 2 {
			return nil, in.fault("%d words; want a key and a number", len(words))
		}
		key := strings.ToUpper(words[0][:1]) + strings.ToLower(words[0][1:]) // case does not matter
		value, err := strconv.Atoi(words[1])
		if err != nil || value < 0 || value > MaxNodes*1000 {
			return nil, in.fault("%.40q is no value of %.40q; want a whole number", words[1], words[0])
		}
		if _, ok := sizes[key]; ok {
			sizes[key] = value
			continue
		}
		if key == "Tier" {
			if value != len(tiers) || value > 2 {
				return nil, in.fault("tier %d; want tiers 0, 1 and 2 in order", value)
			}
			tiers = append(tiers, htsimTier{bundle: 1})
			continue
		}
		if len(tiers) == 0 {
			return nil, in.fault("%.40q stands before the first tier; want Nodes, Tiers, Podsize or Tier", words[0])
		}
		switch t := &tiers[len(tiers)-1]; key {
		case "Downlink_speed_gbps":
			t.rate = float64(value) * 1e9
		case "Downlink_latency_ns":
			t.latency = engine.Time(value) * engine.Nanosecond
		case "Switch_latency_ns":
			t.switchLatency = engine.Time(value) * engine.Nanosecond
		case "Radix_down":
			t.down = value
		case "Radix_up":
			t.up = value
		case "Bundle":
			t.bundle = value
		case "Oversubscribed": // follows from the radices
		default:
			return nil, in.fault("%.40q is not known; want speeds, latencies, radices and bundles, and write queues in the scenario", words[0])
		}
	}
	return htsimGraph(in, sizes, tiers)
}

// htsimGraph builds the fat tree of an htsim file.
func htsimGraph(in *topologyReader, sizes map[string]int, tiers []htsimTier) (*Graph, error) {
	hosts, podHosts := sizes["Nodes"], sizes["Podsize"]
	if podHosts == 0 {
		podHosts = hosts
	}
	if len(tiers) != sizes["Tiers"] || len(tiers) < 2 {
		return nil, in.fault("%d blocks of %d tiers; want 2 or 3 tiers", len(tiers), sizes["Tiers"])
	}
	for k, t := range tiers {
		if t.rate == 0 || t.down < 1 || t.bundle < 1 || k+1 < len(tiers) && t.up < 1 {
			return nil, in.fault("tier %d has no speed or no links; want Downlink_speed_Gbps, Radix_Down and Radix_Up above 0", k)
		}
	}

	// Numbers of switches per pod and in total. A tree of two tiers is one pod.
	if len(tiers) == 2 {
		podHosts = hosts
	}
	tor, agg := tiers[0], tiers[1]
	if hosts < 1 || hosts > MaxNodes || podHosts < 1 || hosts%podHosts != 0 || podHosts%tor.down != 0 {
		return nil, in.fault("%d hosts in pods of %d, with %d at a switch; want numbers that divide each other, at most %d hosts",
			hosts, podHosts, tor.down, MaxNodes)
	}
	pods, podToRs := hosts/podHosts, podHosts/tor.down
	podAggs := tor.up / agg.bundle
	if tor.up%agg.bundle != 0 || agg.down != podToRs*agg.bundle {
		return nil, in.fault("a switch of tier 1 has %d links down, and its pod %d switches of tier 0 with bundles of %d; want as many",
			agg.down, podToRs, agg.bundle)
	}
	firstAgg := hosts + pods*podToRs
	firstCore := firstAgg + pods*podAggs
	aggCores := 0 // cores of each switch of tier 1
	if len(tiers) == 3 {
		core := tiers[2]
		aggCores = agg.up / core.bundle
		if agg.up%core.bundle != 0 || core.down != pods*core.bundle {
			return nil, in.fault("a switch of tier 2 has %d links down, and there are %d pods with bundles of %d; want as many",
				core.down, pods, core.bundle)
		}
	}
	nodes := firstCore + podAggs*aggCores
	links := 2 * (hosts + pods*podToRs*tor.up + pods*podAggs*agg.up*(len(tiers)-2))
	if nodes > MaxNodes || links > MaxLinks {
		return nil, in.fault("%d nodes and %d links; want at most %d and %d", nodes, links, MaxNodes, MaxLinks)
	}

	var all []engine.Link
	join := func(low, high, tier int, below engine.Time) {
		t := &tiers[tier]
		for range t.bundle {
			all = append(all,
				engine.Link{From: int32(low), To: int32(high), Rate: t.rate, Latency: t.latency + t.switchLatency},
				engine.Link{From: int32(high), To: int32(low), Rate: t.rate, Latency: t.latency + below})
		}
	}
	tiers[0].bundle = 1 // hosts have one link
	for h := range hosts {
		join(h, hosts+h/tor.down, 0, 0)
	}
	for s := range pods * podToRs {
		for k := range podAggs {
			join(hosts+s, firstAgg+s/podToRs*podAggs+k, 1, tor.switchLatency)
		}
	}
	// Switches at the same position in all pods share their cores.
	for s := range pods * podAggs {
		for k := range aggCores {
			join(firstAgg+s, firstCore+s%podAggs+podAggs*k, 2, agg.switchLatency)
		}
	}
	return topologyGraph(all, hosts, nodes)
}

// readNS3 reads a topology of the ns-3 models of HPCC, SimAI and ASTRA-sim. The first line has the
// numbers of nodes, switches and links, or in SimAI of nodes, GPUs per server, NVLink switches,
// other switches and links, and the kind of GPU. The second line lists the switches, which must be
// the last nodes. Each other line is a link in both directions: two nodes, rate, latency and the
// probability of an error, which must be 0.
func readNS3(r io.Reader, name string, _ Options) (*Graph, error) {
	in := newTopologyReader(r, name)
	words, err := in.next()
	if err != nil {
		return nil, err
	}
	var counts []int
	for _, w := range words {
		if n, err := strconv.Atoi(w); err == nil && n >= 0 {
			counts = append(counts, n)
		}
	}
	var nodes, switches, links int
	switch {
	case len(words) == 3 && len(counts) == 3:
		nodes, switches, links = counts[0], counts[1], counts[2]
	case len(words) == 6 && len(counts) >= 5:
		nodes, switches, links = counts[0], counts[2]+counts[3], counts[4]
	default:
		return nil, in.fault("%d words; want the numbers of nodes, switches and links, or the six of SimAI", len(words))
	}
	if nodes < 1 || nodes > MaxNodes || switches >= nodes || 2*links > MaxLinks {
		return nil, in.fault("%d nodes, %d switches and %d links; want up to %d nodes, some of them hosts, and %d links",
			nodes, switches, links, MaxNodes, MaxLinks/2)
	}

	// The switches, in any order.
	if switches > 0 {
		if words, err = in.next(); err != nil {
			return nil, err
		}
		var ids []int
		for _, w := range words {
			id, err := strconv.Atoi(w)
			if err != nil {
				return nil, in.fault("%.40q is no node; want the numbers of the %d switches", w, switches)
			}
			ids = append(ids, id)
		}
		slices.Sort(ids)
		for k, id := range ids {
			if id != nodes-switches+k {
				ids = nil
				break
			}
		}
		if len(ids) != switches {
			return nil, in.fault("the switches are not the last %d nodes; want these, each once", switches)
		}
	}

	var all []engine.Link
	for {
		words, err := in.next()
		if err != nil {
			return nil, err
		}
		if words == nil {
			break
		}
		if len(words) != 5 || len(all) == 2*links {
			return nil, in.fault("%d words after %d links; want %d links of two nodes, rate, latency and error rate",
				len(words), len(all)/2, links)
		}
		a, errA := strconv.Atoi(words[0])
		b, errB := strconv.Atoi(words[1])
		rate, errRate := units.ParseRate(words[2])
		latency, errLatency := units.ParseTime(words[3])
		errorRate, errError := strconv.ParseFloat(words[4], 64)
		switch {
		case errA != nil || errB != nil || min(a, b) < 0 || max(a, b) >= nodes || a == b:
			return nil, in.fault("a link from %.20q to %.20q; want two of %d nodes", words[0], words[1], nodes)
		case errRate != nil || rate <= 0 || errLatency != nil || latency < 0:
			return nil, in.fault("rate %.20q and latency %.20q; want such as 400Gbps and 0.0005ms", words[2], words[3])
		case errError != nil || errorRate != 0:
			return nil, in.fault("an error rate of %.20q; want 0, and write fabric.bit_errors in the scenario", words[4])
		}
		l := engine.Link{From: int32(a), To: int32(b), Rate: float64(rate), Latency: latency}
		all = append(all, l)
		l.From, l.To = l.To, l.From
		all = append(all, l)
	}
	if len(all) != 2*links {
		return nil, in.fault("%d links; want %d", len(all)/2, links)
	}
	return topologyGraph(all, nodes-switches, nodes)
}
