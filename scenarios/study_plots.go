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
var plotKinds = []string{"bars", "lines", "heatmap", "cdf"}

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
