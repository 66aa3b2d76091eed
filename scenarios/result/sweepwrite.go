package result

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Files of a sweep's directory, beside those that it has in common with a run's.
const (
	SweepFile = "sweep.json"
	PlanFile  = "plan.json"  // the sweep with its cells' places, before they have results
	PlotsFile = "plots.json" // the figures that the study asks for
)

// SweepManifestSchema is the version of the Manifest of a sweep's directory.
const SweepManifestSchema = "sim.sweep-run/1"

// JSON returns v as the files of run directories hold it: indented, the same bytes for the same value.
func JSON(v any) ([]byte, error) { return marshal(v, "  ") }

// WriteSweepCSV writes a sweep as tidy rows: scenario, a column an axis, policy, metric and value, one fact a row.
func WriteSweepCSV(b *bytes.Buffer, s *Sweep) {
	w := csv.NewWriter(b)
	head := []string{"scenario"}
	for _, a := range s.Axes {
		head = append(head, a.Name)
	}
	w.Write(append(head, "policy", "metric", "value"))
	for i := range s.Cells {
		c := &s.Cells[i]
		row := append([]string{c.Scenario}, s.Place(c)...)
		for _, name := range slices.Sorted(maps.Keys(c.Metrics)) {
			w.Write(append(slices.Clip(row), c.Policy, name, number(c.Metrics[name])))
		}
	}
	w.Flush() // a Buffer does not fail
}

// Place returns the labels of a cell's place, by axis.
func (s *Sweep) Place(c *Cell) []string {
	place := make([]string, len(s.Axes))
	for a := range place {
		place[a] = s.Axes[a].Labels[c.At[a]]
	}
	return place
}

// WriteSweepBench writes a sweep in Go's benchmark format, as WriteBench does a document: a benchmark a cell, with its
// place on the axes in the name.
func WriteSweepBench(b *bytes.Buffer, s *Sweep) {
	units := map[string]bool{}
	for i := range s.Cells {
		for name := range s.Cells[i].Metrics {
			units[name] = true
		}
	}
	fmt.Fprintf(b, "scenario: %s\n", s.Name)
	writeUnits(b, units)
	for i := range s.Cells {
		c := &s.Cells[i]
		name := []string{"scenario=" + benchName(s.Name), "policy=" + benchName(c.Policy)}
		for a, label := range s.Place(c) {
			name = append(name, benchName(s.Axes[a].Name)+"="+benchName(label))
		}
		writeBenchmark(b, strings.Join(name, "/"), c.Metrics)
	}
}

// Check fails where a sweep's cells do not fit its axes, as in a file that was damaged.
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
	}
	for _, a := range s.Axes {
		if a.Numbers != nil && len(a.Numbers) != len(a.Labels) {
			return fmt.Errorf("axis %s has %d numbers for %d labels", a.Name, len(a.Numbers), len(a.Labels))
		}
	}
	return nil
}

// IsSweep reports whether dir is the directory of a sweep, finished or not.
func IsSweep(dir string) bool {
	_, ok := SweepManifest(dir)
	return ok
}

// SweepManifest reads the manifest of a sweep's directory; false where it is none.
func SweepManifest(dir string) (Manifest, bool) {
	m, ok := ReadManifest(dir)
	return m, ok && m.Schema == SweepManifestSchema
}

// ReadSweep reads the directory of a finished sweep. Whatever is missing, half-written or corrupt is a *PlaceError that
// names the file at fault.
func ReadSweep(dir string) (*Sweep, *SweepTimings, []Plot, error) {
	s, err := readSweep(dir, SweepFile)
	if err != nil {
		var p *PlaceError
		if _, e := os.Stat(filepath.Join(dir, SweepFile)); errors.Is(e, fs.ErrNotExist) && errors.As(err, &p) && IsSweep(dir) {
			p.Why = "is a sweep that is not finished; run it again to go on, or join its parts with sim sweep --merge"
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

// ReadPlan reads what a sweep is to compute, finished or not. Errors are as of ReadSweep.
func ReadPlan(dir string) (*Sweep, []Plot, error) {
	s, err := readSweep(dir, PlanFile)
	if err != nil {
		return nil, nil, err
	}
	var plots []Plot
	err = load(dir, PlotsFile, &plots)
	return s, plots, err
}

func readSweep(dir, file string) (*Sweep, error) {
	s := &Sweep{}
	if err := load(dir, file, s); err != nil {
		return nil, err
	}
	if s.Schema != SweepSchema && !strings.HasPrefix(s.Schema, SweepSchema+".") {
		return nil, &PlaceError{dir, fmt.Sprintf("%s has schema %q, want %q", file, s.Schema, SweepSchema)}
	}
	if err := s.Check(); err != nil {
		return nil, corrupt(dir, file, err)
	}
	return s, nil
}

// Lock takes f for this process until it is closed; false when another process has it.
func Lock(f *os.File) bool { return lock(f) }

// Reason returns err without the operation and the path that the os package puts into it.
func Reason(err error) string { return reason(err) }
