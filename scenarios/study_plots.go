package scenarios

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"sim/scenarios/result"
	"sim/scenarios/schema"
)

// plotKinds are the kinds of figures that a [[plot]] table may ask for.
var plotKinds = []string{"bars", "gain", "lines", "scatter", "heatmap", "twists", "cdf"}

// plotKeys are the keys of a [[plot]] table, for the reference.
var plotKeys = [][2]string{
	{"name", "name of the figure's file"},
	{"title", "line above it"},
	{"kind", "`bars`, `gain` (bars by policy at the value of one axis at which a policy gains most over the others), `lines`, `scatter`, `heatmap`, `twists` (the 64 twists of `fabric.twist` as an 8x8 map) or `cdf`"},
	{"x", "a key that is varied (its last part will do), `policy`, of lines also a metric and of a scatter always one; of a gain keys with commas between, by default one of those that are varied; of a cdf or of twists nothing"},
	{"y", "a metric of the cells, `reference.METRIC`, `solve_s`, `play_s`, or `A/B`, one over another; of a heat map a key that is varied; of twists nothing"},
	{"z", "of a heat map or of twists, the metric that colours it"},
	{"series", "a key that is varied, or `policy`: a colour or line each"},
	{"panels", "a key that is varied, or `policy`: a panel each; of a gain keys with commas between, by default all that are varied and not named yet"},
	{"x_label", "text at the x axis"},
	{"y_label", "text at the y axis"},
	{"log_x", "whether the x axis is logarithmic"},
	{"log_y", "whether the y axis is logarithmic"},
	{"scale", "factor by which y is multiplied; 100 makes percent"},
	{"offset", "what is then added: with scale 100, -100 is percent above 1"},
	{"from", "where the y axis begins"},
	{"where", "a table of keys with the values of which cells are drawn"},
	{"take", "what stands for several cells at one place, of bars, lines, heat maps and twists: `mean`, `min` or `max`"},
	{"also", "of lines, a list of metrics with a line of their own, such as bounds"},
	{"below", "of lines, a metric that is shown in a lower panel below each"},
	{"below_of", "a list of the values of `series` that are shown there; by default all"},
	{"over", "of a gain, the key of whose values it takes for each group the one with the largest gain; where `where` keeps one value, that one"},
	{"policy", "of a gain, the policy that gains: 1 - its y / the least y of the others"},
	{"against", "of a gain, a list of the policies that it is compared with; by default all others"},
	{"truncate", "of a gain, the multiple of the highest bar of `policy` in a panel at which others are cut off; by default 3, on a logarithmic axis none"},
	{"mark", "an array of tables `[[plot.mark]]`: figures that somebody else states, each with `label`, `x`, `series`, `panel` and `y`"},
}

// studyReference writes what only studies have.
func studyReference(b *strings.Builder) {
	b.WriteString("## Studies\n\nA file with one of these tables is a study, which `sim sweep` runs.\n\n" +
		"### `[sweep]`\n\nEach key is one of a scenario, or `base`, with the values that it takes: a list, or a range. " +
		"All combinations are run, the last key varying fastest.\n\n" +
		"| key | value | meaning |\n|---|---|---|\n" +
		"| `\"fabric.port_bandwidth\"` or any other | list | `[\"200Gbps\", \"400Gbps\"]` |\n" +
		"| | range | `\"1..8\"`, `\"0..1 step 0.25\"`, `\"200Gbps..1600Gbps times 2\"` |\n" +
		"| | table | `{from = 1, to = 8, step = 1}`, or with `factor` instead of `step` |\n" +
		"| `base` | list | scenarios that the rest of the file is on top of |\n" +
		"| `zip.NAME` | table | keys with as many values each, which go together |\n\n" +
		"### `[[plot]]`\n\nA figure of the finished study.\n\n| key | meaning |\n|---|---|\n")
	for _, k := range plotKeys {
		fmt.Fprintf(b, "| `%s` | %s |\n", k[0], k[1])
	}
	b.WriteString("\n")
}

// Plots returns the figures that the file at path asks for with [[plot]]
// tables. Every error is of type Diagnostics.
func Plots(path string) ([]result.Plot, error) {
	name, data, fault := open(path)
	if fault != nil {
		return nil, Diagnostics{*fault}
	}
	src, faults := decode(name, data)
	if faults != nil {
		return nil, faults
	}
	c := newChecker(defaultName(name), src.root, src.layers)
	plots := readPlots(c)
	if len(c.Diagnostics) > 0 {
		return nil, c.Diagnostics.Sorted()
	}
	if len(plots) == 0 {
		return nil, Diagnostics{{File: name, Problem: "has no [[plot]] table", Remedy: "describe a figure in one"}}
	}
	return plots, nil
}

