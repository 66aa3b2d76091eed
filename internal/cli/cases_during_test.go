package cli

import (
	"context"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"time"

	"sim/scenarios"
	"sim/scenarios/result"
)

var duringCases = []correctedCase{
	{
		name:   "packets-stall",
		args:   []string{"run", "@/packet-stall.toml"},
		before: "stalls",
		right:  "circuits move by events, so that no packet is left behind: up to 2 % longer than fluid, and not below the bound",
		check:  checkMovesByPacket(1.02),
	},
	{
		name:   "packets-stall-mixtral",
		args:   []string{"run", "mixtral8x22b", "--policy", "delta-during", "--set", "engine.level=packet", "--set", "workload.packet=16MB"},
		before: "stalls",
		right:  "up to 0.5 % longer than fluid, and not below the bound",
		check:  checkMovesByPacket(1.005),
	},
	{
		name:   "trials-stall",
		args:   []string{"run", "@/replay-gpt7b.toml"},
		before: "20 of 20 trials stall",
		right:  "no stall; with jitter of 1e-6 as planned, 1.0526",
		check:  checkTrialTimes(map[string][2]float64{"demand-matched": {1.0526, 1.0526}}),
	},
	{
		name:   "trials-stall-36",
		args:   []string{"run", "@/replay-stall-36.toml"},
		before: "5 of 5 trials stall",
		right:  "no stall; with jitter of 1e-6 as planned, 1.0824",
		check:  checkTrialTimes(map[string][2]float64{"demand-matched": {1.0824, 1.0824}}),
	},
	{
		name:   "trials-of-all-replicas",
		args:   []string{"run", "robustness", "--policy", "demand-matched", "--policy", "mixnet-during", "--set", "trials.lost_circuits=0"},
		before: "demand-matched: all trials stall; mixnet-during: mean 1.4672, p95 1.5278",
		right:  "no stall; mixnet-during: mean 1.4800, p95 1.4914",
		check:  checkTrialTimes(map[string][2]float64{"demand-matched": {1.5300, 1.5484}, "mixnet-during": {1.4800, 1.4914}}),
	},
	{
		name: "search beaten by another seed", args: []string{"run", "@/during-beaten.toml"},
		before: "4.0495 ms", right: "at most 3.6409 ms",
		check: checkNoSlower(0.003640905543),
	},
	{
		name: "search beaten by two topologies", args: []string{"run", "@/during-beaten2.toml"},
		before: "5.4251 ms, none pays", right: "at most 5.2573 ms",
		check: checkNoSlower(0.0052573),
	},
	breakEvenCase("10us", "5.68 ms"),
	breakEvenCase("284us", "5.68 ms"),
	breakEvenCase("3977us", "3.00 ms, yet circuits move"),
	breakEvenCase("5511us", "5.00 ms"),
	breakEvenCase("5500us", "5.00 ms"),
	breakEvenCase("6200us", "depends on the delay"),
}

