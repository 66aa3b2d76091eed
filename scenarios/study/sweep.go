// Package study runs studies: it lists the cells of a study, computes those that are missing, each in one goroutine and
// several at a time, and keeps every finished cell at once, so that a sweep that was stopped goes on where it was.
// Where cells are computed is a Runner's matter: here, or on other machines by way of a queue.
//
// What a cell is, and how it is simulated, is left to package scenarios; what the files mean to package
// scenarios/result; flags, progress and tables to the command.
package study

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"sim/scenarios"
	"sim/scenarios/result"
)

// Plan is a study with all its cells: variants in the order of the study, and for each its policies in their order.
type Plan struct {
	Study *scenarios.Study
	Sweep result.Sweep // its cells without results
	// Variant is, by cell, the study's variant that it is of.
	Variant []int
	// DecisionVariant is, by cell, the first variant with the same scenarios.Scenario.DecisionKey: what its policy decides
	// serves the cell.
	DecisionVariant []int

	costEstimates []scenarios.Cost // of its variants, after the first forecast
}

// most is how many faults are told of, and together how many variants are checked before those found are told.
const (
	maxFaults        = 20
	variantsPerCheck = 10_000
)

// maxSuspects is how many variants of a large study are checked before all others.
const maxSuspects = 1000

// maxCells bounds the cells of a sweep, of which each takes about a kilobyte.
const maxCells = 1_000_000

// NewPlan lists the cells of a study. It checks every variant; the error, of type scenarios.Diagnostics, holds the
// faults of all, or of the first thousands that have some.
func NewPlan(ctx context.Context, st *scenarios.Study) (*Plan, error) {
	digest, err := st.Digest()
	if err != nil {
		return nil, err
	}
	p := &Plan{Study: st, Sweep: result.Sweep{
		Schema: result.SweepSchema, Name: st.Name, Title: st.Title, Digest: digest,
		Version: result.Version, Model: result.Model, Axes: st.ResultAxes(),
	}}
	n := st.Variants()
	if s, err := st.Variant(0); err == nil { // else its faults are told with those of the others
		if count := n * len(s.PolicyNames()); count > maxCells {
			return nil, scenarios.Diagnostics{{
				File: st.Name, Key: "sweep", Problem: fmt.Sprintf("makes %d cells: %d variants of %d policies", count, n, len(s.PolicyNames())),
				Remedy: fmt.Sprintf("vary fewer keys or values, for at most %d", maxCells),
			}}
		}
	}
	if n > variantsPerCheck { // naming a cell takes several times as long as checking its variant
		if err := checkVariants(ctx, st, st.Suspects(maxSuspects), nil); err != nil {
			return nil, err
		}
		if err := checkVariants(ctx, st, indices(n), nil); err != nil {
			return nil, err
		}
	}
	cells := make([][]result.Cell, n)
	decisions := make([]string, n)
	err = checkVariants(ctx, st, indices(n), func(i int, s *scenarios.Scenario) {
		decisions[i] = s.DecisionKey()
		for _, policy := range s.PolicyNames() {
			cells[i] = append(cells[i], result.Cell{
				At: st.At(i), Policy: policy, Key: s.Only(policy).CellKey(), Scenario: s.Name, Seed: s.Seed,
			})
		}
	})
	if err != nil {
		return nil, err
	}
	first := map[string]int{"": -1}
	for i := range cells {
		if _, ok := first[decisions[i]]; !ok {
			first[decisions[i]] = i
		}
		by := first[decisions[i]]
		if by < 0 {
			by = i
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

// checkVariants checks the given variants of a study in batches, and calls each of those without a fault, from several
// goroutines; each may be nil. The error, of type scenarios.Diagnostics, holds the faults of the first batch with some.
func checkVariants(ctx context.Context, st *scenarios.Study, variants []int, each func(i int, s *scenarios.Scenario)) error {
	for batch := range slices.Chunk(variants, variantsPerCheck) {
		faults := make([]scenarios.Diagnostics, len(batch))
		err := parallel(ctx, runtime.GOMAXPROCS(0), len(batch), func(k int) {
			s, err := st.Variant(batch[k])
			switch {
			case err == nil && each != nil:
				each(batch[k], s)
			case err != nil && !errors.As(err, &faults[k]):
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

// parallel calls f for 0..n-1 from several goroutines.
func parallel(ctx context.Context, workers, n int, f func(i int)) error {
	var wg sync.WaitGroup
	var next atomic.Int64
	for range min(workers, n) {
		wg.Go(func() {
			for i := int(next.Add(1)) - 1; i < n && ctx.Err() == nil; i = int(next.Add(1)) - 1 {
				f(i)
			}
		})
	}
	wg.Wait()
	return ctx.Err()
}

// Record is what came of a cell.
type Record struct {
	Key          string               `json:"key"`
	Table        int                  `json:"table,omitempty"` // version of the table of metrics that it was computed with
	Reference    map[string]float64   `json:"reference,omitempty"`
	Metrics      map[string]float64   `json:"metrics,omitempty"`
	Labels       map[string]string    `json:"labels,omitempty"`
	Samples      map[string][]float64 `json:"samples,omitempty"`
	Bounds       *result.Bounds       `json:"bounds,omitempty"`
	Timings      result.PolicyTimings `json:"timings"`
	Failed       string               `json:"failed,omitempty"`
	InvalidInput bool                 `json:"input,omitempty"` // it failed by a fault of the input (scenarios.ErrInput)
}

// Runner computes the cells of p that todo lists and calls done for each, from one goroutine at a time and in any
// order. It ends early with an error where done fails, ctx ends or no more cells can be computed; a cell that fails by
// itself is a Record that says so.
type Runner func(ctx context.Context, p *Plan, todo []int, done func(cell int, r *Record) error) error

// Options say how a sweep is run; none of it changes a result.
type Options struct {
	Run      Runner
	Progress func(done, total, failed int) // called from one goroutine at a time; may be nil
}

// Status says how far a sweep has come.
type Status struct {
	Total    int // cells
	Known    int // that were there before
	Computed int
	Failed   []int // cells, in order
	Unusable int   // of these, by faults of the input: they fail each time
}

// Execute computes the cells of p that store does not hold. The status is valid also if Execute fails.
func Execute(ctx context.Context, p *Plan, store *Store, opt Options) (Status, error) {
	var st Status
	var todo []int
	known := map[string]bool{}
	for i := range p.Sweep.Cells {
		st.Total++
		key := p.Sweep.Cells[i].Key
		switch {
		case store.Has(key):
			st.Known++
		case known[key]: // the same scenario in another place
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
			} else if store.records[r.Key] == r { // another worker's
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

// Fill returns p's sweep with the results that store holds, and the times that they took.
func (p *Plan) Fill(store *Store) (*result.Sweep, *result.SweepTimings) {
	return fill(p.Sweep, store)
}

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

// shareBounds has cells of one variant share their bounds, as the rows of a run do. What store holds stays what each
// cell proves by itself: it may come to stand beside others.
func shareBounds(cells []result.Cell, store *Store) {
	for first := 0; first < len(cells); {
		end := first + 1
		for end < len(cells) && slices.Equal(cells[end].At, cells[first].At) {
			end++
		}
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

// Name says which cell i is, for messages.
func (p *Plan) Name(i int) string {
	return p.Sweep.NameOf(&p.Sweep.Cells[i]).String()
}
