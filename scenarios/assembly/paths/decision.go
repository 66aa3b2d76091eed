package paths

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"sim/engine"
	"sim/engine/flow"
	"sim/engine/packet"
	"sim/engine/static"
	"sim/fabric/links"
	"sim/policies/routing"
	"sim/scenarios/assembly"
	"sim/scenarios/assembly/composition"
	"sim/scenarios/assembly/input"
	"sim/scenarios/result"
)

// routingResult is a router's decision, simulated and measured.
type routingResult struct {
	assembly.PolicyResult // whose Run is nil if nothing was simulated, or messages in groups at one rate
	composition.Result    // what was simulated

	system         *routingSystem
	decision       *routing.Decision
	paths          *engine.Paths // of it
	sums           routing.Sums  // of walks, which are then on channel 0, and at level static none; else nil
	loads          *static.Loads
	linkLoads      []float64           // load of every link, in messages
	bottleneckLoad float64             // load, in messages, of the link that takes longest, as if it had the fabric's rate
	visible        *engine.Network     // that the router saw
	uniformRates   bool                // of level flow: messages are many, of one size, and get the rates that they begin with
	classGraph     *engine.FoldedGraph // of level flow: its task c is the messages of class c, which are identical; nil where they are not
	workers        int                 // goroutines, which change no result
	finishTime     engine.Time         // when the work ends, where it does

	faultFreeLoad, maxLoad float64 // loads of the most loaded link without faults, 0 where that makes no sense to compare, and with them
}

// rowForStep returns the row of a scenario that differs from the answer's in nothing but its step, of traffic.
func (a *routingResult) rowForStep(step any) result.Row {
	row := a.Row
	row.Metrics, row.Labels = maps.Clone(a.Row.Metrics), maps.Clone(a.Row.Labels)
	delete(row.Metrics, "step_slowdown")
	delete(row.Metrics, "implied_share")
	delete(row.Labels, "implied_share")
	if a.faultFreeLoad > 0 {
		measureStep(&row, step.(*input.Step), a.faultFreeLoad, a.maxLoad)
	}
	return row
}

// maxRepeatedHops bounds the hops of packets that are simulated again at another load: some seconds.
const maxRepeatedHops = 20_000_000

// routers returns the rows of the routers that are listed.
func (s *Scenario) routers() []*routing.Row {
	var rows []*routing.Row
	for _, name := range s.Policy.Routers {
		rows = append(rows, routing.ByName(name))
	}
	return rows
}

// options returns the options of all routers.
func (s *Scenario) options() routing.Options {
	return routing.Options{Settings: s.Policy.Routing.Settings, Seed: s.Seed}
}

// unservedError is the error of a router that cannot serve the fabric, for a reason.
type unservedError struct{ reason error }

func (u *unservedError) Error() string { return u.reason.Error() }

// Decide lets one router choose paths, and simulates the traffic on them. It returns nil where a link alone is busy for more
// than limit seconds with what is sent.
func (r *routingSystem) Decide(ctx context.Context, name string, workers int, limit float64) (*assembly.PolicyResult, error) {
	a, err := r.decide(ctx, name, workers, limit)
	if a == nil || err != nil {
		return nil, err
	}
	return &a.PolicyResult, nil
}

// addFinalMetrics measures what needs further simulations: of an iteration what calls and faults cost, and the bound on when the
// work may end.
func (a *routingResult) addFinalMetrics(ctx context.Context) error {
	err := a.compareWithFaultFree(ctx)
	if _, done := a.Row.Metrics[a.system.endMetric()]; err == nil && done && a.Run != nil {
		if err = composition.MeasureExposedCalls(ctx, a.Run, &a.Row); err == nil {
			err = composition.MeasureTiers(ctx, a.Run, &a.Row)
		}
	}
	if err = a.recordStall(ctx, err); err == nil && a.Err == nil {
		err = a.setMakespanBounds(ctx, a.decision)
	}
	if a.RowFor != nil {
		a.Row = a.RowFor(&a.system.s.Workload.Step)
	}
	return err
}

// recordStall returns an error of a simulation, nil where that came to no end, which the answer then says.
func (a *routingResult) recordStall(ctx context.Context, err error) error {
	var deadlock *packet.Deadlock
	switch {
	case errors.Is(err, packet.ErrStopped):
		return ctx.Err()
	case errors.As(err, &deadlock), errors.Is(err, packet.ErrStalled): // others may do better
		a.Err = err
		a.Row.Labels["failed"] = a.Err.Error()
		a.Row.Bounds = nil // as in a sweep, whose cell fails: others get no bound from it
		return nil
	}
	return err
}

