// This file finds the cells that must be computed again, because they lack a requested
// metric.

package study

import (
	"maps"
	"slices"
	"strings"

	"sim/scenarios/result"
)

// MetricRequest is a metric requested by a table or a figure. Names of metrics of the
// ideal fabric have a prefix: "reference.makespan_s".
type MetricRequest struct {
	Source string // origin of the request, such as "plot NAME"
	Name   string
}

// UnknownMetric returns the first requested metric that neither the table of metrics nor
// a stored cell has, or nil.
func (s *Store) UnknownMetric(asked []MetricRequest) *MetricRequest {
	for i := range asked {
		if !s.hasMetric(asked[i].Name) {
			return &asked[i]
		}
	}
	return nil
}

// hasMetric reports whether a metric exists, or both metrics of a quotient.
func (s *Store) hasMetric(name string) bool {
	if _, known := result.Find(name); known {
		return true
	}
	if over, under, ok := strings.Cut(name, "/"); ok {
		return s.hasMetric(strings.TrimSpace(over)) && s.hasMetric(strings.TrimSpace(under))
	}
	of, reference := strings.CutPrefix(name, result.ReferencePrefix)
	for _, r := range s.records {
		_, has := r.Metrics[name]
		_, sampled := r.Samples[name]
		if _, ideal := r.Reference[of]; has || sampled || reference && ideal {
			return true
		}
	}
	return false
}

// DropOutdated drops the records that are older than one of the requested metrics, so
// that their cells are computed again.
func (s *Store) DropOutdated(asked []MetricRequest) {
	maps.DeleteFunc(s.records, func(_ string, r *Record) bool {
		return slices.ContainsFunc(asked, func(a MetricRequest) bool { return r.isOlderThan(a.Name) })
	})
}

// isOlderThan reports whether a record is older than a metric, or than one of a quotient.
func (r *Record) isOlderThan(name string) bool {
	if over, under, ok := strings.Cut(name, "/"); ok {
		return r.isOlderThan(strings.TrimSpace(over)) || r.isOlderThan(strings.TrimSpace(under))
	}
	m, _ := result.Find(name)
	return m.Since > r.Table && m.Formula == nil
}

// PlotMetrics returns the metrics that figures show.
func PlotMetrics(plots []result.Plot) []MetricRequest {
	var all []MetricRequest
	for i := range plots {
		p := &plots[i]
		names := slices.Concat([]string{p.Y}, p.ExtraY, []string{p.LowerY})
		switch p.Kind {
		case "heatmap", "twists":
			names[0] = p.Z
		case "scatter":
			names = append(names, p.X)
		}
		for _, name := range names {
			if name != "" {
				all = append(all, MetricRequest{Source: "plot " + p.Name, Name: name})
			}
		}
	}
	return all
}
