package scenarios

import (
	"fmt"
	"slices"
	"strings"

	"sim/engine/units"
)

// unknown refuses keys that no table has, and tables that are none. complete
// says that the tables of all sections are known; if not, only those at hand
// are looked into.
func (c *checker) unknown(tables []*table, complete bool) {
	c.unknownIn(c.root, "", tables, complete)
}

func (c *checker) unknownIn(m map[string]any, path string, tables []*table, complete bool) {
	for _, name := range sorted(m) {
		v := m[name]
		at := joinPath(path, name)
		i := slices.IndexFunc(tables, func(t *table) bool { return t.path == at })
		inner := slices.ContainsFunc(tables, func(t *table) bool { return strings.HasPrefix(t.path, at+".") })
		switch {
		case i >= 0 && tables[i].isArray():
			c.unknownRows(v, tables[i])
		case i >= 0 || inner:
			sub, ok := v.(map[string]any)
			if !ok {
				c.fault(at, "is "+describe(v), "write it as a table: ["+at+"]")
				continue
			}
			c.unknownIn(sub, at, tables, complete)
		case hasKey(tables, path, name):
		case !complete && path == "" && slices.Contains(topLevel(), name):
		default:
			c.unknownKey(path, name, v, tables)
		}
	}
}

// unknownRows looks into the elements of an array of tables.
func (c *checker) unknownRows(v any, t *table) {
	rows := c.rows(t)
	if list, ok := v.([]any); rows == nil && (!ok || len(list) > 0) {
		c.fault(t.path, "is "+describe(v), "write it as an array of tables: [["+t.path+"]]")
		return
	}
	for i, row := range rows {
		for _, name := range sorted(row) {
			if t.find(name) == nil && !slices.Contains(t.inner, name) {
				c.faultUnknown(t.at(i), name, "unknown key", t.names())
			}
		}
	}
}

// unknownKey refuses a key, saying where it belongs or what was meant.
func (c *checker) unknownKey(path, name string, v any, tables []*table) {
	at := joinPath(path, name)
	what := "unknown key"
	if _, isTable := v.(map[string]any); isTable {
		what = "unknown table"
	}
	known := namesIn(tables, path)
	if path == "" {
		known = append(known, topLevel()...)
	}
	if slices.Contains(sections, path) {
		what += fmt.Sprintf(", not used by kind %s", quote(c.kindOf(path)))
	}
	if nearest(name, known) == "" {
		for _, t := range tables {
			if t.find(name) != nil && t.path != path && !t.isArray() {
				where := "[" + t.path + "]"
				if t.path == "" {
					where = "the top, before any table"
				}
				c.fault(at, what, "it belongs in "+where)
				return
			}
		}
	}
	c.faultUnknown(path, name, what, known)
}

// namesIn returns the keys and tables that stand in the table at path. Those of
// the top are not among them: topLevel knows more.
func namesIn(tables []*table, path string) []string {
	var names []string
	for _, t := range tables {
		if t.path == path {
			names = append(names, t.names()...)
		} else if parent, last := cutLast(t.path); parent == path && path != "" {
			names = append(names, last)
		}
	}
	return names
}

// faultUnknown refuses a key and suggests a known one, rather one that is not
// given yet. That one is then not reported as missing.
func (c *checker) faultUnknown(path, name, what string, known []string) {
	want := "known keys: " + strings.Join(known, ", ")
	absent := slices.DeleteFunc(slices.Clone(known), func(k string) bool { return c.seen[joinPath(path, k)] })
	meant := nearest(name, absent)
	if meant != "" {
		c.bad[joinPath(path, meant)] = true
	} else {
		meant = nearest(name, known)
	}
	if meant != "" {
		want = "did you mean " + meant + "?"
	}
	c.fault(joinPath(path, name), what, want)
}

func (c *checker) kindOf(section string) string {
	if section == "fabric" {
		return c.s.Fabric.Kind
	}
	return c.s.Workload.Kind
}

// topLevel returns the names of all tables at the top that some kind has.
func topLevel() []string {
	var names []string
	for _, k := range kinds() {
		for _, t := range k.tables {
			if first, _, _ := strings.Cut(t.path, "."); !slices.Contains(names, first) {
				names = append(names, first)
			}
		}
	}
	return names
}

func hasKey(tables []*table, path, name string) bool {
	return slices.ContainsFunc(tables, func(t *table) bool { return t.path == path && t.find(name) != nil })
}

// cutLast splits a path before its last part.
func cutLast(path string) (parent, last string) {
	i := strings.LastIndexByte(path, '.')
	return path[:max(0, i)], path[i+1:]
}

func sorted(m map[string]any) []string {
	names := make([]string, 0, len(m))
	for n := range m {
		names = append(names, n)
	}
	slices.Sort(names)
	return names
}

// example says what to write for a key that is missing.
func (k *key) example(s *Scenario, i int) string {
	value := "N"
	switch k.field(s, i).(type) {
	case *string:
		value = `"NAME"`
	case *units.Rate:
		value = `"400Gbps"`
	case *[][]int:
		value = "[[...], ...]"
	}
	return fmt.Sprintf("write %s = %s: %s", k.name, value, k.doc)
}