// decide is Decide with more to tell than the answer.
func (r *routingSystem) decide(ctx context.Context, name string, workers int, limit float64) (*routingResult, error) {
	a, after, err := r.choosePaths(ctx, routing.ByName(name))
	if not := (*unservedError)(nil); errors.As(err, &not) {
		return &routingResult{PolicyResult: *r.unservedAnswer(name, not.reason)}, nil
	}
	if err != nil || a.Row.Metrics["fluid_s"] > limit {
		return nil, err
	}
	a.workers, a.Finish, a.Describe = workers, a.addFinalMetrics, a.describe
	if r.iteration == nil {
		a.RowFor = a.rowForStep
	}
	begin := time.Now()
	if err = a.recordStall(ctx, a.simulate(ctx, after)); err != nil {
		return nil, err
	}
	a.Timings.SimulateS += time.Since(begin).Seconds()
	return a, nil
}

// simulate simulates the work at the scenario's level, on other paths after a fault in mid-run.
func (a *routingResult) simulate(ctx context.Context, after *routing.Decision) error {
	r, level := a.system, a.system.s.Engine.Level
	if level == "static" {
		return nil
	}
	if a.uniformRates {
		ends, err := flow.UniformEnds(ctx, a.visible, a.paths, r.load.flows, r.load.parts[0].traffic.Message)
		if err == nil {
			a.setFinishTime(slices.Max(ends))
		}
		return err
	}
	run, err := a.newRun(after)
	if err != nil {
		return err
	}
	job, decision := &run.Job, &run.Decision
	if f := a.classGraph; f != nil {
		job = &composition.Job{Graph: f.Graph}
		decision = composition.NewRouteDecision(f.Network, f.Routes, flow.Options{})
		decision.ArrivalDelays = a.arrivalDelays
	}
	out, err := composition.Simulate(ctx, level, job, decision)
	if err != nil {
		return err
	}
	if a.Result, a.Run = *out, run; a.classGraph == nil {
		run.Result = out
	}
	if a.Trace != nil {
		a.setFinishTime(a.Trace.Makespan)
	}
	if a.Stats != nil {
		a.measureDelays()
	}
	if run.End = a.finishTime; run.Sources != nil && r.s.Workload.Source == "paced" && a.Stats.Delay.Count > 0 && a.Stats.Hops <= maxRepeatedHops {
		a.MaxLoad = a.bottleneckLoad
		a.DelayAt = func(load float64) (*result.Delay, error) {
			j := run.Job
			j.Sources = func(float64) ([]packet.Source, error) { return r.sources(load) }
			out, err := composition.Simulate(ctx, level, &j, &run.Decision)
			if err != nil {
				return nil, err
			}
			return composition.DelayOf(out.Stats), nil
		}
	}
	return nil
}

// newRun returns the work under the decision, not simulated yet.
func (a *routingResult) newRun(after *routing.Decision) (*composition.Run, error) {
	r, level := a.system, a.system.s.Engine.Level
	run := &composition.Run{Level: level, HardwareInfo: composition.HardwareInfo{Ideal: &r.IdealReference}}
	if r.Tiers != nil {
		run.Tiers, run.TierOf = r.s.Fabric.Kinds(), r.TierOf
	}
	run.Job = composition.Job{Graph: r.load.graph, Step: r.iteration, Base: r.originalTasks}
	if c := r.load.call; c != nil {
		run.WithArrivalDelays = func(late []engine.Time) (*engine.Graph, error) { return c.taskGraph(late, false) }
	}
	var err error
	if run.Graph == nil {
		if level == "packet" {
			run.Sources = r.sources
		}
		if level == "flow" && a.classGraph == nil || r.Tiers != nil && r.s.HasMessageSizes() {
			if run.Graph, err = r.load.parts[0].traffic.Graph(); err != nil {
				return nil, err
			}
		}
	}
	flows, paths := r.load.taskPaths(a.paths)
	d := composition.NewPathDecision(a.visible, flows, paths, int32(r.s.Workload.Packet), a.packetOptions(after))
	if d.ArrivalDelays = a.arrivalDelays; r.load.rateGroups != nil {
		d.Merge = r.load.mergeRateGroups
	}
	if run.Sources != nil {
		d.ReferenceRate, d.Loads = float64(r.s.Fabric.LinkRate), a.linkLoads
	}
	run.Decision = *d
	if level != "packet" {
		return run, nil
	}
	hardware, channels := r.System, a.paths.Channels()
	if after != nil {
		channels = max(channels, after.Paths.Channels())
	}
	if a.visible == r.Whole && r.s.Fabric.FailAt == 0 {
		hardware.Health = nil // nothing is down
	}
	network, err := hardware.Network(&r.s.Fabric.Links, r.s.Workload.Packet, channels)
	if err != nil {
		return nil, err
	}
	run.ToPackets = func(ctx context.Context, j *composition.Job, v *composition.Decision) (*composition.Packets, error) {
		p, err := d.ToPackets(ctx, j, v)
		if err == nil {
			p.Network = v.ScaleNetwork(network)
		}
		return p, err
	}
	return run, nil
}

