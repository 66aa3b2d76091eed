package study

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"sim/scenarios/result"
)

// ReadPartial returns what an unfinished sweep's directory holds: the cells that have results, of all that there are to be,
// and the figures that the study asks for. Errors are as of result.ReadPlan.
func ReadPartial(dir string) (s *result.Sweep, t *result.SweepTimings, plots []result.Plot, all int, err error) {
	plan, plots, err := result.ReadPlan(dir)
	if err != nil {
		return nil, nil, nil, 0, err
	}
	s, t = finishedCells(*plan, ReadStore(dir))
	return s, t, plots, len(plan.Cells), nil
}

// finishedCells is a sweep with those cells only that store holds.
func finishedCells(plan result.Sweep, store *Store) (*result.Sweep, *result.SweepTimings) {
	s, t := fill(plan, store)
	s.Cells = slices.DeleteFunc(s.Cells, func(c result.Cell) bool { return !store.Has(c.Key) })
	return s, t
}

// WritePartial puts the metrics of the cells of p that are there into metrics.csv, for those who look while the others are
// computed; unless the directory holds the whole sweep of before.
func (s *Store) WritePartial(p *Plan) error {
	if _, err := os.Stat(filepath.Join(s.Dir, result.SweepFile)); !errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	doc, _ := finishedCells(p.Sweep, s)
	return s.writeFiles(outputFile{result.CSVFile, doc.CSV()})
}
