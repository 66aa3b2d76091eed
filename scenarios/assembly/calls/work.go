// This file defines the interface of rank work: workloads whose ranks compute, send
// messages and make collective calls on any fabric.

package calls

import (
	"context"

	"sim/policies/mapping"
	"sim/scenarios/schema"
	"sim/workloads/training"
)

// Work is a workload of ranks that compute, send messages and make collective calls. It
// runs on every fabric that has places for ranks.
type Work interface {
	// Description describes the work in one line. It starts with the title unless that is
	// empty.
	Description(title string) string
	Ranks() int
	// RankKeys returns the keys that determine the number of ranks. The first one sets
	// it.
	RankKeys() []string
	// Dims returns the dimensions of parallelism by which ranks are mapped. nil puts
	// ranks on the first places in order.
	Dims() []mapping.Dim
	// Size estimates the total bytes and the number of transfers by closed formulas,
	// without building the work. For reductions it assumes the minimum bytes of any
	// algorithm, and ring schedules for the number of transfers. The exact bytes differ
	// by at most the factor slack.
	Size() (bytes, transfers, slack float64)
	// SizeRemedy returns how to make the work smaller, other than by larger packets; ""
	// if nothing else helps.
	SizeRemedy() string
	// Tasks estimates the tasks of the work, and of its folded form, in which one task stands for
	// all identical ones (Quotient). The latter is 0 if the work cannot be folded.
	Tasks() (all, folded float64)
	// Check reports keys that conflict with each other. All RankKeys are valid. If mayFold is set,
	// the work may have its folded form.
	Check(c *schema.Reader, mayFold bool)
	// CheckCalls returns an error and the keys that cause it if an algorithm does not
	// serve a call, or if the calls make too many transfers.
	CheckCalls(ctx context.Context, e *Expander) (keys []string, err error)
	// Build returns the work on the nodes of e, with calls expanded by e. Each element of
	// merged is a range of tasks. At level flow, all transfers of one source in a range
	// share one rate.
	Build(ctx context.Context, e *Expander) (step *training.Iteration, merged [][2]int, err error)
}
