// This file reads and writes the results of sweeps that are not finished.

package study

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"sim/scenarios/result"
)

// ReadPartial reads the directory of an unfinished sweep: the cells with results, the number of
// all cells, and the study's figures. It returns the same errors as result.ReadPlan.
func ReadPartial(dir string) (s *result.Sweep, t *result.SweepTimings, plots []result.Plot, all int, err error) {
	plan, plots, err := result.ReadPlan(dir)
	if err != nil {
		return nil, nil, nil, 0, err
	}
	s, t = finishedCells(*plan, ReadStore(dir))
	return s, t, plots, len(plan.Cells), nil
}

// finishedCells returns a sweep reduced to the cells in store.
func finishedCells(plan result.Sweep, store *Store) (*result.Sweep, *result.SweepTimings) {
	s, t := fill(plan, store)
	s.Cells = slices.DeleteFunc(s.Cells, func(c result.Cell) bool { return !store.Has(c.Key) })
	return s, t
}

// WritePartial writes the metrics of the finished cells to metrics.csv, so that they can
// be viewed during the sweep. It does nothing if the directory already has a complete
// sweep.
func (s *Store) WritePartial(p *Plan) error {
	if _, err := os.Stat(filepath.Join(s.Dir, result.SweepFile)); !errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	doc, _ := finishedCells(p.Sweep, s)
	return s.writeFiles(outputFile{result.CSVFile, doc.CSV()})
}
