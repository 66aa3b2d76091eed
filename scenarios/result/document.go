// Package result defines the stored results of runs and sweeps, and reads and writes
// their directories.
//
// A Document (result.json) has one Row per policy with its metrics. A Detail
// (detail.json) has the timelines, link loads and topologies for figures and
// explanations. A Sweep (sweep.json) has one Cell per scenario and policy. Metrics is the
// table of all metrics: names, directions, units and formats. Dir writes a run directory
// atomically; Read and ReadSweep read and verify stored results.
//
// The package contains no policy names and no simulation. Package scenarios fills the
// types; plots, reports and the command read them. Begin reading with Document, Detail
// and Metric.
package result

import (
	"fmt"
	"runtime/debug"
	"slices"
	"strings"
)

// Schema is the version of Document. Minor versions add members; a change of meaning is a
// new major version.
const Schema = "sim.result/1"

// Document is result.json. Its content depends only on the scenario and the seed.
// Wall-clock times are in Timings.
type Document struct {
	Schema    string             `json:"schema"`
	Scenario  string             `json:"scenario"`
	Digest    string             `json:"digest"` // sha256 of the resolved scenario, hex
	Seed      uint64             `json:"seed"`
	Version   string             `json:"version"`
	Reference map[string]float64 `json:"reference"` // metrics of the ideal fabric
	Rows      []Row              `json:"rows"`
	Timings   *Timings           `json:"timings,omitempty"` // only in the output of --json
}

// Row is the result of one policy. The name of a metric ends in its unit, such as
// "makespan_s"; ratios and counts have none. An undefined metric is absent, and the label of
// the same name states why.
type Row struct {
	Policy  string             `json:"policy"`
	Metrics map[string]float64 `json:"metrics"`
	Labels  map[string]string  `json:"labels,omitempty"`
	// Samples are the values of a metric in many simulations, such as trials. They are
	// keyed by metric.
	Samples map[string][]float64 `json:"samples,omitempty"`
	// Bounds is the input of ShareBounds; nil if the row shares no bounds.
	Bounds *Bounds `json:"-"`
	// BatchMeans are the means of the metric work_done of a fleet in equal parts of the
	// simulated time; nil for other rows.
	BatchMeans []float64 `json:"-"`
}

// Timings is timings.json: wall-clock seconds, which differ between runs.
type Timings struct {
	WallS    float64                  `json:"wall_s"`
	Policies map[string]PolicyTimings `json:"policies"` // keyed by policy
}

// PolicyTimings are the wall-clock seconds of a policy.
type PolicyTimings struct {
	SolveS    float64 `json:"solve_s"`      // time to make the decision
	SimulateS float64 `json:"simulation_s"` // time of the full simulation for traces and metrics
}

// ManifestSchema is the version of Manifest. It also identifies a run directory: other
// directories may have a manifest.json, too.
const ManifestSchema = "sim.run/1"

// Manifest is manifest.json: the program, input and time of a run.
type Manifest struct {
	Schema    string   `json:"schema"`
	Version   string   `json:"version"`
	Revision  string   `json:"revision"`
	Scenario  string   `json:"scenario"`
	Digest    string   `json:"digest"`
	Seed      uint64   `json:"seed"`
	Arguments []string `json:"arguments"`
	Start     string   `json:"start"` // RFC 3339
	End       string   `json:"end"`
	Files     []string `json:"files,omitempty"` // files written by the run, with slashes as separators; nil for a sweep
	// Sums are the hexadecimal SHA-256 digests of the files of a run. Figures and files
	// requested by flags have none. nil for a sweep.
	Sums map[string]string `json:"sha256,omitempty"`
}

// Run is the content of a run directory without its figures.
type Run struct {
	Dir      string // directory it was read from
	Manifest Manifest
	Scenario []byte // scenario.toml, resolved
	Document Document
	Timings  Timings
	Detail   Detail
	Files    []File // additional files; not read back
	// Evidence states the measurements that the times rest on; not stored, so that it follows
	// the present ones.
	Evidence string
}

// File is an additional file of a run directory, which only some runs have.
type File struct {
	Name string
	Data []byte
}

// Row returns the row of a policy, or nil if the run does not have it.
func (d *Document) Row(policy string) *Row {
	for i := range d.Rows {
		if d.Rows[i].Policy == policy {
			return &d.Rows[i]
		}
	}
	return nil
}

// RowGroup is a set of rows with the same key.
type RowGroup struct {
	Key  string
	Rows []*Row
}

