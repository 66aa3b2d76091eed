// This file reads the axes of a study: keys, or groups of keys, with their values. Axes
// come from the table [sweep] and from overrides with several values.

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

// Axis is a key with several values, or a group of keys that vary together.
type Axis struct {
	Name   string   // the key, or the name of the group
	Keys   []string // dotted, as in --set
	Values [][]any  // as decoded from TOML, indexed by value and key
	Labels []string // unique texts, indexed by value

	file    string         // file that contains the axis
	isSpace bool           // the values come from a named search space
	lines   []int          // indexed by key
	series  []*valueSeries // indexed by key; source of Values
}

// valueSeries generates n values of a key. Long series are rejected before they are
// generated.
type valueSeries struct {
	n  int
	at func(i int) any // returns value i
}

// maxVariants limits the variants of a study and the values of an axis. A sweep needs about
// a kilobyte of memory per variant.
const maxVariants = 1_000_000

// readAxes reads [sweep] and the overrides with several values into st.Axes. It returns the
// other overrides.
func (st *Study) readAxes(c *checker, overrides []string) (fixedOverrides []string) {
	if v, given := c.Root["sweep"]; given {
		sweep, ok := v.(map[string]any)
		if !ok {
			c.rejectf("sweep", "is %s; write it as a table: [sweep]", schema.Describe(v))
			return nil
		}

		st.Axes = readAxisTable(c, sweep, "sweep", noPrefix)
	}

	for _, o := range overrides {
		if !st.overrideAxis(c, o) {
			fixedOverrides = append(fixedOverrides, o)
		}
	}

	// Check the number of variants before any value is generated.
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
		c.rejectf("sweep",
			"makes %.3g variants of the scenario; vary fewer keys or values, for at most %d",
			n, maxVariants)
	}

	if len(c.Diagnostics) > 0 {
		return fixedOverrides
	}

	// Generate the values.
	for i := range st.Axes {
		a := &st.Axes[i]
		a.Values = make([][]any, a.series[0].n)
		for v := range a.Values {
			for k, values := range a.series {
				value := values.at(v)
				c.names.apply(value, strings.Split(a.Keys[k], "."), func(string) Diagnostic {
					return Diagnostic{File: a.file, Line: a.lines[k]}
				})
				a.Values[v] = append(a.Values[v], value)
			}
		}

		a.checkFinite(c)
		a.setLabels(c)
	}
	return fixedOverrides
}

// noPrefix is the argument key of readAxisTable for tables whose keys are complete.
const noPrefix = ""

// readAxisTable returns the axes in a table m: [sweep] or a table in it. path is the path
// of the table, and key the prefix of the keys in it. Axes are sorted by line, because
// decoded TOML tables have no order.
func readAxisTable(c *checker, m map[string]any, path, key string) (axes []Axis) {
	for _, name := range slices.Sorted(maps.Keys(m)) {
		axisPath, full := schema.JoinPath(path, name), strings.TrimPrefix(key+"."+name, ".")

		// A table with the key "from" is a range. Any other table is a section, as in the
		// scenario.
		below, isTable := m[name].(map[string]any)
		_, isRange := below["from"]
		parts, isKey := splitKey(full)
		switch {
		// Groups of keys.
		case isTable && path == "sweep" && name == "zip":
			axes = append(axes, readAxisGroups(c, below, axisPath)...)
		case isTable && !isRange && len(below) == 0:
			c.rejectf(axisPath, "is an empty table; write a list of values or a range")

		// The table of a section: its keys are parts of dotted keys.
		case isTable && !isRange:
			axes = append(axes, readAxisTable(c, below, axisPath, full)...)
		case !isKey:
			c.rejectf(axisPath, "names no key; write a key such as fabric.port_bandwidth")
		default:
			values, w := namedSpace(full, m[name])
			isSpace := values != nil
			switch {
			case values != nil || w != nil:
			case isPolicyList(full) && isAllPolicies(m[name]):
				values = &valueSeries{n: 1, at: func(int) any { return allPolicies }} // compared in each variant
			default:
				values, w = axisValues(m[name])
			}
			if w != nil {
				c.Reject(axisPath, w.Problem, w.Remedy)
				continue
			}
			file, line := schema.FindLine(c.Layers, axisPath)
			if parts, ok := c.names.current(parts, Diagnostic{File: file, Line: line}); ok {
				full = strings.Join(parts, ".")
				axis := newAxis(full, file, line, values)
				axis.isSpace = isSpace
				axes = append(axes, axis)
			}
		}
	}

	slices.SortStableFunc(axes, func(a, b Axis) int { return cmp.Compare(a.lines[0], b.lines[0]) })
	return axes
}

