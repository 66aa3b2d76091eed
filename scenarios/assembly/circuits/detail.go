// This file derives the data of figures and explanations from a trace of the complete
// DAG: the execution trace of each stage, rates over time, the topology, the critical
// path, and the time windows of transfers.

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

// describeTrace returns the data of figures and explanations for a trace of the complete
// DAG. The slice circuits holds the topology; nil means the ideal fabric.
func (sys *circuitSystem) describeTrace(
	ctx context.Context, policy string, t *engine.Trace, service flow.Service, circuits []int,
) result.Simulation {
	// Tracks and the path mark the same critical tasks.
	critical := t.CriticalPath(sys.graph)

	p := result.Simulation{
		Policy:    policy,
		Service:   service.String(),
		MakespanS: t.Makespan.Seconds(),
		Tracks:    sys.tracks(ctx, t, critical),
		Path:      sys.criticalPath(ctx, t, critical, circuits),
	}
	sys.addRateSeries(ctx, t, &p, circuits != nil)
	if circuits != nil {
		p.Topology = sys.topology(circuits)
	}
	return p
}

// isShown reports whether figures show a replica. They show replica 0 and the first
// replica that differs from it.
func (sys *circuitSystem) isShown(replica int32) bool {
	if replica == 0 {
		return true
	}
	s := sys.scenario
	return sys.hasAllReplicas() && s.hasUnequalReplicas() && int(replica) == s.Replicas[0].Index
}

// hasAllReplicas reports whether the graph contains all replicas of a training step,
// rather than one that stands for all.
func (sys *circuitSystem) hasAllReplicas() bool {
	return sys.iteration != nil && sys.iteration.All
}

// tracks returns the execution trace of each shown stage. The tasks of the critical path
// are marked.
func (sys *circuitSystem) tracks(
	ctx context.Context, t *engine.Trace, critical []int32,
) []result.Track {
	it := sys.iteration
	if it == nil || sys.scenario.isTraffic() {
		return nil
	}
	// Critical tasks are looked up by id below.
	onPath := make([]bool, len(sys.graph.Tasks))
	for _, id := range critical {
		onPath[id] = true
	}

	// One track per stage and shown replica. The key of index is replica x PP + stage. A
	// stage may have several nodes. The first one determines the pod of the track.
	pp := it.Spec.PP
	index := map[int32]int{}
	var tracks []result.Track
	for _, n := range it.Nodes {
		k := int32(n.Replica*pp + n.Stage)
		if _, ok := index[k]; ok || !sys.isShown(int32(n.Replica)) {
			continue
		}
		index[k] = len(tracks)
		pod := sys.optical.Pods[sys.pods.Nodes[sys.nodeOfStage(n.Replica, n.Stage)].Pod]
		name := "stage " + strconv.Itoa(n.Stage+1)
		if it.All {
			name += " r" + strconv.Itoa(n.Replica)
		}
		tracks = append(tracks, result.Track{Name: name, Group: pod.Name})
	}

	for i := range it.Meta {
		if assembly.Cancelled(ctx, i) {
			return nil
		}
		m := &it.Meta[i]
		trackIndex, ok := index[m.Replica*int32(pp)+m.Stage]
		if !ok || !sys.isSpan(int32(i)) {
			continue
		}
		// Passes are labelled with their micro-batch, counted from 1.
		label := strconv.Itoa(int(m.Microbatch) + 1)
		switch m.Phase {
		case training.Sync, training.StageCopyScatter, training.StageCopyGather:
			label = "DP"
		}
		track := &tracks[trackIndex]
		track.Spans = append(track.Spans, result.Span{
			Kind:     m.Phase.String(),
			Label:    label,
			StartS:   t.Start[i].Seconds(),
			EndS:     t.End[i].Seconds(),
			Bytes:    sys.graph.Tasks[i].Bytes,
			Critical: onPath[i],
		})
	}
	for i := range tracks {
		slices.SortStableFunc(tracks[i].Spans, func(a, b result.Span) int {
			return cmp.Compare(a.StartS, b.StartS)
		})
	}
	return tracks
}

