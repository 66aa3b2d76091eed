package routing

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	_ "sim/internal/testseed"

	"sim/engine"
	"sim/fabric/torus"
)

// checkTables fails the test if following the tables does not give the paths of the flows.
func checkTables(t interface {
	Helper()
	Fatalf(string, ...any)
}, z *ForwardingTables, flows []engine.Flow, w *engine.Paths) {
	t.Helper()
	for i, f := range flows {
		a, b := w.Of(w.ClassOf(int32(i)))
		tags := z.FlowTags(int32(i))
		if len(tags) != int(b-a) {
			t.Fatalf("flow %v has %d tags for %d paths", f, len(tags), b-a)
		}
		for k, tag := range tags {
			got, err := z.follow(f.Src, f.Dst, tag)
			if want := w.Steps(a + int32(k)); err != nil || !slices.Equal(got, want) {
				t.Fatalf("flow %v: the tables lead along %v (%v), the path is %v", f, got, err, want)
			}
		}
	}
}

// TestForwarding verifies on random graphs that following the tables gives the paths, one or
// several per pair, and that every entry is used by some path.
func TestForwarding(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawGraph(t)
		r := []Router{ECMP{}, RandomShortest{}, Multipath{Routes: 3}, Shortest{}}[rapid.IntRange(0, 3).Draw(t, "router")]
		d, err := r.Route(context.Background(), p, Options{Seed: rapid.Uint64().Draw(t, "seed")})
		if errors.Is(err, ErrUnserved) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		z, err := Compile(p.Network, p.Flows, d.Paths)
		if err != nil {
			t.Fatal(err)
		}
		checkTables(t, z, p.Flows, d.Paths)
		used := map[string]int{}
		for i, f := range p.Flows {
			a, _ := d.Paths.Of(d.Paths.ClassOf(int32(i)))
			for k, tag := range z.FlowTags(int32(i)) {
				node := f.Src
				for _, s := range d.Paths.Steps(a + int32(k)) {
					used[fmt.Sprint(node, f.Dst, tag)] = int(node)
					node = p.Network.Links[d.Paths.Out(node, s)].To
				}
			}
		}
		chip := make([]int64, p.Network.Nodes)
		for _, node := range used {
			chip[node]++
		}
		if z.Entries != int64(len(used)) || z.MaxChipEntries != slices.Max(chip) {
			t.Fatalf("%d entries, %d of a chip; want %d, %d", z.Entries, z.MaxChipEntries, len(used), slices.Max(chip))
		}
		if r == (Shortest{}) && z.Tags > 1 {
			t.Fatalf("paths by destination alone take %d tags", z.Tags)
		}
		var b bytes.Buffer
		if err := z.WriteCSV(&b); err != nil || strings.Count(b.String(), "\n") != len(used)+1 {
			t.Fatalf("%d lines for %d entries, %v", strings.Count(b.String(), "\n"), len(used), err)
		}
	})
}

// TestForwardingTori verifies that tables of tori give the routers' paths with their virtual
// channels. It logs their sizes.
func TestForwardingTori(t *testing.T) {
	fault := torus.Faults{Switches: []torus.Switch{{Dim: 1, Index: 5}}}
	for _, c := range []struct {
		name  string
		r     Router
		f     torus.Faults
		twist string
		dims  []int
	}{
		{"dor", DimensionOrder{}, torus.Faults{}, "", []int{4, 4, 4}},
		{"dor", DimensionOrder{}, torus.Faults{}, "", []int{4, 4, 8}},
		{"dor", DimensionOrder{}, torus.Faults{}, torus.TPUv4, []int{4, 4, 8}},
		{"dor", DimensionOrder{}, torus.Faults{}, "", []int{4, 8, 8}},
		{"wild-first", WildRule{}, fault, "", []int{4, 4, 4}},
		{"wild-first", WildRule{WildFirst: WildFirst{Use: UseNeeded}}, fault, "", []int{4, 4, 8}},
		{"wild-first", WildRule{}, fault, torus.TPUv4, []int{4, 4, 8}},
		{"shortest", Shortest{}, fault, "", []int{4, 4, 8}},
		{"multipath", wildMultipath{Multipath: Multipath{Routes: 4}}, fault, "", []int{4, 4, 4}},
	} {
		p := torusProblem(t, c.f, c.twist, c.dims...)
		d, _ := route(t, c.r, p, Options{})
		z, err := Compile(p.Network, p.Flows, d.Paths)
		if err != nil {
			t.Fatal(err)
		}
		checkTables(t, z, p.Flows, d.Paths)
		t.Logf("%s on %s %s: %d entries, %d a chip at most (%d chips), %d tags (%d bits)",
			c.name, p.Torus, c.twist, z.Entries, z.MaxChipEntries, z.Nodes, z.Tags, z.TagBits)
	}
}

