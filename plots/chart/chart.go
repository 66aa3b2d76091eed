// Package chart draws the cells of a sweep: metrics over axes, one file a kind of chart.
package chart

import (
	"errors"
	"fmt"
	"slices"

	"sim/plots/sheet"
	"sim/scenarios/result"
)

// Kinds lists the kinds of charts that Chart knows.
var Kinds = []string{"bars", "gain", "lines", "scatter", "heatmap", "twists", "cdf"}

// Limits of what one chart shows: more could not be told apart, or would take
// longer to draw than to compute.
const (
	mostSeries = 24
	mostPanels = 24
	mostBars   = 480     // of a panel
	mostTiles  = 400     // of a heat map, each way
	mostPlaces = 1 << 22 // panels times series times places on the x axis
)

// New draws the figure that spec asks for from the cells of a sweep. The
// timings may be nil where spec asks for no wall-clock figure. Cells without a
// value are left out and named in a note; several cells at one place are drawn
// as their mean with a whisker from the least to the greatest. It fails where
// spec names what the sweep lacks, and on numbers beyond any scale.
//
// Policies are the series, or the panels of a heat map or of twists, where spec leaves these
// empty and would else mix them. Of a cdf, y and From are of the axis across,
// which the metric is drawn on; of a heat map From is the least value of the
// colours. Bars of NCT start at 1 unless From says otherwise.
func New(spec *result.Plot, s *result.Sweep, t *result.SweepTimings) (sheet.Figure, error) {
	fig, err := chartFigure(spec, s, t)
	if err != nil {
		return sheet.Figure{}, chartError(spec, err)
	}
	return fig, nil
}

func chartFigure(spec *result.Plot, s *result.Sweep, t *result.SweepTimings) (sheet.Figure, error) {
	v, err := newView(spec, s)
	if err != nil {
		return sheet.Figure{}, err
	}
	if len(v.cells) == 0 {
		return sheet.Figure{}, errors.New("the sweep has no cells that it could show")
	}
	var l *lattice
	switch spec.Kind {
	case "bars":
		l, err = v.bars(t)
	case "gain":
		l, err = v.gain(t)
	case "lines":
		l, err = v.lines(t)
	case "scatter":
		l, err = v.scatter(t)
	case "heatmap":
		l, err = v.heatmap(t)
	case "twists":
		l, err = v.twists(t)
	case "cdf":
		l, err = v.cdf(t)
	}
	if err != nil {
		return sheet.Figure{}, err
	}
	return l.figure(sheet.FileName(plotName(spec))), nil
}

// Check fails where Chart would for what is known before a sweep has
// results: kinds, names of axes, labels and options that do not go together.
// Names of metrics are checked where cells have some.
func Check(spec *result.Plot, s *result.Sweep) error {
	v, err := newView(spec, s)
	if err == nil && slices.ContainsFunc(s.Cells, func(c result.Cell) bool { return len(c.Metrics) > 0 }) {
		for _, name := range v.metrics() {
			if err == nil {
				_, err = v.measure(name, &result.SweepTimings{})
			}
		}
	}
	if err != nil {
		return chartError(spec, err)
	}
	return nil
}

// chartError names the plot, on one line whatever the names in err hold.
func chartError(spec *result.Plot, err error) error {
	return fmt.Errorf("plot %s: %s", plotName(spec), sheet.Plain(err.Error()))
}

// All draws the figures that specs ask for, or where there are none those
// that Default proposes. Figures that cannot be drawn are left out; the
// error joins what is wrong with them.
func All(specs []result.Plot, s *result.Sweep, t *result.SweepTimings) ([]sheet.Figure, error) {
	if len(specs) == 0 {
		specs = Default(s)
	}
	var figs []sheet.Figure
	var errs []error
	for i := range specs {
		fig, err := New(&specs[i], s, t)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		figs = append(figs, fig)
	}
	sheet.Unique(figs)
	return figs, errors.Join(errs...)
}

// plotName names a plot in messages and its file.
func plotName(spec *result.Plot) string {
	if name := sheet.Plain(spec.Name); name != "" {
		return name
	}
	return "chart"
}

// metrics are all that a chart measures.
func (v *view) metrics() []string {
	all := append([]string{v.metric()}, v.spec.Also...)
	if v.spec.Below != "" {
		all = append(all, v.spec.Below)
	}
	return all
}

// metric is the name of what a chart measures.
func (v *view) metric() string {
	if v.spec.Kind == "heatmap" || v.spec.Kind == "twists" {
		return v.spec.Z
	}
	return v.spec.Y
}
