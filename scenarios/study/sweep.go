// Package study runs sweeps. NewPlan lists the cells of a study: one per variant of the scenario
// and policy. Execute computes the cells that a Store does not have, several at a time, and
// stores each finished cell immediately. An interrupted sweep therefore continues after the last
// finished cell.
//
// A Runner determines where cells are computed: in this process (LocalRunner), shared with other
// workers through a directory (Join), or on other machines through a queue (Task, RunTask).
//
// Package scenarios defines cells and simulates them; scenarios/result defines the files; the
// command has flags, progress and tables. Begin reading with Plan, Execute and Store.
package study

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"sync"

	"sim/internal/alias"
	"sim/internal/parallel"
	"sim/scenarios"
	"sim/scenarios/result"
)

// Plan is a study with all its cells: variants in the order of the study, each with its
// policies in their order.
type Plan struct {
	Study *scenarios.Study
	Sweep result.Sweep // all cells, without results
	// Variant is the study's variant of each cell, indexed by cell.
	Variant []int
	// DecisionVariant is the first variant with the same scenarios.Scenario.DecisionKey,
	// indexed by cell. The policy's decision for that variant is used for the cell, too.
	DecisionVariant []int

	costEstimates []scenarios.Cost // costs of variants; set by the first forecast
}

const (
	// maxFaults is the number of reported errors, about a screen. More are rarely corrected at
	// once.
	maxFaults = 20

	// variantsPerCheck is the number of variants that are checked before found errors are
	// reported, in about a second.
	variantsPerCheck = 10_000

	// maxSuspects is the number of variants of a large study that are checked first, because
	// they are the likeliest to be invalid.
	maxSuspects = 1000
)

// maxCells is the maximum number of cells of a sweep; each takes about one kilobyte of
// memory.
const maxCells = 1_000_000

// NewPlan lists the cells of a study and checks every variant. An error of type
// scenarios.Diagnostics has the errors of all variants, or of the first batch of
// variantsPerCheck with errors.
func NewPlan(ctx context.Context, st *scenarios.Study) (*Plan, error) {
	digest, err := st.Digest()
	if err != nil {
		return nil, err
	}
	p := &Plan{Study: st, Sweep: result.Sweep{
		Schema: result.SweepSchema, Name: st.Name, Title: st.Title, Digest: digest,
		Version: result.Version, Model: result.Model, Axes: st.ResultAxes(),
	}}
	// Limit the number of cells.
	n := st.Variants()
	if s, err := st.Variant(0); err == nil { // its errors are reported below
		if count := n * len(s.PolicyNames()); count > maxCells {
			return nil, scenarios.Diagnostics{{
				File: st.Name, Key: "sweep", Problem: fmt.Sprintf("makes %d cells: %d variants of %d policies", count, n, len(s.PolicyNames())),
				Remedy: fmt.Sprintf("vary fewer keys or values, for at most %d", maxCells),
			}}
		}
	}

	// Large studies are checked without keys first, so that errors are reported early.
	// Checking a variant is several times faster than computing the keys of its cells.
	if n > variantsPerCheck {
		ignore := func(int, *scenarios.Scenario) {}
		if err := checkVariants(ctx, st, st.SuspectVariants(maxSuspects), ignore); err != nil {
			return nil, err
		}
		if err := checkVariants(ctx, st, indices(n), ignore); err != nil {
			return nil, err
		}
	}

	// Compute the keys of all cells. They are indexed by variant here.
	cells := make([][]result.Cell, n)
	decisions := make([]string, n)
	err = checkVariants(ctx, st, indices(n), func(i int, s *scenarios.Scenario) {
		decisions[i] = s.DecisionKey()
		for _, policy := range s.PolicyNames() {
			cells[i] = append(cells[i], result.Cell{
				At: st.AxisIndices(i), Policy: policy, Key: s.WithPolicy(policy).CellKey(), Scenario: s.Name, Seed: s.Seed,
			})
		}
	})
	if err != nil {
		return nil, err
	}

	// first is the first variant of each decision key. Variants without a key share no
	// decision.
	first := map[string]int{}
	for i := range cells {
		by := i
		if key := decisions[i]; key != "" {
			if _, ok := first[key]; !ok {
				first[key] = i
			}
			by = first[key]
		}
		for range cells[i] {
			p.Variant, p.DecisionVariant = append(p.Variant, i), append(p.DecisionVariant, by)
		}
		p.Sweep.Cells = append(p.Sweep.Cells, cells[i]...)
		cells[i] = nil
	}
	return p, nil
}

