package chart

import (
	"bytes"
	"fmt"
	"image/color"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"sim/plots/sheet"
	"sim/plots/sheet/sheettest"
	"sim/scenarios/result"
)

func mustChart(t *testing.T, spec result.Plot, s *result.Sweep, times *result.SweepTimings) sheet.Figure {
	t.Helper()
	f, err := New(&spec, s, times)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// TestChartErrors compares error messages with a table: they contain the invalid value and the
// accepted ones.
func TestChartErrors(t *testing.T) {
	bars := result.Plot{Name: "p", Kind: "bars", X: "base", Y: "nct"}
	below := func(metric string, policies ...string) result.Plot {
		return result.Plot{Name: "p", Kind: "lines", X: "port_bandwidth", Y: "nct", Series: "policy", Panels: "base",
			LowerY: metric, LowerSeries: policies}
	}
	fails := bandwidthSweep()
	for i := range fails.Cells {
		fails.Cells[i].Metrics, fails.Cells[i].Failed = nil, "out of memory\nat once"
	}
	twice := sweepOf("twice", "", []result.Axis{countAxis("workload.gpus", 1, 2), countAxis("fabric.gpus", 1, 2)}, chartPolicies[:1], func([]int, int) map[string]float64 { return map[string]float64{"nct": 1} })
	wide := sweepOf("wide", "", []result.Axis{countAxis("seed", make([]float64, 600)...)}, chartPolicies[:1], func([]int, int) map[string]float64 { return map[string]float64{"nct": 1} })
	for _, c := range []struct {
		want   string
		change func(p *result.Plot)
		data   *result.Sweep
		early  bool // Check finds the error
	}{
		{`plot p: kind: there is no "bar"; did you mean bars? There are bars, lines, scatter, heatmap, twists and cdf`, func(p *result.Plot) { p.Kind = "bar" }, nil, true},
		{`kind is missing: name bars, lines, scatter, heatmap, twists or cdf`, func(p *result.Plot) { p.Kind = "" }, nil, true},
		{`x: there is no "bandwidht"; there are base, fabric.port_bandwidth and policy`, func(p *result.Plot) { p.X = "bandwidht" }, nil, true},
		{`x: there is no "port_bandwith"; did you mean fabric.port_bandwidth?`, func(p *result.Plot) { p.X = "port_bandwith" }, nil, true},
		{`series: there is no "polcy"; did you mean policy?`, func(p *result.Plot) { p.Series = "polcy" }, nil, true},
		{`panels: there is no "bases"; did you mean base?`, func(p *result.Plot) { p.Panels = "bases" }, nil, true},
		{`x: "gpus" may be workload.gpus or fabric.gpus; write it in full`, func(p *result.Plot) { p.X = "gpus" }, twice, true},
		{`metric: there is no "ntc"; did you mean nct? There are makespan_s, nct, solve_s and simulation_s`, func(p *result.Plot) { p.Y = "ntc" }, nil, true},
		{`metric: there is no "reference.nct"`, func(p *result.Plot) { p.Y = "reference.nct" }, nil, true},
		{`y is missing: name a metric`, func(p *result.Plot) { p.Y = "" }, nil, true},
		{`x is missing: name base, fabric.port_bandwidth or policy`, func(p *result.Plot) { p.X = "" }, nil, true},
		{`solve_s needs the sweep's timings`, func(p *result.Plot) { p.Y = "solve_s" }, nil, false},
		{`base is named twice: give panels another axis`, func(p *result.Plot) { p.Panels = "base" }, nil, true},
		{`base has values that are no numbers, so lines cannot go over it; bars can`, func(p *result.Plot) { p.Kind = "lines" }, nil, true},
		{`z is for heat maps`, func(p *result.Plot) { p.Z = "nct" }, nil, true},
		{`z is missing: name the metric that colours the heat map`, func(p *result.Plot) { p.Kind, p.Y = "heatmap", "policy" }, nil, true},
		{`y: there is no "nct"`, func(p *result.Plot) { p.Kind, p.Z = "heatmap", "nct" }, nil, true},
		{`a cdf has no x`, func(p *result.Plot) { p.Kind = "cdf" }, nil, true},
		{`whiskers: a standard deviation below the mean may be 0 or less`, func(p *result.Plot) { p.Whiskers, p.LogY = "deviation", true }, nil, true},
		{`whiskers are for means; leave aggregation = "max" out`, func(p *result.Plot) { p.Whiskers, p.Aggregation = "range", "max" }, nil, true},
		{`bars stand side by side, so log_x means nothing`, func(p *result.Plot) { p.LogX = true }, nil, true},
		{`where base: there is no "gpt"; there are megatron177b, mixtral8x22b, megatron462b and deepseek671b`, func(p *result.Plot) { p.Where = map[string][]string{"base": {"gpt"}} }, nil, true},
		{`where: there is no "bas"; did you mean base?`, func(p *result.Plot) { p.Where = map[string][]string{"bas": {"x"}} }, nil, true},
		{`lower_y is missing: name the metric that is shown of lower_series`, func(p *result.Plot) { *p = below("", "delta-fast") }, nil, true},
		{`lower_series: there is no "delta-jiont"; did you mean delta-joint?`, func(p *result.Plot) { *p = below("makespan_s", "delta-jiont", "delta-fast") }, nil, true},
		{`lower_series: where leaves delta-topo out`, func(p *result.Plot) {
			*p = below("makespan_s", "delta-fast", "delta-topo", "delta-joint")
			p.Where = map[string][]string{"policy": {"delta-fast", "delta-joint"}}
		}, nil, true},
		{`where names fabric.port_bandwidth twice`, func(p *result.Plot) {
			p.Where = map[string][]string{"port_bandwidth": {"200Gbps"}, "fabric.port_bandwidth": {"400Gbps"}}
		}, nil, true},
		{`where lists no value of base`, func(p *result.Plot) { p.Where = map[string][]string{"base": {}} }, nil, true},
		{`mark[0] x: there is no "megatron177"; did you mean megatron177b?`, func(p *result.Plot) { p.Marks = []result.Mark{{Label: "paper", X: "megatron177"}} }, nil, true},
		{`mark[0]: panel is "a", but the plot has no panel`, func(p *result.Plot) { p.Marks = []result.Mark{{Label: "paper", Panel: "a"}} }, nil, true},
		{`mark[0] has no label`, func(p *result.Plot) { p.Marks = []result.Mark{{Y: 1}} }, nil, true},
		{`y_min is 0, which a logarithmic axis does not have`, func(p *result.Plot) { p.LogY, p.YMin = true, from(0) }, nil, true},
		{`no cell has a value of nct: all failed, the first for this reason: out of memory`, func(p *result.Plot) {}, fails, false},
		{`x: 600 bars would stand in a panel, of which 480 can be shown at most; keep some with where, or draw lines`, func(p *result.Plot) { p.X = "seed" }, wide, true},
		{`panels: seed has 600 values, of which 24 can be shown at most`, func(p *result.Plot) { p.X, p.Panels = "policy", "seed" }, wide, true},
		{`series: seed has 600 values, of which 24 can be told apart at most`, func(p *result.Plot) { p.X, p.Series = "policy", "seed" }, wide, true},
		{`nct of megatron177b, 200Gbps, prop-alloc is +Inf, which no figure can show`, func(p *result.Plot) { p.Scale = 1e24; p.Offset = 0 }, infinite(), false},
		{`cell 0 has 1 coordinates for 2 axes`, func(p *result.Plot) {}, damaged(), true},
	} {
		p, s := bars, c.data
		c.change(&p)
		if s == nil {
			s = bandwidthSweep()
		}
		_, err := New(&p, s, nil)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			// Check assumes timings, because every sweep has them.
			if err2 := Check(&p, s); err2 == nil || !strings.Contains(err2.Error(), c.want) {
				t.Errorf("error %v\nwant %s", err, c.want)
			}
		}
		if early := Check(&p, s); (early != nil) != c.early {
			t.Errorf("%s: found early: %v", c.want, early)
		}
	}
}

