package result

// SweepSchema is the version of Sweep.
const SweepSchema = "sim.sweep/1"

// Sweep is sweep.json: what every cell of a sweep reached, in the order of the
// cells. It is a function of the study alone.
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

// Axis is what a sweep varies: one key of the scenario, or several that go
// together.
type Axis struct {
	Name string   `json:"name"` // its key, or the name of its group of keys
	Keys []string `json:"keys"`
	// Labels are the values as texts, in order; of a group the first key's.
	Labels []string `json:"labels"`
	// Numbers are the values as numbers in their base unit (bits per second,
	// bytes, seconds), nil where some are none.
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
	Name   string `json:"name"` // of the file, without extension
	Title  string `json:"title,omitempty"`
	Kind   string `json:"kind"`             // "bars", "gain", "lines", "scatter", "heatmap", "twists" or "cdf"
	X      string `json:"x"`                // axis, "policy", or (of lines or a scatter) a metric; of a gain axes with commas between; of a cdf or of twists empty
	Y      string `json:"y"`                // metric; of a heatmap the axis that goes up; of twists empty
	Z      string `json:"z,omitempty"`      // of a heatmap or of twists: the metric that colours
	Series string `json:"series,omitempty"` // axis or "policy": a line, a colour or a curve each
	Panels string `json:"panels,omitempty"` // axis or "policy": a panel each
	XLabel string `json:"x_label,omitempty"`
	YLabel string `json:"y_label,omitempty"`
	LogX   bool   `json:"log_x,omitempty"`
	LogY   bool   `json:"log_y,omitempty"`
	// Scale multiplies and Offset is then added to y (z of a heatmap): percent
	// above 1 are scale 100, offset -100. Scale 0 means 1.
	Scale  float64 `json:"scale,omitempty"`
	Offset float64 `json:"offset,omitempty"`
	// From is the least value of the y axis; nil is chosen by what is drawn.
	From *float64 `json:"from,omitempty"`
	// Where keeps only the cells whose axis (or "policy") has one of the
	// labels.
	Where map[string][]string `json:"where,omitempty"`
	// Take is what stands for several cells at one place: "mean" (as ""), "min"
	// or "max".
	Take string `json:"take,omitempty"`
	// Also are metrics with a line of their own beside those of y.
	Also []string `json:"also,omitempty"`
	// Below is a metric that lines show in a second, lower panel below each,
	// for the labels BelowOf of the series (nil is all).
	Below   string   `json:"below,omitempty"`
	BelowOf []string `json:"below_of,omitempty"`
	// Over is the axis of which a gain takes for each setting the value at which
	// Policy is best against the best of Against (nil is all others). Bars end at
	// Truncate times Policy's highest of the panel; 0 means 3, or of a
	// logarithmic axis never.
	Over     string   `json:"over,omitempty"`
	Policy   string   `json:"policy,omitempty"`
	Against  []string `json:"against,omitempty"`
	Truncate float64  `json:"truncate,omitempty"`
	// Marks are stated figures to be drawn beside the simulated ones.
	Marks []Mark `json:"mark,omitempty"`
}

// Mark is a figure that somebody else states, such as a paper. Its places are
// labels of the plot's axes.
type Mark struct {
	Label  string  `json:"label"` // who states it, for the legend
	X      string  `json:"x,omitempty"`
	Series string  `json:"series,omitempty"`
	Panel  string  `json:"panel,omitempty"`
	Y      float64 `json:"y"` // in the units of the y axis, after Scale and Offset
}
