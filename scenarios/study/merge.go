package study

import (
	"errors"
	"fmt"

	"sim/scenarios/result"
)

// Merge joins the parts of a sweep that were computed in several directories, or as several shards in one, in the first
// of them. It computes nothing: where cells are missing it fails and says how many.
func Merge(dirs []string) (*Store, *result.Sweep, *result.SweepTimings, []result.Plot, error) {
	plan, plots, err := result.ReadPlan(dirs[0])
	if err != nil {
		return nil, nil, nil, nil, err
	}
	s := &Store{Dir: dirs[0], records: map[string]*Record{}, failures: map[string]string{}}
	for _, d := range dirs {
		other, _, err := result.ReadPlan(d)
		if err != nil {
			return nil, nil, nil, nil, err
		}
		if other.Digest != plan.Digest || other.Model != plan.Model {
			return nil, nil, nil, nil, &result.PlaceError{Path: d, Why: fmt.Sprintf("holds another sweep (%s) than %s (%s)", other.Name, dirs[0], plan.Name)}
		}
		if err := s.readAll(d); err != nil {
			return nil, nil, nil, nil, err
		}
	}
	missing := 0
	for i := range plan.Cells {
		if !s.Has(plan.Cells[i].Key) {
			missing++
		}
	}
	if missing > 0 {
		return nil, nil, nil, nil, fmt.Errorf("%w: %d of %d cells of %s have no result; run the shards that are not finished, or name their directories too",
			ErrMissing, missing, len(plan.Cells), plan.Name)
	}
	if err := s.claim(Shard{}); err != nil { // no sweep runs there meanwhile
		return nil, nil, nil, nil, err
	}
	for i := range plan.Cells { // what other directories hold comes here too
		if err := s.keep(plan.Cells[i].Key); err != nil {
			return nil, nil, nil, nil, errors.Join(err, s.Close())
		}
	}
	sweep, timings := fill(*plan, s)
	return s, sweep, timings, plots, nil
}

// ErrMissing is wrapped where parts of a sweep are joined that are not all.
var ErrMissing = errors.New("the sweep is not finished")

// keep puts a record that was read from another journal into this one.
func (s *Store) keep(key string) error {
	if s.own == nil {
		s.own = map[string]bool{}
		local := &Store{records: map[string]*Record{}}
		if err := local.readAll(s.Dir); err != nil {
			return err
		}
		for k := range local.records {
			s.own[k] = true
		}
	}
	if s.own[key] {
		return nil
	}
	s.own[key] = true
	return s.Put(s.records[key])
}
