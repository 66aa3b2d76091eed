// Package compare sets two sets of results side by side, such as runs, sweeps or stored baselines, and says what
// differs and whether something got worse.
//
// Read makes a Set of files and directories. Rows are known by the parts of their benchmark's name, in any order; units
// by their Unit lines, or else by result.Better. Compare makes a Comparison of two Sets: plain data, in an order that
// depends on the inputs alone, which the Write methods print. Simulated metrics are exact (benchmath.AssumeExact): any
// change of theirs is one. Wall-clock times and other measurements are not (benchmath.AssumeNothing): they are shown,
// and held against the newer side only when that is asked for.
//
// What runs are, and how their files are written, is left to package result; flags and the exit code to the command.
//
// # The document
//
// WriteJSON writes a Comparison. Its schema is sim.compare/1; minor versions add members, a change of meaning is a new
// major.
//
//	schema            "sim.compare/1"
//	old, new          what was compared, as it was named
//	fail_over         share from which a metric that got worse is a regression
//	wall_fail_over    the same of wall-clock; absent where it cannot fail
//	fail_on_change    whether a change for the better is a regression too
//	keys              keys of the resolved scenarios whose values differ, where both sides
//	                  are directories of one run or sweep: key, old, new (absent where
//	                  a side lacks it)
//	rows              rows that both sides have
//	metrics           by metric:
//	    name          ends in its unit; plain ratios and counts have none
//	    better        "lower" or "higher"; absent where neither is
//	    wall          true where it is measured, not simulated
//	    may_fail      whether a change for the worse may be a regression
//	    rows, differ  rows of both sides where one has it, and where they differ by
//	                  more than rounding
//	    means         geometric means of new/old over the rows where both are
//	                  positive: of all, and of each policy where there are
//	                  several. policy (absent for all), rows, ratio; of wall
//	                  also the sums old and new
//	differences       by metric, then by row; of wall only where it may fail or
//	                  all was asked for
//	    row           object: scenario, policy and coordinates
//	    metric
//	    old, new      absent where missing or undefined
//	    ratio         new/old; absent where one is not positive
//	    change        (new-old)/|old|; absent where old is 0 or one is absent
//	    p             of wall: the p-value of the Mann-Whitney U test, where
//	                  there are samples enough
//	    mark          "better", "worse", "changed" (where neither is better),
//	                  "missing", "new" or "same" (only where all was asked for)
//	    fails         true for a regression
//	missing_rows      rows that only the old side has: regressions
//	new_rows          rows that only the new side has
//	regressions       row, metric (absent for a missing row) and why
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

// Rounding is the default of Options.FailOver: what another compiler or processor may make of the same sum. No change
// of a model is as small, so that what differs by no more is the same, unless FailOver is less. Of gaps, which are
// shares, it is their difference.
const Rounding = 1e-6

// WallFailOver is the share that wall-clock may grow by unless Options say otherwise. Single runs on a busy machine
// differ by less.
const WallFailOver = 0.25

// AllMetrics among Options.Metrics stands for every metric that has a direction.
const AllMetrics = "all"

// Options say what a regression is.
type Options struct {
	// FailOver is the share by which a metric may get worse.
	FailOver float64
	// Metrics may fail; none for those that result.Judged names: where a comparison has none of these, all with a
	// direction.
	Metrics []string
	// FailOnChange makes a change beyond FailOver for the better a regression too, and one of a metric without a
	// direction: of the named Metrics, or else of every simulated one.
	FailOnChange bool
	// Wall lets wall-clock fail that grows beyond the share WallFailOver.
	Wall         bool
	WallFailOver float64
}

// Mark says how a value differs.
type Mark string

// Marks.
const (
	Same    Mark = "same"
	Better  Mark = "better"
	Worse   Mark = "worse"
	Changed Mark = "changed" // neither direction is better
	Missing Mark = "missing" // the new side lacks it, or it is undefined there
	New     Mark = "new"     // the old side lacks it, or it is undefined there
)

// Comparison is what differs between two Sets.
type Comparison struct {
	Schema       string          `json:"schema"`
	Old          string          `json:"old"`
	New          string          `json:"new"`
	FailOver     float64         `json:"fail_over"`
	WallFailOver *float64        `json:"wall_fail_over,omitempty"`
	FailOnChange bool            `json:"fail_on_change"`
	Keys         []KeyDifference `json:"keys,omitempty"`
	Rows         int             `json:"rows"`
	Metrics      []Metric        `json:"metrics"`
	Differences  []Difference    `json:"differences"` // and what is the same
	MissingRows  []result.Name   `json:"missing_rows"`
	NewRows      []result.Name   `json:"new_rows"`
	Regressions  []Regression    `json:"regressions"`
}

// Metric sums up the differences of a metric.
type Metric struct {
	Name    string `json:"name"`
	Better  string `json:"better,omitempty"` // "lower" or "higher"
	Wall    bool   `json:"wall,omitempty"`
	MayFail bool   `json:"may_fail"`
	Rows    int    `json:"rows"`
	Differ  int    `json:"differ"`
	Means   []Mean `json:"means"`

	fromTimings bool // from timings.json
	isRequired  bool // where a row loses it, that is a regression
}

