package scenarios

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"sim/engine"
	"sim/engine/units"
	"sim/scenarios/schema"
)

// Axis is a key of a scenario that a study varies, or several that go together.
type Axis struct {
	Name   string   // the key, or the name of the group
	Keys   []string // dotted, as --set takes them
	Values [][]any  // as TOML reads them, by value and key
	Labels []string // the values as texts, all different; of a group the first key's

	file   string
	lines  []int          // of each key
	series []*valueSeries // of each key, before they are listed
}

// valueSeries are values of a key: so many, and each by its number.
type valueSeries struct {
	n  int
	at func(i int) any
}

// maxVariants bounds the variants of a study, and the values of an axis: a sweep keeps about a kilobyte of each.
const maxVariants = 1_000_000

// readAxes reads the table [sweep] of c's file and the overrides that give several values. It returns the overrides
// that give one.
func (st *Study) readAxes(c *checker, overrides []string) (fixedOverrides []string) {
	if v, given := c.Root["sweep"]; given {
		sweep, ok := v.(map[string]any)
		if !ok {
			c.rejectf("sweep", "is %s; write it as a table: [sweep]", schema.Describe(v))
			return nil
		}
		st.Axes = readAxisTable(c, sweep, "sweep", "")
	}
	for _, o := range overrides {
		if !st.overrideAxis(c, o) {
			fixedOverrides = append(fixedOverrides, o)
		}
	}
	uses, n := map[string]int{}, 1.0
	for _, a := range st.Axes {
		n *= float64(a.series[0].n)
		for _, key := range a.Keys {
			if uses[key]++; uses[key] == 2 {
				c.rejectf("sweep", "%s is varied twice; vary it once", key)
			}
		}
	}
	if n > maxVariants {
		c.rejectf("sweep", "makes %.3g variants of the scenario; vary fewer keys or values, for at most %d", n, maxVariants)
	}
	if len(c.Diagnostics) > 0 { // before anything is listed
		return fixedOverrides
	}
	for i := range st.Axes {
		a := &st.Axes[i]
		a.Values = make([][]any, a.series[0].n)
		for v := range a.Values {
			for _, values := range a.series {
				a.Values[v] = append(a.Values[v], values.at(v))
			}
		}
		a.checkFinite(c)
		a.setLabels(c)
	}
	return fixedOverrides
}

// readAxisTable returns the axes that stand in [sweep] or a table in it, in the order of the file, as TOML's tables have none.
// at is where the table stands, key the key that its names are parts of.
func readAxisTable(c *checker, m map[string]any, path, key string) (axes []Axis) {
	for _, name := range slices.Sorted(maps.Keys(m)) {
		axisPath, full := schema.JoinPath(path, name), strings.TrimPrefix(key+"."+name, ".")
		below, isTable := m[name].(map[string]any)
		_, isRange := below["from"]
		_, isKey := splitKey(full)
		switch {
		case isTable && path == "sweep" && name == "zip":
			axes = append(axes, readAxisGroups(c, below, axisPath)...)
		case isTable && !isRange && len(below) == 0:
			c.rejectf(axisPath, "is an empty table; write a list of values or a range")
		case isTable && !isRange:
			axes = append(axes, readAxisTable(c, below, axisPath, full)...)
		case !isKey:
			c.rejectf(axisPath, "names no key; write a key such as fabric.port_bandwidth")
		default:
			values, w := axisValues(m[name])
			if w != nil {
				c.Reject(axisPath, w.Problem, w.Remedy)
				continue
			}
			file, line := schema.FindLine(c.Layers, axisPath)
			axes = append(axes, newAxis(full, full, file, line, values))
		}
	}
	slices.SortStableFunc(axes, func(a, b Axis) int { return cmp.Compare(a.lines[0], b.lines[0]) })
	return axes
}

