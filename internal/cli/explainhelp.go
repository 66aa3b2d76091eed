package cli

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"sim/scenarios/result"
)

// printIdeal sets p beside the ideal fabric.
func printIdeal(b *strings.Builder, p, ideal *result.Play) {
	if ideal.MakespanS <= 0 {
		return
	}
	least := provedGap * ideal.MakespanS // less is no difference
	over := p.MakespanS - ideal.MakespanS
	u := unitFor(p.MakespanS) // one unit, so that figures can be added
	seconds := u.of
	b.WriteString("\n")
	if over <= least {
		paragraph(b, fmt.Sprintf("The ideal fabric, where no circuit is missing, takes %s too: no topology does better.", seconds(ideal.MakespanS)))
		return
	}
	mine, its := shareParts(u, p, true), shareParts(u, ideal, true)
	over = sum(mine) - sum(its)
	line := fmt.Sprintf("The ideal fabric takes %s; %s takes %s (%s) more. On the chain above %s is lost to few circuits and %s to sharing",
		seconds(ideal.MakespanS), p.Policy, seconds(over), percent(over/ideal.MakespanS), seconds(mine[2]), seconds(mine[3]))
	if its[3] > least {
		line += fmt.Sprintf(" (%s of it on the ideal fabric too)", seconds(its[3]))
	}
	switch moved := mine[0] + mine[1] - its[0] - its[1]; {
	case moved > least:
		line += fmt.Sprintf(", and the chain has %s more work on it than the ideal fabric's", seconds(moved))
	case moved < -least:
		line += fmt.Sprintf("; the chain has %s less work on it than the ideal fabric's", seconds(-moved))
	}
	paragraph(b, line+".")
}

// helpLines is how many links a reader is told to look at.
const helpLines = 3

// printHelp names the circuits whose lack costs most. Circuits serve both
// directions, so what is lost in either counts together.
func printHelp(b *strings.Builder, p *result.Play) {
	bundles := byBundle(p)
	seconds := unitFor(p.MakespanS).of
	var lines []string
	for _, l := range bundles {
		if l.LostS() <= provedGap*p.MakespanS || len(lines) == helpLines {
			break
		}
		line := "more circuits " + l.words
		if l.SharingS > l.CircuitS {
			line += ", or serving the chain's transfers there before others"
		}
		line += fmt.Sprintf(": %s is lost there", seconds(l.LostS()))
		if l.pair != nil {
			line += fmt.Sprintf(" with %s", plural(l.pair.Circuits, "circuit", "circuits")) + freePorts(p.Topology, l.pair)
		}
		lines = append(lines, line)
	}
	if len(lines) == 0 {
		paragraph(b, "Nothing is lost on the chain, so more circuits would not help.")
		return
	}
	b.WriteString("  What would help, until another chain becomes the longest:\n")
	for _, l := range lines {
		b.WriteString(indent(strings.ReplaceAll(wrap("- "+l, tableWidth-4), "\n", "\n  "), 2) + "\n")
	}
}

// bundle is what the chain spends on a bundle of circuits, both directions.
type bundle struct {
	words string // "between pod 0 and pod 1"
	pair  *result.Pair
	result.Shares
}

// byBundle joins the directions of each bundle, the most lost first.
func byBundle(p *result.Play) []bundle {
	var out []bundle
	for _, l := range p.ByLink() {
		pair := p.Topology.FindPair(l.Link)
		at := slices.IndexFunc(out, func(b bundle) bool { return pair != nil && b.pair == pair })
		if at < 0 {
			at = len(out)
			out = append(out, bundle{words: bundleWords(p.Topology, pair, l.Link), pair: pair})
		}
		out[at].CircuitS += l.CircuitS
		out[at].SharingS += l.SharingS
	}
	slices.SortStableFunc(out, func(a, b bundle) int { return cmp.Compare(b.LostS(), a.LostS()) })
	return out
}

func bundleWords(t *result.Topology, pair *result.Pair, link string) string {
	switch {
	case pair == nil:
		return "on " + linkName(link)
	case pair.Twin:
		return "from " + t.LinkName(*pair)
	}
	return "between " + t.Pods[pair.A].Name + " and " + t.Pods[pair.B].Name
}

// freePorts says what ports the ends of a pair have left for another circuit.
func freePorts(t *result.Topology, pair *result.Pair) string {
	a, z := t.Pods[pair.A], t.Pods[pair.B]
	need := 1
	if pair.Twin {
		need = max(pair.Copies, 1)
	}
	free := min(a.Total-a.Used, z.Total-z.Used)
	if free >= need {
		return fmt.Sprintf("; ports for %s are free", plural(free/need, "more circuit", "more circuits"))
	}
	full := a
	if z.Total-z.Used < a.Total-a.Used {
		full = z
	}
	from := "its other links"
	if full.Even > 0 {
		from += " or another job's"
	}
	return fmt.Sprintf("; %s has no port free, they would have to come from %s", full.Name, from)
}

func sum(parts []float64) float64 {
	total := 0.0
	for _, v := range parts {
		total += v
	}
	return total
}
