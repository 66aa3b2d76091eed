package compare

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/BurntSushi/toml"

	"sim/internal/text"
	"sim/scenarios/result"
)

// KeyDifference is a key of the resolved scenarios that has another value, or is there on one side alone. Values are
// as TOML has them; "" where a side lacks the key.
type KeyDifference struct {
	Key string `json:"key"`
	Old string `json:"old,omitempty"`
	New string `json:"new,omitempty"`
}

// maxScenarioBytes is the largest resolved scenario whose keys are compared, in bytes.
const maxScenarioBytes = 4 << 20

// readKeys returns the keys of the resolved scenario of a run or a sweep with their values, nil where there is none or it
// is too large to be listed.
func readKeys(dir string) (map[string]string, error) {
	path := filepath.Join(dir, result.ScenarioFile)
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, pathError(path, "cannot be read: %s", result.Reason(err))
	case !info.Mode().IsRegular() || info.Size() > maxScenarioBytes:
		return nil, nil
	}
	var tree map[string]any
	if _, err := toml.DecodeFile(path, &tree); err != nil {
		return nil, pathError(path, "is corrupt: %s", text.Line(err.Error(), 200))
	}
	keys := map[string]string{}
	flatten("", tree, keys)
	return keys, nil
}

// flatten enters the values of a tree of tables by their dotted keys.
func flatten(path string, value any, keys map[string]string) {
	switch v := value.(type) {
	case map[string]any:
		for name, inner := range v {
			flatten(join(path, name), inner, keys)
		}
	case []map[string]any:
		for i, inner := range v {
			flatten(join(path, fmt.Sprint(i)), inner, keys)
		}
	case string:
		keys[path] = v
	default:
		keys[path] = fmt.Sprint(v)
	}
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

// keyDifferences are the keys in which two scenarios differ, in order; none where a side has no keys.
func keyDifferences(previous, current map[string]string) []KeyDifference {
	if previous == nil || current == nil {
		return nil
	}
	all := maps.Clone(previous)
	maps.Copy(all, current)
	var out []KeyDifference
	for _, key := range slices.Sorted(maps.Keys(all)) {
		if previous[key] != current[key] {
			out = append(out, KeyDifference{key, previous[key], current[key]})
		}
	}
	return out
}

// maxValueWidth is how many characters of a value tables show.
const maxValueWidth = 40

// describeKeys say in words how keys differ, those that differ alike in one line.
func (c *Comparison) describeKeys() []string {
	shown := func(value string) string {
		if r := []rune(value); len(r) > maxValueWidth {
			return string(r[:maxValueWidth-3]) + "..."
		}
		return value
	}
	type change struct{ old, new string }
	var order []change
	keys := map[change][]string{}
	for _, k := range c.Keys {
		d := change{k.Old, k.New}
		if keys[d] == nil {
			order = append(order, d)
		}
		keys[d] = append(keys[d], k.Key)
	}
	var out []string
	for _, d := range order {
		line := strings.Join(keys[d], ", ") + ": "
		switch {
		case d.old == "":
			line += shown(d.new) + ", was not there"
		case d.new == "":
			line += "no longer there, was " + shown(d.old)
		default:
			line += shown(d.new) + ", was " + shown(d.old)
		}
		out = append(out, line)
	}
	return out
}
