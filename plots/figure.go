// Package plots draws the figures of a run from its document and detail: one file a figure, and a table of them. It
// computes no physics and knows neither policies nor metrics by name: what it shows, packages above have measured. The
// command writes the figures into the run directory.
package plots

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"

	"sim/plots/sheet"
	"sim/scenarios/result"
)

// figures lists all figures in the order in which All returns them, with what a run must have for them. One without it
// gets none.
var figures = []struct {
	needs string
	draw  func(doc *result.Document, d *result.Detail) []sheet.Figure
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
	{"what is free of a pod", stillFigure},
	{"plans", byPolicy(func(p *result.Simulation) *planPicture { return newPlanPicture(p.Schedule) })},
}

// picture is what is drawn of a policy's simulation.
type picture interface {
	comparable
	figure(policy, subtitle string) sheet.Figure
}

// byPolicy draws a figure for each policy that has the data, of which there is else no picture.
func byPolicy[P picture](of func(p *result.Simulation) P) func(*result.Document, *result.Detail) []sheet.Figure {
	return func(_ *result.Document, d *result.Detail) []sheet.Figure {
		var out []sheet.Figure
		var none P
		for i := range d.Policies {
			if p := of(&d.Policies[i]); p != none {
				out = append(out, p.figure(d.Policies[i].Policy, d.Title))
			}
		}
		return out
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
		if where, f := beyond(reflect.ValueOf(v).Elem()); where != "" {
			return nil, fmt.Errorf("%s is %g, which no figure can show", strings.Trim(where, ". "), f)
		}
	}
	var all []sheet.Figure
	for _, f := range figures {
		all = append(all, f.draw(doc, d)...)
	}
	sheet.Unique(all)
	return all, nil
}

// beyond returns the path of a number under v that no axis can carry, "" where there is none.
func beyond(v reflect.Value) (path string, value float64) {
	switch v.Kind() {
	case reflect.Float64:
		if f := v.Float(); math.Abs(f) > sheet.DrawableLimit {
			return " ", f
		}
	case reflect.Pointer:
		if !v.IsNil() {
			return beyond(v.Elem())
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if at, f := beyond(v.Field(i)); at != "" {
				return "." + v.Type().Field(i).Name + at, f
			}
		}
	case reflect.Map:
		keys := v.MapKeys()
		slices.SortFunc(keys, func(a, b reflect.Value) int { return strings.Compare(a.String(), b.String()) })
		for _, key := range keys {
			if at, f := beyond(v.MapIndex(key)); at != "" {
				return fmt.Sprintf("[%v]%s", key, at), f
			}
		}
	case reflect.Slice:
		if k := v.Type().Elem().Kind(); k == reflect.Int || k == reflect.String || k == reflect.Array {
			return "", 0
		}
		for i := range v.Len() {
			if at, f := beyond(v.Index(i)); at != "" {
				return fmt.Sprintf("[%d]%s", i, at), f
			}
		}
	}
	return "", 0
}
