// This file reads studies, that is scenarios with several values for some keys, and
// creates their variants.

package scenarios

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"sync"

	"github.com/BurntSushi/toml"

	"sim/scenarios/result"
	"sim/scenarios/schema"
)

// Study is a checked file for many runs: a scenario in which some keys have several values.
// Its variants are the combinations of the axes' values; the last axis varies fastest.
// Variants are created one by one, since a study may have a million.
type Study struct {
	Name  string
	Title string
	Axes  []Axis
	Plots []result.Plot // figures of the finished study

	source     *fileSource     // the keys without axes and figures
	overridden map[string]bool // paths set by an override
	outputDirs OutputDirs      // see SetOutputDirs

	mu    sync.Mutex             // guards bases
	bases map[string]*fileSource // source merged with a base, by the value of the axis "base"
}

// LoadStudy reads the study at path, a file or a built-in one, as Load does. A file without
// [sweep] is a study with one variant. An override can give a key several values,
// "key=a,b,c" or "key=1..8". Such an override adds an axis or replaces one. Every error is
// of type Diagnostics.
func LoadStudy(path string, overrides []string) (*Study, error) {
	name, data, fault := openFile(path)
	if fault != nil {
		return nil, Diagnostics{*fault}
	}
	return ParseStudy(name, data, overrides)
}

// ParseStudy reads a study from data. Arguments and errors are as in LoadStudy and Parse.
func ParseStudy(name string, data []byte, overrides []string) (*Study, error) {
	src, faults := decodeFile(name, data)
	if faults != nil {
		return nil, faults
	}

	// Read axes and figures, and remove them: the rest is a scenario.
	src.files = &fileSet{}
	st := &Study{source: src, bases: map[string]*fileSource{}}
	c := newChecker(defaultName(name), src.root, src.layers, src.files)
	fixedOverrides := st.readAxes(c, overrides)
	st.Plots = readPlots(c)
	delete(src.root, "sweep")
	delete(src.root, "plot")
	if len(c.Diagnostics) > 0 {
		return nil, c.Diagnostics.Sorted()
	}

	// An axis "base" gives each variant its own base. Otherwise all variants share one.
	variesBase := func(a Axis) bool { return slices.Contains(a.Keys, baseKey) }
	if slices.ContainsFunc(st.Axes, variesBase) {
		delete(src.root, "base")
	} else if faults := src.inherit(topLevel); faults != nil {
		return nil, faults
	}

	// Apply the overrides that all variants have.
	c.Root, c.Layers = src.root, src.layers
	for _, o := range fixedOverrides {
		c.override(o)
	}
	if len(c.Diagnostics) > 0 {
		return nil, c.Diagnostics.Sorted()
	}
	if c.rejectNonFinite(); len(c.Diagnostics) > 0 {
		return nil, c.Diagnostics.Sorted()
	}

	st.dropEqualTwists()

	// The first variant must be valid. It also gives the study its name.
	st.overridden = c.Overrides
	src.deprecated = append(src.deprecated, c.s.Deprecated...)
	first, err := st.Variant(0)
	if err != nil {
		return nil, err
	}
	st.Name, st.Title = first.Name, first.Title
	if len(st.Axes) > 0 { // a title of the base or of a variant does not describe the study
		st.Title, _ = src.root["title"].(string)
	}
	return st, nil
}

// eachNonFinite calls each with the path of every NaN and infinity in v, the value of the
// key at path. A study rejects these numbers before it checks its variants. A variant may
// replace the value, and neither the digest nor result files can represent it.
func eachNonFinite(v any, path string, each func(path string, number float64)) {
	switch v := v.(type) {
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			each(path, v)
		}
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			eachNonFinite(v[name], schema.JoinPath(path, name), each)
		}
	case []map[string]any:
		for i := range v {
			eachNonFinite(v[i], schema.JoinPath(path, strconv.Itoa(i)), each)
		}
	case []any:
		for _, element := range v {
			eachNonFinite(element, path, each)
		}
	}
}

