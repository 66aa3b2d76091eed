// This file defines sim list, which prints the names that scenarios can use.

package cli

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/urfave/cli/v2"

	"sim/internal/alias"
	"sim/internal/text"
	"sim/scenarios"
	"sim/scenarios/result"
)

// nameList is the output of sim list for one kind of names.
type nameList struct {
	// kind is the argument of sim list, such as "routers".
	kind string
	// items has the names with their descriptions.
	items []scenarios.PolicyInfo
}

// nameLists returns all lists: the kinds of policies in their order, then scenarios, studies and
// stored runs. Kinds without names have no list.
func nameLists() []nameList {
	var out []nameList
	// add appends a name to the list of its kind, which is created if it is missing.
	add := func(i scenarios.PolicyInfo) {
		index := slices.IndexFunc(out, func(l nameList) bool { return l.kind == i.Kind })
		if index < 0 {
			index = len(out)
			out = append(out, nameList{kind: i.Kind})
		}
		out[index].items = append(out[index].items, i)
	}
	for _, i := range scenarios.Policies() {
		add(i)
	}
	// Names of built-in files have no directory and no extension.
	for _, builtIn := range []struct {
		kind  string
		names []string
	}{{"scenarios", scenarios.EmbeddedScenarios()}, {"studies", scenarios.EmbeddedStudies()}} {
		for _, name := range builtIn.names {
			short := strings.TrimSuffix(strings.TrimPrefix(name, "scenarios/"), ".toml")
			add(scenarios.PolicyInfo{Kind: builtIn.kind, Name: short, Doc: scenarios.Summary(name)})
		}
	}
	// A stored run is described by its scenario and its end.
	for _, r := range result.Runs(result.List(runsRoot)) {
		add(scenarios.PolicyInfo{Kind: "runs", Name: r.Dir, Doc: r.Scenario + ", " + r.End})
	}
	return out
}

// listCommand returns the definition of sim list.
func (c *command) listCommand() *cli.Command {
	return &cli.Command{
		Name:      "list",
		Usage:     "list the names that scenarios can use: policies, models, presets, keys, metrics, built-in scenarios and stored runs",
		ArgsUsage: "[KIND [NAME]]",
		Description: describeExamples(
			example{"sim list scenarios", "the built-in scenarios, one line each"},
			example{"sim list policies", "all policies: allocators, routers and others"},
			example{"sim list routers", "the routers, which are the policies of tori"},
			example{"sim list keys fabric.torus", "the keys of a kind of fabric or workload"},
			example{"sim list keys policy.delta", "the keys that begin with this text"},
			example{"sim list metrics trial_", "the metrics that begin with this text"},
			example{"sim list keys --json-schema > schema.json", "a schema for editors"}),
		Flags: []cli.Flag{
			&cli.BoolFlag{Name: "markdown", Usage: "with keys and metrics: print tables in Markdown, as in the documents"},
			&cli.BoolFlag{Name: "json-schema", Usage: "with keys: print a JSON Schema, with which editors complete and check scenarios"},
		},
		Action: func(cc *cli.Context) error {
			first := cc.Args().First()
			if cc.Bool("markdown") {
				switch {
				case cc.NArg() == 1 && first == "keys":
					return scenarios.WriteReference(c.stdout)
				case cc.NArg() == 1 && first == "metrics":
					return writeMetricTable(c.stdout)
				}
				return usagef("--markdown is only for sim list keys and sim list metrics")
			}
			switch cc.NArg() {
			case 0:
				c.printLists(nameLists())
				_, err := fmt.Fprintln(c.stdout, "keys, metrics:\n  sim list keys and sim list metrics describe all keys and metrics")
				return err
			case 1:
				if !cc.Bool("json-schema") {
					return c.list(first)
				} else if first != "keys" {
					return usagef("--json-schema is only for sim list keys")
				}
				return scenarios.WriteJSONSchema(c.stdout)
			case 2:
				switch prefix := cc.Args().Get(1); {
				case first == "keys" && !cc.Bool("json-schema"):
					return c.listKeys(prefix)
				case first == "metrics" && !cc.Bool("json-schema"):
					return c.listMetrics(prefix)
				}
			}
			return usagef("sim list takes one kind, and for keys and metrics also a prefix, as in sim list keys fabric.torus")
		},
	}
}

// allPolicyKinds is the argument of sim list for all kinds of policies.
const allPolicyKinds = "policies"

// printLists prints lists, each under its kind.
func (c *command) printLists(lists []nameList) {
	for _, l := range lists {
		fmt.Fprintf(c.stdout, "%s:\n", l.kind)
		c.printItems(l.items, "  ")
	}
}

// list prints the names of a kind.
func (c *command) list(kind string) error {
	kind = c.currentName(kind, func(kind string) string {
		return strings.TrimPrefix(alias.Key("policy."+kind), "policy.")
	})
	const all = "" // the prefix of all names
	switch kind {
	case "keys":
		return c.listKeys(all)
	case "metrics":
		return c.listMetrics(all)
	}
	// Print the list of the kind, or suggest a similar kind.
	lists := nameLists()
	if kind == allPolicyKinds {
		c.printLists(slices.DeleteFunc(lists, func(l nameList) bool { return !scenarios.IsPolicyKind(l.kind) }))
		return nil
	}
	kinds := []string{"keys", "metrics", allPolicyKinds}
	for _, l := range lists {
		if l.kind == kind {
			const noIndent = ""
			c.printItems(l.items, noIndent)
			return nil
		}
		kinds = append(kinds, l.kind)
	}
	if kind == "runs" {
		return nil // no run is stored
	}
	return usagef("nothing of the kind %q can be listed%s", kind, text.DidYouMean(kind, kinds, "there are "+strings.Join(kinds, ", ")))
}

