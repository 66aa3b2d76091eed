package plots

import (
	"fmt"
	"image/color"
	"math"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/recorder"
	"pgregory.net/rapid"

	"sim/plots/sheet"
	"sim/plots/sheet/sheettest"
	"sim/scenarios/result"
)

// TestNetLayout: the nodes of a layout are inside the picture at different positions, and
// neighbours in a dimension are one step apart.
func TestNetLayout(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var dims []int
		for range rapid.IntRange(1, 4).Draw(t, "n") {
			dims = append(dims, rapid.IntRange(1, 6).Draw(t, "dim"))
		}
		a := torusCase{dims: dims}
		n := (&result.Simulation{Torus: &result.Torus{Dims: dims}}).Net()
		for i, p := range n.Positions {
			if p[0] < 0 || p[0] > 1 || p[1] < 0 || p[1] > n.Height {
				t.Fatalf("%s stands at %v, outside 1 by %g", n.Names[i], p, n.Height)
			}
			for j := range i {
				if q := n.Positions[j]; math.Hypot(p[0]-q[0], p[1]-q[1]) < n.Step*0.99 {
					t.Fatalf("%s and %s are at %v and %v, a step is %g", n.Names[i], n.Names[j], p, q, n.Step)
				}
			}
			if b := a.at(i); b[0]+1 < dims[0] { // x to the right
				b[0]++
				if q := n.Positions[a.node(b)]; math.Abs(q[0]-p[0]-n.Step) > 3e-4 || q[1] != p[1] {
					t.Fatalf("the neighbour in x of %s is at %v, itself at %v", n.Names[i], q, p)
				}
			}
		}
	})
}

// TestNetLinks: on a twisted torus with a fault, each link starts at its node and ends at the
// next, or is a stub.
func TestNetLinks(t *testing.T) {
	l := twistedFault.torus()
	k := newLinkLoads(&result.Simulation{Torus: l})
	var s sheet.Sheet
	k.addLegend(&s)
	if legend := s.Legend; legend[len(legend)-1].Text != "4 links down" {
		t.Errorf("the legend ends with %q", legend[len(legend)-1].Text)
	}
	maxLoad, heaviest := 0.0, 0
	for i, link := range l.Links {
		n := &k.Links[i]
		at, to := k.Positions[link.From], k.Positions[link.To]
		near := func(x, y float64, p [2]float64) bool { return math.Hypot(x-p[0], y-p[1]) < 0.15*k.Step }
		if n.From != link.From || n.Load != link.Load || n.State != link.State || !near(n.Line[0], n.Line[1], at) {
			t.Fatalf("link %d is %+v, drawn as %+v", i, link, n)
		}
		if whole := link.Dim < 2 && !link.Wrap; near(n.Line[2], n.Line[3], to) != whole {
			t.Fatalf("link %d of dimension %d, round: %v, ends at %v, its node is at %v", i, link.Dim, link.Wrap, n.Line[2:], to)
		}
		if link.Load > maxLoad {
			maxLoad, heaviest = link.Load, i
		}
	}
	if k.MaxLoad != maxLoad || !strings.Contains(k.bottleneckText(), k.Names[k.Links[heaviest].From]+" "+k.Links[heaviest].Label) {
		t.Errorf("most %g, want %g; %s", k.MaxLoad, maxLoad, k.bottleneckText())
	}
	if got := result.Coordinates([]int{4, 4, 8}, 1*32+2*8+5); got != "(1,2,5)" {
		t.Errorf("coordinates %s", got)
	}
}

// TestLinkColors: colours of a ring of five links start at the smallest load, and a link without
// load is grey.
func TestLinkColors(t *testing.T) {
	l := &result.Torus{Dims: []int{5}, Unit: "messages"}
	for n, load := range []float64{5, 4, 3, 3, 0} {
		l.Links = append(l.Links, result.TorusLink{From: n, To: (n + 1) % 5, Up: true, Wrap: n == 4, Load: load})
	}
	k := newLinkLoads(&result.Simulation{Torus: l})
	rec := new(recorder.Canvas)
	k.paint(draw.NewCanvas(rec, sheet.ContentWidth, 200))
	got := map[color.Color]int{}
	var clr color.Color
	for _, a := range rec.Actions {
		switch a := a.(type) {
		case *recorder.SetColor:
			clr = a.Color
		case *recorder.Stroke:
			got[clr]++
		}
	}
	for clr, want := range map[color.Color]int{sheet.Heat(0): 1, sheet.Heat(0.475): 1, sheet.Heat(0.95): 2, sheet.Faint: 1} {
		if got[clr] != want {
			t.Errorf("%d links have the colour %v, want %d", got[clr], clr, want)
		}
	}
}

// TestLinkLoadLimits: a pod of 16x16x16 has a picture, a line that is too long has none, and
// pictures of paths need more space per node.
func TestLinkLoadLimits(t *testing.T) {
	for _, tt := range []struct {
		dims          []int
		loads, routes bool
	}{{[]int{16, 16, 16}, true, false}, {[]int{2, 2, 2, 2}, true, true}, {[]int{4096}, false, false}, {[]int{64, 64}, true, false}, {nil, false, false}, {[]int{8, 8, 8}, true, true}} {
		p := &result.Simulation{Torus: &result.Torus{Dims: tt.dims, Links: []result.TorusLink{{Load: 1}}, Routes: []result.TorusRoute{{}}}}
		if loads, routes := newLinkLoads(p) != nil, newRouteMap(p) != nil; loads != tt.loads || routes != tt.routes {
			t.Errorf("%v shown: %v, routes %v; want %v and %v", tt.dims, loads, routes, tt.loads, tt.routes)
		}
	}
}

