package cli

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/jedib0t/go-pretty/v6/text"

	"sim/scenarios/result"
)

// printNotes says below the table what its figures stand beside.
func printNotes(b *strings.Builder, doc *result.Document, best int, why *result.Metric) {
	ideal, hasIdeal := doc.Reference["makespan_s"]
	compute, hasCompute := doc.Reference["compute_makespan_s"]
	reference := "the ideal fabric"
	if anyHas(doc, "all_to_all_s") {
		reference = "the step without all-to-alls"
	}
	if best >= 0 && !printBestOfJobs(b, doc, best) {
		r := &doc.Rows[best]
		line := fmt.Sprintf("* %s %s", r.Policy, why.Wins)
		if m := r.Metrics["makespan_s"]; hasIdeal && ideal > 0 {
			switch over := m/ideal - 1; {
			case over <= provedGap:
				line += ": as fast as " + reference
			default:
				line += fmt.Sprintf(": %s slower than %s", percent(over), reference)
			}
		}
		b.WriteString(line + "\n")
	}
	if hasIdeal {
		fmt.Fprintf(b, "  %s %s", strings.TrimPrefix(reference, "the "), seconds(ideal))
		if gap := doc.Reference["gap"]; gap > provedGap {
			fmt.Fprintf(b, " (within %s of the least it could take)", percent(gap))
		}
		if hasCompute {
			fmt.Fprintf(b, ", compute alone %s", seconds(compute))
		}
		b.WriteString("\n")
	}
	if anyHas(doc, "nct") {
		b.WriteString("  NCT: exposed communication as a multiple of the ideal fabric's\n")
	}
	printCompletionGap(b, doc)
	for _, m := range boundModels(doc) {
		gapOf := "gap to bound"
		if m.of.Zero != "" {
			gapOf = "gap of " + m.of.Words
		}
		paragraph(b, fmt.Sprintf("%s (%s): above a lower bound on %s, which holds for %s", gapOf, strings.Join(m.policies, ", "), m.of.Bounded, m.name))
	}
	for _, r := range doc.Rows {
		if why := r.Labels["unserved"]; why != "" {
			paragraph(b, fmt.Sprintf("%s cannot serve: %s", r.Policy, why))
		}
		if why := r.Labels["failed"]; why != "" {
			paragraph(b, fmt.Sprintf("%s failed: %s", r.Policy, why))
		}
		if origin := r.Labels["origin"]; origin != "" {
			if proved := r.Labels["proved"]; proved != "" {
				origin += "; " + proved
			}
			paragraph(b, fmt.Sprintf("%s: %s", r.Policy, origin))
		}
		if why := r.Labels["stopped"]; why != "" {
			paragraph(b, fmt.Sprintf("%s stopped before its search had ended: %s", r.Policy, why))
		}
		if why := r.Labels["implied_share"]; why != "" {
			value := ""
			if v, ok := r.Metrics["implied_share"]; ok {
				value = fmt.Sprintf(" of %.4g", v)
			}
			paragraph(b, fmt.Sprintf("%s: implied_share%s: %s", r.Policy, value, why))
		}
		for _, m := range result.Metrics {
			if _, ok := r.Metrics[m.Name]; !ok && m.Head != "" && m.Table == "" && r.Labels[m.Name] != "" {
				paragraph(b, fmt.Sprintf("%s has no %s: %s", r.Policy, m.Name, r.Labels[m.Name]))
			}
		}
	}
}

// printCompletionGap says what the completion times of plans of a collective stand against.
func printCompletionGap(b *strings.Builder, doc *result.Document) {
	at := slices.IndexFunc(doc.Rows, func(r result.Row) bool { return r.Labels["gap_completion_model"] != "" })
	if at < 0 {
		return
	}
	model := doc.Rows[at].Labels["gap_completion_model"]
	paragraph(b, fmt.Sprintf("gap to bound: above %s, a lower bound on the time of plans of any number of topologies, which holds for %s",
		seconds(doc.Reference["bound_completion_s"]), cmp.Or(planModels[model], model)))
}

func anyHas(doc *result.Document, metric string) bool {
	return slices.ContainsFunc(doc.Rows, func(r result.Row) bool { _, ok := r.Metrics[metric]; return ok })
}

// boundModel is a model that lower bounds hold in, with the policies whose
// bounds do.
type boundModel struct {
	of       result.Metric
	name     string
	policies []string
}

// planModels words the models in which plans of a collective are bounded.
var planModels = map[string]string{
	"round":   "rounds whose chunks start together",
	"forward": "chunks that wait, but not across reconfigurations",
	"relay":   "chunks that rest anywhere",

	"independent": "switches that reconfigure on their own",
}

func boundModels(doc *result.Document) []boundModel {
	var out []boundModel
	for _, r := range doc.Rows {
		name := r.Labels["gap_model"]
		if words, ok := planModels[name]; ok {
			name = words
		}
		of, ok := r.GapOf(doc.Reference)
		if !ok || name == "" {
			continue
		}
		at := slices.IndexFunc(out, func(m boundModel) bool { return m.name == name })
		if at < 0 {
			at = len(out)
			out = append(out, boundModel{of: of, name: name})
		}
		out[at].policies = append(out[at].policies, r.Policy)
	}
	return out
}

// paragraph prints s indented and wrapped.
func paragraph(b *strings.Builder, s string) {
	b.WriteString(indent(wrap(s, tableWidth-2), 2) + "\n")
}

// topologyLines is how much of a topology is printed: what fits a screen.
const topologyLines = 24

// printTopology prints the best row's topology.
func printTopology(b *strings.Builder, doc *result.Document, best int) {
	if best < 0 || doc.Rows[best].Labels["topology"] == "" {
		return
	}
	printCircuits(b, doc.Rows[best].Policy, doc.Rows[best].Labels["topology"])
}

// printCircuits prints a topology of somebody's.
func printCircuits(b *strings.Builder, whose, topology string) {
	lines := strings.Split(strings.Trim(topology, "\n"), "\n")
	rest := len(lines) - topologyLines
	if rest > 0 {
		lines = lines[:topologyLines]
	}
	fmt.Fprintf(b, "\nTopology of %s, in circuits:\n", whose)
	for _, l := range lines {
		b.WriteString("  " + strings.TrimRight(text.Trim(l, tableWidth-2), " ") + "\n")
	}
	if rest > 0 {
		fmt.Fprintf(b, "  ... and %s more, in result.json\n", plural(rest, "line", "lines"))
	}
}
