package paths

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"sim/engine"
	"sim/engine/packet"
	"sim/engine/units"
	"sim/fabric/torus"
	algorithm "sim/policies/collective"
	"sim/policies/graph"
	"sim/policies/routing"
	"sim/scenarios/assembly"
	"sim/scenarios/schema"
)

// workEstimate is about how much there is to simulate: flows between nodes, their packets, the links that these take in all,
// and seconds of simulated time.
type workEstimate struct{ flows, packets, hops, seconds float64 }

// maxPathStretch is how many times longer routes are taken to be than shortest paths, at most: where this decides whether
// limits are kept, the routers are asked.
const maxPathStretch = 4

// checkPaths holds what routes decide: that a router of those listed serves the fabric, and that simulating the
// traffic on its routes stays within the limits. What shortest paths tell is told without routes, before anything large
// is allocated. Where that leaves a doubt the routers decide, as they will in a run; not so of a cell. up nodes are up;
// all else must be sound.
func checkPaths(c *schema.Reader, r *routingSystem, cell bool, up int) {
	s := r.s
	if s.Engine.Level == "static" && r.isServed() {
		return
	}
	r.wholeNetwork()
	least, most := r.estimateRange(up)
	if err := r.checkLimits("the traffic", least, 0); err != nil {
		reject(c, err)
		return
	}
	if s.Workload.Call != nil { // whose routes depend on its algorithm
		if !r.connectsCall() {
			c.Clash(append([]string{"workload.group"}, relatedKeys["policy.routers"]...), "links that are up do not join all ranks", "add links, let fewer fail, or choose other ranks")
		}
		return
	}
	serves := r.isServed()
	within := s.Engine.Level == "static" || r.checkLimits("", most, 0) == nil && r.checkSamples("", most.seconds) == nil && !r.mayExceedFlows(most)
	if cell || serves && within {
		return
	}
	built, err := build(context.Background(), s)
	if err != nil {
		reject(c, err)
		return
	}
	var none schema.Diagnostics // of the routers that cannot serve it
	for _, row := range s.routers() {
		if row.IsSlow && serves {
			row = routing.ByName(routing.DefaultName(false, false)) // whose paths are hardly shorter
		}
		err := built.tryRouter(row, within)
		if not := (*unservedError)(nil); errors.As(err, &not) {
			none = append(none, built.unservedDiagnostic(row.Name, not.reason))
			continue
		}
		if err != nil {
			reject(c, err)
			return
		}
		serves = true
	}
	if !serves {
		reject(c, none)
	}
}

// tryRouter fails as choose does. Where the limits are kept for certain it asks routers whether they serve the fabric, which
// is sooner said than routes are found.
func (r *routingSystem) tryRouter(row *routing.Row, within bool) error {
	if within {
		// what is seen before a fault has no fewer links
		if asked, err := row.CheckServes(r.routingProblem(r.Known), r.s.options()); asked {
			if errors.Is(err, routing.ErrUnserved) {
				if r.s.Fabric.FailAt > 0 {
					err = fmt.Errorf("after the fault: %w", err)
				}
				err = &unservedError{err}
			}
			return err
		}
	}
	_, _, err := r.choosePaths(context.Background(), row)
	return err
}

// reject adds the faults that err holds, by the keys of the scenario.
func reject(c *schema.Reader, err error) {
	var faults schema.Diagnostics
	if !errors.As(err, &faults) {
		c.Add("workload.kind", assembly.ErrorText(err), "choose other traffic")
		return
	}
	for _, f := range faults {
		c.Clash(append([]string{f.Key}, relatedKeys[f.Key]...), f.Problem, f.Remedy)
	}
}

// relatedKeys are the keys that a fault of one may be about as well: it is told by the one that is given.
var relatedKeys = map[string][]string{
	"policy.routers": {
		"fabric.failed_ocs", "fabric.failed_links", "fabric.failed_machines", "fabric.failed_chips", "fabric.drained_links", "fabric.edges", "fabric.file",
	},
	"workload.packet":   {"workload.message", "workload.matrix_file", "workload.matrix"},
	"workload.duration": {"workload.load", "workload.warmup"},
	"workload.rate":     {"workload.duration"},
	"workload.message":  {"workload.matrix_file", "workload.matrix", "fabric.link_rate", "fabric.link_latency"},
}

// isServed reports whether it is certain, without routes, that some router of those listed serves the fabric: nothing is
// down, or it serves any graph, of which all nodes are joined.
func (r *routingSystem) isServed() bool {
	if r.Torus != nil && !r.s.Fabric.Faulty() {
		return true
	}
	return slices.ContainsFunc(r.s.routers(), r.servesAnyGraph) && r.isConnected()
}