// TestForwardingByHand verifies an example by hand: two paths from 0 and 1 to 3 via 2 that
// diverge at 2 need two tags. It also compares the exported text.
func TestForwardingByHand(t *testing.T) {
	n := &engine.Network{Nodes: 4}
	for _, l := range [][2]int32{{0, 2}, {1, 2}, {2, 3}, {2, 3}} {
		n.Links = append(n.Links, engine.Link{From: l[0], To: l[1], Rate: 1, Channels: 2})
	}
	w := &engine.Paths{Degree: 2, Link: []int32{0, -1, 1, -1, 2, 3, -1, -1}}
	w.Add(engine.MakeStep(0, 0), engine.MakeStep(0, 0))
	w.Add(engine.MakeStep(0, 0), engine.MakeStep(1, 1))
	flows := []engine.Flow{{Src: 0, Dst: 3}, {Src: 1, Dst: 3}}
	z, err := Compile(n, flows, w)
	if err != nil {
		t.Fatal(err)
	}
	var entries, tags bytes.Buffer
	if err := errors.Join(z.WriteCSV(&entries), z.WriteTags(&tags)); err != nil {
		t.Fatal(err)
	}
	if want := "chip,destination,tag,port,channel,next\n0,3,0,0,0,2\n1,3,1,0,0,2\n2,3,0,0,0,3\n2,3,1,1,1,3\n"; entries.String() != want {
		t.Errorf("entries\n%s, want\n%s", &entries, want)
	}
	if want := "source,destination,way,tag\n0,3,0,0\n1,3,0,1\n"; tags.String() != want {
		t.Errorf("tags\n%s, want\n%s", &tags, want)
	}
	if z.Entries != 4 || z.MaxChipEntries != 2 || z.Tags != 2 || z.TagBits != 1 {
		t.Errorf("%+v", z)
	}
	if _, err := z.follow(1, 3, 0); err == nil || !strings.Contains(err.Error(), "lost at node 1") {
		t.Errorf("node 1 has no entry for tag 0: %v", err)
	}
	if _, err := z.follow(1, 3, 2); err == nil {
		t.Error("there is no tag 2")
	}
	if errors.Is(z.WriteCSV(brokenRouter{}), nil) || errors.Is(z.WriteTags(brokenRouter{}), nil) {
		t.Error("writes failed without an error")
	}
	loop := &engine.Network{Nodes: 2, Links: []engine.Link{{From: 0, To: 0, Rate: 1}, {From: 0, To: 1, Rate: 1}}}
	twice := &engine.Paths{Degree: 2, Link: []int32{0, 1, -1, -1}}
	twice.Add(engine.MakeStep(0, 0), engine.MakeStep(1, 0))
	if _, err := Compile(loop, []engine.Flow{{Src: 0, Dst: 1}}, twice); err == nil || !strings.Contains(err.Error(), "twice") {
		t.Errorf("node 0 twice: %v", err)
	}
}

type brokenRouter struct{}

func (brokenRouter) Write([]byte) (int, error) { return 0, errors.New("disk full") }

func BenchmarkCompile(b *testing.B) {
	for _, dims := range [][]int{{8, 8, 8}, {16, 16, 16}} {
		b.Run(fmt.Sprint(dims), func(b *testing.B) {
			p := torusProblem(b, torus.Faults{}, "", dims...)
			d, err := DimensionOrder{}.Route(context.Background(), p, Options{})
			if err != nil {
				b.Fatal(err)
			}
			var z *ForwardingTables
			for b.Loop() {
				if z, err = Compile(p.Network, p.Flows, d.Paths); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(z.Entries), "entries")
			b.ReportMetric(float64(z.MaxChipEntries), "entries/chip")
			b.ReportMetric(float64(z.Tags), "tags")
		})
	}
}

// next returns the step of packets with a destination and tag at a chip; false if there is no
// entry.
func (z *ForwardingTables) next(node, dst int32, tag uint16) (engine.Step, bool) {
	table, i := z.table[dst], int(tag)*int(z.Nodes)+int(node)
	if i >= len(table) || table[i] == engine.Arrived {
		return 0, false
	}
	return table[i], true
}

// follow follows the tables from chip to chip. It fails if they do not lead from src to dst.
func (z *ForwardingTables) follow(src, dst int32, tag uint16) ([]engine.Step, error) {
	var path []engine.Step
	for node := src; node != dst; {
		s, ok := z.next(node, dst, tag)
		if !ok || len(path) >= int(z.Nodes) {
			return nil, fmt.Errorf("routing: a packet from node %d to %d with tag %d is lost at node %d", src, dst, tag, node)
		}
		path = append(path, s)
		node = z.linkEnd[z.link[int(node)*z.degree+s.Port()]]
	}
	return path, nil
}
