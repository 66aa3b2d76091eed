// This file writes the metrics of runs and sweeps for other programs: as CSV and as Go
// benchmarks.

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

// referencePolicy is the name of the ideal fabric in the policy column.
const referencePolicy = "reference"

// AsSweep returns the document as a sweep without axes: one cell per policy.
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

// CSV returns the sweep in long form: one line per cell and metric, with the scenario,
// one column per axis, the policy, the metric and the value. The cells of a place follow the
// metrics of their reference, whose policy is "reference".
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
		write := func(policy string, metrics map[string]float64) {
			for _, name := range slices.Sorted(maps.Keys(metrics)) {
				w.Write(csvfield.Safe(append(slices.Clip(row), policy, name, text.Exact(metrics[name]))...))
			}
		}
		if i == 0 || !slices.Equal(s.Cells[i-1].At, c.At) || s.Cells[i-1].Failed != "" {
			write(referencePolicy, c.Reference)
		}
		write(c.Policy, c.Metrics)
	}
	w.Flush() // a Buffer does not fail
	return b.Bytes()
}

// CSV returns the document in long form, beginning with the ideal fabric.
func (d *Document) CSV() []byte { return d.AsSweep().CSV() }

// Bench returns the sweep in Go's benchmark format (golang.org/x/perf/benchfmt), for
// benchstat. There is one benchmark per cell; its name contains the cell's coordinates.
// The only configuration key is the scenario: benchstat separates runs that differ in any
// other key into different tables.
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

// BenchName returns the name of a cell in the benchmark format.
func (s *Sweep) BenchName(c *Cell) Name {
	name := append(Name{{ScenarioKey, s.Name}}, s.NameOf(c)...)
	for i, p := range name {
		name[i] = NamePart{benchName(p.Key), benchName(p.Value)}
	}
	return name
}

// benchName replaces characters that end a benchmark name or one of its parts.
func benchName(s string) string {
	return strings.Map(func(r rune) rune {
		if r <= ' ' || r == '/' || r == 0x7f {
			return '_'
		}
		return r
	}, s)
}
