// This file explains traffic on the links of a fabric, and compares the times of
// policies.

package report

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"sim/engine/units"
	"sim/internal/text"
	"sim/scenarios/result"
)

// printTraffic explains traffic on links: its bounds, the bottlenecks and their sources,
// and the time of the traffic.
func (p *writer) printTraffic(run *result.Run, row *result.Row, t *result.Traffic) {
	p.printBottleneckBounds(row, t)
	p.printLinkGroups(t)
	p.printBottlenecks(t)
	if t.Chain != nil {
		p.printChain(row.Policy, t.Chain)
	}
	p.printPolicyTimes(run)
}

// describeExposedCalls describes the exposed communication of each dimension of parallelism, as
// a sentence. It returns "" if exposed communication was not simulated.
func describeExposedCalls(r *result.Row) string {
	var all []string
	dims, seconds := r.ExposedCalls()
	for i, dim := range dims {
		all = append(all, fmt.Sprintf("%s without its %s calls",
			text.Seconds(seconds[i]), strings.ToUpper(dim)))
	}
	if all == nil {
		return ""
	}
	return " It would end sooner by " + strings.Join(all, ", ") + "."
}

// printBottleneckBounds prints the time of the traffic, the load of the bottleneck, the gap to
// the bound, and the effect of faults. Faster links elsewhere would not change these bounds.
func (p *writer) printBottleneckBounds(row *result.Row, t *result.Traffic) {
	loads, _ := row.LinkLoads()
	p.paragraph("%s", p.emphasize(row.Policy)+" "+describeEnd(row)+
		describeMaxLoad(row, &loads, t)+describeGap(row, loads.Bound)+describeFaults(&loads))
	if t.FailAtS > 0 {
		p.indented("Links fail at %s; loads are those of the routes before that.",
			text.Seconds(t.FailAtS))
	}
}

// describeEnd states the time of a row's work, or why it was not simulated, as the predicate of
// a sentence.
func describeEnd(row *result.Row) string {
	end, ends := row.End()
	mean, hasDelay := row.Metrics[result.MeanDelay]
	switch _, injects := row.Metrics[result.InjectedPackets]; {
	case row.Labels["failed"] != "":
		return "came to no end: " + row.Labels["failed"] + "."
	case ends && end.Span == "completion":
		return fmt.Sprintf("takes %s.", text.Seconds(end.S))
	case ends: // the end of an iteration
		return fmt.Sprintf("takes %s an iteration.%s", text.Seconds(end.S),
			describeExposedCalls(row))
	case hasDelay:
		return fmt.Sprintf("delivers packets after %s on average.",
			text.Seconds(mean))
	case injects:
		return "delivers nothing before the simulated time ends."
	}
	return "was not simulated over time: level static finds routes and loads."
}

// describeMaxLoad states the load of the bottleneck and its busy time, which limits the
// completion.
func describeMaxLoad(row *result.Row, loads *result.LinkLoads, t *result.Traffic) string {
	unit := "messages"
	switch {
	case loads.OverRate:
		unit = "messages per fabric.link_rate of its rate"
	case loads.Max == 1:
		unit = "message"
	}
	line := fmt.Sprintf(" The most loaded link carries %s %s", formatMessages(loads.Max), unit)
	if t.NumTied > 1 {
		line += fmt.Sprintf(", and %s as many", text.Plural(t.NumTied-1, "other"))
	}

	// Compare the busy time with the completion time, if the row has one.
	if fluid := loads.FluidS; fluid > 0 {
		line += fmt.Sprintf(": at %v that takes %s", units.Rate(t.LinkRateBitsPerS),
			text.Seconds(fluid))
		end, ends := row.End()
		switch over := end.S/fluid - 1; {
		case !ends || end.Span != "completion":
		case over > provedGap:
			line += fmt.Sprintf(", and all is delivered %s later", text.Percent(over))
		case over >= -provedGap:
			line += ", which is what bounds the time"
		}
	}
	return line + "."
}

