package page

import (
	"fmt"
	"iter"
	"maps"
	"path/filepath"
	"slices"

	"sim/scenarios/compare"
	"sim/scenarios/report"
	"sim/scenarios/result"
)

// Document is a result shown by a page. Kind states which of Run, Sweep and Comparison is
// set; the others are nil.
type Document struct {
	Kind  string `json:"kind"` // "run", "sweep" or "comparison"
	Name  string `json:"name"` // unique among the documents of the page
	Title string `json:"title"`
	TOML  string `json:"toml,omitempty"` // resolved scenario of a run, or the study of a sweep

	*Run
	*Sweep
	*Comparison
}

// Run is the data of a run.
type Run struct {
	Result  *result.Document  `json:"result"`
	Timings *result.Timings   `json:"timings"`
	Detail  *result.Detail    `json:"detail"`
	Table   report.Results    `json:"table"`   // table of sim run
	Notes   string            `json:"notes"`   // text below the table, one line per paragraph
	Explain map[string]string `json:"explain"` // text of sim explain by policy, one line per paragraph
	// Nets are layouts of links. NetOf is the index into Nets, keyed by policy.
	Nets  []*result.NetworkLayout `json:"nets,omitempty"`
	NetOf map[string]int          `json:"net_of,omitempty"`
	// Wirings are the layouts of topologies by policy: of the policy's own, then of its
	// jobs'.
	Wirings map[string][]*result.Wiring `json:"wirings,omitempty"`
	// Plans are prepared plans, keyed by policy.
	Plans map[string]*result.Plan `json:"plans,omitempty"`
	// Tiers are the tiers of a machine, keyed by policy.
	Tiers map[string][]result.Tier `json:"tiers,omitempty"`
	// Moment is the time in seconds at which the free cubes of a fleet are most
	// fragmented; 0 for other runs.
	Moment float64 `json:"moment"`
}

// Sweep is the data of a sweep.
type Sweep struct {
	Sweep    *result.Sweep        `json:"sweep"`
	Took     *result.SweepTimings `json:"took"`
	Plots    []result.Plot        `json:"plots"`
	Metric   string               `json:"metric"` // main metric
	NumCells int                  `json:"all"`    // number of cells, including those without results
	// Relative states, keyed by metric, why its values cannot be ranked: they are relative to
	// different ideal fabrics.
	Relative map[string]string `json:"relative,omitempty"`
}

// Comparison is the data of a comparison.
type Comparison struct {
	Comparison *compare.Comparison      `json:"comparison"`
	Keys       []string                 `json:"keys"`  // keys of the parts in which names of rows differ
	Words      []compare.DifferenceText `json:"words"` // formatted differences, in order
	Summary    string                   `json:"summary"`
	Rules      string                   `json:"rules"`
}

// RunDocument returns the document of a run.
func RunDocument(run *result.Run) Document {
	d := Document{Kind: "run", Name: nameOf(run.Document.Scenario, run.Dir), Title: run.Detail.Title, TOML: string(run.Scenario)}
	d.Run = &Run{
		Result: &run.Document, Timings: &run.Timings, Detail: &run.Detail,
		Table: report.ResultsOf(run), Notes: report.Notes(run), Explain: map[string]string{}, Plans: map[string]*result.Plan{}, Tiers: map[string][]result.Tier{}, NetOf: map[string]int{}, Wirings: map[string][]*result.Wiring{},
	}
	for i := range run.Detail.Policies {
		p := &run.Detail.Policies[i]
		if p.Schedule != nil && len(p.Schedule.Phases) > 0 {
			d.Plans[p.Policy] = p.Schedule.Plan()
		}
		for _, of := range slices.Concat([]result.Simulation{*p}, p.Jobs) {
			if p.Topology != nil && of.Topology != nil { // either all jobs have a topology or none
				d.Wirings[p.Policy] = append(d.Wirings[p.Policy], of.Topology.Wiring())
			}
		}
		// Policies with the same network share a layout.
		if n := p.Net(); n != nil {
			at := slices.IndexFunc(d.Nets, n.SameLayout)
			if at < 0 {
				at, d.Nets = len(d.Nets), append(d.Nets, n)
			}
			d.NetOf[p.Policy] = at
		}
	}

	_, worst := run.Detail.WorstFragmentation()
	d.Moment = worst.AtS
	for i := range run.Document.Rows {
		policy := run.Document.Rows[i].Policy
		if tiers := result.Tiers(&run.Document.Rows[i]); tiers != nil {
			d.Tiers[policy] = tiers
		}
		if words := report.Explanation(run, policy); words != "" {
			d.Explain[policy] = words
		}
	}
	return d
}

