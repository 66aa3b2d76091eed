package result

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// referencePolicy is the name that the ideal fabric goes by among policies.
const referencePolicy = "reference"

func number(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }

// WriteCSV writes the document as tidy rows of scenario, policy, metric and value, one fact a row, the ideal fabric's
// first.
func WriteCSV(b *bytes.Buffer, d *Document) {
	w := csv.NewWriter(b)
	w.Write([]string{"scenario", "policy", "metric", "value"})
	put := func(policy string, metrics map[string]float64) {
		for _, name := range slices.Sorted(maps.Keys(metrics)) {
			w.Write([]string{d.Scenario, policy, name, number(metrics[name])})
		}
	}
	put(referencePolicy, d.Reference)
	for _, r := range d.Rows {
		put(r.Policy, r.Metrics)
	}
	w.Flush() // a Buffer does not fail
}

// WriteBench writes the document in Go's benchmark format (golang.org/x/perf/benchfmt), a benchmark a policy, so that
// benchstat compares two runs. The only configuration key is the scenario: benchstat would put runs that differ in any
// other into different tables.
func WriteBench(b *bytes.Buffer, d *Document) {
	units := map[string]bool{}
	for _, r := range d.Rows {
		for name := range r.Metrics {
			units[name] = true
		}
	}
	fmt.Fprintf(b, "scenario: %s\n", d.Scenario)
	writeUnits(b, units)
	for _, r := range d.Rows {
		writeBenchmark(b, "scenario="+benchName(d.Scenario)+"/policy="+benchName(r.Policy), r.Metrics)
	}
}

// writeUnits says of each metric which way is better.
func writeUnits(b *bytes.Buffer, units map[string]bool) {
	for _, u := range slices.Sorted(maps.Keys(units)) {
		fmt.Fprintf(b, "Unit %s", u)
		if better := Better(u); better != "" {
			fmt.Fprintf(b, " better=%s", better)
		}
		b.WriteString(" assume=exact\n")
	}
}

// writeBenchmark writes a line of metrics, none where there are none.
func writeBenchmark(b *bytes.Buffer, name string, metrics map[string]float64) {
	if len(metrics) == 0 {
		return
	}
	fmt.Fprintf(b, "BenchmarkSim/%s 1", name)
	for _, m := range slices.Sorted(maps.Keys(metrics)) {
		fmt.Fprintf(b, " %s %s", number(metrics[m]), m)
	}
	b.WriteByte('\n')
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
