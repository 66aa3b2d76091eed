package graph

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	_ "sim/internal/testseed"
)

// TestGenerators: every node of a mesh and of a ring has the right number of links in each
// direction, without loops and double links. Invalid sizes are rejected.
func TestGenerators(t *testing.T) {
	for _, c := range []struct {
		of     Generator
		nodes  int
		degree int
	}{{FullMesh{}, 2, 1}, {FullMesh{}, 9, 8}, {Ring{}, 2, 1}, {Ring{}, 3, 2}, {Ring{}, 17, 2}} {
		s, err := c.of.Shape(c.nodes)
		if err != nil {
			t.Fatal(err)
		}
		out, in := make([]int, c.nodes), make([]int, c.nodes)
		for i, l := range s.Links {
			out[l.From]++
			in[l.To]++
			if l.From == l.To || slices.Contains(s.Links[:i], l) {
				t.Errorf("%T of %d nodes: link %v", c.of, c.nodes, l)
			}
		}
		for a := range c.nodes {
			if out[a] != c.degree || in[a] != c.degree {
				t.Errorf("%T of %d nodes: node %d has %d links out and %d in, want %d", c.of, c.nodes, a, out[a], in[a], c.degree)
			}
		}
	}
	for _, g := range Generators {
		if _, err := g.New().Shape(1); err == nil {
			t.Errorf("%s of one node", g.Name)
		}
	}
}

// between returns the length in hops of shortest paths from an endpoint to every node, -1
// without a path.
func (s *Shape) between(from int) []int {
	next := make([][]int, s.Nodes)
	for _, l := range s.Links {
		next[l.From] = append(next[l.From], l.To)
	}
	hops := slices.Repeat([]int{-1}, s.Nodes)
	hops[from] = 0
	for queue := []int{from}; len(queue) > 0; queue = queue[1:] {
		for _, to := range next[queue[0]] {
			if hops[to] < 0 {
				hops[to] = hops[queue[0]] + 1
				queue = append(queue, to)
			}
		}
	}
	return hops
}

// diameter returns the longest distance between two endpoints in hops, -1 if some are not
// connected.
func (s *Shape) diameter() int {
	maxHops := 0
	for a := range s.Endpoints {
		to := s.between(a)[:s.Endpoints]
		if slices.Min(to) < 0 {
			return -1
		}
		maxHops = max(maxHops, slices.Max(to))
	}
	return maxHops
}

// cut returns the minimum rate of the links from the lower half of the endpoints to the upper
// half, over all assignments of switches to sides. It uses augmenting paths; rates must be
// multiples of 1/2.
func (s *Shape) cut() float64 {
	capacity := map[[2]int]float64{} // capacity left, by ends; -1 joins the lower half, s.Nodes the upper
	next := make(map[int][]int)
	add := func(a, b int, times float64) {
		capacity[[2]int{a, b}] += times
		next[a] = append(next[a], b)
		next[b] = append(next[b], a)
	}
	for _, l := range s.Links {
		add(l.From, l.To, l.Times)
	}
	for a := range s.Endpoints {
		if a < s.Endpoints/2 {
			add(-1, a, 1e6)
		} else {
			add(a, s.Nodes, 1e6)
		}
	}
	for flow := 0.0; ; {
		from := map[int]int{-1: -1}
		for queue := []int{-1}; len(queue) > 0; queue = queue[1:] {
			for _, to := range next[queue[0]] {
				if _, seen := from[to]; !seen && capacity[[2]int{queue[0], to}] > 0 {
					from[to] = queue[0]
					queue = append(queue, to)
				}
			}
		}
		if _, there := from[s.Nodes]; !there {
			return flow
		}
		minCut := 1e9
		for node := s.Nodes; node != -1; node = from[node] {
			minCut = min(minCut, capacity[[2]int{from[node], node}])
		}
		for node := s.Nodes; node != -1; node = from[node] {
			capacity[[2]int{from[node], node}] -= minCut
			capacity[[2]int{node, from[node]}] += minCut
		}
		flow += minCut
	}
}

