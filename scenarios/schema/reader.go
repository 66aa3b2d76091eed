// This file reads the values of a file into the structs of a schema, and checks which
// keys are used.

package schema

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"sim/engine/units"
)

// Reader fills the structs of a schema from a decoded file and collects diagnostics.
type Reader struct {
	*Schema
	Root        map[string]any // decoded file
	Layers      []Layer        // the file, followed by the files it is based on
	Diagnostics Diagnostics    // errors found so far

	Overrides map[string]bool   // paths set by overrides
	Varied    map[string]Origin // paths varied by a study
	// Tables whose values are computed from other tables.
	Derived map[string]bool
	// FilePath maps the path of a key in checks to its path in the file.
	FilePath func(path string) string
	// OtherKind explains an unknown key or table that exists for other kinds; it returns
	// nil for other names.
	OtherKind func(path, name string) *Rejection
	// FormKeys has the paths of the keys whose values decide which keys a file uses, such as
	// "fabric.kind".
	FormKeys []string
	// Kind returns the kind on which the keys of a table depend. It returns "" for other tables.
	Kind func(path string) string

	// numUnknown is the number of unknown keys rejected by rejectUnknownKey.
	numUnknown int
	given      map[string]bool // paths present in the file or in overrides
	invalid    map[string]bool // paths with an error
	// hasIndex is indexed by element of an array of tables: it has a valid key "index".
	hasIndex map[int]bool
}

// Origin is the location at which a study varies a key.
type Origin struct {
	File string
	Line int
	Key  string
}

// maxElements is the maximum number of elements of an array of tables. It bounds the time to
// check a file, and exceeds every real scenario.
const maxElements = 10_000

// NewReader returns a reader of a file. The caller replaces its empty Schema before
// reading.
func NewReader(root map[string]any, layers []Layer) *Reader {
	var noNames *Names
	return &Reader{
		Schema:    New(noNames),
		Root:      root,
		Layers:    layers,
		Overrides: map[string]bool{},
		Derived:   map[string]bool{},
		FilePath:  func(path string) string { return path },
		OtherKind: func(string, string) *Rejection { return nil },
		Kind:      func(string) string { return "" },
		given:     map[string]bool{},
		invalid:   map[string]bool{},
		hasIndex:  map[int]bool{},
	}
}

// Child returns the table called name in m, or nil.
func Child(m map[string]any, name string) map[string]any {
	t, _ := m[name].(map[string]any)
	return t
}

// Rows returns the elements of an array of tables in either TOML notation, or nil if v is
// not one.
func Rows(v any) []map[string]any {
	switch v := v.(type) {
	case []map[string]any:
		return v
	case []any:
		var rows []map[string]any
		for _, e := range v {
			m, ok := e.(map[string]any)
			if !ok {
				return nil
			}
			rows = append(rows, m)
		}
		return rows
	}
	return nil
}

// rows returns the elements of t in the file.
func (r *Reader) rows(t *Table) []map[string]any {
	m, path := r.Root, t.Path
	for path != "" {
		var first string
		if first, path = CutFirst(path); path == "" && t.IsArray() {
			return Rows(m[first])
		}
		m = Child(m, first)
	}
	if m == nil {
		return nil
	}
	return []map[string]any{m}
}

// Read stores the values of the file and rejects unknown keys. complete reports whether
// the schema has all tables of the file; otherwise, tables of other kinds are accepted.
func (r *Reader) Read(complete bool) {
	for _, t := range r.Tables {
		r.read(t)
	}
	const top = "" // path of the root
	r.rejectUnknown(r.Root, top, complete)
}

// ApplyDefaults fills absent keys with their defaults. It rejects given keys that are not
// used, and reports required keys that are missing.
func (r *Reader) ApplyDefaults() {
	r.fillDefaults()
	for _, t := range r.Tables {
		r.checkConditions(t)
	}

	// Again, because unused keys now have their defaults.
	r.fillDefaults()
}