// isSpan reports whether task id of a training step is shown on the track of its stage. A
// track shows the tasks of the first GPU of the stage. Of collective calls it shows the
// transfers that this GPU sends to other pods.
func (sys *circuitSystem) isSpan(id int32) bool {
	m, task := &sys.iteration.Meta[id], &sys.graph.Tasks[id]
	isTransfer := task.Kind == engine.Transfer
	// In calls, other nodes of the stage and tasks without transfers are not shown. A node
	// holds the GPUs of the stage from index First on.
	if m.InCall && (!isTransfer || sys.iteration.Nodes[task.Src].First > 0) {
		return false
	}
	if isTransfer && !sys.isInterPod(id) {
		return false
	}
	isOfFirstGPU := m.GPU <= 0 // -1 means all GPUs of the stage in one task
	return m.Phase != training.Barrier && isOfFirstGPU && !m.ToPrevious
}

// nodeOfStage returns the first node of a stage.
func (sys *circuitSystem) nodeOfStage(replica, stage int) int {
	return slices.IndexFunc(sys.iteration.Nodes, func(n training.Node) bool {
		return n.Replica == replica && n.Stage == stage
	})
}

// addRateSeries adds rates over time to p: the traffic that leaves each pod, the load of
// each circuit bundle per direction if circuits is true, and the synchronisation of each
// stage.
func (sys *circuitSystem) addRateSeries(
	ctx context.Context, t *engine.Trace, p *result.Simulation, circuits bool,
) {
	demand := make([]rateSum, len(sys.optical.Pods))
	links := make([]rateSum, len(sys.optical.Network.Links))
	// Synchronisation by link and stage, in the order of syncKeys.
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
		// Each transfer adds to the demand of its source pod and to the load of its
		// bundle.
		demand[sys.pods.Nodes[k.Src].Pod].add(t.Rates(id), sys.mirrorFactor(k))
		links[link].add(t.Rates(id), 1)
		if sys.iteration == nil || sys.scenario.isTraffic() {
			continue
		}

		m := &sys.iteration.Meta[i]
		if m.Phase != training.Sync || m.ToPrevious || !sys.isShown(m.Replica) {
			continue
		}
		// Synchronisation also has a series per link and stage.
		key := [2]int32{link, m.Stage}
		if sync[key] == nil {
			sync[key] = &rateSum{}
			syncKeys = append(syncKeys, key)
		}
		sync[key].add(t.Rates(id), 1)
	}

	const noGroup = "" // figures group only series of synchronisations
	for i, pod := range sys.optical.Pods {
		if sys.isShown(int32(pod.Replica)) {
			p.Demand = append(p.Demand, demand[i].series(pod.Name, noGroup))
		}
	}
	// Figures show only the pods and bundles of shown replicas.
	linkName := sys.optical.Network.ResourceName
	if circuits {
		for i, l := range sys.optical.Network.Links {
			if sys.isShown(int32(sys.optical.Pods[l.From].Replica)) {
				p.Circuits = append(p.Circuits, links[i].series(linkName(int32(i)), noGroup))
			}
		}
	}
	for _, key := range syncKeys {
		name := "stage " + strconv.Itoa(int(key[1])+1)
		p.Rates = append(p.Rates, sync[key].series(name, linkName(key[0])))
	}
}

// mirrorFactor returns the factor by which the bytes of a transfer count, 1 for most
// transfers. If one replica stands for all, a transfer to its DP peers has Src == Dst. It
// represents one transfer per direction in which the ring of replicas is used. With two
// replicas the factor is 1, because both directions lead to the same replica: PeerEnds,
// the number of neighbouring replicas, is then 1 instead of 2.
func (sys *circuitSystem) mirrorFactor(t *engine.Task) float64 {
	if t.Src != t.Dst {
		return 1
	}
	return float64(sys.pods.PeerEnds*sys.pods.PeerDirections) / 2
}

