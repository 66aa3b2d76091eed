package circuits

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"

	"sim/engine"
	"sim/engine/flow"
	"sim/policies/topology"
	"sim/scenarios/assembly"
	"sim/scenarios/result"
	"sim/workloads/training"
)

// describe gathers what figures and explanations need of a simulation of the complete DAG. circuits is nil for the
// ideal fabric.
func (in *instance) describe(ctx context.Context, policy string, t *engine.Trace, service flow.Service, circuits []int) result.Simulation {
	critical := t.CriticalPath(in.graph)
	p := result.Simulation{
		Policy: policy, Service: service.String(), MakespanS: t.Makespan.Seconds(),
		Tracks: in.tracks(ctx, t, critical), Path: in.path(ctx, t, critical, circuits),
	}
	in.series(ctx, t, &p, circuits != nil)
	if circuits != nil {
		p.Topology = in.topology(circuits)
	}
	return p
}

// shown reports whether a replica is drawn: the first, and the first that differs from it.
func (in *instance) shown(replica int32) bool {
	return replica == 0 || in.all() && in.s.unlike() && int(replica) == in.s.Replicas[0].Index
}

// all reports whether all replicas of a training are there, and not one for all.
func (in *instance) all() bool { return in.it != nil && in.it.All }

// tracks is the execution trace by stage, in which the tasks of the critical path are marked.
func (in *instance) tracks(ctx context.Context, t *engine.Trace, critical []int32) []result.Track {
	if in.it == nil || in.s.traffic() {
		return nil
	}
	pp := in.it.Spec.PP
	index := map[int32]int{} // replica x PP + stage -> track
	var tracks []result.Track
	onPath := make([]bool, len(in.graph.Tasks))
	for _, id := range critical {
		onPath[id] = true
	}
	for _, n := range in.it.Nodes {
		k := int32(n.Replica*pp + n.Stage)
		if _, ok := index[k]; ok || !in.shown(int32(n.Replica)) {
			continue
		}
		index[k] = len(tracks)
		pod := in.optical.Pods[in.pods.Nodes[in.node(n.Replica, n.Stage)].Pod]
		name := "stage " + strconv.Itoa(n.Stage+1)
		if in.it.All {
			name += " r" + strconv.Itoa(n.Replica)
		}
		tracks = append(tracks, result.Track{Name: name, Group: pod.Name})
	}
	for i := range in.it.Meta {
		if assembly.Cancelled(ctx, i) {
			return nil
		}
		m := &in.it.Meta[i]
		id := int32(i)
		if m.InCall && (in.graph.Tasks[i].Kind != engine.Transfer || in.it.Nodes[in.graph.Tasks[i].Src].First > 0) {
			continue // of calls those that the first GPU of a stage sends
		}
		if m.Phase == training.Barrier || m.GPU > 0 || m.ToPrevious || in.graph.Tasks[i].Kind == engine.Transfer && !in.crosses(id) {
			continue
		}
		track, ok := index[m.Replica*int32(pp)+m.Stage]
		if !ok {
			continue
		}
		label := strconv.Itoa(int(m.Microbatch) + 1)
		switch m.Phase {
		case training.Sync, training.CopyScatter, training.CopyGather:
			label = "DP"
		}
		l := &tracks[track]
		l.Spans = append(l.Spans, result.Span{
			Kind: m.Phase.String(), Label: label, StartS: t.Start[i].Seconds(), EndS: t.End[i].Seconds(),
			Bytes: in.graph.Tasks[i].Bytes, Critical: onPath[i],
		})
	}
	for i := range tracks {
		slices.SortStableFunc(tracks[i].Spans, func(a, b result.Span) int { return cmp.Compare(a.StartS, b.StartS) })
	}
	return tracks
}

// node returns a node of the stage.
func (in *instance) node(replica, stage int) int {
	return slices.IndexFunc(in.it.Nodes, func(n training.Node) bool { return n.Replica == replica && n.Stage == stage })
}

