package scenarios

import (
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// checker turns a decoded TOML file into a scenario and gathers its faults.
type checker struct {
	s       *Scenario
	layers  []layer
	root    map[string]any
	set     map[string]bool   // paths given by an override
	swept   map[string]origin // paths that a study varies
	cell    bool              // it is one of many, of which the others run whatever it can
	seen    map[string]bool   // paths given at all
	bad     map[string]bool   // paths with a fault
	settled map[string]bool   // tables whose values follow from elsewhere
	indexed map[int]bool      // replicas whose index is known
	part    *jobPart          // where root comes from, if it is one job of several
	inputs  []string          // files that keys name
	alias   map[string]string // paths of keys that the file writes as others
	faults  Faults
}

// resolve checks root and fills a scenario from it.
func (c *checker) resolve() {
	c.matrixAlias()
	tables := []*table{general()}
	var found []*kind
	for _, section := range sections {
		if k := c.kind(section); k != nil {
			found = append(found, k)
		}
	}
	if len(found) == len(sections) {
		found[0] = workloadOn(c.s)
	}
	for _, k := range found {
		for i := range k.tables {
			tables = append(tables, &k.tables[i])
		}
	}
	switch {
	case c.s.routes():
		c.takePolicies("routers")
	case c.s.plans():
		c.takePolicies("planners")
	}
	for _, t := range tables {
		c.read(t)
	}
	c.unknown(tables, len(found) == len(sections))
	c.checkName()
	for _, k := range found {
		if k.prepare != nil {
			k.prepare(c)
		}
	}
	for _, t := range tables {
		c.fill(t)
	}
	for _, t := range tables {
		c.conditions(t)
	}
	for _, t := range tables {
		c.fill(t) // again what follows from keys that are not used and now hold their defaults
	}
	if len(found) < len(sections) {
		return
	}
	for _, k := range found {
		if k.check != nil {
			k.check(c)
		}
	}
}

// kind finds the kind of a section. Where it is missing or misspelt it says
// so, and goes on with the only or nearest one to find the other faults.
func (c *checker) kind(section string) *kind {
	k := kindKey(section)
	path := joinPath(section, "kind")
	allowed := kindNames(section)
	if v, given := c.root[section]; given && child(c.root, section) == nil {
		c.fault(section, "is "+describe(v), "write it as a table: ["+section+"]")
		return c.assume(section, c.likely(section))
	}
	v, given := child(c.root, section)["kind"]
	if !given {
		c.fault(path, "is missing", "write kind = "+quotedList(allowed))
		return c.assume(section, c.likely(section))
	}
	c.seen[path] = true
	if w := k.set(k.field(c.s, 0), v); w != nil {
		c.fault(path, w.what, w.want)
		text, _ := v.(string)
		return c.assume(section, nearest(text, allowed))
	}
	return findKind(section, v.(string))
}

// assume goes on with a kind that the file does not name; "" is none.
func (c *checker) assume(section, name string) *kind {
	if name != "" {
		k := kindKey(section)
		assign(k.field(c.s, 0), name)
	}
	return findKind(section, name)
}

// likely returns the kind that has most of the keys that the file gives in a
// section, the first of several.
func (c *checker) likely(section string) string {
	best, most := "", -1
	for _, k := range kinds() {
		if k.section != section {
			continue
		}
		n := 0
		for name := range child(c.root, section) {
			if k.tables[0].find(name) != nil {
				n++
			}
		}
		if n > most {
			best, most = k.name, n
		}
	}
	return best
}

// checkName holds that the name can be a directory's.
func (c *checker) checkName() {
	if n := c.s.Name; n == "" || n[0] == '.' || strings.ContainsAny(n, `/\`) {
		c.fault("name", quote(n)+" names no directory", "write a short name without slashes that does not start with a dot")
	}
}

// child returns the table called name in m, nil if there is none.
func child(m map[string]any, name string) map[string]any {
	t, _ := m[name].(map[string]any)
	return t
}

// rows returns the elements of the table t that the file has.
func (c *checker) rows(t *table) []map[string]any {
	if t.path == "" {
		return []map[string]any{c.root}
	}
	m := c.root
	parts := strings.Split(t.path, ".")
	for i, part := range parts {
		if name, err := strconv.Unquote(part); err == nil { // a name that TOML has in quotes
			parts[i] = name
		}
	}
	for _, part := range parts[:len(parts)-1] {
		m = child(m, part)
	}
	switch v := m[parts[len(parts)-1]].(type) {
	case map[string]any:
		if !t.isArray() {
			return []map[string]any{v}
		}
	case []map[string]any:
		if t.isArray() {
			return v
		}
	case []any:
		return tablesIn(t, v)
	}
	return nil
}

// tablesIn returns the elements of a list if all are tables and t is an array.
func tablesIn(t *table, list []any) []map[string]any {
	var found []map[string]any
	for _, e := range list {
		m, ok := e.(map[string]any)
		if !ok || !t.isArray() {
			return nil
		}
		found = append(found, m)
	}
	return found
}

// read stores the values that the file gives for t's keys.
func (c *checker) read(t *table) {
	for i, row := range c.rows(t) {
		if t.isArray() {
			if i == maxReplicas {
				c.fault(t.path, "stands more than "+strconv.Itoa(maxReplicas)+" times", "describe fewer")
				return
			}
			t.grow(c.s)
		}
		if t.path != "" {
			c.seen[t.at(i)] = true
		}
		for j := range t.keys {
			k := &t.keys[j]
			path := joinPath(t.at(i), k.name)
			v, given := row[k.name]
			if !given || c.seen[path] { // kind was read before
				continue
			}
			c.seen[path] = true
			if w := k.set(k.field(c.s, i), v); w != nil {
				c.fault(path, w.what, w.want)
			} else if t.isArray() && k.name == "index" {
				c.indexed[i] = true
			}
		}
	}
}

// maxReplicas bounds the replicas that differ.
const maxReplicas = 10_000

// fill gives t's absent keys their defaults.
func (c *checker) fill(t *table) {
	if c.settled[t.path] {
		return
	}
	for i := range t.elements(c.s) {
		for j := range t.keys {
			if k := &t.keys[j]; k.fill != nil && !c.seen[joinPath(t.at(i), k.name)] {
				k.fill(c.s, i)
			}
		}
	}
}

// conditions refuses keys of t that are given and not used, and misses those
// that are used, required and not given.
func (c *checker) conditions(t *table) {
	if t.path != "" && !c.ok(t.path) || t.when != nil && !c.ok(t.when.keys...) {
		return
	}
	used := t.when.applies(c.s)
	for i := range t.elements(c.s) {
		at := t.at(i)
		if !used {
			switch {
			case !c.seen[at]:
			case c.switched(at, t.when):
				for j := range t.keys {
					t.keys[j].reset(c.s, i)
				}
			default:
				c.fault(at, "is not used by "+t.when.by(c.s), t.when.remedy(c.s))
			}
			continue
		}
		if c.settled[t.path] {
			continue
		}
		for j := range t.keys {
			k := &t.keys[j]
			if k.when != nil && !c.ok(k.when.keys...) {
				continue
			}
			path := joinPath(at, k.name)
			switch applies := k.when.applies(c.s); {
			case c.seen[path] && !applies && c.switched(path, k.when):
				k.reset(c.s, i)
			case c.seen[path] && !applies:
				c.fault(path, "is not used by "+k.when.by(c.s), k.when.remedy(c.s))
			case !c.seen[path] && c.ok(path) && applies && k.required:
				c.fault(path, "is missing", k.example(c.s, i))
			}
		}
	}
}

// remedy says what to do about a key that is not used.
func (w *condition) remedy(s *Scenario) string {
	if w.first != nil {
		return w.first(s).remedy(s)
	}
	if w.instead != "" {
		return w.instead
	}
	return "leave it out, or " + w.want
}

// switched reports whether it is an override, or what a study varies, that puts
// the key or table at path out of use: what a file says for other cases is no
// fault then. Nor is what a study varies for other variants than this.
func (c *checker) switched(path string, w *condition) bool {
	varied := func(at string) bool {
		_, ok := c.varied(at)
		return ok
	}
	if varied(path) {
		return slices.ContainsFunc(w.keys, varied)
	}
	return !c.overridden(path) && slices.ContainsFunc(w.keys, func(at string) bool { return varied(at) || c.overridden(at) })
}

// reset gives a key that is not used its default, or no value.
func (k *key) reset(s *Scenario, i int) {
	field := reflect.ValueOf(k.field(s, i)).Elem()
	field.SetZero()
	if k.fill != nil {
		k.fill(s, i)
	}
}

// given reports whether the file or an override gives the key at path.
func (c *checker) given(path string) bool { return c.seen[path] }

// ok reports whether no key at paths is faulty, nor a table that holds one.
func (c *checker) ok(paths ...string) bool {
	return !slices.ContainsFunc(paths, func(p string) bool { return withParents(c.bad, p) })
}

// fault notes that the value of the key at path cannot be used. Checks that
// need it are left out.
func (c *checker) fault(path, what, want string) {
	c.add(path, what, want)
	c.bad[path] = true
}

// clash notes that the keys at paths do not go together. It names the first
// that is given by an override, else the first that is given: rather by the job
// that is at fault than for all jobs.
func (c *checker) clash(paths []string, what, want string) {
	at := slices.IndexFunc(paths, func(p string) bool { return c.given(p) && c.overridden(p) })
	if at < 0 {
		at = slices.IndexFunc(paths, c.part.says)
	}
	if at < 0 {
		at = max(0, slices.IndexFunc(paths, c.given))
	}
	c.add(paths[at], what, want)
}

func (c *checker) add(path, what, want string) {
	path = c.stands(path)
	f := Fault{Key: c.display(path), What: what, Want: want}
	f.File, f.Line = find(c.layers, path)
	if o, ok := c.varied(path); ok {
		f.File, f.Line, f.Key = o.file, o.line, "sweep."+o.key
	} else if c.overridden(path) {
		f.File, f.Line = setFile, 0
	}
	c.faults = append(c.faults, f)
}

// origin is where a study says that it varies a key.
type origin struct {
	file string
	line int
	key  string
}

// varied returns where the study varies the key at path, or a table that holds
// it.
func (c *checker) varied(path string) (origin, bool) {
	path = c.stands(path)
	for path != "" {
		if o, ok := c.swept[path]; ok {
			return o, true
		}
		path, _ = cutLast(path)
	}
	return origin{}, false
}

// overridden reports whether an override gives the key at path, or a table
// that holds it.
func (c *checker) overridden(path string) bool { return withParents(c.set, c.stands(path)) }

// stands returns the path in the file of a key that the checker knows by another.
func (c *checker) stands(path string) string {
	if as, ok := c.alias[path]; ok {
		path = as
	}
	return c.part.place(path)
}

// withParents reports whether a set holds path or a table that path is in.
func withParents(set map[string]bool, path string) bool {
	for path != "" {
		if set[path] {
			return true
		}
		path, _ = cutLast(path)
	}
	return false
}

// display names the key at path as an override would: replicas go by their
// index, not by their place in the file.
func (c *checker) display(path string) string {
	rest, ok := strings.CutPrefix(path, "replica.")
	if !ok {
		return path
	}
	place, key, _ := strings.Cut(rest, ".")
	i, err := strconv.Atoi(place)
	if err != nil || i >= len(c.s.Replicas) || !c.indexed[i] {
		return path
	}
	return joinPath("replica", strconv.Itoa(c.s.Replicas[i].Index)) + strings.TrimSuffix("."+key, ".")
}
