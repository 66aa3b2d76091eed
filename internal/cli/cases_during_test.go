package cli

import (
	"fmt"
	"strings"
)

var duringCases = []correctedCase{
	{
		name: "search beaten by another seed", args: []string{"run", "@/during-beaten.toml"},
		before: "4.0495 ms", right: "at most 3.6409 ms",
		check: noSlower(0.003640905543),
	},
	{
		name: "search beaten by two topologies", args: []string{"run", "@/during-beaten2.toml"},
		before: "5.4251 ms, none pays", right: "at most 5.2573 ms",
		check: noSlower(0.0052573),
	},
	breakEvenAt("10us", "5.68 ms"),
	breakEvenAt("284us", "5.68 ms"),
	breakEvenAt("3977us", "3.00 ms, yet circuits move"),
	breakEvenAt("5511us", "5.00 ms"),
	breakEvenAt("6200us", "depends on the delay"),
}

// noSlower returns a check that an iteration of delta-during takes no longer than some seconds.
func noSlower(seconds float64) func(caseOutcome) (string, error) {
	return func(o caseOutcome) (string, error) {
		got, err := duringRow(o)
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

// breakEvenAt returns the case of a job at one reconfiguration delay. Its break-even is the same at
// every delay, circuits move at delays up to it, and at longer ones the row says that none was found.
func breakEvenAt(delay, before string) correctedCase {
	const even = 0.005651469962 // seconds
	return correctedCase{
		name:   "break-even at " + delay,
		args:   []string{"run", "@/break-even-contradiction.toml", "--set", "fabric.reconfiguration_delay=" + delay},
		before: before, right: "5.65 ms, whatever the delay",
		check: func(o caseOutcome) (string, error) {
			got, err := duringRow(o)
			if err != nil {
				return o.stderr, err
			}
			now := fmt.Sprintf("%.4f ms, %s", 1e3*got.breakEven, got.moves)
			var us float64
			if _, err := fmt.Sscanf(delay, "%gus", &us); err != nil {
				return now, err
			}
			stays := strings.HasPrefix(got.moves, "none")
			if diff := got.breakEven - even; diff > 1e-9 || diff < -1e-9 {
				return now, fmt.Errorf("the break-even is %.12g s, want %g", got.breakEven, even)
			}
			if stays != (us*1e-6 > even) {
				return now, fmt.Errorf("circuits stay: %v, at a break-even of %g s", stays, got.breakEven)
			}
			return now, nil
		},
	}
}

// duringResult is the row of delta-during.
type duringResult struct {
	makespan, breakEven float64 // in seconds
	moves               string
}

func duringRow(o caseOutcome) (duringResult, error) {
	for _, row := range o.document.Rows {
		if row.Policy == "delta-during" {
			return duringResult{row.Metrics["makespan_s"], row.Metrics["break_even_s"], row.Labels["moves"]}, nil
		}
	}
	return duringResult{}, fmt.Errorf("exit code %d and no row of delta-during", o.code)
}