// readAxisGroups returns the groups of keys that go together, an axis each.
func readAxisGroups(c *checker, groups map[string]any, table string) (axes []Axis) {
	for _, name := range slices.Sorted(maps.Keys(groups)) {
		path := schema.JoinPath(table, name)
		if name == "policy" || name == "scenario" {
			c.rejectf(path, "is the name of a column of every result; give the group another name")
			continue
		}
		m, ok := groups[name].(map[string]any)
		if !ok || len(m) == 0 {
			c.rejectf(path, "is no group of keys; write [sweep.zip.%s] with a list of values for each key", name)
			continue
		}
		members := readAxisTable(c, m, path, "")
		group := Axis{Name: name}
		for _, a := range members {
			if first := members[0]; a.series[0].n != first.series[0].n {
				c.rejectf(path, "zips %d values of %s with %d of %s; give all keys of a group as many values",
					first.series[0].n, first.Name, a.series[0].n, a.Name)
				break
			}
			group.file = a.file
			group.Keys, group.lines, group.series = append(group.Keys, a.Name), append(group.lines, a.lines[0]), append(group.series, a.series[0])
		}
		if len(members) > 0 && len(group.Keys) == len(members) {
			axes = append(axes, group)
		}
	}
	return axes
}

func newAxis(name, key, file string, line int, values *valueSeries) Axis {
	return Axis{Name: name, Keys: []string{key}, file: file, lines: []int{line}, series: []*valueSeries{values}}
}

// axisValues reads a list of values or a range.
func axisValues(v any) (*valueSeries, *schema.Rejection) {
	switch v := v.(type) {
	case string:
		return parseRange(v)
	case map[string]any:
		return tableRange(v)
	}
	rv := reflect.ValueOf(v)
	if rv.Kind() != reflect.Slice {
		return nil, rejection("is "+schema.Describe(v), `write a list of values, or a range such as "1..8"`)
	}
	switch n := rv.Len(); {
	case n == 0:
		return nil, rejection("is an empty list", "list at least one value, or leave the key out")
	case n > maxVariants:
		return nil, rejection(fmt.Sprintf("lists %d values", n), fmt.Sprintf("list at most %d", maxVariants))
	}
	return &valueSeries{n: rv.Len(), at: func(i int) any { return rv.Index(i).Interface() }}, nil
}

// overrideAxis makes "key=a,b,c" or "key=1..8" an axis, which takes the place of one of that key. An override with one
// value takes it away. It returns false for those, which are yet to be applied.
func (st *Study) overrideAxis(c *checker, text string) bool {
	key, raw, ok := strings.Cut(text, "=")
	parts, good := splitKey(key)
	if !ok || !good {
		return false // refused when it is applied
	}
	key, raw = strings.Join(parts, "."), strings.TrimSpace(raw)
	values, w := overrideValues(key, raw)
	index := slices.IndexFunc(st.Axes, func(a Axis) bool { return slices.Contains(a.Keys, key) })
	if w == nil && index >= 0 && len(st.Axes[index].Keys) > 1 {
		w = rejection("is varied together with other keys by the group "+st.Axes[index].Name, "change the group in the file")
	}
	if w != nil {
		c.Diagnostics = append(c.Diagnostics, Diagnostic{File: schema.SetFile, Key: key, Problem: w.Problem, Remedy: w.Remedy})
		return true
	}
	if values == nil && key == baseKey {
		values = &valueSeries{n: 1, at: func(int) any { return strings.Trim(raw, `"'`) }}
	}
	var replacement []Axis
	if values != nil {
		replacement = []Axis{newAxis(key, key, schema.SetFile, 0, values)}
	}
	if index < 0 {
		index = len(st.Axes)
		st.Axes = append(st.Axes, Axis{})
	}
	st.Axes = slices.Replace(st.Axes, index, index+1, replacement...)
	return values != nil
}

// overrideValues splits the text of an override into several values; nil where it gives one.
func overrideValues(key, raw string) (*valueSeries, *schema.Rejection) {
	if slices.Contains(textKeys, key) || isListKey(key) {
		return nil, nil
	}
	one := schema.DecodeValue(raw)
	if reflect.ValueOf(one).Kind() == reflect.Slice {
		return axisValues(one)
	}
	if text, ok := one.(string); ok && strings.Contains(text, "..") {
		if values, w := parseRange(text); w == nil {
			return values, nil
		} else if digits := strings.TrimPrefix(text, "-"); digits[0] >= '0' && digits[0] <= '9' {
			return nil, w
		}
	}
	fields := splitList(raw)
	if len(fields) < 2 {
		return nil, nil
	}
	values := make([]any, len(fields))
	for i, f := range fields {
		if f = strings.TrimSpace(f); f == "" {
			return nil, rejection(schema.Quote(raw)+" has an empty place", "write key=a,b,c")
		}
		values[i] = schema.DecodeValue(f)
	}
	return axisValues(values)
}

