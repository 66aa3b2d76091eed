// This file checks whether some router serves the fabric, and whether the simulation
// stays within the limits.

package paths

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"sim/engine/packet"
	"sim/engine/units"
	"sim/policies/routing"
	"sim/scenarios/assembly"
	"sim/scenarios/assembly/composition"
	"sim/scenarios/schema"
)

// checkPaths reports whether some listed router serves the fabric, and whether the
// simulation of the traffic on its paths stays within the limits. up is the number
// of nodes that are up. All other checks must have passed.
//
// Bounds from shortest paths come first, before anything large is allocated. If
// they do not decide, the routers choose paths, as they will in a run. This is
// omitted for one cell of many.
func checkPaths(c *schema.Reader, r *routingSystem, cell bool, up int) {
	s := r.s
	if s.Engine.Level == "static" && r.isServed() {
		return
	}
	r.wholeNetwork()
	low, high := r.estimateRange(up)
	const latency = 0 // the estimates do not separate it
	if err := r.checkLimits("the traffic", low, latency); err != nil {
		reject(c, err)
		return
	}

	if s.Workload.Call != nil { // the transfers depend on the algorithm
		if !r.connectsCall() {
			c.Conflict(append([]string{"workload.group"}, relatedKeys["policy.routers"]...),
				"links that are up do not join all ranks",
				"add links, let fewer fail, or choose other ranks")
		}
		return
	}

	// The scenario is feasible if some router certainly serves the fabric and even
	// the upper estimates are within the limits.
	serves := r.isServed()
	const subject = "" // the diagnostics are not used
	withinLimits := s.Engine.Level == "static" || r.checkLimits(subject, high, latency) == nil &&
		r.checkSamples(subject, high.seconds) == nil && !r.mayExceedFlows(high)
	if cell || serves && withinLimits {
		return
	}

	// Ask the routers.
	built, err := build(context.Background(), s)
	if err != nil {
		reject(c, err)
		return
	}

	var unserved schema.Diagnostics // one for each router that cannot serve the fabric
	for _, row := range s.routers() {
		if row.IsSlow && serves {
			// The paths of the default router are hardly longer.
			row = routing.ByName(graphRouter())
		}

		err := built.tryRouter(row, withinLimits)
		if e := (*unservedError)(nil); errors.As(err, &e) {
			unserved = append(unserved, built.unservedDiagnostic(row.Name, e.reason))
			continue
		}
		if err != nil {
			reject(c, err)
			return
		}
		serves = true
	}

	if !serves {
		reject(c, unserved)
	}
}