// series gathers rates over time: what leaves each pod, what each circuit bundle carries in each direction, and each
// stage's synchronisation.
func (in *instance) series(ctx context.Context, t *engine.Trace, p *result.Simulation, circuits bool) {
	demand := make([]sum, len(in.optical.Pods))
	links := make([]sum, len(in.optical.Network.Links))
	sync := map[[2]int32]*sum{}
	var order [][2]int32
	for i := range in.graph.Tasks {
		if assembly.Cancelled(ctx, i) {
			return
		}
		id := int32(i)
		if !in.crosses(id) {
			continue
		}
		k := &in.graph.Tasks[i]
		link := in.optical.Routes.Of(id)[0].Resource
		demand[in.pods.Nodes[k.Src].Pod].add(t.Rates(id), in.mirrored(k))
		links[link].add(t.Rates(id), 1)
		if in.it == nil || in.s.traffic() {
			continue
		}
		m := &in.it.Meta[i]
		if m.Phase != training.Sync || m.ToPrevious || !in.shown(m.Replica) {
			continue
		}
		at := [2]int32{link, m.Stage}
		if sync[at] == nil {
			sync[at] = &sum{}
			order = append(order, at)
		}
		sync[at].add(t.Rates(id), 1)
	}
	for i, pod := range in.optical.Pods {
		if in.shown(int32(pod.Replica)) {
			p.Demand = append(p.Demand, demand[i].series(pod.Name, ""))
		}
	}
	if circuits {
		for i, l := range in.optical.Network.Links {
			if in.shown(int32(in.optical.Pods[l.From].Replica)) {
				p.Circuits = append(p.Circuits, links[i].series(in.optical.Network.ResourceName(int32(i)), ""))
			}
		}
	}
	for _, at := range order {
		name := "stage " + strconv.Itoa(int(at[1])+1)
		p.Rates = append(p.Rates, sync[at].series(name, in.optical.Network.ResourceName(at[0])))
	}
}

// mirrored returns how many times a transfer counts: to peers of a replica that stands for all as much goes the other
// way round, over half of the circuits to each neighbour.
func (in *instance) mirrored(t *engine.Task) float64 {
	if t.Src != t.Dst {
		return 1
	}
	return float64(in.pods.PeerEnds*in.pods.PeerDirections) / 2
}

// sum adds up step functions of time.
type sum struct {
	steps []engine.RateStep // changes of the rate, unordered
}

func (s *sum) add(steps []engine.RateStep, times float64) {
	before := 0.0
	for _, r := range steps {
		s.steps = append(s.steps, engine.RateStep{At: r.At, Rate: (r.Rate - before) * times})
		before = r.Rate
	}
}

// series returns the sum, to the bit per second.
func (s *sum) series(name, group string) result.Series {
	slices.SortStableFunc(s.steps, func(a, b engine.RateStep) int { return cmp.Compare(a.At, b.At) })
	out := result.Series{Name: name, Group: group}
	rate := 0.0
	for i, r := range s.steps {
		rate += r.Rate
		if i+1 < len(s.steps) && s.steps[i+1].At == r.At {
			continue
		}
		v := math.Round(rate)
		if n := len(out.Value); n > 0 && out.Value[n-1] == v || n == 0 && v == 0 {
			continue
		}
		out.TimeS = append(out.TimeS, r.At.Seconds())
		out.Value = append(out.Value, v+0) // +0: no negative zero
	}
	return out
}

// topology is the logical topology for figures.
func (in *instance) topology(circuits []int) *result.Topology {
	t := &result.Topology{}
	for i, used := range in.optical.Ports(circuits) {
		pod := in.optical.Pods[i]
		t.Pods = append(t.Pods, result.PodPorts{Name: pod.Name, Replica: pod.Replica, Used: used, Total: pod.Ports})
	}
	for e, b := range in.optical.Bundles {
		t.Pairs = append(t.Pairs, result.Pair{A: int(b.A), B: int(b.B), Circuits: circuits[e], DP: b.Peer, Copies: b.Ends})
	}
	return t
}

