package accuracy

import (
	"cmp"
	"errors"
	"math"
	"regexp"
	"slices"
	"strings"

	"sim/internal/numbers"
)

// Ratio compares the speeds of two rows of a series: rows of one source, machine and model that
// differ in the number of GPUs, the context parallelism, the schedule or the batch.
type Ratio struct {
	Base, Row           *Prediction
	Measured, Predicted float64 // speed per GPU of Row divided by the speed of Base
}

// Points returns the error of the ratio in percentage points.
func (r *Ratio) Points() float64 { return 100 * math.Abs(r.Predicted-r.Measured) }

// variedParameters are the parameters in which the rows of a series differ, and measured values.
var variedParameters = []string{
	"cp", "seq", "gbs", "mbs", "batch", "local_batch", "tokens_per_batch", "ga", "dp", "fsdp", "vp", "schedule",
	"slices", "slice_size", "pods", "mfu", "model_tflops",
}

// digits matches the numbers of a case such as "FSDP 4 CP 2".
var digits = regexp.MustCompile(`[0-9]+`)

// series returns a name that is equal for the rows of a series, or "" if the row belongs to none.
func series(r *Row) string {
	if !isTraining(r) {
		return ""
	}
	key := []string{r.Source, r.Hardware, r.Metric, r.Unit}
	for name, value := range r.Parameters {
		if name == "case" {
			value = digits.ReplaceAllString(value, "")
		}
		if !slices.Contains(variedParameters, name) {
			key = append(key, name+"="+value)
		}
	}
	slices.Sort(key)
	return strings.Join(key, ";")
}

// speedRatio returns the speed per GPU of a row divided by the speed of another row of its series, for
// measured or predicted values of both.
func speedRatio(row, base *Row, value, baseValue float64) (float64, error) {
	if row.Metric != "iteration_time" {
		return value / baseValue, nil
	}
	ratio := baseValue / value
	for _, name := range []string{"batch", "gbs"} {
		batch, err := row.Parameters.Number(name)
		baseBatch, errBase := base.Parameters.Number(name)
		if err == nil && errBase == nil && row.GPUs > 0 && base.GPUs > 0 {
			return ratio * batch / baseBatch * float64(base.GPUs) / float64(row.GPUs), nil
		}
	}
	return 0, errors.New("the rows do not state their batches and GPUs")
}

// Ratios returns the ratios of all series, relative to the first row with the smallest number of GPUs.
func Ratios(predictions []Prediction) (out []Ratio) {
	bySeries := map[string][]*Prediction{}
	var order []string
	for i := range predictions {
		p := &predictions[i]
		key := series(p.Row)
		if key == "" || p.Reason != "" {
			continue
		}
		if bySeries[key] == nil {
			order = append(order, key)
		}
		bySeries[key] = append(bySeries[key], p)
	}
	for _, key := range order {
		rows := bySeries[key]
		base := slices.MinFunc(rows, func(a, b *Prediction) int { return cmp.Compare(a.Row.GPUs, b.Row.GPUs) })
		for _, p := range rows {
			if p == base {
				continue
			}
			measured, err := speedRatio(p.Row, base.Row, p.Row.Value, base.Row.Value)
			predicted, errPredicted := speedRatio(p.Row, base.Row, p.Value, base.Value)
			if err == nil && errPredicted == nil {
				out = append(out, Ratio{Base: base, Row: p, Measured: measured, Predicted: predicted})
			}
		}
	}
	return out
}

// RatioSummary is the error of ratios, without pairs of rows that are both fitted. Errors are in
// percentage points, and 0 if no ratio was predicted.
type RatioSummary struct {
	Points, Fitted, Predicted int // ratios
	Mean, Median, P90         float64
	Worst                     *Ratio // nil if no ratio was predicted
}

// SummariseRatios returns the summary of ratios.
func SummariseRatios(ratios []Ratio) (s RatioSummary) {
	var points []float64
	sum := 0.0
	s.Points = len(ratios)
	for i := range ratios {
		r := &ratios[i]
		if r.Base.Row.Fitted && r.Row.Row.Fitted {
			s.Fitted++
			continue
		}
		points = append(points, r.Points())
		sum += r.Points()
		if s.Worst == nil || r.Points() > s.Worst.Points() {
			s.Worst = r
		}
	}
	if s.Predicted = len(points); s.Predicted > 0 {
		s.Mean, s.Median, s.P90 = sum/float64(s.Predicted), numbers.Quantile(points, 0.5), numbers.Quantile(points, 0.9)
	}
	return s
}
