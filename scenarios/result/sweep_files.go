// This file reads the directories of sweeps and checks their cells.

package result

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Files of a sweep's directory, in addition to those shared with runs.
const (
	SweepFile = "sweep.json"
	PlanFile  = "plan.json"  // the sweep with all cells, before they have results
	PlotsFile = "plots.json" // figures of the study
)

// SweepManifestSchema is the version of the Manifest of a sweep's directory.
const SweepManifestSchema = "sim.sweep-run/1"

// Place returns the labels of a cell's coordinates, indexed by axis.
func (s *Sweep) Place(c *Cell) []string {
	place := make([]string, len(s.Axes))
	for a := range place {
		place[a] = s.Axes[a].Labels[c.At[a]]
	}
	return place
}

// Check fails if the cells of a sweep do not match its axes, as in a damaged file.
func (s *Sweep) Check() error {
	for i := range s.Cells {
		c := &s.Cells[i]
		if len(c.At) != len(s.Axes) {
			return fmt.Errorf("cell %d has %d coordinates for %d axes", i, len(c.At), len(s.Axes))
		}
		for a, v := range c.At {
			if v < 0 || v >= len(s.Axes[a].Labels) {
				return fmt.Errorf("cell %d is at value %d of %d on axis %s", i, v, len(s.Axes[a].Labels), s.Axes[a].Name)
			}
		}
		if err := CheckMetrics(fmt.Sprintf("cell %d", i), c.Samples, c.Reference, c.Metrics); err != nil {
			return err
		}
	}
	for _, a := range s.Axes {
		if a.Numbers != nil && len(a.Numbers) != len(a.Labels) {
			return fmt.Errorf("axis %s has %d numbers for %d labels", a.Name, len(a.Numbers), len(a.Labels))
		}
	}
	return nil
}

// ReadSweep reads the directory of a finished sweep. If a file is missing, incomplete or
// corrupt, the error is a *PlaceError that names the file.
func ReadSweep(dir string) (*Sweep, *SweepTimings, []Plot, error) {
	s, err := readSweep(dir, SweepFile)
	if err != nil {
		// A sweep with a manifest but without results has not finished. It can be continued.
		var p *PlaceError
		if _, e := os.Stat(filepath.Join(dir, SweepFile)); errors.Is(e, fs.ErrNotExist) && errors.As(err, &p) && IsSweep(dir) {
			p.Why = "is a sweep that is not finished; run it again to go on"
		}
		return nil, nil, nil, err
	}
	t := &SweepTimings{}
	if err := load(dir, TimingsFile, t); err != nil {
		return nil, nil, nil, err
	}
	var plots []Plot
	if err := load(dir, PlotsFile, &plots); err != nil {
		return nil, nil, nil, err
	}
	return s, t, plots, nil
}

// ReadStudy reads the text of a sweep's study. It returns nil if the directory has none.
// Errors are like the errors of ReadSweep.
func ReadStudy(dir string) ([]byte, error) {
	text, err := readText(filepath.Join(dir, ScenarioFile))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, missingFile(dir, ScenarioFile, err)
	}
	return text, nil
}

// ReadPlan reads the cells and figures of a sweep, finished or not. Errors have the form of
// ReadSweep's errors.
func ReadPlan(dir string) (*Sweep, []Plot, error) {
	s, err := readSweep(dir, PlanFile)
	if err != nil {
		return nil, nil, err
	}
	var plots []Plot
	err = load(dir, PlotsFile, &plots)
	return s, plots, err
}

// readSweep reads and verifies a sweep document.
func readSweep(dir, file string) (*Sweep, error) {
	s := &Sweep{}
	if err := load(dir, file, s); err != nil {
		return nil, err
	}
	if !HasSchema(s.Schema, SweepSchema) {
		return nil, &PlaceError{dir, fmt.Sprintf("%s has schema %q, want %q", file, s.Schema, SweepSchema)}
	}
	if err := s.Check(); err != nil {
		return nil, corruptFile(dir, file, err)
	}
	return s, nil
}
