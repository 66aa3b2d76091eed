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
	"sim/scenarios/schema"
)

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
			c.Clash(append([]string{"workload.group"}, relatedKeys["policy.routers"]...),
				"links that are up do not join all ranks",
				"add links, let fewer fail, or choose other ranks")
		}
		return
	}
	serves := r.isServed()
	within := s.Engine.Level == "static" ||
		r.checkLimits("", most, 0) == nil && r.checkSamples("", most.seconds) == nil &&
			!r.mayExceedFlows(most)
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
		"fabric.failed_ocs", "fabric.failed_links", "fabric.failed_machines",
		"fabric.failed_chips",
		"fabric.drained_links", "fabric.edges", "fabric.file",
	},
	"workload.packet":   {"workload.message", "workload.matrix_file", "workload.matrix"},
	"workload.duration": {"workload.load", "workload.warmup"},
	"workload.rate":     {"workload.duration"},
	"workload.message": {"workload.matrix_file", "workload.matrix", "fabric.link_rate",
		"fabric.link_latency"},
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
	if o := &r.s.Policy.Routing.Settings; r.Tiers != nil && row.DrawsPerHop != nil &&
		row.DrawsPerHop(o) {
		return false
	}
	return row.AnyGraph != nil && row.AnyGraph(&r.s.Policy.Routing.Settings)
}

// unservedDiagnostic is the fault of the input that a router serves the fabric not, for some reason, and no other does.
func (r *routingSystem) unservedDiagnostic(name string, why error) schema.Diagnostic {
	want := "choose another router, such as " + schema.Quote(routing.DefaultName(false,
		false)) + ", or add others, which then go on"
	switch {
	case r.hasUnreachableFlow() && r.s.Fabric.Faulty():
		want = "let fewer fail: no router can join these"
	case r.hasUnreachableFlow():
		want = "add links: no router can join these"
	case r.servesAnyGraph(routing.ByName(name)):
		want = "or add other routers, which then go on"
	}

	return schema.Diagnostic{
		File: r.s.Name, Key: "policy.routers",
		Problem: name + ": " + strings.Replace(why.Error(), routing.ErrUnserved.Error()+": ",
			"", 1), Remedy: want,
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
		if most := assembly.MaxInjectionTime.Seconds(); x.seconds > most &&
			(q.of == "" || q.of == "late" && late > x.seconds/2 || q.of == w.Source && w.Pace < 1 && !s.HasDependencies()) {
			return r.inputError(q.key, fmt.Sprintf("%s takes %.3g s of simulated time", name,
				x.seconds), fmt.Sprintf("%s, for at most %.0f s", q.want, most))
		}
	}

	if s.Engine.Level != "packet" {
		return nil
	}
	if err := s.hopCost().Scale(x.hops).CheckLimits(fmt.Sprintf("%.2g packets of %s",
		x.packets,
		name), hopsRemedy(s)); err != nil {
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
			return r.inputError("workload.load",
				fmt.Sprintf("%s leaves about %.2g packets waiting, more than memory may hold", name,
					waiting), "choose less load, or a shorter workload.duration and warmup")
		}
	}

	return nil
}

// checkSamples fails where more lengths of queues are to be kept than memory holds, of so many seconds.
func (r *routingSystem) checkSamples(name string, seconds float64) error {
	s := r.s
	links := float64(len(r.Whole.Links))
	if until := s.Engine.Until.Seconds(); until > 0 {
		seconds = min(seconds, until)
	}
	if every := s.Engine.SampleEvery.Seconds(); s.Engine.Level == "packet" && every > 0 &&
		seconds/every*links > assembly.MaxQueueSamples {
		return r.inputError("engine.sample_every",
			fmt.Sprintf("%s has %.2g lengths of queues to keep, of %.0f links over some %.3g s",
				name, seconds/every*links, links, seconds),
			fmt.Sprintf("choose at least %s, for %d",
				units.FormatTime(roundUp(seconds*links/assembly.MaxQueueSamples)),
				assembly.MaxQueueSamples))
	}
	return nil
}
