// This file checks scenarios before a run: nodes that send, sizes of traffic,
// mappings, and the limits of packet simulations. feasibility.go checks routers and
// costs.

package paths

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"sim/engine"
	"sim/engine/units"
	"sim/fabric/links"
	"sim/fabric/torus"
	"sim/policies/mapping"
	"sim/scenarios/assembly"
	"sim/scenarios/schema"
	"sim/workloads/collective"
)

// EndpointKeys are the keys that determine how many nodes send and receive,
// ordered by the likelihood of a mistake.
var EndpointKeys = []string{
	"fabric.failed_chips", "fabric.failed_machines", "fabric.switches.first_node", "fabric.dims",
	"fabric.gpus", "fabric.nodes", "fabric.edges", "fabric.file",
	"fabric.generator", "fabric.pods", "fabric.gpus_per_pod",
}

// Check reports the errors of a scenario that show only when its traffic is placed
// on the fabric. It assumes that each key is valid by itself. nodes is the number
// of nodes, t the torus or nil for a graph, and f the faults of the torus. For one
// cell of many, Check does not ask routers whether they can serve the fabric; a
// run reports this.
func Check(c *schema.Reader, s *Scenario, cell bool, nodes int, t *torus.Torus, f torus.Faults) {
	w := &s.Workload.Traffic
	r := &routingSystem{s: s, System: links.System{Torus: t}} // checks need no built system

	// Set the parts of r.System that checks need: the state of links (Health), the nodes
	// that send nothing (Down), and the network without faults (Whole).
	switch {
	case len(s.Fabric.InnerTiers) > 0:
		hardware, err := s.Fabric.Build()
		if err != nil {
			c.Conflict([]string{"fabric.kind"}, assembly.ErrorText(err),
				"choose tiers that fit each other")
			return
		}
		r.System, t, nodes = hardware, nil, int(hardware.Whole.Nodes)
	case t != nil:
		h, err := t.Health(f)
		if err != nil {
			return // reported with the keys of faults
		}
		r.Health, r.Down = h, links.DownNodes(h)
	default:
		link := engine.Link{Rate: float64(s.Fabric.LinkRate), Latency: s.Fabric.LinkLatency}
		r.Whole = s.Fabric.Graph(link)
		r.Down = s.Fabric.IsSwitch()
	}

	// up is the number of nodes that send and receive.
	up := nodes
	for _, down := range r.Down {
		if down {
			up--
		}
	}

	if up < 2 {
		c.Conflict(EndpointKeys,
			fmt.Sprintf("traffic needs at least 2 nodes that are up and no switches, of %d there are %d", nodes, up),
			"choose more nodes, fewer switches, or let fewer fail")
		return
	}

	// The bytes of all pairs must be countable before any traffic is generated.
	flows := float64(up) * float64(up-1)
	totalBytes := flows * float64(w.Message)
	if s.CoversAllPairs() && w.Message > 0 && totalBytes > assembly.MaxTotalBytes {
		c.Conflict([]string{"workload.message"},
			fmt.Sprintf("%.0f messages of %d B are more bytes than can be counted", flows,
				int64(w.Message)),
			fmt.Sprintf("write at most %.0f B", math.Floor(assembly.MaxTotalBytes/flows)))
		return
	}

	if r.Tiers != nil {
		t = r.OutermostTorus()
	}

	// Ranks must fit the nodes that are up, also with each mapping that the
	// scenario names.
	if w := s.Workload.Work; w != nil {
		placed := w.Dims() != nil
		if s.BlockGPUs > 0 && placed {
			up = len(s.mappingProblem(t, nodes, r.Down).Slots)
		}
		if !checkWork(c, s, w, up) {
			return
		}
		if placed {
			p := s.mappingProblem(t, nodes, r.Down)
			assembly.CheckMappings(c, &s.Mapping, func(text string) error {
				_, err := mapping.Place(context.Background(), text, p, mapping.Options{})
				return err
			})
		}
		if len(c.Diagnostics) > 0 {
			return
		}
	}

	// The remaining checks generate the traffic, and possibly paths.
	if keys, err := r.checkTraffic(); assembly.ReportConflict(c, keys, err) {
		return
	}
	if s.Engine.Level == "packet" {
		checkPackets(c, s)
	}
	if len(c.Diagnostics) == 0 {
		checkPaths(c, r, cell, up)
	}
}

// checkTraffic generates the traffic if that can fail. It returns the error, and
// the keys that may have caused it.
func (r *routingSystem) checkTraffic() (keys []string, err error) {
	kind := r.s.workKind()
	if kind.check == nil {
		return nil, nil
	}
	return kind.check(r, max(1, int64(r.s.Workload.Message)), []string{
		"fabric.failed_chips", "fabric.failed_machines", "fabric.dims", "fabric.open",
		"fabric.edges", "fabric.file", "workload.kind",
	})
}

