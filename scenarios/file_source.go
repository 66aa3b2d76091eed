// This file decodes scenario files and merges them with their bases: the key base names a
// scenario whose keys apply unless the file sets them.

package scenarios

import (
	"maps"
	"path"
	"path/filepath"
	"slices"

	"sim/internal/alias"
	"sim/scenarios/schema"
)

// fileSource is a decoded scenario file, merged with the files that it is based on.
type fileSource struct {
	root   map[string]any // decoded tables and keys
	layers []schema.Layer // the file itself, followed by its bases
	// deprecated are warnings about deprecated keys of the file and of its bases.
	deprecated Diagnostics

	files          *fileSet // source of the bases
	baseOverridden bool     // an override sets the key base
}

// maxBases limits the depth of a chain of bases. It stops files that are based on each
// other in a cycle.
const maxBases = 8

// decodeFile decodes the text of a file and does not check its keys. Deprecated keys get
// their current names.
func decodeFile(name string, data []byte) (*fileSource, Diagnostics) {
	root, layer, faults := schema.Decode(name, data)
	if faults != nil {
		return nil, faults
	}

	var deprecated, conflicts Diagnostics
	names := renames{deprecated: &deprecated, conflicts: &conflicts}
	var top []string // path of root
	names.apply(root, top, func(old string) Diagnostic {
		return Diagnostic{File: name, Line: layer.Line(old)}
	}, "sweep")
	if conflicts != nil {
		return nil, conflicts
	}
	if deprecated != nil {
		layer.Rename(alias.Key)
	}
	return &fileSource{root: root, layers: []schema.Layer{layer}, deprecated: deprecated}, nil
}

// topLevel is the depth of a file that no other file is based on.
const topLevel = 0

// inherit merges the file that the key base names, if there is one, below s. depth is the
// number of files above s.
func (s *fileSource) inherit(depth int) Diagnostics {
	unset, faults := s.takeUnset()
	if faults != nil {
		return faults
	}
	v, given := s.root["base"]
	if !given {
		if unset == nil {
			return nil
		}
		fault := s.unsetFault()
		fault.Problem = "removes keys of a base, and the file has none"
		fault.Remedy = "leave it out, or name the base: base = \"NAME\""
		return Diagnostics{fault}
	}

	delete(s.root, "base")
	fault := Diagnostic{File: s.layers[0].File, Line: s.layers[0].Line("base"), Key: "base"}
	if s.baseOverridden {
		fault.File, fault.Line = schema.SetFile, 0
	}
	text, ok := v.(string)
	if !ok {
		fault.Problem, fault.Remedy = "is "+schema.Describe(v), "write the name of a scenario file in quotes"
		return Diagnostics{fault}
	}

	if depth == maxBases {
		fault.Problem = "is based on a scenario that is based on another, and so on without end"
		fault.Remedy = "base scenarios on one that stands alone"
		return Diagnostics{fault}
	}

	// If the base cannot be read, the fault is reported at the key base of this file.
	below, faults := s.openBase(s.layers[0].File, text, depth)
	if faults != nil {
		for i := range faults {
			if faults[i].Line == 0 && faults[i].Key == "" { // the file itself cannot be read
				faults[i].Problem = "base " + schema.Quote(text) + " " + faults[i].Problem
				faults[i].File, faults[i].Line, faults[i].Key = fault.File, fault.Line, fault.Key
			}
		}
		return faults
	}

	if faults := removeKeys(below.root, unset, s.unsetFault(), "the base"); faults != nil {
		return faults
	}
	s.mergeOver(below)
	return nil
}

// openBase reads the scenario that a file is based on: a file relative to it, or a built-in
// one.
func (s *fileSource) openBase(file, base string, depth int) (*fileSource, Diagnostics) {
	name, data, fault := s.files.open(s.files.baseFilePath(file, base))
	if fault != nil {
		return nil, Diagnostics{*fault}
	}

	below, faults := decodeFile(name, data)
	if faults != nil {
		return nil, faults
	}

	below.files = s.files
	if faults := below.inherit(depth + 1); faults != nil {
		return nil, faults
	}

	// Name, axes and figures belong to the file that has them.
	for _, own := range []string{"name", "sweep", "plot"} {
		delete(below.root, own)
	}
	return below, nil
}

// baseFilePath returns the path of a scenario that another file names. It is relative to
// the directory of that file if it exists there, with or without ".toml"; else it is name.
func (f *fileSet) baseFilePath(file, name string) string {
	if relative := filepath.Join(filepath.Dir(file), name); !filepath.IsAbs(name) {
		for _, candidate := range []string{relative, relative + ".toml"} {
			if f.exists(candidate) {
				return candidate
			}
		}
	}
	return name
}

// mergeOver merges s over base: keys of s take precedence.
func (s *fileSource) mergeOver(below *fileSource) {
	// A model is named (key model) or described (table architecture). A model in s replaces
	// the model of the base in either form.
	workload, baseWorkload := schema.Child(s.root, "workload"), schema.Child(below.root, "workload")
	if workload != nil && baseWorkload != nil {
		baseWorkload = maps.Clone(baseWorkload)
		if _, ok := workload["model"]; ok {
			delete(baseWorkload, "architecture")
		}
		if _, ok := workload["architecture"]; ok {
			delete(baseWorkload, "model")
		}
		below.root["workload"] = baseWorkload
	}

	s.root = mergeTables(below.root, s.root)
	s.layers = append(slices.Clip(s.layers), below.layers...)
	s.deprecated = append(slices.Clip(s.deprecated), below.deprecated...)
}

// cloneTable returns a copy of a table that shares no tables with it.
func cloneTable(t map[string]any) map[string]any { return mergeTables(t, nil) }

// mergeTables returns the table below with the keys of above on top of it, recursively. It
// changes neither, and the result shares no tables with them.
func mergeTables(below, above map[string]any) map[string]any {
	out := map[string]any{}
	for k, v := range below {
		out[k] = cloneValue(v)
	}
	for k, v := range above {
		a, isTable := v.(map[string]any)
		b, wasTable := out[k].(map[string]any)
		if isTable && wasTable {
			out[k] = mergeTables(b, a)
			continue
		}

		out[k] = cloneValue(v)
	}
	return out
}

// cloneValue copies v deeply, so that changes of its tables do not reach the original.
func cloneValue(v any) any {
	switch v := v.(type) {
	case map[string]any:
		return cloneTable(v)
	case []map[string]any:
		rows := make([]map[string]any, len(v))
		for i := range v {
			rows[i] = cloneTable(v[i])
		}
		return rows
	case []any:
		list := slices.Clone(v)
		for i := range list {
			list[i] = cloneValue(list[i])
		}
		return list
	}
	return v
}

// fileStem returns the file name in a path without its extension: "delta-fig6" for
// "scenarios/paper/delta-fig6.toml".
func fileStem(file string) string {
	base := path.Base(filepath.ToSlash(file))
	return base[:len(base)-len(path.Ext(base))]
}
