// This file computes the cells of a sweep with goroutines of this process.

package study

import (
	"context"
	"errors"
	"sync"

	"sim/scenarios"
	"sim/scenarios/result"
)

// LocalRunner returns a Runner that computes cells with workers goroutines in this
// process. Cells of one variant share the work that is common to their policies.
func LocalRunner(workers int) Runner {
	return func(ctx context.Context, p *Plan, todo []int, done func(int, *Record) error) error {
		l := newBatchRunner(p, todo, done)
		ignoreSaved := func([]int, []*Record) {} // no other worker waits for the batch
		return l.run(ctx, workers, l.nextBatch, ignoreSaved)
	}
}

// run computes batches with workers goroutines until take returns no more batches.
//
// take returns the next batch with a context for it, or nil if none remains. If that context
// ends first, for example because a lease is lost, the batch is returned to todo. saved is
// called after the records of a batch are stored.
func (l *batchRunner) run(ctx context.Context, workers int, take func(context.Context) ([]int, context.Context, error), saved func(batch []int, records []*Record)) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var wg sync.WaitGroup
	for range min(max(1, workers), len(l.todo)) {
		wg.Go(func() {
			for ctx.Err() == nil {
				batch, within, err := take(ctx)
				if err != nil {
					cancel(err)
				}
				if batch == nil {
					return
				}
				records := l.compute(ctx, within, batch)
				switch {
				case ctx.Err() != nil:
					return
				case within.Err() != nil:
					l.mu.Lock()
					l.todo = append(l.todo, batch)
					l.mu.Unlock()
					continue
				}
				if err := l.saveRecords(batch, records, saved); err != nil {
					cancel(err)
				}
			}
		})
	}
	wg.Wait()
	return context.Cause(ctx)
}

// nextBatch returns the last batch. Values of an axis are usually increasing and so are
// run times; starting with the longest batches balances the load at the end (longest
// processing time first).
func (l *batchRunner) nextBatch(ctx context.Context) ([]int, context.Context, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	last := len(l.todo) - 1
	if last < 0 {
		return nil, nil, nil
	}
	batch := l.todo[last]
	l.todo = l.todo[:last]
	return batch, ctx, nil
}

// saveRecords stores the records of a batch.
func (l *batchRunner) saveRecords(batch []int, records []*Record, saved func(batch []int, records []*Record)) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.release(batch)
	for i, cell := range batch {
		if err := l.done(cell, records[i]); err != nil {
			return err
		}
	}
	saved(batch, records)
	return nil
}

// batchesByDecision groups cells that share a decision. A batch has the position of its
// first cell.
func batchesByDecision(p *Plan, todo []int) [][]int {
	type decision struct {
		variant int
		policy  string
	}
	var all [][]int
	at := map[decision]int{}
	for _, i := range todo {
		d := decision{p.DecisionVariant[i], p.Sweep.Cells[i].Policy}
		k, ok := at[d]
		if !ok {
			k = len(all)
			at[d], all = k, append(all, nil)
		}
		all[k] = append(all[k], i)
	}
	return all
}

// batchRunner computes batches of cells.
type batchRunner struct {
	p *Plan
	// done receives the record of each cell.
	done func(int, *Record) error

	// mu is held during calls of done. It protects the fields below.
	mu sync.Mutex
	// todo are the remaining batches, as indices of cells.
	todo   [][]int
	shared map[int]*sharedVariant // keyed by variant
}

// newBatchRunner returns a runner for the cells in todo. done receives their records.
func newBatchRunner(p *Plan, todo []int, done func(int, *Record) error) *batchRunner {
	l := &batchRunner{p: p, done: done, todo: batchesByDecision(p, todo), shared: map[int]*sharedVariant{}}
	for _, b := range l.todo {
		v := p.DecisionVariant[b[0]]
		if l.shared[v] == nil {
			l.shared[v] = &sharedVariant{}
		}
		l.shared[v].pendingBatches++
	}
	return l
}

// sharedVariant is a prepared scenario that several batches share. It is dropped when no
// batch needs it.
type sharedVariant struct {
	pendingBatches int // batches that are not done
	once           sync.Once
	prepared       *scenarios.PreparedScenario
	err            error
}

// release counts a batch as done with its variant. The caller holds the lock.
func (l *batchRunner) release(batch []int) {
	v := l.p.DecisionVariant[batch[0]]
	if l.shared[v].pendingBatches--; l.shared[v].pendingBatches == 0 {
		delete(l.shared, v)
	}
}

// compute simulates the cells of a batch until within ends. Work shared with other
// batches continues until ctx ends.
func (l *batchRunner) compute(ctx, within context.Context, batch []int) []*Record {
	l.mu.Lock()
	v := l.shared[l.p.DecisionVariant[batch[0]]]
	l.mu.Unlock()
	records, err := l.decide(ctx, within, batch, v)
	if err != nil {
		records = nil
		for _, cell := range batch {
			records = append(records, &Record{Key: l.p.Sweep.Cells[cell].Key, Failed: err.Error(), InvalidInput: errors.Is(err, scenarios.ErrInput)})
		}
	}
	return records
}

// decide computes a batch with the prepared scenario of its variant.
func (l *batchRunner) decide(ctx, within context.Context, batch []int, v *sharedVariant) ([]*Record, error) {
	// Prepare the scenario once for all batches of the variant.
	v.once.Do(func() {
		var s *scenarios.Scenario
		if s, v.err = l.p.Study.Variant(l.p.DecisionVariant[batch[0]]); v.err != nil {
			return
		}
		v.prepared, v.err = scenarios.Prepare(ctx, s)
	})
	if v.err != nil {
		return nil, v.err
	}
	// The cells of a batch are variants with the same decision.
	cellScenarios := make([]*scenarios.Scenario, len(batch))
	for i, cell := range batch {
		var err error
		if cellScenarios[i], err = l.p.Study.Variant(l.p.Variant[cell]); err != nil {
			return nil, err
		}
	}
	const workers = 1 // goroutines of a decision: other batches use the other processors
	rows, timings, err := v.prepared.DecideFor(within, l.p.Sweep.Cells[batch[0]].Policy, workers, cellScenarios...)
	if err != nil {
		return nil, err
	}
	records := make([]*Record, len(batch))
	for i, cell := range batch {
		records[i] = newRecord(l.p.Sweep.Cells[cell].Key, v.prepared, rows[i], timings)

		// Only the first cell of a batch has the times.
		timings = result.PolicyTimings{}
	}
	return records, nil
}

// newRecord returns the record of a policy's row.
func newRecord(key string, built *scenarios.PreparedScenario, row result.Row, timings result.PolicyTimings) *Record {
	reference := built.Reference()
	return &Record{
		Key: key, Table: result.TableVersion(), Build: build(), Reference: reference, Metrics: result.Derive(row.Metrics, reference), Labels: row.Labels, Samples: row.Samples, Bounds: row.Bounds,
		Timings: result.PolicyTimings{SolveS: timings.SolveS, SimulateS: timings.SimulateS},
	}
}
