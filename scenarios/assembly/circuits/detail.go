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

// describeTrace gathers what figures and explanations need of a simulation of the complete DAG. circuits is nil for the
// ideal fabric.
func (sys *circuitSystem) describeTrace(ctx context.Context, policy string, t *engine.Trace, service flow.Service, circuits []int) result.Simulation {
	critical := t.CriticalPath(sys.graph)
	p := result.Simulation{
		Policy: policy, Service: service.String(), MakespanS: t.Makespan.Seconds(),
		Tracks: sys.tracks(ctx, t, critical), Path: sys.criticalPath(ctx, t, critical, circuits),
	}
	sys.addRateSeries(ctx, t, &p, circuits != nil)
	if circuits != nil {
		p.Topology = sys.topology(circuits)
	}
	return p
}

// isShown reports whether a replica is drawn: the first, and the first that differs from it.
func (sys *circuitSystem) isShown(replica int32) bool {
	return replica == 0 || sys.hasAllReplicas() && sys.scenario.hasUnequalReplicas() && int(replica) == sys.scenario.Replicas[0].Index
}

// hasAllReplicas reports whether all replicas of a training are there, and not one for all.
func (sys *circuitSystem) hasAllReplicas() bool { return sys.iteration != nil && sys.iteration.All }

// tracks is the execution trace by stage, in which the tasks of the critical path are marked.
func (sys *circuitSystem) tracks(ctx context.Context, t *engine.Trace, critical []int32) []result.Track {
	if sys.iteration == nil || sys.scenario.isTraffic() {
		return nil
	}
	pp := sys.iteration.Spec.PP
	index := map[int32]int{} // replica x PP + stage -> track
	var tracks []result.Track
	onPath := make([]bool, len(sys.graph.Tasks))
	for _, id := range critical {
		onPath[id] = true
	}
	for _, n := range sys.iteration.Nodes {
		k := int32(n.Replica*pp + n.Stage)
		if _, ok := index[k]; ok || !sys.isShown(int32(n.Replica)) {
			continue
		}
		index[k] = len(tracks)
		pod := sys.optical.Pods[sys.pods.Nodes[sys.nodeOfStage(n.Replica, n.Stage)].Pod]
		name := "stage " + strconv.Itoa(n.Stage+1)
		if sys.iteration.All {
			name += " r" + strconv.Itoa(n.Replica)
		}
		tracks = append(tracks, result.Track{Name: name, Group: pod.Name})
	}
	for i := range sys.iteration.Meta {
		if assembly.Cancelled(ctx, i) {
			return nil
		}
		m := &sys.iteration.Meta[i]
		id := int32(i)
		if m.InCall && (sys.graph.Tasks[i].Kind != engine.Transfer || sys.iteration.Nodes[sys.graph.Tasks[i].Src].First > 0) {
			continue // of calls those that the first GPU of a stage sends
		}
		if m.Phase == training.Barrier || m.GPU > 0 || m.ToPrevious || sys.graph.Tasks[i].Kind == engine.Transfer && !sys.isInterPod(id) {
			continue
		}
		trackIndex, ok := index[m.Replica*int32(pp)+m.Stage]
		if !ok {
			continue
		}
		label := strconv.Itoa(int(m.Microbatch) + 1)
		switch m.Phase {
		case training.Sync, training.CopyScatter, training.CopyGather:
			label = "DP"
		}
		track := &tracks[trackIndex]
		track.Spans = append(track.Spans, result.Span{
			Kind: m.Phase.String(), Label: label, StartS: t.Start[i].Seconds(), EndS: t.End[i].Seconds(),
			Bytes: sys.graph.Tasks[i].Bytes, Critical: onPath[i],
		})
	}
	for i := range tracks {
		slices.SortStableFunc(tracks[i].Spans, func(a, b result.Span) int { return cmp.Compare(a.StartS, b.StartS) })
	}
	return tracks
}

// nodeOfStage returns a node of the stage.
func (sys *circuitSystem) nodeOfStage(replica, stage int) int {
	return slices.IndexFunc(sys.iteration.Nodes, func(n training.Node) bool { return n.Replica == replica && n.Stage == stage })
}

// addRateSeries gathers rates over time: what leaves each pod, what each circuit bundle carries in each direction, and each
// stage's synchronisation.
func (sys *circuitSystem) addRateSeries(ctx context.Context, t *engine.Trace, p *result.Simulation, circuits bool) {
	demand := make([]rateSum, len(sys.optical.Pods))
	links := make([]rateSum, len(sys.optical.Network.Links))
	sync := map[[2]int32]*rateSum{}
	var syncKeys [][2]int32
	for i := range sys.graph.Tasks {
		if assembly.Cancelled(ctx, i) {
			return
		}
		id := int32(i)
		if !sys.isInterPod(id) {
			continue
		}
		k := &sys.graph.Tasks[i]
		link := sys.optical.Routes.Of(id)[0].Resource
		demand[sys.pods.Nodes[k.Src].Pod].add(t.Rates(id), sys.mirrorFactor(k))
		links[link].add(t.Rates(id), 1)
		if sys.iteration == nil || sys.scenario.isTraffic() {
			continue
		}
		m := &sys.iteration.Meta[i]
		if m.Phase != training.Sync || m.ToPrevious || !sys.isShown(m.Replica) {
			continue
		}
		key := [2]int32{link, m.Stage}
		if sync[key] == nil {
			sync[key] = &rateSum{}
			syncKeys = append(syncKeys, key)
		}
		sync[key].add(t.Rates(id), 1)
	}
	for i, pod := range sys.optical.Pods {
		if sys.isShown(int32(pod.Replica)) {
			p.Demand = append(p.Demand, demand[i].series(pod.Name, ""))
		}
	}
	if circuits {
		for i, l := range sys.optical.Network.Links {
			if sys.isShown(int32(sys.optical.Pods[l.From].Replica)) {
				p.Circuits = append(p.Circuits, links[i].series(sys.optical.Network.ResourceName(int32(i)), ""))
			}
		}
	}
	for _, key := range syncKeys {
		name := "stage " + strconv.Itoa(int(key[1])+1)
		p.Rates = append(p.Rates, sync[key].series(name, sys.optical.Network.ResourceName(key[0])))
	}
}