// SweepDocument returns the document of a sweep stored in dir. study is the text of its
// study. numCells is the number of cells of a complete sweep.
func SweepDocument(dir string, s *result.Sweep, t *result.SweepTimings, plots []result.Plot, study []byte, all int) (Document, error) {
	metric, err := report.SweepMetric(s, plots, "", nil)
	d := Document{Kind: "sweep", Name: nameOf(s.Name, dir), Title: s.Title, TOML: string(study)}
	d.Sweep = &Sweep{s, t, plots, metric, all, unrankedMetrics(s)}
	return d, err
}

// unrankedMetrics returns the metrics that are relative to different ideal fabrics, with the reason
// why their values cannot be ranked.
func unrankedMetrics(s *result.Sweep) map[string]string {
	unranked := map[string]string{}
	for name := range s.MetricNames() {
		if differs := s.ReferenceDifference(name, nil); differs != nil {
			unranked[name] = differs.String()
		}
	}
	return unranked
}

// runsAsSweep returns the rows of all runs among docs as cells of a sweep over the runs.
func runsAsSweep(docs []Document) *result.Sweep {
	runs := result.Axis{Name: result.RunAxis, Keys: []string{result.RunAxis}}
	s := &result.Sweep{}
	for i := range docs {
		if docs[i].Run == nil {
			continue
		}
		for _, c := range docs[i].Result.AsSweep().Cells {
			c.At = []int{len(runs.Labels)}
			s.Cells = append(s.Cells, c)
		}
		runs.Labels = append(runs.Labels, docs[i].Name)
	}
	s.Axes = []result.Axis{runs}
	return s
}

// ComparisonDocument returns the document of a comparison.
func ComparisonDocument(c *compare.Comparison) Document {
	d := Document{Kind: "comparison", Name: "what differs", Title: fmt.Sprintf("%s -> %s", c.Old, c.New)}
	keys, _ := c.Project()
	d.Comparison = &Comparison{c, keys, c.DifferenceTexts(), c.Summary(), c.Rules()}
	return d
}

// nameOf returns the name of a scenario, followed by its directory's name if that
// differs.
func nameOf(scenario, dir string) string {
	if base := filepath.Base(dir); base != scenario && len(base) > 1 {
		return fmt.Sprintf("%s (%s)", scenario, base)
	}
	return scenario
}

// Metric is the description of a metric for views.
type Metric struct {
	Words   string `json:"words"`
	Better  string `json:"better"` // "lower", "higher" or ""
	Unit    string `json:"unit"`   // "s", "B", "B/s", "%", ...
	Format  string `json:"format"` // format of values; "" for six digits
	Meaning string `json:"means"`  // explanation in a sentence, if Words are not sufficient
	Rank    int    `json:"rank"`   // rank among main metrics, from 1; 0 for other metrics
}

// formats are the names of result.Format in the page.
var formats = map[result.Format]string{
	result.Fixed: "decimals", result.Time: "time", result.Class: "time", result.Wall: "time", result.Count: "count",
	result.Amount: "amount", result.Rate: "rate", result.Percent: "percent", result.Gap: "gap",
}

// metricsOf returns the descriptions of the metrics in documents.
func metricsOf(docs []Document) map[string]Metric {
	all := map[string]Metric{}
	add := func(names iter.Seq[string]) {
		for name := range names {
			if _, has := all[name]; has {
				continue
			}
			m, _ := result.Find(name)
			all[name] = Metric{m.Words, m.Better, m.Unit, formats[m.Format], m.Meaning, m.Main}
		}
	}
	add(slices.Values(result.WallMetrics))
	for i := range docs {
		switch d := &docs[i]; {
		case d.Run != nil:
			add(slices.Values(d.Table.Metrics))
			for _, r := range d.Result.Rows {
				add(maps.Keys(r.Metrics))
			}
		case d.Sweep != nil:
			for _, c := range d.Sweep.Sweep.Cells {
				add(maps.Keys(c.Metrics))
			}
		case d.Comparison != nil:
			for _, m := range d.Comparison.Comparison.Metrics {
				add(slices.Values([]string{m.Name}))
			}
		}
	}
	return all
}
