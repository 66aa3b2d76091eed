package cli

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/urfave/cli/v2"

	"sim/internal/text"
	"sim/scenarios"
	"sim/scenarios/result"
)

// listing is what `sim list KIND` prints.
type listing struct {
	kind  string
	items []scenarios.PolicyInfo
}

// listings returns the kinds there are, the policies' first in their order.
func listings() []listing {
	var out []listing
	add := func(i scenarios.PolicyInfo) {
		at := slices.IndexFunc(out, func(l listing) bool { return l.kind == i.Kind })
		if at < 0 {
			at = len(out)
			out = append(out, listing{kind: i.Kind})
		}
		out[at].items = append(out[at].items, i)
	}
	for _, i := range scenarios.Policies() {
		add(i)
	}
	for _, of := range []struct {
		kind  string
		names []string
	}{{"scenarios", scenarios.Embedded()}, {"studies", scenarios.EmbeddedStudies()}} {
		for _, name := range of.names {
			short := strings.TrimSuffix(strings.TrimPrefix(name, "scenarios/"), ".toml")
			add(scenarios.PolicyInfo{Kind: of.kind, Name: short, Doc: scenarios.About(name)})
		}
	}
	for _, r := range result.Runs(result.List(runsRoot)) {
		add(scenarios.PolicyInfo{Kind: "runs", Name: r.Dir, Doc: r.Scenario + ", " + r.End})
	}
	return out
}

func (c *command) listCommand() *cli.Command {
	return &cli.Command{
		Name:      "list",
		Usage:     "list what scenarios may name: allocators, models, presets, the scenarios that come with sim, keys ...",
		ArgsUsage: "[KIND [NAME]]",
		Description: describe("",
			example{"sim list scenarios", "what comes with sim, in a line each"},
			example{"sim list routers", "the policies of a torus"},
			example{"sim list keys fabric.torus", "the keys of a kind"},
			example{"sim list keys policy.delta", "the keys that begin so"},
			example{"sim list keys --json-schema > schema.json", "for editors"}),
		Flags: []cli.Flag{
			&cli.BoolFlag{Name: "json-schema", Usage: "with keys: print a JSON Schema, by which editors complete and check scenarios"},
		},
		Action: func(cc *cli.Context) error {
			switch cc.NArg() {
			case 0:
				for _, l := range listings() {
					fmt.Fprintf(c.stdout, "%s:\n", l.kind)
					c.printItems(l.items, "  ")
				}
				_, err := fmt.Fprintln(c.stdout, "keys, metrics:\n  sim list keys and sim list metrics print all keys of scenarios and all metrics with their meaning")
				return err
			case 1:
				if kind := cc.Args().First(); !cc.Bool("json-schema") {
					return c.list(kind)
				} else if kind != "keys" {
					return usagef("--json-schema is of sim list keys")
				}
				return scenarios.JSONSchema(c.stdout)
			case 2:
				if cc.Args().First() == "keys" && !cc.Bool("json-schema") {
					return c.listKeys(cc.Args().Get(1))
				}
			}
			return usagef("sim list takes one kind at a time, and of keys where they begin, as in sim list keys fabric.torus")
		},
	}
}

func (c *command) list(kind string) error {
	switch kind {
	case "keys":
		return scenarios.Reference(c.stdout)
	case "metrics":
		return listMetrics(c.stdout)
	}
	kinds := []string{"keys", "metrics"}
	for _, l := range listings() {
		if l.kind == kind {
			c.printItems(l.items, "")
			return nil
		}
		kinds = append(kinds, l.kind)
	}
	if kind == "runs" {
		return nil // none yet
	}
	return usagef("nothing of the kind %q can be listed%s", kind, text.DidYouMean(kind, kinds, "there are "+strings.Join(kinds, ", ")))
}

// listKeys prints the keys of a kind or a table, or those that begin with a text.
func (c *command) listKeys(of string) error {
	known, err := scenarios.Keys(c.stdout, of)
	if err == nil && known != nil {
		err = usagef("no key or kind begins with %q%s", of, text.DidYouMean(of, known, "sim list keys has all"))
	}
	return err
}

func (c *command) printItems(items []scenarios.PolicyInfo, indent string) {
	width := 0
	for _, i := range items {
		width = max(width, len(i.Name))
	}
	for _, i := range items {
		line := fmt.Sprintf("%s%-*s  %s", indent, width, i.Name, i.Doc)
		fmt.Fprintln(c.stdout, strings.TrimRight(line, " "))
	}
}

// metricNames are the names of all metrics in the table.
func metricNames() []string {
	var names []string
	for _, m := range result.Metrics {
		if !strings.Contains(m.Name, "*") {
			names = append(names, m.Name)
		}
	}
	return names
}

// listMetrics prints the table of metrics, as docs/metrics.md has it.
func listMetrics(w io.Writer) error {
	tw := tabwriter.NewWriter(w, 0, 0, 1, ' ', 0)
	fmt.Fprint(tw, "| metric\t| unit\t| better\t| judged\t| of\t| what it is |\n|---\t|---\t|---\t|---\t|---\t|--- |\n")
	for _, m := range result.Metrics {
		judged := ""
		if m.FailsComparison {
			judged = "yes"
		}
		known, _ := result.Find(m.Name)
		if known.Unit == "%" {
			known.Unit = "" // in figures
		}
		words := m.Words
		if m.Meaning != "" {
			words += ": " + m.Meaning
		}
		fmt.Fprintf(tw, "| `%s`\t| %s\t| %s\t| %s\t| %s\t| %s |\n", m.Name, known.Unit, m.Better, judged, m.Of, words)
	}
	return tw.Flush()
}