// listKeys prints the keys of a kind or a table, or the keys that begin with a text. If no key
// does, it returns an error with a suggestion.
func (c *command) listKeys(prefix string) error {
	prefix = c.currentName(prefix, alias.Key)
	known, err := scenarios.WriteKeys(c.stdout, prefix, c.style().ParagraphWidth())
	if err == nil && known != nil { // nothing was printed; known has all names
		err = usagef("no key or kind begins with %q%s", prefix, text.DidYouMean(prefix, known, "sim list keys lists them all"))
	}
	return err
}

// listMetrics prints the metrics that begin with a text: a line with name, unit and direction each,
// followed by the meaning.
func (c *command) listMetrics(prefix string) error {
	prefix = c.currentName(prefix, alias.Metric)
	var b strings.Builder
	var known []string
	width := c.style().ParagraphWidth()
	for i := range result.Metrics {
		m := &result.Metrics[i]
		known = append(known, m.Name)
		// A pattern such as *_s stands for many names.
		if !strings.HasPrefix(m.Name, prefix) {
			continue
		}
		var properties []string
		if unit := metricUnit(m); unit != "" {
			properties = append(properties, "in "+unit)
		}
		if m.Better != "" {
			properties = append(properties, m.Better+" is better")
		}
		if m.FailsComparison {
			properties = append(properties, "can fail sim compare")
		}
		if m.Of != "" {
			properties = append(properties, "of "+m.Of)
		}
		line := strings.TrimSuffix(m.Name+": "+strings.Join(properties, ", "), ": ")
		const indentation = 4
		meaning := text.Wrap(plainText.Replace(metricMeaning(m)), width-indentation, 0)
		fmt.Fprintf(&b, "%s\n%s\n", text.Wrap(line, width, indentation), text.Indent(meaning, indentation))
	}
	if b.Len() == 0 {
		return usagef("no metric begins with %q%s", prefix, text.DidYouMean(prefix, known, "sim list metrics lists them all"))
	}
	_, err := io.WriteString(c.stdout, b.String())
	return err
}

// plainText removes the Markdown of descriptions.
var plainText = strings.NewReplacer("`", "")

// printItems prints one line per item: its name and its description, aligned. Descriptions that
// are longer than a line of the terminal continue in further lines.
func (c *command) printItems(items []scenarios.PolicyInfo, indent string) {
	width := 0
	for _, i := range items {
		width = max(width, len(i.Name))
	}
	for _, i := range items {
		line := fmt.Sprintf("%s%-*s  %s", indent, width, i.Name, i.Doc)
		if columns := c.columns(); columns > 0 {
			const minDoc = 30 // characters of a description per line
			start := len(indent) + width + len("  ")
			doc := text.Wrap(i.Doc, max(minDoc, columns-start), 0)
			line = line[:start] + strings.ReplaceAll(doc, "\n", "\n"+strings.Repeat(" ", start))
		}
		fmt.Fprintln(c.stdout, strings.TrimRight(line, " "))
	}
}

// metricNames returns the names of all metrics. Patterns with *, such as names per job, are
// omitted.
func metricNames() []string {
	var names []string
	for _, m := range result.Metrics {
		if !strings.Contains(m.Name, "*") {
			names = append(names, m.Name)
		}
	}
	return names
}

// metricUnit returns the unit of a metric's values, or "" without one. Units of patterns come from
// the metrics that match them.
func metricUnit(m *result.Metric) string {
	known, _ := result.Find(m.Name)
	if known.Unit == "%" {
		return "" // Percentages are a matter of printing; the values are ratios.
	}
	return known.Unit
}

// metricMeaning returns the description of a metric and, if necessary, its definition.
func metricMeaning(m *result.Metric) string {
	if m.Meaning == "" {
		return m.Words
	}
	return m.Words + ": " + m.Meaning
}

// writeMetricTable prints the table of metrics in Markdown; docs/metrics.md contains it.
func writeMetricTable(w io.Writer) error {
	// Align the columns of the Markdown table with spaces.
	const minWidth, tabWidth, padding, flags = 0, 0, 1, 0
	tw := tabwriter.NewWriter(w, minWidth, tabWidth, padding, ' ', flags)
	fmt.Fprint(tw, "| metric\t| unit\t| better\t| judged\t| of\t| what it is |\n|---\t|---\t|---\t|---\t|---\t|--- |\n")
	for i := range result.Metrics {
		m := &result.Metrics[i]
		judged := ""
		if m.FailsComparison {
			judged = "yes"
		}
		fmt.Fprintf(tw, "| `%s`\t| %s\t| %s\t| %s\t| %s\t| %s |\n", m.Name, metricUnit(m), m.Better, judged, m.Of, metricMeaning(m))
	}
	return tw.Flush()
}
