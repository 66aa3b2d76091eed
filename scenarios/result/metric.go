// This file declares the description of a metric, and finds it by name. File
// metric_table.go has the table, Metrics.

package result

import (
	"maps"
	"slices"
	"strings"
)

// Directions of improvement. A metric without a direction describes a result and does not
// rate it.
const (
	Lower   = "lower"
	Higher  = "higher"
	Unrated = ""
)

// Format is the format of a metric in tables.
type Format int

const (
	Plain   Format = iota // six digits
	Fixed                 // four decimals
	Time                  // a unit of time that the column shares
	Class                 // upper end of a histogram bin of times: three digits
	Wall                  // wall-clock time: two digits
	Count                 // integer
	Amount                // integer, or three decimals
	Rate                  // bytes per second
	Percent               // ratio in percent
	Gap                   // ratio in percent, and "optimal" for 0
)

// Metric is a row of the table of metrics. Tables, figures, comparisons and documents
// take everything about a metric from it. The value of a metric is in Row.Metrics, or
// Formula computes it.
type Metric struct {
	// Name ends in the unit; ratios and counts have none. A name that begins or ends with
	// "*" stands for all metrics with the rest as suffix or prefix that have no row of
	// their own.
	Name   string
	Better string // Lower, Higher or Unrated
	Words  string // name in titles of figures, without unit
	Of     string // subject that has the metric, such as "packets"

	Unit string  // unit in figures, such as "%" or "hops"; "" if the name determines it
	Axis string  // axis label; "" stands for Words and the unit
	Base float64 // value at which bars start
	// Relative is the metric of the reference to which values are relative. Rows with
	// different values of it are not comparable. "" if values do not depend on a
	// reference.
	Relative string

	Head        string   // column head in tables, with line breaks; "" if tables have no such column
	Table       string   // table that has the column; "" is the table of results
	Format      Format   // format of values in the column
	Secondary   string   // metric printed in the same column, after the value
	ZeroLabel   string   // text for a value of 0; of Secondary if there is one
	Needs       string   // tables show the column only if this metric is present
	HiddenBy    []string // tables show the column only if these metrics are absent
	HideIfZero  bool     // tables show the column only if a value is above 0
	ForManyJobs bool     // tables show the column only if jobs are too many for columns of their own
	JobHead     string   // column head for each of several jobs; "" if jobs have no such metric
	// PlanHead is the column head of the planned value in the table of trials; "" if
	// that table does not show it.
	PlanHead string
	Footnote string // line below tables that show the metric
	Doubted  bool   // a label states why the value may be undefined

	// Main is the rank among main metrics, from 1; 0 for other metrics. Tables of sweeps
	// and proposed figures show the first main metric that is present. Winner uses the
	// first one with a WinPhrase.
	Main      int
	WinPhrase string // predicate of the best policy, such as "is fastest"
	// BoundSubject names the metric in sentences about its lower bound, such as "the
	// iteration time". Only metrics that have one can be the metric of a row's gap.
	BoundSubject string
	// FailsComparison reports whether a worse value fails a comparison by default.
	FailsComparison bool

	// Meaning explains the metric in a sentence below a figure, if Words are not
	// sufficient.
	Meaning string
	Figure  Panel // panel of a run's figure that shows the metric by policy
	// Whole names the total that the metric is a share of. Tables and figures show all
	// parts of a whole; they add up to 1. Part is the name of this part; "" stands for
	// the text that matches the * of Name.
	Whole, Part string
	// BoundFormula computes a lower bound on the metric for rows that do not store one.
	BoundFormula func(row, reference map[string]float64) (v float64, ok bool)

	// Since is the first version of the table with this metric; a new row has the largest
	// version plus one. Stored cells of older versions are computed again only if the
	// metric is requested.
	Since int
	// Formula computes the metric from other metrics of the row and the reference. Rows
	// stored before the metric existed have it, too. nil if the metric is measured.
	Formula func(row, reference map[string]float64) (v float64, ok bool)
}

// Panel is one panel of a run's figure, with bars by policy. Of several metrics with the
// same panel, the first one that the run has is shown.
type Panel struct {
	Name   string // name of the figure
	Row    int    // row of the panel, from the top
	Ranked bool   // bars are sorted, best first; the axis is logarithmic if values differ widely
	Needs  string // the panel is shown only if this metric is present
}

// BoundOf returns the lower bound on m for a row.
func (m Metric) BoundOf(row, reference map[string]float64) (v float64, ok bool) {
	if v, ok = row[BoundPrefix+m.Name]; !ok && m.BoundFormula != nil {
		return m.BoundFormula(row, reference)
	}
	return v, ok
}

// unitSuffixes are the units at the end of metric names, the longest first, with their
// symbols.
var unitSuffixes = []struct{ suffix, unit string }{
	{"_bytes_per_s", "B/s"}, {"_bits_per_s", "b/s"}, {"_per_s", "1/s"}, {"_bytes", "B"}, {"_bits", "b"}, {"_s", "s"},
}

// splitUnit separates the unit from a name.
func splitUnit(name string) (rest, unit string) {
	for _, s := range unitSuffixes {
		if rest, ok := strings.CutSuffix(name, s.suffix); ok && rest != "" {
			return rest, s.unit
		}
	}
	return name, ""
}

// ReferencePrefix begins the names of metrics of the ideal fabric.
const ReferencePrefix = "reference."

// StandardErrorPrefix begins the names of standard errors of metrics that are means over seeds.
const StandardErrorPrefix = "se_"