// indices returns the numbers from 0 to n-1.
func indices(n int) []int {
	list := make([]int, n)
	for i := range list {
		list[i] = i
	}
	return list
}

// checkVariants checks variants of a study in batches. It calls each for valid variants,
// from several goroutines. An error of type scenarios.Diagnostics has the errors of the
// first batch with errors.
func checkVariants(ctx context.Context, st *scenarios.Study, variants []int, each func(i int, s *scenarios.Scenario)) error {
	for batch := range slices.Chunk(variants, variantsPerCheck) {
		faults := make([]scenarios.Diagnostics, len(batch))
		err := parallel.Do(ctx, runtime.GOMAXPROCS(0), len(batch), func(k int) {
			s, err := st.Variant(batch[k])
			switch {
			case err == nil:
				each(batch[k], s)
			case !errors.As(err, &faults[k]):
				faults[k] = scenarios.Diagnostics{{File: st.Name, Problem: err.Error()}}
			}
		})
		if err != nil {
			return err
		}
		var all scenarios.Diagnostics
		for _, fs := range faults {
			for _, f := range fs {
				if len(all) < maxFaults && !slices.Contains(all, f) {
					all = append(all, f)
				}
			}
		}
		if len(all) > 0 {
			return all
		}
	}
	return nil
}

// Record is the result of a cell.
type Record struct {
	Key string `json:"key"`
	// Table is the version of the table of metrics at the time of the computation.
	Table int `json:"table,omitempty"`
	// Build is a digest of the executable that computed the cell; "" if it is unknown.
	Build     string               `json:"build,omitempty"`
	Reference map[string]float64   `json:"reference,omitempty"`
	Metrics   map[string]float64   `json:"metrics,omitempty"`
	Labels    map[string]string    `json:"labels,omitempty"`
	Samples   map[string][]float64 `json:"samples,omitempty"`
	Bounds    *result.Bounds       `json:"bounds,omitempty"`
	Timings   result.PolicyTimings `json:"timings"`
	Failed    string               `json:"failed,omitempty"`
	// InvalidInput reports that the input is invalid (scenarios.ErrInput), so the cell always fails.
	InvalidInput bool `json:"input,omitempty"`
}

// build returns a digest of this executable, or "" if it cannot be read.
var build = sync.OnceValue(func() string {
	path, err := os.Executable()
	if err != nil {
		return ""
	}
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, f); err != nil {
		return ""
	}
	const bytes = 8 // enough to distinguish builds
	return hex.EncodeToString(sum.Sum(nil)[:bytes])
})

// rename gives metrics and labels in a record of an older version their current names.
func (r *Record) rename() {
	r.Reference = result.CurrentNames(r.Reference, alias.Metric)
	r.Metrics = result.CurrentNames(r.Metrics, alias.Metric)
	r.Samples = result.CurrentNames(r.Samples, alias.Metric)
	r.Labels = result.CurrentNames(r.Labels, alias.Label)
}

// Runner computes the cells of p whose indices are in todo. It calls done for each, in
// any order and from one goroutine at a time. It fails if done fails, ctx ends, or no
// more cells can be computed. A cell that fails is a Record with Failed set.
type Runner func(ctx context.Context, p *Plan, todo []int, done func(cell int, r *Record) error) error

