package links

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"sim/engine"
	"sim/engine/units"
	"sim/fabric/tiers"
)

// newTorus returns a torus with links of 400 Gbps and unbounded queues.
func newTorus(dims ...int) *Links {
	l := &Links{}
	l.Dims, l.LinkRate, l.LinkLatency, l.Queue = dims, 400e9, engine.Microsecond, "unbounded"
	return l
}

// newSwitched returns GPUs behind one switch, with links of the given rate.
func newSwitched(gpus int, rate units.Rate) *Links {
	l := &Links{}
	l.Domain.GPUs, l.LinkRate, l.Queue = gpus, rate, "unbounded"
	l.BuildSwitchedDomain()
	return l
}

// TestQueueCapacity: the capacity of each form of queue, and an error if no packet fits.
func TestQueueCapacity(t *testing.T) {
	for _, c := range []struct {
		queue  string
		packet units.Bytes
		want   units.Bytes // -1 if an error is expected
	}{
		{"unbounded", 1000, 0}, {"credit", 1000, 0},
		{"1p", 1000, 1000}, {"100p", 4096, 409600}, {"0p", 1000, -1}, {"-1p", 1000, -1}, {"xp", 1000, -1}, {"3000000000p", 1, -1},
		{"64KB", 1000, 64000}, {"1000B", 1000, 1000}, {"999B", 1000, -1}, {"64", 1000, -1}, {"", 1000, -1},
	} {
		l := &Links{}
		l.Queue = c.queue
		got, err := l.QueueCapacity(c.packet)
		if (err != nil) != (c.want < 0) || err == nil && got != c.want {
			t.Errorf("queue %q has room for %d B of packets of %d B (%v), want %d", c.queue, got, c.packet, err, c.want)
		}
	}
}

// TestBadLinks: for every invalid option, the error names the key. The fabric is not built, and
// neither is a fabric that contains it or is inside it.
func TestBadLinks(t *testing.T) {
	for _, c := range []struct {
		key    string
		change func(l *Links)
	}{
		{"fabric.dims", func(l *Links) { l.Dims = []int{4, 0} }},
		{"fabric.open", func(l *Links) { l.Open = []string{"w"} }},
		{"fabric.open", func(l *Links) { l.Open = []string{"x", "y", "z", "a"} }},
		{"fabric.twist", func(l *Links) { l.Twist = "2" }},
		{"fabric.shift", func(l *Links) { l.Shift = [][]int{{1}} }},
		{"fabric.failed_ocs", func(l *Links) { l.FailedOCS = []string{"x0", "x99"} }},
		{"fabric.failed_links", func(l *Links) { l.FailedLinks = []string{"0 x+", "0 w+"} }},
		{"fabric.drained_links", func(l *Links) { l.DrainedLinks = []string{"0 x+", "x+"} }},
		{"", func(l *Links) { l.FailedLinks = []string{"4096 x+"} }}, // the range of the key allows it
		{"", func(l *Links) { l.FailedChips = []int{4096} }},
		{"", func(l *Links) { l.FailedMachines = []int{4096} }},
		{"", func(l *Links) { l.BusyCubes = []int{0}; l.Cubes = []int{0, 1} }},
		{"", func(l *Links) { l.Cubes = []int{0, 0} }},
		{"", func(l *Links) { l.Cubes = []int{0} }},
		{"", func(l *Links) { l.Cubes = []int{0, 64} }},
		{"", func(l *Links) { l.PodCubes = 1 }},
		{"", func(l *Links) { l.BusyCubes, l.PodCubes = []int{1}, 2 }},
		{"", func(l *Links) { l.Configured = "x" }},
	} {
		l := newTorus(4, 4, 8)
		l.Configured = "none"
		if _, err := l.Build(); err != nil {
			t.Fatal(err)
		}
		c.change(l)
		_, shape, err := l.Shape()
		_, fault, err2 := l.Faults()
		if err = errors.Join(err, err2); shape+fault != c.key || (err != nil) != (c.key != "") {
			t.Errorf("key %q is at fault (%v), want %q", shape+fault, err, c.key)
		}
		if _, err := l.Build(); err == nil {
			t.Errorf("%+v is built", *l)
		}
		outer := newSwitched(256, 1e9)
		outer.InnerTiers = []*Links{l}
		if _, err := outer.Build(); err == nil {
			t.Errorf("%+v is built inside another", *l)
		}
		if l.GPUs() > 2 {
			l.InnerTiers = []*Links{newSwitched(2, 1e9)}
			if _, err := l.Build(); err == nil {
				t.Errorf("%+v is built around another", *l)
			}
		}
	}
	misfit := newSwitched(6, 1e9)
	misfit.InnerTiers = []*Links{newSwitched(4, 1e9)}
	if _, err := misfit.Build(); !errors.Is(err, tiers.ErrTiers) {
		t.Errorf("6 GPUs in domains of 4: %v", err)
	}
}