// servesAnyGraph reports whether a router serves whatever links join.
func (r *routingSystem) servesAnyGraph(row *routing.Row) bool {
	if o := &r.s.Policy.Routing.Settings; r.Tiers != nil && row.DrawsPerHop != nil && row.DrawsPerHop(o) {
		return false
	}
	return row.AnyGraph != nil && row.AnyGraph(&r.s.Policy.Routing.Settings)
}

// isConnected reports whether routes lead from every node that sends to every other.
func (r *routingSystem) isConnected() bool {
	links := r.wholeNetwork().Links
	degree := make([]int, r.Whole.Nodes)
	works := func(i int) bool { return r.Health == nil || r.Health.Link[i] == torus.Works }
	for i := range links {
		if works(i) {
			degree[links[i].From]++
		}
	}
	if slices.Max(degree) > engine.MaxPort+1 {
		return false
	}
	var up []int32
	for n := range r.Whole.Nodes {
		if r.Down == nil || !r.Down[n] {
			up = append(up, n)
		}
	}
	return r.areConnected(works, up)
}

// areConnected reports whether links of a sort lead from each of some nodes to every other.
func (r *routingSystem) areConnected(use func(link int) bool, nodes []int32) bool {
	for _, back := range []bool{false, true} {
		tree := r.shortestPathTree(use, back)
		tree.Breadth(nodes[0])
		reached := make([]bool, r.Whole.Nodes)
		for _, n := range tree.Order {
			reached[n] = true
		}
		if slices.ContainsFunc(nodes, func(n int32) bool { return !reached[n] }) {
			return false
		}
	}
	return true
}

// connectsCall reports whether links lead from every rank of a call to every other.
func (r *routingSystem) connectsCall() bool {
	p, err := r.s.CallProblem()
	return err == nil && r.areConnected(func(link int) bool { return p.Network.Links[link].Rate > 0 }, p.Group)
}

// wholeNetwork returns the network without what is down.
func (r *routingSystem) wholeNetwork() *engine.Network {
	if r.Whole == nil {
		r.Whole = r.Torus.Network(nil, engine.Link{Rate: float64(r.s.Fabric.LinkRate)})
	}
	return r.Whole
}

// shortestPathTree returns shortest paths over the links of a sort, or against them.
func (r *routingSystem) shortestPathTree(use func(link int) bool, back bool) *graph.Tree {
	links := r.wholeNetwork().Links
	arcs := make([]graph.Arc, 0, len(links))
	for i, l := range links {
		switch {
		case !use(i):
		case back:
			arcs = append(arcs, graph.Arc{From: l.To, To: l.From})
		default:
			arcs = append(arcs, graph.Arc{From: l.From, To: l.To})
		}
	}
	return graph.NewTree(graph.NewDigraph(int(r.Whole.Nodes), arcs))
}

// mayExceedFlows reports whether fluid may have too many flows that are not identical.
func (r *routingSystem) mayExceedFlows(most workEstimate) bool {
	if r.s.Engine.Level != "flow" || r.s.HasDependencies() || most.flows*most.flows*most.hops <= maxFlowLevelHops*most.packets {
		return false
	}
	rows := r.s.routers()
	return !slices.ContainsFunc(rows, func(row *routing.Row) bool { return row.SharesPaths }) &&
		slices.ContainsFunc(rows, func(row *routing.Row) bool { return !r.hasUniformRates(row, most.flows) })
}

// hasUniformRates reports whether so many messages are certain to be routedAnswer.even under a router.
func (r *routingSystem) hasUniformRates(row *routing.Row, flows float64) bool {
	o := &r.s.Policy.Routing.Settings
	return r.s.trafficKind().IsUniform && r.Torus != nil && !r.s.Fabric.Faulty() && r.s.Fabric.LinkLatency == 0 &&
		row.Shortest && (row.DrawsPerHop == nil || !row.DrawsPerHop(o)) && flows*r.meanShortestHops() <= maxUniformHops
}

// packetsPerMessage returns the packets of a message, of which level flow has parts.
func (r *routingSystem) packetsPerMessage() float64 {
	w := &r.s.Workload
	if r.s.Engine.Level == "flow" {
		return float64(w.Message) / float64(w.Packet)
	}
	return math.Ceil(float64(w.Message) / float64(w.Payload))
}

