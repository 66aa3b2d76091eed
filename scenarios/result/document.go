// Package result holds what a run leaves behind: the result document, the figures' data and the run directory, written
// whole or not at all. It knows no policy by name and computes no physics; package scenarios fills it, plots and the
// command read it.
package result

import (
	"fmt"
	"runtime/debug"
	"slices"
	"strings"
)

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

// ManifestSchema is the version of Manifest. It also tells a run directory from any other directory that has a
// manifest.json.
const ManifestSchema = "sim.run/1"

// Manifest is manifest.json: which program made the run, from what, and when.
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
	Files     []string `json:"files,omitempty"` // that the run wrote, slashes between; of a sweep none
	// Sums are the SHA-256, in hex, of the files of a run but its figures and files that flags ask for; of a sweep none.
	Sums map[string]string `json:"sha256,omitempty"`
}

// Run is all that a run directory holds beside its figures.
type Run struct {
	Dir      string // where it was read from
	Manifest Manifest
	Scenario []byte // scenario.toml, resolved
	Document Document
	Timings  Timings
	Detail   Detail
	Files    []File // further ones; not read back
}

// File is a file of a run directory beside those that every run has.
type File struct {
	Name string
	Data []byte
}

// Row returns the row of a policy, nil when the run has none.
func (d *Document) Row(policy string) *Row {
	for i := range d.Rows {
		if d.Rows[i].Policy == policy {
			return &d.Rows[i]
		}
	}
	return nil
}

// RowGroup is the rows that a key puts together.
type RowGroup struct {
	Key  string
	Rows []*Row
}

// Policies lists the policies of the group.
func (g *RowGroup) Policies() string {
	var names []string
	for _, r := range g.Rows {
		names = append(names, r.Policy)
	}
	return strings.Join(names, ", ")
}

// Group puts rows of one key together, in the order in which keys appear, without those whose key is "".
func (d *Document) Group(key func(*Row) string) []RowGroup {
	var groups []RowGroup
	for i := range d.Rows {
		r := &d.Rows[i]
		groupKey := key(r)
		index := slices.IndexFunc(groups, func(g RowGroup) bool { return g.Key == groupKey })
		if index < 0 && groupKey != "" {
			index, groups = len(groups), append(groups, RowGroup{Key: groupKey})
		}
		if groupKey != "" {
			groups[index].Rows = append(groups[index].Rows, r)
		}
	}
	return groups
}

// Best returns the index of the row with the best value of metric, or -1 when no row has it. A fluid schedule, which no
// plan of whole chunks carries out, is best only among its like. Ties go to the row with fewer ports, then to the first.
func (d *Document) Best(metric string) int {
	m, _ := Find(metric)
	best, higher := -1, m.Better == Higher
	for i, r := range d.Rows {
		v, ok := r.Metrics[metric]
		if !ok || r.Labels["failed"] != "" { // what came to no end is no best
			continue
		}
		if best < 0 || d.Rows[best].Fluid() && !r.Fluid() {
			best = i
			continue
		}
		if r.Fluid() && !d.Rows[best].Fluid() {
			continue
		}
		b := d.Rows[best].Metrics
		if v < b[metric] != higher && v != b[metric] || v == b[metric] && r.Metrics[PortsUsed] < b[PortsUsed] {
			best = i
		}
	}
	return best
}

// Winner returns the index of the row that is best by the first metric by which a run may have a best, and that metric; -1
// if there is none.
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

// Fluid reports whether a row is of a fluid schedule: of links that many chunks share at a time.
func (r *Row) Fluid() bool { return r.Labels["schedule"] == "fluid" }

// Simulation returns a policy's simulation, nil when the detail has none.
func (d *Detail) Simulation(policy string) *Simulation {
	for i := range d.Policies {
		if d.Policies[i].Policy == policy {
			return &d.Policies[i]
		}
	}
	return nil
}

// LinkName is the name that PathStep.Link and Simulation.Circuits use for the direction of p that leaves its first pod.
func (t *Topology) LinkName(p Pair) string {
	if p.DP {
		return t.Pods[p.A].Name + " to DP peer"
	}
	return fmt.Sprintf("%s to %s", t.Pods[p.A].Name, t.Pods[p.B].Name)
}

// legacyLinkName is what runs of before call the circuits of a pod to its DP peers.
func (t *Topology) legacyLinkName(p Pair) string { return t.Pods[p.A].Name + " to its twin" }

// FindPair returns the pair of t that a link's name means, in either direction; nil when there is none. A nil topology
// has no pairs.
func (t *Topology) FindPair(link string) *Pair {
	if t == nil || link == "" {
		return nil
	}
	for i := range t.Pairs {
		p := &t.Pairs[i]
		back := *p
		back.A, back.B = p.B, p.A
		if link == t.LinkName(*p) || p.DP && link == t.legacyLinkName(*p) || !p.DP && link == t.LinkName(back) {
			return p
		}
	}
	return nil
}

// Version is the version of sim. It is written into every result.
const Version = "0.2.0"

// Model is the version of the models: it rises whenever some result changes for the same scenario and seed. Results of
// one version may be compared and reused; the baselines in scenarios/baselines hold it to that.
const Model = 12

// Revision returns the commit that the program was built from, with "+dirty" when its tree had changes, or "unknown"
// when the build did not record it.
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
