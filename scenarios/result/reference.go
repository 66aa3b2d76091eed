// This file compares the ideal fabrics to which metrics are relative. Values of such a metric
// can be ranked only if they have one reference.

package result

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"sim/internal/text"
)

// ReferenceIdentity lists the metrics that identify a reference.
var ReferenceIdentity = []string{IterationTime, ComputeTime, InterfaceRate, FreeBytes}

// IdentifiesReference reports whether a metric of a reference, of one job or of one of several, is
// in ReferenceIdentity.
func IdentifiesReference(name string) bool {
	return slices.Contains(ReferenceIdentity, baseMetric(name))
}

// referenceTie is the relative difference up to which times of references are equal; it covers
// rounding to ticks.
const referenceTie = 1e-9

// ReferenceMark follows names and values of metrics that cannot be ranked.
const ReferenceMark = "†"

// baseMetric returns the name of a metric without the job, if it is of one of several jobs.
func baseMetric(name string) string {
	if _, of, ok := splitJob(name); ok {
		return of
	}
	return name
}

// SameReference reports whether values that are relative to two references can be ranked. The
// times of all jobs on the ideal fabric and without communication must then be equal.
// References without these times are not compared.
func SameReference(a, b map[string]float64) bool {
	for name, v := range a {
		if base := baseMetric(name); base != IterationTime && base != ComputeTime {
			continue
		}
		if w, has := b[name]; has && math.Abs(v-w) > referenceTie*math.Max(math.Abs(v), math.Abs(w)) {
			return false
		}
	}
	return true
}

// hasReference reports whether a row has a reference of a training iteration.
func hasReference(reference map[string]float64) bool {
	for name := range reference {
		if baseMetric(name) == IterationTime {
			return true
		}
	}
	return false
}

// DescribeReference states the makespan of a reference and its assumptions. With several jobs,
// it describes the reference of the first one.
func DescribeReference(reference map[string]float64) string {
	prefix := ""
	if _, single := reference[IterationTime]; !single {
		for _, name := range slices.Sorted(maps.Keys(reference)) {
			if job, rest, ok := splitJob(name); ok && rest == IterationTime {
				prefix = OfJob(job, "")
				break
			}
		}
	}
	words := text.Seconds(reference[prefix+IterationTime])
	if basis := DescribeBasis(reference, prefix); basis != "" {
		words += " (" + basis + ")"
	}
	return words
}

// DescribeBasis states the assumptions of a reference besides compute: its network interfaces and
// the traffic that does not use them; "" for references of older versions. prefix precedes the metrics of
// a job.
func DescribeBasis(reference map[string]float64, prefix string) string {
	rate, ok := reference[prefix+InterfaceRate]
	if !ok {
		return ""
	}
	words := "interfaces of " + formatSI(rate, "b/s")
	if bytes := reference[prefix+FreeBytes]; bytes > 0 {
		words += ", " + formatSI(bytes, "B") + " inside pods not over them"
	}
	return words
}

// formatSI formats a number with three digits and a decimal prefix of its unit.
func formatSI(v float64, unit string) string {
	for _, p := range []struct {
		name string
		of   float64
	}{{"T", 1e12}, {"G", 1e9}, {"M", 1e6}, {"k", 1e3}} {
		if v >= p.of {
			return fmt.Sprintf("%.4g %s%s", v/p.of, p.name, unit)
		}
	}
	return fmt.Sprintf("%.4g %s", v, unit)
}

// ReferenceGroup is cells with one reference.
type ReferenceGroup struct {
	Reference map[string]float64
	Places    []Name // coordinates of its cells in which the listed cells differ, without repetitions
}

// ReferenceDifference lists the references of a metric that differ between cells of the same
// work.
type ReferenceDifference struct {
	Metric   string
	Absolute string // metric that ranks the cells instead
	Groups   []ReferenceGroup
}

// ReferenceDifference returns the references of a metric if they differ between cells of the
// same work, else nil. selected limits the cells; nil means all cells.
//
// Two cells have the same work if they have the same place on all axes that change the work. An
// axis changes the work if one of its keys does. If it also has a key of the fabric, or is the axis
// of runs, cells have the same work if their compute times are equal.
func (s *Sweep) ReferenceDifference(metric string, selected func(c *Cell) bool) *ReferenceDifference {
	m, _ := Find(metric)
	if m.Relative == "" {
		return nil
	}
	groups := map[string][]ReferenceGroup{} // keyed by work
	var order []string
	for i := range s.Cells {
		c := &s.Cells[i]
		_, has := c.Metrics[metric]
		if !has && len(c.Samples[metric]) == 0 || !hasReference(c.Reference) || selected != nil && !selected(c) {
			continue
		}
		work := s.work(c)
		if groups[work] == nil {
			order = append(order, work)
		}
		at := slices.IndexFunc(groups[work], func(g ReferenceGroup) bool { return SameReference(g.Reference, c.Reference) })
		if at < 0 {
			at = len(groups[work])
			groups[work] = append(groups[work], ReferenceGroup{Reference: c.Reference})
		}
		g := &groups[work][at]
		place := s.NameOf(c).Without([]string{PolicyKey})
		if len(g.Places) == 0 || !slices.Equal(g.Places[len(g.Places)-1], place) {
			g.Places = append(g.Places, place)
		}
	}

	// Describe the references of the first work that has several.
	for _, work := range order {
		if len(groups[work]) < 2 {
			continue
		}
		d := &ReferenceDifference{Metric: metric, Absolute: s.absolute(), Groups: groups[work]}
		var all []Name
		for _, g := range d.Groups {
			all = append(all, g.Places...)
		}
		_, common := Project(all)
		for _, g := range d.Groups {
			for i := range g.Places {
				g.Places[i] = g.Places[i].Without(common.Keys())
			}
		}
		return d
	}
	return nil
}