// tryRouter returns the error of choosePaths. If the limits are certainly kept, it
// first asks the router whether it serves the fabric, which is faster than
// computing paths.
func (r *routingSystem) tryRouter(row *routing.Row, withinLimits bool) error {
	if withinLimits {
		// Before a fault in mid-run, routers see at least these links.
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

// reject adds the diagnostics in err to c. Each names the first key of relatedKeys
// that the scenario sets.
func reject(c *schema.Reader, err error) {
	var diagnostics schema.Diagnostics
	if !errors.As(err, &diagnostics) {
		c.Add("workload.kind", assembly.ErrorText(err), "choose other traffic")
		return
	}
	for _, d := range diagnostics {
		c.Conflict(append([]string{d.Key}, relatedKeys[d.Key]...), d.Problem, d.Remedy)
	}
}

// relatedKeys are other keys that may have caused the problem reported for a key.
// The diagnostic names the one that the scenario sets.
var relatedKeys = map[string][]string{
	"policy.routers": {
		"fabric.failed_ocs", "fabric.failed_links", "fabric.failed_machines",
		"fabric.failed_chips", "fabric.drained_links", "fabric.edges", "fabric.file",
	},
	"workload.packet":   {"workload.message", "workload.matrix_file", "workload.matrix"},
	"workload.duration": {"workload.load", "workload.warmup"},
	"workload.rate":     {"workload.duration"},
	"workload.message": {
		"workload.matrix_file", "workload.matrix", "fabric.link_rate", "fabric.link_latency",
	},
}

// isServed reports whether some listed router certainly serves the fabric: a torus
// without faults, or a connected graph with a router that serves any graph. It
// computes no paths.
func (r *routingSystem) isServed() bool {
	if r.Torus != nil && !r.s.Fabric.Faulty() {
		return true
	}
	return slices.ContainsFunc(r.s.routers(), r.servesAnyGraph) && r.isConnected()
}

// servesAnyGraph reports whether a router serves every connected graph. Routers
// that draw a link at each hop do not serve tiers.
func (r *routingSystem) servesAnyGraph(row *routing.Row) bool {
	o := &r.s.Policy.Routing.Settings
	drawsPerHop := row.DrawsPerHop != nil && row.DrawsPerHop(o)
	if r.Tiers != nil && drawsPerHop {
		return false
	}
	return row.AnyGraph != nil && row.AnyGraph(o)
}

// graphRouter returns the default router of graphs without faults, which serves every
// connected graph.
func graphRouter() string {
	const isTorus, isFaulty = false, false
	return routing.DefaultName(isTorus, isFaulty)
}

// unservedDiagnostic returns the diagnostic of a scenario that router name cannot
// serve because of err. It applies if no other router serves the scenario.
func (r *routingSystem) unservedDiagnostic(name string, err error) schema.Diagnostic {
	want := "choose another router, such as " + schema.Quote(graphRouter()) +
		", or add others, which then go on"
	switch {
	case r.hasUnreachableFlow() && r.s.Fabric.Faulty():
		want = "let fewer fail: no router can join these"
	case r.hasUnreachableFlow():
		want = "add links: no router can join these"
	case r.servesAnyGraph(routing.ByName(name)):
		want = "or add other routers, which then go on"
	}

	reason := strings.Replace(err.Error(), routing.ErrUnserved.Error()+": ", "", 1)
	return schema.Diagnostic{
		File: r.s.Name, Key: "policy.routers", Problem: name + ": " + reason, Remedy: want,
	}
}

// checkLimits returns a diagnostic if a simulation of size x exceeds the limits of
// simulated time, packet hops or waiting packets. name is its subject. latency is
// the part of x.seconds that is link latency; it selects the key to blame.
func (r *routingSystem) checkLimits(name string, x workEstimate, latency float64) error {
	s := r.s
	if s.Engine.Level == "static" {
		return nil
	}
	w := &s.Workload.Traffic

	// If the simulated time is too long, name the most likely cause.
	maxSeconds := assembly.MaxInjectionTime.Seconds()
	if x.seconds > maxSeconds {
		key, remedy := "workload.message", "choose smaller messages, faster links or less latency"
		switch {
		case w.Source == "paced" && w.Pace < 1 && !s.HasDependencies():
			key, remedy = "workload.pace", "choose a higher pace, smaller messages or faster links"
		case latency > x.seconds/2:
			key, remedy = "fabric.link_latency", "choose less latency"
		}
		return r.inputError(key, fmt.Sprintf("%s takes %.3g s of simulated time", name, x.seconds),
			fmt.Sprintf("%s, for at most %.0f s", remedy, maxSeconds))
	}

	if s.Engine.Level != "packet" {
		return nil
	}

	// At level packet, the number of packet hops determines time and memory.
	subject := fmt.Sprintf("%.2g packets of %s", x.packets, name)
	if err := s.HopCost().Scale(x.hops).CheckLimits(subject, hopsRemedy(s)); err != nil {
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

	// Queues without limit grow if the load exceeds the capacity of links.
	if w.Source == "poisson" && s.Fabric.Queue == "unbounded" {
		waiting := r.backlog(x)
		if waiting*float64(packet.PacketBytes) > float64(composition.MaxPacketBytes) {
			return r.inputError("workload.load",
				fmt.Sprintf("%s leaves about %.2g packets waiting, more than memory may hold", name, waiting),
				"choose less load, or a shorter workload.duration and warmup")
		}
	}

	return nil
}

// checkSamples returns a diagnostic if sampling the queues of all links for a
// number of seconds stores too many values. name is the subject of the message.
func (r *routingSystem) checkSamples(name string, seconds float64) error {
	s := r.s
	links := float64(len(r.Whole.Links))

	if until := s.Engine.Until.Seconds(); until > 0 {
		seconds = min(seconds, until)
	}

	every := s.Engine.SampleEvery.Seconds()
	if s.Engine.Level != "packet" || every == 0 {
		return nil
	}

	samples := seconds / every * links
	if samples <= assembly.MaxQueueSamples {
		return nil
	}
	minInterval := roundUp(seconds * links / assembly.MaxQueueSamples)
	return r.inputError("engine.sample_every",
		fmt.Sprintf("%s has %.2g lengths of queues to keep, of %.0f links over some %.3g s", name, samples, links, seconds),
		fmt.Sprintf("choose at least %s, for %d", units.FormatTime(minInterval), assembly.MaxQueueSamples))
}