// Mean is the geometric mean of new/old over rows where both are positive.
type Mean struct {
	Policy string  `json:"policy,omitempty"` // "" for all
	Rows   int     `json:"rows"`
	Ratio  float64 `json:"ratio"`
	Old    float64 `json:"old,omitempty"` // sums over the same rows, of wall-clock only
	New    float64 `json:"new,omitempty"`
}

// Difference is a metric of a row on both sides.
type Difference struct {
	Row    result.Name `json:"row"`
	Metric string      `json:"metric"`
	Old    *float64    `json:"old,omitempty"`
	New    *float64    `json:"new,omitempty"`
	Ratio  *float64    `json:"ratio,omitempty"`
	Change *float64    `json:"change,omitempty"`
	P      *float64    `json:"p,omitempty"`
	Mark   Mark        `json:"mark"`
	Fails  bool        `json:"fails"`
}

// Regression is a reason to fail.
type Regression struct {
	Row    result.Name `json:"row"`
	Metric string      `json:"metric,omitempty"` // "" for a row that went missing
	Why    string      `json:"why"`

	size float64 // of its relative change, by which of several the worst is named
}

// String is the regression in a line.
func (r Regression) String() string {
	if r.Metric == "" {
		return r.Row.String() + ": " + r.Why
	}
	return r.Row.String() + ": " + r.Metric + " " + r.Why
}

// Worst names of each metric's regressions the one of the largest change, and how many there are; rows that are missing
// are named each.
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

// An InputError says why two Sets or the Options do not go together.
type InputError struct{ Why string }

func (e *InputError) Error() string { return e.Why }

func inputf(format string, args ...any) error { return &InputError{fmt.Sprintf(format, args...)} }

// Compare compares two Sets. Errors are of type *InputError: sets that share no row or do not agree on what is better,
// and metrics that cannot fail as the Options want.
func Compare(previous, current *Set, o Options) (*Comparison, error) {
	c := &Comparison{
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
	var err error
	if c.Metrics, err = listMetrics(previous, current, o); err != nil {
		return nil, err
	}
	for _, r := range previous.rows {
		if current.byKey[r.name.ID()] == nil {
			c.MissingRows = append(c.MissingRows, r.name)
			c.Regressions = append(c.Regressions, Regression{Row: r.name, Why: "the row is missing"})
		}
	}
	for i := range c.Metrics {
		c.compareMetric(&c.Metrics[i], previous, current)
	}
	return c, nil
}

// compareMetric adds the differences of a metric. Wall-clock that one side does not have at all is not missed.
func (c *Comparison) compareMetric(m *Metric, previous, current *Set) {
	_, had := previous.units[m.Name]
	_, has := current.units[m.Name]
	if m.fromTimings && (!had || !has) {
		return
	}
	first := len(c.Differences)
	for _, r := range previous.rows {
		other := current.byKey[r.name.ID()]
		if other == nil || r.values[m.Name] == nil && other.values[m.Name] == nil {
			continue
		}
		d := c.judge(m, r.values[m.Name], other.values[m.Name])
		d.Row, d.Metric = r.name, m.Name
		m.Rows++
		if d.Mark != Same {
			m.Differ++
		}
		if d.Fails {
			size := math.Inf(1)
			if d.Change != nil {
				size = math.Abs(*d.Change)
			}
			c.Regressions = append(c.Regressions, Regression{r.name, m.Name, c.why(m, &d), size})
		}
		c.Differences = append(c.Differences, d)
	}
	m.Means = means(m, c.Differences[first:])
}

// noCommonRows says what the two sides hold instead of a common row.
func noCommonRows(previous, current *Set) error {
	return inputf("%s and %s have no row in common: %s has %s, %s has %s; compare results of the same scenario, "+
		"or leave parts of the names out with --ignore, as in --ignore %s",
		previous.Name, current.Name, previous.Name, describeContent(previous), current.Name, describeContent(current), differingKey(previous, current))
}

// describeContent names the scenarios and policies of a set.
func describeContent(s *Set) string {
	var out []string
	for _, key := range result.LeadingKeys {
		var values []string
		for _, r := range s.rows {
			if v := r.name.Get(key); v != "" && !slices.Contains(values, v) {
				values = append(values, v)
			}
		}
		const most = 8
		if len(values) > most {
			values = append(values[:most], "...")
		}
		if values != nil {
			out = append(out, key+" "+strings.Join(values, ", "))
		}
	}
	return strings.Join(out, " under ")
}

// differingKey is a key that keeps rows apart: one whose values differ, or that one side lacks.
func differingKey(previous, current *Set) string {
	for _, pair := range [][2]*Set{{previous, current}, {current, previous}} {
		for _, p := range pair[0].rows[0].name {
			if !slices.ContainsFunc(pair[1].rows, func(r *setRow) bool { return r.name.Get(p.Key) == p.Value }) {
				return p.Key
			}
		}
	}
	return result.ScenarioKey
}
