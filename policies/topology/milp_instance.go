package topology

import (
	"context"
	"fmt"
	"slices"

	"sim/engine"
	"sim/engine/flow"
	"sim/policies/milp"
)

// seconds converts a number of ticks to seconds.
func seconds(ticks float64) float64 { return ticks / float64(engine.Second) }

// milpInstance returns the problem in the form of package milp, for milpRun.build. The model
// divides the iteration into K time intervals. upper is an upper bound on the makespan of
// solutions, and intervals is K. Each transfer may be active only in a range of intervals; with
// narrow, this range is also restricted by the anchors of Alg. 1 of DELTA.
func (p *Problem) milpInstance(ctx context.Context, upper engine.Time, intervals int, narrow bool) (*milp.Instance, error) {
	// The pods, the bundles of circuits between them, and the NICs (groups).
	in := &milp.Instance{Upper: upper.Seconds(), Intervals: intervals}
	for _, pod := range p.Fabric.Pods {
		in.Pods = append(in.Pods, pod.Ports)
	}
	for e, b := range p.Fabric.Bundles {
		in.Bundles = append(in.Bundles, milp.Bundle{A: int(b.A), B: int(b.B), Ends: b.Ends,
			Rate: p.Fabric.Rate(e), MaxCircuits: p.Useful[e]})
	}
	for _, g := range p.Fabric.Network.Groups {
		in.Groups = append(in.Groups, g.Rate)
	}

	// The intervals in which each transfer may be active: by precedence alone, or by the anchors also.
	windows, err := p.Windows(ctx, WindowOptions{Upper: upper, Intervals: intervals, Margin: AnchorMargin})
	if err != nil {
		return nil, err
	}
	first, last := windows.TopoMin, windows.TopoMax
	if narrow {
		first, last = windows.Min, windows.Max
	}

	// The tasks. Head and Tail are the minimum times before the start and after the end of a task.
	// The resources of a route are links, numbered below firstGroup, and groups.
	bundleOf := p.bundleOfLink()
	spans := p.unlimitedSpans()
	firstGroup := p.Fabric.Network.GroupResource(0)
	for i := range p.Graph.Tasks {
		t := &p.Graph.Tasks[i]
		task := milp.Task{
			Name: p.Graph.Name(int32(i)), Duration: t.Duration.Seconds(),
			// One tick less, because simulated times are rounded.
			Head: max(0, seconds(spans.Head[i]-1)), Tail: max(0, seconds(spans.Tail[i]-1)),
		}
		if index := slices.Index(windows.Task, int32(i)); index >= 0 {
			task.Bits, task.Flows = 8*float64(t.Bytes), float64(max(1, t.Flows))
			task.FirstInterval, task.LastInterval = first[index], last[index]
			task.Rate = spans.Full[i]
			for _, u := range p.Fabric.Routes.Of(int32(i)) {
				if u.Resource < firstGroup {
					task.Link, task.Bundle = int(u.Resource), int(bundleOf[u.Resource])
					continue
				}
				task.Uses = append(task.Uses, milp.Use{Group: int(u.Resource - firstGroup), Weight: u.Weight})
			}
		}
		in.Tasks = append(in.Tasks, task)
	}

	// The dependencies between tasks.
	for i := range p.Graph.Tasks {
		for _, e := range p.Graph.Out(int32(i)) {
			in.Deps = append(in.Deps, milp.Dependency{From: i, To: int(e.To), Lag: e.Lag.Seconds()})
		}
	}

	return in, in.Check()
}

// milpSchedule simulates topology x and returns the simulation as a solution of the
// model, which can be the solver's start. Intervals are bounded by starts and ends of transfers.
// Rates that change within an interval are replaced by the volume sent in it. This satisfies all
// capacity constraints because they are linear.
func (p *Problem) milpSchedule(ctx context.Context, x []int, service flow.Service) (*milp.Schedule, error) {
	network, err := p.Fabric.Provision(x)
	if err != nil {
		return nil, err
	}
	trace, err := flow.Run(ctx, p.Graph, network, p.Fabric.Routes, flow.Options{Service: service, Rates: true})
	if err != nil {
		return nil, fmt.Errorf("topology: %w", err)
	}

	// Interval j lies between times[j] and times[j+1].
	s := &milp.Schedule{Circuits: slices.Clone(x), Makespan: trace.Makespan.Seconds()}
	windows := &Windows{Task: p.networkTransfers()}
	windows.recordIntervals(trace)
	times := intervalBorders(windows.Start, windows.End)
	for _, t := range times {
		s.Times = append(s.Times, t.Seconds())
	}

	// Record start and end of each task, and allocate its volumes in all intervals.
	s.Sent = make([][]float64, len(p.Graph.Tasks))
	for i := range p.Graph.Tasks {
		s.Start, s.End = append(s.Start, trace.Start[i].Seconds()), append(s.End, trace.End[i].Seconds())
		s.Sent[i] = make([]float64, max(0, len(times)-1))
	}

	// A transfer has the rate steps[k].Rate from steps[k].At to steps[k+1].At. Divide this among the
	// intervals that overlap with it.
	for _, id := range windows.Task {
		sum := 0.0
		steps := trace.Rates(id)
		for k := 0; k+1 < len(steps); k++ {
			first, _ := slices.BinarySearch(times, steps[k].At)
			for j := max(0, first-1); j+1 < len(times) && times[j] < steps[k+1].At; j++ {
				overlap := min(times[j+1], steps[k+1].At) - max(times[j], steps[k].At)
				if overlap > 0 {
					s.Sent[id][j] += overlap.Seconds() * steps[k].Rate
					sum += overlap.Seconds() * steps[k].Rate
				}
			}
		}
		if sum > 0 { // scale to the exact volume, because simulated times are rounded to ticks
			for j := range s.Sent[id] {
				s.Sent[id][j] *= 8 * float64(p.Graph.Tasks[id].Bytes) / sum
			}
		}
	}

	return s, nil
}