// describeGap states the gap of the row's time if that has a lower bound, else of the largest
// load. loadBound is the lower bound on the largest load; 0 if it is unknown.
func describeGap(row *result.Row, loadBound float64) string {
	gap, hasGap := row.Metrics[result.GapToBound]
	model := row.Labels["gap_model"]
	end, timeBound, hasTimeBound := row.EndBound()
	switch {
	case !hasGap:
		return ""
	case hasTimeBound:
		time, _ := result.Find(end.Metric)
		if gap <= provedGap {
			return fmt.Sprintf(" No routes end sooner: the %s is at a lower bound (%s).", time.Words, model)
		}
		return fmt.Sprintf(" The %s is %s above a lower bound of %s (%s).",
			time.Words, text.Percent(gap), text.Seconds(timeBound), model)
	case loadBound == 0:
		return ""
	case gap <= provedGap:
		return fmt.Sprintf(" No routes do with less (%s).", model)
	}
	return fmt.Sprintf(" That is %s above a lower bound of %s (%s): routes "+
		"with less may exist.", text.Percent(gap), formatMessages(loadBound), model)
}

// describeFaults states the effect of faults on the largest load, or returns "" if it is
// unknown.
func describeFaults(loads *result.LinkLoads) string {
	ratio := loads.FaultRatio
	if ratio == 0 {
		return ""
	}
	line := fmt.Sprintf(" Where nothing is down or drained the same router has "+
		"%s on its most loaded link: ", formatMessages(loads.FaultFree))
	switch {
	case ratio < 1-provedGap:
		return line + fmt.Sprintf("the fault costs it %s of the throughput.",
			text.Percent(1-ratio))
	case ratio > 1+provedGap:
		return line + fmt.Sprintf("round the fault it happens to reach %s more.",
			text.Percent(ratio-1))
	}
	return line + "the fault costs it nothing."
}

// printLinkGroups prints the loads of the links by dimension or tier, and how even they are.
// Even loads cannot be improved by other paths.
func (p *writer) printLinkGroups(t *result.Traffic) {
	// Columns without values are hidden. longest is the longest mean wait in seconds, -1 without
	// packets.
	down, drained, longest := 0, 0, -1.0
	wait := func(g *result.LinkGroup) float64 { return g.WaitS / float64(g.Packets) }
	for i := range t.Groups {
		g := &t.Groups[i]
		down += g.Down
		drained += g.Drained
		if g.Packets > 0 {
			longest = max(longest, wait(g))
		}
	}

	table := text.NewTable("links", "number", "down", "drained", "messages,\nin all",
		"a link\non average", "most\nloaded", "even\nloads", "mean wait\nof a packet")
	table.Show("down", down > 0)
	table.Show("drained", drained > 0)
	table.Show("mean wait\nof a packet", longest >= 0)

	for i := range t.Groups {
		g := &t.Groups[i]
		mean, even, waits := 0.0, "-", "-"
		if g.Capacity > 0 {
			mean = g.Load / g.Capacity
		}
		if g.MaxLoad > 0 {
			even = text.Percent(mean / g.MaxLoad)
		}
		if g.Packets > 0 {
			waits = text.UnitFor(longest).Of(wait(g))
		}
		table.Row(g.Name, g.Links, g.Down, g.Drained, formatMessages(g.Load),
			formatMessages(mean), formatMessages(g.MaxLoad), even, waits)
	}

	p.table(table)
	p.indented("even loads: average over most; at 100 %% no rerouting within the " +
		"dimension or tier would help")
	// Ranks send each other messages of different sizes.
	if t.Chain != nil && t.Chain.Computes {
		p.indented("a message here is the most bytes that a node sends another; " +
			"links-ROUTER.csv of the run has the bytes of each link")
	}
}

