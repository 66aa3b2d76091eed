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

// traceCallKey is what calls have in common that the same schedule serves.
type traceCallKey struct {
	kind     trace.Collective
	bytes    int64
	groupSet [2]int32
}

// TraceOptions returns what makes the graph of a traced job, within the limits of Task. A call is one transfer per rank if it
// is aggregated (trace.Aggregate).
func (e *Expander) TraceOptions(ctx context.Context, aggregated bool) trace.BuildOptions {
	if aggregated {
		return trace.BuildOptions{NodeOf: e.NodeOfRank, MaxTasks: e.TaskCost.MaxCount(), Expand: trace.ExpandNeighbours, Count: func(c trace.GroupCall) (int, error) { return 2*len(c.Nodes) + 1, nil }}
	}
	return trace.BuildOptions{
		NodeOf: e.NodeOfRank, MaxTasks: e.TaskCost.MaxCount(),
		Expand: func(g *engine.Graph, c trace.GroupCall, ready []int32) ([]int32, error) {
			s, err := e.traceSchedule(ctx, c)
			if err != nil {
				return nil, err
			}
			return s.Append(g, collective.AppendOptions{Ready: ready}), nil
		},
		Count: func(c trace.GroupCall) (int, error) {
			if n := minTransfers(e.Algorithms.ForDim(training.Barrier), c); n > e.TaskCost.MaxCount() {
				return n, nil // without making a schedule that is too large
			}
			s, err := e.traceSchedule(ctx, c)
			if err != nil {
				return 0, err
			}
			return len(s.Transfers) + len(c.Nodes), nil
		},
	}
}

// minTransfers returns a lower bound on the transfers that an algorithm makes of a call: of those in which every block
// goes to every rank, which are quadratic in ranks. It is 0 for others.
func minTransfers(algorithm string, c trace.GroupCall) int {
	switch {
	case c.Kind == trace.Broadcast || c.Sizes != nil:
		return 0
	case c.Kind != trace.AllToAll && !slices.Contains([]string{"ring", "bidirectional-ring", directAlgorithm}, algorithm):
		return 0
	}
	n := int64(len(c.Nodes))
	count := (n - 1) * n
	if c.Kind != trace.AllToAll {
		count = (n - 1) * min(n, c.Bytes) // blocks that are not empty
	} else if !slices.Contains([]string{"ring", directAlgorithm}, algorithm) {
		return 0 // some algorithms combine what goes to several ranks
	}
	if c.Kind == trace.AllReduce {
		count *= 2
	}
	if c.Kind != trace.AllToAll && algorithm == "bidirectional-ring" && c.Bytes >= 2*n {
		count *= 2 // half of each block goes each way
	}
	return int(count)
}

// traceSchedule returns what a call of a trace is expanded to.
func (e *Expander) traceSchedule(ctx context.Context, c trace.GroupCall) (*collective.Schedule, error) {
	return e.cachedSchedule(ctx, traceCallKey{c.Kind, c.Bytes, c.GroupSet}, c.Sizes == nil, c.Kind.String(), training.Barrier, func(call *collective.Call) error {
		n := int64(len(c.Nodes))
		if call.Bytes, call.Group = c.Bytes, c.Nodes; c.Kind == trace.AllToAll { // each sends each an equal part
			call.Bytes = (c.Bytes + n - 1) / n
		}
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
	})
}

// expand has an algorithm expand a call, and all-to-alls that it does not serve go straight to where they are wanted.
func expand(ctx context.Context, p *collective.Problem, algorithm string, o collective.Options) (*collective.Schedule, error) {
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

// directAlgorithm expands all-to-alls that another algorithm does not.
const directAlgorithm = "direct"
