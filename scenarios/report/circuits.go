// This file compares critical paths with the ideal fabric, and advises more circuits,
// for explainPath.

package report

import (
	"cmp"
	"fmt"
	"slices"

	"sim/internal/text"
	"sim/scenarios/result"
)

// compareIdeal compares a simulation with the ideal fabric: first the total times, then the
// parts of the two critical paths. It prints one sentence, or states that no topology would be
// faster. It reports whether a topology can be faster.
func (p *writer) compareIdeal(sim, ideal *result.Simulation) bool {
	// All times have one unit, so that the printed values add up. Differences up to
	// minDifference are rounding errors, as defined by provedGap of report.go.
	minDifference := provedGap * ideal.MakespanS
	over := sim.MakespanS - ideal.MakespanS
	u := text.UnitFor(sim.MakespanS)
	p.line("")
	if over <= minDifference {
		p.indented("The ideal fabric, where no circuit is missing, takes %s too: "+
			"no topology does better.", u.Of(ideal.MakespanS))
		return false
	}

	parts := shareParts(u, sim)
	idealParts := shareParts(u, ideal)
	over = sum(parts) - sum(idealParts)
	// State the difference and its causes.
	line := fmt.Sprintf("The ideal fabric takes %s; %s takes %s (%s) more. On the "+
		"chain above %s is lost to few circuits and %s to sharing",
		u.Of(ideal.MakespanS), sim.Policy, u.Of(over),
		text.Percent(over/ideal.MakespanS), u.Of(parts[circuitPart]), u.Of(parts[sharingPart]))

	// The ideal fabric shares its NICs, so it also loses time to sharing.
	if idealParts[sharingPart] > minDifference {
		line += fmt.Sprintf(" (%s of it on the ideal fabric too)",
			u.Of(idealParts[sharingPart]))
	}

	// moved is the difference of the work on the two chains.
	switch moved := parts[computePart] + parts[fullRatePart] - idealParts[computePart] - idealParts[fullRatePart]; {
	case moved > minDifference:
		line += fmt.Sprintf(", and the chain has %s more work on it than the ideal fabric's", u.Of(moved))
	case moved < -minDifference:
		line += fmt.Sprintf("; the chain has %s less work on it than the ideal fabric's", u.Of(-moved))
	}
	p.indented("%s.", line)
	return true
}

// maxAdvisedLinks is the number of bundles that are recommended for more circuits. The losses of
// further bundles are smaller.
const maxAdvisedLinks = 3

// adviseCircuits names the bundles of circuits and NICs with the largest loss on the critical
// path. Circuits serve both directions, so the losses of both are added. NICs have no circuits, so
// only another order of the transfers there can help.
func (p *writer) adviseCircuits(sim *result.Simulation) {
	u := text.UnitFor(sim.MakespanS)
	// Losses up to provedGap are rounding errors.
	lost := slices.DeleteFunc(lossByBundle(sim), func(b bundle) bool {
		return b.LostS() <= provedGap*sim.MakespanS
	})
	if len(lost) == 0 {
		p.indented("Nothing is lost on the chain, so more circuits would not help.")
		return
	}

	// Print one paragraph per bundle: the advice, the loss, and the free ports.
	p.line("  What would help, until another chain becomes the longest:")
	for _, b := range lost[:min(len(lost), maxAdvisedLinks)] {
		line := "- more circuits " + b.label
		switch {
		case b.pair == nil && b.CircuitS <= provedGap*sim.MakespanS:
			line = "- serving the chain's transfers " + b.label + " before others"
		case b.SharingS > b.CircuitS:
			line += ", or serving the chain's transfers there before others"
		}
		line += fmt.Sprintf(": %s is lost there", u.Of(b.LostS()))
		if b.pair != nil {
			line += " with " + text.Plural(b.pair.Circuits,
				"circuit") + freePorts(sim.Topology, b.pair)
		}
		const bullet = len("- ") // further lines are indented by as much
		p.line("%s", text.Indent(text.Wrap(line, p.width()-indentation-bullet, bullet), indentation))
	}
}

// bundle is the loss of the critical path on a bundle of circuits, in both directions.
type bundle struct {
	// Such as "between pod 0 and pod 1".
	label string
	// pair is nil if the link does not belong to a bundle.
	pair *result.Pair
	// The loss, summed over both directions.
	result.Shares
}

// lossByBundle adds the losses of both directions of each bundle, sorted by loss,
// descending.
func lossByBundle(sim *result.Simulation) []bundle {
	var out []bundle
	for _, l := range sim.ByLink() {
		// Add the loss to the bundle of the link. A link without a bundle is listed by itself.
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

// bundleLabel returns the name of a bundle with its preposition. For a link without a pair it
// uses the name of the link.
func bundleLabel(t *result.Topology, pair *result.Pair, link string) string {
	switch {
	case pair == nil:
		return "on " + linkName(link)
	case pair.DP:
		return "from " + t.Pods[pair.A].Name + " to its DP peer"
	}
	return "between " + t.Pods[pair.A].Name + " and " + t.Pods[pair.B].Name
}

// freePorts states how many more circuits the free ports of a pair of pods allow. If a pod has
// no free port, it states which links would have to release one.
func freePorts(t *result.Topology, pair *result.Pair) string {
	a, z := t.Pods[pair.A], t.Pods[pair.B]
	// need is the number of ports that one more circuit requires in each pod. A circuit to a DP
	// peer is repeated for each copy of the bundle.
	need := 1
	if pair.DP {
		need = max(pair.Copies, 1)
	}
	free := min(a.Total-a.Used, z.Total-z.Used)
	if free >= need {
		return fmt.Sprintf("; ports for %s are free",
			text.Plural(free/need, "more circuit"))
	}

	// full is the pod with fewer free ports.
	full := a
	if z.Total-z.Used < a.Total-a.Used {
		full = z
	}
	// Ports can also come from other jobs, if the pods are shared.
	from := "its other links"
	if full.Even > 0 {
		from += " or another job's"
	}
	return fmt.Sprintf("; %s has no port free, they would have to come from %s",
		full.Name, from)
}
