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

// Document is a result that a page shows. Kind says which of the three parts it has; the others are nil.
type Document struct {
	Kind  string `json:"kind"` // "run", "sweep" or "comparison"
	Name  string `json:"name"` // unlike those of the page's other documents
	Title string `json:"title"`
	TOML  string `json:"toml,omitempty"` // the scenario as it was resolved, or the study

	*Run
	*Sweep
	*Comparison
}

// Run is what a page knows of a run.
type Run struct {
	Result  *result.Document  `json:"result"`
	Timings *result.Timings   `json:"timings"`
	Detail  *result.Detail    `json:"detail"`
	Table   report.Results    `json:"table"`   // as sim run prints it
	Notes   string            `json:"notes"`   // below the table, a paragraph a line
	Explain map[string]string `json:"explain"` // by policy, as sim explain prints it, a paragraph a line
	// Nets are layouts of links, and NetOf says which a policy has.
	Nets  []*result.NetworkLayout `json:"nets,omitempty"`
	NetOf map[string]int          `json:"net_of,omitempty"`
	// Wirings are the layouts of a policy's topology and then of those of its jobs.
	Wirings map[string][]*result.Wiring `json:"wirings,omitempty"`
	// Plans are the plans of policies that have one, prepared.
	Plans map[string]*result.Plan `json:"plans,omitempty"`
	// Tiers are what rows say of the tiers of a machine, by policy.
	Tiers map[string][]result.Tier `json:"tiers,omitempty"`
	// Moment is when free cubes of a fleet are most fragmented, in seconds; 0 of other runs.
	Moment float64 `json:"moment"`
}

// Sweep is what a page knows of a sweep.
type Sweep struct {
	Sweep    *result.Sweep        `json:"sweep"`
	Took     *result.SweepTimings `json:"took"`
	Plots    []result.Plot        `json:"plots"`
	Metric   string               `json:"metric"` // that tells most of its cells
	NumCells int                  `json:"all"`    // cells that there are to be
}

// Comparison is what a page knows of a comparison.
type Comparison struct {
	Comparison *compare.Comparison      `json:"comparison"`
	Keys       []string                 `json:"keys"`  // of the parts that tell its rows apart
	Words      []compare.DifferenceText `json:"words"` // of its differences, in their order
	Summary    string                   `json:"summary"`
	Rules      string                   `json:"rules"`
}

// RunDocument is the document of a run.
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
			if p.Topology != nil && of.Topology != nil { // all jobs have one, or none
				d.Wirings[p.Policy] = append(d.Wirings[p.Policy], of.Topology.Wiring())
			}
		}
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

// SweepDocument is the document of a sweep that is kept in dir, with the text of its study, of which all cells there are to be
// may not be there yet.
func SweepDocument(dir string, s *result.Sweep, t *result.SweepTimings, plots []result.Plot, study []byte, all int) (Document, error) {
	metric, err := report.SweepMetric(s, plots, "")
	d := Document{Kind: "sweep", Name: nameOf(s.Name, dir), Title: s.Title, TOML: string(study)}
	d.Sweep = &Sweep{s, t, plots, metric, all}
	return d, err
}

// ComparisonDocument is the document of a comparison.
func ComparisonDocument(c *compare.Comparison) Document {
	d := Document{Kind: "comparison", Name: "what differs", Title: fmt.Sprintf("%s -> %s", c.Old, c.New)}
	keys, _ := c.Project()
	d.Comparison = &Comparison{c, keys, c.DifferenceTexts(), c.Summary(), c.Rules()}
	return d
}

// nameOf is the name of a scenario with, where it says something else, that of the directory that its results are in.
func nameOf(scenario, dir string) string {
	if base := filepath.Base(dir); base != scenario && len(base) > 1 {
		return fmt.Sprintf("%s (%s)", scenario, base)
	}
	return scenario
}

// Metric is what views know of a metric.
type Metric struct {
	Words   string `json:"words"`
	Better  string `json:"better"` // "lower", "higher" or ""
	Unit    string `json:"unit"`   // "s", "B", "B/s", "%", ...
	Format  string `json:"format"` // how values are printed; "" with six digits
	Meaning string `json:"means"`  // what it is in a sentence, where Words leave that open
	Rank    int    `json:"rank"`   // among those that tell most of a result, from 1; 0 of others
}

// formats are the names of result.Format.
var formats = map[result.Format]string{
	result.Fixed: "decimals", result.Time: "time", result.Class: "time", result.Wall: "time", result.Count: "count",
	result.Amount: "amount", result.Rate: "rate", result.Percent: "percent", result.Gap: "gap",
}

// metricsOf returns what is to know of the metrics of documents.
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
