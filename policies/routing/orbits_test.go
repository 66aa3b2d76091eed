package routing

import (
	"reflect"
	"slices"
	"testing"

	"sim/engine"
	"sim/engine/flow"
	"sim/engine/packet"
	"sim/fabric/torus"
)

// TestOrbits compares loads, channels and paths from one flow per class with the values for all
// paths, on all twists.
func TestOrbits(t *testing.T) {
	ctx, met := t.Context(), map[string]int{}
	for _, name := range []string{"dor", "wild-first"} {
		row := ByName(name)
		shapes := [][]int{{4, 4, 4}, {2, 4, 8}, {2, 4, 6}, {2, 6, 4}, {3, 4, 4}}
		if *long {
			shapes = append(shapes, [][]int{{4, 4, 8}, {4, 6, 4}, {5, 4, 4}}...)
		}
		for _, dims := range shapes {
			for _, twist := range patterns() {
				for _, settings := range []Settings{{}, {WildFirst: WildFirst{Use: UseAll}}} {
					if name == "dor" && settings.WildFirst.Use != "" {
						continue
					}
					p, o := torusProblem(t, torus.Faults{}, twist, dims...), Options{Settings: settings, Seed: 7}
					z, d, err := row.Orbits(ctx, p, o)
					if err != nil {
						t.Fatalf("%s on %v twisted %s: %v", name, dims, twist, err)
					}
					if z == nil {
						continue
					}
					met[name]++
					want, loads := route(t, row.Router, p, o)
					if got := z.Loads(); !reflect.DeepEqual(got, loads) {
						t.Fatalf("%s on %v twisted %s: loads %+v, by all paths %+v", name, dims, twist, got, loads)
					}
					paths := want.Paths
					if want.Paths = nil; !reflect.DeepEqual(d, want) {
						t.Errorf("%s on %v twisted %s: decision %+v, want %+v", name, dims, twist, d, want)
					}
					cycle, err := packet.CheckChannels(ctx, p.Network, paths, p.Flows)
					if err != nil {
						t.Fatal(err)
					}
					channels, found, err := z.Channels(ctx, p.Network)
					if err != nil || channels != paths.Channels() || !reflect.DeepEqual(found, cycle) {
						t.Errorf("%s on %v twisted %s: %d channels and cycle %v (%v), want %d and %v", name, dims, twist, channels, found, err, paths.Channels(), cycle)
					}
					byClass, _ := z.Paths(ctx, p.Flows) // never fails
					if err := byClass.Check(ctx, p.Network, p.Flows); err != nil || !reflect.DeepEqual(linkLoads(p, byClass), loads) {
						t.Errorf("%s on %v twisted %s: paths by class (%v) load links otherwise", name, dims, twist, err)
					}
				}
			}
		}
	}
	// In the fluid model one flow per class ends when all its flows do.
	p := torusProblem(t, torus.Faults{}, "010000", 4, 4, 8)
	z, _, err := ByName("dor").Orbits(ctx, p, Options{})
	if err != nil {
		t.Fatal(err)
	}
	const message = 64000
	paths, err := z.Paths(ctx, p.Flows)
	if err != nil {
		t.Fatal(err)
	}
	folded, err := engine.Fold(p.Network, paths, p.Flows, nil, message, z.Orbit)
	if err != nil {
		t.Fatal(err)
	}
	few, err := flow.Run(ctx, folded.Graph, folded.Network, folded.Routes, flow.Options{})
	if err != nil {
		t.Fatal(err)
	}
	g := &engine.Graph{}
	for _, f := range p.Flows {
		g.AddTask(engine.Task{Kind: engine.Transfer, Src: f.Src, Dst: f.Dst, Flows: 1, Bytes: message})
	}
	if err := g.Freeze(); err != nil {
		t.Fatal(err)
	}
	d, _ := route(t, ByName("dor").Router, p, Options{})
	routes, err := engine.RoutesOf(g, p.Network, d.Paths, p.Flows)
	if err != nil {
		t.Fatal(err)
	}
	all, err := flow.Run(ctx, g, p.Network, routes, flow.Options{})
	if err != nil || few.Makespan != all.Makespan {
		t.Errorf("one flow of each class ends at %v, all at %v (%v)", few.Makespan, all.Makespan, err)
	}
	if met["dor"] < 20 || met["wild-first"] < 40 {
		t.Errorf("tori with flows of one class: %v", met)
	}
}

