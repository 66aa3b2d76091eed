// This file finds the keys and tables that the fields of a struct type declare by
// their tags.

package schema

import (
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"sim/engine"
	"sim/engine/units"
)

// keySpec is the description of a key by the tags of its field. See the package comment
// for the tags.
type keySpec struct {
	Name string       // name in the file
	Doc  string       // meaning, in Markdown
	Type reflect.Type // type of the field
	// Required reports whether the key must be given if it is used.
	Required bool
	// DefaultText is the default as text. It may be empty.
	DefaultText string

	// Bounds of numbers; a Max of 0 means no limit.
	Min, Max     float64
	ExclusiveMin bool // Min itself is not accepted
	// Accepted texts, or @ and a name; see the tag choices.
	choices            string
	allowsUnset        bool          // "" is accepted in addition to choices
	allowsEmpty        bool          // the list may be empty
	label              string        // name of the key in messages about conditions
	when               string        // condition of use
	hasField           bool          // the struct has a field for the key
	acceptsAll         bool          // the text "all" stands for all choices
	isSource           bool          // stands for other keys, and is not written back
	omitDefault        bool          // not written back if it has its default
	hasComputedDefault bool          // Part.Defaults computes the default
	defaultValue       reflect.Value // default value; may be invalid
	defaultAll         bool          // the default is all choices
	fieldIndex         []int         // index of the field in the part's struct
}

// layout is the keys of a struct type and the tables below it.
type layout struct {
	keys   []*keySpec
	tables []subtable
}

// subtable is a table below the table of a struct. Field indices of its keys start at
// the outer struct.
type subtable struct {
	path, doc, when string
	keys            []*keySpec
}

// layoutCache maps layoutKey to *layout.
var layoutCache sync.Map

// ownTags is the argument of layoutOf if the tags of the struct type are not replaced.
var ownTags Tags

// layoutKey identifies a layout: a struct type, and the tags that replace its own as text.
type layoutKey struct {
	structType reflect.Type
	tags       string
}

// layoutOf returns the layout of a struct type. tags replace the type's own tags unless
// they are ownTags, which is nil. Invalid tags are a programming error and cause a panic.
func layoutOf(t reflect.Type, tags Tags) *layout {
	key := layoutKey{structType: t}
	if tags != nil {
		key.tags = fmt.Sprint(tags) // maps are printed sorted by key
	}
	if l, ok := layoutCache.Load(key); ok {
		return l.(*layout)
	}
	l := &layout{}
	if tags == nil {
		var outermost []int // no field leads to t itself
		l.add(t, outermost)
	} else {
		l.addRetagged(t, tags)
	}
	layoutCache.Store(key, l)
	return l
}

// addRetagged adds the fields of a struct that have an entry in tags.
func (l *layout) addRetagged(t reflect.Type, tags Tags) {
	for i := range t.NumField() {
		f := t.Field(i)
		tag, ok := tags[f.Name]
		if !ok {
			continue
		}
		if tag != "" {
			f.Tag = reflect.StructTag(tag)
		}
		l.keys = append(l.keys, keySpecOf(t, f, []int{i}))
	}
}

// add adds the fields of a struct. at is the index of the struct in the outermost one, as in
// reflect.Value.FieldByIndex; it begins the indices of the fields.
func (l *layout) add(t reflect.Type, at []int) {
	for i := range t.NumField() {
		f := t.Field(i)
		index := append(slices.Clone(at), i)
		_, inline := f.Tag.Lookup("inline")
		switch name, isTable := f.Tag.Lookup("table"); {
		case isTable:
			below := &layout{}
			below.add(f.Type, index)
			below.overrideDefault(f.Tag.Get("with"))
			l.tables = append(l.tables, subtable{
				path: JoinPath("", name), doc: markCode(f.Tag.Get("doc")), when: f.Tag.Get("when"), keys: below.keys,
			})
			for _, n := range below.tables {
				n.path = JoinPath("", name) + "." + n.path
				l.tables = append(l.tables, n)
			}
		case inline || f.Anonymous && f.Type.Kind() == reflect.Struct:
			l.add(f.Type, index)
		default:
			if k := keySpecOf(t, f, index); k != nil {
				l.keys = append(l.keys, k)
			}
		}
	}
}