// TestRoutesShown: the first six of many paths are drawn, and a note has the number of the
// others.
func TestRoutesShown(t *testing.T) {
	l := cubeFault.torus()
	l.Routes = append(l.Routes, l.Routes[:3]...)
	m := newRouteMap(&result.Simulation{Torus: l})
	if len(m.routes) != maxRoutes || m.routes[0].line.Width == m.routes[1].line.Width || m.routes[1].line.Color == m.routes[3].line.Color {
		t.Errorf("%d routes, looks %v %v %v", len(m.routes), m.routes[0].line, m.routes[1].line, m.routes[3].line)
	}
	_, page := m.figure("p", "")
	text := sheettest.Text(page.Figure(""))
	for _, want := range []string{"3 routes more left out.", "links drained", "links down", "if nothing were down"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not written", want)
		}
	}
}

// TestGraphNet: the nodes of a graph are in rows by their distance from the endpoints, and
// links within a row are curved.
func TestGraphNet(t *testing.T) {
	g := &result.Graph{Unit: "messages", Nodes: []result.GraphNode{{Name: "a"}, {Name: "b"}, {Name: "leaf", Switch: true}, {Name: "spine", Switch: true}},
		Links: []result.GraphLink{{From: 0, To: 2, Load: 3, Speed: 1}, {From: 1, To: 2, Load: 1, Speed: 1}, {From: 2, To: 3, Load: 2, Speed: 2}, {From: 0, To: 1, Speed: 1}}}
	n := (&result.Simulation{Graph: g}).Net()
	if n.Positions[0][1] != n.Positions[1][1] || n.Positions[2][1] >= n.Positions[0][1] || n.Positions[3][1] >= n.Positions[2][1] || n.MaxLoad != 3 || n.Links[2].Label != "2 times the rate" {
		t.Errorf("nodes at %v, %+v", n.Positions, n.Links[2])
	}
	if len(n.Links[0].Line) != 4 || len(n.Links[3].Line) != 26 {
		t.Errorf("lines of %d and %d numbers", len(n.Links[0].Line), len(n.Links[3].Line))
	}
	if newLinkLoads(&result.Simulation{Graph: g}) == nil {
		t.Error("no picture of a graph")
	}
}

// TestQuantiles compares quantiles with a calculation by hand: 4 packets in [1, 2), none in
// [2, 3), 6 in [3, 5), maximum 4.
func TestQuantiles(t *testing.T) {
	p := &result.Simulation{Delay: &result.Delay{MeanS: 2.5, P50S: 3, P99S: 4, MaxS: 4, Bins: []result.DelayBin{{FromS: 1, ToS: 2, Packets: 4}, {FromS: 3, ToS: 5, Packets: 6}}}}
	for i, want := range []float64{1.25, 1.5, 1.75, 2, 3 + 1/6.0, 3 + 2/6.0, 3.5, 3 + 4/6.0, 3 + 5/6.0, 4} {
		if got := quantiles(p.Delay, 10); len(got) != 10 || math.Abs(got[i]-want) > 1e-12 {
			t.Errorf("quantiles %v; want %g of %d", got, want, i)
		}
	}
	p.Delay.Bins = nil
	if quantiles(p.Delay, 10) != nil || quantiles(nil, 10) != nil {
		t.Error("quantiles without packets")
	}
}

// TestDelaysOfMany: a note has the number of policies for which there is no line style.
func TestDelaysOfMany(t *testing.T) {
	for n, want := range map[int]string{8: "", 10: "The first 8 of 10 policies are shown."} {
		d := &result.Detail{Policies: []result.Simulation{{Policy: "without packets"}}}
		for i := range n {
			d.Policies = append(d.Policies, result.Simulation{Policy: fmt.Sprint("p", i), Delay: someDelay(2e-5, 4)})
		}
		figs := figureFunc(delaysFigure).draw(nil, d)
		if len(figs) != 1 || sheettest.Contains(figs[0], "policies are shown") != (want != "") || !sheettest.Contains(figs[0], want) {
			t.Errorf("%d policies: %s", n, sheettest.Text(figs[0]))
		}
	}
}

// TestMessages: the figure of messages shows their times, not the delays of packets.
func TestMessages(t *testing.T) {
	d := &result.Detail{Policies: []result.Simulation{{Policy: "p", Delay: someDelay(2e-5, 4), Messages: someDelay(7e-3, 4)}}}
	figs := figureFunc(messagesFigure).draw(nil, d)
	want := fmt.Sprintf("mean %s", sheet.Duration(d.Policies[0].Messages.MeanS, 4))
	if len(figs) != 1 || figs[0].Name != "messages" || !sheettest.Contains(figs[0], want) {
		t.Errorf("want the figure of messages with %q", want)
	}
}

// TestTorusFigures: figures of tori are named by policy, and are omitted without data.
func TestTorusFigures(t *testing.T) {
	doc, d := torusRun(twistedFault, "dor", "wild-first")
	names := func() (out []string) {
		figs, err := every(doc, d)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range figs {
			out = append(out, f.Name)
		}
		return out
	}
	want := []string{"loads", "delays", "links-dor", "links-wild-first", "routes-dor", "routes-wild-first"}
	if got := names(); !slices.Equal(got, want) {
		t.Fatalf("figures %v, want %v", got, want)
	}
	d.Policies[0].Torus.Routes, d.Policies[1].Torus, d.Policies[0].Delay, d.Policies[1].Delay = nil, nil, nil, nil
	for i := range doc.Rows {
		delete(doc.Rows[i].Metrics, "max_link_load")
	}
	if got := names(); !slices.Equal(got, []string{"links-dor"}) {
		t.Errorf("figures %v", got)
	}
	d.Policies[0].Torus.Links[3].Load = 1e300
	if _, err := every(doc, d); err == nil {
		t.Error("a load of 1e300 is drawn")
	}
}
