// Package plots draws the figures of a run from its result document and its details, which
// package result defines. It simulates nothing and contains no names of policies.
//
// All is the entry point. The table figures lists the kinds of figures with the functions that
// draw them. A figure without data is omitted, and so is a figure on demand unless it is named.
// The files are named after their figures:
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
	"slices"
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

// figureKind is a kind of figures.
type figureKind struct {
	needs string // the required data
	draw  figureFunc
	// onDemand is the name of a figure that only readers of the DELTA paper understand. It is
	// drawn if it is named. Empty for other figures.
	onDemand string
}

// figures lists all kinds of figures in the order in which All returns them.
var figures = []figureKind{
	// Figures of the table of results.
	{needs: "metrics that the table of metrics gives a figure", draw: metricFigures},
	{needs: "exposed times of tiers", draw: tiersFigure},
	// Figures of an iteration on the ideal fabric and under the policies.
	{needs: "spans of work", draw: traceFigures},
	{needs: "demand of the ideal fabric", draw: demandFigure},
	{needs: "rates of gradient synchronisations", draw: ratesFigure, onDemand: "dp-rates"},
	{needs: "time windows of transfers", draw: windowsFigure, onDemand: "windows"},
	{needs: "intervals that transfers are active in", draw: indexFigure, onDemand: "index"},
	{needs: "topologies", draw: topologyFigure},
	{needs: "circuits that move", draw: movesFigures},
	// Distributions.
	{needs: "samples of metrics", draw: trialsFigure},
	{needs: "delays of packets", draw: delaysFigure},
	{needs: "a transport", draw: messagesFigure},
	// Networks, fleets and plans.
	{needs: "loads of links", draw: byPolicy(newLinkLoads)},
	{needs: "routes worth showing", draw: byPolicy(newRouteMap)},
	{needs: "chip-time by use", draw: chipTimeFigure},
	{needs: "jobs on cubes", draw: cubesFigure},
	{needs: "what is free of a pod", draw: podStateFigure},
	{needs: "plans", draw: byPolicy(func(p *result.Simulation) *planPicture {
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

// EveryFigure is the name that stands for all figures of a run.
const EveryFigure = "all"

// OnDemand returns the names of the figures that All returns only if they are named.
func OnDemand() (names []string) {
	for _, k := range figures {
		if k.onDemand != "" {
			names = append(names, k.onDemand)
		}
	}
	return names
}

// All returns the named figures of a run. Without names, it returns all figures except figures
// on demand, in a fixed order. It returns an error if doc or d is inconsistent or contains a
// number that is too large to draw, or if the run has no figure with one of the names.
func All(doc *result.Document, d *result.Detail, names ...string) ([]sheet.Figure, error) {
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
		if f.onDemand == "" || len(names) > 0 {
			all = append(all, f.draw.draw(doc, d)...)
		}
	}

	// Policies with similar names could otherwise get the same file name.
	sheet.Unique(all)
	if len(names) == 0 || slices.Contains(names, EveryFigure) {
		return all, nil
	}

	var named []sheet.Figure
	var available []string
	for _, f := range all {
		available = append(available, f.Name)
	}
	for _, name := range names {
		i := slices.Index(available, name)
		if i < 0 {
			return nil, fmt.Errorf("no figure %q; there are %s", name, strings.Join(available, ", "))
		}
		named = append(named, all[i])
	}
	return named, nil
}

// draw returns the figures of one kind.
func (f figureFunc) draw(doc *result.Document, d *result.Detail) (all []sheet.Figure) {
	f(doc, d, func(name string, s *sheet.Sheet) {
		s.Subtitle = cmp.Or(s.Subtitle, d.Title)
		all = append(all, s.Figure(name))
	})
	return all
}
