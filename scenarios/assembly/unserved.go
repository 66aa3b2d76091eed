package assembly

import (
	"context"
	"slices"

	"sim/scenarios/result"
	"sim/scenarios/schema"
)

// unserved is the answer of a policy that cannot serve the scenario: a row without metrics that says why. Where no
// policy can the input is at fault.
type unserved struct {
	row   result.Row
	fault func() schema.Diagnostic
}

// NoAnswer is the answer of the policy of that name, which cannot serve the scenario for some reason.
func NoAnswer(name, why string, fault func() schema.Diagnostic) Answer {
	return unserved{result.Row{Policy: name, Metrics: map[string]float64{}, Labels: map[string]string{"unserved": why}}, fault}
}

// Unserves reports whether an answer is that of a policy that cannot serve the scenario, and why.
func Unserves(a Answer) (why string, none bool) {
	u, none := a.(unserved)
	return u.row.Labels["unserved"], none
}

func (a unserved) Measured() (result.Row, result.PolicyTimings) { return a.row, result.PolicyTimings{} }

func (a unserved) Describe(_ context.Context, o *Outcome) {
	o.Detail.Policies = append(o.Detail.Policies, result.Simulation{Policy: a.row.Policy})
}

// noneServes is the error of a scenario that no policy can serve.
func noneServes(all []unserved) schema.Diagnostics {
	var faults schema.Diagnostics
	for _, a := range all {
		if f := a.fault(); !slices.Contains(faults, f) {
			faults = append(faults, f)
		}
	}
	return faults
}
