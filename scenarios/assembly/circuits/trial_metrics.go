// This file computes the metrics of trials. Metric names start with replay.

package circuits

import (
	"fmt"
	"slices"

	"sim/engine"
	"sim/internal/numbers"
	"sim/scenarios/result"
)

// addTrialMetrics adds the results of all trials to a row, given their makespans. Metrics
// cover the trials that end. Samples hold the value of each of these trials, in the order
// of their seeds.
func (r *trials) addTrialMetrics(row *result.Row, ends []engine.Time) {
	var nct, makespan, trial []float64
	undefined := 0 // trials whose NCT is undefined
	for i, c := range ends {
		if c == stalled {
			continue
		}
		trial, makespan = append(trial, float64(i)), append(makespan, c.Seconds())
		if v, ok := r.times[i].NCT(c); ok {
			nct = append(nct, v)
		} else {
			undefined++
		}
	}

	// Counts cover all trials, further metrics only trials that end.
	m, numStalled := row.Metrics, len(ends)-len(makespan)
	m["trial_count"], m["trial_stalls"] = float64(len(ends)), float64(numStalled)
	row.Labels["trials"] = r.scenario.trialSummary()
	if undefined > 0 {
		row.Labels["trial_nct_mean"] = fmt.Sprintf("in %d of %d plays, "+
			"as the ideal fabric exposes no communication there", undefined, len(ends))
	}
	if len(makespan) == 0 {
		row.Labels["trial_nct_mean"] =
			"as no play ends: pods that exchange data lose their last circuit"
		return
	}

	row.Samples = map[string][]float64{"makespan_s": makespan}
	if numStalled > 0 {
		row.Samples["play"] = trial // the trial of each value
	}
	m["trial_makespan_mean_s"] = mean(makespan)
	m["trial_makespan_p95_s"] = numbers.Quantile(makespan, 0.95)
	if len(nct) == 0 {
		return
	}
	row.Samples["nct"] = nct
	m["trial_nct_mean"], m["trial_nct_max"] = mean(nct), slices.Max(nct)
	for _, p := range []int{50, 95, 99} {
		m[fmt.Sprintf("trial_nct_p%d", p)] = numbers.Quantile(nct, float64(p)/100)
	}
}

// addLaterMetrics adds the results of the iterations that follow the loss of circuits.
func (r *trials) addLaterMetrics(row *result.Row, later *laterIterations) {
	var nct []float64
	for i, c := range later.ends {
		if v, ok := r.times[i].NCT(c); ok && c != stalled {
			nct = append(nct, v)
		}
	}
	row.Metrics["trial_redecided"] = float64(later.numMoved)
	if len(nct) > 0 {
		row.Metrics["trial_after_nct_mean"] = mean(nct)
	}
}

// mean returns the arithmetic mean of values.
func mean(v []float64) float64 {
	sum := 0.0
	for _, x := range v {
		sum += x
	}
	return sum / float64(len(v))
}
