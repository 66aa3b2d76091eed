package paths

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"sim/engine"
	"sim/engine/flow"
	"sim/engine/packet"
	"sim/engine/static"
	"sim/policies/routing"
	"sim/scenarios/assembly"
	"sim/scenarios/assembly/links"
	"sim/scenarios/result"
)

// routedAnswer is a router's decision, simulated and measured.
type routedAnswer struct {
	r       *routed
	chosen  *routing.Decision
	walks   *engine.Paths // of it
	sums    routing.Sums  // of walks, which are then on channel 0, and at level static none; else nil
	loads   *static.Loads
	pressed float64         // load, in messages, of the link that takes longest, as if it had the fabric's rate
	seen    *engine.Network // that the router saw
	network *engine.Network // that was simulated
	even    bool            // of level flow: messages are many, of one size, and get the rates that they begin with
	folded  *engine.Folded  // of level flow: its task c is the messages of class c, which are identical; nil where they are not
	stats   *packet.Stats   // nil at other levels than packets
	workers int             // goroutines, which change no result
	again   paced           // nil of sources that do not keep to what the most loaded link carries
	graph   *engine.Graph   // of transfers that were simulated, and how: nil where none were
	trace   *engine.Trace
	row     result.Row
	timings result.PolicyTimings
	at      engine.Time   // when the work ends, where it does
	work    *engine.Graph // that is simulated in place of the load's; nil is none
	still   []bool        // by flow of packet sources: it takes no time; nil if all flows take links
	rated   rating        // changes rates of links before the simulation; nil leaves them
	failed  error         // why traffic came to a halt on these routes

	healthy, top float64 // loads of the most loaded link without faults, 0 where that makes no sense to compare, and with them
}

func (a *routedAnswer) Measured() (result.Row, result.PolicyTimings) {
	return a.MeasuredFor(&a.r.s.Workload.Step), a.timings
}

// MeasuredFor returns the row of a scenario that differs from the answer's in nothing but its step.
func (a *routedAnswer) MeasuredFor(step *Step) result.Row {
	row := a.row
	row.Metrics, row.Labels = maps.Clone(a.row.Metrics), maps.Clone(a.row.Labels)
	if a.healthy > 0 {
		step.measure(&row, a.healthy, a.top)
	}
	return row
}

// Rename has the answer be of another policy, whose decision it simulates.
func (a *routedAnswer) Rename(policy string) { a.row.Policy = policy }

// rating returns a network with the same links at other rates.
type rating func(*engine.Network) *engine.Network

// rate applies the answer's rating to a network.
func (a *routedAnswer) rate(n *engine.Network) *engine.Network {
	if a.rated == nil {
		return n
	}
	return a.rated(n)
}

// variant returns an answer with the same decision, nothing of which is simulated or measured yet.
func (a *routedAnswer) variant() *routedAnswer {
	return &routedAnswer{
		r: a.r, seen: a.seen, walks: a.walks, loads: a.loads, pressed: a.pressed, workers: a.workers,
		row: result.Row{Metrics: map[string]float64{}, Labels: map[string]string{}},
	}
}

// end simulates the answer and returns when its work ends, and whether it does.
func (a *routedAnswer) end(ctx context.Context) (engine.Time, bool, error) {
	if err := a.simulate(ctx, nil); err != nil {
		return 0, false, err
	}
	_, done := a.row.Metrics[a.r.end()]
	return a.at, done, nil
}

// paced simulates traffic at the rate at which a link that carries so many messages would be just full.
type paced func(load float64) (*packet.Stats, error)

// Load implements assembly.Loaded, where that is simulated quickly.
func (a *routedAnswer) Load() (messages float64, ok bool) {
	const most = 20_000_000 // hops: some seconds
	return a.pressed, a.again != nil && a.stats != nil && a.stats.Delay.Count > 0 && a.stats.Hops <= most
}

// DelayAt implements assembly.Loaded.
func (a *routedAnswer) DelayAt(load float64) (*result.Delay, error) {
	stats, err := a.again(load)
	if err != nil {
		return nil, err
	}
	return assembly.DelayOf(stats), nil
}

func (a *routedAnswer) Failure() error { return a.failed }

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
	return routing.Options{Settings: s.Policy.Settings, Seed: s.Seed}
}

// unservable is the error of a router that cannot serve the fabric, for a reason.
type unservable struct{ why error }

func (u *unservable) Error() string { return u.why.Error() }

