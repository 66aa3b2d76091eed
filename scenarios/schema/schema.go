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

// Retagged is a spec of which the fields that Tags names are keys, and no others.
type Retagged struct {
	Spec any
	Tags Tags
}

// Tags are tags in place of those of a struct's own fields, by name of the field; "" is its own.
type Tags map[string]string

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
	// Parts, where there are any, may each be given one of the texts instead: "a=x,b=y".
	Parts []string
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
	array  reflect.Value // the slice that an array of tables is, else the zero value
}

// Key is a key of a table of one file.
type Key struct {
	*option
	table *Table
	of    reflect.Value // the struct that it sets, or a slice of such
	path  string        // but of an array
	also  string        // the condition of all keys of the struct
	used  *Condition
	asked bool // used is known
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
	for _, spec := range p.Specs {
		also, tags := "", Tags(nil)
		switch u := spec.(type) {
		case Used:
			spec, also = u.Spec, u.When
		case Retagged:
			spec, tags = u.Spec, u.Tags
		}
		v := reflect.ValueOf(spec).Elem()
		t := v.Type()
		if t.Kind() == reflect.Slice {
			t, own.array = t.Elem(), v
		}
		l := layoutOf(t, tags)
		own.add(l.options, v, also)
		for _, below := range l.tables {
			path := p.Path + "." + below.path
			parent, _ := CutLast(path) // whose keys its condition is about
			inner := &Table{Path: path, Doc: below.doc, When: s.Condition(parent, below.when), schema: s, part: p}
			inner.add(below.options, v, also)
			tables = append(tables, inner)
		}
	}
	s.Tables = append(s.Tables, slices.DeleteFunc(tables, func(t *Table) bool { return len(t.Keys) == 0 })...)
}

// add appends keys of a struct.
func (t *Table) add(options []*option, of reflect.Value, also string) {
	keys := make([]Key, len(options))
	t.Keys = slices.Grow(t.Keys, len(options))
	path := strings.TrimPrefix(t.Path+".", ".")
	for i, o := range options {
		keys[i] = Key{option: o, table: t, of: of, also: also, path: path + o.Name}
		t.Keys = append(t.Keys, &keys[i])
	}
}

// Table returns the table at path, nil if there is none.
func (s *Schema) Table(path string) *Table {
	if i := slices.IndexFunc(s.Tables, func(t *Table) bool { return t.Path == path }); i >= 0 {
		return s.Tables[i]
	}
	return nil
}

// Key returns the key at path, nil if there is none. Keys of arrays have no path.
func (s *Schema) Key(path string) *Key {
	parent, name := CutLast(path)
	for _, t := range s.Tables {
		if t.Path == parent && !t.IsArray() {
			if k := t.Find(name); k != nil {
				return k
			}
		}
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
			switch at := k.Field(0).Addr(); {
			case at.UnsafePointer() != of.UnsafePointer():
			case at.Type() == of.Type():
				return k.path
			case i == 0:
				return t.Path
			}
		}
	}
	return ""
}

// Uses reports whether the key at path, or the table, is there and used.
func (s *Schema) Uses(path string) bool {
	if k := s.Key(path); k != nil {
		return k.table.When.Applies() && k.Used().Applies()
	}
	t := s.Table(path)
	return t != nil && t.When.Applies()
}

// Find returns the key called name, nil if there is none.
func (t *Table) Find(name string) *Key {
	if i := slices.IndexFunc(t.Keys, func(k *Key) bool { return k.Name == name }); i >= 0 {
		return t.Keys[i]
	}
	return nil
}

// Used returns the condition for the use of a key, nil of none.
func (k *Key) Used() *Condition {
	if !k.asked {
		expr := k.when
		if k.also != "" {
			expr = strings.TrimSuffix(k.also+" & "+expr, " & ")
		}
		k.Restrict(k.table.schema.Condition(k.table.Path, expr))
	}
	return k.used
}

// Restrict has a key be used on another condition than its tag says.
func (k *Key) Restrict(c *Condition) { k.used, k.asked = c, true }

// Silent reports whether the table says nothing that counts.
func (t *Table) Silent() bool { return t.part.Silent != nil && t.part.Silent() }

// Names returns the names of the keys, and of tables in the elements.
func (t *Table) Names() []string {
	names := make([]string, len(t.Keys))
	for i, k := range t.Keys {
		names[i] = k.Name
	}
	return append(names, t.part.Inner...)
}

// IsArray reports whether the table is an array of tables.
func (t *Table) IsArray() bool { return t.array.IsValid() }

// elements returns how many times the table stands in what the schema is bound to.
func (t *Table) elements() int {
	if t.IsArray() {
		return t.array.Len()
	}
	return 1
}

// at returns the path of element i.
func (t *Table) at(i int) string {
	if t.IsArray() {
		return JoinPath(t.Path, strconv.Itoa(i))
	}
	return t.Path
}

// at returns the path of the key in element i.
func (k *Key) at(i int) string {
	if k.table.IsArray() {
		return JoinPath(k.table.at(i), k.Name)
	}
	return k.path
}

// Field returns what the key sets in element i: of one that is not kept, something else.
func (k *Key) Field(i int) reflect.Value {
	if !k.kept {
		return reflect.New(k.Type).Elem()
	}
	of := k.of
	if k.table.IsArray() {
		of = of.Index(i)
	}
	return of.FieldByIndex(k.index)
}

// Choices returns the texts that the key may have, nil where it is any.
func (k *Key) Choices() []string {
	if c := k.choice(); c != nil {
		return c.Names()
	}
	return nil
}

func (k *Key) choice() *Choices {
	name, named := strings.CutPrefix(k.choices, "@")
	switch {
	case named:
		c, ok := k.table.schema.names.Choices[name]
		if !ok {
			panic("schema: " + k.path + ": no choices " + name)
		}
		return &c
	case k.choices != "":
		return &Choices{Names: func() []string { return strings.Split(k.choices, "|") }}
	}
	return nil
}

// fill gives the key of element i its default, if it has one. computed is what Part.Defaults returns where nothing was
// set since it was asked; else it is nil.
func (k *Key) fill(i int, computed *[]any) {
	if !k.kept {
		return
	}
	field := k.Field(i)
	set := func(v reflect.Value) {
		if !v.Comparable() || !field.Equal(v) {
			field.Set(v)
			*computed = nil // others may follow from it
		}
	}
	switch {
	case k.all:
		set(reflect.ValueOf(slices.Clone(k.Choices())))
	case k.fixed.IsValid() && k.fixed.Kind() == reflect.Slice: // of which nobody else has the elements
		set(reflect.AppendSlice(reflect.MakeSlice(k.Type, 0, k.fixed.Len()), k.fixed))
	case k.fixed.IsValid():
		set(k.fixed)
	case k.computed && k.table.part.Defaults != nil:
		of := k.of.Type()
		if k.table.IsArray() {
			of = of.Elem()
		}
		if *computed == nil {
			*computed = k.table.part.Defaults(i)
		}
		for _, d := range *computed {
			if v := reflect.ValueOf(d).Elem(); v.Type() == of {
				set(v.FieldByIndex(k.index))
			}
		}
	}
}

// reset gives a key that is not used its default, or no value.
func (k *Key) reset(i int) {
	k.Field(i).SetZero()
	k.fill(i, new([]any))
}

// fallback words the default: "required", or nothing where there is none.
func (k *Key) fallback() string {
	switch {
	case k.Required:
		return "required"
	case k.all:
		return "`" + Literal(k.Choices()) + "`"
	}
	return k.Fallback
}
