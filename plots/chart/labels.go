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

// keyTexts words keys of scenarios whose last part does not read well.
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

// metricUnit is the unit in which values of a metric of up to most read well.
func metricUnit(name string, most float64) sheet.Unit {
	switch m, _ := result.Find(name); m.Unit {
	case "%":
		return sheet.PercentUnit
	case "hops", "1/s":
		return sheet.Unit{Name: m.Unit, Per: 1}
	case "B/s", "b/s", "B":
		return sheet.PrefixedUnit(most, m.Unit)
	case "s":
		return sheet.TimeUnit(most)
	}
	return sheet.NoUnit
}

// quantity is how the values of a metric are worded and shown.
type quantity struct {
	name         string // without unit, for titles
	label        string // of the axis
	unit         sheet.Unit
	base         float64 // where bars start, and axes if that is near
	hasTickUnits bool    // each tick of a logarithmic axis may have a unit of its own
}

// newQuantity words a metric whose values, after scale and offset, lie within [lo, hi]. A label that the plot gives says
// the unit, as do scale and offset: then none is chosen.
func (v *view) newQuantity(name, label string, lo, hi float64, own bool) quantity {
	m, _ := result.Find(name)
	q := quantity{name: m.Words, label: m.Words, unit: sheet.NoUnit}
	scale, offset := cmp.Or(v.spec.Scale, 1), v.spec.Offset
	if !own {
		scale, offset = 1, 0
	}
	if m.Base != 0 {
		q.base = m.Base*scale + offset
	}
	switch plainly := scale == 1 && offset == 0; {
	case label != "":
		q.label = sheet.Plain(label)
	case plainly && m.Axis != "":
		q.label = m.Axis
	case plainly:
		q.unit, q.hasTickUnits = metricUnit(name, max(math.Abs(lo), math.Abs(hi))), m.Unit == "s"
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
		if sign := map[bool]string{true: " + ", false: " − "}[offset > 0]; offset != 0 {
			q.label += sign + sheet.Digits(math.Abs(offset), 4)
		}
	}
	return q
}

// listPattern is a list of numbers or texts, as scenarios write it, and after a slash what may be empty.
var listPattern = regexp.MustCompile(`\[([^\[\]]*)\]`)

// displayLabel words a label: lists without their brackets and quotes, of numbers as sizes of a torus are written.
func displayLabel(label string) string {
	label = listPattern.ReplaceAllStringFunc(sheet.Plain(label), func(text string) string {
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

// categoryText words a label of f where it stands alone: numbers and truth values with what they are of.
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

// heading words a label of f above a panel: numbers always with what they are of.
func (f *dimension) heading(i int) string {
	text := f.categoryText(i)
	if f.numbers != nil && !strings.HasPrefix(text, f.text) {
		return f.text + " " + text
	}
	return text
}

// amountPattern is a number with its unit, as labels of axes are written.
var amountPattern = regexp.MustCompile(`^([-+]?[0-9.]+) ?([A-Za-zµ%][A-Za-zµ%/]*)$`)

// unitTexts words units as figures do.
var unitTexts = map[string]string{"bps": "b/s", "kbps": "kb/s", "Kbps": "kb/s", "Mbps": "Mb/s", "Gbps": "Gb/s", "Tbps": "Tb/s", "us": "µs"}

// tickLabels returns the labels of the drawn categories for an axis and what stands beside it: a unit that all labels have
// is named once.
func (f *dimension) tickLabels(label string) (ticks []string, title string) {
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

// isTime reports whether the drawn categories are times, with the numbers of their labels.
func (f *dimension) isTime() bool {
	if f.numbers == nil || len(f.categories) == 0 {
		return false
	}
	for _, l := range f.categories {
		m := amountPattern.FindStringSubmatch(f.labels[l])
		if m == nil {
			return false
		}
		v, err := strconv.ParseFloat(m[1], 64)
		at := slices.IndexFunc(sheet.TimeUnits, func(u sheet.Unit) bool { return u.Name == m[2] || u.Name == unitTexts[m[2]] })
		if err != nil || at < 0 || !sheet.NearlyEqual(v, f.numbers[l]*sheet.TimeUnits[at].Per) {
			return false
		}
	}
	return true
}

// headings are the title and the subtitle of a chart of what.
func (v *view) headings(what string) (title, subtitle string) {
	title = cmp.Or(v.spec.Title, sheet.Capitalise(what))
	subtitle = cmp.Or(v.sweep.Title, v.sweep.Name)
	var only []string
	for _, key := range sortedKeys(v.spec.Where) {
		f, err := v.find("", key)
		if err != nil || v.uses(f) || len(f.categories) == len(f.labels) {
			continue // what is drawn shows it
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

// bySeries names in a title what the legend lists, unless that are policies.
func (v *view) bySeries() string {
	if v.series.index < 0 || v.series.name == policyName {
		return ""
	}
	return ", by " + v.series.text
}

// format words a value of q with so many decimals.
func (q quantity) format(v float64, decimals int) string {
	v *= q.unit.Per
	if math.Abs(v) >= 1e6 {
		return sheet.ShortNumber(sheet.RoundTo(v, 3))
	}
	s := strconv.FormatFloat(v, 'f', decimals, 64)
	if strings.Trim(s, "-0.") == "" {
		const noise = 1e-6 // of the last decimal; what is greater is no 0
		if math.Abs(v) > noise*math.Pow(10, -float64(decimals)) {
			return sheet.ShortNumber(sheet.RoundTo(v, 2))
		}
		return strings.TrimPrefix(s, "-")
	}
	return s
}

// axisTitle is what stands beside an axis of q; ticks with units of their own need none there.
func (q quantity) axisTitle(log bool) string {
	if log && q.hasTickUnits {
		return q.name
	}
	return q.label
}
