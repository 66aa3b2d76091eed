package assembly

import (
	"io"

	"sim/policies/reconfigure/plan"
	"sim/scenarios/result"
)

// Outcome is all that a run found out.
type Outcome struct {
	Document      result.Document
	Timings       result.Timings
	Detail        result.Detail
	TimelineTasks int // as in Options
	// RateSchedules holds, for each policy that schedules rates, its schedule: the rate of every transfer from time to time.
	RateSchedules map[string][]RateRow
	// Files are further files for the run directory.
	Files []result.File
	// Routes are those of every router.
	Routes []Routes
	// Schedules are the plans of all planners that have one.
	UsesPlanners bool // by planners
	PlannerPlans []*plan.Plan
	// PolicyErrors says of each policy whose simulation came to no end why; its row holds what was measured before, and the
	// label failed.
	PolicyErrors []error
}

// RateRow is a line of an exported rate schedule: Task runs at Rate from FromS to ToS.
type RateRow struct {
	Task       string
	FromS, ToS float64
	Rate       float64 // bits per second over all flows of the task
}

// WritePlans writes the plans of all planners that have one as a JSON list, in the order of the rows. It fails when
// w does.
func (o *Outcome) WritePlans(w io.Writer) error {
	return plan.WriteJSON(w, o.PlannerPlans)
}
