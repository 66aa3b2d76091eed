package routing

import (
	"flag"
	"fmt"
	"strings"
	"testing"
	"time"

	"sim/engine"
	"sim/fabric/torus"
)

var huge = flag.Bool("huge", false, "route a pod of 16x16x16")

// neighbourLoad returns the maximum link load if every node sends one unit to each of its
// neighbours in the fault-free network.
func neighbourLoad(p *Problem, d *Decision) int64 {
	near := make(map[engine.Flow]bool)
	for _, l := range p.Network.Links {
		near[engine.Flow{Src: l.From, Dst: l.To}] = true
	}
	of := engine.Paths{Degree: d.Paths.Degree, Link: d.Paths.Link, Start: d.Paths.Start, Step: d.Paths.Step}
	var flows []engine.Flow
	for i, f := range p.Flows {
		if near[f] {
			flows = append(flows, f)
			of.Class = append(of.Class, d.Paths.ClassOf(int32(i)))
		}
	}
	return linkLoads(&Problem{Network: p.Network, Flows: flows}, &of).Max
}

// TestOptimisedLoads logs and verifies all-to-all loads, without faults and under the fault of
// one optical switch per dimension.
func TestOptimisedLoads(t *testing.T) {
	opt := OptimisedRouter{}
	type shape struct {
		twist string
		dims  []int
		// Without faults, and for a fault along x, y and z; 0 if unknown.
		want [4]int64
	}
	for _, c := range []shape{
		{"", []int{4, 4, 4}, [4]int64{32, 34, 34, 34}},
		{"", []int{4, 4, 8}, [4]int64{128, 0, 0, 137}},
		{"tpuv4", []int{4, 4, 8}, [4]int64{74, 74, 74, 74}},
		{"", []int{4, 8, 8}, [4]int64{256, 0, 274, 274}},
		{"tpuv4", []int{4, 8, 8}, [4]int64{184, 186, 186, 186}},
		{"", []int{8, 8, 8}, [4]int64{512, 0, 0, 0}},
		{"", []int{16, 16, 16}, [4]int64{8192, 0, 0, 0}},
	} {
		if (c.dims[0] == 16) != *huge {
			continue
		}
		for dim := -1; dim < 3; dim++ {
			var f torus.Faults
			name := "fault-free"
			if dim >= 0 {
				f.Switches = []torus.Switch{{Dim: dim, Index: 0}}
				name = "fault of " + f.Switches[0].String()
			}
			if slow := c.dims[1] == 8 || dim > 0 && (c.dims[2] == 4 || c.twist != ""); slow && dim >= 0 && !*long {
				continue
			}
			p := torusProblem(t, f, c.twist, c.dims...)
			begin := time.Now()
			d, z := route(t, opt, p, Options{Seed: 1})
			took := time.Since(begin)
			m := d.Metrics
			free := strings.HasPrefix(d.Labels["deadlock"], "free")
			t.Logf("%-6s %-5s %-14s load %4d, bound %4g, gap %.4f; unconstrained %4g; neighbours %g; free of deadlock %v; %.2f s", fmt.Sprint(p.Torus), c.twist, name,
				z.Max, d.Bound, m["gap"], m["unconstrained_max_link_load"], m["nearest_neighbour_max_load"], free, took.Seconds())
			if want := c.want[dim+1]; want > 0 && m["unconstrained_max_link_load"] != float64(want) {
				t.Errorf("%s %s, %s: load %g, want %d", p.Torus, c.twist, name, m["unconstrained_max_link_load"], want)
			}
			if d.Bound > float64(z.Max) || d.Bound < 1 {
				t.Errorf("%s %s, %s: bound %g of load %d", p.Torus, c.twist, name, d.Bound, z.Max)
			}
			if near := neighbourLoad(p, d); near > 2 || float64(near) != m["nearest_neighbour_max_load"] {
				t.Errorf("%s %s, %s: neighbours' traffic loads %d, told as %g; want at most 2", p.Torus, c.twist, name, near, m["nearest_neighbour_max_load"])
			}
			if !free {
				t.Errorf("%s %s, %s: %s", p.Torus, c.twist, name, d.Labels["deadlock"])
			}
		}
	}
}
