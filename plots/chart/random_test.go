package chart

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"sim/plots/sheet/sheettest"
	"sim/scenarios/result"
)

// TestAnyChart: a random plot of a random sweep can be drawn, or gives an error with the name
// of the plot.
func TestAnyChart(t *testing.T) {
	drawn, tried, why := 0, 0, map[string]int{}
	rapid.Check(t, func(t *rapid.T) {
		tried++
		s, times := anySweep(t)
		spec := anyPlot(t, s)
		if rapid.IntRange(0, 4).Draw(t, "mended") > 0 {
			mend(t, &spec, s)
		}
		checked := Check(&spec, s)
		fig, err := New(&spec, s, times)
		if err == nil && checked != nil {
			t.Fatalf("drawn although refused before: %v", checked)
		}
		if err != nil {
			if !strings.HasPrefix(err.Error(), "plot ") && s.Check() == nil {
				t.Fatalf("the error does not name the plot: %v", err)
			}
			if strings.ContainsAny(err.Error(), "\n\r") {
				t.Fatalf("the error is more than a line: %q", err)
			}
			why[err.Error()]++
			return
		}
		drawn++
		var b bytes.Buffer
		if err := fig.Write(&b, "svg"); err != nil {
			t.Fatal(err)
		}
		sheettest.CheckSVG(t, fig.Name, b.Bytes())
	})
	if tried >= 50 && drawn < tried/4 { // with fewer cases the share is not significant
		t.Errorf("only %d of the %d plots could be drawn: %v", drawn, tried, why)
	}
}

// TestAnyDefault: all figures that Default proposes for random sweeps can be drawn.
func TestAnyDefault(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, times := anySweep(t)
		for _, spec := range Default(s) {
			if err := Check(&spec, s); err != nil {
				t.Fatal(err)
			}
		}
		figs, _ := All(nil, s, times)
		for _, f := range figs {
			var b bytes.Buffer
			if err := f.Write(&b, "svg"); err != nil {
				t.Fatal(err)
			}
			sheettest.CheckSVG(t, f.Name, b.Bytes())
		}
	})
}

var (
	anyAxisName = rapid.SampledFrom([]string{"base", "seed", "fabric.twist", "fabric.port_bandwidth", "workload.sequence", "other.sequence", "policy", "run", "", "a.b\n"})
	anyLabel    = rapid.OneOf(sheettest.AnyName, rapid.SampledFrom([]string{"megatron177b", "a label that is rather long", strings.Repeat("long", 30)}))
	anyAmount   = rapid.OneOf(rapid.SampledFrom([]float64{0, 1, 1e-12, 1e23, 1.0000001, 3.5e-7}), rapid.Float64Range(0, 10), rapid.Float64Range(0, 1e6))
	anyValue    = rapid.OneOf(rapid.SampledFrom([]float64{0, 1, -1, 1e-12, 1e23, 1.0000001, 3.5e-7}), rapid.Float64Range(-10, 10), rapid.Float64Range(0, 1e6))
)

