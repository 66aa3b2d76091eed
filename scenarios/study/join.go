// This file computes a sweep together with other processes that share its directory.
// File lease.go has their leases.

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

// Join opens or creates a directory that several workers share, on one machine or
// several. Each worker leases cells, writes a journal of its own and reads the journals
// of the others. Leases are renewed continuously; if one is not renewed for term, other
// workers may take the cells over. A directory of another sweep or version of sim is
// rejected with a *result.PlaceError. Store.Joined computes the cells.
func Join(dir string, p *Plan, study []byte, manifest result.Manifest, term time.Duration) (*Store, error) {
	if err := CheckDir(dir, p.Claim()); err != nil {
		return nil, err
	}
	// All workers must have the same build, because results of versions may differ.
	there, _, err := result.ReadPlan(dir)
	if err == nil && (there.Version != p.Sweep.Version || there.Model != p.Sweep.Model) {
		return nil, &result.PlaceError{Path: dir, Why: fmt.Sprintf(
			"holds a sweep of sim %s, models %d, and this is sim %s, models %d; use one build of sim everywhere, or choose another directory with --out",
			there.Version, there.Model, p.Sweep.Version, p.Sweep.Model)}
	}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return nil, result.Unwritable(dir, err)
	}
	// Join the leases before the journal is created.
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
		// Another worker has initialised the directory.
		err = s.readAll(dir)
	} else {
		err = s.initialize(p, study, manifest)
	}
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// Joined returns the Runner of a directory opened by Join. It computes cells with several
// goroutines in this process until each cell has a result or has failed, here or
// elsewhere.
func (s *Store) Joined(workers int) Runner {
	return func(ctx context.Context, p *Plan, todo []int, done func(int, *Record) error) error {
		j := &sharedRunner{Store: s, batchRunner: newBatchRunner(p, todo, done), names: leaseNames(p)}
		for _, b := range j.todo {
			s.leases.observe(j.names[b[0]])
		}
		return j.run(ctx, workers, j.nextBatch, j.recordOutcome)
	}
}

// leaseNames returns the lease name of each cell. Cells with the same decision have the
// same lease.
func leaseNames(p *Plan) []string {
	names := make([]string, len(p.Sweep.Cells))
	for _, b := range batchesByDecision(p, indices(len(names))) {
		for _, i := range b {
			names[i] = strconv.Itoa(b[0] + 1)
		}
	}
	return names
}

// sharedRunner computes the batches that no other worker computes. Results of other
// workers count as done.
type sharedRunner struct {
	*Store                // leases, and records of all workers
	*batchRunner          // remaining batches todo, with their lock mu and the receiver done of records
	names        []string // lease name, indexed by cell

	// lastRead is the time at which the journals of other workers were read.
	lastRead time.Time
	// leasesMissingSince is the time since which the leases are missing; zero if they exist.
	leasesMissingSince time.Time
}

// nextBatch waits for a batch that this worker may compute. It returns nil if none
// remains.
func (j *sharedRunner) nextBatch(ctx context.Context) ([]int, context.Context, error) {
	for {
		// Other workers may release their leases, so this one tries again.
		batch, within, left, err := j.tryNextBatch(ctx)
		if batch != nil || !left || err != nil {
			return batch, within, err
		}
		if err := sleep(ctx, j.leases.pollInterval()); err != nil {
			return nil, nil, err
		}
	}
}

// tryNextBatch is nextBatch without waiting. left reports whether other workers hold the
// remaining batches.
func (j *sharedRunner) tryNextBatch(ctx context.Context) (batch []int, within context.Context, left bool, err error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if err := j.readOthers(); err != nil {
		return nil, nil, false, err
	}

	// Try the batches in the order of batchRunner.nextBatch.
	for k := len(j.todo) - 1; k >= 0; k-- {
		b := j.todo[k]
		within, lose := context.WithCancel(ctx)
		ours, other, err := j.leases.acquire(j.names[b[0]], lose)
		switch {
		case ours:
			j.todo = slices.Delete(j.todo, k, k+1)
			if other.Owner != "" && j.OnTakeover != nil {
				j.OnTakeover(b, other.Owner)
			}
			return b, within, true, nil
		// The sweep is finished, or another worker has removed the leases. The results
		// should become visible within the term of a lease.
		case errors.Is(err, errLeasesRemoved):
			if j.leasesMissingSince.IsZero() {
				j.leasesMissingSince = time.Now()
			} else if time.Since(j.leasesMissingSince) > j.leases.term { // the results have not become visible either
				err = fmt.Errorf("%s: the leases of its workers were removed, and %d cells have no result; run the same command again", j.Dir, len(j.todo))
			}
			if err == errLeasesRemoved {
				err = nil
			}
		// The batch failed at another worker; it is not tried again.
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

// readOthers reads the results of other workers and drops their cells from todo.
func (j *sharedRunner) readOthers() error {
	if time.Since(j.lastRead) < j.leases.pollInterval() {
		return nil
	}
	j.lastRead = time.Now()
	if err := j.readAll(j.Dir); err != nil {
		return err
	}
	// Keep the cells without a result.
	remaining := j.todo[:0]
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
			remaining = append(remaining, missing)
		} else {
			j.release(b)
		}
	}
	j.todo = remaining
	return nil
}

// recordOutcome writes the outcome of a batch to its lease.
func (j *sharedRunner) recordOutcome(batch []int, records []*Record) {
	var n leaseNote
	for _, r := range records {
		if r.Failed != "" {
			n.Failed, n.Input = r.Failed, r.InvalidInput
		}
	}
	j.leases.endLease(j.names[batch[0]], n)
}

// AwaitFinish waits until the files of a complete sweep are written by another worker, or
// returns true if this worker must write them with Finish and RemoveLeases.
func (s *Store) AwaitFinish(ctx context.Context) (bool, error) {
	for {
		ignoreLoss := func() {} // a worker that takes over writes the same files
		ours, _, err := s.leases.acquire("finish", ignoreLoss)
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

// RemoveLeases removes the leases of a finished sweep.
func (s *Store) RemoveLeases() { s.leases.remove() }

// sleep waits for d or until ctx ends.
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
