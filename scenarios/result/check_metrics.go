// This file checks the values of metrics and samples.

package result

import (
	"fmt"
	"maps"
	"math"
	"slices"
)

// maxTimeRounding is how far rounding can move a time below 0, in seconds: the rounding
// error of a difference of times of days.
const maxTimeRounding = 1e-9

// CheckMetrics fails with the name of a metric or sample that no run can have, such as a
// negative time. It protects against damaged and manipulated files. owner names the row
// in the message.
func CheckMetrics(owner string, samples map[string][]float64, metrics ...map[string]float64) error {
	return checkValues(owner, "which no run can have", isPossible, samples, metrics...)
}

// checkValues fails with the first metric or sample that does not fit. why completes the
// message.
func checkValues(owner, why string, fits func(name string, v float64) bool, samples map[string][]float64, metrics ...map[string]float64) error {
	for _, some := range metrics {
		for _, name := range slices.Sorted(maps.Keys(some)) {
			if !fits(name, some[name]) {
				return fmt.Errorf("metric %s of %s is %g, %s", name, owner, some[name], why)
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(samples)) {
		for i, v := range samples[name] {
			if !fits(name, v) {
				return fmt.Errorf("sample %d of %s of %s is %g, %s", i+1, name, owner, v, why)
			}
		}
	}
	return nil
}

// isFinite reports whether JSON can represent v.
func isFinite(_ string, v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

// isPossible reports whether a run can have this value: it is finite, and not negative if
// the metric is known or has a unit. Rounding may make gaps and times slightly negative.
func isPossible(name string, v float64) bool {
	m, known := Find(name)
	switch {
	case !isFinite(name, v):
		return false
	case v >= 0 || !known && m.Unit == "":
		return true
	}
	return (name == GapToBound || m.Unit == "s") && v > -maxTimeRounding
}

// CheckMetrics fails on metrics, samples and times that no run can have.
func (r *Run) CheckMetrics() error {
	d := &r.Document
	var noSamples map[string][]float64
	if err := CheckMetrics("the reference", noSamples, d.Reference); err != nil {
		return err
	}
	for i := range d.Rows {
		row := &d.Rows[i]
		if err := CheckMetrics(row.Policy, row.Samples, row.Metrics); err != nil {
			return err
		}
	}
	for _, policy := range slices.Sorted(maps.Keys(r.Timings.Policies)) {
		if err := CheckMetrics(policy, noSamples, r.Timings.Policies[policy].Metrics()); err != nil {
			return err
		}
	}
	return nil
}
