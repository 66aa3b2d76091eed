// This file declares schemas: tables and keys, and the struct fields that they set.

package schema

import (
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// Part is a table of a file with the tables below it, and the structs that its keys set.
type Part struct {
	// Dotted path; "" for the keys before the first table.
	Path string
	Doc  string // meaning, in Markdown
	When string // condition of its use
	// Specs point to structs whose keys follow each other. For an array of tables, the
	// only element points to a slice of structs.
	Specs []any
	// Defaults returns copies of some specs, for element i of an array, in which keys
	// with the tag "else" have computed defaults. It is called again after each change.
	// nil if no defaults are computed.
	Defaults func(i int) []any
	// Omit reports whether the part has no relevant values and is not written back. nil
	// means that it is written.
	Omit func() bool
	// NestedTables are tables in an element of an array that other code reads.
	NestedTables []string
}

// ConditionalSpec is a spec whose keys have an additional condition.
type ConditionalSpec struct {
	Spec any
	When string
}

// RetaggedSpec is a spec whose keys are the fields named in Tags.
type RetaggedSpec struct {
	Spec any
	Tags Tags
}

// Tags are replacements for the tags of struct fields, keyed by field name; "" keeps the
// field's own tags.
type Tags map[string]string

// Names resolves names in tags.
type Names struct {
	// Choices are the accepted texts of keys, by name in the tag choices.
	Choices map[string]Choices
	// Conditions build conditions from their arguments, by name in the tag when.
	Conditions map[string]func(s *Schema, args []string) *Condition
}

// Choices are the accepted texts of a key.
type Choices struct {
	Names func() []string
	// Reason explains why a text is not accepted here although it is known elsewhere, or
	// returns "". May be nil.
	Reason func(text string) string
	// Parts are names that may each be assigned one of the texts instead: "a=x,b=y". May
	// be empty.
	Parts []string
}

// Schema is the tables of a file, bound to the structs that they set.
type Schema struct {
	Tables     []*Table // in the order of the parts
	names      *Names
	conditions map[string]*Condition // cache, keyed by table and expression
}

// Table is a table of keys.
type Table struct {
	Path string
	Doc  string
	Keys []*Key
	// When is the condition of its use; nil if it is always used. It may be replaced
	// before reading.
	When *Condition
	// Optional are keys that may be absent without a default.
	Optional []string

	schema *Schema
	part   *Part
	// array is the slice of an array of tables, else the zero value.
	array reflect.Value
}

// Key is a key of a table of one file.
type Key struct {
	*keySpec // description by the tags of the field, in layout.go
	table    *Table
	// target is the struct that contains the key, or a slice of such structs.
	target          reflect.Value
	path            string // dotted path; not set for arrays of tables
	structCondition string // condition of all keys of the struct
	condition       *Condition
	hasCondition    bool // condition is valid
}

// New returns the schema of a file with the given parts. names resolves names in their
// tags.
func New(names *Names, parts ...Part) *Schema {
	s := &Schema{names: names, conditions: map[string]*Condition{}}
	for i := range parts {
		s.add(&parts[i])
	}
	return s
}

// add adds the tables of a part.
func (s *Schema) add(p *Part) {
	own := &Table{Path: p.Path, Doc: p.Doc, When: s.ParseCondition(p.Path, p.When), schema: s, part: p}
	tables := []*Table{own}
	for _, spec := range p.Specs {
		// also is the additional condition of the keys, tags are their replaced tags.
		also, tags := "", ownTags
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
		// Add the keys of the struct, and a table for each table below it.
		l := layoutOf(t, tags)
		own.add(l.keys, v, also)
		for _, below := range l.tables {
			path := p.Path + "." + below.path

			// Its condition refers to keys of the parent.
			parent, _ := CutLast(path)
			inner := &Table{Path: path, Doc: below.doc, When: s.ParseCondition(parent, below.when), schema: s, part: p}
			inner.add(below.keys, v, also)
			tables = append(tables, inner)
		}
	}
	s.Tables = append(s.Tables, slices.DeleteFunc(tables, func(t *Table) bool { return len(t.Keys) == 0 })...)
}

// add adds the keys of a struct, or of a slice of structs. also is their additional condition.
func (t *Table) add(specs []*keySpec, of reflect.Value, also string) {
	keys := make([]Key, len(specs))
	t.Keys = slices.Grow(t.Keys, len(specs))
	path := strings.TrimPrefix(t.Path+".", ".")
	for i, spec := range specs {
		keys[i] = Key{keySpec: spec, table: t, target: of, structCondition: also, path: path + spec.Name}
		t.Keys = append(t.Keys, &keys[i])
	}
}

// Table returns the table at path, or nil.
func (s *Schema) Table(path string) *Table {
	if i := slices.IndexFunc(s.Tables, func(t *Table) bool { return t.Path == path }); i >= 0 {
		return s.Tables[i]
	}
	return nil
}

// Key returns the key at path, or nil. Keys of arrays of tables have no path.
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

// PathOf returns the path of the key whose field has the address field, or of the table
// whose struct has it. It returns "" for other addresses and inside arrays of tables.
func (s *Schema) PathOf(field any) string {
	of := reflect.ValueOf(field)
	for _, t := range s.Tables {
		for i, k := range t.Keys {
			if t.IsArray() || !k.hasField {
				continue
			}
			switch at := k.Field(onlyElement).Addr(); {
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

// IsUsed reports whether the key or table at path exists and is used.
func (s *Schema) IsUsed(path string) bool {
	if k := s.Key(path); k != nil {
		return k.table.When.Applies() && k.UseCondition().Applies()
	}
	t := s.Table(path)
	return t != nil && t.When.Applies()
}

// Find returns the key called name, or nil.
func (t *Table) Find(name string) *Key {
	if i := slices.IndexFunc(t.Keys, func(k *Key) bool { return k.Name == name }); i >= 0 {
		return t.Keys[i]
	}
	return nil
}

// UseCondition returns the condition of the use of a key, or nil if it is always used.
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

// SetCondition replaces the condition of a key's tag.
func (k *Key) SetCondition(c *Condition) { k.condition, k.hasCondition = c, true }

// IsOmitted reports whether the table has no relevant values and is not written back.
func (t *Table) IsOmitted() bool { return t.part.Omit != nil && t.part.Omit() }

// Names returns the names of the keys and of nested tables.
func (t *Table) Names() []string {
	names := make([]string, len(t.Keys))
	for i, k := range t.Keys {
		names[i] = k.Name
	}
	return append(names, t.part.NestedTables...)
}

// IsArray reports whether the table is an array of tables.
func (t *Table) IsArray() bool { return t.array.IsValid() }

// elements returns the number of elements of an array of tables, or 1 for a table.
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

// onlyElement is the index of the element of a table that is not an array.
const onlyElement = 0

// Field returns the field of the key in element i. For a key without a field it returns a
// new value.
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

// Choices returns the accepted texts, or nil if any text is accepted.
func (k *Key) Choices() []string {
	if c := k.choice(); c != nil {
		return c.Names()
	}
	return nil
}

// choice returns the choices of the key, or nil.
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

// fillDefault sets the key of element i to its default, if it has one. computed caches the
// result of Part.Defaults; it is cleared when a value changes, because other defaults may depend
// on it.
func (k *Key) fillDefault(i int, computed *[]any) {
	if !k.hasField {
		return
	}
	field := k.Field(i)
	set := func(v reflect.Value) {
		if !v.Comparable() || !field.Equal(v) {
			field.Set(v)
			*computed = nil
		}
	}
	switch {
	case k.defaultAll:
		set(reflect.ValueOf(slices.Clone(k.Choices())))
	case k.defaultValue.IsValid() && k.defaultValue.Kind() == reflect.Slice:
		// A copy, because the spec is shared.
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

// reset sets an unused key to its default or to its zero value.
func (k *Key) reset(i int) {
	k.Field(i).SetZero()
	emptyCache := new([]any)
	k.fillDefault(i, emptyCache)
}

// defaultText returns the default as text. It returns "required" for required keys and "" for
// keys without a default.
func (k *Key) defaultText() string {
	switch {
	case k.Required:
		return "required"
	case k.defaultAll:
		return "`" + Literal(k.Choices()) + "`"
	}
	return k.DefaultText
}
