// Package result holds what a run leaves behind: the result document, the figures' data and the run directory, written
// whole or not at all. It knows no policy by name and computes no physics; package scenarios fills it, plots and the
// command read it.
package result

// Schema is the version of Document. Minor versions add members; a change of meaning is a new major.
const Schema = "sim.result/1"

// Document is result.json. Everything in it is a function of the scenario and the seed alone: wall-clock figures live
// in Timings.
type Document struct {
	Schema    string             `json:"schema"`
	Scenario  string             `json:"scenario"`
	Digest    string             `json:"digest"` // sha256 of the resolved scenario, hex
	Seed      uint64             `json:"seed"`
	Version   string             `json:"version"`
	Reference map[string]float64 `json:"reference"` // metrics of the ideal fabric
	Rows      []Row              `json:"rows"`
	Timings   *Timings           `json:"timings,omitempty"` // only in what --json prints
}

// Row is what one policy reached. Metric names end in their unit; plain ratios and counts have none. An undefined
// metric is left out and a label of the same name says why.
type Row struct {
	Policy  string             `json:"policy"`
	Metrics map[string]float64 `json:"metrics"`
	Labels  map[string]string  `json:"labels,omitempty"`
	// Samples are the values of a metric over many simulations, as of a replay.
	Samples map[string][]float64 `json:"samples,omitempty"`
	// Bounds is for ShareBounds; nil where rows share none.
	Bounds *Bounds `json:"-"`
}

// Timings is timings.json: wall-clock seconds, which differ from run to run.
type Timings struct {
	WallS    float64                  `json:"wall_s"`
	Policies map[string]PolicyTimings `json:"policies"`
}

// PolicyTimings splits a policy's wall-clock seconds.
type PolicyTimings struct {
	SolveS    float64 `json:"solve_s"` // making the decision
	SimulateS float64 `json:"play_s"`  // simulating it in full for traces and metrics
}