// packetOptions returns how packets are simulated, on other paths after a fault in mid-run.
func (a *routingResult) packetOptions(after *routing.Decision) packet.Options {
	r, l := a.system, &a.system.s.Fabric
	o := packet.Options{Until: r.s.Engine.Until, Seed: r.s.Seed, BitErrorRate: l.BitErrors, SampleEvery: r.s.Engine.SampleEvery, Workers: a.workers}
	if after != nil {
		o.Rewire = []packet.Rewire{{At: l.FailAt + l.RerouteAfter, Paths: after.Paths}}
	}
	if l.Queue == "credit" {
		o.Control = packet.Credit
	}
	if r.load.call != nil {
		o.TaskRank = r.load.call.sendOrder
	} else if r.iteration != nil && l.Queue != "credit" { // whose links take no order
		o.TaskRank = r.iteration.SendOrder
	}
	if t := &r.s.Workload.Traffic; t.Source == "poisson" && r.load.graph == nil {
		o.MeasureFrom, o.MeasureUntil, o.EndMeasured = t.Warmup, t.Warmup+t.Duration, true
	}
	return o
}

// compareWithFaultFree compares the time of an iteration with that of the same one under the same router where nothing is
// down, whose collective calls the algorithm expands for that fabric.
func (a *routingResult) compareWithFaultFree(ctx context.Context) error {
	r := a.system
	end, done := a.Row.Metrics[r.endMetric()]
	if r.iteration == nil || a.faultFreeLoad == 0 || r.s.Engine.Level == "static" {
		return nil
	}
	delete(a.Row.Metrics, "fault_ratio")
	if !done {
		return nil
	}
	r.mu.Lock()
	whole := r.faultFree[a.Row.Policy]
	r.mu.Unlock()
	h := &routingResult{system: whole.system, visible: whole.system.Whole, paths: whole.paths}
	h.Row = result.Row{Metrics: map[string]float64{}, Labels: map[string]string{}}
	if err := h.simulate(ctx, nil); err != nil {
		return fmt.Errorf("without faults: %w", err)
	}
	if before, done := h.Row.Metrics[r.endMetric()]; done {
		a.Row.Metrics["fault_ratio"], a.Row.Metrics["step_slowdown"] = before/end, end/before-1
	}
	return nil
}

// faultFreeSystem returns the same step on the fabric where nothing is down.
func (r *routingSystem) faultFreeSystem(ctx context.Context) (*routingSystem, error) {
	return r.faultFreeSystemOnce.Get(ctx, func() (h *routingSystem, err error) {
		s := *r.s
		s.Fabric.BrokenParts = links.BrokenParts{}
		h = &routingSystem{s: &s, faultFree: map[string]faultFreeRouting{}}
		if h.System, err = s.Fabric.Build(); err == nil {
			h.load, err = h.buildLoad(ctx)
		}
		if err == nil {
			err = h.lengthenPasses(ctx)
		}
		return h, err
	})
}

// visibleNetwork returns the network that routers see at first.
func (r *routingSystem) visibleNetwork() *engine.Network {
	if r.s.Fabric.FailAt > 0 {
		return r.Whole
	}
	return r.Known
}

