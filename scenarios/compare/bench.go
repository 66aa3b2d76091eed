// This file reads the sets to compare from texts in Go's benchmark format, with
// package benchfmt.

package compare

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"golang.org/x/perf/benchfmt"
	"golang.org/x/perf/benchmath"
	"golang.org/x/perf/benchunit"

	"sim/internal/alias"
	"sim/internal/text"
	"sim/scenarios/result"
)

// setReader fills a Set from texts in Go's benchmark format.
type setReader struct {
	set    *Set     // set.go
	ignore []string // keys of name parts to leave out
	bench  benchfmt.Reader
	// simulated has all metrics that occur. The value is true if a benchmark of sim has the
	// metric.
	simulated map[string]bool
}

// newReader returns a reader for a set with a name. ignore has the keys of name parts to leave
// out.
func newReader(name string, ignore []string) *setReader {
	return &setReader{
		set:       &Set{Name: name, byKey: map[string]*setRow{}, units: map[string]unitRule{}},
		ignore:    ignore,
		simulated: map[string]bool{},
	}
}

// read adds the results of one text. file is its name in messages.
func (r *setReader) read(in io.Reader, file string) error {
	r.bench.Reset(in, file)
	found := 0
	for r.bench.Scan() {
		switch rec := r.bench.Result().(type) {
		case *benchfmt.SyntaxError:
			return pathError(fmt.Sprintf("%s:%d", rec.FileName, rec.Line), "is no benchmark result: %s", rec.Msg)
		case *benchfmt.Result:
			found++
			// Add the values and their positions to the row with this name.
			base := rec.Name.Base()
			name := readName(rec.Name)
			for _, p := range name {
				if !slices.Contains(r.set.keys, p.Key) {
					r.set.keys = append(r.set.keys, p.Key)
				}
			}
			to := r.set.row(name.Without(r.ignore))
			_, line := rec.Pos()
			to.positions = append(to.positions, fmt.Sprintf("%s:%d", file, line))
			if len(r.ignore) > 0 {
				to.fullNames = append(to.fullNames, name)
			}
			for _, v := range rec.Values {
				// benchfmt does not normalise the unit of a zero.
				_, metric := benchunit.Tidy(v.Value, v.Unit)
				if string(base) == simBenchmark {
					metric = alias.Metric(metric)
				}
				r.simulated[metric] = r.simulated[metric] || string(base) == simBenchmark
				if !math.IsNaN(v.Value) && !math.IsInf(v.Value, 0) { // undefined otherwise
					to.values[metric] = append(to.values[metric], v.Value)
				}
			}
		}
	}
	if err := r.bench.Err(); errors.Is(err, bufio.ErrTooLong) {
		return pathError(file, "is not a file of benchmark results: it has a line of more than %d bytes", bufio.MaxScanTokenSize)
	} else if err != nil {
		// Without the file name, which precedes it.
		return pathError(file, "cannot be read: %v", errors.Unwrap(err))
	}
	if found == 0 {
		return pathError(file, "holds no benchmark results; a run's %s does", result.BenchFile)
	}
	return nil
}

// finish determines how each metric is compared and returns the set. A simulated metric
// must have one value per row; a row with two different values is an error.
func (r *setReader) finish() (*Set, error) {
	// Determine the rule of each metric. Unit lines in the files take precedence over the rules
	// of sim.
	units := r.bench.Units()
	for metric, ofSim := range r.simulated {
		stated := units.Get(metric, "assume") != nil || units.Get(metric, "better") != nil
		u := unitRule{wall: units.GetAssumption(metric) != benchmath.AssumeExact}
		switch better := units.GetBetter(metric); {
		case better < 0:
			u.better = result.Lower
		case better > 0:
			u.better = result.Higher
		case !stated && ofSim:
			u.better = result.Better(metric)
		}
		if ofSim && units.Get(metric, "assume") == nil {
			u.wall = false
		}
		r.set.units[metric] = u
	}
	// Check that simulated values are unique.
	metrics := r.set.Metrics()
	for _, row := range r.set.rows {
		for _, metric := range metrics {
			values := row.values[metric]
			if len(values) < 2 || r.set.units[metric].wall {
				continue
			}
			if s := benchmath.AssumeExact.Summary(sample(values), certain); s.Lo != s.Hi {
				if ignored := row.ignoredDifferences(r.ignore); len(ignored) > 0 {
					return nil, pathError(r.set.Name, "holds rows that differ only in what is ignored, with %s from %s to %s (%s); do not ignore %s",
						metric, text.Exact(s.Lo), text.Exact(s.Hi), firstAndLast(row.positions), strings.Join(ignored, " and "))
				}
				return nil, pathError(r.set.Name, "holds %s more than once, with %s from %s to %s (%s); name one run of each scenario",
					row.name, metric, text.Exact(s.Lo), text.Exact(s.Hi), firstAndLast(row.positions))
			}
		}
	}
	return r.set, nil
}

// ignoredDifferences returns the ignored keys in which records of the row differ.
func (w *setRow) ignoredDifferences(ignore []string) (keys []string) {
	for _, key := range ignore {
		differ := func(n result.Name) bool { return n.Get(key) != w.fullNames[0].Get(key) }
		if !slices.Contains(keys, key) && slices.ContainsFunc(w.fullNames, differ) {
			keys = append(keys, key)
		}
	}
	return keys
}

// certain is the confidence of a summary that covers all values, from Lo to Hi.
const certain = 1

// sample copies values, because benchmath sorts them.
func sample(values []float64) *benchmath.Sample {
	return benchmath.NewSample(slices.Clone(values), &benchmath.DefaultThresholds)
}

// firstAndLast returns the first and last of several positions.
func firstAndLast(at []string) string {
	if len(at) == 1 {
		return at[0]
	}
	return at[0] + ", " + at[len(at)-1]
}

// pathError returns a *result.PlaceError.
func pathError(path, format string, args ...any) error {
	return &result.PlaceError{Path: path, Why: fmt.Sprintf(format, args...)}
}
