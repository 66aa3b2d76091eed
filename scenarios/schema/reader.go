package schema

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"sim/engine/units"
)

// Reader fills what a schema is bound to from a decoded file, and gathers what is wrong.
type Reader struct {
	*Schema
	Root        map[string]any // what the file gives
	Layers      []Layer        // the file, and those that it is based on
	Diagnostics Diagnostics

	Overrides map[string]bool   // paths that overrides give
	Varied    map[string]Origin // paths that a study varies
	Derived   map[string]bool   // tables whose values follow from elsewhere
	// FilePath returns the path in the file of a key that checks know by another.
	FilePath func(path string) string
	// OtherKind returns what is wrong with a key or table that there is not, and there is for other kinds; nil where there
	// is none either.
	OtherKind func(path, name string) *Rejection
	// Kind returns on what the keys of a table depend, "" where they do not.
	Kind func(path string) string

	numUnknown int             // keys so far that unknownKey has refused
	given      map[string]bool // paths given at all
	invalid    map[string]bool // paths that something is wrong with
	hasIndex   map[int]bool    // elements of an array whose key index is known
}

// Origin is where a study says that it varies a key.
type Origin struct {
	File string
	Line int
	Key  string
}

// maxElements bounds the elements of an array of tables.
const maxElements = 10_000

// NewReader returns what reads a file. Its Schema, of no tables, is replaced before it reads.
func NewReader(root map[string]any, layers []Layer) *Reader {
	return &Reader{
		Schema: New(nil), Root: root, Layers: layers, Overrides: map[string]bool{}, Derived: map[string]bool{},
		given: map[string]bool{}, invalid: map[string]bool{}, hasIndex: map[int]bool{},
		FilePath: func(path string) string { return path }, OtherKind: func(string, string) *Rejection { return nil }, Kind: func(string) string { return "" },
	}
}

// Child returns the table called name in m, nil if there is none.
func Child(m map[string]any, name string) map[string]any {
	t, _ := m[name].(map[string]any)
	return t
}

// Rows returns the elements of an array of tables, however it is written; nil if it is none.
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

// rows returns the elements of t that the file has.
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

// Read stores the values that the file gives, and tells keys that there are not. Complete says that the tables are all
// that the file may have.
func (r *Reader) Read(complete bool) {
	for _, t := range r.Tables {
		r.read(t)
	}
	r.rejectUnknown(r.Root, "", complete)
}

// ApplyDefaults gives absent keys their defaults, refuses keys that are given and not used, and misses those that are used,
// required and not given.
func (r *Reader) ApplyDefaults() {
	r.fillDefaults()
	for _, t := range r.Tables {
		r.checkConditions(t)
	}
	r.fillDefaults() // again what follows from keys that are not used and now hold their defaults
}

// ReadTable stores what a file gives for an array of tables alone, whose value is v.
func (r *Reader) ReadTable(path string, v any) {
	t := r.Table(path)
	r.read(t)
	r.rejectUnknownInRows(v, t)
}

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
			if !given || r.given[path] { // kind was read before
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

// fillDefaults gives absent keys their defaults.
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

func (r *Reader) checkConditions(t *Table) {
	if t.Path != "" && !r.OK(t.Path) || t.When != nil && !r.OK(t.When.Keys...) {
		return
	}
	used := t.When.Applies()
	for i := range t.elements() {
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

// checkKey is conditions of one key.
func (r *Reader) checkKey(t *Table, k *Key, i int) {
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

// example says what to write for a key that is missing.
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

// IsSwitchedOff reports whether it is an override, or what a study varies, of the keys that the one at path depends on that
// puts this out of use: what a file says for other cases is no mistake then. Nor is what a study varies for other
// variants than this.
func (r *Reader) IsSwitchedOff(path string, on ...string) bool {
	varied := func(at string) bool {
		_, ok := r.variedAt(at)
		return ok
	}
	if varied(path) {
		return slices.ContainsFunc(on, varied)
	}
	return !r.Overridden(path) && slices.ContainsFunc(on, func(at string) bool { return varied(at) || r.Overridden(at) })
}

// Given reports whether the file or an override gives the key at path.
func (r *Reader) Given(path string) bool { return r.given[path] }

// MarkGiven notes that the key at path is given, by what another names.
func (r *Reader) MarkGiven(path string) { r.given[path] = true }

// OK reports whether nothing is wrong with the keys at paths, nor a table that holds one.
func (r *Reader) OK(paths ...string) bool {
	return !slices.ContainsFunc(paths, func(p string) bool { return containsPathOrParent(r.invalid, p) })
}

// Reject notes that the value of the key at path cannot be used. Checks that need it are left out.
func (r *Reader) Reject(path, problem, remedy string) {
	r.Add(path, problem, remedy)
	r.invalid[path] = true
}

// Clash notes that the keys at paths do not go together. It names the first that is given by an override, else the
// first that is given.
func (r *Reader) Clash(paths []string, problem, remedy string) {
	at := slices.IndexFunc(paths, func(p string) bool { return r.Given(p) && r.Overridden(p) })
	if at < 0 {
		at = max(0, slices.IndexFunc(paths, r.Given))
	}
	r.Add(paths[at], problem, remedy)
}

// Add notes what is wrong with the key at path, which still serves.
func (r *Reader) Add(path, problem, remedy string) {
	r.Diagnostics = append(r.Diagnostics, r.Diagnose(path, problem, remedy))
}

// Diagnose words what is wrong with the key at path.
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

// variedAt returns where the study varies the key at path, or a table that holds it.
func (r *Reader) variedAt(path string) (Origin, bool) {
	for path = r.FilePath(path); path != ""; path, _ = CutLast(path) {
		if o, ok := r.Varied[path]; ok {
			return o, true
		}
	}
	return Origin{}, false
}

// Overridden reports whether an override gives the key at path, or a table that holds it.
func (r *Reader) Overridden(path string) bool {
	return containsPathOrParent(r.Overrides, r.FilePath(path))
}

// containsPathOrParent reports whether a set holds path or a table that path is in.
func containsPathOrParent(set map[string]bool, path string) bool {
	for ; path != ""; path, _ = CutLast(path) {
		if set[path] {
			return true
		}
	}
	return false
}

// display names the key at path as an override would: elements that have an index go by it, not by their place in the
// file.
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
