// Package plots draws the figures of a run from its document and detail: one file a figure, and a table of them. It
// computes no physics and knows neither policies nor metrics by name: what it shows, packages above have measured. The
// command writes the figures into the run directory.
package plots

import (
	"cmp"
	"fmt"
	"reflect"
	"strings"

	"sim/plots/sheet"
	"sim/scenarios/result"
)

// addFigure adds a figure under the name of its file. Its subtitle is the title of the run unless it has one.
type addFigure func(name string, s *sheet.Sheet)

// figureFunc adds the figures of a kind that a run has the data for.
type figureFunc func(doc *result.Document, d *result.Detail, add addFigure)

// figures lists all figures in the order in which All returns them, with what a run must have for them. One without it
// gets none.
var figures = []struct {
	needs string
	draw  figureFunc
}{
	{"metrics that the table of metrics gives a figure", metricFigures},
	{"exposed times of tiers", tiersFigure},
	{"spans of work", traceFigures},
	{"demand of the ideal fabric", demandFigure},
	{"rates of gradient synchronisations", ratesFigure},
	{"time windows of transfers", windowsFigure},
	{"intervals that transfers are active in", indexFigure},
	{"topologies", topologyFigure},
	{"circuits that move", movesFigures},
	{"samples of metrics", trialsFigure},
	{"delays of packets", delaysFigure},
	{"loads of links", byPolicy(newLinkLoads)},
	{"routes worth showing", byPolicy(newRouteMap)},
	{"chip-time by use", chipTimeFigure},
	{"jobs on cubes", cubesFigure},
	{"what is free of a pod", podStateFigure},
	{"plans", byPolicy(func(p *result.Simulation) *planPicture { return newPlanPicture(p.Schedule) })},
}

// policyFigure is what is drawn of a policy's simulation.
type policyFigure interface {
	comparable
	figure(policy, subtitle string) (name string, s *sheet.Sheet)
}

// byPolicy draws a figure for each policy that has the data, of which there is else no picture.
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

// All returns every figure that a run supports, in a fixed order, without those whose data is absent. It fails on data
// that cannot be drawn: what Check of doc or d refuses (NaN among it), and numbers beyond any scale.
func All(doc *result.Document, d *result.Detail) ([]sheet.Figure, error) {
	if err := doc.Check(); err != nil {
		return nil, err
	}
	if err := d.Check(); err != nil {
		return nil, err
	}
	for _, v := range []any{doc, d} {
		if where, f, found := result.Beyond(reflect.ValueOf(v), sheet.DrawableLimit); found {
			return nil, fmt.Errorf("%s is %g, which no figure can show", strings.Trim(where, "."), f)
		}
	}
	var all []sheet.Figure
	for _, f := range figures {
		all = append(all, f.draw.draw(doc, d)...)
	}
	sheet.Unique(all)
	return all, nil
}

// draw returns the figures that are drawn of a run.
func (f figureFunc) draw(doc *result.Document, d *result.Detail) (all []sheet.Figure) {
	f(doc, d, func(name string, s *sheet.Sheet) {
		s.Subtitle = cmp.Or(s.Subtitle, d.Title)
		all = append(all, s.Figure(name))
	})
	return all
}
