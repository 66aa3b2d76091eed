// This file reads and checks the tables [[plot]], which describe figures of a finished
// study.

package scenarios

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"sim/scenarios/result"
	"sim/scenarios/schema"
)

// plotSchema returns the schema of the tables [[plot]], its only table, bound to a list of
// figures.
func plotSchema(plots *[]result.Plot) *schema.Schema {
	var noNames *schema.Names // the tags of result.Plot refer to none
	return schema.New(noNames, schema.Part{Path: "plot", Doc: "A figure of the finished study.", Specs: []any{plots}})
}

// defaultTitle is the title of schema.Table.Reference that stands for the header of the table.
const defaultTitle = ""

// writeStudyReference writes the reference of the tables that only studies have.
func writeStudyReference(b *strings.Builder) {
	b.WriteString("## Studies\n\nA file with one of these tables is a study, which `sim sweep` runs.\n\n" +
		"### `[sweep]`\n\nEach key is one of a scenario, or `base`, with the values that it takes: a list, or a range. " +
		"All combinations are run, the last key varying fastest.\n\n" +
		"| key | value | meaning |\n|---|---|---|\n" +
		"| `\"fabric.port_bandwidth\"` or any other | list | `[\"200Gbps\", \"400Gbps\"]` |\n" +
		"| | range | `\"1..8\"`, `\"0..1 step 0.25\"`, `\"200Gbps..1600Gbps times 2\"` |\n" +
		"| | table | `{from = 1, to = 8, step = 1}`, or with `factor` instead of `step` |\n" +
		"| `\"fabric.dims\"` | text | `\"shapes of 512\"`: all shapes of a torus with as many nodes |\n" +
		"| `\"fabric.twist\"` | text | `\"all\"`: all twists of the shapes |\n" +
		"| `fabric` | list | whole tables, each with its kind |\n" +
		"| `base` | list | scenarios that the rest of the file is on top of |\n" +
		"| `zip.NAME` | table | keys with as many values each, which go together |\n\n")
	plots := plotSchema(new([]result.Plot)).Tables[0]
	plots.Reference(b, defaultTitle, plots.Rows())
}

// Plots returns the figures that the [[plot]] tables of the file at path describe. Every
// error is of type Diagnostics.
func Plots(path string) (figures []result.Plot, deprecated Diagnostics, err error) {
	name, data, fault := openFile(path)
	if fault != nil {
		return nil, nil, Diagnostics{*fault}
	}

	src, faults := decodeFile(name, data)
	if faults != nil {
		return nil, nil, faults
	}

	var noFiles *fileSet // plots name no files
	c := newChecker(defaultName(name), src.root, src.layers, noFiles)
	plots := readPlots(c)
	if len(c.Diagnostics) > 0 {
		return nil, nil, c.Diagnostics.Sorted()
	}

	if len(plots) == 0 {
		fault := Diagnostic{File: name, Problem: "has no [[plot]] table", Remedy: "describe a figure in one"}
		return nil, nil, Diagnostics{fault}
	}
	return plots, append(src.deprecated, c.s.Deprecated...), nil
}

// readPlots reads the [[plot]] tables of the file and checks that each has the axes that
// its kind requires.
func readPlots(c *checker) []result.Plot {
	v, given := c.Root["plot"]
	if !given {
		return nil
	}

	var plots []result.Plot
	c.Schema = plotSchema(&plots)
	c.ReadTable("plot", v)
	names := map[string]bool{}
	for i := range plots {
		// Deprecated names in values get their current names, with a warning for each.
		p, table := &plots[i], "plot."+strconv.Itoa(i)
		p.Rename(func(old, current string) {
			d := c.Diagnose(table, schema.Quote(old)+" is deprecated", "write "+current)
			if !slices.ContainsFunc(c.s.Deprecated, func(e Diagnostic) bool { return e.Remedy == d.Remedy }) {
				c.s.Deprecated = append(c.s.Deprecated, d)
			}
		})

		// ReadTable has reported invalid keys; a table with one is not checked further.
		isOfTable := func(d Diagnostic) bool { return strings.HasPrefix(d.Key, table+".") }
		if slices.ContainsFunc(c.Diagnostics, isOfTable) {
			continue
		}

		// The name becomes a file name. Each kind of figure requires other axes.
		if p.Name == "" {
			p.Name = fmt.Sprintf("plot-%d", i+1)
		}
		hasSlash := strings.ContainsAny(p.Name, `/\`)
		switch {
		case hasSlash || p.Name[0] == '.' || strings.ContainsFunc(p.Name, schema.IsControl):
			c.rejectf(table+".name",
				"%s names no file; write a short name without slashes",
				schema.Quote(p.Name))
		case names[p.Name]:
			c.rejectf(table+".name",
				"%s is the name of another plot; give each its own",
				schema.Quote(p.Name))
		case p.Kind == "":
			c.rejectf(table+".kind", "is missing; choose %s",
				schema.QuotedList(c.Tables[0].Find("kind").Choices()))
		case p.Kind == "twists" && p.Z == "":
			c.rejectf(table+".z",
				`is missing; write the metric that colours the map, such as z = "mean_delay_s"`)
		case p.Kind == "twists":
			// x and y are the bits of the pattern
		case p.Kind == "scatter" && p.X == "":
			c.rejectf(table+".x", `is missing; write a metric, such as x = "average_hops"`)
		case p.Y == "":
			c.rejectf(table+".y", `is missing; write a metric, such as y = "nct"`)
		case p.X == "" && p.Kind != "cdf":
			c.rejectf(table+".x", `is missing; write a key that is varied, or "policy"`)
		case p.Kind == "heatmap" && p.Z == "":
			c.rejectf(table+".z", "is missing; write the metric that colours the map")
		}

		names[p.Name] = true
	}
	return plots
}
