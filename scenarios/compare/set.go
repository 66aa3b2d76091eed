// This file declares the sets of a comparison: rows with names and values.

package compare

import (
	"slices"
	"strings"

	"golang.org/x/perf/benchfmt"

	"sim/internal/alias"
	"sim/scenarios/result"
)

// simBenchmark is the name of the benchmarks of sim's results.
const simBenchmark = "Sim"

// readName parses a benchmark's name. The suffix that benchfmt interprets as GOMAXPROCS
// is part of the last coordinate: labels of sweeps may end like that, and sim writes no
// GOMAXPROCS.
func readName(n benchfmt.Name) result.Name {
	// Join the suffix, such as "-8", with the last coordinate.
	base, parts := n.Parts()
	if last := len(parts) - 1; last > 0 && parts[last][0] == '-' {
		parts[last-1] = append(slices.Clip(parts[last-1]), parts[last]...)
		parts = parts[:last]
	}
	// Split the coordinates into keys and values.
	benchmark := string(base)
	var out result.Name
	for _, p := range parts {
		key, value, ok := strings.Cut(strings.TrimPrefix(string(p), "/"), "=")

		// Not a coordinate: part of the benchmark's name.
		if !ok {
			benchmark += string(p)
			continue
		}
		out = append(out, result.NamePart{Key: key, Value: value})
	}
	if benchmark == simBenchmark {
		for i := range out {
			out[i].Key = alias.Key(out[i].Key)
		}
	} else {
		out = append(out, result.NamePart{Key: result.BenchmarkKey, Value: benchmark})
	}
	return out.Sorted()
}

// setRow is the values of one row of a Set.
type setRow struct {
	name result.Name
	// values are the finite values, keyed by metric; several if the measurement was repeated.
	values    map[string][]float64
	positions []string // file:line of the records
	// fullNames are the names of the records with ignored parts, if parts are ignored.
	fullNames []result.Name
}

// unitRule states how the values of a metric are compared.
type unitRule struct {
	better string // result.Lower, result.Higher or result.Unrated
	// wall reports whether the values are measured and so vary. Simulated values are exact.
	wall        bool
	fromTimings bool // read from timings.json
	isReference bool // metric of the reference
}

// Set is one of the two compared sets of results.
type Set struct {
	Name  string              // path as the user gave it
	rows  []*setRow           // in the order of the input
	byKey map[string]*setRow  // keyed by result.Name.ID
	units map[string]unitRule // keyed by metric
	// keys are the keys of the parts of names, including ignored ones.
	keys []string

	// scenario has the keys and values of the resolved scenario; only for the directory of a run
	// or a sweep.
	scenario map[string]string
}

// Keys returns the keys of the parts of names, including ignored ones, in order of
// appearance.
func (s *Set) Keys() []string { return slices.Clone(s.keys) }

// Metrics returns the names of all metrics, in the order of comparisons.
func (s *Set) Metrics() []string { return sortMetrics(s.units) }

// row returns the row of a name and adds it if it is missing.
func (s *Set) row(name result.Name) *setRow {
	key := name.ID()
	r := s.byKey[key]
	if r == nil {
		r = &setRow{name: name, values: map[string][]float64{}}
		s.rows, s.byKey[key] = append(s.rows, r), r
	}
	return r
}

// Filter removes the rows that do not match.
func (s *Set) Filter(filter result.NameFilter) {
	s.rows = slices.DeleteFunc(s.rows, func(r *setRow) bool {
		if filter.Matches(r.name) {
			return false
		}
		delete(s.byKey, r.name.ID())
		return true
	})
}

// Names returns the names of all rows.
func (s *Set) Names() []result.Name {
	names := make([]result.Name, len(s.rows))
	for i, r := range s.rows {
		names[i] = r.name
	}
	return names
}
