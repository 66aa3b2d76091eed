package scenarios

import (
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"

	"github.com/BurntSushi/toml"
)

// layer is a file that a scenario is made of: its own, or one that it is based
// on.
type layer struct {
	file  string
	lines lines
}

// source is a decoded scenario file on top of those that it is based on.
type source struct {
	root   map[string]any
	layers []layer // the file itself first

	rebased bool // an override gives the key base
}

// maxBases bounds how deep scenarios are based on each other.
const maxBases = 8

// decode reads a file's text without looking at its keys.
func decode(name string, data []byte) (*source, Faults) {
	if len(data) > maxFileBytes {
		return nil, Faults{*tooLarge(name)}
	}
	found, excess, at := scanLines(data)
	if excess != "" {
		return nil, Faults{{File: name, Line: at, What: "has " + excess, Want: "scenarios are short and shallow"}}
	}
	root := map[string]any{}
	if _, err := toml.Decode(string(data), &root); err != nil {
		return nil, Faults{broken(name, data, err)}
	}
	return &source{root: root, layers: []layer{{name, found}}}, nil
}

// inherit puts the scenario that s is based on beneath it, if the key base
// names one.
func (s *source) inherit(depth int) Faults {
	v, given := s.root["base"]
	if !given {
		return nil
	}
	delete(s.root, "base")
	at := Fault{File: s.layers[0].file, Line: s.layers[0].lines["base"], Key: "base"}
	if s.rebased {
		at.File, at.Line = setFile, 0
	}
	text, ok := v.(string)
	if !ok {
		at.What, at.Want = "is "+describe(v), "write the name of a scenario file in quotes"
		return Faults{at}
	}
	if depth == maxBases {
		at.What, at.Want = "is based on a scenario that is based on another, and so on without end", "base scenarios on one that stands alone"
		return Faults{at}
	}
	below, faults := openBase(s.layers[0].file, text, depth)
	if faults != nil {
		for i := range faults {
			if faults[i].Line == 0 && faults[i].Key == "" { // the file itself cannot be read
				faults[i].What = "base " + quote(text) + " " + faults[i].What
				faults[i].File, faults[i].Line, faults[i].Key = at.File, at.Line, at.Key
			}
		}
		return faults
	}
	s.over(below)
	return nil
}

// openBase reads the scenario that the one in file is based on: a file beside
// it, or one that is built in.
func openBase(file, base string, depth int) (*source, Faults) {
	if beside := filepath.Join(filepath.Dir(file), base); !filepath.IsAbs(base) {
		for _, candidate := range []string{beside, beside + ".toml"} {
			if info, err := os.Stat(candidate); err == nil && !info.IsDir() {
				base = candidate
				break
			}
		}
	}
	name, data, fault := open(base)
	if fault != nil {
		return nil, Faults{*fault}
	}
	below, faults := decode(name, data)
	if faults != nil {
		return nil, faults
	}
	if faults := below.inherit(depth + 1); faults != nil {
		return nil, faults
	}
	// What a study varies and draws is its own.
	for _, own := range []string{"name", "sweep", "plot"} {
		delete(below.root, own)
	}
	return below, nil
}

// over lays s on top of below.
func (s *source) over(below *source) {
	mine, base := child(s.root, "workload"), child(below.root, "workload")
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

// merged returns the table below with what above gives on top of it. Neither
// is changed, nor shared with the result where they are tables.
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

// find returns where the key at path stands, or else the table where it would;
// without either the first line of the scenario's own file.
func find(layers []layer, at string) (file string, line int) {
	for _, l := range layers {
		if n, ok := l.lines[at]; ok {
			return l.file, n
		}
	}
	for at != "" {
		at, _ = cutLast(at)
		if n, ok := layers[0].lines[at]; ok {
			return layers[0].file, n
		}
	}
	return layers[0].file, 1
}

// stem is the name of a scenario in its file's path: "delta-fig6" of
// "scenarios/paper/delta-fig6.toml".
func stem(file string) string {
	base := path.Base(filepath.ToSlash(file))
	return base[:len(base)-len(path.Ext(base))]
}
