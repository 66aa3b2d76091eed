package graph

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sim/engine"
)

// htsimFatTree is a fat tree of three levels of switches with four ports.
const htsimFatTree = `# three tiers
Nodes 16
Tiers 3
Podsize 4
Tier 0
Downlink_speed_Gbps 200
Radix_Down 2
Radix_Up 2
Downlink_Latency_ns 1000
Switch_Latency_ns 50
Tier 1
Downlink_speed_Gbps 200
Radix_Down 2
Radix_Up 2
Downlink_Latency_ns 500
Switch_Latency_ns 70
Oversubscribed 1
Tier 2
Downlink_speed_Gbps 200
Radix_Down 4
Downlink_Latency_ns 100
`

// hopCounts returns the sorted distances in hops between all pairs of hosts.
func hopCounts(n *engine.Network, hosts int32) (all []int32) {
	distances := n.Hops(func(int) bool { return true })
	for a := range hosts {
		all = append(all, distances(a)[:hosts]...)
	}
	slices.Sort(all)
	return all
}

// TestHtsim compares a topology of htsim with the same fat tree of the generator: numbers of nodes and
// links, and distances. A path between hosts of two pods passes five switches, whose latencies
// are added to its six links.
func TestHtsim(t *testing.T) {
	g, err := readHtsim(strings.NewReader(htsimFatTree), "ft.topo", Options{})
	if err != nil {
		t.Fatal(err)
	}
	shape, err := FatTree{Ports: 4, Levels: 3, Oversubscription: 1}.Shape(0)
	if err != nil {
		t.Fatal(err)
	}
	want := &engine.Network{Nodes: int32(shape.Nodes)}
	for _, e := range shape.Links {
		want.Links = append(want.Links, engine.Link{From: int32(e.From), To: int32(e.To), Rate: 200e9})
	}
	if g.Endpoints != 16 || g.Nodes != want.Nodes || len(g.Links) != len(want.Links) ||
		!slices.Equal(hopCounts(g.Network, 16), hopCounts(want, 16)) {
		t.Errorf("%d hosts, %d nodes and %d links, want 16, %d and %d with the same distances",
			g.Endpoints, g.Nodes, len(g.Links), want.Nodes, len(want.Links))
	}

	// The latency of a path from host 0 to host 15: any shortest path.
	node, latency := int32(15), engine.Time(0)
	distances := g.Hops(func(int) bool { return true })(0)
	for node != 0 {
		k := slices.IndexFunc(g.Links, func(l engine.Link) bool {
			return l.To == node && distances[l.From] == distances[node]-1
		})
		latency += g.Links[k].Latency
		node = g.Links[k].From
	}
	wanted := 2*(1000+500+100)*engine.Nanosecond + (2*50+2*70)*engine.Nanosecond
	if latency != wanted {
		t.Errorf("latency between pods %v, want %v", latency, wanted)
	}
}

// TestHtsimBundles: bundles are parallel links, and two tiers are one pod.
func TestHtsimBundles(t *testing.T) {
	g, err := readHtsim(strings.NewReader("Nodes 8\nTiers 2\nPodsize 8\nTier 0\nDownlink_speed_Gbps 100\nRadix_Down 4\n"+
		"Radix_Up 4\nTier 1\nDownlink_speed_Gbps 50\nRadix_Down 4\nBundle 2\n"), "b.topo", Options{})
	if err != nil {
		t.Fatal(err)
	}
	parallel := 0 // links from switch 8 to 10
	for _, l := range g.Links {
		if l.From == 8 && l.To == 10 && l.Rate == 50e9 {
			parallel++
		}
	}
	if g.Nodes != 12 || len(g.Links) != 2*(8+2*4) || parallel != 2 {
		t.Errorf("%d nodes, %d links, %d parallel ones, want 12, 32 and 2", g.Nodes, len(g.Links), parallel)
	}
}