func infinite() *result.Sweep {
	s := bandwidthSweep()
	s.Cells[0].Metrics["nct"] = 1e300
	return s
}

func damaged() *result.Sweep {
	s := bandwidthSweep()
	s.Cells[0].At = s.Cells[0].At[:1]
	return s
}

// TestChartNames: axes can be named in full, by a key of their group, or by the last part of a
// name.
func TestChartNames(t *testing.T) {
	s := bandwidthSweep()
	s.Axes[1].Name, s.Axes[1].Keys = "speed", []string{"fabric.port_bandwidth", "fabric.nic_bandwidth"}
	spec := result.Plot{Name: "p", Kind: "lines", Y: "nct", Panels: "base"}
	var first []byte
	for _, x := range []string{"speed", "fabric.port_bandwidth", "fabric.nic_bandwidth", "nic_bandwidth"} {
		spec.X = x
		var b bytes.Buffer
		if err := mustChart(t, spec, s, nil).Write(&b, "svg"); err != nil {
			t.Fatal(err)
		}
		if first == nil {
			first = b.Bytes()
		}
		if !bytes.Equal(first, b.Bytes()) {
			t.Errorf("%s gives another figure", x)
		}
	}
}

// TestBarLengths: there is one bar per cell, in the colour of its policy, and its length is
// proportional to the distance of the value from the base.
func TestBarLengths(t *testing.T) {
	spec := result.Plot{Name: "p", Kind: "bars", X: "port_bandwidth", Y: "nct", Panels: "base"}
	f := mustChart(t, spec, bandwidthSweep(), nil)
	for p := range chartPolicies {
		got := filled(f, sheet.LineStyles[p].Color)[1:] // after the legend's
		if len(got) != 16 {
			t.Fatalf("%s has %d bars", chartPolicies[p], len(got))
		}
		perUnit := got[0] / (bandwidthNCT[0][0][p] - 1)
		for i, h := range got {
			want := max(1, perUnit*(bandwidthNCT[i/4][i%4][p]-1)) // at least one point, so that it is visible
			if math.Abs(h-want) > 0.02 {
				t.Errorf("%s, bar %d is %.2f points long, want %.2f", chartPolicies[p], i, h, want)
			}
		}
	}
}