// Decide lets one router choose paths, and simulates the traffic on them.
func (r *routed) Decide(ctx context.Context, name string, workers int) (assembly.Answer, error) {
	a, err := r.DecideWithin(ctx, name, workers, math.Inf(1))
	if one, ok := a.(*routedAnswer); ok && err == nil {
		err = one.Complete(ctx)
	}
	return a, err
}

// Complete measures what needs further simulations: of an iteration what calls and faults cost, and the bound on when the
// work may end.
func (a *routedAnswer) Complete(ctx context.Context) error {
	err := a.againstHealthy(ctx)
	if err == nil {
		err = a.exposed(ctx)
	}
	if err == nil {
		err = a.byTier(ctx)
	}
	if err = a.fail(ctx, err); err == nil {
		err = a.timeBound(ctx, a.chosen)
	}
	return err
}

// fail returns an error of a simulation, nil where that came to no end, which the answer then says.
func (a *routedAnswer) fail(ctx context.Context, err error) error {
	var deadlock *packet.Deadlock
	switch {
	case errors.Is(err, packet.ErrStopped):
		return ctx.Err()
	case errors.As(err, &deadlock), errors.Is(err, packet.ErrStalled): // others may do better
		a.failed = err
		a.row.Labels["failed"] = a.failed.Error()
		a.row.Bounds = nil // as in a sweep, whose cell fails: others get no bound from it
		return nil
	}
	return err
}

// DecideWithin is Decide without Complete, and returns nil where a link alone is busy for more than so many seconds with
// what is sent.
func (r *routed) DecideWithin(ctx context.Context, name string, workers int, most float64) (assembly.Answer, error) {
	a, after, err := r.choose(ctx, routing.ByName(name))
	if not := (*unservable)(nil); errors.As(err, &not) {
		return r.unserved(name, not.why), nil
	}
	if err != nil {
		return nil, err
	}
	if a.row.Metrics["fluid_s"] > most {
		return nil, nil
	}
	a.workers = workers
	begin := time.Now()
	if err = a.fail(ctx, a.simulate(ctx, after)); err != nil {
		return nil, err
	}
	a.timings.SimulateS += time.Since(begin).Seconds()
	return a, nil
}

// toSimulate returns the graph of transfers that wait for each other, nil of others.
func (a *routedAnswer) toSimulate() *engine.Graph {
	if a.work != nil {
		return a.work
	}
	return a.r.load.graph
}

// simulate simulates the work at the scenario's level, on other paths after a fault in mid-run.
func (a *routedAnswer) simulate(ctx context.Context, after *routing.Decision) error {
	switch a.r.s.Engine.Level {
	case "flow":
		return a.flow(ctx, a.rate(a.seen))
	case "packet":
		return a.packets(ctx, after)
	}
	return nil
}

// againstHealthy compares the time of an iteration with that of the same one under the same router where nothing is
// down, whose collective calls the algorithm expands for that fabric.
func (a *routedAnswer) againstHealthy(ctx context.Context) error {
	r := a.r
	end, done := a.row.Metrics[r.end()]
	if r.it == nil || a.healthy == 0 || r.s.Engine.Level == "static" {
		return nil
	}
	delete(a.row.Metrics, "fault_ratio")
	if !done {
		return nil
	}
	r.mu.Lock()
	whole := r.healthy[a.row.Policy]
	r.mu.Unlock()
	h := &routedAnswer{r: whole.r, seen: whole.r.Whole, walks: whole.walks, row: result.Row{Metrics: map[string]float64{}, Labels: map[string]string{}}}
	if err := h.simulate(ctx, nil); err != nil {
		return fmt.Errorf("without faults: %w", err)
	}
	if before, done := h.row.Metrics[r.end()]; done {
		a.row.Metrics["fault_ratio"], a.row.Metrics["step_slowdown"] = before/end, end/before-1
	}
	return nil
}

// faultless returns the same step on the fabric where nothing is down.
func (r *routed) faultless(ctx context.Context) (*routed, error) {
	b, err := r.whole.Get(ctx, func() (b faultless) {
		s := *r.s
		s.Fabric.BrokenParts = links.BrokenParts{}
		b.r = &routed{s: &s, healthy: map[string]unharmed{}}
		if b.r.System, b.err = s.Fabric.Build(); b.err == nil {
			b.r.load, b.err = b.r.traffic(ctx)
		}
		if b.err == nil {
			b.err = b.r.lengthen(ctx)
		}
		return b
	})
	if err == nil {
		err = b.err
	}
	return b.r, err
}

