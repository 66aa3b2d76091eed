package compare

import (
	"slices"
	"strings"

	"golang.org/x/perf/benchfmt"

	"sim/scenarios/result"
)

// simBenchmark is the name of the benchmark that sim's results go by.
const simBenchmark = "Sim"

// readName takes a benchmark's name apart. What benchfmt takes for GOMAXPROCS belongs to the last part: the labels of
// sweeps may end like that, and sim writes none.
func readName(n benchfmt.Name) result.Name {
	base, parts := n.Parts()
	if last := len(parts) - 1; last > 0 && parts[last][0] == '-' {
		parts[last-1] = append(slices.Clip(parts[last-1]), parts[last]...)
		parts = parts[:last]
	}
	benchmark := string(base)
	var out result.Name
	for _, p := range parts {
		key, value, ok := strings.Cut(strings.TrimPrefix(string(p), "/"), "=")
		if !ok { // no coordinate: a part of what is measured
			benchmark += string(p)
			continue
		}
		out = append(out, result.NamePart{Key: key, Value: value})
	}
	if benchmark != simBenchmark {
		out = append(out, result.NamePart{Key: result.BenchmarkKey, Value: benchmark})
	}
	return out.Sorted()
}

// setRow is what a Set holds under one name.
type setRow struct {
	name      result.Name
	values    map[string][]float64 // by metric: the finite ones, of repeated measurements several
	positions []string             // file:line of its records
	fullNames []result.Name        // of its records, where parts are left out
}

// unitRule says how a metric's values are compared.
type unitRule struct {
	better      string // "lower", "higher" or "" for neither
	wall        bool   // measured, so different each time; else simulated and exact
	fromTimings bool   // from timings.json
}

// Set is what one side of a comparison holds.
type Set struct {
	Name  string    // as the user gave it
	rows  []*setRow // in the order of the file
	byKey map[string]*setRow
	units map[string]unitRule
	keys  []string // of the parts of names, those that are left out too

	scenario map[string]string // the keys of the resolved scenario, of the directory of a run or a sweep
}

// Keys returns the keys of the parts that names of rows have, with those that were left out of them, in the order in
// which they were found.
func (s *Set) Keys() []string { return slices.Clone(s.keys) }

// Metrics returns the names of all metrics, in the order in which comparisons list them.
func (s *Set) Metrics() []string { return sortMetrics(s.units) }

// row returns the row of a name, which is added when it is not there yet.
func (s *Set) row(name result.Name) *setRow {
	key := name.ID()
	r := s.byKey[key]
	if r == nil {
		r = &setRow{name: name, values: map[string][]float64{}}
		s.rows, s.byKey[key] = append(s.rows, r), r
	}
	return r
}

// Filter leaves out the rows that where does not have.
func (s *Set) Filter(where result.NameFilter) {
	s.rows = slices.DeleteFunc(s.rows, func(r *setRow) bool {
		if where.Matches(r.name) {
			return false
		}
		delete(s.byKey, r.name.ID())
		return true
	})
}

// Names are the names of all rows.
func (s *Set) Names() []result.Name {
	names := make([]result.Name, len(s.rows))
	for i, r := range s.rows {
		names[i] = r.name
	}
	return names
}
