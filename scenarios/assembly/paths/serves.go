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

// extent is about how much there is to simulate: flows between nodes, their packets, the links that these take in all,
// and seconds of simulated time.
type extent struct{ flows, packets, hops, seconds float64 }

// longestRoute is how many times longer routes are taken to be than shortest paths, at most: where this decides whether
// limits are kept, the routers are asked.
const longestRoute = 4

// checkRoutes holds what routes decide: that a router of those listed serves the fabric, and that simulating the
// traffic on its routes stays within the limits. What shortest paths tell is told without routes, before anything large
// is allocated. Where that leaves a doubt the routers decide, as they will in a run; not so of a cell. up nodes are up;
// all else must be sound.
func checkRoutes(c *schema.Reader, r *routed, cell bool, up int) {
	s := r.s
	if s.Engine.Level == "static" && r.served() {
		return
	}
	r.network()
	least, most := r.extents(up)
	if err := r.limits("the traffic", least, 0); err != nil {
		refuse(c, err)
		return
	}
	if s.Workload.Call != nil { // whose routes depend on its algorithm
		if !r.connected() {
			c.Clash(append([]string{"workload.group"}, together["policy.routers"]...), "links that are up do not join all ranks", "add links, let fewer fail, or choose other ranks")
		}
		return
	}
	serves := r.served()
	within := s.Engine.Level == "static" || r.limits("", most, 0) == nil && r.samples("", most.seconds) == nil && !r.crowded(most)
	if cell || serves && within {
		return
	}
	built, err := build(context.Background(), s)
	if err != nil {
		refuse(c, err)
		return
	}
	var none schema.Diagnostics // of the routers that cannot serve it
	for _, row := range s.routers() {
		if row.IsSlow && serves {
			row = routing.ByName(routing.DefaultName(false, false)) // whose paths are hardly shorter
		}
		err := built.try(row, within)
		if not := (*unservable)(nil); errors.As(err, &not) {
			none = append(none, built.unserving(row.Name, not.why))
			continue
		}
		if err != nil {
			refuse(c, err)
			return
		}
		serves = true
	}
	if !serves {
		refuse(c, none)
	}
}

// try fails as choose does. Where the limits are kept for certain it asks routers whether they serve the fabric, which
// is sooner said than routes are found.
func (r *routed) try(row *routing.Row, within bool) error {
	if within {
		// what is seen before a fault has no fewer links
		if asked, err := row.CheckServes(r.problem(r.Known), r.s.options()); asked {
			if errors.Is(err, routing.ErrUnserved) {
				if r.s.Fabric.FailAt > 0 {
					err = fmt.Errorf("after the fault: %w", err)
				}
				err = &unservable{err}
			}
			return err
		}
	}
	_, _, err := r.choose(context.Background(), row)
	return err
}

// refuse adds the faults that err holds, by the keys of the scenario.
func refuse(c *schema.Reader, err error) {
	var faults schema.Diagnostics
	if !errors.As(err, &faults) {
		c.Add("workload.kind", assembly.ErrorText(err), "choose other traffic")
		return
	}
	for _, f := range faults {
		c.Clash(append([]string{f.Key}, together[f.Key]...), f.Problem, f.Remedy)
	}
}

// together are the keys that a fault of one may be about as well: it is told by the one that is given.
var together = map[string][]string{
	"policy.routers": {
		"fabric.failed_ocs", "fabric.failed_links", "fabric.failed_machines", "fabric.failed_chips", "fabric.drained_links", "fabric.edges", "fabric.file",
	},
	"workload.packet":   {"workload.message", "workload.matrix_file", "workload.matrix"},
	"workload.duration": {"workload.load", "workload.warmup"},
	"workload.rate":     {"workload.duration"},
	"workload.message":  {"workload.matrix_file", "workload.matrix", "fabric.link_rate", "fabric.link_latency"},
}

// served reports whether it is certain, without routes, that some router of those listed serves the fabric: nothing is
// down, or it serves any graph, of which all nodes are joined.
func (r *routed) served() bool {
	if r.Torus != nil && !r.s.Fabric.Faulty() {
		return true
	}
	return slices.ContainsFunc(r.s.routers(), r.anyGraph) && r.joined()
}

// anyGraph reports whether a router serves whatever links join.
func (r *routed) anyGraph(row *routing.Row) bool {
	if o := &r.s.Policy.Routing.Settings; r.Tiers != nil && row.DrawsPerHop != nil && row.DrawsPerHop(o) {
		return false
	}
	return row.AnyGraph != nil && row.AnyGraph(&r.s.Policy.Routing.Settings)
}

// joined reports whether routes lead from every node that sends to every other.
func (r *routed) joined() bool {
	links := r.network().Links
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
	return r.reaches(works, up)
}

