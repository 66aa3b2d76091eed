// Package compare compares two sets of results, such as runs, sweeps or stored baselines.
// It lists the differences and the regressions.
//
// Read makes a Set of files and directories. Rows are identified by the parts of their
// benchmark's name, in any order. The direction of a metric comes from its Unit line, or
// else from result.Better. Compare makes a Comparison of two Sets: plain data, in an order
// that depends only on the inputs. The Write methods print it.
//
// Simulated metrics are exact (benchmath.AssumeExact): each change beyond rounding is a
// difference. Wall-clock times and other measurements are not (benchmath.AssumeNothing):
// they are shown, but fail only if Options request it.
//
// Package result defines runs and their files; the command has flags and the exit code.
// Begin reading with Options, Comparison and Compare.
//
// # The document
//
// WriteJSON writes a Comparison. Its schema is sim.compare/1. Minor versions add members;
// a change of meaning is a new major version.
//
//	schema            "sim.compare/1"
//	old, new          the compared paths, as given
//	fail_over         relative change beyond which a worse metric is a regression
//	wall_fail_over    the same for wall-clock times; absent if they cannot fail
//	fail_on_change    whether an improvement is a regression, too
//	keys              keys of the resolved scenarios whose values differ, if both
//	                  sides are directories of one run or sweep: key, old, new
//	                  (absent if a side lacks it)
//	pairing           how rows with different names were paired; absent if they were not,
//	                  or by Options.Pairs
//	rows              number of rows of both sides
//	references        how references of relative metrics differ, or which side has none if such
//	                  a metric fails; absent otherwise
//	metrics           one object per metric:
//	    name          ends in its unit; ratios and counts have none
//	    better        "lower" or "higher"; absent without a direction
//	    wall          true if it is measured, not simulated
//	    may_fail      whether a worse value may be a regression
//	    rows, differ  number of rows of both sides in which a side has the metric,
//	                  and number of rows in which it differs by more than rounding
//	    means         geometric means of new/old over the rows that have a ratio:
//	                  over all rows and, with several policies, for each
//	                  policy. policy (absent for all rows), rows, ratio; for
//	                  wall-clock times also the sums old and new
//	differences       by metric, then by row; of wall-clock times only if they may
//	                  fail or all differences were requested
//	    row           object: scenario, policy and coordinates
//	    metric
//	    old, new      absent if missing or undefined
//	    ratio         new/old; absent if one is not positive. Gaps that are 0 up to
//	                  rounding (optimal values) count as 0
//	    change        (new-old)/|old|; absent if old is 0 or one is absent
//	    p             measured metrics: p-value of the Mann-Whitney U test, if there
//	                  are enough samples
//	    mark          "better", "worse", "changed" (without a direction), "missing",
//	                  "new" or "same" (only if all differences were requested)
//	    other_reference  true if the metric is relative to ideal fabrics that differ
//	                  between old and new; the mark is then "changed"
//	    fails         true for a regression
//	missing_rows      rows of the old side only; each is a regression
//	new_rows          rows of the new side only
//	regressions       row, metric (absent for a missing row) and why, a sentence
package compare

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"sim/scenarios/result"
)

// Schema is the version of Comparison.
const Schema = "sim.compare/1"

// Rounding is the default of Options.FailOver: the relative difference that compilers and
// processors can cause in the same sum. Changes of a model are larger. Smaller
// differences count as equal, unless FailOver is smaller. For gaps, which are shares, it
// is an absolute difference.
const Rounding = 1e-6

// WallFailOver is the default of Options.WallFailOver: the relative growth of wall-clock
// times that does not fail. Single runs on a busy machine differ by less.
const WallFailOver = 0.25

// AllMetrics in Options.Metrics stands for every metric with a direction.
const AllMetrics = "all"

// Options define regressions.
type Options struct {
	// FailOver is the relative change by which a metric may get worse.
	FailOver float64
	// Metrics are the metrics that may fail. nil stands for result.FailureMetrics, or, if
	// a comparison has none of these, for all metrics with a direction.
	Metrics []string
	// FailOnChange makes improvements beyond FailOver regressions, too, and changes of
	// metrics without a direction. It applies to Metrics, or to all simulated metrics if
	// Metrics is nil.
	FailOnChange bool
	// Wall makes growth of wall-clock times beyond WallFailOver a regression.
	Wall         bool
	WallFailOver float64
	// Pairs are rows with different names that are compared with each other. If there are any,
	// no other rows are compared.
	Pairs []Pair
}

// Mark is the kind of a difference.
type Mark string

// Kinds of differences.
const (
	Same    Mark = "same"
	Better  Mark = "better"
	Worse   Mark = "worse"
	Changed Mark = "changed" // neither direction is better
	Missing Mark = "missing" // not in the new set, or undefined there
	New     Mark = "new"     // not in the old set, or undefined there
)

