package study

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"time"

	"sim/scenarios/result"
)

// Join opens or makes a directory, as Open does, that several workers share, on one machine or on more: each takes cells
// that nobody has taken, keeps a journal of its own and reads those of the others. What it says of itself is good for
// term, and then its cells are others' to take; it is renewed all the time. Workers of another sweep or of another version
// of sim are refused, with a *result.PlaceError. Store.Joined computes the cells.
func Join(dir string, p *Plan, study []byte, manifest result.Manifest, term time.Duration) (*Store, error) {
	if err := CheckDir(dir, p.Claim(false)); err != nil {
		return nil, err
	}
	there, _, err := result.ReadPlan(dir)
	if err == nil && (there.Version != p.Sweep.Version || there.Model != p.Sweep.Model) {
		return nil, &result.PlaceError{Path: dir, Why: fmt.Sprintf(
			"holds a sweep of sim %s, models %d, and this is sim %s, models %d; use one build of sim everywhere, or choose another directory with --out",
			there.Version, there.Model, p.Sweep.Version, p.Sweep.Model)}
	}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return nil, result.Unwritable(dir, err)
	}
	s := newStore(dir)
	s.journalOffsets = map[string]int64{}
	if s.leases, err = openLeases(dir, p, term); err != nil {
		return nil, err
	}
	if err = s.openJournal("cells-" + s.leases.owner + ".jsonl"); err != nil {
		s.leases.close()
		return nil, err
	}
	if there != nil && there.Digest == p.Sweep.Digest {
		err = s.readAll(dir) // the first worker wrote what is to be done
	} else {
		err = s.initialize(p, study, manifest)
	}
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// Joined returns the Runner of a directory that Join opened: it computes cells in this process, so many at a time, until
// each has a result or has failed, here or elsewhere.
func (s *Store) Joined(workers int) Runner {
	return func(ctx context.Context, p *Plan, todo []int, done func(int, *Record) error) error {
		j := &sharedRunner{Store: s, batchRunner: newBatchRunner(p, todo, done), names: leaseNames(p)}
		for _, b := range j.todo {
			s.leases.observe(j.names[b[0]])
		}
		return j.run(ctx, workers, j.nextBatch, j.recordOutcome)
	}
}

// leaseNames returns what cells are called in the leases: those that one decision serves are leased together.
func leaseNames(p *Plan) []string {
	names := make([]string, len(p.Sweep.Cells))
	for _, b := range batchesByDecision(p, indices(len(names))) {
		for _, i := range b {
			names[i] = strconv.Itoa(b[0] + 1)
		}
	}
	return names
}

// sharedRunner hands out the batches of a worker among others: those that nobody else computes. What it reads of others is done,
// too.
type sharedRunner struct {
	*Store
	*batchRunner
	names []string

	lastRead           time.Time // when those journals of others were read
	leasesMissingSince time.Time // since when there are no leases, the zero time where there are
}

func (j *sharedRunner) nextBatch(ctx context.Context) ([]int, context.Context, error) {
	for {
		batch, within, left, err := j.tryNextBatch(ctx)
		if batch != nil || !left || err != nil {
			return batch, within, err
		}
		if err := sleep(ctx, j.leases.pollInterval()); err != nil {
			return nil, nil, err
		}
	}
}

// tryNextBatch is take, which does not wait: left tells that others have what is left.
func (j *sharedRunner) tryNextBatch(ctx context.Context) (batch []int, within context.Context, left bool, err error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if err := j.readOthers(); err != nil {
		return nil, nil, false, err
	}
	for k := len(j.todo) - 1; k >= 0; k-- { // in the order of a worker that is alone
		b := j.todo[k]
		within, lose := context.WithCancel(ctx)
		ours, other, err := j.leases.acquire(j.names[b[0]], lose)
		switch {
		case ours:
			j.todo = slices.Delete(j.todo, k, k+1)
			return b, within, true, nil
		case errors.Is(err, errLeasesRemoved):
			if j.leasesMissingSince.IsZero() {
				j.leasesMissingSince = time.Now()
			} else if time.Since(j.leasesMissingSince) > j.leases.term { // and the journals do not come to be seen
				err = fmt.Errorf("%s: the leases of its workers were removed, and %d cells have no result; run the same command again", j.Dir, len(j.todo))
			}
			if err == errLeasesRemoved {
				err = nil
			}
		case other.Failed != "":
			j.todo = slices.Delete(j.todo, k, k+1)
			j.release(b)
			for _, cell := range b {
				if err == nil {
					err = j.done(cell, &Record{Key: j.p.Sweep.Cells[cell].Key, Failed: other.Failed, InvalidInput: other.Input})
				}
			}
		}
		lose()
		if err != nil {
			return nil, nil, false, err
		}
	}
	return nil, nil, len(j.todo) > 0, nil
}

// readOthers reads what others have computed since it was last called, and drops these cells.
func (j *sharedRunner) readOthers() error {
	if time.Since(j.lastRead) < j.leases.pollInterval() {
		return nil
	}
	j.lastRead = time.Now()
	if err := j.readAll(j.Dir); err != nil {
		return err
	}
	saved := j.todo[:0]
	for _, b := range j.todo {
		var missing []int
		for _, cell := range b {
			if r := j.records[j.p.Sweep.Cells[cell].Key]; r == nil {
				missing = append(missing, cell)
			} else if err := j.done(cell, r); err != nil {
				return err
			}
		}
		if len(missing) > 0 {
			saved = append(saved, missing)
		} else {
			j.release(b)
		}
	}
	j.todo = saved
	return nil
}

// recordOutcome notes what came of a batch in its lease.
func (j *sharedRunner) recordOutcome(batch []int, records []*Record) {
	var n leaseNote
	for _, r := range records {
		if r.Failed != "" {
			n.Failed, n.Input = r.Failed, r.InvalidInput
		}
	}
	j.leases.endLease(j.names[batch[0]], n)
}

// AwaitFinish waits until the files of a joined sweep all of whose cells are there are written, and reports whether this
// worker is to do so, by Finish and then Leave.
func (s *Store) AwaitFinish(ctx context.Context) (bool, error) {
	for {
		ours, _, err := s.leases.acquire("finish", func() {})
		if ours || errors.Is(err, errLeasesRemoved) {
			return ours, nil
		}
		if err != nil {
			return false, err
		}
		if err := sleep(ctx, s.leases.pollInterval()); err != nil {
			return false, err
		}
	}
}

// RemoveLeases ends what workers have in common: the sweep is finished.
func (s *Store) RemoveLeases() { s.leases.remove() }

// sleep waits, or until ctx ends.
func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-t.C:
		return nil
	}
}
