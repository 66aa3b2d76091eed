package sweep

import (
	"context"
	"errors"
	"math"
	"sync"

	"sim/scenarios"
	"sim/scenarios/result"
)

// Local returns the Runner that computes cells in this process, so many at a
// time. Cells of one variant share what their policies have in common.
func Local(workers int) Runner {
	return func(ctx context.Context, p *Plan, todo []int, done func(int, *Record) error) error {
		ctx, cancel := context.WithCancelCause(ctx)
		defer cancel(nil)
		l := &local{p: p, todo: todo, shared: map[int]*variant{}, mean: map[string]float64{}}
		for _, i := range todo {
			l.uses(p.Variant[i], 1)
		}
		var wg sync.WaitGroup
		var mu sync.Mutex // of done
		for range min(max(1, workers), len(todo)) {
			wg.Go(func() {
				for ctx.Err() == nil {
					cell, v := l.take()
					if v == nil {
						return
					}
					r, err := l.compute(ctx, cell, v)
					l.release(cell, r)
					if ctx.Err() != nil {
						return
					}
					if err != nil {
						r = &Record{Key: p.Sweep.Cells[cell].Key, Failed: err.Error(), Input: errors.Is(err, scenarios.ErrInput)}
					}
					mu.Lock()
					err = done(cell, r)
					mu.Unlock()
					if err != nil {
						cancel(err)
					}
				}
			})
		}
		wg.Wait()
		return context.Cause(ctx)
	}
}

// local hands out cells.
type local struct {
	p      *Plan
	mu     sync.Mutex
	todo   []int
	shared map[int]*variant
	mean   map[string]float64 // seconds a cell took, by policy, lately
	held   int                // tasks of the scenarios that are kept
}

// variant is a scenario that several cells share while some are to come.
type variant struct {
	users int  // cells that are to come
	begun bool // or done
	tasks int
	once  sync.Once
	built *scenarios.Prepared
	err   error
}

func (l *local) uses(v, n int) {
	if l.shared[v] == nil {
		l.shared[v] = &variant{}
	}
	l.shared[v].users += n
}

const (
	// ahead is how far from the first cell that is to be done another may be
	// taken.
	ahead = 256
	// held is the number of tasks in scenarios that are kept for several cells
	// beyond which no further scenario is begun while one is left to finish.
	held = 400_000
)

// take returns the cell to compute next, no variant where none is left. Cells
// that take long are begun early, so that none is left alone at the end: those
// of policies that took long so far, and of these the last, since people list
// values upwards and more of anything takes longer.
func (l *local) take() (int, *variant) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.todo) == 0 {
		return 0, nil
	}
	full := l.held > held
	best, longest := 0, -1.0
	for k := min(ahead, len(l.todo)) - 1; k >= 0; k-- {
		cell := l.todo[k]
		if full && !l.shared[l.p.Variant[cell]].begun && k > 0 {
			continue
		}
		mean, known := l.mean[l.p.Sweep.Cells[cell].Policy]
		if !known {
			mean = math.Inf(1)
		}
		if mean > longest {
			best, longest = k, mean
		}
	}
	cell := l.todo[best]
	copy(l.todo[1:best+1], l.todo[:best])
	l.todo = l.todo[1:]
	v := l.shared[l.p.Variant[cell]]
	v.begun = true
	if policy := l.p.Sweep.Cells[cell].Policy; longest > 1e300 {
		l.mean[policy] = 0 // another worker tries another policy first
	}
	return cell, v
}

// release notes that a cell is done with its variant.
func (l *local) release(cell int, r *Record) {
	l.mu.Lock()
	defer l.mu.Unlock()
	v := l.p.Variant[cell]
	if l.shared[v].users--; l.shared[v].users == 0 {
		l.held -= l.shared[v].tasks
		delete(l.shared, v)
	}
	if r != nil {
		policy, took := l.p.Sweep.Cells[cell].Policy, r.Timings.SolveS+r.Timings.PlayS
		if mean := l.mean[policy]; mean > 0 {
			took = mean + (took-mean)/4
		}
		l.mean[policy] = took
	}
}

// compute plays one cell in this goroutine.
func (l *local) compute(ctx context.Context, cell int, v *variant) (*Record, error) {
	v.once.Do(func() {
		var s *scenarios.Scenario
		if s, v.err = l.p.Study.Variant(l.p.Variant[cell]); v.err != nil {
			return
		}
		if v.built, v.err = scenarios.Prepare(s); v.err == nil {
			l.mu.Lock()
			v.tasks = v.built.Tasks()
			l.held += v.tasks
			l.mu.Unlock()
		}
	})
	if v.err != nil {
		return nil, v.err
	}
	c := &l.p.Sweep.Cells[cell]
	return record(ctx, c.Key, v.built, c.Policy)
}

// record computes what a prepared scenario's policy reaches.
func record(ctx context.Context, key string, built *scenarios.Prepared, policy string) (*Record, error) {
	row, timings, err := built.Decide(ctx, policy, 1)
	if err != nil {
		return nil, err
	}
	return &Record{
		Key: key, Reference: built.Reference(), Metrics: row.Metrics, Labels: row.Labels, Samples: row.Samples, Bounds: row.Bounds,
		Timings: result.PolicyTimings{SolveS: timings.SolveS, PlayS: timings.PlayS},
	}, nil
}
