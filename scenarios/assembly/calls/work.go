package calls

import (
	"context"

	"sim/policies/mapping"
	"sim/scenarios/schema"
	"sim/workloads/training"
)

// Work is a workload of ranks that compute, send and make collective calls, on any hardware that has places for ranks.
type Work interface {
	// Description names the work in a line for people, by a title if it is not empty.
	Description(title string) string
	Ranks() int
	// RankKeys returns the keys that the number of ranks follows from, the one that sets it first.
	RankKeys() []string
	// Dims returns the dimensions of parallelism by which ranks are placed; nil puts them on the first places in order.
	Dims() []mapping.Dim
	// Size returns the bytes of all transfers, of reductions the least that any algorithm sends, and the number of
	// transfers of rings, by closed formulas: nothing is built. The bytes are exact within a factor of slack.
	Size() (bytes, transfers, slack float64)
	// SizeRemedy says how to make the work smaller, beside larger packets; "" if there is no way.
	SizeRemedy() string
	// Check holds the keys against each other. All of RankKeys are sound.
	Check(c *schema.Reader)
	// CheckCalls returns an error with the keys at fault if an algorithm does not serve a call, or the calls make too many
	// transfers.
	CheckCalls(ctx context.Context, e *Expander) (keys []string, err error)
	// Build returns the work on the nodes of e, with its calls as e expands them. At level "flow" all that a source sends
	// in one of the ranges of tasks merged goes at one rate.
	Build(ctx context.Context, e *Expander) (step *training.Iteration, merged [][2]int, err error)
}
