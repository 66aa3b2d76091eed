package cli

import (
	"fmt"
	"strings"

	"sim/scenarios/result"
)

// printDonor says which other job leaves ports to the one of the table, if
// there is one.
func printDonor(b *strings.Builder, doc *result.Document) {
	r := donorRow(doc)
	if r == nil {
		return
	}
	m := r.Metrics
	line := fmt.Sprintf("NCT before: without the ports that a donor leaves, the same job with its stages the other way round. Its circuits, by %s, take %s",
		r.Labels["donor"], count(m["donor_ports"]))
	if ratio := m["donor_port_ratio"]; ratio > 0 {
		line += fmt.Sprintf(" of %s ports, %.1f %%,", count(m["donor_ports"]/ratio), 100*ratio)
	}
	if nct, ok := m["donor_nct"]; ok {
		line += fmt.Sprintf(" at an NCT of %.4f", nct)
	}
	if m["donor_ports"] == m["donor_bound_ports"] {
		line += ", the fewest"
	}
	paragraph(b, fmt.Sprintf("%s for at most %s; %s are left", line, r.Labels["donor_limit"], count(m["surplus_ports"])))
	if n := m["donor_choices"]; n > 1 {
		paragraph(b, fmt.Sprintf("donor: taken of %s topologies that leave different ports, as it serves delta-joint best", count(n)))
	}
	if why := r.Labels["donor_stopped"]; why != "" {
		paragraph(b, "donor: "+why)
	}
}

// printDonorTopology prints the donor's topology, if there is one.
func printDonorTopology(b *strings.Builder, doc *result.Document) {
	if r := donorRow(doc); r != nil {
		printCircuits(b, "the donor", r.Labels["donor_topology"])
	}
}

// donorRow returns a row that tells of a donor, the same in all; nil where
// there is none.
func donorRow(doc *result.Document) *result.Row {
	for i := range doc.Rows {
		if doc.Rows[i].Labels["donor"] != "" {
			return &doc.Rows[i]
		}
	}
	return nil
}