// choosePaths lets one router choose paths, and others for after a fault in mid-run. It fails where the router cannot serve
// the fabric (*unservable), or where simulating the traffic on its paths would exceed the limits, which is a fault of
// the input.
func (r *routingSystem) choosePaths(ctx context.Context, row *routing.Row) (a *routingResult, after *routing.Decision, err error) {
	name, router, options := row.Name, row.Router, r.s.options()
	seen := r.visibleNetwork()
	begin := time.Now()
	d, sums, err := r.callRouter(ctx, row, seen)
	if errors.Is(err, routing.ErrUnserved) {
		return nil, nil, &unservedError{err}
	}
	if err != nil {
		return nil, nil, err
	}
	if r, err = r.pinCallLinks(ctx, seen, d); err != nil {
		return nil, nil, err
	}
	a = &routingResult{system: r, decision: d, visible: seen, paths: d.Paths, sums: sums}
	a.Row = result.Row{Policy: name, Metrics: map[string]float64{}, Labels: map[string]string{}}
	if r.s.Fabric.FailAt > 0 {
		after, err = routing.RouteSystem(ctx, &r.System, router, r.routingProblem(r.Known), options)
		if errors.Is(err, routing.ErrUnserved) {
			return nil, nil, &unservedError{fmt.Errorf("after the fault: %w", err)}
		}
		if err != nil {
			return nil, nil, fmt.Errorf("after the fault: %w", err)
		}
	}
	healthy, err := r.faultFreeMaxLoad(ctx, row)
	if err != nil {
		return nil, nil, err
	}
	solved := time.Now()
	a.Timings.SolveS = solved.Sub(begin).Seconds()
	if err := a.measurePaths(ctx, seen, d, healthy); err != nil {
		return nil, nil, err
	}
	if r.s.Engine.Level == "packet" {
		channels := a.paths.Channels()
		if after != nil {
			channels = max(channels, after.Paths.Channels())
		}
		if err := a.checkChannels(channels); err != nil {
			return nil, nil, &unservedError{err}
		}
	}
	if err := a.checkCost(name); err != nil {
		return nil, nil, err
	}
	if err := a.foldMessages(); err != nil {
		return nil, nil, err
	}
	a.Timings.SimulateS = time.Since(solved).Seconds()
	return a, after, nil
}

// callRouter lets one router choose paths on a network. Where there are many flows it is asked for what their paths come to
// alone; level flow needs those of one flow of each class, as do packets where their links have no channels.
func (r *routingSystem) callRouter(ctx context.Context, row *routing.Row, n *engine.Network) (*routing.Decision, routing.Sums, error) {
	p, level, o := r.routingProblem(n), r.s.Engine.Level, r.s.options()
	o.Progress = assembly.ProgressFunc(ctx)
	many := r.shortestHops > maxTracedHops && r.Whole.Nodes > maxTableNodes
	fluid := level == "flow" && float64(len(p.Flows))*r.shortestHops > maxFlowLevelHops
	switch {
	case r.load.graph != nil || r.load.call != nil || r.Tiers != nil:
	case level == "static" && many:
		sums, d, err := row.Sums(ctx, p, o)
		if err != nil {
			return nil, nil, err
		}
		if sums != nil {
			d.Paths = &engine.Paths{}
			return d, sums, nil
		}
	case !r.s.Fabric.Faulty() && (fluid || level == "packet" && many && r.s.Fabric.Queue != "credit"):
		z, d, err := row.Orbits(ctx, p, o)
		if err != nil {
			return nil, nil, err
		}
		if z != nil {
			d.Paths, err = z.Paths(ctx, p.Flows)
			return d, z, err
		}
	}
	d, err := routing.RouteSystem(ctx, &r.System, row.Router, p, o)
	return d, nil, err
}

