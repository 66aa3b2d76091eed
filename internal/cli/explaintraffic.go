package cli

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"

	"sim/engine/units"
	"sim/scenarios/result"
)

// printTraffic explains traffic on links: what bounds it, which links are loaded most and by whom, and where its time goes. false
// where the play has none of it.
func printTraffic(b *strings.Builder, run *result.Run, p *result.Play, paint paints) bool {
	t := p.Traffic
	row := run.Document.Row(p.Policy)
	if t == nil || row == nil {
		return false
	}
	printBottleneck(b, row, t, paint)
	printGroups(b, t)
	printLoaded(b, row, t)
	if t.Chain != nil {
		printTransfers(b, p.Policy, t.Chain)
	}
	printTimes(b, run, paint)
	return true
}

// printBottleneck says what no faster links elsewhere would change.
func printBottleneck(b *strings.Builder, row *result.Row, t *result.Traffic, paint paints) {
	m := row.Metrics
	line := paint.bold(row.Policy) + " "
	top, bound, of := m["max_link_load"], m["bound_max_link_load"], "messages"
	if top == 1 {
		of = "message"
	}
	if over, ok := m["max_load_over_rate"]; ok {
		top, bound, of = over, m["bound_max_load_over_rate"], "messages per fabric.link_rate of its rate"
	}
	completion, done := m["completion_s"]
	switch mean, ok := m["mean_delay_s"]; {
	case row.Labels["failed"] != "":
		line += "came to no end: " + row.Labels["failed"] + "."
	case done:
		line += fmt.Sprintf("takes %s.", seconds(completion))
	case ok:
		line += fmt.Sprintf("delivers packets after %s on average.", seconds(mean))
	default:
		line += "was not simulated over time: level static finds routes and loads."
	}
	line += fmt.Sprintf(" The most loaded link carries %s %s", messages(top), of)
	if t.Equal > 1 {
		line += fmt.Sprintf(", and %s as many", plural(t.Equal-1, "other", "others"))
	}
	if fluid, ok := m["fluid_s"]; ok {
		line += fmt.Sprintf(": at %v that takes %s", units.Rate(t.LinkRateBitsPerS), seconds(fluid))
		switch over := completion/fluid - 1; {
		case !done:
		case over > provedGap:
			line += fmt.Sprintf(", and all is delivered %s later", percent(over))
		case over >= -provedGap:
			line += ", which is what bounds the time"
		}
	}
	line += "."
	if gap, ok := row.Metrics["gap"]; ok && bound > 0 {
		model := row.Labels["gap_model"]
		if gap <= provedGap {
			line += fmt.Sprintf(" No routes do with less (%s).", model)
		} else {
			line += fmt.Sprintf(" That is %s above a lower bound of %s (%s): routes with less may exist.", percent(gap), messages(bound), model)
		}
	}
	if ratio, ok := m["fault_ratio"]; ok && ratio > 0 {
		line += fmt.Sprintf(" Where nothing is down or drained the same router has %s on its most loaded link: ", messages(m["max_link_load"]*ratio))
		switch {
		case ratio < 1-provedGap:
			line += fmt.Sprintf("the fault costs it %s of the throughput.", percent(1-ratio))
		case ratio > 1+provedGap:
			line += fmt.Sprintf("round the fault it happens to reach %s more.", percent(ratio-1))
		default:
			line += "the fault costs it nothing."
		}
	}
	b.WriteString(wrap(line, tableWidth) + "\n")
	if t.FailAtS > 0 {
		paragraph(b, fmt.Sprintf("Links fail at %s; loads are those of the routes before that.", seconds(t.FailAtS)))
	}
}

// printGroups prints how evenly the links are loaded, by dimension.
func printGroups(b *strings.Builder, t *result.Traffic) {
	packets, down, drained := false, false, false
	for _, g := range t.Groups {
		packets, down, drained = packets || g.Packets > 0, down || g.Down > 0, drained || g.Drained > 0
	}
	head := table.Row{"links", "number"}
	if down {
		head = append(head, "down")
	}
	if drained {
		head = append(head, "drained")
	}
	head = append(head, "messages,\nin all", "a link\non average", "most\nloaded", "even\nloads")
	if packets {
		head = append(head, "mean wait\nof a packet")
	}
	tw := newTable(head)
	longest := 0.0
	for _, g := range t.Groups {
		if g.Packets > 0 {
			longest = max(longest, g.WaitS/float64(g.Packets))
		}
	}
	for _, g := range t.Groups {
		row := table.Row{g.Name, count(float64(g.Links))}
		if down {
			row = append(row, count(float64(g.Down)))
		}
		if drained {
			row = append(row, count(float64(g.Drained)))
		}
		mean, even := 0.0, "-"
		if g.Capacity > 0 {
			mean = g.Load / g.Capacity
		}
		if g.Most > 0 {
			even = percent(mean / g.Most)
		}
		row = append(row, messages(g.Load), messages(mean), messages(g.Most), even)
		if packets {
			wait := "-"
			if g.Packets > 0 {
				wait = unitFor(longest).of(g.WaitS / float64(g.Packets))
			}
			row = append(row, wait)
		}
		tw.AppendRow(row)
	}
	fmt.Fprintf(b, "\n%s\n", tw.Render())
	b.WriteString("  even loads: average over most; at 100 % no rerouting within the dimension would help\n")
}

