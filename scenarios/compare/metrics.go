// This file lists the metrics of a comparison, decides which may fail, and computes
// their means.

package compare

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"sim/scenarios/result"
)

// sortMetrics returns the metrics in order: the ones that may fail by default in their
// order, other simulated metrics by name, measured ones by name.
func sortMetrics(units map[string]unitRule) []string {
	judged := result.FailureMetrics()
	// place returns the position of a metric among judged, or the position of its group.
	place := func(name string) int {
		at := slices.Index(judged, name)
		switch {
		case units[name].wall:
			return len(judged) + 1
		case at < 0:
			return len(judged)
		}
		return at
	}
	return slices.SortedFunc(maps.Keys(units), func(a, b string) int {
		return cmp.Or(cmp.Compare(place(a), place(b)), cmp.Compare(a, b))
	})
}

// listMetrics lists the metrics of both sets and determines which may fail. It returns an error
// if the sets disagree about the direction of a metric.
func listMetrics(previous, current *Set, o Options) ([]Metric, error) {
	units := maps.Clone(current.units)
	for name, u := range previous.units {
		units[name] = u // the old set's rules apply
	}
	out := []Metric{}
	for _, name := range sortMetrics(units) {
		u, has := current.units[name]
		if _, had := previous.units[name]; had && has && (u.better != units[name].better || u.wall != units[name].wall) {
			return nil, inputf("%s and %s do not agree on the unit %s: %s in one, %s in the other",
				previous.Name, current.Name, name, units[name].description(), u.description())
		}
		out = append(out, Metric{Name: name, Better: units[name].better, Wall: units[name].wall, fromTimings: units[name].fromTimings,
			isReference: units[name].isReference, isRelative: isRelative(name), Means: []Mean{}})
	}
	return out, selectFailing(out, previous, current, o)
}

// isRelative reports whether a metric is relative to the ideal fabric.
func isRelative(name string) bool {
	m, _ := result.Find(name)
	return m.Relative != ""
}

// description describes the unit for messages.
func (u unitRule) description() string {
	kind, better := "simulated", "neither direction"
	if u.wall {
		kind = "measured"
	}
	if u.better != "" {
		better = u.better
	}
	return kind + " with " + better + " better"
}

// selectFailing sets MayFail and isRequired of the metrics, as declared at Options: Options.Metrics
// comes first, and without it the default list, result.FailureMetrics. Wall-clock times fail
// only with Options.Wall.
func selectFailing(list []Metric, previous, current *Set, o Options) error {
	find := func(name string) *Metric {
		at := slices.IndexFunc(list, func(m Metric) bool { return m.Name == name })
		if at < 0 {
			return nil
		}
		return &list[at]
	}
	// Mark the metrics in Options.Metrics.
	all := slices.Contains(o.Metrics, AllMetrics)
	namesWall := false // Options.Metrics contains a wall-clock time
	for _, name := range o.Metrics {
		m := find(name)
		switch {
		case name == AllMetrics:
			continue
		case m == nil:
			return inputf("neither %s nor %s has a metric %q", previous.Name, current.Name, name)
		case m.Wall && !o.Wall:
			return inputf("%s is wall-clock, which cannot fail without --wall", name)
		case m.Better == "" && (m.Wall || !o.FailOnChange):
			return inputf("%s is neither better lower nor better higher, so it cannot get worse; with --fail-on-change it fails on any change", name)
		}
		m.MayFail, m.isRequested = true, true
		namesWall = namesWall || m.Wall
	}
	// Mark the metrics that fail by default. judged reports whether a metric of the default list
	// occurs, and wall whether both sets have wall-clock times.
	judged := slices.ContainsFunc(result.FailureMetrics(), func(name string) bool { m := find(name); return m != nil && !m.Wall })
	wall := false
	for i := range list {
		m := &list[i]
		switch {
		case m.Wall:
			_, had := previous.units[m.Name]
			_, has := current.units[m.Name]
			wall = wall || had && has
			m.MayFail = m.MayFail || o.Wall && !namesWall && m.Better != ""
		case o.FailOnChange && (all || o.Metrics == nil):
			m.MayFail = true
		case all || o.Metrics == nil && !judged:
			m.MayFail = m.Better != ""
		case o.Metrics == nil:
			m.MayFail = m.Better != "" && slices.Contains(result.FailureMetrics(), m.Name)
		}
		m.isRequired = m.MayFail || !m.Wall && (all || o.Metrics == nil)
	}
	if o.Wall && !wall {
		return inputf("%s and %s have no wall-clock times in common, so none can fail: --wall needs directories of runs or sweeps on both sides",
			previous.Name, current.Name)
	}
	return nil
}

// means returns the geometric means of a metric over all rows and, if there are several
// policies, for each policy. Rows that are relative to different references are left out.
func means(m *Metric, diffs []Difference) []Mean {
	type sum struct {
		Mean
		logs float64 // sum of the logarithms of ratios
	}
	// sums has the sums over all rows, followed by the sums of each policy.
	sums := []sum{{}}
	for i := range diffs {
		d := &diffs[i]
		if d.Ratio == nil || d.OtherReference {
			continue
		}
		policy := d.Row.Get(result.PolicyKey)
		at := slices.IndexFunc(sums, func(s sum) bool { return policy != "" && s.Policy == policy })
		if at < 0 && policy != "" {
			at = len(sums)
			sums = append(sums, sum{Mean: Mean{Policy: policy}})
		}

		// Add the row to the sums of all rows and of its policy. at is -1 without a policy.
		for _, k := range []int{0, at} {
			if k < 0 {
				continue
			}
			s := &sums[k]
			s.Rows++
			s.logs += math.Log(*d.Ratio)
			if m.Wall {
				s.Old += *d.Old
				s.New += *d.New
			}
		}
	}
	// Convert sums of logarithms to geometric means.
	out := []Mean{}
	for i, s := range sums {
		// A single policy has the same mean as all rows.
		if s.Rows == 0 || i > 0 && len(sums) == 2 {
			continue
		}
		s.Ratio = math.Exp(s.logs / float64(s.Rows))
		out = append(out, s.Mean)
	}
	return out
}
