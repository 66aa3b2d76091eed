package plots

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/recorder"
	"pgregory.net/rapid"

	"sim/plots/sheet"
	"sim/plots/sheet/sheettest"
	"sim/scenarios/result"
)

// Tiles of all nodes lie inside the panel and apart.
func TestTilesApart(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var dims []int
		for range rapid.IntRange(1, 3).Draw(t, "n") {
			dims = append(dims, rapid.IntRange(1, 9).Draw(t, "dim"))
		}
		a := aTorus{dims: dims, mesh: true}
		nodes := 1
		for _, n := range dims {
			nodes *= n
		}
		k := newLinkLoads(&result.Torus{Dims: dims, Links: []result.TorusLink{{}}})
		height := k.tile.height
		width := (sheet.Inside - loadsSide - vg.Length(k.tile.panels-1)*loadsGap) / vg.Length(k.tile.panels)
		c := draw.NewCanvas(new(recorder.Canvas), width, height)
		const eps = 1e-6
		var at []vg.Point
		for n := range nodes {
			p := k.corner(c, n)
			if p.X < -eps || p.Y < -eps || p.X+k.tile.tile > width+eps || p.Y+k.tile.tile > height+eps {
				t.Fatalf("node %v stands at %v, outside %v by %v", a.at(n), p, width, height)
			}
			for m, q := range at {
				if math.Abs(float64(p.X-q.X)) < float64(k.tile.tile)-eps && math.Abs(float64(p.Y-q.Y)) < float64(k.tile.tile)-eps {
					t.Fatalf("nodes %v and %v overlap", a.at(n), a.at(m))
				}
			}
			at = append(at, p)
			if b := a.at(n); b[0]+1 < dims[0] { // x to the right, y up
				b[0]++
				if q := k.corner(c, a.node(b)); math.Abs(float64(q.X-p.X-k.tile.tile)) > eps || q.Y != p.Y {
					t.Fatalf("the neighbour in x of %v is at %v, itself at %v", a.at(n), q, p)
				}
			}
		}
	})
}

// Every link is on its tile: of a twisted torus with a fault, recounted.
func TestLinkLoads(t *testing.T) {
	l := twistedFault.torus()
	k := newLinkLoads(l)
	if legend := k.legend(); legend[len(legend)-1].Text != "4 links down" {
		t.Errorf("the legend ends with %q", legend[len(legend)-1].Text)
	}
	most, placed := 0.0, 0
	for dir, at := range k.at {
		for node, i := range at {
			if link := l.Links[i]; link.From != node || link.Dim != dir/2 || link.Up != (dir%2 == 0) {
				t.Fatalf("direction %s of node %d shows %+v", directionName(dir), node, link)
			}
			most = max(most, l.Links[i].Load)
			placed++
		}
	}
	if placed != len(l.Links) || most != k.most || len(k.peaks) == 0 {
		t.Errorf("%d of %d links, most %g, want %g", placed, len(l.Links), k.most, most)
	}
	for _, i := range k.peaks {
		if l.Links[i].Load != most {
			t.Errorf("link %d carries %g, not the most", i, l.Links[i].Load)
		}
	}
	if got := coordinates([]int{4, 4, 8}, 1*32+2*8+5); got != "(1,2,5)" {
		t.Errorf("coordinates %s", got)
	}
}

// A pod of 16x16x16 is shown, 4 dimensions and too long a line are not.
func TestLinkLoadLimits(t *testing.T) {
	for _, tt := range []struct {
		dims []int
		want bool
	}{{[]int{16, 16, 16}, true}, {[]int{2, 2, 2, 2}, false}, {[]int{4096}, false}, {[]int{64, 64}, true}, {nil, false}} {
		if got := newLinkLoads(&result.Torus{Dims: tt.dims, Links: []result.TorusLink{{Load: 1}}}) != nil; got != tt.want {
			t.Errorf("%v shown: %v, want %v", tt.dims, got, tt.want)
		}
	}
	big := &result.Torus{Dims: []int{9, 8, 8}, Links: []result.TorusLink{{Load: 1}}, Routes: []result.TorusRoute{{}}}
	if newRouteMap(big) != nil {
		t.Error("routes on 9x8x8 are shown")
	}
	big.Dims = []int{8, 8, 8}
	if newRouteMap(big) == nil {
		t.Error("routes on 8x8x8 are not shown")
	}
}

// Nodes of 8x8x8 do not hide each other.
func TestProjection(t *testing.T) {
	for _, dims := range [][]int{{8, 8, 8}, {4, 4, 8}, {4, 4, 4}, {6, 8}, {8}} {
		m := newRouteMap(&result.Torus{Dims: dims, Routes: []result.TorusRoute{{}}})
		c := draw.NewCanvas(new(recorder.Canvas), sheet.Inside, routesTall)
		at, _ := m.project(c)
		nodes := 1
		for _, n := range dims {
			nodes *= n
		}
		const apart = 4 // points, the width of a dot
		for a := range nodes {
			p := at(a)
			if p.X < 0 || p.Y < 0 || p.X > sheet.Inside || p.Y > routesTall {
				t.Fatalf("%v: node %d is outside at %v", dims, a, p)
			}
			for b := range a {
				if q := at(b); math.Hypot(float64(p.X-q.X), float64(p.Y-q.Y)) < apart {
					t.Fatalf("%v: nodes %s and %s are at %v and %v", dims, coordinates(dims, a), coordinates(dims, b), p, q)
				}
			}
		}
	}
}

// Of many routes the first six are shown, the others noted.
func TestRoutesShown(t *testing.T) {
	l := cubeFault.torus()
	l.Routes = append(l.Routes, l.Routes[:3]...)
	m := newRouteMap(l)
	if len(m.routes) != routesShown || m.routes[0].color != m.routes[1].color || m.routes[1].color == m.routes[2].color {
		t.Errorf("%d routes, colours %v %v %v", len(m.routes), m.routes[0].color, m.routes[1].color, m.routes[2].color)
	}
	text := sheettest.Text(m.figure("p", ""))
	for _, want := range []string{"3 routes more left out.", "drained link", "link that is down", "if nothing were down"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not written", want)
		}
	}
}

// Worked by hand: 4 packets in [1, 2), none in [2, 3), 6 in [3, 5), the longest 4.
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

// Policies beyond those that have a line of their own are counted in a note.
func TestDelaysOfMany(t *testing.T) {
	for n, want := range map[int]string{8: "", 10: "The first 8 of 10 policies are shown."} {
		d := &result.Detail{Policies: []result.Simulation{{Policy: "without packets"}}}
		for i := range n {
			d.Policies = append(d.Policies, result.Simulation{Policy: fmt.Sprint("p", i), Delay: someDelay(2e-5, 4)})
		}
		figs := delaysFigure(nil, d)
		if len(figs) != 1 || sheettest.Says(figs[0], "policies are shown") != (want != "") || !sheettest.Says(figs[0], want) {
			t.Errorf("%d policies: %s", n, sheettest.Text(figs[0]))
		}
	}
}

// Figures of tori are named by policy and left out without data.
func TestTorusFigures(t *testing.T) {
	doc, d := torusRun(twistedFault, "dor", "wild-first")
	names := func() (out []string) {
		figs, err := All(doc, d)
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
	if _, err := All(doc, d); err == nil {
		t.Error("a load of 1e300 is drawn")
	}
}