// seen returns the network that routers see at first.
func (r *routed) seen() *engine.Network {
	if r.s.Fabric.FailAt > 0 {
		return r.Whole
	}
	return r.Known
}

// choose lets one router choose paths, and others for after a fault in mid-run. It fails where the router cannot serve
// the fabric (*unservable), or where simulating the traffic on its paths would exceed the limits, which is a fault of
// the input.
func (r *routed) choose(ctx context.Context, row *routing.Row) (a *routedAnswer, after *routing.Decision, err error) {
	name, router, options := row.Name, row.Router, r.s.options()
	seen := r.seen()
	begin := time.Now()
	d, sums, err := r.route(ctx, row, seen)
	if errors.Is(err, routing.ErrUnserved) {
		return nil, nil, &unservable{err}
	}
	if err != nil {
		return nil, nil, err
	}
	if r, err = r.pinned(ctx, seen, d); err != nil {
		return nil, nil, err
	}
	a = &routedAnswer{r: r, chosen: d, seen: seen, walks: d.Paths, sums: sums, row: result.Row{Policy: name, Metrics: map[string]float64{}, Labels: map[string]string{}}}
	if r.s.Fabric.FailAt > 0 {
		after, err = r.System.Route(ctx, router, r.problem(r.Known), options)
		if errors.Is(err, routing.ErrUnserved) {
			return nil, nil, &unservable{fmt.Errorf("after the fault: %w", err)}
		}
		if err != nil {
			return nil, nil, fmt.Errorf("after the fault: %w", err)
		}
	}
	healthy, err := r.withoutFaults(ctx, row)
	if err != nil {
		return nil, nil, err
	}
	solved := time.Now()
	a.timings.SolveS = solved.Sub(begin).Seconds()
	if err := a.static(ctx, seen, d, healthy); err != nil {
		return nil, nil, err
	}
	if r.s.Engine.Level == "packet" {
		channels := a.walks.Channels()
		if after != nil {
			channels = max(channels, after.Paths.Channels())
		}
		if err := a.channels(channels); err != nil {
			return nil, nil, &unservable{err}
		}
	}
	if err := a.bearable(name); err != nil {
		return nil, nil, err
	}
	if err := a.fold(); err != nil {
		return nil, nil, err
	}
	a.timings.SimulateS = time.Since(solved).Seconds()
	return a, after, nil
}

// route lets one router choose paths on a network. Where there are many flows it is asked for what their paths come to
// alone; level flow needs those of one flow of each class, as do packets where their links have no channels.
func (r *routed) route(ctx context.Context, row *routing.Row, n *engine.Network) (*routing.Decision, routing.Sums, error) {
	p, level, o := r.problem(n), r.s.Engine.Level, r.s.options()
	o.Progress = assembly.Share(ctx)
	many := r.shortest > mostTraced && r.Whole.Nodes > mostTabled
	fluid := level == "flow" && float64(len(p.Flows))*r.shortest > mostFluid
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
	d, err := r.System.Route(ctx, row.Router, p, o)
	return d, nil, err
}

