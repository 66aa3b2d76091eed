package calibration

// This file fits the numbers of a profile to measurements.

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"sim/engine"
	"sim/engine/units"
	"sim/fabric/machine"
	"sim/internal/parallel"
	"sim/scenarios/accuracy"
)

// Fit is a profile that was fitted to measurements.
type Fit struct {
	Profile *machine.Profile
	Groups  []GroupFit
	// Unused are rows that no model predicts, with the reasons.
	Unused []accuracy.Prediction
}

// GroupFit is the fit of the parameters of one group to its measurements.
type GroupFit struct {
	Title      string
	Rows       int
	Series     []string
	Parameters []Estimate // in the order of the group
	// Error is the error of the fit. LeftOut is the error of predictions of each series by a
	// fit to all others; it has no rows if there is only one series.
	Error, LeftOut Error
}

// Estimate is a parameter before and after the fit.
type Estimate struct {
	Key        string
	Determined bool   // by the measurements; otherwise the number is the base's
	Base       string // as in a file of a profile; "" if the base has no number
	Value      string
	// Spread is the relative standard deviation of a determined value.
	Spread float64
	// Needs names the measurements that determine the parameter.
	Needs string
}

// Error summarises ratios of predicted and measured values.
type Error struct {
	Rows    int
	Typical float64 // exp of the mean absolute log ratio
	Worst   float64 // factor of the worst row
	Row     *accuracy.Row
}

// add adds a row with the logarithm of its ratio.
func (e *Error) add(r *accuracy.Row, logRatio float64) {
	// Typical holds the mean of the logarithms while rows are added.
	factor := math.Abs(logRatio)
	e.Typical = math.Exp((math.Log(max(e.Typical, 1))*float64(e.Rows) + factor) / float64(e.Rows+1))
	e.Rows++
	if factor = math.Exp(factor); factor > e.Worst {
		e.Worst, e.Row = factor, r
	}
}

// group is a set of parameters and the classes of measurements that determine them. Groups are
// fitted one after the other, because the predictions of a group depend on the numbers of the
// groups before it.
type group struct {
	title      string
	classes    []string // of package accuracy
	parameters []parameter
}

// parameter is a number of a profile that measurements determine.
type parameter struct {
	key   string
	needs string  // measurements
	start float64 // 0 if a base without the number is not fitted
	// lower and upper are the limits of the number, in seconds and bits per second.
	lower, upper float64
	// field returns a pointer to the number: *float64, *engine.Time or *units.Rate.
	field func(*machine.Profile) any
}

// get returns the number, in seconds and bits per second.
func (q *parameter) get(p *machine.Profile) float64 {
	switch v := q.field(p).(type) {
	case *engine.Time:
		return v.Seconds()
	case *units.Rate:
		return float64(*v)
	case *float64:
		return *v
	}
	panic("calibration: the parameter " + q.key + " is no number")
}

// set sets the number.
func (q *parameter) set(p *machine.Profile, value float64) {
	switch v := q.field(p).(type) {
	case *engine.Time:
		*v, _ = engine.FromSeconds(value) // upper keeps it in the range
	case *units.Rate:
		*v = units.Rate(value)
	case *float64:
		*v = value
	}
}

// rounded sets the number to three digits and returns its text.
func (q *parameter) rounded(p *machine.Profile) string {
	if q.get(p) == 0 {
		return ""
	}
	const digits = 3
	scale := math.Pow(10, digits-1-math.Floor(math.Log10(q.get(p))))
	q.set(p, math.Round(q.get(p)*scale)/scale)
	return q.text(p)
}

// text returns the number as in the file of a profile, or "" if it is not known.
func (q *parameter) text(p *machine.Profile) string {
	if q.get(p) == 0 {
		return ""
	}
	switch v := q.field(p).(type) {
	case *engine.Time:
		return units.ShortTime(*v)
	case *units.Rate:
		return v.String()
	default:
		return fmt.Sprint(q.get(p))
	}
}

