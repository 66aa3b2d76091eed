package report

import (
	"cmp"
	"fmt"
	"slices"

	"sim/internal/text"
	"sim/scenarios/result"
)

// compareIdeal compares a simulation with the ideal fabric.
func (p *writer) compareIdeal(sim, ideal *result.Simulation) {
	minDifference := provedGap * ideal.MakespanS // smaller differences are rounding errors
	over := sim.MakespanS - ideal.MakespanS
	u := text.UnitFor(sim.MakespanS) // one unit, so that the values add up
	p.line("")
	if over <= minDifference {
		p.indented("The ideal fabric, where no circuit is missing, takes %s too: "+
			"no topology does better.", u.Of(ideal.MakespanS))
		return
	}

	parts := shareParts(u, sim)
	idealParts := shareParts(u, ideal)
	over = sum(parts) - sum(idealParts)
	line := fmt.Sprintf("The ideal fabric takes %s; %s takes %s (%s) more. On the "+
		"chain above %s is lost to few circuits and %s to sharing",
		u.Of(ideal.MakespanS), sim.Policy, u.Of(over),
		text.Percent(over/ideal.MakespanS), u.Of(parts[2]), u.Of(parts[3]))

	if idealParts[3] > minDifference {
		line += fmt.Sprintf(" (%s of it on the ideal fabric too)",
			u.Of(idealParts[3]))
	}

	switch moved := parts[0] + parts[1] - idealParts[0] - idealParts[1]; {
	case moved > minDifference:
		line += fmt.Sprintf(", and the chain has %s more work on it than the ideal fabric's", u.Of(moved))
	case moved < -minDifference:
		line += fmt.Sprintf("; the chain has %s less work on it than the ideal fabric's", u.Of(-moved))
	}

	p.indented("%s.", line)
}

// maxAdvisedLinks is the number of bundles that are recommended for more circuits.
const maxAdvisedLinks = 3

// adviseCircuits names the bundles of circuits with the largest loss. Circuits serve both
// directions, so the losses of both are added.
func (p *writer) adviseCircuits(sim *result.Simulation) {
	u := text.UnitFor(sim.MakespanS)
	lost := slices.DeleteFunc(lossByBundle(sim), func(b bundle) bool {
		return b.LostS() <= provedGap*sim.MakespanS
	})
	if len(lost) == 0 {
		p.indented("Nothing is lost on the chain, so more circuits would not help.")
		return
	}

	p.line("  What would help, until another chain becomes the longest:")
	for _, b := range lost[:min(len(lost), maxAdvisedLinks)] {
		line := "- more circuits " + b.label
		if b.SharingS > b.CircuitS {
			line += ", or serving the chain's transfers there before others"
		}
		line += fmt.Sprintf(": %s is lost there", u.Of(b.LostS()))
		if b.pair != nil {
			line += " with " + text.Plural(b.pair.Circuits,
				"circuit") + freePorts(sim.Topology, b.pair)
		}

		p.line("%s", text.Indent(text.Wrap(line, p.width()-4, 2), 2))
	}
}

// bundle is the loss of the critical path on a bundle of circuits, in both directions.
type bundle struct {
	label string // such as "between pod 0 and pod 1"
	pair  *result.Pair
	result.Shares
}

// lossByBundle adds the losses of both directions of each bundle, sorted by loss,
// descending.
func lossByBundle(sim *result.Simulation) []bundle {
	var out []bundle
	for _, l := range sim.ByLink() {
		pair := sim.Topology.FindPair(l.Link)
		at := slices.IndexFunc(out, func(b bundle) bool {
			return pair != nil && b.pair == pair
		})
		if at < 0 {
			at = len(out)
			out = append(out, bundle{
				label: bundleLabel(sim.Topology, pair, l.Link),
				pair:  pair,
			})
		}

		out[at].CircuitS += l.CircuitS
		out[at].SharingS += l.SharingS
	}

	slices.SortStableFunc(out, func(a, b bundle) int {
		return cmp.Compare(b.LostS(), a.LostS())
	})
	return out
}

// bundleLabel returns the name of a bundle, or of a link without a pair.
func bundleLabel(t *result.Topology, pair *result.Pair, link string) string {
	switch {
	case pair == nil:
		return "on " + linkName(link)
	case pair.DP:
		return "from " + t.Pods[pair.A].Name + " to its DP peer"
	}
	return "between " + t.Pods[pair.A].Name + " and " + t.Pods[pair.B].Name
}

// freePorts states how many ports the pods of a pair have for another circuit.
func freePorts(t *result.Topology, pair *result.Pair) string {
	a, z := t.Pods[pair.A], t.Pods[pair.B]
	need := 1
	if pair.DP {
		need = max(pair.Copies, 1)
	}
	free := min(a.Total-a.Used, z.Total-z.Used)
	if free >= need {
		return fmt.Sprintf("; ports for %s are free",
			text.Plural(free/need, "more circuit"))
	}

	full := a
	if z.Total-z.Used < a.Total-a.Used {
		full = z
	}
	from := "its other links"
	if full.Even > 0 {
		from += " or another job's"
	}

	return fmt.Sprintf("; %s has no port free, they would have to come from %s",
		full.Name, from)
}
