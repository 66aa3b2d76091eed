// This file checks the options of a plot after its names are resolved.

package chart

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"

	"sim/plots/sheet"
	"sim/scenarios/result"
)

// mayBeMetric reports whether name is a metric, or may be one because no cell has metrics yet.
func (v *view) mayBeMetric(name string) bool {
	return slices.Contains(v.metricNames(), name) ||
		!slices.ContainsFunc(v.sweep.Cells, func(c result.Cell) bool {
			return len(c.Metrics) > 0
		})
}

// checkOptions returns an error if options are missing, do not belong to the kind, or exclude
// each other.
func (v *view) checkOptions() error {
	spec, k := v.spec, v.kind
	// Check that required options are given and that others belong to the kind.
	all := []struct {
		name  string
		given bool
	}{
		{"aggregation", spec.Aggregation != ""},
		{"extra_y", v.hasAxisOnlyOptions()}, {"x", spec.X != ""}, {"y", spec.Y != ""},
		{"z", spec.Z != ""},
		{"series", spec.Series != ""}, {"log_x", spec.LogX}, {"log_y", spec.LogY},
		{"mark", len(spec.Marks) > 0},
	}

	for _, o := range all {
		switch what, needed := k.needs[o.name]; {
		case !o.given && needed && what == "":
			return fmt.Errorf("%s is missing: name %s", o.name,
				orList(v.dimensionNames()))
		case !o.given && needed:
			return fmt.Errorf("%s is missing: name %s", o.name, what)
		case o.given && !slices.Contains(k.takes, o.name) && !needed:
			return errors.New(cmp.Or(k.without[o.name], optionErrors[o.name]))
		}
	}

	if _, ok := reductionTexts[spec.Aggregation]; !ok {
		return unknownName("aggregation", spec.Aggregation, []string{"mean", "min", "max"})
	}
	switch {
	case spec.Whiskers == "":
	case spec.Whiskers != deviationWhiskers && spec.Whiskers != "range":
		return unknownName("whiskers", spec.Whiskers, []string{"range", deviationWhiskers})
	case !slices.Contains(k.takes, "aggregation") || k.tiles || v.isXMetric:
		return errors.New("whiskers are for bars, and lines over an axis")
	case spec.Aggregation == "min" || spec.Aggregation == "max":
		return fmt.Errorf("whiskers are for means; leave aggregation = %q out", spec.Aggregation)
	case spec.Whiskers == deviationWhiskers && spec.LogY:
		return errors.New("whiskers: a standard deviation below the mean may be 0 or less, which a logarithmic axis does not have; leave log_y out")
	}
	// Check that roles differ and that numbers can be drawn. across is the option that names the
	// second axis.
	across := "series"
	if k.tiles {
		across = "y"
	}

	switch {
	case v.panels != &noDimension && (v.panels == v.x || v.panels == v.series ||
		v.panels == v.x.parent):
		return fmt.Errorf("%s is named twice: give panels another axis",
			v.panels.name)

	case v.series != &noDimension && v.series == v.x:
		return fmt.Errorf("%s is named twice: give x and %s different axes", v.x.name,
			across)
	case !drawable(spec.Scale) || !drawable(spec.Offset):
		return errors.New("scale and offset must be numbers that a figure can show")
	case spec.YMin != nil && !drawable(*spec.YMin):
		return errors.New("y_min must be a number that a figure can show")
	case spec.YMax != nil && !drawable(*spec.YMax),
		spec.YMax != nil && spec.YMin != nil && *spec.YMax <= *spec.YMin,
		spec.YMax != nil && *spec.YMax <= 0 && v.logarithmic():
		return errors.New("y_max must be a number above y_min that the axis has")

	case spec.YMin != nil && *spec.YMin <= 0 && v.logarithmic():
		return fmt.Errorf("y_min is %g, which a logarithmic axis does not have",
			*spec.YMin)
	case spec.LogX && v.x.numbers != nil && slices.ContainsFunc(v.x.categories,
		func(l int) bool {
			return v.x.numbers[l] <= 0
		}):
		return fmt.Errorf("log_x: %s has values of 0 or less, which a logarithmic "+
			"axis does not have", v.x.name)
	}
	return nil
}

// hasAxisOnlyOptions reports whether the plot has options that only lines over an axis
// support.
func (v *view) hasAxisOnlyOptions() bool {
	spec := v.spec
	return spec.ExtraY != nil || spec.LowerY != "" || spec.LowerSeries != nil ||
		spec.XMark != "" || spec.YMax != nil
}

// optionErrors has the messages for options that a kind does not support, indexed by option.
var optionErrors = map[string]string{
	"aggregation": "aggregation is for bars, heat maps, twists, and lines over an axis, which " +
		"have one value for several cells",
	"extra_y": "extra_y, lower_y, lower_series, x_mark and y_max are for lines over an axis",
	"z":       "z is for heat maps; other charts show y",
	"log_x":   "bars stand side by side, so log_x means nothing there; lines have it",
	"mark":    "tiles have no place for marks",
}

// checkLimits returns an error if the chart would be too large.
func (v *view) checkLimits() error {
	// x, series and panels are the numbers of categories of each role.
	x := len(v.x.categories)
	series := len(v.series.categories)
	panels := len(v.panels.categories)
	advice := "keep some with where"
	switch {
	case panels > maxPanels:
		return fmt.Errorf("panels: %s has %d values, of which %d can be shown at most; %s", v.panels.name, panels, maxPanels, advice)
	case !v.kind.tiles && series > maxSeries:
		return fmt.Errorf("series: %s has %d values, of which %d can be told apart "+
			"at most; %s", v.series.name, series, maxSeries, advice)
	case v.kind.tiles && max(x, series) > maxTilesPerSide:
		return fmt.Errorf("a heat map of %d by %d values is finer than can be "+
			"drawn, %d each way; %s", x, series, maxTilesPerSide, advice)
	case v.kind.hasGroups && x*series > maxBarsPerPanel:
		return fmt.Errorf("x: %d bars would stand in a panel, of which %d can be "+
			"shown at most; %s, or draw lines", x*series, maxBarsPerPanel, advice)
	case x > maxTableCells/max(1, series*panels):
		return fmt.Errorf("x: %s has %d values, more than can be shown; %s", v.x.name,
			x, advice)
	}
	return nil
}

// drawable reports whether a number can be drawn on an axis.
func drawable(v float64) bool { return math.Abs(v) <= sheet.DrawableLimit }
