package result

import (
	"math"
	"slices"
	"strings"
)

// SweepSchema is the version of Sweep.
const SweepSchema = "sim.sweep/1"

// Sweep is sweep.json: what every cell of a sweep reached, in the order of the cells. It is a function of the study
// alone.
type Sweep struct {
	Schema  string `json:"schema"`
	Name    string `json:"name"`
	Title   string `json:"title,omitempty"`
	Digest  string `json:"digest"` // sha256 of the study, hex
	Version string `json:"version"`
	Model   int    `json:"model"` // version of the models; results of the same may be compared
	Axes    []Axis `json:"axes"`
	Cells   []Cell `json:"cells"`
}

// Axis is what a sweep varies: one key of the scenario, or several that go together.
type Axis struct {
	Name string   `json:"name"` // its key, or the name of its group of keys
	Keys []string `json:"keys"`
	// Labels are the values as texts, in order; of a group the first key's.
	Labels []string `json:"labels"`
	// Numbers are the values as numbers in their base unit (bits per second, bytes, seconds), nil where some are none.
	Numbers []float64 `json:"numbers,omitempty"`
}

// Cell is one resolved scenario under one policy.
type Cell struct {
	At        []int                `json:"at"` // index into Labels, by axis
	Policy    string               `json:"policy"`
	Key       string               `json:"key"` // hash of resolved scenario, policy, seed and model version, hex
	Scenario  string               `json:"scenario"`
	Seed      uint64               `json:"seed"`
	Reference map[string]float64   `json:"reference,omitempty"`
	Metrics   map[string]float64   `json:"metrics,omitempty"`
	Labels    map[string]string    `json:"labels,omitempty"`
	Samples   map[string][]float64 `json:"samples,omitempty"`
	Failed    string               `json:"failed,omitempty"` // why the cell has no metrics
}

// SweepTimings is timings.json of a sweep: wall-clock seconds by cell key.
type SweepTimings struct {
	WallS float64                  `json:"wall_s"`
	Cells map[string]PolicyTimings `json:"cells"`
}

// Plot is a figure that a scenario asks for with a [[plot]] table.
type Plot struct {
	Name     string              `json:"name" key:"name" doc:"name of the figure's file"`
	Title    string              `json:"title,omitempty" key:"title" doc:"line above it"`
	Kind     string              `json:"kind" key:"kind" doc:"'bars', 'lines', 'scatter', 'heatmap', 'twists' (the 64 twists of 'fabric.twist' as an 8x8 map) or 'cdf'" choices:"bars|lines|scatter|heatmap|twists|cdf"`
	X        string              `json:"x" key:"x" doc:"a key that is varied (its last part will do), 'policy', of lines also a metric and of a scatter always one; of a cdf or of twists nothing"`
	Y        string              `json:"y" key:"y" doc:"a metric of the cells, 'reference.METRIC', 'solve_s', 'play_s', or 'A/B', one over another; of a heat map a key that is varied; of twists nothing"`
	Z        string              `json:"z,omitempty" key:"z" doc:"of a heat map or of twists, the metric that colours it"`
	Series   string              `json:"series,omitempty" key:"series" doc:"a key that is varied, or 'policy': a colour or line each"`
	Panels   string              `json:"panels,omitempty" key:"panels" doc:"a key that is varied, or 'policy': a panel each"`
	XLabel   string              `json:"x_label,omitempty" key:"x_label" doc:"text at the x axis"`
	YLabel   string              `json:"y_label,omitempty" key:"y_label" doc:"text at the y axis"`
	LogX     bool                `json:"log_x,omitempty" key:"log_x" doc:"whether the x axis is logarithmic"`
	LogY     bool                `json:"log_y,omitempty" key:"log_y" doc:"whether the y axis is logarithmic"`
	Scale    float64             `json:"scale,omitempty" key:"scale" doc:"factor by which y is multiplied; 100 makes percent" min:"-inf"`
	Offset   float64             `json:"offset,omitempty" key:"offset" doc:"what is then added: with scale 100, -100 is percent above 1" min:"-inf"`
	From     *float64            `json:"from,omitempty" key:"from" doc:"where the y axis begins" min:"-inf"`
	To       *float64            `json:"to,omitempty" key:"to" doc:"of lines over an axis, where they leave the panel at the top" min:"-inf"`
	Where    map[string][]string `json:"where,omitempty" key:"where" doc:"a table of keys with the values of which cells are drawn"`
	Take     string              `json:"take,omitempty" key:"take" doc:"what stands for several cells at one place, of bars, lines, heat maps and twists: 'mean', 'min' or 'max'" choices:"mean|min|max" unset:""`
	Also     []string            `json:"also,omitempty" key:"also" doc:"of lines, a list of metrics with a line of their own, such as bounds" empty:""`
	MarkedAt string              `json:"marked_at,omitempty" key:"marked_at" doc:"of lines over an axis, a metric in the unit of x, such as a break-even: the place on each line that is marked, where the axis has it"`
	Below    string              `json:"below,omitempty" key:"below" doc:"of lines, a metric that is shown in a lower panel below each"`
	BelowOf  []string            `json:"below_of,omitempty" key:"below_of" doc:"a list of the values of 'series' that are shown there; by default all" empty:""`
	Marks    []Mark              `json:"mark,omitempty" key:"mark" doc:"an array of tables '[[plot.mark]]': figures that somebody else states, each with 'label', 'x', 'series', 'panel' and 'y'"`
}

