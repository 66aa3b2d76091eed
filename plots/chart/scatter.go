// This file lays out scatter plots, which are line charts without lines, and computes
// correlations.

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

// scatterKind is the kind of scatter plots of two metrics.
var scatterKind = kind{
	name:  "scatter",
	draw:  (*view).scatter,
	takes: []string{"series", "log_x", "log_y", "mark"},
	needs: map[string]string{"x": "", "y": "a metric, such as nct"},
	roles: func(v *view) error {
		// Both axes are metrics; x must be known once cells have metrics.
		if v.isXMetric = v.spec.X != "" && v.mayBeMetric(v.spec.X); v.spec.X != "" &&
			!v.isXMetric {
			return unknownName("x", v.spec.X, v.metricNames())
		}
		return v.assignRoles()
	},
}

// scatter draws one point per cell from two metrics. It prints correlation coefficients in the
// legend for each series, or their ranges in the headings if there are several panels.
func (v *view) scatter() (*sheet.Sheet, error) {
	c, err := v.newLines()
	if err != nil {
		return nil, err
	}
	// Compute the coefficients. series has the text for each legend entry.
	hasCoefficients := false
	inLegend := len(v.panels.categories) == 1 && v.series.index >= 0

	series := make([]string, len(v.series.categories))
	for _, lines := range c.lines {
		var rs, rhos []float64
		for i, points := range lines {
			if r, rho, ok := correlations(points); ok {
				rs = append(rs, r)
				rhos = append(rhos, rho)
				hasCoefficients = true
				series[i] = fmt.Sprintf(" (r = %s, ρ = %s)", signed(r), signed(rho))
			}
		}

		text := ""
		if len(rs) > 0 && !inLegend {
			text = fmt.Sprintf(": r = %s, ρ = %s", between(rs), between(rhos))
		}
		v.headingSuffixes = append(v.headingSuffixes, text)
	}

	// Lay out the chart, then add the coefficients to its legend.
	s, err := c.sheet()
	if err != nil {
		return nil, err
	}
	for i := range series {
		if inLegend {
			s.Legend[i].Text += series[i]
		}
	}

	if hasCoefficients && len(v.panels.categories) > 1 &&
		len(v.series.categories) > 1 {
		s.Notes = append(s.Notes, "A heading gives the least and the greatest of its series.")
	}

	if hasCoefficients {
		s.Notes = append(s.Notes, "r is Pearson's coefficient of correlation, ρ Spearman's, of ranks.")
	}
	return s, nil
}

// near returns q with lo as its base in scatter plots, so that their axes begin at the lowest
// point. Only relative positions matter there.
func (v *view) near(q quantity, lo float64) quantity {
	if v.spec.Kind == "scatter" {
		q.base = lo
	}
	return q
}

// signed formats a coefficient with three decimals and a typographic minus sign.
func signed(r float64) string {
	return strings.Replace(fmt.Sprintf("%.3f", r), "-", "−", 1)
}

// between formats the range of coefficients, such as "0.1 to 0.9".
func between(vs []float64) string {
	lo := signed(slices.Min(vs))
	hi := signed(slices.Max(vs))
	if lo == hi {
		return lo
	}
	return lo + " to " + hi
}

// correlations returns the Pearson and Spearman correlation coefficients of a set of points. ok
// is false for fewer than three points, and if one of the metrics is constant up to rounding.
func correlations(points []linePoint) (r, rho float64, ok bool) {
	const minPoints, rounding = 3, 1e-12
	x := make([]float64, len(points))
	y := make([]float64, len(points))
	for i, p := range points {
		x[i], y[i] = p.x, p.mean
	}

	for _, s := range [][]float64{x, y} {
		size := floats.Norm(s, math.Inf(1))
		if len(s) < minPoints || !(floats.Max(s)-floats.Min(s) > rounding*size) {
			return 0, 0, false
		}
		// Scale by the maximum, so that squares neither overflow nor underflow.
		for i := range s {
			s[i] /= size
		}
	}

	return stat.Correlation(x, y, nil), stat.Correlation(ranks(x), ranks(y), nil), true
}

// ranks returns the rank of each value, 1 for the lowest. Equal values get the mean of their
// ranks.
func ranks(x []float64) []float64 {
	sorted := slices.Clone(x)
	order := make([]int, len(x))
	out := make([]float64, len(x))
	floats.Argsort(sorted, order)

	// Values i to j-1 in order are equal and have the ranks i+1 to j, with the mean (i+1+j)/2.
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
