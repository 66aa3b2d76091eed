// Package plots draws the figures of a run from its result document and its details, which
// package result defines. It simulates nothing and contains no names of policies.
//
// All is the entry point. The table figures lists the kinds of figures with the functions that
// draw them. A figure without data is omitted. The files are named after their figures:
//
//   - metrics.go and tiers.go compare the values in the table of results, by package plots/chart
//   - trace.go, demand.go, dp_rates.go, windows.go and moves.go show an iteration over time
//   - topology.go, links.go and the files plan*.go draw networks and plans
//   - delays.go and fleet.go show distributions and the use of a fleet
//
// Charts of horizontal bars over time are a trackChart (tracks.go). Package plots/sheet provides
// the layout and the file formats.
package plots

import (
	"cmp"
	"fmt"
	"reflect"
	"strings"

	"sim/plots/sheet"
	"sim/scenarios/result"
)

// noTimings is the argument of chart.Sheet for the figures of a run, which show no wall-clock
// times.
var noTimings *result.SweepTimings

// addFigure adds one figure to the result of All. name is the file name without extension, such
// as "trace-reference". If the sheet has no subtitle, it gets the title of the run.
type addFigure func(name string, s *sheet.Sheet)

// figureFunc adds the figures of one kind for which the run has data. doc holds the rows of the
// table of results, d the time series, spans and layouts behind them.
type figureFunc func(doc *result.Document, d *result.Detail, add addFigure)

// figures lists all kinds of figures in the order in which All returns them. needs describes
// the required data.
var figures = []struct {
	needs string
	draw  figureFunc
}{
	// Figures of the table of results.
	{"metrics that the table of metrics gives a figure", metricFigures},
	{"exposed times of tiers", tiersFigure},
	// Figures of an iteration on the ideal fabric and under the policies.
	{"spans of work", traceFigures},
	{"demand of the ideal fabric", demandFigure},
	{"rates of gradient synchronisations", ratesFigure},
	{"time windows of transfers", windowsFigure},
	{"intervals that transfers are active in", indexFigure},
	{"topologies", topologyFigure},
	{"circuits that move", movesFigures},
	// Distributions.
	{"samples of metrics", trialsFigure},
	{"delays of packets", delaysFigure},
	// Networks, fleets and plans.
	{"loads of links", byPolicy(newLinkLoads)},
	{"routes worth showing", byPolicy(newRouteMap)},
	{"chip-time by use", chipTimeFigure},
	{"jobs on cubes", cubesFigure},
	{"what is free of a pod", podStateFigure},
	{"plans", byPolicy(func(p *result.Simulation) *planPicture {
		return newPlanPicture(p.Schedule)
	})},
}

// policyFigure is a picture of the simulation of one policy. figure returns its file name and
// its sheet. The type is comparable so that byPolicy can recognise nil.
type policyFigure interface {
	comparable
	figure(policy, subtitle string) (name string, s *sheet.Sheet)
}

// byPolicy returns a figureFunc that adds one figure per policy. of returns nil if the policy
// has no data for it.
func byPolicy[P policyFigure](of func(p *result.Simulation) P) figureFunc {
	return func(_ *result.Document, d *result.Detail, add addFigure) {
		var none P
		for i := range d.Policies {
			if p := of(&d.Policies[i]); p != none {
				add(p.figure(d.Policies[i].Policy, d.Title))
			}
		}
	}
}

// All returns all figures of a run in a fixed order. It returns an error if doc or d is
// inconsistent or contains a number that is too large to draw.
func All(doc *result.Document, d *result.Detail) ([]sheet.Figure, error) {
	if err := doc.Check(); err != nil {
		return nil, err
	}
	if err := d.Check(); err != nil {
		return nil, err
	}

	// Numbers beyond the drawable limit would overflow the coordinates of a canvas.
	for _, v := range []any{doc, d} {
		if where, f, found := result.FindOutOfRange(reflect.ValueOf(v),
			sheet.DrawableLimit); found {
			return nil, fmt.Errorf("%s is %g, which no figure can show",
				strings.Trim(where, "."), f)
		}
	}

	var all []sheet.Figure
	for _, f := range figures {
		all = append(all, f.draw.draw(doc, d)...)
	}

	// Policies with similar names could otherwise get the same file name.
	sheet.Unique(all)

	return all, nil
}

// draw returns the figures of one kind.
func (f figureFunc) draw(doc *result.Document, d *result.Detail) (all []sheet.Figure) {
	f(doc, d, func(name string, s *sheet.Sheet) {
		s.Subtitle = cmp.Or(s.Subtitle, d.Title)
		all = append(all, s.Figure(name))
	})
	return all
}
