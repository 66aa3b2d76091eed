package schema

import (
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// Part is a table of a file, those below it included, and the structs that its keys set.
type Part struct {
	Path string // dotted; "" is what stands before the first table
	Doc  string
	When string // the condition for its use
	// Specs point to structs, whose keys follow each other. Of an array of tables it is one pointer to a slice of
	// structs.
	Specs []any
	// Defaults returns copies of some of the specs, of element i of an array, in which keys with the tag else that the
	// file does not give have their values. It is asked again for each such key, in order. nil leaves them as they are.
	Defaults func(i int) []any
	// Silent reports whether it says nothing that counts, and is not written back; nil never does.
	Silent func() bool
	// Inner are tables in an element of an array that are read elsewhere.
	Inner []string
}

// Used is a spec whose keys are used on a condition, beside those of their own.
type Used struct {
	Spec any
	When string
}

// Names resolves the names that tags use.
type Names struct {
	Choices    map[string]Choices
	Conditions map[string]func(s *Schema, args []string) *Condition
}

// Choices are texts that a key may have.
type Choices struct {
	Names func() []string
	// Refuse words why a text that is known elsewhere is none of them, "" where it is not known either; nil never does.
	Refuse func(text string) string
}

// Schema is the tables of a file, bound to what they set.
type Schema struct {
	Tables     []*Table
	names      *Names
	conditions map[string]*Condition // that were asked for, by table and expression
}

// Table is a table of keys.
type Table struct {
	Path string
	Doc  string
	Keys []*Key
	// When is the condition for its use, nil of none. It may be replaced before anything is read.
	When *Condition
	// Lent are keys that, where the file does not give them, are not missed and get no default.
	Lent []string

	schema *Schema
	part   *Part
	of     []reflect.Value // the structs of Keys, or the slice of an array
	when   []string        // the conditions of all keys of each of these
	bound  []bound         // by key
}

// bound is what a key is in the tables of one file.
type bound struct {
	path  string     // of the key; of an array's it is not used
	spec  int        // in Table.of
	used  *Condition // nil of none
	asked bool       // used is known
}

// New returns the schema of a file of those parts. The names resolve what tags of theirs name.
func New(names *Names, parts ...Part) *Schema {
	s := &Schema{names: names, conditions: map[string]*Condition{}}
	for i := range parts {
		s.add(&parts[i])
	}
	return s
}

func (s *Schema) add(p *Part) {
	own := &Table{Path: p.Path, Doc: p.Doc, When: s.Condition(p.Path, p.When), schema: s, part: p}
	tables := []*Table{own}
	for n, spec := range p.Specs {
		when := ""
		if u, ok := spec.(Used); ok {
			spec, when = u.Spec, u.When
		}
		v := reflect.ValueOf(spec).Elem()
		own.of, own.when = append(own.of, v), append(own.when, when)
		t := v.Type()
		if t.Kind() == reflect.Slice {
			t = t.Elem()
		}
		l := layoutOf(t)
		own.add(l.keys, n)
		for _, below := range l.tables {
			path := p.Path + "." + below.path
			parent, _ := CutLast(path) // whose keys its condition is about
			inner := &Table{
				Path: path, Doc: below.doc, When: s.Condition(parent, below.when),
				schema: s, part: p, of: []reflect.Value{v}, when: []string{when},
			}
			inner.add(below.keys, 0)
			tables = append(tables, inner)
		}
	}
	for _, t := range tables {
		if len(t.Keys) > 0 {
			s.Tables = append(s.Tables, t)
		}
	}
}

// add appends keys of one of the table's structs.
func (t *Table) add(keys []*Key, spec int) {
	t.Keys = append(t.Keys, keys...)
	t.bound = slices.Grow(t.bound, len(keys))
	for _, k := range keys {
		t.bound = append(t.bound, bound{path: JoinPath(t.Path, k.Name), spec: spec})
	}
}

// Table returns the table at path, nil if there is none.
func (s *Schema) Table(path string) *Table {
	if i := slices.IndexFunc(s.Tables, func(t *Table) bool { return t.Path == path }); i >= 0 {
		return s.Tables[i]
	}
	return nil
}

// PathOf returns the path of the key that sets what field points to, or of the table whose struct that is: "" where
// there is none, or it is in an array of tables.
func (s *Schema) PathOf(field any) string {
	of := reflect.ValueOf(field)
	for _, t := range s.Tables {
		for i, k := range t.Keys {
			if t.IsArray() || !k.kept {
				continue
			}
			switch at := t.Field(k, 0).Addr(); {
			case at.UnsafePointer() != of.UnsafePointer():
			case at.Type() == of.Type():
				return t.bound[i].path
			case i == 0:
				return t.Path
			}
		}
	}
	return ""
}

// Outputs calls yield with every key that names a directory to write to, and the directory.
func (s *Schema) Outputs(yield func(path, dir string)) {
	for _, t := range s.Tables {
		for i, k := range t.Keys {
			if !k.output {
				continue
			}
			if dir := t.Field(k, 0).String(); dir != "" {
				yield(t.bound[i].path, dir)
			}
		}
	}
}

// Uses reports whether the key at path, or its table, is there and used.
func (s *Schema) Uses(path string) bool {
	parent, name := CutLast(path)
	for _, t := range s.Tables {
		switch k := t.Find(name); {
		case t.Path == path:
			return t.When.Applies()
		case t.Path == parent && k != nil:
			return t.When.Applies() && t.Used(k).Applies()
		}
	}
	return false
}

// Find returns the key called name, nil if there is none.
func (t *Table) Find(name string) *Key {
	if i := slices.IndexFunc(t.Keys, func(k *Key) bool { return k.Name == name }); i >= 0 {
		return t.Keys[i]
	}
	return nil
}

// Used returns the condition for the use of a key, nil of none.
func (t *Table) Used(k *Key) *Condition {
	b := t.bind(k)
	if b.asked {
		return b.used
	}
	expr := k.when
	if also := t.when[b.spec]; also != "" {
		expr = strings.TrimSuffix(also+" & "+expr, " & ")
	}
	b.used, b.asked = t.schema.Condition(t.Path, expr), true
	return b.used
}

// Restrict has a key be used on another condition than its tag says.
func (t *Table) Restrict(name string, c *Condition) {
	b := t.bind(t.Find(name))
	b.used, b.asked = c, true
}

// bind returns what a key is here.
func (t *Table) bind(k *Key) *bound { return &t.bound[slices.Index(t.Keys, k)] }

// Names returns the names of the keys, and of tables in the elements.
func (t *Table) Names() []string {
	names := make([]string, len(t.Keys))
	for i, k := range t.Keys {
		names[i] = k.Name
	}
	return append(names, t.part.Inner...)
}

// IsArray reports whether the table is an array of tables.
func (t *Table) IsArray() bool { return t.of[0].Kind() == reflect.Slice }

// elements returns how many times the table stands in what the schema is bound to.
func (t *Table) elements() int {
	if t.IsArray() {
		return t.of[0].Len()
	}
	return 1
}

// grow appends an element to an array.
func (t *Table) grow() { t.of[0].Set(reflect.Append(t.of[0], reflect.Zero(t.of[0].Type().Elem()))) }

// at returns the path of element i.
func (t *Table) at(i int) string {
	if t.IsArray() {
		return JoinPath(t.Path, strconv.Itoa(i))
	}
	return t.Path
}

// pathOf returns the path of k in element i.
func (t *Table) pathOf(k *Key, i int) string {
	if t.IsArray() {
		return JoinPath(t.at(i), k.Name)
	}
	return t.bind(k).path
}

// Field returns what k sets in element i: of one that is not kept, something else.
func (t *Table) Field(k *Key, i int) reflect.Value {
	if !k.kept {
		return reflect.New(k.Type).Elem()
	}
	v := t.of[t.bind(k).spec]
	if v.Kind() == reflect.Slice {
		v = v.Index(i)
	}
	return v.FieldByIndex(k.index)
}

// Choices returns the texts that k may have, nil where it is any.
func (t *Table) Choices(k *Key) []string {
	if c := t.choices(k); c != nil {
		return c.Names()
	}
	return nil
}

func (t *Table) choices(k *Key) *Choices {
	name, named := strings.CutPrefix(k.choices, "@")
	switch {
	case named:
		c, ok := t.schema.names.Choices[name]
		if !ok {
			panic("schema: " + JoinPath(t.Path, k.Name) + ": no choices " + name)
		}
		return &c
	case k.choices != "":
		return &Choices{Names: func() []string { return strings.Split(k.choices, "|") }}
	}
	return nil
}

// fill gives k of element i its default, if it has one.
func (t *Table) fill(k *Key, i int) {
	if !k.kept {
		return
	}
	field := t.Field(k, i)
	switch {
	case k.all:
		field.Set(reflect.ValueOf(slices.Clone(t.choices(k).Names())))
	case k.fixed.IsValid():
		v := k.fixed
		if v.Kind() == reflect.Slice { // nobody else's
			v = reflect.AppendSlice(reflect.MakeSlice(v.Type(), 0, v.Len()), v)
		}
		field.Set(v)
	case k.computed && t.part.Defaults != nil:
		of := t.of[t.bind(k).spec].Type()
		if of.Kind() == reflect.Slice {
			of = of.Elem()
		}
		for _, d := range t.part.Defaults(i) {
			if v := reflect.ValueOf(d).Elem(); v.Type() == of {
				field.Set(v.FieldByIndex(k.index))
			}
		}
	}
}

// reset gives a key that is not used its default, or no value.
func (t *Table) reset(k *Key, i int) {
	t.Field(k, i).SetZero()
	t.fill(k, i)
}

// Fallback words the default of a key: "required", or nothing where there is none.
func (t *Table) fallback(k *Key) string {
	switch {
	case k.Required:
		return "required"
	case k.all:
		return "`" + Literal(t.choices(k).Names()) + "`"
	}
	return k.Fallback
}
