package collective

import (
	"context"
	"flag"
	"fmt"
	"os"
	"sim/internal/numbers"
	"slices"
	"strings"
	"testing"
	"text/tabwriter"
	"time"

	"sim/engine"
	"sim/engine/flow"
	"sim/engine/packet"
	"sim/fabric/torus"
	"sim/policies/routing"
)

// simulate returns when a schedule ends at level flow, or at level packet if packets is a packet
// size. Routed transfers are spread over shortest paths.
func simulate(ctx context.Context, p *Problem, s *Schedule, packets int32) (engine.Time, error) {
	var late []engine.Time
	if packets == 0 {
		late = slices.Repeat([]engine.Time{worstLink(p.Network).Latency}, len(s.Transfers))
	}
	g := new(engine.Graph)
	s.Append(g, AppendOptions{Latencies: late, LinksKeepOrder: packets > 0})
	if err := g.Freeze(); err != nil {
		return 0, err
	}
	flows, demand := s.FlowsOnPaths()
	weight := make([]float64, len(demand))
	for i, b := range demand {
		weight[i] = float64(b)
	}
	paths := new(engine.Paths)
	if len(flows) == 0 {
		paths.Degree, paths.Link = ports(p.Network)
	} else {
		d, err := routing.Multipath{Routes: 8}.Route(ctx, &routing.Problem{Network: p.Network, Flows: flows, Demand: weight}, routing.Options{})
		if err != nil {
			return 0, err
		}
		paths = d.Paths
	}
	ends, pinned, err := PinPaths(g, p.Network, s.Links(), flows, paths)
	if err != nil {
		return 0, err
	}
	if packets > 0 {
		var opt packet.Options
		ranks := s.Ranks()
		if slices.Max(ranks) > 0 {
			opt.TaskRank = append(ranks, make([]int32, len(g.Tasks)-len(ranks))...)
		}
		trace, _, err := packet.RunGraph(g, p.Network, ends, pinned, packets, opt)
		if err != nil {
			return 0, err
		}
		return trace.Makespan, nil
	}
	routes, err := engine.RoutesOf(g, p.Network, pinned, ends)
	if err != nil {
		return 0, err
	}
	trace, err := flow.Run(ctx, g, p.Network, routes, flow.Options{})
	if err != nil {
		return 0, err
	}
	return trace.Makespan, nil
}

// ports returns the links out of each node as a table with degree columns.
func ports(n *engine.Network) (degree int, link []int32) {
	out := make([][]int32, n.Nodes)
	for i, l := range n.Links {
		out[l.From] = append(out[l.From], int32(i))
		degree = max(degree, len(out[l.From]))
	}
	for _, links := range out {
		for k := range degree {
			if k < len(links) {
				link = append(link, links[k])
			} else {
				link = append(link, -1)
			}
		}
	}
	return degree, link
}

var (
	measure = flag.String("measure", "", "print the tables of docs/collectives.md for tori whose name contains this")
	only    = flag.String("algorithm", "", "for this algorithm only")
	called  = flag.String("call", "all-reduce", "for this collective call")
)