// withoutFaults returns the load of the most loaded link that the router reaches where no link is down, 0 where it
// makes no sense to compare. Of a collective call, which is expanded for that fabric too, it is 0 if no step asks for it.
func (r *routed) withoutFaults(ctx context.Context, row *routing.Row) (float64, error) {
	if !r.s.Fabric.Faulty() || r.Down != nil || r.s.Fabric.FailAt > 0 || r.load.call != nil && r.s.Workload.Step == (Step{}) {
		return 0, nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if v, ok := r.healthy[row.Name]; ok {
		return v.max, nil
	}
	h, err := r, error(nil)
	if r.load.call != nil || r.it != nil && r.it.Spec.Collectives == "graph" {
		if h, err = r.faultless(ctx); err != nil {
			return 0, fmt.Errorf("without faults: %w", err)
		}
	}
	d, sums, err := h.route(ctx, row, h.Whole)
	if err == nil {
		h, err = h.pinned(ctx, h.Whole, d)
	}
	if err != nil {
		return 0, fmt.Errorf("without faults: %w", err)
	}
	loads, err := h.loads(ctx, h.Whole, d, sums)
	if err != nil {
		return 0, err
	}
	top := peak(loads)
	r.healthy[row.Name] = unharmed{h, d.Paths, sums, top}
	return top, nil
}

// loads measures a decision's paths.
func (r *routed) loads(ctx context.Context, n *engine.Network, d *routing.Decision, sums routing.Sums) (*static.Loads, error) {
	if sums != nil {
		return sums.Loads(), ctx.Err()
	}
	return static.OfPaths(ctx, n, r.load.flows, r.load.demand, d.Paths)
}

// packets simulates the traffic packet by packet.
func (a *routedAnswer) packets(ctx context.Context, after *routing.Decision) error {
	r := a.r
	l := &r.s.Fabric
	channels := a.walks.Channels()
	o := packet.Options{Stop: func() bool { return ctx.Err() != nil }, Until: r.s.Engine.Until, Seed: r.s.Seed, BitErrorRate: l.BitErrors, SampleEvery: r.s.Engine.SampleEvery, Workers: a.workers}
	if after != nil {
		channels = max(channels, after.Paths.Channels())
		o.Rewire = []packet.Rewire{{At: l.FailAt + l.RerouteAfter, Paths: after.Paths}}
	}
	if l.Queue == "credit" {
		o.Control = packet.Credit
	}
	hardware, err := r.System, error(nil)
	if a.seen == r.Whole && l.FailAt == 0 {
		hardware.Health = nil // nothing is down
	}
	if a.network, err = hardware.Network(&r.s.Fabric, r.s.Workload.Packet, channels); err != nil {
		return err
	}
	a.network = a.rate(a.network)
	if g := a.toSimulate(); g != nil {
		flows, paths := r.load.byTask(a.walks)
		if r.load.call != nil {
			o.TaskRank = r.load.call.ranks
		} else if r.it != nil && l.Queue != "credit" { // whose links take no order
			o.TaskRank = r.it.Turn
		}
		trace, stats, err := packet.RunGraph(g, a.network, flows, paths, int32(r.s.Workload.Packet), o)
		if err != nil {
			return err
		}
		a.stats = stats
		if !slices.Contains(trace.End, engine.Never) { // else the simulation was cut off
			a.graph, a.trace = g, trace
			a.ends(trace.Makespan)
		}
		a.delays()
		return nil
	}
	if t := &r.s.Workload.Traffic; t.Source == "poisson" {
		o.MeasureFrom, o.MeasureUntil, o.EndMeasured = t.Warmup, t.Warmup+t.Duration, true
	}
	run := func(pressed float64) (*packet.Stats, error) {
		sources, err := r.sources(pressed)
		if err != nil {
			return nil, err
		}
		work := &packet.Work{Flows: r.load.flows, Paths: a.walks, Sources: sources}
		if a.still != nil {
			work.Flows, work.Paths = resting(work.Flows, work.Paths, a.still)
		}
		return packet.Run(a.network, work, o)
	}
	if r.s.Workload.Source == "paced" {
		a.again = run
	}
	if a.stats, err = run(a.pressed); err != nil {
		return err
	}
	a.delays()
	return nil
}

// resting returns flows of which some end where they begin, and paths that lead them so.
func resting(flows []engine.Flow, paths *engine.Paths, still []bool) ([]engine.Flow, *engine.Paths) {
	led := *paths
	flows, led.Class = slices.Clone(flows), make([]int32, len(flows))
	led.Start, led.Step = slices.Clone(paths.Start), slices.Clone(paths.Step)
	none := led.Add()
	if paths.First != nil { // classes are not the paths themselves
		led.First = append(slices.Clone(paths.First), none+1)
		if paths.Share != nil {
			led.Share = append(slices.Clone(paths.Share), 1)
		}
		none = int32(len(led.First) - 2)
	}
	for f := range flows {
		if led.Class[f] = paths.ClassOf(int32(f)); still[f] {
			led.Class[f], flows[f].Dst = none, flows[f].Src
		}
	}
	return flows, &led
}

// mostFluid bounds the flows times the links of their paths where every flow may end at a time of its own: some
// minutes.
const mostFluid = 2e10

// mostEven bounds the links of all paths where messages are even: some gigabytes.
const mostEven = 500_000_000

// orbits returns the nodes that look alike, by node.
func (r *routed) orbits(n *engine.Network) []int32 {
	if y := r.problem(n).Symmetry(2); y != nil { // 2 is the period of the rule of ties
		return y.Orbit
	}
	all := make([]int32, n.Nodes)
	for i := range all {
		all[i] = int32(i)
	}
	return all
}

// fold makes the graph of messages smaller where many are identical, exactly and by the size of orbits. It fails, by a
// fault of the input, where they are not and too many.
func (a *routedAnswer) fold() error {
	r := a.r
	if r.s.Engine.Level != "flow" || r.load.graph != nil {
		return nil
	}
	t := r.load.parts[0].traffic
	f, err := engine.Fold(r.seen(), a.walks, r.load.flows, t.Bytes, t.Message, r.orbits(r.seen()))
	if err == nil {
		a.folded = f
		return nil
	}
	if !errors.Is(err, engine.ErrAsymmetric) {
		return err
	}
	if flows := float64(len(r.load.flows)); flows*float64(a.loads.SumHops) > mostFluid {
		single := a.walks.First == nil && a.walks.Spread == nil && r.Tiers == nil
		if a.even = single && t.Bytes == nil && !r.late() && a.loads.SumHops <= mostEven; a.even {
			return nil
		}
		return r.fault("engine.level", fmt.Sprintf("%s leads %.0f flows of which no two are alike, and which may end at as many times: fluid takes hours", a.row.Policy, flows),
			`set engine.level = "packet" or "static"`)
	}
	return nil
}

// flow simulates the messages, all at once, as fluid.
func (a *routedAnswer) flow(ctx context.Context, seen *engine.Network) error {
	r := a.r
	g, n, err := a.toSimulate(), seen, error(nil)
	var routes *engine.Routes
	if a.even {
		ends, err := flow.Even(ctx, seen, a.walks, r.load.flows, r.load.parts[0].traffic.Message)
		if err == nil {
			a.ends(slices.Max(ends))
		}
		return err
	}
	if f := a.folded; f != nil {
		g, n, routes = f.Graph, f.Network, f.Routes
	} else {
		if g == nil {
			if g, err = r.load.parts[0].traffic.Graph(); err != nil {
				return err
			}
		}
		flows, paths := r.load.byTask(a.walks)
		if routes, err = engine.RoutesOf(g, seen, paths, flows); err != nil {
			return err
		}
	}
	a.graph = g
	if a.graph, a.trace, err = r.fluid(ctx, g, n, routes, a.late()); err != nil {
		return err
	}
	a.ends(a.trace.Makespan)
	return nil
}

// fluid simulates a graph of the load, whose transfers arrive late by so much, as fluid, and returns it with what waits for
// them waiting until then.
func (r *routed) fluid(ctx context.Context, g *engine.Graph, n *engine.Network, routes *engine.Routes, late []engine.Time) (_ *engine.Graph, t *engine.Trace, err error) {
	switch {
	case late == nil || g.EdgeCount() == 0:
	case r.load.call != nil:
		g, err = r.load.call.graph(late, false)
	default:
		g, err = assembly.Delayed(g, late)
	}
	if err != nil {
		return nil, nil, err
	}
	sent := g
	if sent, routes, err = r.load.together(g, routes); err != nil {
		return nil, nil, err
	}
	if t, err = flow.Run(ctx, sent, n, routes, flow.Options{}); err != nil {
		return nil, nil, err
	}
	for i, by := range late {
		t.Makespan = max(t.Makespan, t.End[i]+by)
	}
	return g, t, nil
}

// late reports whether links have latencies.
func (r *routed) late() bool {
	return slices.ContainsFunc(r.Whole.Links, func(l engine.Link) bool { return l.Latency > 0 })
}

// late returns by task how long after a transfer's last bit has left it arrives, on the longest of its routes; nil where
// that is at once.
func (a *routedAnswer) late() []engine.Time {
	r := a.r
	if !r.late() {
		return nil
	}
	late, flows := make([]engine.Time, len(a.graph.Tasks)), a.flowsOf()
	for i := range late {
		if a.graph.Tasks[i].Kind != engine.Transfer {
			continue
		}
		for _, route := range a.routes(flows[i]) {
			sum := engine.Time(0)
			for _, link := range route {
				sum += r.Whole.Links[link].Latency
			}
			late[i] = max(late[i], sum)
		}
	}
	return late
}

// ends measures when the work ends.
func (a *routedAnswer) ends(at engine.Time) {
	a.at, a.row.Metrics[a.r.end()] = at, at.Seconds()
	if a.r.it != nil {
		a.r.Exposed(&a.row, at, "these paths do")
	}
}