// blamedKeys returns the keys that may have caused err. This is only the message
// size if retry, which generates the same traffic with small messages, succeeds.
// Otherwise it is keys.
func blamedKeys(err error, keys []string, retry func() error) ([]string, error) {
	if err != nil && retry() == nil {
		return []string{"workload.message"}, err
	}
	return keys, err
}

// checkDataTensor is Kind.check of data-tensor traffic. It counts the flows in
// slices, which may be many, and generates the rings.
func (r *routingSystem) checkDataTensor(int64, []string) (keys []string, err error) {
	w := &r.s.Workload
	slice, ring := r.spannedNodes(w.TensorDims), r.spannedNodes(w.DataDims)
	where := []string{
		"workload.tensor_dims", "workload.data_dims", "fabric.failed_chips",
		"fabric.failed_machines", "fabric.dims",
	}
	if slice < 2 && ring < 2 {
		return append([]string{"fabric.dims"}, where...),
			errors.New("neither slices nor rings have two nodes; want larger dimensions")
	}

	// The flows in slices are counted, not generated.
	sliceFlows := float64(r.numNodes()) * float64(slice-1)
	err = assembly.Flow.Scale(sliceFlows).CheckLimits("the flows in slices", "smaller slices")
	if err != nil {
		return append([]string{"workload.tensor_dims"}, where...), err
	}
	if ring > 1 {
		const message = 1 // bytes; any size shows whether rings exist
		_, err = collective.RingSteps(r.Torus, links.Dims(w.DataDims), w.RingForm, w.Bidirectional, message, r.Down)
		if err != nil {
			return where, err
		}
	}

	return nil, nil
}

// checkPackets reports packet sizes, links and times that the packet simulation
// does not support.
func checkPackets(c *schema.Reader, s *Scenario) {
	w, l := &s.Workload.Traffic, &s.Fabric
	if l.LinkRate < assembly.MinLinkRate {
		c.Conflict([]string{"fabric.link_rate"},
			fmt.Sprintf("%v is too slow for packets", l.LinkRate),
			fmt.Sprintf("write at least %v, or set engine.level = \"flow\" or \"static\"",
				assembly.MinLinkRate))
	}

	if l.LinkLatency > assembly.MaxLatency {
		c.Conflict([]string{"fabric.link_latency"},
			fmt.Sprintf("%v a hop is more than packets can take", l.LinkLatency),
			fmt.Sprintf("stay within %.0fh", assembly.MaxLatency.Seconds()/3600))
	}

	// Edges may have their own rates and latencies. Only the first wrong one is
	// reported.
	for i, e := range l.Edges { // from, to, rate, latency
		rate, latency := units.Rate(e[2]), engine.Time(e[3])
		if rate > 0 && rate < assembly.MinLinkRate || latency > assembly.MaxLatency {
			c.Conflict([]string{"fabric.edges", "fabric.file"},
				fmt.Sprintf("link %d has %d b/s and a latency of %d ps", i+1, e[2], e[3]),
				fmt.Sprintf("for packets write at least %.0f b/s and at most %d ps",
					float64(assembly.MinLinkRate), assembly.MaxLatency))
			break
		}
	}

	if l.Queue == "credit" && l.Buffer > 0 && l.Buffer < w.Packet {
		c.Conflict([]string{"fabric.buffer", "workload.packet"},
			fmt.Sprintf("a buffer of %v has no room for a packet of %v", l.Buffer, w.Packet),
			"give it room for one at least, or 0B for what a round trip needs")
	}

	// A packet is correct if all its bits are. log1p and expm1 keep the precision
	// of small probabilities.
	p := -math.Expm1(8 * float64(w.Packet) * math.Log1p(-l.BitErrors))
	if p > assembly.MaxErrorProbability {
		c.Conflict([]string{"fabric.bit_errors", "workload.packet"},
			fmt.Sprintf("a packet of %v arrives wrong with probability %.6f, and is sent again",
				w.Packet, p),
			fmt.Sprintf("choose fewer errors or smaller packets, for at most %g",
				assembly.MaxErrorProbability))
	}

	checkTimes(c, s)
}