func anySweep(t *rapid.T) (*result.Sweep, *result.SweepTimings) {
	s := &result.Sweep{Name: sheettest.AnyName.Draw(t, "name"), Title: sheettest.AnyName.Draw(t, "title")}
	total := 1
	for range rapid.IntRange(0, 3).Draw(t, "axes") {
		a := result.Axis{Name: anyAxisName.Draw(t, "axis")}
		a.Keys = []string{a.Name}
		if rapid.Bool().Draw(t, "group") {
			a.Keys = append(a.Keys, anyAxisName.Draw(t, "key"))
		}
		n := rapid.OneOf(rapid.IntRange(1, 5), rapid.SampledFrom([]int{30})).Draw(t, "values")
		if total *= n; total > 400 {
			break
		}
		numbers := rapid.Bool().Draw(t, "numbers")
		if a.Name == twistKey {
			for i := range n {
				a.Labels = append(a.Labels, bitsOf(i, twistBits))
			}
			s.Axes = append(s.Axes, a)
			continue
		}
		for i := range n {
			label := fmt.Sprint(i)
			if !numbers {
				label = anyLabel.Draw(t, "label") + label
			}
			a.Labels = append(a.Labels, label+rapid.SampledFrom([]string{"", "", "Gbps", "ms"}).Draw(t, "unit"))
			if numbers {
				a.Numbers = append(a.Numbers, rapid.OneOf(rapid.Just(float64(i+1)), anyValue).Draw(t, "number"))
			}
		}
		s.Axes = append(s.Axes, a)
	}
	policies := rapid.SampledFrom([][]string{{"one"}, {"one", "two", "three"}, {"", "a-policy-with-a-rather-long-name"}, {"p1", "p2", "p3", "p4", "p5", "p6", "p7", "p8", "p9", "p10", "p11", "p12"}}).Draw(t, "policies")
	times := &result.SweepTimings{Cells: map[string]result.PolicyTimings{}}
	for i := range rapid.IntRange(0, 60).Draw(t, "cells") {
		c := result.Cell{Policy: rapid.SampledFrom(policies).Draw(t, "policy"), Key: fmt.Sprint(i)}
		for _, a := range s.Axes {
			c.At = append(c.At, rapid.IntRange(0, len(a.Labels)-1).Draw(t, "at"))
		}
		if rapid.IntRange(0, 5).Draw(t, "fails") == 0 {
			c.Failed = sheettest.AnyName.Draw(t, "why")
		} else {
			c.Metrics = map[string]float64{}
			for _, m := range []string{"nct", "makespan_s", "ports", "x_bytes_per_s", "trial_count"} {
				if rapid.IntRange(0, 3).Draw(t, "has") > 0 {
					c.Metrics[m] = anyAmount.Draw(t, m)
				}
			}
			c.Reference = map[string]float64{"makespan_s": anyAmount.Draw(t, "reference")}
		}
		if rapid.IntRange(0, 3).Draw(t, "sampled") == 0 {
			c.Samples = map[string][]float64{"nct": rapid.SliceOfN(anyAmount, 0, 20).Draw(t, "samples")}
		}
		if rapid.Bool().Draw(t, "timed") {
			times.Cells[c.Key] = result.PolicyTimings{SolveS: anyAmount.Draw(t, "solve")}
		}
		s.Cells = append(s.Cells, c)
	}
	if rapid.Bool().Draw(t, "untimed") {
		return s, nil
	}
	return s, times
}

func anyPlot(t *rapid.T, s *result.Sweep) result.Plot {
	names := []string{"", "policy", "polcy", "sequence"}
	for _, a := range s.Axes {
		names = append(names, a.Name, a.Name)
	}
	axis, metric := rapid.SampledFrom(names), rapid.SampledFrom([]string{"nct", "nct", "makespan_s", "ports", "x_bytes_per_s", "solve_s", "reference.makespan_s", "nt", ""})
	p := result.Plot{
		Name: sheettest.AnyName.Draw(t, "plot"), Kind: rapid.SampledFrom(append(Kinds, Kinds...)).Draw(t, "kind"), Title: sheettest.AnyName.Draw(t, "plot title"),
		X: axis.Draw(t, "x"), Y: metric.Draw(t, "y"),
		LogX: rapid.IntRange(0, 3).Draw(t, "log x") == 0, LogY: rapid.IntRange(0, 3).Draw(t, "log y") == 0,
		Scale: rapid.SampledFrom([]float64{0, 0, 1, 100, -1, 1e30}).Draw(t, "scale"), Offset: rapid.SampledFrom([]float64{0, 0, -100}).Draw(t, "offset"),
	}
	if rapid.Bool().Draw(t, "series?") {
		p.Series = axis.Draw(t, "series")
	}
	if rapid.Bool().Draw(t, "panels?") {
		p.Panels = axis.Draw(t, "panels")
	}
	switch {
	case p.Kind == "twists":
		p.X, p.Y, p.Z = "", "", metric.Draw(t, "z")
	case p.Kind == "scatter":
		p.X = metric.Draw(t, "x metric")
	case p.Kind == "heatmap":
		p.Y, p.Z = axis.Draw(t, "up"), metric.Draw(t, "z")
	case p.Kind == "lines" && rapid.Bool().Draw(t, "over a metric"):
		p.X = metric.Draw(t, "x metric")
	case p.Kind == "cdf" && rapid.Bool().Draw(t, "no x"):
		p.X = ""
	}
	if p.Kind == "lines" && rapid.Bool().Draw(t, "more") {
		p.ExtraY = rapid.SliceOfN(metric, 0, 2).Draw(t, "also")
		p.LowerY = metric.Draw(t, "below")
		if p.LowerY != "" && rapid.Bool().Draw(t, "below of") {
			p.LowerSeries = []string{anyPolicy(t, s)}
		}
	}
	p.Aggregation = rapid.SampledFrom([]string{"", "", "", "mean", "min", "max"}).Draw(t, "take")
	if rapid.IntRange(0, 3).Draw(t, "from?") == 0 {
		p.YMin = from(anyValue.Draw(t, "from"))
	}
	if rapid.Bool().Draw(t, "labels?") {
		p.XLabel, p.YLabel = sheettest.AnyName.Draw(t, "x label"), sheettest.AnyName.Draw(t, "y label")
	}
	label := func(role string) string {
		if len(s.Axes) == 0 || rapid.Bool().Draw(t, "no "+role) {
			return rapid.SampledFrom([]string{"", "", "one", "elsewhere", "2.5"}).Draw(t, role)
		}
		a := s.Axes[rapid.IntRange(0, len(s.Axes)-1).Draw(t, role+" axis")]
		return rapid.SampledFrom(a.Labels).Draw(t, role)
	}
	for range rapid.SampledFrom([]int{0, 0, 1, 3}).Draw(t, "marks") {
		p.Marks = append(p.Marks, result.Mark{Label: rapid.SampledFrom([]string{"paper", "other", "<>"}).Draw(t, "who"),
			X: label("mark x"), Series: label("mark series"), Panel: label("mark panel"), Y: anyValue.Draw(t, "stated")})
	}
	if rapid.IntRange(0, 3).Draw(t, "where?") == 0 {
		p.Where = map[string][]string{axis.Draw(t, "where"): {label("kept"), label("kept too")}}
	}
	return p
}

