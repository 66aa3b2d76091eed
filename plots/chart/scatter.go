package chart

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"

	"sim/plots/sheet"
)

var scatterKind = kind{
	name: "scatter", draw: (*view).scatter, takes: []string{"series", "log_x", "log_y", "mark"},
	needs: map[string]string{"x": "", "y": "a metric, such as nct"},
	roles: func(v *view) error {
		if v.isXMetric = v.spec.X != "" && v.mayBeMetric(v.spec.X); v.spec.X != "" && !v.isXMetric {
			return unknownName("x", v.spec.X, v.metricNames())
		}
		return v.assignRoles()
	},
}

// scatter shows two metrics of each cell as a point, with how they correlate: for each series in the legend, or in the
// headings of several panels.
func (v *view) scatter() (*sheet.Sheet, error) {
	c, err := v.newLines()
	if err != nil {
		return nil, err
	}
	said, inLegend := false, len(v.panels.categories) == 1 && v.series.index >= 0
	series := make([]string, len(v.series.categories))
	for _, lines := range c.lines {
		var rs, rhos []float64
		for i, points := range lines {
			if r, rho, ok := correlations(points); ok {
				rs, rhos, said = append(rs, r), append(rhos, rho), true
				series[i] = fmt.Sprintf(" (r = %s, ρ = %s)", signed(r), signed(rho))
			}
		}
		text := ""
		if len(rs) > 0 && !inLegend {
			text = fmt.Sprintf(": r = %s, ρ = %s", between(rs), between(rhos))
		}
		v.headingSuffixes = append(v.headingSuffixes, text)
	}
	s, err := c.sheet()
	if err != nil {
		return nil, err
	}
	for i := range series {
		if inLegend {
			s.Legend[i].Text += series[i]
		}
	}
	if said && len(v.panels.categories) > 1 && len(v.series.categories) > 1 {
		s.Notes = append(s.Notes, "A heading gives the least and the greatest of its series.")
	}
	if said {
		s.Notes = append(s.Notes, "r is Pearson's coefficient of correlation, ρ Spearman's, of ranks.")
	}
	return s, nil
}

// near lets the axis of a scatter begin where its points do: it shows how they lie to each other, not how far from the
// base.
func (v *view) near(q quantity, lo float64) quantity {
	if v.spec.Kind == "scatter" {
		q.base = lo
	}
	return q
}

func signed(r float64) string { return strings.Replace(fmt.Sprintf("%.3f", r), "-", "−", 1) }

// between words the range of values.
func between(vs []float64) string {
	lo, hi := signed(slices.Min(vs)), signed(slices.Max(vs))
	if lo == hi {
		return lo
	}
	return lo + " to " + hi
}

// correlations are the coefficients of Pearson and of Spearman; there are none of fewer than three points, nor where
// one of the two differs by no more than rounding.
func correlations(points []linePoint) (r, rho float64, ok bool) {
	const fewest, rounding = 3, 1e-12
	x, y := make([]float64, len(points)), make([]float64, len(points))
	for i, p := range points {
		x[i], y[i] = p.x, p.mean
	}
	for _, s := range [][]float64{x, y} {
		size := floats.Norm(s, math.Inf(1))
		if len(s) < fewest || !(floats.Max(s)-floats.Min(s) > rounding*size) {
			return 0, 0, false
		}
		for i := range s { // so that squares neither overflow nor vanish
			s[i] /= size
		}
	}
	return stat.Correlation(x, y, nil), stat.Correlation(ranks(x), ranks(y), nil), true
}

// ranks are 1 for the least; equal values share the mean of their ranks.
func ranks(x []float64) []float64 {
	sorted, order, out := slices.Clone(x), make([]int, len(x)), make([]float64, len(x))
	floats.Argsort(sorted, order)
	for i := 0; i < len(order); {
		j := i + 1
		for j < len(order) && sorted[j] == sorted[i] {
			j++
		}
		for _, k := range order[i:j] {
			out[k] = float64(i+1+j) / 2
		}
		i = j
	}
	return out
}
