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

// unknownKey refuses a key, saying which kinds use it, where it belongs or what was
// meant.
func (c *checker) unknownKey(path, name string, v any, tables []*table) {
	at := joinPath(path, name)
	what := "unknown key"
	if _, isTable := v.(map[string]any); isTable {
		what = "unknown table"
	}
	if users := c.users(path, name); len(users) > 0 {
		c.unusedKey(at, users)
		return
	}
	known := namesIn(tables, path)
	if path == "" {
		for _, t := range tables {
			if first, _, _ := strings.Cut(t.path, "."); first != "" && !slices.Contains(known, first) {
				known = append(known, first)
			}
		}
	}
	if slices.Contains(sections, path) {
		what += fmt.Sprintf(", not used by kind %s", quote(c.kindOf(path)))
	}
	if nearest(name, known) == "" {
		for _, t := range tables {
			if t.find(name) != nil && t.path != path && !t.isArray() && t.when.applies(c.s) {
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

// unusedKey refuses a key or table that the scenario's kinds do not use and others
// do.
func (c *checker) unusedKey(at string, users []*kind) {
	section, _, _ := strings.Cut(at, ".")
	if section != "workload" {
		section = "fabric" // whose kinds have the tables of policies too
	}
	by := section + " " + quote(c.kindOf(section))
	if k := findKind(section, c.kindOf(section)); k != nil && k.level != "" && (at == "engine" || strings.HasPrefix(at, "engine.")) {
		c.fault(at, "is not used by "+by, "leave it out: it is always simulated at level "+quote(k.level))
		return
	}
	var names, fabrics, here []string
	add := func(list *[]string, name string) {
		if !slices.Contains(*list, name) {
			*list = append(*list, name)
		}
	}
	for _, k := range users {
		add(&names, k.name)
		for _, f := range k.playedOn() {
			if add(&fabrics, f); f == c.s.Fabric.Kind {
				add(&here, k.name)
			}
		}
	}
	want := "leave it out: it is of workloads on fabric " + quotedList(fabrics)
	switch {
	case section == "fabric":
		want = "leave it out: it is of fabric " + quotedList(names)
	case len(here) > 0:
		want = "leave it out, or set workload.kind = " + quotedList(here)
	case len(names) < 3:
		want = "leave it out: it is of workload " + quotedList(names) + " on fabric " + quotedList(fabrics)
	}
	if section == "workload" && slices.Contains(names, c.s.Workload.Kind) {
		by += " on fabric " + quote(c.s.Fabric.Kind)
	}
	c.fault(at, "is not used by "+by, want)
}

// playedOn returns the fabrics that play a workload.
func (k *kind) playedOn() []string {
	switch {
	case k.section == "fabric":
		return []string{k.name}
	case k.on != "":
		return []string{k.on}
	case k.name == "training":
		return []string{"ocs-pods"}
	}
	return []string{"torus", "graph"}
}

// users returns the kinds that have a key or table which those of the scenario do
// not have.
func (c *checker) users(path, name string) []*kind {
	at := joinPath(path, name)
	var all []*kind
	for _, k := range kinds() {
		one := *c.s
		if k.section == "workload" {
			one.Workload.Kind = k.name
		}
		if slices.ContainsFunc(k.tables, func(t table) bool {
			if t.path == at || strings.HasPrefix(t.path, at+".") {
				return true
			}
			key := t.find(name)
			if t.path != path || key == nil || t.isArray() {
				return false
			}
			byKind := key.when != nil && !slices.ContainsFunc(key.when.keys, func(dep string) bool { return dep != "workload.kind" })
			return !byKind || key.when.ok(&one)
		}) {
			all = append(all, k)
		}
	}
	return all
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
	known = slices.DeleteFunc(slices.Clone(known), func(k string) bool { return k == name })
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