// TestShape: twists, shifts and open dimensions determine whether a torus is twisted and made of
// cubes.
func TestShape(t *testing.T) {
	for _, c := range []struct {
		change         func(l *Links)
		twisted, cubic bool
	}{
		{func(l *Links) {}, false, true},
		{func(l *Links) { l.Twist = "000000" }, false, true},
		{func(l *Links) { l.Twist = "tpuv4" }, true, true},
		{func(l *Links) { l.Shift = [][]int{{0, 0, 4}, {0, 0, 0}, {0, 0, 0}} }, true, true},
		{func(l *Links) { l.Shift = [][]int{{0, 0, 1}, {0, 0, 0}, {0, 0, 0}} }, true, false},
		{func(l *Links) { l.Open = []string{"z"} }, false, false},
		{func(l *Links) { l.Dims = []int{4, 8} }, false, false},
		{func(l *Links) { l.Dims = []int{4, 4, 6} }, false, false},
		{func(l *Links) { l.Dims, l.Twist = nil, "tpuv4" }, false, false},
	} {
		l := newTorus(4, 4, 8)
		c.change(l)
		if l.Twisted() != c.twisted || l.Cubic() != c.cubic {
			t.Errorf("%+v: twisted %v, of cubes %v; want %v, %v", l.TorusShape, l.Twisted(), l.Cubic(), c.twisted, c.cubic)
		}
	}
}

// TestCubes: 2 cubes have 48 connections each. Existing connections are kept; the others take
// the switch time. A switch that is down makes none of its 2 connections.
func TestCubes(t *testing.T) {
	for _, c := range []struct {
		change           func(l *Links)
		keep, make, undo int
		cubes            []int
	}{
		{func(l *Links) {}, 0, 96, 0, []int{0, 1}},
		{func(l *Links) { l.Configured = "" }, 96, 0, 0, []int{0, 1}},
		{func(l *Links) { l.Configured = "tpuv4" }, 32, 64, 64, []int{0, 1}}, // x and y links are shifted by half of z
		{func(l *Links) { l.FailedOCS = []string{"y3"} }, 2, 94, 0, []int{0, 1}},
		{func(l *Links) { l.BusyCubes = []int{0, 2} }, 0, 96, 0, []int{1, 3}},
		{func(l *Links) { l.BusyCubes, l.PodCubes = []int{1, 2}, 4 }, 0, 96, 0, []int{0, 3}},
		{func(l *Links) { l.Cubes = []int{9, 7} }, 0, 96, 0, []int{7, 9}},
	} {
		l := newTorus(4, 4, 8)
		l.Configured, l.SwitchTime = "none", 10*engine.Millisecond
		c.change(l)
		z, err := l.Build()
		if err != nil {
			t.Fatal(err)
		}
		m := map[string]float64{}
		z.Cubes.Metrics(m)
		rows := strings.Split(strings.TrimSpace(string(z.Cubes.CSV())), "\n")
		count, cubes := map[string]int{}, map[int]bool{}
		for _, row := range rows[1:] {
			f := strings.Split(row, ",")
			count[f[3]]++
			var out, in int
			fmt.Sscan(f[1], &out)
			fmt.Sscan(f[2], &in)
			cubes[out], cubes[in] = true, true
		}
		used := []int{}
		for c := range cubes {
			used = append(used, c)
		}
		slices.Sort(used)
		if count["keep"] != c.keep || count["make"] != c.make || count["undo"] != c.undo || !slices.Equal(used, c.cubes) {
			t.Errorf("%+v: commands %v on cubes %v; want %d kept, %d made, %d undone on %v", l.CubeOptions, count, used, c.keep, c.make, c.undo, c.cubes)
		}
		seconds := 0.0
		if c.make > 0 {
			seconds = 0.01
		}
		if m["optical_connections"] != 96 || m["switch_commands"] != float64(c.make) || m["switch_s"] != seconds {
			t.Errorf("%+v: metrics %v", l.CubeOptions, m)
		}
	}
	if z, err := newTorus(4, 6).Build(); err != nil || z.Cubes != nil {
		t.Errorf("a torus that is not made of cubes has connections %v (%v)", z.Cubes, err)
	}
}

