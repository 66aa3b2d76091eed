package topology

import (
	"context"
	"fmt"
	"math"
	"slices"

	"sim/engine"
	"sim/engine/flow"
)

// Windows holds the times and interval indices at which transfers can be active, before a
// topology is chosen. Times follow Alg. 4 of DELTA, and indices of the intervals between
// starts and ends of transfers follow Alg. 1. All slices are indexed as Task. Interval
// indices start at 1, as in the paper.
type Windows struct {
	Task []int32 // ids of the transfers that use the network

	// Alg. 4: a simulation whose makespan is at most the upper bound starts no transfer
	// before Earliest and ends none after Latest.
	Earliest, Latest []engine.Time

	// Baseline is the allocator whose topology is the baseline; "" if the caller gave the
	// circuits. The following fields describe the simulation of the baseline.
	Baseline          string
	Start, End        []engine.Time
	BaselineIntervals int   // number of intervals
	First, Last       []int // indices in which each transfer is active

	// Intervals is K, the number of intervals of the model. In any simulation with at
	// most K intervals, a transfer is active only within TopoMin..TopoMax, which follow
	// from precedence alone. Min..Max are the result of Alg. 1, whose anchors restrict
	// indices to those near the baseline.
	Intervals        int
	TopoMin, TopoMax []int
	Min, Max         []int
}

// WindowOptions holds the parameters of Windows. The zero value means the best baseline,
// its makespan, its number of intervals and no margin.
type WindowOptions struct {
	// Circuits is the baseline topology, indexed by bundle; nil means the best of
	// prop-alloc, sqrt-alloc and iter-halve.
	Circuits []int
	// Upper is the upper bound on the iteration time (T_up in the paper); 0 means the
	// makespan of the baseline.
	Upper engine.Time
	// Intervals is K; 0 means the number of intervals of the baseline.
	Intervals int
	// Margin is the number of indices by which an anchor is widened at either end.
	Margin int
}

// AnchorMargin is the default margin: a task may swap its position with the start and the
// end of one neighbour (Sec. IV-A.2, "a slight redundancy margin").
const AnchorMargin = 2

// Windows simulates the graph on the baseline topology under max-min sharing and returns
// the windows of its transfers. It fails if the baseline cannot be simulated to its end.
func (p *Problem) Windows(ctx context.Context, o WindowOptions) (*Windows, error) {
	x, baseline := o.Circuits, ""
	if x == nil {
		baseline, x, _ = p.bestBaseline(ctx, flow.MaxMin)
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if x == nil {
		return nil, fmt.Errorf("topology: no baseline can be simulated to its end")
	}
	network, err := p.Fabric.Provision(x)
	if err != nil {
		return nil, err
	}
	trace, err := flow.Run(ctx, p.Graph, network, p.Fabric.Routes, flow.Options{Service: flow.MaxMin})
	if err != nil {
		return nil, fmt.Errorf("topology: %w", err)
	}
	if o.Upper == 0 {
		o.Upper = trace.Makespan
	}
	w := &Windows{Task: p.networkTransfers(), Baseline: baseline}
	w.Earliest, w.Latest = p.timeWindows(p.unlimitedSpans(), w.Task, o.Upper)
	w.recordIntervals(trace)
	w.Intervals = w.BaselineIntervals
	if o.Intervals > 0 {
		w.Intervals = o.Intervals
	}
	var noAnchors []int
	w.TopoMin, w.TopoMax = p.indexWindows(w.Task, w.Intervals, noAnchors, noAnchors)
	from, to := make([]int, len(w.Task)), make([]int, len(w.Task))
	for i := range w.Task {
		from[i], to[i] = w.First[i]-o.Margin, w.Last[i]+o.Margin
	}
	w.Min, w.Max = p.indexWindows(w.Task, w.Intervals, from, to)
	return w, nil
}

// bestBaseline returns the name, the topology and the makespan of the best baseline,
// without useless circuits.
func (p *Problem) bestBaseline(ctx context.Context, s flow.Service) (name string, best []int, lowest engine.Time) {
	w := p.acquire(ctx, s)
	defer p.release(w)
	lowest = never
	for _, info := range Table {
		b, ok := info.Policy.(baselineAllocator)
		if !ok {
			continue
		}
		x := b.rule(p)
		p.clipToUseful(x)
		if c, ok := w.simulate(x, lowest); ok {
			name, best, lowest = info.Name, x, c
		}
	}

	return name, best, lowest
}

// NumTransfers returns the number of transfers that use the network, including links
// inside pods.
func (p *Problem) NumTransfers() int { return len(p.networkTransfers()) }

// networkTransfers returns the ids of the transfers that use the network.
func (p *Problem) networkTransfers() (ids []int32) {
	for i := range p.Graph.Tasks {
		if t := &p.Graph.Tasks[i]; t.Kind == engine.Transfer && t.Bytes > 0 &&
			len(p.Fabric.Routes.Of(int32(i))) > 0 {
			ids = append(ids, int32(i))
		}
	}
	return ids
}

// unlimitedSpans returns heads and tails of all tasks if every bundle has its useful
// circuits. Durations are then limited by the NICs (tau_m = V_m / (F_m B) in the paper)
// and by the ports that a bundle can use alone.
func (p *Problem) unlimitedSpans() flow.Spans {
	w := p.acquire(context.Background(), flow.MaxMin)
	defer p.release(w)
	w.provision(p.Useful)
	return w.Spans()
}

// timeWindows is Alg. 4 (CalTaskTimeWindows) for the given tasks. The earliest start
// follows by forward propagation, the latest end by backward propagation from the upper
// bound. Both are widened by a tick because simulated times are rounded.
func (p *Problem) timeWindows(s flow.Spans, tasks []int32, upper engine.Time) (earliest, latest []engine.Time) {
	earliest, latest = make([]engine.Time, len(tasks)), make([]engine.Time, len(tasks))
	for i, id := range tasks {
		earliest[i] = max(0, engine.Time(math.Floor(s.Head[id]))-1)
		latest[i] = min(upper, upper-engine.Time(math.Floor(s.Tail[id]))+1)
	}
	return earliest, latest
}

// recordIntervals numbers the intervals between starts and ends of transfers in a trace.
// Idle intervals between transfers count, as in the model (Eq. 14). The times before the
// first start and after the last end do not.
func (w *Windows) recordIntervals(t *engine.Trace) {
	for _, id := range w.Task {
		w.Start, w.End = append(w.Start, t.Start[id]), append(w.End, t.End[id])
	}
	times := intervalBorders(w.Start, w.End)
	w.BaselineIntervals = max(0, len(times)-1)
	for i := range w.Task {
		first, _ := slices.BinarySearch(times, w.Start[i])
		last, _ := slices.BinarySearch(times, w.End[i])
		w.First, w.Last = append(w.First, first+1), append(w.Last, max(last, first+1))
	}
}

// intervalBorders returns the sorted times at which intervals begin or end.
func intervalBorders(start, end []engine.Time) []engine.Time {
	return slices.Compact(slices.Sorted(slices.Values(slices.Concat(start, end))))
}