// splitList splits at the commas that stand outside quotes and brackets.
func splitList(raw string) []string {
	var fields []string
	depth, start := 0, 0
	quoted := rune(0)
	for i, r := range raw {
		switch {
		case r == quoted:
			quoted = 0
		case quoted != 0:
		case r == '"' || r == '\'':
			quoted = r
		case r == '[' || r == '{':
			depth++
		case r == ']' || r == '}':
			depth--
		case r == ',' && depth == 0:
			fields, start = append(fields, raw[start:i]), i+1
		}
	}
	return append(fields, raw[start:])
}

// isListKey reports whether the values of a key are lists.
func isListKey(path string) bool {
	for _, k := range allForms() {
		if key := formSchema(&Scenario{}, false, k).Key(path); key != nil {
			return key.Type.Kind() == reflect.Slice
		}
	}
	return false
}

// checkFinite refuses values that are NaN or infinite, or hold such numbers.
func (a *Axis) checkFinite(c *checker) {
	for v := range a.Values {
		for k, key := range a.Keys {
			walkNonFinite(a.Values[v][k], key, func(_ string, number float64) {
				c.Diagnostics = append(c.Diagnostics, Diagnostic{
					File: a.file, Line: a.lines[k], Key: "sweep." + key, Problem: fmt.Sprintf("value %d is %s", v+1, schema.Describe(number)), Remedy: "write finite numbers",
				})
			})
		}
	}
}

// setLabels words the values, which must differ: of a group by the first key's, unless they repeat, else by all keys'.
func (a *Axis) setLabels(c *checker) {
	for _, keys := range []int{1, len(a.Keys)} {
		a.Labels = a.Labels[:0]
		seen, twice := make(map[string]bool, len(a.Values)), ""
		for _, v := range a.Values {
			parts := make([]string, keys)
			for k := range parts {
				parts[k] = valueLabel(a.Keys[k], v[k])
			}
			text := strings.Join(parts, "/")
			if seen[text] {
				twice = text
			}
			seen[text] = true
			a.Labels = append(a.Labels, text)
		}
		if twice == "" {
			break
		}
		if keys == len(a.Keys) {
			c.Diagnostics = append(c.Diagnostics, Diagnostic{
				File: a.file, Line: a.lines[0], Key: "sweep." + a.Name, Problem: "lists " + schema.Quote(twice) + " twice", Remedy: "list it once",
			})
			return
		}
	}
	for k, key := range a.Keys {
		for _, v := range a.Values {
			if _, ok := v[k].(string); !ok && key == baseKey {
				c.Diagnostics = append(c.Diagnostics, Diagnostic{
					File: a.file, Line: a.lines[k], Key: "sweep." + baseKey, Problem: "is " + schema.Describe(v[k]), Remedy: "list names of scenarios",
				})
				return
			}
		}
	}
}

// valueLabel words a value of a key.
func valueLabel(key string, v any) string {
	switch v := v.(type) {
	case string:
		if key == baseKey {
			return fileStem(v)
		}
		return v
	case float64:
		return strings.TrimSuffix(schema.Literal(v), ".0")
	}
	return schema.Literal(v)
}

// numbers returns the values in their base unit, nil where some are none.
func (a *Axis) numbers() []float64 {
	for _, number := range []func(v any) (float64, error){
		func(v any) (float64, error) {
			switch v := v.(type) {
			case int64:
				return float64(v), nil
			case float64:
				return v, nil
			}
			return 0, strconv.ErrSyntax
		},
		quantityParser(units.ParseRate, func(r units.Rate) float64 { return float64(r) }),
		quantityParser(units.ParseBytes, func(b units.Bytes) float64 { return float64(b) }),
		quantityParser(units.ParseTime, engine.Time.Seconds),
	} {
		var numbers []float64
		for _, v := range a.Values {
			if n, err := number(v[0]); err == nil {
				numbers = append(numbers, n)
			}
		}
		if len(numbers) == len(a.Values) {
			return numbers
		}
	}
	return nil
}

// quantityParser reads texts of a quantity as numbers.
func quantityParser[T any](parse func(string) (T, error), number func(T) float64) func(any) (float64, error) {
	return func(v any) (float64, error) {
		text, _ := v.(string)
		q, err := parse(text)
		return number(q), err
	}
}