// TestHealth: routers do not see parts that are down or drained. Packets see drained links.
// Later failures are changes of the links that packets see.
func TestHealth(t *testing.T) {
	l := newTorus(4, 4)
	l.FailedLinks, l.DrainedLinks, l.FailedChips = []string{"0 x+"}, []string{"5 y-"}, []int{10}
	lost := func(n *engine.Network) (ends []string) {
		for i := range n.Links {
			if k := &n.Links[i]; k.Rate == 0 {
				ends = append(ends, fmt.Sprint(k.From, ">", k.To))
			}
		}
		slices.Sort(ends)
		return ends
	}
	// Node 10 is (2, 2); its neighbours are 6, 9, 11 and 14. Node 5 is (1, 1), and its y- link leads
	// to 4.
	var chip []string
	for _, n := range []int{6, 9, 11, 14} {
		chip = append(chip, fmt.Sprint(10, ">", n), fmt.Sprint(n, ">", 10))
	}
	down := append(slices.Clone(chip), "0>4", "4>0")
	drained := append(slices.Clone(down), "4>5", "5>4")
	slices.Sort(down)
	slices.Sort(drained)
	z, err := l.Build()
	if err != nil {
		t.Fatal(err)
	}
	found, err := z.Network(l, 1000, 3)
	if err != nil {
		t.Fatal(err)
	}
	if len(lost(z.Whole)) > 0 || !slices.Equal(lost(z.Known), drained) || !slices.Equal(lost(found), down) {
		t.Errorf("whole lacks %v, routers do not see %v, packets do not find %v", lost(z.Whole), lost(z.Known), lost(found))
	}
	for n, d := range z.Down {
		if d != (n == 10) {
			t.Errorf("node %d: down %v", n, d)
		}
	}
	l.FailAt = engine.Second
	if found, err = z.Network(l, 1000, 3); err != nil {
		t.Fatal(err)
	}
	for _, c := range found.Changes {
		found.Links[c.Link].Rate = 0
		if c.At != engine.Second || c.Rate != 0 {
			t.Errorf("change %v, want a failure at 1 s", c)
		}
	}
	if !slices.Equal(lost(found), down) || len(found.Changes) != len(down) {
		t.Errorf("%d changes take away %v", len(found.Changes), lost(found))
	}
	for _, links := range []*Links{newTorus(4, 4), newSwitched(4, 1e9)} {
		z, err := links.Build()
		if err != nil || len(lost(z.Known)) > 0 || links.Faulty() || len(links.Dims) > 0 && z.Down != nil {
			t.Errorf("%s without faults: %v", links.Description(), err)
		}
	}
}

