package compare

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"golang.org/x/perf/benchfmt"
)

// Part is a part of a row's name: the scenario, the policy, or a coordinate of a sweep.
type Part struct{ Key, Value string }

// Keys of the parts that every row of sim has. Rows of other benchmarks have the benchmark's name.
const (
	scenarioKey  = "scenario"
	policyKey    = "policy"
	benchmarkKey = "benchmark"
)

// simBenchmark is the name of the benchmark that sim's results go by.
const simBenchmark = "Sim"

// Name is what a row is called: its scenario and policy, then its coordinates in the order of the file.
type Name []Part

// Get returns the value of a part, "" when the name has none.
func (n Name) Get(key string) string {
	for _, p := range n {
		if p.Key == key {
			return p.Value
		}
	}
	return ""
}

// String returns the name as messages give it: "gpt7b prop-alloc workload.sequence=4096".
func (n Name) String() string {
	words := make([]string, len(n))
	for i, p := range n {
		words[i] = p.Value
		if rank(p.Key) == len(leading) {
			words[i] = p.Key + "=" + p.Value
		}
	}
	return strings.Join(words, " ")
}

// MarshalJSON writes the name as an object of its parts, in their order.
func (n Name) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, p := range n {
		if i > 0 {
			b.WriteByte(',')
		}
		for k, s := range []string{p.Key, p.Value} {
			text, err := json.Marshal(s)
			if err != nil {
				return nil, err
			}
			if k > 0 {
				b.WriteByte(':')
			}
			b.Write(text)
		}
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// key is the same for names with the same parts in any order.
func (n Name) key() string {
	parts := slices.Clone(n)
	slices.SortStableFunc(parts, func(a, b Part) int { return strings.Compare(a.Key, b.Key) })
	var b strings.Builder
	for _, p := range parts {
		b.WriteString("/" + p.Key + "=" + p.Value) // no coordinate holds a slash
	}
	return b.String()
}

// leading are the parts that stand first in a name.
var leading = []string{benchmarkKey, scenarioKey, policyKey}

func rank(key string) int {
	if at := slices.Index(leading, key); at >= 0 {
		return at
	}
	return len(leading)
}

// readName takes a benchmark's name apart. What benchfmt takes for GOMAXPROCS belongs to the last part: the labels of
// sweeps may end like that, and sim writes none.
func readName(n benchfmt.Name) Name {
	base, parts := n.Parts()
	if last := len(parts) - 1; last > 0 && parts[last][0] == '-' {
		parts[last-1] = append(slices.Clip(parts[last-1]), parts[last]...)
		parts = parts[:last]
	}
	benchmark := string(base)
	var out Name
	for _, p := range parts {
		key, value, ok := strings.Cut(strings.TrimPrefix(string(p), "/"), "=")
		if !ok { // no coordinate: a part of what is measured
			benchmark += string(p)
			continue
		}
		out = append(out, Part{key, value})
	}
	if benchmark != simBenchmark {
		out = append(out, Part{benchmarkKey, benchmark})
	}
	slices.SortStableFunc(out, func(a, b Part) int { return rank(a.Key) - rank(b.Key) })
	return out
}

// keys are the keys of a name's parts.
func (n Name) keys() (keys []string) {
	for _, p := range n {
		keys = append(keys, p.Key)
	}
	return keys
}

// without returns a name less the parts whose keys are ignored.
func (n Name) without(ignore []string) Name {
	return slices.DeleteFunc(slices.Clone(n), func(p Part) bool { return slices.Contains(ignore, p.Key) })
}

// row is what a Set holds under one name.
type row struct {
	name   Name
	values map[string][]float64 // by metric: the finite ones, of repeated measurements several
	at     []string             // file:line of its records
	whole  []Name               // of its records, where parts are left out
}

// unit says how a metric's values are compared.
type unit struct {
	better string // "lower", "higher" or "" for neither
	wall   bool   // measured, so different each time; else simulated and exact
	timed  bool   // from timings.json
}

// Set is what one side of a comparison holds.
type Set struct {
	Name  string // as the user gave it
	rows  []*row // in the order of the file
	byKey map[string]*row
	units map[string]unit
	keys  []string // of the parts of names, those that are left out too

	scenario map[string]string // the keys of the resolved scenario, of the directory of a run or a sweep
}

// Keys returns the keys of the parts that names of rows have, with those that were left out of them, in the order in
// which they were found.
func (s *Set) Keys() []string { return slices.Clone(s.keys) }

// Metrics returns the names of all metrics, in the order in which comparisons list them.
func (s *Set) Metrics() []string { return metricOrder(s.units) }

// row returns the row of a name, which is added when it is not there yet.
func (s *Set) row(name Name) *row {
	key := name.key()
	r := s.byKey[key]
	if r == nil {
		r = &row{name: name, values: map[string][]float64{}}
		s.rows, s.byKey[key] = append(s.rows, r), r
	}
	return r
}
