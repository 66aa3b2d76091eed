// This file declares the results of a sweep, and the figures that a scenario requests.

package result

import "strings"

// SweepSchema is the version of Sweep.
const SweepSchema = "sim.sweep/1"

// Sweep is sweep.json: the results of all cells of a sweep, in order. It depends only on
// the study.
type Sweep struct {
	Schema  string `json:"schema"`
	Name    string `json:"name"`
	Title   string `json:"title,omitempty"`
	Digest  string `json:"digest"` // SHA-256 of the study, hexadecimal
	Version string `json:"version"`
	Model   int    `json:"model"` // version of the models; results of equal versions are comparable
	Axes    []Axis `json:"axes"`
	Cells   []Cell `json:"cells"`
}

// Axis is a varied key of the scenario, or several keys that vary together.
type Axis struct {
	Name string   `json:"name"` // the key, or the name of the group of keys
	Keys []string `json:"keys"`
	// Labels are the values as text, in order. A group has the labels of its first key.
	Labels []string `json:"labels"`
	// Numbers are the values in their base unit (bits per second, bytes, seconds); nil if
	// some are not numbers.
	Numbers []float64 `json:"numbers,omitempty"`
}

// RunAxis is the name of the axis of several runs that are drawn side by side.
const RunAxis = "run"

// Cell is one resolved scenario under one policy.
type Cell struct {
	At        []int                `json:"at"` // index into Labels, by axis
	Policy    string               `json:"policy"`
	Key       string               `json:"key"` // hexadecimal hash of resolved scenario, policy, seed and model version
	Scenario  string               `json:"scenario"`
	Seed      uint64               `json:"seed"`
	Reference map[string]float64   `json:"reference,omitempty"`
	Metrics   map[string]float64   `json:"metrics,omitempty"`
	Labels    map[string]string    `json:"labels,omitempty"`
	Samples   map[string][]float64 `json:"samples,omitempty"`
	Failed    string               `json:"failed,omitempty"` // reason if the cell has no metrics
}

// SweepTimings is timings.json of a sweep: wall-clock seconds keyed by Cell.Key.
type SweepTimings struct {
	WallS float64                  `json:"wall_s"`
	Cells map[string]PolicyTimings `json:"cells"`
}

// Plot is a figure requested by a [[plot]] table of a scenario.
type Plot struct {
	Name        string              `json:"name" key:"name" doc:"name of the figure file"`
	Title       string              `json:"title,omitempty" key:"title" doc:"title of the figure"`
	Kind        string              `json:"kind" key:"kind" doc:"kind of chart: 'bars', 'lines', 'scatter', 'heatmap', 'twists' (the 64 twists of 'fabric.twist' as an 8x8 map) or 'cdf'" choices:"bars|lines|scatter|heatmap|twists|cdf"`
	X           string              `json:"x" key:"x" doc:"a varied key (its last part suffices) or 'policy'; for lines also a metric, for a scatter always a metric; none for a cdf or twists"`
	Y           string              `json:"y" key:"y" doc:"a metric, 'reference.METRIC', 'solve_s', 'simulation_s', or a ratio 'A/B' of metrics; for a heat map, a varied key; none for twists"`
	Z           string              `json:"z,omitempty" key:"z" doc:"for a heat map or twists: the metric shown as colour"`
	Series      string              `json:"series,omitempty" key:"series" doc:"a varied key or 'policy', one colour or line per value"`
	Panels      string              `json:"panels,omitempty" key:"panels" doc:"a varied key or 'policy', one panel per value"`
	XLabel      string              `json:"x_label,omitempty" key:"x_label" doc:"label of the x axis"`
	YLabel      string              `json:"y_label,omitempty" key:"y_label" doc:"label of the y axis"`
	LogX        bool                `json:"log_x,omitempty" key:"log_x" doc:"whether the x axis is logarithmic"`
	LogY        bool                `json:"log_y,omitempty" key:"log_y" doc:"whether the y axis is logarithmic"`
	Scale       float64             `json:"scale,omitempty" key:"scale" doc:"factor for y; 100 shows percent" min:"-inf"`
	Offset      float64             `json:"offset,omitempty" key:"offset" doc:"value added after scaling: with scale 100, an offset of -100 shows percent above 1" min:"-inf"`
	YMin        *float64            `json:"y_min,omitempty" key:"y_min" doc:"start of the y axis" min:"-inf"`
	YMax        *float64            `json:"y_max,omitempty" key:"y_max" doc:"for lines: upper end of the y axis" min:"-inf"`
	Where       map[string][]string `json:"where,omitempty" key:"where" doc:"table of keys and values that select cells"`
	Aggregation string              `json:"aggregation,omitempty" key:"aggregation" doc:"value shown for several cells at one place in bars, lines, heat maps and twists: 'mean', 'min' or 'max'" choices:"mean|min|max" unset:""`
	Whiskers    string              `json:"whiskers,omitempty" key:"whiskers" doc:"for bars and lines: reach of the whiskers at a mean of several cells: from the least to the greatest ('range', the default) or one standard deviation in each direction ('deviation')" choices:"range|deviation" unset:""`
	ExtraY      []string            `json:"extra_y,omitempty" key:"extra_y" doc:"for lines: further metrics to draw as lines, such as bounds" empty:""`
	XMark       string              `json:"x_mark,omitempty" key:"x_mark" doc:"for lines: a metric in the unit of x, such as a break-even, marked on each line"`
	LowerY      string              `json:"lower_y,omitempty" key:"lower_y" doc:"for lines: a metric shown in a second panel below each panel"`
	LowerSeries []string            `json:"lower_series,omitempty" key:"lower_series" doc:"list of values of 'series' shown in the second panel; all by default" empty:""`
	Marks       []Mark              `json:"mark,omitempty" key:"mark" doc:"array of tables '[[plot.mark]]': values from other sources, each with 'label', 'x', 'series', 'panel' and 'y'"`
}

// Mark is a published value shown in a figure. X, Series and Panel are labels of the
// plot's axes.
type Mark struct {
	Label  string  `json:"label" key:"label"` // source, for the legend
	X      string  `json:"x,omitempty" key:"x"`
	Series string  `json:"series,omitempty" key:"series"`
	Panel  string  `json:"panel,omitempty" key:"panel"`
	Y      float64 `json:"y" key:"y" min:"-inf"` // in the unit of the y axis, after Scale and Offset
}

// ShortKey shortens a dotted key to its last part. Keys of one of several jobs retain the
// number of the job.
func ShortKey(key string) string {
	parts := strings.Split(key, ".")
	last := parts[len(parts)-1]
	if parts[0] == "job" && len(parts) > 2 {
		return "job " + parts[1] + " " + last
	}
	return last
}

// MetricNames returns the names of the metrics of all cells.
func (s *Sweep) MetricNames() map[string]bool {
	has := map[string]bool{}
	for i := range s.Cells {
		for name := range s.Cells[i].Metrics {
			has[name] = true
		}
	}
	return has
}

// MainOf returns the main metric among has (see MainOf). Metrics relative to references that
// differ between the selected cells (ReferenceDifference) are excluded if there is another main
// metric.
func (s *Sweep) MainOf(has map[string]bool, selected func(c *Cell) bool) string {
	ranked := map[string]bool{}
	for name := range has {
		ranked[name] = has[name] && s.ReferenceDifference(name, selected) == nil
	}
	for _, m := range MainMetrics() {
		if ranked[m.Name] && !m.HideIfZero {
			return m.Name
		}
	}
	return MainOf(has)
}