// TestQueues: each tier has the buffers and channels of its own queue. A queue that no packet
// fits is an error on any tier.
func TestQueues(t *testing.T) {
	inner, outer := newSwitched(2, 9e9), newTorus(2, 2)
	outer.InnerTiers = []*Links{inner}
	z, err := outer.Build()
	if err != nil {
		t.Fatal(err)
	}
	inner.Queue, outer.Queue, outer.Channels, outer.Buffer = "5p", "credit", 7, 1234
	n, err := z.Network(outer, 1000, 3)
	if err != nil {
		t.Fatal(err)
	}
	for i := range n.Links {
		k := &n.Links[i]
		buffer, channels, rate := int64(1234), int32(7), 400e9
		if z.TierOf(int32(i)) == 0 {
			buffer, channels, rate = 5000, 3, 9e9
		}
		if k.Buffer != buffer || k.Channels != channels || k.Rate != rate {
			t.Errorf("link %d of tier %d: %+v", i, z.TierOf(int32(i)), *k)
		}
		if z.Whole.Links[i].Buffer != 0 {
			t.Error("the whole network has changed")
		}
	}
	for _, bad := range []*Links{inner, outer} {
		queue := bad.Queue
		bad.Queue = "0p"
		if _, err := z.Network(outer, 1000, 3); err == nil {
			t.Errorf("%s has a queue of no packets", bad.Description())
		}
		bad.Queue = queue
	}
	// A graph with credits has its channels from the start, because routers may use them.
	alone := newSwitched(3, 9e9)
	alone.Queue, alone.Channels = "credit", 5
	if z, err = alone.Build(); err != nil || z.Whole.Links[0].Channels != 5 {
		t.Errorf("links %+v (%v)", z.Whole.Links[0], err)
	}
	alone.Queue = "unbounded"
	if z, err = alone.Build(); err != nil || z.Whole.Links[0].Channels != 2 {
		t.Errorf("links %+v (%v)", z.Whole.Links[0], err)
	}
}

// TestGraph: links override the default rate and latency. Switches do not send.
func TestGraph(t *testing.T) {
	l := &Links{}
	l.Nodes, l.LinkRate, l.LinkLatency, l.Queue, l.Switches.From = 3, 100, 7, "unbounded", 2
	l.Edges = [][]int{{0, 1, 0, 0}, {1, 2, 1, 0}, {2, 0, 0, 1}}
	for _, c := range []struct {
		l     *Links
		rates []float64
	}{{l, []float64{100, 1, 100}}, {l.Faster(3), []float64{300, 3, 300}}, {l, []float64{100, 1, 100}}} {
		z, err := c.l.Build()
		if err != nil {
			t.Fatal(err)
		}
		for i, k := range z.Whole.Links {
			if k.Rate != c.rates[i] || k.Latency != []engine.Time{7, 7, 1}[i] || int(k.From) != l.Edges[i][0] || int(k.To) != l.Edges[i][1] {
				t.Errorf("link %d is %+v", i, k)
			}
		}
		if c.l.GPUs() != 2 || !slices.Equal(z.Down, []bool{false, false, true}) {
			t.Errorf("%d GPUs, idle %v", c.l.GPUs(), z.Down)
		}
		if got := z.Whole.ResourceName(1); got != "link 1 > 2" {
			t.Errorf("link 1 is %q", got)
		}
	}
	l.Switches.From, l.Names = 0, []string{"a", "b", "c"}
	z, err := l.Build()
	if err != nil || l.GPUs() != 3 || z.Down != nil || z.Whole.ResourceName(2) != "link c > a" {
		t.Errorf("%d GPUs, idle %v, %q (%v)", l.GPUs(), z.Down, z.Whole.ResourceName(2), err)
	}
	s := newSwitched(4, 1e9)
	if s.GPUs() != 4 || s.Nodes != 5 || len(s.Edges) != 8 || s.Names[4] != "switch" {
		t.Errorf("switched domain %+v", s.GraphLinks)
	}
	for g := range 4 {
		if up, down := s.Edges[2*g], s.Edges[2*g+1]; !slices.Equal(up, []int{g, 4, 0, 0}) || !slices.Equal(down, []int{4, g, 0, 0}) {
			t.Errorf("links of GPU %d: %v, %v", g, up, down)
		}
	}
}

