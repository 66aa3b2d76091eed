package plots

import (
	"bytes"
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	_ "sim/internal/testseed"
	"sim/plots/sheet"
	"sim/plots/sheet/sheettest"
	"sim/scenarios/result"
)

// TestAnyRun: random runs neither cause a panic nor give an empty figure.
func TestAnyRun(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		doc, d := anyRun(t)
		figs, err := every(doc, d)
		if err != nil {
			t.Fatalf("a sound run is refused: %v", err)
		}
		for _, f := range figs {
			var b bytes.Buffer
			if err := f.Write(&b, "svg"); err != nil {
				t.Fatalf("%s: %v", f.Name, err)
			}
			sheettest.CheckSVG(t, f.Name, b.Bytes())
		}
	})
}

// TestNotEmpty: each image of each run contains a minimum share of drawn pixels.
func TestNotEmpty(t *testing.T) {
	for name, r := range runs {
		figs, err := every(r())
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for _, f := range figs {
			img, drawn := sheettest.Image(f), 0
			r := img.Bounds()
			for i := 0; i < len(img.Pix); i += 4 {
				if img.Pix[i] < 0xf0 {
					drawn++
				}
			}
			const minShare = 0.02 // share of the pixels; text alone covers more
			if share := float64(drawn) / float64(r.Dx()*r.Dy()); share < minShare {
				t.Errorf("%s of %s is all but empty: %s", f.Name, name, sheet.Percent(share))
			}
		}
	}
}

func anyRun(t *rapid.T) (*result.Document, *result.Detail) {
	doc := &result.Document{Reference: map[string]float64{"makespan_s": sheettest.AnyNumber.Draw(t, "ideal"), "compute_makespan_s": sheettest.AnyNumber.Draw(t, "compute")}}
	d := &result.Detail{Title: sheettest.AnyName.Draw(t, "title"), Reference: anySimulation(t, "")}
	for i := range rapid.IntRange(0, 5).Draw(t, "policies") {
		name := fmt.Sprint(i, sheettest.AnyName.Draw(t, "policy"))
		row := result.Row{Policy: name, Metrics: map[string]float64{}, Labels: map[string]string{"nct": sheettest.AnyName.Draw(t, "why")}}
		for _, m := range []string{"nct", "makespan_s", "bound_makespan_s", "ports", "max_link_load", "bound_max_link_load", "all_to_all_bytes_per_s"} {
			if rapid.Bool().Draw(t, "has") {
				row.Metrics[m] = sheettest.AnyNumber.Draw(t, m) * rapid.SampledFrom([]float64{1, 1, -1}).Draw(t, "sign")
			}
		}
		doc.Rows = append(doc.Rows, row)
		if rapid.Bool().Draw(t, "simulated") {
			d.Policies = append(d.Policies, anySimulation(t, name))
		}
	}
	w := &d.Windows
	n := rapid.OneOf(rapid.IntRange(0, 3), rapid.SampledFrom([]int{30, 2000})).Draw(t, "tasks")
	for range n {
		w.Task = append(w.Task, "task")
	}
	w.Intervals = anyCount.Draw(t, "intervals")
	for _, col := range []*[]float64{&w.EarliestS, &w.LatestS, &w.StartS, &w.EndS} {
		if rapid.Bool().Draw(t, "column") {
			v, step := sheettest.AnyNumber.Draw(t, "first"), sheettest.AnyNumber.Draw(t, "step")/1e4
			for i := range n {
				*col = append(*col, min(v+step*float64(i), sheet.DrawableLimit))
			}
		}
	}
	for _, col := range []*[]int{&w.FirstK, &w.LastK, &w.TopoMin, &w.TopoMax, &w.MinK, &w.MaxK} {
		if rapid.Bool().Draw(t, "column") {
			k := anyCount.Draw(t, "k")
			for i := range n {
				*col = append(*col, k+i)
			}
		}
	}
	return doc, d
}

func anySimulation(t *rapid.T, policy string) result.Simulation {
	p := result.Simulation{
		Policy: policy, MakespanS: sheettest.AnyNumber.Draw(t, "makespan"),
		Service: rapid.SampledFrom([]string{"", "max-min", "level-priority"}).Draw(t, "service"),
		Demand:  anySeries(t), Rates: anySeries(t), Circuits: anySeries(t),
	}
	for range rapid.IntRange(0, 4).Draw(t, "tracks") {
		l := result.Track{Name: sheettest.AnyName.Draw(t, "track"), Group: sheettest.AnyName.Draw(t, "group")}
		for range rapid.IntRange(0, 6).Draw(t, "spans") {
			s := result.Span{Kind: anyKind.Draw(t, "kind"), Label: sheettest.AnyName.Draw(t, "label"), StartS: sheettest.AnyNumber.Draw(t, "start")}
			s.EndS = min(s.StartS+sheettest.AnyNumber.Draw(t, "duration"), sheet.DrawableLimit)
			l.Spans = append(l.Spans, s)
		}
		slices.SortFunc(l.Spans, func(a, b result.Span) int {
			switch {
			case a.StartS < b.StartS:
				return -1
			case a.StartS > b.StartS:
				return 1
			}
			return 0
		})
		p.Tracks = append(p.Tracks, l)
	}
	if rapid.Bool().Draw(t, "has torus") {
		p.Torus = anyTorus(t)
	}
	if rapid.Bool().Draw(t, "has delays") {
		p.Delay = anyDelay(t)
	}
	if rapid.Bool().Draw(t, "has messages") {
		p.Messages = anyDelay(t)
	}
	if rapid.IntRange(0, 3).Draw(t, "has plan") == 0 {
		p.Schedule = anySchedule(t)
	}
	if rapid.Bool().Draw(t, "has topology") {
		p.Topology = anyTopology(t)
	}
	return p
}

