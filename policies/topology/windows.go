package topology

import (
	"context"
	"fmt"
	"math"
	"slices"

	"sim/engine"
	"sim/engine/flow"
)

// Windows says when the transfers of a problem's graph can be under way before any topology is chosen: in time (DELTA,
// Alg. 4) and in indices of the intervals between starts and ends of transfers (Alg. 1). All slices are by transfer, in
// the order of Task; interval indices count from 1, as the paper's do.
type Windows struct {
	Task []int32 // transfers that use the network, by id

	// Alg. 4: no simulation whose makespan is at most the upper bound starts a transfer before Earliest or ends it
	// after Latest.
	Earliest, Latest []engine.Time

	// As simulated under the baseline topology, which is Baseline's; "" of given circuits.
	Baseline    string
	Start, End  []engine.Time
	Played      int   // intervals of that simulation
	First, Last []int // indices in which each transfer was active

	// Intervals is K, the number that indices may use. A transfer cannot be active outside TopoMin..TopoMax in any
	// simulation of at most K intervals (topological sorting alone); Alg. 1 retains Min..Max, which the anchors narrow
	// to what lies near the baseline.
	Intervals        int
	TopoMin, TopoMax []int
	Min, Max         []int
}

// WindowOptions says what windows are computed from. The zero value takes the best baseline, its makespan, its number
// of intervals and no margin.
type WindowOptions struct {
	// Circuits is the baseline topology, by bundle; nil is the best of prop-alloc, sqrt-alloc and iter-halve.
	Circuits []int
	// Upper is the upper bound on the iteration time (the paper's T_up); 0 is the baseline's makespan.
	Upper engine.Time
	// Intervals is K; 0 is the number of the baseline's intervals.
	Intervals int
	// Margin is by how many indices an anchor is widened at either end.
	Margin int
}

// AnchorMargin is the margin that serves where nothing else is known: a task may change places with a neighbour's start
// and end (Sec. IV-A.2, "a slight redundancy margin").
const AnchorMargin = 2

// Windows simulates the graph under a baseline topology, max-min fair, and returns what follows for each transfer. It
// fails where the baseline cannot be simulated.
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
	lit, err := p.Fabric.Provision(x)
	if err != nil {
		return nil, err
	}
	trace, err := flow.Run(ctx, p.Graph, lit, p.Fabric.Routes, flow.Options{Service: flow.MaxMin})
	if err != nil {
		return nil, fmt.Errorf("topology: %w", err)
	}
	if o.Upper == 0 {
		o.Upper = trace.Makespan
	}
	w := &Windows{Task: p.networkTransfers(), Baseline: baseline}
	w.Earliest, w.Latest = p.timeWindows(p.unlimitedSpans(), w.Task, o.Upper)
	w.recordIntervals(trace)
	w.Intervals = w.Played
	if o.Intervals > 0 {
		w.Intervals = o.Intervals
	}
	w.TopoMin, w.TopoMax = p.indexWindows(w.Task, w.Intervals, nil, nil)
	from, to := make([]int, len(w.Task)), make([]int, len(w.Task))
	for i := range w.Task {
		from[i], to[i] = w.First[i]-o.Margin, w.Last[i]+o.Margin
	}
	w.Min, w.Max = p.indexWindows(w.Task, w.Intervals, from, to)
	return w, nil
}

// bestBaseline returns the best of the allocators that see only the traffic matrix, without circuits that carry
// nothing, its name and its makespan.
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

// NumTransfers returns the number of transfers that use the network, with links inside pods.
func (p *Problem) NumTransfers() int { return len(p.networkTransfers()) }

// networkTransfers returns the ids of the transfers that use the network.
func (p *Problem) networkTransfers() (ids []int32) {
	for i := range p.Graph.Tasks {
		if t := &p.Graph.Tasks[i]; t.Kind == engine.Transfer && t.Bytes > 0 && len(p.Fabric.Routes.Of(int32(i))) > 0 {
			ids = append(ids, int32(i))
		}
	}
	return ids
}

// unlimitedSpans returns heads and tails with as many circuits everywhere as could be of use at all: what is left are the
// limits of the NICs, the paper's tau_m = V_m / (F_m B), and of the ports of a bundle alone.
func (p *Problem) unlimitedSpans() flow.Spans {
	w := p.acquire(context.Background(), flow.MaxMin)
	defer p.release(w)
	w.provision(p.Useful)
	return w.Spans()
}

// timeWindows is Alg. 4 (CalTaskTimeWindows) for the given tasks: the earliest start by forward propagation and the
// latest completion by backward propagation from the upper bound on the iteration time. Both are widened by a tick, for
// the rounding of simulated times.
func (p *Problem) timeWindows(s flow.Spans, tasks []int32, upper engine.Time) (earliest, latest []engine.Time) {
	earliest, latest = make([]engine.Time, len(tasks)), make([]engine.Time, len(tasks))
	for i, id := range tasks {
		earliest[i] = max(0, engine.Time(math.Floor(s.Head[id]))-1)
		latest[i] = min(upper, upper-engine.Time(math.Floor(s.Tail[id]))+1)
	}
	return earliest, latest
}

// recordIntervals numbers the intervals between starts and ends of transfers in a trace. Idle intervals count: the model has
// them too (Eq. 14). What lies before the first start and after the last end does not.
func (w *Windows) recordIntervals(t *engine.Trace) {
	for _, id := range w.Task {
		w.Start, w.End = append(w.Start, t.Start[id]), append(w.End, t.End[id])
	}
	times := intervalBorders(w.Start, w.End)
	w.Played = max(0, len(times)-1)
	for i := range w.Task {
		first, _ := slices.BinarySearch(times, w.Start[i])
		last, _ := slices.BinarySearch(times, w.End[i])
		w.First, w.Last = append(w.First, first+1), append(w.Last, max(last, first+1))
	}
}

// intervalBorders returns the times at which intervals between starts and ends meet.
func intervalBorders(start, end []engine.Time) []engine.Time {
	return slices.Compact(slices.Sorted(slices.Values(slices.Concat(start, end))))
}
