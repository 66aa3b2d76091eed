// Package plots draws the figures of a run from its document and detail: one file a figure, and a table of them. It
// computes no physics and knows no policy by name: what it shows, packages above have measured. The command writes the
// figures into the run directory.
package plots

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"sim/plots/sheet"
	"sim/scenarios/result"
)

// builder makes the figures of one kind; none when the run lacks the data.
type builder func(doc *result.Document, d *result.Detail) []sheet.Figure

// builders lists all kinds in the order in which All returns them.
var builders = []builder{
	nctFigure,
	traceFigures,
	demandFigure,
	ratesFigure,
	windowsFigure,
	indexFigure,
	topologyFigure,
	replayFigure,
	loadsFigure,
	delaysFigure,
	linkLoadFigures,
	routeFigures,
	completionFigure,
	planFigures,
}

// All returns every figure that a run supports, in a fixed order, without
// those whose data is absent. It fails on data that cannot be drawn: what
// Check of doc or d refuses (NaN among it), and numbers beyond any scale.
func All(doc *result.Document, d *result.Detail) ([]sheet.Figure, error) {
	if err := doc.Check(); err != nil {
		return nil, err
	}
	if err := d.Check(); err != nil {
		return nil, err
	}
	if err := drawable(doc, d); err != nil {
		return nil, err
	}
	var all []sheet.Figure
	for _, b := range builders {
		all = append(all, b(doc, d)...)
	}
	sheet.Unique(all)
	return all, nil
}

// drawable fails on a number that no axis can carry.
func drawable(doc *result.Document, d *result.Detail) error {
	check := func(what string, vs ...float64) error {
		for _, v := range vs {
			if math.Abs(v) > sheet.DrawableLimit {
				return fmt.Errorf("%s is %g, which no figure can show", what, v)
			}
		}
		return nil
	}
	for _, r := range doc.Rows {
		if err := check("nct of "+r.Policy, r.Samples["nct"]...); err != nil {
			return err
		}
		for _, name := range slices.Sorted(maps.Keys(r.Metrics)) {
			if err := check(name+" of "+r.Policy, r.Metrics[name]); err != nil {
				return err
			}
		}
	}
	for _, p := range plays(d) {
		if err := checkSchedule(p.Schedule, p.Policy); err != nil {
			return err
		}
		if p.Lattice != nil {
			for _, l := range p.Lattice.Links {
				if err := check("the load of a link of "+p.Policy, l.Load); err != nil {
					return err
				}
			}
		}
		if p.Delay != nil {
			if err := check("a delay of "+p.Policy, p.Delay.MeanS, p.Delay.P50S, p.Delay.P99S, p.Delay.MaxS); err != nil {
				return err
			}
			for _, b := range p.Delay.Bins {
				if err := check("a delay of "+p.Policy, b.FromS, b.ToS); err != nil {
					return err
				}
			}
		}
		if err := check("the makespan of "+p.Policy, p.MakespanS); err != nil {
			return err
		}
		for _, l := range p.Lanes {
			for _, s := range l.Spans {
				if err := check("a time on lane "+l.Name, s.EndS); err != nil {
					return err
				}
			}
		}
		for _, group := range [][]result.Series{p.Demand, p.Rates} {
			for _, s := range group {
				if err := check("series "+s.Name, append(append([]float64{}, s.TimeS...), s.Value...)...); err != nil {
					return err
				}
			}
		}
	}
	w := &d.Windows
	for _, col := range [][]float64{w.EarliestS, w.LatestS, w.StartS, w.EndS} {
		if err := check("a time window", col...); err != nil {
			return err
		}
	}
	return nil
}

// plays returns the reference's play and those of the policies.
func plays(d *result.Detail) []*result.Play {
	all := []*result.Play{&d.Reference}
	for i := range d.Policies {
		all = append(all, &d.Policies[i])
	}
	return all
}