// Comparison is the differences between two Sets.
type Comparison struct {
	Schema       string          `json:"schema"`
	Old          string          `json:"old"`
	New          string          `json:"new"`
	FailOver     float64         `json:"fail_over"`
	WallFailOver *float64        `json:"wall_fail_over,omitempty"`
	FailOnChange bool            `json:"fail_on_change"`
	Keys         []KeyDifference `json:"keys,omitempty"`
	Pairing      string          `json:"pairing,omitempty"`
	Rows         int             `json:"rows"`
	References   string          `json:"references,omitempty"`
	Metrics      []Metric        `json:"metrics"`
	Differences  []Difference    `json:"differences"` // including equal values
	MissingRows  []result.Name   `json:"missing_rows"`
	NewRows      []result.Name   `json:"new_rows"`
	Regressions  []Regression    `json:"regressions"`

	isPaired bool // rows with different names are compared
}

// Metric summarises the differences of a metric.
type Metric struct {
	Name    string `json:"name"`
	Better  string `json:"better,omitempty"` // "lower" or "higher"
	Wall    bool   `json:"wall,omitempty"`
	MayFail bool   `json:"may_fail"`
	Rows    int    `json:"rows"`
	Differ  int    `json:"differ"`
	Means   []Mean `json:"means"`

	fromTimings bool // read from timings.json
	isReference bool // metric of the reference
	isRelative  bool // relative to the reference
	isRequested bool // named in Options.Metrics
	isRequired  bool // a row that loses it is a regression
}

// Mean is the geometric mean of new/old over the rows that have a ratio.
type Mean struct {
	Policy string  `json:"policy,omitempty"` // "" for all
	Rows   int     `json:"rows"`
	Ratio  float64 `json:"ratio"`
	// Old is the sum over the same rows; wall-clock times only.
	Old float64 `json:"old,omitempty"`
	New float64 `json:"new,omitempty"`
}

// Difference is a metric of a row in both sets. See the package comment for the members.
type Difference struct {
	Row    result.Name `json:"row"`
	Metric string      `json:"metric"`
	Old    *float64    `json:"old,omitempty"`
	New    *float64    `json:"new,omitempty"`
	Ratio  *float64    `json:"ratio,omitempty"`
	Change *float64    `json:"change,omitempty"`
	P      *float64    `json:"p,omitempty"`
	Mark   Mark        `json:"mark"`

	OtherReference bool `json:"other_reference,omitempty"`

	Fails bool `json:"fails"`
}

// Regression is a reason to fail.
type Regression struct {
	Row    result.Name `json:"row"`
	Metric string      `json:"metric,omitempty"` // "" for a missing row
	Why    string      `json:"why"`

	// size is the absolute value of the relative change; +Inf without a value. Worst reports the
	// regression with the largest size.
	size float64
}

// String returns the regression in one line.
func (r Regression) String() string {
	return r.Row.String() + ": " + r.Why
}

// Worst summarises regressions in one line per metric: the regression with the largest change
// and the number of regressions. Each missing row has its own line.
func Worst(all []Regression) []string {
	var out []string
	at := map[string]int{}
	var worst []Regression
	var rows []int
	for _, r := range all {
		i, known := at[r.Metric]
		if !known || r.Metric == "" {
			i, at[r.Metric] = len(worst), len(worst)
			worst, rows = append(worst, r), append(rows, 0)
		}
		if rows[i]++; r.size > worst[i].size {
			worst[i] = r
		}
	}
	for i, r := range worst {
		line := r.String()
		if rows[i] > 1 {
			line += fmt.Sprintf("; so in %d rows", rows[i])
		}
		out = append(out, line)
	}
	return out
}

// An InputError states why two Sets or the Options do not match.
type InputError struct{ Why string }

// Error implements error.
func (e *InputError) Error() string { return e.Why }

// inputf returns a formatted *InputError.
func inputf(format string, args ...any) error { return &InputError{fmt.Sprintf(format, args...)} }