// anyPolicy draws a policy of a sweep, or a name if it has none.
func anyPolicy(t *rapid.T, s *result.Sweep) string {
	if len(s.Cells) == 0 {
		return "one"
	}
	return rapid.SampledFrom(s.Cells).Draw(t, "a cell").Policy
}

// mend removes most invalid options from a plot.
func mend(t *rapid.T, p *result.Plot, s *result.Sweep) {
	names, seen := []string{"policy"}, map[string]bool{"": true, "policy": true}
	for i := range s.Axes {
		if a := &s.Axes[i]; !seen[a.Name] && !strings.Contains(a.Name, "\n") {
			names = append(names, a.Name)
			seen[a.Name] = true
		}
	}
	names = append(rapid.Permutation(names).Draw(t, "axes"), "", "", "")
	metric := rapid.SampledFrom([]string{"nct", "makespan_s", "ports", "x_bytes_per_s"})
	p.X, p.Y, p.Z, p.Series, p.Panels = names[0], metric.Draw(t, "known y"), "", names[1], names[2]
	p.Where, p.Marks, p.Scale = nil, nil, min(p.Scale, 100)
	numbers := slices.ContainsFunc(s.Axes, func(a result.Axis) bool { return a.Numbers != nil && a.Name == p.X })
	twists := slices.ContainsFunc(s.Axes, func(a result.Axis) bool { return a.Name == twistKey })
	if p.Kind == "twists" && !twists || p.Kind == "lines" && !numbers && p.ExtraY == nil && p.LowerY == "" && rapid.Bool().Draw(t, "bars") {
		p.Kind = "bars"
	}
	switch p.Kind {
	case "bars":
		p.LogX = false
	case "cdf":
		p.X, p.LogY = "", false
	case "heatmap":
		p.Y, p.Z, p.Series, p.LogX, p.LogY = names[1], p.Y, "", false, false
		if p.Y == "" {
			p.Kind, p.Y, p.Z = "bars", p.Z, ""
		}
	case "scatter":
		p.X = metric.Draw(t, "known x")
	case "twists":
		p.X, p.Z, p.Y, p.Series, p.LogX, p.LogY = "", p.Y, "", "", false, false
	case "lines":
		if p.LowerY != "" {
			p.LowerY, p.LowerSeries = metric.Draw(t, "known below"), nil
		}
		for i := range p.ExtraY {
			p.ExtraY[i] = metric.Draw(t, "known also")
		}
		if p.LowerY != "" || p.ExtraY != nil {
			for i := range s.Axes { // over numbers
				if a := &s.Axes[i]; a.Numbers != nil && slices.Contains(names, a.Name) {
					p.X, p.Series, p.Panels = a.Name, "policy", ""
				}
			}
		} else if rapid.Bool().Draw(t, "metrics") {
			p.X = metric.Draw(t, "known x")
		}
	}
	if p.Kind == "scatter" || p.Kind == "cdf" || p.Kind == "lines" && !slices.Contains(names, p.X) { // which have no several cells at one place
		p.Aggregation = ""
	}
	if p.YMin != nil && *p.YMin <= 0 {
		p.YMin = nil
	}
	if rapid.IntRange(0, 2).Draw(t, "marked") > 0 && p.Kind != "heatmap" && p.Kind != "twists" {
		p.Marks = []result.Mark{{Label: "paper", Y: 1.5}, {Label: "paper", Y: 0.5}}
	}
}