// Options state how a sweep is run. They do not change results.
type Options struct {
	Run      Runner
	Progress func(done, total, failed int) // called from one goroutine at a time; may be nil
}

// Status is the progress of a sweep.
type Status struct {
	Total    int // number of cells
	Known    int // cells that were stored before
	Computed int
	Failed   []int // indices of failed cells, sorted
	// Unusable is the number of failed cells with invalid input, which fail each time.
	Unusable int
}

// Execute computes the cells of p that store does not have. The status is also valid if
// Execute fails.
func Execute(ctx context.Context, p *Plan, store *Store, opt Options) (Status, error) {
	var st Status
	var todo []int
	// Find the cells without a result. Cells with equal keys are computed once.
	known := map[string]bool{}
	for i := range p.Sweep.Cells {
		st.Total++
		key := p.Sweep.Cells[i].Key
		switch {
		case store.Has(key):
			st.Known++
		case known[key]:
			// The same scenario and policy at other coordinates.
			st.Total--
		default:
			known[key] = true
			todo = append(todo, i)
		}
	}

	progress := opt.Progress
	if progress == nil {
		progress = func(int, int, int) {}
	}
	progress(st.Known, st.Total, 0)
	var err error
	if len(todo) > 0 {
		err = opt.Run(ctx, p, todo, func(cell int, r *Record) error {
			if r.Failed != "" {
				st.Failed = append(st.Failed, cell)
				if r.InvalidInput {
					st.Unusable++
				}
				store.failures[r.Key] = r.Failed
			} else if store.records[r.Key] == r { // computed by another worker
				st.Known++
			} else {
				if err := store.Put(r); err != nil {
					return err
				}
				st.Computed++
			}
			progress(st.Known+st.Computed, st.Total, len(st.Failed))
			return nil
		})
	}
	slices.Sort(st.Failed)
	return st, err
}

// Fill returns p's sweep with the results in store, and their wall-clock times.
func (p *Plan) Fill(store *Store) (*result.Sweep, *result.SweepTimings) {
	return fill(p.Sweep, store)
}

// fill returns s with the results in store, and their wall-clock times.
func fill(s result.Sweep, store *Store) (*result.Sweep, *result.SweepTimings) {
	s.Cells = slices.Clone(s.Cells)
	t := &result.SweepTimings{Cells: map[string]result.PolicyTimings{}}
	for i := range s.Cells {
		c := &s.Cells[i]
		r := store.records[c.Key]
		if r == nil {
			c.Failed = store.Failure(c.Key)
			continue
		}
		c.Reference, c.Metrics, c.Labels, c.Samples = r.Reference, result.Derive(r.Metrics, r.Reference), r.Labels, r.Samples
		t.Cells[c.Key] = r.Timings
	}
	shareBounds(s.Cells, store)
	return &s, t
}

// shareBounds shares bounds between cells of one variant, as between the rows of a run.
// The store keeps only the bounds that each cell proves itself, because cells may later
// be combined with others.
func shareBounds(cells []result.Cell, store *Store) {
	for first := 0; first < len(cells); {
		end := first + 1
		for end < len(cells) && slices.Equal(cells[end].At, cells[first].At) {
			end++
		}
		// Share the bounds among the cells of a variant, which are consecutive.
		variant := cells[first:end]
		rows := make([]result.Row, len(variant))
		for i := range variant {
			if r := store.records[variant[i].Key]; r != nil {
				rows[i] = result.Row{Metrics: variant[i].Metrics, Labels: r.Labels, Bounds: r.Bounds}
			}
		}
		result.ShareBounds(rows)
		for i := range variant {
			if rows[i].Bounds != nil {
				variant[i].Metrics, variant[i].Labels = rows[i].Metrics, rows[i].Labels
			}
		}
		first = end
	}
}

// Name returns the name of cell i for messages.
func (p *Plan) Name(i int) string {
	return p.Sweep.NameOf(&p.Sweep.Cells[i]).String()
}