// Compare compares two Sets. Errors are of type *InputError: sets without a common row or
// with different directions of a metric, and Options.Metrics that cannot fail.
func Compare(previous, current *Set, o Options) (*Comparison, error) {
	// Pair rows with different names. Without a common row, the best rows are compared.
	pairing, isPaired := "", len(o.Pairs) > 0
	if isPaired {
		var err error
		if previous, current, err = pairRows(previous, current, o.Pairs); err != nil {
			return nil, err
		}
	} else if !haveCommonRow(previous, current) {
		if old, now, note, ok := bestRows(previous, current); ok {
			previous, current, pairing, isPaired = old, now, note, true
		}
	}

	// Compare the rows of both sets.
	c := &Comparison{
		Pairing: pairing, isPaired: isPaired,
		Schema: Schema, Old: previous.Name, New: current.Name, FailOver: o.FailOver, FailOnChange: o.FailOnChange,
		Keys: keyDifferences(previous.scenario, current.scenario), MissingRows: []result.Name{}, NewRows: []result.Name{}, Differences: []Difference{}, Regressions: []Regression{},
	}
	if o.Wall {
		c.WallFailOver = &o.WallFailOver
	}
	for _, r := range current.rows {
		if previous.byKey[r.name.ID()] == nil {
			c.NewRows = append(c.NewRows, r.name)
		}
	}
	c.Rows = len(current.rows) - len(c.NewRows)
	if c.Rows == 0 {
		return nil, noCommonRows(previous, current)
	}
	// Compare the metrics of the common rows.
	var err error
	if c.Metrics, err = listMetrics(previous, current, o); err != nil {
		return nil, err
	}
	c.describeReferences(previous, current)
	for _, r := range previous.rows {
		if current.byKey[r.name.ID()] == nil {
			c.MissingRows = append(c.MissingRows, r.name)
			c.Regressions = append(c.Regressions, Regression{Row: r.name, Why: "the row is missing"})
		}
	}
	for i := range c.Metrics {
		c.compareMetric(&c.Metrics[i], previous, current)
	}
	c.describeMissingReferences(previous, current)
	return c, nil
}

// compareMetric adds the differences and the means of a metric. Wall-clock times and metrics of
// references are skipped if one set has none.
func (c *Comparison) compareMetric(m *Metric, previous, current *Set) {
	_, had := previous.units[m.Name]
	_, has := current.units[m.Name]
	if (m.fromTimings || m.isReference) && (!had || !has) {
		return
	}
	first := len(c.Differences)
	for _, r := range previous.rows {
		other := current.byKey[r.name.ID()]
		if other == nil || r.values[m.Name] == nil && other.values[m.Name] == nil {
			continue
		}
		// A row differs if one side lacks the value, or if the values differ by more than
		// rounding.
		d := c.judge(m, r.values[m.Name], other.values[m.Name])
		d.Row, d.Metric = r.name, m.Name
		if c.isPaired && !has {
			d.Fails = false // other fabrics and policies have other metrics
		}
		if m.isRelative && d.Old != nil && d.New != nil && d.Mark != Same && !r.hasReferenceOf(other) {
			c.markOtherReference(m, &d)
		}
		m.Rows++
		if d.Mark != Same {
			m.Differ++
		}
		if d.Fails {
			size := math.Inf(1)
			if d.Change != nil {
				size = math.Abs(*d.Change)
			}
			c.Regressions = append(c.Regressions, Regression{Row: r.name, Metric: m.Name, Why: c.why(m, &d), size: size})
		}
		c.Differences = append(c.Differences, d)
	}
	m.Means = means(m, c.Differences[first:])
}

// haveCommonRow reports whether a row is in both sets.
func haveCommonRow(previous, current *Set) bool {
	return slices.ContainsFunc(previous.rows, func(r *setRow) bool { return current.byKey[r.name.ID()] != nil })
}

// noCommonRows returns the error for sets without a common row. It states the contents of
// both.
func noCommonRows(previous, current *Set) error {
	remedy := "compare results of the same scenario"
	if arguments := advice(previous, current); arguments != "" {
		remedy += ", or try " + arguments
	}
	return inputf("%s and %s have no row in common: %s has %s, %s has %s; %s",
		previous.Name, current.Name, previous.Name, describeContent(previous), current.Name, describeContent(current), remedy)
}

// describeContent lists the scenarios and policies of a set.
func describeContent(s *Set) string {
	var out []string
	for _, key := range result.LeadingKeys {
		var values []string
		for _, r := range s.rows {
			if v := r.name.Get(key); v != "" && !slices.Contains(values, v) {
				values = append(values, v)
			}
		}
		const maxValues = 8 // more would hide the rest of the message
		if len(values) > maxValues {
			values = append(values[:maxValues], "...")
		}
		if values != nil {
			out = append(out, key+" "+strings.Join(values, ", "))
		}
	}
	return strings.Join(out, " under ")
}

// differingKey returns a key that separates the sets: its values differ, or one set lacks it.
// The error message suggests to ignore it.
func differingKey(previous, current *Set) string {
	for _, pair := range []struct{ set, other *Set }{{previous, current}, {current, previous}} {
		for _, p := range pair.set.rows[0].name {
			if !slices.ContainsFunc(pair.other.rows, func(r *setRow) bool { return r.name.Get(p.Key) == p.Value }) {
				return p.Key
			}
		}
	}
	return result.ScenarioKey
}
