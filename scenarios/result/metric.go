package result

import (
	"maps"
	"slices"
	"strings"
)

// Directions in which a metric may get better. One that has neither says what something is, not how good.
const (
	Lower  = "lower"
	Higher = "higher"
)

// Format is how tables print a metric.
type Format int

const (
	Plain   Format = iota // six digits
	Fixed                 // four decimals
	Time                  // a unit of time that the column shares
	Class                 // the upper end of a class of times: three digits
	Wall                  // wall-clock time, of which two digits are worth reading
	Count                 // a whole number
	Amount                // a whole number, or three decimals
	Rate                  // bytes per second
	Percent               // a ratio in percent
	Gap                   // the same, and "optimal" where it is 0
)

// Metric is a row of the table of metrics: everything that tables, figures, comparisons and documents know of one. What
// measures it fills Row.Metrics under its name, or is From.
type Metric struct {
	// Name ends in the unit; plain ratios and counts have none. One that ends or begins with "*" stands for all metrics
	// whose names begin or end with the rest and that have no row of their own.
	Name   string
	Better string // Lower, Higher, or "" where neither is
	Words  string // what it is, without unit, as titles of figures have it
	Of     string // what has it

	Unit string  // of values in figures, where it does not follow from the name: "%" or "hops"
	Axis string  // label of an axis, where it is not Words and the unit
	Base float64 // where bars start
	// Relative is the metric of the reference to which values are relative. Values of rows that differ in it are not
	// comparable. "" if values do not depend on a reference.
	Relative string

	Head        string   // of its column in a table, in lines; "" where it has none
	Table       string   // that the column is in: "" for that of the results
	Format      Format   // of its values there
	Secondary   string   // metric that is printed in the same column
	ZeroLabel   string   // what a gap of 0 beside it is called, if not "optimal"
	Needs       string   // metric without which tables do not show it
	HiddenBy    []string // metrics beside which there is no room for it
	HideIfZero  bool     // tables show it where some row has more than 0
	ForManyJobs bool     // tables show it of more jobs than they have columns for
	JobHead     string   // head of its column for each of several jobs; "" where jobs have none
	// PlannedHead is the head of its column in the table of trials, where it says what was planned; "" where it has none.
	PlannedHead string
	Footnote    string // line below a table that shows it
	Doubted     bool   // a label says where its value cannot be

	// Main is its rank among the metrics that tell most of a result, from 1: tables of sweeps and proposed figures show
	// the first that there is, and the best policy is the best by the first that has Wins.
	Main      int
	WinPhrase string // what the best policy by it does: "is fastest"
	// BoundSubject says what a lower bound on it is on, of metrics that a row's gap may be of.
	BoundSubject string
	// FailsComparison tells that a comparison fails where it got worse, unless it is asked for others.
	FailsComparison bool

	// Meaning is what it is in a sentence below a figure, where Words leave that open.
	Meaning string
	Figure  Panel // of a run, that shows it by policy
	// Whole names what it is a part of, if tables and figures show how the parts make up the whole: its parts are shares
	// that add up to 1. Part words it there; "" stands for what the * of Name stands for.
	Whole, Part string
	// BoundFormula is a lower bound on it, where a row has none under its name.
	BoundFormula func(row, reference map[string]float64) (v float64, ok bool)

	// Since is the version of the table that first had the metric: of a new row one more than the largest. Cells that
	// sweeps kept are computed again for it where it is asked for, and else stay as they are.
	Since int
	// Formula measures it by a row's metrics and those of the reference, where nothing else is needed: rows that were
	// stored before there was such a metric have it, too.
	Formula func(row, reference map[string]float64) (v float64, ok bool)
}

// Panel is a panel of a figure of a run: bars by policy. Of metrics of one panel the first is shown that a run has.
type Panel struct {
	Name   string // of the figure
	Row    int    // from the top
	Ranked bool   // bars are in order, the best first, on a logarithmic axis where they lie far apart
	Needs  string // metric without which a run does not show it
}

// BoundOf is the lower bound on a metric of a row.
func (m Metric) BoundOf(row, reference map[string]float64) (v float64, ok bool) {
	if v, ok = row[BoundPrefix+m.Name]; !ok && m.BoundFormula != nil {
		return m.BoundFormula(row, reference)
	}
	return v, ok
}

