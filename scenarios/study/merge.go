package study

import (
	"errors"
	"fmt"

	"sim/scenarios/result"
)

// Merge joins the parts of a sweep that were computed in several directories, or as several shards in one, in the first
// of them. It computes nothing: where cells are missing it fails and says how many.
func Merge(dirs []string) (s *Store, sweep *result.Sweep, timings *result.SweepTimings, plots []result.Plot, err error) {
	plan, plots, err := result.ReadPlan(dirs[0])
	if err != nil {
		return nil, nil, nil, nil, err
	}
	s = newStore(dirs[0])
	if err := s.join(plan, dirs); err != nil {
		return nil, nil, nil, nil, err
	}
	sweep, timings = fill(*plan, s)
	return s, sweep, timings, plots, nil
}

// ErrMissing is wrapped where parts of a sweep are joined that are not all.
var ErrMissing = errors.New("the sweep is not finished")

// join reads the parts of a sweep, and puts into its own journal, which it claims, what other directories hold.
func (s *Store) join(plan *result.Sweep, dirs []string) error {
	for _, d := range dirs {
		other, _, err := result.ReadPlan(d)
		if err != nil {
			return err
		}
		if other.Digest != plan.Digest || other.Model != plan.Model {
			return &result.PlaceError{Path: d, Why: fmt.Sprintf("holds another sweep (%s) than %s (%s)", other.Name, dirs[0], plan.Name)}
		}
		if err := s.readAll(d); err != nil {
			return err
		}
	}
	missing := 0
	for i := range plan.Cells {
		if !s.Has(plan.Cells[i].Key) {
			missing++
		}
	}
	if missing > 0 {
		return fmt.Errorf("%w: %d of %d cells of %s have no result; run the shards that are not finished, or name their directories too",
			ErrMissing, missing, len(plan.Cells), plan.Name)
	}
	if err := s.claim(Shard{}.journal()); err != nil { // no sweep runs there meanwhile
		return err
	}
	own := newStore(s.Dir)
	err := own.readAll(s.Dir)
	for i := range plan.Cells {
		if key := plan.Cells[i].Key; err == nil && !own.Has(key) {
			err = s.Put(s.records[key])
			own.records[key] = s.records[key]
		}
	}
	if err != nil {
		return errors.Join(err, s.Close())
	}
	return nil
}