// printLoaded prints the most loaded links and who loads them.
func printLoaded(b *strings.Builder, row *result.Row, t *result.Traffic) {
	if len(t.MostLoaded) == 0 {
		return
	}
	usual, busy, speeds := false, false, false
	for _, l := range t.MostLoaded {
		usual, busy, speeds = usual || l.Usual != nil, busy || l.Busy != nil, speeds || l.Speed != 1
	}
	head := table.Row{"most loaded link", "from", "to", "messages"}
	if speeds {
		head = append(head, "times\nlink_rate")
	}
	if usual {
		head = append(head, "nothing\ndown")
	}
	if busy {
		head = append(head, "busy")
	}
	if !t.Untraced {
		head = append(head, "pairs", "sources", "desti-\nnations")
	}
	tw := newTable(head)
	alignLeft(tw, len(head), 1, 2, 3)
	for _, l := range t.MostLoaded {
		cells := table.Row{l.Name, l.From, l.To, messages(l.Load)}
		if speeds {
			cells = append(cells, fmt.Sprintf("%.4g", l.Speed))
		}
		if usual {
			cell := "-"
			if l.Usual != nil {
				cell = messages(*l.Usual)
			}
			cells = append(cells, cell)
		}
		if busy {
			cell := "-"
			if l.Busy != nil {
				cell = percent(*l.Busy)
			}
			cells = append(cells, cell)
		}
		if !t.Untraced {
			cells = append(cells, count(float64(l.Pairs)), count(float64(l.Sources)), count(float64(l.Destinations)))
		}
		tw.AppendRow(cells)
	}
	fmt.Fprintf(b, "\n%s\n", tw.Render())
	if more := t.Equal - len(t.MostLoaded); more > 0 {
		fmt.Fprintf(b, "and %s\n", plural(more, "link loaded as much", "links loaded as much"))
	}
	if t.Untraced {
		paragraph(b, "Of so many pairs of nodes it is not kept which load a link.")
	}
	for i := range t.MostLoaded {
		if line := loadedBy(&t.MostLoaded[i]); line != "" {
			paragraph(b, line)
		}
	}
	if down := slices.ContainsFunc(t.Groups, func(g result.LinkGroup) bool { return g.Down+g.Drained > 0 }); down && !usual && t.FailAtS == 0 && !t.Untraced {
		paragraph(b, "Which messages go round what is down is not known: with nodes down there is no usual route to compare with.")
	}
}

// loadedBy says who stands out among those that load a link, and what of its load is there because of what is down; "" where there is
// nothing to say.
func loadedBy(l *result.LoadedLink) string {
	const stands = 0.5 // share of the load, and twice the mean of a pair
	var parts []string
	for _, n := range []struct {
		result.NodeLoad
		words string
		nodes int
	}{{l.MostFrom, "come from", l.Sources}, {l.MostTo, "are for", l.Destinations}} {
		if n.Load >= stands*l.Load && n.nodes > 1 {
			parts = append(parts, fmt.Sprintf("%s %s %s", messages(n.Load), n.words, n.Node))
		}
	}
	if h := l.Heaviest; len(h) > 1 && h[0].Load > h[len(h)-1].Load && stands*h[0].Load*float64(l.Pairs) > l.Load {
		parts = append(parts, fmt.Sprintf("%s are from %s to %s alone", messages(h[0].Load), h[0].Src, h[0].Dst))
	}
	for _, d := range l.Detours {
		if d.Cause == "" {
			parts = append(parts, fmt.Sprintf("%s are moved there although their usual route is up", messages(d.Load)))
		} else {
			parts = append(parts, fmt.Sprintf("%s go round %s", messages(d.Load), d.Cause))
		}
	}
	if parts == nil {
		return ""
	}
	return fmt.Sprintf("%s: of its %s messages %s", l.Name, messages(l.Load), strings.Join(parts, ", "))
}

// messages prints a number of messages, whose fractions are of routes that split.
func messages(v float64) string {
	const manyMessages = 1000 // whose fractions nobody reads
	if whole := math.Round(v); v >= manyMessages || math.Abs(v-whole) < 1e-6 {
		return count(whole)
	}
	return amount(v)
}

