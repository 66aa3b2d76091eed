// This file removes keys that a base sets: the key unset lists them. An override of it
// removes keys of the merged file.

package scenarios

import (
	"maps"
	"slices"
	"strings"

	"sim/internal/alias"
	"sim/internal/text"
	"sim/scenarios/schema"
)

// unsetKey is the key that lists the keys and tables of the base that do not apply.
const unsetKey = "unset"

// takeUnset removes the key unset from the file and returns its value: dotted keys.
func (s *fileSource) takeUnset() (keys []string, faults Diagnostics) {
	v, given := s.root[unsetKey]
	if !given {
		return nil, nil
	}
	delete(s.root, unsetKey)
	list, isList := v.([]any)
	for _, element := range list {
		key, isText := element.(string)
		isList = isList && isText
		keys = append(keys, key)
	}
	if !isList {
		fault := s.unsetFault()
		fault.Problem = "is " + schema.Describe(v)
		fault.Remedy = `list keys in quotes, such as unset = ["fabric.twist"]`
		return nil, Diagnostics{fault}
	}
	return keys, nil
}

// unsetFault returns a diagnostic at the key unset, without problem and remedy.
func (s *fileSource) unsetFault() Diagnostic {
	return Diagnostic{File: s.layers[0].File, Line: s.layers[0].Line(unsetKey), Key: unsetKey}
}

// removeKeys removes keys and tables from the decoded file root. Each key that root does not
// have is reported as a fault at the location of at. owner names the file in messages.
func removeKeys(root map[string]any, keys []string, at Diagnostic, owner string) (faults Diagnostics) {
	for _, key := range keys {
		parts, ok := splitKey(key)
		if ok {
			parts = alias.Parts(parts)
		}
		table := root
		for _, part := range parts[:max(0, len(parts)-1)] {
			table = schema.Child(table, part)
		}
		last := parts[len(parts)-1]
		if _, given := table[last]; !ok || !given {
			at.Problem = owner + " has no key " + schema.Quote(key)
			known := keysOf(root, "")
			at.Remedy = strings.TrimPrefix(text.DidYouMean(key, known, "leave it out"), "; ")
			faults = append(faults, at)
			continue
		}
		delete(table, last)
	}
	return faults
}

// keysOf returns the dotted names of all keys and tables in table, whose path is path.
func keysOf(table map[string]any, path string) (keys []string) {
	for _, name := range slices.Sorted(maps.Keys(table)) {
		inside := schema.JoinPath(path, name)
		keys = append(keys, inside)
		if below, isTable := table[name].(map[string]any); isTable {
			keys = append(keys, keysOf(below, inside)...)
		}
	}
	return keys
}

// unsetOverride applies an override of the key unset, such as unset=fabric.twist,seed or
// unset=["fabric.twist"]: it removes keys of the merged file.
func (c *checker) unsetOverride(raw string) {
	var keys []string
	switch v := schema.DecodeValue(raw).(type) {
	case []any:
		for _, element := range v {
			key, _ := element.(string)
			keys = append(keys, key)
		}
	case string:
		for key := range strings.SplitSeq(v, ",") {
			keys = append(keys, strings.TrimSpace(key))
		}
	}
	at := Diagnostic{File: schema.SetFile, Key: unsetKey}
	c.Diagnostics = append(c.Diagnostics, removeKeys(c.Root, keys, at, "the scenario")...)
}
