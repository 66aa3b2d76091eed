// This file describes the keys of a schema as JSON Schema, by which editors check
// files.

package schema

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"

	"sim/engine"
	"sim/engine/units"
)

// Object is a JSON object.
type Object = map[string]any

// quantityPattern matches texts of quantities: a number and a unit.
const quantityPattern = `^\s*[0-9.]+([eE][-+]?[0-9]+)?\s*[A-Za-z/]+\s*$`

// JSON returns the JSON Schema (draft 7) of the part of a file at path. tables are all
// tables at or below path; the keys of several tables at one path are combined. No key is
// marked as required, because a file may inherit it from another file.
func JSON(path string, tables []*Table) Object {
	// Collect the keys of the table, and the names of the tables below it.
	properties, docs := Object{}, []string{}
	isArray := false
	var below []string
	for _, t := range tables {
		rest, inside := strings.CutPrefix(t.Path, path)
		switch {
		case t.Path == path:
			isArray = isArray || t.IsArray()
			if t.Doc != "" && !slices.Contains(docs, t.Doc) {
				docs = append(docs, t.Doc)
			}
			for _, k := range t.Keys {
				properties[k.Name] = anyOf(properties[k.Name], k.jsonObject())
			}
		case path == "" && t.Path != "", inside && strings.HasPrefix(rest, "."):
			if first, _ := CutFirst(strings.TrimPrefix(rest, ".")); !slices.Contains(below, first) {
				below = append(below, first)
			}
		}
	}
	// Describe the tables below.
	for _, name := range below {
		properties[name] = JSON(JoinPath(path, name), tables)
	}
	object := Object{"type": "object", "additionalProperties": false, "properties": properties}
	if len(docs) == 1 { // several descriptions do not fit
		object["description"] = docs[0]
	}
	if isArray {
		return Object{"type": "array", "items": object}
	}
	return object
}

// anyOf returns a schema for values that match either schema. one may be nil.
func anyOf(one any, other Object) Object {
	before, ok := one.(Object)
	switch {
	case !ok || reflect.DeepEqual(before, other):
		return other
	case before["anyOf"] != nil:
		if all := before["anyOf"].([]Object); !slices.ContainsFunc(all, func(o Object) bool { return reflect.DeepEqual(o, other) }) {
			before["anyOf"] = append(all, other)
		}
		return before
	}
	return Object{"anyOf": []Object{before, other}}
}

// jsonObject returns the JSON Schema of a key.
func (k *Key) jsonObject() Object {
	o := k.typeObject(k.Type, k.Choices())
	if k.acceptsAll {
		o = Object{"anyOf": []Object{o, {"const": "all"}}}
	}
	if c := k.choice(); c != nil && c.Parts != nil {
		// The value may also assign choices to parts, as a text or as a table.
		each, parts := Object{}, strings.Join(c.Parts, "|")
		for _, part := range c.Parts {
			each[part] = Object{"type": "string", "enum": c.Names()}
		}
		o = Object{"anyOf": []Object{
			o,
			{"type": "string", "pattern": fmt.Sprintf("^(%s)=[^,=]+(,(%s)=[^,=]+)*$", parts, parts)},
			{"type": "object", "additionalProperties": false, "properties": each},
		}}
	}
	// The description includes the condition of use and the default.
	o["description"] = k.Doc
	if used := k.UseCondition(); used != nil {
		o["description"] = k.Doc + "; to use it, " + used.Hint
	}
	if words := k.defaultText(); k.Required {
		o["description"] = o["description"].(string) + ". Required."
	} else if words != "" {
		o["description"] = o["description"].(string) + ". Default: " + words + "."
	}
	return o
}

// typeObject returns the JSON Schema of values of a type. choices are the accepted texts, nil
// for any text.
func (k *keySpec) typeObject(of reflect.Type, choices []string) Object {
	switch of.Kind() {
	case reflect.Map:
		return Object{"type": "object"}
	case reflect.Struct:
		properties := Object{}
		for _, field := range layoutOf(of, ownTags).keys {
			var anyText []string
			properties[field.Name] = field.typeObject(field.Type, anyText)
		}
		return Object{"type": "object", "additionalProperties": false, "properties": properties}
	case reflect.Pointer:
		return k.typeObject(of.Elem(), choices)
	case reflect.Slice:
		o := Object{"type": "array", "items": k.typeObject(of.Elem(), choices)}
		if of.Elem().Kind() == reflect.String {
			o["uniqueItems"] = true
			if !k.allowsEmpty {
				o["minItems"] = 1
			}
		}
		return o
	}
	// Quantities, truth values and texts.
	switch of {
	case reflect.TypeFor[units.Rate](), reflect.TypeFor[units.Bytes](), reflect.TypeFor[engine.Time](), reflect.TypeFor[units.Frequency]():
		return Object{"type": "string", "pattern": quantityPattern}
	case reflect.TypeFor[bool]():
		return Object{"type": "boolean"}
	case reflect.TypeFor[string]():
		if choices == nil {
			return Object{"type": "string", "maxLength": MaxText}
		}
		if k.allowsUnset {
			choices = append([]string{""}, choices...)
		}
		return Object{"type": "string", "enum": choices}
	}
	// Numbers have bounds. A maximum of 0 means no limit.
	o := Object{"type": "integer", "minimum": k.Min}
	if of.Kind() == reflect.Float64 {
		o["type"] = "number"
	}
	if math.IsInf(k.Min, -1) {
		delete(o, "minimum")
	}
	if k.ExclusiveMin {
		delete(o, "minimum")
		o["exclusiveMinimum"] = k.Min
	}
	if k.Max != 0 {
		o["maximum"] = k.Max
	}
	return o
}