// Run fits a copy of the profile base to rows. Rows that no model predicts are returned and do
// not count. workers is the number of rows that are predicted at the same time; the fit does not
// depend on it. Run fails if ctx ends or if no row can be predicted.
func Run(ctx context.Context, base *machine.Profile, rows []*accuracy.Row, workers int) (*Fit, error) {
	f := &Fit{Profile: copyProfile(base)}
	for i := range groups {
		g := &fitter{group: &groups[i], ctx: ctx, estimate: accuracy.Estimate, workers: workers}
		for _, r := range rows {
			if slices.Contains(g.classes, accuracy.ClassName(r)) {
				g.rows = append(g.rows, r)
			}
		}
		if len(g.rows) > 0 {
			f.fitGroup(g)
		}
	}
	for _, r := range rows {
		if !slices.ContainsFunc(groups, func(g group) bool { return slices.Contains(g.classes, accuracy.ClassName(r)) }) {
			f.Unused = append(f.Unused, accuracy.Prediction{Row: r, Class: accuracy.ClassName(r), Reason: "no number of a profile is fitted to rows of this class"})
		}
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if len(f.Groups) == 0 {
		u := f.Unused[0]
		return nil, fault(u.Row.File, u.Row.Line, "and all other rows determine no number of a profile: "+u.Reason,
			"measure collective calls, matrix products or training steps")
	}
	return f, nil
}

// copyProfile returns a profile whose numbers can be changed.
func copyProfile(p *machine.Profile) *machine.Profile {
	q := *p
	q.Sources = nil
	for _, s := range p.Sources {
		q.Sources = append(q.Sources, machine.Source{Keys: slices.Clone(s.Keys), From: s.From})
	}
	return &q
}

// fitter fits the parameters of a group.
type fitter struct {
	*group
	ctx      context.Context
	estimate func(context.Context, *accuracy.Row, *machine.Profile) (float64, error)
	workers  int
	rows     []*accuracy.Row
}

// maxSpread limits the standard deviation of the logarithm of a determined parameter. A larger one
// is hardly smaller than before the measurement.
const maxSpread = priorWidth / 2

// fitGroup fits the parameters of one group.
func (f *Fit) fitGroup(g *fitter) {
	base := copyProfile(f.Profile)

	start := g.start(base)
	g.rows = slices.DeleteFunc(g.rows, func(r *accuracy.Row) bool {
		_, err := g.estimate(g.ctx, r, start)
		if err != nil {
			f.Unused = append(f.Unused, accuracy.Prediction{Row: r, Class: accuracy.ClassName(r), Reason: err.Error()})
		}
		return err != nil
	})
	if len(g.rows) == 0 {
		return
	}
	var determined []int
	var spread []float64
	f.Profile, determined, spread = g.fit(start, g.rows)

	out := GroupFit{Title: g.title, Rows: len(g.rows), Series: seriesOf(g.rows)}
	for i := range g.parameters {
		q := &g.parameters[i]
		e := Estimate{Key: q.key, Base: q.text(base), Needs: q.needs}
		if j := slices.Index(determined, i); j >= 0 {
			e.Determined, e.Value, e.Spread = true, q.rounded(f.Profile), spread[j]
		} else {
			q.set(f.Profile, q.get(base))
			e.Value = e.Base
		}
		out.Parameters = append(out.Parameters, e)
	}
	for i, r := range g.residuals(f.Profile, g.rows) {
		out.Error.add(g.rows[i], r)
	}
	if len(out.Series) > 1 {
		for _, left := range out.Series {
			g.leaveOut(start, left, &out.LeftOut)
		}
	}
	f.Groups = append(f.Groups, out)
	f.addSource(&out)
}

// start returns base with typical numbers for parameters that it lacks, so that rows can be
// predicted.
func (g *fitter) start(base *machine.Profile) *machine.Profile {
	p := copyProfile(base)
	for i := range g.parameters {
		if q := &g.parameters[i]; q.get(p) == 0 && q.start > 0 {
			q.set(p, q.start)
		}
	}
	return p
}

// leaveOut fits the parameters to all series but one, and adds the errors of its predictions.
func (g *fitter) leaveOut(start *machine.Profile, series string, e *Error) {
	var others, left []*accuracy.Row
	for _, r := range g.rows {
		if Series(r) == series {
			left = append(left, r)
		} else {
			others = append(others, r)
		}
	}
	p, _, _ := g.fit(start, others)
	for i, r := range g.residuals(p, left) {
		e.add(left[i], r)
	}
}

// fit fits the parameters that rows determine. It returns the profile, the indices of the
// parameters, and the standard deviations of their logarithms. It leaves out the parameter that is
// determined least until all others are determined.
func (g *fitter) fit(start *machine.Profile, rows []*accuracy.Row) (p *machine.Profile, determined []int, spread []float64) {
	for i := range g.parameters {
		if g.parameters[i].get(start) > 0 {
			determined = append(determined, i)
		}
	}
	for len(determined) > 0 {
		p, spread = g.fitTo(start, determined, rows)
		worst := 0
		for j := range spread {
			if spread[j] > spread[worst] {
				worst = j
			}
		}
		if spread[worst] <= maxSpread {
			return p, determined, spread
		}
		determined = slices.Delete(determined, worst, worst+1)
	}
	return copyProfile(start), nil, nil
}

// seriesOf returns the names of the series of rows, in their order.
func seriesOf(rows []*accuracy.Row) (names []string) {
	for _, r := range rows {
		if name := Series(r); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// fitTo fits some parameters, by their indices, and returns the standard deviations of their
// logarithms. All series of rows have the same weight.
func (g *fitter) fitTo(start *machine.Profile, parameters []int, rows []*accuracy.Row) (p *machine.Profile, spread []float64) {
	p = copyProfile(start)
	counts := map[string]float64{}
	for _, r := range rows {
		counts[Series(r)]++
	}
	l := regression{}
	for _, r := range rows {
		l.weights = append(l.weights, float64(len(rows))/float64(len(counts))/counts[Series(r)])
	}
	for _, i := range parameters {
		q := &g.parameters[i]
		l.lower = append(l.lower, math.Log(q.lower))
		l.upper = append(l.upper, math.Log(q.upper))
		l.start = append(l.start, math.Log(min(max(q.get(p), q.lower), q.upper)))
	}
	set := func(p *machine.Profile, x []float64) {
		for j, i := range parameters {
			g.parameters[i].set(p, math.Exp(x[j]))
		}
	}
	l.residuals = func(x []float64) []float64 {
		q := copyProfile(p)
		set(q, x)
		return g.residuals(q, rows)
	}
	x, spread := l.solve()
	set(p, x)
	return p, spread
}

// residuals returns ln(predicted / measured) of rows.
func (g *fitter) residuals(p *machine.Profile, rows []*accuracy.Row) []float64 {
	out := make([]float64, len(rows))
	// The error of a cancelled context is returned by Run.
	_ = parallel.Do(g.ctx, g.workers, len(rows), func(i int) {
		v, err := g.estimate(g.ctx, rows[i], p)
		if err != nil {
			v = math.NaN()
		}
		out[i] = math.Log(v / rows[i].Value)
	})
	return out
}

// addSource records the evidence of the determined parameters of a group.
func (f *Fit) addSource(g *GroupFit) {
	var keys []string
	for _, e := range g.Parameters {
		if e.Determined {
			keys = append(keys, e.Key)
		}
	}
	if len(keys) == 0 {
		return
	}
	p := f.Profile
	for i := range p.Sources {
		p.Sources[i].Keys = slices.DeleteFunc(p.Sources[i].Keys, func(key string) bool { return slices.Contains(keys, key) })
	}
	p.Sources = slices.DeleteFunc(p.Sources, func(s machine.Source) bool { return len(s.Keys) == 0 })
	const maxSeries = 20 // names in one text
	series := g.Series
	if len(series) > maxSeries {
		series = append(slices.Clone(series[:maxSeries]), fmt.Sprintf("and %d more", len(series)-maxSeries))
	}
	from := fmt.Sprintf("fit %s: %d rows, typical factor %.3f", strings.Join(series, ", "), g.Rows, g.Error.Typical)
	p.Sources = append(p.Sources, machine.Source{Keys: keys, From: from})
}