// anyTorus draws links between arbitrary nodes, and paths along them.
func anyTorus(t *rapid.T) *result.Torus {
	l := &result.Torus{Unit: sheettest.AnyName.Draw(t, "unit")}
	nodes := 1
	for range rapid.IntRange(0, 4).Draw(t, "dims") {
		n := rapid.OneOf(rapid.IntRange(1, 4), rapid.SampledFrom([]int{9})).Draw(t, "dim")
		l.Dims = append(l.Dims, n)
		nodes *= n
	}
	if len(l.Dims) == 0 {
		return l
	}
	node := rapid.IntRange(0, nodes-1)
	for range rapid.IntRange(0, 12).Draw(t, "links") {
		l.Links = append(l.Links, result.TorusLink{From: node.Draw(t, "from"), To: node.Draw(t, "to"), Dim: rapid.IntRange(0, len(l.Dims)-1).Draw(t, "along"),
			Up: rapid.Bool().Draw(t, "up"), Wrap: rapid.Bool().Draw(t, "wrap"), State: rapid.SampledFrom([]string{"", "", "down", "drained"}).Draw(t, "state"), Load: sheettest.AnyNumber.Draw(t, "load")})
	}
	for range rapid.IntRange(0, 9).Draw(t, "ways") {
		w := result.TorusRoute{Src: node.Draw(t, "src"), FaultFree: rapid.Bool().Draw(t, "usual")}
		w.Dst = w.Src
		for i, k := range l.Links {
			if k.From == w.Dst {
				w.Links, w.Dst = append(w.Links, i), k.To
			}
		}
		l.Routes = append(l.Routes, w)
	}
	return l
}

func anyDelay(t *rapid.T) *result.Delay {
	d := &result.Delay{MeanS: sheettest.AnyNumber.Draw(t, "mean"), P50S: sheettest.AnyNumber.Draw(t, "p50")}
	d.P99S = min(d.P50S+sheettest.AnyNumber.Draw(t, "p99"), sheet.DrawableLimit)
	d.MaxS = min(d.P99S+sheettest.AnyNumber.Draw(t, "max"), sheet.DrawableLimit)
	at := 0.0
	for range rapid.IntRange(0, 6).Draw(t, "bins") {
		b := result.DelayBin{FromS: at, ToS: min(at+sheettest.AnyNumber.Draw(t, "width"), sheet.DrawableLimit), Packets: int64(rapid.IntRange(0, 5).Draw(t, "packets"))}
		d.Bins = append(d.Bins, b)
		at = b.ToS
	}
	return d
}

func anyTopology(t *rapid.T) *result.Topology {
	topo := &result.Topology{}
	n := rapid.OneOf(rapid.IntRange(0, 4), rapid.SampledFrom([]int{12, 40})).Draw(t, "pods")
	for i := range n {
		topo.Pods = append(topo.Pods, result.PodPorts{Name: fmt.Sprint("pod ", i), Replica: i % rapid.IntRange(1, 3).Draw(t, "replicas"),
			Used: anyCount.Draw(t, "used"), Total: anyCount.Draw(t, "total")})
	}
	if n == 0 {
		return topo
	}
	for range rapid.IntRange(0, 10).Draw(t, "pairs") {
		topo.Pairs = append(topo.Pairs, result.Pair{A: rapid.IntRange(0, n-1).Draw(t, "a"), B: rapid.IntRange(0, n-1).Draw(t, "b"),
			Circuits: anyCount.Draw(t, "circuits"), DP: rapid.Bool().Draw(t, "dp"), Copies: rapid.IntRange(-1, 3).Draw(t, "copies")})
	}
	return topo
}

func anySeries(t *rapid.T) []result.Series {
	var out []result.Series
	for range rapid.IntRange(0, 10).Draw(t, "series") {
		s := result.Series{Name: sheettest.AnyName.Draw(t, "name"), Group: rapid.SampledFrom([]string{"", "a", "b"}).Draw(t, "group")}
		for range rapid.IntRange(0, 5).Draw(t, "steps") {
			s.TimeS = append(s.TimeS, sheettest.AnyNumber.Draw(t, "time")-rapid.SampledFrom([]float64{0, 0, 1}).Draw(t, "before"))
			s.Value = append(s.Value, sheettest.AnyNumber.Draw(t, "value"))
		}
		slices.Sort(s.TimeS)
		out = append(out, s)
	}
	return out
}

var (
	anyKind  = rapid.SampledFrom([]string{"forward", "backward", "pp-forward", "pp-backward", "dp", "compute", ""})
	anyCount = rapid.OneOf(rapid.IntRange(-2, 40), rapid.SampledFrom([]int{1 << 40}))
)