// readAxisGroups returns an axis per group of keys that vary together. table is the path of
// the groups.
func readAxisGroups(c *checker, groups map[string]any, table string) (axes []Axis) {
	for _, name := range slices.Sorted(maps.Keys(groups)) {
		path := schema.JoinPath(table, name)

		// The name of a group is the name of a column in results.
		if name == "policy" || name == "scenario" {
			c.rejectf(path, "is the name of a column of every result; give the group another name")
			continue
		}

		m, ok := groups[name].(map[string]any)
		if !ok || len(m) == 0 {
			c.rejectf(path,
				"is no group of keys; write [sweep.zip.%s] with a list of values for each key",
				name)
			continue
		}

		// Values with equal index belong together, so all keys need the same number of
		// values.
		members := readAxisTable(c, m, path, noPrefix)
		group := Axis{Name: name}
		for _, a := range members {
			if first := members[0]; a.series[0].n != first.series[0].n {
				c.rejectf(path,
					"zips %d values of %s with %d of %s; give all keys of a group as many values",
					first.series[0].n, first.Name, a.series[0].n, a.Name)
				break
			}
			group.file = a.file
			group.Keys = append(group.Keys, a.Name)
			group.lines = append(group.lines, a.lines[0])
			group.series = append(group.series, a.series[0])
		}

		if len(members) > 0 && len(group.Keys) == len(members) {
			axes = append(axes, group)
		}
	}
	return axes
}

// newAxis returns an axis with one key, which is also its name.
func newAxis(key, file string, line int, values *valueSeries) Axis {
	return Axis{
		Name:   key,
		Keys:   []string{key},
		file:   file,
		lines:  []int{line},
		series: []*valueSeries{values},
	}
}