// TestTiers: the nodes of 3 tiers have different names. Distances are the hops of the innermost
// tier that joins two GPUs, weighted by rate.
func TestTiers(t *testing.T) {
	outer := newTorus(4, 4)
	outer.LinkRate = 1e9
	outer.InnerTiers = []*Links{newSwitched(2, 8e9), newSwitched(4, 2e9)}
	outer.FailedLinks, outer.FailedChips = []string{"0 x+"}, []int{9}
	z, err := outer.Build()
	if err != nil {
		t.Fatal(err)
	}
	if z.OutermostTorus() == nil || z.Torus != nil || !strings.HasPrefix(outer.Description(), "switched domain of 2 GPUs inside switched domain of 4 GPUs inside 4x4 torus") {
		t.Errorf("built %q", outer.Description())
	}
	joins := func(a, b int32) int {
		switch {
		case a/2 == b/2:
			return 0
		case a/4 == b/4:
			return 1
		}
		return 2
	}
	// A direct network has no links of the torus between GPUs that a switch joins, but all
	// other links.
	direct := z.Direct(z.Whole)
	for i, l := range direct.Links {
		want := z.Whole.Links[i].Rate
		if z.TierOf(int32(i)) == 2 && joins(l.From, l.To) < 2 {
			want = 0
		}
		if l.Rate != want {
			t.Errorf("link %v of tier %d has rate %v in the direct network, want %v", l, z.TierOf(int32(i)), l.Rate, want)
		}
	}
	names := map[string]bool{}
	for n := range z.Whole.Nodes {
		names[z.NodeName(n)] = true
		if want := n >= 16 || n == 9; z.Down[n] != want {
			t.Errorf("%s: down %v", z.NodeName(n), z.Down[n])
		}
	}
	// 8 domains of 2 and 4 domains of 4 have a switch each.
	if len(names) != 16+8+4 || !names["15"] || !names["switch 0 of domain 7 of tier 1"] || !names["switch 0 of domain 3 of tier 2"] {
		t.Errorf("names of nodes: %v", names)
	}
	for link, want := range map[int32]string{17: "link switch > 0 of domain 4 of tier 1", 32 + 31: "link switch > 3 of domain 3 of tier 2", 64: z.Tiers.Systems[2].Whole.ResourceName(0)} {
		if got := z.Whole.ResourceName(link); got != want {
			t.Errorf("link %d is %q, want %q", link, got, want)
		}
	}
	far, unit := z.GPUDistances()
	hops := z.Tiers.Systems[2].Known.Hops(nil)
	for a := range int32(16) {
		if a == 9 {
			continue
		}
		row := slices.Clone(hops(a))
		for b, got := range far(a) {
			want := row[b] * int32(unit)
			switch joins(a, int32(b)) { // up to the switch and down
			case 0:
				want = 2 * int32(unit) / 8
			case 1:
				want = 2 * int32(unit) / 2
			}
			if a == int32(b) {
				want = 0
			}
			if b != 9 && got != want {
				t.Errorf("GPU %d is %d from %d, want %d", b, got, a, want)
			}
		}
	}
	if far, unit := (&System{}).GPUDistances(); far != nil || unit != 1 {
		t.Error("a fabric without tiers has distances of tiers")
	}
}