// rateSum is the sum of step functions of time.
type rateSum struct {
	steps []engine.RateStep // changes of the sum, in any order
}

// add adds a step function times a factor.
func (s *rateSum) add(steps []engine.RateStep, factor float64) {
	previous := 0.0
	for _, r := range steps {
		change := (r.Rate - previous) * factor
		s.steps = append(s.steps, engine.RateStep{At: r.At, Rate: change})
		previous = r.Rate
	}
}

// series returns the sum, rounded to bits per second.
func (s *rateSum) series(name, group string) result.Series {
	slices.SortStableFunc(s.steps, func(a, b engine.RateStep) int { return cmp.Compare(a.At, b.At) })
	out := result.Series{Name: name, Group: group}
	rate := 0.0
	for i, r := range s.steps {
		rate += r.Rate
		// All changes at one time form one step.
		if i+1 < len(s.steps) && s.steps[i+1].At == r.At {
			continue
		}
		// Rounding removes the residue of sums of float64. Steps that change nothing are
		// skipped.
		v := math.Round(rate)
		if n := len(out.Value); n > 0 && out.Value[n-1] == v || n == 0 && v == 0 {
			continue
		}
		out.TimeS = append(out.TimeS, r.At.Seconds())
		out.Value = append(out.Value, v+0) // +0 turns -0 into 0
	}
	return out
}

// topology returns the topology for figures.
func (sys *circuitSystem) topology(circuits []int) *result.Topology {
	t := &result.Topology{}
	for i, used := range sys.optical.Ports(circuits) {
		pod := sys.optical.Pods[i]
		t.Pods = append(t.Pods, result.PodPorts{
			Name:    pod.Name,
			Replica: pod.Replica,
			Used:    used,
			Total:   pod.Ports,
		})
	}
	for e, b := range sys.optical.Bundles {
		t.Pairs = append(t.Pairs, result.Pair{
			A:        int(b.A),
			B:        int(b.B),
			Circuits: circuits[e],
			DP:       b.Peer,
			Copies:   b.Ends,
		})
	}
	return t
}

// isPathStep reports whether a critical path has a step for task id: a transfer between pods, and
// in a cluster of hosts any transfer.
func (sys *circuitSystem) isPathStep(id int32) bool {
	return sys.isInterPod(id) ||
		sys.scenario.Fabric.HostGPUs > 0 && sys.graph.Tasks[id].Kind == engine.Transfer
}

// criticalPath returns the critical path with one step per transfer; see isPathStep. LagS of a
// step is the time of compute and other fixed delays before its transfer. A last step
// holds the compute after the last transfer.
//
// The duration of a transfer is divided into three parts: IdealS at the full rate of its
// network interfaces, CircuitS because its circuits are slower, and SharingS because it
// shares them.
func (sys *circuitSystem) criticalPath(
	ctx context.Context, t *engine.Trace, critical []int32, circuits []int,
) []result.PathStep {
	var steps []result.PathStep
	previousEnd := engine.Time(0)
	for i, id := range critical {
		if assembly.Cancelled(ctx, i) {
			return nil
		}
		if !sys.isPathStep(id) {
			continue
		}

		// The time since the previous transfer of the path is compute or other fixed
		// delay.
		start, end := t.Start[id], t.End[id]
		ideal, onCircuits := sys.transferDurations(id, circuits)
		duration := (end - start).Seconds()
		step := result.PathStep{
			Name:   sys.graph.Name(id),
			Kind:   sys.transferKind(id),
			StartS: start.Seconds(),
			EndS:   end.Seconds(),
			LagS:   (start - previousEnd).Seconds(),
			IdealS: min(ideal, duration),
		}
		// On circuits, the time beyond the ideal time is due first to the rate of the
		// circuits.
		if circuits != nil {
			link := sys.optical.Routes.Of(id)[0].Resource
			step.Link = sys.optical.Network.ResourceName(link)
			step.CircuitS = max(0, min(onCircuits, duration)-step.IdealS)
		}
		// The rest is due to sharing. Less than a tick is a rounding error.
		step.SharingS = max(0, duration-step.IdealS-step.CircuitS)
		if step.SharingS < assembly.TickSeconds {
			step.SharingS = 0
		}
		steps = append(steps, step)
		previousEnd = end
	}

	// The path may end with compute.
	if previousEnd < t.Makespan {
		steps = append(steps, result.PathStep{
			Name:   "compute to the end",
			Kind:   "compute",
			StartS: t.Makespan.Seconds(),
			EndS:   t.Makespan.Seconds(),
			LagS:   (t.Makespan - previousEnd).Seconds(),
		})
	}
	return steps
}