// TestColorsStay: the style of a label does not depend on which other labels are drawn.
func TestColorsStay(t *testing.T) {
	spec := result.Plot{Name: "p", Kind: "bars", X: "port_bandwidth", Y: "nct", Panels: "base", Where: map[string][]string{"policy": {"delta-joint", "sqrt-alloc"}}}
	f := mustChart(t, spec, bandwidthSweep(), nil)
	for p, want := range []int{0, 17, 0, 0, 0, 17} {
		if got := len(filled(f, sheet.LineStyles[p].Color)); p != 4 && got != want { // black is not only a policy's
			t.Errorf("%s has %d bars, want %d", chartPolicies[p], got, want)
		}
	}
}

// TestPooledAxes: the footer names only axes that vary among the cells of a bar. Here each policy has
// one bandwidth, so that bars are means over scenarios alone.
func TestPooledAxes(t *testing.T) {
	s := bandwidthSweep()
	of := map[string]int{}
	s.Cells = slices.DeleteFunc(s.Cells, func(c result.Cell) bool {
		if _, given := of[c.Policy]; !given {
			of[c.Policy] = len(of) % len(s.Axes[1].Labels)
		}
		return c.At[1] != of[c.Policy]
	})
	f := mustChart(t, result.Plot{Kind: "bars", X: "policy", Y: "nct"}, s, nil)
	if !sheettest.Contains(f, " cells, over scenario; whiskers") {
		t.Error("the figure names an axis that does not vary, or not the one that does")
	}
}

// TestDeviation: whiskers of one standard deviation agree with the definition.
func TestDeviation(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.SliceOfN(rapid.Float64Range(-1e3, 1e3), 2, 20).Draw(t, "values")
		var s cellSummary
		sum := 0.0
		for _, x := range values {
			s.add(x)
			sum += x
		}
		mean, squares := sum/float64(len(values)), 0.0
		for _, x := range values {
			squares += (x - mean) * (x - mean)
		}
		want := math.Sqrt(squares / float64(len(values)-1))
		s.narrow()
		if down, up := s.mean-s.min, s.max-s.mean; math.Abs(down-want) > 1e-9 || math.Abs(up-want) > 1e-9 {
			t.Fatalf("whisker of %v reaches %g down and %g up, want %g", values, down, up, want)
		}
	})
}