// overrideDefault changes the default of a key by the tag with: "KEY=VALUE", or "" for no
// change.
func (l *layout) overrideDefault(with string) {
	name, text, _ := strings.Cut(with, "=")
	for _, k := range l.keys {
		if k.Name != name {
			continue
		}
		v, err := parseText(k.Type, text)
		if err != nil {
			panic(fmt.Sprintf("schema: with %s: %v", with, err))
		}
		k.defaultValue, k.DefaultText = v, "`"+Literal(v.Interface())+"`"
	}
}

// keySpecOf parses the tags of field f of struct type t. It returns nil if the field is not a
// key.
func keySpecOf(t reflect.Type, f reflect.StructField, index []int) *keySpec {
	name, ok := f.Tag.Lookup("key")
	if !ok {
		return nil
	}
	tag := f.Tag
	// has reports whether a tag exists; number returns its value as a number.
	has := func(name string) bool { _, ok := tag.Lookup(name); return ok }
	number := func(name string) float64 {
		v, err := strconv.ParseFloat(tag.Get(name), 64)
		if err != nil && has(name) {
			panic(fmt.Sprintf("schema: %s.%s: %s: %v", t, f.Name, name, err))
		}
		return v
	}
	k := &keySpec{
		Name: name, Doc: markCode(tag.Get("doc")), Type: f.Type, Required: has("required"), DefaultText: markCode(tag.Get("else")),
		Min: number("min"), Max: number("max"), ExclusiveMin: has("above"), choices: tag.Get("choices"), allowsUnset: has("unset"), allowsEmpty: has("empty"), acceptsAll: has("all"),
		label: tag.Get("called"), when: tag.Get("when"), hasField: f.Name != "_", isSource: has("source"), omitDefault: has("implicit"), hasComputedDefault: has("else") || has("computed"), fieldIndex: index,
	}
	if k.ExclusiveMin {
		k.Min = number("above")
	}
	if k.label == "" {
		k.label = name
	}
	// Parse the default.
	if text, ok := tag.Lookup("default"); ok {
		if k.defaultAll = text == "*"; k.defaultAll {
			return k
		}
		v, err := parseText(f.Type, text)
		if err != nil {
			panic(fmt.Sprintf("schema: %s.%s: default: %v", t, f.Name, err))
		}
		if k.defaultValue, k.hasComputedDefault = v, false; k.DefaultText == "" {
			k.DefaultText = "`" + Literal(v.Interface()) + "`"
		}
	}
	return k
}

// quotedText matches text in single quotes that does not follow a letter.
var quotedText = regexp.MustCompile(`(^|[^\pL])'([^']+)'`)

// markCode converts quoted text of a doc into Markdown code: struct tags cannot contain
// backquotes.
func markCode(doc string) string { return quotedText.ReplaceAllString(doc, "$1`$2`") }

// parseText parses the text of a tag. Elements of lists are separated by commas.
func parseText(t reflect.Type, text string) (reflect.Value, error) {
	v := reflect.New(t).Elem()
	var err error
	switch p := v.Addr().Interface().(type) {
	case *units.Rate:
		*p, err = units.ParseRate(text)
	case *units.Bytes:
		*p, err = units.ParseBytes(text)
	case *engine.Time:
		*p, err = units.ParseTime(text)
	case *units.Frequency:
		*p, err = units.ParseFrequency(text)
	case *string:
		*p = text
	case *bool:
		*p, err = strconv.ParseBool(text)
	case *float64:
		*p, err = strconv.ParseFloat(text, 64)
	case *uint64:
		*p, err = strconv.ParseUint(text, 10, 64)
	default:
		switch {
		case v.CanInt():
			var n int64
			n, err = strconv.ParseInt(text, 10, 64)
			v.SetInt(n)
		case t.Kind() != reflect.Slice:
			err = fmt.Errorf("of a %s", t)
		case text != "":
			for _, part := range strings.Split(text, ",") {
				e, bad := parseText(t.Elem(), part)
				if bad != nil {
					return v, bad
				}
				v = reflect.Append(v, e)
			}
		}
	}
	return v, err
}