// hopsRemedy returns the text of the remedy for too many packet hops.
func hopsRemedy(s *Scenario) string {
	remedy, levels := "larger packets or smaller messages", `"flow" or "static"`
	switch {
	case s.Workload.Work != nil:
		remedy = strings.TrimSpace("larger packets " + s.Workload.Work.SizeRemedy())
	case s.trafficKind().IsListed:
		remedy = "larger packets or less traffic"
	case s.HasUniformSize():
	case s.Workload.Source == "poisson":
		remedy, levels = "a shorter workload.duration and warmup, less load", `"static"`
	default:
		remedy, levels = "a lower workload.rate, larger packets or less time", `"static"`
	}
	return remedy + ", engine.until, or engine.level = " + levels
}

// checkTimes reports packets that would be injected after the end of simulated
// time.
func checkTimes(c *schema.Reader, s *Scenario) {
	w := &s.Workload.Traffic
	limit := assembly.MaxInjectionTime
	stayWithin := fmt.Sprintf("stay within %.0f s", limit.Seconds())
	checkEnd := func(seconds float64, keys ...string) {
		if seconds > limit.Seconds() {
			c.Conflict(keys, fmt.Sprintf("packets are injected for up to %.3g s", seconds), stayWithin)
		}
	}

	switch {
	case s.Workload.Call != nil:
	case s.trafficKind().Alternates:
		checkEnd(w.Start.Seconds()+2*float64(w.Alternations)*w.Phase.Seconds(),
			"workload.phase", "workload.start", "workload.alternations")
		ring := collective.OnOff{
			Rate: w.RingRate, PayloadBytes: int32(w.Payload), WireBytes: int32(w.Packet),
			Start: w.Start, Duration: w.Phase,
		}
		if err := ring.Check(); err != nil {
			c.Conflict([]string{"workload.ring_rate", "workload.phase"}, assembly.ErrorText(err),
				"choose a higher rate or more time")
		}
	case w.Source == "on-off":
		checkEnd(w.Start.Seconds()+w.Duration.Seconds(), "workload.duration", "workload.start")
	case w.Source == "poisson":
		checkEnd(w.Warmup.Seconds()+w.Duration.Seconds(), "workload.duration", "workload.warmup")
		if w.Duration == 0 {
			c.Conflict([]string{"workload.duration"}, "no packets are measured in 0s",
				"write a time above 0")
		}
		if every := s.packetTime() / w.Load; every > float64(limit) {
			c.Conflict([]string{"workload.load"},
				fmt.Sprintf("a node injects a packet every %.3g s", every/float64(engine.Second)),
				fmt.Sprintf("write a load of at least %.3g", s.packetTime()/float64(limit)))
		}
	}

	// The fault in mid-run must also be within simulated time.
	l := &s.Fabric
	rerouted := l.FailAt.Seconds() + l.RerouteAfter.Seconds()
	if l.FailAt > 0 && rerouted > limit.Seconds() {
		c.Conflict([]string{"fabric.reroute_delay", "fabric.failure_time"},
			fmt.Sprintf("packets are rerouted at %.3g s", rerouted), stayWithin)
	}
}

// CheckStep reports keys of [workload.step] that have no effect. The table
// describes a training step that is slower because links or switches are down from
// the start, while all nodes are up. Values that mean "no step" are always
// accepted.
func CheckStep(c *schema.Reader, s *Scenario) {
	const table = "workload.step"
	l, step := &s.Fabric, &s.Workload.Step
	links := []string{"fabric.failed_ocs", "fabric.failed_links", "fabric.drained_links"}
	nodes := []string{"fabric.failed_chips", "fabric.failed_machines", "fabric.failure_time"}

	// Report the first key that has no effect. Keys with errors of their own are
	// reported elsewhere.
	for _, k := range []struct {
		key   string
		isSet bool
	}{
		{table + ".share", step.Share > 0},
		{table + ".slowdown", step.Slowdown > 0},
		{table + ".overlap", step.Overlap > 0},
	} {
		if !k.isSet || !c.OK(k.key) || !c.OK(links...) || !c.OK(nodes...) {
			continue
		}
		switch {
		case k.key == table+".overlap" && step.Share == 0:
			if !c.IsSwitchedOff(k.key, table+".share") {
				c.Conflict([]string{k.key}, "is not used without share",
					"set workload.step.share, or leave it out")
			}
			return
		case c.IsSwitchedOff(k.key, slices.Concat(links, nodes)...):
			return
		case !l.Faulty():
			c.Conflict([]string{k.key},
				"is not used where no link is down, so that the step stays as it is",
				"leave it out, or name what is down, such as fabric.failed_links")
			return
		case l.FailAt > 0 || len(l.FailedChips)+len(l.FailedMachines) > 0:
			c.Conflict([]string{k.key}, "is not used where links fail in mid-run, or nodes do",
				"leave it out, or let only links or switches be down, from the start")
			return
		}
	}
}