// TestSums compares sums without stored paths with the sums of stored paths, on tori and other
// graphs with failed links.
func TestSums(t *testing.T) {
	met := map[string]int{}
	check := func(name string, p *Problem, o Options) {
		t.Helper()
		row := ByName(name)
		z, d, err := row.Sums(t.Context(), p, o)
		want, failed := row.Router.Route(t.Context(), p, o)
		if failed != nil {
			if z != nil || err != nil && err.Error() != failed.Error() {
				t.Errorf("%s: %v, want %v", name, err, failed)
			}
			return
		}
		if z == nil {
			return
		}
		met[name]++
		paths := want.Paths
		if want.Paths = nil; !reflect.DeepEqual(d, want) {
			t.Fatalf("%s on %v: decision %+v, want %+v", name, p.Torus, d, want)
		}
		if got, loads := z.Loads(), linkLoads(p, paths); !reflect.DeepEqual(got, loads) {
			t.Fatalf("%s on %v: loads %+v, by all paths %+v", name, p.Torus, got, loads)
		}
		few, err := z.Paths(t.Context(), p.Flows[3:9])
		if err != nil {
			t.Fatal(err)
		}
		cycle, err := packet.CheckChannels(t.Context(), p.Network, paths, p.Flows)
		if err != nil {
			t.Fatal(err)
		}
		for i := range int32(6) {
			is, want := few.Steps(few.ClassOf(i)), paths.Steps(paths.ClassOf(i+3))
			if !slices.EqualFunc(is, want, func(a, b engine.Step) bool { return a.Port() == b.Port() }) {
				t.Fatalf("%s on %v: path %v of flow %v, want %v", name, p.Torus, is, p.Flows[i+3], want)
			}
		}
		if channels, found, err := z.Channels(t.Context(), p.Network); err != nil || channels != paths.Channels() || !reflect.DeepEqual(found, cycle) {
			t.Errorf("%s: %d channels and cycle %v (%v), want %d and %v", name, channels, found, err, paths.Channels(), cycle)
		}
	}
	for _, shape := range []struct {
		dims  []int
		twist string
	}{{[]int{4, 4, 4}, ""}, {[]int{4, 4, 8}, ""}, {[]int{4, 4, 8}, "010000"}, {[]int{3, 5}, ""}, {[]int{8}, ""}, {[]int{2, 3}, ""}, {[]int{4, 2}, ""}} {
		for _, faults := range []torus.Faults{{}, {Switches: []torus.Switch{{Dim: 0, Index: 5}}}, {Links: []torus.Hop{{Node: 3, Dim: 0, Up: true}}}} {
			if len(shape.dims) < 3 && faults.Switches != nil {
				continue
			}
			p := torusProblem(t, faults, shape.twist, shape.dims...)
			some, graph := *p, *p
			some.Flows, graph.Torus = p.Flows[7:20], nil
			for _, router := range []string{"dor", "wild-first", "shortest", "ecmp", "random-shortest"} {
				draws := []string{""}
				if router == "ecmp" || router == "random-shortest" {
					draws = []string{"", DrawNode, DrawPacket}
				}
				for _, draw := range draws {
					o := Options{Seed: 7}
					o.ECMP.Draw, o.RandomShortest.Draw = draw, draw
					for _, p := range []*Problem{p, &some, &graph} {
						check(router, p, o)
					}
				}
			}
		}
	}
	if met["dor"] < 3 || met["wild-first"] < 6 || met["shortest"] < 33 || met["ecmp"] < 70 || met["random-shortest"] < 70 {
		t.Errorf("met %v", met)
	}
}
