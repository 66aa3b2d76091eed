package chart

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"sim/plots/sheet"
	"sim/scenarios/result"
)

var scatterKind = kind{
	name: "scatter", draw: (*view).scatter, takes: []string{"series", "log_x", "log_y", "mark"},
	needs: map[string]string{"x": "", "y": "a metric, such as nct"},
	roles: func(v *view) error {
		if v.byMetric = v.spec.X != "" && v.mayBeMetric(v.spec.X); v.spec.X != "" && !v.byMetric {
			return unknownName("x", v.spec.X, v.metricNames(&result.SweepTimings{}))
		}
		return v.usualRoles()
	},
}

// scatter shows two metrics of each cell as a point, with how they correlate: for each series in the legend, or in the
// headings of several panels.
func (v *view) scatter(t *result.SweepTimings) (*sheet.Sheet, error) {
	said, single := false, len(v.panels.levels) == 1
	series := make([]string, len(v.series.levels))
	s, _, err := v.pointsAndLines(t, func(c *lineChart) {
		for p := range c.lines {
			var rs, rhos []float64
			for i, points := range c.lines[p] {
				if r, rho, ok := correlations(points); ok {
					rs, rhos, said = append(rs, r), append(rhos, rho), true
					series[i] = fmt.Sprintf(" (r = %s, ρ = %s)", signed(r), signed(rho))
				}
			}
			text := ""
			if len(rs) > 0 && !(single && v.series.index >= 0) {
				text = fmt.Sprintf(": r = %s, ρ = %s", between(rs), between(rhos))
			}
			v.after = append(v.after, text)
		}
	})
	if err != nil {
		return nil, err
	}
	for i := range series {
		if single && v.series.index >= 0 {
			s.Legend[i].Text += series[i]
		}
	}
	if said && len(v.panels.levels) > 1 && len(v.series.levels) > 1 {
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
// one of the two does not vary.
func correlations(points []linePoint) (r, rho float64, ok bool) {
	const fewest = 3
	if len(points) < fewest {
		return 0, 0, false
	}
	x, y := make([]float64, len(points)), make([]float64, len(points))
	for i, p := range points {
		x[i], y[i] = p.x, p.mean
	}
	if r, ok = pearson(x, y); !ok {
		return 0, 0, false
	}
	rho, ok = pearson(ranks(x), ranks(y))
	return r, rho, ok
}

// pearson is the correlation of x and y, with both first scaled to at most 1 so that squares neither overflow nor
// vanish.
func pearson(x, y []float64) (float64, bool) {
	dx, okX := centred(x)
	dy, okY := centred(y)
	if !okX || !okY {
		return 0, false
	}
	var xx, yy, xy float64
	for i := range dx {
		xx, yy, xy = xx+dx[i]*dx[i], yy+dy[i]*dy[i], xy+dx[i]*dy[i]
	}
	return min(max(xy/math.Sqrt(xx*yy), -1), 1), true
}

// centred returns x less its mean, scaled so that the largest is 1. It fails where the values differ by no more than
// rounding.
func centred(x []float64) ([]float64, bool) {
	mean, most, size := 0.0, 0.0, 0.0
	for _, v := range x {
		mean += v / float64(len(x))
		size = max(size, math.Abs(v))
	}
	out := make([]float64, len(x))
	for i, v := range x {
		out[i] = v - mean
		most = max(most, math.Abs(out[i]))
	}
	const rounding = 1e-12 // of the largest value
	if !(most > rounding*size) {
		return nil, false
	}
	for i := range out {
		out[i] /= most
	}
	return out, true
}

// ranks are 1 for the least; equal values share the mean of their ranks.
func ranks(x []float64) []float64 {
	order := make([]int, len(x))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(x[a], x[b]) })
	out := make([]float64, len(x))
	for i := 0; i < len(order); {
		j := i + 1
		for j < len(order) && x[order[j]] == x[order[i]] {
			j++
		}
		for _, k := range order[i:j] {
			out[k] = float64(i+1+j) / 2
		}
		i = j
	}
	return out
}