// path is the critical path: a step a transfer between pods, with the rigid work before it, and a last step of what
// work remains.
func (in *instance) path(ctx context.Context, t *engine.Trace, critical []int32, circuits []int) []result.PathStep {
	var steps []result.PathStep
	before := engine.Time(0)
	for i, id := range critical {
		if assembly.Cancelled(ctx, i) {
			return nil
		}
		if !in.crosses(id) {
			continue
		}
		start, end := t.Start[id], t.End[id]
		ideal, onCircuits := in.durations(id, circuits)
		took := (end - start).Seconds()
		s := result.PathStep{
			Name: in.graph.Name(id), Kind: in.kind(id),
			StartS: start.Seconds(), EndS: end.Seconds(), LagS: (start - before).Seconds(), IdealS: min(ideal, took),
		}
		if circuits != nil {
			s.Link = in.optical.Network.ResourceName(in.optical.Routes.Of(id)[0].Resource)
			s.CircuitS = max(0, min(onCircuits, took)-s.IdealS)
		}
		s.SharingS = max(0, took-s.IdealS-s.CircuitS)
		if s.SharingS < assembly.TickSeconds {
			s.SharingS = 0
		}
		steps = append(steps, s)
		before = end
	}
	if before < t.Makespan {
		steps = append(steps, result.PathStep{
			Name: "compute to the end", Kind: "compute", StartS: t.Makespan.Seconds(), EndS: t.Makespan.Seconds(), LagS: (t.Makespan - before).Seconds(),
		})
	}
	return steps
}

// kind says what a transfer is of.
func (in *instance) kind(id int32) string {
	if in.it == nil || in.it.Meta[id].Phase == training.Barrier { // of traffic and traces
		return "message"
	}
	return in.it.Meta[id].Phase.String()
}

// durations returns, in seconds, how long a transfer takes at the full rate of its NICs, and when its circuits limit it
// as well.
func (in *instance) durations(id int32, circuits []int) (ideal, onCircuits float64) {
	o := in.optical
	rate := math.Inf(1)
	uses := o.Routes.Of(id)
	for _, u := range uses[1:] {
		rate = min(rate, o.Network.Rate(u.Resource)/u.Weight)
	}
	bits := 8 * float64(in.graph.Tasks[id].Bytes)
	ideal = bits / rate
	for e, n := range circuits {
		if b := &o.Bundles[e]; slices.Contains(b.Links, uses[0].Resource) {
			rate = min(rate, float64(n)*o.Rate(e))
		}
	}
	return ideal, bits / rate
}

// maxWindows is the number of transfers up to which their time windows are computed. A figure
// of more has less than a pixel per transfer.
const maxWindows = 5000

// addWindows adds to d when transfers can be under way before any topology is chosen. If there are
// more than maxWindows transfers, d states that they are omitted.
func (in *instance) addWindows(ctx context.Context, d *result.Detail) error {
	if n := in.problem.NumTransfers(); n > maxWindows {
		d.Omitted = append(d.Omitted, fmt.Sprintf("time windows of %d transfers; a figure has room for %d", n, maxWindows))
		return nil
	}
	w, err := in.problem.Windows(ctx, topology.WindowOptions{Margin: topology.AnchorMargin})
	if err != nil {
		return err
	}
	seconds := func(ts []engine.Time) []float64 {
		s := make([]float64, len(ts))
		for i, t := range ts {
			s[i] = t.Seconds()
		}
		return s
	}
	out := result.Windows{
		Baseline: w.Baseline, EarliestS: seconds(w.Earliest), LatestS: seconds(w.Latest), StartS: seconds(w.Start), EndS: seconds(w.End),
		Intervals: w.Intervals, FirstK: w.First, LastK: w.Last, TopoMin: w.TopoMin, TopoMax: w.TopoMax, MinK: w.Min, MaxK: w.Max,
	}
	for _, id := range w.Task {
		out.Task = append(out.Task, in.reduced.Name(id))
	}
	d.Windows = out
	return nil
}
