// This file words the labels of metrics and axes for readers, with units.

package chart

import (
	"cmp"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"sim/plots/sheet"
	"sim/scenarios/result"
)

// keyTexts maps keys whose last part is hard to understand to names for readers. Other keys are
// shown by their last part.
var keyTexts = map[string]string{
	"base":                            "scenario",
	"workload.microbatch":             "micro-batch size",
	"workload.microbatches":           "micro-batches",
	"workload.sequence":               "sequence length",
	"workload.tp":                     "TP",
	"workload.pp":                     "PP",
	"workload.ep":                     "EP",
	"workload.etp":                    "ETP",
	"workload.gpus":                   "GPUs",
	"workload.effective_tflops":       "TFLOP/s a GPU",
	"fabric.gpus":                     "GPUs",
	"fabric.switches":                 "switches",
	"workload.sizes":                  "sizes",
	"workload.message":                "message",
	"policy.reconfigurations":         "topologies",
	"fabric.gpus_per_pod_per_replica": "GPUs a pod and replica",
	"fabric.ports_per_pod":            "ports a pod",
	"fabric.nic_bandwidth":            "NIC bandwidth",
	"policy.port_tolerance":           "tolerated slowdown",
}

// metricUnit returns the unit in which values of a metric up to maxValue are easy to read.
func metricUnit(name string, maxValue float64) sheet.Unit {
	switch m, _ := result.Find(name); m.Unit {
	case "%":
		return sheet.PercentUnit
	case "hops", "1/s":
		return sheet.Unit{Name: m.Unit, Per: 1}
	case "B/s", "b/s", "B":
		return sheet.PrefixedUnit(maxValue, m.Unit)
	case "s":
		return sheet.TimeUnit(maxValue)
	}
	return sheet.NoUnit
}

// quantity describes how the values of a metric are named and formatted in a chart.
type quantity struct {
	name  string // without unit, for titles
	label string // axis title, with unit
	unit  sheet.Unit
	// base is the value at which bars start; other axes also begin there if the values are
	// near it.
	base float64
	// hasTickUnits reports whether each tick of a logarithmic axis can have its own unit.
	hasTickUnits bool
}

// Arguments of newQuantity and setXMetric: whether the plot's scale and offset apply to the
// metric. They apply to the metric y, or z of tiles.
const (
	plotScale = true
	noScale   = false
)

// newQuantity returns the quantity of a metric whose values, after scale and offset, are in [lo,
// hi]. label is the axis title of the plot, or "". usesScale is plotScale or noScale.
//
// If the plot has its own label, or a scale or an offset, no unit is selected, because these
// determine the unit.
func (v *view) newQuantity(name, label string, lo, hi float64, usesScale bool) quantity {
	m, _ := result.Find(name)
	q := quantity{
		name:  m.Words,
		label: m.Words,
		unit:  sheet.NoUnit,
	}

	scale := cmp.Or(v.spec.Scale, 1)
	offset := v.spec.Offset
	if !usesScale {
		scale, offset = 1, 0
	}
	if m.Base != 0 {
		q.base = m.Base*scale + offset
	}

	// Describe the scale and the offset in the axis title. Common ones, such as percentages,
	// have a short form.
	switch plainly := scale == 1 && offset == 0; {
	case label != "":
		q.label = sheet.Plain(label)
	case plainly && m.Axis != "":
		q.label = m.Axis
	case plainly:
		q.unit = metricUnit(name, max(math.Abs(lo), math.Abs(hi)))
		q.hasTickUnits = m.Unit == "s"
		if q.unit.Name != "" {
			q.label += ", " + q.unit.Name
		}

	case scale == 100 && offset == 0:
		q.label += ", %"
	case scale == 100 && offset == -100:
		q.label += " above 1, %"
	default:
		if scale != 1 {
			q.label += " × " + sheet.Digits(scale, 4)
		}
		if sign := map[bool]string{
			true:  " + ",
			false: " − ",
		}[offset > 0]; offset != 0 {
			q.label += sign + sheet.Digits(math.Abs(offset), 4)
		}
	}
	return q
}

// listPattern matches a list as in scenario files.
var listPattern = regexp.MustCompile(`\[([^\[\]]*)\]`)

// displayLabel returns a label for readers: lists without brackets and quotes, and lists of
// integers as the sizes of a torus, such as 4x4x8 for [4, 4, 8].
func displayLabel(label string) string {
	label = listPattern.ReplaceAllStringFunc(sheet.Plain(label),
		func(text string) string {
			parts := strings.Split(strings.Trim(text, "[]"), ",")
			sep := "x"
			for i, p := range parts {
				parts[i] = strings.Trim(p, ` "'`)
				if _, err := strconv.Atoi(parts[i]); err != nil {
					sep = ", "
				}
			}

			return cmp.Or(strings.Join(parts, sep), "none")
		})

	return strings.TrimSuffix(label, "/")
}

// categoryText returns label i of f as a text that is understood on its own: numbers and truth
// values with the name of f.
func (f *dimension) categoryText(i int) string {
	if f.index < 0 {
		return ""
	}
	label := displayLabel(f.labels[i])
	switch _, err := strconv.ParseFloat(label, 64); {
	case label == "":
		return f.text + ` ""`
	case err == nil, label == "true", label == "false":
		return f.text + " " + label
	}
	return label
}

