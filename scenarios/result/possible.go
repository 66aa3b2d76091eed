package result

import (
	"fmt"
	"maps"
	"math"
	"slices"
)

// leastSecond is the most that rounding may take a time below 0, in seconds: differences of times of days in ticks.
const leastSecond = 1e-9

// Possible fails with the name of a metric or sample that no run can have, such as a negative time: what comes from
// elsewhere, or was kept and changed since, is not shown as a result. who has them, for the message.
func Possible(who string, samples map[string][]float64, metrics ...map[string]float64) error {
	return checkValues(who, "which no run can have", possible, samples, metrics...)
}

// checkValues fails with the name of a metric or sample whose value does not fit, and why.
func checkValues(who, why string, fits func(name string, v float64) bool, samples map[string][]float64, metrics ...map[string]float64) error {
	for _, some := range metrics {
		for _, name := range slices.Sorted(maps.Keys(some)) {
			if !fits(name, some[name]) {
				return fmt.Errorf("metric %s of %s is %g, %s", name, who, some[name], why)
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(samples)) {
		for i, v := range samples[name] {
			if !fits(name, v) {
				return fmt.Errorf("sample %d of %s of %s is %g, %s", i+1, name, who, v, why)
			}
		}
	}
	return nil
}

// finite reports whether JSON can hold a value.
func finite(_ string, v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

// possible reports whether a run can have a value of a metric: finite, and not negative if the metric is known or has a
// unit. A gap may be negative by rounding.
func possible(name string, v float64) bool {
	m, known := Find(name)
	switch {
	case !finite(name, v):
		return false
	case v >= 0 || !known && m.Unit == "":
		return true
	}
	return (name == GapToBound || m.Unit == "s") && v > -leastSecond
}

// Possible fails on metrics, samples and times that no run can have.
func (r *Run) Possible() error {
	d := &r.Document
	if err := Possible("the reference", nil, d.Reference); err != nil {
		return err
	}
	for i := range d.Rows {
		row := &d.Rows[i]
		if err := Possible(row.Policy, row.Samples, row.Metrics); err != nil {
			return err
		}
	}
	for _, policy := range slices.Sorted(maps.Keys(r.Timings.Policies)) {
		if err := Possible(policy, nil, r.Timings.Policies[policy].Metrics()); err != nil {
			return err
		}
	}
	return nil
}