// TestNS3 reads the two headers of ns-3 topologies.
func TestNS3(t *testing.T) {
	for _, header := range []string{"4 1 3", "4 2 0 1 3 H100"} {
		g, err := readNS3(strings.NewReader(header+"\n3\n0 3 400Gbps 0.0005ms 0\n1 3 400Gbps 0.0005ms 0\n2 3 100Gbps 1us 0\n"),
			"t.txt", Options{})
		if err != nil {
			t.Fatal(err)
		}
		if g.Endpoints != 3 || g.Nodes != 4 || len(g.Links) != 6 ||
			g.Links[5] != (engine.Link{From: 3, To: 2, Rate: 100e9, Latency: engine.Microsecond}) {
			t.Errorf("%q: %+v", header, g.Network)
		}
	}
}

// TestTopologyErrors: each fault has one line that names the file, the line and accepted values.
func TestTopologyErrors(t *testing.T) {
	htsim := func(old, replacement string) string { return strings.Replace(htsimFatTree, old, replacement, 1) }
	for _, c := range []struct{ format, text, want string }{
		{"htsim", "", "want 2 or 3 tiers"},
		{"htsim", htsim("Tiers 3", "Tiers 2"), "3 blocks of 2 tiers"},
		{"htsim", htsim("Podsize 4", "Podsize 5"), "divide each other"},
		{"htsim", htsim("Radix_Down 4", "Radix_Down 3"), "want as many"},
		{"htsim", htsim("Radix_Up 2", "Queue_Up 2"), "write queues in the scenario"},
		{"htsim", htsim("Radix_Up 2", "Radix_Up two"), "want a whole number"},
		{"htsim", htsim("Tier 1", "Tier 2"), "want tiers 0, 1 and 2 in order"},
		{"htsim", htsim("Nodes 16", "Nodes 1000000000"), "at most"},
		{"htsim", "Radix_Up 2", "stands before the first tier"},
		{"htsim", "Nodes 8 9", "want a key and a number"},
		{"ns3", "", "want the numbers of nodes"},
		{"ns3", "3 1 9000000000\n2\n", "want up to"},
		{"ns3", "3 1 2\n1\n", "the switches are not the last 1 nodes"},
		{"ns3", "3 1 2\n2\n0 2 1Gbps 1us 0\n", "1 links; want 2"},
		{"ns3", "3 1 1\n2\n0 0 1Gbps 1us 0\n", "want two of 3 nodes"},
		{"ns3", "3 1 1\n2\n0 2 1Gbps 1us 0.1\n", "write fabric.bit_errors"},
		{"ns3", "3 1 1\n2\n0 2 fast 1us 0\n", "want such as 400Gbps"},
		{"ns3", "3 1 1\n2\n0 2 1Gbps 1us 0\n0 2 1Gbps 1us 0\n", "after 1 links"},
	} {
		k := slices.IndexFunc(Formats, func(f Format) bool { return f.Name == c.format })
		_, err := Formats[k].Read(strings.NewReader(c.text), "file", Options{})
		if !errors.Is(err, ErrList) || !strings.Contains(err.Error(), "file:") || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s %.60q: error %v, want %q", c.format, c.text, err, c.want)
		}
	}
}

// TestSampleTopologies reads topologies of other tools.
func TestSampleTopologies(t *testing.T) {
	for pattern, format := range map[string]string{
		"htsim/sim/datacenter/topologies/*.topo": "htsim", "simai/generated/*": "ns3",
	} {
		files, _ := filepath.Glob(filepath.Join("../../../shared/samples", pattern))
		if len(files) == 0 {
			t.Logf("skipped: no samples %s", pattern)
		}
		k := slices.IndexFunc(Formats, func(f Format) bool { return f.Name == format })
		for _, file := range files {
			r, err := os.Open(file)
			if err != nil {
				t.Fatal(err)
			}
			g, err := Formats[k].Read(r, file, Options{})
			r.Close()
			if err != nil || g.Endpoints < 8 {
				t.Errorf("%s: %v", file, err)
			}
		}
	}
}