// transferKind returns the phase of the training step that a transfer belongs to, or
// "message" for traffic and traces.
func (sys *circuitSystem) transferKind(id int32) string {
	if sys.iteration == nil || sys.iteration.Meta[id].Phase == training.Barrier {
		return "message"
	}
	return sys.iteration.Meta[id].Phase.String()
}

// transferDurations returns the duration of a transfer in seconds, without contention: at
// the full rate of its network interfaces, and with the limit of its circuits.
func (sys *circuitSystem) transferDurations(
	id int32, circuits []int,
) (ideal, onCircuits float64) {
	o := sys.optical
	rate := math.Inf(1) // in bits per second
	uses := o.Routes.Of(id)
	if sys.isInterPod(id) {
		uses = uses[1:] // the first one is the link of the bundle
	}
	for _, u := range uses {
		rate = min(rate, o.Network.Rate(u.Resource)/u.Weight)
	}
	bits := 8 * float64(sys.graph.Tasks[id].Bytes)
	ideal = bits / rate

	// The bundle of the transfer limits the rate to the sum of its circuits.
	link := o.Routes.Of(id)[0].Resource
	for e, n := range circuits {
		if b := &o.Bundles[e]; slices.Contains(b.Links, link) {
			rate = min(rate, float64(n)*o.Rate(e))
		}
	}
	return ideal, bits / rate
}

// maxWindowTransfers is the number of transfers up to which their time windows are
// computed. A figure of more transfers has less than a pixel per transfer.
const maxWindowTransfers = 5000

// addWindows adds the time windows of transfers to d. A window is the time in which a
// transfer can be in progress, before any topology is chosen. If there are more than
// maxWindowTransfers, d states that they are omitted.
func (sys *circuitSystem) addWindows(ctx context.Context, d *result.Detail) error {
	if n := sys.problem.NumTransfers(); n > maxWindowTransfers {
		omitted := fmt.Sprintf("time windows of %d transfers; a figure has room for %d",
			n, maxWindowTransfers)
		d.Omitted = append(d.Omitted, omitted)
		return nil
	}
	options := topology.WindowOptions{Margin: topology.AnchorMargin}
	w, err := sys.problem.Windows(ctx, options)
	if err != nil {
		return err
	}

	// Times of the problem are in ticks, times of the result in seconds.
	seconds := func(ts []engine.Time) []float64 {
		s := make([]float64, len(ts))
		for i, t := range ts {
			s[i] = t.Seconds()
		}
		return s
	}
	out := result.Windows{
		Baseline:  w.Baseline,
		EarliestS: seconds(w.Earliest),
		LatestS:   seconds(w.Latest),
		StartS:    seconds(w.Start),
		EndS:      seconds(w.End),
		Intervals: w.Intervals,
		FirstK:    w.First,
		LastK:     w.Last,
		TopoMin:   w.TopoMin,
		TopoMax:   w.TopoMax,
		MinK:      w.Min,
		MaxK:      w.Max,
	}
	for _, id := range w.Task {
		out.Task = append(out.Task, sys.interPodGraph.Name(id))
	}
	d.Windows = out
	return nil
}
