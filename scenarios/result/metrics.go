package result

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"maps"
	"slices"
	"strings"

	"sim/internal/csvfield"
	"sim/internal/text"
)

// referencePolicy is the name that the ideal fabric goes by among policies.
const referencePolicy = "reference"

// AsSweep returns the document as a sweep that varies nothing but the policy.
func (d *Document) AsSweep() *Sweep {
	s := &Sweep{Name: d.Scenario}
	for _, r := range d.Rows {
		s.Cells = append(s.Cells, Cell{
			Policy: r.Policy, Key: r.Policy, Scenario: d.Scenario, Seed: d.Seed,
			Reference: d.Reference, Metrics: r.Metrics, Labels: r.Labels, Samples: r.Samples,
		})
	}
	return s
}

// CSV is the sweep as tidy rows: scenario, a column an axis, policy, metric and value, one fact a row.
func (s *Sweep) CSV() []byte {
	var b bytes.Buffer
	w := csv.NewWriter(&b)
	head := []string{"scenario"}
	for _, a := range s.Axes {
		head = append(head, a.Name)
	}
	w.Write(csvfield.Safe(append(head, "policy", "metric", "value")...))
	for i := range s.Cells {
		c := &s.Cells[i]
		row := append([]string{c.Scenario}, s.Place(c)...)
		for _, name := range slices.Sorted(maps.Keys(c.Metrics)) {
			w.Write(csvfield.Safe(append(slices.Clip(row), c.Policy, name, text.Exact(c.Metrics[name]))...))
		}
	}
	w.Flush() // a Buffer does not fail
	return b.Bytes()
}

// CSV is the document as tidy rows, the ideal fabric's first.
func (d *Document) CSV() []byte {
	s := d.AsSweep()
	s.Cells = slices.Insert(s.Cells, 0, Cell{Scenario: d.Scenario, Policy: referencePolicy, Metrics: d.Reference})
	return s.CSV()
}

// Bench is the sweep in Go's benchmark format (golang.org/x/perf/benchfmt), a benchmark a cell with its place on
// the axes in the name, so that benchstat compares two runs. The only configuration key is the scenario: benchstat
// would put runs that differ in any other into different tables.
func (s *Sweep) Bench() []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "scenario: %s\n", s.Name)
	for _, u := range slices.Sorted(maps.Keys(s.MetricNames())) {
		fmt.Fprintf(&b, "Unit %s", u)
		if better := Better(u); better != "" {
			fmt.Fprintf(&b, " better=%s", better)
		}
		b.WriteString(" assume=exact\n")
	}
	for i := range s.Cells {
		c := &s.Cells[i]
		if len(c.Metrics) == 0 {
			continue
		}
		b.WriteString("BenchmarkSim")
		for _, p := range s.BenchName(c) {
			b.WriteString("/" + p.Key + "=" + p.Value)
		}
		b.WriteString(" 1")
		for _, m := range slices.Sorted(maps.Keys(c.Metrics)) {
			fmt.Fprintf(&b, " %s %s", text.Exact(c.Metrics[m]), m)
		}
		b.WriteByte('\n')
	}
	return b.Bytes()
}

// BenchName is the name of a cell in the benchmark format.
func (s *Sweep) BenchName(c *Cell) Name {
	name := append(Name{{ScenarioKey, s.Name}}, s.NameOf(c)...)
	for i, p := range name {
		name[i] = NamePart{benchName(p.Key), benchName(p.Value)}
	}
	return name
}

// benchName makes s fit to stand in a benchmark's name.
func benchName(s string) string {
	return strings.Map(func(r rune) rune {
		if r <= ' ' || r == '/' || r == 0x7f {
			return '_'
		}
		return r
	}, s)
}
