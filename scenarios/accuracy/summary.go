package accuracy

import (
	"math"

	"sim/internal/numbers"
)

// Summary is the error of the predictions of a class. Rows that profiles may be fitted to count
// in Points, Fitted and FitFactor only.
type Summary struct {
	Class     string
	Title     string
	Points    int // all rows
	Fitted    int
	Predicted int // rows that were predicted and are not fitted
	Unposed   int // rows that cannot be posed and are not fitted

	// The factor of a row is the ratio of the predicted and the measured value, or its
	// reciprocal if that is larger. All are 0 if no row was predicted.
	TypicalFactor float64 // geometric mean of the factors
	MedianFactor  float64
	P90Factor     float64
	// FitFactor is the geometric mean of the factors of the fitted rows; 0 without such rows.
	FitFactor float64
	// Worst is the prediction with the largest factor; nil if no row was predicted.
	Worst *Prediction
}

// Factor returns the factor by which a prediction is too large or too small, at least 1.
func (p *Prediction) Factor() float64 { return math.Exp(math.Abs(math.Log(p.Ratio()))) }

// Summaries returns the summary of each class that has rows, in the order of the table of classes.
func Summaries(predictions []Prediction) (out []Summary) {
	for _, c := range classes {
		s := Summary{Class: c.name, Title: c.title}
		var factors, fits []float64
		for i := range predictions {
			p := &predictions[i]
			if p.Class != c.name {
				continue
			}
			s.Points++
			switch {
			case p.Row.Fitted:
				s.Fitted++
				if p.Reason == "" {
					fits = append(fits, p.Factor())
				}
			case p.Reason != "":
				s.Unposed++
			default:
				s.Predicted++
				factors = append(factors, p.Factor())
				if s.Worst == nil || p.Factor() > s.Worst.Factor() {
					s.Worst = p
				}
			}
		}
		if s.Points == 0 {
			continue
		}
		s.TypicalFactor, s.FitFactor = geometricMean(factors), geometricMean(fits)
		if len(factors) > 0 {
			s.MedianFactor, s.P90Factor = numbers.Quantile(factors, 0.5), numbers.Quantile(factors, 0.9)
		}
		out = append(out, s)
	}
	return out
}

// geometricMean returns the geometric mean of values, or 0 without values.
func geometricMean(v []float64) float64 {
	if len(v) == 0 {
		return 0
	}
	sum := 0.0
	for _, x := range v {
		sum += math.Log(x)
	}
	return math.Exp(sum / float64(len(v)))
}