// printBottlenecks prints the most loaded links with the pairs of nodes that load them.
func (p *writer) printBottlenecks(t *result.Traffic) {
	if len(t.Bottlenecks) == 0 {
		return
	}
	// usual, busy and speeds report whether some link has a value for the respective column.
	usual, busy, speeds := false, false, false
	table := text.NewTable("most loaded link", "from", "to", "messages",
		"times\nlink_rate", "nothing\ndown", "busy", "pairs", "sources",
		"desti-\nnations").Left(0, 1, 2)

	for _, l := range t.Bottlenecks {
		// Some columns are shown only if a link has a value for them.
		usual = usual || l.FaultFreeLoad != nil
		busy = busy || l.Busy != nil
		speeds = speeds || l.Speed != 1
		table.Row(l.Name, l.From, l.To, formatMessages(l.Load),
			fmt.Sprintf("%.4g", l.Speed), orDash(l.FaultFreeLoad, formatMessages),
			orDash(l.Busy, text.Percent), l.Pairs, l.Sources, l.Destinations)
	}

	table.Show("times\nlink_rate", speeds)
	table.Show("nothing\ndown", usual)
	table.Show("busy", busy)
	for _, head := range []string{"pairs", "sources", "desti-\nnations"} {
		table.Show(head, !t.PairsUnknown)
	}
	p.table(table)
	p.printOmitted(t.NumTied-len(t.Bottlenecks), "link loaded as much",
		"links loaded as much")
	if t.PairsUnknown {
		p.indented("Of so many pairs of nodes it is not kept which load a link.")
	}

	// The sources of the loads, one line per link.
	for i := range t.Bottlenecks {
		if line := describeLoad(&t.Bottlenecks[i]); line != "" {
			p.indented("%s", line)
		}
	}
	if down := slices.ContainsFunc(t.Groups, func(g result.LinkGroup) bool {
		return g.Down+g.Drained > 0
	}); down && !usual && t.FailAtS == 0 && !t.PairsUnknown {
		p.indented("Which messages go round what is down is not known: with nodes " +
			"down there is no usual route to compare with.")
	}
}

// orDash formats a value, or returns "-" for nil.
func orDash(v *float64, print func(float64) string) string {
	if v == nil {
		return "-"
	}
	return print(*v)
}

// describeLoad names the dominant sources of a link's load, and the load caused by faults. It
// returns "" if the load has no dominant sources and no detours.
func describeLoad(l *result.LoadedLink) string {
	// A source is dominant from this share of the load, if it also has twice the mean load.
	const dominant = 0.5
	var parts []string
	// Nodes that send or receive a large part of the load.
	for _, n := range []struct {
		result.NodeLoad
		words string
		nodes int
	}{{l.TopSource, "come from", l.Sources},
		{l.TopDestination, "are for", l.Destinations}} {
		if n.Load >= dominant*l.Load && n.nodes > 1 {
			parts = append(parts, fmt.Sprintf("%s %s %s", formatMessages(n.Load),
				n.words, n.Node))
		}
	}

	// A pair with a large part of the load.
	if h := l.TopPairs; len(h) > 1 && h[0].Load > h[len(h)-1].Load &&
		dominant*h[0].Load*float64(l.Pairs) > l.Load {
		parts = append(parts, fmt.Sprintf("%s are from %s to %s alone",
			formatMessages(h[0].Load), h[0].Src, h[0].Dst))
	}

	// Messages that left their usual paths because of a fault.
	for _, d := range l.Detours {
		if d.Cause == "" {
			parts = append(parts, fmt.Sprintf("%s are moved there although their usual route is up", formatMessages(d.Load)))
		} else {
			parts = append(parts, fmt.Sprintf("%s go round %s",
				formatMessages(d.Load), d.Cause))
		}
	}

	if parts == nil {
		return ""
	}
	return fmt.Sprintf("%s: of its %s messages %s", l.Name, formatMessages(l.Load),
		strings.Join(parts, ", "))
}