// mirrorFactor returns how many times a transfer counts: to peers of a replica that stands for all as much goes the other
// way round, over half of the circuits to each neighbour.
func (sys *circuitSystem) mirrorFactor(t *engine.Task) float64 {
	if t.Src != t.Dst {
		return 1
	}
	return float64(sys.pods.PeerEnds*sys.pods.PeerDirections) / 2
}

// rateSum adds up step functions of time.
type rateSum struct {
	steps []engine.RateStep // changes of the rate, unordered
}

func (s *rateSum) add(steps []engine.RateStep, factor float64) {
	previous := 0.0
	for _, r := range steps {
		s.steps = append(s.steps, engine.RateStep{At: r.At, Rate: (r.Rate - previous) * factor})
		previous = r.Rate
	}
}

// series returns the sum, to the bit per second.
func (s *rateSum) series(name, group string) result.Series {
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
func (sys *circuitSystem) topology(circuits []int) *result.Topology {
	t := &result.Topology{}
	for i, used := range sys.optical.Ports(circuits) {
		pod := sys.optical.Pods[i]
		t.Pods = append(t.Pods, result.PodPorts{Name: pod.Name, Replica: pod.Replica, Used: used, Total: pod.Ports})
	}
	for e, b := range sys.optical.Bundles {
		t.Pairs = append(t.Pairs, result.Pair{A: int(b.A), B: int(b.B), Circuits: circuits[e], DP: b.Peer, Copies: b.Ends})
	}
	return t
}

// criticalPath is the critical path: a step a transfer between pods, with the rigid work before it, and a last step of what
// work remains.
func (sys *circuitSystem) criticalPath(ctx context.Context, t *engine.Trace, critical []int32, circuits []int) []result.PathStep {
	var steps []result.PathStep
	previousEnd := engine.Time(0)
	for i, id := range critical {
		if assembly.Cancelled(ctx, i) {
			return nil
		}
		if !sys.isInterPod(id) {
			continue
		}
		start, end := t.Start[id], t.End[id]
		ideal, onCircuits := sys.transferDurations(id, circuits)
		duration := (end - start).Seconds()
		step := result.PathStep{
			Name: sys.graph.Name(id), Kind: sys.transferKind(id),
			StartS: start.Seconds(), EndS: end.Seconds(), LagS: (start - previousEnd).Seconds(), IdealS: min(ideal, duration),
		}
		if circuits != nil {
			step.Link = sys.optical.Network.ResourceName(sys.optical.Routes.Of(id)[0].Resource)
			step.CircuitS = max(0, min(onCircuits, duration)-step.IdealS)
		}
		step.SharingS = max(0, duration-step.IdealS-step.CircuitS)
		if step.SharingS < assembly.TickSeconds {
			step.SharingS = 0
		}
		steps = append(steps, step)
		previousEnd = end
	}
	if previousEnd < t.Makespan {
		steps = append(steps, result.PathStep{
			Name: "compute to the end", Kind: "compute", StartS: t.Makespan.Seconds(), EndS: t.Makespan.Seconds(), LagS: (t.Makespan - previousEnd).Seconds(),
		})
	}
	return steps
}

// transferKind says what a transfer is of.
func (sys *circuitSystem) transferKind(id int32) string {
	if sys.iteration == nil || sys.iteration.Meta[id].Phase == training.Barrier { // of traffic and traces
		return "message"
	}
	return sys.iteration.Meta[id].Phase.String()
}

// transferDurations returns, in seconds, how long a transfer takes at the full rate of its NICs, and when its circuits limit it
// as well.
func (sys *circuitSystem) transferDurations(id int32, circuits []int) (ideal, onCircuits float64) {
	o := sys.optical
	rate := math.Inf(1)
	uses := o.Routes.Of(id)
	for _, u := range uses[1:] {
		rate = min(rate, o.Network.Rate(u.Resource)/u.Weight)
	}
	bits := 8 * float64(sys.graph.Tasks[id].Bytes)
	ideal = bits / rate
	for e, n := range circuits {
		if b := &o.Bundles[e]; slices.Contains(b.Links, uses[0].Resource) {
			rate = min(rate, float64(n)*o.Rate(e))
		}
	}
	return ideal, bits / rate
}

// maxWindowTransfers is the number of transfers up to which their time windows are computed. A figure
// of more has less than a pixel per transfer.
const maxWindowTransfers = 5000

// addWindows adds to d when transfers can be under way before any topology is chosen. If there are
// more than maxWindows transfers, d states that they are omitted.
func (sys *circuitSystem) addWindows(ctx context.Context, d *result.Detail) error {
	if n := sys.problem.NumTransfers(); n > maxWindowTransfers {
		d.Omitted = append(d.Omitted, fmt.Sprintf("time windows of %d transfers; a figure has room for %d", n, maxWindowTransfers))
		return nil
	}
	w, err := sys.problem.Windows(ctx, topology.WindowOptions{Margin: topology.AnchorMargin})
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
		out.Task = append(out.Task, sys.interPodGraph.Name(id))
	}
	d.Windows = out
	return nil
}