// axisValues reads a list of values or a range.
func axisValues(v any) (*valueSeries, *schema.Rejection) {
	switch v := v.(type) {
	case string:
		return parseRange(v)
	case map[string]any:
		return tableRange(v)
	}

	// Decoded lists have several types, such as []any and []map[string]any.
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

// overrideAxis applies an override to the axes. "key=a,b,c" or "key=1..8" adds an axis, or
// replaces the axis of the key. An override with one value removes the axis; overrideAxis
// then returns false, and the caller applies the value.
func (st *Study) overrideAxis(c *checker, text string) bool {
	key, raw, ok := strings.Cut(text, "=")
	parts, good := splitKey(key)
	if !ok || !good || strings.TrimSpace(key) == unsetKey {
		return false // override reports faults, and applies the key unset
	}

	if parts, ok = c.names.current(parts, Diagnostic{File: schema.SetFile}); !ok {
		return true
	}
	key, raw = strings.Join(parts, "."), strings.TrimSpace(raw)

	// A group of keys can only be changed as a whole.
	values, w := namedSpace(key, strings.Trim(raw, `"'`))
	isSpace := values != nil
	if values == nil && w == nil {
		values, w = overrideValues(key, raw)
	}
	index := slices.IndexFunc(st.Axes, func(a Axis) bool { return slices.Contains(a.Keys, key) })
	if w == nil && index >= 0 && len(st.Axes[index].Keys) > 1 {
		w = rejection(
			"is varied together with other keys by the group "+st.Axes[index].Name,
			"change the group in the file",
		)
	}

	if w != nil {
		fault := Diagnostic{File: schema.SetFile, Key: key, Problem: w.Problem, Remedy: w.Remedy}
		c.Diagnostics = append(c.Diagnostics, fault)
		return true
	}

	// A base is always an axis, since a base of the file is merged before overrides are
	// applied.
	if values == nil && key == baseKey {
		values = &valueSeries{n: 1, at: func(int) any { return strings.Trim(raw, `"'`) }}
	}

	// Replace the axis of the key, or append one.
	var replacement []Axis
	if values != nil {
		const line = 0 // overrides have no lines
		replacement = []Axis{newAxis(key, schema.SetFile, line, values)}
		replacement[0].isSpace = isSpace
	}
	if index < 0 {
		index = len(st.Axes)
		st.Axes = append(st.Axes, Axis{})
	}

	st.Axes = slices.Replace(st.Axes, index, index+1, replacement...)
	return values != nil
}

// overrideValues splits the text of an override into several values. It returns nil if
// there is only one.
func overrideValues(key, raw string) (*valueSeries, *schema.Rejection) {
	if slices.Contains(textKeys, key) {
		return nil, nil
	}

	// A key with a list as its value has several values only if these are lists in brackets.
	if isListKey(key) {
		lists := splitList(raw)
		isList := func(text string) bool { return strings.HasPrefix(strings.TrimSpace(text), "[") }
		if len(lists) < 2 || !slices.ContainsFunc(lists, isList) {
			return nil, nil
		}
	} else if one := schema.DecodeValue(raw); reflect.ValueOf(one).Kind() == reflect.Slice {
		return axisValues(one) // a list in brackets
	}

	// A text that contains ".." may be a file name. It must be a range if it begins with a
	// digit.
	if text, ok := schema.DecodeValue(raw).(string); ok && strings.Contains(text, "..") {
		if values, w := parseRange(text); w == nil {
			return values, nil
		} else if digits := strings.TrimPrefix(text, "-"); digits[0] >= '0' && digits[0] <= '9' {
			return nil, w
		}
	}

	// A list without brackets.
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

// splitList splits a text at commas outside quotes and brackets.
func splitList(raw string) []string {
	var fields []string

	// depth is the number of open brackets, and quoted the quotation mark of a text or 0.
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
		if key := formSchema(&Scenario{}, forOneJob, k).Key(path); key != nil {
			return key.Type.Kind() == reflect.Slice
		}
	}
	return false
}

// checkFinite rejects values that are or contain NaN or infinite numbers.
func (a *Axis) checkFinite(c *checker) {
	for v := range a.Values {
		for k, key := range a.Keys {
			eachNonFinite(a.Values[v][k], key, func(_ string, number float64) {
				c.Diagnostics = append(c.Diagnostics, Diagnostic{
					File:    a.file,
					Line:    a.lines[k],
					Key:     "sweep." + key,
					Problem: fmt.Sprintf("value %d is %s", v+1, schema.Describe(number)),
					Remedy:  "write finite numbers",
				})
			})
		}
	}
}

// setLabels sets Labels, which must be unique. The labels of a group are the values of its
// first key if these differ, else the values of all keys.
func (a *Axis) setLabels(c *checker) {
	const firstKey = 1 // number of keys
	duplicate := a.labelBy(firstKey)
	if duplicate != "" {
		duplicate = a.labelBy(len(a.Keys))
	}
	if duplicate != "" {
		c.Diagnostics = append(c.Diagnostics, Diagnostic{
			File:    a.file,
			Line:    a.lines[0],
			Key:     "sweep." + a.Name,
			Problem: "lists " + schema.Quote(duplicate) + " twice",
			Remedy:  "list it once",
		})
		return
	}

	// The values of the axis "base" must be names.
	for k, key := range a.Keys {
		for _, v := range a.Values {
			if _, ok := v[k].(string); !ok && key == baseKey {
				c.Diagnostics = append(c.Diagnostics, Diagnostic{
					File:    a.file,
					Line:    a.lines[k],
					Key:     "sweep." + baseKey,
					Problem: "is " + schema.Describe(v[k]),
					Remedy:  "list names of scenarios",
				})
				return
			}
		}
	}
}

// labelBy sets Labels from the values of the first keys, and returns the last label that
// occurs twice, or "".
func (a *Axis) labelBy(keys int) (duplicate string) {
	a.Labels = a.Labels[:0]
	seen := make(map[string]bool, len(a.Values))
	for _, v := range a.Values {
		parts := make([]string, keys)
		for k := range parts {
			if table, isTable := v[k].(map[string]any); isTable {
				parts[k] = a.tableLabel(k, table)
				continue
			}
			parts[k] = valueLabel(a.Keys[k], v[k])
		}
		label := strings.Join(parts, "/")
		if seen[label] {
			duplicate = label
		}
		seen[label] = true
		a.Labels = append(a.Labels, label)
	}
	return duplicate
}

// tableLabel returns the text of a table that is a value of key k, such as a whole [fabric]: its
// kind, followed by the keys in which the values of the axis differ.
func (a *Axis) tableLabel(k int, table map[string]any) string {
	differs := func(name string) bool {
		return slices.ContainsFunc(a.Values, func(v []any) bool {
			other, _ := v[k].(map[string]any)
			return !reflect.DeepEqual(other[name], table[name])
		})
	}
	var parts []string
	if kind, ok := table["kind"].(string); ok {
		parts = append(parts, kind)
	}
	for _, name := range slices.Sorted(maps.Keys(table)) {
		if name != "kind" && differs(name) {
			parts = append(parts, name+"="+valueLabel(name, table[name]))
		}
	}
	return strings.Join(parts, " ")
}

// valueLabel returns the text of a value of a key.
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

// numbers returns the values of the first key in base units, or nil if one is not a number,
// a rate, a size or a time.
func (a *Axis) numbers() []float64 {
	// Try each kind of quantity in turn; all values must be of one kind.
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

// quantityParser returns a function that parses a text with a unit and returns the number.
func quantityParser[T any](parse func(string) (T, error), number func(T) float64) func(any) (float64, error) {
	return func(v any) (float64, error) {
		text, _ := v.(string)
		q, err := parse(text)
		return number(q), err
	}
}
