package circuits

import (
	"fmt"
	"math"
	"slices"

	"sim/engine"
	"sim/scenarios/result"
)

// addTrialMetrics adds to a row what came of its trials, by trial: metrics over those that ended, and the values themselves in
// the order of the seeds.
func (r *trials) addTrialMetrics(row *result.Row, ends []engine.Time) {
	var nct, makespan, trial []float64
	undefined := 0
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
	m, numStalled := row.Metrics, len(ends)-len(makespan)
	m["replay_plays"], m["replay_stalled"] = float64(len(ends)), float64(numStalled)
	row.Labels["replay"] = r.scenario.trialSummary()
	if undefined > 0 {
		row.Labels["replay_nct_mean"] = fmt.Sprintf("in %d of %d plays, as the ideal fabric exposes no communication there", undefined, len(ends))
	}
	if len(makespan) == 0 {
		row.Labels["replay_nct_mean"] = "as no play ends: pods that exchange data lose their last circuit"
		return
	}
	row.Samples = map[string][]float64{"makespan_s": makespan}
	if numStalled > 0 {
		row.Samples["play"] = trial // which the others belong to
	}
	m["replay_makespan_mean_s"], m["replay_makespan_p95_s"] = mean(makespan), quantile(makespan, 0.95)
	if len(nct) == 0 {
		return
	}
	row.Samples["nct"] = nct
	m["replay_nct_mean"], m["replay_nct_max"] = mean(nct), slices.Max(nct)
	for _, p := range []int{50, 95, 99} {
		m[fmt.Sprintf("replay_nct_p%d", p)] = quantile(nct, float64(p)/100)
	}
}

// addLaterMetrics adds what came of the iterations that follow those in which circuits are lost.
func (r *trials) addLaterMetrics(row *result.Row, later *laterIterations) {
	var nct []float64
	for i, c := range later.ends {
		if v, ok := r.times[i].NCT(c); ok && c != stalled {
			nct = append(nct, v)
		}
	}
	row.Metrics["replay_redecided"] = float64(later.numMoved)
	if len(nct) > 0 {
		row.Metrics["replay_after_nct_mean"] = mean(nct)
	}
}

func mean(v []float64) float64 {
	sum := 0.0
	for _, x := range v {
		sum += x
	}
	return sum / float64(len(v))
}

// quantile returns the least of the values that at least a fraction p of them does not exceed (the nearest rank).
func quantile(v []float64, p float64) float64 {
	v = slices.Sorted(slices.Values(v))
	const slack = 1e-9 // 0.95 x 100 is 95
	return v[max(0, int(math.Ceil(p*float64(len(v))-slack))-1)]
}