// Find returns the description of a metric and whether the table contains it. For an
// unknown name, for example from an older file, the direction, words and unit are derived
// from the name.
func Find(name string) (m Metric, known bool) {
	if index := slices.IndexFunc(Metrics, func(m Metric) bool { return m.Name == name }); index >= 0 {
		m = Metrics[index]
		if m.Unit == "" {
			_, m.Unit = splitUnit(name)
		}
		return m, true
	}

	// A metric of the ideal fabric, a standard error, a ratio of two metrics, and a metric of one of
	// several jobs
	// inherit the description of the metrics in their names.
	if rest, ok := strings.CutPrefix(name, ReferencePrefix); ok {
		m, known = Find(rest)
		m.Name, m.Words, m.Axis, m.Base = name, m.Words+" on the ideal fabric", "", 0
		m.Relative = ""
		return m, known
	}
	if rest, ok := strings.CutPrefix(name, StandardErrorPrefix); ok {
		m, known = Find(rest)
		return Metric{Name: name, Words: "standard error of " + m.Words, Of: m.Of, Unit: m.Unit, Format: m.Format}, known
	}
	if over, under, ok := strings.Cut(name, "/"); ok {
		a, knowsA := Find(strings.TrimSpace(over))
		b, knowsB := Find(strings.TrimSpace(under))
		return Metric{Name: name, Better: a.Better, Words: a.Words + " / " + b.Words}, knowsA && knowsB
	}
	if job, rest, ok := splitJob(name); ok {
		m, known = Find(rest)
		m.Name, m.Words = name, m.Words+" of "+job
		return m, known
	}

	// Other names are described by their words. Times and counts usually improve downwards,
	// rates upwards.
	rest, unit := splitUnit(name)
	m = Metric{Name: name, Better: Lower, Words: strings.ReplaceAll(rest, "_", " "), Unit: unit}
	switch {
	case strings.HasSuffix(name, "_ratio"):
		m.Unit = "%"
	case strings.HasSuffix(unit, "/s"):
		m.Better = Higher
	}

	// A pattern of the table, such as "tier*_bytes", gives the direction and subject.
	for _, pattern := range Metrics {
		from, begins := strings.CutSuffix(pattern.Name, "*")
		to, ends := strings.CutPrefix(pattern.Name, "*")
		if begins && strings.HasPrefix(name, from) || ends && strings.HasSuffix(name, to) {
			m.Better, m.Of, known = pattern.Better, pattern.Of, true
		}
	}
	return m, known
}

// OfJob returns the name of a metric of one of several jobs.
func OfJob(job, metric string) string { return "job." + job + "." + metric }

// splitJob is the inverse of OfJob.
func splitJob(name string) (job, metric string, ok bool) {
	rest, ok := strings.CutPrefix(name, "job.")
	dot := strings.LastIndexByte(rest, '.')
	if !ok || dot < 0 {
		return "", "", false
	}
	return rest[:dot], rest[dot+1:], true
}

// Better returns Lower or Higher, the direction in which a metric improves, or "" if it
// has none.
func Better(name string) string {
	m, _ := Find(name)
	return m.Better
}

// MainMetrics returns the main metrics by rank.
func MainMetrics() []Metric {
	var out []Metric
	for _, m := range Metrics {
		if m.Main > 0 {
			out = append(out, m)
		}
	}
	slices.SortFunc(out, func(a, b Metric) int { return a.Main - b.Main })
	return out
}

// MainOf returns the first main metric among has that is not hidden if zero. Without such a
// metric, it returns the alphabetically first name, or "" if has is empty.
func MainOf(has map[string]bool) string {
	for _, m := range MainMetrics() {
		if has[m.Name] && !m.HideIfZero {
			return m.Name
		}
	}
	first := ""
	for name := range has {
		if first == "" || name < first {
			first = name
		}
	}
	return first
}

// FailureMetrics returns the metrics that fail a comparison by default if they get worse,
// in table order.
func FailureMetrics() []string {
	var out []string
	for _, m := range Metrics {
		if m.FailsComparison {
			out = append(out, m.Name)
		}
	}
	return out
}

// GapOf returns the metric to which the gap of a row refers: one with a lower bound in
// the row, or else in the reference. ok is false without such a metric.
func (r *Row) GapOf(reference map[string]float64) (m Metric, ok bool) {
	if _, ok := r.Metrics[GapToBound]; !ok {
		return Metric{}, false
	}

	// The row's own bounds come first. Within each set, main metrics come first, by rank.
	for _, bounds := range []map[string]float64{r.Metrics, reference} {
		for _, m := range slices.Concat(MainMetrics(), Metrics) {
			if _, has := r.Metrics[m.Name]; !has || m.BoundSubject == "" {
				continue
			}
			for name := range bounds {
				if strings.HasPrefix(name, BoundPrefix+m.Name) {
					return m, true
				}
			}
		}
	}
	return Metric{}, false
}

// Derive returns metrics with the metrics added that Formula computes. If there is
// nothing to add, it returns metrics itself.
func Derive(metrics, reference map[string]float64) map[string]float64 {
	all := metrics
	for _, m := range Metrics {
		if _, has := metrics[m.Name]; has || m.Formula == nil {
			continue
		}
		if v, ok := m.Formula(metrics, reference); ok {
			// Copy the map before the first addition: metrics belongs to the caller.
			if len(all) == len(metrics) {
				all = maps.Clone(metrics)
			}
			all[m.Name] = v
		}
	}
	return all
}

// TableVersion returns the version of the table of metrics.
func TableVersion() int {
	version := 0
	for _, m := range Metrics {
		version = max(version, m.Since)
	}
	return version
}
