package packet

import (
	"context"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"sim/engine"
	"sim/internal/csr"
)

// ringPaths returns the paths upwards between all pairs of nodes of a ring. With a
// dateline, paths change from channel 0 to 1 after the link from the last node to the
// first.
func ringPaths(nodes int, dateline bool) (*engine.Network, *engine.Paths, []engine.Flow) {
	n := &engine.Network{Nodes: int32(nodes)}
	w := &engine.Paths{Degree: 1}
	for a := range nodes {
		n.Links = append(n.Links, engine.Link{From: int32(a), To: int32((a + 1) % nodes), Rate: 1e9, Channels: 2})
		w.Link = append(w.Link, int32(a))
	}
	var flows []engine.Flow
	for a := range nodes {
		for b := range nodes {
			if a == b {
				continue
			}
			flows = append(flows, engine.Flow{Src: int32(a), Dst: int32(b)})
			var path []engine.Step
			vc := 0
			for node := a; node != b; node = (node + 1) % nodes {
				path = append(path, engine.MakeStep(0, vc))
				if dateline && node == nodes-1 {
					vc = 1
				}
			}
			w.Add(path...)
		}
	}
	return n, w, flows
}

// TestDateline: a ring with one channel can deadlock in a cycle of all links. With a
// dateline and a second channel it cannot (Dally and Seitz 1987, Fig. 2).
func TestDateline(t *testing.T) {
	n, w, flows := ringPaths(4, false)
	cycle, err := CheckChannels(t.Context(), n, w, flows)
	if err != nil || len(cycle) != 4 {
		t.Errorf("cycle %v of 4 links, %v", cycle, err)
	}
	if got, want := cycle.Names(n), "link 0 vc0 -> link 1 vc0 -> link 2 vc0 -> link 3 vc0 -> link 0 vc0"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	n, w, flows = ringPaths(4, true)
	if err := w.Check(t.Context(), n, flows); err != nil {
		t.Fatal(err)
	}
	if cycle, err := CheckChannels(t.Context(), n, w, flows); err != nil || cycle != nil {
		t.Errorf("cycle %v, %v", cycle.Names(n), err)
	}
	w.Link[2] = -1
	if _, err := CheckChannels(t.Context(), n, w, flows); err == nil || !strings.Contains(err.Error(), "port 0 and channel 0, which node 2") {
		t.Errorf("a link that is not there: %v", err)
	}
	w.Start[0] = -1
	if _, err := CheckChannels(t.Context(), n, w, flows); err == nil || !strings.Contains(err.Error(), "no path") {
		t.Errorf("no path: %v", err)
	}
}

// TestDependencies compares cycles on random paths with all-pairs distances between
// channels (Floyd-Warshall). A cycle is found if and only if some channel can reach
// itself. All its dependencies belong to paths. It starts at the first channel that is on
// any cycle, and has minimum length for that channel.
func TestDependencies(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		nodes, degree := rapid.IntRange(1, 6).Draw(t, "nodes"), rapid.IntRange(1, 3).Draw(t, "degree")
		channels := rapid.IntRange(1, 3).Draw(t, "channels")
		n := &engine.Network{Nodes: int32(nodes)}
		var link []int32
		for a := range nodes {
			for range degree {
				if rapid.IntRange(0, 4).Draw(t, "gap") == 0 {
					link = append(link, -1)
					continue
				}
				link = append(link, int32(len(n.Links)))
				n.Links = append(n.Links, engine.Link{From: int32(a), To: int32(rapid.IntRange(0, nodes-1).Draw(t, "to"))})
			}
		}
		d := NewDependencies(n, degree, link, channels)
		numChannels := len(n.Links) * channels
		distance := make([][]int, numChannels) // dependencies between channels, at least one
		for a := range distance {
			distance[a] = slices.Repeat([]int{1 << 20}, numChannels)
		}
		count := 0
		for range rapid.IntRange(0, 8).Draw(t, "paths") {
			from := rapid.IntRange(0, nodes-1).Draw(t, "from")
			var path []engine.Step
			previous := -1
			for node := from; len(path) < 5; {
				port, vc := rapid.IntRange(0, degree-1).Draw(t, "port"), rapid.IntRange(0, channels-1).Draw(t, "vc")
				l := link[node*degree+port]
				if l < 0 {
					break
				}
				path = append(path, engine.MakeStep(port, vc))
				now := int(l)*channels + vc
				if previous >= 0 {
					if distance[previous][now] > 1 {
						count++
					}
					distance[previous][now] = 1
				}
				previous, node = now, int(n.Links[l].To)
			}
			if err := d.Add(int32(from), path); err != nil {
				t.Fatal(err)
			}
		}

		adjacent := make([][]bool, numChannels)
		for a := range distance {
			adjacent[a] = make([]bool, numChannels)
			for b := range distance[a] {
				adjacent[a][b] = distance[a][b] == 1
			}
		}

		for k := range distance {
			for a := range distance {
				for b := range distance {
					distance[a][b] = min(distance[a][b], distance[a][k]+distance[k][b])
				}
			}
		}

		cyclic := -1
		for c := range distance {
			if distance[c][c] < 1<<20 {
				cyclic = c
				break
			}
		}
		if g := d.graph(); len(g.nodes) != count {
			t.Fatalf("%d dependencies, want %d", len(g.nodes), count)
		}

		cycle := d.Cycle()
		if (cycle != nil) != (cyclic >= 0) {
			t.Fatalf("cycle %v, first channel on one is %d", cycle, cyclic)
		}
		if cycle == nil {
			return
		}
		for i, c := range cycle {
			next := cycle[(i+1)%len(cycle)]
			if !adjacent[int(c.Link)*channels+int(c.VC)][int(next.Link)*channels+int(next.VC)] {
				t.Fatalf("no path takes %v and then %v", c, next)
			}
		}
		if first := int(cycle[0].Link)*channels + int(cycle[0].VC); first != cyclic || len(cycle) != distance[first][first] {
			t.Fatalf("cycle %v of %d; first on one is channel %d, %d long", cycle, len(cycle), cyclic, distance[cyclic][cyclic])
		}
	})
}

