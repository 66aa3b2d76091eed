package study

import (
	"maps"
	"slices"
	"strings"

	"sim/scenarios/result"
)

// Asked is a metric that a table or a figure asks for. Of the reference the names are as figures have them:
// "reference.makespan_s".
type Asked struct {
	By   string // "plot NAME", or what else asks
	Name string
}

// Unknown returns the first metric that is asked for and that neither the table of metrics nor a kept cell has; nil
// where there is none.
func (s *Store) Unknown(asked []Asked) *Asked {
	for i := range asked {
		if !s.knows(asked[i].Name) {
			return &asked[i]
		}
	}
	return nil
}

// knows reports whether there is a metric, or both of a quotient.
func (s *Store) knows(name string) bool {
	if _, known := result.Find(name); known {
		return true
	}
	if over, under, ok := strings.Cut(name, "/"); ok {
		return s.knows(strings.TrimSpace(over)) && s.knows(strings.TrimSpace(under))
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

// Outdate passes over the records that were kept before there was one of the metrics that are asked for, so that their
// cells are computed again.
func (s *Store) Outdate(asked []Asked) {
	maps.DeleteFunc(s.records, func(_ string, r *Record) bool {
		return slices.ContainsFunc(asked, func(a Asked) bool { return r.before(a.Name) })
	})
}

// before reports whether a record is older than a metric, or one of a quotient.
func (r *Record) before(name string) bool {
	if over, under, ok := strings.Cut(name, "/"); ok {
		return r.before(strings.TrimSpace(over)) || r.before(strings.TrimSpace(under))
	}
	m, _ := result.Find(name)
	return m.Since > r.Table && m.From == nil
}

// AskedBy returns the metrics that figures ask for.
func AskedBy(plots []result.Plot) []Asked {
	var all []Asked
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
				all = append(all, Asked{"plot " + p.Name, name})
			}
		}
	}
	return all
}