// Policies lists the policies of the group, separated by commas.
func (g *RowGroup) Policies() string {
	var names []string
	for _, r := range g.Rows {
		names = append(names, r.Policy)
	}
	return strings.Join(names, ", ")
}

// Group groups rows by key. Groups are in the order of their first rows. Rows with the
// key "" are left out.
func (d *Document) Group(key func(*Row) string) []RowGroup {
	var groups []RowGroup
	for i := range d.Rows {
		rowKey := key(&d.Rows[i])
		if rowKey == "" {
			continue
		}
		index := slices.IndexFunc(groups, func(g RowGroup) bool { return g.Key == rowKey })
		if index < 0 {
			index, groups = len(groups), append(groups, RowGroup{Key: rowKey})
		}
		groups[index].Rows = append(groups[index].Rows, &d.Rows[i])
	}
	return groups
}

// Best returns the index of the row with the best value of metric, or -1 if no row has
// the metric. A fluid schedule cannot be executed as a plan of chunks, so it is best only
// if all rows are fluid. Ties go to the row with fewer ports, then to the first row.
func (d *Document) Best(metric string) int {
	m, _ := Find(metric)
	isBetter := func(r, other *Row) bool {
		value, otherValue := r.Metrics[metric], other.Metrics[metric]
		switch {
		case r.Fluid() != other.Fluid():
			return other.Fluid()
		case value == otherValue:
			return r.Metrics[PortsUsed] < other.Metrics[PortsUsed]
		case m.Better == Higher:
			return value > otherValue
		}
		return value < otherValue
	}

	best := -1
	for i := range d.Rows {
		r := &d.Rows[i]
		_, hasMetric := r.Metrics[metric]
		isComplete := r.Labels["failed"] == "" // other work has no valid value
		if hasMetric && isComplete && (best < 0 || isBetter(r, &d.Rows[best])) {
			best = i
		}
	}
	return best
}

// Winner returns the index of the best row and the metric by which it is best: the first of
// MainMetrics that has a phrase for winners (Metric.WinPhrase) and that some row has. Without
// such a metric, the index is -1.
func (d *Document) Winner() (int, *Metric) {
	for _, m := range MainMetrics() {
		if m.WinPhrase == "" || m.HideIfZero && MaxOf(d.Rows, m.Name) == 0 {
			continue
		}
		if best := d.Best(m.Name); best >= 0 {
			return best, &m
		}
	}
	return -1, nil
}

// Fluid reports whether the row is a fluid schedule, in which many chunks share a link at
// the same time.
func (r *Row) Fluid() bool { return r.Labels["schedule"] == "fluid" }

// Simulation returns the simulation of a policy, or nil if the detail has none.
func (d *Detail) Simulation(policy string) *Simulation {
	for i := range d.Policies {
		if d.Policies[i].Policy == policy {
			return &d.Policies[i]
		}
	}
	return nil
}

// LinkName returns the name that PathStep.Link and Simulation.Circuits use for the
// direction of p from pod A to pod B.
func (t *Topology) LinkName(p Pair) string {
	if p.DP {
		return t.Pods[p.A].Name + " to DP peer"
	}
	return fmt.Sprintf("%s to %s", t.Pods[p.A].Name, t.Pods[p.B].Name)
}

// legacyLinkName is the name of the circuits to DP peers in results of older versions.
func (t *Topology) legacyLinkName(p Pair) string { return t.Pods[p.A].Name + " to its twin" }

// FindPair returns the pair with a link name, in either direction. It returns nil
// without such a pair, or if t is nil.
func (t *Topology) FindPair(link string) *Pair {
	if t == nil || link == "" {
		return nil
	}
	for i := range t.Pairs {
		p := &t.Pairs[i]
		otherName := t.legacyLinkName(*p)
		if !p.DP { // the direction from B to A
			otherName = t.LinkName(Pair{A: p.B, B: p.A})
		}
		if link == t.LinkName(*p) || link == otherName {
			return p
		}
	}
	return nil
}

// Version is the version of sim. Every result contains it.
const Version = "0.2.0"

// Model is the version of the models. It increases whenever a result changes for the same
// scenario and seed. Results of the same version can be compared and reused. The
// baselines in scenarios/baselines verify this.
const Model = 15

// Revision returns the commit of the program, with "+dirty" if its tree had changes, or
// "unknown" if the build did not record it.
func Revision() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	rev, dirty := "", ""
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			rev = s.Value
		case s.Key == "vcs.modified" && s.Value == "true":
			dirty = "+dirty"
		}
	}
	if rev == "" {
		return "unknown"
	}
	return rev + dirty
}
