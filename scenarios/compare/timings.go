package compare

import (
	"errors"
	"io/fs"
	"path/filepath"

	"sim/scenarios/result"
)

// dirTimes adds the wall-clock times of a run or sweep where its directory has them.
func (r *reader) dirTimes(dir string) error {
	if !result.IsSweep(dir) {
		t := &result.Timings{}
		if ok, err := loadJSON(dir, result.TimingsFile, t); err != nil || !ok {
			return err
		}
		m, _ := result.ReadManifest(dir, result.ManifestSchema)
		r.runTimes(m.Scenario, t)
		return nil
	}
	t, sweep := &result.SweepTimings{}, &result.Sweep{}
	if ok, err := loadJSON(dir, result.TimingsFile, t); err != nil || !ok {
		return err
	}
	if ok, err := loadJSON(dir, result.SweepFile, sweep); err != nil || !ok {
		return err
	}
	if err := sweep.Check(); err != nil {
		return fault(dir, "%s is corrupt: %v", result.SweepFile, err)
	}
	r.time(sweep, t.Cells)
	return nil
}

// runTimes adds the wall-clock times of a run.
func (r *reader) runTimes(scenario string, t *result.Timings) {
	s := &result.Sweep{Name: scenario}
	for policy := range t.Policies {
		s.Cells = append(s.Cells, result.Cell{Policy: policy, Key: policy})
	}
	r.time(s, t.Policies)
}

// time adds the wall-clock times of cells, by their keys, to the rows that are there.
func (r *reader) time(s *result.Sweep, times map[string]result.PolicyTimings) {
	for i := range s.Cells {
		c := &s.Cells[i]
		t, timed := times[c.Key]
		to := r.set.byKey[s.BenchName(c).Without(r.ignore).ID()]
		if !timed || to == nil { // a cell without metrics is no row
			continue
		}
		for name, v := range t.Metrics() {
			if !r.ofSim[name] { // a metric of that name is not hidden
				to.values[name] = append(to.values[name], v)
				r.set.units[name] = unit{better: "lower", wall: true, timed: true}
			}
		}
	}
}

// loadJSON reads a file of a directory; false when it is not there.
func loadJSON(dir, name string, into any) (bool, error) {
	err := result.Load(filepath.Join(dir, name), into)
	var file *fs.PathError
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case errors.As(err, &file):
		return false, fault(dir, "cannot read %s: %s", name, result.Reason(err))
	case err != nil:
		return false, fault(dir, "%s is corrupt: %v", name, err)
	}
	return true, nil
}
