package cli

import (
	"context"
	"fmt"

	"sim/plots/chart"
	"sim/plots/sheet"
	"sim/scenarios/result"
)

// drawCharts writes the figures of a finished sweep. Those that can be drawn are written though others cannot.
func drawCharts(ctx context.Context, dir string, specs []result.Plot, s *result.Sweep, t *result.SweepTimings, flags runFlags) error {
	figs, err := chart.All(specs, s, t)
	var all failures
	for _, e := range parts(err) {
		all = append(all, fmt.Errorf("%s: the results are whole but a figure is not: %w", s.Name, e))
	}
	if len(figs) > 0 {
		if err := sheet.WriteAll(ctx, dir, flags.formats, figs, flags.workers); err != nil {
			all = append(all, fmt.Errorf("%s: the results are whole but the figures are not: %w", s.Name, err))
		}
	}
	return several(all...)
}

// parts returns the errors that errors.Join joined, or err alone.
func parts(err error) []error {
	if err == nil {
		return nil
	}
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		return joined.Unwrap()
	}
	return []error{err}
}
