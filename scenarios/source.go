package scenarios

import (
	"maps"
	"path"
	"path/filepath"
	"slices"

	"sim/scenarios/schema"
)

// source is a decoded scenario file on top of those that it is based on.
type source struct {
	root   map[string]any
	layers []schema.Layer // the file itself first

	files   *files
	rebased bool // an override gives the key base
}

// maxBases bounds how deep scenarios are based on each other.
const maxBases = 8

// decode reads a file's text without looking at its keys.
func decode(name string, data []byte) (*source, Diagnostics) {
	root, layer, faults := schema.Decode(name, data)
	if faults != nil {
		return nil, faults
	}
	return &source{root: root, layers: []schema.Layer{layer}}, nil
}

// inherit puts the scenario that s is based on beneath it, if the key base names one.
func (s *source) inherit(depth int) Diagnostics {
	v, given := s.root["base"]
	if !given {
		return nil
	}
	delete(s.root, "base")
	at := Diagnostic{File: s.layers[0].File, Line: s.layers[0].Line("base"), Key: "base"}
	if s.rebased {
		at.File, at.Line = schema.SetFile, 0
	}
	text, ok := v.(string)
	if !ok {
		at.Problem, at.Remedy = "is "+schema.Describe(v), "write the name of a scenario file in quotes"
		return Diagnostics{at}
	}
	if depth == maxBases {
		at.Problem, at.Remedy = "is based on a scenario that is based on another, and so on without end", "base scenarios on one that stands alone"
		return Diagnostics{at}
	}
	below, faults := s.openBase(s.layers[0].File, text, depth)
	if faults != nil {
		for i := range faults {
			if faults[i].Line == 0 && faults[i].Key == "" { // the file itself cannot be read
				faults[i].Problem = "base " + schema.Quote(text) + " " + faults[i].Problem
				faults[i].File, faults[i].Line, faults[i].Key = at.File, at.Line, at.Key
			}
		}
		return faults
	}
	s.over(below)
	return nil
}

// openBase reads the scenario that the one in file is based on: a file beside it, or one that is built in.
func (s *source) openBase(file, base string, depth int) (*source, Diagnostics) {
	name, data, fault := s.files.open(s.files.beside(file, base))
	if fault != nil {
		return nil, Diagnostics{*fault}
	}
	below, faults := decode(name, data)
	if faults != nil {
		return nil, faults
	}
	below.files = s.files
	if faults := below.inherit(depth + 1); faults != nil {
		return nil, faults
	}
	// What a study varies and draws is its own.
	for _, own := range []string{"name", "sweep", "plot"} {
		delete(below.root, own)
	}
	return below, nil
}

// beside returns the path of a scenario that one in file names: of a file beside it if there is one, else the name.
func (f *files) beside(file, name string) string {
	if at := filepath.Join(filepath.Dir(file), name); !filepath.IsAbs(name) {
		for _, candidate := range []string{at, at + ".toml"} {
			if f.exists(candidate) {
				return candidate
			}
		}
	}
	return name
}

// over lays s on top of below.
func (s *source) over(below *source) {
	mine, base := schema.Child(s.root, "workload"), schema.Child(below.root, "workload")
	if mine != nil && base != nil {
		base = maps.Clone(base)
		// A model is named or described, so one takes the place of the other.
		if _, ok := mine["model"]; ok {
			delete(base, "architecture")
		}
		if _, ok := mine["architecture"]; ok {
			delete(base, "model")
		}
		below.root["workload"] = base
	}
	s.root = merged(below.root, s.root)
	s.layers = append(slices.Clip(s.layers), below.layers...)
}

// merged returns the table below with what above gives on top of it. Neither is changed, nor shared with the result
// where they are tables.
func merged(below, above map[string]any) map[string]any {
	out := map[string]any{}
	for k, v := range below {
		out[k] = cloned(v)
	}
	for k, v := range above {
		a, isTable := v.(map[string]any)
		b, wasTable := out[k].(map[string]any)
		if isTable && wasTable {
			out[k] = merged(b, a)
			continue
		}
		out[k] = cloned(v)
	}
	return out
}

// cloned copies v so that keys set in its tables do not reach the original.
func cloned(v any) any {
	switch v := v.(type) {
	case map[string]any:
		return merged(v, nil)
	case []map[string]any:
		rows := make([]map[string]any, len(v))
		for i := range v {
			rows[i] = merged(v[i], nil)
		}
		return rows
	case []any:
		list := slices.Clone(v)
		for i := range list {
			list[i] = cloned(list[i])
		}
		return list
	}
	return v
}

// stem is the name of a scenario in its file's path: "delta-fig6" of "scenarios/paper/delta-fig6.toml".
func stem(file string) string {
	base := path.Base(filepath.ToSlash(file))
	return base[:len(base)-len(path.Ext(base))]
}