// TestShapes: endpoints, switches, links, diameters and the rates between halves equal values
// computed by hand.
func TestShapes(t *testing.T) {
	for _, c := range []struct {
		of                                  Generator
		endpoints, switches, pairs, maxHops int
		cut                                 float64
	}{
		// k = 4: k^3/4 hosts, 5k^2/4 switches, 3k^3/4 links, non-blocking
		{&FatTree{Ports: 4, Levels: 3, Oversubscription: 1}, 16, 20, 48, 6, 8},
		// k^2/2 hosts on k leaves and k/2 spines
		{&FatTree{Ports: 4, Levels: 2, Oversubscription: 1}, 8, 6, 16, 4, 4},
		// leaves of 4 hosts and 2 links up: half of the rate
		{&FatTree{Ports: 6, Levels: 2, Oversubscription: 2}, 24, 8, 36, 4, 6},
		{&FatTree{Ports: 6, Levels: 3, Oversubscription: 2}, 72, 18 + 12 + 6, 72 + 36 + 36, 6, 18},
		// 8 and 16 ports are not multiples of 5: leaves of 4 and 12 hosts, 1 and 3 links up,
		// and free ports
		{&FatTree{Ports: 8, Levels: 2, Oversubscription: 4}, 32, 8 + 1, 32 + 8, 4, 4},
		{&FatTree{Ports: 8, Levels: 3, Oversubscription: 4}, 128, 32 + 8 + 4, 128 + 32 + 32, 6, 16},
		{&FatTree{Ports: 16, Levels: 2, Oversubscription: 4}, 192, 16 + 3, 192 + 48, 4, 24},
		// 5 leaves and 2 spines
		{&FatTree{Ports: 5, Levels: 2, Oversubscription: 1}, 10, 5 + 2, 10 + 10, 4, 0},
		// 4 servers of 8: to another rail over the server's switch, and its rail
		{&RailTopology{Servers: 4, Rails: 8, Spines: 4, ServerTimes: 9}, 32, 4 + 8 + 4, 64 + 32, 4, 16},
		{&RailTopology{Servers: 4, Rails: 8, ServerTimes: 9}, 32, 4 + 8, 64, 4, 16},
		// Kim et al., Fig. 5: a = 4, p = h = 2 has 9 groups and 72 hosts; 4 groups against 4,
		// and one that is split
		{&Dragonfly{Routers: 4, Hosts: 2, Global: 2}, 72, 36, 72 + 9*6 + 36, 5, 24},
		// two links between each two of 5 groups
		{&Dragonfly{Routers: 4, Hosts: 2, Global: 2, Groups: 5}, 40, 20, 40 + 5*6 + 20, 5, 0},
		// each host has two ports
		{&DualPlane{Segments: 4, NICs: 8, Spines: 4, Planes: 2}, 32, 8 + 8, 64 + 32, 4, 32},
	} {
		s, err := c.of.Shape(c.endpoints)
		if err != nil {
			t.Fatal(err)
		}
		if s.Endpoints != c.endpoints || s.Nodes != c.endpoints+c.switches || len(s.Links) != 2*c.pairs {
			t.Errorf("%+v: %d endpoints of %d nodes, %d links; want %d of %d, %d", c.of, s.Endpoints, s.Nodes, len(s.Links), c.endpoints, c.endpoints+c.switches, 2*c.pairs)
		}
		if d := s.diameter(); d != c.maxHops {
			t.Errorf("%+v: %d hops at most, want %d", c.of, d, c.maxHops)
		}
		if cut := s.cut(); c.cut > 0 && cut != c.cut {
			t.Errorf("%+v: halves are joined by %g links, want %g", c.of, cut, c.cut)
		}
		if _, err := c.of.Shape(c.endpoints + 1); err == nil {
			t.Errorf("%+v has %d endpoints", c.of, c.endpoints+1)
		}
	}
	// Planes share no switch: a host reaches the same hosts without one of its leaves.
	s, _ := DualPlane{Segments: 2, NICs: 2, Spines: 2, Planes: 2}.Shape(0)
	s.Links = slices.DeleteFunc(s.Links, func(l Edge) bool { return l.From == 4 || l.To == 4 })
	if d := s.diameter(); d != 4 {
		t.Errorf("without a leaf of one plane %d hops, want 4", d)
	}
}

// TestAnyShape: for all options, a shape connects all its endpoints, every link between two
// nodes has a reverse link, and no switch has more links than ports. Leaves of a fat tree have
// the requested ratio of hosts to links upwards and cannot have more of both. A fat tree is
// rejected only if a leaf has too few ports, or if half of the ports is not a whole number.
func TestAnyShape(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		few := func(name string, from int) int { return rapid.IntRange(from, 6).Draw(t, name) }
		generator := rapid.SampledFrom([]Generator{
			&FatTree{Ports: rapid.IntRange(2, 12).Draw(t, "ports"), Levels: rapid.IntRange(2, 3).Draw(t, "levels"), Oversubscription: few("over", 1)},
			&RailTopology{Servers: few("servers", 1), Rails: few("rails", 1), Spines: few("spines", 0), ServerTimes: few("times", 1)},
			&Dragonfly{Routers: few("routers", 1), Hosts: few("hosts", 1), Global: few("global", 1), Groups: few("groups", 0)},
			&DualPlane{Segments: few("segments", 1), NICs: few("nics", 1), Spines: few("plane spines", 1), Planes: few("planes", 1)},
		}).Draw(t, "shape")
		s, err := generator.Shape(0)
		f, tree := generator.(*FatTree)
		if tree && (err != nil) != (f.Ports <= f.Oversubscription || f.Levels == 3 && f.Ports%2 != 0) {
			t.Fatalf("%+v: %v", generator, err)
		}
		if err != nil {
			return
		}
		if s.diameter() < 1 {
			t.Fatalf("%+v: some endpoints are not joined", generator)
		}
		back := map[Edge]int{}
		out := make([]int, s.Nodes)
		for _, l := range s.Links {
			back[l]++
			back[Edge{l.To, l.From, l.Times}]--
			out[l.From]++
			if want := times(generator, s, l); l.Times != want {
				t.Fatalf("%+v: link %v; want a rate of %g times that of links in general", generator, l, want)
			}
		}
		if cap(s.Links) != len(s.Links) {
			t.Fatalf("%+v: %d links, counted as %d before", generator, len(s.Links), cap(s.Links))
		}
		for l, n := range back {
			if n != 0 || l.From == l.To {
				t.Fatalf("%+v: %d links %v without one back", generator, n, l)
			}
		}
		if tree && slices.Max(out) > f.Ports {
			t.Fatalf("%+v: a switch has %d links", generator, slices.Max(out))
		}
		if leaf := s.Endpoints; tree { // the first leaf
			down := 0
			for _, l := range s.Links {
				if l.From == leaf && l.To < s.Endpoints {
					down++
				}
			}
			if up := out[leaf] - down; down != up*f.Oversubscription || down+up+f.Oversubscription+1 <= f.Ports {
				t.Fatalf("%+v: a leaf has %d hosts and %d links upwards", generator, down, up)
			}
		}
		if d, ok := generator.(*Dragonfly); ok && slices.Max(out) > d.Routers-1+d.Hosts+d.Global {
			t.Fatalf("%+v: a router has %d links", generator, slices.Max(out))
		}
	})
}