// ReadTable reads only an array of tables with the value v.
func (r *Reader) ReadTable(path string, v any) {
	t := r.Table(path)
	r.read(t)
	r.rejectUnknownInRows(v, t)
}

// read stores the values of the keys of a table. It appends an element for each element of an
// array of tables.
func (r *Reader) read(t *Table) {
	for i, row := range r.rows(t) {
		if t.IsArray() {
			if i == maxElements {
				r.Reject(t.Path, "stands more than "+strconv.Itoa(maxElements)+" times", "describe fewer")
				return
			}
			t.array.Set(reflect.Append(t.array, reflect.Zero(t.array.Type().Elem())))
		}
		if t.Path != "" {
			r.given[t.elementPath(i)] = true
		}
		for _, k := range t.Keys {
			path := k.elementPath(i)
			v, given := row[k.Name]
			if !given || r.given[path] { // read earlier, such as kind
				continue
			}
			r.given[path] = true
			if w := k.Set(i, v); w != nil {
				r.Reject(path, w.Problem, w.Remedy)
			} else if t.IsArray() && k.Name == "index" {
				r.hasIndex[i] = true
			}
		}
	}
}

// fillDefaults fills absent keys with their defaults.
func (r *Reader) fillDefaults() {
	for _, t := range r.Tables {
		if r.Derived[t.Path] {
			continue
		}
		for i := range t.elements() {
			var computed []any
			for _, k := range t.Keys {
				if !r.given[k.elementPath(i)] && !slices.Contains(t.Optional, k.Name) {
					k.fillDefault(i, &computed)
				}
			}
		}
	}
}

// checkConditions rejects the keys of a table that are not used.
func (r *Reader) checkConditions(t *Table) {
	if t.Path != "" && !r.OK(t.Path) || t.When != nil && !r.OK(t.When.Keys...) {
		return
	}
	used := t.When.Applies()
	for i := range t.elements() {
		// An unused table is an error if the file contains it, unless an override has switched
		// it off.
		at := t.elementPath(i)
		if !used {
			switch {
			case !r.given[at]:
			case r.IsSwitchedOff(at, t.When.Keys...):
				for _, k := range t.Keys {
					k.reset(i)
				}
			default:
				r.Reject(at, "is not used by "+t.When.NotUsedBy(), t.When.remedy())
			}
			continue
		}
		if r.Derived[t.Path] {
			continue
		}
		for _, k := range t.Keys {
			r.checkKey(t, k, i)
		}
	}
}

// checkKey checks the condition of key k in element i and whether it is missing.
func (r *Reader) checkKey(t *Table, k *Key, i int) {
	// The condition is unknown while one of its keys is invalid.
	when := k.UseCondition()
	if when != nil && !r.OK(when.Keys...) {
		return
	}
	path := k.elementPath(i)
	switch applies := when.Applies(); {
	case r.given[path] && !applies && r.IsSwitchedOff(path, when.Keys...):
		k.reset(i)
	case r.given[path] && !applies:
		r.Reject(path, "is not used by "+when.NotUsedBy(), when.remedy())
	case !r.given[path] && r.OK(path) && applies && k.Required && !slices.Contains(t.Optional, k.Name):
		r.Reject(path, "is missing", k.example())
	}
}

// example states how to write a missing key.
func (k *Key) example() string {
	value := "N"
	switch k.Type {
	case reflect.TypeFor[string]():
		value = `"NAME"`
	case reflect.TypeFor[units.Rate]():
		value = `"400Gbps"`
	case reflect.TypeFor[[][]int]():
		value = "[[...], ...]"
	}
	return fmt.Sprintf("write %s = %s: %s", k.Name, value, k.Doc)
}