// readPlots reads the [[plot]] tables of c's file.
func readPlots(c *checker) []result.Plot {
	v, given := c.Root["plot"]
	if !given {
		return nil
	}
	rows := schema.Rows(v)
	if rows == nil {
		c.Refuse("plot", "is "+schema.Describe(v), "write it as an array of tables: [[plot]]")
		return nil
	}
	names := map[string]bool{}
	var plots []result.Plot
	for i, row := range rows {
		at := schema.JoinPath("plot", strconv.Itoa(i))
		p, ok := readPlot(c, at, row)
		if !ok {
			continue
		}
		if p.Name == "" {
			p.Name = fmt.Sprintf("plot-%d", i+1)
		}
		switch {
		case strings.ContainsAny(p.Name, `/\`) || p.Name[0] == '.' || strings.ContainsFunc(p.Name, schema.IsControl):
			c.Refuse(schema.JoinPath(at, "name"), schema.Quote(p.Name)+" names no file", "write a short name without slashes")
		case names[p.Name]:
			c.Refuse(schema.JoinPath(at, "name"), schema.Quote(p.Name)+" is the name of another plot", "give each its own")
		case !slices.Contains(plotKinds, p.Kind):
			what := schema.Quote(p.Kind) + " is not known"
			if p.Kind == "" {
				what = "is missing"
			}
			c.Refuse(schema.JoinPath(at, "kind"), what, schema.OneOf(p.Kind, plotKinds))
		case p.Kind == "twists" && p.Z == "":
			c.Refuse(schema.JoinPath(at, "z"), "is missing", `write the metric that colours the map, such as z = "mean_delay_s"`)
		case p.Kind == "twists":
			// x and y are the bits of the pattern
		case p.Kind == "scatter" && p.X == "":
			c.Refuse(schema.JoinPath(at, "x"), "is missing", `write a metric, such as x = "average_hops"`)
		case p.Y == "":
			c.Refuse(schema.JoinPath(at, "y"), "is missing", `write a metric, such as y = "nct"`)
		case p.Kind == "gain" && p.Policy == "":
			c.Refuse(schema.JoinPath(at, "policy"), "is missing", "write the policy whose gain over the others is shown")
		case p.Kind == "gain":
			// groups and panels have defaults
		case p.X == "" && p.Kind != "cdf":
			c.Refuse(schema.JoinPath(at, "x"), "is missing", `write a key that is varied, or "policy"`)
		case p.Kind == "heatmap" && p.Z == "":
			c.Refuse(schema.JoinPath(at, "z"), "is missing", "write the metric that colours the map")
		}
		names[p.Name] = true
		plots = append(plots, p)
	}
	return plots
}

// readPlot reads one table. JSON serves as the way from its map to the struct.
func readPlot(c *checker, at string, row map[string]any) (p result.Plot, ok bool) {
	known := jsonNames(reflect.TypeOf(p))
	for _, name := range slices.Sorted(maps.Keys(row)) {
		if !slices.Contains(known, name) {
			c.Unknown(at, name, "unknown key", known)
			return p, false
		}
	}
	data, err := json.Marshal(worded(row))
	if err == nil {
		d := json.NewDecoder(bytes.NewReader(data))
		d.DisallowUnknownFields()
		err = d.Decode(&p)
	}
	var kind *json.UnmarshalTypeError
	switch {
	case errors.As(err, &kind):
		c.Refuse(schema.JoinPath(at, kind.Field), "is a "+kind.Value, "write "+wordType(kind.Type))
	case err != nil:
		c.Refuse(at, strings.TrimPrefix(err.Error(), "json: "), "see docs/scenario.md")
	}
	return p, err == nil
}

// worded returns a plot's table with numbers and truth values of its where as
// texts, which the values of axes are named by.
func worded(row map[string]any) map[string]any {
	where, ok := row["where"].(map[string]any)
	if !ok {
		return row
	}
	texts := map[string]any{}
	for key, v := range where {
		list, ok := v.([]any)
		if !ok {
			texts[key] = v // which is a fault
			continue
		}
		out := make([]any, len(list))
		for i, x := range list {
			out[i] = x
			switch x := x.(type) {
			case int64:
				out[i] = strconv.FormatInt(x, 10)
			case float64:
				out[i] = strconv.FormatFloat(x, 'g', -1, 64)
			case bool:
				out[i] = strconv.FormatBool(x)
			}
		}
		texts[key] = out
	}
	row = maps.Clone(row)
	row["where"] = texts
	return row
}

// jsonNames returns the names of a struct's fields in JSON.
func jsonNames(t reflect.Type) []string {
	var names []string
	for i := range t.NumField() {
		name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
		names = append(names, name)
	}
	return names
}

func wordType(t reflect.Type) string {
	switch t.Kind() {
	case reflect.String:
		return "a text in quotes"
	case reflect.Bool:
		return "true or false"
	case reflect.Float64:
		return "a number"
	}
	return "a list or table, as docs/scenario.md shows"
}
