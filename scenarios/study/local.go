package study

import (
	"context"
	"errors"
	"sync"

	"sim/scenarios"
	"sim/scenarios/result"
)

// Local returns the Runner that computes cells in this process, so many at a time. Cells of one variant share what
// their policies have in common.
func Local(workers int) Runner {
	return func(ctx context.Context, p *Plan, todo []int, done func(int, *Record) error) error {
		ctx, cancel := context.WithCancelCause(ctx)
		defer cancel(nil)
		l := &local{p: p, todo: batches(p, todo), shared: map[int]*variant{}}
		for _, b := range l.todo {
			v := p.Decides[b[0]]
			if l.shared[v] == nil {
				l.shared[v] = &variant{}
			}
			l.shared[v].users++
		}
		var wg sync.WaitGroup
		var mu sync.Mutex // of done
		for range min(max(1, workers), len(l.todo)) {
			wg.Go(func() {
				for ctx.Err() == nil {
					batch, v := l.take()
					if v == nil {
						return
					}
					records, err := l.compute(ctx, batch, v)
					l.release(batch)
					for i, cell := range batch {
						if ctx.Err() != nil {
							return
						}
						r := &Record{Key: p.Sweep.Cells[cell].Key}
						if err != nil {
							r.Failed, r.Input = err.Error(), errors.Is(err, scenarios.ErrInput)
						} else {
							r = records[i]
						}
						mu.Lock()
						err := done(cell, r)
						mu.Unlock()
						if err != nil {
							cancel(err)
						}
					}
				}
			})
		}
		wg.Wait()
		return context.Cause(ctx)
	}
}

// batches puts cells together that one decision serves, where the first of them is.
func batches(p *Plan, todo []int) [][]int {
	type decision struct {
		variant int
		policy  string
	}
	var all [][]int
	at := map[decision]int{}
	for _, i := range todo {
		d := decision{p.Decides[i], p.Sweep.Cells[i].Policy}
		k, ok := at[d]
		if !ok {
			k = len(all)
			at[d], all = k, append(all, nil)
		}
		all[k] = append(all[k], i)
	}
	return all
}

// local hands out batches of cells.
type local struct {
	p      *Plan
	mu     sync.Mutex
	todo   [][]int
	shared map[int]*variant
}

// variant is a scenario that several batches share while some are to come.
type variant struct {
	users int // batches that are not done
	once  sync.Once
	built *scenarios.Prepared
	err   error
}

// take returns the batch to compute next, no variant where none is left: the last, since people list values upwards and
// more of anything takes longer, so that no long one is left alone at the end.
func (l *local) take() ([]int, *variant) {
	l.mu.Lock()
	defer l.mu.Unlock()
	last := len(l.todo) - 1
	if last < 0 {
		return nil, nil
	}
	batch := l.todo[last]
	l.todo = l.todo[:last]
	return batch, l.shared[l.p.Decides[batch[0]]]
}

// release notes that a batch is done with its variant.
func (l *local) release(batch []int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	v := l.p.Decides[batch[0]]
	if l.shared[v].users--; l.shared[v].users == 0 {
		delete(l.shared, v)
	}
}

// compute simulates the cells of a batch in this goroutine.
func (l *local) compute(ctx context.Context, batch []int, v *variant) ([]*Record, error) {
	v.once.Do(func() {
		var s *scenarios.Scenario
		if s, v.err = l.p.Study.Variant(l.p.Decides[batch[0]]); v.err != nil {
			return
		}
		v.built, v.err = scenarios.Prepare(ctx, s)
	})
	if v.err != nil {
		return nil, v.err
	}
	of := make([]*scenarios.Scenario, len(batch))
	for i, cell := range batch {
		var err error
		if of[i], err = l.p.Study.Variant(l.p.Variant[cell]); err != nil {
			return nil, err
		}
	}
	rows, timings, err := v.built.DecideFor(ctx, l.p.Sweep.Cells[batch[0]].Policy, 1, of...)
	if err != nil {
		return nil, err
	}
	records := make([]*Record, len(batch))
	for i, cell := range batch {
		records[i] = newRecord(l.p.Sweep.Cells[cell].Key, v.built, rows[i], timings)
		timings = result.PolicyTimings{} // others took none
	}
	return records, nil
}

// newRecord returns what a prepared scenario's policy reached.
func newRecord(key string, built *scenarios.Prepared, row result.Row, timings result.PolicyTimings) *Record {
	reference := built.Reference()
	return &Record{
		Key: key, Table: result.TableVersion(), Reference: reference, Metrics: result.Derive(row.Metrics, reference), Labels: row.Labels, Samples: row.Samples, Bounds: row.Bounds,
		Timings: result.PolicyTimings{SolveS: timings.SolveS, SimulateS: timings.SimulateS},
	}
}
