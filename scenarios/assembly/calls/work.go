package calls

import (
	"context"

	"sim/scenarios/schema"
	"sim/workloads/training"
)

// Work is a workload of ranks that compute, send and make collective calls, on any hardware that has places for ranks.
type Work interface {
	// Spec returns a pointer to the struct whose fields are the keys of [workload].
	Spec() any
	// Words names the work in a line for people, by a title if it is not empty.
	Words(title string) string
	Ranks() int
	// Size returns the bytes of all transfers, of reductions the least that any algorithm sends, and the number of
	// transfers of rings, by closed formulas: nothing is built.
	Size() (bytes, transfers float64)
	// SizeKeys returns the keys that make the work larger, and SizeRemedy says how to make it smaller.
	SizeKeys() []string
	SizeRemedy() string
	// Check holds the keys against each other, whatever the hardware.
	Check(c *schema.Reader)
	// CheckCalls returns an error with the keys at fault if an algorithm does not serve a call, or the calls make more
	// than max transfers.
	CheckCalls(ctx context.Context, e *Step, max int) (keys []string, err error)
	// Build returns the work with its calls as e expands them. At level "flow" all that a source sends in one of the
	// ranges of tasks merged goes at one rate.
	Build(ctx context.Context, e *Step) (step *training.Iteration, merged [][2]int, err error)
}