// everyGraph calls check for each directed graph with four nodes. distance[a][b] is the number of
// edges, at least one, of a shortest path (Floyd-Warshall), or noPath.
func everyGraph(check func(g adjacencyLists, distance [4][4]int)) {
	const nodes = 4
	for edges := range 1 << (nodes * nodes) {
		var g adjacencyLists
		var distance [nodes][nodes]int
		for a := range nodes {
			g.start = append(g.start, int32(len(g.nodes)))
			for b := range nodes {
				distance[a][b] = noPath
				if edges>>(a*nodes+b)&1 == 1 {
					g.nodes = append(g.nodes, int32(b))
					distance[a][b] = 1
				}
			}
		}
		g.start = append(g.start, int32(len(g.nodes)))
		for k := range nodes {
			for a := range nodes {
				for b := range nodes {
					distance[a][b] = min(distance[a][b], distance[a][k]+distance[k][b])
				}
			}
		}
		check(g, distance)
	}
}

// noPath is a distance that exceeds all paths.
const noPath = 1 << 20

// TestFindCycle checks that findCycle returns a shortest cycle through the first node that is on
// any cycle, in each graph with four nodes.
func TestFindCycle(t *testing.T) {
	everyGraph(func(g adjacencyLists, distance [4][4]int) {
		first := int32(slices.IndexFunc([]int32{0, 1, 2, 3}, func(c int32) bool { return distance[c][c] < noPath }))
		cycle := g.findCycle()
		if first < 0 && cycle == nil {
			return
		}
		if first < 0 || len(cycle) == 0 || cycle[0] != first || len(cycle) != distance[first][first] {
			t.Fatalf("cycle %v of graph %v; want one through node %d", cycle, g, first)
		}
		for i, c := range cycle {
			if next := cycle[(i+1)%len(cycle)]; distance[c][next] != 1 {
				t.Fatalf("cycle %v of graph %v has no edge from %d to %d", cycle, g, c, next)
			}
		}
	})
}

// TestOrderRings checks that orderRings accepts the graphs in which each node has at most one
// other successor in its strongly connected component, and orders a component by these edges.
func TestOrderRings(t *testing.T) {
	everyGraph(func(g adjacencyLists, distance [4][4]int) {
		component, numComponents := csr.Components(g.start, g.nodes, func(int32) bool { return true })
		firstLink, members := csr.Index(component, numComponents)
		isConnected := func(a, b int32) bool { return distance[a][b] < noPath && distance[b][a] < noPath }
		want := true
		for a := range int32(4) {
			inside := 0
			for _, b := range g.successors(a) {
				if isConnected(a, b) {
					inside++
				}
			}
			want = want && inside <= 1
		}
		if got := orderRings(g.start, g.nodes, component, firstLink, members); got != want {
			t.Fatalf("graph %v consists of rings: %t, want %t", g, got, want)
		}
		if !want {
			return
		}
		for c := range numComponents {
			ring := members[firstLink[c]:firstLink[c+1]]
			for i, a := range ring {
				if b := ring[(i+1)%len(ring)]; len(ring) > 1 && distance[a][b] != 1 {
					t.Fatalf("ring %v of graph %v has no edge from %d to %d", ring, g, a, b)
				}
			}
		}
	})
}

// BenchmarkCheckChannels checks all pairs of a ring of 512 nodes.
func BenchmarkCheckChannels(b *testing.B) {
	n, w, flows := ringPaths(512, true)
	for b.Loop() {
		if cycle, err := CheckChannels(context.Background(), n, w, flows); err != nil || cycle != nil {
			b.Fatal(cycle, err)
		}
	}
	steps := 0
	for c := range w.Start {
		steps += len(w.Steps(int32(c)))
	}
	b.ReportMetric(float64(steps)*float64(b.N)/b.Elapsed().Seconds(), "steps/s")
}
