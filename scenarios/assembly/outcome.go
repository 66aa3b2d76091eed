// This file defines Outcome, the results of a run.

package assembly

import (
	"io"

	"sim/policies/reconfigure/plan"
	"sim/scenarios/result"
)

// Outcome holds all results of a run.
type Outcome struct {
	Document result.Document
	Timings  result.Timings
	Detail   result.Detail
	Timeline TimelineOptions // see Options.Timeline
	// RateSchedules holds the rates of every transfer over time, by policy. Policies
	// without scheduled rates have no entry.
	RateSchedules map[string][]RateRow
	Files         []result.File // further files of the run directory
	Routes        []Routes      // paths of each router
	UsesPlanners  bool          // planners made the decisions
	PlannerPlans  []*plan.Plan  // plans of all planners that have one
	// PolicyErrors states why simulations did not complete. The row of such a policy
	// holds the metrics measured until then, and the label failed.
	PolicyErrors []error
}

// RateRow is a line of an exported rate schedule: Task runs at Rate from FromS to ToS.
type RateRow struct {
	Task       string
	FromS, ToS float64 // seconds
	Rate       float64 // bits per second, summed over all flows of the task
}

// WritePlans writes the plans of all planners as a JSON list, in the order of the rows.
// It returns the error of w.
func (o *Outcome) WritePlans(w io.Writer) error {
	return plan.WriteJSON(w, o.PlannerPlans)
}
