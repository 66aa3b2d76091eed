package scenarios

import (
	"slices"
	"strconv"
	"sync"
)

// key describes a key of a scenario once, for reading, checking, writing and
// the reference.
type key struct {
	name string
	doc  string // what it means, for the reference
	// field points into s at what the key sets; its type is the key's type. i
	// is the element of an array of tables, 0 elsewhere.
	field func(s *Scenario, i int) any

	required bool
	// fill sets the value of a key that is absent; nil leaves the zero value.
	// fillDoc words it for the reference. defaultsTo makes the pair.
	fill    func(s *Scenario, i int)
	fillDoc string

	min, max float64         // bounds of a number (of each number in a list), or of a rate in bits per second
	above    bool            // min itself is too small
	choices  func() []string // allowed texts; nil is any
	unset    bool            // whether "" is allowed beside choices
	// refuse words why a text that is known elsewhere is none of the choices, ""
	// where it is not known either; nil is never.
	refuse func(text string) string
	when   *condition // nil is always used
	omit   bool       // stands for other keys and is not written back
	empty  bool       // a list may be
}

// table describes a table of keys.
type table struct {
	path string
	doc  string
	keys []key
	when *condition
	// silent reports whether it says nothing that counts, and is not written back; nil is never.
	silent func(s *Scenario) bool
	// Of an array of tables: count returns its length, grow appends an element.
	count func(s *Scenario) int
	grow  func(s *Scenario)
	inner []string // tables that stand in an element and are checked elsewhere
}

// condition says when a key or table is used.
type condition struct {
	keys []string // what it depends on; not judged while one of these is faulty
	ok   func(s *Scenario) bool
	by   func(s *Scenario) string // names what does not use it
	want string                   // what makes it used
	// instead replaces leaving it out, and want; "" does not.
	instead string
	// first returns, of conditions that must all hold, the first that does not; nil of others.
	first func(s *Scenario) *condition
}

// kind describes a sort of workload or fabric. Each has a file of its own and
// a row in kinds.
type kind struct {
	section string // "workload" or "fabric"
	name    string
	doc     string
	like    string // kinds of one such have the same keys
	on      string // of a workload: the only fabric that plays it, "" if several do
	level   string // of a fabric: the level at which it is simulated, "" where engine.level says it
	tables  []table
	prepare func(c *checker) // after reading, before defaults; may be nil
	check   func(c *checker) // cross-checks, when all keys have values; may be nil
}

// kinds are all known kinds, which nobody changes. The first table of a kind is
// its section.
func kinds() []*kind {
	known.once.Do(func() {
		known.kinds = append([]*kind{trainingKind()}, trafficKinds()...)
		known.kinds = append(known.kinds, ocsPodsKind(), torusKind(), graphKind())
		known.kinds = append(known.kinds, scaleUpKinds()...)
	})
	return known.kinds
}

var known struct {
	once  sync.Once
	kinds []*kind
}

// sections are the tables that have a key kind.
var sections = []string{"workload", "fabric"}

// general describes the keys outside any kind.
func general() *table {
	return &table{doc: "What stands before the first table.", keys: []key{
		{
			name: "name", doc: "name of the scenario in results and of its run directory", fillDoc: "the file's name",
			field: func(s *Scenario, _ int) any { return &s.Name },
		},
		{
			name: "title", doc: "one line for people",
			field: func(s *Scenario, _ int) any { return &s.Title },
		},
		{
			name: baseKey, doc: "another scenario, a file beside this one or one that is built in, whose keys hold where this one has none", omit: true,
			field: func(*Scenario, int) any { return new(string) }, // decode has put it in place
		},
		defaultsTo(1, key{
			name: "seed", doc: "decides every random choice",
			field: func(s *Scenario, _ int) any { return &s.Seed },
		}),
	}}
}

// kindKey describes the key kind of a section.
func kindKey(section string) key {
	return key{
		name: "kind", doc: "which keys the tables have", required: true,
		choices: func() []string { return kindNames(section) },
		field: func(s *Scenario, _ int) any {
			if section == "fabric" {
				return &s.Fabric.Kind
			}
			return &s.Workload.Kind
		},
	}
}

func kindNames(section string) []string {
	var names []string
	for _, k := range kinds() {
		if k.section == section && !slices.Contains(names, k.name) {
			names = append(names, k.name)
		}
	}
	return names
}

// findKind returns the kind of that name, nil if there is none; of a workload that
// has keys of its own on one fabric, the one that others play.
func findKind(section, name string) *kind {
	for _, k := range kinds() {
		if k.section == section && k.name == name {
			return k
		}
	}
	return nil
}

// workloadOn returns the kind of the workload of s as its fabric plays it.
func workloadOn(s *Scenario) *kind {
	for _, k := range kinds() {
		if k.section == "workload" && k.name == s.Workload.Kind && k.on != "" && k.on == s.Fabric.Kind {
			return k
		}
	}
	return findKind("workload", s.Workload.Kind)
}

// kindsOn returns the workloads that only a fabric plays.
func kindsOn(fabric string) []string {
	var names []string
	for _, k := range kinds() {
		if k.on == fabric {
			names = append(names, k.name)
		}
	}
	return names
}

// defaultsTo gives k a fixed default.
func defaultsTo(v any, k key) key {
	k.fillDoc = "`" + literal(v) + "`"
	k.fill = func(s *Scenario, i int) { assign(k.field(s, i), v) }
	return k
}

// fixed is a list of choices that is known here.
func fixed(names ...string) func() []string {
	return func() []string { return names }
}

// find returns the key called name, nil if there is none.
func (t *table) find(name string) *key {
	if i := slices.IndexFunc(t.keys, func(k key) bool { return k.name == name }); i >= 0 {
		return &t.keys[i]
	}
	return nil
}

func (t *table) names() []string {
	names := make([]string, len(t.keys))
	for i := range t.keys {
		names[i] = t.keys[i].name
	}
	return append(names, t.inner...)
}

// isArray reports whether the table is an array of tables.
func (t *table) isArray() bool { return t.grow != nil }

// elements returns how many times the table stands in s.
func (t *table) elements(s *Scenario) int {
	if t.isArray() {
		return t.count(s)
	}
	return 1
}

// at returns the path of the table's element i.
func (t *table) at(i int) string {
	if t.isArray() {
		return joinPath(t.path, strconv.Itoa(i))
	}
	return t.path
}

// applies reports whether the condition holds; nil always does.
func (w *condition) applies(s *Scenario) bool { return w == nil || w.ok(s) }
