// Package chart draws metrics of the cells of a sweep over its axes: bars, lines, scatter
// plots, heat maps, maps of twists, and cumulative distributions.
//
// New draws the figure that a result.Plot describes. It resolves the names in the plot to a
// view, which assigns a dimension (an axis of the sweep, or the policies) to each role: x
// axis, series (colour or line) and panels. The function draw of a kind then collects the
// values, mostly in a table indexed by these roles, and lays them out on a sheet. Default and
// Propose complete plots that leave choices open.
//
// Each kind of chart has its own file. Begin with chart.go and view.go.
package chart

import (
	"errors"
	"fmt"
	"slices"

	"sim/plots/sheet"
	"sim/scenarios/result"
)

// kind describes a kind of chart: how it is drawn, and which options of a result.Plot it
// accepts.
type kind struct {
	name string                              // value of the option kind
	draw func(v *view) (*sheet.Sheet, error) // draws the chart
	// roles assigns dimensions to the roles. nil means view.assignRoles.
	roles func(v *view) error
	// check tests further conditions of the options. It may be nil.
	check func(v *view) error
	// takes lists the options that this kind accepts in addition to the common ones.
	takes []string
	// needs maps required options to an example for the error message. The example is "" for
	// options that are names of dimensions.
	needs map[string]string
	// without maps rejected options to the reason, if a special one applies.
	without map[string]string

	// tiles reports whether z is the metric. Policies then become panels by default instead of
	// series.
	tiles bool
	// hasGroups reports whether each series has a bar at the same x. This limits the number of
	// bars.
	hasGroups bool
	// across reports whether the x axis shows the metric or its samples.
	across bool
}

// kinds lists all kinds of charts.
var kinds []kind

// Kinds lists the names of all kinds of charts.
var Kinds []string

func init() { // not in the declaration, because the functions of a kind refer to kinds
	kinds = []kind{
		barKind, lineKind, scatterKind, heatKind, twistKind, cdfKind,
	}
	for _, k := range kinds {
		Kinds = append(Kinds, k.name)
	}
}

// Limits of a chart. Larger charts would be illegible, or take longer to draw than to compute.
const (
	maxSeries       = 24      // as many as colours and markers distinguish
	maxPanels       = 24      // six rows of four
	maxBarsPerPanel = 480     // a bar has about a point of width
	maxTilesPerSide = 400     // of a heat map, in each direction: a tile has about a point
	maxTableCells   = 1 << 22 // panels * series * values on the x axis
)

// New draws the figure that spec describes from the cells of a sweep. The timings t may be nil
// if spec shows no wall-clock metric. New returns an error if spec contains unknown names or
// options that do not fit, and if a number is too large to draw.
//
// Cells without a value are omitted and listed in a note. If several cells have the same
// position, their mean is drawn with a whisker from the minimum to the maximum, or of one standard
// deviation in each direction if Whiskers is "deviation".
//
// If spec assigns no role to the policies, they become the series, or the panels of heat maps
// and twists. In a cdf, YLabel and YMin refer to the metric, which is on the x axis. In a heat
// map, YMin is the value with the darkest colour. Bars start at the base of their metric
// unless YMin is set.
func New(spec *result.Plot, s *result.Sweep, t *result.SweepTimings) (sheet.Figure, error) {
	page, err := Sheet(spec, s, t)
	if err != nil {
		return sheet.Figure{}, err
	}
	return page.Figure(sheet.FileName(plotName(spec))), nil
}

// Sheet is New, but returns the sheet so that the caller can add to it.
func Sheet(spec *result.Plot, s *result.Sweep, t *result.SweepTimings) (*sheet.Sheet, error) {
	v, err := newView(spec, s, t)
	if err != nil {
		return nil, chartError(spec, err)
	}
	if len(v.cells) == 0 {
		return nil, chartError(spec, errors.New("the sweep has no cells that it could show"))
	}

	// The kind draws the chart; the definition of the metric becomes the first note.
	page, err := v.kind.draw(v)
	if err != nil {
		return nil, chartError(spec, err)
	}
	if m, _ := result.Find(v.metric()); m.Meaning != "" {
		page.Notes = append([]string{sheet.Capitalise(m.Words) + " is " + m.Meaning +
			"."}, page.Notes...)
	}
	if v.difference != nil {
		page.Title += " " + result.ReferenceMark
		page.Notes = append([]string{result.ReferenceMark + " " + v.difference.Reason(), v.difference.References()}, page.Notes...)
	}
	return page, nil
}

// Check returns the errors of New that are known before a sweep has results: unknown kinds,
// axes and labels, and options that do not fit. Names of metrics are checked if some cell has
// metrics.
func Check(spec *result.Plot, s *result.Sweep) error {
	timings := &result.SweepTimings{} // known only after the sweep
	v, err := newView(spec, s, timings)
	if err == nil && slices.ContainsFunc(s.Cells, func(c result.Cell) bool {
		return len(c.Metrics) > 0
	}) {
		// Check the names of all metrics in the plot.
		names := append([]string{v.metric()}, spec.ExtraY...)
		for _, name := range []string{spec.LowerY, spec.XMark} {
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

// chartError adds the name of the plot to an error and removes line breaks.
func chartError(spec *result.Plot, err error) error {
	return fmt.Errorf("plot %s: %s", plotName(spec), sheet.Plain(err.Error()))
}

// All draws the figures of specs, or the figures that Default proposes if specs is empty. It
// omits figures that cannot be drawn, and returns their errors in errs.
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

// plotName returns the name of a plot for messages and its file.
func plotName(spec *result.Plot) string {
	if name := sheet.Plain(spec.Name); name != "" {
		return name
	}
	return "chart"
}

// metric returns the name of the metric that the chart shows.
func (v *view) metric() string {
	if v.kind.tiles {
		return v.spec.Z
	}
	return v.spec.Y
}
