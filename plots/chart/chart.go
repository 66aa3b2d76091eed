// Package chart draws the cells of a sweep: metrics over axes, one file a kind of chart.
package chart

import (
	"errors"
	"fmt"
	"slices"

	"sim/plots/sheet"
	"sim/scenarios/result"
)

// kind is a kind of chart.
type kind struct {
	name string
	draw func(v *view) (*sheet.Sheet, error)
	// roles looks up what the axes are, and check what else a plot must say; nil is as most kinds have it.
	roles, check func(v *view) error
	// takes are the options of a plot that it has, needs those that it cannot be without, with what to name there. Of
	// other options without says why not, where there is a reason to give.
	takes          []string
	needs, without map[string]string

	tiles  bool // z names the metric, and policies are panels unless that is said
	beside bool // bars stand side by side
	across bool // the metric, or samples of it, are drawn across
}

// kinds lists all kinds of charts.
var kinds []kind

// Kinds are their names.
var Kinds []string

func init() { // the functions of a kind refer to the table
	kinds = []kind{
		barKind, lineKind, scatterKind, heatKind, twistKind, cdfKind,
	}
	for _, k := range kinds {
		Kinds = append(Kinds, k.name)
	}
}

// Limits of what one chart shows: more could not be told apart, or would take longer to draw than to compute.
const (
	maxSeries       = 24
	maxPanels       = 24
	maxBarsPerPanel = 480     // of a panel
	maxTilesPerSide = 400     // of a heat map, each way
	maxTableCells   = 1 << 22 // panels times series times places on the x axis
)

// New draws the figure that spec asks for from the cells of a sweep. The timings may be nil where spec asks for no
// wall-clock figure. Cells without a value are left out and named in a note; several cells at one place are drawn as
// their mean with a whisker from the least to the greatest. It fails where spec names what the sweep lacks, and on
// numbers beyond any scale.
//
// Policies are the series, or the panels of a heat map or of twists, where spec leaves these empty and would else mix
// them. Of a cdf, y and From are of the axis across, which the metric is drawn on; of a heat map From is the least
// value of the colours. Bars start at the base of their metric unless From says otherwise.
func New(spec *result.Plot, s *result.Sweep, t *result.SweepTimings) (sheet.Figure, error) {
	page, err := Sheet(spec, s, t)
	if err != nil {
		return sheet.Figure{}, err
	}
	return page.Figure(sheet.FileName(plotName(spec))), nil
}

// Sheet is New before it is made a figure, so that more can be written on it.
func Sheet(spec *result.Plot, s *result.Sweep, t *result.SweepTimings) (*sheet.Sheet, error) {
	v, err := newView(spec, s, t)
	if err != nil {
		return nil, chartError(spec, err)
	}
	if len(v.cells) == 0 {
		return nil, chartError(spec, errors.New("the sweep has no cells that it could show"))
	}
	page, err := v.kind.draw(v)
	if err != nil {
		return nil, chartError(spec, err)
	}
	if m, _ := result.Find(v.metric()); m.Means != "" {
		page.Notes = append([]string{sheet.Capitalise(m.Words) + " is " + m.Means + "."}, page.Notes...)
	}
	return page, nil
}

// Check fails where New would for what is known before a sweep has results: kinds, names of axes, labels and options
// that do not go together. Names of metrics are checked where cells have some.
func Check(spec *result.Plot, s *result.Sweep) error {
	v, err := newView(spec, s, &result.SweepTimings{})
	if err == nil && slices.ContainsFunc(s.Cells, func(c result.Cell) bool { return len(c.Metrics) > 0 }) {
		names := append([]string{v.metric()}, spec.Also...)
		for _, name := range []string{spec.Below, spec.MarkedAt} {
			if name != "" {
				names = append(names, name)
			}
		}
		for _, name := range names {
			if err == nil {
				_, err = v.measure(name)
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

// All draws the figures that specs ask for, or where there are none those that Default proposes. Figures that cannot be
// drawn are left out; errs says what is wrong with them.
func All(specs []result.Plot, s *result.Sweep, t *result.SweepTimings) (figs []sheet.Figure, errs []error) {
	if len(specs) == 0 {
		specs = Default(s)
	}
	for i := range specs {
		fig, err := New(&specs[i], s, t)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		figs = append(figs, fig)
	}
	sheet.Unique(figs)
	return figs, errs
}

// plotName names a plot in messages and its file.
func plotName(spec *result.Plot) string {
	if name := sheet.Plain(spec.Name); name != "" {
		return name
	}
	return "chart"
}

// metric is the name of what a chart measures.
func (v *view) metric() string {
	if v.kind.tiles {
		return v.spec.Z
	}
	return v.spec.Y
}
