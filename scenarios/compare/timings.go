package compare

import (
	"bytes"
	"errors"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"

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
		return r.runTimes(m.Scenario, t)
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
	for i := range sweep.Cells {
		c := &sweep.Cells[i]
		c.Metrics = nil
		if cell, ok := t.Cells[c.Key]; ok {
			c.Metrics = cell.Metrics()
		}
	}
	return r.time(bytes.NewReader(sweep.Bench()))
}

// runTimes adds the wall-clock times of a run.
func (r *reader) runTimes(scenario string, t *result.Timings) error {
	doc := result.Document{Scenario: scenario}
	for _, policy := range slices.Sorted(maps.Keys(t.Policies)) {
		doc.Rows = append(doc.Rows, result.Row{Policy: policy, Metrics: t.Policies[policy].Metrics()})
	}
	return r.time(bytes.NewReader(doc.AsSweep().Bench()))
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
