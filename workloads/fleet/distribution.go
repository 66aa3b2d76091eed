// This file has the distributions of durations, and of times between failures.

package fleet

import (
	"fmt"
	"math"
	"math/rand/v2"
)

// Form is the form of a distribution.
type Form string

// The forms of distributions.
const (
	Lognormal   Form = "lognormal"
	Exponential Form = "exponential"
	Constant    Form = "constant"
)

// Spread is a distribution of durations.
type Spread struct {
	Form  Form
	Mean  Time
	Sigma float64 // lognormal: standard deviation of the logarithm
}

// WithMedian returns the lognormal distribution with the given mean and median, or the
// constant one if both are equal. It fails unless 0 < median <= mean.
func WithMedian(mean, median Time) (Spread, error) {
	switch {
	case median <= 0 || median > mean:
		return Spread{}, fmt.Errorf("fleet: a median of %v with a mean of %v; the median of a lognormal span is above 0 and at most the mean",
			median, mean)
	case median == mean:
		return Spread{Form: Constant, Mean: mean}, nil
	}
	return Spread{Form: Lognormal, Mean: mean,
		Sigma: math.Sqrt(2 * math.Log(float64(mean)/float64(median)))}, nil
}

// Draw draws a duration of at least a millisecond, or 0 if the mean is 0. It always takes
// one number of the stream.
func (s Spread) Draw(r *rand.Rand) Time {
	var x float64
	switch s.Form {
	case Exponential:
		x = r.ExpFloat64()
	case Constant:
		x = 1
	default:
		x = math.Exp(s.Sigma*r.NormFloat64() - s.Sigma*s.Sigma/2)
	}

	// In all forms, x has mean 1.
	if s.Mean == 0 {
		return 0
	}
	return max(Millisecond, FromSeconds(x*s.Mean.Seconds()))
}

// exponentialShape is the shape with which a Weibull distribution is exponential.
const exponentialShape = 1

// drawGap draws the time to the next of events with a mean rate per day, from a Weibull
// distribution with the given shape. It is MaxTime if the rate is 0.
func drawGap(r *rand.Rand, perDay, shape float64) Time {
	x := r.ExpFloat64()
	if perDay <= 0 {
		return MaxTime
	}
	if shape != exponentialShape {
		x = math.Pow(x, 1/shape) / math.Gamma(1+1/shape) // with mean 1
	}
	return max(Millisecond, FromSeconds(x/perDay*Day.Seconds()))
}

// Residual returns the mean remaining time of a duration, given that elapsed has passed.
func (s Spread) Residual(elapsed Time) Time {
	switch s.Form {
	case Exponential:
		return s.Mean
	case Constant:
		return max(0, s.Mean-elapsed)
	}
	if elapsed <= 0 || s.Mean == 0 {
		return s.Mean
	}

	// Let the logarithm of a duration have mean m and variance s^2. The duration itself has
	// mean e^(m+s^2/2). Durations longer than x have mean e^(m+s^2/2) Q(z-s) / Q(z), where
	// z = (ln x - m) / s and Q is the tail of the normal distribution. The function tail
	// is 2 Q, whose factor cancels.
	z := math.Log(elapsed.Seconds()/s.Mean.Seconds())/s.Sigma + s.Sigma/2
	tail := func(x float64) float64 { return math.Erfc(x / math.Sqrt2) }
	const minTail = 1e-300 // smaller values have few significant bits
	if tail(z) < minTail {
		return elapsed // assume that the elapsed time passes once more
	}
	return FromSeconds(s.Mean.Seconds()*tail(z-s.Sigma)/tail(z)) - elapsed
}
