package study

import (
	"maps"
	"slices"
	"strings"

	"sim/scenarios/result"
)

// MetricRequest is a metric that a table or a figure asks for. Of the reference the names are as figures have them:
// "reference.makespan_s".
type MetricRequest struct {
	Source string // "plot NAME", or what else asks
	Name   string
}

// UnknownMetric returns the first metric that is asked for and that neither the table of metrics nor a kept cell has; nil
// where there is none.
func (s *Store) UnknownMetric(asked []MetricRequest) *MetricRequest {
	for i := range asked {
		if !s.hasMetric(asked[i].Name) {
			return &asked[i]
		}
	}
	return nil
}

// hasMetric reports whether there is a metric, or both of a quotient.
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

// DropOutdated passes over the records that were kept before there was one of the metrics that are asked for, so that their
// cells are computed again.
func (s *Store) DropOutdated(asked []MetricRequest) {
	maps.DeleteFunc(s.records, func(_ string, r *Record) bool {
		return slices.ContainsFunc(asked, func(a MetricRequest) bool { return r.isOlderThan(a.Name) })
	})
}

// isOlderThan reports whether a record is older than a metric, or one of a quotient.
func (r *Record) isOlderThan(name string) bool {
	if over, under, ok := strings.Cut(name, "/"); ok {
		return r.isOlderThan(strings.TrimSpace(over)) || r.isOlderThan(strings.TrimSpace(under))
	}
	m, _ := result.Find(name)
	return m.Since > r.Table && m.Formula == nil
}

// PlotMetrics returns the metrics that figures ask for.
func PlotMetrics(plots []result.Plot) []MetricRequest {
	var all []MetricRequest
	for i := range plots {
		p := &plots[i]
		names := slices.Concat([]string{p.Y}, p.Also, []string{p.Below})
		switch p.Kind {
		case "heatmap", "twists":
			names[0] = p.Z
		case "scatter":
			names = append(names, p.X)
		}
		for _, name := range names {
			if name != "" {
				all = append(all, MetricRequest{"plot " + p.Name, name})
			}
		}
	}
	return all
}