// estimateRange returns the least and the most that there may be to simulate, as keys and shortest paths tell.
func (r *routingSystem) estimateRange(up int) (low, high workEstimate) {
	s := r.s
	w := &s.Workload
	slowest, rates := math.Inf(1), 0.0
	for _, l := range r.Whole.Links {
		slowest = min(slowest, l.Rate)
		rates += l.Rate
	}
	n, bits := float64(up), 8*float64(w.Packet) // bits of a packet, in the mean of the messages that have a size
	maxHops := float64(r.Whole.Nodes)           // links of a route, at most
	if r.Torus != nil {
		maxHops = 0
		for _, d := range r.Torus.Dims {
			maxHops += maxPathStretch * float64(d)
		}
	}
	flows, pairs := 0.0, n*(n-1)
	kind := s.trafficKind()
	if kind.CoversAllPairs {
		flows = pairs
	}
	if kind.maxFlows != nil {
		pairs = kind.maxFlows(n, float64(len(r.Whole.Links)))
	}
	fluid := true // messages last as long as links take for them
	switch {
	case w.Call != nil:
		low.packets = float64(w.Call.Bytes) / float64(w.Packet)
		if high.packets = 8*n*low.packets + 8*n*n; w.Call.Kind == algorithm.AllToAll {
			high.packets = 2 * n * n * math.Ceil(low.packets)
		}
	case w.Work != nil:
		bytes, transfers, slack := w.Work.Size()
		low.packets = bytes / float64(w.Packet) / slack
		high.packets = slack*bytes/float64(w.Packet) + transfers
	case w.Source == "poisson" && s.Engine.Level == "packet":
		low.seconds = w.Warmup.Seconds() + w.Duration.Seconds()
		low.packets = n * low.seconds * w.Load / (s.packetTime() / float64(engine.Second))
		high, fluid = low, false
	case w.Source == "on-off" && s.Engine.Level == "packet":
		for _, p := range []*trafficPart{{}, {isRing: true}} {
			if p.isRing && !kind.Alternates {
				continue
			}
			if kind.Alternates {
				p.periods = []onPeriod{{2 * w.Phase * engine.Time(w.Alternations), w.Phase}}
			}
			for _, on := range r.onOffSources(p) {
				low.packets = flows * float64(on.Count)
				high.packets += pairs * float64(on.Count) * float64(max(1, w.Alternations))
				high.seconds = max(high.seconds, (float64(on.Start)+on.Every*float64(on.Count))/float64(engine.Second))
			}
		}
		fluid = false
	case kind.IsListed:
		wire := 0.0
		for _, e := range w.Entries() {
			low.packets += math.Ceil(float64(e.Bytes) / float64(w.Payload))
			wire += w.WireBytes(float64(e.Bytes))
		}
		high.packets, bits = low.packets, 8*wire/max(1, low.packets)
	case s.HasUniformSize():
		low.packets = flows * r.packetsPerMessage()
		if kind.HasOwnSizes {
			low.packets = flows * float64(w.Message) / float64(w.Payload)
		} else if s.Engine.Level == "packet" {
			bits = 8 * w.WireBytes(float64(w.Message)) / r.packetsPerMessage()
		}
		high.packets = pairs * (r.packetsPerMessage() + 1)
	default: // rates and times, at levels that have none
		return workEstimate{}, workEstimate{flows: pairs, packets: pairs, hops: pairs}
	}
	low.hops, high.hops, high.flows = low.packets, high.packets*maxHops, pairs
	if flows > 0 && up == int(r.Whole.Nodes) && high.hops > assembly.MaxHops {
		mean := r.meanShortestHops()
		if r.Torus != nil || !kind.HasOwnSizes {
			high.hops = min(high.hops, maxPathStretch*high.packets*mean)
		}
		if h := w.HotSpots(); h != nil { // the hot nodes may be near
			mean *= 1 - h.Share
		}
		low.hops *= max(1, mean)
	}
	if fluid {
		pace := 1.0
		if w.Source == "paced" {
			pace = w.Pace
		}
		low.seconds = low.hops * bits / rates
		high.seconds += high.packets * bits / slowest / (1 - (&routingResult{system: r}).errorProbability()) / min(1, pace)
	}
	high.seconds += maxHops * s.Fabric.LinkLatency.Seconds()
	if until := s.Engine.Until.Seconds(); until > 0 {
		carried := until * rates / bits
		low.hops, high.hops = min(low.hops, carried), min(high.hops, carried)
	}
	if buffer, err := s.Fabric.QueueCapacity(w.Packet); err == nil && buffer > 0 && !s.HasDependencies() && w.Source != "window" {
		low.hops = min(low.hops, low.seconds*rates/bits)
	}
	return low, high
}

