// This file replaces deprecated names of keys, in files and overrides, by their current
// names. Package internal/alias has the table of names.

package scenarios

import (
	"slices"
	"strconv"

	"sim/internal/alias"
	"sim/scenarios/schema"
)

// renames gives keys their current names and collects the deprecated ones.
type renames struct {
	deprecated *Diagnostics      // one warning per key
	conflicts  *Diagnostics      // keys given by both names
	written    map[string]string // keys as they were written, by file and current name
}

// apply gives the keys inside v, the value of the key at path, their current names. at returns the
// location of a deprecated key. Tables in skip remain unchanged.
func (r *renames) apply(v any, path []string, at func(old string) Diagnostic, skip ...string) {
	visit := func(old []string, duplicate bool) { r.note(old, at(dotted(old)), duplicate) }
	alias.Values(v, path, visit, skip...)
}

// current returns the current name of the key that at.File gives. ok is false if the file gave the
// key by its other name before.
func (r *renames) current(parts []string, at Diagnostic) (current []string, ok bool) {
	current = alias.Parts(parts)
	key, old := at.File+": "+dotted(current), dotted(parts)
	previous, given := r.written[key]
	if r.written == nil {
		r.written = map[string]string{}
	}
	r.written[key] = old
	if duplicate := given && previous != old; duplicate || !slices.Equal(current, parts) {
		r.note(parts, at, duplicate)
		return current, !duplicate
	}
	return current, true
}

// note adds the deprecated key with these parts, once per current name. duplicate reports that
// the key is given by its current name, too.
func (r *renames) note(old []string, at Diagnostic, duplicate bool) {
	// The remedy omits the indices of arrays of tables, such as 0 in replica.0.index.
	isIndex := func(part string) bool {
		_, err := strconv.Atoi(part)
		return err == nil
	}
	current := dotted(slices.DeleteFunc(alias.Parts(old), isIndex))
	at.Key = dotted(old)
	if duplicate {
		at.Problem, at.Remedy = "is given by its deprecated and by its current name", "write only "+current
		*r.conflicts = append(*r.conflicts, at)
		return
	}
	at.Problem, at.Remedy = "is deprecated", "write "+current
	if !slices.ContainsFunc(*r.deprecated, func(d Diagnostic) bool { return d.Remedy == at.Remedy }) {
		*r.deprecated = append(*r.deprecated, at)
	}
}

// dotted joins the parts of a key.
func dotted(parts []string) (path string) {
	for _, part := range parts {
		path = schema.JoinPath(path, part)
	}
	return path
}
