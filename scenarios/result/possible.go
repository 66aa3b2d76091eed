package result

import (
	"fmt"
	"maps"
	"math"
	"slices"
)

// leastSecond is the most that rounding may take a time below 0, in seconds: differences of times of days in ticks.
const leastSecond = 1e-9

// Possible fails with the name of a metric that no run can have, such as a negative time: what comes from elsewhere, or
// was kept and changed since, is not shown as a result. who has the metrics, for the message.
func Possible(who string, metrics map[string]float64) error {
	for _, name := range slices.Sorted(maps.Keys(metrics)) {
		if !possible(name, metrics[name]) {
			return fmt.Errorf("metric %s of %s is %g, which no run can have", name, who, metrics[name])
		}
	}
	return nil
}

// possible reports whether a run can have a value of a metric: finite, and not negative if the metric is known or has a
// unit. A gap may be negative by rounding.
func possible(name string, v float64) bool {
	m, known := Find(name)
	switch {
	case math.IsNaN(v) || math.IsInf(v, 0):
		return false
	case v >= 0 || !known && m.Unit == "":
		return true
	}
	return (name == gapName || m.Unit == "s") && v > -leastSecond
}

// PossibleSamples is Possible of samples.
func PossibleSamples(who string, samples map[string][]float64) error {
	for _, name := range slices.Sorted(maps.Keys(samples)) {
		for i, v := range samples[name] {
			if !possible(name, v) {
				return fmt.Errorf("sample %d of %s of %s is %g, which no run can have", i+1, name, who, v)
			}
		}
	}
	return nil
}

// Possible fails on times that no run can take.
func (t PolicyTimings) Possible(who string) error {
	return Possible(who, t.Metrics())
}

// Possible fails on metrics, samples and times that no run can have.
func (r *Run) Possible() error {
	d := &r.Document
	if err := Possible("the reference", d.Reference); err != nil {
		return err
	}
	for i := range d.Rows {
		row := &d.Rows[i]
		if err := Possible(row.Policy, row.Metrics); err != nil {
			return err
		}
		if err := PossibleSamples(row.Policy, row.Samples); err != nil {
			return err
		}
	}
	for _, policy := range slices.Sorted(maps.Keys(r.Timings.Policies)) {
		if err := r.Timings.Policies[policy].Possible(policy); err != nil {
			return err
		}
	}
	return nil
}