// TestDomainsByRank: of nested domains, the largest in which the ranks differ is used.
func TestDomainsByRank(t *testing.T) {
	for _, c := range []struct {
		group []int32
		want  []int
	}{
		{[]int32{0, 1, 2, 3}, []int{0, 0, 1, 1}}, // within one domain of 4
		{[]int32{0, 4, 2, 9}, []int{0, 1, 0, 2}},
		{[]int32{6, 7}, nil},
		{[]int32{5}, nil},
		{[]int32{3, 4}, []int{0, 1}},
	} {
		if got := DomainsByRank(c.group, []int{2, 4}); !slices.Equal(got, c.want) {
			t.Errorf("group %v is in domains %v, want %v", c.group, got, c.want)
		}
		outer := newTorus(4, 4)
		outer.InnerTiers = []*Links{newSwitched(2, 1e9), newSwitched(4, 1e9)}
		z, err := outer.Build()
		if err != nil {
			t.Fatal(err)
		}
		if got := z.Domains(c.group); !slices.Equal(got, c.want) {
			t.Errorf("group %v of a fabric is in domains %v, want %v", c.group, got, c.want)
		}
	}
	if (&System{}).Domains([]int32{0, 5}) != nil {
		t.Error("a fabric without tiers has domains")
	}
}

// TestTierRates: on the ideal network a node sends at the total rate of its links on the tier
// that a transfer uses.
func TestTierRates(t *testing.T) {
	outer := newTorus(4)
	outer.InnerTiers = []*Links{newSwitched(2, 1e9)}
	z, err := outer.Build()
	if err != nil {
		t.Fatal(err)
	}
	g := &engine.Graph{}
	g.AddTask(engine.Task{Kind: engine.Transfer, Src: 0, Dst: 1, Flows: 1, Bytes: 1})
	g.AddTask(engine.Task{Kind: engine.Transfer, Src: 1, Dst: 2, Flows: 1, Bytes: 1})
	alone, err := newTorus(4).Build()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		z    System
		want []float64 // of the first resources of the transfers
	}{{z, []float64{1e9, 800e9}}, {alone, []float64{800e9, 800e9}}} {
		n, r := c.z.IdealNetwork(g)
		for i, want := range c.want {
			for _, u := range r.Of(int32(i)) {
				if got := n.Rate(u.Resource); got != want {
					t.Errorf("transfer %d takes %s of rate %v, want %v", i, n.ResourceName(u.Resource), got, want)
				}
			}
		}
	}
	if z.OutermostTorus() == nil || alone.OutermostTorus() != alone.Torus {
		t.Error("the outermost torus is not found")
	}
	if alone.Direct(alone.Whole) != alone.Whole {
		t.Error("a fabric without tiers lacks links")
	}
}

