// This file declares units, and places ticks at round values of a unit.

package sheet

import (
	"math"
	"strconv"
	"strings"

	"gonum.org/v1/plot"
)

// Unit is a unit of an axis. A value in the base unit times Per is the value in this unit.
type Unit struct {
	Name string  // symbol, such as "ms"; may be empty
	Per  float64 // units per base unit, such as 1e3 for ms
}

// NoUnit shows values without a unit, and PercentUnit shows ratios as percentages.
var (
	NoUnit      = Unit{Per: 1}
	PercentUnit = Unit{Name: "%", Per: 100}
)

// TimeUnits lists the units of time below two hours, the largest first.
var TimeUnits = []Unit{{"s", 1}, {"ms", 1e3}, {"µs", 1e6}, {"ns", 1e9}}

// TimeUnit returns the largest unit of time in which s seconds are at least 1 (at least 2 for
// hours and days). For times too short to measure it returns seconds.
func TimeUnit(s float64) Unit {
	const hour, day = 3600, 86400
	switch s := math.Abs(s); {
	case s >= 2*day:
		return Unit{Name: "d", Per: 1.0 / day}
	case s >= 2*hour:
		return Unit{Name: "h", Per: 1.0 / hour}
	}

	return largestUnit(s, TimeUnits, TimeUnits[0])
}

// PrefixedUnit returns the unit name with the largest decimal prefix (k to P) with which
// maxValue is at least 1.
func PrefixedUnit(maxValue float64, name string) Unit {
	return largestUnit(maxValue, []Unit{{"P" + name, 1e-15}, {"T" + name, 1e-12},
		{"G" + name, 1e-9}, {"M" + name, 1e-6}, {"k" + name, 1e-3}}, Unit{Name: name, Per: 1})
}

// largestUnit returns the first of units in which v is at least 1, or other if v is smaller in
// all of them. The units must be sorted, the largest first.
func largestUnit(v float64, units []Unit, other Unit) Unit {
	for _, u := range units {
		// Tolerate rounding errors.
		if math.Abs(v)*u.Per >= 1-1e-9 {
			return u
		}
	}
	return other
}

// GigabitsPerSecond and GigabytesPerSecond show rates in bits per second.
var (
	GigabitsPerSecond  = Unit{Name: "Gb/s", Per: 1e-9}
	GigabytesPerSecond = Unit{Name: "GB/s", Per: 1e-9 / 8}
)

// Ticker is a plot.Ticker that places about Count ticks at round values of a unit: at 1, 2 or 5
// times a power of ten.
type Ticker struct {
	Unit         Unit // unit of the labels
	Count        int  // approximate number of ticks
	IntegersOnly bool // no ticks between integers
}

// maxTicks ends the loop of Ticks if rounding errors exceed the step.
const maxTicks = 64

// Ticks implements plot.Ticker.
func (t Ticker) Ticks(lo, hi float64) []plot.Tick {
	lo, hi = lo*t.Unit.Per, hi*t.Unit.Per
	step := RoundStep((hi - lo) / float64(max(1, t.Count)))
	if t.IntegersOnly {
		step = max(1, step)
	}
	if !(step > 0) {
		return nil
	}

	// Labels need the decimals of the step.
	decimals := max(0, -int(math.Floor(math.Log10(step)+1e-9)))

	// Tolerance for a tick at the end of the axis.
	eps := step * 1e-6
	first := math.Ceil((lo - eps) / step)

	var out []plot.Tick
	for i := range maxTicks {
		v := (first + float64(i)) * step
		if v > hi+eps {
			break
		}
		// Long labels get an exponent, and rounding errors around 0 become 0.
		label := strconv.FormatFloat(v+0, 'f', decimals, 64)
		if math.Abs(v) >= 1e7 || decimals > 6 {
			label = Digits(v, 4)
		}
		if math.Abs(v) < eps {
			v, label = 0, "0"
		}
		out = append(out, plot.Tick{
			Value: min(max(v, lo), hi) / t.Unit.Per,
			Label: label,
		})
	}

	return out
}

// LogTicker is a plot.Ticker for logarithmic axes that places about Count labelled ticks at
// round values of a unit.
type LogTicker struct {
	Unit Unit // unit of the labels
	// UnitPerTick reports whether each tick has the unit of time that suits it, instead of Unit.
	UnitPerTick bool
	Count       int // approximate number of labelled ticks
}

// Ticks implements plot.Ticker.
func (t LogTicker) Ticks(lo, hi float64) []plot.Tick {
	// Positions are in decades. eps is a tolerance for rounding; maxDecades is more than float64
	// has.
	const eps, maxDecades = 1e-9, 700
	from, to := math.Log10(lo), math.Log10(hi)
	span := to - from
	if !(span < maxDecades) {
		return nil
	}
	var out []plot.Tick

	// Every stride-th decade has a label. Within decades, axes of up to fewDecades also label 2
	// and 5 times the decade, and axes of less than a decade most multiples. Axes of up to
	// someDecades have ticks without labels at the multiples.
	const partOfDecade, fewDecades, someDecades = 0.8, 3, 6
	stride := max(1, int(math.Ceil(span/float64(max(1, t.Count)))))
	for d := int(math.Floor(from)); float64(d) <= to+eps; d++ {
		for m := 1; m < 10; m++ {
			at := float64(d) + math.Log10(float64(m))
			if at < from-eps || at > to+eps {
				continue
			}
			v := float64(m) * math.Pow(10, float64(d))

			tick := plot.Tick{Value: min(max(v, lo), hi)}
			switch {
			case m == 1 && d%stride == 0, span <= fewDecades && (m == 2 || m == 5),
				span <= partOfDecade && m != 9 && m != 7:
				u := t.Unit
				if t.UnitPerTick {
					u = TimeUnit(v)
				}
				tick.Label = ShortNumber(v * u.Per)
				if t.UnitPerTick {
					tick.Label = strings.Replace(tick.Label, "+", "",
						1) + " " + u.Name
				}
			}

			if tick.Label != "" || stride == 1 && span <= someDecades || m == 1 {
				out = append(out, tick)
			}
		}
	}

	return out
}

// UnlabelledTicker has the ticks of another ticker without their labels, for a plot next to
// one that has the labels.
type UnlabelledTicker struct{ plot.Ticker }

// Ticks implements plot.Ticker. Labels become spaces, because a tick without a label would be
// drawn as a minor tick.
func (u UnlabelledTicker) Ticks(lo, hi float64) []plot.Tick {
	ticks := u.Ticker.Ticks(lo, hi)
	for i := range ticks {
		if ticks[i].Label != "" {
			ticks[i].Label = " "
		}
	}
	return ticks
}

// FixedTicks returns ticks at the given values with the given labels.
func FixedTicks(values []float64, labels []string) plot.ConstantTicks {
	out := make(plot.ConstantTicks, len(values))
	for i := range values {
		out[i] = plot.Tick{Value: values[i], Label: labels[i]}
	}
	return out
}