// rejectNonFinite rejects keys whose values are NaN or infinite.
func (c *checker) rejectNonFinite() {
	const top = "" // path of the root
	eachNonFinite(c.Root, top, func(path string, number float64) {
		c.rejectf(path, "is %s; write a finite number", schema.Describe(number))
	})
}

// IsStudy reports whether the file at path can be read and has a table that makes it a
// study.
func IsStudy(path string) bool {
	name, data, fault := openFile(path)
	return fault == nil && isStudyFile(name, data)
}

// isStudyFile is IsStudy for the content of a file.
func isStudyFile(name string, data []byte) bool {
	src, faults := decodeFile(name, data)
	if faults != nil {
		return false
	}
	_, sweep := src.root["sweep"]
	_, plot := src.root["plot"]
	return sweep || plot
}

// baseKey is the key that names the scenario on which another one is based.
const baseKey = "base"

// Variants returns the number of variants, at most maxVariants.
func (st *Study) Variants() int {
	n := 1
	for _, a := range st.Axes {
		n *= len(a.Values)
	}
	return n
}

// AxisIndices returns the index of the value of variant i on each axis.
func (st *Study) AxisIndices(i int) []int {
	indices := make([]int, len(st.Axes))
	for a := len(indices) - 1; a >= 0; a-- {
		n := len(st.Axes[a].Values)
		indices[a] = i % n
		i /= n
	}
	return indices
}

// Variant returns the scenario of variant i. It is safe for concurrent use. The error is of
// type Diagnostics.
func (st *Study) Variant(i int) (*Scenario, error) {

	// An axis "base" replaces the keys on which the others are set.
	indices := st.AxisIndices(i)
	src := st.source
	for a, v := range indices {
		axis := &st.Axes[a]
		if k := slices.Index(axis.Keys, baseKey); k >= 0 {
			var faults Diagnostics
			src, faults = st.baseSource(axis, axis.Values[v][k].(string))
			if faults != nil {
				return nil, faults
			}
		}
	}

	// Set the values of all other axes in a copy of the keys.
	s := &fileSource{root: cloneTable(src.root), layers: src.layers}
	c := newChecker(defaultName(st.source.layers[0].File), s.root, s.layers, &fileSet{})
	maps.Copy(c.Overrides, st.overridden)
	c.s.Deprecated = slices.Clip(src.deprecated)
	c.Varied, c.isCell = map[string]schema.Origin{}, true
	for a, v := range indices {
		for k, key := range st.Axes[a].Keys {
			if key == baseKey {
				continue
			}
			parts, _ := splitKey(key)
			path, m := c.findTable(parts)
			if m == nil {
				continue // findTable has reported the reason
			}
			m[parts[len(parts)-1]] = cloneValue(st.Axes[a].Values[v][k])
			c.Varied[path] = schema.Origin{File: st.Axes[a].file, Line: st.Axes[a].lines[k], Key: key}
		}
	}

	variant, err := c.finish()
	if err == nil {
		variant.applyOutputDirs(st.outputDirs)
	}
	return variant, err
}

// SuspectVariants returns up to maxCount variants, in ascending order, that are likely to
// reveal faults of a large study early. Variants with a value that its key rejects come
// first, followed by variants at the ends of an axis. Each has the first value of all other
// axes.
func (st *Study) SuspectVariants(maxCount int) []int {
	var variants []int
	add := func(i int) bool {
		if len(variants) < maxCount {
			variants = append(variants, i)
		}
		return len(variants) < maxCount
	}

	// stride is the difference of variants with successive values of an axis, by axis.
	stride := make([]int, len(st.Axes))
	for a, n := len(st.Axes)-1, 1; a >= 0; a-- {
		stride[a] = n
		n *= len(st.Axes[a].Values)
	}

	// Values that the key itself rejects.
	if first, err := st.Variant(0); err == nil {
		tables := first.schema()
		for a, axis := range st.Axes {
			for k, name := range axis.Keys {
				key := tables.Key(name)
				for v := range axis.Values {
					isRejected := key != nil && key.Set(onlyElement, axis.Values[v][k]) != nil
					if isRejected && !add(v*stride[a]) {
						break
					}
				}
			}
		}
	}

	// Values from both ends of each axis towards its middle.
	for a, axis := range st.Axes {
		low, high := 0, len(axis.Values)-1
		for low <= high && add(low*stride[a]) && add(high*stride[a]) {
			low, high = low+1, high-1
		}
	}
	slices.Sort(variants)
	return slices.Compact(variants)
}

