// This file expands the collective calls of traces into schedules of transfers, and
// bounds the number of their transfers.

package calls

import (
	"context"
	"errors"
	"slices"

	"sim/engine"
	"sim/policies/collective"
	"sim/workloads/trace"
	"sim/workloads/training"
)

// traceCallKey identifies the calls of a trace that have the same schedule.
type traceCallKey struct {
	kind     trace.Collective
	bytes    int64
	groupSet [2]int32 // see trace.GroupCall.GroupSet
}

// TraceOptions returns the options that build the graph of a traced job, within the
// limits of TaskCost. If calls are aggregated, each rank has one transfer per call
// (trace.Aggregate).
func (e *Expander) TraceOptions(ctx context.Context, aggregated bool) trace.BuildOptions {
	maxTasks := e.TaskCost.MaxCount()
	if aggregated {
		return trace.BuildOptions{
			NodeOf:   e.NodeOfRank,
			MaxTasks: maxTasks,
			Expand:   trace.ExpandNeighbours,
			Count:    func(c trace.GroupCall) (int, error) { return 2*len(c.Nodes) + 1, nil },
		}
	}

	expand := func(g *engine.Graph, c trace.GroupCall, ready []int32) ([]int32, error) {
		s, err := e.traceSchedule(ctx, c)
		if err != nil {
			return nil, err
		}
		return s.Append(g, collective.AppendOptions{Ready: ready}), nil
	}
	count := func(c trace.GroupCall) (int, error) {
		// A schedule that is certainly too large is not created. Calls of a trace belong to
		// no dimension of parallelism; Barrier stands for none.
		if n := minTransfers(e.Algorithms.ForDim(training.Barrier), c); n > maxTasks {
			return n, nil
		}
		s, err := e.traceSchedule(ctx, c)
		if err != nil {
			return 0, err
		}
		return len(s.Transfers) + len(c.Nodes), nil
	}
	return trace.BuildOptions{
		NodeOf:   e.NodeOfRank,
		MaxTasks: maxTasks,
		Expand:   expand,
		Count:    count,
	}
}

// minTransfers returns a lower bound on the number of transfers by which an algorithm
// performs a call. It covers algorithms that send every block to every rank, whose
// transfers are quadratic in the number of ranks. It is 0 for other algorithms and calls.
func minTransfers(algorithm string, c trace.GroupCall) int {
	sendsAllBlocks := []string{"ring", "bidirectional-ring", directAlgorithm}
	switch {
	case c.Kind == trace.Broadcast || c.Sizes != nil:
		return 0
	case c.Kind != trace.AllToAll && !slices.Contains(sendsAllBlocks, algorithm):
		return 0
	}

	n := int64(len(c.Nodes))
	count := (n - 1) * n
	if c.Kind != trace.AllToAll {
		count = (n - 1) * min(n, c.Bytes) // empty blocks are not sent
	} else if !slices.Contains([]string{"ring", directAlgorithm}, algorithm) {
		return 0 // other algorithms may combine the messages for several ranks
	}
	if c.Kind == trace.AllReduce {
		count *= 2 // a reduce-scatter and an all-gather
	}
	if c.Kind != trace.AllToAll && algorithm == "bidirectional-ring" && c.Bytes >= 2*n {
		count *= 2 // half of each block is sent in each direction
	}
	return int(count)
}

// traceSchedule returns the schedule of a call of a trace.
func (e *Expander) traceSchedule(
	ctx context.Context, c trace.GroupCall,
) (*collective.Schedule, error) {
	fill := func(call *collective.Call) error {
		n := int64(len(c.Nodes))
		call.Bytes, call.Group = c.Bytes, c.Nodes
		if c.Kind == trace.AllToAll {
			call.Bytes = (c.Bytes + n - 1) / n // each rank sends an equal part to each
		}
		// Sizes holds the bytes that each rank sends in total, in equal parts to all
		// others.
		for i, total := range c.Sizes {
			for k := range c.Nodes {
				bytes := (total + n - 1) / n
				if k == i {
					bytes = 0
				}
				call.Sizes = append(call.Sizes, bytes)
			}
		}
		return nil
	}
	key := traceCallKey{c.Kind, c.Bytes, c.GroupSet}
	isRepeated := c.Sizes == nil // the key does not contain sizes
	// Calls of a trace belong to no dimension of parallelism. Barrier stands for none.
	return e.cachedSchedule(ctx, key, isRepeated, c.Kind.String(), training.Barrier, fill)
}

// expand returns the schedule of a call by an algorithm. An all-to-all that the algorithm
// does not serve is expanded by directAlgorithm instead.
func expand(
	ctx context.Context, p *collective.Problem, algorithm string, o collective.Options,
) (*collective.Schedule, error) {
	row, err := collective.ByName(algorithm)
	if err != nil {
		return nil, err
	}
	s, err := row.Expand(ctx, p, o)
	if errors.Is(err, collective.ErrUnserved) && p.Kind == collective.AllToAll {
		if row, err = collective.ByName(directAlgorithm); err == nil {
			s, err = row.Expand(ctx, p, collective.Options{})
		}
	}
	return s, err
}

// directAlgorithm serves every all-to-all.
const directAlgorithm = "direct"
