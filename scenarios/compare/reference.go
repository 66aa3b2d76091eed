// This file compares the references of two sets. A metric that is relative to the reference, such
// as NCT, can be judged only if both rows have the same one.

package compare

import (
	"fmt"
	"slices"
	"strings"

	"sim/internal/alias"
	"sim/scenarios/result"
)

// addReferences adds the metrics that identify the references of cells to existing rows.
func (r *setReader) addReferences(s *result.Sweep) {
	for i := range s.Cells {
		c := &s.Cells[i]
		to := r.set.byKey[s.BenchName(c).Without(r.ignore).ID()]
		if to == nil {
			continue
		}
		for name, v := range result.CurrentNames(c.Reference, alias.Metric) {
			if result.IdentifiesReference(name) {
				name = result.ReferencePrefix + name
				to.values[name] = append(to.values[name], v)
				r.set.units[name] = unitRule{better: result.Better(name), isReference: true}
			}
		}
	}
}

// dirReferences adds the references in the directory of a run or sweep.
func (r *setReader) dirReferences(dir string) error {
	if result.IsSweep(dir) {
		sweep := &result.Sweep{}
		if ok, err := loadJSON(dir, result.SweepFile, sweep); err != nil || !ok {
			return err
		}
		if err := sweep.Check(); err != nil {
			return pathError(dir, "%s is corrupt: %v", result.SweepFile, err)
		}
		r.addReferences(sweep)
		return nil
	}
	doc := &result.Document{}
	if ok, err := loadJSON(dir, result.ResultFile, doc); err != nil || !ok {
		return err
	}
	r.addReferences(doc.AsSweep())
	return nil
}

// reference returns the reference of a row.
func (w *setRow) reference() map[string]float64 {
	all := map[string]float64{}
	for name, values := range w.values {
		if of, ok := strings.CutPrefix(name, result.ReferencePrefix); ok && len(values) > 0 {
			all[of] = values[0]
		}
	}
	return all
}

// hasReferenceOf reports whether two rows have the same reference.
func (w *setRow) hasReferenceOf(other *setRow) bool {
	return result.SameReference(w.reference(), other.reference())
}

// describeReferences sets References if relative metrics of common rows have different
// references. Iteration times then come first.
func (c *Comparison) describeReferences(previous, current *Set) {
	differ, first := 0, (*setRow)(nil)
	for _, r := range previous.rows {
		if other := current.byKey[r.name.ID()]; other != nil && !r.hasReferenceOf(other) {
			if differ++; first == nil {
				first = r
			}
		}
	}
	at := slices.IndexFunc(c.Metrics, func(m Metric) bool { return m.isRelative })
	if first == nil || at < 0 {
		return
	}
	old, now := first.reference(), current.byKey[first.name.ID()].reference()
	absolute := "times"
	if time := slices.IndexFunc(c.Metrics, func(m Metric) bool { return m.Name == result.IterationTime }); time >= 0 {
		absolute = result.IterationTime
		m := c.Metrics[time]
		c.Metrics = slices.Insert(slices.Delete(c.Metrics, time, time+1), 0, m)
		at = slices.IndexFunc(c.Metrics, func(m Metric) bool { return m.isRelative })
	}
	rows := "1 row"
	if differ > 1 {
		rows = fmt.Sprintf("%d rows", differ)
	}
	c.References = fmt.Sprintf("%s is relative to ideal fabrics that differ between old and new in %s, so it is neither better nor worse; compare %s. "+
		"For %s the ideal fabric takes %s in old and %s in new. %s", c.Metrics[at].Name, rows, absolute,
		first.name, result.DescribeReference(old), result.DescribeReference(now), result.ReferenceRemedy(old, now))
}

// markOtherReference makes a difference of a relative metric one without direction. It is a
// regression only if the metric was requested, because then no other metric stands in for it.
func (c *Comparison) markOtherReference(m *Metric, d *Difference) {
	d.OtherReference, d.Mark = true, Changed
	if !c.FailOnChange {
		d.Fails = m.isRequested
	}
}

// describeMissingReferences sets References if a relative metric changed for the worse and a side
// has no references: benchmark files hold the metrics of rows only.
func (c *Comparison) describeMissingReferences(previous, current *Set) {
	var without []string
	for _, s := range []*Set{previous, current} {
		if !slices.ContainsFunc(s.rows, func(r *setRow) bool { return len(r.reference()) > 0 }) {
			without = append(without, s.Name)
		}
	}
	at := slices.IndexFunc(c.Differences, func(d Difference) bool {
		return d.Fails && d.Change != nil && isRelative(d.Metric)
	})
	if c.References != "" || without == nil || at < 0 {
		return
	}
	have := "has"
	if len(without) > 1 {
		have = "have"
	}
	c.References = fmt.Sprintf("%s is relative to the ideal fabric, and %s %s none: if ideal fabrics may differ, compare "+
		"directories of runs or sweeps", c.Differences[at].Metric, strings.Join(without, " and "), have)
}