// reaches reports whether links of a sort lead from each of some nodes to every other.
func (r *routed) reaches(use func(link int) bool, nodes []int32) bool {
	for _, back := range []bool{false, true} {
		tree := r.tree(use, back)
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

// connected reports whether links lead from every rank of a call to every other.
func (r *routed) connected() bool {
	p, err := r.s.Problem()
	return err == nil && r.reaches(func(link int) bool { return p.Network.Links[link].Rate > 0 }, p.Group)
}

// network returns the network without what is down.
func (r *routed) network() *engine.Network {
	if r.Whole == nil {
		r.Whole = r.Torus.Network(nil, engine.Link{Rate: float64(r.s.Fabric.LinkRate)})
	}
	return r.Whole
}

// tree returns shortest paths over the links of a sort, or against them.
func (r *routed) tree(use func(link int) bool, back bool) *graph.Tree {
	links := r.network().Links
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

// crowded reports whether fluid may have too many flows that are not identical.
func (r *routed) crowded(most extent) bool {
	if r.s.Engine.Level != "flow" || r.s.Dependent() || most.flows*most.flows*most.hops <= mostFluid*most.packets {
		return false
	}
	rows := r.s.routers()
	return !slices.ContainsFunc(rows, func(row *routing.Row) bool { return row.SharesPaths }) &&
		slices.ContainsFunc(rows, func(row *routing.Row) bool { return !r.even(row, most.flows) })
}

// even reports whether so many messages are certain to be routedAnswer.even under a router.
func (r *routed) even(row *routing.Row, flows float64) bool {
	o := &r.s.Policy.Routing.Settings
	return r.s.traffic().Alike && r.Torus != nil && !r.s.Fabric.Faulty() && r.s.Fabric.LinkLatency == 0 &&
		row.Shortest && (row.DrawsPerHop == nil || !row.DrawsPerHop(o)) && flows*r.meanShortest() <= mostEven
}

// each returns the packets of a message, of which level flow has parts.
func (r *routed) each() float64 {
	w := &r.s.Workload
	if r.s.Engine.Level == "flow" {
		return float64(w.Message) / float64(w.Packet)
	}
	return math.Ceil(float64(w.Message) / float64(w.Payload))
}

// extents returns the least and the most that there may be to simulate, as keys and shortest paths tell.
func (r *routed) extents(up int) (least, most extent) {
	s := r.s
	w := &s.Workload
	slowest, rates := math.Inf(1), 0.0
	for _, l := range r.Whole.Links {
		slowest = min(slowest, l.Rate)
		rates += l.Rate
	}
	n, bits := float64(up), 8*float64(w.Packet) // bits of a packet, in the mean of the messages that have a size
	far := float64(r.Whole.Nodes)               // links of a route, at most
	if r.Torus != nil {
		far = 0
		for _, d := range r.Torus.Dims {
			far += longestRoute * float64(d)
		}
	}
	flows, pairs := 0.0, n*(n-1)
	kind := s.traffic()
	if kind.EveryPair {
		flows = pairs
	}
	if kind.pairs != nil {
		pairs = kind.pairs(n, float64(len(r.Whole.Links)))
	}
	fluid := true // messages last as long as links take for them
	switch {
	case w.Call != nil:
		least.packets = float64(w.Call.Bytes) / float64(w.Packet)
		if most.packets = 8*n*least.packets + 8*n*n; w.Call.Kind == algorithm.AllToAll {
			most.packets = 2 * n * n * math.Ceil(least.packets)
		}
	case w.Work != nil:
		bytes, transfers, slack := w.Work.Size()
		least.packets = bytes / float64(w.Packet) / slack
		most.packets = slack*bytes/float64(w.Packet) + transfers
	case w.Source == "poisson" && s.Engine.Level == "packet":
		least.seconds = w.Warmup.Seconds() + w.Duration.Seconds()
		least.packets = n * least.seconds * w.Load / (s.packetTime() / float64(engine.Second))
		most, fluid = least, false
	case w.Source == "on-off" && s.Engine.Level == "packet":
		for _, p := range []*part{{}, {ring: true}} {
			if p.ring && !kind.Turns {
				continue
			}
			if kind.Turns {
				p.turns = []turn{{2 * w.Phase * engine.Time(w.Alternations), w.Phase}}
			}
			for _, on := range r.onOff(p) {
				least.packets = flows * float64(on.Count)
				most.packets += pairs * float64(on.Count) * float64(max(1, w.Alternations))
				most.seconds = max(most.seconds, (float64(on.Start)+on.Every*float64(on.Count))/float64(engine.Second))
			}
		}
		fluid = false
	case kind.Listed:
		wire := 0.0
		for _, e := range w.Entries() {
			least.packets += math.Ceil(float64(e.Bytes) / float64(w.Payload))
			wire += w.WireBytes(float64(e.Bytes))
		}
		most.packets, bits = least.packets, 8*wire/max(1, least.packets)
	case s.Sized():
		least.packets = flows * r.each()
		if kind.OwnSizes {
			least.packets = flows * float64(w.Message) / float64(w.Payload)
		} else if s.Engine.Level == "packet" {
			bits = 8 * w.WireBytes(float64(w.Message)) / r.each()
		}
		most.packets = pairs * (r.each() + 1)
	default: // rates and times, at levels that have none
		return extent{}, extent{flows: pairs, packets: pairs, hops: pairs}
	}
	least.hops, most.hops, most.flows = least.packets, most.packets*far, pairs
	if flows > 0 && up == int(r.Whole.Nodes) && most.hops > assembly.MaxHops {
		mean := r.meanShortest()
		if r.Torus != nil || !kind.OwnSizes {
			most.hops = min(most.hops, longestRoute*most.packets*mean)
		}
		if h := w.HotSpots(); h != nil { // the hot nodes may be near
			mean *= 1 - h.Share
		}
		least.hops *= max(1, mean)
	}
	if fluid {
		pace := 1.0
		if w.Source == "paced" {
			pace = w.Pace
		}
		least.seconds = least.hops * bits / rates
		most.seconds += most.packets * bits / slowest / (1 - (&routedAnswer{r: r}).wrong()) / min(1, pace)
	}
	most.seconds += far * s.Fabric.LinkLatency.Seconds()
	if until := s.Engine.Until.Seconds(); until > 0 {
		carried := until * rates / bits
		least.hops, most.hops = min(least.hops, carried), min(most.hops, carried)
	}
	if buffer, err := s.Fabric.QueueCapacity(w.Packet); err == nil && buffer > 0 && !s.Dependent() && w.Source != "window" {
		least.hops = min(least.hops, least.seconds*rates/bits)
	}
	return least, most
}

// meanShortest returns the mean links of a shortest path between two nodes, of all pairs that are joined.
func (r *routed) meanShortest() float64 {
	if r.Torus != nil {
		n := float64(r.Torus.Nodes())
		return float64(r.Torus.Distances().Sum) / n / (n - 1)
	}
	n, sum := r.Whole.Nodes, 0.0
	tree := r.tree(func(int) bool { return true }, false)
	for src := range n {
		tree.Breadth(src)
		for _, node := range tree.Order {
			sum += tree.Dist[node]
		}
	}
	return sum / float64(n) / float64(n-1)
}

// unserving is the fault of the input that a router serves the fabric not, for some reason, and no other does.
func (r *routed) unserving(name string, why error) schema.Diagnostic {
	want := "choose another router, such as " + schema.Quote(routing.DefaultName(false, false)) + ", or add others, which then go on"
	switch {
	case r.apart() && r.s.Fabric.Faulty():
		want = "let fewer fail: no router can join these"
	case r.apart():
		want = "add links: no router can join these"
	case r.anyGraph(routing.ByName(name)):
		want = "or add other routers, which then go on"
	}
	return schema.Diagnostic{
		File: r.s.Name, Key: "policy.routers", Problem: name + ": " + strings.Replace(why.Error(), routing.ErrUnserved.Error()+": ", "", 1), Remedy: want,
	}
}

// limits fails where simulating so much would take more time than is simulated, or more hops of packets than anybody
// waits for. late is what of the seconds is latency.
func (r *routed) limits(name string, x extent, late float64) error {
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
		if most := assembly.MaxInjectionTime.Seconds(); x.seconds > most && (q.of == "" || q.of == "late" && late > x.seconds/2 || q.of == w.Source && w.Pace < 1 && !s.Dependent()) {
			return r.fault(q.key, fmt.Sprintf("%s takes %.3g s of simulated time", name, x.seconds), fmt.Sprintf("%s, for at most %.0f s", q.want, most))
		}
	}
	if s.Engine.Level != "packet" {
		return nil
	}
	if err := s.hop().Scale(x.hops).CheckLimits(fmt.Sprintf("%.2g packets of %s", x.packets, name), fewerHops(s)); err != nil {
		key := "workload.packet"
		switch {
		case w.Source == "poisson":
			key = "workload.duration"
		case w.Source == "on-off":
			key = "workload.rate"
		}
		what, want := assembly.SplitError(err)
		return r.fault(key, what, want)
	}
	if w.Source == "poisson" && s.Fabric.Queue == "unbounded" {
		if waiting := r.backlog(x); waiting*float64(packet.PacketBytes) > packet.DefaultMaxBytes {
			return r.fault("workload.load", fmt.Sprintf("%s leaves about %.2g packets waiting, more than memory may hold", name, waiting), "choose less load, or a shorter workload.duration and warmup")
		}
	}
	return nil
}

// backlog returns about how many packets of an extent are in the network when the last is injected: those that links
// cannot have carried by then.
func (r *routed) backlog(x extent) float64 {
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

// samples fails where more lengths of queues are to be kept than memory holds, of so many seconds.
func (r *routed) samples(name string, seconds float64) error {
	s := r.s
	links := float64(len(r.Whole.Links))
	if until := s.Engine.Until.Seconds(); until > 0 {
		seconds = min(seconds, until)
	}
	if every := s.Engine.SampleEvery.Seconds(); s.Engine.Level == "packet" && every > 0 && seconds/every*links > assembly.MaxQueueSamples {
		return r.fault("engine.sample_every", fmt.Sprintf("%s has %.2g lengths of queues to keep, of %.0f links over some %.3g s", name, seconds/every*links, links, seconds),
			fmt.Sprintf("choose at least %s, for %d", units.FormatTime(roundUp(seconds*links/assembly.MaxQueueSamples)), assembly.MaxQueueSamples))
	}
	return nil
}