// TestChartNotes: notes explain means, whiskers and missing values, and nothing is drawn for a
// missing value.
func TestChartNotes(t *testing.T) {
	s := bandwidthSweep()
	s.Cells[1].Metrics, s.Cells[1].Failed = nil, "nothing can proceed\nstack"
	delete(s.Cells[2].Metrics, "nct")
	s.Cells[2].Labels = map[string]string{"nct": "undefined: no communication"}
	f := mustChart(t, result.Plot{Kind: "bars", X: "port_bandwidth", Y: "nct", Panels: "base"}, s, nil)
	for _, part := range []string{
		"2 cells have no value: megatron177b, 200Gbps, sqrt-alloc (failed: nothing can proceed); megatron177b, 200Gbps, iter-halve (undefined: no communication).",
		"Bars start at 1, not at 0",
	} {
		if !sheettest.Contains(f, part) {
			t.Errorf("the figure does not say %q", part)
		}
	}
	if n := len(filled(f, sheet.LineStyles[1].Color)); n != 1+15 {
		t.Errorf("%d bars and samples of sqrt-alloc", n)
	}
	f = mustChart(t, result.Plot{Kind: "bars", X: "base", Y: "nct"}, s, nil)
	if !sheettest.Contains(f, "A bar is the mean of up to 4 cells, over port bandwidth; whiskers reach from the least to the greatest.") {
		t.Error("the figure does not say what it averages")
	}
	f = mustChart(t, result.Plot{Kind: "bars", X: "base", Y: "nct", Whiskers: "deviation"}, s, nil)
	if !sheettest.Contains(f, "whiskers reach one standard deviation down and up.") {
		t.Error("the figure does not say what whiskers are")
	}
	f = mustChart(t, result.Plot{Kind: "cdf", Y: "nct"}, s, nil)
	if !sheettest.Contains(f, "it pools all values of scenario and port bandwidth.") {
		t.Error("the figure does not say what its curves pool")
	}
	f = mustChart(t, result.Plot{Kind: "heatmap", X: "port_bandwidth", Y: "base", Z: "nct"}, s, nil)
	if !sheettest.Contains(f, "Crossed tiles have no value.") {
		t.Error("the heat map does not say what crosses are")
	}
	f = mustChart(t, result.Plot{Kind: "lines", X: "port_bandwidth", Y: "nct", Where: map[string][]string{"base": {"mixtral8x22b"}}}, s, nil)
	if !sheettest.Contains(f, "Lines that lie on each other: delta-fast and delta-topo.") || !sheettest.Contains(f, "scenario mixtral8x22b") {
		t.Error("the figure does not say which lines lie on each other, or what it is of")
	}
}

// TestTabulate compares table and cellSummary with a loop over all cells.
func TestTabulate(t *testing.T) {
	s := seedSweep(7)
	v, err := newView(&result.Plot{Kind: "bars", X: "base", Y: "nct", Scale: 2, Offset: -1, Where: map[string][]string{"seed": {"2", "3", "7"}}}, s, nil)
	if err != nil {
		t.Fatal(err)
	}
	m, err := v.measure("nct")
	if err != nil {
		t.Fatal(err)
	}
	tab, err := v.tabulate(m)
	if err != nil {
		t.Fatal(err)
	}
	for b := range 2 {
		for p, policy := range chartPolicies {
			sum, lo, hi, n := 0.0, math.Inf(1), math.Inf(-1), 0
			for _, c := range s.Cells {
				if seed := s.Axes[1].Labels[c.At[1]]; c.Policy == policy && c.At[0] == b && strings.Contains("2 3 7", seed) {
					y := 2*c.Metrics["nct"] - 1
					sum, lo, hi, n = sum+y, min(lo, y), max(hi, y), n+1
				}
			}
			got := tab.cell(0, p, b)
			if got.n != 3 || n != 3 || got.min != lo || got.max != hi || math.Abs(got.mean-sum/3) > 1e-12 {
				t.Errorf("%s of %d: %+v, want %d cells from %g to %g, mean %g", policy, b, *got, n, lo, hi, sum/3)
			}
		}
	}
}

// TestCurves: a cdf counts trials that do not finish, and increases by the same amount at each
// value.
func TestCurves(t *testing.T) {
	s := sweepOf("s", "", nil, chartPolicies[:2], func([]int, int) map[string]float64 { return map[string]float64{"nct": 9, "trial_count": 8} })
	for i := range s.Cells {
		s.Cells[i].Samples = map[string][]float64{"nct": {3, 1, 2, 2}}
	}
	s.Cells[1].Metrics["trial_count"] = 4
	v, err := newView(&result.Plot{Kind: "cdf", Y: "nct"}, s, nil)
	if err != nil {
		t.Fatal(err)
	}
	m, _ := v.measure("nct")
	c := &lineChart{v: v}
	if err := c.buildDistribution(m); err != nil || !strings.Contains(c.readingNote, "trials") {
		t.Fatal(c.readingNote, err)
	}
	for i, of := range []int{8, 4} {
		k := c.lines[0][i]
		var x []float64
		for _, p := range k {
			x = append(x, p.x)
		}
		if !slices.Equal(x, []float64{1, 1, 2, 2, 2, 2, 3, 3}) || (k[7].mean == 1) != (of == 4) || shareAt(k, 2) != 3/float64(of) || shareAt(k, 3) != 4/float64(of) || shareAt(k, 0.5) != 0 {
			t.Errorf("curve %d: %+v", i, k)
		}
	}
}

