// This file compares the resolved scenarios of two runs or sweeps, key by key.

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

	"sim/internal/alias"
	"sim/internal/text"
	"sim/scenarios/result"
)

// KeyDifference is a key of the resolved scenarios whose values differ. Values are in
// TOML notation, "" if a scenario lacks the key.
type KeyDifference struct {
	Key string `json:"key"`
	Old string `json:"old,omitempty"`
	New string `json:"new,omitempty"`
}

// maxScenarioBytes is the size of the largest resolved scenario whose keys are compared.
// Larger ones contain tables of traffic, in which single differences are of no use.
const maxScenarioBytes = 4 << 20

// readKeys returns the keys and values of the resolved scenario of a run or a sweep. It
// returns nil if there is no scenario, or if it is too large.
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
	// Decode the scenario and flatten its tables.
	var tree map[string]any
	if _, err := toml.DecodeFile(path, &tree); err != nil {
		const maxMessageBytes = 200
		return nil, pathError(path, "is corrupt: %s", text.Line(err.Error(), maxMessageBytes))
	}

	// Deprecated keys get their current names, without a message.
	var root []string
	ignore := func([]string, bool) {}
	alias.Values(tree, root, ignore)
	keys := map[string]string{}
	flatten("", tree, keys)
	return keys, nil
}

// flatten stores the values of nested tables by their dotted keys.
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

// join appends a part to a dotted key.
func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

// keyDifferences returns the keys in which two scenarios differ, sorted; nil if a set has
// no keys.
func keyDifferences(previous, current map[string]string) []KeyDifference {
	if previous == nil || current == nil {
		return nil
	}
	all := maps.Clone(previous)
	maps.Copy(all, current)
	var out []KeyDifference
	for _, key := range slices.Sorted(maps.Keys(all)) {
		if previous[key] != current[key] {
			out = append(out, KeyDifference{Key: key, Old: previous[key], New: current[key]})
		}
	}
	return out
}

// maxValueWidth is the number of characters of a value in lists of keys. The old and the new
// value then fit on a line.
const maxValueWidth = 40

// describeKeys describes the differences of keys. Keys with the same old and new value
// share a line.
func (c *Comparison) describeKeys() []string {
	// shown shortens a value for a table.
	shown := func(value string) string {
		if r := []rune(value); len(r) > maxValueWidth {
			return string(r[:maxValueWidth-3]) + "..."
		}
		return value
	}
	// A change is a pair of values. keys has the keys with this change, in order.
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
