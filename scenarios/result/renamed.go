// This file replaces deprecated names of metrics, labels and keys while older results
// are read.

package result

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"sim/internal/alias"
)

// currentName returns the current name of a member of the JSON object at path. Metrics and labels
// may have deprecated names in older results.
func currentName(path, name string) string {
	switch path[strings.LastIndexByte(path, '.')+1:] {
	case "reference", "metrics", "samples":
		return alias.Metric(name)
	case "labels":
		return alias.Label(name)
	}
	return name
}

// CurrentNames returns values with the current names of their metrics. If no name is deprecated, it
// returns values itself.
func CurrentNames[V any](values map[string]V, current func(string) string) map[string]V {
	renamed, changed := make(map[string]V, len(values)), false
	for _, name := range slices.Sorted(maps.Keys(values)) {
		now := current(name)
		renamed[now], changed = values[name], changed || now != name
	}
	if !changed {
		return values
	}
	return renamed
}

// rename gives the keys of an axis their current names.
func (a *Axis) rename() {
	for i, key := range a.Keys {
		a.Keys[i] = alias.Key(key)
		if a.Name == key {
			a.Name = a.Keys[i]
		}
	}
}

// Rename gives the metrics and keys in a plot their current names and calls found with each
// deprecated name. Last parts of keys remain unchanged.
func (p *Plot) Rename(found func(old, current string)) {
	current := func(name string) string {
		now := alias.Metric(name)
		if now == name && strings.Contains(name, ".") {
			now = alias.Key(name)
		}
		if now != name {
			found(name, now)
		}
		return now
	}
	for _, name := range []*string{&p.X, &p.Y, &p.Z, &p.Series, &p.Panels, &p.LowerY, &p.XMark} {
		*name = current(*name)
	}
	for i, name := range p.ExtraY {
		p.ExtraY[i] = current(name)
	}
	p.Where = CurrentNames(p.Where, current)
}

// UnmarshalJSON reads the times of a policy, also from results of older versions.
func (t *PolicyTimings) UnmarshalJSON(data []byte) error {
	type timings PolicyTimings // without this method
	v := struct {
		timings
		PlayS float64 `json:"play_s"` // deprecated name of SimulateS
	}{}
	if err := json.Unmarshal(data, &v); err != nil {
		return err
	}
	*t = PolicyTimings(v.timings)
	if v.PlayS != 0 {
		t.SimulateS = v.PlayS
	}
	return nil
}