// TestChartsDeterministic: drawing a plot twice gives the same bytes.
func TestChartsDeterministic(t *testing.T) {
	for _, c := range chartCases() {
		var first []byte
		for range 2 {
			s, times := c.data()
			f := mustChart(t, c.spec, s, times)
			var b bytes.Buffer
			if err := f.Write(&b, "svg"); err != nil {
				t.Fatal(err)
			}
			if first == nil {
				first = b.Bytes()
			}
			if !bytes.Equal(first, b.Bytes()) {
				t.Errorf("%s differs when it is drawn again", c.spec.Name)
			}
		}
	}
}

func TestDefaultCharts(t *testing.T) {
	describe := func(ps []result.Plot) string {
		var out []string
		for _, p := range ps {
			out = append(out, strings.TrimRight(fmt.Sprintf("%s: %s x=%s y=%s z=%s series=%s panels=%s log=%t", p.Name, p.Kind, p.X, p.Y, p.Z, p.Series, p.Panels, p.LogX), " "))
		}
		return strings.Join(out, "\n")
	}
	value := func([]int, int) map[string]float64 {
		return map[string]float64{"makespan_s": 2, "completion_s": 3, "alpha": 1}
	}
	names := axis("fabric.kind", []string{"a", "b"})
	for _, c := range []struct {
		axes []result.Axis
		want string
	}{
		{nil, "makespan_s: bars x=policy y=makespan_s z= series= panels= log=false"},
		{[]result.Axis{countAxis("seed", 1, 2, 3)}, "makespan_s: bars x=policy y=makespan_s z= series= panels= log=false"},
		{[]result.Axis{countAxis("seed", 1, 2, 3, 4, 5, 6, 7, 8)}, "makespan_s: cdf x= y=makespan_s z= series= panels= log=false"},
		{[]result.Axis{bandwidths}, "makespan_s: lines x=fabric.port_bandwidth y=makespan_s z= series=policy panels= log=true"},
		{[]result.Axis{countAxis("n", 1, 2, 3, 4)}, "makespan_s: lines x=n y=makespan_s z= series=policy panels= log=false"},
		{[]result.Axis{names}, "makespan_s: bars x=fabric.kind y=makespan_s z= series=policy panels= log=false"},
		{[]result.Axis{names, bandwidths}, "makespan_s: lines x=fabric.port_bandwidth y=makespan_s z= series=policy panels=fabric.kind log=true"},
		{[]result.Axis{countAxis("n", 1, 2), bandwidths}, "makespan_s: heatmap x=fabric.port_bandwidth y=n z=makespan_s series= panels=policy log=false"},
		{[]result.Axis{names, axis("one", []string{"x"}), axis("m", []string{"c", "d", "e"})}, "makespan_s: bars x=m y=makespan_s z= series=policy panels=fabric.kind log=false"},
		{[]result.Axis{names, bandwidths, countAxis("n", 1, 2)}, "makespan_s-1: lines x=fabric.port_bandwidth y=makespan_s z= series=policy panels=fabric.kind log=true\n" +
			"makespan_s-2: lines x=fabric.port_bandwidth y=makespan_s z= series=policy panels=fabric.kind log=true"},
	} {
		s := sweepOf("s", "", c.axes, chartPolicies, value)
		if got := describe(Default(s)); got != c.want {
			t.Errorf("got  %s\nwant %s", got, c.want)
		}
		if figs, errs := All(nil, s, nil); errs != nil || len(figs) == 0 {
			t.Errorf("%s: %d figures, %v", c.want, len(figs), errs)
		}
	}
	if got := Default(sweepOf("s", "", nil, chartPolicies, func([]int, int) map[string]float64 { return nil })); got != nil {
		t.Errorf("a sweep of failures proposes %v", got)
	}
}