// printTransfers prints the transfers that set the end.
func printTransfers(b *strings.Builder, policy string, c *result.Chain) {
	n := 0
	for _, p := range c.Parts {
		n += p.Transfers
	}
	what := fmt.Sprintf("The last transfer to end sets the time of %s:", policy)
	if n > 1 {
		what = fmt.Sprintf("A chain of %s, each of which waits for that before it, sets the time of %s:", plural(n, "transfer", "transfers"), policy)
	}
	fmt.Fprintf(b, "\n%s\n\n", wrap(what, tableWidth))
	tw := newTable(table.Row{"over", "transfers", "from", "to", "bytes", "latency", "alone", "more by\nsharing", "in all"})
	alignLeft(tw, 9, 1, 3, 4)
	u := unitFor(c.EndS)
	sums, transfers, bytes := [3]float64{}, 0, int64(0)
	for _, p := range c.Parts {
		parts := u.addUp(p.LatencyS, p.AloneS, p.SharingS)
		tw.AppendRow(table.Row{p.Over, count(float64(p.Transfers)), p.Src, p.Dst, count(float64(p.Bytes)),
			u.of(parts[0]), u.of(parts[1]), u.of(parts[2]), u.of(parts[0] + parts[1] + parts[2])})
		sums[0], sums[1], sums[2] = sums[0]+p.LatencyS, sums[1]+p.AloneS, sums[2]+p.SharingS
		transfers, bytes = transfers+p.Transfers, bytes+p.Bytes
	}
	if len(c.Parts) > 1 {
		parts := u.addUp(sums[:]...)
		tw.AppendRow(table.Row{"all", count(float64(transfers)), "", "", count(float64(bytes)),
			u.of(parts[0]), u.of(parts[1]), u.of(parts[2]), u.of(parts[0] + parts[1] + parts[2])})
	}
	b.WriteString(tw.Render() + "\n")
	paragraph(b, "alone: what the transfers take with the links to themselves; more by sharing: what others on the same links add")
}

// printTimes prints where the time of every router goes.
func printTimes(b *strings.Builder, run *result.Run, paint paints) {
	var fluids, delays []*result.Row
	of := map[string]*result.Traffic{}
	below, late, wait := "", 0.0, 0.0
	exact := true
	for i := range run.Document.Rows {
		r := &run.Document.Rows[i]
		if why := r.Labels["unserved"]; why != "" {
			below += "\n" + wrap(fmt.Sprintf("%s cannot serve: %s", r.Policy, why), tableWidth)
		}
		p := run.Detail.Play(r.Policy)
		if p == nil || p.Traffic == nil {
			continue
		}
		of[r.Policy] = p.Traffic
		if r.Metrics["completion_s"] > 0 && r.Metrics["fluid_s"] > 0 {
			fluids = append(fluids, r)
			late = max(late, r.Metrics["completion_s"])
		}
		if d := p.Traffic.Delay; d != nil {
			delays = append(delays, r)
			wait = max(wait, d.SerialS+d.LatencyS+d.WaitS)
			exact = exact && d.Exact
		}
	}
	if len(fluids)+len(delays) > 0 {
		fmt.Fprintf(b, "\n%s\n", paint.bold("Where each router's time goes"))
	}
	if len(fluids) > 0 {
		u := unitFor(late)
		tw := newTable(table.Row{"router", "average\nhops", "all hops,\nspread evenly", "uneven\nloads", "waiting and\nlatency", "completion"})
		for _, r := range fluids {
			completion, fluid := r.Metrics["completion_s"], r.Metrics["fluid_s"]
			even := fluid * evenness(of[r.Policy])
			parts := u.addUp(even, fluid-even, completion-fluid)
			tw.AppendRow(table.Row{r.Policy, fmt.Sprintf("%.4f", r.Metrics["average_hops"]), u.of(parts[0]), u.of(parts[1]), u.of(parts[2]), u.of(parts[0] + parts[1] + parts[2])})
		}
		fmt.Fprintf(b, "\n%s\n", tw.Render())
		paragraph(b, "spread evenly: what the routes' hops take on all links together; uneven loads: how much longer the most loaded link takes; the rest is waiting, filling and emptying the links, and latency")
	}
	if len(delays) > 0 {
		u := unitFor(wait)
		tw := newTable(table.Row{"router", "hops of\na packet", "being sent", "latency", "waiting", "mean delay"})
		for _, r := range delays {
			d := of[r.Policy].Delay
			parts := u.addUp(d.SerialS, d.LatencyS, d.WaitS)
			tw.AppendRow(table.Row{r.Policy, fmt.Sprintf("%.4f", d.Hops), u.of(parts[0]), u.of(parts[1]), u.of(parts[2]), u.of(parts[0] + parts[1] + parts[2])})
		}
		fmt.Fprintf(b, "\n%s\n", tw.Render())
		if !exact {
			paragraph(b, "Not every packet was delivered and measured: the parts are those of all packets, and waiting is the rest")
		}
	}
	if below != "" {
		b.WriteString(below + "\n")
	}
}

// evenness is the mean load of the links over the largest.
func evenness(t *result.Traffic) float64 {
	load, capacity, most := 0.0, 0.0, 0.0
	for _, g := range t.Groups {
		load, capacity, most = load+g.Load, capacity+g.Capacity, max(most, g.Most)
	}
	if capacity*most == 0 {
		return 0
	}
	return load / (capacity * most)
}