// unitSuffixes are the units that names of metrics end in, the longest first, and how they are written.
var unitSuffixes = []struct{ suffix, unit string }{
	{"_bytes_per_s", "B/s"}, {"_bits_per_s", "b/s"}, {"_per_s", "1/s"}, {"_bytes", "B"}, {"_bits", "b"}, {"_s", "s"},
}

// splitUnit cuts the unit off a name.
func splitUnit(name string) (rest, unit string) {
	for _, s := range unitSuffixes {
		if rest, ok := strings.CutSuffix(name, s.suffix); ok && rest != "" {
			return rest, s.unit
		}
	}
	return name, ""
}

// ReferencePrefix begins the names of the ideal fabric's metrics among those of a policy.
const ReferencePrefix = "reference."

// Find returns what there is to know of the metric of a name, and whether the table knows it. Of one that it does not
// know, such as one of an older file, direction, words and unit follow from the name.
func Find(name string) (m Metric, known bool) {
	if index := slices.IndexFunc(Metrics, func(m Metric) bool { return m.Name == name }); index >= 0 {
		m = Metrics[index]
		if m.Unit == "" {
			_, m.Unit = splitUnit(name)
		}
		return m, true
	}
	if rest, ok := strings.CutPrefix(name, ReferencePrefix); ok {
		m, known = Find(rest)
		m.Name, m.Words, m.Axis, m.Base = name, m.Words+" on the ideal fabric", "", 0
		return m, known
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
	rest, unit := splitUnit(name)
	m = Metric{Name: name, Better: Lower, Words: strings.ReplaceAll(rest, "_", " "), Unit: unit}
	switch {
	case strings.HasSuffix(name, "_ratio"):
		m.Unit = "%"
	case strings.HasSuffix(unit, "/s"):
		m.Better = Higher
	}
	for _, pattern := range Metrics {
		from, begins := strings.CutSuffix(pattern.Name, "*")
		to, ends := strings.CutPrefix(pattern.Name, "*")
		if begins && strings.HasPrefix(name, from) || ends && strings.HasSuffix(name, to) {
			m.Better, m.Of, known = pattern.Better, pattern.Of, true
		}
	}
	return m, known
}

// OfJob is the name of a metric of one of several jobs.
func OfJob(job, metric string) string { return "job." + job + "." + metric }

// splitJob splits what OfJob joins.
func splitJob(name string) (job, metric string, ok bool) {
	rest, ok := strings.CutPrefix(name, "job.")
	dot := strings.LastIndexByte(rest, '.')
	if !ok || dot < 0 {
		return "", "", false
	}
	return rest[:dot], rest[dot+1:], true
}

// Better says whether Lower or Higher values of a metric are good, "" when neither are.
func Better(name string) string {
	m, _ := Find(name)
	return m.Better
}

// MainMetrics are the metrics that tell most of a result, by rank.
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

// MainOf returns the metric that tells most of rows that have some metrics: the first in the order of the table that is
// no more than a rarity, else the first by name; "" of none.
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

// FailureMetrics are the metrics that fail a comparison where they got worse, in the order of the table.
func FailureMetrics() []string {
	var out []string
	for _, m := range Metrics {
		if m.FailsComparison {
			out = append(out, m.Name)
		}
	}
	return out
}

// GapOf returns the metric that the gap of a row is of: one that has a lower bound in the row, or else in the
// reference. ok is false where none has.
func (r *Row) GapOf(reference map[string]float64) (m Metric, ok bool) {
	if _, ok := r.Metrics[GapToBound]; !ok {
		return Metric{}, false
	}
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

// Derive returns a row's metrics with those that follow from others: itself where there is none to add.
func Derive(metrics, reference map[string]float64) map[string]float64 {
	all := metrics
	for _, m := range Metrics {
		if _, has := metrics[m.Name]; has || m.Formula == nil {
			continue
		}
		if v, ok := m.Formula(metrics, reference); ok {
			if len(all) == len(metrics) {
				all = maps.Clone(metrics)
			}
			all[m.Name] = v
		}
	}
	return all
}

// TableVersion is the version of the table of metrics.
func TableVersion() int {
	version := 0
	for _, m := range Metrics {
		version = max(version, m.Since)
	}
	return version
}