// RelativeDifference returns the ReferenceDifference of the first main metric that has one; nil
// if all can be ranked. selected is as in ReferenceDifference.
func (s *Sweep) RelativeDifference(selected func(c *Cell) bool) *ReferenceDifference {
	for _, m := range MainMetrics() {
		if d := s.ReferenceDifference(m.Name, selected); d != nil {
			return d
		}
	}
	return nil
}

// neutralKeys are the first parts of keys that leave the work unchanged.
var neutralKeys = []string{"fabric", "policy", "engine", "title", "name"}

// work returns a text that is equal for cells of the same work.
func (s *Sweep) work(c *Cell) string {
	var b strings.Builder
	for a, axis := range s.Axes {
		isNeutral := func(key string) bool {
			first, _, _ := strings.Cut(key, ".")
			return slices.Contains(neutralKeys, first)
		}
		// Runs side by side may differ in anything.
		mayBeFabric := func(key string) bool { return strings.HasPrefix(key, "fabric") || key == RunAxis }
		switch {
		case !slices.ContainsFunc(axis.Keys, func(key string) bool { return !isNeutral(key) }):
		case slices.ContainsFunc(axis.Keys, mayBeFabric):
			fmt.Fprintf(&b, "%.9e ", c.Reference[ComputeTime])
		default:
			fmt.Fprintf(&b, "%d:%d ", a, c.At[a])
		}
	}
	return b.String()
}

// absolute returns the metric of times that ranks cells with different references, or "" if
// they have none.
func (s *Sweep) absolute() string {
	has := s.MetricNames()
	for _, name := range []string{IterationTime, TrialTime} {
		if has[name] {
			return name
		}
	}
	for _, name := range slices.Sorted(maps.Keys(has)) {
		if _, of, ok := splitJob(name); ok && of == IterationTime {
			return name
		}
	}
	return ""
}

// SameInterfaces reports whether the references assume the same network interfaces.
func (d *ReferenceDifference) SameInterfaces() bool {
	rate := d.Groups[0].Reference[InterfaceRate]
	return !slices.ContainsFunc(d.Groups, func(g ReferenceGroup) bool { return g.Reference[InterfaceRate] != rate })
}

// String returns Reason and References.
func (d *ReferenceDifference) String() string { return d.Reason() + " " + d.References() }

// Reason states that the metric ranks nothing, the metric that compares the cells, and the change
// that would give them one reference.
func (d *ReferenceDifference) Reason() string {
	return fmt.Sprintf("%s is relative to ideal fabrics that differ between rows of the same work, so nothing is ranked by it; compare %s. %s",
		d.Metric, cmp.Or(d.Absolute, "times"), ReferenceRemedy(d.references()...))
}

// References describes the reference of each group.
func (d *ReferenceDifference) References() string {
	const maxGroups = 3
	var groups []string
	for i, g := range d.Groups {
		if i == maxGroups {
			groups = append(groups, fmt.Sprintf("and %d more", len(d.Groups)-maxGroups))
			break
		}
		groups = append(groups, fmt.Sprintf("%s for %s", DescribeReference(g.Reference), g.places()))
	}
	return "The ideal fabric takes " + strings.Join(groups, "; ") + "."
}

// places names the first places of a group.
func (g *ReferenceGroup) places() string {
	const maxPlaces = 3
	var names []string
	for _, p := range g.Places[:min(len(g.Places), maxPlaces)] {
		names = append(names, p.String())
	}
	if more := len(g.Places) - maxPlaces; more > 0 {
		names = append(names, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(names, ", ")
}

// references returns the reference of each group.
func (d *ReferenceDifference) references() (all []map[string]float64) {
	for _, g := range d.Groups {
		all = append(all, g.Reference)
	}
	return all
}

// ReferenceRemedy states what would give rows with these references a common one.
func ReferenceRemedy(references ...map[string]float64) string {
	differs := func(metric string) bool {
		for name, v := range references[0] {
			if baseMetric(name) != metric {
				continue
			}
			for _, other := range references[1:] {
				if w, has := other[name]; has && math.Abs(v-w) > referenceTie*math.Abs(v) {
					return true
				}
			}
		}
		return false
	}
	switch {
	case differs(InterfaceRate):
		return "Equal interface rates would make them comparable."
	case differs(ComputeTime):
		return "Equal compute would make them comparable: the work differs, or calls inside tiers count as compute."
	case differs(FreeBytes):
		return `fabric.reference = "interfaces" on pods would make them comparable: all traffic then uses interfaces.`
	}
	return "Equal transfers and tiers would make them comparable: mappings, collective algorithms or tiers differ."
}