// heading returns label i of f for the heading of a panel. Numbers always have the name of f,
// because a heading has no axis title.
func (f *dimension) heading(i int) string {
	text := f.categoryText(i)
	if f.numbers != nil && !strings.HasPrefix(text, f.text) {
		return f.text + " " + text
	}
	return text
}

// amountPattern matches a number with a unit.
var amountPattern = regexp.MustCompile(`^([-+]?[0-9.]+) ?([A-Za-zµ%][A-Za-zµ%/]*)$`)

// unitTexts maps units in labels to their usual notation.
var unitTexts = map[string]string{
	"bps":  "b/s",
	"kbps": "kb/s",
	"Kbps": "kb/s",
	"Mbps": "Mb/s",
	"Gbps": "Gb/s",
	"Tbps": "Tb/s",
	"us":   "µs",
}

// tickLabels returns the labels of the drawn categories and the axis title. label is the axis
// title of the plot, or "". A unit that all labels have is moved to the title. Times of several
// units are formatted again.
func (f *dimension) tickLabels(label string) (ticks []string, title string) {
	// same reports whether all labels have the unit name.
	name, same := "", label == ""
	for _, l := range f.categories {
		m := amountPattern.FindStringSubmatch(f.labels[l])
		if same = same && m != nil && (name == "" || m[2] == name); same {
			name = m[2]
		}
	}

	times := !same && label == "" && f.isTime()
	for _, l := range f.categories {
		text := displayLabel(f.labels[l])
		switch {
		case same:
			text = amountPattern.FindStringSubmatch(f.labels[l])[1]
		case times:
			text = sheet.Duration(f.numbers[l], 4)
		}

		ticks = append(ticks, cmp.Or(text, `""`))
	}

	title = cmp.Or(sheet.Plain(label), f.text)
	if same && name != "" {
		title += ", " + cmp.Or(unitTexts[name], name)
	}
	return ticks, title
}

// isTime reports whether all drawn categories are times, such as "10ms", whose numbers are in
// seconds.
func (f *dimension) isTime() bool {
	if f.numbers == nil || len(f.categories) == 0 {
		return false
	}
	for _, l := range f.categories {
		m := amountPattern.FindStringSubmatch(f.labels[l])
		if m == nil {
			return false
		}
		// The label in its unit must equal the number in seconds.
		v, err := strconv.ParseFloat(m[1], 64)
		at := slices.IndexFunc(sheet.TimeUnits, func(u sheet.Unit) bool {
			return u.Name == m[2] || u.Name == unitTexts[m[2]]
		})
		if err != nil || at < 0 || !sheet.NearlyEqual(v,
			f.numbers[l]*sheet.TimeUnits[at].Per) {
			return false
		}
	}
	return true
}

// headings returns the title and the subtitle of a chart; what becomes the title by default.
// The subtitle also lists selections by the option "where", unless the chart shows them
// otherwise.
func (v *view) headings(what string) (title, subtitle string) {
	title = cmp.Or(v.spec.Title, sheet.Capitalise(what))
	subtitle = cmp.Or(v.sweep.Title, v.sweep.Name)
	// List the dimensions that where restricts to some values, unless the chart shows the
	// values.
	var only []string
	for _, key := range sortedKeys(v.spec.Where) {
		f, err := v.find(noRole, key)
		if err != nil || v.uses(f) || len(f.categories) == len(f.labels) {
			continue
		}
		var labels []string
		for _, l := range f.categories {
			labels = append(labels, displayLabel(f.labels[l]))
		}
		only = append(only, f.text+" "+andList(labels))
	}

	if len(only) > 0 {
		subtitle += ": " + strings.Join(only, ", ")
	}
	if subtitle == title {
		subtitle = ""
	}
	return title, subtitle
}

// bySeries returns the part of the title that names the dimension of the series, unless it is
// the policies.
func (v *view) bySeries() string {
	if v.series.index < 0 || v.series.name == policyName {
		return ""
	}
	return ", by " + v.series.text
}

// format formats a value of q with a number of decimals. Values of a million and more have three
// significant digits, and values that would be printed as 0 have two.
func (q quantity) format(v float64, decimals int) string {
	v *= q.unit.Per
	if math.Abs(v) >= 1e6 {
		return sheet.ShortNumber(sheet.RoundTo(v, 3))
	}

	s := strconv.FormatFloat(v, 'f', decimals, 64)
	if strings.Trim(s, "-0.") == "" {
		// noise is relative to the last decimal; larger values are not printed as 0.
		const noise = 1e-6
		if math.Abs(v) > noise*math.Pow(10, -float64(decimals)) {
			return sheet.ShortNumber(sheet.RoundTo(v, 2))
		}
		return strings.TrimPrefix(s, "-")
	}
	return s
}

// axisTitle returns the axis title of q. If the ticks of a logarithmic axis have their own
// units, the title has none.
func (q quantity) axisTitle(log bool) string {
	if log && q.hasTickUnits {
		return q.name
	}
	return q.label
}