// TestMeasure prints the times of algorithms as multiples of the bound:
//
//	go test ./policies/collective -run Measure -v -measure x -call all-gather
func TestMeasure(t *testing.T) {
	if *measure == "" {
		t.Skip("without -measure")
	}
	kind, err := ParseKind(*called)
	if err != nil {
		t.Fatal(err)
	}
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 1, ' ', 0)
	defer w.Flush()
	for _, dims := range [][]int{{4, 4, 8}, {4, 8, 8}, {8, 8, 8}} {
		for _, twist := range []string{"", torus.TPUv4} {
			for _, down := range []bool{false, true} {
				o, err := torus.New(dims...)
				if err != nil {
					t.Fatal(err)
				}
				name := o.String()
				if twist != "" {
					if o.Twist(twist) != nil {
						continue
					}
					name += " twisted"
				}
				var h *torus.Health
				if down {
					name += " x3"
					if h, err = o.Health(torus.Faults{Switches: []torus.Switch{{Dim: 0, Index: 3}}}); err != nil {
						t.Fatal(err)
					}
				}
				if !strings.Contains(name, *measure) {
					continue
				}
				p := &Problem{Network: o.Network(h, engine.Link{Rate: 400e9}), Torus: o}
				p.Kind, p.Group, p.Bytes = kind, numbers.Below(int32(o.Nodes())), 64e6
				bound, err := p.Bound(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				fmt.Fprintf(w, "%s\tbound\t%.1f us\n", name, bound.Seconds*1e6)
				for _, r := range Table {
					if r.Name == "direct" && *only == "" || *only != "" && r.Name != *only {
						continue // all pairs at once take minutes to simulate
					}
					var opt Options
					opt.Hierarchical = Hierarchical{Domain: o.Dims[2], Inner: "bidirectional-ring", Outer: "bidirectional-ring"}
					t0 := time.Now()
					s, err := r.Expand(t.Context(), p, opt)
					if err != nil {
						fmt.Fprintf(w, "%s\t%s\t%v\n", name, r.Name, err)
						continue
					}
					t1 := time.Now()
					end, err := simulate(t.Context(), p, s, 0)
					if err != nil {
						t.Fatal(err)
					}
					t2 := time.Now()
					fmt.Fprintf(w, "%s\t%s\t%.1f us\t%.3f\t%d\t%v\t%v\n", name, r.Name, end.Seconds()*1e6, end.Seconds()/bound.Seconds, len(s.Transfers), t1.Sub(t0).Round(time.Millisecond), t2.Sub(t1).Round(time.Millisecond))
					w.Flush()
				}
			}
		}
	}
}

var long = flag.Bool("long", false, "also run the tests that take half a minute")

// TestTori: on tori, regular and twisted, with all links up or an optical switch down, an
// all-reduce by packed trees takes at most 1.1 times the bound, at levels flow and packet (all
// cases only with -long). Rings over all links take at most 1.001 times the bound.
func TestTori(t *testing.T) {
	shapes := [][]int{{4, 4, 4}, {4, 4, 8}}
	if *long {
		shapes = append(shapes, []int{4, 8, 8}) // sim sweep collectives has 8x8x8
	}
	for _, dims := range shapes {
		for _, twist := range []string{"", torus.TPUv4} {
			for _, faults := range []torus.Faults{{}, {Switches: []torus.Switch{{Dim: 0, Index: 3}}}} {
				o, err := torus.New(dims...)
				if err != nil {
					t.Fatal(err)
				}
				if twist != "" && o.Twist(twist) != nil || twist == "" && o.Nodes() > 64 && !*long {
					continue
				}
				h, err := o.Health(faults)
				if err != nil {
					t.Fatal(err)
				}
				p := &Problem{Network: o.Network(h, engine.Link{Rate: 400e9}), Torus: o}
				p.Kind, p.Group, p.Bytes = AllReduce, numbers.Below(int32(o.Nodes())), 64e6
				bound, err := p.Bound(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				schedules := map[string]*Schedule{}
				for _, c := range []struct {
					name     string
					packets  int32
					maxRatio float64
				}{{"tree-packing", 0, 1.1}, {"tree-packing", 16384, 1.1}, {"multi-ring", 0, 1.001}} {
					rings, packets := c.name == "multi-ring", c.packets > 0
					if rings && faults.Switches != nil || o.Nodes() > 128 && (packets || rings) || !*long && packets && (twist == "" || faults.Switches == nil) {
						continue
					}
					if schedules[c.name] == nil {
						r, err := ByName(c.name)
						if err != nil {
							t.Fatal(err)
						}
						if schedules[c.name], err = r.Expand(t.Context(), p, Options{}); err != nil {
							t.Fatal(err)
						}
					}
					end, err := simulate(t.Context(), p, schedules[c.name], c.packets)
					if err != nil {
						t.Fatal(err)
					}
					gap := end.Seconds() / bound.Seconds
					if t.Logf("%v %q %v: %s in packets of %d B takes %v, %.3f times its bound", dims, twist, faults, c.name, c.packets, end, gap); gap > c.maxRatio {
						t.Errorf("%v %q %v: %s in packets of %d B takes %.3f times its bound, want %g", dims, twist, faults, c.name, c.packets, gap, c.maxRatio)
					}
				}
			}
		}
	}
}