// TestDescription: a fabric is described by its shape, its twist, and the parts that cannot be
// used.
func TestDescription(t *testing.T) {
	graph := &Links{}
	graph.Nodes = 5
	behind := &Links{}
	behind.Nodes, behind.Switches.From = 5, 4
	few := &Links{}
	few.Nodes = 1
	with := func(change func(l *Links)) *Links {
		l := newTorus(4, 4, 8)
		change(l)
		return l
	}
	outer := newTorus(6)
	outer.InnerTiers = []*Links{newSwitched(3, 1e9), newSwitched(3, 1e9), graph}
	for _, c := range []struct {
		l    *Links
		want string
	}{
		{graph, "graph of 5 nodes"},
		{few, "graph of 1 node"},
		{behind, "graph of 4 endpoints behind switches (1)"},
		{newSwitched(3, 1), "switched domain of 3 GPUs"},
		{newTorus(4, 4, 8), "4x4x8 torus"},
		{with(func(l *Links) { l.Open = []string{"z", "x", "y", "x"} }), "4x4x8 mesh"},
		{with(func(l *Links) { l.Open = []string{"z", "x", "z"} }), "4x4x8 torus open in x, z"},
		{with(func(l *Links) { l.Twist = "000000" }), "4x4x8 torus"},
		{with(func(l *Links) { l.Twist = "tpuv4" }), "4x4x8 torus twisted tpuv4"},
		{with(func(l *Links) { l.Shift = [][]int{{0, 0, 0}, {0, 0, 0}} }), "4x4x8 torus"},
		{with(func(l *Links) { l.Shift = [][]int{{0, 0, 1}, {0, 0, 0}} }), "4x4x8 torus twisted by [[0,0,1],[0,0,0]]"},
		{with(func(l *Links) { l.FailedOCS, l.FailedChips, l.FailAt = []string{"x3", "x4"}, []int{7}, engine.Second }), "4x4x8 torus without switches x3, x4 and chip 7 from 1s on"},
		{with(func(l *Links) { l.FailedMachines, l.DrainedLinks = []int{1, 2}, []string{"0 x+"} }), "4x4x8 torus without machines 1, 2 with drained link 0 x+"},
		{outer, "switched domain of 3 GPUs inside switched domain of 3 GPUs inside graph of 5 nodes inside 6 torus"},
	} {
		if got := c.l.Description(); got != c.want {
			t.Errorf("described as %q, want %q", got, c.want)
		}
	}
	inside, outside := newSwitched(3, 1e9), newTorus(6)
	inside.KindName, outside.KindName, outside.InnerTiers = "inner", "outer", []*Links{inside}
	if got, want := fmt.Sprint(outside.Kinds()), "[inner outer]"; got != want {
		t.Errorf("kinds %s, want %s", got, want)
	}
	many := with(func(l *Links) {
		for i := range maxNamed {
			l.FailedChips = append(l.FailedChips, i)
		}
	})
	all := many.Description()
	if strings.Contains(all, "more") {
		t.Errorf("%d chips are not all named: %s", maxNamed, all)
	}
	many.FailedChips = append(many.FailedChips, 99)
	if got := many.Description(); !strings.HasSuffix(got, " and 2 more") || strings.Count(got, ",") != maxNamed-2 {
		t.Errorf("of %d chips: %s", len(many.FailedChips), got)
	}
	if got := Dims([]string{"z", "x"}); !slices.Equal(got, []int{2, 0}) {
		t.Errorf("dimensions z and x are %v", got)
	}
}

// TestSwitchedTiers: a switched domain inside another has the switches of both, with different
// names. Messages between domains use the outer one.
func TestSwitchedTiers(t *testing.T) {
	outer := newSwitched(6, 1e9)
	outer.InnerTiers = []*Links{newSwitched(3, 4e9)}
	z, err := outer.Build()
	if err != nil {
		t.Fatal(err)
	}
	for n, want := range []string{"0", "1", "2", "3", "4", "5", "switch 0 of domain 0 of tier 1", "switch 0 of domain 1 of tier 1", "switch 0 of tier 2"} {
		if got := z.NodeName(int32(n)); got != want || z.Down[n] != (n >= 6) {
			t.Errorf("node %d is %q, want %q; idle %v", n, got, want, z.Down[n])
		}
	}
	if z.Health != nil || z.Known != z.Whole || z.OutermostTorus() != nil || int(z.Whole.Nodes) != len(z.Down) {
		t.Errorf("a switched domain has %+v", z)
	}
	far, unit := z.GPUDistances()
	if got := far(1); !slices.Equal(got, []int32{int32(unit) / 2, 0, int32(unit) / 2, 2 * int32(unit), 2 * int32(unit), 2 * int32(unit)}) {
		t.Errorf("GPUs are %v from GPU 1, where a hop is %d", got, unit)
	}
}

// TestFaulty: any part that is down or drained makes the fabric faulty, also several parts of
// different kinds.
func TestFaulty(t *testing.T) {
	changes := []func(l *Links){
		func(l *Links) { l.FailedOCS = []string{"x0"} }, func(l *Links) { l.FailedLinks = []string{"0 x+"} }, func(l *Links) { l.FailedMachines = []int{0} },
		func(l *Links) { l.FailedChips = []int{0} }, func(l *Links) { l.DrainedLinks = []string{"0 x+"} },
	}
	for set := range 1 << len(changes) {
		l := newTorus(4, 4, 4)
		for i, change := range changes {
			if set>>i&1 > 0 {
				change(l)
			}
		}
		if l.Faulty() != (set > 0) {
			t.Errorf("%s: faulty %v", l.Description(), l.Faulty())
		}
	}
}