// Mark is a figure that somebody else states, such as a paper. Its places are labels of the plot's axes.
type Mark struct {
	Label  string  `json:"label" key:"label"` // who states it, for the legend
	X      string  `json:"x,omitempty" key:"x"`
	Series string  `json:"series,omitempty" key:"series"`
	Panel  string  `json:"panel,omitempty" key:"panel"`
	Y      float64 `json:"y" key:"y" min:"-inf"` // in the units of the y axis, after Scale and Offset
}

// ShortKey words a dotted key by its last part; what is one of several jobs' keeps the job's number.
func ShortKey(key string) string {
	parts := strings.Split(key, ".")
	last := parts[len(parts)-1]
	if parts[0] == "job" && len(parts) > 2 {
		return "job " + parts[1] + " " + last
	}
	return last
}

// Has returns the names of the metrics that cells have.
func (s *Sweep) Has() map[string]bool {
	has := map[string]bool{}
	for i := range s.Cells {
		for name := range s.Cells[i].Metrics {
			has[name] = true
		}
	}
	return has
}

// MainOf returns the metric among has that tells most of the sweep, leaving out those that are
// relative to a reference that differs between rows.
func (s *Sweep) MainOf(has map[string]bool) string {
	comparable := map[string]bool{}
	for name := range has {
		m, _ := Find(name)
		comparable[name] = has[name] && !s.ReferenceDiffers(&m)
	}
	return MainOf(comparable)
}

// referenceTie is the relative difference up to which references count as equal: rounding to ticks.
const referenceTie = 1e-9

// ReferenceDiffers reports whether values of a metric are relative to a reference that differs
// between fabrics of different kinds for one work: between cells whose references compute for the
// same time.
func (s *Sweep) ReferenceDiffers(m *Metric) bool {
	changesKind := slices.ContainsFunc(s.Axes, func(a Axis) bool {
		return slices.Contains(a.Keys, "fabric") || slices.Contains(a.Keys, "fabric.kind")
	})
	if m.Relative == "" || !changesKind {
		return false
	}
	first := map[float64]float64{} // by the time of computing
	for i := range s.Cells {
		reference := s.Cells[i].Reference
		compute, hasCompute := reference[ComputeTime]
		value, has := reference[m.Relative]
		if !has || !hasCompute {
			continue
		}
		if other, seen := first[compute]; seen && math.Abs(other-value) > referenceTie*other {
			return true
		} else if !seen {
			first[compute] = value
		}
	}
	return false
}
