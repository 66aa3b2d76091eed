// This file judges the difference of a metric in one row: whether it counts, and
// whether it fails.

package compare

import (
	"fmt"
	"math"

	"golang.org/x/perf/benchmath"

	"sim/internal/text"
	"sim/scenarios/result"
)

// minWallChange is the smallest growth in seconds for which times of timings.json can
// fail. Smaller changes are noise of the machine.
const minWallChange = 10e-3

// roundingSlack prevents a change of exactly the limit from failing because of rounding.
const roundingSlack = 1 + 1e-9

// confidence is the level of confidence intervals of measured values. Only their centres
// are used.
const confidence = 0.95

// judge compares the values of a metric in a row. One of the sets may have no values.
func (c *Comparison) judge(m *Metric, previous, current []float64) Difference {
	var d Difference
	var assume benchmath.Assumption = benchmath.AssumeExact
	if m.Wall {
		assume = benchmath.AssumeNothing
	}
	center := func(values []float64) *float64 {
		if len(values) == 0 {
			return nil
		}
		v := assume.Summary(sample(values), confidence).Center
		return &v
	}

	d.Old, d.New = center(previous), center(current)
	switch {
	case d.New == nil:
		d.Mark = Missing
		d.Fails = m.isRequired
		return d
	case d.Old == nil:
		d.Mark = New
		return d
	}

	// The relative change, and its mark.
	old, now := *d.Old, *d.New
	if old > 0 && now > 0 && !m.isOptimal(old) && !m.isOptimal(now) {
		r := now / old
		d.Ratio = &r
	}
	change := math.Inf(1) // from 0 to anything
	switch {
	case old == now:
		change = 0
	case old != 0:
		change = (now - old) / math.Abs(old)
	case now < 0:
		change = math.Inf(-1)
	}
	if !math.IsInf(change, 0) && !(m.isOptimal(old) && old != now) {
		d.Change = &change
	}
	d.Mark = m.mark(change)
	if c.isRounding(m, now-old, change) {
		d.Mark = Same
	}

	// Measured values fail only if the test finds a significant difference.
	d.Fails = m.MayFail && c.exceedsLimit(m, &d, change)
	if m.Wall {
		test := assume.Compare(sample(previous), sample(current))
		if len(test.Warnings) == 0 { // enough samples for the test
			d.P = &test.P
			d.Fails = d.Fails && test.P <= test.Alpha
		}
	}
	return d
}

// isGap reports whether the metric is a gap to a bound, a share that is 0 for optimal values.
func (m *Metric) isGap() bool {
	known, _ := result.Find(m.Name)
	return known.Format == result.Gap
}

// isOptimal reports whether v is a gap of 0 up to rounding. Ratios to such gaps have no meaning.
func (m *Metric) isOptimal(v float64) bool { return m.isGap() && math.Abs(v) <= Rounding }

// isRounding reports whether a difference of simulated values is a rounding error.
func (c *Comparison) isRounding(m *Metric, difference, change float64) bool {
	if m.Wall {
		return false
	}
	if m.isGap() {
		change = difference
	}
	return math.Abs(change) <= min(c.FailOver, Rounding)*roundingSlack
}

// mark classifies a relative change of m.
func (m *Metric) mark(change float64) Mark {
	switch {
	case change == 0:
		return Same
	case m.Better == "":
		return Changed
	case (change < 0) == (m.Better == result.Lower):
		return Better
	}
	return Worse
}

// exceedsLimit reports whether a change is larger than allowed.
func (c *Comparison) exceedsLimit(m *Metric, d *Difference, change float64) bool {
	limit := c.FailOver
	if m.Wall {
		// Set, because only then may wall-clock times fail.
		limit = *c.WallFailOver
		if m.fromTimings && math.Abs(*d.New-*d.Old) < minWallChange {
			return false
		}
	}
	if d.Mark == Same || d.Mark != Worse && (m.Wall || !c.FailOnChange) {
		return false
	}
	return math.Abs(change) > limit*roundingSlack
}

// why returns a sentence that explains why a difference fails.
func (c *Comparison) why(m *Metric, d *Difference) string {
	number := scaleFor(m.Name, []Difference{*d}).digitsFor(d)
	if d.New == nil {
		return m.Name + " is missing or undefined, it was " + number(*d.Old)
	}
	if d.OtherReference {
		return m.Name + " is " + number(*d.New) + ", it was " + number(*d.Old) + ", relative to another ideal fabric, so it cannot be judged"
	}
	limit := c.FailOver
	if m.Wall {
		limit = *c.WallFailOver
	}
	by := "from " + number(*d.Old)
	if d.Change != nil {
		by = text.Change(*d.Change)
	}
	return fmt.Sprintf("%s is %s, it was %s (%s %s; allowed is %s)", m.Name, number(*d.New), number(*d.Old), by, d.Mark, share(limit))
}