// checkMovesByPacket returns a check of delta-during at packet level: circuits move, no packet
// is lost, and an iteration takes at least its bound and at most longer times the iteration at
// flow level.
func checkMovesByPacket(longer float64) func(caseOutcome) (string, error) {
	return func(o caseOutcome) (string, error) {
		if o.code != exitOK {
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

// checkTrialTimes returns a check that no trial stalls, and that the mean and the 95th
// percentile of NCT over trials have the given values, indexed by policy, to four decimals.
func checkTrialTimes(want map[string][2]float64) func(caseOutcome) (string, error) {
	return func(o caseOutcome) (string, error) {
		if o.code != exitOK {
			return o.stderr, fmt.Errorf("exit code %d, want 0", o.code)
		}
		var now []string
		var errs []error
		rows := 0
		for _, row := range o.document.Rows {
			m := row.Metrics
			text := fmt.Sprintf("%s: mean %.4f, p95 %.4f, %g stalled", row.Policy, m["trial_nct_mean"], m["trial_nct_p95"], m["trial_stalls"])
			now = append(now, text)
			if w, ok := want[row.Policy]; ok {
				rows++
				if m["trial_stalls"] != 0 || !(math.Abs(m["trial_nct_mean"]-w[0]) < 6e-5) || !(math.Abs(m["trial_nct_p95"]-w[1]) < 6e-5) {
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

// checkNoSlower returns a check that an iteration of delta-during takes at most the given
// number of seconds.
func checkNoSlower(seconds float64) func(caseOutcome) (string, error) {
	return func(o caseOutcome) (string, error) {
		got, err := duringRow(o.document)
		if err != nil {
			return o.stderr, err
		}
		now := fmt.Sprintf("%.4f ms", 1e3*got.makespan)
		if got.makespan > seconds*(1+1e-5) {
			return now, fmt.Errorf("an iteration takes %g s, want at most %g", got.makespan, seconds)
		}
		return now, nil
	}
}

// breakEvenCase returns the case of a job at one reconfiguration delay. The break-even must
// not depend on the delay, so it is compared with that at a delay of 1 us. If the delay is at
// most the break-even, circuits move and the iteration is faster than with fixed circuits,
// which proves that moving them pays. At longer delays the row states that no better plan was
// found. The exact break-even is unknown, because a search finds it.
func breakEvenCase(delay, before string) correctedCase {
	const file = "testdata/cases/during/break-even-contradiction.toml"
	return correctedCase{
		name:   "break-even at " + delay,
		args:   []string{"run", "@/break-even-contradiction.toml", "--set", "fabric.reconfiguration_delay=" + delay},
		before: before, right: "that of the job at a delay of 1 us, and circuits move up to it",
		check: func(o caseOutcome) (string, error) {
			got, err := duringRow(o.document)
			if err != nil {
				return o.stderr, err
			}
			c, _, stderr := newBufferedCommand()
			c.run = scenarios.Run
			dir := filepath.Join(filepath.Dir(o.dir), "short")
			if code := c.mainUntilCancelled(context.Background(), []string{"sim", "run", file, "--set", "fabric.reconfiguration_delay=1us", "--no-plots", "--out", dir}); code != exitOK {
				return stderr.String(), fmt.Errorf("exit code %d at a delay of 1 us, want 0", code)
			}
			run, err := result.Read(dir)
			if err != nil {
				return "", err
			}
			short, err := duringRow(run.Document)
			if err != nil {
				return "", err
			}
			now := fmt.Sprintf("%.4f ms, %s", 1e3*got.breakEven, got.moves)
			d, err := time.ParseDuration(delay)
			if err != nil {
				return now, err
			}
			moves := !strings.HasPrefix(got.moves, "none")
			if got.breakEven != short.breakEven {
				return now, fmt.Errorf("the break-even is %.12g s, and %.12g s at a delay of 1 us", got.breakEven, short.breakEven)
			}
			if moves != (d.Seconds() <= got.breakEven) || moves != (got.makespan < got.still*(1-1e-9)) {
				return now, fmt.Errorf("circuits move: %v, in %g s, and %g s if they stay, at a break-even of %g s", moves, got.makespan, got.still, got.breakEven)
			}
			return now, nil
		},
	}
}

// duringResult holds the values of the row of delta-during.
type duringResult struct {
	makespan, breakEven float64 // in seconds
	still               float64 // iteration of delta-joint, whose circuits do not move, in seconds
	moves               string
}

func duringRow(d result.Document) (duringResult, error) {
	during, joint := d.Row("delta-during"), d.Row("delta-joint")
	if during == nil {
		return duringResult{}, errors.New("there is no row of delta-during")
	}
	r := duringResult{makespan: during.Metrics["makespan_s"], breakEven: during.Metrics["break_even_s"], moves: during.Labels["moves"]}
	if joint != nil {
		r.still = joint.Metrics["makespan_s"]
	}
	return r, nil
}
