package cli

import (
	"fmt"

	"sim/scenarios/result"
)

var speedCases = []correctedCase{
	{
		name: "one-hop demand on 7 pods", args: []string{"run", "@/one-hop.toml"},
		before: "1.5338 ms, 38.4 % above the bound, decided in 29 s",
		right:  "1.5338 ms, optimal, decided within 10 ms",
		check: func(o caseOutcome) (string, error) {
			now, err := checkMetricValues("completion_s", map[string]float64{"delta-topo": 0.001533846154})(o)
			if err != nil {
				return now, err
			}
			gap := o.document.Rows[0].Metrics["gap"]
			run, err := result.Read(o.dir)
			if err != nil {
				return now, err
			}
			solveS := run.Timings.Policies["delta-topo"].SolveS
			now = fmt.Sprintf("%s, gap %.1g, decided in %.1f ms", now, gap, 1e3*solveS)
			if gap > 1e-8 || solveS > 0.1 { // 10 ms on an idle machine
				return now, fmt.Errorf("gap %g, decided in %g s", gap, solveS)
			}
			return now, nil
		},
	},
}