// baseSource returns the keys of the study merged with a base, which axis a names. Results
// are cached.
func (st *Study) baseSource(a *Axis, base string) (*fileSource, Diagnostics) {
	st.mu.Lock()
	defer st.mu.Unlock()
	if s, ok := st.bases[base]; ok {
		return s, nil
	}

	s := &fileSource{
		root:   mergeTables(st.source.root, map[string]any{baseKey: base}),
		layers: st.source.layers,
		files:  st.source.files,

		deprecated: st.source.deprecated,
	}
	faults := s.inherit(topLevel)
	if faults == nil {
		c := newChecker(st.Name, s.root, s.layers, st.source.files)
		c.rejectNonFinite()
		faults = c.Diagnostics
	}

	if faults != nil {
		for i := range faults {
			if faults[i].Key == baseKey {
				faults[i].File, faults[i].Line = a.file, a.lines[slices.Index(a.Keys, baseKey)]
				faults[i].Key = "sweep." + baseKey
			}
		}
		return nil, faults
	}

	st.bases[base] = s
	return s, nil
}

// TOML returns the study with its overrides applied. ParseStudy reads it back as the same
// study if the scenarios that it is based on are available.
func (st *Study) TOML() ([]byte, error) {
	root := cloneTable(st.source.root)
	if _, ok := root["name"]; !ok {
		root["name"] = st.Name
	}

	// An axis with one key is written in [sweep], and a group in [sweep.zip].
	sweep := map[string]any{}
	zip := map[string]any{}
	for _, a := range st.Axes {
		into := sweep
		if a.Name != a.Keys[0] || len(a.Keys) > 1 {
			into = map[string]any{}
			zip[a.Name] = into
		}

		for k, key := range a.Keys {
			list := make([]any, len(a.Values))
			for v := range list {
				list[v] = a.Values[v][k]
			}
			into[key] = list
		}
	}

	if len(zip) > 0 {
		sweep["zip"] = zip
	}
	if len(sweep) > 0 {
		root["sweep"] = sweep
	}
	var b bytes.Buffer
	if err := toml.NewEncoder(&b).Encode(root); err != nil {
		return nil, fmt.Errorf("scenarios: writing the study: %w", err)
	}
	return b.Bytes(), nil
}

// Digest returns a SHA-256 in hex that identifies the study: its keys, the scenarios that
// it is based on, and its axes with the order of their values.
func (st *Study) Digest() (string, error) {

	// Read all bases, which variants otherwise read when they are needed.
	for _, a := range st.Axes {
		k := slices.Index(a.Keys, baseKey)
		if k < 0 {
			continue
		}
		for v := range a.Values {
			if _, faults := st.baseSource(&a, a.Values[v][k].(string)); faults != nil {
				return "", faults
			}
		}
	}
	bases := map[string]any{}
	for name, s := range st.bases {
		bases[name] = s.root
	}
	data, err := json.Marshal([]any{st.Name, st.source.root, st.Axes, bases})
	if err != nil {
		return "", fmt.Errorf("scenarios: digest of the study: %w", err)
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:]), nil
}

// ResultAxes returns the axes as results describe them.
func (st *Study) ResultAxes() []result.Axis {
	axes := make([]result.Axis, len(st.Axes))
	for i, a := range st.Axes {
		axes[i] = result.Axis{Name: a.Name, Keys: a.Keys, Labels: a.Labels, Numbers: a.numbers()}
	}
	return axes
}