// IsSwitchedOff reports whether the key at path is unused because an override or a study
// changed one of the keys on. Values of the file for other cases are then no error. The
// same holds for values that a study varies for its other variants.
func (r *Reader) IsSwitchedOff(path string, on ...string) bool {
	// varied reports whether the study varies a key.
	varied := func(at string) bool {
		_, ok := r.variedAt(at)
		return ok
	}
	if varied(path) {
		return slices.ContainsFunc(on, varied)
	}
	return !r.Overridden(path) && slices.ContainsFunc(on, func(at string) bool { return varied(at) || r.Overridden(at) })
}

// Given reports whether the file or an override sets the key at path.
func (r *Reader) Given(path string) bool { return r.given[path] }

// MarkGiven marks the key at path as given, because another key stands for it.
func (r *Reader) MarkGiven(path string) { r.given[path] = true }

// OK reports whether the keys at paths and the tables that contain them have no errors.
func (r *Reader) OK(paths ...string) bool {
	return !slices.ContainsFunc(paths, func(p string) bool { return containsPathOrParent(r.invalid, p) })
}

// Reject reports an unusable value of the key at path. Checks that depend on it are
// skipped.
func (r *Reader) Reject(path, problem, remedy string) {
	r.Add(path, problem, remedy)
	r.invalid[path] = true
}

// MarkInvalid marks the key or table at path as invalid, because a fault was reported at
// another path. Checks that depend on it are skipped.
func (r *Reader) MarkInvalid(path string) { r.invalid[path] = true }

// Conflict reports that the keys at paths exclude each other. It names the first one set by
// an override, else the first one given.
func (r *Reader) Conflict(paths []string, problem, remedy string) {
	// Prefer a key that the user has just overridden.
	at := slices.IndexFunc(paths, func(p string) bool { return r.Given(p) && r.Overridden(p) })
	if at < 0 {
		at = max(0, slices.IndexFunc(paths, r.Given))
	}
	r.Add(paths[at], problem, remedy)
}

// Add reports a problem of the key at path whose value remains usable.
func (r *Reader) Add(path, problem, remedy string) {
	r.Diagnostics = append(r.Diagnostics, r.Diagnose(path, problem, remedy))
}

// Diagnose returns the diagnostic for the key at path.
func (r *Reader) Diagnose(path, problem, remedy string) Diagnostic {
	path = r.FilePath(path)
	d := Diagnostic{Key: r.display(path), Problem: problem, Remedy: remedy}
	d.File, d.Line = FindLine(r.Layers, path)
	if o, ok := r.variedAt(path); ok {
		d.File, d.Line, d.Key = o.File, o.Line, "sweep."+o.Key
	} else if r.Overridden(path) {
		d.File, d.Line = SetFile, 0
	}
	return d
}

// variedAt returns where the study varies the key at path or a table that contains it.
func (r *Reader) variedAt(path string) (Origin, bool) {
	for path = r.FilePath(path); path != ""; path, _ = CutLast(path) {
		if o, ok := r.Varied[path]; ok {
			return o, true
		}
	}
	return Origin{}, false
}

// Overridden reports whether an override sets the key at path or a table that contains it.
func (r *Reader) Overridden(path string) bool {
	return containsPathOrParent(r.Overrides, r.FilePath(path))
}

// containsPathOrParent reports whether set contains path or a table that contains path.
func containsPathOrParent(set map[string]bool, path string) bool {
	for ; path != ""; path, _ = CutLast(path) {
		if set[path] {
			return true
		}
	}
	return false
}

// display returns the name of the key at path in overrides. Elements with a key "index"
// are identified by it, not by their position in the file.
func (r *Reader) display(path string) string {
	for _, t := range r.Tables {
		rest, ok := strings.CutPrefix(path, t.Path+".")
		if !ok || !t.IsArray() || t.Find("index") == nil {
			continue
		}
		place, key, _ := strings.Cut(rest, ".")
		if i, err := strconv.Atoi(place); err == nil && i < t.elements() && r.hasIndex[i] {
			return JoinPath(t.Path, strconv.FormatInt(t.Find("index").Field(i).Int(), 10)) + strings.TrimSuffix("."+key, ".")
		}
	}
	return path
}