// faultFreeMaxLoad returns the load of the most loaded link that the router reaches where no link is down, 0 where it
// makes no sense to compare. A collective call is expanded again for that fabric. Without [workload.step] its load is 0.
func (r *routingSystem) faultFreeMaxLoad(ctx context.Context, row *routing.Row) (float64, error) {
	if !r.s.Fabric.Faulty() || r.Down != nil || r.s.Fabric.FailAt > 0 || r.load.call != nil && r.s.Workload.Step == (input.Step{}) {
		return 0, nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if v, ok := r.faultFree[row.Name]; ok {
		return v.maxLoad, nil
	}
	h, err := r, error(nil)
	if r.load.call != nil || r.iteration != nil && r.iteration.Spec.CallsInGraph() {
		if h, err = r.faultFreeSystem(ctx); err != nil {
			return 0, fmt.Errorf("without faults: %w", err)
		}
	}
	d, sums, err := h.callRouter(ctx, row, h.Whole)
	if err == nil {
		h, err = h.pinCallLinks(ctx, h.Whole, d)
	}
	if err != nil {
		return 0, fmt.Errorf("without faults: %w", err)
	}
	loads, err := h.measureLoads(ctx, h.Whole, d, sums)
	if err != nil {
		return 0, err
	}
	top := maxLinkLoad(loads)
	r.faultFree[row.Name] = faultFreeRouting{h, d.Paths, sums, top}
	return top, nil
}

// measureLoads measures a decision's paths.
func (r *routingSystem) measureLoads(ctx context.Context, n *engine.Network, d *routing.Decision, sums routing.Sums) (*static.Loads, error) {
	if sums != nil {
		return sums.Loads(), ctx.Err()
	}
	return static.PathLoads(ctx, n, r.load.flows, r.load.demand, d.Paths)
}

// maxFlowLevelHops bounds the flows times the links of their paths where every flow may end at a time of its own: some
// minutes.
const maxFlowLevelHops = 2e10

// maxUniformHops bounds the links of all paths where messages are even: some gigabytes.
const maxUniformHops = 500_000_000

// nodeOrbits returns the nodes that look alike, by node.
func (r *routingSystem) nodeOrbits(n *engine.Network) []int32 {
	if y := r.routingProblem(n).Symmetry(2); y != nil { // 2 is the period of the rule of ties
		return y.Orbit
	}
	all := make([]int32, n.Nodes)
	for i := range all {
		all[i] = int32(i)
	}
	return all
}

// foldMessages makes the graph of messages smaller where many are identical, exactly and by the size of orbits. It fails, by a
// fault of the input, where they are not and too many.
func (a *routingResult) foldMessages() error {
	r := a.system
	if r.s.Engine.Level != "flow" || r.load.graph != nil {
		return nil
	}
	t := r.load.parts[0].traffic
	f, err := engine.Fold(r.visibleNetwork(), a.paths, r.load.flows, t.Bytes, t.Message, r.nodeOrbits(r.visibleNetwork()))
	if err == nil {
		a.classGraph = f
		return nil
	}
	if !errors.Is(err, engine.ErrAsymmetric) {
		return err
	}
	if flows := float64(len(r.load.flows)); flows*float64(a.loads.SumHops) > maxFlowLevelHops {
		single := a.paths.First == nil && a.paths.Spread == nil && r.Tiers == nil
		if a.uniformRates = single && t.Bytes == nil && !r.hasLatency() && a.loads.SumHops <= maxUniformHops; a.uniformRates {
			return nil
		}
		return r.inputError("engine.level", fmt.Sprintf("%s leads %.0f flows of which no two are alike, and which may end at as many times: fluid takes hours", a.Row.Policy, flows),
			`set engine.level = "packet" or "static"`)
	}
	return nil
}

// hasLatency reports whether links have latencies.
func (r *routingSystem) hasLatency() bool {
	return slices.ContainsFunc(r.Whole.Links, func(l engine.Link) bool { return l.Latency > 0 })
}

// arrivalDelays returns by task of a graph how long after a transfer's last bit has left it arrives, on the longest of its routes;
// nil where that is at once.
func (a *routingResult) arrivalDelays(g *engine.Graph) []engine.Time {
	r := a.system
	if !r.hasLatency() {
		return nil
	}
	late, flows := make([]engine.Time, len(g.Tasks)), a.taskFlows(g)
	for i := range late {
		if g.Tasks[i].Kind != engine.Transfer {
			continue
		}
		for _, route := range a.flowPaths(flows[i]) {
			sum := engine.Time(0)
			for _, link := range route {
				sum += r.Whole.Links[link].Latency
			}
			late[i] = max(late[i], sum)
		}
	}
	return late
}

// setFinishTime measures when the work ends.
func (a *routingResult) setFinishTime(at engine.Time) {
	a.finishTime, a.Row.Metrics[a.system.endMetric()] = at, at.Seconds()
	if a.system.iteration != nil {
		a.system.AddExposed(&a.Row, at, "these paths do")
	}
}
