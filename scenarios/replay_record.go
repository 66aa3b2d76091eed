package scenarios

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"sim/engine"
	"sim/scenarios/result"
)

// record adds to a row what came of its replays, by play: metrics over those
// that ended, and the values themselves in the order of the seeds.
func (r *replay) record(row *result.Row, ends []engine.Time) {
	var nct, makespan, play []float64
	undefined := 0
	for i, c := range ends {
		if c == stalled {
			continue
		}
		play, makespan = append(play, float64(i)), append(makespan, c.Seconds())
		if v, ok := r.times[i].NCT(c); ok {
			nct = append(nct, v)
		} else {
			undefined++
		}
	}
	m, lost := row.Metrics, len(ends)-len(makespan)
	m["replay_plays"], m["replay_stalled"] = float64(len(ends)), float64(lost)
	row.Labels["replay"] = r.in.s.replayWords()
	if undefined > 0 {
		row.Labels["replay_nct_mean"] = fmt.Sprintf("in %d of %d plays, as the ideal fabric exposes no communication there", undefined, len(ends))
	}
	if len(makespan) == 0 {
		row.Labels["replay_nct_mean"] = "as no play ends: pods that exchange data lose their last circuit"
		return
	}
	row.Samples = map[string][]float64{"makespan_s": makespan}
	if lost > 0 {
		row.Samples["play"] = play // which the others belong to
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

func mean(v []float64) float64 {
	sum := 0.0
	for _, x := range v {
		sum += x
	}
	return sum / float64(len(v))
}

// quantile returns the least of the values that at least a fraction p of them
// does not exceed (the nearest rank).
func quantile(v []float64, p float64) float64 {
	v = slices.Sorted(slices.Values(v))
	const slack = 1e-9 // 0.95 x 100 is 95
	return v[max(0, int(math.Ceil(p*float64(len(v))-slack))-1)]
}

// replayWords says in a line what is perturbed.
func (s *Scenario) replayWords() string {
	k := &s.Replay
	var parts []string
	say := func(format string, args ...any) { parts = append(parts, fmt.Sprintf(format, args...)) }
	if k.ComputeJitter > 0 {
		say("compute times varying by %.4g %%", 100*k.ComputeJitter)
	}
	if k.StageJitter > 0 {
		say("stages varying by %.4g %%", 100*k.StageJitter)
	}
	if k.SlowReplica > 1 {
		say("a replica %.4g times as slow", k.SlowReplica)
	}
	if k.LostCircuits > 0 {
		when := "from the start"
		if k.LostWhen == "random" {
			when = "from a random time on"
		}
		say("%s dark %s", plural(k.LostCircuits, "circuit"), when)
	}
	if k.Sequence != s.Workload.Sequence {
		say("%d tokens a sample", k.Sequence)
	}
	if len(parts) == 0 {
		say("nothing that differs from the plan")
	}
	return fmt.Sprintf("%s with %s; %s priorities", plural(k.Seeds, "play"), strings.Join(parts, ", "), k.Priorities)
}