// TestPropose: plots that Propose completes can be drawn, and given options are unchanged.
func TestPropose(t *testing.T) {
	s := bandwidthSweep()
	for _, c := range []struct {
		given result.Plot
		want  string
	}{
		{result.Plot{}, "lines nct over fabric.port_bandwidth by policy, base"},
		{result.Plot{Y: "makespan_s"}, "lines makespan_s over fabric.port_bandwidth by policy, base"},
		{result.Plot{X: "base"}, "bars nct over base by policy, fabric.port_bandwidth"},
		{result.Plot{X: "policy"}, "bars nct over policy by , base"},
		{result.Plot{X: "base", Series: "port_bandwidth"}, "bars nct over base by port_bandwidth, "},
		{result.Plot{X: "makespan_s"}, "lines nct over makespan_s by policy, base"},
		{result.Plot{Z: "nct"}, "heatmap base over fabric.port_bandwidth by , "},
		{result.Plot{Kind: "cdf"}, "cdf nct over  by policy, base"},
		{result.Plot{Where: map[string][]string{"base": {"megatron177b"}}}, "lines nct over fabric.port_bandwidth by policy, "},
	} {
		p := Propose(s, c.given)
		if got := fmt.Sprintf("%s %s over %s by %s, %s", p.Kind, p.Y, p.X, p.Series, p.Panels); got != c.want {
			t.Errorf("%+v:\ngot  %s\nwant %s", c.given, got, c.want)
		}
		if _, err := New(&p, s, nil); err != nil {
			t.Errorf("%+v: %v", c.given, err)
		}
	}
}

// TestChartsPartly: if some figures cannot be drawn, the others are returned with the errors.
func TestChartsPartly(t *testing.T) {
	good := result.Plot{Name: "same", Kind: "bars", X: "base", Y: "nct"}
	bad := good
	bad.Name, bad.X = "bad", "bases"
	figs, errs := All([]result.Plot{good, bad, good}, bandwidthSweep(), nil)
	if len(figs) != 2 || figs[0].Name != "same" || figs[1].Name != "same-2" {
		t.Errorf("figures %v", figs)
	}
	if len(errs) != 1 || !strings.Contains(errs[0].Error(), "plot bad: x:") {
		t.Errorf("errors %v", errs)
	}
}

// TestLinePoints: lines have gaps at cells without a value, and marks are at the numbers of
// their labels even if the option where removes categories.
func TestLinePoints(t *testing.T) {
	s := bandwidthSweep()
	s.Cells[6].Metrics = nil // 400 Gb/s, prop-alloc
	spec := result.Plot{
		Kind: "lines", X: "port_bandwidth", Y: "nct", Panels: "base", Where: map[string][]string{"port_bandwidth": {"1600Gbps", "400Gbps", "800Gbps"}},
		Marks: []result.Mark{{Label: "elsewhere", X: "200Gbps", Y: 2}, {Label: "paper", X: "800Gbps", Y: 1.5}},
	}
	v, err := newView(&spec, s, nil)
	if err != nil {
		t.Fatal(err)
	}
	m, err := v.measure("nct")
	if err != nil {
		t.Fatal(err)
	}
	c := &lineChart{v: v}
	if err := c.buildOverAxis(m); err != nil {
		t.Fatal(err)
	}
	for series, want := range []string{"8e+11 gap, 1.6e+12", "4e+11, 8e+11, 1.6e+12"} {
		var got []string
		for _, p := range c.lines[0][series] {
			text := fmt.Sprint(p.x)
			if p.afterGap {
				text += " gap"
			}
			got = append(got, text)
		}
		if strings.Join(got, ", ") != want {
			t.Errorf("series %d: %s, want %s", series, strings.Join(got, ", "), want)
		}
	}
	marks := v.marks
	if len(marks) != 1 || marks[0].number != 8e11 || marks[0].x != 1 {
		t.Errorf("marks %+v", marks)
	}
	if f := mustChart(t, spec, s, nil); sheettest.Contains(f, "elsewhere") || !sheettest.Contains(f, "paper") {
		t.Error("the legend lists a mark that is not drawn, or not one that is")
	}
}

// TestSlantedLabels: labels of a common length are not shortened when they are slanted.
func TestSlantedLabels(t *testing.T) {
	for _, c := range chartCases() {
		if c.spec.Name == "long" {
			if s, _ := c.data(); !sheettest.Contains(mustChart(t, c.spec, s, nil), "a ring of eight pods") {
				t.Error("the first label is cut")
			}
		}
	}
}

// filled returns the heights of the shapes that are filled with a colour, in drawing order.
func filled(f sheet.Figure, clr color.Color) []float64 {
	var out []float64
	for _, r := range sheettest.Boxes(sheettest.Record(f))[sheet.ToRGBA(clr)] {
		out = append(out, float64(r.Max.Y-r.Min.Y))
	}
	return out
}
