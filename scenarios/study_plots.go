package scenarios

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"sim/scenarios/result"
)

// plotKinds are the kinds of figures that a [[plot]] table may ask for.
var plotKinds = []string{"bars", "lines", "scatter", "heatmap", "twists", "cdf"}

// plotKeys are the keys of a [[plot]] table, for the reference.
var plotKeys = [][2]string{
	{"name", "name of the figure's file"},
	{"title", "line above it"},
	{"kind", "`bars`, `lines`, `scatter`, `heatmap`, `twists` (the 64 twists of `fabric.twist` as an 8x8 map) or `cdf`"},
	{"x", "a key that is varied (its last part will do), `policy`, of lines also a metric and of a scatter always one; of a cdf or of twists nothing"},
	{"y", "a metric of the cells, `reference.METRIC`, `solve_s` or `play_s`; of a heat map a key that is varied; of twists nothing"},
	{"z", "of a heat map or of twists, the metric that colours it"},
	{"series", "a key that is varied, or `policy`: a colour or line each"},
	{"panels", "a key that is varied, or `policy`: a panel each"},
	{"x_label", "text at the x axis"},
	{"y_label", "text at the y axis"},
	{"log_x", "whether the x axis is logarithmic"},
	{"log_y", "whether the y axis is logarithmic"},
	{"scale", "factor by which y is multiplied; 100 makes percent"},
	{"offset", "what is then added: with scale 100, -100 is percent above 1"},
	{"from", "where the y axis begins"},
	{"where", "a table of keys with the values of which cells are drawn"},
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
// tables. Every error is of type Faults.
func Plots(path string) ([]result.Plot, error) {
	name, data, fault := open(path)
	if fault != nil {
		return nil, Faults{*fault}
	}
	src, faults := decode(name, data)
	if faults != nil {
		return nil, faults
	}
	c := src.checker(defaultName(name))
	plots := readPlots(c)
	if len(c.faults) > 0 {
		return nil, c.faults.sort()
	}
	if len(plots) == 0 {
		return nil, Faults{{File: name, What: "has no [[plot]] table", Want: "describe a figure in one"}}
	}
	return plots, nil
}

// readPlots reads the [[plot]] tables of c's file.
func readPlots(c *checker) []result.Plot {
	v, given := c.root["plot"]
	if !given {
		return nil
	}
	t := &table{path: "plot", grow: func(*Scenario) {}}
	rows := c.rows(t)
	if rows == nil {
		c.fault("plot", "is "+describe(v), "write it as an array of tables: [[plot]]")
		return nil
	}
	names := map[string]bool{}
	var plots []result.Plot
	for i, row := range rows {
		at := joinPath("plot", strconv.Itoa(i))
		p, ok := readPlot(c, at, row)
		if !ok {
			continue
		}
		if p.Name == "" {
			p.Name = fmt.Sprintf("plot-%d", i+1)
		}
		switch {
		case strings.ContainsAny(p.Name, `/\`) || p.Name[0] == '.' || strings.ContainsFunc(p.Name, isControl):
			c.fault(joinPath(at, "name"), quote(p.Name)+" names no file", "write a short name without slashes")
		case names[p.Name]:
			c.fault(joinPath(at, "name"), quote(p.Name)+" is the name of another plot", "give each its own")
		case !slices.Contains(plotKinds, p.Kind):
			what := quote(p.Kind) + " is not known"
			if p.Kind == "" {
				what = "is missing"
			}
			c.fault(joinPath(at, "kind"), what, oneOf(p.Kind, plotKinds))
		case p.Kind == "twists" && p.Z == "":
			c.fault(joinPath(at, "z"), "is missing", `write the metric that colours the map, such as z = "mean_delay_s"`)
		case p.Kind == "twists":
			// x and y are the bits of the pattern
		case p.Kind == "scatter" && p.X == "":
			c.fault(joinPath(at, "x"), "is missing", `write a metric, such as x = "average_hops"`)
		case p.Y == "":
			c.fault(joinPath(at, "y"), "is missing", `write a metric, such as y = "nct"`)
		case p.X == "" && p.Kind != "cdf":
			c.fault(joinPath(at, "x"), "is missing", `write a key that is varied, or "policy"`)
		case p.Kind == "heatmap" && p.Z == "":
			c.fault(joinPath(at, "z"), "is missing", "write the metric that colours the map")
		}
		names[p.Name] = true
		plots = append(plots, p)
	}
	return plots
}

// readPlot reads one table. JSON serves as the way from its map to the struct.
func readPlot(c *checker, at string, row map[string]any) (p result.Plot, ok bool) {
	known := jsonNames(reflect.TypeOf(p))
	for _, name := range sorted(row) {
		if !slices.Contains(known, name) {
			c.faultUnknown(at, name, "unknown key", known)
			return p, false
		}
	}
	data, err := json.Marshal(row)
	if err == nil {
		d := json.NewDecoder(bytes.NewReader(data))
		d.DisallowUnknownFields()
		err = d.Decode(&p)
	}
	var kind *json.UnmarshalTypeError
	switch {
	case errors.As(err, &kind):
		c.fault(joinPath(at, kind.Field), "is a "+kind.Value, "write "+wordType(kind.Type))
	case err != nil:
		c.fault(at, strings.TrimPrefix(err.Error(), "json: "), "see docs/scenario.md")
	}
	return p, err == nil
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