// times returns the rate of a generated link relative to the default rate.
func times(generator Generator, s *Shape, l Edge) float64 {
	first, second := min(l.From, l.To), max(l.From, l.To)
	switch generator := generator.(type) {
	case *RailTopology:
		switch {
		case first >= s.Endpoints:
			return float64(generator.Servers) / float64(generator.Spines)
		case second < s.Endpoints+generator.Servers:
			return float64(generator.ServerTimes)
		}
	case *DualPlane:
		if first >= s.Endpoints {
			return float64(generator.NICs) / float64(generator.Spines)
		}
	}
	return 1
}

// TestShapeLimits: the largest and the smallest shapes are generated. The next ones are rejected
// with an error that contains the limit.
func TestShapeLimits(t *testing.T) {
	for _, c := range []struct {
		of        Generator
		endpoints int
		want      string // words of the error; "" if the shape is valid
	}{
		{FullMesh{}, 1 << 10, ""},
		{FullMesh{}, 1<<10 + 1, "a full mesh of 1025 nodes; want 2 to 1024"},
		{FullMesh{}, 1, "a full mesh of 1 nodes; want 2 to 1024"},
		{Ring{}, 1 << 16, ""},
		{Ring{}, 1<<16 + 1, "a ring of 65537 nodes; want 2 to 65536"},
		{Ring{}, 1, "a ring of 1 nodes; want 2 to 65536"},
		{&DualPlane{Segments: 1, NICs: 2, Spines: 1, Planes: 1}, 0, ""},
		{&DualPlane{Segments: 1, NICs: 1, Spines: 1, Planes: 1}, 0, "planes of 1 endpoints and 4 links; want at least 2, and at most 1048576 links"},
		{&DualPlane{Segments: 1, NICs: 2, Spines: 1, Planes: 1}, 3, "planes of 2 endpoints, where 3 were asked for; want 2, or none"},
		{&DualPlane{Segments: 1, NICs: MaxShapeLinks/2 - 1, Spines: 1, Planes: 1}, 0, ""},
		{&DualPlane{Segments: 1, NICs: MaxShapeLinks/2 - 1, Spines: 2, Planes: 1}, 0, "planes of 524287 endpoints and 1048578 links"},
		{&Dragonfly{Routers: 1, Hosts: 1, Global: 1, Groups: 2}, 0, ""},
		{&Dragonfly{Routers: 2, Hosts: 1, Global: 2, Groups: 1}, 0, "a dragonfly of 1 groups, of which each has 4 links to others; want 2 to 5"},
		{&Dragonfly{Routers: 2, Hosts: 1, Global: 2, Groups: 5}, 0, ""},
		{&Dragonfly{Routers: 2, Hosts: 1, Global: 2, Groups: 6}, 0, "a dragonfly of 6 groups"},
		{&FatTree{Ports: 5, Levels: 3, Oversubscription: 1}, 0, "three levels of switches of 5 ports"},
		{&FatTree{Ports: 3, Levels: 2, Oversubscription: 3}, 0, "beside 3 hosts; want at least 4 ports"},
		{&FatTree{Ports: 4, Levels: 2, Oversubscription: 3}, 0, ""},
		{&FatTree{Ports: 2, Levels: 3, Oversubscription: 1}, 0, ""},
	} {
		s, err := c.of.Shape(c.endpoints)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%+v of %d endpoints: %v, want %q", c.of, c.endpoints, err, c.want)
		}
		if err == nil && c.endpoints > 0 && s.Endpoints != c.endpoints {
			t.Errorf("%+v has %d endpoints, want %d", c.of, s.Endpoints, c.endpoints)
		}
	}
	if names := GeneratorNames(); len(names) != len(Generators) || !slices.IsSorted(names) || names[0] != "dragonfly" {
		t.Errorf("generators are named %v", names)
	}
}
