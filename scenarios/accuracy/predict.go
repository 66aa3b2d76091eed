package accuracy

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"sim/fabric/machine"
	"sim/internal/parallel"
	"sim/scenarios"
	"sim/scenarios/result"
)

// Options are the options of Predict.
type Options struct {
	// Machine replaces the machine of each row: the name of a profile or a file. Empty means
	// MachineFor.
	Machine string
	// Without names parts of the models that are left out, to measure their contribution.
	Without []string
	// Workers is the number of rows that are predicted at the same time.
	Workers int
	// Progress is called after each row, from any goroutine. It may be nil.
	Progress func()

	fitted *machine.Profile // for estimates, instead of the profile that a name stands for
}

// Omits reports whether a part of a model is left out.
func (o *Options) Omits(part string) bool { return slices.Contains(o.Without, part) }

// Prediction is the prediction of one row.
type Prediction struct {
	Row     *Row
	Class   string  // name of the class
	Machine string  // profile; empty if the row names no known machine
	Note    string  // how the profile differs from the machine of the row; empty if it does not
	Value   float64 // in the unit of the row, if Reason is empty
	Reason  string  // why the row cannot be posed; empty if it was predicted
}

// Ratio returns the predicted value divided by the measured one.
func (p *Prediction) Ratio() float64 { return p.Value / p.Row.Value }

// Parts returns the parts of the models that can be left out, in order.
func Parts() (parts []string) {
	for _, c := range classes {
		parts = append(parts, c.parts...)
	}
	slices.Sort(parts)
	return slices.Compact(parts)
}

// Predict predicts rows. The predictions are in the order of the rows and do not depend on the
// number of workers. Predict fails only if ctx ends.
func Predict(ctx context.Context, rows []*Row, opt Options) ([]Prediction, error) {
	out := make([]Prediction, len(rows))
	err := parallel.Do(ctx, max(1, opt.Workers), len(rows), func(i int) {
		out[i] = predictRow(ctx, rows[i], &opt)
		if opt.Progress != nil {
			opt.Progress()
		}
	})
	if err == nil {
		err = ctx.Err()
	}
	return out, err
}

// predictRow predicts one row. A panic is a reason too, so that one odd row does not end the
// prediction of all others.
func predictRow(ctx context.Context, r *Row, opt *Options) (p Prediction) {
	c := classOf(r)
	p = Prediction{Row: r, Class: c.name, Machine: opt.Machine}
	defer func() {
		if v := recover(); v != nil {
			p.Reason = fmt.Sprintf("sim failed: %v", v)
		}
	}()
	switch {
	case c.reason != "":
		p.Reason = c.reason
		return p
	case !(r.Value > 0):
		p.Reason = "the measured value is a bound, an approximation or not positive"
		return p
	}
	var err error
	if p.Machine == "" {
		if p.Machine, p.Note, err = MachineFor(r); err != nil {
			p.Reason = err.Error()
			return p
		}
	}
	p.Value, err = c.predict(ctx, r, p.Machine, opt)
	switch {
	case err != nil:
		// Diagnostics begin with the name of the scenario, which is the id of the row.
		p.Value, p.Reason = 0, strings.ReplaceAll(err.Error(), r.ID+":", "scenario:")
	case !(p.Value > 0) || math.IsInf(p.Value, 0):
		p.Value, p.Reason = 0, fmt.Sprintf("the predicted value %g is not positive", p.Value)
	}
	return p
}

// run runs the scenario with the given TOML text for a row and returns the row of the best
// policy.
func run(ctx context.Context, r *Row, toml string) (*result.Row, error) {
	s, err := scenarios.Parse(r.ID, []byte(toml), nil)
	if err != nil {
		return nil, err
	}
	const workers = 1 // the rows are predicted in parallel
	outcome, err := scenarios.Run(ctx, s, scenarios.RunOptions{Workers: workers})
	if err != nil {
		return nil, err
	}
	best, _ := outcome.Document.Winner()
	if best < 0 {
		return nil, fmt.Errorf("no policy finished: %v", outcome.PolicyErrors)
	}
	return &outcome.Document.Rows[best], nil
}