// meanShortestHops returns the mean links of a shortest path between two nodes, of all pairs that are joined.
func (r *routingSystem) meanShortestHops() float64 {
	if r.Torus != nil {
		n := float64(r.Torus.Nodes())
		return float64(r.Torus.Distances().Sum) / n / (n - 1)
	}
	n, sum := r.Whole.Nodes, 0.0
	tree := r.shortestPathTree(func(int) bool { return true }, false)
	for src := range n {
		tree.Breadth(src)
		for _, node := range tree.Order {
			sum += tree.Dist[node]
		}
	}
	return sum / float64(n) / float64(n-1)
}

// unservedDiagnostic is the fault of the input that a router serves the fabric not, for some reason, and no other does.
func (r *routingSystem) unservedDiagnostic(name string, why error) schema.Diagnostic {
	want := "choose another router, such as " + schema.Quote(routing.DefaultName(false, false)) + ", or add others, which then go on"
	switch {
	case r.hasUnreachableFlow() && r.s.Fabric.Faulty():
		want = "let fewer fail: no router can join these"
	case r.hasUnreachableFlow():
		want = "add links: no router can join these"
	case r.servesAnyGraph(routing.ByName(name)):
		want = "or add other routers, which then go on"
	}
	return schema.Diagnostic{
		File: r.s.Name, Key: "policy.routers", Problem: name + ": " + strings.Replace(why.Error(), routing.ErrUnserved.Error()+": ", "", 1), Remedy: want,
	}
}

// checkLimits fails where simulating so much would take more time than is simulated, or more hops of packets than anybody
// waits for. late is what of the seconds is latency.
func (r *routingSystem) checkLimits(name string, x workEstimate, late float64) error {
	s := r.s
	if s.Engine.Level == "static" {
		return nil
	}
	w := &s.Workload.Traffic
	for _, q := range []struct {
		of, key, want string
	}{
		{"paced", "workload.pace", "choose a higher pace, smaller messages or faster links"},
		{"late", "fabric.link_latency", "choose less latency"},
		{"", "workload.message", "choose smaller messages, faster links or less latency"},
	} {
		if most := assembly.MaxInjectionTime.Seconds(); x.seconds > most && (q.of == "" || q.of == "late" && late > x.seconds/2 || q.of == w.Source && w.Pace < 1 && !s.HasDependencies()) {
			return r.inputError(q.key, fmt.Sprintf("%s takes %.3g s of simulated time", name, x.seconds), fmt.Sprintf("%s, for at most %.0f s", q.want, most))
		}
	}
	if s.Engine.Level != "packet" {
		return nil
	}
	if err := s.hopCost().Scale(x.hops).CheckLimits(fmt.Sprintf("%.2g packets of %s", x.packets, name), hopsRemedy(s)); err != nil {
		key := "workload.packet"
		switch {
		case w.Source == "poisson":
			key = "workload.duration"
		case w.Source == "on-off":
			key = "workload.rate"
		}
		what, want := assembly.SplitError(err)
		return r.inputError(key, what, want)
	}
	if w.Source == "poisson" && s.Fabric.Queue == "unbounded" {
		if waiting := r.backlog(x); waiting*float64(packet.PacketBytes) > packet.DefaultMaxBytes {
			return r.inputError("workload.load", fmt.Sprintf("%s leaves about %.2g packets waiting, more than memory may hold", name, waiting), "choose less load, or a shorter workload.duration and warmup")
		}
	}
	return nil
}

// backlog returns about how many packets of an extent are in the network when the last is injected: those that links
// cannot have carried by then.
func (r *routingSystem) backlog(x workEstimate) float64 {
	if x.packets == 0 || x.seconds == 0 {
		return 0
	}
	rates := 0.0
	for _, l := range r.Whole.Links {
		rates += l.Rate
	}
	part := 1.0
	if until := r.s.Engine.Until.Seconds(); until > 0 {
		part = min(1, until/x.seconds)
	}
	carried := x.seconds * rates / (8 * float64(r.s.Workload.Packet)) * x.packets / x.hops
	return part * (x.packets - carried)
}

// checkSamples fails where more lengths of queues are to be kept than memory holds, of so many seconds.
func (r *routingSystem) checkSamples(name string, seconds float64) error {
	s := r.s
	links := float64(len(r.Whole.Links))
	if until := s.Engine.Until.Seconds(); until > 0 {
		seconds = min(seconds, until)
	}
	if every := s.Engine.SampleEvery.Seconds(); s.Engine.Level == "packet" && every > 0 && seconds/every*links > assembly.MaxQueueSamples {
		return r.inputError("engine.sample_every", fmt.Sprintf("%s has %.2g lengths of queues to keep, of %.0f links over some %.3g s", name, seconds/every*links, links, seconds),
			fmt.Sprintf("choose at least %s, for %d", units.FormatTime(roundUp(seconds*links/assembly.MaxQueueSamples)), assembly.MaxQueueSamples))
	}
	return nil
}
