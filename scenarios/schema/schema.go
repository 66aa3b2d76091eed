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
	// Omit reports whether it says nothing that counts, and is not written back; nil never does.
	Omit func() bool
	// NestedTables are tables in an element of an array that are read elsewhere.
	NestedTables []string
}

// ConditionalSpec is a spec whose keys are used on a condition, beside those of their own.
type ConditionalSpec struct {
	Spec any
	When string
}

// RetaggedSpec is a spec of which the fields that Tags names are keys, and no others.
type RetaggedSpec struct {
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
	// Reason words why a text that is known elsewhere is none of them, "" where it is not known either; nil never does.
	Reason func(text string) string
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
	// Optional are keys that, where the file does not give them, are not missed and get no default.
	Optional []string

	schema *Schema
	part   *Part
	array  reflect.Value // the slice that an array of tables is, else the zero value
}

// Key is a key of a table of one file.
type Key struct {
	*keySpec
	table           *Table
	target          reflect.Value // the struct that it sets, or a slice of such
	path            string        // but of an array
	structCondition string        // the condition of all keys of the struct
	condition       *Condition
	hasCondition    bool // used is known
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
	own := &Table{Path: p.Path, Doc: p.Doc, When: s.ParseCondition(p.Path, p.When), schema: s, part: p}
	tables := []*Table{own}
	for _, spec := range p.Specs {
		also, tags := "", Tags(nil)
		switch u := spec.(type) {
		case ConditionalSpec:
			spec, also = u.Spec, u.When
		case RetaggedSpec:
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
			inner := &Table{Path: path, Doc: below.doc, When: s.ParseCondition(parent, below.when), schema: s, part: p}
			inner.add(below.options, v, also)
			tables = append(tables, inner)
		}
	}
	s.Tables = append(s.Tables, slices.DeleteFunc(tables, func(t *Table) bool { return len(t.Keys) == 0 })...)
}

// add appends keys of a struct.
func (t *Table) add(options []*keySpec, of reflect.Value, also string) {
	keys := make([]Key, len(options))
	t.Keys = slices.Grow(t.Keys, len(options))
	path := strings.TrimPrefix(t.Path+".", ".")
	for i, o := range options {
		keys[i] = Key{keySpec: o, table: t, target: of, structCondition: also, path: path + o.Name}
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
			if t.IsArray() || !k.hasField {
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

// IsUsed reports whether the key at path, or the table, is there and used.
func (s *Schema) IsUsed(path string) bool {
	if k := s.Key(path); k != nil {
		return k.table.When.Applies() && k.UseCondition().Applies()
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

// UseCondition returns the condition for the use of a key, nil of none.
func (k *Key) UseCondition() *Condition {
	if !k.hasCondition {
		expr := k.when
		if k.structCondition != "" {
			expr = strings.TrimSuffix(k.structCondition+" & "+expr, " & ")
		}
		k.SetCondition(k.table.schema.ParseCondition(k.table.Path, expr))
	}
	return k.condition
}

// SetCondition has a key be used on another condition than its tag says.
func (k *Key) SetCondition(c *Condition) { k.condition, k.hasCondition = c, true }

// IsOmitted reports whether the table says nothing that counts.
func (t *Table) IsOmitted() bool { return t.part.Omit != nil && t.part.Omit() }

// Names returns the names of the keys, and of tables in the elements.
func (t *Table) Names() []string {
	names := make([]string, len(t.Keys))
	for i, k := range t.Keys {
		names[i] = k.Name
	}
	return append(names, t.part.NestedTables...)
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

// elementPath returns the path of element i.
func (t *Table) elementPath(i int) string {
	if t.IsArray() {
		return JoinPath(t.Path, strconv.Itoa(i))
	}
	return t.Path
}

// elementPath returns the path of the key in element i.
func (k *Key) elementPath(i int) string {
	if k.table.IsArray() {
		return JoinPath(k.table.elementPath(i), k.Name)
	}
	return k.path
}

// Field returns what the key sets in element i: of one that is not kept, something else.
func (k *Key) Field(i int) reflect.Value {
	if !k.hasField {
		return reflect.New(k.Type).Elem()
	}
	of := k.target
	if k.table.IsArray() {
		of = of.Index(i)
	}
	return of.FieldByIndex(k.fieldIndex)
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

// fillDefault gives the key of element i its default, if it has one. computed is what Part.Defaults returns where nothing was
// set since it was asked; else it is nil.
func (k *Key) fillDefault(i int, computed *[]any) {
	if !k.hasField {
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
	case k.defaultAll:
		set(reflect.ValueOf(slices.Clone(k.Choices())))
	case k.defaultValue.IsValid() && k.defaultValue.Kind() == reflect.Slice: // of which nobody else has the elements
		set(reflect.AppendSlice(reflect.MakeSlice(k.Type, 0, k.defaultValue.Len()), k.defaultValue))
	case k.defaultValue.IsValid():
		set(k.defaultValue)
	case k.hasComputedDefault && k.table.part.Defaults != nil:
		of := k.target.Type()
		if k.table.IsArray() {
			of = of.Elem()
		}
		if *computed == nil {
			*computed = k.table.part.Defaults(i)
		}
		for _, d := range *computed {
			if v := reflect.ValueOf(d).Elem(); v.Type() == of {
				set(v.FieldByIndex(k.fieldIndex))
			}
		}
	}
}

// reset gives a key that is not used its default, or no value.
func (k *Key) reset(i int) {
	k.Field(i).SetZero()
	k.fillDefault(i, new([]any))
}

// defaultText words the default: "required", or nothing where there is none.
func (k *Key) defaultText() string {
	switch {
	case k.Required:
		return "required"
	case k.defaultAll:
		return "`" + Literal(k.Choices()) + "`"
	}
	return k.DefaultText
}
