package scenarios

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"sim/engine"
	"sim/engine/units"
)

// TOML returns s with every value that counts, defaults and presets included,
// in the order of the reference. Parse reads it back as the same scenario.
func (s *Scenario) TOML() []byte {
	if len(s.Jobs) > 0 {
		return s.jobsTOML()
	}
	var b bytes.Buffer
	for _, t := range tablesOf(s) {
		if !t.when.applies(s) || t.silent != nil && t.silent(s) {
			continue
		}
		for i := range t.elements(s) {
			t.write(&b, s, i, t.path)
		}
	}
	return b.Bytes()
}

// write writes element i of a table under a path, and of its keys those of the
// given names, or all.
func (t *table) write(b *bytes.Buffer, s *Scenario, i int, path string, names ...string) {
	if path != "" {
		header := "[" + path + "]"
		if t.isArray() {
			header = "[" + header + "]"
		}
		fmt.Fprintf(b, "\n%s\n", header)
	}
	for _, k := range t.keys {
		if !k.omit && k.when.applies(s) && (len(names) == 0 || slices.Contains(names, k.name)) {
			fmt.Fprintf(b, "%s = %s\n", k.name, literal(k.field(s, i)))
		}
	}
}

// Digest returns the SHA-256 of TOML in hex: equal for scenarios that mean the
// same, however they are written.
func (s *Scenario) Digest() string {
	sum := sha256.Sum256(s.TOML())
	return hex.EncodeToString(sum[:])
}

// tablesOf returns the tables of s's kinds in the order of writing.
func tablesOf(s *Scenario) []*table {
	tables := []*table{general()}
	for _, k := range []*kind{workloadOn(s), findKind("fabric", s.Fabric.Kind)} {
		if k != nil {
			for i := range k.tables {
				tables = append(tables, &k.tables[i])
			}
		}
	}
	return tables
}

// literal writes a value, or what a pointer points at, as TOML.
func literal(v any) string {
	rv := reflect.ValueOf(v)
	if rv.Kind() == reflect.Pointer {
		rv = rv.Elem()
	}
	switch v := rv.Interface().(type) {
	case units.Rate:
		return strconv.Quote(v.String())
	case units.Bytes:
		return strconv.Quote(v.String())
	case engine.Time:
		return strconv.Quote(units.FormatTime(v))
	case string:
		return strconv.Quote(v)
	case float64:
		return decimal(v)
	}
	if rv.Kind() != reflect.Slice {
		return fmt.Sprint(rv.Interface()) // whole numbers and truth values
	}
	elements := make([]string, rv.Len())
	for i := range elements {
		elements[i] = literal(rv.Index(i).Interface())
	}
	return "[" + strings.Join(elements, ", ") + "]"
}

// decimal writes f so that TOML reads it back as the same float.
func decimal(f float64) string {
	switch {
	case math.IsNaN(f):
		return "nan"
	case math.IsInf(f, 0):
		return strings.ToLower(strings.TrimPrefix(strconv.FormatFloat(f, 'g', -1, 64), "+"))
	}
	text := strconv.FormatFloat(f, 'g', -1, 64)
	if !strings.ContainsAny(text, ".e") {
		text += ".0"
	}
	return text
}

// assign stores v, a default of the schema, where dst points. A list is copied.
func assign(dst, v any) {
	to := reflect.ValueOf(dst).Elem()
	from := reflect.ValueOf(v)
	if from.Kind() == reflect.Slice {
		from = reflect.AppendSlice(reflect.MakeSlice(from.Type(), 0, from.Len()), from)
	}
	to.Set(from.Convert(to.Type()))
}

// assignFrom stores what from points at where dst points.
func assignFrom(dst, from any) {
	reflect.ValueOf(dst).Elem().Set(reflect.ValueOf(from).Elem())
}
