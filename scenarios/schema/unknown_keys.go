// This file rejects keys and tables that a schema does not have, and suggests
// similar names.

package schema

import (
	"maps"
	"slices"
	"strings"

	"sim/internal/text"
)

// rejectUnknown rejects keys and tables of m, the table at path, that the schema does not have.
// complete reports whether the schema has all tables of the file; otherwise, tables of other
// kinds are accepted at the top.
func (r *Reader) rejectUnknown(m map[string]any, path string, complete bool) {
	own := r.Table(path)
	for _, name := range r.namesInOrder(m, path) {
		v := m[name]
		if _, isTable := v.(map[string]any); !isTable && own != nil && own.Find(name) != nil {
			continue
		}
		at := JoinPath(path, name)
		t := r.Table(at)

		// inner reports whether the schema has a table below this one.
		inner := slices.ContainsFunc(r.Tables, func(t *Table) bool { return strings.HasPrefix(t.Path, at+".") })
		switch {
		case t != nil && t.IsArray():
			r.rejectUnknownInRows(v, t)
		case t != nil || inner:
			sub, ok := v.(map[string]any)
			if !ok {
				r.Reject(at, "is "+Describe(v), "write it as a table: ["+at+"]")
				continue
			}
			r.rejectUnknown(sub, at, complete)
		case own != nil && own.Find(name) != nil:
			// a key whose value is a table
		case !complete && path == "" && r.OtherKind(path, name) != nil:
			// a table of another kind
		default:
			r.rejectUnknownKey(path, name, v)
		}
	}
}

// namesInOrder returns the names of the keys of a table in the order of the file.
func (r *Reader) namesInOrder(m map[string]any, path string) []string {
	names := slices.Sorted(maps.Keys(m))
	line := make(map[string]int, len(names))
	for _, name := range names {
		_, line[name] = FindLine(r.Layers, r.FilePath(JoinPath(path, name)))
	}
	slices.SortStableFunc(names, func(a, b string) int { return line[a] - line[b] })
	return names
}

// rejectUnknownInRows rejects unknown keys in the elements of an array of tables.
func (r *Reader) rejectUnknownInRows(v any, t *Table) {
	rows := Rows(v)
	if list, ok := v.([]any); rows == nil && (!ok || len(list) > 0) {
		r.Reject(t.Path, "is "+Describe(v), "write it as an array of tables: [["+t.Path+"]]")
		return
	}
	for i, row := range rows {
		for _, name := range r.namesInOrder(row, t.elementPath(i)) {
			if t.Find(name) == nil && !slices.Contains(t.part.NestedTables, name) {
				r.RejectUnknown(t.elementPath(i), name, "unknown key", t.Names())
			}
		}
	}
}

// rejectUnknownKey rejects a key. The remedy states the kinds that use the key, the table to
// which it belongs, or the key that was probably meant. Finding a remedy is slow, so only as
// many unknown keys have one as diagnostics are printed.
func (r *Reader) rejectUnknownKey(path, name string, v any) {
	at, what := JoinPath(path, name), "unknown key"
	_, isTable := v.(map[string]any)
	if isTable {
		what = "unknown table"
	}
	if r.numUnknown++; r.numUnknown > maxDiagnostics {
		const noRemedy = ""
		r.Reject(at, what, noRemedy)
		return
	}
	if w := r.OtherKind(path, name); w != nil {
		if r.isOfOtherVariant(at) {
			return
		}
		r.Reject(at, w.Problem, w.Remedy)
		return
	}
	known := r.namesIn(path)
	if kind := r.Kind(path); kind != "" {
		what += ", not used by kind " + Quote(kind)
	}
	// If no name is similar, the key may belong to another table.
	if !isTable && text.Nearest(name, known) == "" {
		for _, t := range r.Tables {
			if t.Find(name) != nil && t.Path != path && !t.IsArray() && t.When.Applies() {
				where := "[" + t.Path + "]"
				if t.Path == "" {
					where = "the top, before any table"
				}
				r.Reject(at, what, "it belongs in "+where)
				return
			}
		}
	}
	r.RejectUnknown(path, name, what, known)
}

// isOfOtherVariant reports whether the key or table at path, which other kinds use, belongs to
// other variants of a study: the study varies one of FormKeys, or an override replaces the whole
// table of one, and the file has the key for the other forms. Keys inside a table that the study
// replaces as a whole belong to the kind in that table.
func (r *Reader) isOfOtherVariant(path string) bool {
	if _, ok := r.Varied[path]; !ok {
		for table, _ := CutLast(path); table != ""; table, _ = CutLast(table) {
			if _, replaced := r.Varied[table]; replaced {
				return false
			}
		}
	}
	changes := func(formKey string) bool {
		_, isVaried := r.variedAt(formKey)
		table, _ := CutLast(formKey)
		return isVaried || r.Overrides[table]
	}
	_, isVaried := r.variedAt(path)
	return slices.ContainsFunc(r.FormKeys, changes) && (isVaried || !r.Overridden(path))
}

// namesIn returns the names of keys and tables in the table at path.
func (r *Reader) namesIn(path string) []string {
	var names []string
	for _, t := range r.Tables {
		if t.Path == path {
			names = append(names, t.Names()...)
		} else if parent, last := CutLast(t.Path); parent == path && path != "" {
			names = append(names, last)
		}
	}
	if path == "" {
		for _, t := range r.Tables {
			if first, _ := CutFirst(t.Path); first != "" && !slices.Contains(names, first) {
				names = append(names, first)
			}
		}
	}
	return names
}

// RejectUnknown rejects a key and suggests a known one, preferably one that is not given
// yet. The suggested key is then not reported as missing.
func (r *Reader) RejectUnknown(path, name, what string, known []string) {
	known = slices.DeleteFunc(slices.Clone(known), func(k string) bool { return k == name })
	want := "known keys: " + strings.Join(known, ", ")
	// Prefer a similar key that is missing.
	absent := slices.DeleteFunc(slices.Clone(known), func(k string) bool { return r.given[JoinPath(path, k)] })
	meant := text.Nearest(name, absent)
	if meant != "" {
		r.invalid[JoinPath(path, meant)] = true
	} else {
		meant = text.Nearest(name, known)
	}
	if meant != "" {
		want = "did you mean " + meant + "?"
	}
	r.Reject(JoinPath(path, name), what, want)
}
