package cli

import (
	"errors"
	"fmt"
	"math"
	"strings"
)

var duringCases = []correctedCase{
	{
		name:   "packets-stall",
		args:   []string{"run", "@/packet-stall.toml"},
		before: "stalls",
		right:  "circuits move by events, so that no packet is left behind: up to 2 % longer than fluid, and not below the bound",
		check:  movesByPacket(1.02),
	},
	{
		name:   "packets-stall-mixtral",
		args:   []string{"run", "mixtral8x22b", "--policy", "delta-during", "--set", "engine.level=packet", "--set", "workload.packet=16MB"},
		before: "stalls",
		right:  "up to 0.5 % longer than fluid, and not below the bound",
		check:  movesByPacket(1.005),
	},
	{
		name:   "trials-stall",
		args:   []string{"run", "@/replay-gpt7b.toml"},
		before: "20 of 20 trials stall",
		right:  "no stall; with jitter of 1e-6 as planned, 1.0526",
		check:  trialsTake(map[string][2]float64{"demand-matched": {1.0526, 1.0526}}),
	},
	{
		name:   "trials-stall-36",
		args:   []string{"run", "@/replay-stall-36.toml"},
		before: "5 of 5 trials stall",
		right:  "no stall; with jitter of 1e-6 as planned, 1.0824",
		check:  trialsTake(map[string][2]float64{"demand-matched": {1.0824, 1.0824}}),
	},
	{
		name:   "trials-of-all-replicas",
		args:   []string{"run", "robustness", "--policy", "demand-matched", "--policy", "mixnet-during", "--set", "replay.lost_circuits=0"},
		before: "demand-matched: all trials stall; mixnet-during: mean 1.4672, p95 1.5278",
		right:  "no stall; mixnet-during: mean 1.4800, p95 1.4914",
		check:  trialsTake(map[string][2]float64{"demand-matched": {1.5300, 1.5484}, "mixnet-during": {1.4800, 1.4914}}),
	},
}

// movesByPacket returns a check that circuits move under delta-during, that no packet is lost, and that an iteration takes
// at least its bound and at most so many times as long as the fluid's.
func movesByPacket(longer float64) func(caseOutcome) (string, error) {
	return func(o caseOutcome) (string, error) {
		if o.code != exitDone {
			return o.stderr, fmt.Errorf("exit code %d, want 0", o.code)
		}
		for _, row := range o.document.Rows {
			if row.Policy != "delta-during" {
				continue
			}
			m := row.Metrics
			now := fmt.Sprintf("makespan_s %g, fluid_s %g, bound_makespan_s %g, %g reconfigurations, %g packets dropped", m["makespan_s"], m["fluid_s"], m["bound_makespan_s"], m["reconfigurations"], m["dropped"])
			if !(m["makespan_s"] >= m["bound_makespan_s"] && m["makespan_s"] <= longer*m["fluid_s"]) || m["reconfigurations"] == 0 || m["dropped"] > 0 {
				return now, errors.New(now)
			}
			return now, nil
		}
		return "", errors.New("no row of delta-during")
	}
}

// trialsTake returns a check that no trial stalls, and of the mean NCT of trials and its 95th percentile by policy, to
// four decimals.
func trialsTake(want map[string][2]float64) func(caseOutcome) (string, error) {
	return func(o caseOutcome) (string, error) {
		if o.code != exitDone {
			return o.stderr, fmt.Errorf("exit code %d, want 0", o.code)
		}
		var now []string
		var errs []error
		rows := 0
		for _, row := range o.document.Rows {
			m := row.Metrics
			text := fmt.Sprintf("%s: mean %.4f, p95 %.4f, %g stalled", row.Policy, m["replay_nct_mean"], m["replay_nct_p95"], m["replay_stalled"])
			now = append(now, text)
			if w, ok := want[row.Policy]; ok {
				rows++
				if m["replay_stalled"] != 0 || !(math.Abs(m["replay_nct_mean"]-w[0]) < 6e-5) || !(math.Abs(m["replay_nct_p95"]-w[1]) < 6e-5) {
					errs = append(errs, fmt.Errorf("%s; want %.4f and %.4f", text, w[0], w[1]))
				}
			}
		}
		if rows < len(want) {
			errs = append(errs, fmt.Errorf("%d rows, want %d", rows, len(want)))
		}
		return strings.Join(now, "; "), errors.Join(errs...)
	}
}
