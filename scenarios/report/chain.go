// This file prints the chain of transfers that determines the completion time, for
// printTraffic.

package report

import (
	"sim/internal/text"
	"sim/scenarios/result"
)

// printChain prints the chain of transfers that ends last, which determines the completion time.
func (p *writer) printChain(policy string, c *result.Chain) {
	n := 0
	for _, part := range c.Parts {
		n += part.Transfers
	}
	p.line("")

	if n > 1 {
		p.paragraph("A chain of %s, each of which waits for that before it, sets "+
			"the time of %s:", text.Plural(n, "transfer"), policy)
	} else {
		p.paragraph("The last transfer to end sets the time of %s:", policy)
	}

	// Computes are part of the latency column.
	before := "latency"
	if c.Computes {
		before = "compute,\nlatency"
	}
	t := text.NewTable("over", "transfers", "from", "to", "bytes", before, "alone",
		"more by\nsharing", "in all").Left(0, 2, 3) // over, from and to
	u := text.UnitFor(c.EndS)

	// Add a row with the sums if there are several parts.
	all := result.ChainPart{Over: "all"}
	for _, part := range c.Parts {
		chainRow(t, u, &part)
		all.Transfers = all.Transfers + part.Transfers
		all.Bytes = all.Bytes + part.Bytes
		all.LatencyS = all.LatencyS + part.LatencyS
		all.UnsharedS = all.UnsharedS + part.UnsharedS
		all.SharingS = all.SharingS + part.SharingS
	}

	if len(c.Parts) > 1 {
		chainRow(t, u, &all)
	}
	p.table(t)
	p.indented("alone: what the transfers take with the links to themselves; more " +
		"by sharing: what others on the same links add")
}

// chainRow adds a part of a chain to its table.
func chainRow(t *text.Table, u text.Unit, part *result.ChainPart) {
	t.Row(part.Over, part.Transfers, part.Src, part.Dst, part.Bytes,
		sumParts(u, part.LatencyS, part.UnsharedS, part.SharingS))
}

// sumParts formats parts of a time and their sum in a unit. The parts are rounded so that they
// add up.
func sumParts(u text.Unit, parts ...float64) []string {
	var out []string
	rounded := u.AddUp(parts...)
	for _, v := range append(rounded, sum(rounded)) {
		out = append(out, u.Of(v))
	}
	return out
}