// formatMessages formats a number of messages; it has fractions if messages are split
// over paths.
func formatMessages(v float64) string {
	// Large numbers and integers are printed without decimals. Sums of fractions are integers up
	// to rounding errors.
	const manyMessages, rounding = 1000, 1e-6
	if whole := math.Round(v); v >= manyMessages || math.Abs(v-whole) < rounding {
		return text.Thousands(whole)
	}
	return text.Amount(v)
}

// printPolicyTimes prints the composition of the times of all policies: of completion times, and
// of mean packet delays.
func (p *writer) printPolicyTimes(run *result.Run) {
	var fluids, delays []*result.Row

	// of has the traffic of each policy, keyed by policy. fluids and delays are the rows
	// with completions and with packet delays; late and wait are their largest times, which
	// determine the units. exact is false if the delay of a policy is approximate.
	of := map[string]*result.Traffic{}
	late, wait := 0.0, 0.0
	exact := true
	for i := range run.Document.Rows {
		r := &run.Document.Rows[i]
		sim := run.Detail.Simulation(r.Policy)
		if sim == nil || sim.Traffic == nil {
			continue
		}
		of[r.Policy] = sim.Traffic

		loads, _ := r.LinkLoads()
		if end, ok := r.End(); ok && end.Span == "completion" && end.S > 0 &&
			loads.FluidS > 0 {
			fluids = append(fluids, r)
			late = max(late, end.S)
		}
		if d := sim.Traffic.Delay; d != nil {
			delays = append(delays, r)
			wait = max(wait, d.SerialS+d.LatencyS+d.WaitS)
			exact = exact && d.Exact
		}
	}

	if len(fluids)+len(delays) > 0 {
		p.line("\n%s", p.emphasize("Where each policy's time goes"))
	}

	// Completion = evenly spread hops + uneven loads + the rest.
	if len(fluids) > 0 {
		u := text.UnitFor(late)
		t := text.NewTable("policy", "average\nhops", "all hops,\nspread evenly",
			"uneven\nloads", "waiting and\nlatency", "completion")
		for _, r := range fluids {
			end, _ := r.End()
			// Rows with completions and rows with packet delays have separate tables.
			loads, _ := r.LinkLoads()
			completion := end.S
			fluid := loads.FluidS
			// fluid is the time of the bottleneck. With even loads it would be shorter by the
			// evenness.
			even := fluid * evenness(of[r.Policy])
			t.Row(r.Policy, fmt.Sprintf("%.4f", loads.Hops),
				sumParts(u, even, fluid-even, completion-fluid))
		}

		p.table(t)
		p.indented("spread evenly: what the routes' hops take on all links " +
			"together; uneven loads: how much longer the most loaded link takes; " +
			"the rest is waiting, filling and emptying the links, and latency")
	}

	// Mean delay = serialisation + latency + waiting.
	if len(delays) > 0 {
		u := text.UnitFor(wait)
		t := text.NewTable("policy", "hops of\na packet", "being sent", "latency",
			"waiting", "mean delay")
		for _, r := range delays {
			d := of[r.Policy].Delay
			t.Row(r.Policy, fmt.Sprintf("%.4f", d.Hops),
				sumParts(u, d.SerialS, d.LatencyS, d.WaitS))
		}
		p.table(t)
		if !exact {
			p.indented("Not every packet was delivered and measured: the parts are " +
				"those of all packets, and waiting is the rest")
		}
	}

	p.listFailedPolicies(&run.Document)
}

// evenness returns the mean load of the links divided by the largest load, both relative to
// their capacities. It returns 0 without loads.
func evenness(t *result.Traffic) float64 {
	load, capacity, maxLoad := 0.0, 0.0, 0.0
	for _, g := range t.Groups {
		load += g.Load
		capacity += g.Capacity
		maxLoad = max(maxLoad, g.MaxLoad)
	}
	if capacity*maxLoad == 0 {
		return 0
	}
	return load / (capacity * maxLoad)
}
